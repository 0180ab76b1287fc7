"""SQLite's errors as Bethink's. Every file of the SQLite adapter calls it at its edge."""

from __future__ import annotations

import sqlite3

from bethink.errors import CorruptDatabase, DiskFull, StorageError, TooLarge

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
    return None if code is None else code & _PRIMARY
