"""How `bethink.sqlite3` is opened and brought to the newest schema. `store` calls it.

A new collection needs no migration: `tables.Table.make` makes what it declares. It also adds and fills a key
that is new in a collection; such a change takes a number here all the same, with nothing to do, since an
older Bethink, which would not write the key, must refuse the file. The file's `user_version` is the number of
the last migration that was applied. Migrations are frozen once released.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from shutil import disk_usage
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.engines.sqlite.index import INDEX_TABLES, body_of
from bethink.engines.sqlite.tables import (
    BODY_TABLES,
    SECRET_BYTES,
    SqliteConnection,
    blank,
    cipher_of,
    definition,
    keep_padded,
    layout_of,
    secret_of,
    show_opened,
)
from bethink.errors import BethinkError, CorruptDatabase, DiskFull, NewerSchema, StorageError, TooLarge
from bethink.search.analysis import Analyzer, Names, ShardEntry, quantized
from bethink.store import Seal

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.sealing import Cipher

_COLUMNS_OF_ALL = ("owner", "id", "version", "schema")
_INDEX_ITEMS_OF_3 = """
CREATE TABLE index_items (
    change INTEGER PRIMARY KEY, owner TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
    at INTEGER NOT NULL, analysis INTEGER NOT NULL, model TEXT, vector INTEGER NOT NULL,
    terms INTEGER NOT NULL, place INTEGER NOT NULL, text INTEGER NOT NULL, UNIQUE (owner, id))
"""
_OLD_ITEMS = """
SELECT change, owner, id, kind, at, analysis, model, vector, terms, conversation, project, speaker, text
    FROM old_index_items ORDER BY change
"""
_ITEMS_BY_OWNER = """
INSERT INTO index_items
    SELECT owner, change, id, kind, at, analysis, model, vector, terms, place, text
    FROM old_index_items ORDER BY change
"""
_TOMBSTONES_BY_OWNER = "INSERT INTO index_tombstones SELECT owner, change, id FROM old_index_tombstones"
_STATE_BY_OWNER = """
INSERT INTO index_state SELECT owner, change, floor
    FROM (SELECT owner FROM index_items UNION SELECT owner FROM index_tombstones) CROSS JOIN old_index_state
