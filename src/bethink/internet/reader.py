"""Has a document read by the process of `reading`, which ends with it. `pages` asks."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from bethink.child_process import ChildProcess
from bethink.errors import WebError
from bethink.internet.reading import MAX_CHARS, Reading, Task

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_MAX_ANSWER = 8 * MAX_CHARS
"""Bytes; a character takes at most six in JSON."""
_PART = 2**16


@dataclass(frozen=True, slots=True)
class Reader:
    """A process that waits for its document; it has loaded its parsers by the time that this has come."""

    process: ChildProcess

    async def read(self, task: Task, content: bytes) -> Reading:
        """The document as Markdown.

        Raises:
            WebError: the process came to its end over it.
        """
        into, out = self.process.stdin, self.process.stdout
        assert into is not None  # noqa: S101 - `opened_reader` asked for both
        assert out is not None  # noqa: S101
        writing = asyncio.create_task(_write(into, msgspec.json.encode(task) + b"\n", content))
        try:
            answer = await _all(out)
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        try:
            return msgspec.json.decode(answer, type=Reading)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise WebError("This document cannot be read: it asks for too much memory.") from error


@asynccontextmanager
async def opened_reader() -> AsyncGenerator[Reader]:
    """A reader, gone with the block whatever it is doing."""
    async with ChildProcess.opened(
        sys.executable,
        *("-P", "-m", "bethink.internet.reading"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        # None of this process' variables: they hold keys.
        env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"},
    ) as process:
        yield Reader(process)


async def _write(into: asyncio.StreamWriter, *parts: bytes) -> None:
    try:
        for part in parts:
            into.write(part)
            await into.drain()
        into.close()
        await into.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        # It has ended; what it answered says why.
        return


async def _all(out: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while part := await out.read(_PART):
        answer += part
        if len(answer) > _MAX_ANSWER:
            raise WebError("This document cannot be read: its text is too long.")
    return bytes(answer)
