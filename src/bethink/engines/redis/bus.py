"""The bus on a Redis or Valkey, for processes on any machine. `ports` opens it.

Nothing that must last is there. While Redis cannot be reached, notices stay within their process, and
each subscriber is told that some may have been missed once it is back; leases are neither given nor
renewed; and that a process lives, it says in the store. All times are measured by the server's clock, or
by how long this process itself has waited, so that the machines' clocks need not agree.

A server that was started anew or emptied has forgotten who lives and what is leased. Whoever lives says so
again within `BEAT_S`, and until `ALIVE_S` have passed nobody is taken for dead and nothing new is leased.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from bethink.bus import Mailbox, Mailboxes, Notice, TokenBuckets, opened_payload, sealed_payload
from bethink.engines.redis.connection import redis_client, state_of, translated
from bethink.errors import Conflict, StorageError
from bethink.store import Collection, Delete, Put, Record, Store
from bethink.telemetry import Supervise, log

if TYPE_CHECKING:
    from bethink.sealing import Cipher


BEAT_S = 2.0
"""How often a process says that it lives."""

ALIVE_S = 10.0
"""A process that has said nothing for so long is dead: it has missed five beats."""

_WAIT_S = 2.0
"""The longest wait for an answer: a beat that fails must be said in the store well within `ALIVE_S`."""
_AT_ONCE = 6
"""Commands under way at once; more wait for their turn instead of a connection each."""
_QUIET_S = 4.0
"""A connection on which nothing came for so long is asked whether it still is one."""
_PAUSES_S = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Between attempts to reach it."""
_BEATS_A_LOOK = 30
"""The server is asked how it is set up once a minute."""
_DAY_MS = 86_400_000
_NOBODY: Final = "*"
_HOME: Final = "home"
_SAID, _MISSED = b"+", b"-"

_BORN = """
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local born = redis.call('HMGET', KEYS[1], 'run', 'at')
if born[1] ~= run then
  redis.call('HSET', KEYS[1], 'run', run, 'at', now)
  born[2] = now
end
local age = now - born[2]
"""
"""How long the server has known what it knows of this bus, in milliseconds."""

_BEAT = (
    _BORN
    + """
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], '1', 'PX', ARGV[3])
for place = 3, #KEYS do
  redis.call('SET', KEYS[place], ARGV[1], 'NX', 'PX', ARGV[place + 1])
end
"""
)
"""Says that process ARGV[1] lives, and holds the leases of the further keys if the server has lost them."""

_ALIVE = (
    _BORN
    + """
if redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
return age < tonumber(ARGV[1]) and -1 or 0
"""
)
"""1 for a process that has spoken, 0 for one that has not, -1 if it may have and the server lost it."""

_CLAIM = (
    _BORN
    + """
local holder = redis.call('GET', KEYS[2])
local is_free = not holder and (ARGV[4] == '1' or age >= tonumber(ARGV[3]))
if is_free or holder == ARGV[1] or holder == ARGV[5] then
  redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
  return {1, ''}
end
if holder then return {0, holder} end
return {tonumber(ARGV[3]) - age, ''}
"""
)
"""Gives the lease: 1; 0 and its holder; or how long to wait until the server can tell whether it is free."""

_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"

_TAKE = """
local t = redis.call('TIME')
local now, most = t[1] * 1000 + math.floor(t[2] / 1000), tonumber(ARGV[1])
local held = redis.call('HMGET', KEYS[1], 'left', 'at')
local left = math.min(most, (held[1] or most) + (now - (held[2] or now)) * most / 60000)
local wait = 0
if left >= 1 then left = left - 1 else wait = math.ceil((1 - left) * 60000 / most) end
redis.call('HSET', KEYS[1], 'left', left, 'at', now)
redis.call('PEXPIRE', KEYS[1], 60000)
return wait
"""
"""Takes one of a bucket that is refilled with ARGV[1] a minute; else the milliseconds until it holds one."""

_log = log("bus")


class BusRecord(Record, frozen=True, kw_only=True):
    """The `home` is this store's name in Redis; others are processes that cannot reach it and live."""

    name: str = ""


RECORDS = Collection("bus", BusRecord, searchable=False)


@dataclass(frozen=True, slots=True)
class _Silence:
    """What was last seen of a process that does not speak to Redis, and since when, by this one's clock."""

    version: int
    since_s: float


