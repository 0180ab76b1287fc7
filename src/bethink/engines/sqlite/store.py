"""The store in one SQLite file: the default. `app` opens it.

Several processes may open one directory: writers wait for one another at
`BEGIN IMMEDIATE`, readers never wait. An acknowledged commit is on the disk
(WAL, synchronous FULL), and a record's index row is part of its transaction.

The event loop never touches the database: one thread writes, a few read. The
writer takes all that waits into one transaction, so that many callers share
one flush of the disk, and answers them with one wake-up of the loop. Whatever
breaks in a thread is the answer of those who wait for it; the thread goes on.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import ceil
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar, assert_never

import anyio
import anyio.to_thread

from bethink.engines.sqlite.answers import Answer, Answers
from bethink.engines.sqlite.index import IndexRows, SqliteIndex
from bethink.engines.sqlite.schema import (
    BUSY_S,
    FILE_NAME,
    RESERVE_FILE,
    Reserve,
    is_busy,
    open_connection,
    open_writer,
    translated,
)
from bethink.engines.sqlite.tables import Table, compact, tables_of
from bethink.errors import BethinkError, DiskFull, StorageError
from bethink.search.analysis import Analyzer, embedded, entry_of
from bethink.store import (
    Change,
    Delete,
    DeleteAll,
    Expect,
    Put,
    RecordPage,
    SetVector,
    check_scan,
    check_text,
    check_where,
    row_of,
)
from bethink.telemetry import log

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.sealing import Cipher
    from bethink.store import Collection, Key, R, Scan, Versioned


T = TypeVar("T")

Apply = Callable[[sqlite3.Connection, IndexRows], None]
"""Writes one batch inside a transaction."""

Prepare = Callable[[], Apply]
"""Works out a batch before the transaction begins, so that no other process waits for it."""

GROUP_MAX = 256
"""Batches in one transaction at most, so that none waits long for those behind it."""

READERS_MAX = 4
"""Enough that one owner whose index is being loaded does not hold up the others."""

LEAST_WAIT_S = 1.0
"""How long another process's writer is waited for once it was waited for in vain, and by changes that
waited too long for our own work."""

_log = log("store")


@dataclass(frozen=True, slots=True)
class _Batch:
    prepare: Prepare
    future: asyncio.Future[None]
    handed_in: float
    """When, by the monotonic clock."""


@dataclass(frozen=True, slots=True)
class _Task(Generic[T]):
    work: Callable[[sqlite3.Connection], T]
    future: asyncio.Future[T]

    def answer(self, connection: sqlite3.Connection, path: Path) -> Answer:
        try:
            return Answer(self.future, self.work(connection))
        except sqlite3.Error as error:
            return Answer(self.future, error=_storage_error(error, path))
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the task
            return Answer(self.future, error=error)
        finally:
            _roll_back(connection)


_Jobs = SimpleQueue["_Task[Any] | None"]


class Writer:
    """The one thread of this process that writes to the file."""

    def __init__(self, path: Path, cipher: Cipher | None = None) -> None:
        self._path = path
        self._cipher = cipher
        self._answers = Answers()
        self._jobs: SimpleQueue[_Batch | _Task[Any] | None] = SimpleQueue()
        self._ended = self._answers.future()
        self._closed = False
        # Only the thread looks at it.
        self._waited_in_vain = False

    async def open(self) -> None:
        """Open the file and bring it to the newest schema.

        Raises:
            StorageError: see `open_writer`.
        """
        opened = self._answers.future()
        threading.Thread(target=self._run, args=(opened,), name="bethink-writer", daemon=True).start()
        await opened

    async def commit(self, prepare: Prepare) -> None:
        """Apply a batch, durably, after those handed in before it.

        Raises:
            Conflict, BadInput, StorageError: nothing of the batch was applied.
        """
        future = self._answers.future()
        self._put(_Batch(prepare, future, time.monotonic()))
        await future

    async def alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` gives, called outside of any transaction, in turn with the batches."""
        future: asyncio.Future[T] = self._answers.future()
        self._put(_Task(work, future))
        return await future

    async def close(self) -> None:
        """Finish what was handed in, and end the thread."""
        self._closed = True
        self._jobs.put(None)
        await self._ended

    def _put(self, job: _Batch | _Task[Any]) -> None:
        if self._closed:
            raise StorageError("The store is closed.")
        self._jobs.put(job)

    def _run(self, opened: asyncio.Future[None]) -> None:
        try:
            connection = open_writer(self._path, self._cipher)
        except Exception as error:  # noqa: BLE001 - handed on to whoever opens the store
            self._answers.send(Answer(self._ended), Answer(opened, error=_storage_error(error, self._path)))
            return
        self._answers.send(Answer(opened))
        while self._serve(connection):
            pass
        with suppress(sqlite3.Error):
            connection.close()
        self._answers.send(Answer(self._ended))

    def _serve(self, connection: sqlite3.Connection) -> bool:
        """Do what waits, or wait; False at the end."""
        for kind, group in groupby(self._waiting(), type):
            jobs = list(group)
            if kind is _Batch:
                self._answers.send(
                    *self._commit(connection, [job for job in jobs if isinstance(job, _Batch)])
                )
            else:
                tasks = [job for job in jobs if isinstance(job, _Task)]
                self._answers.send(*[task.answer(connection, self._path) for task in tasks])
            if jobs[-1] is None:
                return False
        return True

    def _waiting(self) -> list[_Batch | _Task[Any] | None]:
        jobs = [self._jobs.get()]
        # Nobody else takes from the queue: what is there can be got.
        while len(jobs) < GROUP_MAX and not self._jobs.empty():
            jobs.append(self._jobs.get())
        return jobs

    def _commit(self, connection: sqlite3.Connection, batches: list[_Batch]) -> list[Answer]:
        answers: list[Answer] = []
        prepared: list[_Prepared] = []
        for batch in batches:
            try:
                prepared.append((batch.future, batch.prepare()))
            except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the batch
                answers.append(Answer(batch.future, error=error))
        # One for all of them: each waits for `BUSY_S` at least, and for twice as long at most.
        deadline = time.monotonic() + LEAST_WAIT_S
        if not self._waited_in_vain:
            deadline = max(deadline, batches[-1].handed_in + BUSY_S)
        return answers + self._transact(connection, prepared, deadline)

    def _transact(
        self, connection: sqlite3.Connection, prepared: list[_Prepared], deadline: float
    ) -> list[Answer]:
        if not prepared:
            return []
        try:
            with _patience(connection, deadline - time.monotonic()):
                connection.execute("BEGIN IMMEDIATE")
            self._waited_in_vain = False
            index = IndexRows(connection)
            answers = [_applied(connection, index, one, alone=len(prepared) == 1) for one in prepared]
            if not connection.in_transaction:
                return answers
            index.finish()
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the batches
            _roll_back(connection)
            is_in_vain = isinstance(error, sqlite3.Error) and is_busy(error)
            self._waited_in_vain |= is_in_vain
            if len(prepared) > 1 and not is_in_vain:
                # One of them does not fit on the disk, say: the others still may.
                return [answer for one in prepared for answer in self._transact(connection, [one], deadline)]
            return [Answer(future, error=_storage_error(error, self._path)) for future, _ in prepared]
        return answers


