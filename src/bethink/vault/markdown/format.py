"""What a page of the vault is made of, and edits that change only what they are asked to.

Everything that reads or writes a page's Markdown stands on this: the index,
filters, tools, the mirror of facts. All functions are pure; a text that goes
through an edit keeps every other byte: ends of lines, byte order mark, tabs,
a missing last line feed.

The format (spec 003; the README and prompt of mem-agent): `- name: value`,
`## sections`, tables, `[[links]]`, front matter if wanted, and `^id` behind a
line that something else points at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from bethink.errors import BadInput
from bethink.vault.markdown.lines import BOM, FactLine, Heading, Lines, Span, Table, scan
from bethink.vault.markdown.links import Link, links_in

_BLOCK: Final = re.compile(r"\^([A-Za-z0-9-]+)[ \t]*(?=\n|\Z)")
_TAG: Final = re.compile(r"#([\w/-]*[^\W\d_][\w/-]*)")
_BREAK: Final = re.compile(r"[\r\n]")


class Block(msgspec.Struct, frozen=True, gc=False):
    """An id `^id` that a line carries. `span` is the line without its ending, `id_span` the `^id` itself."""

    id: str
    line: int
    span: Span
    id_span: Span


class Section(msgspec.Struct, frozen=True, gc=False):
    """A heading with the text below it; the first of a page may have none: level 0, an empty path.

    `path` are the titles from the topmost heading to its own; `start` is where
    its heading begins, `body` where its text does, `end` where the next heading
    of any level begins, `tree_end` where the next of its own level or above does.
    """

    level: int
    title: str
    path: tuple[str, ...]
    line: int
    start: int
    body: int
    end: int
    tree_end: int


class Document(msgspec.Struct, frozen=True, gc=False):
    """A page, read. Places are offsets into `text`, by characters; lines count from 1."""

    text: str
    lines: Lines
    headings: Sequence[Heading]
    facts: Sequence[FactLine]
    tables: Sequence[Table]
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


def parse(text: str) -> Document:
    """A page's text, read. Takes microseconds for a kilobyte."""
    lines = scan(text)
    return Document(
        text,
        lines,
        lines.headings,
        lines.facts,
        lines.tables,
        _blocks(lines),
        links_in(lines),
    )


def sections(document: Document) -> list[Section]:
    """The sections in order, together the whole text behind the front matter."""
    body, size = document.lines.body, len(document.text)
    headings = document.headings
    ends = [*(heading.span[0] for heading in headings[1:]), size][: len(headings)]
    found: list[Section] = []
    if not headings or headings[0].span[0] > body:
        end = headings[0].span[0] if headings else size
        found.append(Section(0, "", (), document.line_at(body), body, body, end, end))
    path: list[Heading] = []
    trees = _tree_ends(headings, size)
    for heading, end, tree_end in zip(headings, ends, trees, strict=True):
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        start, stop = heading.span
        found.append(
            Section(
                heading.level,
                heading.title,
                tuple(above.title for above in path),
                heading.line,
                start,
                min(_behind_line(document.text, stop), size),
                end,
                tree_end,
            )
        )
    return found


def section_at(found: Sequence[Section], place: int) -> Section | None:
    """Of a page's sections the one in which a place is."""
    at = bisect_right(found, place, key=_start_of) - 1
    return found[at] if at >= 0 else None


def section_named(document: Document, name: str) -> Section | None:
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


def tags_of(document: Document) -> list[str]:
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


def extent(document: Document, fact: FactLine) -> Span:
    """A fact with all that is indented below it, and the ending of its last line."""
    lines = document.lines
    end = _behind_line(document.text, fact.span[1])
    for line in range(fact.line, len(lines.starts)):
        start = lines.starts[line]
        stop = lines.starts[line + 1] - 1 if line + 1 < len(lines.starts) else len(lines.plain)
        content = lines.plain[start:stop]
        inner = content.lstrip(" \t>")
        if not inner or len(content) - len(inner) <= fact.indent:
            break
        end = min(stop + 1, len(lines.plain))
    return fact.span[0], end


def new_line_of(text: str) -> str:
    """How lines end here: as the first one does."""
    at = text.find("\n")
    if at < 0:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if text[at - 1 : at] == "\r" else "\n"


# --- edits --------------------------------------------------------------------


