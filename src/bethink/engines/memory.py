"""The store, the index and the bus in memory: for tests, and for a process that is to leave nothing behind.

`app` wires it when there is no data directory. The store keeps encoded records,
so that what cannot be stored elsewhere cannot be stored here either.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, assert_never

from bethink.bus import Mailboxes, Notice, TokenBuckets
from bethink.clock import Clock, SystemClock
from bethink.errors import Conflict
from bethink.index import Candidates, IndexItem, IndexQuery, WithoutVector
from bethink.search.analysis import (
    Analyzer,
    Entries,
    ShardEntry,
    entry_of,
    item_of,
    model_key,
    vector_bytes,
    vectors_of,
)
from bethink.store import (
    Change,
    Delete,
    DeleteAll,
    Expect,
    Position,
    Put,
    RecordPage,
    Row,
    SetVector,
    Versioned,
    check_scan,
    check_text,
    check_where,
    cursor,
    order_key,
    record_of,
    row_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel
    from bethink.search.shard import Shard
    from bethink.store import Collection, Key, R, Scan


@dataclass(frozen=True, slots=True)
class _Lease:
    process: str
    until_us: int


@dataclass(slots=True)
class MemoryHub:
    """What the buses of one test share, each playing a process."""

    mailboxes: Mailboxes = field(default_factory=Mailboxes)
    leases: dict[str, _Lease] = field(default_factory=dict[str, _Lease])
    living: set[str] = field(default_factory=set[str])
    buckets: TokenBuckets = field(default_factory=TokenBuckets)
    started: int = 0


class MemoryBus:
    """A bus without other processes, except those on the same hub that play them."""

    def __init__(self, hub: MemoryHub | None = None, *, clock: Clock | None = None) -> None:
        self._hub = hub or MemoryHub()
        self._clock = clock or SystemClock()
        self._hub.started += 1
        self._process = f"memory-{self._hub.started}"
        self._hub.living.add(self._process)

    @property
    def process(self) -> str:
        """This process's own name on the bus."""
        return self._process

    @property
    def fault(self) -> None:
        """Nothing can go wrong."""
        return

    async def publish(self, topic: str, payload: str = "") -> None:
        """Tell every subscriber of the topic."""
        self._hub.mailboxes.deliver((Notice(topic, payload),))

    @asynccontextmanager
    async def subscribe(self, topic: str) -> AsyncGenerator[AsyncIterator[Notice]]:
        """Notices published after the block was entered, in order."""
        mailbox = self._hub.mailboxes.open(topic)
        try:
            yield mailbox
        finally:
            self._hub.mailboxes.drop(topic, mailbox)

    async def claim(self, name: str, ttl_s: float) -> bool:
        """Take or renew the lease `name` for `ttl_s` seconds."""
        now = self._clock.now_us()
        held = self._hub.leases.get(name)
        if (
            held
            and held.process != self._process
            and held.process in self._hub.living
            and held.until_us > now
        ):
            return False
        self._hub.leases[name] = _Lease(self._process, now + round(ttl_s * 1_000_000))
        return True

    async def release(self, name: str) -> None:
        """Give up the lease if this process holds it."""
        held = self._hub.leases.get(name)
        if held and held.process == self._process:
            del self._hub.leases[name]

    async def is_alive(self, process: str) -> bool:
        """Whether the process with that name on the bus still runs."""
        return process in self._hub.living

    async def take(self, name: str, per_minute: int) -> float:
        """Take one from a bucket; how many seconds until there is one, if there is none."""
        return self._hub.buckets.take(name, per_minute)


