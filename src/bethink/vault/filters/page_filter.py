"""What of a page an audience may see: its text without what filters hide. Pure; `views` asks.

A view knows where each of its characters stands in the page itself, so that what is changed in the view
can be changed in the page, and what touches something hidden is refused. Neither links nor names lead to
a page that is hidden.
"""

from __future__ import annotations

import difflib
import hashlib
import posixpath
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import unquote

from bethink.errors import BadInput, NotAllowed
from bethink.vault.files.parts import FACT_LINE
from bethink.vault.filters.patterns import (
    HIDDEN,
    dates,
    emails,
    finder_of,
    folded,
    general,
    general_age,
    plainly,
)
from bethink.vault.filters.rules import Action, FilterRule, fits
from bethink.vault.filters.structure import FieldValue, fields_in, sections_in
from bethink.vault.markdown.links import Resolver, key_of

if TYPE_CHECKING:
    from bethink.vault.regex import Span


_MOST_LINES: Final = 20_000
"""Of a text whose changes are looked for line by line."""
_RANK: Final[dict[Action, int]] = {"generalise": 0, "mask": 1, "hide": 2}
_AGE: Final = re.compile(r"(?<![^\W_])(?:age|alter|edad|âge|years?)(?![^\W_])", re.IGNORECASE)
_WITHIN: Final = re.compile(r"(?:in|on|am|im|since|seit|le|el) +\Z", re.IGNORECASE)
_WITHIN_CHARS: Final = 8
_LINK: Final = re.compile(
    r"!?\[\[([^\[\]\n]{1,1000})\]\]|(?<=\])\(<?([^()<>\n]{1,1000})>?(?: +\"[^\"\n]{0,200}\")?\)"
)
_LINKED: Final = re.compile(r"\[\[(?:[^\[\]|]{0,300}\|)?([^\[\]|]{1,300})\]\]")
_AROUND_TITLE: Final = re.compile(r"^[\d.)( ]{1,12}[.) ] *|(?: *(?::|\{[^{}]{0,100}\}|\^[\w-]{1,100}))+ *$")
"""A number before a heading, and a colon or a mark behind it."""
_LEFT: Final = " \t\r\n>*+,;:.()[]-"
_TICKED: Final = ("", "x", "X")
"""What may be left of a line of which nothing is left: what leads a list, a box that is ticked or not."""
_LINE_CHARS: Final = 200
_WORD: Final = re.compile(r"[^\s\[\]()<>|,;:\"'`*]+")
CANNOT_CHANGE: Final = (
    "This cannot be changed from here: a filter of the vault's owner covers this place. Leave this part"
    " as it is, or ask the owner to change it."
)
_ENDING: Final = ".md"
_TELLING: Final = frozenset("_-/0123456789")
"""A file's name with one of these is no common word: it stands in a text for the page."""


@dataclass(frozen=True)
class HiddenPages:
    """The pages of a vault that these rules hide. `aliases` are other names of pages, with their paths."""

    rules: tuple[FilterRule, ...]
    paths: Collection[str]
    aliases: Mapping[str, str]

    @cached_property
    def hidden(self) -> frozenset[str]:
        """Their paths."""
        telling = [rule for rule in self.rules if not (rule.section or rule.field)]
        return frozenset(path for path in self.paths if any(hides_page(rule, path) for rule in telling))

    def links_of(self, path: str) -> PageLinks | None:
        """The links of a page; None if none can lead to something hidden."""
        if self.hidden or self.sections or any(rule.is_of_pages for rule in self.rules):
            return PageLinks(self, path)
        return None

    def is_hidden(self, path: str) -> bool:
        """Whether a page of this path is hidden, whether it is there or not."""
        return path in self.hidden or any(hides_page(rule, path) for rule in self.rules)

    @cached_property
    def resolver(self) -> Resolver:
        """What a link means."""
        return Resolver(self.paths, self.aliases)

    @cached_property
    def visible(self) -> Resolver:
        """What a link means to those who see no more."""
        seen = [path for path in self.paths if path not in self.hidden]
        aliases = {alias: path for alias, path in self.aliases.items() if path not in self.hidden}
        return Resolver(seen, aliases)

    @cached_property
    def names(self) -> frozenset[str]:
        """The hidden pages' names as their files have them, and as a text may have them."""
        found: set[str] = set()
        for path in self.hidden:
            key, name = path.casefold(), path.casefold().rpartition("/")[2]
            stem = name.removesuffix(_ENDING)
            found |= {key, name}
            found |= {word for word in (key.removesuffix(_ENDING), stem) if not _TELLING.isdisjoint(word)}
        return frozenset(found)

    @cached_property
    def sections(self) -> tuple[FilterRule, ...]:
        """The rules that hide sections."""
        return tuple(rule for rule in self.rules if rule.section and rule.action == "hide" and not rule.field)


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The links on one page."""

    hidden_pages: HiddenPages
    path: str

    def is_hidden(self, target: str) -> bool:
        """Whether a link leads to a hidden page or section, or would if there were one of its name."""
        said = unquote(target).partition("|")[0].rstrip("\\").strip()
        name, _, place = said.partition("#")
        hidden_pages = self.hidden_pages
        found = hidden_pages.resolver.resolve(name, self.path)
        if found is not None and found != self.path and found in hidden_pages.hidden:
            return True
        if place and any(
            fits(place.rpartition("#")[2].casefold(), rule.section.casefold())
            for rule in hidden_pages.sections
        ):
            return True
        if found is not None or not name or "://" in name:
            return False
        folder = posixpath.dirname(self.path)
        forms = (name.lstrip("/"), posixpath.normpath(posixpath.join(folder, name)))
        return any(
            hidden_pages.is_hidden(form if form.endswith(_ENDING) else f"{form}{_ENDING}") for form in forms
        )

    def is_name(self, word: str) -> bool:
        """Whether a word is a hidden page's name."""
        known = key_of(word) if not word.casefold().endswith(_ENDING) else word.casefold()
        names = self.hidden_pages.names
        return word.casefold().rstrip(".") in names or known in names


