"""What the process of `reader` is asked and what it tells, a line of JSON each, and which kinds it reads."""

from __future__ import annotations

import codecs
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping


MAX_CHARS = 2_000_000
"""Of a document's text, so much is read: a thick book."""
MAX_PAGES = 2_000
"""So many pages are read at once; one behind them is read by itself."""

FOREIGN: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,  # lxml's
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)
"""What parsers raise over documents that lie about themselves."""

Kind = Literal["pdf", "docx", "html", "csv", "json", "text"]


class Task(msgspec.Struct, frozen=True):
    """What is to be read: pages `first` to `last`, counted from 1, in so many seconds and bytes of memory."""

    kind: Kind
    name: str
    first: int
    last: int
    seconds: float
    memory: int


class Opened(msgspec.Struct, frozen=True, tag="opened"):
    """The document has so many pages."""

    pages: int


class PageRead(msgspec.Struct, frozen=True, tag="page"):
    """A page's text, as Markdown where it has tables."""

    number: int
    text: str


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """All that was asked for is told; `note` says what is not in it."""

    note: str = ""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """Why it cannot be read, as a sentence."""

    error: str


class UnfitError(Exception):
    """Why the file is not read, as a sentence."""


Told = Opened | PageRead | Ended | Failed


@dataclass(frozen=True, slots=True)
class Extracted:
    """Pages of a document by number, of `count` in all; `note` says what is missing.

    `kind` says how it was read, `title` is what the document calls itself, `labels` are what a page is called
    where that is more than its number: "Slide 3", "Sheet Costs", a chapter's title.
    """

    count: int
    pages: Mapping[int, str] = field(default_factory=dict[int, str])
    note: str = ""
    kind: Kind = "text"
    title: str = ""
    labels: Mapping[int, str] = field(default_factory=dict[int, str])

    @property
    def is_whole(self) -> bool:
        """Whether no page is missing."""
        return len(self.pages) >= self.count


_NEEDED: Final = (
    ("PDF files", ("pypdf",), "documents"),
    ("tables of PDF files", ("pdfplumber", "pypdfium2"), "documents"),
    ("DOCX files", ("docx",), "documents"),
    ("HTML files", ("trafilatura",), "web"),
)


def missing_readers() -> list[str]:
    """What is not read, and the extra that reads it. Looks on the disk."""
    found = {what: all(find_spec(name) is not None for name in names) for what, names, _ in _NEEDED}
    # With tables the text is read, too.
    found["PDF files"] = found["PDF files"] or found["tables of PDF files"]
    return [f"{what} (`pip install 'bethink[{extra}]'`)" for what, _, extra in _NEEDED if not found[what]]


HEAD: Final = 8_192
"""So many bytes of a file tell."""
_PDF_WITHIN: Final = 1_024
"""Readers look for a PDF's mark so far (ISO 32000-1, annex H.3.4.1)."""
_BY_ENDING: Final[dict[str, Kind]] = {
    "csv": "csv",
    "tsv": "csv",
    "tab": "csv",
    "htm": "html",
    "html": "html",
    "xhtml": "html",
    "json": "json",
}
_BY_MEDIA_TYPE: Final[dict[str, Kind]] = {
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/json": "json",
}
_DOCX: Final = "wordprocessingml"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0"
_RTF: Final = b"{\\rtf"
_PICTURES: Final = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\x00", b"MM\x00*", b"\x00\x00\x01\x00")
_SHEETS: Final = ("xls", "xlsx", "xlsm", "ods", "numbers")
_OFFICE: Final = ("doc", "dot", "odt", "rtf", "pptx", "ppt", "odp", "pages", "key", "epub")
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MOST_CONTROLS: Final = 0.05
"""Of a text's first bytes, no more are control characters."""
_READ = "PDF, DOCX, HTML, CSV, JSON and text files are."


def kind_of(name: str, media_type: str, head: bytes) -> Kind | None:
    """How the file is read; None for one that is not."""
    ending = _ending(name)
    if b"%PDF-" in head[:_PDF_WITHIN]:
        return "pdf"
    if head.startswith(_ZIP):
        return "docx" if ending in {"docx", "docm"} or _DOCX in media_type else None
    if not _is_text(head) or head.startswith(_RTF):
        return None
    return _BY_ENDING.get(ending) or _BY_MEDIA_TYPE.get(media_type) or "text"


def why_not(name: str, media_type: str, head: bytes) -> str:
    """Why a file is not read, and what to do, as a sentence."""
    ending = _ending(name)
    if head.startswith(_PICTURES) or media_type.startswith("image/"):
        return f"{name} is an image: it contains no readable text."
    if media_type.startswith(("audio/", "video/")):
        return f"{name} is a recording: it contains no readable text."
    if ending in _SHEETS:
        return f"{name} is a spreadsheet in a format that is not read: save it as CSV."
    if ending in _OFFICE or head.startswith((_OLD_OFFICE, _RTF)):
        return f"{name} is in a format that is not read: save it as PDF or DOCX."
    if head.startswith(_ZIP):
        return f"{name} is an archive: unpack it and give the files in it."
    return f"{name} ({media_type}) is not a kind of file that can be read. {_READ}"


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""


def _is_text(head: bytes) -> bool:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or bare_utf16(head):
        return True
    return b"\0" not in head and len(_CONTROLS.findall(head)) <= _MOST_CONTROLS * len(head)


def bare_utf16(head: bytes) -> str | None:
    """UTF-16 without a mark, as Windows writes it: in Latin text every other byte is zero."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if half and not even and odd * 10 > half * 9:
        return "utf-16-le"
    return "utf-16-be" if half and not odd and even * 10 > half * 9 else None
