"""The sections of a page as filters take them: found where any editor might see one. `filters` asks.

Where a section may begin, it begins; it ends only where `format` is sure that it does.
A heading in a quotation or a list hides what stands below it; one in a code block ends nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATX: Final = re.compile(
    r"(?P<lead>[ \t>]*(?:[-*+][ \t]+)?)(?P<level>#{1,6})(?:[ \t]+(?P<title>.*?))?[ \t]*$"
)
_UNDERLINE: Final = re.compile(r"[ \t>]*(?:=+|-+)[ \t]*$")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")


@dataclass(frozen=True, slots=True)
class Section:
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


def sections(text: str) -> list[Section]:
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
        Section(heading.title, trail, heading.start, heading.body, ends.get(place, len(text)))
        for place, (heading, trail) in enumerate(found)
    ]


def _headings(text: str) -> Iterator[_Heading]:
    fence = ""
    start = last = 0
    title = ""
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
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
        last, start = start, end


def _fenced(line: str, fence: str) -> str:
    """The fence in which the next line stands, "" for none (CommonMark 0.31, 4.5)."""
    match = _FENCE.match(line)
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
