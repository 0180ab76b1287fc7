"""The tables of a PostgreSQL database, and how they are brought to the newest schema. `store` calls it.

`records` has every record, whichever its collection; what people said stands there and in the index's rows
alone. A collection's own table has ids, numbers and digests (`Seal`) by which it is scanned, made when the
collection is first written to (`make`). The numbers of the schema are those of SQLite's file, so that a
version of Bethink knows the same of both. Processes that start at once come one after another
(`Connections.change`): the first migrates. Migrations are frozen once released.
"""
# ruff: noqa: S608 - the names of tables are ours

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bethink.engines.postgres.connection import Connections, DatabaseSession, partitions_of, wall_of
from bethink.engines.postgres.index import INDEX_TABLES
from bethink.errors import NewerSchema, NotInstalled, StorageError
from bethink.sealing import Cipher, NotSealedSoError, SealedHome
from bethink.store import Collection, Seal, opened, record_of

SECRET_BYTES: Final = 16
"""Of what makes the digests of keys; sealed it is longer."""
_SEALABLE: Final = 22
"""The schema since which a database can be sealed."""

_MAY_EXTEND: Final = """
SELECT rolsuper OR (SELECT bool_or(trusted) FROM pg_available_extension_versions WHERE name = 'vector')
FROM pg_roles WHERE rolname = current_user
"""

_TABLES: Final = (
    "CREATE TABLE bethink_schema (number int NOT NULL)",
    "CREATE TABLE bethink_seal (secret bytea NOT NULL)",
    """CREATE TABLE records (
        owner text COLLATE "C" NOT NULL, collection text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
        version int NOT NULL, schema int NOT NULL, body bytea NOT NULL,
        PRIMARY KEY (owner, collection, id)) PARTITION BY HASH (owner)""",
    *partitions_of("records"),
    # What the planner learns of a column are samples of it: it is to have none of what people said.
    "ALTER TABLE records ALTER COLUMN body SET STATISTICS 0",
    *wall_of("records"),
    # See `scrub`.
    "CREATE TABLE bethink_probe (number int)",
)


async def _newest(session: DatabaseSession) -> None:
    """What a new database holds before any collection is used."""
    await _extend(session)
    for statement in (*_TABLES, *INDEX_TABLES):
        await session.execute(statement)
    await session.execute("INSERT INTO bethink_schema VALUES (0)")
    await session.execute("INSERT INTO bethink_seal VALUES ($1)", os.urandom(SECRET_BYTES))


async def _extend(session: DatabaseSession) -> None:
    if await session.fetchval("SELECT true FROM pg_extension WHERE extname = 'vector'"):
        return
    if not await session.fetchval("SELECT true FROM pg_available_extensions WHERE name = 'vector'"):
        raise NotInstalled(
            "The PostgreSQL server has no pgvector, which Bethink keeps vectors with: install it there "
            "(package postgresql-NN-pgvector, or an image that has it), then start again."
        )
    if not await session.fetchval(_MAY_EXTEND):
        raise StorageError(
            "Only an administrator of the PostgreSQL server may enable pgvector: have them execute CREATE "
            "EXTENSION vector in Bethink's database once, then start again."
        )
    await session.execute("CREATE EXTENSION vector")


async def _sealable(session: DatabaseSession) -> None:
    """How the home is sealed, how often that has changed, and what is sealed of an item of the index."""
    await session.execute(
        "ALTER TABLE bethink_seal ADD COLUMN state bytea, ADD COLUMN epoch int NOT NULL DEFAULT 0"
    )
    await session.execute("ALTER TABLE index_items ADD COLUMN body bytea")
    await session.execute("ALTER TABLE index_items ALTER COLUMN body SET STATISTICS 0")


MIGRATIONS: Final[dict[int, Callable[[DatabaseSession], Awaitable[None]]]] = {21: _newest, 22: _sealable}
"""By number; the first makes everything."""

NUMBER: Final = max(MIGRATIONS)


@dataclass(frozen=True, slots=True)
class Known:
    """What a database says of itself: the number of its schema, 0 if it has none yet, and how it is sealed.

    `secret` makes its digests, sealed if the home is; `epoch` is how often the seal has changed.
    """

    number: int = 0
    secret: bytes | None = None
    state: SealedHome | None = None
    epoch: int = 0

    def seal(self, cipher: Cipher | None) -> Seal:
        """The digests of its keys.

        Raises:
            StorageError: it is sealed with another key than the cipher's, or with none.
        """
        kept = self.secret or b""
        if (len(kept) != SECRET_BYTES) is not (cipher is not None):
            state = "not sealed any more" if cipher else "sealed by now"
            raise StorageError(f"The database is {state}: start Bethink again.")
        try:
            return Seal(kept if cipher is None else cipher.open(kept))
        except NotSealedSoError as error:
            raise StorageError(
                "The database is sealed with another key than a moment ago: start Bethink again."
            ) from error


