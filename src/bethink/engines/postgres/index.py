"""The index over PostgreSQL's rows: an owner's copy in memory, or a table of its own if the owner is large.

The store writes its rows through `IndexRows`, in the transaction of their records. A search asks for the
owner's change number; if that has moved, it reads the owner's newer rows and tombstones, whichever process
wrote them, into the owner's copy (`search.copies`), as on SQLite. What is stored is what our own analysis
makes of a text, so both engines find the same in all languages. In a sealed home the database cannot compare
what it keeps: every owner has a copy.
"""
# ruff: noqa: S608 - the names of tables are ours

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio
import anyio.to_thread
import msgspec

from bethink.engines.postgres import large
from bethink.engines.postgres.connection import Connections, DatabaseSession, partitions_of, wall_of
from bethink.engines.postgres.large import OwnTables
from bethink.index import Candidates, IndexItem, IndexQuery, WithoutVector
from bethink.search import copies
from bethink.search.analysis import (
    ANALYSIS,
    SCALE,
    TERM_BYTES,
    Analyzer,
    Entries,
    Names,
    ShardEntry,
    model_key,
    model_of,
)
from bethink.search.copies import LOADS_MAX, SEARCHED_AT_ONCE, Copies, Copy, CopyNews
from bethink.store import opened, sealed
from bethink.telemetry import log

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel
    from bethink.sealing import Cipher
    from bethink.search.analysis import EmbeddedText

_log = log("index")

TOMBSTONES_KEPT = 100_000
"""Changes for which an owner's deletions are remembered; a copy that is older begins anew."""

_SAID: Final = ("text", "terms", "speaker", "project")

INDEX_TABLES: Final = (
    """CREATE TABLE index_items (
        owner text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, part smallint NOT NULL,
        change bigint NOT NULL, kind text NOT NULL, at bigint NOT NULL, conversation text, project text,
        speaker text, held_from bigint, held_until bigint, part_of text, analysis smallint NOT NULL,
        terms bigint[] NOT NULL, model text COLLATE "C", vector halfvec, text bytea NOT NULL,
        PRIMARY KEY (owner, id, part)) PARTITION BY HASH (owner)""",
    *partitions_of("index_items"),
    # What the planner learns of a column are samples of it: it is to have none of what people said.
    *(f"ALTER TABLE index_items ALTER COLUMN {one} SET STATISTICS 0" for one in _SAID),
    "CREATE INDEX index_items_change ON index_items (owner, change)",
    "CREATE INDEX index_items_model ON index_items (owner, model, at, id) WHERE part = 0",
    """CREATE TABLE index_tombstones (
        owner text COLLATE "C" NOT NULL, change bigint NOT NULL, id text NOT NULL,
        PRIMARY KEY (owner, change))""",
    """CREATE TABLE index_state (
        owner text COLLATE "C" PRIMARY KEY, change bigint NOT NULL, floor bigint NOT NULL)""",
    """CREATE TABLE index_large (
        owner text COLLATE "C" PRIMARY KEY, place int NOT NULL, is_stale boolean NOT NULL)""",
    "CREATE SEQUENCE index_places AS int",
    *(
        statement
        for table in ("index_items", "index_tombstones", "index_state", "index_large")
        for statement in wall_of(table)
    ),
)
"""A row for each vector of an item, or one if it has none; only its first has its terms and its text.

A vector has 16 bits a component, which moves a cosine by some hundred-thousandths. Terms are digests as
signed numbers, in reading order. A sealed item is one row: `body` has its names, terms and vectors
(`body_of`), and the columns of those are empty."""

_STATE = """
SELECT change, floor, place
FROM index_state AS s LEFT JOIN index_large AS l ON l.owner = s.owner WHERE s.owner = $1
"""
_WRITE_STATE = """
INSERT INTO index_state VALUES ($1, $2, $3)
    ON CONFLICT (owner) DO UPDATE SET change = excluded.change, floor = excluded.floor
"""
_PUT = """
INSERT INTO index_items VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16::text::halfvec, $17, $18)
"""
_DELETE = "DELETE FROM index_items WHERE owner = $1 AND id = ANY($2) RETURNING id"
_TEXTS = """
SELECT id, kind, at, conversation, project, speaker, held_from, held_until, part_of, text, {body}
FROM index_items WHERE owner = $1 AND id = ANY($2) AND part = 0
"""
_BURY = """
INSERT INTO index_tombstones
    SELECT $1, $2 + place, id FROM unnest($3::text[]) WITH ORDINALITY AS gone (id, place)
"""
_PRUNE = "DELETE FROM index_tombstones WHERE owner = $1 AND change <= $2"


