"""The index's rows, written inside the store's transaction. `store.sqlite` calls it.

Every written row has a change number, greater than any before it in the file;
a deletion leaves a tombstone with one. So a copy in memory, of this process or
another, learns what is new by asking for greater numbers than it has seen.
Tombstones are kept for `TOMBSTONES_KEPT` changes; a copy older than that
(`index_state.floor`) begins anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.index.analysis import ANALYSIS

if TYPE_CHECKING:
    import sqlite3

    from bethink.index.entry import Entry

TOMBSTONES_KEPT = 100_000

_READ_CHANGE = "SELECT change FROM index_state"
_WRITE_CHANGE = "UPDATE index_state SET change = ?"
_PUT = """
INSERT OR REPLACE INTO index_items
    (change, owner, id, kind, at, conversation, project, speaker, analysis, terms, model, text, vector)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SET_VECTOR = """
UPDATE index_items SET change = ?, model = ?, vector = ? WHERE owner = ? AND id = ? AND text = ?
"""
_FIND = "SELECT change, id FROM index_items WHERE owner = ? AND id = ?"
_DELETE = "DELETE FROM index_items WHERE change = ?"
_BURY = "INSERT INTO index_tombstones (change, owner, id) VALUES (?, ?, ?)"
_PRUNE = "DELETE FROM index_tombstones WHERE change <= ?"
_RAISE_FLOOR = "UPDATE index_state SET floor = max(floor, ?)"


class IndexRows:
    """Changes of index rows in one transaction; `finish` belongs to it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._change: int | None = None
        self._buried = False

    def put(self, owner: str, text: str, entry: Entry) -> None:
        """Keep an item, replacing one with the same id."""
        self._connection.execute(
            _PUT,
            (
                self._next_change(),
                owner,
                entry.id,
                entry.kind,
                entry.at,
                entry.conversation,
                entry.project,
                entry.speaker,
                ANALYSIS,
                entry.terms,
                entry.model,
                text,
                entry.vector,
            ),
        )

    def set_vector(self, owner: str, id: str, *, text: str, key: str, vector: bytes) -> None:
        """Give an item its vector of the model `key`, if its text is still `text`."""
        self._connection.execute(_SET_VECTOR, (self._next_change(), key, vector, owner, id, text))

    def delete(self, owner: str, id: str) -> None:
        """Remove an item; nothing happens if it is not there."""
        self._bury(owner, self._connection.execute(_FIND, (owner, id)).fetchall())

    def delete_these(self, owner: str, ids: str, parameters: tuple[str | int | None, ...]) -> None:
        """Remove the items whose ids the query `ids` selects."""
        query = f"SELECT change, id FROM index_items WHERE owner = ? AND id IN ({ids})"  # noqa: S608 - `ids` is SQL of `sqlite_tables`
        self._bury(owner, self._connection.execute(query, (owner, *parameters)).fetchall())

    def finish(self) -> None:
        """Write the change number, and drop tombstones that are too old to keep."""
        if self._change is None:
            return
        self._connection.execute(_WRITE_CHANGE, (self._change,))
        floor = self._change - TOMBSTONES_KEPT
        if self._buried and floor > 0 and self._connection.execute(_PRUNE, (floor,)).rowcount:
            self._connection.execute(_RAISE_FLOOR, (floor,))

    def _bury(self, owner: str, rows: list[tuple[int, str]]) -> None:
        for change, id in rows:
            self._connection.execute(_DELETE, (change,))
            self._connection.execute(_BURY, (self._next_change(), owner, id))
            self._buried = True

    def _next_change(self) -> int:
        if self._change is None:
            (before,) = self._connection.execute(_READ_CHANGE).fetchone()
        else:
            before = self._change
        self._change = change = before + 1
        return change
