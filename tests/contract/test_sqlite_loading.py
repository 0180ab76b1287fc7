"""An owner's copy of the index is read from the file: in steps, all or nothing, and not at others' cost."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from bethink.engines.sqlite import index as sqlite_index
from bethink.engines.sqlite.index import entries_of
from bethink.engines.sqlite.store import SqliteDatabase, open_database
from bethink.errors import StorageError
from bethink.index import IndexItem, IndexQuery
from bethink.search import copies
from bethink.search.analysis import Analyzer, Entries
from bethink.store import Delete, Put
from tests.contract.records import NOTES, Note

pytestmark = pytest.mark.anyio

MANY = 10
Rows = Sequence[tuple[Any, ...]]


def note(number: int, text: str = "apple") -> Put[Note]:
    return Put(NOTES, Note(id=f"{number:03}"), index=IndexItem("fact", text, number))


async def found(database: SqliteDatabase, owner: str = "ann", text: str = "apple pear") -> set[str]:
    candidates = await database.index.search(IndexQuery(owner, text, limit=1_000))
    return {candidate.id for candidate in candidates.items}


def during_steps(monkeypatch: pytest.MonkeyPatch, call: Callable[[int], None]) -> list[int]:
    """Have `call` called in each step that reads rows, with its number; the numbers come back."""
    steps: list[int] = []

    def read(connection: sqlite3.Connection, analyzer: Analyzer, rows: Rows) -> Entries:
        entries = entries_of(connection, analyzer, rows)
        steps.append(len(steps))
        call(steps[-1])
        return entries

    monkeypatch.setattr(sqlite_index, "entries_of", read)
    return steps


@asynccontextmanager
async def kept(directory: Path, owners: Sequence[str] = ("ann",)) -> AsyncGenerator[SqliteDatabase]:
    """A database that was just opened: nothing of its index is in memory yet."""
    async with open_database(directory) as database:
        for owner in owners:
            await database.store.commit(owner, [note(number) for number in range(MANY)])
    async with open_database(directory) as database:
        yield database


@pytest.mark.parametrize("owners", [("ann",), ("ann", "bob", "cy", "dan", "eve")])
async def test_while_indexes_are_loaded_others_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owners: tuple[str, ...]
) -> None:
    may_go_on = threading.Event()
    during_steps(monkeypatch, lambda _: assert_waited(may_go_on))
    async with kept(tmp_path, owners) as database, anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(found, database, owners[number % len(owners)])
        try:
            # The searches have all asked before this is answered.
            with anyio.fail_after(5):
                for _ in range(20):
                    assert (await database.store.get(NOTES, "zoe", ["x"])) == (None,)
        finally:
            may_go_on.set()


def assert_waited(event: threading.Event) -> None:
    assert event.wait(20)


async def test_a_load_that_breaks_off_leaves_nothing_and_the_next_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(database: SqliteDatabase) -> None:
        with pytest.raises((MemoryError, StorageError)):
            await found(database)

    def break_off(step: int) -> None:
        if step == 2:
            raise MemoryError

    monkeypatch.setattr(copies, "READ_AT_ONCE", 2)
    during_steps(monkeypatch, break_off)
    async with kept(tmp_path) as database:
        await refused(database)
        await database.store.commit("ann", [Delete(NOTES, "000")])
        assert await found(database) == {f"{number:03}" for number in range(1, MANY)}


async def test_a_search_that_is_cancelled_while_the_index_is_loaded_spoils_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on, is_in_step = threading.Event(), threading.Event()

    def wait(step: int) -> None:
        if step == 1:
            is_in_step.set()
            assert_waited(may_go_on)

    monkeypatch.setattr(copies, "READ_AT_ONCE", 2)
    during_steps(monkeypatch, wait)
    async with kept(tmp_path) as database:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(found, database)
            await anyio.to_thread.run_sync(assert_waited, is_in_step)
            tasks.cancel_scope.cancel()
        await database.store.commit("ann", [Delete(NOTES, "000")])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(found, database)
            may_go_on.set()
        assert await found(database) == {f"{number:03}" for number in range(1, MANY)}


@pytest.mark.parametrize("tombstones", [0, 2, 100_000])
async def test_what_changes_between_the_steps_of_a_load_is_met_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tombstones: int
) -> None:
    monkeypatch.setattr(copies, "READ_AT_ONCE", 2)
    monkeypatch.setattr(sqlite_index, "TOMBSTONES_KEPT", tombstones)
    async with kept(tmp_path) as database, open_database(tmp_path) as other:
        # Tombstones that are too old to be kept: a shard that begins must not begin again for ever.
        await database.store.commit("bob", [note(number) for number in range(MANY)])
        for number in range(MANY):
            await database.store.commit("bob", [Delete(NOTES, f"{number:03}")])
        changes = {
            1: [Delete(NOTES, "000"), note(1, "pear"), Delete(NOTES, "009")],
            2: [note(0), note(50)],
            3: [Delete(NOTES, "001"), Delete(NOTES, "050")],
        }
        steps = during_steps(monkeypatch, lambda step: anyio.run(write, tmp_path, changes.get(step, [])))
        with anyio.fail_after(20):
            seen = await found(database)
        assert seen == {f"{number:03}" for number in (0, *range(2, 9))} == await found(other)
        assert len(steps) > 4


async def write(directory: Path, changes: Sequence[Put[Note] | Delete[Note]]) -> None:
    """As another process does."""
    async with open_database(directory) as database:
        if changes:
            await database.store.commit("ann", changes)
