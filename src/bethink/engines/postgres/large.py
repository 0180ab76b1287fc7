"""Tables of their own for owners who are large, so that the database searches instead of a copy in memory.

`index` calls it, and `large_search` searches them. An owner of more than `LARGE` items gets a schema with
three tables: the items as they are searched, in how many items each term is, and how many items and words
there are. They follow from the owner's rows: `build` makes them while others read and write, from then on
every change of a row changes them too, and `drop` takes them away, and their files with them; searches use
the copy again until they are built anew. A table that has one owner's rows only needs no wall, behind
which PostgreSQL would use neither a GIN index nor one of a part of a table.
"""
# ruff: noqa: S608 - the names of schemas are numbers of ours

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bethink.search.analysis import dimensions_of

if TYPE_CHECKING:
    from bethink.engines.postgres.connection import Connections, DatabaseSession

LARGE = 200_000
"""Items whose copy takes as much memory as all copies of a process together may (`copies.MEMORY_BYTES`)."""

_BYTES_EACH: Final = 1_600
_BUILD_MB_MIN: Final = 64
_BUILD_MB_MAX: Final = 2_048
"""Of memory while the graph is built: what does not fit takes several times as long."""

_ROWS: Final = """
SELECT id, part, kind, at, conversation, project, speaker, held_from, held_until, part_of,
    cardinality(terms), terms, model, vector
FROM index_items
"""


def _tables(schema: str) -> tuple[str, ...]:
    return (
        f"CREATE SCHEMA {schema}",
        f"""CREATE TABLE {schema}.items (
            id text COLLATE "C", part smallint, kind text NOT NULL, at bigint NOT NULL, conversation text,
            project text, speaker text, held_from bigint, held_until bigint, part_of text, words int NOT NULL,
            terms bigint[] NOT NULL, model text, vector halfvec, PRIMARY KEY (id, part))""",
        # What the planner learns of a column are samples of it: it is to have none of what people said.
        *(
            f"ALTER TABLE {schema}.items ALTER {one} SET STATISTICS 0"
            for one in ("vector", "speaker", "project")
        ),
        f"""CREATE TABLE {schema}.terms (
            term bigint, kind text, items bigint NOT NULL, PRIMARY KEY (term, kind))""",
        f"""CREATE TABLE {schema}.counts (
            kind text, model text, items bigint NOT NULL, rows bigint NOT NULL, words bigint NOT NULL,
            UNIQUE NULLS NOT DISTINCT (kind, model))""",
    )


def _indexes(schema: str, models: Sequence[str]) -> tuple[str, ...]:
    graphs = (
        f"""CREATE INDEX ON {schema}.items
            USING hnsw ((vector::halfvec({dimensions_of(model)})) halfvec_ip_ops)
            WHERE model = {literal(model)}"""
        for model in models
    )
    return (
        *graphs,
        f"CREATE INDEX ON {schema}.items USING gin (terms) WITH (fastupdate = off)",
        f"CREATE INDEX ON {schema}.items (kind, at)",
        *(f"CREATE INDEX ON {schema}.items ({name})" for name in ("conversation", "project", "part_of")),
        f"ANALYZE {schema}.items",
    )


def literal(text: str) -> str:
    """A text as it stands in a statement."""
    return "'" + text.replace("'", "''") + "'"


def _counted(schema: str, sign: str, among: str) -> tuple[str, str]:
    """Statements that count some items' terms, and the items themselves, in or out."""
    return (
        f"""INSERT INTO {schema}.terms AS t
            SELECT term, kind, {sign}count(*) FROM (
                SELECT DISTINCT id, kind, unnest(terms) AS term FROM {schema}.items WHERE {among}) AS held
            GROUP BY term, kind
            ON CONFLICT (term, kind) DO UPDATE SET items = t.items + excluded.items""",
        f"""INSERT INTO {schema}.counts AS c
            SELECT kind, model, {sign}count(*) FILTER (WHERE part = 0), {sign}count(*), {sign}sum(words)
            FROM {schema}.items WHERE {among} GROUP BY kind, model
            ON CONFLICT (kind, model) DO UPDATE SET items = c.items + excluded.items,
                rows = c.rows + excluded.rows, words = c.words + excluded.words""",
    )


_THESE: Final = "id = ANY($1)"


@dataclass(frozen=True, slots=True)
class OwnTables:
    """The tables of one owner, which change in the transactions of the owner's rows."""

    owner: str
    place: int

    @property
    def _schema(self) -> str:
        return f"index_{self.place}"

    async def remove(self, session: DatabaseSession, ids: Sequence[str]) -> None:
        """Take these items out, if they are there."""
        for statement in _counted(self._schema, "-", _THESE):
            await session.execute(statement, ids)
        await session.execute(f"DELETE FROM {self._schema}.items WHERE {_THESE}", ids)
        await session.execute(
            "UPDATE index_large SET is_stale = true WHERE owner = $1 AND NOT is_stale", self.owner
        )

    async def add(self, session: DatabaseSession, ids: Sequence[str]) -> None:
        """Take these items in, as their rows are now."""
        await session.execute(
            f"INSERT INTO {self._schema}.items {_ROWS} WHERE owner = $1 AND id = ANY($2)", self.owner, ids
        )
        for statement in _counted(self._schema, "", _THESE):
            await session.execute(statement, ids)


