"""How a PostgreSQL database is sealed, and sealed anew. `ports`, `backups` and `key_change` call it.

`bethink_seal` has the home's key, wrapped, so that a process on any machine needs the master key alone;
`sealed.json` in a data directory is a copy. Its `epoch` grows with each change: who opened the database
before is refused from then on, whatever it asks for (`Connections.know`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import msgspec

from bethink.engines.postgres.connection import DatabaseSession, open_connections
from bethink.engines.postgres.index import reseal_items
from bethink.engines.postgres.large import drop_all
from bethink.engines.postgres.schema import Known, known, upgraded
from bethink.engines.postgres.scrub import scrub
from bethink.errors import BadInput, Busy
from bethink.sealing import Cipher, SealedHome, keep_state, state_of
from bethink.store import opened, sealed

if TYPE_CHECKING:
    from pathlib import Path


_AT_ONCE: Final = 500
"""Rows between two round trips: a few megabytes."""
_LEAVING_S: Final = 3.0
"""How long a connection that was closed a moment ago may still be seen."""
_PAUSE_S: Final = 0.1

_USERS: Final = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'bethink' AND pid <> pg_backend_pid()
"""
_RECORDS: Final = """
SELECT owner, collection, id, body FROM records WHERE (owner, collection, id) > ($1, $2, $3)
ORDER BY owner, collection, id LIMIT $4
"""
_PUT: Final = """
UPDATE records AS r SET body = s.body
FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) AS s (owner, collection, id, body)
WHERE r.owner = s.owner AND r.collection = s.collection AND r.id = s.id
"""
_OWNERS: Final = "SELECT DISTINCT owner FROM index_items"
_ITEMS: Final = """
SELECT id FROM index_items WHERE owner = $1 AND id > $2 AND part = 0 ORDER BY id LIMIT $3
"""
_KEEP: Final = "UPDATE bethink_seal SET state = $1, secret = $2, epoch = epoch + 1"
_ANY: Final = "SELECT EXISTS (SELECT FROM records)"
_NOTICES: Final = "SELECT to_regclass('bus_notices') IS NOT NULL"


async def state_in(url: str) -> SealedHome | None:
    """How a database says that its home is sealed; None if it is not, or there is none yet.

    Raises:
        StorageError: it cannot be reached.
    """
    return (await _known(url)).state


async def home_of(url: str, data_dir: Path) -> SealedHome | None:
    """How the home of a database is sealed; its data directory says the same when this returns.

    Where only the files are sealed, since the records were moved by themselves, it `is_moving`.

    Raises:
        StorageError: the database cannot be reached, or the directory cannot be used.
    """
    found = await _known(url)
    there = await anyio.to_thread.run_sync(state_of, data_dir)
    if found.epoch == 0 and there is not None:
        return msgspec.structs.replace(there, is_moving=True)
    if there != found.state:
        await anyio.to_thread.run_sync(keep_state, data_dir, found.state)
    return found.state


async def take_seal(url: str, state: SealedHome | None, cipher: Cipher | None) -> None:
    """Have an empty database be sealed as another home is, whose records it gets; again is no harm.

    Raises:
        BadInput: it is sealed otherwise, or not empty.
        StorageError: it cannot be reached.
    """
    async with open_connections(url) as connections:
        await upgraded(connections)

        async def work(session: DatabaseSession) -> None:
            found = await known(session, connections.place)
            if found.state == state:
                return
            if found.state is not None or await session.fetchval(_ANY):
                raise BadInput(
                    f"{connections.place} is not sealed as what it is to hold: take an empty database, which"
                    " will be, and seal or open it afterwards (bethink seal)."
                )
            await _keep(session, state, _secret(found, None, cipher))

        await connections.change(work)


async def reseal_database(url: str, state: SealedHome, *, before: Cipher | None, now: Cipher | None) -> None:
    """Have all that is kept be sealed with the key `now`, and the database say so, at once or not at all.

    Raises:
        Busy: a Bethink uses it.
        StorageError: it cannot be reached, or does not open with `before`.
    """
    async with open_connections(url) as connections:
        await upgraded(connections)

        async def work(session: DatabaseSession) -> None:
            found = await known(session, connections.place)
            if _is_done(found, state):
                return
            found.seal(before)
            await _refuse_users(session, connections.place)
            if await session.fetchval(_NOTICES):
                await session.execute("TRUNCATE bus_notices")
            await drop_all(session)
            await _reseal_records(session, before, now)
            for (owner,) in await session.fetch(_OWNERS):
                await _reseal_owner(session, owner, before=before, now=now)
            await _keep(session, state, _secret(found, before, now))

        await connections.change(work)


async def end_resealing(url: str, state: SealedHome | None) -> tuple[str, ...]:
    """Leave no trace of what was there before, and have the database say that it is done.

    What remains of it elsewhere, in a sentence each.

    Raises:
        StorageError: it cannot be reached, or somebody reads what was there before for too long.
    """
    async with open_connections(url) as connections:
        remains = await scrub(connections, None)

        async def work(session: DatabaseSession) -> None:
            found = await known(session, connections.place)
            await _keep(session, state, found.secret or b"")

        await connections.change(work)
    return remains


async def _known(url: str) -> Known:
    async with open_connections(url) as connections:
        return await connections.read(None, lambda session: known(session, connections.place))


def _is_done(found: Known, state: SealedHome) -> bool:
    """Whether the records have the new key already: that is kept in the same transaction."""
    return found.epoch > 0 and found.state == state


def _secret(found: Known, before: Cipher | None, now: Cipher | None) -> bytes:
    secret = opened(before, found.secret or b"")
    return secret if now is None else now.seal(secret)


async def _keep(session: DatabaseSession, state: SealedHome | None, secret: bytes) -> None:
    await session.execute(_KEEP, None if state is None else msgspec.json.encode(state), secret)


async def _refuse_users(session: DatabaseSession, place: str) -> None:
    """Refuse if another process has the database open; whom this misses is refused by its next statement."""
    deadline = asyncio.get_running_loop().time() + _LEAVING_S
    while await session.fetchval(_USERS):
        if asyncio.get_running_loop().time() > deadline:
            raise Busy(f"A Bethink uses {place}: stop all of its processes first.")
        # What is seen of others stays the same within a transaction.
        await session.execute("SELECT pg_stat_clear_snapshot()")
        await asyncio.sleep(_PAUSE_S)


async def _reseal_records(session: DatabaseSession, before: Cipher | None, now: Cipher | None) -> None:
    place = ("", "", "")
    while rows := await session.fetch(_RECORDS, *place, _AT_ONCE):
        await session.execute(
            _PUT,
            *(list(column) for column in zip(*((row[0], row[1], row[2]) for row in rows), strict=True)),
            [_anew(row[3], before, now) for row in rows],
        )
        place = tuple(rows[-1])[:3]


def _anew(body: bytes, before: Cipher | None, now: Cipher | None) -> bytes:
    # Spaces behind a JSON that was padded would be padded again.
    return sealed(now, opened(before, body).rstrip(b" "))


async def _reseal_owner(
    session: DatabaseSession, owner: str, *, before: Cipher | None, now: Cipher | None
) -> None:
    after = ""
    while ids := [id for (id,) in await session.fetch(_ITEMS, owner, after, _AT_ONCE)]:
        await reseal_items(session, owner, ids, before=before, now=now)
        after = ids[-1]
