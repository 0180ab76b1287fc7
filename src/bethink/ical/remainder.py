"""What of another program's component no field of a record holds: kept as it stands, and written again.

A feature says how its record is written (`ours`) and what it reads of a component (`meaning`). What was
read and would not be written the same is the remainder. It is written again as long as it still means what
the record says; once the record says something else, the record's own lines take its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from bethink.errors import BadInput
from bethink.ical.lines import Component, Line, components

if TYPE_CHECKING:
    Meaning = Callable[[Component], Mapping[str, object]]

MAX_REMAINDER: Final = 100_000
"""Characters that are kept of one component."""
ALARM: Final = "VALARM"
STAMPS: Final = frozenset({"DTSTAMP", "LAST-MODIFIED", "CREATED", "SEQUENCE"})
"""Written anew each time."""
_PLAIN: Final = frozenset({"TZID", "VALUE"})
"""Parameters that say how the value is written, which goes with the value."""


def remainder(theirs: Component, ours: Component, owned: Mapping[str, str]) -> str:
    """The lines and parts of a component that would not be written the same, unfolded. For `owned` see below.

    Raises:
        BadInput: there are too many of them.
    """
    written = _by_group(ours.lines, owned)
    same = {group for group, lines in _by_group(theirs.lines, owned).items() if lines == written.get(group)}
    lines = [
        str(line)
        for line in theirs.lines
        if line.name not in STAMPS and (line.name not in owned or owned[line.name] not in same)
    ]
    parts = {_text(part) for part in ours.parts}
    lines += [text for part in theirs.parts if (text := _text(part)) not in parts]
    text = "\n".join(lines)
    if len(text) > MAX_REMAINDER:
        raise BadInput(
            f"It has {len(text):,} characters that Bethink has no place for, such as attachments within it; "
            f"at most {MAX_REMAINDER:,} are kept."
        )
    return text


def _by_group(lines: Iterable[Line], owned: Mapping[str, str]) -> dict[str, list[Line]]:
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(owned.get(line.name, ""), []).append(line)
    return groups


def with_remainder(ours: Component, kept: str, *, meaning: Meaning, owned: Mapping[str, str]) -> Component:
    """Our component with what was kept of another program's.

    `owned` are the names of lines that say what the record says, each with the name of the group that is
    written together, such as DTEND and DURATION.
    """
    if not kept:
        return ours
    (held,) = components(f"BEGIN:X\n{kept}\nEND:X")
    groups = _by_group(held.lines, owned)
    others = groups.pop("", [])
    done = Component(ours.name, list(ours.lines), [*ours.parts, *_others(held)])
    said = meaning(ours)
    # All at once, which is usual; else group by group.
    whole = [line for line in ours.lines if owned.get(line.name) not in groups]
    whole += [line for lines in groups.values() for line in lines]
    if _means(Component(done.name, whole, done.parts), said, meaning):
        done.lines = whole
    else:
        for group, lines in groups.items():
            done.lines = _grouped(done, group, lines, owned=owned, said=said, meaning=meaning)
    done.lines += others
    return done


def same_remainder(one: str, other: str) -> bool:
    """Whether two remainders hold the same lines: programs write them in any order."""
    return one == other or sorted(one.split("\n")) == sorted(other.split("\n"))


def _means(component: Component, said: Mapping[str, object], meaning: Meaning) -> bool:
    try:
        return meaning(component) == said
    except BadInput:
        return False


def _others(held: Component) -> list[Component]:
    return [part for part in held.parts if part.name != ALARM]


def _grouped(
    done: Component,
    group: str,
    theirs: list[Line],
    *,
    owned: Mapping[str, str],
    said: Mapping[str, object],
    meaning: Meaning,
) -> list[Line]:
    """The lines with theirs in place of ours of the same group, if they mean the same; else with ours."""
    mine = [line for line in done.lines if owned.get(line.name) == group]
    rest = [line for line in done.lines if owned.get(line.name) != group]
    if _means(Component(done.name, [*rest, *theirs], done.parts), said, meaning):
        return [*rest, *theirs]
    return [*rest, *(_with_parameters(line, theirs) for line in mine)]


def _with_parameters(line: Line, theirs: list[Line]) -> Line:
    """Our line with the parameters that theirs of the same value has beside ours."""
    for other in theirs:
        if other.name == line.name and other.value == line.value:
            names = ("CN", "PARTSTAT", *_PLAIN)
            return other.but(**{name: line.parameter(name) for name in names})
    return line


def kept_alarms(kept: str) -> list[Component]:
    """The alarms among what was kept."""
    if f"BEGIN:{ALARM}" not in kept:
        return []
    (held,) = components(f"BEGIN:X\n{kept}\nEND:X")
    return [part for part in held.parts if part.name == ALARM]


def _text(part: Component) -> str:
    return "\n".join(part.unfolded())