class RedisBus:
    """One process's access to the bus; made by `open_bus`."""

    def __init__(self, redis: Any, store: Store, home: str, *, cipher: Cipher | None = None) -> None:  # noqa: ANN401 - as `redis_client`
        self._redis = redis
        self._cipher = cipher
        self._store = store
        self._prefix = f"bethink:bus:{{{home}}}:"
        self._process = uuid.uuid4().hex
        self._mailboxes = Mailboxes()
        self._buckets = TokenBuckets()
        self._places = anyio.Semaphore(_AT_ONCE)
        self._scripts = {
            text: redis.register_script(text) for text in (_BEAT, _ALIVE, _CLAIM, _RELEASE, _TAKE)
        }
        self._hearing: Any = None
        self._heard: set[str] = set()
        self._awaited: dict[str, deque[asyncio.Future[Mailbox]]] = {}
        self._missed: set[str] = set()
        self._leases: dict[str, float] = {}
        self._silent: dict[str, _Silence] = {}
        self._is_said_in_store = False
        self._beats = 0
        self._is_tried = anyio.Event()
        self._deaf: str | None = "Redis has not been reached yet."
        self._mute: str | None = None
        self._advice: str | None = None

    @property
    def process(self) -> str:
        """This process's own name on the bus."""
        return self._process

    @property
    def fault(self) -> str | None:
        """What does not work, as a sentence."""
        why = self._mute or self._deaf
        return (
            f"{why} Until it can be, processes hear of one another's changes late." if why else self._advice
        )

    # --- notices ---------------------------------------------------------------------

    async def publish(self, topic: str, payload: str = "") -> None:
        """Tell every subscriber of the topic, in every process; only in this one while Redis is away."""
        said = sealed_payload(payload, self._cipher).encode()
        if not self._mute and not self._deaf and await self._sent(topic, _SAID + said):
            return
        self._missed.add(topic)
        self._mailboxes.deliver((Notice(topic, payload),))

    @asynccontextmanager
    async def subscribe(self, topic: str) -> AsyncGenerator[AsyncIterator[Notice]]:
        """Notices published after the block was entered, in order."""
        mailbox = await self._mailbox(topic)
        try:
            yield mailbox
        finally:
            self._mailboxes.drop(topic, mailbox)

    async def _sent(self, topic: str, message: bytes) -> bool:
        try:
            async with self._places:
                with translated():
                    await self._redis.publish(self._prefix + topic, message)
        except StorageError as error:
            self._fail(error)
            return False
        return True

    async def _mailbox(self, topic: str) -> Mailbox:
        """One that gets what is published from now on: it is opened where Redis confirms that it listens."""
        if self._deaf:
            return self._mailboxes.open(topic)
        future: asyncio.Future[Mailbox] = asyncio.get_running_loop().create_future()
        self._awaited.setdefault(topic, deque()).append(future)
        await self._tell(self._hearing, "SUBSCRIBE", self._prefix + topic)
        try:
            return await future
        except asyncio.CancelledError:
            if not future.cancelled():
                self._mailboxes.drop(topic, future.result())
            raise

    async def _tell(self, hearing: Any, *command: str) -> None:  # noqa: ANN401 - a connection of the client's
        """Send a command whose answer `_hear` reads; that also finds out where it could not be sent."""
        # Cancelled in the middle of it, the client would close the connection.
        with anyio.CancelScope(shield=True):
            try:
                with translated():
                    if hearing is not None and hearing.is_connected:
                        await hearing.send_command(*command, check_health=False)
            except StorageError as error:
                self._stop_hearing(error.message)

    async def listen_always(self) -> None:
        """Hear what is published, for ever; from the beginning after each loss of the connection."""
        failures = 0
        while True:
            hearing: Any = self._redis.connection_pool.make_connection()
            try:
                with translated():
                    await hearing.connect()
                    await self._begin_hearing(hearing)
                    failures = 0
                    await self._hear(hearing)
            except StorageError as error:
                self._stop_hearing(error.message)
                self._is_tried.set()
            finally:
                with anyio.CancelScope(shield=True):
                    await hearing.disconnect(nowait=True)
            await anyio.sleep(_PAUSES_S[min(failures, len(_PAUSES_S) - 1)])
            failures += 1

    async def _begin_hearing(self, hearing: Any) -> None:  # noqa: ANN401 - a connection of the client's
        """Listen on every topic that somebody reads, and tell these readers what they may have missed."""
        topics = set(self._mailboxes.topics)
        # A channel of its own keeps the connection one that hears, whatever is read.
        own = f"process:{self._process}"
        await hearing.send_command("SUBSCRIBE", *[self._prefix + topic for topic in (own, *topics)])
        for _ in range(len(topics) + 1):
            if await hearing.read_response(timeout=_WAIT_S, disconnect_on_error=False) is None:
                raise StorageError("Redis cannot be reached: it does not answer.")
        self._hearing, self._heard, self._deaf = hearing, topics | {own}, None
        _log.info("the bus is connected")
        if late := set(self._mailboxes.topics) - topics:
            await self._tell(hearing, "SUBSCRIBE", *[self._prefix + topic for topic in late])
        self._mailboxes.deliver([Notice(topic, None) for topic in topics | late])
        self._is_tried.set()

    async def _hear(self, hearing: Any) -> None:  # noqa: ANN401 - a connection of the client's
        is_asked = False
        while self._hearing is hearing:
            message: list[bytes] | None = await hearing.read_response(
                timeout=_QUIET_S, disconnect_on_error=False
            )
            if message is None:
                if is_asked:
                    raise StorageError("Redis cannot be reached: it does not answer.")
                is_asked = True
                await self._tell(hearing, "PING")
                continue
            is_asked = False
            self._receive(message)

    def _receive(self, message: Sequence[bytes]) -> None:
        kind, channel = message[0], message[1].decode()
        topic = channel.removeprefix(self._prefix)
        if kind == b"message":
            body = message[2]
            said = body[1:].decode() if body[:1] == _SAID else None
            self._mailboxes.deliver((Notice(topic, opened_payload(said, self._cipher)),))
        elif kind == b"subscribe":
            self._heard.add(topic)
            self._confirm(topic)
        elif kind == b"unsubscribe":
            self._heard.discard(topic)

    def _confirm(self, topic: str) -> None:
        """Open the mailbox of who has waited longest for this topic."""
        waiting = self._awaited.get(topic)
        while waiting:
            future = waiting.popleft()
            if not waiting:
                del self._awaited[topic]
            if not future.done():
                future.set_result(self._mailboxes.open(topic))
                return

    def _stop_hearing(self, why: str) -> None:
        if self._deaf != why:
            _log.warning("The bus is not heard: %s", why)
        self._deaf, self._hearing = why, None
        for topic in list(self._awaited):
            while topic in self._awaited:
                self._confirm(topic)

    # --- leases, and who lives ---------------------------------------------------------

    async def claim(self, name: str, ttl_s: float) -> bool:
        """Take or renew the lease `name` for `ttl_s` seconds.

        Raises:
            StorageError: Redis cannot be reached: nobody can tell whether somebody else has it.
        """
        dead = ""
        while True:
            is_held = self._leases.get(name, 0) > time.monotonic()
            keys = [f"lease:{name}"]
            given = (self._process, round(ttl_s * 1000), round(ALIVE_S * 1000), int(is_held), dead)
            code, holder = await self._run(_CLAIM, [_BORN_KEY, *keys], *given)
            if code == 1:
                self._leases[name] = time.monotonic() + ttl_s
                return True
            if code > 1:
                await anyio.sleep(code / 1000)
            elif await self.is_alive(dead := holder.decode()):
                self._leases.pop(name, None)
                return False

    async def release(self, name: str) -> None:
        """Give up the lease if this process holds it; while Redis is away, it ends with its time."""
        self._leases.pop(name, None)
        try:
            await self._run(_RELEASE, [f"lease:{name}"], self._process)
        except StorageError as error:
            _log.warning("the lease %s is kept until it ends: %s", name, error.message)

    async def is_alive(self, process: str) -> bool:
        """Whether the process with that name on the bus still runs.

        Who is not heard by Redis is looked for in the store, and counts as alive as long as it speaks there.
        Whom nobody can tell of counts as alive until this process itself has seen it silent for `ALIVE_S`.
        """
        if process == self._process:
            return True
        try:
            code = await self._run(_ALIVE, [_BORN_KEY, f"process:{process}"], round(ALIVE_S * 1000))
        except StorageError:
            code = -1
        if code == 1:
            self._silent.pop(process, None)
            return True
        (said,) = await self._store.get(RECORDS, _NOBODY, [process])
        if code == 0 and said is None:
            self._silent.pop(process, None)
            return False
        version, now_s = said.version if said else 0, time.monotonic()
        seen = self._silent.get(process)
        if seen is None or seen.version != version:
            self._silent[process] = seen = _Silence(version, now_s)
        return now_s - seen.since_s < ALIVE_S

    async def take(self, name: str, per_minute: int) -> float:
        """Take one from a bucket that all processes share; while Redis is away, from one of this process."""
        try:
            return await self._run(_TAKE, [f"bucket:{name}"], per_minute) / 1000
        except StorageError:
            return self._buckets.take(name, per_minute)

    async def beat_always(self) -> None:
        """Say that this process lives, for ever."""
        while True:
            await anyio.sleep(BEAT_S)
            await self._beat()

    async def _beat(self) -> None:
        now_s = time.monotonic()
        self._leases = {name: until for name, until in self._leases.items() if until > now_s}
        keys = [_BORN_KEY, f"process:{self._process}", *[f"lease:{name}" for name in self._leases]]
        left = [max(round((until - now_s) * 1000), 1) for until in self._leases.values()]
        try:
            await self._run(_BEAT, keys, self._process, _DAY_MS, round(ALIVE_S * 1000), *left, is_trial=True)
            if self._beats % _BEATS_A_LOOK == 0:
                with translated():
                    state = await state_of(self._redis)
                self._advice = _EVICTS.format(state.evicts) if state.evicts else None
        except StorageError as error:
            self._fail(error)
            await self._say_in_store()
            return
        self._beats += 1
        if self._mute:
            _log.info("the bus answers again")
        self._mute = None
        if self._deaf is None:
            await self._catch_up()
        await self._unsay_in_store()

    async def _catch_up(self) -> None:
        """Tell others what they have not heard from here, and stop listening to what nobody reads."""
        missed, self._missed = self._missed, set()
        for topic in missed:
            if not await self._sent(topic, _MISSED):
                self._missed.add(topic)
        kept = {f"process:{self._process}", *self._mailboxes.topics, *self._awaited}
        for topic in self._heard - kept:
            await self._tell(self._hearing, "UNSUBSCRIBE", self._prefix + topic)

    async def _say_in_store(self) -> None:
        try:
            await self._store.commit(_NOBODY, [Put(RECORDS, BusRecord(id=self._process))])
            self._is_said_in_store = True
        except StorageError as error:
            _log.warning("neither Redis nor the store hears that this process lives: %s", error.message)

    async def _unsay_in_store(self) -> None:
        if self._is_said_in_store:
            try:
                await self._store.commit(_NOBODY, [Delete(RECORDS, self._process)])
                self._is_said_in_store = False
            except StorageError as error:
                _log.warning("the store cannot be written: %s", error.message)

    async def _run(self, script: str, keys: Sequence[str], *given: str | int, is_trial: bool = False) -> Any:  # noqa: ANN401 - what it returns
        """What a script returns; at once refused while Redis is away, except that a `is_trial` finds out."""
        if self._mute and not is_trial:
            raise StorageError(self._mute)
        try:
            async with self._places:
                with translated():
                    return await self._scripts[script](keys=[self._prefix + key for key in keys], args=given)
        except StorageError as error:
            self._fail(error)
            raise

    def _fail(self, error: StorageError) -> None:
        if self._mute != error.message:
            _log.warning("The bus does not answer: %s", error.message)
        self._mute = error.message

    async def open(self) -> None:
        """Say that this process lives, and hear, if Redis can be reached by now."""
        await self._beat()
        await self._is_tried.wait()

    async def close(self) -> None:
        """End every subscription and leave the bus: its leases are free."""
        self._mailboxes.close()
        for name in list(self._leases):
            await self.release(name)
        if not self._mute:
            try:
                with translated():
                    await self._redis.delete(f"{self._prefix}process:{self._process}")
            except StorageError as error:
                _log.warning("the bus was left without a word: %s", error.message)
        await self._unsay_in_store()
        await self._redis.aclose()


