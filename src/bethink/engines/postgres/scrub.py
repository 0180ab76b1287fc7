"""How nothing is left of what was deleted or overwritten. `store` calls it.

PostgreSQL keeps an old row where it was until its place is needed again, and in its log. What holds texts is
partitioned by owner, so one partition of each table is written anew (VACUUM FULL), with its toast; readers
and writers of those owners wait for so long. The log is left for a new file, and its old files are given up
by a checkpoint, if the server lets us; if not, or where it keeps them, that is told.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bethink.engines.postgres.connection import PARTITIONED, PARTITIONS
from bethink.engines.postgres.large import drop_stale
from bethink.errors import StorageError

if TYPE_CHECKING:
    from bethink.engines.postgres.connection import Connections, DatabaseSession

SCRUB_S: Final = 10.0
"""How long old snapshots and other processes' locks are waited for."""

_PAUSE_S: Final = 0.05
_LOCK_MS: Final = 500
"""How long readers and writers wait behind us for those whom we wait for."""

_OF_OWNER: Final = """
SELECT number FROM generate_series(0, $2 - 1) AS number
WHERE $1::text IS NULL OR satisfies_hash_partition('records'::regclass, $2, number, $1::text)
"""
_LOG: Final = """
SELECT current_setting('wal_recycle') = 'on', current_setting('archive_mode') <> 'off',
    current_setting('wal_keep_size') <> '0', (SELECT count(*) FROM pg_replication_slots),
    (SELECT count(*) FROM pg_stat_replication),
    pg_has_role(current_user, 'pg_checkpoint', 'USAGE') OR rolsuper,
    has_function_privilege('pg_switch_wal()', 'EXECUTE')
FROM pg_roles WHERE rolname = current_user
"""


async def scrub(connections: Connections, owner: str | None) -> tuple[str, ...]:
    """Write anew what holds this owner's texts, or everybody's; what remains elsewhere, in a sentence each.

    Raises:
        StorageError: somebody reads what was before for too long; the deletion itself stands.
    """

    async def work(session: DatabaseSession) -> tuple[str, ...]:
        deadline = asyncio.get_running_loop().time() + SCRUB_S
        await session.execute(f"SET lock_timeout = {_LOCK_MS}")
        try:
            await _wait_for_readers(session, deadline, connections.place)
            for (number,) in await session.fetch(_OF_OWNER, owner, PARTITIONS):
                for table in PARTITIONED:
                    while not await _is_written(session, f"{table}_{number:02}"):
                        await _pause(deadline, connections.place)
        finally:
            await session.execute("RESET lock_timeout")
        return await _leave_log(session)

    await drop_stale(connections, owner)
    return await connections.alone(work)


async def _wait_for_readers(session: DatabaseSession, deadline: float, place: str) -> None:
    """Return when no snapshot of the server is older than this call.

    A row that is deleted now, and then gone from its table's file, tells so whoever we are to the server.
    """
    await session.execute("INSERT INTO bethink_probe VALUES (1)")
    await session.execute("DELETE FROM bethink_probe")
    while True:
        if await _is_written(session, "bethink_probe") and not await session.fetchval(
            "SELECT pg_relation_size('bethink_probe')"
        ):
            return
        await _pause(deadline, place)


async def _is_written(session: DatabaseSession, table: str) -> bool:
    """Write a table anew; False if another session holds it for too long."""
    import asyncpg

    try:
        await session.execute(f"VACUUM (FULL) {table}")
    except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
        return False
    return True


async def _pause(deadline: float, place: str) -> None:
    if asyncio.get_running_loop().time() > deadline:
        raise StorageError(
            f"Another session of {place} reads what was there before without a pause, such as a backup, so "
            "traces of what was deleted are still in its files; wait for its end and repeat."
        )
    await asyncio.sleep(_PAUSE_S)


async def _leave_log(session: DatabaseSession) -> tuple[str, ...]:
    """Have the server give up its log so far; what it keeps of it."""
    recycles, archives, keeps, slots, standbys, may_checkpoint, may_switch = await session.fetchrow(_LOG)
    remains: list[str] = []
    if may_checkpoint and may_switch:
        await session.execute("SELECT pg_switch_wal()")
        await session.execute("CHECKPOINT")
    if recycles or keeps or not (may_checkpoint and may_switch):
        remains.append(_IN_LOG)
    if archives:
        remains.append(_IN_ARCHIVE)
    if slots or standbys:
        remains.append(_ON_STANDBYS)
    return tuple(remains)


_IN_LOG: Final = (
    "The PostgreSQL server's log (pg_wal) may hold deleted text until its files are used again, mostly "
    "within hours."
)
_IN_ARCHIVE: Final = (
    "The PostgreSQL server archives its log: deleted text stays there until its archives expire."
)
_ON_STANDBYS: Final = "Standbys of the PostgreSQL server have logs of their own, which may hold deleted text."
