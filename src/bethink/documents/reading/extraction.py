"""Has a file read by the process of `reader`, within time, memory and length. `recall/passages` asks.

The process is one of a sandbox if one holds: a file that takes its parser over then reaches nothing. Else it
has the same limits and an environment of its own. Either is a copy of one that waits for files and has seen
none, so that it starts at once. What it says is not believed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final, cast

import anyio
import anyio.to_thread
import msgspec

from bethink.documents.reading.messages import (
    HEAD,
    MAX_CHARS,
    MAX_PAGES,
    NEEDS_OCR,
    Ended,
    Extracted,
    Failed,
    Opened,
    PageRead,
    ReadingJob,
    Told,
    imports_for,
    kind_of,
    recognises_text,
    why_not,
)
from bethink.errors import DocumentError
from bethink.sandbox import CodeLimits, FileReader, FileReading, Sandbox
from bethink.sandbox.file_reader import ForkingReader

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.documents.reading.messages import Kind
    from bethink.sandbox.choice import Walls

_MAX_ANSWER: Final = 8 * MAX_CHARS
"""Bytes; a character takes at most six in JSON."""
_MAX_LABEL: Final = 300
"""Characters of a title, of what a page is called, and of the name by whose ending a file is known."""
_MODULE: Final = "bethink.documents.reading"
_TRIED: Final = "Text that is read to see whether it is."
_TRY_S, _TRY_BYTES = 20.0, 2**29
_PATIENCE_S: Final = 5
"""Beyond the time that the process itself has for its pages: to start on a busy machine, to end."""
_AT_ONCE: Final = 2
_MOST_OF_ONE: Final = 500
"""Files that one process reads: what its libraries may lose is little then."""
_STOPPED: Final = (
    "Reading ended behind page {}: what follows is damaged, takes too long, or asks for too much memory."
)
_FAILED: Final = (
    "{} cannot be read: it is damaged, takes too long, or asks for too much memory."
    " Save it anew, or in parts."
)
_LONG: Final = "Only the first {} pages are read: the text is too long."


@dataclass(slots=True)
class _Reader:
    """A process that reads files, and how many it has read."""

    process: FileReader
    files: int = 0


@dataclass(slots=True)
class Extraction:
    """Reads documents, two at a time, each within `seconds` and `memory` bytes."""

    seconds: float = 30
    memory: int = 2**30
    walls: Walls | None = None
    _room: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_AT_ONCE), repr=False)
    _idle: list[_Reader] = field(default_factory=list["_Reader"], repr=False)
    _keeping: int = 0

    @asynccontextmanager
    async def kept_warm(self) -> AsyncGenerator[None]:
        """Within it, processes that have read a file wait for the next one; else each ends with its file."""
        self._keeping += 1
        try:
            yield
        finally:
            self._keeping -= 1
            if not self._keeping:
                idle, self._idle = self._idle, []
                with anyio.CancelScope(shield=True):
                    for reader in idle:
                        await reader.process.close()

    async def kind(self, path: Path, name: str, media_type: str) -> Kind | None:
        """How a file is read; None for one that is not, or is not there."""
        try:
            head = await anyio.to_thread.run_sync(_head, path)
        except OSError:
            return None
        kind = kind_of(name, media_type, head)
        return None if kind == "image" and not await anyio.to_thread.run_sync(recognises_text) else kind

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
            raise DocumentError(why_not(name, media_type))
        if kind == "image" and not await anyio.to_thread.run_sync(recognises_text):
            raise DocumentError(f"{name} is an image: {NEEDS_OCR}")
        # Half a surrogate pair cannot leave Python.
        known_as = name.encode("utf-8", "replace").decode()[-_MAX_LABEL:]
        task = ReadingJob(kind, known_as, first, last, self.seconds, self.memory)
        async with self._room:
            content = await anyio.to_thread.run_sync(lambda: path.open("rb"))
            try:
                async with self._reader() as reader:
                    answer = await reader.read(content, _reading(task))
            finally:
                content.close()
            return await anyio.to_thread.run_sync(_added, answer, name, kind)

    @asynccontextmanager
    async def _reader(self) -> AsyncGenerator[FileReader]:
        reader = self._idle.pop() if self._idle else _Reader(await self._started())
        reader.files += 1
        try:
            yield reader.process
        finally:
            if self._keeping and reader.process.is_alive and reader.files < _MOST_OF_ONE:
                self._idle.append(reader)
            else:
                with anyio.CancelScope(shield=True):
                    await reader.process.close()

    async def _started(self) -> FileReader:
        sandbox = None if self.walls is None else await self.walls.sandbox()
        return await (ForkingReader.plain() if sandbox is None else sandbox.open_reader(_limits(self.memory)))

    @property
    def state(self) -> str:
        """Where documents are read, as far as it was tried, as a sentence."""
        choice = None if self.walls is None else self.walls.known
        if choice is None:
            return "No document has been read yet: then its sandbox is tried."
        if choice.sandbox is not None:
            return "Documents are read apart from everything else, in a sandbox."
        return (
            f"Documents are read in a process of their own, without a sandbox: {'; '.join(choice.reasons)}."
        )


def _reading(task: ReadingJob) -> FileReading:
    """How a process is asked. One that was not made for Linux imports nothing before it copies itself.

    Other systems' libraries do not work in a copy of what has begun to use them.
    """
    return FileReading(
        (_MODULE, msgspec.json.encode(task).decode()),
        task.seconds + _PATIENCE_S,
        _MAX_ANSWER,
        imports_for(task.kind) if sys.platform == "linux" else (),
    )


def _limits(memory: int) -> CodeLimits:
    return CodeLimits(memory_bytes=memory, disk_bytes=0)


async def fault_of(sandbox: Sandbox) -> str | None:
    """Why a sandbox does not read documents, as a part of a sentence; None where it does."""
    task = ReadingJob("text", "try.txt", 1, 1, _TRY_S, _TRY_BYTES)
    content = await anyio.to_thread.run_sync(_tried)
    try:
        reader = await sandbox.open_reader(_limits(task.memory))
        try:
            answer = await reader.read(content, _reading(task))
        finally:
            await reader.close()
        read = _added(answer, task.name, task.kind).pages
    except (OSError, DocumentError) as error:
        return f"it reads no documents: {error}"
    finally:
        content.close()
    return None if read == {1: _TRIED} else "it reads no documents"


def _tried() -> BinaryIO:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever asked closes it
    file.write(_TRIED.encode())
    file.seek(0)
    return cast("BinaryIO", file)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


def _believed(answer: bytes) -> Iterator[Told]:
    """What was told, up to the first line that is nothing of the kind."""
    for line in answer.split(b"\n") if answer else ():
        try:
            yield msgspec.json.decode(line, type=Told)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return


def _added(answer: bytes, name: str, asked: Kind) -> Extracted:
    whole, _, _ = answer.rpartition(b"\n")
    count, size = 0, 0
    kind, title = asked, ""
    pages: dict[int, str] = {}
    labels: dict[int, str] = {}
    remarks, note = "", None
    for told in _believed(whole):
        match told:
            case Opened(number, how, name_within):
                count, kind, title = number, how, name_within
            case PageRead(number, text, label):
                pages[number] = text
                labels[number] = label[:_MAX_LABEL]
                size += len(text)
            case Ended(remarks, cut):
                note = f"{remarks} {cut}".strip()
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
    called = {number: label for number, label in labels.items() if label}
    return Extracted(count, pages, note, kind, title[:_MAX_LABEL], called, remarks)
