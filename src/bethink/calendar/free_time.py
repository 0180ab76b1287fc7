"""Which events stand in the way of another, and when there is time.

Two overlap if each begins before the other ends: `new_start < end and new_end > start` (Cognical's rule).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Final, TypeAlias

from bethink.errors import BadInput
from bethink.recurrence import moment_of

if TYPE_CHECKING:
    from bethink.calendar.records import Instance, InstanceSpan

    Taken: TypeAlias = Instance | InstanceSpan

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class FreeTime:
    """Time in which nothing is planned; microseconds UTC."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Hours:
    """The part of a day in which time is looked for; `workdays` are Monday to Friday alone."""

    begin: time = time(9)
    end: time = time(18)
    workdays: bool = False


def clock_of(name: str, text: str) -> time:
    """A time of day as people write it, HH:MM; `name` is what it is given as.

    Raises:
        BadInput: it is none.
    """
    if text.strip() == "24:00":
        return time()
    try:
        return time.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        raise BadInput(f"{name}: {text[:20]!r} is no time of day: write HH:MM.") from None


def overlapping(new: Sequence[Taken], others: Sequence[InstanceSpan]) -> list[InstanceSpan]:
    """Those of the `others`, ordered by their start, that overlap any of the new ones; each once."""
    found: dict[int, InstanceSpan] = {}
    held: list[tuple[int, InstanceSpan]] = []
    rest = enumerate(others)
    following = next(rest, None)
    for one in sorted(new, key=lambda one: one.starts_at):
        while following is not None and following[1].starts_at < one.ends_at:
            held.append(following)
            following = next(rest, None)
        held = [(place, other) for place, other in held if other.ends_at > one.starts_at]
        found |= {place: other for place, other in held if other.starts_at < one.ends_at}
    return [found[place] for place in sorted(found)]


def free_times(
    taken: Iterable[Taken], days: Iterable[date], *, hours: Hours, zone: tzinfo, not_before: int
) -> Iterator[FreeTime]:
    """What is left of these hours of the days between the instances, which are ordered by their start."""
    spans = iter([(one.starts_at, one.ends_at) for one in taken])
    until = not_before
    following = next(spans, None)
    for day in days:
        if hours.workdays and day.weekday() > 4:  # noqa: PLR2004 - Friday
            continue
        begin, end = hours_of(day, hours, zone)
        at = max(begin, until)
        while following is not None and following[0] < end:
            if following[0] > at:
                yield FreeTime(at, following[0])
            until = max(until, following[1])
            at = max(at, until)
            following = next(spans, None)
        if at < end:
            yield FreeTime(at, end)


def hours_of(day: date, hours: Hours, zone: tzinfo) -> tuple[int, int]:
    """The hours of a day, in microseconds UTC; they may end on the next."""
    begin = datetime.combine(day, hours.begin)
    end = datetime.combine(day if hours.end > hours.begin else day + _DAY, hours.end)
    return moment_of(begin, zone), moment_of(end, zone)


def days_around(day: date, back: int, ahead: int) -> Iterator[date]:
    """The days from some before a day to some behind it."""
    for offset in range(-back, ahead + 1):
        yield day + timedelta(days=offset)


def nearest(free: Iterable[FreeTime], start: int, *, length: int, most: int) -> list[FreeTime]:
    """At most so many times of this length, those nearest to `start` first."""
    fitting = [one for one in free if one.end - one.start >= length]
    placed = [FreeTime(at := min(max(one.start, start), one.end - length), at + length) for one in fitting]
    return sorted(placed, key=lambda one: abs(one.start - start))[:most]
