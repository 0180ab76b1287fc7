"""A file of an earlier version, opened by this one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import anyio.to_thread
import numpy as np
import pytest

from bethink.agent.records import JOURNAL, THREADS, JournalEntry, NumberedEvent, Thread
from bethink.embeddings import EmbeddingModel
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.sqlite.schema import (
    FILE_NAME,
    MIGRATIONS,
    journal_in_order,
    without_unkeyed_digests,
)
from bethink.engines.sqlite.store import open_database
from bethink.errors import StorageError
from bethink.events import Place, TextDelta
from bethink.index import IndexItem, IndexQuery
from bethink.memory import FACTS
from bethink.search.analysis import ANALYSIS
from bethink.store import Delete, Put, Scan, SetVector
from bethink.vault.files.records import PAGES
from tests.contract.histories import everything_in
from tests.contract.records import LINES, NOTES, Line, Note

pytestmark = pytest.mark.anyio

_FIRST_VERSION = """
CREATE TABLE conversations (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    archived INTEGER, updated_at INTEGER, project TEXT, body BLOB NOT NULL, UNIQUE (owner, id));
CREATE INDEX conversations_archived ON conversations (owner, archived, updated_at, id);

CREATE TABLE messages (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    conversation TEXT, position INTEGER, body BLOB NOT NULL, UNIQUE (owner, id));
CREATE INDEX messages_position ON messages (owner, conversation, position, id);

CREATE TABLE runs (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    conversation TEXT, state TEXT, ended_at INTEGER, body BLOB NOT NULL, UNIQUE (owner, id));
CREATE INDEX runs_conversation ON runs (owner, conversation, ended_at, id);
CREATE INDEX runs_state ON runs (owner, state, ended_at, id);

CREATE TABLE journal (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    run TEXT, sequence INTEGER, body BLOB NOT NULL, UNIQUE (owner, id));
CREATE INDEX journal_sequence ON journal (owner, run, sequence, id);

CREATE TABLE facts (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    state TEXT, category TEXT, digest TEXT, weight INTEGER, created_at INTEGER, project TEXT,
    body BLOB NOT NULL, UNIQUE (owner, id));
CREATE INDEX facts_created ON facts (owner, created_at, id);
CREATE INDEX facts_state ON facts (owner, state, created_at, id);
CREATE INDEX facts_weight ON facts (owner, state, weight, id);
CREATE INDEX facts_digest ON facts (owner, digest);
CREATE INDEX facts_category ON facts (owner, category, created_at, id);

CREATE TABLE meta (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    body BLOB NOT NULL, UNIQUE (owner, id));

CREATE TABLE index_items (
    change INTEGER PRIMARY KEY, owner TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
    at INTEGER NOT NULL, conversation TEXT, project TEXT, speaker TEXT, analysis INTEGER NOT NULL,
    terms TEXT NOT NULL, model TEXT, text TEXT NOT NULL, vector BLOB, UNIQUE (owner, id));
