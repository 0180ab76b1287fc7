"""The store in a PostgreSQL database, for several machines. `ports` opens it.

A commit is one transaction. The owner's lock (`Connections.write`) makes writers of one owner come one after
another over all processes, so what a batch looks at stays as it is until the commit. Of one process, batches
of an owner that wait together share a transaction, and are applied one by one if any of them fails.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, assert_never

import anyio
import anyio.to_thread

from bethink.engines.postgres.connection import (
    CONNECTIONS_MAX,
    Connections,
    DatabaseSession,
    open_connections,
)
from bethink.engines.postgres.index import IndexRows, PostgresIndex
from bethink.engines.postgres.schema import NUMBER, columns_of, known, make, prepare
from bethink.engines.postgres.scrub import scrub
from bethink.engines.postgres.tables import Table
from bethink.errors import DiskFull, StorageError
from bethink.search.analysis import Analyzer, embedded, entry_of
from bethink.store import (
    Change,
    Delete,
    DeleteAll,
    Expect,
    Put,
    R,
    RecordPage,
    Seal,
    SetVector,
    check_scan,
    check_text,
    check_where,
)
from bethink.telemetry import Gauge

if TYPE_CHECKING:
    from bethink.sealing import Cipher, SealedHome
    from bethink.store import Collection, Key, Scan, Versioned

    Step = Callable[[DatabaseSession, IndexRows], Awaitable[None]]

_FULL_S = 60.0
"""How long a disk that was full is taken to be full still: what is small may find room in it."""
_SERVER = "SELECT current_setting('server_version'), pg_database_size(current_database())"
_SIZE = "SELECT pg_database_size(current_database())"
_STATE = """
SELECT (SELECT sum(numbackends)::int FROM pg_stat_database), current_setting('max_connections')::int,
    (SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables),
    (SELECT coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)), 0)::bigint
        FROM pg_replication_slots WHERE NOT pg_is_in_recovery())
"""
_HOLDERS = """
SELECT 'session', coalesce(max(age(backend_xmin)), 0) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
UNION ALL SELECT 'prepared', coalesce(max(age(transaction)), 0) FROM pg_prepared_xacts
UNION ALL SELECT 'slot', coalesce(max(greatest(age(xmin), age(catalog_xmin))), 0) FROM pg_replication_slots
"""
"""Of sessions of other users nothing is told to who has not the role `pg_read_all_stats`."""
_WITHOUT_VECTOR = "SELECT count(*) FROM index_items WHERE model IS NULL AND part = 0"
GROUP_MAX = 64
"""Batches in one transaction at most, so that none waits long for those behind it."""


@dataclass(eq=False, slots=True)
class _Batch:
    """Changes that wait for their turn, and what became of them."""

    changes: tuple[Change, ...]
    steps: list[Step] = field(default_factory=list["Step"])
    is_done: bool = False
    error: Exception | None = None


@dataclass(slots=True)
class _Lane:
    """What one owner's commits wait for, in order."""

    turn: anyio.Lock = field(default_factory=anyio.Lock)
    waiting: deque[_Batch] = field(default_factory=deque["_Batch"])


