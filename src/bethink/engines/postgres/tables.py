"""SQL over the records of one collection, each statement with the owner in its condition.

`store` calls it within its transactions.
"""
# ruff: noqa: S608 - every name is a declared collection's or key's

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bethink.engines.postgres.connection import DatabaseSession, rows_of
from bethink.engines.postgres.schema import quoted
from bethink.errors import BadInput, Conflict
from bethink.store import (
    Position,
    RecordPage,
    Versioned,
    check_text,
    cursor,
    opened,
    order_key,
    record_of,
    row_of,
    scan_parts,
    sealed,
)

if TYPE_CHECKING:
    from bethink.sealing import Cipher
    from bethink.store import Collection, Key, Row, Scan, Seal

_GET = "SELECT id, version, schema, body FROM records WHERE owner = $1 AND collection = $2 AND id = ANY($3)"
_LOOK = "SELECT id, version FROM records WHERE owner = $1 AND collection = $2 AND id = ANY($3)"
_DELETE = "DELETE FROM records WHERE owner = $1 AND collection = $2 AND id = ANY($3)"


def _possible(ids: Iterable[str]) -> list[str]:
    """Those of the ids that a record can have: PostgreSQL takes no others, even in a question."""
    possible: list[str] = []
    for id in ids:
        with suppress(BadInput):
            check_text(id)
            possible.append(id)
    return possible


class _Parameters(list[object]):
    """The values of a statement; called with one, it gives its place in the statement's text."""

    def __call__(self, value: object) -> str:
        self.append(value)
        return f"${len(self)}"


