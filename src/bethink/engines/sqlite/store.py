"""The store in one SQLite file: the default. `app` opens it.

Several processes may open one directory: writers wait for one another at
`BEGIN IMMEDIATE`, readers never wait. An acknowledged commit is on the disk
(WAL, synchronous FULL), and a record's index row is part of its transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, assert_never

import anyio
import anyio.to_thread

from bethink.engines.sqlite.index import SqliteIndex
from bethink.engines.sqlite.schema import FILE_NAME, is_busy, patience
from bethink.engines.sqlite.tables import compact, tables_of
from bethink.engines.sqlite.threads import Readers, Writer
from bethink.errors import DiskFull, StorageError
from bethink.search.analysis import Analyzer
from bethink.search.entry import entry_of, model_key, vector_bytes
from bethink.store import Change, Delete, DeleteAll, Expect, Page, Put, SetVector
from bethink.store.rows import check_scan, check_text, check_where, row_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
    from pathlib import Path

    from bethink.engines.sqlite.index import IndexRows
    from bethink.engines.sqlite.tables import Table
    from bethink.store import Collection, Key, R, Scan, Versioned

    Step = Callable[[sqlite3.Connection, IndexRows], None]


RESERVE_FILE: Final = "reserve"
_BYTES: Final = 16 << 20
"""A few thousand pages of SQLite's log, in both of its files: the largest conversation fits."""
_PLENTY: Final = 4
"""It is taken only where so many times its size are free."""
_PART: Final = 1 << 20
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Reserve:
    """A file whose only use is that it can be removed. Processes of one data directory share it."""

    path: Path
    size: int = _BYTES

    def take(self) -> bool:
        """Have it be there, if the disk has plenty of room; whether it is.

        A disk that has none is told of elsewhere.
        """
        with contextlib.suppress(OSError):
            disk = os.statvfs(self.path.parent)
            if self.path.exists() or disk.f_bavail * disk.f_frsize < _PLENTY * self.size:
                return self.path.exists()
            new = self.path.with_name(f".{RESERVE_FILE}-{os.getpid()}")
            try:
                with os.fdopen(os.open(new, _NEW, 0o600), "wb") as file:
                    # Not zeros: some file systems keep those as nothing.
                    part = os.urandom(_PART)
                    for _ in range(self.size // _PART):
                        file.write(part)
                new.rename(self.path)
            finally:
                new.unlink(missing_ok=True)
        return self.path.exists()

    def release(self) -> bool:
        """Give its room to what is deleted now; False where there is none left."""
        try:
            self.path.unlink()
        except OSError:
            return False
        return True


SCRUB_S = 10.0
"""How long `scrub` waits for other processes' readers, in seconds."""

_SCRUB_PAUSE_S = 0.05


class SqliteStore:
    """Records in one file; made by `open_database`."""

    def __init__(
        self,
        writer: Writer,
        readers: Readers,
        table_of: Callable[[Collection[Any]], Table],
        *,
        reserve: Reserve | None = None,
    ) -> None:
        self._writer = writer
        self._readers = readers
        self._table_of = table_of
        self._reserve = reserve
        self._is_spent = False
        self._tables: dict[Collection[Any], Table] = {}
        self._analyzer = Analyzer()

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        """Apply all changes, or none; durable when it returns.

        On a full disk, changes that delete get the room that is kept for them; it is kept again with the
        first change that finds enough.
        """
        tables = {self._table(change.collection) for change in changes if not isinstance(change, SetVector)}
        unmade = [table for table in tables if not table.is_made]
        prepared = partial(self._prepare, owner, tuple(changes), unmade)
        try:
            await self._writer.commit(prepared)
            if self._is_spent and self._reserve is not None:
                self._is_spent = False
                self._is_spent = not await anyio.to_thread.run_sync(self._reserve.take)
        except DiskFull:
            deletes = any(isinstance(change, Delete | DeleteAll) for change in changes)
            if not deletes or self._reserve is None:
                raise
            if not await anyio.to_thread.run_sync(self._reserve.release):
                raise
            self._is_spent = True
            await self._writer.commit(prepared)
        for table in unmade:
            table.is_made = True

    async def get(
        self, collection: Collection[R], owner: str, ids: Sequence[str]
    ) -> tuple[Versioned[R] | None, ...]:
        """The records with these ids, in their order, None where there is none."""
        table = await self._readable(collection)
        if table is None:
            return (None,) * len(ids)
        return tuple(await self._readers.run(lambda connection: table.get(connection, owner, ids)))

    async def scan(self, owner: str, *scans: Scan[R]) -> list[Page[R]]:
        """A page of records for each scan, in order."""
        wanted = [(await self._readable(scan.collection), scan, check_scan(scan)) for scan in scans]
        return await self._readers.run(
            lambda connection: [
                table.scan(connection, owner, scan, after=after) if table else Page()
                for table, scan, after in wanted
            ]
        )

    async def count(self, owner: str, collection: Collection[R], where: Mapping[str, Key]) -> int:
        """How many records have keys equal to `where`."""
        check_where(collection, where)
        table = await self._readable(collection)
        return 0 if table is None else await self._readers.run(partial(table.count, owner=owner, where=where))

    async def owners(self, collection: Collection[Any], *, after: str = "", limit: int = 100) -> list[str]:
        """Owners of records of the collection, in order."""
        table = await self._readable(collection)
        return (
            [] if table is None else await self._readers.run(partial(table.owners, after=after, limit=limit))
        )

    async def scrub(self) -> tuple[str, ...]:
        """Leave no trace of deleted records in any file of the store.

        What was deleted is overwritten already, where it lay (see
        `tables`); the log keeps old pages until it is emptied.
        """
        deadline = asyncio.get_running_loop().time() + SCRUB_S
        while not await self._writer.alone(_empty_log):
            if asyncio.get_running_loop().time() > deadline:
                raise StorageError(
                    "Another process reads the database without a pause, so traces of what was deleted are "
                    "still in its log; stop that process and repeat."
                )
            await asyncio.sleep(_SCRUB_PAUSE_S)
        return ()

    def _table(self, collection: Collection[Any]) -> Table:
        table = self._tables.get(collection)
        if table is None:
            table = self._tables[collection] = self._table_of(collection)
        return table

    async def _readable(self, collection: Collection[Any]) -> Table | None:
        """The table; None before anything was kept in it: who only reads waits for no other writer."""
        table = self._table(collection)
        if not table.is_made:
            columns = await self._readers.run(table.look)
            if not columns:
                return None
            if not columns.issuperset(collection.keys):
                await self._writer.alone(partial(_make, table))
        return table

    def _prepare(self, owner: str, changes: tuple[Change, ...], unmade: Sequence[Table]) -> Step:
        check_text(owner)
        steps = [self._step(owner, change) for change in changes]

        def apply(connection: sqlite3.Connection, index: IndexRows) -> None:
            for table in unmade:
                table.make(connection)
            for step in steps:
                step(connection, index)

        return apply

    def _step(self, owner: str, change: Change) -> Step:
        match change:
            case Put():
                return self._put(owner, change)
            case Delete():
                return self._delete(owner, change)
            case DeleteAll():
                return self._delete_all(owner, change)
            case Expect():
                table = self._table(change.collection)
                return lambda connection, _: table.expect(
                    connection, owner, change.id, version=change.version
                )
            case SetVector():
                key, vector = model_key(change.model), vector_bytes(change.vector, change.model)
                return lambda _, index: index.set_vector(
                    owner, change.id, text=change.text, key=key, vector=vector
                )
            case _:
                assert_never(change)

    def _put(self, owner: str, put: Put[Any]) -> Step:
        table = self._table(put.collection)
        row = row_of(put.collection, put.record)
        item = put.index
        entry = None if item is None else entry_of(row.id, item, self._analyzer)

        def step(connection: sqlite3.Connection, index: IndexRows) -> None:
            table.put(connection, owner, row, if_version=put.if_version)
            if item is not None and entry is not None:
                index.put(owner, item.text, entry)
            elif put.if_version != 0 and put.collection.searchable:
                # A record that did not exist had no item.
                index.delete(owner, row.id)

        return step

    def _delete(self, owner: str, delete: Delete[Any]) -> Step:
        table = self._table(delete.collection)

        def step(connection: sqlite3.Connection, index: IndexRows) -> None:
            gone = table.delete(connection, owner, delete.id, if_version=delete.if_version)
            if gone and delete.collection.searchable:
                index.delete(owner, delete.id)

        return step

    def _delete_all(self, owner: str, delete: DeleteAll[Any]) -> Step:
        table = self._table(delete.collection)
        check_where(delete.collection, delete.where)

        def step(connection: sqlite3.Connection, index: IndexRows) -> None:
            if delete.collection.searchable:
                index.delete_these(owner, *table.ids(owner, delete.where))
            table.delete_all(connection, owner, delete.where)

        return step


def _make(table: Table, connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    table.make(connection)
    connection.execute("COMMIT")
    table.is_made = True


def _empty_log(connection: sqlite3.Connection) -> bool:
    """Move the log into the file and truncate it; False while a reader still needs it."""
    # Waiting here would keep every commit waiting: the caller comes again instead.
    try:
        with patience(connection, 0):
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise
        return False
    return not busy


@dataclass(frozen=True, slots=True)
class SqliteDatabase:
    """The store and the index of one file."""

    store: SqliteStore
    index: SqliteIndex


@asynccontextmanager
async def open_database(directory: Path) -> AsyncGenerator[SqliteDatabase]:
    """The database of a data directory, made if it is not there; closed with the block.

    Leaving the block finishes what was handed in.

    Raises:
        NewerSchema: a newer Bethink wrote it.
        StorageError: it cannot be opened; `CorruptDatabase` if it is damaged.
    """
    path = directory / FILE_NAME
    writer, readers = Writer(path), Readers(path)
    await writer.open()
    try:
        table_of = await writer.alone(tables_of)
        reserve = Reserve(directory / RESERVE_FILE)
        await anyio.to_thread.run_sync(reserve.take)
        store = SqliteStore(writer, readers, table_of, reserve=reserve)
        yield SqliteDatabase(store, SqliteIndex(readers.run))
    finally:
        # Also when the block is left by a cancellation: what was handed in is finished.
        with anyio.CancelScope(shield=True):
            await readers.close()
            with suppress(StorageError):
                # Another process is writing, or the disk is full: the room is given back another time.
                await writer.alone(compact)
            await writer.close()
