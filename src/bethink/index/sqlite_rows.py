"""The index's rows, written inside the store's transaction. `store.sqlite` calls it.

Every written row has a change number, greater than any before it in the file;
a deletion leaves a tombstone with one. So a copy in memory, of this process or
another, learns what is new by asking for greater numbers than it has seen.
Tombstones are kept for `TOMBSTONES_KEPT` changes; a copy older than that
(`index_state.floor`) begins anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bethink.index.analysis import ANALYSIS
from bethink.index.sqlite_bodies import blank, keep, keep_json

if TYPE_CHECKING:
    import sqlite3

    from bethink.index.entry import Entry

TOMBSTONES_KEPT = 100_000

_READ_CHANGE = "SELECT change FROM index_state"
_WRITE_CHANGE = "UPDATE index_state SET change = ?"
_PUT = """
INSERT INTO index_items (change, owner, id, kind, at, analysis, words, model, vector)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_FIND = "SELECT change, words, vector FROM index_items WHERE owner = ? AND id = ?"
_BODY = "SELECT body FROM bodies WHERE place = ?"
_SET_VECTOR = "UPDATE index_items SET change = ?, model = ?, vector = ? WHERE change = ?"
_DELETE = "DELETE FROM index_items WHERE change = ?"
_BURY = "INSERT INTO index_tombstones (change, owner, id) VALUES (?, ?, ?)"
_PRUNE = "DELETE FROM index_tombstones WHERE change <= ?"
_RAISE_FLOOR = "UPDATE index_state SET floor = max(floor, ?)"


class Words(msgspec.Struct, frozen=True, array_like=True):
    """What of an item's body a search needs."""

    terms: str
    conversation: str | None
    project: str | None
    speaker: str | None


class _Body(Words, frozen=True, array_like=True):
    text: str


def text_of(body: bytes) -> str:
    """The text from which an item's words were taken."""
    return msgspec.json.decode(body, type=_Body).text


class IndexRows:
    """Changes of index rows in one transaction; `finish` belongs to it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._change: int | None = None
        self._buried = False

    def put(self, owner: str, text: str, entry: Entry) -> None:
        """Keep an item, replacing one with the same id."""
        connection = self._connection
        found = connection.execute(_FIND, (owner, entry.id)).fetchone()
        change, words, vector = found or (None, None, None)
        if change is not None:
            connection.execute(_DELETE, (change,))
        body = _Body(entry.terms, entry.conversation, entry.project, entry.speaker, text)
        words = keep_json(connection, msgspec.json.encode(body), words)
        if entry.vector is not None:
            vector = keep(connection, entry.vector, vector)
        elif vector is not None:
            blank(connection, ("SELECT ?", (vector,)))
            vector = None
        item = (owner, entry.id, entry.kind, entry.at, ANALYSIS, words, entry.model, vector)
        connection.execute(_PUT, (self._next_change(), *item))

    def set_vector(self, owner: str, id: str, *, text: str, key: str, vector: bytes) -> None:
        """Give an item its vector of the model `key`, if its text is still `text`."""
        connection = self._connection
        found = connection.execute(_FIND, (owner, id)).fetchone()
        if found is None:
            return
        change, words, place = found
        (body,) = connection.execute(_BODY, (words,)).fetchone()
        if text_of(body) == text:
            place = keep(connection, vector, place)
            connection.execute(_SET_VECTOR, (self._next_change(), key, place, change))

    def delete(self, owner: str, id: str) -> None:
        """Remove an item; nothing happens if it is not there."""
        self._bury(owner, "id = ?", (id,))

    def delete_these(self, owner: str, ids: str, parameters: tuple[str | int | bytes | None, ...]) -> None:
        """Remove the items whose ids the query `ids` selects."""
        self._bury(owner, f"id IN ({ids})", parameters)

    def finish(self) -> None:
        """Write the change number, and drop tombstones that are too old to keep."""
        if self._change is None:
            return
        self._connection.execute(_WRITE_CHANGE, (self._change,))
        floor = self._change - TOMBSTONES_KEPT
        if self._buried and floor > 0 and self._connection.execute(_PRUNE, (floor,)).rowcount:
            self._connection.execute(_RAISE_FLOOR, (floor,))

    def _bury(self, owner: str, condition: str, parameters: tuple[str | int | bytes | None, ...]) -> None:
        items = f"FROM index_items WHERE owner = ? AND {condition}"
        values = (owner, *parameters)
        ids = self._connection.execute(f"SELECT id {items}", values).fetchall()
        if not ids:
            return
        blank(self._connection, (f"SELECT words {items} UNION ALL SELECT vector {items}", values * 2))
        self._connection.execute(f"DELETE {items}", values)
        self._connection.executemany(_BURY, ((self._next_change(), owner, id) for (id,) in ids))
        self._buried = True

    def _next_change(self) -> int:
        if self._change is None:
            (before,) = self._connection.execute(_READ_CHANGE).fetchone()
        else:
            before = self._change
        self._change = change = before + 1
        return change