_BORN_KEY = "born"
_EVICTS = (
    "Redis drops keys when memory is short (maxmemory-policy {}): set noeviction, or processes that live may"
    " be taken for dead."
)


async def _home_of(store: Store) -> str:
    """This store's name in Redis: other stores may use the same server."""
    (found,) = await store.get(RECORDS, _NOBODY, [_HOME])
    if found is not None:
        return found.record.name
    with suppress(Conflict):
        await store.commit(_NOBODY, [Put(RECORDS, BusRecord(id=_HOME, name=uuid.uuid4().hex), if_version=0)])
    return await _home_of(store)


@asynccontextmanager
async def open_bus(
    url: str, store: Store, *, timeout_s: float, supervise: Supervise, cipher: Cipher | None = None
) -> AsyncGenerator[RedisBus]:
    """The bus of a store's processes on the Redis at `url`, which need not answer yet; closed with the block.

    With a `cipher` notices are sealed.

    Raises:
        StorageError: the address is none, or the store cannot be used.
        NotInstalled: the package is missing.
    """
    connect = partial(redis_client, url, min(timeout_s, _WAIT_S), connections=_AT_ONCE + 2, protocol=2)
    redis = await anyio.to_thread.run_sync(connect)
    bus = RedisBus(redis, store, await _home_of(store), cipher=cipher)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervise, "notices of other processes", bus.listen_always)
        tasks.start_soon(supervise, "that this process lives", bus.beat_always)
        try:
            await bus.open()
            yield bus
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await bus.close()
