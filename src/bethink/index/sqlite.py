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
from operator import add
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bethink.index.analysis import ANALYSIS, Analyzer
from bethink.index.entry import Entries, model_key, vector_of
from bethink.index.sqlite_rows import names_of, text_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel
    from bethink.index import Candidates, IndexQuery
    from bethink.index.entry import Names
    from bethink.index.shard import Shard

T = TypeVar("T")

MEMORY_BYTES = 256 * 1024 * 1024
"""Of all shards: some 200,000 items with vectors of 384 dimensions. The one in use always fits."""

_READ_AT_ONCE = 4_000
"""Rows; their vectors fit into the processor's cache."""

_STATE = "SELECT change, floor FROM index_state"
_GONE = "SELECT id FROM index_tombstones WHERE owner = ? AND change > ?"
_NEW = """
SELECT id, kind, at, model, vector, terms, body, analysis, text
FROM index_items CROSS JOIN bodies USING (place)
WHERE owner = ? AND change > ? ORDER BY change
"""
_COUNT = "SELECT count(*) FROM index_items WHERE owner = ?"
_TEXT = "SELECT body FROM bodies WHERE place = ?"
_WITHOUT_VECTOR = """
SELECT id, body FROM index_items CROSS JOIN bodies ON bodies.place = text
WHERE owner = ? AND model IS NULL ORDER BY at, id LIMIT ?
"""
_OTHER_MODEL = """
SELECT id, body FROM index_items CROSS JOIN bodies ON bodies.place = text
WHERE owner = ? AND model <> ? ORDER BY model, at, id LIMIT ?
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


class _Copy:
    """An owner's shard, and the change up to which it knows the rows."""

    def __init__(self, shard: Shard) -> None:
        self.lock = threading.Lock()
        self.shard = shard
        self.change = 0
        self.nbytes = 0

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
        expected = 0 if self.change else connection.execute(_COUNT, (owner,)).fetchone()[0]
        rows = connection.execute(_NEW, (owner, self.change))
        entries = _Entries(connection, analyzer)
        while some := rows.fetchmany(_READ_AT_ONCE):
            self.shard.add(entries.of(some), expected)
            expected = 0
        connection.execute("COMMIT")
        self.shard.settle()
        self.change = change


class SqliteIndex:
    """Candidates from one file's rows; made by `store.sqlite.open_database`."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._analyzer = Analyzer()
        self._copies: OrderedDict[str, _Copy] = OrderedDict()
        self._nbytes = 0
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
            terms = self._analyzer.digests(self._analyzer.question(query.text))
            model = None if query.model is None else model_key(query.model)
            found = copy.shard.search(query, terms, model)
            nbytes = copy.shard.nbytes
        self._weigh(query.owner, copy, nbytes)
        return found

    def _copy(self, owner: str) -> _Copy:
        from bethink.index.shard import Shard

        with self._lock:
            copy = self._copies.pop(owner, None) or _Copy(Shard())
            # The last place is that of the owner who searched last.
            self._copies[owner] = copy
        return copy

    def _weigh(self, owner: str, copy: _Copy, nbytes: int) -> None:
        """Note how large the copy is now, and let those give way that were not searched for longest."""
        with self._lock:
            if self._copies.get(owner) is not copy:
                # Another owner's search has let it go meanwhile.
                return
            self._nbytes += nbytes - copy.nbytes
            copy.nbytes = nbytes
            while self._nbytes > MEMORY_BYTES and len(self._copies) > 1:
                _, idle = self._copies.popitem(last=False)
                self._nbytes -= idle.nbytes


class _Entries:
    """Makes entries of rows."""

    def __init__(self, connection: sqlite3.Connection, analyzer: Analyzer) -> None:
        self._connection = connection
        self._analyzer = analyzer
        # The items of one conversation have the same names.
        self._names: dict[bytes, Names] = {}

    def of(self, rows: Sequence[tuple[Any, ...]]) -> Entries:
        ids, kinds, at, models, sizes, lengths, bodies, analyses, texts = zip(*rows, strict=True)
        ends = list(map(add, sizes, lengths))
        terms = [body[size:end] for body, size, end in zip(bodies, sizes, ends, strict=True)]
        if any(analysis != ANALYSIS for analysis in set(analyses)):
            terms = [
                these if analysis == ANALYSIS else self._analysed(text)
                for these, analysis, text in zip(terms, analyses, texts, strict=True)
            ]
        written = [body[end:] for body, end in zip(bodies, ends, strict=True)]
        for one in set(written):
            if one not in self._names:
                self._names[one] = names_of(one)
        names = [self._names[one] for one in written]
        vectors = [body[:size] for body, size in zip(bodies, sizes, strict=True)]
        return Entries(ids, kinds, at, names, terms, models, vectors)

    def _analysed(self, text: int) -> bytes:
        (body,) = self._connection.execute(_TEXT, (text,)).fetchone()
        return self._analyzer.document_digests(text_of(body))


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