@dataclass(slots=True)
class IndexRows:
    """Changes of one owner's index rows in one transaction, which `finish` writes.

    Every written item has a change number, greater than any before it of its owner; a deletion leaves a
    tombstone with one. The owner's writers come one after another (`Connections.write`).
    """

    session: DatabaseSession
    owner: str
    cipher: Cipher | None = None
    # The last of each item: None for a deleted one.
    _items: dict[str, tuple[str, ShardEntry] | None] = field(
        default_factory=dict[str, "tuple[str, ShardEntry] | None"]
    )
    _vectors: dict[str, tuple[str, EmbeddedText]] = field(
        default_factory=dict[str, "tuple[str, EmbeddedText]"]
    )
    _new: set[str] = field(default_factory=set[str])

    def put(self, text: str, entry: ShardEntry, *, is_new: bool = False) -> None:
        """Keep an item, replacing one with the same id, of which there is none if it `is_new`."""
        if is_new and entry.id not in self._items:
            self._new.add(entry.id)
        self._items[entry.id] = text, entry
        self._vectors.pop(entry.id, None)

    def set_vector(self, id: str, *, text: str, item: EmbeddedText) -> None:
        """Give an item its vector, if its text is still `text`, and the terms that are made of it now."""
        if id not in self._items:
            self._vectors[id] = text, item
        elif (kept := self._items[id]) is not None and kept[0] == text:
            self._items[id] = text, kept[1]._replace(**item._asdict())

    def delete(self, ids: Iterable[str]) -> None:
        """Remove the items with these ids; nothing happens for those that are not there."""
        for id in ids:
            self._items[id] = None
            self._vectors.pop(id, None)

    async def finish(self) -> None:
        """Write all of it, and the owner's change number."""
        if not self._items and not self._vectors:
            return
        change, floor, place = await _state_of(self.session, self.owner)
        began = change
        kept = [item for item in self._items.values() if item is not None]
        kept += await self._embedded()
        if kept:
            rows = [
                row
                for number, item in enumerate(kept, change + 1)
                for row in rows_of_item(self.owner, *item, change=number, cipher=self.cipher)
            ]
            await self._remove([entry.id for _, entry in kept if entry.id not in self._new], place)
            await self.session.executemany(_PUT, rows)
            if place is not None:
                await OwnTables(self.owner, place).add(self.session, [entry.id for _, entry in kept])
            change += len(kept)
        gone = await self._remove([id for id, item in self._items.items() if item is None], place)
        if gone:
            await self.session.execute(_BURY, self.owner, change, gone)
            change += len(gone)
            if await self.session.execute(_PRUNE, self.owner, change - TOMBSTONES_KEPT) != "DELETE 0":
                floor = max(floor, change - TOMBSTONES_KEPT)
        if change > began:
            await self.session.execute(_WRITE_STATE, self.owner, change, floor)

    async def _embedded(self) -> list[tuple[str, ShardEntry]]:
        """The items whose text is still the one that was embedded, with their vectors."""
        if not self._vectors:
            return []
        found: list[tuple[str, ShardEntry]] = []
        query = _TEXTS.format(body=_body_column(self.cipher))
        for id, kind, at, *names, said, body in await self.session.fetch(query, self.owner, [*self._vectors]):
            text, (terms, model, vector) = self._vectors[id]
            if text_of(said, self.cipher) == text:
                known = Names(*names) if self.cipher is None else body_of(body, self.cipher).names
                found.append((text, ShardEntry(id, kind, at, known, terms, model, vector)))
        return found

    async def _remove(self, ids: list[str], place: int | None) -> list[str]:
        """Delete the rows of these items; the ids of those that were there."""
        if not ids:
            return []
        if place is not None:
            await OwnTables(self.owner, place).remove(self.session, ids)
        return list(dict.fromkeys(row[0] for row in await self.session.fetch(_DELETE, self.owner, ids)))


