"""DOCX files as Markdown: headings, lists, tables and notes, in their order. `reader` calls it.

Source: ECMA-376 part 1, WordprocessingML. Libraries pass over what stands in content controls and in tracked
insertions, and take quadratic time for tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from bethink.documents.reading.messages import FileText, UnfitError
from bethink.documents.reading.package import Package, attribute, local
from bethink.documents.reading.tables import as_markdown, bounded, paged, with_whole_lists
from bethink.internet.decoder import visible

_HEADING: Final = re.compile(r"heading (\d)", re.IGNORECASE)
_MAX_ROWS: Final = 5_000
_DEEPEST: Final = 50
_DEEPEST_LIST: Final = 6
_SAME_LINE: Final = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_PASSED_OVER: Final = frozenset({"Fallback", "del", "moveFrom", "pPr", "rPr", "instrText", "annotationRef"})
"""What is there twice, what was deleted, and what is no text."""
_BODY: Final = "word/document.xml"
_BULLET: Final = "bullet"


def read_docx(package: Package) -> FileText:
    """The document's paragraphs and tables, in order, then its notes.

    Raises:
        UnfitError: it is damaged or too large.
    """
    root = package.xml(_BODY)
    if root is None:
        raise UnfitError("This is not a DOCX file: it contains no document.")
    body = root.find("{*}body")
    if body is None:
        raise UnfitError("This DOCX file is damaged: it cannot be opened.")
    blocks, note = bounded(_Reader(_styles(package), _numbering(package)).blocks(body, 0))
    blocks += _notes(package)
    return FileText(list(paged(map(visible, with_whole_lists(blocks)))), title=package.title(), note=note)


def _styles(package: Package) -> Mapping[str, str]:
    """The names of styles."""
    root = package.xml("word/styles.xml")
    found: dict[str, str] = {}
    for style in () if root is None else root:
        name = style.find("{*}name")
        if name is not None:
            found[attribute(style, "styleId")] = attribute(name, "val")
    return found


def _numbering(package: Package) -> Mapping[tuple[str, str], str]:
    """How lists are numbered: the format of each list and level."""
    root = package.xml("word/numbering.xml")
    formats: dict[tuple[str, str], str] = {}
    found: dict[tuple[str, str], str] = {}
    for element in () if root is None else root:
        if local(element) == "abstractNum":
            for level in element:
                form = level.find("{*}numFmt")
                if form is not None:
                    key = attribute(element, "abstractNumId"), attribute(level, "ilvl")
                    formats[key] = attribute(form, "val")
        elif local(element) == "num":
            meant = element.find("{*}abstractNumId")
            abstract = "" if meant is None else attribute(meant, "val")
            for (one, level), form in formats.items():
                if one == abstract:
                    found[attribute(element, "numId"), level] = form
    return found


def _notes(package: Package) -> list[str]:
    """Footnotes and endnotes, as Markdown has them."""
    found: list[str] = []
    for name in ("word/footnotes.xml", "word/endnotes.xml"):
        root = package.xml(name)
        for note in () if root is None else root:
            text = " ".join(_text(note).split())
            # Those with a type are the lines above the notes.
            if text and not attribute(note, "type"):
                found.append(f"[^{attribute(note, 'id')}]: {text}")
    return found


class _Reader:
    def __init__(self, styles: Mapping[str, str], numbering: Mapping[tuple[str, str], str]) -> None:
        self._styles = styles
        self._numbering = numbering
        self._counts: dict[tuple[str, int], int] = {}

    def blocks(self, parent: Any, depth: int) -> Iterator[str]:  # noqa: ANN401 - lxml's elements have no types
        for element in parent if depth < _DEEPEST else ():
            match local(element):
                case "p":
                    if text := self._paragraph(element):
                        yield text
                case "tbl":
                    if table := _table(element):
                        yield table
                case name if name and name not in _PASSED_OVER:
                    # Content controls, tracked insertions and whatever else may stand around paragraphs.
                    yield from self.blocks(element, depth + 1)
                case _:
                    continue

    def _paragraph(self, element: Any) -> str:  # noqa: ANN401 - the same
        text = _text(element).strip()
        if not text:
            return ""
        style = element.find("{*}pPr/{*}pStyle")
        name = "" if style is None else self._styles.get(attribute(style, "val"), "")
        if found := _HEADING.match(name):
            return f"{'#' * min(int(found[1]) or 1, 6)} {' '.join(text.split())}"
        if name == "Title":
            return f"# {' '.join(text.split())}"
        numbered = element.find("{*}pPr/{*}numPr")
        if numbered is not None:
            return self._item(numbered, text)
        return (
            f"{'1.' if name.startswith('List Number') else '-'} {text}" if name.startswith("List") else text
        )

    def _item(self, numbered: Any, text: str) -> str:  # noqa: ANN401 - the same
        parts = {local(part): attribute(part, "val") for part in numbered}
        list_id, level = parts.get("numId", ""), parts.get("ilvl", "0")
        depth = min(int(level), _DEEPEST_LIST) if level.isdecimal() else 0
        if list_id == "0":
            return text
        indent = "  " * depth
        if self._numbering.get((list_id, level), _BULLET) in {_BULLET, "none"}:
            return f"{indent}- {text}"
        self._counts[list_id, depth] = self._counts.get((list_id, depth), 0) + 1
        for deeper in range(depth + 1, _DEEPEST_LIST + 1):
            self._counts.pop((list_id, deeper), None)
        return f"{indent}{self._counts[list_id, depth]}. {text}"


def _table(element: Any) -> str:  # noqa: ANN401 - the same
    rows = [_cells(row) for row in islice(element.iter("{*}tr"), _MAX_ROWS)]
    return as_markdown([row for row in rows if row])


def _cells(row: Any) -> list[str]:  # noqa: ANN401 - the same
    cells: list[str] = []
    for cell in row:
        if local(cell) in {"tc", "sdt"}:
            cells.append(" ".join(_text(cell).split()))
            span = cell.find("{*}tcPr/{*}gridSpan")
            if span is not None and (value := attribute(span, "val")).isdigit():
                cells += [""] * (min(int(value), 64) - 1)
    return cells


def _text(element: Any) -> str:  # noqa: ANN401 - the same
    """All that an element says; its paragraphs on lines of their own."""
    parts: list[str] = []
    walk = [iter((element,))]
    while walk:
        inner = next(walk[-1], None)
        if inner is None:
            walk.pop()
            continue
        name = local(inner)
        if name in _PASSED_OVER:
            continue
        if name == "t":
            parts.append(inner.text or "")
        elif name == "p" and parts:
            parts.append("\n")
        elif name == "footnoteReference":
            parts.append(f"[^{attribute(inner, 'id')}]")
        parts.append(_SAME_LINE.get(name, ""))
        if len(walk) < _DEEPEST:
            walk.append(iter(inner))
    return "".join(parts)
