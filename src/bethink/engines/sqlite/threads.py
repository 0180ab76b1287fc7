"""Threads that own SQLite's connections: one that writes, a few that read. `store` hands them work.

The event loop never touches the database. The writer takes all that waits into
one transaction, so that many callers share one flush of the disk, and answers
them with one wake-up of the loop. Whatever breaks in a thread is the answer of
those who wait for it; the thread goes on.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bethink.engines.sqlite.index import IndexRows
from bethink.engines.sqlite.schema import BUSY_S, is_busy, open_connection, open_writer, patience, translated
from bethink.errors import BethinkError, StorageError
from bethink.telemetry import log

if TYPE_CHECKING:
    from pathlib import Path

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
class _Answer:
    future: asyncio.Future[Any]
    value: Any = None
    error: BaseException | None = None


class _Answers:
    """Futures of the loop that made this, answered from threads."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def future(self) -> asyncio.Future[Any]:
        return self._loop.create_future()

    def send(self, answers: list[_Answer]) -> None:
        try:
            self._loop.call_soon_threadsafe(_settle, answers)
        except RuntimeError:
            # The loop was closed without closing the store: nobody waits any more.
            return


def _settle(answers: list[_Answer]) -> None:
    for answer in answers:
        if answer.future.done():
            # Its caller was cancelled.
            continue
        if answer.error is None:
            answer.future.set_result(answer.value)
        else:
            answer.future.set_exception(answer.error)


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

    def answer(self, connection: sqlite3.Connection, place: str) -> _Answer:
        try:
            return _Answer(self.future, self.work(connection))
        except sqlite3.Error as error:
            return _Answer(self.future, error=_told(error, place))
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the task
            return _Answer(self.future, error=error)
        finally:
            _roll_back(connection)


_Jobs = SimpleQueue["_Task[Any] | None"]


class Writer:
    """The one thread of this process that writes to the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._answers = _Answers()
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
            connection = open_writer(self._path)
        except Exception as error:  # noqa: BLE001 - handed on to whoever opens the store
            self._answers.send([_Answer(self._ended), _Answer(opened, error=_told(error, str(self._path)))])
            return
        self._answers.send([_Answer(opened)])
        while self._serve(connection):
            pass
        with suppress(sqlite3.Error):
            connection.close()
        self._answers.send([_Answer(self._ended)])

    def _serve(self, connection: sqlite3.Connection) -> bool:
        """Do what waits, or wait; False at the end."""
        for kind, group in groupby(self._waiting(), type):
            jobs = list(group)
            if kind is _Batch:
                self._answers.send(self._commit(connection, [job for job in jobs if isinstance(job, _Batch)]))
            else:
                tasks = [job for job in jobs if isinstance(job, _Task)]
                self._answers.send([task.answer(connection, str(self._path)) for task in tasks])
            if jobs[-1] is None:
                return False
        return True

    def _waiting(self) -> list[_Batch | _Task[Any] | None]:
        jobs = [self._jobs.get()]
        # Nobody else takes from the queue: what is there can be got.
        while len(jobs) < GROUP_MAX and not self._jobs.empty():
            jobs.append(self._jobs.get())
        return jobs

    def _commit(self, connection: sqlite3.Connection, batches: list[_Batch]) -> list[_Answer]:
        answers: list[_Answer] = []
        prepared: list[_Prepared] = []
        for batch in batches:
            try:
                prepared.append((batch.future, batch.prepare()))
            except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the batch
                answers.append(_Answer(batch.future, error=error))
        # One for all of them: each waits for `BUSY_S` at least, and for twice as long at most.
        deadline = time.monotonic() + LEAST_WAIT_S
        if not self._waited_in_vain:
            deadline = max(deadline, batches[-1].handed_in + BUSY_S)
        return answers + self._transact(connection, prepared, deadline)

    def _transact(
        self, connection: sqlite3.Connection, prepared: list[_Prepared], deadline: float
    ) -> list[_Answer]:
        if not prepared:
            return []
        try:
            with patience(connection, deadline - time.monotonic()):
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
            return [_Answer(future, error=_told(error, str(self._path))) for future, _ in prepared]
        return answers


_Prepared = tuple["asyncio.Future[None]", Apply]


def _applied(
    connection: sqlite3.Connection, index: IndexRows, prepared: _Prepared, *, alone: bool
) -> _Answer:
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
        return _Answer(future, error=error)
    if not alone:
        connection.execute("RELEASE batch")
    return _Answer(future)


def _told(error: Exception, place: str) -> BethinkError:
    """What whoever waits is told; an error that nobody expected is logged too."""
    if isinstance(error, BethinkError):
        return error
    if isinstance(error, sqlite3.Error):
        told = translated(error, place)
    else:
        _log.error("%s could not be used", place, exc_info=error)
        told = StorageError(f"{place} could not be used ({type(error).__name__}: {error}); the log has more.")
    told.__cause__ = error
    return told


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

    def __init__(self, path: Path) -> None:
        self._path = path
        self._answers = _Answers()
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
                connection = connection or open_connection(self._path, write=False)
                answer = task.answer(connection, str(self._path))
            except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the task
                answer = _Answer(task.future, error=_told(error, str(self._path)))
            # Idle before the answer is there: who asks next on account of it finds this thread.
            following = self._following(jobs)
            self._answers.send([answer])
            task = following or jobs.get()
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()
        self._answers.send([_Answer(ended)])

    def _following(self, jobs: _Jobs) -> _Task[Any] | None:
        """What has waited longest; None where nothing waits, and the thread is idle."""
        with self._lock:
            while self._waiting:
                task = self._waiting.popleft()
                if not task.future.cancelled():
                    return task
            self._idle.append(jobs)
        return None
