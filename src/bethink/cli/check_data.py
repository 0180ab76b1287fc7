"""The doctor's look at the data directory and the database in it. Reads only, but for `close_to_others`."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from bethink.cli.check import Check, broken, off, ok
from bethink.engines.sqlite.schema import FILE_NAME, MIGRATIONS, check_files, open_connection, translated
from bethink.errors import CorruptDatabase

if TYPE_CHECKING:
    from pathlib import Path

_MB = 1_000_000
_FULL_BYTES = 50 * _MB
"""Less cannot even hold the database's log and a rewritten copy of a young database."""
_TIGHT_BYTES = 500 * _MB
_COUNTED = {"facts": "facts", "conversations": "conversations", "messages": "messages"}
_OTHERS = 0o077


def directory(path: Path) -> Check:
    """Whether the data directory is there and ours alone."""
    part = "data directory"
    if not path.exists():
        return ok(part, f"{path}: not there yet, made at the first start")
    if not path.is_dir():
        return broken(part, f"{path} is not a directory: set BETHINK_DATA_DIR to one.")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return broken(part, f"{path} cannot be written by this user: check who owns it and its permissions.")
    if _is_open_to_others(path):
        return off(part, f"{path} is open to other users of this machine: `bethink doctor --fix` ends that.")
    return ok(part, str(path))


def close_to_others(path: Path) -> None:
    """Let nobody but its owner into the data directory."""
    if path.is_dir() and path.stat().st_uid == os.getuid() and _is_open_to_others(path):
        path.chmod(path.stat().st_mode & ~_OTHERS)


def free_space(path: Path) -> Check:
    """Whether there is room on the disk."""
    place = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    free = shutil.disk_usage(place).free
    if free < _FULL_BYTES:
        return broken("free space", f"{free / _MB:,.0f} MB: the disk is full. Free some space.")
    if free < _TIGHT_BYTES:
        return off("free space", f"{free / _MB:,.0f} MB: the disk is almost full. Free some space soon.")
    return ok("free space", f"{free / (1000 * _MB):,.1f} GB")


def database(data_dir: Path) -> Check:
    """Whether the database can be read, is whole, and of which schema it is."""
    path = data_dir / FILE_NAME
    try:
        check_files(path)
        if not path.exists():
            return ok("database", "none yet, made at the first start")
        with closing(open_connection(path, write=False)) as connection:
            return _database(connection, path)
    except (CorruptDatabase, OSError) as error:
        return broken("database", str(error))
    except sqlite3.Error as error:
        return broken("database", str(translated(error, str(path))))


def is_current(data_dir: Path) -> bool:
    """Whether there is a database that this Bethink need not bring up to date first."""
    path = data_dir / FILE_NAME
    if not path.exists():
        return False
    with closing(open_connection(path, write=False)) as connection:
        return connection.execute("PRAGMA user_version").fetchone() == (max(MIGRATIONS),)


def _database(connection: sqlite3.Connection, path: Path) -> Check:
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if schema > max(MIGRATIONS):
        return broken(
            "database",
            f"{path} has schema {schema}, and this Bethink knows up to {max(MIGRATIONS)}: start the newer "
            "version that wrote it.",
        )
    faults = [fault for (fault,) in connection.execute("PRAGMA quick_check(3)") if fault != "ok"]
    if faults:
        return broken("database", f"{path} is damaged: {'; '.join(faults)}. Restore a backup.")
    size = sum(file.stat().st_size for file in (path, path.with_name(f"{path.name}-wal")) if file.exists())
    if schema < max(MIGRATIONS):
        return ok("database", f"schema {schema}, brought to {max(MIGRATIONS)} at the next start")
    return ok("database", f"whole, schema {schema}, {size / _MB:.1f} MB, {_counts(connection)}")


def _counts(connection: sqlite3.Connection) -> str:
    counts = {
        what: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - our own names
        for table, what in _COUNTED.items()
    }
    (without,) = connection.execute("SELECT count(*) FROM index_items WHERE model IS NULL").fetchone()
    told = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    return told + (f", {without:,} not yet found by meaning" if without else "")


def _is_open_to_others(path: Path) -> bool:
    return os.name == "posix" and bool(path.stat().st_mode & _OTHERS)