class PostgresStore:
    """Records in one database; made by `open_database`."""

    def __init__(self, connections: Connections, seal: Seal, cipher: Cipher | None = None) -> None:
        self._connections = connections
        self._seal = seal
        self._cipher = cipher
        self._analyzer = Analyzer()
        self._lanes: dict[str, _Lane] = {}
        self._tables: dict[Collection[Any], Table] = {}
        self._made: set[Collection[Any]] = set()
        self._full: tuple[float, DiskFull] | None = None

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        """Apply all changes, or none; durable when it returns.

        Changes that only expect something fail, too, if the disk has just been full.
        """
        check_text(owner)
        batch = _Batch(tuple(changes))
        lane = self._lanes.setdefault(owner, _Lane())
        lane.waiting.append(batch)
        try:
            async with lane.turn:
                if not batch.is_done:
                    # Whoever is first applies what waits behind it, too: it is not left half done.
                    with anyio.CancelScope(shield=True):
                        await self._apply(owner, lane)
        finally:
            if not batch.is_done and batch in lane.waiting:
                lane.waiting.remove(batch)
            if not lane.waiting and not lane.turn.locked():
                self._lanes.pop(owner, None)
        if isinstance(batch.error, DiskFull):
            self._full = anyio.current_time(), batch.error
        if batch.error is not None:
            raise batch.error
        if self._full is not None and all(isinstance(change, Expect) for change in changes):
            since, error = self._full
            if anyio.current_time() < since + _FULL_S:
                raise error

    async def get(
        self, collection: Collection[R], owner: str, ids: Sequence[str]
    ) -> tuple[Versioned[R] | None, ...]:
        """The records with these ids, in their order, None if there is none."""
        table = self._table(collection)
        return tuple(await self._connections.read(owner, lambda session: table.get(session, owner, ids)))

    async def scan(self, owner: str, *scans: Scan[R]) -> list[RecordPage[R]]:
        """A page of records for each scan, in order."""
        wanted = [(scan, check_scan(scan)) for scan in scans]
        there = await self._there([scan.collection for scan in scans])
        # By one statement what differs in its keys' values only: an import asks for hundreds.
        alike: defaultdict[object, list[int]] = defaultdict(list)
        for place, scan in enumerate(scans):
            if scan.collection in there:
                alike[self._table(scan.collection).comparable(scan) or place].append(place)

        async def work(session: DatabaseSession) -> list[RecordPage[R]]:
            pages: list[RecordPage[R]] = [RecordPage() for _ in scans]
            for places in alike.values():
                table = self._table(scans[places[0]].collection)
                if len(places) == 1:
                    scan, after = wanted[places[0]]
                    pages[places[0]] = await table.scan(session, owner, scan, after=after)
                else:
                    found = await table.scan_alike(session, owner, [scans[place] for place in places])
                    for place, page in zip(places, found, strict=True):
                        pages[place] = page
            return pages

        return await self._connections.read(owner, work) if there else [RecordPage() for _ in scans]

    async def count(self, owner: str, collection: Collection[R], where: Mapping[str, Key]) -> int:
        """How many records have keys equal to `where`."""
        check_where(collection, where)
        if not await self._there([collection]):
            return 0
        table = self._table(collection)
        return await self._connections.read(owner, lambda session: table.count(session, owner, where))

    async def owners(self, collection: Collection[Any], *, after: str = "", limit: int = 100) -> list[str]:
        """Owners of records of the collection, in order."""
        if not await self._there([collection]):
            return []
        table = self._table(collection)
        return await self._connections.read(None, lambda session: table.owners(session, after, limit))

    async def size(self) -> int:
        """Bytes of the whole database on the server's disk, its log excepted."""
        return await self._connections.read(None, lambda session: session.fetchval(_SIZE))

    async def gauges(self) -> list[Gauge]:
        """How the server is, as far as its user is told."""
        server, most, dead, log = await self._connections.read(None, lambda session: session.fetchrow(_STATE))
        holders = await self._connections.read(None, lambda session: session.fetch(_HOLDERS))
        by = ("of",)
        busy, limit = {("process",): self._connections.busy, ("server",): server}, {("server",): most}
        return [
            Gauge("database_connections", "Connections that work, of this process and of all.", busy, by),
            Gauge(
                "database_connections_limit",
                "How many there may be.",
                {("process",): CONNECTIONS_MAX} | limit,
                by,
            ),
            Gauge("database_dead_rows", "Rows that were deleted and are still in the files.", {(): dead}),
            Gauge(
                "database_held_transactions",
                "For how many transactions somebody has kept deleted rows from going.",
                {(holder,): age for holder, age in holders},
                ("holder",),
            ),
            Gauge("database_log_held_bytes", "Log that replication slots keep.", {(): log}),
        ]

    async def scrub(self, owner: str | None = None) -> tuple[str, ...]:
        """Leave no trace of what was deleted in the tables; what remains elsewhere, in a sentence each."""
        return await scrub(self._connections, owner)

    def _table(self, collection: Collection[Any]) -> Table:
        table = self._tables.get(collection)
        if table is None:
            table = self._tables[collection] = Table(collection, self._seal, self._cipher)
        return table

    async def _there(self, collections: Sequence[Collection[Any]]) -> set[Collection[Any]]:
        """Those of the collections that can be read: a table that lacks a key is completed first."""
        unknown = {one for one in collections if one not in self._made}
        if unknown:

            async def look(session: DatabaseSession) -> list[Collection[Any]]:
                found = {one: await columns_of(session, one.name) for one in unknown}
                return [one for one, columns in found.items() if columns]

            there = await self._connections.read(None, look)
            if self._connections.is_snapshot:
                self._made.update(there)
            else:
                await self._make(there)
        return {one for one in collections if one in self._made}

    async def _make(self, collections: Sequence[Collection[Any]]) -> None:
        unmade = [one for one in dict.fromkeys(collections) if one not in self._made]
        if not unmade:
            return

        async def work(session: DatabaseSession) -> None:
            for collection in unmade:
                await make(session, collection, self._seal, cipher=self._cipher)

        await self._connections.change(work)
        self._made.update(unmade)

    async def _apply(self, owner: str, lane: _Lane) -> None:
        group = [lane.waiting.popleft() for _ in range(min(GROUP_MAX, len(lane.waiting)))]
        try:
            await anyio.to_thread.run_sync(self._prepare, owner, group)
            ready = [batch for batch in group if batch.error is None]
            await self._write(owner, ready)
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the batches
            for batch in group:
                batch.error = batch.error or error
        finally:
            for batch in group:
                batch.is_done = True

    async def _write(self, owner: str, batches: list[_Batch]) -> None:
        """Write all of them in one transaction, or each in its own if that fails."""
        changes = [change for batch in batches for change in batch.changes]
        await self._make([change.collection for change in changes if not isinstance(change, SetVector)])

        async def work(session: DatabaseSession) -> None:
            index = IndexRows(session, owner, self._cipher)
            for batch in batches:
                for step in batch.steps:
                    await step(session, index)
            await index.finish()

        if not batches:
            return
        try:
            await self._connections.write(owner, work)
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the batch
            if len(batches) == 1:
                batches[0].error = error
                return
            for batch in batches:
                await self._write(owner, [batch])

    def _prepare(self, owner: str, batches: Sequence[_Batch]) -> None:
        """Work out the batches, in a thread: words of long texts take their time."""
        for batch in batches:
            try:
                batch.steps = [
                    step
                    for _, changes in groupby(batch.changes, _alike)
                    for step in self._steps(owner, list(changes))
                ]
            except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the batch
                batch.error = error

    def _steps(self, owner: str, changes: list[Any]) -> list[Step]:
        """What applies changes that are alike."""
        first: Change = changes[0]
        match first:
            case Put():
                return [self._put(owner, puts) for puts in _without_repeats(changes)]
            case Delete():
                return [self._delete(owner, deletes) for deletes in _without_repeats(changes)]
            case DeleteAll():
                return [self._delete_all(owner, change) for change in changes]
            case Expect():
                expected = {change.id: change.version for change in changes}
                table = self._table(first.collection)
                return [lambda session, _: table.expect(session, owner, expected)]
            case SetVector():
                return [self._set_vector(change) for change in changes]
            case _:
                assert_never(first)

    def _put(self, owner: str, puts: list[Put[Any]]) -> Step:
        collection = puts[0].collection
        table = self._table(collection)
        rows = [(table.row_of(put.record), put.if_version) for put in puts]
        kept = [
            (put.index.text, entry_of(row.id, put.index, self._analyzer), put.if_version == 0)
            for (row, _), put in zip(rows, puts, strict=True)
            if put.index is not None
        ]
        # A record that did not exist had no item.
        bare = [put.record.id for put in puts if put.index is None and put.if_version != 0]

        async def step(session: DatabaseSession, index: IndexRows) -> None:
            await table.put(session, owner, rows)
            for text, entry, is_new in kept:
                index.put(text, entry, is_new=is_new)
            if bare and collection.searchable:
                index.delete(bare)

        return step

    def _delete(self, owner: str, deletes: list[Delete[Any]]) -> Step:
        collection = deletes[0].collection
        table = self._table(collection)
        wanted = {delete.id: delete.if_version for delete in deletes}

        async def step(session: DatabaseSession, index: IndexRows) -> None:
            gone = await table.delete(session, owner, wanted)
            if collection.searchable:
                index.delete(gone)

        return step

    def _delete_all(self, owner: str, delete: DeleteAll[Any]) -> Step:
        table = self._table(delete.collection)
        check_where(delete.collection, delete.where)

        async def step(session: DatabaseSession, index: IndexRows) -> None:
            gone = await table.delete_all(session, owner, delete.where)
            if delete.collection.searchable:
                index.delete(gone)

        return step

    def _set_vector(self, change: SetVector) -> Step:
        item = embedded(change.text, change.vector, change.model, analyzer=self._analyzer)

        async def step(_: DatabaseSession, index: IndexRows) -> None:
            index.set_vector(change.id, text=change.text, item=item)

        return step


