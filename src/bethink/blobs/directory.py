"""Contents of files in a directory: one directory an owner, one file a content."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import anyio
import anyio.to_thread

from bethink.blobs import BlobsState
from bethink.durable_files import sync
from bethink.errors import Busy, DiskFull, StorageError
from bethink.sealing import OVERHEAD, Cipher, NotSealedSoError

PARTIAL = ".part"
_PART = 2**20
_LOCK_S = 0.005
"""How often it is looked whether another has left."""
ALONE_S = 300.0
"""So long it is waited for that: longer than it takes to upload the largest document."""
BUSY = "Another program is changing these files: try again in a moment."

_MAGIC = b"bethink sealed 1\n"
_SEALED_PART = _PART + OVERHEAD
_OPENED_BYTES = 512 << 20
"""So much is kept opened; then what was opened first goes."""


def sealed_parts(source: BinaryIO, cipher: Cipher) -> Iterator[bytes]:
    """What a file holds, sealed part by part: none can be left out, repeated or moved."""
    yield _MAGIC
    part, number = source.read(_PART), 0
    while True:
        following = source.read(_PART)
        yield cipher.seal(part, _place(number, is_last=not following))
        if not following:
            return
        part, number = following, number + 1


def opened_parts(source: BinaryIO, cipher: Cipher) -> Iterator[bytes]:
    """What a sealed file holds.

    Raises:
        NotSealedSoError: another key sealed it, it was changed or cut short, or it is not sealed.
    """
    if source.read(len(_MAGIC)) != _MAGIC:
        raise NotSealedSoError
    part, number = source.read(_SEALED_PART), 0
    while True:
        following = source.read(_SEALED_PART)
        yield cipher.open(part, _place(number, is_last=not following))
        if not following:
            return
        part, number = following, number + 1


FIRST_BYTES: Final = len(_MAGIC) + _SEALED_PART
"""The first part of a sealed content, and what stands before it."""


def is_sealed_by(cipher: Cipher, first: bytes, size: int) -> bool:
    """Whether a content of so many bytes, of which this is the beginning, is sealed with a key."""
    if not first.startswith(_MAGIC):
        return False
    try:
        cipher.open(first[len(_MAGIC) : FIRST_BYTES], _place(0, is_last=size <= FIRST_BYTES))
    except NotSealedSoError:
        return False
    return True


def _place(number: int, *, is_last: bool) -> bytes:
    return b"%d%s" % (number, b"." if is_last else b"+")


@dataclass(frozen=True, slots=True)
class SealedContents:
    """Sealed contents as they are read: opened into `folder`, which is best in memory. Calls block."""

    cipher: Cipher
    folder: Path

    def path_of(self, sealed: Path) -> Path:
        """Where a content is read, opened; a path of nothing if there is none.

        Raises:
            StorageError: it was changed, or sealed with another key.
        """
        opened = self._place(sealed)
        try:
            source = sealed.open("rb")
        except FileNotFoundError:
            opened.unlink(missing_ok=True)
            return opened
        with source:
            if opened.exists() and opened.stat().st_mtime_ns == os.fstat(source.fileno()).st_mtime_ns:
                return opened
            self._make_room()
            descriptor, name = tempfile.mkstemp(dir=self.folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.writelines(opened_parts(source, self.cipher))
                at = os.fstat(source.fileno()).st_mtime_ns
                os.utime(name, ns=(at, at))
                Path(name).replace(opened)
            except NotSealedSoError as error:
                raise StorageError(
                    f"{sealed} was changed, or sealed with another key: restore it from a backup."
                ) from error
            finally:
                Path(name).unlink(missing_ok=True)
        return opened

    def drop(self, sealed: Iterable[Path]) -> None:
        """Have no content of these be here any more."""
        for path in sealed:
            self._place(path).unlink(missing_ok=True)

    def _place(self, sealed: Path) -> Path:
        return self.folder / hashlib.sha256(os.fsencode(sealed)).hexdigest()

    def _make_room(self) -> None:
        found = sorted(
            ((one, one.stat()) for one in self.folder.iterdir()), key=lambda one: one[1].st_ctime_ns
        )
        held = sum(state.st_size for _, state in found)
        for path, state in found:
            if held <= _OPENED_BYTES:
                return
            path.unlink(missing_ok=True)
            held -= state.st_size


@dataclass(frozen=True, slots=True)
class DirectoryBlobs:
    """Contents below `root`, for nobody else on this machine to read.

    If they are `sealed`, that opens them to be read.
    """

    root: Path
    sealed: SealedContents | None = None
    wait_s: float = ALONE_S

    async def write(self, owner: str, id: str, content: bytes) -> None:
        """Keep a content; durable when it returns."""
        await self.keep(owner, id, content)

    async def keep(self, owner: str, id: str, content: bytes | Path) -> None:
        """Keep a content, or what a file holds; durable when it returns."""
        path = self.path(owner, id)
        cipher = self.sealed and self.sealed.cipher
        await self._in_thread(partial(_write, path, content, cipher))
        if self.sealed is not None:
            await self._in_thread(partial(self.sealed.drop, [path]))

    @asynccontextmanager
    async def alone(self, owner: str) -> AsyncGenerator[None]:
        """A block in which nobody else is; who dies in it leaves it."""
        directory = await anyio.to_thread.run_sync(partial(_opened, self._home(owner)))
        deadline = anyio.current_time() + self.wait_s
        try:
            while not await anyio.to_thread.run_sync(partial(_locked, directory)):
                if anyio.current_time() > deadline:
                    raise Busy(BUSY)
                await anyio.sleep(_LOCK_S)
            yield
        finally:
            os.close(directory)

    def area(self, name: str) -> DirectoryBlobs:
        """Contents of another kind, in a directory beside those of owners."""
        return replace(self, root=self.root / name)

    async def opened(self, owner: str, id: str) -> Path:
        """Where the content is read."""
        path = self.path(owner, id)
        if self.sealed is None:
            return path
        try:
            return await anyio.to_thread.run_sync(self.sealed.path_of, path)
        except OSError as error:
            raise StorageError(f"{path} cannot be opened: {error.strerror}.") from error

    def path(self, owner: str, id: str) -> Path:
        """Where the content lies, sealed or not."""
        return self._home(owner) / id

    async def ids(self, owner: str) -> Sequence[str]:
        """The ids of all contents of the owner."""
        return await anyio.to_thread.run_sync(partial(_names, self._home(owner)))

    async def clean(self, owner: str) -> None:
        """Remove what writes that were cut short have left."""
        await self._in_thread(partial(_clean, self._home(owner)))

    async def delete(self, owner: str, ids: Iterable[str]) -> None:
        """Remove contents."""
        paths = [self.path(owner, id) for id in ids]
        await self._in_thread(partial(_unlink, paths))
        if self.sealed is not None:
            await self._in_thread(partial(self.sealed.drop, paths))

    async def state(self) -> BlobsState:
        """Nothing that the health of the data directory does not tell."""
        return BlobsState()

    async def used(self) -> tuple[int, int]:
        """How many contents there are, and how many bytes they take."""
        return await anyio.to_thread.run_sync(partial(_sizes, self.root))

    async def _in_thread(self, work: Callable[[], None]) -> None:
        try:
            await anyio.to_thread.run_sync(work)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull from error
            raise StorageError(f"Files cannot be kept in {self.root}: {error.strerror}.") from error

    def _home(self, owner: str) -> Path:
        return self.root / home_of(owner)


def home_of(owner: str) -> str:
    """The name of an owner's directory: an owner's name may be anything, a directory's may not."""
    return hashlib.sha256(owner.encode()).hexdigest()[:32]


