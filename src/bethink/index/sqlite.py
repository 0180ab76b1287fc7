"""The index over SQLite's rows: shards in memory that catch up before each search.

`store.sqlite` makes it and writes its rows (`sqlite_rows`). A search asks for
the file's change number; when that has moved, it reads the owner's newer rows
and tombstones, whichever process wrote them. Idle owners' shards give way when
all together grow beyond `MEMORY_BYTES`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from bethink.index.analysis import ANALYSIS, Analyzer
from bethink.index.entry import Entry, model_key, vector_of
from bethink.index.sqlite_rows import Words, text_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel
    from bethink.index import Candidates, IndexQuery
    from bethink.index.shard import Shard

T = TypeVar("T")

MEMORY_BYTES = 256 * 1024 * 1024
"""Of all shards: some 100,000 items with vectors of 384 dimensions. The one in use always fits."""

_READ_AT_ONCE = 1_000

_STATE = "SELECT change, floor FROM index_state"
_GONE = "SELECT id FROM index_tombstones WHERE owner = ? AND change > ?"
_NEW = """
SELECT id, kind, at, w.body, model, v.body, analysis
FROM index_items CROSS JOIN bodies AS w ON w.place = words LEFT JOIN bodies AS v ON v.place = vector
WHERE owner = ? AND change > ? ORDER BY change
"""
_WITHOUT_VECTOR = """
SELECT id, body FROM index_items CROSS JOIN bodies ON place = words
WHERE owner = ? AND model IS NULL ORDER BY at, id LIMIT ?
"""
_OTHER_MODEL = """
SELECT id, body FROM index_items CROSS JOIN bodies ON place = words
WHERE owner = ? AND model <> ? ORDER BY model, at, id LIMIT ?
"""
_VECTOR = """
SELECT body FROM index_items CROSS JOIN bodies ON place = vector WHERE owner = ? AND id = ? AND model = ?
"""


class Read(Protocol):
    """Calls a function with a reading connection, in a thread."""

    async def __call__(self, work: Callable[[sqlite3.Connection], T], /) -> T:
        """What `work` gives."""
        ...


class _Copy:
    """An owner's shard, and the change up to which it knows the rows."""

    def __init__(self, shard: Shard) -> None:
        self.lock = threading.Lock()
        self.shard = shard
        self.change = 0

    def catch_up(self, connection: sqlite3.Connection, owner: str, analyzer: Analyzer) -> None:
        """Learn what was committed since the last time."""
        change, floor = connection.execute(_STATE).fetchone()
        if change == self.change:
            return
        # One snapshot: a deletion between two statements would be missed for good.
        connection.execute("BEGIN")
        change, floor = connection.execute(_STATE).fetchone()
        if self.change < floor:
            self.shard, self.change = type(self.shard)(), 0
        if self.change:
            for (id,) in connection.execute(_GONE, (owner, self.change)).fetchall():
                self.shard.remove(id)
        rows = connection.execute(_NEW, (owner, self.change))
        while some := rows.fetchmany(_READ_AT_ONCE):
            self.shard.add([_entry(row, analyzer) for row in some])
        connection.execute("COMMIT")
        self.shard.settle()
        self.change = change


class SqliteIndex:
    """Candidates from one file's rows; made by `store.sqlite.open_database`."""

    def __init__(self, read: Read, *, memory_bytes: int = MEMORY_BYTES) -> None:
        self._read = read
        self._memory_bytes = memory_bytes
        self._analyzer = Analyzer()
        self._copies: OrderedDict[str, _Copy] = OrderedDict()
        self._lock = threading.Lock()

    async def search(self, query: IndexQuery) -> Candidates:
        """The best `limit` of each leg; sees every commit that was acknowledged before."""
        return await self._read(partial(self._search, query))

    async def missing_vectors(
        self, owner: str, model: EmbeddingModel, limit: int
    ) -> tuple[tuple[str, str], ...]:
        """At most `limit` pairs (id, text) that have no vector of `model`."""
        return await self._read(lambda connection: _missing(connection, owner, model_key(model), limit=limit))

    async def vectors(
        self, owner: str, model: EmbeddingModel, ids: Sequence[str]
    ) -> dict[str, NDArray[np.float32]]:
        """The vectors of those of these items that have one of `model`, by id."""
        return await self._read(lambda connection: _vectors(connection, owner, model_key(model), ids=ids))

    def _search(self, query: IndexQuery, connection: sqlite3.Connection) -> Candidates:
        copy = self._copy(query.owner)
        with copy.lock:
            copy.catch_up(connection, query.owner, self._analyzer)
            terms = self._analyzer.question(query.text)
            model = None if query.model is None else model_key(query.model)
            found = copy.shard.search(query, terms, model)
        self._evict()
        return found

    def _copy(self, owner: str) -> _Copy:
        from bethink.index.shard import Shard

        with self._lock:
            copy = self._copies.pop(owner, None) or _Copy(Shard())
            # The last place is that of the owner who searched last.
            self._copies[owner] = copy
        return copy

    def _evict(self) -> None:
        with self._lock:
            sizes = {owner: copy.shard.nbytes for owner, copy in self._copies.items()}
            total = sum(sizes.values())
            for owner in list(sizes)[:-1]:
                if total <= self._memory_bytes:
                    return
                del self._copies[owner]
                total -= sizes[owner]


def _entry(row: tuple[Any, ...], analyzer: Analyzer) -> Entry:
    id, kind, at, body, model, vector, analysis = row
    words = msgspec.json.decode(body, type=Words)
    terms = words.terms if analysis == ANALYSIS else " ".join(analyzer.document(text_of(body)))
    return Entry(id, kind, at, words.conversation, words.project, words.speaker, terms, model, vector)


def _missing(
    connection: sqlite3.Connection, owner: str, model: str, *, limit: int
) -> tuple[tuple[str, str], ...]:
    rows = connection.execute(_WITHOUT_VECTOR, (owner, limit)).fetchall()
    if len(rows) < limit:
        rows += connection.execute(_OTHER_MODEL, (owner, model, limit - len(rows))).fetchall()
    return tuple((id, text_of(body)) for id, body in rows)


def _vectors(
    connection: sqlite3.Connection, owner: str, model: str, *, ids: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    rows = {id: connection.execute(_VECTOR, (owner, id, model)).fetchone() for id in ids}
    return {id: vector_of(row[0]) for id, row in rows.items() if row is not None}
