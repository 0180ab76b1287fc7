"""The index over SQLite's rows: shards in memory that catch up before each search.

`store` makes it and writes its rows through `IndexRows`. A search asks for
the owner's change number; when that has moved, it reads the owner's newer rows
and tombstones, whichever process wrote them, into the owner's copy (`copies`).
Many rows are read in steps, so that who reads something else meanwhile waits
for a step at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio
import msgspec

from bethink.engines.sqlite.tables import Query, blank, keep_padded
from bethink.errors import CorruptDatabase
from bethink.index import Candidates, IndexItem, IndexQuery, WithoutVector
from bethink.search import copies
from bethink.search.analysis import (
    ANALYSIS,
    Analyzer,
    Entries,
    Names,
    ShardEntry,
    item_of,
    model_key,
    vectors_of,
)
from bethink.search.copies import LOADS_MAX, SEARCHED_AT_ONCE, Copies, Copy, CopyNews

if TYPE_CHECKING:
    import sqlite3

    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel
    from bethink.search.analysis import EmbeddedText


_Decoded = TypeVar("_Decoded")

TOMBSTONES_KEPT = 100_000
_NO_NAMES = Names()

INDEX_TABLES = (
    """CREATE TABLE index_items (
        owner TEXT NOT NULL, change INTEGER NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
        at INTEGER NOT NULL, analysis INTEGER NOT NULL, model TEXT, vector INTEGER NOT NULL,
        terms INTEGER NOT NULL, place INTEGER NOT NULL, text INTEGER NOT NULL, UNIQUE (owner, id),
        UNIQUE (owner, change))""",
    "CREATE INDEX index_items_model ON index_items (owner, model, at, id)",
    """CREATE TABLE index_tombstones (
        owner TEXT NOT NULL, change INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY (owner, change))
        WITHOUT ROWID""",
    """CREATE TABLE index_state (
        owner TEXT PRIMARY KEY, change INTEGER NOT NULL, floor INTEGER NOT NULL) WITHOUT ROWID""",
)
"""`place` is that of an item's body: its vector and its terms, of so many bytes, and names; `text` that of
its text."""

_STATE = "SELECT change, floor FROM index_state WHERE owner = ?"
_WRITE_STATE = """
INSERT INTO index_state (owner, change, floor) VALUES (?, ?, ?)
    ON CONFLICT (owner) DO UPDATE SET change = excluded.change, floor = excluded.floor
"""
_PUT = "INSERT INTO index_items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FIND = "SELECT rowid, place, text FROM index_items WHERE owner = ? AND id = ?"
_READ = """
SELECT item.rowid, vector, terms, item.place, said.body, kept.body
FROM index_items AS item
CROSS JOIN bodies AS said ON said.place = text CROSS JOIN bodies AS kept ON kept.place = item.place
WHERE owner = ? AND id = ?
"""
_SET_VECTOR = """
UPDATE index_items SET change = ?, analysis = ?, model = ?, vector = ?, terms = ?, place = ? WHERE rowid = ?
"""
_DELETE = "DELETE FROM index_items WHERE rowid = ?"
_BURY = "INSERT INTO index_tombstones (owner, change, id) VALUES (?, ?, ?)"
_PRUNE = "DELETE FROM index_tombstones WHERE owner = ? AND change <= ?"


_texts = msgspec.json.Decoder(str)
_names = msgspec.json.Decoder(Names)


def _decoded(body: bytes, decoder: msgspec.json.Decoder[_Decoded]) -> _Decoded:
    try:
        return decoder.decode(body)
    except msgspec.DecodeError as error:
        raise CorruptDatabase(f"An item of the index cannot be read ({error}); restore a backup.") from error


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


def body_of(entry: ShardEntry) -> bytes:
    """What of an item a search reads: its vector, its terms, and names if there are any."""
    *names, part_of = entry.names
    if part_of is not None:
        names.append(part_of)
    kept = b"" if entry.names == _NO_NAMES else msgspec.json.encode(names)
    return entry.vector + entry.terms + kept


def state_of(connection: sqlite3.Connection, owner: str) -> tuple[int, int]:
    """The owner's last change number, and up to which tombstones are gone."""
    return connection.execute(_STATE, (owner,)).fetchone() or (0, 0)


