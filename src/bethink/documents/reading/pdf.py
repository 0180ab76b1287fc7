"""A PDF's pages as Markdown: text, headings and tables by PDFium. `reader` calls it.

PDFium is of the extra `documents`; without it pypdf of the extra `web` reads the text alone.
"""

from __future__ import annotations

import ctypes
import io
import re
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from bethink.documents.reading.messages import FOREIGN, NEEDS_OCR, Ended, Opened, PageRead, UnfitError
from bethink.documents.reading.recognition import recogniser
from bethink.documents.reading.ruled_tables import Box, ruled_tables
from bethink.internet.decoder import visible

if TYPE_CHECKING:
    from bethink.documents.reading.messages import ReadingJob, Told

LOCKED: Final = "This PDF is locked with a password: save it without one."
DAMAGED: Final = "This PDF is damaged: it cannot be opened."
NOT_INSTALLED: Final = "PDF files cannot be read: install `pip install 'bethink[documents]'`, then restart."
TEXT_ONLY: Final = "Tables are read as plain text: `pip install 'bethink[documents]'` reads them as tables."
UNREADABLE: Final = "(This page cannot be read.)"
_NO_TIME: Final = "Reading ended before page {}: there was no time for more."
_IMAGES: Final = "{} images without text: {}"
_UNMAPPED: Final = (
    "{} left out: the fonts do not say which letters they show."
    " Export the PDF anew from the program that made it."
)
_RECOGNISED: Final = "The text of {} was recognised in images: it may have errors."
_BROKEN_WORD: Final = re.compile("[\x02\ufffe]\r?\n")
"""How PDFium marks a word that is divided at a line's end."""
_STRANGE: Final = 0.3
"""So much of a page's characters are no text at all: its fonts do not say what they show."""
_FEWEST_CHARS: Final = 20
_LARGER: Final = 1.15
"""So many times larger than the page's text is a heading."""
_LEVELS: Final = ((1.6, 1), (1.25, 2))
"""How much larger headings of the first levels are; smaller ones are of the third."""
_LONGEST_HEADING: Final = 150
_WIDER: Final = 1.3
"""So many times the usual distance of lines parts paragraphs."""
_MOST_BOOKMARKS: Final = 5_000
_BULLET: Final = re.compile(r"^[•▪◦‣●∙·]\s*")
_DPI: Final = 200
"""Recognition of text wants that many dots an inch."""
_POINTS: Final = 72


@dataclass(frozen=True, slots=True)
class _PageText:
    """A page's text. `lacks` says why there is none: it is an image, or its fonts are not mapped."""

    text: str
    lacks: str = ""


def read_pdf(content: bytes, task: ReadingJob) -> Iterator[Told]:
    """The pages that the task asks for, as many as its time allows.

    Raises:
        UnfitError: it is damaged, locked, or nothing here reads it.
    """
    end = time.monotonic() + task.seconds
    pages = _opened(content)
    yield Opened(pages.count, "pdf", visible(pages.title))
    lacking: dict[str, list[int]] = {"image": [], "fonts": [], "recognised": []}
    notes: list[str] = []
    cut = ""
    recognise: Callable[[object], str] | None = None
    for number in range(task.first, min(task.last, pages.count) + 1):
        if time.monotonic() > end and number > task.first:
            cut = _NO_TIME.format(number)
            break
        page = pages.text(number - 1)
        text = page.text
        if page.lacks:
            recognise = recognise or recogniser()
            image = pages.image(number - 1) if recognise else None
            text = recognise(image) if recognise and image is not None else ""
            lacking["recognised" if text else page.lacks].append(number)
        yield PageRead(number, visible(text).strip())
    if lacking["image"]:
        notes.append(
            _IMAGES.format(_are(lacking["image"]), NEEDS_OCR if recognise is None else "none was recognised.")
        )
    if lacking["fonts"]:
        notes.append(_UNMAPPED.format(_are(lacking["fonts"])))
    if lacking["recognised"]:
        notes.append(_RECOGNISED.format(_are(lacking["recognised"], "").strip().lower()))
    yield Ended(" ".join([*notes, pages.note]).strip(), cut)


