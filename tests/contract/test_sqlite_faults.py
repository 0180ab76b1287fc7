"""What goes wrong while memory is changed: a full disk, a kill, damage, others at work on the file."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import anyio
import numpy as np
import pytest

from bethink.embeddings import EmbeddingModel
from bethink.engines.sqlite import tables
from bethink.engines.sqlite.schema import FILE_NAME, open_connection
from bethink.engines.sqlite.store import SqliteDatabase, open_database
from bethink.errors import CorruptDatabase, DiskFull, StorageError
from bethink.index import IndexItem, IndexQuery
from bethink.store import Delete, DeleteAll, Put, Scan, SetVector
from tests.contract.histories import OWNERS, everything_in
from tests.contract.records import LINES, NOTES, Note

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

OLD, NEW = EmbeddingModel("small", "1", 4), EmbeddingModel("small", "2", 4)


def noted(id: str, text: str, *, model: EmbeddingModel = OLD) -> Put[Note]:
    item = IndexItem("fact", text, 0, np.full(4, 0.5, np.float32), model)
    return Put(NOTES, Note(id=id, text=text), index=item)


async def fill_disk(database: SqliteDatabase) -> None:
    """A limit on the file's pages stands for the disk; SQLite answers both with the same code."""

    def limit(connection: sqlite3.Connection) -> None:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")

    await database.store._writer.alone(limit)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way to a full disk


async def texts(database: SqliteDatabase) -> dict[str, str]:
    (page,) = await database.store.scan("ann", Scan(NOTES, limit=10_000))
    return {item.record.id: item.record.text for item in page.items}


async def test_on_a_full_disk_a_change_of_many_is_refused_whole_and_the_index_stays(tmp_path: Path) -> None:
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [noted(f"{n:03}", f"word{n}") for n in range(300)])
        before = await texts(database)
        await fill_disk(database)
        merging = [Delete(NOTES, f"{n:03}") for n in range(150)]
        larger = [noted(f"{n:03}", f"merged{n} " * 200) for n in range(150, 300)]
        with pytest.raises(DiskFull):
            await database.store.commit("ann", [*merging, *larger])
        assert await texts(database) == before
        assert len((await database.index.search(IndexQuery("ann", "word7"))).items) == 1
        assert (await database.index.search(IndexQuery("ann", "merged200"))).items == ()


@pytest.mark.requirement("C22")
async def test_a_full_disk_does_not_keep_anything_from_being_forgotten(tmp_path: Path) -> None:
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [noted(f"{n:03}", f"unspeakable{n}x") for n in range(300)])
        await database.store.commit("ann", [Delete(NOTES, "000")])
        await fill_disk(database)
        await database.store.commit("ann", [Delete(NOTES, f"{n:03}") for n in range(1, 21)])
        await database.store.scrub()
        left = everything_in(tmp_path)
        assert [n for n in range(300) if f"unspeakable{n}x".encode() in left] == list(range(21, 300))


async def test_while_vectors_of_a_new_model_come_words_and_those_that_came_are_searched(
    tmp_path: Path,
) -> None:
    question = IndexQuery("ann", "word7", np.full(4, 0.5, np.float32), NEW, limit=100)
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [noted(f"{n:03}", f"word{n}") for n in range(60)])
        found = await database.index.search(question)
        assert [(one.id, one.dense) for one in found.items] == [("007", None)]
        assert found.without_vector == 60
    # Each time another process goes on where the last one was stopped.
    for time in range(1, 4):
        async with open_database(tmp_path) as database:
            missing = await database.index.missing_vectors("ann", NEW, 20)
            vector = np.array([1, 0, 0, 0], np.float32)
            await database.store.commit("ann", [SetVector(one.id, one.text, vector, NEW) for one in missing])
            found = await database.index.search(question)
            assert found.without_vector == 60 - 20 * time
            by_meaning = {one.id: one.dense for one in found.items if one.dense is not None}
            assert by_meaning == pytest.approx({f"{n:03}": 0.5 for n in range(20 * time)}, abs=1e-4)
            assert [one.id for one in found.items if one.lexical is not None] == ["007"]
    async with open_database(tmp_path) as database:
        assert await database.index.missing_vectors("ann", NEW, 20) == ()


async def damaged(directory: Path, column: str) -> None:
    async with open_database(directory) as database:
        item = IndexItem("fact", "pear", 0, speaker="Ann")
        await database.store.commit("ann", [Put(NOTES, Note(id="b"), index=item)])
    items = f"SELECT {column} FROM index_items"  # noqa: S608 - our own names
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection, connection:
        connection.execute(
            f"UPDATE bodies SET body = CAST(replace(body, '\"', '?') AS BLOB) WHERE place IN ({items})"  # noqa: S608
        )


