"""Every adapter of the store and index ports, and of the bus, for the suites in this folder.

And the process that stands for a model's server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread
import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.clock import Ids, SystemClock
from bethink.embeddings import EmbeddingModel
from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.engines.postgres.large import build
from bethink.engines.postgres.sealed import take_seal
from bethink.engines.postgres.store import PostgresDatabase
from bethink.engines.postgres.store import open_database as postgres_database
from bethink.engines.sqlite.store import open_database
from bethink.index import Candidates, Index, IndexItem, IndexQuery, WithoutVector
from bethink.redis_mirror.outbox import OutboxStore
from bethink.sealing import Cipher, SealedHome, new_key
from bethink.store import Store
from tests.postgres_server import PostgresServer, postgres_server

SEALED = Cipher(new_key())
"""Of this process's sealed databases."""


@dataclass(frozen=True, slots=True)
class Database:
    """A store and the index beside it."""

    store: Store
    index: Index


@dataclass(frozen=True, slots=True)
class LargeOwners:
    """PostgreSQL's index, with tables of their own for all owners who are asked for."""

    held: PostgresDatabase

    async def search(self, query: IndexQuery) -> Candidates:
        return (await self.search_all([query]))[0]

    async def search_all(self, queries: Sequence[IndexQuery]) -> list[Candidates]:
        for owner in {query.owner for query in queries}:
            await build(self.held.connections, owner)
        return await self.held.index.search_all(queries)

    async def missing_vectors(
        self, owner: str, model: EmbeddingModel, limit: int
    ) -> tuple[WithoutVector, ...]:
        return await self.held.index.missing_vectors(owner, model, limit)

    async def vectors(
        self, owner: str, model: EmbeddingModel, ids: Sequence[str]
    ) -> dict[str, NDArray[np.float32]]:
        return await self.held.index.vectors(owner, model, ids)

    async def items(self, owner: str, ids: Sequence[str]) -> dict[str, IndexItem]:
        return await self.held.index.items(owner, ids)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what needs a database with every engine; what is searched, with both ways of PostgreSQL."""
    if "database" in metafunc.fixturenames:
        engines = ["memory", "sqlite", "sqlite noting", "sqlite sealed", "postgres", "postgres sealed"]
        is_search = metafunc.definition.path.stem == "test_index"
        metafunc.parametrize("database", [*engines, *["postgres large"] * is_search], indirect=True)


@pytest.fixture
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with AsyncExitStack() as stack:
        if request.param == "memory":
            index = MemoryIndex()
            yield Database(MemoryStore(index), index)
        elif request.param.startswith("postgres"):
            server: PostgresServer = request.getfixturevalue("postgres")
            cipher = SEALED if request.param == "postgres sealed" else None
            url = await anyio.to_thread.run_sync(server.empty_database, "sealed" if cipher else "")
            if cipher is not None:
                await take_seal(url, SealedHome(now=b"wrapped"), cipher)
            held = await stack.enter_async_context(postgres_database(url, cipher))
            is_large = request.param == "postgres large"
            yield Database(held.store, LargeOwners(held) if is_large else held.index)
        else:
            cipher = Cipher(new_key()) if request.param == "sqlite sealed" else None
            opened = await stack.enter_async_context(open_database(tmp_path / "data", cipher))
            store: Store = opened.store
            if request.param == "sqlite noting":
                followed = {"messages": "conversation", "facts": "id"}
                store = OutboxStore(store, followed, Ids(SystemClock()))
            yield Database(store, opened.index)


@pytest.fixture
async def store(database: Database) -> Store:
    return database.store


@pytest.fixture
async def index(database: Database) -> Index:
    return database.index


@pytest.fixture(scope="session")
def scripted() -> Iterator[ScriptedProcess]:
    """A scripted model's server that takes the key `right-key` only."""
    with scripted_process(["--key", "right-key"]) as process:
        yield process


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL for this process's tests; each takes a database of its own (`new_database`)."""
    with postgres_server() as server:
        yield server