def _are(numbers: Sequence[int], verb: str = "are") -> str:
    """Pages by their numbers, in ranges, as the beginning of a sentence."""
    parts: list[str] = []
    first = last = numbers[0]
    for number in [*numbers[1:], -1]:
        if number == last + 1:
            last = number
            continue
        parts.append(str(first) if first == last else f"{first}-{last}")
        first = last = number
    if len(numbers) == 1:
        return f"Page {numbers[0]} {'is' if verb else ''}".strip()
    return f"Pages {', '.join(parts)} {verb}".strip()


def _opened(content: bytes) -> _Pdfium | _Pypdf:
    if find_spec("pypdfium2"):
        return _Pdfium(content)
    if find_spec("pypdf"):
        return _Pypdf(content)
    raise UnfitError(NOT_INSTALLED)


def is_garbage(text: str) -> bool:
    """Whether a page's text is what fonts without a mapping give: codes in place of characters."""
    said = [char for char in text if not char.isspace()]
    if len(said) < _FEWEST_CHARS:
        return False
    strange = sum(unicodedata.category(char) in {"Cc", "Co", "Cn", "Cs"} or char == "\ufffd" for char in said)
    return strange > _STRANGE * len(said)


@dataclass(slots=True)
class _Line:
    """A line of text; `x` and `y` are its beginning, counted from the page's lower left, in points."""

    text: str
    x: float
    y: float
    size: float
    level: int = 0


class _Pdfium:
    def __init__(self, content: bytes) -> None:
        import pypdfium2
        from pypdfium2 import raw

        self.note = ""
        self._raw: Any = raw
        self._error: type[Exception] = pypdfium2.PdfiumError
        try:
            self._document: Any = pypdfium2.PdfDocument(content)
            self.count = len(self._document)
        except pypdfium2.PdfiumError as error:
            is_locked = getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD
            raise UnfitError(LOCKED if is_locked else DAMAGED) from error
        if not self.count:
            raise UnfitError(DAMAGED)
        self.title = " ".join(self._document.get_metadata_value("Title").split())
        self._outline = self._bookmarks()

    def _bookmarks(self) -> dict[tuple[int, str], int]:
        """The levels of headings that the outline names, by page and text."""
        found: dict[tuple[int, str], int] = {}
        try:
            for bookmark, _ in zip(self._document.get_toc(), range(_MOST_BOOKMARKS), strict=False):
                dest = bookmark.get_dest()
                if dest is not None and (number := dest.get_index()) is not None:
                    found[number, _folded(bookmark.get_title())] = min(bookmark.level + 1, 6)
        except (self._error, *FOREIGN):
            # A page is read without its outline, too.
            return found
        return found

    def text(self, number: int) -> _PageText:
        try:
            page = self._document[number]
            textpage = page.get_textpage()
            text = textpage.get_text_range()
            if is_garbage(text):
                return _PageText("", "fonts")
            if not text.strip():
                images = page.get_objects(filter=[self._raw.FPDF_PAGEOBJ_IMAGE])
                return _PageText("", "image" if any(True for _ in images) else "")
            lines = self._lines(number, textpage, text)
            tables = ruled_tables(page, textpage)
            textpage.close()
            page.close()
        except (self._error, *FOREIGN):
            return _PageText(UNREADABLE)
        return _PageText(_set(lines, tables))

    def image(self, number: int) -> object:
        try:
            return self._document[number].render(scale=_DPI / _POINTS, grayscale=True).to_pil()
        except (self._error, *FOREIGN):
            return None

    def _lines(self, number: int, textpage: Any, text: str) -> list[_Line]:  # noqa: ANN401 - the same
        lines: list[_Line] = []
        at = 0
        box: Any = self._raw.FS_RECTF()
        for part in _BROKEN_WORD.sub(lambda found: "\x02" * len(found[0]), text).split("\n"):
            said = part.strip()
            if said:
                start = at + len(part) - len(part.lstrip())
                index = self._raw.FPDFText_GetCharIndexFromTextIndex(textpage, start)
                if self._raw.FPDFText_GetLooseCharBox(textpage, max(index, 0), ctypes.byref(box)):
                    lines.append(_Line(said.replace("\x02", ""), box.left, box.bottom, box.top - box.bottom))
                else:
                    lines.append(_Line(said.replace("\x02", ""), 0, 0, 0))
                lines[-1].level = self._outline.get((number, _folded(said)), 0)
            # Its own count is of UTF-16's units.
            at += len(part) + 1 + sum(char > "\uffff" for char in part)
        return lines


