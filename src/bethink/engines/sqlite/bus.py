"""The bus between processes of one data directory: a small SQLite file of its own. `app` opens it.

Its own, because nothing in it must last (no flush of the disk, no place in a
backup), and because its readers look twenty times a second whether it
changed, which every commit of the store would answer with yes. One thread
holds the connection, and looks that often only while somebody subscribes.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar

import anyio

from bethink.bus import ALIVE_WITHIN_S, Mailboxes, Notice, TokenBuckets, opened_payload, sealed_payload
from bethink.clock import Clock, SystemClock
from bethink.engines.sqlite.answers import Answer, Answers
from bethink.errors import BethinkError, NewerSchema, StorageError
from bethink.telemetry import log

if TYPE_CHECKING:
    import asyncio
    from io import BufferedReader

    from bethink.sealing import Cipher


PROCESSES = "processes"
"""The directory that holds a locked file of each process."""

SCHEMA = 3

_SCHEMA_OF_PROCESSES = 2
"""Since when processes have a machine."""

KEPT_US = 10_000_000
"""A notice is removed after this time; who subscribes has read it long before."""

_ELSEWHERE = "elsewhere-"
"""Before the name of a locked file, among those of the processes: its process uses a bus on Redis."""

_BUSY_S = 5.0
_SECOND_US = 1_000_000
_MINUTE_US = 60 * _SECOND_US
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_TABLES = (
    """CREATE TABLE IF NOT EXISTS notices (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, topic TEXT NOT NULL,
        payload TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS leases (
        name TEXT PRIMARY KEY, process TEXT NOT NULL, until INTEGER NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS processes (
        process TEXT PRIMARY KEY, machine TEXT NOT NULL, seen INTEGER NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS buckets (
        name TEXT PRIMARY KEY, tokens REAL NOT NULL, at INTEGER NOT NULL)""",
)


def open_file(path: Path) -> sqlite3.Connection:
    """A connection to the bus's file, made anew where it is missing or damaged: nothing in it must last.

    Raises:
        sqlite3.Error, OSError: the directory cannot be written.
        NewerSchema: a newer Bethink uses it now.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600, exist_ok=True)
    try:
        return _opened(path)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode not in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}:
            raise
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    path.touch(mode=0o600)
    return _opened(path)


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    try:
        version = _version_of(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        # A notice may quote what its owner forgets a minute later.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN IMMEDIATE")
        if version < _SCHEMA_OF_PROCESSES:
            connection.execute("DROP TABLE IF EXISTS processes")
        for table in _TABLES:
            connection.execute(table)
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _version_of(connection: sqlite3.Connection, path: Path) -> int:
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if schema > SCHEMA:
        raise NewerSchema(f"{path} is used by a newer Bethink; stop the older one.")
    return schema


class BusFile:
    """What one process does with the file.

    That it lives, a process says with the time, every few seconds, and by a lock on a file of its own: the
    operating system lets go of that when the process ends, however it ends.
    """

    def __init__(self, connection: sqlite3.Connection, process: str, clock: Clock, *, locks: Path) -> None:
        self._connection = connection
        self._process = process
        self._clock = clock
        self._locks = locks
        self._machine = _machine()
        lock = locks / process
        locks.mkdir(mode=0o700, exist_ok=True)
        lock.touch(mode=0o600)
        self._lock = lock.open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            _refuse_other_bus(locks, process)
        except StorageError:
            self._lock.close()
            raise
        self._listeners = 0
        self._last = 0
        self._version = 0
        self._say()

    @property
    def listening(self) -> bool:
        """Whether anybody in this process subscribes."""
        return self._listeners > 0

    def listen(self) -> None:
        """One subscriber more: from here on `news` gives what is published."""
        self._listeners += 1
        if self._listeners == 1:
            (last,) = self._connection.execute("SELECT max(id) FROM notices").fetchone()
            self._last = last or 0

    def stop_listening(self) -> None:
        """One subscriber fewer."""
        self._listeners -= 1

    def publish(self, topic: str, payload: str) -> None:
        """Add a notice for every process."""
        self._connection.execute(
            "INSERT INTO notices (at, topic, payload) VALUES (?, ?, ?)",
            (self._clock.now_us(), topic, payload),
        )
        # Its own commit does not change a connection's `data_version`.
        self._version = 0

    def news(self) -> list[Notice]:
        """Notices since the last call, in order."""
        if not self.listening:
            return []
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return []
        rows = self._connection.execute(
            "SELECT id, topic, payload FROM notices WHERE id > ? ORDER BY id", (self._last,)
        ).fetchall()
        self._version = version
        if rows:
            self._last = rows[-1][0]
        return [Notice(topic, payload) for _, topic, payload in rows]

    def claim(self, name: str, ttl_s: float) -> bool:
        """Take or renew a lease; False while another living process holds it."""
        with self._transaction():
            now = self._clock.now_us()
            held = self._connection.execute(
                "SELECT process FROM leases WHERE name = ? AND until > ?", (name, now)
            ).fetchall()
            if held and held[0][0] != self._process and self.is_alive(held[0][0]):
                return False
            self._connection.execute(
                "INSERT OR REPLACE INTO leases VALUES (?, ?, ?)",
                (name, self._process, now + round(ttl_s * 1_000_000)),
            )
            return True

    def release(self, name: str) -> None:
        """Give up a lease of this process."""
        self._connection.execute("DELETE FROM leases WHERE name = ? AND process = ?", (name, self._process))

    def is_alive(self, process: str) -> bool:
        """Whether that process has the bus open."""
        row = self._connection.execute(
            "SELECT machine, seen FROM processes WHERE process = ?", (process,)
        ).fetchone()
        if row is None:
            return False
        machine, seen = row
        if machine == self._machine:
            return _is_locked(self._locks / process)
        return seen > self._clock.now_us() - ALIVE_WITHIN_S * _SECOND_US

    def take(self, name: str, per_minute: int) -> float:
        """Take one from a bucket; how many seconds until there is one, if there is none."""
        with self._transaction():
            now = self._clock.now_us()
            held = self._connection.execute(
                "SELECT tokens, at FROM buckets WHERE name = ?", (name,)
            ).fetchone()
            tokens, at = held or (per_minute, now)
            tokens = min(per_minute, tokens + max(now - at, 0) * per_minute / _MINUTE_US)
            wait_s = 0.0 if tokens >= 1 else (1 - tokens) * _MINUTE_US / per_minute / _SECOND_US
            self._connection.execute(
                "INSERT OR REPLACE INTO buckets VALUES (?, ?, ?)",
                (name, tokens if wait_s else tokens - 1, now),
            )
        return wait_s

    def do_chores(self) -> None:
        """Say that this process lives; remove ended ones and notices that everybody has read."""
        with self._transaction():
            now = self._clock.now_us()
            self._say()
            self._connection.execute("DELETE FROM notices WHERE at <= ?", (now - KEPT_US,))
            # Full again by now.
            self._connection.execute("DELETE FROM buckets WHERE at <= ?", (now - _MINUTE_US,))
            for (process,) in self._connection.execute("SELECT process FROM processes").fetchall():
                if not self.is_alive(process):
                    self._connection.execute("DELETE FROM processes WHERE process = ?", (process,))
                    (self._locks / process).unlink(missing_ok=True)
            self._connection.execute(
                "DELETE FROM leases WHERE process NOT IN (SELECT process FROM processes)"
            )
        # Out of the log too; where another process is reading it, the next round does it.
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Leave the bus: its leases are free."""
        with self._transaction():
            self._connection.execute("DELETE FROM leases WHERE process = ?", (self._process,))
            self._connection.execute("DELETE FROM processes WHERE process = ?", (self._process,))
        self._connection.close()
        self._lock.close()
        (self._locks / self._process).unlink(missing_ok=True)

    def _say(self) -> None:
        """That this process lives: another may have taken it for ended, where the machine slept."""
        self._connection.execute(
            "INSERT INTO processes VALUES (?, ?, ?) ON CONFLICT (process) DO UPDATE SET seen = excluded.seen",
            (self._process, self._machine, self._clock.now_us()),
        )

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


def is_in_use(directory: Path) -> bool:
    """Whether a living process is on the bus of a data directory."""
    return any(map(_is_locked, (directory / PROCESSES).glob("*")))


@asynccontextmanager
async def bus_elsewhere(directory: Path) -> AsyncGenerator[None]:
    """Within the block this process uses a bus that is not in the directory, as all others on it must.

    Raises:
        StorageError: one of them uses the one in the directory.
    """
    lock = await anyio.to_thread.run_sync(_locked_elsewhere, directory)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lock.close)


def _locked_elsewhere(directory: Path) -> BufferedReader:
    locks = directory / PROCESSES
    locks.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = locks / f"{_ELSEWHERE}{uuid.uuid4().hex}"
    path.touch(mode=0o600)
    lock = path.open("rb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _refuse_other_bus(locks, path.name)
    except BaseException:
        lock.close()
        raise
    return lock


def _refuse_other_bus(locks: Path, mine: str) -> None:
    """Two buses on the same data would each take the processes of the other for dead."""
    for path in locks.iterdir():
        is_elsewhere = path.name.startswith(_ELSEWHERE)
        if not _is_locked(path):
            if is_elsewhere:
                path.unlink(missing_ok=True)
        elif is_elsewhere != mine.startswith(_ELSEWHERE):
            raise StorageError(
                f"A process that runs on {locks.parent} has other settings for Redis: give all of them the"
                " same BETHINK_REDIS_URL and BETHINK_REDIS_USE, or stop it first."
            )


def _is_locked(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _machine() -> str:
    """One text for all processes among which locks on files hold: containers of one machine, too."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        # Not a Linux: the machine's name has to do.
        return os.uname().nodename


T = TypeVar("T")

FILE_NAME = "bus.sqlite3"

POLL_S = 0.05
"""How late another process's notice is seen at most: soon for a person, seldom for a machine."""

CHORES_S = 10.0
"""How often a process says that it lives, and removes what everybody has had the time to read."""

_log = log("bus")


class SqliteBus:
    """One process's access to the bus; made by `open_bus`."""

    def __init__(self, path: Path, clock: Clock, cipher: Cipher | None = None) -> None:
        self._path = path
        self._cipher = cipher
        self._clock = clock
        self._process = uuid.uuid4().hex
        self._mailboxes = Mailboxes()
        self._buckets = TokenBuckets()
        self._answers = Answers()
        # The thread ends on None.
        self._jobs: SimpleQueue[Callable[[BusFile], None] | None] = SimpleQueue()
        self._ended: asyncio.Future[None] = self._answers.future()
        self._closed = False
        self._fault: str | None = None

    @property
    def process(self) -> str:
        """This process's own name on the bus."""
        return self._process

    @property
    def fault(self) -> str | None:
        """What went wrong at its last chores, as a sentence; None if nothing did."""
        return self._fault

    async def publish(self, topic: str, payload: str = "") -> None:
        """Tell every subscriber of the topic, in every process."""
        said = sealed_payload(payload, self._cipher)
        await self._run(lambda file: file.publish(topic, said))

    @asynccontextmanager
    async def subscribe(self, topic: str) -> AsyncGenerator[AsyncIterator[Notice]]:
        """Notices published after the block was entered, in order."""
        try:
            await self._run(BusFile.listen)
            mailbox = self._mailboxes.open(topic)
            try:
                yield mailbox
            finally:
                self._mailboxes.drop(topic, mailbox)
        finally:
            self._jobs.put(BusFile.stop_listening)

    async def claim(self, name: str, ttl_s: float) -> bool:
        """Take or renew the lease `name` for `ttl_s` seconds."""
        return await self._run(lambda file: file.claim(name, ttl_s))

    async def release(self, name: str) -> None:
        """Give up the lease if this process holds it."""
        await self._run(lambda file: file.release(name))

    async def is_alive(self, process: str) -> bool:
        """Whether the process with that name on the bus still runs.

        Known at once on this machine, else when it has said nothing for `ALIVE_WITHIN_S`.
        """
        return await self._run(lambda file: file.is_alive(process))

    async def take(self, name: str, per_minute: int) -> float:
        """Take one from a bucket of the file; from one of this process while that cannot be used."""
        try:
            return await self._run(lambda file: file.take(name, per_minute))
        except StorageError:
            return self._buckets.take(name, per_minute)

    async def open(self) -> None:
        """Open the file and start the thread.

        Raises:
            StorageError: the directory cannot be written.
        """
        opened: asyncio.Future[None] = self._answers.future()
        threading.Thread(target=self._work, args=(opened,), name="bethink-bus", daemon=True).start()
        await opened

    async def close(self) -> None:
        """End every subscription and leave the bus."""
        self._closed = True
        self._mailboxes.close()
        self._jobs.put(None)
        await self._ended

    async def _run(self, work: Callable[[BusFile], T]) -> T:
        if self._closed:
            raise StorageError("The bus is closed.")
        future: asyncio.Future[T] = self._answers.future()

        def job(file: BusFile) -> None:
            try:
                answer = Answer(future, work(file))
            except sqlite3.Error as error:
                answer = Answer(future, error=self._unusable(error))
            except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the job
                answer = Answer(future, error=error)
            self._answers.send(answer)

        self._jobs.put(job)
        return await future

    def _work(self, opened: asyncio.Future[None]) -> None:
        try:
            locks = self._path.with_name(PROCESSES)
            file = BusFile(open_file(self._path), self._process, self._clock, locks=locks)
        except BethinkError as error:
            self._answers.send(Answer(opened, error=error))
            return
        except Exception as error:  # noqa: BLE001 - handed on to whoever opens the bus
            self._answers.send(Answer(opened, error=self._unusable(error)))
            return
        self._answers.send(Answer(opened))
        chores_at = time.monotonic()
        try:
            while self._step(file, chores_at):
                if time.monotonic() >= chores_at:
                    self._fault = self._attempt(file.do_chores)
                    chores_at = time.monotonic() + CHORES_S
        finally:
            self._attempt(file.close)
            self._answers.send(Answer(self._ended))

    def _step(self, file: BusFile, chores_at: float) -> bool:
        """Wait for a job or for the time to look for news; False at the end."""
        wait_s = max(chores_at - time.monotonic(), 0)
        try:
            job = self._jobs.get(timeout=min(wait_s, POLL_S) if file.listening else wait_s)
        except Empty:
            self._attempt(lambda: self._deliver(file.news()))
            return True
        if job is None:
            return False
        # Before the job too: who subscribes by it gets nothing that was published before.
        self._attempt(lambda: self._deliver(file.news()))
        job(file)
        self._attempt(lambda: self._deliver(file.news()))
        return True

    def _attempt(self, work: Callable[[], None]) -> str | None:
        """Do what nobody waits for; what failed is tried again at its next time, and said here."""
        try:
            work()
        except sqlite3.Error as error:
            _log.warning("The bus could not use %s: %s", self._path, error)
            return f"{self._path} cannot be used: {error}"
        except Exception as error:  # noqa: BLE001 - a background thread: recorded, and told in health
            _log.exception("The bus could not use %s", self._path)
            return f"{self._path} cannot be used: {error}"
        return None

    def _deliver(self, notices: Sequence[Notice]) -> None:
        if notices:
            opened = [Notice(one.topic, opened_payload(one.payload, self._cipher)) for one in notices]
            self._answers.call(self._mailboxes.deliver, opened)

    def _unusable(self, error: Exception) -> StorageError:
        unusable = StorageError(f"{self._path} cannot be used: {error}")
        unusable.__cause__ = error
        return unusable


@asynccontextmanager
async def open_bus(
    directory: Path, *, clock: Clock | None = None, cipher: Cipher | None = None
) -> AsyncGenerator[SqliteBus]:
    """The bus of a data directory, made if it is not there; closed with the block.

    With a `cipher` nobody else can read what its file has of notices.

    Raises:
        NewerSchema: a newer Bethink uses it now.
        StorageError: the directory cannot be written.
    """
    bus = SqliteBus(directory / FILE_NAME, clock or SystemClock(), cipher)
    await bus.open()
    try:
        yield bus
    finally:
        # Also when the block is left by a cancellation.
        with anyio.CancelScope(shield=True):
            await bus.close()