def set_fact(text: str, name: str, value: str, *, section: str | None = None) -> str:
    """The text with this fact's value, where the first fact of that name stands; else with a line more.

    A new line stands where `add_line` puts it. The `^id` of a fact that is there stays.

    Raises:
        BadInput: the name or the value cannot stand in such a line.
    """
    name, value = name.strip(), value.strip()
    line = f"- {name}: {value}"
    (fact,) = facts if len(facts := parse(line).facts) == 1 else (None,)
    if fact is None or (fact.name, fact.value) != (name, value):
        raise BadInput(
            "A fact is one line, `- name: value`: its name some words without a colon, then its value."
        )
    document = parse(text)
    where = None if section is None else section_named(document, section)
    if section is None or where is not None:
        low, high = (0, len(text)) if where is None else (where.start, where.tree_end)
        for found in document.facts:
            if low <= found.span[0] < high and found.name.casefold() == name.casefold():
                return _with_value(text, found, value)
    return add_line(text, line, section=section)


def add_line(text: str, line: str, *, section: str | None = None) -> str:
    """The text with a line more, below the last fact of the section, or at its end.

    Without `section` it is the part above all headings but the page's title. A
    section that is not there is added at the end, as one of level 2.

    Raises:
        BadInput: it is more than one line.
    """
    if _BREAK.search(line) or _BREAK.search(section or ""):
        raise BadInput("This is more than one line; add each by itself.")
    document, new_line = parse(text), new_line_of(text)
    where = _first(document) if section is None else section_named(document, section)
    if where is not None:
        return _inserted(text, _behind_facts(document, where), line)
    last = "" if text.strip(BOM) and not text.endswith(("\n", "\r")) else new_line
    before = "" if not text.strip(f"{BOM} \t\r\n") else new_line if last else new_line * 2
    return f"{text}{before}## {(section or '').strip()}{new_line}{new_line}{line}{last}"


def remove_line(text: str, line: int) -> str:
    """The text without one line, and its ending.

    Raises:
        BadInput: there is no such line.
    """
    start, stop = parse(text).line_span(line)
    end = _behind_line(text, stop)
    if end == stop and start and text[start - 1] in "\r\n":
        # The last line has no ending; the one before it is the last now, and has none either.
        start -= 2 if text[max(0, start - 2) : start] == "\r\n" else 1
    return text[:start] + text[end:]


def _with_value(text: str, fact: FactLine, value: str) -> str:
    start, end = fact.value_span
    before = " " if value and text[start - 1] not in " \t" else ""
    behind = " " if value and text[end : end + 1] == "^" else ""
    return f"{text[:start]}{before}{value}{behind}{text[end:]}"


def _inserted(text: str, at: int, line: str) -> str:
    """The text with a line more that begins at a place where a line begins, or at its end."""
    new_line = new_line_of(text)
    at = max(at, len(BOM)) if text.startswith(BOM) else at
    if at == len(text) and text.strip(BOM) and not text.endswith(("\n", "\r")):
        return f"{text}{new_line}{line}"
    return f"{text[:at]}{line}{new_line}{text[at:]}"


def _first(document: Document) -> Section:
    """The part above all headings, or below the page's title where nothing is above that."""
    first, *more = sections(document)
    if first.level > 1:
        return Section(0, "", (), first.line, first.start, first.start, first.start, first.start)
    is_empty = first.level == 0 and not document.text[first.body : first.end].strip(f"{BOM} \t\r\n")
    return more[0] if is_empty and more and more[0].level == 1 else first


def _behind_facts(document: Document, where: Section) -> int:
    """Where a line behind the last fact of a section begins, or one behind its last text."""
    inside = [fact for fact in document.facts if where.body <= fact.span[0] < where.end]
    if inside:
        return extent(document, inside[-1])[1]
    kept = document.text[where.body : where.end].rstrip(" \t\r\n")
    return (
        _behind_line(document.text, document.line_span(document.line_at(where.body + len(kept) - 1))[1])
        if (kept.strip(BOM))
        else where.body
    )


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


def _tree_ends(headings: Sequence[Heading], size: int) -> list[int]:
    """For each heading where the next one of its own level or above begins."""
    ends = [size] * len(headings)
    waiting: list[int] = []
    for place, heading in enumerate(headings):
        while waiting and headings[waiting[-1]].level >= heading.level:
            ends[waiting.pop()] = heading.span[0]
        waiting.append(place)
    return ends


def _behind_line(text: str, stop: int) -> int:
    """Where the line behind one that stops there begins."""
    if text.startswith("\r\n", stop):
        return stop + 2
    return stop + 1 if text.startswith(("\n", "\r"), stop) else stop


def _start_of(section: Section) -> int:
    return section.start