"""


def newest(connection: sqlite3.Connection) -> None:
    """What a new file holds before any collection is used."""
    _make_bodies(connection)
    for statement in INDEX_TABLES:
        connection.execute(statement)


def _make_bodies(connection: sqlite3.Connection) -> Seal:
    for statement in BODY_TABLES:
        connection.execute(statement)
    secret = os.urandom(SECRET_BYTES)
    cipher = cipher_of(connection)
    connection.execute("INSERT INTO seal VALUES (?)", (cipher.seal(secret) if cipher else secret,))
    return Seal(secret)


def _bodies_apart(connection: sqlite3.Connection) -> None:
    """Texts and vectors into a table whose rows never move, so that they can be blotted out."""
    old = {name: layout for name, layout in layout_of(connection).items() if "body" in layout.columns}
    seal = _make_bodies(connection)
    for table, layout in old.items():
        _set_aside(connection, table)
        keys = sorted(layout.columns.difference(_COLUMNS_OF_ALL, ["body"]))
        connection.execute(definition(table, keys))
        columns = ", ".join((*_COLUMNS_OF_ALL, *keys))
        values = ", ".join("?" * (len(_COLUMNS_OF_ALL) + len(keys) + 1))
        for row in connection.execute(f"SELECT {columns}, body FROM old_{table} ORDER BY rowid"):  # noqa: S608 - names of the file
            kept = (*row[:4], *map(seal, row[4:-1]), keep_padded(connection, row[-1]))
            connection.execute(f"INSERT INTO {table} VALUES ({values})", kept)  # noqa: S608 - the same
    _set_aside(connection, "index_items")
    connection.execute(_INDEX_ITEMS_OF_3)
    analyzer = Analyzer()
    for item in connection.execute(_OLD_ITEMS):
        _move_item(connection, item, analyzer)
    for table in (*old, "index_items"):
        connection.execute(f"DROP TABLE old_{table}")


def _move_item(connection: sqlite3.Connection, item: tuple[Any, ...], analyzer: Analyzer) -> None:
    *_, model, vector, terms, conversation, project, speaker, text = item
    if vector:
        import numpy as np

        vector = quantized(np.frombuffer(vector, "<f4"))
    names = Names(conversation, project, speaker)
    entry = ShardEntry("", "", 0, names, analyzer.digests(terms.split()), model, vector or b"")
    places = (keep_padded(connection, body_of(entry)), keep_padded(connection, msgspec.json.encode(text)))
    values = (*item[:6], model, len(entry.vector), len(entry.terms), *places)
    connection.execute("INSERT INTO index_items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)


def without_unkeyed_digests(connection: sqlite3.Connection) -> None:
    """Away with digests by which whoever has the file could test a guess of what was said.

    Histories of before lead to no conversation any more; responses stay.
    """
    if "threads" not in layout_of(connection, "threads"):
        return
    response = (Seal(secret_of(connection))("response"),)
    blank(connection, ("SELECT place FROM threads WHERE said IS NOT ?", response))
    connection.execute("DELETE FROM threads WHERE said IS NOT ?", response)


def journal_in_order(connection: sqlite3.Connection) -> None:
    """Give journal entries ids of fixed length, that sort as their places do: 5.1050 stood before 5.7."""
    rows = connection.execute(
        "SELECT journal.rowid, id, body, place FROM journal JOIN bodies USING (place)"
    ).fetchall()
    for number, id, body, place in rows:
        run, _, at = id.rpartition(":")
        sequence, _, characters = at.partition(".")
        new = f"{run}:{int(sequence):018}.{int(characters):018}"
        kept = keep_padded(connection, msgspec.json.encode(msgspec.json.decode(body) | {"id": new}), place)
        connection.execute("UPDATE journal SET id = ?, place = ? WHERE rowid = ?", (new, kept, number))


def _changes_by_owner(connection: sqlite3.Connection) -> None:
    """Every owner's changes are numbered from here on by themselves; those of before keep their numbers."""
    tables = ("index_items", "index_tombstones", "index_state")
    for table in tables:
        _set_aside(connection, table)
    for statement in (*INDEX_TABLES, _ITEMS_BY_OWNER, _TOMBSTONES_BY_OWNER, _STATE_BY_OWNER):
        connection.execute(statement)
    for table in tables:
        connection.execute(f"DROP TABLE old_{table}")


def _set_aside(connection: sqlite3.Connection, table: str) -> None:
    """Rename a table, and free the names of its indexes. What is dropped later is overwritten."""
    for index in layout_of(connection, table)[table].indexes:
        if not index.startswith("sqlite_"):
            connection.execute(f"DROP INDEX {index}")
    connection.execute(f"ALTER TABLE {table} RENAME TO old_{table}")


def _nothing(connection: sqlite3.Connection) -> None:
    """What an older Bethink cannot read.

    21: several vectors of an item, and of which whole it is a part. 22: a PostgreSQL that is sealed.
    """
    del connection


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {
    3: _bodies_apart,
    14: without_unkeyed_digests,
    19: journal_in_order,
    20: _changes_by_owner,
    21: _nothing,
    22: _nothing,
}
"""By number; the others declared tables, which `Table.make` does."""


BUSY_S = 10.0
"""How long a change waits for another process's writer before it is given up, in seconds."""

