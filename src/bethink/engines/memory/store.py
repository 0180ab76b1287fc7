"""The store in memory: for tests, and for a process that is to leave nothing behind.

`app` wires it when there is no data directory. It keeps encoded records, so
that what cannot be stored elsewhere cannot be stored here either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

from bethink.errors import Conflict
from bethink.search.entry import model_key, vector_bytes
from bethink.store import Change, Delete, DeleteAll, Expect, Page, Put, SetVector, Versioned
from bethink.store.rows import (
    Position,
    Row,
    check_scan,
    check_text,
    check_where,
    cursor,
    order_key,
    record_of,
    row_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bethink.engines.memory.index import MemoryIndex
    from bethink.store import Collection, Key, R, Scan


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
        """The records with these ids, in their order, None where there is none."""
        table = self._table(collection, owner)
        return tuple(_versioned(collection, table[id]) if id in table else None for id in ids)

    async def scan(self, owner: str, *scans: Scan[R]) -> list[Page[R]]:
        """A page of records for each scan, in order."""
        return [self._page(owner, scan) for scan in scans]

    def _page(self, owner: str, scan: Scan[R]) -> Page[R]:
        after = check_scan(scan)
        kept = _matching(self._table(scan.collection, owner), scan.collection, scan.where)
        ranked = {_rank(_position(scan, one.row)): one for one in kept if _in_bounds(scan, one.row)}
        ranks = sorted(ranked, reverse=scan.reverse)
        if after is not None:
            behind = _rank(after)
            ranks = [rank for rank in ranks if (rank < behind if scan.reverse else rank > behind)]
        page = [ranked[rank] for rank in ranks[: scan.limit]]
        return Page(
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

    async def scrub(self) -> tuple[str, ...]:
        """Nothing is left anywhere: there are no files."""
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
        if item is None:
            self._index_steps.append(lambda: self._index.delete(self._owner, row.id))
        else:
            entry = self._index.entry(row.id, item)
            self._index_steps.append(lambda: self._index.put(self._owner, item.text, entry))

    def _delete(self, collection: Collection[Any], ids: Sequence[str]) -> None:
        table = self._table(collection)
        for id in ids:
            if table.pop(id, None) is not None:
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
