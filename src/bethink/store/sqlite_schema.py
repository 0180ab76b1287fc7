"""How `bethink.sqlite3` is opened and brought to the newest schema. `store.sqlite` calls it."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

from bethink.errors import NewerSchema, StorageError
from bethink.store.sqlite_errors import BUSY_S, is_busy, translated
from bethink.store.sqlite_migrations import MIGRATIONS

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "bethink.sqlite3"

OLDEST_SQLITE = (3, 24, 0)
"""Upsert came with it."""

_STATEMENTS_KEPT = 512
"""Prepared statements a connection keeps; Bethink has fewer than this many distinct ones."""

_RETRY_S = 0.02


def open_connection(path: Path, *, write: bool) -> sqlite3.Connection:
    """A connection for one thread, in autocommit.

    Raises:
        sqlite3.Error: the file cannot be opened.
    """
    connection = sqlite3.connect(
        path, timeout=BUSY_S, isolation_level=None, cached_statements=_STATEMENTS_KEPT
    )
    if write:
        connection.execute("PRAGMA synchronous = FULL")
        # What is deleted is overwritten with zeros (https://sqlite.org/pragma.html#pragma_secure_delete).
        connection.execute("PRAGMA secure_delete = ON")
    else:
        connection.execute("PRAGMA query_only = ON")
    return connection


def open_writer(path: Path) -> sqlite3.Connection:
    """A writing connection to an existing or new file, brought to the newest schema.

    The directory is made with mode 0700, the file with 0600. A file that is
    newer or damaged is left as it is.

    Raises:
        NewerSchema: a newer Bethink wrote the file.
        StorageError: it cannot be opened; `CorruptDatabase` if it is damaged.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        raise StorageError(
            f"This Python has SQLite {sqlite3.sqlite_version}; Bethink needs {wanted} or newer."
        )
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be made or written ({error.strerror}); check who owns the directory, its "
            "permissions and the disk."
        ) from error
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            return _prepared(path)
        except sqlite3.Error as error:
            # Two processes that start on a new file meet where SQLite does not wait by itself.
            if not is_busy(error) or time.monotonic() > deadline:
                raise translated(error, str(path)) from error
            time.sleep(_RETRY_S)


def _prepared(path: Path) -> sqlite3.Connection:
    connection = open_connection(path, write=True)
    try:
        _check_version(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        applied = _check_version(connection, path)
        for number, migrate in enumerate(MIGRATIONS[applied:], applied + 1):
            migrate(connection)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(connection: sqlite3.Connection, path: Path) -> int:
    """How many migrations the file has; reading its schema shows most damage."""
    connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    (applied,) = connection.execute("PRAGMA user_version").fetchone()
    if applied > len(MIGRATIONS):
        raise NewerSchema(
            f"{path} has schema {applied}; this Bethink knows up to {len(MIGRATIONS)}. "
            "Start the newer version that wrote it."
        )
    return applied
