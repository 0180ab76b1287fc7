"""The lines of an import file, one at a time, however large it is. The line formats read through it."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, BinaryIO

from bethink.errors import BadInput
from bethink.export.records import BadLine

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE_BYTES = 8_000_000
"""A fact with all its sources and its history, or a long message, stays far below this."""

_SNIFFED = 4_096


def opening(file: BinaryIO) -> str:
    """The first characters of a file, without what marks its encoding; the file is back at its start.

    Raises:
        BadInput: it is not UTF-8.
    """
    file.seek(0)
    head = file.read(_SNIFFED)
    file.seek(0)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _is_wide(head):
        message = (
            "The file is UTF-16, as some editors and spreadsheets write it. Save it as UTF-8, "
            "or convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW-FILE"
        )
        raise BadInput(message)
    return codecs.getincrementaldecoder("utf-8-sig")("replace").decode(head).lstrip()


def lines(file: BinaryIO) -> Iterator[tuple[int, str] | BadLine]:
    """Each line with its number from 1 and without its end; or why it cannot be read.

    A line that is too long is skipped without being held.
    """
    file.seek(0)
    number = 0
    while raw := file.readline(MAX_LINE_BYTES):
        number += 1
        if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
            while (more := file.readline(MAX_LINE_BYTES)) and not more.endswith(b"\n"):
                pass
            yield BadLine(number, f"the line is longer than {MAX_LINE_BYTES // 1_000_000} MB.")
            continue
        if number == 1:
            raw = raw.removeprefix(codecs.BOM_UTF8)
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            yield BadLine(number, f"this is not UTF-8 (at byte {error.start + 1:,} of the line).")
            continue
        yield number, text.removesuffix("\n").removesuffix("\r")


def _is_wide(head: bytes) -> bool:
    """Whether every other byte of the beginning is zero, as in UTF-16 without a mark."""
    pairs = head[:64]
    return len(pairs) >= 4 and (not any(pairs[::2]) or not any(pairs[1::2]))  # noqa: PLR2004 - two characters
