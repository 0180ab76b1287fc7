"""The index over SQLite's rows: shards in memory that catch up before each search.

`store.sqlite` makes it and writes its rows (`sqlite_rows`). A search asks for
the file's change number; when that has moved, it reads the owner's newer rows
and tombstones, whichever process wrote them. Many rows are read in steps, so
that who reads something else meanwhile waits for a step at most. Idle owners'
shards give way when all together grow beyond `MEMORY_BYTES`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import nullcontext
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio

from bethink.engines.sqlite.index_rows import names_of, text_of
from bethink.search.analysis import ANALYSIS, Analyzer
from bethink.search.entry import Entries, model_key, vector_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel
    from bethink.index import Candidates, IndexQuery
    from bethink.search.entry import Names
    from bethink.search.shard import Shard

T = TypeVar("T")

MEMORY_BYTES = 256 * 1024 * 1024
"""Of all shards: some 200,000 items with vectors of 384 dimensions. The one in use always fits."""

READ_AT_ONCE = 4_000
"""Rows a step: some hundredths of a second. Their vectors fit into the processor's cache."""

LOADS_MAX = 2
"""Owners with much to read that are read for at a time; the other readers are left for the rest."""

_STATE = "SELECT change, floor FROM index_state"
_GONE = "SELECT id FROM index_tombstones WHERE owner = ? AND change > ?"
_NEW = """
SELECT id, kind, at, model, vector, terms, body, analysis, text, change
FROM index_items CROSS JOIN bodies USING (place)
WHERE owner = ? AND change > ? ORDER BY change LIMIT ?
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
    """An owner's shard, and how far it knows the rows.

    `read` is the change of the last row that was read, `known` the file's change when that was done:
    nothing that was deleted up to then is in the shard.
    """

    def __init__(self) -> None:
        # One search at a time. The thread's own lock counts where one was cancelled during its step.
        self.turn = anyio.Lock()
        self.lock = threading.Lock()
        self.shard: Shard | None = None
        self.read = 0
        self.known = 0
        self.nbytes = 0

    def catch_up(self, connection: sqlite3.Connection, owner: str, analyzer: Analyzer) -> Shard | None:
        """Learn of what was committed since the last time, in one step; the shard if that was all.

        A step that breaks off leaves an empty copy, which begins anew.
        """
        from bethink.search.shard import Shard  # numpy with it, in the thread

        (change, _) = connection.execute(_STATE).fetchone()
        if change == self.read and self.shard is not None:
            return self.shard
        shard, read, known = self.shard or Shard(), self.read, self.known
        self.shard, self.read, self.known = None, 0, 0
        # One snapshot: a deletion between two statements would be missed for good.
        connection.execute("BEGIN")
        change, floor = connection.execute(_STATE).fetchone()
        if known < floor:
            shard, read = Shard(), 0
        elif known:
            for (id,) in connection.execute(_GONE, (owner, known)).fetchall():
                shard.remove(id)
        expected = 0 if read else connection.execute(_COUNT, (owner,)).fetchone()[0]
        rows = connection.execute(_NEW, (owner, read, READ_AT_ONCE)).fetchall()
        if rows:
            shard.add(_Entries(connection, analyzer).of(rows), expected)
        connection.execute("COMMIT")
        is_all = len(rows) < READ_AT_ONCE
        if is_all:
            shard.settle()
        self.shard, self.read, self.known = shard, change if is_all else rows[-1][-1], change
        return shard if is_all else None


class SqliteIndex:
    """Candidates from one file's rows; made by `store.sqlite.open_database`."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._analyzer = Analyzer()
        self._copies: OrderedDict[str, _Copy] = OrderedDict()
        self._nbytes = 0
        self._lock = threading.Lock()
        self._loads = anyio.Semaphore(LOADS_MAX)

    async def search(self, query: IndexQuery) -> Candidates:
        """The best `limit` of each leg; sees every commit that was acknowledged before."""
        copy = self._copy(query.owner)
        async with copy.turn:
            is_behind = not copy.known
            while True:
                async with self._loads if is_behind else nullcontext():
                    found = await self._read(partial(self._step, copy, query))
                if found is not None:
                    return found
                is_behind = True

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

    def _step(self, copy: _Copy, query: IndexQuery, connection: sqlite3.Connection) -> Candidates | None:
        """Have the copy catch up; what is found once it has."""
        found: Candidates | None = None
        with copy.lock:
            shard = copy.catch_up(connection, query.owner, self._analyzer)
            if shard is not None:
                terms = self._analyzer.digests(self._analyzer.question(query.text))
                model = None if query.model is None else model_key(query.model)
                found = shard.search(query, terms, model)
            nbytes = 0 if copy.shard is None else copy.shard.nbytes
        self._weigh(query.owner, copy, nbytes)
        return found

    def _copy(self, owner: str) -> _Copy:
        with self._lock:
            copy = self._copies.pop(owner, None) or _Copy()
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
        ids, kinds, at, models, sizes, lengths, bodies, analyses, texts, _ = zip(*rows, strict=True)
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