def changes(before: str, after: str) -> list[tuple[int, int, str]]:
    """Which parts of a text became what, in order."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    middle = old[head : len(old) - tail], new[head : len(new) - tail]
    start = sum(map(len, old[:head]))
    if max(map(len, middle)) > _MOST_LINES:
        return [(start, start + sum(map(len, middle[0])), "".join(middle[1]))]
    places = [start]
    for line in middle[0]:
        places.append(places[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, *middle, autojunk=False)
    found: list[tuple[int, int, str]] = []
    for kind, first, last, begin, stop in matcher.get_opcodes():
        if kind != "equal":
            # Of changed lines, what they leave as it is at their ends is no part of the change.
            start, end, said = places[first], places[last], "".join(middle[1][begin:stop])
            head = _same(before[start:end], said)
            tail = _same(before[start + head : end][::-1], said[head:][::-1])
            found.append((start + head, end - tail, said[head : len(said) - tail]))
    return found


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


class TextFilter(Protocol):
    """What is hidden of texts that stand on no page, such as facts."""

    def view(self, text: str) -> PageView:
        """The text with marks of what is hidden."""
        ...


@dataclass(frozen=True, slots=True)
class ViewContext:
    """What of a vault bears on a page: `links` to what is hidden, `broader` regions of its places.

    `text_filter` judges the lines that show facts, as it judges the facts themselves.
    """

    links: PageLinks | None = None
    broader: Callable[[str], str | None] = lambda _value: None
    text_filter: TextFilter | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of the page in place of which `shown` is seen, by the filter `rule`."""

    start: int
    end: int
    action: Action
    shown: str
    rule: str


