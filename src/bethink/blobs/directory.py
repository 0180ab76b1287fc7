"""Contents of files in a directory: one directory an owner, one file a content."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import anyio
import anyio.to_thread

from bethink.errors import DiskFull, StorageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Sequence

_PARTIAL = ".part"
_PART = 2**20
_LOCK_S = 0.005
"""How often it is looked whether another has left."""


@dataclass(frozen=True, slots=True)
class DirectoryBlobs:
    """Contents below `root`, for nobody else on this machine to read."""

    root: Path

    async def write(self, owner: str, id: str, content: bytes) -> None:
        """Keep a content; durable when it returns."""
        await self.keep(owner, id, content)

    async def keep(self, owner: str, id: str, content: bytes | Path) -> None:
        """Keep a content, or what a file holds; durable when it returns."""
        await self._in_thread(partial(_write, self.path(owner, id), content))

    @asynccontextmanager
    async def alone(self, owner: str) -> AsyncGenerator[None]:
        """A block in which nobody else is; who dies in it leaves it."""
        directory = await anyio.to_thread.run_sync(partial(_opened, self._home(owner)))
        try:
            while not await anyio.to_thread.run_sync(partial(_locked, directory)):  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(_LOCK_S)
            yield
        finally:
            os.close(directory)

    def area(self, name: str) -> DirectoryBlobs:
        """Contents of another kind, in a directory beside those of owners."""
        return DirectoryBlobs(self.root / name)

    def path(self, owner: str, id: str) -> Path:
        """Where the content is read."""
        return self._home(owner) / id

    async def ids(self, owner: str) -> Sequence[str]:
        """The ids of all contents of the owner."""
        return await anyio.to_thread.run_sync(partial(_names, self._home(owner)))

    async def clean(self, owner: str) -> None:
        """Remove what writes that were cut short have left."""
        await self._in_thread(partial(_clean, self._home(owner)))

    async def delete(self, owner: str, ids: Iterable[str]) -> None:
        """Remove contents."""
        await self._in_thread(partial(_unlink, [self.path(owner, id) for id in ids]))

    async def _in_thread(self, work: Callable[[], None]) -> None:
        try:
            await anyio.to_thread.run_sync(work)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull from error
            raise StorageError(f"Files cannot be kept in {self.root}: {error.strerror}.") from error

    def _home(self, owner: str) -> Path:
        # An owner's name may be anything; a directory's may not.
        return self.root / hashlib.sha256(owner.encode()).hexdigest()[:32]


@asynccontextmanager
async def temporary_blobs(below: Path | None = None) -> AsyncGenerator[DirectoryBlobs]:
    """Contents that end with the block, in a directory of their own `below` another."""
    root = await anyio.to_thread.run_sync(partial(tempfile.mkdtemp, prefix="bethink-", dir=below))
    try:
        yield DirectoryBlobs(Path(root))
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(shutil.rmtree, root, ignore_errors=True))


def _write(path: Path, content: bytes | Path) -> None:
    for directory in (path.parent.parent, path.parent):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial_path = path.with_name(f"{path.name}{_PARTIAL}")
    try:
        with _held(partial_path) as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                with content.open("rb") as source:
                    shutil.copyfileobj(source, file, _PART)
            file.flush()
            os.fsync(file.fileno())
            partial_path.replace(path)
    except BaseException:
        partial_path.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def _opened(home: Path) -> int:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.open(home, os.O_RDONLY | os.O_DIRECTORY)


def _locked(directory: int) -> bool:
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _held(path: Path) -> BinaryIO:
    """An empty file that is locked while it is open: one without a lock belongs to no process any more."""
    while True:
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb")
        fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                file.truncate()
                return file
        file.close()  # `_clean`, or who wrote the same content, had it first


def _clean(home: Path) -> None:
    for path in home.glob(f"*{_PARTIAL}"):
        with suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _unlink(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}{_PARTIAL}").unlink(missing_ok=True)
    for parent in {path.parent for path in paths if path.parent.is_dir()}:
        _sync(parent)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _names(home: Path) -> list[str]:
    try:
        return sorted({entry.name.removesuffix(_PARTIAL) for entry in os.scandir(home)})
    except FileNotFoundError:
        return []