class MemoryIndex:
    """Items of one process, gone with it."""

    def __init__(self) -> None:
        self._analyzer = Analyzer()
        self._kept: dict[str, dict[str, tuple[str, ShardEntry]]] = {}
        # What a shard has still to learn: None for a removed item.
        self._news: dict[str, dict[str, ShardEntry | None]] = {}
        self._shards: dict[str, Shard] = {}

    async def search(self, query: IndexQuery) -> Candidates:
        """The best `limit` of each leg."""
        return (await self.search_all([query]))[0]

    async def search_all(self, queries: Sequence[IndexQuery]) -> list[Candidates]:
        """What `search` gives of each, which are of one owner."""
        if not queries or not self._kept.get(queries[0].owner):
            return [Candidates()] * len(queries)
        return self._shard(queries[0].owner).search_all(queries, self._analyzer)

    async def missing_vectors(
        self, owner: str, model: EmbeddingModel, limit: int
    ) -> tuple[WithoutVector, ...]:
        """At most `limit` items that have no vector of `model`."""
        wanted = model_key(model)
        missing = sorted(
            (entry.model or "", entry.at, WithoutVector(id, text, entry.kind))
            for id, (text, entry) in self._kept.get(owner, {}).items()
            if entry.model != wanted
        )
        return tuple(one for *_, one in missing[:limit])

    async def vectors(
        self, owner: str, model: EmbeddingModel, ids: Sequence[str]
    ) -> dict[str, NDArray[np.float32]]:
        """The vectors of those of these items that have one of `model`, by id."""
        kept, wanted = self._kept.get(owner, {}), model_key(model)
        entries = [kept[id][1] for id in ids if id in kept]
        return {entry.id: vectors_of(entry.vector, model) for entry in entries if entry.model == wanted}

    async def items(self, owner: str, ids: Sequence[str]) -> dict[str, IndexItem]:
        """What was put with these ids, by id."""
        kept = self._kept.get(owner, {})
        return {id: item_of(*kept[id]) for id in ids if id in kept}

    def entry(self, id: str, item: IndexItem) -> ShardEntry:
        """What `put` keeps of an item.

        Raises:
            BadInput, ValueError: see `entry_of`.
        """
        return entry_of(id, item, self._analyzer)

    def put(self, owner: str, text: str, entry: ShardEntry) -> None:
        """Keep an item, replacing one with the same id."""
        self._kept.setdefault(owner, {})[entry.id] = (text, entry)
        self._news.setdefault(owner, {})[entry.id] = entry

    def delete(self, owner: str, id: str) -> None:
        """Remove an item; nothing happens if it is not there."""
        if self._kept.get(owner, {}).pop(id, None) is not None:
            self._news.setdefault(owner, {})[id] = None

    def drop(self, owner: str) -> None:
        """Hold nothing of an owner any more."""
        for kept in (self._kept, self._news, self._shards):
            kept.pop(owner, None)

    def set_vector(self, owner: str, id: str, *, text: str, key: str, vector: bytes) -> None:
        """Give an item its vector of the model `key`, if its text is still `text`."""
        kept = self._kept.get(owner, {}).get(id)
        if kept is not None and kept[0] == text:
            self.put(owner, text, kept[1]._replace(model=key, vector=vector))

    def _shard(self, owner: str) -> Shard:
        shard = self._shards.get(owner)
        if shard is None:
            from bethink.search.shard import Shard

            shard = self._shards[owner] = Shard()
        news = self._news.pop(owner, {})
        for id, entry in news.items():
            if entry is None:
                shard.remove(id)
        if fresh := [entry for entry in news.values() if entry is not None]:
            shard.add(Entries(*zip(*fresh, strict=True)))
        shard.settle()
        return shard


@dataclass(frozen=True, slots=True)
class _Kept:
    row: Row
    version: int


_Table = dict[str, _Kept]
_Rank = tuple[bool, int, str]


class MemoryStore:
    """Records of one process, gone with it."""

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index
        self._tables: dict[tuple[str, str], _Table] = {}

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        """Apply all changes, or none."""
        check_text(owner)
        batch = _Batch(self._tables, self._index, owner)
        for change in changes:
            batch.add(change)
        batch.apply()

    async def get(
        self, collection: Collection[R], owner: str, ids: Sequence[str]
    ) -> tuple[Versioned[R] | None, ...]:
        """The records with these ids, in their order, None if there is none."""
        table = self._table(collection, owner)
        return tuple(_versioned(collection, table[id]) if id in table else None for id in ids)

    async def scan(self, owner: str, *scans: Scan[R]) -> list[RecordPage[R]]:
        """A page of records for each scan, in order."""
        return [self._page(owner, scan) for scan in scans]

    def _page(self, owner: str, scan: Scan[R]) -> RecordPage[R]:
        after = check_scan(scan)
        kept = _matching(self._table(scan.collection, owner), scan.collection, scan.where)
        ranked = {_rank(_position(scan, one.row)): one for one in kept if _in_bounds(scan, one.row)}
        ranks = sorted(ranked, reverse=scan.reverse)
        if after is not None:
            behind = _rank(after)
            ranks = [rank for rank in ranks if (rank < behind if scan.reverse else rank > behind)]
        page = [ranked[rank] for rank in ranks[: scan.limit]]
        return RecordPage(
            tuple(_versioned(scan.collection, one) for one in page),
            cursor(scan, _position(scan, page[-1].row)) if len(ranks) > scan.limit else None,
        )

    async def count(self, owner: str, collection: Collection[R], where: Mapping[str, Key]) -> int:
        """How many records have keys equal to `where`."""
        check_where(collection, where)
        return len(_matching(self._table(collection, owner), collection, where))

    async def owners(self, collection: Collection[Any], *, after: str = "", limit: int = 100) -> list[str]:
        """Owners of records of the collection, in order."""
        kept = (owner for (name, owner), table in self._tables.items() if table and name == collection.name)
        return sorted(owner for owner in kept if owner > after)[:limit]

    async def scrub(self, owner: str | None = None) -> tuple[str, ...]:
        """Nothing is left anywhere: there are no files."""
        del owner
        return ()

    def drop(self, owner: str) -> None:
        """Hold nothing of an owner any more."""
        for place in [place for place in self._tables if place[1] == owner]:
            del self._tables[place]
        self._index.drop(owner)

    def _table(self, collection: Collection[Any], owner: str) -> _Table:
        return self._tables.get((collection.name, owner), {})


