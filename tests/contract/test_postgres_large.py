"""Owners who are large have tables of their own in PostgreSQL: they find what everybody finds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import anyio
import anyio.lowlevel
import anyio.to_thread
import numpy as np
import pytest

from bethink.embeddings import EmbeddingModel
from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.engines.postgres import large
from bethink.engines.postgres.connection import Connections, DatabaseSession
from bethink.engines.postgres.large import OwnTables, build
from bethink.engines.postgres.store import PostgresDatabase, open_database
from bethink.index import Candidates, IndexItem, IndexQuery
from bethink.store import Change, Delete, Put, SetVector
from tests.contract.records import NOTES, Note
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio

MODEL = EmbeddingModel("random", "1", 32)
MANY = 400


@pytest.fixture
async def opened(postgres: PostgresServer) -> AsyncIterator[PostgresDatabase]:
    url = await anyio.to_thread.run_sync(postgres.empty_database)
    async with open_database(url) as opened:
        yield opened


class Items:
    """Random items, the same every time: of two kinds, some in a conversation, some without a vector."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(5)

    def put(self, number: int) -> Put[Note]:
        words = " ".join(f"w{word}" for word in self.random.zipf(1.5, self.random.integers(3, 15)) % 200)
        vectors = self.random.standard_normal((int(self.random.integers(1, 4)), 32), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        kind = "fact" if number % 3 else "turn"
        item = IndexItem(kind, words, number, vectors, MODEL, conversation=f"c{number % 7}")
        if number % 5 == 0:
            item = replace(item, vector=None, model=None, held_from=number // 2, held_until=number * 2)
        return Put(NOTES, Note(id=f"n{number}"), index=item)

    def question(self) -> IndexQuery:
        vector = self.random.standard_normal(32, dtype=np.float32)
        words = " ".join(f"w{word}" for word in self.random.zipf(1.5, 5) % 200)
        return IndexQuery(
            "ann", f"{words} nowhere", vector / np.float32(np.linalg.norm(vector)), MODEL, limit=20
        )


def assert_alike(one: Candidates, other: Candidates) -> None:
    """What only ties decide may differ; scores may not."""
    assert (one.searched, one.without_vector) == (other.searched, other.without_vector)
    assert one.lexical_ideal == pytest.approx(other.lexical_ideal, rel=1e-5)
    found, expected = ({item.id: item for item in each.items} for each in (one, other))
    assert len(found.keys() & expected.keys()) >= 0.9 * len(expected)
    for id in found.keys() & expected.keys():
        mine, theirs = found[id], expected[id]
        assert (mine.lexical is None, mine.dense is None) == (theirs.lexical is None, theirs.dense is None)
        assert (mine.lexical or 0.0) == pytest.approx(theirs.lexical or 0.0, rel=1e-4)
        assert (mine.dense or 0.0) == pytest.approx(theirs.dense or 0.0, abs=2e-4)
        assert mine.met == pytest.approx(theirs.met, abs=1e-4)
        assert (mine.kind, mine.at, mine.conversation) == (theirs.kind, theirs.at, theirs.conversation)


@pytest.mark.parametrize("compared", [0, 10])
async def test_a_large_owner_finds_what_a_small_one_finds_after_any_changes(
    opened: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, compared: int
) -> None:
    # Without any that are compared in full, all searches walk the graph.
    monkeypatch.setattr("bethink.engines.postgres.large_search.COMPARED", compared)
    items, index = Items(), MemoryIndex()
    plain = MemoryStore(index)

    async def commit(changes: list[Change]) -> None:
        await opened.store.commit("ann", changes)
        await plain.commit("ann", changes)

    await commit([items.put(number) for number in range(MANY)])
    assert await build(opened.connections, "ann")
    await commit([items.put(number) for number in range(0, MANY, 4)])
    await commit([Delete(NOTES, f"n{number}") for number in range(0, MANY, 6)])
    late = items.put(5).index
    assert late is not None
    await commit([Put(NOTES, Note(id="n5"), index=late)])
    vector = np.eye(32, dtype=np.float32)[0]
    await commit([SetVector("n5", late.text, vector, MODEL), items.put(MANY), Put(NOTES, Note(id="n7"))])
    for _ in range(5):
        query = items.question()
        for asked in (
            query,
            replace(query, kinds=frozenset({"turn"})),
            replace(query, conversation="c3"),
            replace(query, since=100, until=300, kinds=frozenset({"fact", "page"})),
            replace(query, as_of=150),
            replace(query, vector=None),
        ):
            assert_alike(await opened.index.search(asked), await index.search(asked))


async def test_what_is_written_while_tables_are_built_is_in_them(
    opened: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = Items()
    await opened.store.commit("ann", [items.put(number) for number in range(20)])
    built = large._build  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - between its two steps

    async def build_and_write(session: DatabaseSession, owner: str) -> tuple[OwnTables, int] | None:
        tables = await built(session, owner)
        text = IndexItem("fact", "zebra", 0)
        await opened.store.commit("ann", [Delete(NOTES, "n1"), Put(NOTES, Note(id="new"), index=text)])
        return tables

    monkeypatch.setattr(large, "_build", build_and_write)
    assert await build(opened.connections, "ann")
    found = await opened.index.search(IndexQuery("ann", "zebra"))
    assert ([one.id for one in found.items], found.searched) == (["new"], 20)


async def test_what_a_process_that_was_killed_left_is_removed_by_the_next_that_builds(
    opened: PostgresDatabase,
) -> None:
    await opened.store.commit("ann", [Items().put(number) for number in range(5)])
    await opened.connections.write("ann", lambda session: session.execute("CREATE SCHEMA index_0"))
    assert await build(opened.connections, "ann")
    assert "index_0" not in await schemas(opened.connections)
    place = "SELECT place FROM index_large"
    (before,) = await opened.connections.read("ann", lambda session: session.fetch(place))
    assert await build(opened.connections, "ann")
    (after,) = await opened.connections.read("ann", lambda session: session.fetch(place))
    assert before == after


async def schemas(connections: Connections) -> list[str]:
    query = "SELECT nspname FROM pg_namespace WHERE nspname ~ '^index_[0-9]+$'"
    return [name for (name,) in await connections.read(None, lambda session: session.fetch(query))]


async def test_an_owner_who_grows_gets_tables_by_itself_and_loses_them_by_forgetting(
    opened: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "LARGE", 10)
    items = Items()
    await opened.store.commit("ann", [items.put(number) for number in range(12)])
    await opened.store.commit("bob", [items.put(number) for number in range(9)])
    for owner in ("ann", "bob"):
        await opened.index.search(IndexQuery(owner, "w1"))
    places = "SELECT owner FROM index_large"
    with anyio.fail_after(8):
        while not (rows := await opened.connections.read(None, lambda session: session.fetch(places))):
            await anyio.lowlevel.checkpoint()
    assert [owner for (owner,) in rows] == ["ann"]
    assert (await opened.index.search(IndexQuery("ann", "w1"))).searched == 12
    await opened.store.scrub("bob")
    assert len(await schemas(opened.connections)) == 1
    await opened.store.commit("ann", [Delete(NOTES, "n3")])
    monkeypatch.setattr(large, "LARGE", 1_000)
    await opened.store.scrub("ann")
    assert await schemas(opened.connections) == []
    assert (await opened.index.search(IndexQuery("ann", "w1"))).searched == 11


async def test_an_owner_whose_tables_are_lost_is_searched_all_the_same(opened: PostgresDatabase) -> None:
    items = Items()
    await opened.store.commit("ann", [items.put(number) for number in range(12)])
    assert await build(opened.connections, "ann")
    assert (await opened.index.search(IndexQuery("ann", "w1"))).searched == 12
    (name,) = await schemas(opened.connections)
    await opened.connections.write("ann", lambda session: session.execute(f"DROP SCHEMA {name} CASCADE"))
    with anyio.fail_after(5):
        assert (await opened.index.search(IndexQuery("ann", "w1"))).searched == 12
    await opened.store.commit("ann", [items.put(12)])
    assert (await opened.index.search(IndexQuery("ann", "w1"))).searched == 13
