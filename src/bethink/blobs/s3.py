"""Contents of files in S3-compatible storage (docs/adr/0097), under the names that they have in a directory.

What reads a file reads it on this machine: a copy that is fetched when it is asked for, and goes an hour
after it was asked for last. What the directory of an earlier time holds is moved in the background.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from bethink.blobs.bucket import Bucket, bucket_at
from bethink.blobs.directory import BUSY, PARTIAL, DirectoryBlobs, home_of
from bethink.errors import StorageError
from bethink.leases import Leases, leased
from bethink.telemetry import Supervise, log

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.blobs import BlobsState
    from bethink.settings import Settings

COPIES: Final = "file-copies"
_KEPT_S: Final = 3_600
_LOOK_S: Final = 60
_AGAIN_S: Final = 300
_log = log("blobs")


@dataclass(frozen=True, slots=True)
class S3Blobs:
    """Contents in a bucket, sealed as those of a directory are.

    `copies` are those that were read here lately, `before` waits to be moved.
    """

    bucket: Bucket
    copies: DirectoryBlobs
    before: DirectoryBlobs
    bus: Leases
    folder: str = ""

    async def write(self, owner: str, id: str, content: bytes) -> None:
        """Keep a content; durable when it returns."""
        await self.keep(owner, id, content)

    async def keep(self, owner: str, id: str, content: bytes | Path) -> None:
        """Keep a content, or what a file holds. It is there as a whole or not at all."""
        key = self._key(owner, id)
        if self.copies.sealed is None:
            await self._put(key, content)
        else:
            sealed = uuid.uuid4().hex
            try:
                await self.copies.keep(owner, sealed, content)
                await self._put(key, self.copies.path(owner, sealed))
            finally:
                with anyio.CancelScope(shield=True):
                    await self.copies.delete(owner, [sealed])
        await self.before.delete(owner, [id])

    @asynccontextmanager
    async def alone(self, owner: str) -> AsyncGenerator[None]:
        """A block in which nobody else is, on any machine; who dies in it leaves it."""
        name = f"files:{self.folder}{home_of(owner)}"
        async with self.copies.alone(owner), leased(self.bus, name, BUSY, wait_s=self.copies.wait_s):
            yield

    def area(self, name: str) -> S3Blobs:
        """Contents of another kind, in a folder beside those of owners."""
        return replace(self, folder=f"{name}/", copies=self.copies.area(name), before=self.before.area(name))

    async def opened(self, owner: str, id: str) -> Path:
        """A copy of the content as it is now."""
        key = self._key(owner, id)
        try:
            meta = await self.bucket.head(key)
            # What is written anew has another mark: nobody reads a copy of what was there before.
            mark = hashlib.sha256(f"{meta['e_tag']} {meta['size']}".encode()).hexdigest()[:16]
            name = f"{id}.{mark}"
            path = self.copies.path(owner, name)
            if not await anyio.to_thread.run_sync(_touched, path):
                await self._fetch(key, path)
        except FileNotFoundError:
            path = await self.before.opened(owner, id)
            # A bucket that is not there answers as one in which nothing is.
            if not await anyio.Path(path).exists() and (fault := (await self.state()).fault):
                raise StorageError(fault) from None
            return path
        return await self.copies.opened(owner, name)

    async def ids(self, owner: str) -> Sequence[str]:
        """The ids of all contents of the owner."""
        import obstore

        found = {*await self.before.ids(owner)}
        prefix = f"{self.folder}{home_of(owner)}/"
        with self.bucket.translating():
            async for page in obstore.list(self.bucket.storage, prefix=prefix, return_arrow=False):  # pyright: ignore[reportUnknownMemberType] - of Arrow
                found |= {item["path"].rpartition("/")[2] for item in page}
        return sorted(found)

    async def clean(self, owner: str) -> None:
        """Remove what writes to the directory have left; those to S3 leave nothing that can be seen."""
        await self.before.clean(owner)

    async def delete(self, owner: str, ids: Iterable[str]) -> None:
        """Remove contents, and the copies of them here."""
        import obstore

        wanted = [*ids]
        # In this order: what is being moved meanwhile is missed there, or removed here.
        await self.before.delete(owner, wanted)
        known = await self.copies.ids(owner)
        await self.copies.delete(owner, [one for one in known if one.partition(".")[0] in wanted])
        if wanted:
            keys = [self._key(owner, id) for id in wanted]
            with suppress(FileNotFoundError), self.bucket.translating():
                await obstore.delete_async(self.bucket.storage, keys)

    async def state(self) -> BlobsState:
        """How the storage is."""
        return await self.bucket.state()

    async def used(self) -> tuple[int, int]:
        """How many contents there are in the storage and on the way to it, and how many bytes they take."""
        count, size = await self.before.used()
        there, more = await anyio.to_thread.run_sync(_sizes, self.bucket)
        return count + there, size + more

    async def move_in(self) -> int:
        """Move what the directory of an earlier time holds, of all owners and kinds; how many contents.

        Each is removed there once it is in the storage. What is in the storage already is newer.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError

        count, root = 0, self.before.root
        for path in await anyio.to_thread.run_sync(_files_below, root):
            key = path.relative_to(root).as_posix()
            try:
                with self.bucket.translating():
                    await obstore.put_async(
                        self.bucket.storage, key, path, mode="create", use_multipart=False
                    )
                    count += 1
                    if not await anyio.to_thread.run_sync(path.exists):
                        # It was forgotten meanwhile.
                        await obstore.delete_async(self.bucket.storage, key)
            except AlreadyExistsError:
                pass
            except FileNotFoundError:
                continue
            await anyio.to_thread.run_sync(partial(path.unlink, missing_ok=True))
        return count

    async def _put(self, key: str, content: bytes | Path) -> None:
        import obstore

        with self.bucket.translating():
            await obstore.put_async(self.bucket.storage, key, content)

    async def _fetch(self, key: str, path: Path) -> None:
        import obstore

        part = path.with_name(f"{path.name}.{uuid.uuid4().hex}{PARTIAL}")
        with self.bucket.translating():
            got = await obstore.get_async(self.bucket.storage, key)
        try:
            await anyio.to_thread.run_sync(partial(_made, part.parent))
            async with await anyio.open_file(part, "xb") as file:
                with self.bucket.translating():
                    async for piece in got.stream():
                        await file.write(piece)
            await anyio.to_thread.run_sync(part.replace, path)
        except OSError as error:
            raise StorageError(
                f"No copy of a file can be kept in {path.parent}: {error.strerror}."
            ) from error
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(part.unlink, missing_ok=True))

    def _key(self, owner: str, id: str) -> str:
        return f"{self.folder}{home_of(owner)}/{id}"


