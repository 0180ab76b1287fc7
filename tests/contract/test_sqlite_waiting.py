"""Threads and other processes in the way: what waits gets an honest answer, and once for all."""

from __future__ import annotations

import asyncio
import logging
import re
import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import anyio
import pytest

from bethink.clock import FakeClock
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.sqlite import bus as sqlite_bus
from bethink.engines.sqlite import schema as sqlite_schema
from bethink.engines.sqlite import store as sqlite_threads
from bethink.engines.sqlite.bus import open_bus
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.engines.sqlite.store import SqliteDatabase, open_database
from bethink.errors import BethinkError, StorageError
from bethink.mcp_server import stdio
from bethink.ports import Ports
from bethink.store import Put
from tests.contract.records import SETTINGS, Setting
from tests.door import Door, open_door

pytestmark = pytest.mark.anyio

MANY = 21
WHOLE_S, LEAST_S = 0.2, 0.1


def be_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait as in life, only shorter."""
    monkeypatch.setattr(sqlite_schema, "BUSY_S", WHOLE_S)
    monkeypatch.setattr(sqlite_threads, "BUSY_S", WHOLE_S)
    monkeypatch.setattr(sqlite_threads, "LEAST_WAIT_S", LEAST_S)


@contextmanager
def locked(directory: Path) -> Generator[None]:
    """Another process that writes and does not end."""
    with closing(sqlite3.connect(directory / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@asynccontextmanager
async def door_of(directory: Path) -> AsyncGenerator[tuple[Door, SqliteDatabase]]:
    """The web door over a database file and a bus file."""
    async with open_database(directory) as database, open_bus(directory) as bus:
        ports = Ports(database.store, database.index, bus, HashingEmbeddings(), None, clock=FakeClock())
        async with open_door(ports=ports) as door:
            yield door, database


async def waits(database: SqliteDatabase) -> list[float]:
    """How many seconds each transaction that the writer begins from now on was ready to wait."""
    patience = [WHOLE_S]
    seen: list[float] = []

    def note(sql: str) -> None:
        if found := re.fullmatch(r"PRAGMA busy_timeout = (\d+)", sql):
            patience[0] = int(found[1]) / 1000
        if sql.startswith("BEGIN"):
            seen.append(patience[0])

    await database.store._writer.alone(lambda connection: connection.set_trace_callback(note))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way to see it
    return seen


async def test_changes_that_meet_another_writer_wait_for_it_together_and_are_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_impatient(monkeypatch)
    refused: list[StorageError] = []

    async def keep(database: SqliteDatabase, id: str) -> None:
        try:
            await database.store.commit("ann", [Put(SETTINGS, Setting(id=id))])
        except StorageError as error:
            refused.append(error)

    async with open_database(tmp_path) as database:
        waited = await waits(database)
        with locked(tmp_path):
            async with anyio.create_task_group() as group:
                for n in range(MANY):
                    group.start_soon(keep, database, str(n))
        assert len(refused) == MANY
        assert all("Another process is writing" in error.message for error in refused)
        assert 0 < sum(waited) < 2 * WHOLE_S
        await database.store.commit("ann", [Put(SETTINGS, Setting(id="last"))])
        assert await database.store.count("ann", SETTINGS, {}) == 1


async def test_memories_added_while_another_process_writes_are_refused_in_words_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_impatient(monkeypatch)
    answers: list[tuple[int, str]] = []

    async with door_of(tmp_path) as (door, database):

        async def add(n: int) -> None:
            answer = await door.http.post("/memories", json={"content": f"Knows number {n}"})
            answers.append((answer.status_code, answer.json()["detail"]))

        waited = await waits(database)
        with locked(tmp_path):
            async with anyio.create_task_group() as group:
                for n in range(MANY):
                    group.start_soon(add, n)
        assert {status for status, _ in answers} == {503}
        assert all("nothing of this change was written" in detail for _, detail in answers)
        # They come one after the other; the first one's patience is not spent again by each.
        assert 0 < sum(waited) < 2 * WHOLE_S + MANY * LEAST_S
        assert (await door.http.post("/memories", json={"content": "Knows number 7"})).status_code == 201


async def test_a_migration_that_breaks_is_told_and_nothing_waits_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half_done (id TEXT)")
        raise ValueError("no such colour")

    async with open_database(tmp_path):
        pass
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", {**sqlite_schema.MIGRATIONS, 4711: broken})
    with anyio.fail_after(5), pytest.raises(StorageError, match="no such colour") as told:
        async with open_database(tmp_path):
            pass
    assert "as it was" in str(told.value)
    monkeypatch.undo()
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [Put(SETTINGS, Setting(id="after"))])
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'half_done'").fetchone()


async def test_a_bus_that_breaks_when_it_is_opened_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Path) -> sqlite3.Connection:
        raise ValueError("no such colour")

    monkeypatch.setattr(sqlite_bus, "open_file", broken)
    with anyio.fail_after(5), pytest.raises(StorageError, match="no such colour"):
        async with open_bus(tmp_path):
            pass


async def test_a_reader_whose_connection_breaks_answers_and_the_next_question_is_answered_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sqlite_threads.open_connection

    def broken(path: Path, *, write: bool, cipher: object = None) -> sqlite3.Connection:
        del cipher
        raise RuntimeError(f"cannot open {path.name} ({write})")

    async with open_database(tmp_path) as database:
        monkeypatch.setattr(sqlite_threads, "open_connection", broken)
        for _ in range(2 * sqlite_threads.READERS_MAX):
            with anyio.fail_after(5), pytest.raises(BethinkError, match="cannot open"):
                await database.store.get(SETTINGS, "ann", ["x"])
        monkeypatch.setattr(sqlite_threads, "open_connection", real)
        with anyio.fail_after(5):
            assert await database.store.get(SETTINGS, "ann", ["x"]) == (None,)


async def test_an_error_in_the_writer_reaches_those_who_wait_and_the_log_and_the_next_change_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def __init__(self, _: sqlite3.Connection) -> None:
            raise RuntimeError("the rows fell over")

    async with door_of(tmp_path) as (door, _):
        with monkeypatch.context() as patched, caplog.at_level(logging.ERROR):
            patched.setattr(sqlite_threads, "IndexRows", Broken)
            with anyio.fail_after(5):
                answer = await door.http.post("/memories", json={"content": "Likes tea"})
                health = await door.http.get("/health")
        assert answer.status_code == 503
        assert "the rows fell over" in answer.json()["detail"]
        assert "the rows fell over" in caplog.text
        assert health.json()["parts"]["store"]["status"] == "degraded"
        assert (await door.http.post("/memories", json={"content": "Likes tea"})).status_code == 201


async def test_an_error_in_the_chores_of_the_bus_is_logged_and_told_and_the_bus_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("the broom fell over")

    monkeypatch.setattr(sqlite_bus, "CHORES_S", 0.0)
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(sqlite_bus.BusFile, "do_chores", broken)
        async with door_of(tmp_path) as (door, _):
            with anyio.fail_after(5):
                part = (await door.http.get("/health")).json()["parts"]["bus"]
                assert (await door.http.post("/memories", json={"content": "Likes tea"})).status_code == 201
    assert part["status"] == "degraded"
    assert "the broom fell over" in part["message"]
    assert "the broom fell over" in caplog.text


async def test_an_input_that_breaks_counts_as_ended_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(descriptor: int, count: int) -> bytes:
        raise MemoryError(descriptor, count)

    monkeypatch.setattr(stdio.os, "read", broken)
    with anyio.fail_after(5):
        lines = [line async for line in stdio._Lines(0, asyncio.get_running_loop())]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - it takes this process's own input otherwise
    assert lines == []
    assert "MemoryError" in caplog.text
