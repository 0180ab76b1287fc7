"""Lines of a stream, of any length up to a limit, in linear time. `stdio.py` reads servers so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import StreamReader
    from collections.abc import AsyncGenerator

_CHUNK = 64 * 1024
ENDS = 512
"""Bytes that are kept of either end of a line that is too long."""


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line beyond the limit: how it began, how it ended, its size in bytes."""

    head: bytes
    tail: bytes
    size: int


class _Gathering:
    """One line as it comes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0
        self._head = b""
        self._tail = b""

    def add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._pieces.append(piece)
            return
        if self._pieces:
            self._head = b"".join(self._pieces)[:ENDS]
            self._pieces = []
        self._head = self._head or piece[:ENDS]
        self._tail = (self._tail + piece)[-ENDS:]

    def take(self) -> bytes | TooLong:
        """The line; a new one begins."""
        is_whole = self._size <= self._limit
        line = b"".join(self._pieces) if is_whole else TooLong(self._head, self._tail, self._size)
        self._pieces, self._size, self._head, self._tail = [], 0, b"", b""
        return line


async def lines(stream: StreamReader, limit: int) -> AsyncGenerator[bytes | TooLong]:
    """The stream's lines without their ends, the last one too if it has none.

    Of a line with more than `limit` bytes only its ends are kept, however long it is.
    """
    line = _Gathering(limit)
    while chunk := await stream.read(_CHUNK):
        *complete, rest = chunk.split(b"\n")
        for piece in complete:
            line.add(piece)
            yield line.take()
        line.add(rest)
    if last := line.take():
        yield last