async def prepare(connections: Connections, cipher: Cipher | None = None) -> Seal:
    """Bring the database to the newest schema; the digests of its keys, which `cipher` opens if it is sealed.

    Raises:
        NewerSchema: a newer Bethink wrote it.
        StorageError: it takes no changes, its user may not make tables, or it is sealed otherwise.
    """
    found = await upgraded(connections)
    seal = found.seal(cipher)
    connections.know(NUMBER, found.epoch)
    return seal


async def upgraded(connections: Connections) -> Known:
    """Bring the database to the newest schema; what it says of itself.

    Raises:
        NewerSchema: a newer Bethink wrote it.
        StorageError: it takes no changes, or its user may not make tables.
    """

    async def look(session: DatabaseSession) -> Known:
        return await known(session, connections.place)

    async def migrate(session: DatabaseSession) -> Known:
        applied = (await look(session)).number
        for number, migration in MIGRATIONS.items():
            if number > applied:
                await migration(session)
        await session.execute("UPDATE bethink_schema SET number = $1", NUMBER)
        return await look(session)

    found = await connections.read(None, look)
    return found if found.number == NUMBER else await connections.change(migrate)


async def known(session: DatabaseSession, place: str) -> Known:
    """What a database says of itself.

    Raises:
        NewerSchema: a newer Bethink wrote it.
    """
    if not await session.fetchval("SELECT to_regclass('bethink_schema') IS NOT NULL"):
        return Known()
    number = await session.fetchval("SELECT number FROM bethink_schema")
    if number > NUMBER:
        raise NewerSchema(
            f"{place} has schema {number}; this Bethink knows up to {NUMBER}. "
            "Start the newer version that wrote it."
        )
    if number < _SEALABLE:
        return Known(number, await session.fetchval("SELECT secret FROM bethink_seal"))
    secret, state, epoch = await session.fetchrow("SELECT secret, state, epoch FROM bethink_seal")
    return Known(number, secret, state and msgspec.json.decode(state, type=SealedHome), epoch)


def quoted(name: str) -> str:
    """A name of ours as it stands in a statement: `user` and `position` are words of SQL."""
    return f'"{name}"'


async def make(
    session: DatabaseSession, collection: Collection[Any], seal: Seal, *, cipher: Cipher | None = None
) -> None:
    """Have the database hold what the collection declares; a key that is new is filled from the records.

    Within `Connections.change`. Nothing happens if another process was first.
    """
    name, keys = quoted(collection.name), collection.keys
    columns = await columns_of(session, collection.name)
    if not columns:
        defined = "".join(f", {quoted(key)} bigint" for key in keys)
        await session.execute(
            f'CREATE TABLE {name} (owner text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL{defined}, '
            "PRIMARY KEY (owner, id))"
        )
        for statement in wall_of(name):
            await session.execute(statement)
    elif added := [key for key in keys if key not in columns]:
        for key in added:
            await session.execute(f"ALTER TABLE {name} ADD COLUMN {quoted(key)} bigint")
        await _fill(session, collection, seal, cipher=cipher)
    for scan in collection.scans:
        index = quoted(f"{collection.name}_{'_'.join(scan)}")
        # None comes first in a scan, and last in its reverse.
        sought = ", ".join(f"{quoted(key)} NULLS FIRST" for key in scan)
        await session.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {name} (owner, {sought}, id)")


async def columns_of(session: DatabaseSession, table: str) -> frozenset[str]:
    """The columns of a table, none if it is not there."""
    query = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0"
    rows = await session.fetch(f"{query} AND NOT attisdropped", quoted(table))
    return frozenset(column for (column,) in rows)


async def _fill(
    session: DatabaseSession, collection: Collection[Any], seal: Seal, *, cipher: Cipher | None
) -> None:
    assigned = ", ".join(f"{quoted(key)} = ${place}" for place, key in enumerate(collection.keys, 3))
    update = f"UPDATE {quoted(collection.name)} SET {assigned} WHERE owner = $1 AND id = $2"
    rows = await session.fetch(
        "SELECT owner, id, schema, body FROM records WHERE collection = $1", collection.name
    )
    records = [
        (owner, record_of(collection, id, schema=schema, body=opened(cipher, body)))
        for owner, id, schema, body in rows
    ]
    values = [(owner, record.id, *map(seal.number, collection.keys_of(record))) for owner, record in records]
    await session.executemany(update, values)