@contextmanager
def _patience(connection: sqlite3.Connection, seconds: float) -> Generator[None]:
    """Within the block the connection waits so long for another process, instead of `BUSY_S`.

    In tenths of a second: where that is as long as ever, nothing is to be told to it.
    """
    patience_s = ceil(max(seconds, 0) * 10) / 10
    if patience_s == BUSY_S:
        yield
        return
    connection.execute(f"PRAGMA busy_timeout = {round(patience_s * 1000)}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {round(BUSY_S * 1000)}")


_Prepared = tuple["asyncio.Future[None]", Apply]


def _applied(connection: sqlite3.Connection, index: IndexRows, prepared: _Prepared, *, alone: bool) -> Answer:
    """Apply a batch, or nothing of it; one that is `alone` in its transaction takes that back with it."""
    future, apply = prepared
    if not alone:
        connection.execute("SAVEPOINT batch")
    try:
        apply(connection, index)
    except sqlite3.Error:
        raise
    except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the batch
        connection.execute("ROLLBACK" if alone else "ROLLBACK TO batch")
        if not alone:
            connection.execute("RELEASE batch")
        return Answer(future, error=error)
    if not alone:
        connection.execute("RELEASE batch")
    return Answer(future)


def _storage_error(error: Exception, path: Path) -> BethinkError:
    """The error for whoever waits; one that nobody expected is logged too."""
    if isinstance(error, BethinkError):
        return error
    if isinstance(error, sqlite3.Error):
        raised = translated(error, str(path))
    else:
        _log.error("%s could not be used", path, exc_info=error)
        fault = f"{type(error).__name__}: {error}"
        raised = StorageError(f"{path} could not be used ({fault}); the log has more.")
    raised.__cause__ = error
    return raised


