"""PostgreSQL's index rows: what one process writes, the copies of all others learn of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from bethink.embeddings import EmbeddingModel
from bethink.engines.postgres import index as postgres_index
from bethink.engines.postgres.connection import Connections, DatabaseSession, open_connections
from bethink.engines.postgres.index import IndexRows, PostgresIndex
from bethink.engines.postgres.schema import prepare
from bethink.index import IndexItem, IndexQuery
from bethink.search import copies
from bethink.search.analysis import Analyzer, entry_of
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio

MODEL = EmbeddingModel("small", "1", 4)
MANY = 10


@pytest.fixture
async def connections(postgres: PostgresServer) -> AsyncIterator[Connections]:
    async with open_connections(postgres.new_database()) as connections:
        await prepare(connections)
        yield connections


async def keep(connections: Connections, owner: str = "ann", /, **texts: str | None) -> None:
    """Write items, of which every third has two vectors and every other third none; None deletes."""
    analyzer = Analyzer()

    async def work(session: DatabaseSession) -> None:
        rows = IndexRows(session, owner)
        for number, (id, text) in enumerate(texts.items()):
            if text is None:
                rows.delete([id])
                continue
            vectors = (np.eye(4, dtype=np.float32)[0], None, np.eye(4, dtype=np.float32)[:2])[number % 3]
            item = IndexItem("fact", text, number, vectors, None if vectors is None else MODEL)
            rows.put(text, entry_of(id, item, analyzer))
        await rows.finish()

    await connections.write(owner, work)


async def found(index: PostgresIndex, text: str = "apple pear", owner: str = "ann") -> set[str]:
    query = IndexQuery(owner, text, np.eye(4, dtype=np.float32)[1], MODEL, limit=1_000)
    return {one.id for one in (await index.search(query)).items}


def ids(numbers: Sequence[int]) -> set[str]:
    return {f"n{number}" for number in numbers}


@pytest.mark.parametrize("at_once", [1, 2, 3, 4_000])
async def test_a_copy_is_read_in_steps_that_keep_an_items_vectors_together(
    connections: Connections, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(copies, "READ_AT_ONCE", at_once)
    await keep(connections, **dict.fromkeys(sorted(ids(range(MANY))), "apple"))
    index = PostgresIndex(connections)
    assert await found(index) == ids(range(MANY))
    vectors = await index.vectors("ann", MODEL, ["n0", "n1", "n2"])
    assert {id: len(rows) for id, rows in vectors.items()} == {"n0": 1, "n2": 2}
    await keep(connections, n0="plum", n1=None, n2="pear", n11="pear")
    assert await found(index, "pear") >= {"n2", "n11"}
    assert await found(index) == await found(PostgresIndex(connections))
    assert "n1" not in await found(index)


@pytest.mark.parametrize("tombstones", [0, 2, 100_000])
async def test_a_copy_that_is_older_than_the_tombstones_begins_anew(
    connections: Connections, monkeypatch: pytest.MonkeyPatch, tombstones: int
) -> None:
    monkeypatch.setattr(postgres_index, "TOMBSTONES_KEPT", tombstones)
    index = PostgresIndex(connections)
    await keep(connections, **dict.fromkeys(sorted(ids(range(MANY))), "apple"))
    assert await found(index) == ids(range(MANY))
    for number in range(MANY - 2):
        await keep(connections, **{f"n{number}": None})
    assert await found(index) == ids(range(MANY - 2, MANY)) == await found(PostgresIndex(connections))


async def test_rows_of_another_analysis_are_analysed_anew(connections: Connections) -> None:
    await keep(connections, a="apples")
    old = "UPDATE index_items SET analysis = 0, terms = '{1,2}'"
    await connections.write("ann", lambda session: session.execute(old))
    assert await found(PostgresIndex(connections), "apple") == {"a"}
