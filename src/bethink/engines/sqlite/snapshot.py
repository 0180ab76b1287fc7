"""A copy of the database while it is in use, and what a copy holds. `backups` makes and counts them.

The copy is one moment's: it is read in one transaction, beside which others write on. Pages keep their
places, so that copies made one after the other are alike but for what has changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bethink.engines.sqlite.schema import FILE_NAME, MIGRATIONS, check_files, open_connection, translated
from bethink.engines.sqlite.tables import layout_of, secret_of
from bethink.errors import CorruptDatabase, StorageError

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.sealing import Cipher

_STEP_PAGES = 4096
"""Copied between two looks whether it is still wanted: 16 MB."""
_OF_RECORDS = {"owner", "place"}
"""The columns that each table of records has, and the index's."""


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """The schema of a database, and how many rows each of its collections and the index has."""

    schema: int
    records: dict[str, int] = field(default_factory=dict[str, int])


def copy_database(source: Path, target: Path, still_wanted: Callable[[], None]) -> bool:
    """Write the database as it is now to a new file; False if there is none.

    `still_wanted` is called again and again, and ends the copy by raising.

    Raises:
        StorageError: it cannot be read or written; `CorruptDatabase` if it is damaged.
    """

    def step(*_: object) -> None:
        still_wanted()

    try:
        check_files(source)
        if not source.exists():
            return False
        target.touch(mode=0o600)
        with (
            closing(open_connection(source, write=False)) as reading,
            closing(open_connection(target, write=True)) as writing,
        ):
            writing.execute("PRAGMA synchronous = OFF")
            # A transaction over all steps: no other process's commit has it begin anew.
            reading.execute("BEGIN")
            reading.execute("SELECT count(*) FROM sqlite_master").fetchall()
            reading.backup(writing, pages=_STEP_PAGES, progress=step)
    except sqlite3.Error as error:
        raise translated(error, str(source)) from error
    return True


def state_of(path: Path) -> DatabaseState:
    """What a database holds, after a look at each of its pages.

    Raises:
        CorruptDatabase: it is damaged.
        StorageError: it cannot be read.
    """
    try:
        with closing(open_connection(path, write=False)) as connection:
            faults = [row[0] for row in connection.execute("PRAGMA quick_check(3)").fetchall()]
            if faults != ["ok"]:
                raise CorruptDatabase(f"{path.name} is damaged: {'; '.join(faults)}.")
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
            tables = [
                name for name, one in layout_of(connection).items() if one.columns.issuperset(_OF_RECORDS)
            ]
            records = {
                name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608 - names of the file
                for name in sorted(tables)
            }
    except sqlite3.Error as error:
        raise translated(error, str(path)) from error
    return DatabaseState(schema, records)


def size_of(directory: Path) -> int:
    """Bytes of a data directory's database with its log."""
    files = [directory / f"{FILE_NAME}{end}" for end in ("", "-wal", "-shm")]
    return sum(file.stat().st_size for file in files if file.is_file())


def opens(path: Path, cipher: Cipher | None) -> bool:
    """Whether a database is sealed with this cipher, or not if it is None; True if there is no file."""
    if not path.exists():
        return True
    try:
        with closing(open_connection(path, write=False, cipher=cipher)) as connection:
            return bool(secret_of(connection))
    except (sqlite3.Error, StorageError):
        return False


def awaits_upgrade(path: Path) -> int | None:
    """The schema of a database that an older Bethink wrote; None if there is nothing to upgrade.

    What is wrong with a file is left to who opens it.
    """
    try:
        if not path.exists():
            return None
        with closing(open_connection(path, write=False)) as connection:
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
    except (sqlite3.Error, OSError, StorageError):
        return None
    return schema if 0 < schema < max(MIGRATIONS) else None