class IndexRows:
    """Changes of index rows in one transaction; `finish` belongs to it.

    Every written row has a change number, greater than any before it of its owner; a deletion leaves a
    tombstone with one. So a copy in memory, of this process or another, learns what is new by asking for
    greater numbers than it has seen. Tombstones are kept for `TOMBSTONES_KEPT` changes; a copy older than
    that (`floor`) begins anew.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        # Of each owner: the change number now, and the floor.
        self._states: dict[str, tuple[int, int]] = {}
        self._buried: set[str] = set()

    def put(self, owner: str, text: str, entry: ShardEntry) -> None:
        """Keep an item, replacing one with the same id."""
        connection = self._connection
        found = connection.execute(_FIND, (owner, entry.id)).fetchone()
        number, place, said = found or (None, None, None)
        if number is not None:
            connection.execute(_DELETE, (number,))
        place = keep_padded(connection, body_of(entry), place)
        said = keep_padded(connection, msgspec.json.encode(text), said)
        sizes = (len(entry.vector), len(entry.terms))
        item = (entry.id, entry.kind, entry.at, ANALYSIS, entry.model, *sizes, place, said)
        connection.execute(_PUT, (owner, self._next_change(owner), *item))

    def set_vector(self, owner: str, id: str, *, text: str, item: EmbeddedText) -> None:
        """Give an item its vector, if its text is still `text`, and the terms that are made of it now."""
        connection = self._connection
        found = connection.execute(_READ, (owner, id)).fetchone()
        if found is None:
            return
        number, size, length, place, said, body = found
        if text_of(said) == text:
            names = body[size + length :].strip()
            place = keep_padded(connection, item.vector + item.terms + names, place)
            sizes = (len(item.vector), len(item.terms))
            row = (self._next_change(owner), ANALYSIS, item.model, *sizes, place, number)
            connection.execute(_SET_VECTOR, row)

    def delete(self, owner: str, ids: Query) -> None:
        """Remove the items whose ids the query selects; nothing happens for those that are not there."""
        query, parameters = ids
        items, values = f"FROM index_items WHERE owner = ? AND id IN ({query})", (owner, *parameters)
        gone = self._connection.execute(f"SELECT id {items}", values).fetchall()
        if not gone:
            return
        blank(self._connection, (f"SELECT place {items} UNION ALL SELECT text {items}", values * 2))
        self._connection.execute(f"DELETE {items}", values)
        self._connection.executemany(_BURY, ((owner, self._next_change(owner), id) for (id,) in gone))
        self._buried.add(owner)

    def finish(self) -> None:
        """Write the owners' change numbers, and drop tombstones that are too old to keep."""
        for owner, (change, floor) in self._states.items():
            oldest = change - TOMBSTONES_KEPT
            if owner in self._buried and self._connection.execute(_PRUNE, (owner, oldest)).rowcount:
                floor = max(floor, oldest)  # noqa: PLW2901 - raised
            self._connection.execute(_WRITE_STATE, (owner, change, floor))

    def _next_change(self, owner: str) -> int:
        change, floor = self._states.get(owner) or state_of(self._connection, owner)
        self._states[owner] = change + 1, floor
        return change + 1


T = TypeVar("T")

_GONE = "SELECT id FROM index_tombstones WHERE owner = ? AND change > ?"
_NEW = """
SELECT id, kind, at, model, vector, terms, body, analysis, text, change
FROM index_items CROSS JOIN bodies USING (place)
WHERE owner = ? AND change > ? ORDER BY change LIMIT ?
"""
_COUNT = "SELECT count(*) FROM index_items WHERE owner = ?"
_TEXT = "SELECT body FROM bodies WHERE place = ?"
_WITHOUT_VECTOR = """
SELECT id, body, kind FROM index_items CROSS JOIN bodies ON bodies.place = text
WHERE owner = ? AND model IS NULL ORDER BY at, id LIMIT ?
"""
_OTHER_MODEL = """
SELECT id, body, kind FROM index_items CROSS JOIN bodies ON bodies.place = text
WHERE owner = ? AND model <> ? ORDER BY model, at, id LIMIT ?
"""
_ITEM = """
SELECT kind, at, model, vector, terms, said.body, kept.body FROM index_items AS item
CROSS JOIN bodies AS said ON said.place = text CROSS JOIN bodies AS kept ON kept.place = item.place
WHERE owner = ? AND id = ?
"""
_VECTOR = """
SELECT substr(body, 1, vector) FROM index_items CROSS JOIN bodies USING (place)
WHERE owner = ? AND id = ? AND model = ?
"""


class Read(Protocol):
    """Calls a function with a reading connection, in a thread."""

    async def __call__(self, work: Callable[[sqlite3.Connection], T], /) -> T:
        """What `work` gives."""
        ...


