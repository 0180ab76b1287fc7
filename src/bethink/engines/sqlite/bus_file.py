"""SQL of the bus's file. `bus.sqlite` calls it, in its one thread."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bethink.bus import Notice
from bethink.engines.sqlite.processes import Process, is_running, this_process
from bethink.errors import NewerSchema

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from bethink.clock import Clock

SCHEMA = 1

KEPT_US = 10_000_000
"""A notice is removed after this time; who subscribes has read it long before."""

SILENT_US = 60_000_000
"""A process that cannot be looked up counts as ended when it has said nothing for this long."""

_BUSY_S = 5.0

_TABLES = (
    """CREATE TABLE IF NOT EXISTS notices (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, topic TEXT NOT NULL,
        payload TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS leases (
        name TEXT PRIMARY KEY, process TEXT NOT NULL, until INTEGER NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS processes (
        process TEXT PRIMARY KEY, machine TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL,
        seen INTEGER NOT NULL)""",
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
        _check_version(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        # A notice may quote what its owner forgets a minute later.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            connection.execute(table)
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if schema > SCHEMA:
        raise NewerSchema(f"{path} is used by a newer Bethink; stop the older one.")


class BusFile:
    """What one process does with the file."""

    def __init__(self, connection: sqlite3.Connection, process: str, clock: Clock) -> None:
        self._connection = connection
        self._process = process
        self._clock = clock
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
        rows = self._connection.execute(
            "SELECT machine, pid, started, seen FROM processes WHERE process = ?", (process,)
        ).fetchall()
        if not rows:
            return False
        machine, pid, started, seen = rows[0]
        running = is_running(Process(machine, pid, started))
        return running if running is not None else seen > self._clock.now_us() - SILENT_US

    def do_chores(self) -> None:
        """Say that this process lives; remove ended ones and notices that everybody has read."""
        with self._transaction():
            now = self._clock.now_us()
            self._say()
            self._connection.execute("DELETE FROM notices WHERE at <= ?", (now - KEPT_US,))
            for (process,) in self._connection.execute("SELECT process FROM processes").fetchall():
                if not self.is_alive(process):
                    self._connection.execute("DELETE FROM processes WHERE process = ?", (process,))
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

    def _say(self) -> None:
        """That this process lives: another may have taken it for ended, where the machine slept."""
        self._connection.execute(
            "INSERT INTO processes VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (process) DO UPDATE SET seen = excluded.seen",
            (self._process, *_columns(this_process()), self._clock.now_us()),
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


def _columns(process: Process) -> tuple[str, int, str]:
    return process.machine, process.pid, process.started
