"""A home on PostgreSQL is backed up and restored as one on SQLite is, to either of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import numpy as np
import pytest
from pydantic import SecretStr

from bethink import ports
from bethink.backups.service import BackupService, before_upgrade
from bethink.clock import FakeClock
from bethink.engines.postgres import schema, store
from bethink.engines.postgres.connection import DatabaseSession
from bethink.engines.postgres.store import PostgresDatabase
from bethink.engines.postgres.store import open_database as open_postgres
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.errors import BadInput, StorageError
from bethink.index import IndexItem, IndexQuery
from bethink.migration import Side, open_side
from bethink.ports import open_database
from bethink.settings import Settings
from bethink.store import Delete, Put
from tests.contract.records import LINES, NOTES, Note
from tests.contract.test_index import MODEL
from tests.contract.test_migration import KINDS, fill, held
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio

SECRET = "the-heron-nests-by-the-old-mill"


def service_of(home: Path, url: str | None) -> BackupService:
    settings = Settings(data_dir=home, database_url=SecretStr(url) if url else None)
    return BackupService(settings, FakeClock(), KINDS)


@asynccontextmanager
async def home_on(home: Path, url: str) -> AsyncGenerator[PostgresDatabase]:
    """A home with a page, whose records are in a server's database."""
    (home / "vault").mkdir(parents=True)
    (home / "vault" / "a.md").write_text("a page")
    async with open_postgres(url) as database:
        await fill(Side(database.store, database.index, "there"), 30)
        yield database


async def said(side: Side) -> dict[str, object]:
    """What a side holds of an owner, and what it finds."""
    vector = np.eye(MODEL.dimensions, dtype=np.float32)[1]
    found = await side.index.search(IndexQuery("ann", "heron 7", vector, MODEL, limit=100))
    return {
        "notes": await held(side, NOTES, "ann"),
        "lines": await held(side, LINES, "zoë 🦀"),
        "found": {item.id for item in found.items},
    }