@asynccontextmanager
async def open_s3(
    settings: Settings, bus: Leases, supervise: Supervise, *, before: DirectoryBlobs
) -> AsyncGenerator[S3Blobs]:
    """The storage that the settings name; `before` is where files are without it.

    While the block is open, copies go when they are old.

    Raises:
        NotInstalled: the package is missing.
        BadInput: the settings name no bucket.
    """
    bucket = await anyio.to_thread.run_sync(bucket_at, settings)
    blobs = S3Blobs(bucket, replace(before, root=settings.data_dir / COPIES), before, bus)
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        tasks.start_soon(supervise, "copies of files", partial(_drop_old, blobs.copies.root))
        tasks.start_soon(supervise, "files on their way to S3", partial(_move_all, blobs))
        yield blobs


async def _move_all(blobs: S3Blobs) -> None:
    """Move until all is there; what does not work now is tried again."""
    while True:
        try:
            if count := await blobs.move_in():
                _log.info("moved %d files to S3", count)
            return
        except StorageError as error:
            _log.warning("files are not moved to S3 yet: %s", error)
        await anyio.sleep(_AGAIN_S)


async def _drop_old(root: Path) -> None:
    while True:
        await anyio.to_thread.run_sync(drop_old, root, time.time() - _KEPT_S)
        await anyio.sleep(_LOOK_S)


def drop_old(root: Path, before_s: float) -> None:
    """Remove the copies that nobody asked for since a time, and what was half fetched by then."""
    for path in root.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file() and path.stat().st_mtime < before_s:
                path.unlink()


def _sizes(bucket: Bucket) -> tuple[int, int]:
    count = size = 0
    for one in bucket.objects():
        count, size = count + 1, size + one.size
    return count, size


def _touched(path: Path) -> bool:
    """Whether the copy is there; it stays for a while."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _made(directory: Path) -> None:
    for one in (directory.parent, directory):
        one.mkdir(mode=0o700, parents=True, exist_ok=True)


def _files_below(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and path.suffix != PARTIAL]
