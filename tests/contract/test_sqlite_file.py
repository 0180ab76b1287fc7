"""What only a database file can meet: damage, full disks, and other processes."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import anyio
import numpy as np
import pytest

from bethink.agent.records import JOURNAL, RUNS
from bethink.conversations.records import CONVERSATIONS, MESSAGES
from bethink.embeddings import EmbeddingModel
from bethink.engines.sqlite import index as sqlite_index
from bethink.engines.sqlite.schema import FILE_NAME, MIGRATIONS
from bethink.engines.sqlite.store import open_database
from bethink.engines.sqlite.tables import definition, layout_of
from bethink.errors import Conflict, CorruptDatabase, NewerSchema, StorageError
from bethink.index import IndexItem, IndexQuery
from bethink.memory import FACTS
from bethink.search import copies
from bethink.search.analysis import ANALYSIS, Analyzer
from bethink.store import Collection, Delete, DeleteAll, Expect, Put, Scan, SetVector
from tests.contract.records import LINES, NOTES, SETTINGS, Line, Note, Setting

pytestmark = pytest.mark.anyio

_WRITER = """
import anyio, sys
from pathlib import Path
from bethink.errors import Conflict, DiskFull
from bethink.index import IndexItem
from bethink.store import Expect, Put
from bethink.engines.sqlite.store import open_database
from tests.contract.records import LINES, Line

async def main(directory, name, count, size):
    async with open_database(Path(directory)) as database:
        print("open", flush=True)
        for n in range(count):
            line = Line(id=f"{name}{n}", conversation=name, position=n, text="x" * size)
            item = IndexItem("turn", f"{name} said number{n}", n)
            try:
                await database.store.commit("ann", [Put(LINES, line, if_version=0, index=item)])
            except DiskFull as error:
                print("full", error, flush=True)
                return
            print(n, flush=True)

