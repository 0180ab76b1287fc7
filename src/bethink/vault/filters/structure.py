"""Where a page has sections and tells the values of fields, in whatever way people write them. Pure.

Where a section may begin, it begins; it ends only where `format` is sure that it does. A heading in
a quotation or a list hides what stands below it; one in a code block ends nothing. A field is
`- name: value`, `name:: value`, `**name**: value`, a key of the front matter, a column of a table or a
row of one that begins with the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bethink.vault.regex import Span


_ATX: Final = re.compile(
    r"(?P<lead>[ \t>]*(?:[-*+][ \t]+)?)(?P<level>#{1,6})(?:[ \t]+(?P<title>.*?))?[ \t]*$"
)
_UNDERLINE: Final = re.compile(r"[ \t>]*(?:=+|-+)[ \t]*$")
_CODE_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")


@dataclass(frozen=True, slots=True)
class FilterSection:
    """A heading and all below it, in characters of the text. `trail` are the headings above and its own."""

    title: str
    trail: tuple[str, ...]
    start: int
    body: int
    end: int


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    title: str
    start: int
    body: int
    is_sure: bool


def sections_in(text: str) -> list[FilterSection]:
    """Every section, in the order of their headings; one lies within another."""
    found: list[tuple[_Heading, tuple[str, ...]]] = []
    ends: dict[int, int] = {}
    open_at: list[int] = []
    above: list[_Heading] = []
    for place, heading in enumerate(_headings(text)):
        if heading.is_sure:
            ends |= {at: heading.start for at in open_at if found[at][0].level >= heading.level}
            open_at = [at for at in open_at if at not in ends]
        above = [other for other in above if other.level < heading.level]
        found.append((heading, (*(other.title for other in above), heading.title)))
        above.append(heading)
        open_at.append(place)
    return [
        FilterSection(heading.title, trail, heading.start, heading.body, ends.get(place, len(text)))
        for place, (heading, trail) in enumerate(found)
    ]


def _headings(text: str) -> Iterator[_Heading]:
    fence = title = ""
    last = 0
    for start, end in _lines(text):
        line = text[start:end].rstrip("\r\n")
        was_in, fence = fence, _fenced(line, fence)
        is_code = bool(was_in or fence)
        match = _ATX.match(line)
        if match is not None:
            name = (match["title"] or "").rstrip("#").strip()
            yield _Heading(
                len(match["level"]), _plain(name), start, end, not is_code and _is_sure(match["lead"])
            )
            title = ""
        elif title and _UNDERLINE.match(line):
            level = 1 if "=" in line else 2
            yield _Heading(
                level, _plain(title), last, end, not is_code and not title.startswith((">", "-", "*", "|"))
            )
            title = ""
        else:
            title = line.strip()
        last = start


def _lines(text: str) -> Iterator[Span]:
    """Where the lines of a text stand, with their endings."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield start, end
        start = end


def _fenced(line: str, fence: str) -> str:
    """The fence in which the next line stands, "" for none (CommonMark 0.31, 4.5)."""
    match = _CODE_FENCE.match(line)
    if match is None:
        return fence
    mark, rest = match[1], match[2]
    if not fence:
        return "" if mark[0] == "`" and "`" in rest else mark
    return "" if mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip() else fence


def _is_sure(lead: str) -> bool:
    """Whether a line that begins so can begin a heading of the page itself."""
    indent = 4
    return not lead.strip() and "\t" not in lead and len(lead) < indent


def _plain(title: str) -> str:
    return " ".join(re.sub(r"[*_`\[\]]", "", title).split()) if "_" not in title else " ".join(title.split())


_SIGN: Final = r"[*_`\"'\])}]{0,4}[ \t]{0,8}(?:::?|=|：)[*_`]{0,3}"
_LEAD: Final = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:\[[^\]\n]\][ \t]+)?[*_`\"'\[({]{0,4}")
"""What may stand before a name at the beginning of its line."""
_BLOCK: Final = re.compile(r"[ \t>]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|\||```|~~~|-{3,}|={3,}|>)")
"""What begins something of its own, so that it goes on with no line before."""
_KEY: Final = re.compile(r"[^\s#:-][^:\n]{0,200}:(?:[ \t]|$)")
_FENCE: Final = re.compile(r"-{3}[ \t]*$")
_RULE: Final = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
"""The second row of a table."""
_PIPE: Final = re.compile(r"(?<!\\)\|")
_PLAIN: Final = re.compile(r"[*_`\"'\[\](){}]")
_GAP: Final = re.compile(r"[\s_-]+")
_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A field with its values: all of it, which goes as a whole if it is hidden, and the values alone."""

    whole: Span
    values: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def bare(self) -> str:
        return self.text.rstrip("\r\n")

    @property
    def depth(self) -> int:
        return len(self.text) - len(self.text.lstrip(" \t>"))


def fields_in(text: str, field: str) -> list[FieldValue]:
    """Every place where a field of this name, or pattern of names, has a value."""
    lines = [_Line(start, text[start:end]) for start, end in _lines(text)]
    front = 0
    if lines and _FENCE.match(lines[0].bare.removeprefix("\ufeff")):
        front = next((count for count, line in enumerate(lines[1:], 2) if _FENCE.match(line.bare)), 0)
    found = [*_in_lines(lines, field, front), *_in_tables(lines, field)]
    return sorted(found, key=lambda one: one.whole)


@lru_cache(maxsize=512)
def names(field: str) -> re.Pattern[str]:
    """What finds a field's name in a sentence: with spaces, hyphens or underlines between its words."""
    return re.compile(rf"(?<![^\W_]){_words(field)}(?![^\W_])", re.IGNORECASE)


