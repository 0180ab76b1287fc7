"""The index's rows, written inside the store's transaction. `store.sqlite` calls it.

Every written row has a change number, greater than any before it in the file;
a deletion leaves a tombstone with one. So a copy in memory, of this process or
another, learns what is new by asking for greater numbers than it has seen.
Tombstones are kept for `TOMBSTONES_KEPT` changes; a copy older than that
(`index_state.floor`) begins anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from bethink.engines.sqlite.bodies import blank, keep_padded
from bethink.errors import CorruptDatabase
from bethink.search.analysis import ANALYSIS
from bethink.search.entry import Names

if TYPE_CHECKING:
    import sqlite3

    from bethink.search.entry import Entry

T = TypeVar("T")

TOMBSTONES_KEPT = 100_000
_NO_NAMES = Names()

_READ_CHANGE = "SELECT change FROM index_state"
_WRITE_CHANGE = "UPDATE index_state SET change = ?"
_PUT = """
INSERT INTO index_items (change, owner, id, kind, at, analysis, model, vector, terms, place, text)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_FIND = "SELECT change, place, text FROM index_items WHERE owner = ? AND id = ?"
_READ = """
SELECT change, vector, terms, item.place, said.body, kept.body
FROM index_items AS item
CROSS JOIN bodies AS said ON said.place = text CROSS JOIN bodies AS kept ON kept.place = item.place
WHERE owner = ? AND id = ?
"""
_SET_VECTOR = "UPDATE index_items SET change = ?, model = ?, vector = ?, place = ? WHERE change = ?"
_DELETE = "DELETE FROM index_items WHERE change = ?"
_BURY = "INSERT INTO index_tombstones (change, owner, id) VALUES (?, ?, ?)"
_PRUNE = "DELETE FROM index_tombstones WHERE change <= ?"
_RAISE_FLOOR = "UPDATE index_state SET floor = max(floor, ?)"


_texts = msgspec.json.Decoder(str)
_names = msgspec.json.Decoder(Names)


def _decoded(body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    try:
        return decoder.decode(body)
    except msgspec.DecodeError as error:
        message = f"An item of the index cannot be read ({error}); restore a backup."
        raise CorruptDatabase(message) from error


def text_of(body: bytes) -> str:
    """The text from which an item's words were taken.

    Raises:
        CorruptDatabase: it is none.
    """
    return _decoded(body, _texts)


def names_of(body: bytes) -> Names:
    """What stands in an item's body behind its vector and terms.

    Raises:
        CorruptDatabase: it is something else.
    """
    return _decoded(body, _names) if body.strip() else _NO_NAMES


def body_of(entry: Entry) -> bytes:
    """What of an item a search reads: its vector, its terms, and names if there are any."""
    names = b"" if entry.names == _NO_NAMES else msgspec.json.encode(entry.names)
    return entry.vector + entry.terms + names


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
        change, place, said = found or (None, None, None)
        if change is not None:
            connection.execute(_DELETE, (change,))
        place = keep_padded(connection, body_of(entry), place)
        said = keep_padded(connection, msgspec.json.encode(text), said)
        sizes = (len(entry.vector), len(entry.terms))
        item = (owner, entry.id, entry.kind, entry.at, ANALYSIS, entry.model, *sizes, place, said)
        connection.execute(_PUT, (self._next_change(), *item))

    def set_vector(self, owner: str, id: str, *, text: str, key: str, vector: bytes) -> None:
        """Give an item its vector of the model `key`, if its text is still `text`."""
        connection = self._connection
        found = connection.execute(_READ, (owner, id)).fetchone()
        if found is None:
            return
        change, size, terms, place, said, body = found
        if text_of(said) == text:
            end = size + terms
            place = keep_padded(connection, vector + body[size:end] + body[end:].strip(), place)
            connection.execute(_SET_VECTOR, (self._next_change(), key, len(vector), place, change))

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
        blank(self._connection, (f"SELECT place {items} UNION ALL SELECT text {items}", values * 2))
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
