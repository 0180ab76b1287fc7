"""A PDF's pages: text by PDFium, tables by pdfplumber where a page has ruled lines. `reader` calls it.

Of the extra `documents`; without it pypdf of the extra `web` reads the text alone.
"""

from __future__ import annotations

import io
import re
import time
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Protocol

from bethink.documents.reading.messages import FOREIGN, Ended, Opened, PageRead, UnfitError
from bethink.documents.reading.tables import as_markdown
from bethink.internet.decoding import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bethink.documents.reading.messages import Task, Told

LOCKED: Final = "This PDF is locked with a password: save it without one."
DAMAGED: Final = "This PDF is damaged: it cannot be opened."
NOT_INSTALLED: Final = "PDF files cannot be read: install `pip install 'bethink[documents]'`, then restart."
TEXT_ONLY: Final = "Tables are read as plain text: `pip install 'bethink[documents]'` reads them as tables."
UNREADABLE: Final = "(This page cannot be read.)"
_FEWEST_PATHS, _MOST_PATHS = 3, 5_000
"""A ruled table has a few lines; what has thousands is a drawing, to search which takes minutes."""
_MOST_LINES: Final = 2_000
_MOST_TABLES: Final = 20
_FEWEST: Final = 2
"""Rows and columns of a table: less is a frame."""
_MOST_FOR_TABLES: Final = 2_000
"""Of a PDF with more pages no tables are looked for: finding its pages once more takes too long."""
_BROKEN_WORD: Final = re.compile("[\x02\ufffe]\r?\n")
"""How PDFium marks a word that is divided at a line's end."""


class _Pages(Protocol):
    count: int
    note: str

    def text(self, number: int) -> str:
        """The text of page `number`, counted from 0."""
        ...


def read_pdf(content: bytes, task: Task) -> Iterator[Told]:
    """The pages that the task asks for, as many as its time allows.

    Raises:
        UnfitError: it is damaged, locked, or nothing here reads it.
    """
    end = time.monotonic() + task.seconds
    pages = _opened(content)
    yield Opened(pages.count)
    for number in range(task.first, min(task.last, pages.count) + 1):
        if time.monotonic() > end and number > task.first:
            yield Ended(f"Reading ended before page {number}: there was no time for more.")
            return
        yield PageRead(number, visible(pages.text(number - 1)).strip())
    yield Ended(pages.note)


def _opened(content: bytes) -> _Pages:
    if find_spec("pypdfium2") and find_spec("pdfplumber"):
        return _Pdfium(content)
    if find_spec("pypdf"):
        return _Pypdf(content)
    raise UnfitError(NOT_INSTALLED)


class _Pdfium:
    def __init__(self, content: bytes) -> None:
        import pypdfium2
        from pypdfium2 import raw

        self.note = ""
        self._content = content
        self._plumber: Any = None
        self._error: type[Exception] = pypdfium2.PdfiumError
        self._path = raw.FPDF_PAGEOBJ_PATH
        try:
            self._document: Any = pypdfium2.PdfDocument(content)
            self.count = len(self._document)
        except pypdfium2.PdfiumError as error:
            is_locked = getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD
            raise UnfitError(LOCKED if is_locked else DAMAGED) from error
        if not self.count:
            raise UnfitError(DAMAGED)

    def text(self, number: int) -> str:
        try:
            page = self._document[number]
            paths = self._paths(page)
            if _FEWEST_PATHS <= paths <= _MOST_PATHS and self.count <= _MOST_FOR_TABLES:
                with_tables = self._with_tables(number)
                if with_tables:
                    return with_tables
            textpage = page.get_textpage()
            text = textpage.get_text_range()
            textpage.close()
            page.close()
        except (self._error, *FOREIGN):
            return UNREADABLE
        return _BROKEN_WORD.sub("", text)

    def _paths(self, page: Any) -> int:  # noqa: ANN401 - it has no types
        count = 0
        for _ in page.get_objects(filter=[self._path]):
            count += 1
            if count > _MOST_PATHS:
                break
        return count

    def _with_tables(self, number: int) -> str:
        """The page with its tables where they stand; "" if it has none."""
        import pdfplumber
        from pdfminer.psexceptions import PSException
        from pdfplumber.utils.exceptions import MalformedPDFException, PdfminerException

        try:
            if self._plumber is None:
                self._plumber = pdfplumber.open(io.BytesIO(self._content))
            page = self._plumber.pages[number]
            if len(page.lines) + len(page.rects) + len(page.curves) > _MOST_LINES:
                return ""
            text = _interleaved(page)
            page.close()
        except (PSException, MalformedPDFException, PdfminerException, *FOREIGN):
            # PDFium still reads the text.
            return ""
        return text


def _interleaved(page: Any) -> str:  # noqa: ANN401
    found = [table for table in page.find_tables()[:_MOST_TABLES] if _is_table(table)]
    if not found:
        return ""
    found.sort(key=lambda table: table.bbox[1])
    boxes = [table.bbox for table in found]
    around = page.filter(partial(_is_outside, boxes=boxes))
    parts: list[str] = []
    top = float("-inf")
    for table in found:
        parts.append(_between(around, top, table.bbox[3]))
        parts.append(as_markdown(table.extract()))
        top = max(top, table.bbox[3])
    parts.append(_between(around, top, float("inf")))
    return "\n\n".join(part for part in parts if part.strip())


def _is_table(table: Any) -> bool:  # noqa: ANN401
    rows: Sequence[Any] = table.rows
    return len(rows) >= _FEWEST and max(len(row.cells) for row in rows) >= _FEWEST


def _between(page: Any, top: float, bottom: float) -> str:  # noqa: ANN401
    part = page.filter(partial(_is_between, top=top, bottom=bottom))
    return str(part.extract_text() or "").strip()


def _is_between(item: dict[str, Any], *, top: float, bottom: float) -> bool:
    return item.get("object_type") == "char" and top < (item["top"] + item["bottom"]) / 2 <= bottom


def _is_outside(item: dict[str, Any], *, boxes: Sequence[tuple[float, float, float, float]]) -> bool:
    if item.get("object_type") != "char":
        return False
    x, y = (item["x0"] + item["x1"]) / 2, (item["top"] + item["bottom"]) / 2
    return not any(left <= x <= right and top <= y <= bottom for left, top, right, bottom in boxes)


class _Pypdf:
    def __init__(self, content: bytes) -> None:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError

        self.note = TEXT_ONLY
        self._error: type[Exception] = PyPdfError
        try:
            self._reader = PdfReader(io.BytesIO(content))
            is_locked = self._reader.is_encrypted and not self._reader.decrypt("")
            self.count = 0 if is_locked else len(self._reader.pages)
        except (PyPdfError, *FOREIGN) as error:
            raise UnfitError(DAMAGED) from error
        if is_locked:
            raise UnfitError(LOCKED)

    def text(self, number: int) -> str:
        try:
            return self._reader.pages[number].extract_text()
        except (self._error, *FOREIGN):
            return UNREADABLE
