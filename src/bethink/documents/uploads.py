"""Files on their way into the library, below the data directory: whole ones, and those that come in parts.

`web/documents` calls it. An upload in parts goes on after an error, a restart, or another day's network: what
came of it is as long as its file. They go when they are done, after a day, and when something is forgotten,
since nobody can say what is in them.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import time
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Final

import anyio
import anyio.to_thread
import msgspec

from bethink.documents.contents import hash_of
from bethink.documents.model import NewDocument, fit_name, fit_tags
from bethink.errors import BadInput, Busy, Conflict, DiskFull, StorageError, TooLarge, UnknownId
from bethink.store import Change, Collection, Delete, Put, Record, Scan, owners_of, records_of

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.documents.library import Library
    from bethink.documents.records import Document
    from bethink.principal import Principal

KEPT_S: Final = 86_400
"""A day."""
_MOST: Final = 1_000
"""Of one owner under way at once."""
_PAGE: Final = 500
_NEW_S: Final = 60
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_SHA256: Final = re.compile(r"[0-9a-fA-F]{64}")


class Upload(Record, frozen=True, kw_only=True):
    """A file that comes in parts, and what it becomes; `document` is its id once it has come.

    With `version_of`, a document's id, it becomes the newer version of that one, and stays where it is.
    """

    name: str
    size: int
    media_type: str = "application/octet-stream"
    sha256: str = ""
    collection: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
    document: str | None = None
    version_of: str | None = None
    at: int

    @property
    def expires_at(self) -> int:
        """When it goes, microseconds UTC."""
        return self.at + KEPT_S * 1_000_000


UPLOADS: Final = Collection("document_uploads", Upload, ("at",), scans=(("at",),), searchable=False)


@dataclass(frozen=True, slots=True)
class UploadState:
    """An upload, and how much of it came."""

    upload: Upload
    offset: int


@dataclass(frozen=True, slots=True)
class Uploads:
    """The uploads of all owners, in `root`; every call acts for one principal."""

    library: Library
    root: Path

    @asynccontextmanager
    async def staged(self, owner: str) -> AsyncGenerator[Path]:
        """An empty file for a whole upload, which is gone behind the block.

        Raises:
            StorageError: it cannot be made.
        """
        path = self._home(owner) / self.library.new_id()
        with _told():
            held = await anyio.to_thread.run_sync(_made, path)
        try:
            yield path
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(path.unlink, missing_ok=True))
                held.close()

    async def begin(self, principal: Principal, upload: Upload) -> Upload:
        """Make room for an upload, whose `id` and `at` are given here.

        Raises:
            BadInput: its name, tags, size or hash are not fit.
            TooLarge: it is longer than a file may be, or there is no room.
            UnknownId: there is no such collection or document.
            NotAllowed: it is somebody else's, and may not be changed.
            Busy: too many are under way.
        """
        library, owner = self.library, principal.owner
        if upload.size < 1:
            raise BadInput(f"{upload.name} is empty: there is nothing to read in it.")
        if upload.sha256 and not _SHA256.fullmatch(upload.sha256):
            raise BadInput("`sha256` is the hash of the file's bytes in 64 hexadecimal digits.")
        await library.contents.check_room(principal.owner, upload.size, fit_name(upload.name))
        if await library.store.count(owner, UPLOADS, {}) >= _MOST:
            raise Busy(f"{_MOST:,} uploads are under way: end or delete some first.")
        if upload.version_of is not None:
            await library.seen(principal, upload.version_of, to_write=True)
        inside = upload.collection and (await library.collection(principal, upload.collection)).id
        upload = msgspec.structs.replace(
            upload,
            id=library.new_id(),
            at=library.clock.now_us(),
            name=fit_name(upload.name),
            tags=fit_tags(upload.tags),
            sha256=upload.sha256.lower(),
            collection=inside,
        )
        with _told():
            file = await anyio.to_thread.run_sync(_made, self._path(owner, upload.id))
        with file:
            await library.store.commit(owner, [Put(UPLOADS, upload, 0)])
        return upload

    async def get(self, principal: Principal, id: str) -> UploadState:
        """An upload, and how much of it came.

        Raises:
            UnknownId: there is none.
        """
        upload = await self._get(principal.owner, id)
        if upload.document is not None:
            return UploadState(upload, upload.size)
        return UploadState(upload, await anyio.to_thread.run_sync(_size, self._path(principal.owner, id)))

    async def append(
        self, principal: Principal, id: str, parts: AsyncIterable[bytes], *, offset: int
    ) -> UploadState:
        """Take what comes behind `offset`; the last byte makes it a document.

        What came is kept, also if the rest does not come; durable when it returns.

        Raises:
            UnknownId: there is no such upload.
            Conflict: it is at another offset, or somebody else writes it just now.
            TooLarge: more comes than was said.
            BadInput: all of it came, and is not what was said.
            StorageError: it cannot be kept.
        """
        owner = principal.owner
        upload = await self._get(owner, id)
        if upload.document is not None:
            return UploadState(upload, upload.size)
        with _told():
            file = await anyio.to_thread.run_sync(_opened, self._path(owner, id))
        try:
            now = await _write(file, parts, offset, size=upload.size)
            if now < upload.size:
                return UploadState(upload, now)
            document = await self._ended(principal, upload)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(file.close)
        return UploadState(msgspec.structs.replace(upload, document=document.id), upload.size)

    async def _ended(self, principal: Principal, upload: Upload) -> Document:
        path = self._path(principal.owner, upload.id)
        if upload.sha256 and (await anyio.to_thread.run_sync(hash_of, path))[0] != upload.sha256:
            await self.discard(principal, upload.id)
            raise BadInput(f"{upload.name} came damaged: its hash is another one. Upload it again.")
        new = NewDocument(
            name=upload.name,
            content=path,
            media_type=upload.media_type,
            collection=upload.collection,
            project=upload.project,
            tags=upload.tags,
            taken=True,
        )
        if upload.version_of is None:
            document = await self.library.add(principal, new)
        else:
            try:
                document = await self.library.replace(principal, upload.version_of, new)
            except UnknownId:
                # It was removed meanwhile: nobody asks for these bytes any more.
                await self.discard(principal, upload.id)
                raise
        done = msgspec.structs.replace(upload, document=document.id)
        await self.library.store.commit(principal.owner, [Put(UPLOADS, done)])
        return document

    async def discard(self, principal: Principal, id: str) -> None:
        """Remove an upload; a document that it became stays.

        Raises:
            UnknownId: there is none.
        """
        await self._get(principal.owner, id)
        await self._drop(principal.owner, [id])

    async def expire(self, principal: Principal) -> int:
        """Remove those that are more than a day old; how many that were."""
        before = self.library.clock.now_us() - KEPT_S * 1_000_000
        scan = Scan(UPLOADS, order="at", high=before, limit=_PAGE)
        due = [one.id async for one in records_of(self.library.store, principal.owner, scan)]
        await self._drop(principal.owner, due)
        await self.clean(principal.owner)
        return len(due)

    async def forgotten(self, owner: str) -> Sequence[Change]:
        """The changes by which no upload is known any more; `clean` removes their files then."""
        scan = Scan(UPLOADS, limit=_PAGE)
        return [Delete(UPLOADS, one.id) async for one in records_of(self.library.store, owner, scan)]

    async def clean(self, owner: str) -> None:
        """Remove files that belong to no upload, and that nobody writes just now."""
        for id in await anyio.to_thread.run_sync(_names, self._home(owner)):
            path = self._path(owner, id)
            with _told():
                file = await anyio.to_thread.run_sync(_unused, path)
            if file is None:
                continue
            with file:
                (known,) = await self.library.store.get(UPLOADS, owner, [id])
                if known is None or known.record.document is not None:
                    await anyio.to_thread.run_sync(partial(path.unlink, missing_ok=True))

    async def clean_all(self) -> None:
        """Remove what uploads that were killed have left, of all owners."""
        known: set[str] = set()
        paths = await anyio.to_thread.run_sync(_left, self.root)
        async for owner in owners_of(self.library.store, UPLOADS):
            scan = Scan(UPLOADS, limit=_PAGE)
            known |= {one.id async for one in records_of(self.library.store, owner, scan)}
        with _told():
            for path in paths:
                file = None if path.name in known else await anyio.to_thread.run_sync(_unused, path)
                if file is not None:
                    with file:
                        await anyio.to_thread.run_sync(partial(path.unlink, missing_ok=True))

    async def _drop(self, owner: str, ids: Sequence[str]) -> None:
        if ids:
            await self.library.store.commit(owner, [Delete(UPLOADS, id) for id in ids])
        for id in ids:
            await anyio.to_thread.run_sync(partial(self._path(owner, id).unlink, missing_ok=True))

    async def _get(self, owner: str, id: str) -> Upload:
        (held,) = await self.library.store.get(UPLOADS, owner, [id])
        if held is None or held.record.expires_at <= self.library.clock.now_us():
            raise UnknownId("Upload not found: they are kept for a day, or until something is forgotten.")
        return held.record

    def _path(self, owner: str, id: str) -> Path:
        return self._home(owner) / id

    def _home(self, owner: str) -> Path:
        # An owner's name may be anything; a directory's may not.
        return self.root / hashlib.sha256(owner.encode()).hexdigest()[:32]


async def _write(file: IO[bytes], parts: AsyncIterable[bytes], offset: int, *, size: int) -> int:
    """Append what comes; how long the file is then."""
    now = await anyio.to_thread.run_sync(file.seek, 0, os.SEEK_END)
    if offset != now:
        raise Conflict(f"{now:,} bytes of this upload came so far: go on there (Upload-Offset: {now}).")
    try:
        with _told():
            async for part in parts:
                if now + len(part) > size:
                    raise TooLarge(f"The upload was said to have {size:,} bytes, and more of it comes.")
                await anyio.to_thread.run_sync(file.write, part)
                now += len(part)
    finally:
        with anyio.CancelScope(shield=True), _told():
            await anyio.to_thread.run_sync(_keep, file)
    return now


@contextmanager
def _told() -> Generator[None]:
    """Have what the disk refuses told as an error of ours."""
    try:
        yield
    except BlockingIOError as error:
        raise Conflict(
            "Another request writes this upload just now: ask for its offset, and go on."
        ) from error
    except FileNotFoundError as error:
        raise UnknownId("The bytes of this upload are not there any more: begin it again.") from error
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull from error
        raise StorageError(f"The upload cannot be kept: {error.strerror}.") from error


def _made(path: Path) -> IO[bytes]:
    """A new file, locked while it is open."""
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def _opened(path: Path) -> IO[bytes]:
    """The file of an upload to be written on; nobody else does."""
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        file.close()
        raise
    return file


def _keep(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _unused(path: Path) -> IO[bytes] | None:
    """A file that nobody writes, locked while it is open; None if there is none."""
    with suppress(FileNotFoundError, BlockingIOError):
        return _opened(path)
    return None


def _left(root: Path) -> list[Path]:
    """The files that were not made just now: of those the records may not be known yet."""
    before = time.time() - _NEW_S
    files = [path for path in root.glob("*/*") if path.is_file()]
    return [path for path in files if path.stat().st_mtime < before]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _names(home: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(home))
    except FileNotFoundError:
        return []
