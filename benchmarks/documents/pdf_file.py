"""PDF files of the corpus, by ReportLab: an outline, ruled tables, two columns, scans, an unmapped font."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any, Final, assert_never

from benchmarks.documents.corpus import Heading, Items, Paragraph, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from benchmarks.documents.corpus import Block, CorpusFile, Page

_MARGIN: Final = 54
_GAP: Final = 18
_WIDTH, _HEIGHT = 595.28, 841.89
_TO_UNICODE: Final = re.compile(rb"/ToUnicode \d+ 0 R")


def pdf(file: CorpusFile, *, picture: bytes, drawn: Callable[[Page], Any]) -> bytes:
    """A file's bytes; a page of the corpus is one of the PDF."""
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.pdfgen.canvas import Canvas

    out = io.BytesIO()
    canvas: Any = Canvas(out, (_WIDTH, _HEIGHT), invariant=1, pageCompression=1)
    canvas.setTitle(file.title)
    font = "Helvetica"
    if file.layout == "unmapped font":
        # Codes in the order in which characters come up: without the table nobody knows what they mean.
        font = f"Vera{file.number}"
        registered: Any = TTFont(font, "Vera.ttf", asciiReadable=False)
        fonts: Any = pdfmetrics
        fonts.registerFont(registered)
    for number, page in enumerate(file.pages):
        if page.is_image:
            canvas.drawImage(ImageReader(drawn(page)), 0, 0, _WIDTH, _HEIGHT)
        else:
            _set(canvas, page, font=font, columns=2 if file.layout == "columns" else 1)
        if picture and number == len(file.pages) - 1:
            canvas.drawImage(ImageReader(io.BytesIO(picture)), _MARGIN, _MARGIN, 60, 60)
        canvas.showPage()
    canvas.save()
    content = out.getvalue()
    if file.layout == "unmapped font":
        return _TO_UNICODE.sub(lambda found: b" " * len(found[0]), content)
    return content


def _set(canvas: Any, page: Page, *, font: str, columns: int) -> None:  # noqa: ANN401 - ReportLab has no types
    from reportlab.platypus import Frame

    for number, block in enumerate(page.blocks):
        if isinstance(block, Heading):
            key = f"{canvas.getPageNumber()}-{number}"
            canvas.bookmarkPage(key)
            canvas.addOutlineEntry(block.text, key, level=block.level - 1)
    width = (_WIDTH - 2 * _MARGIN - (columns - 1) * _GAP) / columns
    flowing = [_flowable(block, font) for block in page.blocks]
    half = (len(flowing) + columns - 1) // columns
    for column in range(columns):
        left = _MARGIN + column * (width + _GAP)
        frame: Any = Frame(left, _MARGIN, width, _HEIGHT - 2 * _MARGIN, 0, 0, 0, 0)
        part = flowing[column * half : (column + 1) * half]
        frame.addFromList(part, canvas)
        if part:
            raise ValueError(f"{len(part)} blocks do not fit on a page.")


def _flowable(block: Block, font: str) -> Any:  # noqa: ANN401
    from reportlab.lib import colors
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import ListFlowable
    from reportlab.platypus import Paragraph as Text
    from reportlab.platypus import Table as Grid

    body = ParagraphStyle("body", fontName=font, fontSize=10, leading=13, spaceAfter=8)
    match block:
        case Heading(text, level):
            size = 18 if level == 1 else 13
            style = ParagraphStyle("heading", body, fontSize=size, leading=size * 1.2, spaceBefore=6)
            if font == "Helvetica":
                style.fontName = "Helvetica-Bold"
            return Text(text, style)
        case Paragraph():
            return Text(block.text, body)
        case Items(items):
            return ListFlowable([Text(item, body) for item in items], bulletType="bullet", bulletFontSize=8)
        case Table(rows):
            grid: Any = Grid(
                _cells(rows), style=[("GRID", (0, 0), (-1, -1), 0.5, colors.black)], spaceAfter=8
            )
            grid.setStyle([("FONTNAME", (0, 0), (-1, -1), font), ("FONTSIZE", (0, 0), (-1, -1), 9)])
            return grid
        case _:
            assert_never(block)


def _cells(rows: Iterable[Iterable[str]]) -> list[list[str]]:
    return [list(row) for row in rows]
