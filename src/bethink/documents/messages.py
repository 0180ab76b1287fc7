"""What the process of `reader` is asked and what it tells, a line of JSON each. `extraction` adds it up."""

from __future__ import annotations

import struct
import zipfile
import zlib
from dataclasses import dataclass, field
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


Told = Opened | PageRead | Ended | Failed


@dataclass(frozen=True, slots=True)
class Extracted:
    """Pages of a document by number, of `count` in all; `note` says what is missing."""

    count: int
    pages: Mapping[int, str] = field(default_factory=dict[int, str])
    note: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether no page is missing."""
        return len(self.pages) >= self.count