class SqliteIndex:
    """Candidates from one file's rows; made by `store.open_database`."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._analyzer = Analyzer()
        self._copies = Copies()
        self._loads = anyio.Semaphore(LOADS_MAX)

    async def search(self, query: IndexQuery) -> Candidates:
        """The best `limit` of each leg; sees every commit that was acknowledged before."""
        (found,) = await self._search(query.owner, [query])
        return found

    async def search_all(self, queries: Sequence[IndexQuery]) -> list[Candidates]:
        """What `search` gives of each, which are of one owner; many cost much less than one by one."""
        found: list[Candidates] = []
        # A thread keeps its owner's copy, and at times the interpreter, for no longer than so many take.
        for start in range(0, len(queries), SEARCHED_AT_ONCE):
            some = queries[start : start + SEARCHED_AT_ONCE]
            found += await self._search(some[0].owner, some)
        return found

    async def _search(self, owner: str, queries: Sequence[IndexQuery]) -> list[Candidates]:
        copy = self._copies.of(owner)
        async with copy.turn:
            is_behind = copy.known is None
            while True:
                async with self._loads if is_behind else nullcontext():
                    found = await self._read(partial(self._step, copy, queries))
                if found is not None:
                    return found
                is_behind = True

    async def missing_vectors(
        self, owner: str, model: EmbeddingModel, limit: int
    ) -> tuple[WithoutVector, ...]:
        """At most `limit` items that have no vector of `model`."""

        def read(connection: sqlite3.Connection) -> list[tuple[str, bytes, str]]:
            rows = connection.execute(_WITHOUT_VECTOR, (owner, limit)).fetchall()
            if len(rows) < limit:
                other = (owner, model_key(model), limit - len(rows))
                rows += connection.execute(_OTHER_MODEL, other).fetchall()
            return rows

        return tuple(WithoutVector(id, text_of(body), kind) for id, body, kind in await self._read(read))

    async def vectors(
        self, owner: str, model: EmbeddingModel, ids: Sequence[str]
    ) -> dict[str, NDArray[np.float32]]:
        """The vectors of those of these items that have one of `model`, by id."""

        def read(connection: sqlite3.Connection) -> dict[str, NDArray[np.float32]]:
            key = model_key(model)
            rows = {id: connection.execute(_VECTOR, (owner, id, key)).fetchone() for id in ids}
            return {id: vectors_of(row[0], model) for id, row in rows.items() if row is not None}

        return await self._read(read)

    async def items(self, owner: str, ids: Sequence[str]) -> dict[str, IndexItem]:
        """What was put with these ids, by id."""

        def read(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
            found = ((id, connection.execute(_ITEM, (owner, id)).fetchone()) for id in ids)
            return [(id, *row) for id, row in found if row is not None]

        found: dict[str, IndexItem] = {}
        for id, kind, at, model, size, terms, said, body in await self._read(read):
            names = names_of(body[size + terms :])
            found[id] = item_of(text_of(said), ShardEntry(id, kind, at, names, b"", model, body[:size]))
        return found

    def _step(
        self, copy: Copy, queries: Sequence[IndexQuery], connection: sqlite3.Connection
    ) -> list[Candidates] | None:
        """Have the copy catch up; what is found once it has."""
        found: list[Candidates] | None = None
        owner = queries[0].owner
        with copy.lock:
            shard = copy.current(state_of(connection, owner)[0])
            if shard is None:
                shard = copy.learn(_news(connection, owner, copy, analyzer=self._analyzer))
            if shard is not None:
                found = shard.search_all(queries, self._analyzer)
            self._copies.weigh(owner, copy)
        return found


def _news(connection: sqlite3.Connection, owner: str, copy: Copy, *, analyzer: Analyzer) -> CopyNews:
    """What was committed since the copy last learnt, as much as one step reads."""
    # One snapshot: a deletion between two statements would be missed for good.
    connection.execute("BEGIN")
    change, floor = state_of(connection, owner)
    is_anew = copy.known is None or copy.known < floor
    gone = [] if is_anew else connection.execute(_GONE, (owner, copy.known)).fetchall()
    read = 0 if is_anew else copy.read
    expected = 0 if read else connection.execute(_COUNT, (owner,)).fetchone()[0]
    rows = connection.execute(_NEW, (owner, read, copies.READ_AT_ONCE)).fetchall()
    entries = entries_of(connection, analyzer, rows) if rows else None
    connection.execute("COMMIT")
    is_all = len(rows) < copies.READ_AT_ONCE
    return CopyNews(
        change,
        change if is_all else rows[-1][-1],
        entries,
        [id for (id,) in gone],
        is_anew=is_anew,
        is_all=is_all,
        expected=expected,
    )


def entries_of(
    connection: sqlite3.Connection, analyzer: Analyzer, rows: Sequence[tuple[Any, ...]]
) -> Entries:
    """The entries of the rows of one step."""
    ids, kinds, at, models, sizes, lengths, bodies, analyses, texts, _ = zip(*rows, strict=True)
    ends = list(map(add, sizes, lengths))
    terms = [body[size:end] for body, size, end in zip(bodies, sizes, ends, strict=True)]
    for place, (analysis, text) in enumerate(zip(analyses, texts, strict=True)):
        if analysis != ANALYSIS:
            (body,) = connection.execute(_TEXT, (text,)).fetchone()
            terms[place] = analyzer.document_digests(text_of(body))
    written = [body[end:] for body, end in zip(bodies, ends, strict=True)]
    # The items of one conversation have the same names.
    known = {one: names_of(one) for one in set(written)}
    vectors = [body[:size] for body, size in zip(bodies, sizes, strict=True)]
    return Entries(ids, kinds, at, [known[one] for one in written], terms, models, vectors)
