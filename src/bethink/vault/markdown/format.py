"""What a page of the vault is made of: sections, blocks, links, tags. Pure.

Everything that reads a page's Markdown stands on this: the index, filters, tools, the mirror of facts.
The format (spec 003; the README and prompt of mem-agent): `- name: value`, `## sections`, tables,
`[[links]]`, front matter if wanted, and `^id` behind a line that something else points at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from bethink.errors import BadInput
from bethink.vault.markdown.lines import Heading, Lines, Span, scan
from bethink.vault.markdown.links import Link, links_in

_BLOCK: Final = re.compile(r"\^([A-Za-z0-9-]+)[ \t]*(?=\n|\Z)")
_TAG: Final = re.compile(r"#([\w/-]*[^\W\d_][\w/-]*)")


class Block(msgspec.Struct, frozen=True, gc=False):
    """An id `^id` that a line carries. `span` is the line without its ending, `id_span` the `^id` itself."""

    id: str
    line: int
    span: Span
    id_span: Span


class Section(msgspec.Struct, frozen=True, gc=False):
    """A heading with the text below it; the first of a page may have none: an empty path.

    `path` are the titles from the topmost heading to its own; `start` is where its heading begins, `body`
    where its text does, `end` where the next heading of any level begins.
    """

    title: str
    path: tuple[str, ...]
    line: int
    start: int
    body: int
    end: int


class ParsedPage(msgspec.Struct, frozen=True, gc=False):
    """A page, read. Places are offsets into `text`, by characters; lines count from 1."""

    text: str
    lines: Lines
    headings: Sequence[Heading]
    blocks: Sequence[Block]
    links: Sequence[Link]

    @property
    def front(self) -> Span | None:
        """Where the front matter is, without its fences."""
        return self.lines.front

    def line_at(self, place: int) -> int:
        """The line in which a place is, from 1."""
        return bisect_right(self.lines.starts, place)

    def line_span(self, line: int) -> Span:
        """A line by its number, without its ending.

        Raises:
            BadInput: there is no such line.
        """
        starts = self.lines.starts
        if not 1 <= line <= len(starts):
            raise BadInput(f"There is no line {line}: the page has {len(starts)}.")
        start = starts[line - 1]
        stop = starts[line] if line < len(starts) else len(self.text)
        return start, start + len(self.text[start:stop].rstrip("\r\n"))


def parse(text: str) -> ParsedPage:
    """A page's text, read. Takes microseconds for a kilobyte."""
    lines = scan(text)
    return ParsedPage(text, lines, lines.headings, _blocks(lines), links_in(lines))


def sections(document: ParsedPage) -> list[Section]:
    """The sections in order, together the whole text behind the front matter."""
    body, size = document.lines.body, len(document.text)
    headings = document.headings
    ends = [*(heading.span[0] for heading in headings[1:]), size][: len(headings)]
    found: list[Section] = []
    if not headings or headings[0].span[0] > body:
        end = headings[0].span[0] if headings else size
        found.append(Section("", (), document.line_at(body), body, body, end))
    path: list[Heading] = []
    for heading, end in zip(headings, ends, strict=True):
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        start, stop = heading.span
        titles = tuple(above.title for above in path)
        behind = min(_behind_line(document.text, stop), size)
        found.append(Section(heading.title, titles, heading.line, start, behind, end))
    return found


def section_at(found: Sequence[Section], place: int) -> Section | None:
    """Of a page's sections the one in which a place is."""
    at = bisect_right(found, place, key=lambda section: section.start) - 1
    return found[at] if at >= 0 else None


def section_named(document: ParsedPage, name: str) -> Section | None:
    """The first section with this title, whatever its case; a `#` of Markdown before it does not count."""
    wanted = " ".join(name.strip().lstrip("#").split()).casefold()
    return next((one for one in sections(document) if " ".join(one.title.split()).casefold() == wanted), None)


def line_meant(text: str, link: Link) -> int:
    """The line of a page to which a link leads: of its section or block, else the first."""
    document = parse(text)
    if link.block:
        return next((block.line for block in document.blocks if block.id == link.block), 1)
    found = section_named(document, link.section.rpartition("#")[2]) if link.section else None
    return 1 if found is None else found.line


def tags_of(document: ParsedPage) -> list[str]:
    """The tags `#tag` in the text, without the mark, in order, each once; not the front matter's."""
    lines = document.lines
    if "#" not in lines.plain:
        return []
    found: dict[str, None] = {}
    for tag in _TAG.finditer(lines.plain, lines.body):
        before = lines.plain[tag.start() - 1 : tag.start()]
        if (not before or before in " \t\n(") and is_running(lines, tag.start()):
            found.setdefault(tag[1].rstrip("/-"))
    return list(found)


def is_running(lines: Lines, place: int) -> bool:
    """Whether a place is running text, and no block of code."""
    at = bisect_right(lines.chunks, (place, len(lines.plain) + 1)) - 1
    return at >= 0 and lines.chunks[at][1] > place


def new_line_of(text: str) -> str:
    """How lines end here: as the first one does."""
    at = text.find("\n")
    if at < 0:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if text[at - 1 : at] == "\r" else "\n"


def _blocks(lines: Lines) -> list[Block]:
    plain = lines.plain
    if "^" not in plain:
        return []
    found: list[Block] = []
    for mark in _BLOCK.finditer(plain, lines.body):
        start = mark.start()
        if (start == 0 or plain[start - 1] in " \t\n") and is_running(lines, start):
            line = bisect_right(lines.starts, start)
            end = plain.find("\n", start)
            end = len(lines.text[: end if end >= 0 else None].rstrip("\r\n")) if end >= 0 else len(plain)
            found.append(Block(mark[1], line, (lines.starts[line - 1], end), (start, mark.end(1))))
    return found


def _behind_line(text: str, stop: int) -> int:
    """Where the line behind one that stops there begins."""
    if text.startswith("\r\n", stop):
        return stop + 2
    return stop + 1 if text.startswith(("\n", "\r"), stop) else stop