@dataclass(frozen=True)
class PageView:
    """A page as an audience sees it. Of a page that `is_hidden` it sees nothing, not even that it is there.

    `marks` are in order and do not overlap.
    """

    raw: str
    marks: tuple[Mark, ...] = ()
    is_hidden: bool = False

    @cached_property
    def text(self) -> str:
        """What is seen."""
        return self.shown(0, len(self.raw))

    @property
    def is_whole(self) -> bool:
        """Whether nothing is hidden."""
        return not (self.marks or self.is_hidden)

    @property
    def version(self) -> str:
        """The hex SHA-256 of what is seen: by the page's own, what is hidden could be guessed."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def hidden(self) -> list[str]:
        """What of the page is not shown."""
        return [self.raw] if self.is_hidden else [self.raw[mark.start : mark.end] for mark in self.marks]

    def shown(self, start: int, end: int) -> str:
        """What is seen of a part of the page itself."""
        if self.is_hidden:
            return ""
        kept: list[str] = []
        place = start
        first = bisect_right(self.marks, start, key=lambda mark: mark.end)
        for mark in self.marks[first:]:
            if mark.start >= end:
                break
            kept += [self.raw[place : max(mark.start, place)], mark.shown]
            place = mark.end
        return "".join((*kept, self.raw[place:end]))

    def in_raw(self, start: int, end: int) -> Span | None:
        """Where a part of the view stands in the page; None where it touches what is hidden."""
        if self.is_hidden:
            return None
        for seen, place, size in self._kept:
            if seen <= start and end <= seen + size:
                return start - seen + place, end - seen + place
        return None

    def replaced(self, old: str, new: str) -> str:
        """The page with `new` in place of `old`, which must stand in the view exactly once.

        Raises:
            BadInput: it does not, and says how often it does.
            NotAllowed: it touches what is hidden.
        """
        count = self.text.count(old) if old else 0
        if count != 1:
            times = "does not occur" if count == 0 else f"occurs {count} times"
            raise BadInput(f"The text to replace {times} in the page: give a text that occurs exactly once.")
        start = self.text.index(old)
        return self._spliced([(start, start + len(old), new)])

    def edited(self, text: str) -> str:
        """The page after a change of the view to `text`.

        Raises:
            NotAllowed: the change touches what is hidden.
        """
        return text if self.is_whole else self._spliced(changes(self.text, text))

    def _spliced(self, changes: Sequence[tuple[int, int, str]]) -> str:
        raw = self.raw
        for start, end, new in reversed(changes):
            place = self.in_raw(start, end)
            if place is None:
                raise NotAllowed(CANNOT_CHANGE)
            raw = f"{raw[: place[0]]}{new}{raw[place[1] :]}"
        return raw

    @cached_property
    def _kept(self) -> list[tuple[int, int, int]]:
        """The parts that are shown as they are: place in the view, place in the page, length."""
        parts: list[tuple[int, int, int]] = []
        seen = place = 0
        for mark in self.marks:
            parts.append((seen, place, mark.start - place))
            seen += mark.start - place + len(mark.shown)
            place = mark.end
        return [*parts, (seen, place, len(self.raw) - place)]


def view(
    text: str,
    path: str,
    rules: Iterable[FilterRule],
    *,
    was: str | None = None,
    context: ViewContext | None = None,
) -> PageView:
    """A page as those see it whom these rules restrain.

    An older version `was` at another path perhaps: what holds for either holds for it.
    """
    paths = (path,) if was is None else (path, was)
    here = [rule for rule in rules if any(map(rule.is_at, paths))]
    if any(hides_page(rule, one) for rule in here for one in paths):
        return PageView(text, is_hidden=True)
    context = context or ViewContext()
    marks = [mark for rule in here for mark in _marks(text, rule, context.broader)]
    if context.links is not None:
        marks += _links(text, context.links)
    if context.text_filter is not None:
        for line in FACT_LINE.finditer(text):
            said = line.group().rpartition("^")[0]
            found = context.text_filter.view(said).marks[:1]
            marks += [Mark(*line.span(), "hide", "", mark.rule) for mark in found]
    return PageView(text, tuple(merged(marks)))


def hides_page(rule: FilterRule, path: str) -> bool:
    """Whether a rule hides a page altogether: by its path, or since its name says what the rule hides."""
    if not (path and rule.is_enforced and rule.is_at(path)):
        return False
    if rule.is_of_pages:
        return rule.action == "hide"
    if rule.pattern in {"", "number"} or rule.section or rule.field:
        return False
    name = path.removesuffix(".md")
    return any(finder_of(rule.pattern)(form) for form in (name, name.replace("_", " ").replace("-", " ")))


def still_hides(before: PageView, after: PageView) -> bool:
    """Whether all that was hidden before a change of the page still is."""
    if after.is_hidden:
        return True
    hidden = "\0".join(after.hidden)
    place = 0
    for piece in before.hidden:
        found = hidden.find(piece.strip(), place)
        if found < 0:
            return False
        place = found + len(piece.strip())
    return True


def _marks(text: str, rule: FilterRule, broader: Callable[[str], str | None]) -> Iterator[Mark]:
    regions = [(0, len(text))]
    if rule.section:
        regions = list(_sections(text, rule))
    if rule.field:
        yield from _of_fields(text, rule, regions, broader=broader)
    elif rule.pattern:
        for span in _found(text, rule.pattern, regions):
            yield _with_its_line(text, _mark(text, rule, span, broader=broader))
    else:
        for start, end in regions:
            shown = (
                "" if rule.action == "hide" else f"{HIDDEN}\n" if text[start:end].endswith("\n") else HIDDEN
            )
            yield Mark(start, end, rule.action, shown, rule.id)


def _sections(text: str, rule: FilterRule) -> Iterator[Span]:
    """The sections that a rule means: with their headings where it hides them, else what stands below."""
    wanted = rule.section.casefold()
    for section in sections_in(text):
        names = (section.title, " / ".join(section.trail), "/".join(section.trail))
        # A heading as it is written, as it is read, and that without what stands around it.
        names += tuple(map(plainly, names))
        names += tuple(_AROUND_TITLE.sub("", _LINKED.sub(r"\1", name)) for name in names[3:])
        if any(fits(" ".join(name.casefold().split()), wanted) for name in names):
            is_whole = rule.action == "hide" or rule.field or rule.pattern
            yield (section.start if is_whole else section.body), section.end


def _of_fields(
    text: str, rule: FilterRule, regions: Sequence[Span], *, broader: Callable[[str], str | None]
) -> Iterator[Mark]:
    found = fields_in(text, rule.field)
    if (read := folded(text)) is not None:
        # The same, as it is read.
        for one in fields_in(read.text, rule.field):
            values = tuple(read.spans(one.values))
            found += [FieldValue(whole, values) for whole in read.spans([one.whole])]
    for one in found:
        if not any(start <= one.whole[0] and one.whole[1] <= end for start, end in regions):
            continue
        if rule.pattern:
            for span in _found(text, rule.pattern, one.values):
                yield _mark(text, rule, span, broader=broader)
        elif rule.action == "hide":
            yield Mark(*one.whole, rule.action, "", rule.id)
        else:
            for span in one.values:
                yield _mark(text, rule, span, broader=broader)


def _found(text: str, pattern: str, regions: Sequence[Span]) -> list[Span]:
    """What a pattern finds that reaches into the regions."""
    found = finder_of(pattern)(text)
    return [span for span in found if any(span[0] < end and start < span[1] for start, end in regions)]


def _mark(text: str, rule: FilterRule, span: Span, *, broader: Callable[[str], str | None]) -> Mark:
    start, end = span
    value = text[start:end]
    match rule.action:
        case "hide":
            shown = ""
        case "mask":
            shown = HIDDEN
        case "generalise":
            shown = _general(value, rule, broader)
            if shown.startswith("in the "):
                # "in March 1984" becomes "in the 1980s", not "in in the 1980s".
                before = _WITHIN.search(text, max(0, start - _WITHIN_CHARS), start)
                start = before.start() if before else start
    return Mark(start, end, rule.action, shown, rule.id)


def _general(value: str, rule: FilterRule, broader: Callable[[str], str | None]) -> str:
    if rule.field and _AGE.search(rule.field.replace("_", " ")):
        return general_age(value)
    shown = general(value)
    if shown == HIDDEN and rule.field:
        found = [value[start:end] for start, end in (*dates(value), *emails(value))]
        shown = general(found[0]) if len(found) == 1 else shown
    if shown == HIDDEN and (region := broader(value)):
        return region
    return shown


def _links(text: str, links: PageLinks) -> Iterator[Mark]:
    """Links to hidden pages, also where they stand in code, and the names of such pages in the text."""
    for match in _LINK.finditer(text):
        target = match[1] or match[2]
        if links.is_hidden(target):
            start = match.start() if match[1] else text.rfind("[", 0, match.start())
            start = start - (text[start - 1 : start] == "!") if start > 0 else max(start, 0)
            yield _with_its_line(text, Mark(start, match.end(), "hide", "", ""))
    for match in _WORD.finditer(text):
        if links.is_name(match.group()):
            yield _with_its_line(text, Mark(*match.span(), "hide", "", ""))


def merged(marks: list[Mark]) -> Iterator[Mark]:
    """The marks in order; those that overlap are one, as strict as the strictest of them."""
    marks = [mark for mark in marks if mark.start < mark.end]
    marks.sort(key=lambda mark: (mark.start, -mark.end))
    kept: list[Mark] = []
    for mark in marks:
        if kept and mark.start < kept[-1].end:
            kept[-1] = _both(kept[-1], mark)
        else:
            kept.append(mark)
    return iter(kept)


def _both(first: Mark, second: Mark) -> Mark:
    if (first.start, first.end, first.shown) == (second.start, second.end, second.shown):
        return first
    strict = max(first, second, key=lambda mark: _RANK[mark.action])
    is_same = (first.start, first.end) == (second.start, second.end)
    wide = first if first.end >= second.end else None
    if strict.action == "generalise" and not is_same:
        shown = HIDDEN
    elif wide is not None and wide.action == strict.action:
        shown = wide.shown
    else:
        shown = strict.shown
    return Mark(first.start, max(first.end, second.end), strict.action, shown, strict.rule)


def _with_its_line(text: str, mark: Mark) -> Mark:
    """A mark that leaves nothing of its line but what leads a list: the line goes with it."""
    if mark.action != "hide" or mark.shown:
        return mark
    start = text.rfind("\n", 0, mark.start) + 1
    end = mark.end if text[mark.end - 1] == "\n" else text.find("\n", mark.end) + 1 or len(text)
    if max(mark.start - start, end - mark.end) > _LINE_CHARS:
        return mark
    if all(part.strip(_LEFT) in _TICKED for part in (text[start : mark.start], text[mark.end : end])):
        return Mark(start, end, mark.action, "", mark.rule)
    return mark
