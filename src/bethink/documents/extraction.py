"""Has a file read by the process of `reading`, within time, memory and length. `across/passages` asks."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final

import anyio
import anyio.to_thread
import msgspec

from bethink.documents.kinds import HEAD, kind_of, why_not
from bethink.documents.told import (
    MAX_CHARS,
    MAX_PAGES,
    Ended,
    Extracted,
    Failed,
    Opened,
    PageRead,
    Task,
    Told,
)
from bethink.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from bethink.documents.told import Kind

_MAX_ANSWER: Final = 8 * MAX_CHARS
"""Bytes; a character takes at most six in JSON."""
_PART: Final = 2**16
_PATIENCE_S: Final = 2
"""Beyond the time that the process itself has for its pages: to start, to end."""
_AT_ONCE: Final = 2
_STOPPED: Final = (
    "Reading ended behind page {}: what follows is damaged, takes too long, or asks for too much memory."
)
_FAILED: Final = "{} cannot be read: it is damaged, takes too long, or asks for too much memory."
_LONG: Final = "Only the first {} pages are read: the text is too long."


@dataclass(frozen=True, slots=True)
class Extraction:
    """Reads documents, two at a time, each within `seconds` and `memory` bytes."""

    seconds: float = 30
    memory: int = 2**30
    _room: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_AT_ONCE), repr=False)

    async def kind(self, path: Path, name: str, media_type: str) -> Kind | None:
        """How a file is read; None for one that is not, or is not there."""
        try:
            head = await anyio.to_thread.run_sync(_head, path)
        except OSError:
            return None
        return kind_of(name, media_type, head)

    async def read(
        self, path: Path, name: str, media_type: str, *, first: int = 1, last: int = MAX_PAGES
    ) -> Extracted:
        """Pages `first` to `last` of a file, fewer where its time, or their length, does not allow all.

        Raises:
            DocumentError: nothing of it can be read; the sentence says why.
        """
        try:
            head = await anyio.to_thread.run_sync(_head, path)
        except OSError as error:
            raise DocumentError(f"The content of {name} is not there any more.") from error
        kind = kind_of(name, media_type, head)
        if kind is None:
            raise DocumentError(why_not(name, media_type, head))
        task = Task(kind, name, first, last, self.seconds, self.memory)
        async with self._room:
            answer = await self._answer(path, task)
        return _added(answer, name)

    async def _answer(self, path: Path, task: Task) -> bytes:
        """What the process told until it ended, or had to be ended."""
        answer = bytearray()
        content = await anyio.to_thread.run_sync(_opened, path)
        try:
            async with _process(task, content) as process:
                assert process.stdout is not None  # noqa: S101 - asked for
                with anyio.move_on_after(task.seconds + _PATIENCE_S):
                    while len(answer) < _MAX_ANSWER and (part := await process.stdout.read(_PART)):
                        answer += part
                    # Ended by itself: asyncio loses the child that is sent a signal in that moment.
                    if len(answer) < _MAX_ANSWER:
                        await process.wait()
        finally:
            content.close()
        return bytes(answer)


@asynccontextmanager
async def _process(task: Task, content: BinaryIO) -> AsyncGenerator[asyncio.subprocess.Process]:
    """The process, gone with the block whatever it is doing."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-m", "bethink.documents.reading", msgspec.json.encode(task).decode()),
        stdin=content,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        # None of this process' variables: they hold keys.
        env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _opened(path: Path) -> BinaryIO:
    return path.open("rb")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


def _added(answer: bytes, name: str) -> Extracted:
    """All that was told, as one document."""
    whole, _, _ = answer.rpartition(b"\n")
    count, size = 0, 0
    pages: dict[int, str] = {}
    note: str | None = None
    for line in whole.split(b"\n") if whole else ():
        told: Told = msgspec.json.decode(line, type=Told)
        match told:
            case Opened(number):
                count = number
            case PageRead(number, text):
                pages[number] = text
                size += len(text)
            case Ended(said):
                note = said
            case Failed(error) if not pages:
                raise DocumentError(f"{name}: {error}")
            case Failed():
                break
        if size > MAX_CHARS:
            note = _LONG.format(len(pages))
            break
    if note is None:
        if not pages:
            raise DocumentError(_FAILED.format(name))
        note = _STOPPED.format(max(pages))
    return Extracted(count, pages, note)