anyio.run(main, sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
"""


def writer(directory: Path, name: str, count: int = 100_000, size: int = 100) -> list[str]:
    """The command line of another process that writes lines and says each number once it is safe."""
    return [sys.executable, "-c", _WRITER, str(directory), name, str(count), str(size)]


async def test_the_directory_and_its_files_are_the_owners_alone(tmp_path: Path) -> None:
    async with open_database(tmp_path / "a" / "data") as database:
        await database.store.commit("ann", [Put(SETTINGS, Setting(id="s"))])
        assert stat.S_IMODE((tmp_path / "a" / "data").stat().st_mode) == 0o700
        modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a" / "data").iterdir()}
        assert modes == {0o600}


async def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    async with open_database(tmp_path):
        pass
    newer = max(MIGRATIONS) + 1
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.execute(f"PRAGMA user_version = {newer}")
    before = (tmp_path / FILE_NAME).read_bytes()
    with pytest.raises(NewerSchema, match=f"schema {newer}; this Bethink knows up to {max(MIGRATIONS)}"):
        async with open_database(tmp_path):
            pass
    assert (tmp_path / FILE_NAME).read_bytes() == before


@pytest.mark.parametrize("damage", ["garbage", "no schema"])
async def test_a_damaged_file_is_refused_and_left_alone(tmp_path: Path, damage: str) -> None:
    path = tmp_path / FILE_NAME
    if damage == "garbage":
        path.write_bytes(b"This is a letter, not a database. " * 400)
    else:
        async with open_database(tmp_path):
            pass
        whole = path.read_bytes()
        path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    before = path.read_bytes()
    with pytest.raises(CorruptDatabase, match="Restore a backup"):
        async with open_database(tmp_path):
            pass
    assert path.read_bytes() == before


async def test_damage_that_shows_later_is_named_when_it_is_met(tmp_path: Path) -> None:
    async with open_database(tmp_path) as database:
        lines = [Line(id=f"l{n}", conversation="c", position=n, text="x" * 500) for n in range(1_000)]
        await database.store.commit("ann", [Put(LINES, line) for line in lines])
    path = tmp_path / FILE_NAME
    whole = path.read_bytes()
    path.write_bytes(whole[:-200_000] + b"\xff" * 200_000)
    async with open_database(tmp_path) as database:
        with pytest.raises(CorruptDatabase, match="damaged"):
            await database.store.scan("ann", Scan(LINES, limit=1_000))


async def test_a_place_that_is_no_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file"):
        async with open_database(tmp_path / "file" / "data"):
            pass


_READ_ONLY = """
import anyio, os, sys
from pathlib import Path
from bethink.errors import Conflict, StorageError
from bethink.engines.sqlite.store import open_database

async def main(directory):
    try:
        async with open_database(Path(directory)):
            print("opened")
    except StorageError as error:
        print(error)

if os.geteuid() == 0:
    os.seteuid(65534)
anyio.run(main, sys.argv[1])
"""


@pytest.mark.parametrize("there", [False, True])
async def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path, *, there: bool) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    if there:
        async with open_database(directory):
            pass
        (directory / FILE_NAME).chmod(0o444)
    directory.chmod(0o555)
    for parent in [tmp_path, *tmp_path.parents][:4]:
        parent.chmod(parent.stat().st_mode | 0o055)
    result = await anyio.run_process([sys.executable, "-c", _READ_ONLY, str(directory)])
    assert "check who owns the directory" in result.stdout.decode()


async def test_a_new_collection_and_a_new_key_need_nothing_but_their_declaration(tmp_path: Path) -> None:
    before = Collection("plans", Note)
    now = Collection("plans", Note, ("category", "created_at"), scans=(("category", "created_at"),))
    async with open_database(tmp_path) as database:
        assert await database.store.get(before, "ann", ["x"]) == (None,)
        notes = [Note(id=str(n), category="even" if n % 2 == 0 else "odd", created_at=n) for n in range(6)]
        await database.store.commit("ann", [Put(before, note) for note in notes])
    async with open_database(tmp_path) as database, open_database(tmp_path) as other:
        scan = Scan(now, {"category": "even"}, order="created_at", reverse=True)
        for each in (database, other):
            (page,) = await each.store.scan("ann", scan)
            assert [item.record.id for item in page.items] == ["4", "2", "0"]
        await other.store.commit("ann", [Put(now, Note(id="8", category="even", created_at=8))])
        assert await database.store.count("ann", now, {"category": "even"}) == 4
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        plan = "SELECT id FROM plans WHERE owner = 'ann' AND category IS 'x' ORDER BY created_at, id"
        assert "plans_category_created_at" in str(connection.execute(f"EXPLAIN QUERY PLAN {plan}").fetchall())


async def test_a_table_that_a_refused_batch_would_have_made_is_made_by_the_next(tmp_path: Path) -> None:
    plans, lists = Collection("plans", Setting), Collection("lists", Setting)
    async with open_database(tmp_path) as database:
        refused = [Put(plans, Setting(id="a")), Expect(SETTINGS, "none", 1)]
        async with anyio.create_task_group() as group:
            for n in range(5):
                group.start_soon(database.store.commit, "ann", [Put(plans, Setting(id=str(n)))])
            with pytest.raises(Conflict):
                await database.store.commit("ann", refused)
        with pytest.raises(Conflict):
            await database.store.commit("ann", [Put(lists, Setting(id="b")), refused[1]])
        await database.store.commit("ann", [Put(lists, Setting(id="b"))])
        assert await database.store.count("ann", plans, {}) == 5
        assert await database.store.count("ann", lists, {}) == 1


async def test_what_was_kept_is_there_after_closing_and_opening(tmp_path: Path) -> None:
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [Put(NOTES, Note(id="n"), index=IndexItem("fact", "apple", 0))])
    async with open_database(tmp_path) as database:
        assert (await database.store.get(NOTES, "ann", ["n"]))[0] is not None
        assert len((await database.index.search(IndexQuery("ann", "apple"))).items) == 1


async def test_closing_finishes_what_was_handed_in_and_then_refuses(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group, open_database(tmp_path) as database:
        for n in range(50):
            group.start_soon(database.store.commit, "ann", [Put(SETTINGS, Setting(id=str(n)))])
        await anyio.lowlevel.checkpoint()
    for use in (database.store.commit("ann", []), database.store.count("ann", SETTINGS, {})):
        with pytest.raises(StorageError, match="closed"):
            await use
    async with open_database(tmp_path) as database:
        assert await database.store.count("ann", SETTINGS, {}) == 50


async def test_cancelled_callers_leave_the_writer_and_the_readers_at_work(tmp_path: Path) -> None:
    async with open_database(tmp_path) as database:
        for n in range(20):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(database.store.commit, "ann", [Put(SETTINGS, Setting(id=str(n)))])
                    group.start_soon(database.store.get, SETTINGS, "ann", [str(n)])
                    await anyio.lowlevel.checkpoint()
                    scope.cancel()
        await database.store.commit("ann", [Put(SETTINGS, Setting(id="last"))])
        assert (await database.store.get(SETTINGS, "ann", ["last"]))[0] is not None


async def test_two_processes_write_at_once_and_each_sees_all(tmp_path: Path) -> None:
    async with open_database(tmp_path) as database:
        others = [await anyio.open_process(writer(tmp_path, name, 40)) for name in ("one", "two")]
        for n in range(40):
            line = Line(id=f"own{n}", conversation="own", position=n)
            item = IndexItem("turn", f"own said number{n}", n)
            await database.store.commit("ann", [Put(LINES, line, if_version=0, index=item)])
            await database.index.search(IndexQuery("ann", "said"))
        for other in others:
            assert await other.wait() == 0
        assert await database.store.count("ann", LINES, {}) == 120
        found = await database.index.search(IndexQuery("ann", "number39", limit=200))
        assert {candidate.id for candidate in found.items} == {"own39", "one39", "two39"}


async def test_two_processes_start_on_a_new_directory_at_once(tmp_path: Path) -> None:
    others = [await anyio.open_process(writer(tmp_path / "new", name, 3)) for name in ("one", "two")]
    assert [await other.wait() for other in others] == [0, 0]
    async with open_database(tmp_path / "new") as database:
        assert await database.store.count("ann", LINES, {}) == 6


async def test_the_version_of_one_process_is_the_conflict_of_another(tmp_path: Path) -> None:
    async with open_database(tmp_path) as one, open_database(tmp_path) as other:
        await one.store.commit("ann", [Put(SETTINGS, Setting(id="s", value="1"), if_version=0)])
        await other.store.commit("ann", [Put(SETTINGS, Setting(id="s", value="2"), if_version=1)])
        with pytest.raises(Conflict):
            await one.store.commit("ann", [Put(SETTINGS, Setting(id="s", value="3"), if_version=1)])


async def test_another_process_index_follows_puts_vectors_and_deletions(tmp_path: Path) -> None:
    async with open_database(tmp_path) as one, open_database(tmp_path) as other:

        async def words_of_other(text: str) -> set[str]:
            return {candidate.id for candidate in (await other.index.search(IndexQuery("ann", text))).items}

        for n in range(3):
            await one.store.commit("ann", [Put(NOTES, Note(id=str(n)), index=IndexItem("fact", "apple", n))])
            assert len(await words_of_other("apple")) == n + 1
        await one.store.commit("ann", [Put(NOTES, Note(id="0"), index=IndexItem("fact", "pear", 0))])
        await one.store.commit("ann", [Delete(NOTES, "1")])
        assert await words_of_other("apple") == {"2"}
        assert await words_of_other("pear") == {"0"}
        await one.store.commit(
            "ann", [DeleteAll(NOTES), Put(NOTES, Note(id="1"), index=IndexItem("fact", "fig", 0))]
        )
        assert await words_of_other("apple pear fig") == {"1"}
        await one.store.scrub()
        assert await words_of_other("apple pear fig") == {"1"}


async def test_an_index_that_missed_too_many_deletions_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_index, "TOMBSTONES_KEPT", 3)
    async with open_database(tmp_path) as one, open_database(tmp_path) as other:
        notes = [Put(NOTES, Note(id=str(n)), index=IndexItem("fact", "apple", n)) for n in range(10)]
        await one.store.commit("ann", notes)
        assert len((await other.index.search(IndexQuery("ann", "apple"))).items) == 10
        for n in range(8):
            await one.store.commit("ann", [Delete(NOTES, str(n))])
        found = await other.index.search(IndexQuery("ann", "apple"))
        assert {candidate.id for candidate in found.items} == {"8", "9"}
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        assert connection.execute("SELECT count(*) FROM index_tombstones").fetchone() == (3,)


@pytest.mark.requirement("R172", "P1c")
async def test_owners_whose_shards_gave_way_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = ("ann", "bob", "cy")
    async with open_database(tmp_path) as database:
        kept = database.index._copies._copies  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way to see them
        for owner in owners:
            put = Put(NOTES, Note(id=owner), index=IndexItem("fact", "apple", 0))
            await database.store.commit(owner, [put])
        for budget, left in ((10**9, owners), (1, owners[-1:]), (1, owners[-1:])):
            monkeypatch.setattr(copies, "MEMORY_BYTES", budget)
            for owner in owners:
                found = await database.index.search(IndexQuery(owner, "apple"))
                assert [candidate.id for candidate in found.items] == [owner]
            assert tuple(kept) == left


async def test_rows_analysed_by_another_version_are_analysed_anew(tmp_path: Path) -> None:
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [Put(NOTES, Note(id="n"), index=IndexItem("fact", "apples", 0))])
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE index_items SET analysis = 0")
        old = Analyzer().digests(["old"])
        connection.execute(
            "UPDATE bodies SET body = ? WHERE place IN (SELECT place FROM index_items)", (old,)
        )
    async with open_database(tmp_path) as database:
        assert len((await database.index.search(IndexQuery("ann", "apple"))).items) == 1
        assert (await database.index.search(IndexQuery("ann", "old"))).items == ()


async def test_a_row_that_gets_its_vector_keeps_the_terms_of_this_version(tmp_path: Path) -> None:
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [Put(NOTES, Note(id="n"), index=IndexItem("fact", "apples", 0))])
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE index_items SET analysis = 0")
        old = Analyzer().digests(["old"])
        connection.execute(
            "UPDATE bodies SET body = ? WHERE place IN (SELECT place FROM index_items)", (old,)
        )
    model = EmbeddingModel("model", "words", 2)
    async with open_database(tmp_path) as database:
        vector = np.array([1, 0], np.float32)
        await database.store.commit("ann", [SetVector("n", "apples", vector, model)])
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        assert connection.execute("SELECT analysis FROM index_items").fetchone() == (ANALYSIS,)
    async with open_database(tmp_path) as database:
        assert len((await database.index.search(IndexQuery("ann", "apple"))).items) == 1


@pytest.mark.parametrize("acknowledged", [1, 7, 60])
async def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, acknowledged: int) -> None:
    with subprocess.Popen(writer(tmp_path, "w"), stdout=subprocess.PIPE) as process:  # noqa: ASYNC220
        assert process.stdout
        lines = (await anyio.to_thread.run_sync(process.stdout.readline) for _ in range(acknowledged + 1))
        said = [line async for line in lines]
        os.kill(process.pid, signal.SIGKILL)
    async with open_database(tmp_path) as database:
        (page,) = await database.store.scan(
            "ann", Scan(LINES, {"conversation": "w"}, order="position", limit=1_000)
        )
        kept = [item.record.position for item in page.items]
        assert kept == list(range(len(kept)))
        assert len(kept) > int(said[-1])
        found = await database.index.search(IndexQuery("ann", "said", limit=1_000))
        assert len(found.items) == len(kept)


async def test_a_full_disk_refuses_the_batch_and_loses_nothing_before_it(tmp_path: Path) -> None:
    """A limit on the file's pages stands for the disk; SQLite answers both with the same code."""
    async with open_database(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    script = _WRITER.replace(
        'print("open", flush=True)',
        f"limit = 'PRAGMA max_page_count = {pages + 100}'\n"
        "        await database.store._writer.alone(lambda c: c.execute(limit).fetchall())",
    )
    command = [sys.executable, "-c", script, str(tmp_path), "w", "100000", "10000"]
    said = (await anyio.run_process(command)).stdout.decode().splitlines()
    assert "nothing of this change was written" in said[-1]
    async with open_database(tmp_path) as database:
        assert await database.store.count("ann", LINES, {}) == int(said[-2]) + 1
        await database.store.commit("ann", [Put(SETTINGS, Setting(id="s"))])


async def test_one_batch_too_many_for_the_disk_does_not_refuse_those_beside_it(tmp_path: Path) -> None:
    async with open_database(tmp_path) as database:
        limit = "PRAGMA max_page_count = 100"
        await database.store._writer.alone(lambda c: c.execute(limit).fetchall())  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way to a full disk
        refused: list[str] = []

        async def keep(id: str, size: int) -> None:
            try:
                await database.store.commit("ann", [Put(SETTINGS, Setting(id=id, value="x" * size))])
            except StorageError:
                refused.append(id)

        async with anyio.create_task_group() as group:
            for n in range(10):
                group.start_soon(keep, str(n), 1_000_000 if n == 4 else 10)
        assert refused == ["4"]
        assert await database.store.count("ann", SETTINGS, {}) == 9


async def test_every_scan_that_bethink_makes_is_answered_from_an_index(tmp_path: Path) -> None:
    async with open_database(tmp_path) as database:
        collections: list[Collection[Any]] = [CONVERSATIONS, MESSAGES, RUNS, JOURNAL, FACTS]
        for collection in collections:
            await database.store.commit("o", [Delete(collection, "none")])
    wanted = [
        ("conversations", "temporary IS 0 AND archived IS 0", "updated_at DESC, id DESC"),
        ("conversations", "temporary IS 0 AND archived IS 0 AND project IS 'p'", "updated_at DESC, id DESC"),
        ("conversations", "temporary IS 1 AND updated_at < 9", "updated_at, id"),
        ("messages", "conversation IS 'c' AND branch IS 0 AND position < 3", "position DESC, id DESC"),
        ("messages", "conversation IS 'c' AND (position, id) < (3, 'x')", "position DESC, id DESC"),
        ("runs", "state IS 'ended' AND ended_at IS NOT NULL AND ended_at < 9", "ended_at, id"),
        ("journal", "run IS 'r' AND sequence IS NOT NULL AND sequence >= 1", "sequence, id"),
        ("facts", "1", "created_at DESC, id DESC"),
        ("facts", "state IS 'active'", "created_at DESC, id DESC"),
        ("facts", "state IS 'active' AND weight IS NOT NULL AND weight >= 800", "weight DESC, id DESC"),
        ("facts", "category IS 'c'", "created_at DESC, id DESC"),
        ("facts", "project IS 'p'", "created_at DESC, id DESC"),
    ]
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        for table, condition, order in wanted:
            query = f"SELECT place FROM {table} WHERE owner = 'o' AND {condition} ORDER BY {order} LIMIT 9"  # noqa: S608
            plan = " ".join(str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {query}"))
            assert "USING INDEX" in plan, (query, plan)
            assert "TEMP B-TREE" not in plan, (query, plan)


def test_a_table_that_another_process_makes_between_two_looks_is_made_here_too(tmp_path: Path) -> None:
    path = tmp_path / "bethink.sqlite3"
    with closing(sqlite3.connect(path)) as other, closing(sqlite3.connect(path)) as connection:

        class Meanwhile:
            """The connection; behind its first question the other process makes the table."""

            def execute(self, statement: str, values: tuple[str | None]) -> sqlite3.Cursor:
                found = connection.execute(statement, values)
                if "pragma_table_info" in statement:
                    assert found.fetchall() == []
                    other.execute(definition("meta", ()))
                    other.commit()
                return found

        layouts = layout_of(cast("sqlite3.Connection", Meanwhile()))
        assert layouts["meta"].columns == set()
        assert ("owner", "id") in layouts["meta"].indexes.values()