@pytest.mark.timeout(60)
async def test_a_server_is_backed_up_under_load_and_restored_to_either_engine(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    url, other, home = postgres.new_database(), postgres.new_database(), tmp_path / "home"
    service = service_of(home, url)
    async with home_on(home, url) as database:
        is_done, written = anyio.Event(), 0

        async def write() -> None:
            nonlocal written
            while not is_done.is_set():
                # Two records in one commit: a backup has both or none.
                pair = [Note(id=f"{written}{half}", text=f"{SECRET} {written}") for half in "ab"]
                await database.store.commit("eve", [Put(NOTES, note) for note in pair])
                written += 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await service.create()
            is_done.set()
        (made,) = await service.list()
        before = await said(Side(database.store, database.index, "there"))
    assert made.is_good
    assert written
    in_file = await service.restore("latest", tmp_path / "file")
    in_server = await service.restore("latest", tmp_path / "server", database_url=other)
    assert in_file.contents.records == in_server.contents.records
    async with open_side(str(tmp_path / "file")) as file, open_side(other) as server:
        assert await said(file) == await said(server) == before
        half = [note.id for note in await held(file, NOTES, "eve")]
        assert [note.id for note in await held(server, NOTES, "eve")] == half
        assert len(half) % 2 == 0
    for new in ("file", "server"):
        assert (tmp_path / new / "vault" / "a.md").read_text() == "a page"
    assert not (tmp_path / "server" / FILE_NAME).exists()
    assert [path.name for path in (home / "unpacking").iterdir()] == []


@pytest.mark.timeout(60)
async def test_backups_of_a_server_share_what_stayed_and_hold_nothing_of_what_went(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    url, home = postgres.new_database(), tmp_path / "home"
    service = service_of(home, url)
    async with home_on(home, url) as database:
        item = IndexItem("fact", SECRET, 0)
        await database.store.commit("ann", [Put(NOTES, Note(id="gone", text=SECRET), index=item)])
        first = await service.create()
        root = service.repository.root / "parts"
        parts = {path for path in root.rglob("*") if path.is_file()}
        await service.create()
        assert {path for path in root.rglob("*") if path.is_file()} == parts
        await database.store.commit("ann", [Delete(NOTES, "gone")])
        third = await service.create()
        assert (await service.remains("ann"))[0].startswith("3 backups may still contain it")
    for id, is_there in ((first.id, True), (third.id, False)):
        archive = await anyio.to_thread.run_sync(service.repository.open, id, None)
        (file,) = (one for one in archive.contents.files if one.path == FILE_NAME)
        content = await anyio.to_thread.run_sync(lambda a=archive, f=file: b"".join(a.parts(f)))
        assert (SECRET.encode() in content) is is_there


@pytest.mark.timeout(60)
async def test_a_restore_to_a_server_goes_on_and_overwrites_nothing(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, other, home = postgres.new_database(), postgres.new_database(), tmp_path / "home"
    service = service_of(home, url)
    async with home_on(home, url):
        await service.create()
        with pytest.raises(BadInput, match="is not empty"):
            await service.restore("latest", tmp_path / "new", database_url=url)
        assert not (tmp_path / "new").exists()

        def broken(*_: object) -> None:
            raise StorageError("The disk is full.")

        with monkeypatch.context() as patched:
            patched.setattr("bethink.backups.contents.sync", broken)
            with pytest.raises(StorageError, match="disk is full"):
                await service.restore("latest", tmp_path / "new", database_url=other)
        assert not (tmp_path / "new").exists()
        await service.restore("latest", tmp_path / "new", database_url=other)
        async with open_side(other) as server, open_side(url) as was:
            assert await said(server) == await said(was)


@pytest.mark.timeout(60)
async def test_an_archive_of_a_file_is_restored_to_a_server(tmp_path: Path, postgres: PostgresServer) -> None:
    home, url = tmp_path / "home", postgres.new_database()
    async with open_side(str(home)) as side:
        await fill(side, 20)
        before = await said(side)
    service = service_of(home, None)
    await service.create()
    await service.restore("latest", tmp_path / "new", database_url=url)
    async with open_side(url) as server:
        assert await said(server) == before


@pytest.mark.timeout(60)
async def test_a_server_that_is_away_or_empty_is_told_of_and_leaves_no_archive(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    empty = service_of(tmp_path, postgres.new_database())
    with pytest.raises(StorageError, match="nothing to back up"):
        await empty.create()
    away = service_of(tmp_path, postgres.url("nobody_made_it"))
    with pytest.raises(StorageError, match="has no such database"):
        await away.create()
    assert await away.list() == []
    assert "no such database" in (await away.trouble() or "")


@pytest.mark.timeout(60)
async def test_a_server_of_an_older_schema_is_backed_up_before_its_upgrade(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    url, home = postgres.new_database(), tmp_path / "home"
    service = service_of(home, url)
    async with home_on(home, url):
        assert await before_upgrade(service.settings, FakeClock(), KINDS) is None
    name = url.partition("@/")[2].partition("?")[0]
    postgres.administer("UPDATE bethink_schema SET number = 20", database=name)
    made = await before_upgrade(service.settings, FakeClock(), KINDS)
    (listed,) = await service.list()
    assert listed.id == made
    assert listed.is_good
    assert listed.header
    assert listed.header.reason == "upgrade"


@pytest.mark.timeout(60)
async def test_a_damaged_backup_of_before_is_not_built_upon(tmp_path: Path, postgres: PostgresServer) -> None:
    url, home = postgres.new_database(), tmp_path / "home"
    service = service_of(home, url)
    async with home_on(home, url):
        first = await service.create()
        archive = await anyio.to_thread.run_sync(service.repository.open, first.id, None)
        (file,) = (one for one in archive.contents.files if one.path == FILE_NAME)
        part = service.repository.root / "parts" / file.parts[0][:2] / file.parts[0][2:]
        part.write_bytes(part.read_bytes()[:-9] + b"otherwise")
        assert (await service.verify(first.id)).fault
        assert (await service.create()).is_good


@pytest.mark.timeout(60)
@pytest.mark.requirement("R171")
async def test_a_failed_upgrade_of_a_server_leaves_what_was_there_and_an_older_bethink_starts(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, home = postgres.new_database(), tmp_path / "home"
    service = service_of(home, url)
    async with home_on(home, url) as database:
        before = await said(Side(database.store, database.index, "there"))
    newer = schema.NUMBER + 1

    async def broken(session: DatabaseSession) -> None:
        await session.execute("ALTER TABLE records ADD COLUMN half int")
        await session.execute("DELETE FROM records")
        raise StorageError("the new version has a fault.")

    with monkeypatch.context() as patched:
        patched.setitem(schema.MIGRATIONS, newer, broken)
        patched.setattr(schema, "NUMBER", newer)
        patched.setattr(store, "NUMBER", newer)
        patched.setattr(ports, "COLLECTIONS", KINDS)
        with pytest.raises(StorageError, match=r"has a fault\. There is a backup of before: 2"):
            async with open_database(service.settings):
                pass
    (made,) = await service.list()
    assert made.is_good
    async with open_postgres(url) as database:
        assert await said(Side(database.store, database.index, "there")) == before
        await database.store.commit("ann", [Put(NOTES, Note(id="since", text="still taken"))])
    name = url.partition("@/")[2].partition("?")[0]
    ((number, columns),) = postgres.administer(
        "SELECT number, (SELECT count(*) FROM pg_attribute WHERE attname = 'half') FROM bethink_schema",
        database=name,
    )
    assert (int(number), int(columns)) == (newer - 1, 0)