_PRIMARY = 0xFF
"""The low byte of an extended result code (https://sqlite.org/rescode.html)."""


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process was in the way."""
    return _code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def translated(error: sqlite3.Error, place: str) -> StorageError | TooLarge:
    """The error to raise instead; `place` is the file, as a person knows it."""
    if isinstance(error, sqlite3.DataError):
        return TooLarge("A record is larger than a database can hold (1 GB).")
    match _code(error):
        case sqlite3.SQLITE_FULL:
            return DiskFull()
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return CorruptDatabase(
                f"{place} is damaged or is not a database ({error}). Restore a backup, or move the file "
                "away to start empty."
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StorageError(
                f"Another process is writing to {place} and did not make way in time; nothing of this change "
                "was written. Repeat it, or stop that process."
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return StorageError(
                f"{place} cannot be opened for writing ({error}); check who owns the directory and its "
                "permissions."
            )
        case sqlite3.SQLITE_IOERR:
            return StorageError(
                f"{place} cannot be read or written ({error}): check the disk, its free space and "
                "the limits on how large files may be."
            )
        case _:
            return StorageError(f"{place} cannot be used: {error}")


def _code(error: sqlite3.Error) -> int | None:
    # Errors that the Python module raises by itself have no code.
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_IOERR_SHMSIZE:
        return sqlite3.SQLITE_FULL  # no room for the log's index
    return None if code is None else code & _PRIMARY


FILE_NAME = "bethink.sqlite3"

OLDEST_SQLITE = (3, 24, 0)
"""Upsert came with it."""

_STATEMENTS_KEPT = 512
"""Prepared statements a connection keeps; Bethink has fewer than this many distinct ones."""

_RETRY_S = 0.02

_LOG_MAGIC = {0x377F0682, 0x377F0683}
_LOG_HEADER = struct.Struct(">I4xI4x8s8x")
_LOG_FRAME = struct.Struct(">II8s8x")
"""Of the write-ahead log: magic number, page size, salts; of each of its frames: page, how many pages the
database has behind a commit (else 0), salts (https://sqlite.org/fileformat2.html#the_write_ahead_log)."""

_LOCK_BYTE = 0x40000000
"""The page that holds this byte is never written (fileformat2.html#the_lock_byte_page)."""


def open_connection(path: Path, *, write: bool, cipher: Cipher | None = None) -> sqlite3.Connection:
    """A connection for one thread, in autocommit; with a `cipher` it reads what is sealed.

    Raises:
        sqlite3.Error: the file cannot be opened.
    """
    connection = sqlite3.connect(
        path,
        timeout=BUSY_S,
        isolation_level=None,
        cached_statements=_STATEMENTS_KEPT,
        factory=SqliteConnection,
    )
    connection.cipher = cipher
    if write:
        connection.execute("PRAGMA synchronous = FULL")
        # What is deleted is overwritten with zeros (https://sqlite.org/pragma.html#pragma_secure_delete).
        connection.execute("PRAGMA secure_delete = ON")
    else:
        show_opened(connection)
        connection.execute("PRAGMA query_only = ON")
    return connection


def check_files(path: Path) -> None:
    """See that the database is there, and whole, if there is a log that goes on from it.

    SQLite takes an empty file for a new database and drops the log beside it; that
    pages are missing it notices when one of them is needed.

    Raises:
        CorruptDatabase: it is missing, empty or cut short.
        OSError: it cannot be looked at.
    """
    log = path.with_name(f"{path.name}-wal")
    # In this order: who makes a database makes its file first.
    if not (log.exists() or path.with_name(f"{path.name}-shm").exists()):
        return
    if not path.exists():
        fault = "is missing"
    elif not path.stat().st_size:
        fault = "is empty"
    elif _lacks_pages(path, log):
        time.sleep(_RETRY_S)
        # Another process may have moved the log into the file between two looks.
        if not _lacks_pages(path, log):
            return
        fault = "is cut short"
    else:
        return
    raise CorruptDatabase(
        f"{path} {fault}, but the log beside it ({log.name}, {path.name}-shm) goes on from it: the file was "
        "removed, or not copied whole. Restore it together with its log from where they were, or restore a "
        f"backup and move the log away. To start empty, move all of {path.name}* away."
    )


def _lacks_pages(path: Path, log: Path) -> bool:
    """Whether there are pages of the database that neither the file nor its log has."""
    logged: set[int] = set()
    pages = 0
    with log.open("rb") as file:
        header = file.read(_LOG_HEADER.size)
        if len(header) < _LOG_HEADER.size:
            return False
        magic, page_bytes, salts = _LOG_HEADER.unpack(header)
        if magic not in _LOG_MAGIC or not page_bytes:
            return False
        uncommitted: set[int] = set()
        while len(frame := file.read(_LOG_FRAME.size)) == _LOG_FRAME.size:
            page, count, of_frame = _LOG_FRAME.unpack(frame)
            if of_frame != salts:
                break
            uncommitted.add(page)
            if count:
                pages = count
                logged |= uncommitted
                uncommitted.clear()
            file.seek(page_bytes, 1)
    there = path.stat().st_size // page_bytes
    unwritten = {_LOCK_BYTE // page_bytes + 1}
    return not logged.union(unwritten).issuperset(range(there + 1, pages + 1))


def open_writer(path: Path, cipher: Cipher | None = None) -> sqlite3.Connection:
    """A writing connection to an existing or new file, brought to the newest schema.

    The directory is made with mode 0700, the file with 0600. A file that is
    newer or damaged is left as it is.

    Raises:
        NewerSchema: a newer Bethink wrote the file.
        StorageError: it cannot be opened; `CorruptDatabase` if it is damaged, or lost beside its log.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        raise StorageError(
            f"This Python has SQLite {sqlite3.sqlite_version}; Bethink needs {wanted} or newer."
        )
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_files(path)
        path.touch(mode=0o600, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be made or written ({error.strerror}); check who owns the directory, its "
            "permissions and the disk."
        ) from error
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            return _prepared(path, cipher)
        except sqlite3.Error as error:
            # Two processes that start on a new file meet where SQLite does not wait by itself.
            if not is_busy(error) or time.monotonic() > deadline:
                raise translated(error, str(path)) from error
            time.sleep(_RETRY_S)


def _prepared(path: Path, cipher: Cipher | None) -> sqlite3.Connection:
    connection = open_connection(path, write=True, cipher=cipher)
    try:
        _check_version(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        show_opened(connection)
        connection.execute("BEGIN IMMEDIATE")
        applied = _check_version(connection, path)
        # A new file begins with the newest schema.
        todo = {max(MIGRATIONS): newest} if not applied else MIGRATIONS
        for number, migrate in todo.items():
            if number > applied:
                _migrate(connection, migrate, path, number=number)
        connection.execute("COMMIT")
        secret_of(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(
    connection: sqlite3.Connection,
    migrate: Callable[[sqlite3.Connection], None],
    path: Path,
    *,
    number: int,
) -> None:
    try:
        migrate(connection)
    except (sqlite3.Error, BethinkError):
        raise
    except Exception as error:
        raise StorageError(
            f"{path} could not be upgraded to schema {number} ({type(error).__name__}: {error}) and is as it "
            "was. Start the version that wrote it, or restore a backup."
        ) from error
    connection.execute(f"PRAGMA user_version = {number}")


def _check_version(connection: sqlite3.Connection, path: Path) -> int:
    """The file's schema; reading it shows most damage."""
    connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    (applied,) = connection.execute("PRAGMA user_version").fetchone()
    if applied > (known := max(MIGRATIONS)):
        raise NewerSchema(
            f"{path} has schema {applied}; this Bethink knows up to {known}. "
            "Start the newer version that wrote it."
        )
    return applied


RESERVE_FILE: Final = "reserve"
_RESERVE_BYTES: Final = 16 << 20
"""A few thousand pages of SQLite's log, in both of its files: the largest conversation fits."""
_PLENTY: Final = 4
"""It is taken only where so many times its size are free."""
_PART: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Reserve:
    """A file whose only use is that it can be removed. Processes of one data directory share it."""

    path: Path
    size: int = _RESERVE_BYTES

    def take(self) -> bool:
        """Have it be there, if the disk has plenty of room; whether it is.

        A disk that has none is told of elsewhere.
        """
        with suppress(OSError):
            is_whole = self.path.exists() and self.path.stat().st_size == self.size
            if is_whole or disk_usage(self.path.parent).free < _PLENTY * self.size:
                return self.path.exists()
            new = self.path.with_name(f".{RESERVE_FILE}-{os.getpid()}")
            try:
                new.touch(mode=0o600)
                # Not zeros: some file systems keep those as nothing.
                new.write_bytes(os.urandom(_PART) * (self.size // _PART))
                new.rename(self.path)
            finally:
                new.unlink(missing_ok=True)
        return self.path.exists()

    def make_room(self) -> None:
        """Give a part of it, if the disk is full: a database needs room for its logs even to be read."""
        with suppress(OSError):
            if disk_usage(self.path.parent).free < _PART:
                os.truncate(self.path, self.path.stat().st_size - _PART)

    def release(self) -> bool:
        """Give its room to what is deleted now; False if there is none left."""
        try:
            self.path.unlink()
        except OSError:
            return False
        return True
