"""Contents of files in S3-compatible storage (docs/adr/0097), under the names that they have in a directory.

What reads a file reads it on this machine: a copy that is fetched when it is asked for, and goes an hour
after it was asked for last. What the directory of an earlier time holds is moved in the background.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from bethink.blobs.directory import PARTIAL, DirectoryBlobs, home_of
from bethink.errors import BadInput, NotInstalled, StorageError
from bethink.telemetry import log

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Iterable, Sequence
    from pathlib import Path

    from obstore.store import S3Store

    from bethink.settings import Settings
    from bethink.telemetry import Supervise

T = TypeVar("T")
MISSING: Final = "Files in S3 need a package that is not installed: pip install 'bethink[s3]'."
_KEPT_S: Final = 3_600
_LOOK_S: Final = 60
_LEASE_S: Final = 3_600
"""Longer than any upload takes; that of a process that died is free at once."""
_WAIT_S: Final = 0.05
_AGAIN_S: Final = 300
_log = log("blobs")


class Leases(Protocol):
    """What of a bus is needed here."""

    async def claim(self, name: str, ttl_s: float) -> bool:
        """Take the lease, unless another living process holds it."""
        ...

    async def release(self, name: str) -> None:
        """Give it up."""
        ...


@dataclass(frozen=True, slots=True)
class S3Blobs:
    """Contents in a bucket, sealed as those of a directory are.

    `copies` are those that were read here lately, `before` waits to be moved.
    """

    storage: S3Store
    place: str
    """The storage in words, for errors."""
    copies: DirectoryBlobs
    before: DirectoryBlobs
    bus: Leases
    folder: str = ""

    async def write(self, owner: str, id: str, content: bytes) -> None:
        """Keep a content; durable when it returns."""
        await self.keep(owner, id, content)

    async def keep(self, owner: str, id: str, content: bytes | Path) -> None:
        """Keep a content, or what a file holds. It is there as a whole or not at all."""
        import obstore

        key = self._key(owner, id)
        if self.copies.sealed is None:
            await self._done(obstore.put_async(self.storage, key, content))
        else:
            sealed = uuid.uuid4().hex
            try:
                await self.copies.keep(owner, sealed, content)
                await self._done(obstore.put_async(self.storage, key, self.copies.path(owner, sealed)))
            finally:
                with anyio.CancelScope(shield=True):
                    await self.copies.delete(owner, [sealed])
        await self.before.delete(owner, [id])

    @asynccontextmanager
    async def alone(self, owner: str) -> AsyncGenerator[None]:
        """A block in which nobody else is, on any machine; who dies in it leaves it."""
        name = f"files:{self.folder}{home_of(owner)}"
        async with self.copies.alone(owner):
            while not await self.bus.claim(name, _LEASE_S):  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(_WAIT_S)
            try:
                yield
            finally:
                with anyio.CancelScope(shield=True):
                    await self.bus.release(name)

    def area(self, name: str) -> S3Blobs:
        """Contents of another kind, in a folder beside those of owners."""
        return replace(self, folder=f"{name}/", copies=self.copies.area(name), before=self.before.area(name))

    async def opened(self, owner: str, id: str) -> Path:
        """A copy of the content as it is now."""
        import obstore

        key = self._key(owner, id)
        try:
            meta = await self._done(obstore.head_async(self.storage, key))
            # What is written anew has another mark: nobody reads a copy of what was there before.
            mark = hashlib.sha256(f"{meta['e_tag']} {meta['size']}".encode()).hexdigest()[:16]
            name = f"{id}.{mark}"
            path = self.copies.path(owner, name)
            if not await anyio.to_thread.run_sync(_touched, path):
                await self._fetch(key, path)
        except FileNotFoundError:
            return await self.before.opened(owner, id)
        return await self.copies.opened(owner, name)

    async def ids(self, owner: str) -> Sequence[str]:
        """The ids of all contents of the owner."""
        import obstore

        found = {*await self.before.ids(owner)}
        prefix = f"{self.folder}{home_of(owner)}/"
        pages = obstore.list(self.storage, prefix=prefix, return_arrow=False).__aiter__()  # pyright: ignore[reportUnknownMemberType] - of Arrow
        with suppress(StopAsyncIteration):
            while True:
                found |= {item["path"].rpartition("/")[2] for item in await self._done(anext(pages))}
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
            with suppress(FileNotFoundError):
                await self._done(obstore.delete_async(self.storage, keys))

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
                await self._done(
                    obstore.put_async(self.storage, key, path, mode="create", use_multipart=False)
                )
                count += 1
                if not await anyio.to_thread.run_sync(path.exists):
                    # It was forgotten meanwhile.
                    await self._done(obstore.delete_async(self.storage, key))
            except AlreadyExistsError:
                pass
            except FileNotFoundError:
                continue
            await anyio.to_thread.run_sync(partial(path.unlink, missing_ok=True))
        return count

    async def _fetch(self, key: str, path: Path) -> None:
        import obstore

        part = path.with_name(f"{path.name}.{uuid.uuid4().hex}{PARTIAL}")
        got = await self._done(obstore.get_async(self.storage, key))
        try:
            await anyio.to_thread.run_sync(partial(_made, part.parent))
            async with await anyio.open_file(part, "xb") as file:
                pieces = got.stream().__aiter__()
                with suppress(StopAsyncIteration):
                    while True:
                        await file.write(await self._done(anext(pieces)))
            await anyio.to_thread.run_sync(part.replace, path)
        except OSError as error:
            raise StorageError(
                f"No copy of a file can be kept in {path.parent}: {error.strerror}."
            ) from error
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(part.unlink, missing_ok=True))

    async def _done(self, asked: Awaitable[T]) -> T:
        """What the storage answers.

        Raises:
            StorageError: it cannot be used; the sentence says what to do.
            FileNotFoundError: there is no such content.
        """
        from obstore import exceptions

        try:
            return await asked
        except exceptions.AlreadyExistsError:
            raise
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise StorageError(
                f"{self.place} refuses the key: check `files_s3_key_id` and `files_s3_secret_key`, and that "
                "they may list, read, write and delete there."
            ) from error
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise StorageError(
                    f"{self.place} is not there: make the bucket, or correct `files_url`."
                ) from error
            raise
        except exceptions.BaseError as error:
            raise StorageError(
                f"{self.place} cannot be used now. Try again, and check that the storage runs and "
                "that `files_s3_endpoint` and `files_s3_region` are right."
            ) from error

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
    blobs = await anyio.to_thread.run_sync(_connected, settings, before, bus)
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        tasks.start_soon(supervise, "copies of files", partial(_drop_old, blobs.copies.root))
        tasks.start_soon(supervise, "files on their way to S3", partial(_move_all, blobs))
        yield blobs


def _connected(settings: Settings, before: DirectoryBlobs, bus: Leases) -> S3Blobs:
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise NotInstalled(MISSING) from error

    parts = urlsplit(settings.files_url)
    if parts.scheme != "s3" or not parts.netloc:
        raise BadInput(
            "`files_url` is no address of a bucket: write it as s3://BUCKET or s3://BUCKET/FOLDER."
        )
    endpoint, secret = settings.files_s3_endpoint, settings.files_s3_secret_key
    given = {
        "endpoint": endpoint,
        "region": settings.files_s3_region or None,
        "access_key_id": settings.files_s3_key_id or None,
        "secret_access_key": secret.get_secret_value() if secret else None,
    }
    storage = S3Store(
        parts.netloc,
        prefix=parts.path.strip("/") or None,
        # Compatible storages seldom have a name for each bucket.
        virtual_hosted_style_request=endpoint is None,
        client_options={"allow_http": True, "connect_timeout": "5s", "timeout": "300s"},
        retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=30)},
        **{name: value for name, value in given.items() if value is not None},  # pyright: ignore[reportArgumentType] - names of its options
    )
    place = f"The storage of files, {settings.files_url}" + (f" at {endpoint}," if endpoint else ",")
    copies = replace(before, root=settings.data_dir / "file-copies")
    return S3Blobs(storage, place, copies, before, bus)


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
