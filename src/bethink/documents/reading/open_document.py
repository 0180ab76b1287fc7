"""ODT and ODP files as Markdown; a slide of ODP is a page. `reader` calls it.

Source: OASIS Open Document Format 1.3, part 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from bethink.documents.reading.messages import MAX_CHARS, FileText, UnfitError
from bethink.documents.reading.package import Package, attribute, local
from bethink.documents.reading.tables import as_markdown, bounded, paged
from bethink.internet.decoder import visible

_DEEPEST: Final = 50
_DEEPEST_LIST: Final = 6
_MAX_REPEATED: Final = 64
"""Columns and spaces that a file says to repeat; a sheet's last one is repeated to the end of all columns."""
_MAX_ROWS: Final = 5_000
_PASSED_OVER: Final = frozenset(
    {"tracked-changes", "annotation", "annotation-end", "forms", "sequence-decls", "note-citation", "desc"}
)
_NOTES: Final = "notes"


def read_odt(package: Package) -> FileText:
    """The text's headings, paragraphs, lists and tables, in order.

    Raises:
        UnfitError: it is damaged or locked.
    """
    blocks, note = bounded(filter(None, _blocks(_body(package), 0)))
    return FileText(list(paged(map(visible, blocks))), title=package.title("meta.xml"), note=note)


def read_odp(package: Package) -> FileText:
    """The slides in their order.

    Raises:
        UnfitError: it is damaged or locked.
    """
    pages: list[str] = []
    for slide in _body(package).iterfind("{*}page"):
        blocks: list[str] = []
        notes: list[str] = []
        for frame in sorted(slide, key=lambda frame: attribute(frame, "class") != "title"):
            if local(frame) == _NOTES:
                notes += [f"Notes: {block}" for block in _blocks(frame, 0) if block]
            elif attribute(frame, "class") == "title":
                blocks += [f"# {block}" for block in _blocks(frame, 0) if block]
            else:
                blocks += filter(None, _blocks(frame, 0))
        pages.append(visible("\n\n".join([*blocks, *notes])))
        if sum(map(len, pages)) > MAX_CHARS:
            break
    labels = [f"Slide {number}" for number in range(1, len(pages) + 1)]
    return FileText(pages, labels, package.title("meta.xml"))


def _body(package: Package) -> Any:  # noqa: ANN401 - lxml's elements have no types
    manifest = package.part("META-INF/manifest.xml") or b""
    if b"encryption-data" in manifest:
        raise UnfitError(f"This {package.what} is locked with a password: save it without one.")
    root = package.xml("content.xml")
    body = None if root is None else root.find("{*}body")
    if body is None or not len(body):
        raise UnfitError(f"This {package.what} is damaged: it cannot be opened.")
    return body[0]


def _blocks(parent: Any, depth: int) -> Iterator[str]:  # noqa: ANN401 - the same
    for element in parent if depth < _DEEPEST else ():
        match local(element):
            case "h":
                yield from _heading(element)
            case "p":
                yield _text(element).strip()
                # Text boxes are anchored in paragraphs.
                yield from _boxes(element, depth + 1)
            case "list":
                yield "\n".join(_items(element, 0))
            case "table":
                yield as_markdown(list(_rows(element)))
            case name if name and name not in _PASSED_OVER:
                yield from _blocks(element, depth + 1)
            case _:
                continue


def _heading(element: Any) -> Iterator[str]:  # noqa: ANN401 - the same
    level = attribute(element, "outline-level", "1")
    if text := " ".join(_text(element).split()):
        yield f"{'#' * (min(int(level), 6) if level.isdecimal() else 1)} {text}"


def _boxes(paragraph: Any, depth: int) -> Iterator[str]:  # noqa: ANN401 - the same
    for element in paragraph.iter("{*}text-box"):
        yield from _blocks(element, depth)


def _items(parent: Any, level: int) -> Iterator[str]:  # noqa: ANN401 - the same
    for item in parent if level < _DEEPEST else ():
        for element in item if local(item) in {"list-item", "list-header"} else ():
            if local(element) == "list":
                yield from _items(element, level + 1)
            elif local(element) in {"p", "h"} and (text := _text(element).strip()):
                yield f"{'  ' * min(level, _DEEPEST_LIST)}- {text}"


def _rows(table: Any) -> Iterator[list[str]]:  # noqa: ANN401 - the same
    for row in islice(table.iter("{*}table-row"), _MAX_ROWS):
        cells: list[str] = []
        for cell in row:
            if local(cell) in {"table-cell", "covered-table-cell"}:
                text = " ".join(part for one in cell if (part := " ".join(_text(one).split())))
                repeated = attribute(cell, "number-columns-repeated", "1")
                times = int(repeated) if repeated.isdecimal() and len(repeated) < _DEEPEST_LIST else 1
                cells += [text] * min(times, _MAX_REPEATED)
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield cells


def _text(element: Any) -> str:  # noqa: ANN401 - the same
    """What an element says in one paragraph, without what is anchored in it."""
    parts: list[str] = []
    _collect(element, parts, 0)
    return "".join(parts)


def _collect(element: Any, parts: list[str], depth: int) -> None:  # noqa: ANN401 - the same
    parts.append(element.text or "")
    for inner in element if depth < _DEEPEST else ():
        match local(inner):
            case "s":
                count = attribute(inner, "c", "1")
                parts.append(" " * (min(int(count), _MAX_REPEATED) if count.isdecimal() else 1))
            case "tab":
                parts.append("\t")
            case "line-break":
                parts.append("\n")
            case "note":
                body = inner.find("{*}note-body")
                said = "" if body is None else " ".join(" ".join(_text(one) for one in body).split())
                parts.append(f" ({said})" if said else "")
            case name if name and name not in _PASSED_OVER and name != "frame":
                _collect(inner, parts, depth + 1)
            case _:
                pass
        parts.append(inner.tail or "")
