"""What a file of an earlier version needs, beside the tables that collections declare. `schema` applies it.

A new collection needs nothing here: `tables.Table.make` makes what it declares. It also adds and fills a key
that is new in a collection; such a change takes a number here all the same, with nothing to do, since an
older Bethink, which would not write the key, must refuse the file. The file's `user_version` is the number of
the last one that was applied. Migrations are frozen once released.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.engines.sqlite.index import INDEX_TABLES, body_of
from bethink.engines.sqlite.tables import BODY_TABLES, Seal, blank, definition, keep_padded, layout_of
from bethink.search.analysis import Analyzer
from bethink.search.entry import Entry, Names, quantized

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

_SECRET_BYTES = 16
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
    secret = os.urandom(_SECRET_BYTES)
    connection.execute("INSERT INTO seal VALUES (?)", (secret,))
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
    entry = Entry("", "", 0, names, analyzer.digests(terms.split()), model, vector or b"")
    places = (keep_padded(connection, body_of(entry)), keep_padded(connection, msgspec.json.encode(text)))
    values = (*item[:6], model, len(entry.vector), len(entry.terms), *places)
    connection.execute("INSERT INTO index_items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)


def without_unkeyed_digests(connection: sqlite3.Connection) -> None:
    """Away with digests by which whoever has the file could test a guess of what was said.

    Histories of before lead to no conversation any more; responses stay.
    """
    if "threads" not in layout_of(connection, "threads"):
        return
    (secret,) = connection.execute("SELECT secret FROM seal").fetchone()
    response = (Seal(secret)("response"),)
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


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {
    3: _bodies_apart,
    14: without_unkeyed_digests,
    19: journal_in_order,
    20: _changes_by_owner,
}
"""By number; the others declared tables, which `Table.make` does."""
