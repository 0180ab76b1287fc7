"""What is left of deleted texts in a PostgreSQL cluster's files, and what is said of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bethink.engines.postgres.store import PostgresDatabase, open_database
from bethink.errors import StorageError
from bethink.index import IndexItem
from bethink.store import Delete, Put
from tests.contract.records import NOTES, Note
from tests.postgres_server import ROLE, PostgresServer, postgres_server

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

_WORD = "zembrovia"


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresServer]:
    """A server that gives its log's files up, and lets Bethink ask for it."""
    with postgres_server("wal_recycle=off", durable=True) as server:
        server.administer(
            f"GRANT pg_checkpoint TO {ROLE}",
            f"GRANT EXECUTE ON FUNCTION pg_switch_wal() TO {ROLE}",
            database="template1",
        )
        yield server


def _files_with_it(cluster: PostgresServer) -> list[str]:
    files = (path for path in cluster.data.rglob("*") if path.is_file())
    return [str(path.relative_to(cluster.data)) for path in files if _WORD.encode() in _content(path)]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        # The server has removed it meanwhile.
        return b""


async def _tell_and_delete(database: PostgresDatabase) -> None:
    """Keep what says the word: short and long, once and again, with and without an index item."""
    long = " ".join(f"{_WORD} {number}" for number in range(20_000))
    for number, text in enumerate(
        (f"I was a clerk at {_WORD}", f"I was the clerk of {_WORD}", long, "Nothing")
    ):
        item = IndexItem("fact", text, 1, speaker=_WORD)
        await database.store.commit("ann", [Put(NOTES, Note(id="n", text=text, category=_WORD), index=item)])
        await database.store.commit("ann", [Put(NOTES, Note(id=f"n{number}", text=text), index=item)])
    for number in range(4):
        await database.store.commit("ann", [Delete(NOTES, f"n{number}")])
    await database.store.commit("ann", [Delete(NOTES, "n")])
    await database.store.commit("ann", [Put(NOTES, Note(id="kept", text="stays"))])


@pytest.mark.requirement("C22")
async def test_no_file_of_the_cluster_has_a_deleted_text(cluster: PostgresServer) -> None:
    url = await asyncio.to_thread(cluster.new_database)
    async with open_database(url) as database:
        await _tell_and_delete(database)
        await asyncio.to_thread(cluster.administer, "CHECKPOINT")
        assert await asyncio.to_thread(_files_with_it, cluster)
        assert await database.store.scrub("ann") == ()
        assert await asyncio.to_thread(_files_with_it, cluster) == []
        (kept,) = await database.store.get(NOTES, "ann", ["kept"])
        assert kept
        assert kept.record.text == "stays"


async def test_where_the_log_keeps_it_that_is_told(postgres: PostgresServer) -> None:
    url = await asyncio.to_thread(postgres.new_database)
    async with open_database(url) as database:
        await _tell_and_delete(database)
        (told,) = await database.store.scrub("ann")
        assert "pg_wal" in told
        await asyncio.to_thread(postgres.administer, "CHECKPOINT")
        left = await asyncio.to_thread(_files_with_it, postgres)
        assert [name for name in left if not name.startswith("pg_wal/")] == []


async def test_an_old_snapshot_is_told_of_and_its_end_lets_the_text_go(cluster: PostgresServer) -> None:
    url = await asyncio.to_thread(cluster.new_database)
    async with open_database(url) as database:
        await _tell_and_delete(database)
        reading, ended = asyncio.Event(), asyncio.Event()

        async def read(session: object) -> None:
            reading.set()
            await ended.wait()

        backup = asyncio.create_task(database.connections.read(None, read))
        await reading.wait()
        with pytest.raises(StorageError, match="such as a backup"):
            await database.store.scrub("ann")
        ended.set()
        await backup
        assert await database.store.scrub("ann") == ()
        assert await asyncio.to_thread(_files_with_it, cluster) == []