CREATE INDEX index_items_model ON index_items (owner, model, at, id);
CREATE TABLE index_tombstones (change INTEGER PRIMARY KEY, owner TEXT NOT NULL, id TEXT NOT NULL);
CREATE INDEX index_tombstones_owner ON index_tombstones (owner);
CREATE TABLE index_state (change INTEGER NOT NULL, floor INTEGER NOT NULL);
INSERT INTO index_state VALUES (0, 0);
"""

MODEL = EmbeddingModel("small", "1", 4)
COUNT = 300
_FACT = "INSERT INTO facts VALUES (?, ?, ?, 1, 'active', ?, NULL, NULL, ?, 'paris', ?)"
_ITEM = "INSERT INTO index_items VALUES (?, ?, ?, 'fact', ?, NULL, 'paris', 'Ann', ?, ?, ?, ?, ?)"


def text(n: int) -> str:
    return f"Apples of tree{n} are {'very ' * (n % 40)}sweet, señor"


@pytest.fixture
def first_version(tmp_path: Path) -> Path:
    """A file as the first version left it; some rows were deleted when pages had been split."""
    path, owners = tmp_path / FILE_NAME, ("ann", "bob")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.executescript(_FIRST_VERSION)
        connection.execute("PRAGMA user_version = 1")
        for change in range(COUNT * len(owners)):
            n, owner = change // len(owners), owners[change % len(owners)]
            body = NOTES.encode(
                Note(id=f"{n * 7919 % 1000:04}", text=text(n), category="fruit", created_at=n)
            )
            connection.execute(_FACT, (owner, f"{n * 7919 % 1000:04}", 1 + n % 3, "fruit", n, body))
            vector = np.eye(4, dtype="<f4")[n % 4].tobytes() if n % 2 else None
            model = "small|1|4" if n % 2 else None
            terms = f"appl tree{n} sweet senor"
            item = (change + 1, owner, f"{n * 7919 % 1000:04}", n, ANALYSIS, terms, model, text(n), vector)
            connection.execute(_ITEM, item)
        line = LINES.encode(Line(id="l", conversation="c", position=3, text="said"))
        connection.execute("INSERT INTO messages VALUES ('ann', 'l', 5, 1, 'c', 3, ?)", (line,))
        connection.execute("UPDATE index_state SET change = ?", (COUNT * len(owners) + 10,))
        connection.execute(
            "INSERT INTO index_tombstones VALUES (?, 'ann', 'gone')", (COUNT * len(owners) + 9,)
        )
        for table in ("facts", "index_items"):
            connection.execute(f"DELETE FROM {table} WHERE id < '0300'")  # noqa: S608
    return tmp_path


async def test_nothing_is_lost_of_a_file_of_the_first_version(first_version: Path) -> None:
    kept = {f"{n * 7919 % 1000:04}": n for n in range(COUNT) if n * 7919 % 1000 >= 300}
    async with open_database(first_version) as database:
        for owner in ("ann", "bob"):
            (page,) = await database.store.scan(
                owner, Scan(NOTES, {"category": "fruit"}, order="created_at", limit=999)
            )
            assert [(item.record.text, item.version) for item in page.items] == [
                (text(n), 1 + n % 3) for n in kept.values()
            ]
            found = await database.index.search(
                IndexQuery(owner, "señor", np.eye(4, dtype=np.float32)[1], MODEL, project="paris", limit=999)
            )
            assert {one.id: one.dense for one in found.items} == {
                id: (float(n % 4 == 1) if n % 2 else None) for id, n in kept.items()
            }
            assert {one.speaker for one in found.items} == {"Ann"}
            missing = await database.index.missing_vectors(owner, MODEL, 999)
            assert missing == tuple((id, text(n), "fact") for id, n in kept.items() if not n % 2)
        (line,) = await database.store.get(LINES, "ann", ["l"])
        assert line
        assert (line.record.text, line.version) == ("said", 5)
        await database.store.commit("ann", [Put(LINES, line.record, if_version=5)])


async def test_what_was_deleted_before_leaves_nothing_in_the_new_file(first_version: Path) -> None:
    gone = [n for n in range(COUNT) if n * 7919 % 1000 < 300]
    async with open_database(first_version) as database:
        missing = await database.index.missing_vectors("ann", MODEL, 999)
        vectors = [SetVector(one.id, one.text, np.full(4, 0.5, np.float32), MODEL) for one in missing]
        await database.store.commit("ann", vectors)
        assert await database.index.missing_vectors("ann", MODEL, 999) == ()
        id, said, _ = missing[0]
        for owner in ("ann", "bob"):
            await database.store.commit(owner, [Delete(NOTES, id)])
        await database.store.scrub()
        left = everything_in(first_version)
        assert [n for n in gone if f"tree{n} ".encode() in left] == []
        assert said.encode() not in left
        assert (await database.index.search(IndexQuery("ann", said.split()[2]))).items == ()


async def test_a_migration_that_is_interrupted_leaves_the_file_as_it_was(
    first_version: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = first_version / FILE_NAME
    with closing(sqlite3.connect(path)) as connection:
        before = list(connection.iterdump())

    last = max(MIGRATIONS)

    def fails(connection: sqlite3.Connection) -> None:
        MIGRATIONS[last](connection)
        raise sqlite3.OperationalError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("bethink.engines.sqlite.schema.MIGRATIONS", {**MIGRATIONS, last: fails})
        with pytest.raises(StorageError):
            async with open_database(first_version):
                pass
    with closing(sqlite3.connect(path)) as connection:
        assert list(connection.iterdump()) == before
    async with open_database(first_version) as database:
        assert await database.store.count("ann", NOTES, {}) == sum(
            n * 7919 % 1000 >= 300 for n in range(COUNT)
        )


def migrated_again(path: Path, migrate: Callable[[sqlite3.Connection], None]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        migrate(connection)
        connection.commit()


async def test_hashes_of_what_was_said_go_and_responses_stay(tmp_path: Path) -> None:
    thread = Thread(id="said:m", said="5891b5b522d5df08", conversation="c", at=1, message="m", run="r")
    response = Thread(id="response:r", said="response", conversation="c", at=1, run="r", model="bethink")
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [Put(THREADS, thread), Put(THREADS, response)])
    await anyio.to_thread.run_sync(migrated_again, tmp_path / FILE_NAME, without_unkeyed_digests)
    async with open_database(tmp_path) as database:
        assert await database.store.get(THREADS, "ann", ["said:m"]) == (None,)
        (kept,) = await database.store.get(THREADS, "ann", ["response:r"])
        assert kept
        assert kept.record == response
        await database.store.scrub()
        assert b"5891b5b522d5df08" not in everything_in(tmp_path)


async def test_a_journal_of_before_is_read_in_the_order_it_was_written(tmp_path: Path) -> None:
    places = [Place(3, characters) for characters in range(5, 1_500, 5)]
    entries = [
        JournalEntry(
            id=f"a:run:{place}",
            run="a:run",
            sequence=3,
            events=(NumberedEvent(place, TextDelta(text="piece")),),
        )
        for place in places
    ]
    scan = Scan(JOURNAL, {"run": "a:run"}, order="sequence", limit=999)
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [Put(JOURNAL, entry) for entry in entries])
        before = (await database.store.scan("ann", scan))[0].items
    await anyio.to_thread.run_sync(migrated_again, tmp_path / FILE_NAME, journal_in_order)
    async with open_database(tmp_path) as database:
        after = (await database.store.scan("ann", scan))[0].items
        found = await database.store.get(JOURNAL, "ann", [item.record.id for item in after])
    assert [item.record.events[-1].place for item in before] != places
    assert [item.record.events[-1].place for item in after] == places
    assert [item.record for item in after] == [JournalEntry.of("a:run", item.record.events) for item in after]
    assert found == after


async def test_a_directory_of_the_release_before_keeps_all_and_goes_on(tmp_path: Path) -> None:
    """The dump is of a directory written when changes were numbered for all owners together."""
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.executescript(await anyio.Path(__file__).with_name("schema_19.sql").read_text())
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    assert version == 19
    async with open_database(tmp_path) as database, open_database(tmp_path) as other:
        for owner in ("ann", "bob"):
            (page,) = await database.store.scan(owner, Scan(FACTS, {"state": "active"}, order="created_at"))
            wanted = [
                f"{owner} has {n} {tree} trees" for n, tree in ((1, "pear"), (2, "cherry"), (3, "plum"))
            ]
            assert [item.record.content.removesuffix(" behind the house") for item in page.items] == wanted
            for each in (database, other):
                found = await each.index.search(IndexQuery(owner, "pear trees", kinds=frozenset({"fact"})))
                assert {one.id for one in found.items} == {item.record.id for item in page.items}
            ids = [item.record.id for item in page.items]
            assert len(await database.index.vectors(owner, HashingEmbeddings().model, ids)) == 3
            assert await database.store.count(owner, PAGES, {}) == 2
        gone, kept = page.items[0].record, page.items[1]
        item = IndexItem("fact", "a walnut tree", 5)
        await other.store.commit("bob", [Delete(FACTS, gone.id), Put(FACTS, kept.record, index=item)])
        for each in (database, other):
            found = await each.index.search(IndexQuery("bob", "pear walnut", kinds=frozenset({"fact"})))
            assert [one.id for one in found.items] == [kept.record.id]
            assert (await each.index.search(IndexQuery("ann", "pear", kinds=frozenset({"fact"})))).items
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        states = dict(connection.execute("SELECT owner, change FROM index_state").fetchall())
        indexes = connection.execute("SELECT name FROM sqlite_master WHERE tbl_name = 'facts'").fetchall()
    assert states == {"ann": 12, "bob": 14}
    assert len(indexes) == 2 + len(FACTS.scans)
