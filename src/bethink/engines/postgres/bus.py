"""The bus in PostgreSQL, by LISTEN and NOTIFY: several processes need no second server. `ports` opens it.

What PostgreSQL itself forgets does not matter, for without it there is no store either. All times are the
server's. A process that comes back to a server which was out of reach takes nobody for dead before the
others had the time to come back too.
"""

from __future__ import annotations

import asyncio
import importlib
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio

from bethink.bus import Mailbox, Mailboxes, Notice, TokenBuckets, opened_payload, sealed_payload
from bethink.engines.postgres.connection import close_pool, place_of, raise_told, reset_nothing
from bethink.errors import StorageError
from bethink.telemetry import Supervise, log

if TYPE_CHECKING:
    from bethink.sealing import Cipher


BEAT_S = 2.0
"""How often a process says that it lives."""

ALIVE_S = 10.0
"""A process that has said nothing for so long is dead: it has missed five beats."""

_WAIT_S = 5.0
_SETTINGS: Final = {"application_name": "bethink"}
"""By which it is seen that somebody uses the database."""
_CONNECTIONS: Final = 3
_PAUSES_S = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Between attempts to reach it."""
_MOST_BYTES: Final = 7_900
"""A notification may have 8,000 bytes; what is longer waits in a table for those who hear of it."""
_CHANNEL: Final = "bethink."
_SAID, _MISSED, _LONG = "+", "-", "#"

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('bethink.bus'))"
_TABLES: Final = (
    """CREATE TABLE IF NOT EXISTS bus_processes (process text PRIMARY KEY, seen timestamptz NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS bus_leases (
        name text PRIMARY KEY, process text NOT NULL, until timestamptz NOT NULL)""",
    """CREATE UNLOGGED TABLE IF NOT EXISTS bus_buckets (
        name text PRIMARY KEY, tokens float8 NOT NULL, at timestamptz NOT NULL, wait_s float8 NOT NULL)""",
    """CREATE UNLOGGED TABLE IF NOT EXISTS bus_notices (
        id bigserial PRIMARY KEY, payload text NOT NULL,
        at timestamptz NOT NULL DEFAULT clock_timestamp())""",
)
_NOTIFY: Final = "SELECT pg_notify($1, $2)"
_NOTIFY_LONG: Final = """WITH kept AS (INSERT INTO bus_notices (payload) VALUES ($2) RETURNING id)
    SELECT pg_notify($1, '#' || id) FROM kept"""
_BEAT: Final = """INSERT INTO bus_processes VALUES ($1, clock_timestamp())
    ON CONFLICT (process) DO UPDATE SET seen = excluded.seen"""
_CHORES: Final = """WITH
    old AS (DELETE FROM bus_processes WHERE seen < clock_timestamp() - interval '1 hour'),
    full AS (DELETE FROM bus_buckets WHERE at < clock_timestamp() - interval '1 minute'),
    past AS (DELETE FROM bus_leases WHERE until < clock_timestamp())
    DELETE FROM bus_notices WHERE at < clock_timestamp() - interval '10 seconds'"""
_ALIVE: Final = """SELECT EXISTS (SELECT FROM bus_processes WHERE process = $1 AND ($3
    OR greatest(seen, pg_postmaster_start_time()) > clock_timestamp() - make_interval(secs => $2)))"""
_CLAIM: Final = """INSERT INTO bus_leases AS held
    VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
    ON CONFLICT (name) DO UPDATE SET process = excluded.process, until = excluded.until
    WHERE held.process = excluded.process OR held.process = $4 OR held.until <= clock_timestamp()
    RETURNING true"""
_HOLDER: Final = "SELECT process FROM bus_leases WHERE name = $1"
_RELEASE: Final = "DELETE FROM bus_leases WHERE name = $1 AND process = $2"
_LEFT: Final = "least($2, held.tokens + extract(epoch FROM clock_timestamp() - held.at) * $2 / 60)"
_TAKE: Final = f"""INSERT INTO bus_buckets AS held VALUES ($1, $2::float8 - 1, clock_timestamp(), 0)
    ON CONFLICT (name) DO UPDATE SET at = clock_timestamp(),
        tokens = {_LEFT} - ({_LEFT} >= 1)::int,
        wait_s = CASE WHEN {_LEFT} >= 1 THEN 0 ELSE (1 - {_LEFT}) * 60 / $2 END
    RETURNING wait_s"""  # noqa: S608 - its parts are above

_log = log("bus")


class PostgresBus:
    """One process's access to the bus; made by `open_bus`."""

    def __init__(self, url: str, pool: Any, cipher: Cipher | None = None) -> None:  # noqa: ANN401 - the driver has no types
        self._url = url
        self._cipher = cipher
        self._pool = pool
        self._place = place_of(url)
        self._process = uuid.uuid4().hex
        self._mailboxes = Mailboxes()
        self._buckets = TokenBuckets()
        self._hearing: Any = None
        self._turn = anyio.Lock()
        self._arrived: asyncio.Queue[Notice | tuple[str, asyncio.Future[Mailbox]]] = asyncio.Queue()
        self._missed: set[str] = set()
        self._listening: set[str] = set()
        self._back_s = float("-inf")
        self._was_lost = False
        self._fault: str | None = f"{self._place} has not been reached yet."
        self._is_tried = anyio.Event()

    @property
    def process(self) -> str:
        """This process's own name on the bus."""
        return self._process

    @property
    def fault(self) -> str | None:
        """What does not work, as a sentence."""
        why = self._fault
        return why and f"{why} Until it can be, processes hear of one another's changes late."

    async def publish(self, topic: str, payload: str = "") -> None:
        """Tell every subscriber of the topic, in every process; only in this one while there is no server."""
        if not self._fault and await self._sent(topic, _SAID + sealed_payload(payload, self._cipher)):
            return
        self._missed.add(topic)
        self._mailboxes.deliver((Notice(topic, payload),))

    async def _sent(self, topic: str, message: str) -> bool:
        is_long = len(message.encode()) > _MOST_BYTES
        try:
            await self._run("fetchval", _NOTIFY_LONG if is_long else _NOTIFY, _CHANNEL + topic, message)
        except StorageError as error:
            self._stop_hearing(error.message)
            return False
        return True

    @asynccontextmanager
    async def subscribe(self, topic: str) -> AsyncGenerator[AsyncIterator[Notice]]:
        """Notices published after the block was entered, in order."""
        mailbox = await self._mailbox(topic)
        try:
            yield mailbox
        finally:
            self._mailboxes.drop(topic, mailbox)

    async def _mailbox(self, topic: str) -> Mailbox:
        """One that gets what is published from now on: it is opened behind what has arrived by now."""
        if self._fault:
            return self._mailboxes.open(topic)
        with anyio.CancelScope(shield=True):
            await self._listen(topic)
        future: asyncio.Future[Mailbox] = asyncio.get_running_loop().create_future()
        self._arrived.put_nowait((topic, future))
        try:
            return await future
        except asyncio.CancelledError:
            if not future.cancelled():
                self._mailboxes.drop(topic, future.result())
            raise

    async def _listen(self, topic: str) -> None:
        """Have the server tell of the topic; what it told before has arrived when this returns."""
        try:
            async with self._turn:
                if self._hearing is not None:
                    is_new = topic not in self._listening
                    self._listening.add(topic)
                    if is_new:
                        await self._hearing.add_listener(_CHANNEL + topic, self._arrive)
                    else:
                        await self._hearing.fetchval("SELECT 1")
        except Exception as error:  # noqa: BLE001 - the driver's, told of
            self._stop_hearing(self._told(error))

    def _arrive(self, _connection: object, _pid: int, channel: str, message: str) -> None:
        self._arrived.put_nowait(Notice(channel.removeprefix(_CHANNEL), message))

    async def deliver_always(self) -> None:
        """Hand on what arrives, in order, for ever."""
        while True:
            one = await self._arrived.get()
            if isinstance(one, Notice):
                self._mailboxes.deliver((await self._read(one.topic, one.payload or _MISSED),))
            elif not one[1].done():
                one[1].set_result(self._mailboxes.open(one[0]))

    async def _read(self, topic: str, message: str) -> Notice:
        if message.startswith(_LONG):
            try:
                id = int(message.removeprefix(_LONG))
                found = await self._run("fetchval", "SELECT payload FROM bus_notices WHERE id = $1", id)
            except StorageError:
                found = None
            message = found or _MISSED
        said = message[1:] if message.startswith(_SAID) else None
        return Notice(topic, opened_payload(said, self._cipher))

    async def listen_always(self) -> None:
        """Hear what is published, for ever; from the beginning after each loss of the connection."""
        driver: Any = importlib.import_module("asyncpg")
        failures = 0
        while True:
            connection: Any = None
            try:
                connection = await driver.connect(
                    self._url, timeout=_WAIT_S, command_timeout=_WAIT_S, server_settings=_SETTINGS
                )
                await self._begin_hearing(connection)
                failures = 0
                self._is_tried.set()
                while self._hearing is connection:
                    await anyio.sleep(BEAT_S)
                    async with self._turn:
                        await connection.fetchval("SELECT 1")
            except Exception as error:  # noqa: BLE001 - the driver's, told of
                self._stop_hearing(self._told(error))
            finally:
                self._is_tried.set()
                # What ends here has not been lost.
                self._hearing = None
                if connection is not None:
                    connection.terminate()
            await anyio.sleep(_PAUSES_S[min(failures, len(_PAUSES_S) - 1)])
            failures += 1

    async def _begin_hearing(self, connection: Any) -> None:  # noqa: ANN401 - the driver has no types
        """Listen to all that somebody reads, and tell these readers what they may have missed."""
        async with self._turn:
            # With another first statement than `LISTEN` it is known that the bus is there.
            await connection.execute(_BEAT, self._process)
            topics = set[str]()
            while late := set(self._mailboxes.topics) - topics:
                for topic in late:
                    await connection.add_listener(_CHANNEL + topic, self._arrive)
                topics |= late
            connection.add_termination_listener(partial(self._lost, connection))
            self._hearing, self._listening = connection, topics
            if self._was_lost:
                self._back_s = time.monotonic()
            self._fault = None
        self._mailboxes.deliver([Notice(topic, None) for topic in topics])

    def _lost(self, connection: object, *_: object) -> None:
        if self._hearing is connection:
            self._stop_hearing(f"{self._place} has closed the connection.")

    def _stop_hearing(self, why: str) -> None:
        if self._fault != why:
            _log.warning("The bus is not heard: %s", why)
        self._was_lost = self._was_lost or self._hearing is not None
        self._fault, self._hearing = why, None

    async def claim(self, name: str, ttl_s: float) -> bool:
        """Take or renew the lease `name` for `ttl_s` seconds.

        Raises:
            StorageError: the server does not answer.
        """
        dead = ""
        while True:
            if await self._run("fetchval", _CLAIM, name, self._process, ttl_s, dead):
                return True
            holder = await self._run("fetchval", _HOLDER, name)
            if holder is not None and await self.is_alive(dead := holder):
                return False

    async def release(self, name: str) -> None:
        """Give up the lease if this process holds it; without a server, it ends with its time."""
        try:
            await self._run("execute", _RELEASE, name, self._process)
        except StorageError as error:
            _log.warning("the lease %s is kept until it ends: %s", name, error.message)

    async def is_alive(self, process: str) -> bool:
        """Whether the process with that name on the bus still runs; who cannot be asked about is not dead."""
        if process == self._process or self._fault:
            return True
        try:
            is_back = time.monotonic() - self._back_s < ALIVE_S
            return await self._run("fetchval", _ALIVE, process, ALIVE_S, is_back)
        except StorageError:
            return True

    async def take(self, name: str, per_minute: int) -> float:
        """Take one from a bucket that all processes share; without a server, from one of this process."""
        try:
            return await self._run("fetchval", _TAKE, name, per_minute)
        except StorageError:
            return self._buckets.take(name, per_minute)

    async def beat_always(self) -> None:
        """Say that this process lives, and remove what is past, for ever."""
        while True:
            await anyio.sleep(BEAT_S)
            with suppress(StorageError):
                await self._run("execute", _BEAT, self._process)
                await self._run("execute", _CHORES)
                await self._catch_up()

    async def _catch_up(self) -> None:
        """Tell others what they have not heard from here, and stop listening to what nobody reads."""
        if self._fault:
            return
        missed, self._missed = self._missed, set()
        for topic in missed:
            if not await self._sent(topic, _MISSED):
                self._missed.add(topic)
        try:
            async with self._turn:
                for topic in self._listening - set(self._mailboxes.topics):
                    if self._hearing is not None:
                        await self._hearing.remove_listener(_CHANNEL + topic, self._arrive)
                        self._listening.discard(topic)
        except Exception as error:  # noqa: BLE001 - the driver's, told of
            self._stop_hearing(self._told(error))

    async def _run(self, how: str, statement: str, *given: object) -> Any:  # noqa: ANN401 - what it gives
        try:
            async with self._pool.acquire(timeout=_WAIT_S) as connection:
                return await getattr(connection, how)(statement, *given, timeout=_WAIT_S)
        except Exception as error:
            raise StorageError(self._told(error)) from error

    def _told(self, error: Exception) -> str:
        """What the driver raised, as a sentence."""
        try:
            raise_told(error, self._place)
        except StorageError as told:
            return told.message

    async def close(self) -> None:
        """End every subscription and leave the bus: its leases are free."""
        self._mailboxes.close()
        with suppress(StorageError):
            await self._run("execute", "DELETE FROM bus_leases WHERE process = $1", self._process)
            await self._run("execute", "DELETE FROM bus_processes WHERE process = $1", self._process)

    async def open(self) -> None:
        """Hear, if the server can be reached by now."""
        await self._is_tried.wait()


@asynccontextmanager
async def open_bus(
    url: str, *, supervise: Supervise, cipher: Cipher | None = None
) -> AsyncGenerator[PostgresBus]:
    """The bus of the processes on one database, whose store is open; closed with the block.

    With a `cipher` notices are sealed: what is long waits in a table, and PostgreSQL may write the rest to
    its disk, too. It needs connections that last: one through a pooler by transactions hears nothing.

    Raises:
        StorageError: the database cannot be reached.
    """
    driver: Any = importlib.import_module("asyncpg")
    pool: Any = driver.create_pool(
        url,
        min_size=0,
        max_size=_CONNECTIONS,
        timeout=_WAIT_S,
        reset=reset_nothing,
        server_settings=_SETTINGS,
    )
    try:
        await pool
        async with pool.acquire() as connection, connection.transaction():
            await connection.fetchval(_LOCK)
            for table in _TABLES:
                await connection.execute(table)
    except Exception as error:  # noqa: BLE001 - the driver's, told of
        pool.terminate()
        raise_told(error, place_of(url))
    bus = PostgresBus(url, pool, cipher)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervise, "notices in PostgreSQL", bus.listen_always)
            tasks.start_soon(supervise, "notices that have arrived", bus.deliver_always)
            tasks.start_soon(supervise, "that this process lives, in PostgreSQL", bus.beat_always)
            try:
                await bus.open()
                yield bus
            finally:
                with anyio.CancelScope(shield=True):
                    await bus.close()
                tasks.cancel_scope.cancel()
    finally:
        await close_pool(pool, _WAIT_S)
