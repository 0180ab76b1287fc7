"""SQL over the table of one collection. `store.sqlite` calls it in the threads."""
# ruff: noqa: S608 - every name is a declared collection's, checked against the tables of the file

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bethink.errors import Conflict, StorageError
from bethink.store import Page, Versioned
from bethink.store.paging import Position, cursor
from bethink.store.rows import record_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from bethink.store import Collection, Key, Scan
    from bethink.store.rows import Row

Columns = dict[str, frozenset[str]]
"""Names of tables, each with those of its columns."""

_Condition = tuple[str, tuple["Key", ...]]


def columns_of(connection: sqlite3.Connection) -> Columns:
    """All tables of the file."""
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {
        name: frozenset(
            column
            for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (name,)).fetchall()
        )
        for (name,) in names
    }


class Table:
    """Rows of one collection, every statement with the owner in its condition."""

    def __init__(self, collection: Collection[Any], columns: Columns) -> None:
        name, keys = collection.name, collection.keys
        missing = [key for key in keys if key not in columns.get(name, frozenset())]
        if name not in columns or missing:
            what = f"columns {', '.join(missing)}" if name in columns else "table"
            raise StorageError(
                f"The collection {name} has no {what} in the database; add a migration to "
                "store/sqlite_schema.py."
            )
        written = ("owner", "id", "version", "schema", *keys, "body")
        places = ", ".join("1" if column == "version" else "?" for column in written)
        fields = ("schema", *keys, "body")
        self.collection = collection
        self._insert = (
            f"INSERT INTO {name} ({', '.join(written)}) VALUES ({places}) ON CONFLICT (owner, id) DO "
        )
        replaced = ", ".join(f"{column} = excluded.{column}" for column in fields)
        self._upsert = f"{self._insert} UPDATE SET version = version + 1, {replaced}"
        self._insert += "NOTHING"
        given = ", ".join(f"{column} = ?" for column in fields)
        self._update = (
            f"UPDATE {name} SET version = version + 1, {given} WHERE owner = ? AND id = ? AND version = ?"
        )
        self._delete = f"DELETE FROM {name} WHERE owner = ? AND id = ?"
        self._get = f"SELECT id, version, schema, body FROM {name} WHERE owner = ? AND id = ?"

    def put(self, connection: sqlite3.Connection, owner: str, row: Row, *, if_version: int | None) -> None:
        """Keep a row.

        Raises:
            Conflict: it has another version.
        """
        values = (row.schema, *row.keys, row.body)
        if if_version is None:
            connection.execute(self._upsert, (owner, row.id, *values))
            return
        if if_version == 0:
            written = connection.execute(self._insert, (owner, row.id, *values))
        else:
            written = connection.execute(self._update, (*values, owner, row.id, if_version))
        if not written.rowcount:
            raise Conflict

    def delete(self, connection: sqlite3.Connection, owner: str, id: str) -> bool:
        """Remove a row; False if it was not there."""
        return bool(connection.execute(self._delete, (owner, id)).rowcount)

    def delete_all(self, connection: sqlite3.Connection, owner: str, where: Mapping[str, Key]) -> None:
        """Remove the rows whose keys equal `where`."""
        condition, values = _equal(owner, where)
        connection.execute(f"DELETE FROM {self.collection.name} WHERE {condition}", values)

    def ids(self, owner: str, where: Mapping[str, Key]) -> _Condition:
        """The query, with its parameters, for the ids of those rows."""
        condition, values = _equal(owner, where)
        return f"SELECT id FROM {self.collection.name} WHERE {condition}", values

    def get(self, connection: sqlite3.Connection, owner: str, ids: Sequence[str]) -> list[Any]:
        """The records with these ids, in their order, None where there is none."""
        found = (connection.execute(self._get, (owner, id)).fetchall() for id in ids)
        return [self._versioned(rows[0]) if rows else None for rows in found]

    def count(self, connection: sqlite3.Connection, owner: str, where: Mapping[str, Key]) -> int:
        """How many rows have keys equal to `where`."""
        condition, values = _equal(owner, where)
        query = f"SELECT count(*) FROM {self.collection.name} WHERE {condition}"
        return connection.execute(query, values).fetchone()[0]

    def scan(
        self, connection: sqlite3.Connection, owner: str, scan: Scan[Any], *, after: Position | None
    ) -> Page[Any]:
        """One page."""
        wanted = scan.limit + 1
        rows: list[Any] = []
        for part in _parts(scan, after):
            query, values = _query(owner, scan, part)
            rows += connection.execute(query, (*values, wanted - len(rows))).fetchall()
            if len(rows) == wanted:
                break
        page = rows[: scan.limit]
        return Page(
            tuple(self._versioned(row[:4]) for row in page),
            cursor(scan, Position(page[-1][4], page[-1][0])) if len(rows) == wanted else None,
        )

    def _versioned(self, row: tuple[str, int, int, bytes]) -> Versioned[Any]:
        id, version, schema, body = row
        return Versioned(record_of(self.collection, id, schema=schema, body=body), version)


def _equal(owner: str, where: Mapping[str, Key]) -> _Condition:
    return " AND ".join(("owner = ?", *(f"{key} IS ?" for key in where))), (owner, *where.values())


def _query(owner: str, scan: Scan[Any], part: _Condition) -> _Condition:
    equal, values = _equal(owner, scan.where)
    direction = "DESC" if scan.reverse else "ASC"
    order = f"{scan.order} {direction}, id {direction}" if scan.order else f"id {direction}"
    query = (
        f"SELECT id, version, schema, body, {scan.order or 'NULL'} FROM {scan.collection.name} "
        f"WHERE {' AND '.join(filter(None, (equal, part[0])))} ORDER BY {order} LIMIT ?"
    )
    return query, (*values, *part[1])


def _parts(scan: Scan[Any], after: Position | None) -> list[_Condition]:
    """Conditions whose rows follow one another in the scan's order, each answered from an index.

    Rows without the order key come first (last in reverse) and lie outside of
    any bounds, so a page may begin among them and go on among the others.
    """
    than = "<" if scan.reverse else ">"
    if scan.order is None:
        return [("", ()) if after is None else (f"id {than} ?", (after.id,))]
    bounds: list[tuple[str, Key]] = []
    if scan.low is not None:
        bounds.append((f"{scan.order} >= ?", scan.low))
    if scan.high is not None:
        bounds.append((f"{scan.order} < ?", scan.high))
    if after is None and not bounds:
        return [("", ())]
    conditions = [f"{scan.order} IS NOT NULL", *(text for text, _ in bounds)]
    values = [value for _, value in bounds]
    none: list[_Condition] = [] if bounds else [(f"{scan.order} IS NULL", ())]
    if after is not None and after.key is None:
        none = [(f"{scan.order} IS NULL AND id {than} ?", (after.id,))]
        return none if scan.reverse else [*none, (" AND ".join(conditions), ())]
    if after is not None:
        conditions.append(f"({scan.order}, id) {than} (?, ?)")
        values += [after.key, after.id]
    some: _Condition = (" AND ".join(conditions), tuple(values))
    return [some, *none] if scan.reverse else [some]
