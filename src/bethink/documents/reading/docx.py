"""DOCX files as Markdown: headings, lists, tables, in the order in which they stand. `reader` calls it.

python-docx opens the package and knows its styles; the text itself is walked
here, since the library passes over what stands in content controls and in
tracked insertions, and takes quadratic time for tables.
"""

from __future__ import annotations

import io
import re
import zipfile
from typing import TYPE_CHECKING, Any, Final

from bethink.documents.reading.messages import FOREIGN, MAX_CHARS, UnfitError
from bethink.documents.reading.tables import as_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MC: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_MAX_UNPACKED: Final = 200_000_000
"""Bytes of all parts: more is a bomb, or a book of photographs."""
_MAX_PARTS: Final = 10_000
_HEADING: Final = re.compile(r"heading (\d)", re.IGNORECASE)
_MAX_ROWS: Final = 5_000
_DEEPEST: Final = 50
_SAME_LINE: Final = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_PASSED_OVER: Final = frozenset({f"{_MC}Fallback", f"{_W}del", f"{_W}moveFrom", f"{_W}pPr", f"{_W}rPr"})
"""What is there twice, what was deleted, and what is no text."""


def docx_blocks(content: bytes) -> Iterator[str]:
    """The document's paragraphs and tables, in order.

    Raises:
        UnfitError: it is damaged, locked or too large.
    """
    _check(content)
    import docx
    from docx.opc.exceptions import PackageNotFoundError

    try:
        document: Any = docx.Document(io.BytesIO(content))
        body = document.element.body
        styles = {style.style_id: style.name or "" for style in document.styles}
    except (PackageNotFoundError, *FOREIGN) as error:
        raise UnfitError("This DOCX file is damaged: it cannot be opened.") from error
    size = 0
    for block in _blocks(body, styles, 0):
        yield block
        size += len(block)
        if size > MAX_CHARS:
            return


def _check(content: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
    except FOREIGN as error:
        raise UnfitError("This DOCX file is damaged: it cannot be unpacked.") from error
    if any(part.flag_bits & 1 for part in parts):
        raise UnfitError("This DOCX file is locked with a password.")
    if len(parts) > _MAX_PARTS or sum(part.file_size for part in parts) > _MAX_UNPACKED:
        raise UnfitError(f"Unpacked, this DOCX file is larger than {_MAX_UNPACKED // 1_000_000} MB.")
    if "word/document.xml" not in archive.namelist():
        raise UnfitError("This is not a DOCX file: it contains no document.")


def _blocks(parent: Any, styles: dict[str, str], depth: int) -> Iterator[str]:  # noqa: ANN401 - lxml's elements
    for element in parent if depth < _DEEPEST else ():
        match element.tag:
            case tag if tag == f"{_W}p":
                if text := _paragraph(element, styles):
                    yield text
            case tag if tag == f"{_W}tbl":
                rows = [
                    _cells(row) for row, _ in zip(element.iter(f"{_W}tr"), range(_MAX_ROWS), strict=False)
                ]
                if table := as_markdown([row for row in rows if row]):
                    yield table
            case tag if isinstance(tag, str) and tag not in _PASSED_OVER:
                # Content controls, tracked insertions and whatever else may stand around paragraphs.
                yield from _blocks(element, styles, depth + 1)
            case _:
                continue


def _paragraph(element: Any, styles: dict[str, str]) -> str:  # noqa: ANN401
    text = _text(element).strip()
    if not text:
        return ""
    style = element.find(f"{_W}pPr/{_W}pStyle")
    name = styles.get(style.get(f"{_W}val"), "") if style is not None else ""
    if found := _HEADING.match(name):
        return f"{'#' * min(int(found[1]) or 1, 6)} {' '.join(text.split())}"
    if name == "Title":
        return f"# {' '.join(text.split())}"
    is_listed = name.startswith("List") or element.find(f"{_W}pPr/{_W}numPr") is not None
    return f"- {text}" if is_listed else text


def _cells(row: Any) -> list[str]:  # noqa: ANN401
    cells: list[str] = []
    for cell in row.iterchildren(f"{_W}tc", f"{_W}sdt"):
        cells.append(" ".join(_text(cell).split()))
        span = cell.find(f"{_W}tcPr/{_W}gridSpan")
        if span is not None and (value := str(span.get(f"{_W}val"))).isdigit():
            cells += [""] * (min(int(value), 64) - 1)
    return cells


def _text(element: Any) -> str:  # noqa: ANN401
    """All that an element says; its paragraphs on lines of their own."""
    parts: list[str] = []
    walk = [iter((element,))]
    while walk:
        child = next(walk[-1], None)
        if child is None:
            walk.pop()
            continue
        if child.tag in _PASSED_OVER:
            continue
        if child.tag == f"{_W}t":
            parts.append(child.text or "")
        elif child.tag == f"{_W}p" and parts:
            parts.append("\n")
        parts.append(_SAME_LINE.get(child.tag, ""))
        if len(walk) < _DEEPEST:
            walk.append(iter(child))
    return "".join(parts)