def rows_of_item(
    owner: str, text: str, entry: ShardEntry, *, change: int, cipher: Cipher | None
) -> Iterator[tuple[object, ...]]:
    """The rows of an item, as `_PUT` takes them: with a cipher one, without a name, word or vector."""
    known = (owner, entry.id)
    if cipher is not None:
        said = sealed(cipher, msgspec.json.encode(text))
        nothing = (*_NO_NAMES, ANALYSIS, list[int]())
        of_item = (0, change, entry.kind, entry.at, *nothing, entry.model, None)
        yield *known, *of_item, said, _sealed_body(entry, cipher)
        return
    names = entry.names._replace(speaker=entry.names.speaker and entry.names.speaker.replace("\0", " "))
    of_item = (change, entry.kind, entry.at, *names, ANALYSIS)
    for part, vector in enumerate(_written(entry)):
        terms = [] if part else numbers_of(entry.terms)
        yield *known, part, *of_item, terms, entry.model, vector, b"" if part else text.encode(), None


_NO_NAMES: Final = Names()
_SIZES: Final = struct.Struct("<II")


class SealedBody(NamedTuple):
    """What is sealed of an item, but for its text; terms and vector are as in `ShardEntry`."""

    names: Names
    terms: bytes
    vector: bytes


def _sealed_body(entry: ShardEntry, cipher: Cipher) -> bytes:
    sizes = _SIZES.pack(len(entry.terms), len(entry.vector))
    return sealed(cipher, sizes + entry.terms + entry.vector + msgspec.json.encode(entry.names))


def body_of(kept: bytes, cipher: Cipher) -> SealedBody:
    """What `body` has of an item.

    Raises:
        CorruptDatabase: it was changed, or sealed with another key.
    """
    body = opened(cipher, kept)
    terms, vector = _SIZES.unpack_from(body)
    first = _SIZES.size + terms
    names = msgspec.json.decode(body[first + vector :], type=Names)
    return SealedBody(names, body[_SIZES.size : first], body[first : first + vector])


def text_of(kept: bytes, cipher: Cipher | None) -> str:
    """The text of an item.

    Raises:
        CorruptDatabase: it was changed, or sealed with another key.
    """
    return kept.decode() if cipher is None else msgspec.json.decode(opened(cipher, kept), type=str)


def _body_column(cipher: Cipher | None) -> str:
    """What is read of sealed items: the tables of an older Bethink have no such column."""
    return "NULL::bytea AS body" if cipher is None else "body"


class _State(NamedTuple):
    """An owner's last change number, up to which tombstones are gone, and where tables of its own are."""

    change: int
    floor: int
    place: int | None


async def _state_of(session: DatabaseSession, owner: str) -> _State:
    row = await session.fetchrow(_STATE, owner)
    return _State(0, 0, None) if row is None else _State(*row)


_DECIMALS: Final = 6
"""Of a component; its own steps are of 0.00003."""


def _written(entry: ShardEntry) -> list[str | None]:
    """The vectors of an entry as text; one None if it has none.

    In an array the driver would look at each number by itself, which takes longer.
    """
    if entry.model is None:
        return [None]
    import numpy as np

    from bethink.search.analysis import dimensions_of

    rows = np.frombuffer(entry.vector, "<i2").reshape(-1, dimensions_of(entry.model))
    return [msgspec.json.encode(row).decode() for row in np.round(rows / SCALE, _DECIMALS).tolist()]


def numbers_of(terms: bytes) -> list[int]:
    """Digests as signed numbers."""
    return [
        int.from_bytes(terms[place : place + TERM_BYTES], "little", signed=True)
        for place in range(0, len(terms), TERM_BYTES)
    ]


_GONE = "SELECT id FROM index_tombstones WHERE owner = $1 AND change > $2"
_ITEMS = f"""
SELECT id, kind, at, conversation, project, speaker, held_from, held_until, part_of, model, part,
    halfvec_send(vector) AS vector, array_send(terms) AS terms, change, {{body}},
    CASE WHEN analysis <> {ANALYSIS} AND part = 0 THEN text END AS text
FROM index_items WHERE owner = $1
"""
_NEW = f"{_ITEMS} AND change > $2 ORDER BY change, part LIMIT $3"
_OF_CHANGE = f"{_ITEMS} AND change = $2 ORDER BY part"
_COUNT = "SELECT count(*) FROM index_items WHERE owner = $1 AND part = 0"
_WITHOUT_VECTOR = """
SELECT id, text, kind FROM index_items
WHERE owner = $1 AND model IS NULL AND part = 0 ORDER BY at, id LIMIT $2
"""
_OTHER_MODEL = """
SELECT id, text, kind FROM index_items
WHERE owner = $1 AND model <> $2 AND part = 0 ORDER BY model, at, id LIMIT $3
"""
_VECTORS = """
SELECT id, halfvec_send(vector), {body} FROM index_items
WHERE owner = $1 AND id = ANY($2) AND model = $3 ORDER BY id, part
"""
_WHOLE = """
SELECT id, kind, at, conversation, project, speaker, held_from, held_until, part_of, text, model,
    halfvec_send(vector), {body}
FROM index_items WHERE owner = $1 AND id = ANY($2) ORDER BY id, part
"""