_BUILD_S: Final = 86_400.0
"""How long a step of it may take: many millions of items are a day's work."""

_BUILD_LOCK: Final = 0x6C617267
"""The advisory lock of who builds, of all processes: one graph at a time is enough (`larg`)."""

_LEFT: Final = r"""
SELECT nspname FROM pg_namespace
WHERE nspname ~ '^index_\d+$' AND nspname NOT IN (SELECT 'index_' || place FROM index_large)
"""
"""What a process that was killed while it built has left."""

_CHANGED: Final = """
SELECT id FROM index_items WHERE owner = $1 AND change > $2
UNION SELECT id FROM index_tombstones WHERE owner = $1 AND change > $2
"""


async def build(connections: Connections, owner: str) -> bool:
    """Make a large owner's tables, minutes for a million items; whether they are there now.

    Others read and write meanwhile. False if another process builds some, or too much was removed meanwhile.
    """

    async def work(session: DatabaseSession) -> bool:
        if not await session.fetchval(f"SELECT pg_try_advisory_lock({_BUILD_LOCK})"):
            return False
        try:
            built = await _build(session, owner)
            return built is None or await connections.write(owner, partial(_take_over, *built))
        finally:
            await session.execute(f"SELECT pg_advisory_unlock({_BUILD_LOCK})")

    return await connections.alone(work)


async def _build(session: DatabaseSession, owner: str) -> tuple[OwnTables, int] | None:
    """New tables, and the owner's change up to which they are whole; None if there are some already."""
    await session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    await session.execute("SELECT set_config('bethink.all', 'on', true)")
    for (left,) in await session.fetch(_LEFT):
        await session.execute(f"DROP SCHEMA {left} CASCADE")
    if await session.fetchval("SELECT true FROM index_large WHERE owner = $1", owner):
        await session.execute("COMMIT")
        return None
    place = await session.fetchval("SELECT nextval('index_places')")
    change = await session.fetchval("SELECT change FROM index_state WHERE owner = $1", owner) or 0
    schema = f"index_{place}"
    for statement in _tables(schema):
        await session.execute(statement)
    rows = f"INSERT INTO {schema}.items {_ROWS} WHERE owner = $1"
    await session.execute(rows, owner, timeout=_BUILD_S)
    for statement in _counted(schema, "", "true"):
        await session.execute(statement, timeout=_BUILD_S)
    counted = await session.fetch(f"SELECT model, sum(rows)::bigint FROM {schema}.counts GROUP BY model")
    vectors = {model: count for model, count in counted if model is not None}
    megabytes = min(max(sum(vectors.values()) * _BYTES_EACH >> 20, _BUILD_MB_MIN), _BUILD_MB_MAX)
    await session.execute(f"SET LOCAL maintenance_work_mem = '{megabytes}MB'")
    for statement in _indexes(schema, list(vectors)):
        await session.execute(statement, timeout=_BUILD_S)
    await session.execute("COMMIT")
    return OwnTables(owner, place), change


async def _take_over(tables: OwnTables, change: int, session: DatabaseSession) -> bool:
    """Take in what was changed since, and have the tables searched from here on."""
    owner = tables.owner
    if (await session.fetchval("SELECT floor FROM index_state WHERE owner = $1", owner) or 0) > change:
        return False
    if ids := [id for (id,) in await session.fetch(_CHANGED, owner, change)]:
        await tables.remove(session, ids)
        await tables.add(session, ids)
    await session.execute("INSERT INTO index_large VALUES ($1, $2, false)", owner, tables.place)
    return True


async def drop(connections: Connections, owner: str) -> None:
    """Take an owner's tables away, and their files with them."""

    async def work(session: DatabaseSession) -> None:
        place = await session.fetchval("DELETE FROM index_large WHERE owner = $1 RETURNING place", owner)
        if place is not None:
            await session.execute(f"DROP SCHEMA IF EXISTS index_{place} CASCADE")

    await connections.write(owner, work)


async def drop_all(session: DatabaseSession) -> None:
    """Take everybody's tables away, within a change of tables: what is sealed cannot be searched in them."""
    await session.execute("DELETE FROM index_large")
    for (schema,) in await session.fetch(_LEFT):
        await session.execute(f"DROP SCHEMA {schema} CASCADE")


async def drop_stale(connections: Connections, owner: str | None) -> None:
    """Take away this owner's tables, or everybody's, if something was removed from them.

    Their files still hold what was made of it.
    """

    async def look(session: DatabaseSession) -> list[Any]:
        return await session.fetch("SELECT owner FROM index_large WHERE is_stale")

    for (stale,) in await connections.read(owner, look):
        await drop(connections, stale)
