"""What the process of `reader` is asked and what it tells, a line of JSON each, and which kinds it reads."""

from __future__ import annotations

import codecs
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

import msgspec

MAX_CHARS = 2_000_000
"""Of a document's text, so much is read: a thick book."""
TOO_LONG: Final = f"Only its first {MAX_CHARS:,} characters are read."
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

Kind = Literal[
    "pdf",
    "docx",
    "pptx",
    "xlsx",
    "xls",
    "odt",
    "ods",
    "odp",
    "epub",
    "html",
    "eml",
    "msg",
    "rtf",
    "csv",
    "json",
    "text",
    "image",
    "zip",
    "ole",
]
"""How a file is read. `zip` and `ole` are containers, told apart by what is in them where they are read."""


class ReadingJob(msgspec.Struct, frozen=True):
    """What is to be read: pages `first` to `last`, counted from 1, in so many seconds and bytes of memory."""

    kind: Kind
    name: str
    first: int
    last: int
    seconds: float
    memory: int


_ALL: Final = (
    "bethink.documents.reading.reader",
    *(f"encodings.{name}" for name in ("utf_8_sig", "utf_16_le", "cp1252", "cp437")),
)
_MARKUP: Final = ("lxml.etree", "lxml.html", "html")
_OFFICE: Final = (*_MARKUP, "python_calamine")
_PDF: Final = ("bethink.documents.reading.pdf", "pypdfium2", "pypdfium2.raw")
_LETTERS: Final = ("bethink.documents.reading.mail", "email.policy", *_MARKUP)
_PAGES: Final = (*_MARKUP, "bethink.internet.reading", "trafilatura", "trafilatura.settings")
_NEEDS: Final[Mapping[Kind, Sequence[str]]] = {
    "pdf": _PDF,
    "zip": _OFFICE,
    "ole": ("olefile", "python_calamine", "oxmsg", *_LETTERS),
    "html": _PAGES,
    "eml": _LETTERS,
    "rtf": ("striprtf.striprtf",),
    "image": ("tesserocr", "PIL.Image"),
}


def imports_for(kind: Kind) -> Sequence[str]:
    """What is imported for files of a kind before the first of them is read."""
    return (*_ALL, *_NEEDS.get(kind, ()))


class Opened(msgspec.Struct, frozen=True, tag="opened"):
    """The document has so many pages; `title` is what it calls itself."""

    pages: int
    kind: Kind = "text"
    title: str = ""


class PageRead(msgspec.Struct, frozen=True, tag="page"):
    """A page's text as Markdown; `label` is what it is called if that is more than its number."""

    number: int
    text: str
    label: str = ""


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """Reading is over. `note` says what is not in the pages, `cut` why they are not all that were wanted."""

    note: str = ""
    cut: str = ""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """Why it cannot be read, as a sentence."""

    error: str


class UnfitError(Exception):
    """Why the file is not read, as a sentence."""


Told = Opened | PageRead | Ended | Failed


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as a reader gives it: its pages, what they are called, and what is not in them."""

    pages: Sequence[str]
    labels: Sequence[str] = ()
    title: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Extracted:
    """Pages of a document by number, of `count` in all; `note` says what is missing.

    `kind` says how it was read, `title` is what the document calls itself, `labels` are what a page is called
    where that is more than its number: "Slide 3", "Sheet Costs", a chapter's title. `remarks` are the part of
    `note` that stays true if the pages behind the last one are read, too.
    """

    count: int
    pages: Mapping[int, str] = field(default_factory=dict[int, str])
    note: str = ""
    kind: Kind = "text"
    title: str = ""
    labels: Mapping[int, str] = field(default_factory=dict[int, str])
    remarks: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether no page is missing."""
        return len(self.pages) >= self.count


_NEEDED: Final = (
    ("PDF files", ("pypdf",), "documents"),
    ("tables of PDF files", ("pypdfium2",), "documents"),
    ("Office, Open Document, EPUB and HTML files", ("lxml",), "documents"),
    ("spreadsheets", ("python_calamine", "lxml"), "documents"),
    ("Outlook's letters", ("oxmsg",), "documents"),
    ("RTF files", ("striprtf",), "documents"),
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
    "eml": "eml",
}
_BY_MEDIA_TYPE: Final[dict[str, Kind]] = {
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/json": "json",
    "message/rfc822": "eml",
}
_BY_MARK: Final[tuple[tuple[bytes, Kind], ...]] = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
    (b"{\\rtf", "rtf"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"II*\x00", "image"),
    (b"MM\x00*", "image"),
)
_WEBP: Final = re.compile(rb"RIFF....WEBP", re.DOTALL)
_HTML: Final = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,500}?-->\s*)?<(?:!doctype html|html)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_HEADER: Final = re.compile(
    rb"^(From|Date|Message-ID|MIME-Version|Received|Return-Path|Subject|To|Delivered-To):",
    re.IGNORECASE | re.MULTILINE,
)
_FEWEST_HEADERS: Final = 4
"""Of a letter: notes of a meeting may begin with a name and a date, too."""
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MOST_CONTROLS: Final = 0.05
"""Of a text's first bytes, no more are control characters."""
_READ = "PDF, Office, Open Document, EPUB, HTML, mail, RTF, CSV, JSON and text files are."


def kind_of(name: str, media_type: str, head: bytes) -> Kind | None:
    """How the file is read, by its first bytes, by its name only if they do not tell; None if it is not."""
    head = head[:HEAD]
    if b"%PDF-" in head[:_PDF_WITHIN]:
        return "pdf"
    for mark, kind in _BY_MARK:
        if head.startswith(mark):
            return kind
    if _WEBP.match(head):
        return "image"
    if not _is_text(head):
        return None
    if _HTML.match(head.removeprefix(codecs.BOM_UTF8)):
        return "html"
    if len({found.lower() for found in _HEADER.findall(head.partition(b"\n\n")[0])}) >= _FEWEST_HEADERS:
        return "eml"
    return _BY_ENDING.get(_ending(name)) or _BY_MEDIA_TYPE.get(media_type) or "text"


NEEDS_OCR: Final = "`pip install 'bethink[ocr]'` adds text recognition, which reads it."
_LANGUAGE_DATA: Final = (
    Path("/usr/share/tesseract-ocr"),
    Path("/usr/share/tessdata"),
    Path("/usr/local/share/tessdata"),
    Path("/opt/homebrew/share/tessdata"),
)
"""Where distributions put them, with languages of their owners' choice."""


def recognises_text() -> bool:
    """Whether text in images is read. Looks on the disk."""
    return find_spec("tesserocr") is not None and language_data() is not None


def language_data() -> Path | None:
    """The folder with the data of the languages that are recognised."""
    # The extra puts English beside the packages; in a sandbox `sys.prefix` is not theirs.
    extra = [
        Path(place).parents[2] / "share/tessdata" for place in sys.path if place.endswith("site-packages")
    ]
    for place in (*_LANGUAGE_DATA, *extra):
        for folder in (place, *sorted(place.glob("*/tessdata"), reverse=True)):
            if any(folder.glob("???.traineddata")):
                return folder
    return None


def why_not(name: str, media_type: str) -> str:
    """Why a file is not read, and what to do, as a sentence."""
    if media_type.startswith(("audio/", "video/")):
        return f"{name} is a recording: it contains no readable text."
    if media_type.startswith("image/"):
        return f"{name} is an image in a format that is not read: save it as PNG or JPEG."
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