class PostgresIndex:
    """Candidates from one database's rows; made beside its store."""

    def __init__(self, connections: Connections, cipher: Cipher | None = None) -> None:
        self._connections = connections
        self._cipher = cipher
        self._analyzer = Analyzer()
        self._copies = Copies()
        self._loads = anyio.Semaphore(LOADS_MAX)
        # Owners whose tables are searched, and those for whom they are being made.
        self._large: set[str] = set()
        self._making: dict[str, asyncio.Task[None]] = {}

    async def search(self, query: IndexQuery) -> Candidates:
        """The best `limit` of each leg; sees every commit that was acknowledged before."""
        (found,) = await self._search(query.owner, [query])
        return found

    async def search_all(self, queries: Sequence[IndexQuery]) -> list[Candidates]:
        """What `search` gives of each, which are of one owner; many cost much less than one by one."""
        found: list[Candidates] = []
        for start in range(0, len(queries), SEARCHED_AT_ONCE):
            some = queries[start : start + SEARCHED_AT_ONCE]
            found += await self._search(some[0].owner, some)
        return found

    async def _search(self, owner: str, queries: Sequence[IndexQuery]) -> list[Candidates]:
        if owner in self._large:
            given = await self._connections.read(owner, partial(self._look, queries, None))
            if isinstance(given, list):
                return given
            self._large.discard(owner)
        copy = self._copies.of(owner)
        async with copy.turn:
            is_behind = copy.known is None
            while True:
                async with self._loads if is_behind else nullcontext():
                    given = await self._connections.read(owner, partial(self._look, queries, copy))
                    if not isinstance(given, list):
                        given = await anyio.to_thread.run_sync(self._step, copy, given, queries)
                self._see_size(owner, copy)
                if given is not None:
                    return given
                is_behind = True
                if owner in self._large:
                    # Its tables are lost, or were just given up because something was forgotten.
                    self._large.discard(owner)
                    await large.drop(self._connections, owner)

    async def _look(
        self, queries: Sequence[IndexQuery], copy: Copy | None, session: DatabaseSession
    ) -> list[Candidates] | _Rows | None:
        """What is found of a large owner; else the news of the owner's copy.

        None if the tables of a large owner are not there, or there are no news.
        """
        owner = queries[0].owner
        state = await _state_of(session, owner)
        if state.place is None:
            return (
                None if copy is None else await _news(session, copy, state, owner=owner, cipher=self._cipher)
            )
        import asyncpg

        from bethink.engines.postgres.large_search import LargeSearch  # numpy with it

        self._large.add(owner)
        if copy is not None:
            copy.forget()
            self._copies.weigh(owner, copy)
        found: list[Candidates] = []
        try:
            for query in queries:
                terms = numbers_of(self._analyzer.digests(self._analyzer.question(query.text)))
                found.append(await LargeSearch(session, state.place, query, terms).candidates())
        except asyncpg.UndefinedTableError:
            return None
        return found

    def _step(self, copy: Copy, news: _Rows | None, queries: Sequence[IndexQuery]) -> list[Candidates] | None:
        """Have the copy learn; what is found once it knows all."""
        with copy.lock:
            shard = copy.shard if news is None else copy.learn(news.decoded(self._analyzer))
            self._copies.weigh(queries[0].owner, copy)
            return None if shard is None else shard.search_all(queries, self._analyzer)

    def _see_size(self, owner: str, copy: Copy) -> None:
        """Have tables made for an owner who has become large; until they are there, the copy is searched."""
        is_large = copy.shard is not None and len(copy.shard) > large.LARGE
        if is_large and self._cipher is None and owner not in self._making:
            self._making[owner] = asyncio.create_task(self._make(owner))

    async def _make(self, owner: str) -> None:
        try:
            await large.build(self._connections, owner)
        except Exception:  # noqa: BLE001 - a background task: recorded; searches go on as before
            _log.exception("tables for a large owner could not be made; its copy is searched until a restart")
        else:
            del self._making[owner]

    async def close(self) -> None:
        """End what goes on beside searches."""
        for task in [*self._making.values()]:
            task.cancel()
        await asyncio.gather(*self._making.values(), return_exceptions=True)

    async def missing_vectors(
        self, owner: str, model: EmbeddingModel, limit: int
    ) -> tuple[WithoutVector, ...]:
        """At most `limit` items that have no vector of `model`."""

        async def read(session: DatabaseSession) -> list[Any]:
            rows = await session.fetch(_WITHOUT_VECTOR, owner, limit)
            if len(rows) < limit:
                rows += await session.fetch(_OTHER_MODEL, owner, model_key(model), limit - len(rows))
            return rows

        rows = await self._connections.read(owner, read)
        return tuple(WithoutVector(id, text_of(text, self._cipher), kind) for id, text, kind in rows)

    async def vectors(
        self, owner: str, model: EmbeddingModel, ids: Sequence[str]
    ) -> dict[str, NDArray[np.float32]]:
        """The vectors of those of these items that have any of `model`, by id."""

        async def read(session: DatabaseSession) -> list[Any]:
            query = _VECTORS.format(body=_body_column(self._cipher))
            return await session.fetch(query, owner, [*ids], model_key(model))

        rows = groupby(await self._connections.read(owner, read), itemgetter(0))
        return {id: self._vector_of([one[1:] for one in of_item], model) for id, of_item in rows}

    async def items(self, owner: str, ids: Sequence[str]) -> dict[str, IndexItem]:
        """What was put with these ids, by id; its vectors have 16 bits a component."""

        async def read(session: DatabaseSession) -> list[Any]:
            return await session.fetch(_WHOLE.format(body=_body_column(self._cipher)), owner, [*ids])

        found: dict[str, IndexItem] = {}
        for id, parts in groupby(await self._connections.read(owner, read), itemgetter(0)):
            rows = [*parts]
            _, kind, at, *names, text, key, _, body = rows[0]
            known = Names(*names) if self._cipher is None else body_of(body, self._cipher).names
            model = None if key is None else model_of(key)
            vector = None if model is None else self._vector_of([row[-2:] for row in rows], model)
            found[id] = IndexItem(kind, text_of(text, self._cipher), at, vector, model, *known)
        return found

    def _vector_of(self, rows: Sequence[tuple[bytes, bytes]], model: EmbeddingModel) -> NDArray[np.float32]:
        """The vectors of an item, by what its rows have of them: in columns, or in the first one's body."""
        import numpy as np  # heavy: whoever asks for vectors works with them

        if self._cipher is None:
            return np.stack([_vector(sent) for sent, _ in rows])
        kept = np.frombuffer(body_of(rows[0][1], self._cipher).vector, "<i2")
        return kept.reshape(-1, model.dimensions).astype(np.float32) / np.float32(SCALE)