def _alike(change: Change) -> tuple[type[Change], Collection[Any] | None]:
    """What changes have in common that one statement can make."""
    return type(change), None if isinstance(change, SetVector) else change.collection


def _without_repeats(changes: list[Any]) -> list[list[Any]]:
    """The changes in order, cut so that no part has two of one record."""
    parts: list[list[Any]] = [[]]
    seen: set[str] = set()
    for change in changes:
        id: str = getattr(change, "record", change).id
        if id in seen:
            parts.append([])
            seen.clear()
        seen.add(id)
        parts[-1].append(change)
    return parts


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """The store and the index of one database, and the connections to it."""

    store: PostgresStore
    index: PostgresIndex
    connections: Connections


@asynccontextmanager
async def open_database(url: str, cipher: Cipher | None = None) -> AsyncGenerator[PostgresDatabase]:
    """The database of an address, with its tables, sealed with a `cipher`; closed with the block.

    Raises:
        NewerSchema: a newer Bethink wrote it.
        NotInstalled: the driver is missing here, or pgvector there.
        StorageError: it cannot be reached, does not let us in, or is sealed otherwise (`sealed.home_of`).
    """
    async with open_connections(url) as connections:
        seal = await prepare(connections, cipher)
        index = PostgresIndex(connections, cipher)
        try:
            yield PostgresDatabase(PostgresStore(connections, seal, cipher), index, connections)
        finally:
            with anyio.CancelScope(shield=True):
                await index.close()


