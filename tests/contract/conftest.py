"""Every adapter of the store and index ports, and of the bus, for the suites in this folder.

And the process that stands for a model's server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread
import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.clock import Ids, SystemClock
from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.engines.postgres.store import open_database as postgres_database
from bethink.engines.sqlite.store import open_database
from bethink.index import Index
from bethink.redis_mirror.outbox import OutboxStore
from bethink.store import Store
from tests.postgres_server import PostgresServer, postgres_server


@dataclass(frozen=True, slots=True)
class Database:
    """A store and the index beside it."""

    store: Store
    index: Index


@pytest.fixture(params=["memory", "sqlite", "sqlite noting", "postgres"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with AsyncExitStack() as stack:
        if request.param == "memory":
            index = MemoryIndex()
            yield Database(MemoryStore(index), index)
        elif request.param == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres")
            url = await anyio.to_thread.run_sync(server.empty_database)
            held = await stack.enter_async_context(postgres_database(url))
            yield Database(held.store, held.index)
        else:
            opened = await stack.enter_async_context(open_database(tmp_path / "data"))
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