_OF_IDS = f"{_ITEMS} AND id = ANY($2) ORDER BY change, part"
_SAID_OF_IDS = "SELECT id, text FROM index_items WHERE owner = $1 AND id = ANY($2) AND part = 0"


async def reseal_items(
    session: DatabaseSession, owner: str, ids: Sequence[str], *, before: Cipher | None, now: Cipher | None
) -> None:
    """Write these items of an owner anew, sealed with `now`, or by nothing; their change numbers stay."""
    rows = await session.fetch(_OF_IDS.format(body=_body_column(before)), owner, ids)
    texts = dict(await session.fetch(_SAID_OF_IDS, owner, ids))
    changes = [row["change"] for row in rows if not row["part"]]
    entries = map(ShardEntry, *entries_of(rows, Analyzer(), before))
    await session.fetch(_DELETE, owner, ids)
    await session.executemany(
        _PUT,
        [
            row
            for change, entry in zip(changes, entries, strict=True)
            for row in rows_of_item(owner, text_of(texts[entry.id], before), entry, change=change, cipher=now)
        ],
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """What one step reads, as it came: it is decoded in a thread."""

    change: int
    items: list[Any]
    gone: list[str]
    is_anew: bool
    is_all: bool
    expected: int
    cipher: Cipher | None

    def decoded(self, analyzer: Analyzer) -> CopyNews:
        read = self.change if self.is_all else self.items[-1]["change"]
        entries = entries_of(self.items, analyzer, self.cipher) if self.items else None
        return CopyNews(
            self.change,
            read,
            entries,
            self.gone,
            is_anew=self.is_anew,
            is_all=self.is_all,
            expected=self.expected,
        )


async def _news(
    session: DatabaseSession, copy: Copy, state: _State, *, owner: str, cipher: Cipher | None
) -> _Rows | None:
    """What was committed since the copy last learnt, as much as one step reads; None if it knows all."""
    change, floor, _ = state
    if copy.current(change) is not None:
        return None
    is_anew = copy.known is None or copy.known < floor
    gone = [] if is_anew else await session.fetch(_GONE, owner, copy.known)
    read = 0 if is_anew else copy.read
    expected = 0 if read else await session.fetchval(_COUNT, owner)
    body = _body_column(cipher)
    items = await session.fetch(_NEW.format(body=body), owner, read, copies.READ_AT_ONCE)
    is_all = len(items) < copies.READ_AT_ONCE
    if not is_all:
        # The last item may have more vectors: all of them are read with it, or none.
        last = items[-1]["change"]
        items = [row for row in items if row["change"] < last]
        items += await session.fetch(_OF_CHANGE.format(body=body), owner, last)
    return _Rows(change, items, [id for (id,) in gone], is_anew, is_all, expected, cipher)


_HALVES_AT: Final = 4
"""Where the components begin in what `halfvec_send` gives: two bytes each, the higher first."""

_TERMS_AT: Final = 20
_TERM_SENT: Final = 4 + TERM_BYTES
"""Where the numbers begin in what `array_send` gives, and the bytes of one: its length stands before it."""


def entries_of(rows: Sequence[Any], analyzer: Analyzer, cipher: Cipher | None = None) -> Entries:
    """The entries of rows in the order of their changes and parts."""
    items, names, terms, vectors = _in_columns(rows) if cipher is None else _in_bodies(rows, cipher)
    for place, row in enumerate(items):
        if row["text"] is not None:
            terms[place] = analyzer.document_digests(text_of(row["text"], cipher))
    return Entries(
        [row["id"] for row in items],
        [row["kind"] for row in items],
        [row["at"] for row in items],
        names,
        terms,
        [row["model"] for row in items],
        vectors,
    )


_Columns = tuple["Sequence[Any]", list[Names], list[bytes], list[bytes]]
"""The first row of each item, and its names, terms and vectors."""


def _in_bodies(rows: Sequence[Any], cipher: Cipher) -> _Columns:
    bodies = [body_of(row["body"], cipher) for row in rows]
    return (
        rows,
        [body.names for body in bodies],
        [body.terms for body in bodies],
        [body.vector for body in bodies],
    )


def _in_columns(rows: Sequence[Any]) -> _Columns:
    import numpy as np

    sent = [b"" if row["vector"] is None else row["vector"][_HALVES_AT:] for row in rows]
    vectors = list(_pieces(_quantized(b"".join(sent)), map(len, sent)))
    numbers = [row["terms"][_TERMS_AT:] for row in rows]
    joined = np.frombuffer(b"".join(numbers), np.uint8).reshape(-1, _TERM_SENT)[:, 4:]
    sizes = (len(one) // _TERM_SENT * TERM_BYTES for one in numbers)
    terms = list(_pieces(joined[:, ::-1].tobytes(), sizes))
    firsts = [place for place, row in enumerate(rows) if not row["part"]]
    if len(firsts) < len(rows):
        ends = [*firsts[1:], len(rows)]
        vectors = [b"".join(vectors[start:end]) for start, end in zip(firsts, ends, strict=True)]
        terms = [terms[place] for place in firsts]
    items = [rows[place] for place in firsts]
    return items, [Names(*row[3:9]) for row in items], terms, vectors


def _quantized(halves: bytes) -> bytes:
    """Components of 16-bit floats, the higher byte first, as `quantized` keeps them."""
    import numpy as np

    components = np.frombuffer(halves, ">f2").astype(np.float32)
    components *= SCALE
    return components.round().astype("<i2").tobytes()


def _vector(sent: bytes) -> NDArray[np.float32]:
    import numpy as np

    return np.frombuffer(sent[_HALVES_AT:], ">f2").astype(np.float32)


def _pieces(joined: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    """The bytes, cut into pieces of these sizes."""
    start = 0
    for size in sizes:
        yield joined[start : start + size]
        start += size