@asynccontextmanager
async def open_snapshot(url: str, cipher: Cipher | None = None) -> AsyncGenerator[PostgresDatabase]:
    """The database of an address as it is now, to be read while others write; of an older Bethink, too.

    Raises:
        NewerSchema: a newer Bethink wrote it.
        NotInstalled: the driver is missing.
        StorageError: it cannot be reached, is sealed otherwise, or there are no records in it.
    """
    async with open_connections(url) as connections, connections.snapshot() as snapshot:
        found = await snapshot.read(None, lambda session: known(session, connections.place))
        if found.secret is None:
            raise StorageError(f"There is nothing of Bethink in {connections.place}: nothing to back up.")
        store = PostgresStore(snapshot, found.seal(cipher), cipher)
        yield PostgresDatabase(store, PostgresIndex(snapshot, cipher), snapshot)


@dataclass(frozen=True, slots=True)
class DatabaseOverview:
    """What a database holds of all owners: `records` by collection; `schema` is 0 if there is nothing yet."""

    place: str
    version: str
    size_bytes: int
    schema: int = 0
    state: SealedHome | None = None
    records: Mapping[str, int] = field(default_factory=dict[str, int])
    without_vector: int = 0

    @property
    def is_current(self) -> bool:
        """Whether it need not be made or brought up to date first."""
        return self.schema == NUMBER


async def looked_over(url: str) -> DatabaseOverview:
    """An overview of a database, which stays as it is.

    Raises:
        NewerSchema: a newer Bethink wrote it.
        NotInstalled: the driver is missing.
        StorageError: it cannot be reached.
    """
    async with open_connections(url) as connections:

        async def look(session: DatabaseSession) -> DatabaseOverview:
            version, size = await session.fetchrow(_SERVER)
            found = await known(session, connections.place)
            if found.number == 0:
                return DatabaseOverview(connections.place, version, size)
            records = await session.fetch("SELECT collection, count(*) FROM records GROUP BY collection")
            without = await session.fetchval(_WITHOUT_VECTOR)
            told = dict(records)
            return DatabaseOverview(
                connections.place, version, size, found.number, found.state, told, without
            )

        return await connections.read(None, look)


async def awaits_upgrade(url: str) -> int | None:
    """The schema of a database that an older Bethink wrote; None if there is nothing to upgrade.

    Raises:
        NewerSchema: a newer Bethink wrote it.
        NotInstalled: the driver is missing.
        StorageError: it cannot be reached.
    """
    async with open_connections(url) as connections:
        found = await connections.read(None, lambda session: known(session, connections.place))
    return found.number if 0 < found.number < NUMBER else None
