"""What a database file still holds of what was deleted: nothing, once it was scrubbed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from bethink.engines.sqlite import store as sqlite_store
from bethink.engines.sqlite import tables
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.engines.sqlite.store import open_database
from bethink.errors import StorageError
from bethink.index import IndexItem, IndexQuery
from bethink.store import Delete, DeleteAll, Put, Scan
from tests.contract.histories import OWNERS, History, everything_in, traces
from tests.contract.records import LINES, NOTES, SETTINGS, Note, Setting

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


def left_of(history: History, directory: Path) -> list[bytes]:
    gone = history.gone
    return traces(directory, (word for word, _ in gone), (vector for _, vector in gone[::5] if vector))


@pytest.mark.requirement("C22")
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
async def test_nothing_of_what_was_deleted_or_overwritten_is_left_in_any_file(
    tmp_path: Path, seed: int
) -> None:
    """Random sizes, owners and places, so that pages are split, merged, overflow and are used again."""
    history = History(seed)
    changed, traced = 0, False
    async with open_database(tmp_path / "data") as database:
        for number in range(1, 301):
            owner, changes = history.batch()
            await database.store.commit(owner, changes)
            changed += len(changes)
            await history.fill_a_vector(database.store)
            if number % 60 == 0:
                traced = traced or bool(left_of(history, tmp_path))
                await database.store.scrub()
                assert left_of(history, tmp_path) == []
        assert traced, "there must have been something to find"
        assert changed > 1_500
        words = [word for word, _ in history.live.values()]
        vectors = [vector for _, vector in history.live.values() if vector]
        assert len(traces(tmp_path, words, vectors)) == 2 * len(words) + len(vectors)
        searched = [(await database.index.search(IndexQuery(owner, "any"))).searched for owner in OWNERS]
        lines = [await database.store.count(owner, LINES, {}) for owner in OWNERS]
        assert sum(searched) + sum(lines) == len(history.live)
    assert left_of(history, tmp_path) == []


@pytest.mark.parametrize("batches", [3, 30, 90])
async def test_after_a_kill_and_a_new_start_scrubbing_leaves_nothing_either(
    tmp_path: Path, batches: int
) -> None:
    command = [sys.executable, "-m", "tests.contract.histories", str(tmp_path), str(batches)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: ASYNC220
        assert process.stdout
        lines = [await anyio.to_thread.run_sync(process.stdout.readline) for _ in range(batches)]
        os.kill(process.pid, signal.SIGKILL)
        lines.append(await anyio.to_thread.run_sync(process.stdout.read))
    said = set(b"".join(lines).decode().split())
    async with open_database(tmp_path) as database:
        kept: set[str] = set()
        for owner in OWNERS:
            (notes,) = await database.store.scan(owner, Scan(NOTES, limit=100_000))
            (lines,) = await database.store.scan(owner, Scan(LINES, limit=100_000))
            kept |= {item.record.text[:16] for item in (*notes.items, *lines.items)}
        await database.store.scrub()
        assert kept <= said
        assert traces(tmp_path, said - kept, ()) == []
        assert len(traces(tmp_path, kept, ())) == 2 * len(kept)


async def test_the_room_of_what_was_deleted_is_used_again(tmp_path: Path) -> None:
    notes = [Note(id=str(n), text="x" * (n % 900)) for n in range(3_000)]
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [Put(NOTES, note) for note in notes])
        await database.store.scrub()
        before = (tmp_path / FILE_NAME).stat().st_size
        for _ in range(3):
            await database.store.commit("ann", [DeleteAll(NOTES)])
            await database.store.commit("ann", [Put(NOTES, note) for note in notes])
        await database.store.scrub()
        assert (tmp_path / FILE_NAME).stat().st_size < 1.2 * before
        (page,) = await database.store.scan("ann", Scan(NOTES, limit=5_000))
        assert [item.record for item in page.items] == sorted(notes, key=lambda note: note.id)


async def test_much_room_is_given_back_on_closing_and_nothing_else_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "WASTE_MIN", 100_000)
    items = {f"{n:04}": IndexItem("fact", f"word{n} {'x' * 500}", n) for n in range(1_000)}
    async with open_database(tmp_path) as database:
        puts = [Put(NOTES, Note(id=id, text=item.text), index=item) for id, item in items.items()]
        await database.store.commit("ann", puts)
        await database.store.scrub()
        before = (tmp_path / FILE_NAME).stat().st_size
        await database.store.commit("ann", [Delete(NOTES, id) for id in items if id > "0200"])
    assert (tmp_path / FILE_NAME).stat().st_size < 0.5 * before
    async with open_database(tmp_path) as database:
        (page,) = await database.store.scan("ann", Scan(NOTES, limit=1_000))
        assert [item.record.text for item in page.items] == [items[f"{n:04}"].text for n in range(201)]
        for n, there in ((7, 1), (200, 1), (201, 0)):
            found = await database.index.search(IndexQuery("ann", f"word{n}"))
            assert len(found.items) == there
        await database.store.commit("ann", [Delete(NOTES, "0007"), Put(NOTES, Note(id="b", text="later"))])
        await database.store.scrub()
        assert b"word7 " not in everything_in(tmp_path)


async def test_scrubbing_waits_for_readers_of_other_processes_and_says_so_when_they_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "SCRUB_S", 0.0)
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [Put(SETTINGS, Setting(id="s", value="unspeakable"))])
        with closing(sqlite3.connect(tmp_path / FILE_NAME)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM meta").fetchall()
            await database.store.commit("ann", [Delete(SETTINGS, "s")])
            with pytest.raises(StorageError, match="Another process reads"):
                await database.store.scrub()
            assert b"unspeakable" in everything_in(tmp_path)
        await database.store.commit("ann", [Put(SETTINGS, Setting(id="t"))])
        await database.store.scrub()
        assert b"unspeakable" not in everything_in(tmp_path)