@asynccontextmanager
async def temporary_blobs(below: Path | None = None) -> AsyncGenerator[DirectoryBlobs]:
    """Contents that end with the block, in a directory of their own `below` another."""
    root = await anyio.to_thread.run_sync(partial(tempfile.mkdtemp, prefix="bethink-", dir=below))
    try:
        yield DirectoryBlobs(Path(root))
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(shutil.rmtree, root, ignore_errors=True))


def _write(path: Path, content: bytes | Path, cipher: Cipher | None = None) -> None:
    for directory in (path.parent.parent, path.parent):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial_path = path.with_name(f"{path.name}{PARTIAL}")
    try:
        with _held(partial_path) as file:
            with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as source:
                if cipher is None:
                    shutil.copyfileobj(source, file, _PART)
                else:
                    file.writelines(sealed_parts(source, cipher))
            file.flush()
            os.fsync(file.fileno())
            partial_path.replace(path)
    except BaseException:
        partial_path.unlink(missing_ok=True)
        raise
    sync(path.parent)


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
    for path in home.glob(f"*{PARTIAL}"):
        with suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _unlink(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}{PARTIAL}").unlink(missing_ok=True)
    for parent in {path.parent for path in paths if path.parent.is_dir()}:
        sync(parent)


def _names(home: Path) -> list[str]:
    try:
        return sorted({entry.name.removesuffix(PARTIAL) for entry in os.scandir(home)})
    except FileNotFoundError:
        return []


def _sizes(root: Path) -> tuple[int, int]:
    count = size = 0
    for path in root.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file():
                count, size = count + 1, size + path.stat().st_size
    return count, size
