"""The suite of the port for contents of files: a directory, and the adapter for S3 over a bucket in memory.

`tests/service/test_s3_server.py` has the same storage behind a server.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import pytest
from obstore.store import MemoryStore

from bethink.blobs import Blobs, BlobsState
from bethink.blobs.bucket import Bucket
from bethink.blobs.directory import DirectoryBlobs, SealedContents
from bethink.blobs.s3 import S3Blobs, drop_old
from bethink.engines.memory import MemoryBus, MemoryHub
from bethink.errors import Busy
from bethink.sealing import Cipher

pytestmark = pytest.mark.anyio


def over_memory(home: Path, *, bucket: MemoryStore | None = None, hub: MemoryHub | None = None) -> S3Blobs:
    """A machine with a home of its own; several may share a bucket and a bus."""
    return S3Blobs(
        Bucket(cast("Any", bucket or MemoryStore()), "s3://files", "The storage"),
        DirectoryBlobs(home / "file-copies"),
        DirectoryBlobs(home / "files"),
        MemoryBus(hub),
    )


@pytest.fixture(params=["directory", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    return DirectoryBlobs(tmp_path / "files") if request.param == "directory" else over_memory(tmp_path)


async def read(blobs: Blobs, owner: str, id: str) -> bytes | None:
    path = anyio.Path(await blobs.opened(owner, id))
    return await path.read_bytes() if await path.is_file() else None


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def age(path: Path) -> None:
    os.utime(path, (time.time() - 100, time.time() - 100))


async def test_what_was_kept_is_read_and_belongs_to_its_owner(blobs: Blobs, tmp_path: Path) -> None:
    source = tmp_path / "source"
    await anyio.Path(source).write_bytes(b"from a file")
    await blobs.write("ann/../é", "one", b"1")
    await blobs.keep("ann/../é", "two", source)
    assert (await read(blobs, "ann/../é", "one"), await read(blobs, "ann/../é", "two")) == (
        b"1",
        b"from a file",
    )
    assert await blobs.ids("ann/../é") == ["one", "two"]
    assert (await blobs.ids("bob"), await read(blobs, "bob", "one")) == ([], None)


async def test_what_is_written_anew_is_read_as_it_is_now(blobs: Blobs) -> None:
    await blobs.write("ann", "one", b"the secret word")
    assert await read(blobs, "ann", "one") == b"the secret word"
    await blobs.write("ann", "one", b"[forgotten] word")
    assert await read(blobs, "ann", "one") == b"[forgotten] word"
    assert await blobs.ids("ann") == ["one"]


async def test_what_is_deleted_is_in_no_file_any_more(blobs: Blobs, tmp_path: Path) -> None:
    await blobs.write("ann", "one", b"the secret word")
    await blobs.write("ann", "two", b"kept")
    await read(blobs, "ann", "one")
    await blobs.delete("ann", ["one", "never-there"])
    await blobs.delete("ann", [])
    assert (await blobs.ids("ann"), await read(blobs, "ann", "one")) == (["two"], None)
    assert b"secret" not in await anyio.to_thread.run_sync(all_bytes, tmp_path)


async def test_areas_have_ids_of_their_own(blobs: Blobs) -> None:
    documents = blobs.area("documents")
    await blobs.write("ann", "one", b"a file")
    await documents.write("ann", "one", b"a document")
    assert (await read(blobs, "ann", "one"), await read(documents, "ann", "one")) == (
        b"a file",
        b"a document",
    )
    await documents.delete("ann", ["one"])
    assert (await blobs.ids("ann"), await documents.ids("ann")) == (["one"], [])


async def test_nobody_else_is_in_a_block_alone(blobs: Blobs) -> None:
    order: list[str] = []
    entered, may_leave = anyio.Event(), anyio.Event()

    async def first() -> None:
        async with blobs.alone("ann"):
            entered.set()
            await may_leave.wait()
            order.append("first")

    async def second() -> None:
        async with blobs.alone("ann"):
            order.append("second")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        await entered.wait()
        tasks.start_soon(second)
        async with blobs.alone("bob"):
            order.append("another owner")
        may_leave.set()
    assert order == ["another owner", "first", "second"]


async def test_waiting_to_be_alone_ends(blobs: Blobs) -> None:
    assert isinstance(blobs, DirectoryBlobs | S3Blobs)
    if isinstance(blobs, DirectoryBlobs):
        impatient: Blobs = replace(blobs, wait_s=0)
    else:
        impatient = replace(blobs, copies=replace(blobs.copies, wait_s=0))
    async with blobs.alone("ann"):
        with pytest.raises(Busy, match="try again"):
            async with impatient.alone("ann"):
                pass


async def test_all_contents_are_counted(blobs: Blobs) -> None:
    assert await blobs.used() == (0, 0)
    await blobs.write("ann", "one", b"12345")
    await blobs.area("documents").write("bob", "two", b"67")
    assert await blobs.used() == (2, 7)
    assert await blobs.state() == BlobsState()


# --- what is of S3 alone


@asynccontextmanager
async def two_machines(tmp_path: Path) -> AsyncGenerator[tuple[S3Blobs, S3Blobs]]:
    bucket, hub = MemoryStore(), MemoryHub()
    yield (
        over_memory(tmp_path / "a", bucket=bucket, hub=hub),
        over_memory(tmp_path / "b", bucket=bucket, hub=hub),
    )


async def test_two_machines_read_the_same_and_no_old_copy(tmp_path: Path) -> None:
    async with two_machines(tmp_path) as (here, there):
        await here.write("ann", "one", b"the secret word")
        assert await read(there, "ann", "one") == b"the secret word"
        await here.write("ann", "one", b"[forgotten]")
        assert await read(there, "ann", "one") == b"[forgotten]"
        await here.delete("ann", ["one"])
        assert await read(there, "ann", "one") is None


async def test_two_machines_are_not_in_one_block(tmp_path: Path) -> None:
    async with two_machines(tmp_path) as (here, there):
        async with here.alone("ann"):
            with anyio.move_on_after(0.2) as waited:
                async with there.alone("ann"):
                    pass
        assert waited.cancelled_caught
        async with there.alone("ann"):
            pass


async def test_waiting_for_another_machine_ends(tmp_path: Path) -> None:
    async with two_machines(tmp_path) as (here, there):
        impatient = replace(there, copies=replace(there.copies, wait_s=0))
        async with here.alone("ann"):
            with pytest.raises(Busy, match="try again"):
                async with impatient.alone("ann"):
                    pass


async def test_copies_go_when_nobody_asked_for_them_for_a_while(tmp_path: Path) -> None:
    blobs = over_memory(tmp_path)
    await blobs.write("ann", "one", b"1")
    await blobs.write("ann", "two", b"2")
    old, new = await blobs.opened("ann", "one"), await blobs.opened("ann", "two")
    await anyio.to_thread.run_sync(age, old)
    await anyio.to_thread.run_sync(drop_old, blobs.copies.root, time.time() - 50)
    assert (await anyio.Path(old).exists(), await anyio.Path(new).exists()) == (False, True)
    assert await read(blobs, "ann", "one") == b"1"


async def test_a_copy_that_is_asked_for_again_stays(tmp_path: Path) -> None:
    blobs = over_memory(tmp_path)
    await blobs.write("ann", "one", b"1")
    path = await blobs.opened("ann", "one")
    await anyio.to_thread.run_sync(age, path)
    assert await blobs.opened("ann", "one") == path
    await anyio.to_thread.run_sync(drop_old, blobs.copies.root, time.time() - 50)
    assert await anyio.Path(path).exists()


async def test_files_of_the_directory_are_read_before_and_after_they_moved(tmp_path: Path) -> None:
    before = DirectoryBlobs(tmp_path / "files")
    await before.write("ann", "one", b"1")
    await before.write("ann", "stale", b"as it was")
    await before.area("documents").write("ann", "two", b"2")
    blobs = over_memory(tmp_path)
    await blobs.bucket.storage.put_async(f"{before.path('ann', '').name}/stale", b"newer")
    assert await blobs.ids("ann") == ["one", "stale"]
    assert await read(blobs, "ann", "one") == b"1"
    assert await blobs.move_in() == 2
    assert await blobs.move_in() == 0
    assert await anyio.to_thread.run_sync(all_bytes, tmp_path / "files") == b""
    assert (await read(blobs, "ann", "one"), await read(blobs, "ann", "stale")) == (b"1", b"newer")
    assert await read(blobs.area("documents"), "ann", "two") == b"2"


async def test_a_file_that_is_forgotten_before_it_moved_does_not_come_back(tmp_path: Path) -> None:
    await DirectoryBlobs(tmp_path / "files").write("ann", "one", b"the secret word")
    blobs = over_memory(tmp_path)
    await blobs.delete("ann", ["one"])
    await blobs.move_in()
    assert (await blobs.ids("ann"), await read(blobs, "ann", "one")) == ([], None)


async def test_files_of_a_sealed_home_are_sealed_in_the_bucket(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    await anyio.Path(opened).mkdir()
    sealed = SealedContents(Cipher(bytes(32)), opened)
    blobs = replace(
        over_memory(tmp_path),
        copies=DirectoryBlobs(tmp_path / "file-copies", sealed),
        before=DirectoryBlobs(tmp_path / "files", sealed),
    )
    await blobs.write("ann", "one", b"the secret word")
    await blobs.before.write("ann", "two", b"another secret")
    assert (await read(blobs, "ann", "one"), await read(blobs, "ann", "two")) == (
        b"the secret word",
        b"another secret",
    )
    assert await blobs.move_in() == 1
    assert await read(blobs, "ann", "two") == b"another secret"
    for id in ("one", "two"):
        got = await blobs.bucket.storage.get_async(f"{blobs.copies.path('ann', '').name}/{id}")
        assert b"secret" not in bytes(await got.bytes_async())
    assert b"secret" not in await anyio.to_thread.run_sync(all_bytes, tmp_path / "file-copies")
    await blobs.delete("ann", ["one", "two"])
    assert b"secret" not in await anyio.to_thread.run_sync(all_bytes, tmp_path)