class Table:
    """Records of one collection."""

    def __init__(self, collection: Collection[Any], seal: Seal, cipher: Cipher | None = None) -> None:
        self._collection = collection
        self._seal = seal
        self._cipher = cipher
        self._name = name = quoted(collection.name)
        keys = [quoted(key) for key in collection.keys]
        columns = ", ".join(("owner", "id", *keys))
        arrays = ", ".join(f"${place}::bigint[]" for place in range(6, 6 + len(keys)))
        found = ", ".join(("$1::text", "r.id", *(f"r.{key}" for key in keys)))
        rows = f"unnest($3::text[]{', ' if keys else ''}{arrays}) AS r ({', '.join(('id', *keys))})"
        said = (
            "WITH said AS (INSERT INTO records (owner, collection, id, version, schema, body) "
            "SELECT $1::text, $2::text, s.id, 1, $4::int, s.body "
            "FROM unnest($3::text[], $5::bytea[]) AS s (id, body) "
        )
        sought = f"INSERT INTO {name} AS t ({columns}) SELECT {found} FROM {rows} "
        self._insert = f"{said} ON CONFLICT DO NOTHING) {sought} ON CONFLICT DO NOTHING"
        anew = ", ".join(f"{key} = excluded.{key}" for key in keys)
        same = "".join(
            f"{' OR ' if place else ''}t.{key} IS DISTINCT FROM excluded.{key}"
            for place, key in enumerate(keys)
        )
        moved = (
            f"ON CONFLICT (owner, id) DO UPDATE SET {anew} WHERE {same}" if keys else "ON CONFLICT DO NOTHING"
        )
        self._upsert = (
            f"{said} ON CONFLICT (owner, collection, id) DO UPDATE SET version = records.version + 1, "
            f"schema = excluded.schema, body = excluded.body) {sought} {moved}"
        )

    def row_of(self, record: Any) -> Row:  # noqa: ANN401 - of the collection
        """The record's row, its body sealed if the home is.

        Raises:
            BadInput: see `store.row_of`.
        """
        row = row_of(self._collection, record)
        return replace(row, body=sealed(self._cipher, row.body))

    async def put(self, session: DatabaseSession, owner: str, rows: Sequence[tuple[Row, int | None]]) -> None:
        """Keep rows of different ids, each if it has the version that stands beside it.

        Raises:
            Conflict: one has another version.
        """
        is_new = all(version == 0 for _, version in rows)
        if not is_new:
            await self.expect(
                session, owner, {row.id: version for row, version in rows if version is not None}
            )
        kept = [row for row, _ in rows]
        keys = zip(*(map(self._seal.number, row.keys) for row in kept), strict=True)
        values = (
            owner,
            self._collection.name,
            [row.id for row in kept],
            self._collection.schema,
            [row.body for row in kept],
            *map(list, keys),
        )
        tag = await session.execute(self._insert if is_new else self._upsert, *values)
        if is_new and rows_of(tag) < len(kept):
            raise Conflict

    async def expect(self, session: DatabaseSession, owner: str, versions: Mapping[str, int]) -> None:
        """Do nothing.

        Raises:
            Conflict: a row has another version, which is 0 where there is none.
        """
        if not versions:
            return
        found = dict(await session.fetch(_LOOK, owner, self._collection.name, _possible(versions)))
        if any(found.get(id, 0) != version for id, version in versions.items()):
            raise Conflict

    async def delete(
        self, session: DatabaseSession, owner: str, versions: Mapping[str, int | None]
    ) -> list[str]:
        """Remove rows; the ids of those that were there.

        Raises:
            Conflict: one has another version than is given.
        """
        wanted = {id: version for id, version in versions.items() if version is not None}
        await self.expect(session, owner, wanted)
        query = f"DELETE FROM {self._name} WHERE owner = $1 AND id = ANY($2) RETURNING id"
        return await self._gone(
            session, owner, [id for (id,) in await session.fetch(query, owner, _possible(versions))]
        )

    async def delete_all(self, session: DatabaseSession, owner: str, where: Mapping[str, Key]) -> list[str]:
        """Remove the rows whose keys equal `where`; their ids."""
        values = _Parameters()
        query = f"DELETE FROM {self._name} WHERE {self._equal(owner, where, values)} RETURNING id"
        return await self._gone(session, owner, [id for (id,) in await session.fetch(query, *values)])

    async def _gone(self, session: DatabaseSession, owner: str, ids: list[str]) -> list[str]:
        if ids:
            await session.execute(_DELETE, owner, self._collection.name, ids)
        return ids

    async def get(
        self, session: DatabaseSession, owner: str, ids: Sequence[str]
    ) -> list[Versioned[Any] | None]:
        """The records with these ids, in their order, None if there is none."""
        rows = await session.fetch(_GET, owner, self._collection.name, _possible(ids))
        found = {row[0]: self._versioned(row) for row in rows}
        return [found.get(id) for id in ids]

    async def count(self, session: DatabaseSession, owner: str, where: Mapping[str, Key]) -> int:
        """How many rows have keys equal to `where`."""
        values = _Parameters()
        condition = self._equal(owner, where, values)
        return await session.fetchval(f"SELECT count(*) FROM {self._name} WHERE {condition}", *values)

    async def owners(self, session: DatabaseSession, after: str, limit: int) -> list[str]:
        """Owners of rows behind `after`, in order; a step in the index each, however many rows it has."""
        query = f"""
        WITH RECURSIVE next (owner) AS (
            (SELECT owner FROM {self._name} WHERE owner > $1 ORDER BY owner LIMIT 1)
            UNION ALL
            SELECT (SELECT t.owner FROM {self._name} AS t WHERE t.owner > next.owner ORDER BY t.owner LIMIT 1)
            FROM next WHERE next.owner IS NOT NULL)
        SELECT owner FROM next WHERE owner IS NOT NULL LIMIT $2
        """
        return [owner for (owner,) in await session.fetch(query, after, limit)]

    async def scan(
        self, session: DatabaseSession, owner: str, scan: Scan[Any], *, after: Position | None
    ) -> RecordPage[Any]:
        """One page."""
        wanted = scan.limit + 1
        found: list[Versioned[Any]] = []
        direction = "DESC NULLS LAST" if scan.reverse else "ASC NULLS FIRST"
        keys = ("id",) if scan.order is None else (quoted(scan.order), "id")
        order = ", ".join(f"{key} {direction}" for key in keys)
        for bounds in scan_parts(scan, after, scan.order and quoted(scan.order)):
            values = _Parameters()
            condition = self._equal(owner, scan.where, values)
            conditions = [condition, *(text.format(*map(values, given)) for text, given in bounds)]
            query = f"""
            SELECT r.id, r.version, r.schema, r.body FROM (
                SELECT {", ".join(keys)} FROM {self._name} WHERE {" AND ".join(conditions)}
                ORDER BY {order} LIMIT {values(wanted - len(found))}) AS k
            JOIN records AS r
                ON r.owner = $1 AND r.collection = {values(scan.collection.name)} AND r.id = k.id
            ORDER BY {", ".join(f"k.{key} {direction}" for key in keys)}
            """
            found += [self._versioned(row) for row in await session.fetch(query, *values)]
            if len(found) == wanted:
                break
        return _page(scan, found)

    async def scan_alike(
        self, session: DatabaseSession, owner: str, scans: Sequence[Scan[Any]]
    ) -> list[RecordPage[Any]]:
        """A page for each of many scans that are `comparable`, by one statement."""
        limit = scans[0].limit
        names = [quoted(key) for key in scans[0].where]
        values = _Parameters([owner, self._collection.name, limit + 1])
        arrays = [
            f"{values([self._seal.number(scan.where[key]) for scan in scans])}::bigint[]"
            for key in scans[0].where
        ]
        query = f"""
        SELECT asked."#", found.*
        FROM unnest({", ".join(arrays)}) WITH ORDINALITY AS asked ({", ".join(names)}, "#")
        CROSS JOIN LATERAL (
            SELECT r.id, r.version, r.schema, r.body FROM (
                SELECT t.id FROM {self._name} AS t
                WHERE t.owner = $1 AND {" AND ".join(f"t.{name} = asked.{name}" for name in names)}
                ORDER BY t.id LIMIT $3) AS k
            JOIN records AS r ON r.owner = $1 AND r.collection = $2 AND r.id = k.id
            ORDER BY k.id LIMIT $3) AS found
        ORDER BY asked."#", found.id
        """
        found: defaultdict[int, list[Versioned[Any]]] = defaultdict(list)
        for place, *row in await session.fetch(query, *values):
            found[place].append(self._versioned(row))
        return [_page(scan, found[place]) for place, scan in enumerate(scans, 1)]

    def comparable(self, scan: Scan[Any]) -> object:
        """Equal for scans that differ only in the values of their keys; None of one that stands alone."""
        numbers = [self._seal.number(one) for one in scan.where.values()]
        is_plain = scan.order is None and scan.after is None and not scan.reverse and None not in numbers
        return (self._name, *scan.where, scan.limit) if is_plain and numbers else None

    def _equal(self, owner: str, where: Mapping[str, Key], values: _Parameters) -> str:
        conditions = [f"owner = {values(owner)}"]
        for key, value in where.items():
            name = quoted(key)
            sealed = self._seal.number(value)
            conditions.append(f"{name} IS NULL" if sealed is None else f"{name} = {values(sealed)}")
        return " AND ".join(conditions)

    def _versioned(self, row: Sequence[Any]) -> Versioned[Any]:
        id, version, schema, body = row
        said = opened(self._cipher, body)
        return Versioned(record_of(self._collection, id, schema=schema, body=said), version)


def _page(scan: Scan[Any], found: Sequence[Versioned[Any]]) -> RecordPage[Any]:
    """The page of what was found, which is one more than its limit if there is more."""
    page = found[: scan.limit]
    ends = [_position(scan, one) for one in page]
    return RecordPage(tuple(page), cursor(scan, ends[-1]) if len(found) > scan.limit else None)


def _position(scan: Scan[Any], item: Versioned[Any]) -> Position:
    key = None if scan.order is None else getattr(item.record, scan.order)
    return Position(order_key(scan, key), item.record.id)