def _folded(text: str) -> str:
    return "".join(text.split()).casefold()


def _set(lines: Sequence[_Line], tables: Sequence[tuple[Box, str]]) -> str:
    """Lines as Markdown: headings by size, paragraphs by distance, tables in place of their lines."""
    if not lines:
        return ""
    outside = [line for line in lines if not any(_is_in(line, box) for box, _ in tables)]
    sizes: dict[float, int] = {}
    for line in outside:
        size = round(line.size, 1)
        sizes[size] = sizes.get(size, 0) + len(line.text)
    body = max(sizes, key=lambda size: sizes[size], default=0.0)
    gaps = [one.y - other.y for one, other in pairwise(outside) if one.y > other.y]
    usual = sorted(gaps)[len(gaps) // 2] if gaps else 0.0
    parts: list[str] = []
    told: set[int] = set()
    last: _Line | None = None
    for line in lines:
        inside = next((at for at, (box, _) in enumerate(tables) if _is_in(line, box)), None)
        if inside is not None:
            if inside not in told:
                told.add(inside)
                parts.append(tables[inside][1])
            last = None
            continue
        line.level = line.level or _level(line, body)
        if last is not None and _goes_on(last, line, usual):
            if line.level:
                parts[-1] += f" {line.text}"
            else:
                parts[-1] += f"\n{_item(line.text)}"
        else:
            parts.append(f"{'#' * line.level} {line.text}" if line.level else _item(line.text))
        last = line
    parts += [text for at, (_, text) in enumerate(tables) if at not in told]
    return "\n\n".join(part for part in parts if part.strip())


def _is_in(line: _Line, box: Box) -> bool:
    left, bottom, right, top = box
    return left <= line.x <= right and bottom <= line.y + line.size / 2 <= top


def _level(line: _Line, body: float) -> int:
    is_short = len(line.text) <= _LONGEST_HEADING and any(char.isalpha() for char in line.text)
    if not body or line.size < _LARGER * body or not is_short:
        return 0
    return next((level for ratio, level in _LEVELS if line.size >= ratio * body), 3)


def _goes_on(last: _Line, line: _Line, usual: float) -> bool:
    """Whether a line belongs to the same heading or paragraph as the one before it."""
    gap = last.y - line.y
    if last.level != line.level or (line.level and abs(last.size - line.size) > 1):
        return False
    if gap < -line.size:
        # Another column: a sentence goes on there, a new paragraph does not.
        return not line.level and not last.text.endswith((".", "!", "?", ":"))
    return gap <= _WIDER * max(usual, line.size)


def _item(text: str) -> str:
    return _BULLET.sub("- ", text)


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
            self.title = (
                "" if is_locked else str((self._reader.metadata and self._reader.metadata.title) or "")
            )
        except (PyPdfError, *FOREIGN) as error:
            raise UnfitError(DAMAGED) from error
        if is_locked:
            raise UnfitError(LOCKED)

    def text(self, number: int) -> _PageText:
        try:
            page = self._reader.pages[number]
            text = page.extract_text()
            if is_garbage(text):
                return _PageText("", "fonts")
            return _PageText(text, "image" if not text.strip() and page.images else "")
        except (self._error, *FOREIGN):
            return _PageText(UNREADABLE)

    def image(self, number: int) -> object:
        del number
        return None
