"""What keeps a zip from harming: its directory is measured before it is read, what comes out is counted.

`archive` reads through it. A bomb claims little and unpacks to much, or names
one part many times; what it claims is therefore never believed.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from bethink.errors import BadInput, TooLarge

if TYPE_CHECKING:
    from collections.abc import Generator

    from bethink.importing.json_stream import Readable

MAX_TOTAL = 20_000_000_000
"""Bytes that an export may unpack to, all readings together."""
MAX_RATIO = 250
"""Deflate reaches a thousand for one byte repeated; an export's JSON stays below thirty."""
FREE = 50_000_000
"""So much may come out before the ratio counts."""
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    OSError,
)
"""What reading a damaged or odd zip may raise."""
_MAX_DIRECTORY = 32_000_000
_END, _END_BYTES, _LONGEST_COMMENT = b"PK\x05\x06", 22, 65_535
_END64, _LOCATOR64, _LOCATOR64_BYTES = b"PK\x06\x06", b"PK\x06\x07", 20
_END64_BYTES = 56
_UNSAID16, _UNSAID32 = 0xFFFF, 0xFFFFFFFF


@dataclass(slots=True)
class Budget:
    """What has come out of an archive so far, and how much may; `packed` is the archive's own size."""

    packed: int = 0
    out: int = 0

    def take(self, size: int) -> None:
        """Count bytes that came out.

        Raises:
            TooLarge: they are more than an export has.
        """
        self.out += size
        if self.out > MAX_TOTAL or (self.packed and self.out > FREE and self.out > MAX_RATIO * self.packed):
            message = (
                f"This archive unpacks to more than {self.out // 1_000_000:,} MB, which no export does: "
                "nothing more of it was read. If it is one, unpack it yourself and import the folder."
            )
            raise TooLarge(message)


@dataclass(slots=True)
class Counted:
    """A file whose bytes are counted as they are read."""

    file: Readable
    budget: Budget

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes.

        Raises:
            TooLarge: the archive gives more than an export has.
        """
        part = self.file.read(size if size >= 0 else 1 << 16)
        self.budget.take(len(part))
        return part


@contextmanager
def opened_zip(file: IO[bytes], name: str, members: int) -> Generator[zipfile.ZipFile]:
    """A zip whose directory is of a bearable size.

    Raises:
        BadInput: it is damaged, or has more than so many members.
    """
    try:
        count, directory = _directory(file)
    except (struct.error, OSError, ValueError):
        # It names a place that no file has: whoever reads the archive finds that, too.
        count, directory = 0, 0
    if count > members or directory > _MAX_DIRECTORY:
        message = f"{name} holds more than {members:,} files: split it, or import a part of it."
        raise BadInput(message)
    file.seek(0)
    try:
        packed = zipfile.ZipFile(file)
    except (*DAMAGED, ValueError) as error:
        message = f"{name} is no whole zip: it breaks off, or was changed. Download it again."
        raise BadInput(message) from error
    with packed:
        yield packed


def _directory(file: IO[bytes]) -> tuple[int, int]:
    """How many members the archive says it has, and its directory's bytes (APPNOTE.TXT 4.3.14 and 4.3.16)."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_BYTES - _LONGEST_COMMENT - _LOCATOR64_BYTES))
    tail = file.read()
    place = tail.rfind(_END)
    if place < 0:
        return 0, 0
    count, directory = struct.unpack("<HI", tail[place + 10 : place + 16])
    locator = tail[max(0, place - _LOCATOR64_BYTES) : place]
    if (count == _UNSAID16 or directory == _UNSAID32) and locator.startswith(_LOCATOR64):
        (offset,) = struct.unpack("<Q", locator[8:16])
        file.seek(offset)
        end = file.read(_END64_BYTES)
        if end.startswith(_END64):
            count, directory = struct.unpack("<QQ", end[32:48])
    return count, directory