def _roll_back(connection: sqlite3.Connection) -> None:
    """End a transaction that was left open; where that fails, the next one says so."""
    if connection.in_transaction:
        with suppress(sqlite3.Error):
            connection.rollback()


class Readers:
    """A few threads that read, started when they are needed.

    Work goes to the thread that was idle for the shortest time: what its
    connection and the processor have at hand is warm.
    """

    def __init__(self, path: Path, cipher: Cipher | None = None) -> None:
        self._path = path
        self._cipher = cipher
        self._answers = Answers()
        self._ended: list[asyncio.Future[None]] = []
        self._all: list[_Jobs] = []
        self._lock = threading.Lock()
        self._idle: list[_Jobs] = []
        self._waiting: deque[_Task[Any]] = deque()
        self._closed = False

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` gives, called in one of the threads with its connection.

        Raises:
            StorageError: the file cannot be read.
        """
        if self._closed:
            raise StorageError("The store is closed.")
        future: asyncio.Future[T] = self._answers.future()
        self._hand(_Task(work, future))
        return await future

    async def close(self) -> None:
        """Finish what was asked for, and end the threads."""
        self._closed = True
        for jobs in self._all:
            jobs.put(None)
        for ended in self._ended:
            await ended

    def _hand(self, task: _Task[Any]) -> None:
        with self._lock:
            if self._idle:
                self._idle.pop().put(task)
            elif len(self._all) < READERS_MAX:
                self._start(task)
            else:
                self._waiting.append(task)

    def _start(self, task: _Task[Any]) -> None:
        jobs: _Jobs = SimpleQueue()
        ended = self._answers.future()
        thread = threading.Thread(target=self._run, args=(jobs, ended), name="bethink-reader", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            if not self._all:
                raise StorageError(f"The machine gives no thread to read with ({error}).") from error
            self._waiting.append(task)
            return
        self._all.append(jobs)
        self._ended.append(ended)
        jobs.put(task)

    def _run(self, jobs: _Jobs, ended: asyncio.Future[None]) -> None:
        connection: sqlite3.Connection | None = None
        task = jobs.get()
        while task is not None:
            try:
                connection = connection or open_connection(self._path, write=False, cipher=self._cipher)
                answer = task.answer(connection, self._path)
            except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the task
                answer = Answer(task.future, error=_storage_error(error, self._path))
            # Idle before the answer is there: who asks next on account of it finds this thread.
            following = self._following(jobs)
            self._answers.send(answer)
            task = following or jobs.get()
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()
        self._answers.send(Answer(ended))

    def _following(self, jobs: _Jobs) -> _Task[Any] | None:
        """What has waited longest; None if nothing waits, and the thread is idle."""
        with self._lock:
            while self._waiting:
                task = self._waiting.popleft()
                if not task.future.cancelled():
                    return task
            self._idle.append(jobs)
        return None


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
            if not (deletes and self._reserve and await anyio.to_thread.run_sync(self._reserve.release)):
                raise
            self._is_spent = True
            await self._writer.commit(prepared)
        for table in unmade:
            table.set_made()

    async def get(
        self, collection: Collection[R], owner: str, ids: Sequence[str]
    ) -> tuple[Versioned[R] | None, ...]:
        """The records with these ids, in their order, None if there is none."""
        table = self._table(collection)

        def work(connection: sqlite3.Connection) -> tuple[Versioned[R] | None, ...]:
            return tuple(table.get(connection, owner, ids)) if table.is_there else (None,) * len(ids)

        return await self._read([table], work)

    async def scan(self, owner: str, *scans: Scan[R]) -> list[RecordPage[R]]:
        """A page of records for each scan, in order."""
        wanted = [(self._table(scan.collection), scan, check_scan(scan)) for scan in scans]

        def work(connection: sqlite3.Connection) -> list[RecordPage[R]]:
            return [
                table.scan(connection, owner, scan, after=after) if table.is_there else RecordPage()
                for table, scan, after in wanted
            ]

        return await self._read([table for table, _, _ in wanted], work)

    async def count(self, owner: str, collection: Collection[R], where: Mapping[str, Key]) -> int:
        """How many records have keys equal to `where`."""
        check_where(collection, where)
        table = self._table(collection)
        return await self._read(
            [table],
            lambda connection: table.count(connection, owner, where) if table.is_there else 0,
        )

    async def owners(self, collection: Collection[Any], *, after: str = "", limit: int = 100) -> list[str]:
        """Owners of records of the collection, in order."""
        table = self._table(collection)
        return await self._read(
            [table],
            lambda connection: table.owners(connection, after, limit) if table.is_there else [],
        )

    async def scrub(self, owner: str | None = None) -> tuple[str, ...]:
        """Leave no trace of deleted records in any file of the store, whoever's they were.

        What was deleted is overwritten already, where it lay (see
        `tables`); the log keeps old pages until it is emptied.
        """
        del owner
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

    async def _read(self, tables: Sequence[Table], work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` gives, once it is known which of the tables are there.

        Who only reads waits for no writer, unless a table lacks a key that is declared by now.
        """
        unmade = [table for table in tables if not table.is_made]
        if not unmade:
            return await self._readers.run(work)

        def look_and_work(connection: sqlite3.Connection) -> tuple[T] | None:
            for table in unmade:
                table.look(connection)
            return None if any(table.is_older for table in unmade) else (work(connection),)

        if (given := await self._readers.run(look_and_work)) is not None:
            return given[0]
        for table in unmade:
            if table.is_older:
                await self._writer.alone(partial(_make, table))
        return await self._readers.run(work)

    def _prepare(self, owner: str, changes: tuple[Change, ...], unmade: Sequence[Table]) -> Apply:
        check_text(owner)
        steps = [self._step(owner, change) for change in changes]

        def apply(connection: sqlite3.Connection, index: IndexRows) -> None:
            for table in unmade:
                table.make(connection)
            for step in steps:
                step(connection, index)

        return apply

    def _step(self, owner: str, change: Change) -> Apply:
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
                item = embedded(change.text, change.vector, change.model, analyzer=self._analyzer)
                return lambda _, index: index.set_vector(owner, change.id, text=change.text, item=item)
            case _:
                assert_never(change)

    def _put(self, owner: str, put: Put[Any]) -> Apply:
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
                index.delete(owner, ("?", (row.id,)))

        return step

    def _delete(self, owner: str, delete: Delete[Any]) -> Apply:
        table = self._table(delete.collection)

        def step(connection: sqlite3.Connection, index: IndexRows) -> None:
            gone = table.delete(connection, owner, delete.id, if_version=delete.if_version)
            if gone and delete.collection.searchable:
                index.delete(owner, ("?", (delete.id,)))

        return step

    def _delete_all(self, owner: str, delete: DeleteAll[Any]) -> Apply:
        table = self._table(delete.collection)
        check_where(delete.collection, delete.where)

        def step(connection: sqlite3.Connection, index: IndexRows) -> None:
            if delete.collection.searchable:
                index.delete(owner, table.ids(owner, delete.where))
            table.delete_all(connection, owner, delete.where)

        return step


def _make(table: Table, connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    table.make(connection)
    connection.execute("COMMIT")
    table.set_made()


def _empty_log(connection: sqlite3.Connection) -> bool:
    """Move the log into the file and truncate it; False while a reader still needs it."""
    # Waiting here would keep every commit waiting: the caller comes again instead.
    try:
        with _patience(connection, 0):
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
async def open_database(directory: Path, cipher: Cipher | None = None) -> AsyncGenerator[SqliteDatabase]:
    """The database of a data directory, made if it is not there; closed with the block.

    With a `cipher` its bodies are sealed. Leaving the block finishes what was handed in.

    Raises:
        NewerSchema: a newer Bethink wrote it.
        StorageError: it cannot be opened; `CorruptDatabase` if it is damaged.
    """
    path = directory / FILE_NAME
    writer, readers = Writer(path, cipher), Readers(path, cipher)
    reserve = Reserve(directory / RESERVE_FILE)
    await anyio.to_thread.run_sync(reserve.make_room)
    await writer.open()
    try:
        table_of = await writer.alone(tables_of)
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
