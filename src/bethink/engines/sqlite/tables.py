"""SQL over the table of one collection, and over the bodies of all. `store` calls it in the threads.

What people said, and what was made of it, is kept so that it can be blotted out for good: it stands in
`bodies` alone; the collections' tables and the index's rows hold only numbers, ids and digests. SQLite's
`secure_delete` overwrites what is deleted, but if a page of a b-tree is split or merged, copies of what moved
stay behind. So no body ever moves: a row is appended behind all others (which splits no page) and afterwards
only overwritten by as many bytes (which SQLite does in place). What is deleted is overwritten by zeros, and
its row waits in `blanks` for another body of its length.
"""
# ruff: noqa: S608 - every name is a declared collection's, checked against the tables of the file

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from bethink.errors import Conflict, StorageError
from bethink.sealing import FILE as SEALED
from bethink.sealing import Cipher, NotSealedSoError
from bethink.store import (
    Position,
    RecordPage,
    Seal,
    Versioned,
    cursor,
    order_key,
    padded,
    record_of,
    scan_parts,
)

if TYPE_CHECKING:
    from bethink.store import Collection, Key, Row, Scan


WASTE_MIN = 16 * 1024 * 1024
WASTE_SHARE = 4
"""`compact` writes the file anew when so many bytes, and one in so many of all, are blank."""

_FREE = "SELECT place FROM blanks WHERE length = ? LIMIT 1"
_TAKE = "DELETE FROM blanks WHERE length = ? AND place = ?"
_APPEND = "INSERT INTO main.bodies (body) VALUES (?)"
_OVERWRITE = "UPDATE main.bodies SET body = ? WHERE place = ? AND length(body) = ?"

