"""What people said, and what was made of it, kept in SQLite so that it can be blotted out for good.

`store.sqlite_tables` and `index.sqlite_rows` keep records, words and vectors
here, and in their own tables only numbers, ids and digests. SQLite's
`secure_delete` overwrites what is deleted, but where a page of a b-tree is
split or merged, copies of what moved stay behind. So nothing here ever moves:
a row is appended behind all others (which splits no page) and afterwards only
overwritten by as many bytes (which SQLite does in place). What is deleted is
overwritten by zeros, and its row waits in `blanks` for another body of its
length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

STEP = 64
"""Rows come in multiples of so many bytes, so that a body which grows a little stays where it is."""

_STEPS_MAX = 16
"""Long rows come in steps of at least one part in so many of their length."""

WASTE_MIN = 16 * 1024 * 1024
WASTE_SHARE = 4
"""`compact` writes the file anew when so many bytes, and one in so many of all, are blank."""

_FREE = "SELECT place FROM blanks WHERE length = ? LIMIT 1"
_TAKE = "DELETE FROM blanks WHERE length = ? AND place = ?"
_APPEND = "INSERT INTO bodies (body) VALUES (?)"
_OVERWRITE = "UPDATE bodies SET body = ? WHERE place = ? AND length(body) = ?"

Query = tuple[str, tuple[str | int | bytes | None, ...]]


def keep_padded(connection: sqlite3.Connection, body: bytes, place: int | None = None) -> int:
    """Where the body is kept from now on, with spaces behind it.

    `place` is that of the body which it replaces: the same comes back if the
    new one has room there.
    """
    step = max(STEP, (1 << len(body).bit_length()) // (2 * _STEPS_MAX))
    length = -(-len(body) // step) * step
    body = body.ljust(length)
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
        f"INSERT INTO blanks SELECT length(body), place FROM bodies WHERE place IN ({query})",  # noqa: S608 - SQL of this program
        parameters,
    )
    connection.execute(
        f"UPDATE bodies SET body = zeroblob(length(body)) WHERE place IN ({query})",  # noqa: S608 - the same
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
        connection.execute("CREATE TABLE kept_bodies (place INTEGER PRIMARY KEY, body BLOB NOT NULL)")
        connection.execute(
            "INSERT INTO kept_bodies SELECT place, body FROM bodies "
            "WHERE place NOT IN (SELECT place FROM blanks) ORDER BY place"
        )
        connection.execute("DROP TABLE bodies")
        connection.execute("ALTER TABLE kept_bodies RENAME TO bodies")
        connection.execute("DELETE FROM blanks")
        connection.execute("COMMIT")
    connection.execute("VACUUM")