class _Batch:
    """Changes worked out beside the tables, so that a refused one leaves no trace."""

    def __init__(self, tables: dict[tuple[str, str], _Table], index: MemoryIndex, owner: str) -> None:
        self._tables = tables
        self._index = index
        self._owner = owner
        self._changed: dict[tuple[str, str], _Table] = {}
        self._index_steps: list[Callable[[], None]] = []

    def add(self, change: Change) -> None:
        match change:
            case Put():
                self._put(change)
            case Delete():
                self._check(change.collection, change.id, change.if_version)
                self._delete(change.collection, [change.id])
            case DeleteAll():
                check_where(change.collection, change.where)
                kept = _matching(self._table(change.collection), change.collection, change.where)
                self._delete(change.collection, [one.row.id for one in kept])
            case Expect():
                self._check(change.collection, change.id, change.version)
            case SetVector():
                vector = vector_bytes(change.vector, change.model)
                key = model_key(change.model)
                self._index_steps.append(
                    lambda: self._index.set_vector(
                        self._owner, change.id, text=change.text, key=key, vector=vector
                    )
                )
            case _:
                assert_never(change)

    def apply(self) -> None:
        self._tables.update(self._changed)
        for step in self._index_steps:
            step()

    def _table(self, collection: Collection[Any]) -> _Table:
        place = (collection.name, self._owner)
        if place not in self._changed:
            self._changed[place] = dict(self._tables.get(place, {}))
        return self._changed[place]

    def _check(self, collection: Collection[Any], id: str, if_version: int | None) -> int:
        """The record's version now, 0 for none."""
        kept = self._table(collection).get(id)
        version = kept.version if kept else 0
        if if_version is not None and if_version != version:
            raise Conflict
        return version

    def _put(self, put: Put[Any]) -> None:
        row = row_of(put.collection, put.record)
        version = self._check(put.collection, row.id, put.if_version)
        self._table(put.collection)[row.id] = _Kept(row, version + 1)
        item = put.index
        if not put.collection.searchable:
            return
        if item is None:
            self._index_steps.append(lambda: self._index.delete(self._owner, row.id))
        else:
            entry = self._index.entry(row.id, item)
            self._index_steps.append(lambda: self._index.put(self._owner, item.text, entry))

    def _delete(self, collection: Collection[Any], ids: Sequence[str]) -> None:
        table = self._table(collection)
        for id in ids:
            if table.pop(id, None) is not None and collection.searchable:
                self._index_steps.append(lambda id=id: self._index.delete(self._owner, id))


def _versioned(collection: Collection[R], kept: _Kept) -> Versioned[R]:
    row = kept.row
    return Versioned(record_of(collection, row.id, schema=row.schema, body=row.body), kept.version)


def _matching(table: _Table, collection: Collection[Any], where: Mapping[str, Key]) -> list[_Kept]:
    kept = list(table.values())
    for name, value in where.items():
        place = collection.keys.index(name)
        kept = [one for one in kept if one.row.keys[place] == value]
    return kept


def _position(scan: Scan[Any], row: Row) -> Position:
    key = None if scan.order is None else row.keys[scan.collection.keys.index(scan.order)]
    return Position(order_key(scan, key), row.id)


def _rank(position: Position) -> _Rank:
    return position.key is not None, 0 if position.key is None else position.key, position.id


def _in_bounds(scan: Scan[Any], row: Row) -> bool:
    if scan.low is None and scan.high is None:
        return True
    rank = _rank(_position(scan, row))
    return rank[0] and (
        (scan.low is None or rank >= _rank(Position(scan.low, "")))
        and (scan.high is None or rank < _rank(Position(scan.high, "")))
    )