async def test_an_item_whose_names_are_damaged_is_named(tmp_path: Path) -> None:
    await damaged(tmp_path, "place")
    async with open_database(tmp_path) as database:
        with pytest.raises(CorruptDatabase, match="restore a backup"):
            await database.index.search(IndexQuery("ann", "apple"))


async def test_an_item_whose_text_is_damaged_is_named(tmp_path: Path) -> None:
    await damaged(tmp_path, "text")
    async with open_database(tmp_path) as database:
        with pytest.raises(CorruptDatabase, match="restore a backup"):
            await database.index.missing_vectors("ann", OLD, 10)


async def test_giving_back_room_may_be_broken_off_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "WASTE_MIN", 10_000_000)
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [noted(f"{n:03}", f"word{n} " * 50) for n in range(300)])
        await database.store.commit("ann", [Delete(NOTES, f"{n:03}") for n in range(0, 300, 2)])
        before = await texts(database)
    monkeypatch.setattr(tables, "WASTE_MIN", 1_000)
    for steps in (50, 500, 2_000, 5_000):
        interrupted = await anyio.to_thread.run_sync(broken_off, tmp_path / FILE_NAME, steps)
        assert interrupted or steps > 500
        async with open_database(tmp_path) as database:
            monkeypatch.setattr(tables, "WASTE_MIN", 10_000_000)
            assert await texts(database) == before
            assert len((await database.index.search(IndexQuery("ann", "word7"))).items) == 1
        monkeypatch.setattr(tables, "WASTE_MIN", 1_000)


def broken_off(path: Path, steps: int) -> bool:
    """Whether giving back room was interrupted after so many hundred steps of SQLite's machine."""
    left = [steps]

    def count() -> bool:
        left[0] -= 100
        return left[0] < 0

    with closing(open_connection(path, write=True)) as connection:
        connection.set_progress_handler(count, 100)
        try:
            tables.compact(connection)
        except sqlite3.OperationalError:
            return True
    return False


async def test_searches_stay_right_while_another_process_writes_and_after_it_is_killed(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "tests.contract.histories", str(tmp_path), "77"]
    async with open_database(tmp_path) as database:
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: ASYNC220
            assert process.stdout
            for _ in range(40):
                await anyio.to_thread.run_sync(process.stdout.readline)
                for owner in OWNERS:
                    await database.index.search(IndexQuery(owner, "anything"))
            os.kill(process.pid, signal.SIGKILL)
        async with open_database(tmp_path) as fresh:
            for owner in OWNERS:
                (notes,) = await database.store.scan(owner, Scan(NOTES, limit=10_000))
                for text in [item.record.text for item in notes.items][:20]:
                    query = IndexQuery(owner, text[:16], limit=1_000)
                    ours, theirs = await database.index.search(query), await fresh.index.search(query)
                    assert {one.id: one.lexical for one in ours.items} == pytest.approx(
                        {one.id: one.lexical for one in theirs.items}
                    )
                    assert ours.searched == theirs.searched == len(notes.items)
                await database.store.commit(owner, [DeleteAll(NOTES), DeleteAll(LINES)])
        await database.store.scrub()


async def test_two_processes_that_forget_at_once_leave_nothing(tmp_path: Path) -> None:
    async with open_database(tmp_path) as one, open_database(tmp_path) as other:
        for n in range(20):
            await one.store.commit("ann", [noted(f"a{n}", f"unspeakable{n}x")])
            await other.store.commit("bob", [noted(f"b{n}", f"unspeakable{n}y")])
        async with anyio.create_task_group() as group:
            for database, owner in ((one, "ann"), (other, "bob")):
                group.start_soon(forget, database, owner)
        assert b"unspeakable" not in everything_in(tmp_path)


async def forget(database: SqliteDatabase, owner: str) -> None:
    await database.store.commit(owner, [DeleteAll(NOTES)])
    try:
        await database.store.scrub()
    except StorageError as error:
        pytest.fail(str(error))


async def test_a_limit_on_the_size_of_files_is_told_with_what_to_look_at(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).touch()
    program = (
        "import resource, sqlite3, sys\n"
        "from bethink.engines.sqlite.schema import translated\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        "connection = sqlite3.connect(sys.argv[1])\n"
        "try:\n"
        "    connection.execute('CREATE TABLE t AS SELECT randomblob(100000)')\n"
        "except sqlite3.Error as error:\n"
        "    print(translated(error, 'the file'))\n"
    )
    told = await anyio.run_process([sys.executable, "-c", program, str(tmp_path / FILE_NAME)])
    assert "the file cannot be read or written" in told.stdout.decode()
    assert "its free space and the limits on how large files may be" in told.stdout.decode()