BODY_TABLES = (
    "CREATE TABLE bodies (place INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    """CREATE TABLE blanks (
        length INTEGER NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (length, place)) WITHOUT ROWID""",
    "CREATE TABLE seal (secret BLOB NOT NULL)",
)

_OPENED = "CREATE TEMP VIEW bodies AS SELECT place, opened(body) AS body FROM main.bodies"
"""What reads `bodies` reads this, if the file is sealed; what writes says `main.bodies`."""


class SqliteConnection(sqlite3.Connection):
    """A connection to a database's file, and what opens its bodies if they are sealed."""

    cipher: Cipher | None = None


def cipher_of(connection: sqlite3.Connection) -> Cipher | None:
    """What seals and opens the bodies; None if they are not sealed."""
    return connection.cipher if isinstance(connection, SqliteConnection) else None


def show_opened(connection: sqlite3.Connection) -> None:
    """Have `bodies` be read opened, if they are sealed."""
    if (cipher := cipher_of(connection)) is not None:
        connection.create_function("opened", 1, cipher.open, deterministic=True)
        connection.execute(_OPENED)


def hide_opened(connection: sqlite3.Connection) -> None:
    """Take `show_opened` back."""
    if cipher_of(connection) is not None:
        connection.execute("DROP VIEW temp.bodies")


def secret_of(connection: sqlite3.Connection) -> bytes:
    """What the digests of keys are made with.

    Raises:
        StorageError: the file is sealed otherwise than the connection expects.
    """
    (kept,) = connection.execute("SELECT secret FROM seal").fetchone()
    cipher = cipher_of(connection)
    if (len(kept) != SECRET_BYTES) is not (cipher is not None):
        state = "not sealed" if cipher else "sealed"
        raise StorageError(
            f"The database is {state}, and {SEALED} of its directory says otherwise: restore both together."
        )
    try:
        return kept if cipher is None else cipher.open(kept)
    except NotSealedSoError as error:
        raise StorageError(f"The database is sealed with another key than {SEALED} beside it has.") from error


SECRET_BYTES = 16

Query = tuple[str, tuple[str | int | bytes | None, ...]]


def keep_padded(connection: sqlite3.Connection, body: bytes, place: int | None = None) -> int:
    """Where the body is kept from now on, with spaces behind it.

    `place` is that of the body which it replaces: the same comes back if the
    new one has room there.
    """
    # A body that grows a little stays where it is.
    body = padded(body)
    if (cipher := cipher_of(connection)) is not None:
        body = cipher.seal(body)
    length = len(body)
    if place is not None:
        if connection.execute(_OVERWRITE, (body, place, length)).rowcount:
            return place
        blank(connection, ("SELECT ?", (place,)))
    free = connection.execute(_FREE, (length,)).fetchone()
    if free is None:
        # An INSERT always sets it.
        return connection.execute(_APPEND, (body,)).lastrowid or 0
    connection.execute(_TAKE, (length, *free))
    connection.execute(_OVERWRITE, (body, *free, length))
    return free[0]


def blank(connection: sqlite3.Connection, places: Query) -> None:
    """Overwrite the bodies whose places the query selects."""
    query, parameters = places
    connection.execute(
        f"INSERT INTO blanks SELECT length(body), place FROM main.bodies WHERE place IN ({query})",
        parameters,
    )
    connection.execute(
        f"UPDATE main.bodies SET body = zeroblob(length(body)) WHERE place IN ({query})",
        parameters,
    )


def compact(connection: sqlite3.Connection) -> None:
    """Give back the room of what was deleted, if it is much; takes some seconds a gigabyte.

    Rows are appended to a new table in their order, so nothing moves within a
    page; the old one's pages are overwritten as they are freed.
    """
    (blanks,) = connection.execute("SELECT total(length) FROM blanks").fetchone()
    (pages,), (free,), (page,) = (
        connection.execute(f"PRAGMA {name}").fetchone()
        for name in ("page_count", "freelist_count", "page_size")
    )
    if blanks + free * page < max(WASTE_MIN, pages * page / WASTE_SHARE):
        return
    if blanks:
        connection.execute("BEGIN IMMEDIATE")
        hide_opened(connection)
        connection.execute("CREATE TABLE kept_bodies (place INTEGER PRIMARY KEY, body BLOB NOT NULL)")
        connection.execute(
            "INSERT INTO kept_bodies SELECT place, body FROM main.bodies "
            "WHERE place NOT IN (SELECT place FROM blanks) ORDER BY place"
        )
        connection.execute("DROP TABLE main.bodies")
        connection.execute("ALTER TABLE kept_bodies RENAME TO bodies")
        connection.execute("DELETE FROM blanks")
        show_opened(connection)
        connection.execute("COMMIT")
    connection.execute("VACUUM")


_SOUGHT_AT_ONCE = 16
"""Ids in one statement: few enough that a statement for each number of them is kept."""


_IS_THERE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
_COLUMNS = """
SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c
WHERE t.type = 'table' AND t.name = coalesce(?, t.name)
"""
_INDEXES = """
SELECT i.tbl_name, i.name, c.name FROM sqlite_master AS i, pragma_index_info(i.name) AS c
WHERE i.type = 'index' AND i.tbl_name = coalesce(?, i.tbl_name) ORDER BY i.name, c.seqno
"""


@dataclass(slots=True)
class Layout:
    """What the file has of one table: its columns, and its indexes' columns by their names."""

    columns: set[str] = field(default_factory=set[str])
    indexes: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def layout_of(connection: sqlite3.Connection, table: str | None = None) -> dict[str, Layout]:
    """The layout of all tables, or of one, by name."""
    layouts: dict[str, Layout] = {}
    for name, column in connection.execute(_COLUMNS, (table,)).fetchall():
        layouts.setdefault(name, Layout()).columns.add(column)
    for name, index, column in connection.execute(_INDEXES, (table,)).fetchall():
        # A table that another process made between the two questions has indexes and no columns yet.
        indexes = layouts.setdefault(name, Layout()).indexes
        indexes[index] = (*indexes.get(index, ()), column)
    return layouts


def definition(name: str, keys: Sequence[str]) -> str:
    """The statement that makes a collection's table."""
    columns = "".join(f"{key}, " for key in keys)
    return (
        f"CREATE TABLE {name} (owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, "
        f"schema INTEGER NOT NULL, {columns}place INTEGER NOT NULL, UNIQUE (owner, id))"
    )


def tables_of(connection: sqlite3.Connection) -> Callable[[Collection[Any]], Table]:
    """What makes the `Table` of a collection of this file."""
    secret = secret_of(connection)
    return partial(Table, layouts=layout_of(connection), seal=Seal(secret))


class Table:
    """Rows of one collection, every statement with the owner in its condition.

    `is_made` tells whether the file has all that the collection declares; if not, `make` belongs before the
    first change. It `is_there` if it can be read, and `is_older` if it lacks a key until `make`.
    """

    def __init__(self, collection: Collection[Any], *, layouts: Mapping[str, Layout], seal: Seal) -> None:
        name, keys = collection.name, collection.keys
        self._indexes = {f"{name}_{'_'.join(scan)}": ("owner", *scan, "id") for scan in collection.scans}
        self.collection = collection
        layout = layouts.get(name, Layout())
        self.is_there = bool(layout.columns)
        self.is_older = self.is_there and not layout.columns.issuperset(keys)
        self.is_made = self._is_in(layout, keys)
        self._seal = seal
        written = ("owner", "id", "version", "schema", *keys, "place")
        values = ", ".join("1" if column == "version" else "?" for column in written)
        self._insert = (
            f"INSERT INTO {name} ({', '.join(written)}) VALUES ({values}) ON CONFLICT (owner, id) DO NOTHING"
        )
        assigned = ", ".join(f"{column} = ?" for column in ("schema", *keys, "place"))
        self._update = f"UPDATE {name} SET version = version + 1, {assigned} WHERE rowid = ?"
        self._find = f"SELECT rowid, version, place FROM {name} WHERE owner = ? AND id = ?"
        self._get = (
            f"SELECT id, version, schema, body FROM {name} CROSS JOIN bodies USING (place) "
            "WHERE owner = ? AND id IN"
        )

    def _is_in(self, layout: Layout, keys: Sequence[str]) -> bool:
        return layout.columns.issuperset((*keys, "place")) and set(self._indexes.values()).issubset(
            layout.indexes.values()
        )

    def look(self, connection: sqlite3.Connection) -> None:
        """See what the file has of it now: another process may have made it."""
        name, keys = self.collection.name, self.collection.keys
        if connection.execute(_IS_THERE, (name,)).fetchone() is None:
            return
        layout = layout_of(connection, name).get(name, Layout())
        self.is_there = bool(layout.columns)
        self.is_older = not layout.columns.issuperset(keys)
        self.is_made = self._is_in(layout, keys)

    def set_made(self) -> None:
        """What `make` did is committed."""
        self.is_there, self.is_older, self.is_made = True, False, True

    def make(self, connection: sqlite3.Connection) -> None:
        """Have the file hold what the collection declares; a key that is new is filled from the records.

        Call it within a transaction. Nothing happens if another process was first.
        """
        name, keys = self.collection.name, self.collection.keys
        layout = layout_of(connection, name).get(name)
        if layout is None:
            connection.execute(definition(name, keys))
            layout = Layout()
        elif added := [key for key in keys if key not in layout.columns]:
            for key in added:
                connection.execute(f"ALTER TABLE {name} ADD COLUMN {key}")
            self._fill(connection)
        for index, columns in self._indexes.items():
            if columns not in layout.indexes.values():
                connection.execute(f"DROP INDEX IF EXISTS {index}")
                connection.execute(f"CREATE INDEX {index} ON {name} ({', '.join(columns)})")

    def _fill(self, connection: sqlite3.Connection) -> None:
        name, keys = self.collection.name, self.collection.keys
        assigned = ", ".join(f"{key} = ?" for key in keys)
        rows = connection.execute(
            f"SELECT t.rowid, id, schema, body FROM {name} AS t CROSS JOIN bodies USING (place)"
        )
        for number, id, schema, body in rows:
            record = record_of(self.collection, id, schema=schema, body=body)
            values = map(self._seal, self.collection.keys_of(record))
            connection.execute(f"UPDATE {name} SET {assigned} WHERE rowid = ?", (*values, number))

    def put(self, connection: sqlite3.Connection, owner: str, row: Row, *, if_version: int | None) -> None:
        """Keep a row.

        Raises:
            Conflict: it has another version.
        """
        keys = map(self._seal, row.keys)
        # A new record costs no look at what is there: the insertion finds out.
        found = None if if_version == 0 else connection.execute(self._find, (owner, row.id)).fetchone()
        number, version, place = found or (None, 0, None)
        if if_version not in {None, version}:
            raise Conflict
        place = keep_padded(connection, row.body, place)
        if found is not None:
            connection.execute(self._update, (row.schema, *keys, place, number))
        elif not connection.execute(self._insert, (owner, row.id, row.schema, *keys, place)).rowcount:
            raise Conflict

    def expect(self, connection: sqlite3.Connection, owner: str, id: str, *, version: int) -> None:
        """Do nothing.

        Raises:
            Conflict: the row has another version, which is 0 where there is none.
        """
        found = connection.execute(self._find, (owner, id)).fetchone()
        if version != (0 if found is None else found[1]):
            raise Conflict

    def delete(self, connection: sqlite3.Connection, owner: str, id: str, *, if_version: int | None) -> bool:
        """Remove a row; False if it was not there.

        Raises:
            Conflict: it has another version.
        """
        if if_version is None:
            return self._remove(connection, "owner = ? AND id = ?", (owner, id))
        if not self._remove(connection, "owner = ? AND id = ? AND version = ?", (owner, id, if_version)):
            raise Conflict
        return True

    def delete_all(self, connection: sqlite3.Connection, owner: str, where: Mapping[str, Key]) -> None:
        """Remove the rows whose keys equal `where`."""
        condition, values = self._equal(owner, where)
        self._remove(connection, condition, values)

    def _remove(
        self, connection: sqlite3.Connection, condition: str, values: tuple[str | int | bytes | None, ...]
    ) -> bool:
        name = self.collection.name
        blank(connection, (f"SELECT place FROM {name} WHERE {condition}", values))
        return bool(connection.execute(f"DELETE FROM {name} WHERE {condition}", values).rowcount)

    def ids(self, owner: str, where: Mapping[str, Key]) -> Query:
        """The query, with its parameters, for the ids of those rows."""
        condition, values = self._equal(owner, where)
        return f"SELECT id FROM {self.collection.name} WHERE {condition}", values

    def get(self, connection: sqlite3.Connection, owner: str, ids: Sequence[str]) -> list[Any]:
        """The records with these ids, in their order, None if there is none."""
        found: dict[str, Versioned[Any]] = {}
        for start in range(0, len(ids), _SOUGHT_AT_ONCE):
            some = ids[start : start + _SOUGHT_AT_ONCE]
            query = f"{self._get} (?{', ?' * (len(some) - 1)})"
            for row in connection.execute(query, (owner, *some)).fetchall():
                found[row[0]] = self._versioned(row)
        return [found.get(id) for id in ids]

    def count(self, connection: sqlite3.Connection, owner: str, where: Mapping[str, Key]) -> int:
        """How many rows have keys equal to `where`."""
        condition, values = self._equal(owner, where)
        query = f"SELECT count(*) FROM {self.collection.name} WHERE {condition}"
        return connection.execute(query, values).fetchone()[0]

    def owners(self, connection: sqlite3.Connection, after: str, limit: int) -> list[str]:
        """Owners of rows behind `after`, in order; a step in the index each, however many rows it has."""
        name = self.collection.name
        query = (
            f"WITH RECURSIVE next(owner) AS (SELECT min(owner) FROM {name} WHERE owner > ? UNION ALL "
            f"SELECT (SELECT min(owner) FROM {name} AS t WHERE t.owner > next.owner) FROM next "
            "WHERE owner IS NOT NULL) SELECT owner FROM next WHERE owner IS NOT NULL LIMIT ?"
        )
        return [owner for (owner,) in connection.execute(query, (after, limit)).fetchall()]

    def scan(
        self, connection: sqlite3.Connection, owner: str, scan: Scan[Any], *, after: Position | None
    ) -> RecordPage[Any]:
        """One page."""
        wanted = scan.limit + 1
        rows: list[Any] = []
        equal, values = self._equal(owner, scan.where)
        direction = "DESC" if scan.reverse else "ASC"
        order = f"{scan.order} {direction}, id {direction}" if scan.order else f"id {direction}"
        for part in scan_parts(scan, after, scan.order):
            condition = " AND ".join((equal, *(text.replace("{}", "?") for text, _ in part)))
            bounds = [value for _, given in part for value in given]
            # CROSS JOIN: the collection's index gives the order, each body is looked up by its place.
            query = (
                f"SELECT id, version, schema, body, {scan.order or 'NULL'} FROM {scan.collection.name} "
                f"CROSS JOIN bodies USING (place) "
                f"WHERE {condition} ORDER BY {order} LIMIT ?"
            )
            rows += connection.execute(query, (*values, *bounds, wanted - len(rows))).fetchall()
            if len(rows) == wanted:
                break
        page = rows[: scan.limit]
        keys = [order_key(scan, row[4]) for row in page]
        return RecordPage(
            tuple(self._versioned(row[:4]) for row in page),
            cursor(scan, Position(keys[-1], page[-1][0])) if len(rows) == wanted else None,
        )

    def _equal(self, owner: str, where: Mapping[str, Key]) -> Query:
        condition = " AND ".join(("owner = ?", *(f"{key} IS ?" for key in where)))
        return condition, (owner, *map(self._seal, where.values()))

    def _versioned(self, row: tuple[str, int, int, bytes]) -> Versioned[Any]:
        id, version, schema, body = row
        return Versioned(record_of(self.collection, id, schema=schema, body=body), version)