@lru_cache(maxsize=512)
def _names_told(field: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_]){_words(field)}{_SIGN}", re.IGNORECASE)


@lru_cache(maxsize=512)
def _names_alone(field: str) -> re.Pattern[str]:
    return re.compile(rf"\W*{_words(field)}\W*", re.IGNORECASE)


def _words(field: str) -> str:
    words = [word for word in _GAP.split(field.strip()) if word]
    signs = {"*": r"\w{0,60}", "?": r"\w"}
    shapes = ["".join(signs.get(char) or re.escape(char) for char in word) for word in words]
    return r"[\s_-]{0,3}".join(shapes)


def _in_lines(lines: Sequence[_Line], field: str, front: int) -> Iterator[FieldValue]:
    pattern = _names_told(field)
    for place, line in enumerate(lines):
        match = pattern.search(line.bare)
        if match is None:
            continue
        last = _last(lines, place, front)
        end = lines[last].end
        shown_end = lines[last].start + len(lines[last].bare)
        rest = line.text[match.end() :]
        value = line.start + match.end() + len(rest) - len(rest.lstrip(" \t"))
        lead = _LEAD.match(line.bare)
        is_first = lead is not None and lead.end() >= match.start()
        whole = (line.start, end) if is_first else (line.start + match.start(), shown_end)
        yield FieldValue(whole, ((value, shown_end),) if value < shown_end else ())


def _last(lines: Sequence[_Line], place: int, front: int) -> int:
    """The last line that still belongs to the value that begins in a line."""
    first, last = lines[place], place
    is_front = place < front
    for at in range(place + 1, len(lines)):
        line = lines[at]
        if is_front:
            goes_on = at < front - 1 and (line.depth > first.depth or not _KEY.match(line.bare))
        elif not line.bare.strip():
            continue
        else:
            is_next = at == last + 1 and last >= place
            goes_on = line.depth > first.depth or (
                is_next and not _BLOCK.match(line.bare) and not _KEY.match(line.bare.lstrip())
            )
        if not goes_on:
            break
        last = at
    return last


def _in_tables(lines: Sequence[_Line], field: str) -> Iterator[FieldValue]:
    pattern = _names_alone(field)
    for place, line in enumerate(lines):
        if place == 0 or "-" not in line.text or "|" not in line.text or not _RULE.match(line.bare):
            continue
        head = lines[place - 1]
        columns = [number for number, cell in enumerate(_cells(head)) if _is_name(pattern, head, cell)]
        below = takewhile(lambda row: "|" in lines[row].text, range(place + 1, len(lines)))
        for row in (place - 1, place, *below):
            cells = _cells(lines[row])
            for column in columns:
                if column < len(cells):
                    yield _cell(lines[row], cells[column], is_value=row > place)
            # A table of two columns without a head of its own begins with a row as the others.
            is_pair = row > place or (row < place and len(cells) == _PAIR)
            if is_pair and cells and _is_name(pattern, lines[row], cells[0]):
                values = tuple(_inner(lines[row], cell) for cell in cells[1:])
                yield FieldValue((lines[row].start, lines[row].end), values)


def _is_name(pattern: re.Pattern[str], line: _Line, cell: Span) -> bool:
    start, end = cell
    text = _PLAIN.sub("", line.text[start - line.start : end - line.start]).strip()
    return bool(text) and pattern.fullmatch(text) is not None


def _cells(line: _Line) -> list[Span]:
    """What stands between the pipes of a row."""
    bare = line.bare
    bounds = [match.start() for match in _PIPE.finditer(bare)]
    first = len(bare) - len(bare.lstrip(" \t>"))
    starts = [first, *(bound + 1 for bound in bounds)]
    ends = [*bounds, len(bare)]
    cells = list(zip(starts, ends, strict=True))
    if bounds and not bare[first : bounds[0]].strip():
        cells = cells[1:]
    if bounds and cells and not bare[cells[-1][0] :].strip():
        cells = cells[:-1]
    return [(line.start + start, line.start + end) for start, end in cells]


def _cell(line: _Line, cell: Span, *, is_value: bool) -> FieldValue:
    """A cell with the pipe behind it, or the one before where there is none behind."""
    start, end = cell
    if line.text[end - line.start : end - line.start + 1] == "|":
        end += 1
    elif line.text[start - line.start - 1 : start - line.start] == "|":
        start -= 1
    return FieldValue((start, end), (_inner(line, cell),) if is_value else ())


def _inner(line: _Line, cell: Span) -> Span:
    start, end = cell
    text = line.text[start - line.start : end - line.start]
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip()) if text.strip() else start
