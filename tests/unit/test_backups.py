"""Backups of a home in use: whole, shared, encrypted, refused if they are damaged, removed when old."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec
import pytest

from bethink.accounts import ADMIN
from bethink.backups.contents import FAILED_NAME
from bethink.backups.repository import Archive, Backup, Contents, FileEntry
from bethink.backups.service import BackupService, before_upgrade
from bethink.blobs.directory import DirectoryBlobs
from bethink.clock import FakeClock
from bethink.engines.sqlite import schema
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.engines.sqlite.store import SqliteDatabase, open_database
from bethink.errors import BadInput, Busy, StorageError, UnknownId
from bethink.index import IndexItem, IndexQuery
from bethink.ports import open_ports
from bethink.settings import Settings
from bethink.store import Delete, Put
from tests.contract.records import LINES, Line
from tests.door import called
from tests.house import open_house, ports_of
from tests.unit.test_web_users import shared

pytestmark = pytest.mark.anyio

SECRET = "the-heron-nests-by-the-old-mill"
PASSPHRASE = "correct horse battery"


def settings_in(home: Path, **backups: object) -> Settings:
    return Settings(data_dir=home, backups=backups)  # pyright: ignore[reportArgumentType] - as files have it


async def keep(database: SqliteDatabase, text: str, id: str = "first") -> None:
    line = Line(id=id, conversation="c", position=0, text=text)
    await database.store.commit("ann", [Put(LINES, line, index=IndexItem("turn", text, 0))])


async def texts_in(home: Path) -> set[str]:
    """What a home holds, by its index as well as by its records."""
    async with open_database(home) as database:
        found = await database.index.search(IndexQuery("ann", SECRET, limit=1000))
        held = await database.store.get(LINES, "ann", [item.id for item in found.items])
        return {one.record.text for one in held if one}


@asynccontextmanager
async def home_in(path: Path) -> AsyncGenerator[SqliteDatabase]:
    """A home with a record, a page, a file of a conversation, a key and much that is made again."""
    async with open_database(path) as database:
        await keep(database, SECRET)
        await DirectoryBlobs(path / "files").write("ann", "f1", SECRET.encode() * 30_000)
        for name, text in {
            "master.key": "key\n",
            "settings.json": "{}",
            "settings.json.lock": "",
            "vault/notes/a.md": f"# {SECRET}\n",
            "vault/notes/yarn.lock": "mine\n",
            "models/big.gguf": "weights",
            "vault-search/ann.sqlite3": "index",
            "files/x/half.part": "half",
        }.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(text)
        (path / "vault" / "empty").mkdir()
        yield database


def files_of(root: Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


async def opened(service: BackupService, id: str) -> Archive:
    return await anyio.to_thread.run_sync(service.repository.open, id, None)


async def test_a_backup_made_while_others_write_is_restored_whole(tmp_path: Path) -> None:
    home, new = tmp_path / "home", tmp_path / "new"
    service = BackupService(settings_in(home), FakeClock())
    async with home_in(home) as database:

        async def write() -> None:
            n = 0
            while not is_done.is_set():
                await keep(database, f"{SECRET} {n}", f"line{n}")
                n += 1

        is_done = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await service.create()
            is_done.set()
    (made,) = await service.list()
    assert made.is_good
    assert made.header
    assert not made.header.is_sealed
    restored = await service.restore("latest", new)
    assert restored.contents.records[LINES.name] == restored.contents.records["index_items"] >= 1
    assert SECRET in (texts := await texts_in(new))
    assert len(texts) == restored.contents.records[LINES.name]
    there = files_of(new)
    assert there["vault/notes/a.md"] == f"# {SECRET}\n".encode()
    assert there["vault/notes/yarn.lock"] == b"mine\n"
    assert there["master.key"] == b"key\n"
    assert (new / "vault" / "empty").is_dir()
    assert DirectoryBlobs(new / "files").path("ann", "f1").read_bytes() == SECRET.encode() * 30_000
    assert not [name for name in there if name.startswith(("models", "vault-search", "backups", "unpacking"))]
    assert "files/x/half.part" not in there
    assert "settings.json.lock" not in there
    assert (new / "vault/notes/a.md").stat().st_mtime_ns == (home / "vault/notes/a.md").stat().st_mtime_ns
    assert new.stat().st_mode & 0o077 == 0
    assert not (tmp_path / ".new.restoring").exists()


async def test_backups_share_what_did_not_change(tmp_path: Path) -> None:
    async with home_in(tmp_path) as database:
        service = BackupService(settings_in(tmp_path), FakeClock())
        first = await service.create()
        parts = {path for path in (service.repository.root / "parts").rglob("*") if path.is_file()}
        second = await service.create()
        assert {path for path in (service.repository.root / "parts").rglob("*") if path.is_file()} == parts
        await keep(database, "another", "second")
        third = await service.create()
        more = {path for path in (service.repository.root / "parts").rglob("*") if path.is_file()} - parts
        assert len(more) == 1
        await service.remove([third.id])
        assert not any(path.exists() for path in more)
        assert [one.id for one in await service.list()] == [second.id, first.id]
        assert (await service.verify(first.id)).is_good


async def test_with_a_passphrase_nothing_can_be_read_or_looked_for(tmp_path: Path) -> None:
    async with home_in(tmp_path / "home"):
        plan = {"passphrase": PASSPHRASE, "folder": str(tmp_path / "backups")}
        service = BackupService(settings_in(tmp_path / "home", **plan), FakeClock())
        made = await service.create()
        again = await service.create()
        root = tmp_path / "backups"
        assert made.header
        assert again.header
        assert made.header.is_sealed
        assert made.header.salt == again.header.salt
        for name, content in files_of(root).items():
            assert SECRET.encode() not in content, name
            assert b"vault/notes" not in content, name
        plain = BackupService(settings_in(tmp_path / "home", folder=str(root)), FakeClock())
        with pytest.raises(BadInput, match="encrypted: give its passphrase"):
            await plain.restore("latest", tmp_path / "new")
        with pytest.raises(BadInput, match="another passphrase"):
            await plain.restore("latest", tmp_path / "new", "wrong")
        assert not (tmp_path / "new").exists()
        await plain.restore(str(root / "archives" / f"{made.id}.backup"), tmp_path / "new", PASSPHRASE)
    assert SECRET in await texts_in(tmp_path / "new")


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
@pytest.mark.parametrize("damage", ["flipped", "cut", "missing"])
async def test_damage_anywhere_is_named_and_nothing_is_restored(
    tmp_path: Path, damage: str, passphrase: str | None
) -> None:
    home = tmp_path / "home"
    async with home_in(home):
        service = BackupService(settings_in(home, passphrase=passphrase), FakeClock())
        made = await service.create()
    root = service.repository.root
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.suffix != ".checked")
    # A passphrase takes a tenth of a second each time: the archive and one part stand for all.
    for file in files if passphrase is None else files[:2]:
        if file.name == "lock" or (damage == "missing" and file.suffix == ".backup"):
            continue
        content = file.read_bytes()
        places = (0, len(content) // 2, len(content) - 1)
        for place in places if passphrase is None and damage != "missing" else places[1:2]:
            match damage:
                case "flipped":
                    file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
                case "cut":
                    file.write_bytes(content[:place])
                case _:
                    file.unlink()
            with pytest.raises((StorageError, BadInput), match=r"damaged|newer Bethink|passphrase"):
                await service.restore(made.id, tmp_path / "new")
            assert not (tmp_path / "new").exists()
            file.write_bytes(content)
    assert (await service.verify()).is_good


async def test_a_backup_that_was_damaged_later_is_not_the_last_good_one(tmp_path: Path) -> None:
    async with home_in(tmp_path):
        clock = FakeClock()
        service = BackupService(settings_in(tmp_path), clock)
        first = await service.create()
        clock.advance(60)
        (tmp_path / "vault/notes/new.md").write_text("only in the second")
        second = await service.create()
        good = await service.last_good()
        assert good
        assert good.id == second.id
        (part,) = [
            one.parts[0]
            for one in (await opened(service, second.id)).contents.files
            if one.path.endswith("new.md")
        ]
        (service.repository.root / "parts" / part[:2] / part[2:]).unlink()
        found = await service.verify(second.id)
        assert found.fault is not None
        assert "is missing" in found.fault
        good = await service.last_good()
        assert good
        assert good.id == first.id


async def test_an_archive_never_leads_out_of_the_new_directory(tmp_path: Path) -> None:
    async with home_in(tmp_path / "home"):
        service = BackupService(settings_in(tmp_path / "home"), FakeClock())
        made = await service.create()
        repository = service.repository
        header = (await opened(service, made.id)).header
        for path in ("../evil", "/evil", "a/../../evil", "a//b"):
            evil = FileEntry(path=path, mode=0o600, changed_ns=0, size=0, parts=())
            await anyio.to_thread.run_sync(repository.write, header, Contents(files=(evil,)), None)
            with pytest.raises(StorageError, match="no path inside"):
                await service.restore(made.id, tmp_path / "new")
        assert not (tmp_path / "evil").exists()
        assert not (tmp_path / "new").exists()


async def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    async with home_in(tmp_path / "home"):
        service = BackupService(settings_in(tmp_path / "home"), FakeClock())
        await service.create()
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "mine").write_text("mine")
        with pytest.raises(BadInput, match="is not empty"):
            await service.restore("latest", tmp_path / "new")
        assert files_of(tmp_path / "new") == {"mine": b"mine"}
        with pytest.raises(UnknownId, match="bethink backup list"):
            await service.restore("20200101T000000Z", tmp_path / "other")


async def test_one_backup_is_made_at_a_time(tmp_path: Path) -> None:
    async with home_in(tmp_path), anyio.create_task_group() as tasks:
        service = BackupService(settings_in(tmp_path), FakeClock())
        other = BackupService(settings_in(tmp_path), FakeClock())
        tasks.start_soon(service.create)
        while not await other.is_busy():
            pass
        with pytest.raises(Busy):
            await other.create()
        assert other.fault is None


async def test_pages_elsewhere_are_in_the_backup_and_links_are_not_followed(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("mine")
    (notes / "link.md").symlink_to("/etc/hostname")
    (notes / "b\udcff.md").write_text("a name that is no text")
    async with open_database(tmp_path / "home"):
        settings = Settings(data_dir=tmp_path / "home", vault={"path": str(notes)})  # pyright: ignore[reportArgumentType]
        service = BackupService(settings, FakeClock())
        await service.create()
        restored = await service.restore("latest", tmp_path / "new")
    assert files_of(tmp_path / "new" / "vault") == {"a.md": b"mine"}
    assert restored.contents.vault == str(notes)
    assert restored.contents.unread == ("vault/b?.md", "vault/link.md")


async def test_the_rhythm_makes_backups_and_removes_the_oldest_of_its_own(tmp_path: Path) -> None:
    clock = FakeClock()
    async with home_in(tmp_path):
        service = BackupService(settings_in(tmp_path, every_hours=24, keep=2), clock)
        by_hand = await service.create()
        made: list[Backup] = []
        for _ in range(4):
            clock.advance(24 * 3600)
            assert service.due_at(await service.list()) == clock.now_us()
            made.append(await service.create("scheduled"))
        left = await service.list()
        assert [one.id for one in left] == [made[3].id, made[2].id, by_hand.id]
        day_us = 24 * 3600 * 1_000_000
        at = [service.goes_at(one, left) for one in left]
        assert at == [clock.now_us() + 2 * day_us, clock.now_us() + day_us, None]


async def test_a_failed_backup_is_told_and_the_good_ones_stay(tmp_path: Path) -> None:
    clock = FakeClock()
    async with home_in(tmp_path):
        service = BackupService(settings_in(tmp_path, every_hours=1, keep=1), clock)
        good = await service.create("scheduled")
        assert await service.trouble() is None
        clock.advance(3 * 3600)
        assert "last good backup is of" in (await service.trouble() or "")
    with (tmp_path / FILE_NAME).open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 8192)
    with pytest.raises(StorageError, match="damaged"):
        await service.create("scheduled")
    assert "The last backup failed" in (await service.trouble() or "")
    assert [one.id for one in await service.list()] == [good.id]
    await service.restore(good.id, tmp_path.parent / "restored")
    assert SECRET in await texts_in(tmp_path.parent / "restored")


async def test_administrators_start_backups_and_see_them() -> None:
    async with shared() as door:
        for method in ("GET", "POST"):
            assert await door.status(method, "/backups", await door.key("bob")) == 403
            assert await door.status(method, "/backups", await door.key("ann", [ADMIN])) < 300


async def test_the_page_starts_one_and_sees_when_it_is_done(tmp_path: Path) -> None:
    async with open_database(tmp_path) as database:
        ports = replace(ports_of(), store=database.store, index=database.index)
        async with open_house(ports=ports, data_dir=tmp_path) as house, called(house) as http:
            assert (await http.get("/backups")).json()["backups"] == []
            shown: dict[str, Any] = (await http.post("/backups")).json()
            assert shown["running"]
            service = house.app.features.of(BackupService)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: service.keep_up(look_s=0.01))
                while shown["running"]:
                    shown = (await http.get("/backups")).json()
                tasks.cancel_scope.cancel()
            (one,) = shown["backups"]
            assert one["id"] == shown["last_good"]
            assert one["reason"] == "asked"
            assert one["fault"] is None
            assert shown["next_at"] is None


async def test_who_forgets_is_told_which_backups_still_hold_it(tmp_path: Path) -> None:
    async with open_database(tmp_path) as database:
        ports = replace(ports_of(), store=database.store, index=database.index)
        async with open_house(ports=ports, data_dir=tmp_path) as house, called(house) as http:
            service = house.app.features.of(BackupService)
            made = await service.create()
            added = (await http.post("/memories", json={"content": "I keep herons"})).json()
            forgotten = await house.app.forgetting.forget(house.me, [added["memory"]["id"]])
    (told,) = [one for one in forgotten.outside if "until somebody removes" in one]
    assert made.id in told


async def test_a_deleted_record_is_only_in_backups_of_before(tmp_path: Path) -> None:
    async with home_in(tmp_path / "home") as database:
        service = BackupService(settings_in(tmp_path / "home"), FakeClock())
        await database.store.commit("ann", [Delete(LINES, "first")])
        await database.store.scrub()
        for name in ("vault/notes/a.md", f"files/{DirectoryBlobs(Path()).path('ann', 'f1')}"):
            (tmp_path / "home" / name).unlink()
        await service.create()
        for archive in await service.list():
            whole = await anyio.to_thread.run_sync(_whole, await opened(service, archive.id))
            assert SECRET.encode() not in whole


def _whole(archive: Archive) -> bytes:
    return b"".join(part for file in archive.contents.files for part in archive.parts(file))


def _made_older(home: Path) -> None:
    with closing(sqlite3.connect(home / FILE_NAME)) as connection:
        connection.execute("PRAGMA user_version = 20")


async def test_a_backup_is_made_before_an_upgrade_once(tmp_path: Path) -> None:
    async with home_in(tmp_path):
        pass
    settings = settings_in(tmp_path)
    assert await before_upgrade(settings, FakeClock()) is None
    _made_older(tmp_path)
    async with open_ports(settings):
        pass
    (made,) = await BackupService(settings, FakeClock()).list()
    assert made.is_good
    assert made.header
    assert (made.header.reason, made.header.schema) == ("upgrade", 20)
    async with open_ports(settings):
        pass
    assert len(await BackupService(settings, FakeClock()).list()) == 1


async def test_a_failed_upgrade_leaves_the_database_as_it_was_and_names_the_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with home_in(tmp_path):
        pass
    _made_older(tmp_path)

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE messages")
        raise RuntimeError("the new version has a fault")

    monkeypatch.setitem(schema.MIGRATIONS, max(schema.MIGRATIONS) + 1, broken)
    with pytest.raises(StorageError, match="There is a backup of before: 2"):
        async with open_ports(settings_in(tmp_path)):
            pass
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (20,)
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (1,)


async def test_an_upgrade_that_failed_half_way_is_rolled_back_to_the_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with home_in(tmp_path):
        pass
    _made_older(tmp_path)

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM messages")
        connection.execute("COMMIT")
        raise RuntimeError("the new version has a fault")

    with monkeypatch.context() as patched:
        patched.setitem(schema.MIGRATIONS, max(schema.MIGRATIONS) + 1, broken)
        with pytest.raises(StorageError, match="is again as it was, from the backup 2"):
            async with open_ports(settings_in(tmp_path)):
                pass
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (20,)
    assert (tmp_path / FAILED_NAME).exists()
    async with open_ports(settings_in(tmp_path)):
        pass
    assert await texts_in(tmp_path) == {SECRET}


async def test_an_upgrade_waits_until_a_backup_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with home_in(tmp_path):
        pass
    _made_older(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise StorageError("The disk is full.")

    monkeypatch.setattr("bethink.backups.service.take", full)
    with pytest.raises(StorageError, match=r"no backup could be made .* The disk is full"):
        async with open_ports(settings_in(tmp_path)):
            pass
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (20,)
    async with open_ports(settings_in(tmp_path, before_upgrade=False)):
        pass


async def test_an_archive_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    async with home_in(tmp_path / "home"):
        service = BackupService(settings_in(tmp_path / "home"), FakeClock())
        made = await service.create()
        repository = service.repository
        archive = await opened(service, made.id)
        newer = msgspec.structs.replace(archive.header, format=2)
        await anyio.to_thread.run_sync(repository.write, newer, archive.contents, None)
        with pytest.raises(StorageError, match="A newer Bethink made"):
            await service.restore(made.id, tmp_path / "new")
        assert (await service.list())[0].fault
        await anyio.to_thread.run_sync(repository.sweep)
        assert any((repository.root / "parts").iterdir())
