"""Keeps a Redis at what the store has, for as long as the app lives. `app` runs it, doors ask how it is.

One process of those that share the data does it at a time. What is noted in
the store stays there until Redis has it, so that a Redis that is away, full or
emptied costs nothing but time: it is brought up to date as soon as it answers.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from bethink.clock import Ids, SystemClock
from bethink.conversations.records import CONVERSATIONS, MESSAGES
from bethink.engines.redis.connection import RedisState, RefusedByRedis
from bethink.errors import BethinkError, Conflict, StorageError, UnknownId
from bethink.events import Warned
from bethink.redis_mirror.client import ConversationRedis
from bethink.redis_mirror.inbound import InboundReader
from bethink.redis_mirror.outbound import OutboundWriter, RedisFiles, is_shared
from bethink.redis_mirror.outbox import (
    EVERYTHING,
    HOMES,
    NOBODY,
    OUTGOING,
    SHARED,
    Home,
    OutboxNote,
    OutboxStore,
)
from bethink.store import Delete, DeleteAll, Put, Scan, Store, owners_of, pages_of, records_of
from bethink.telemetry import Supervise, log, recorded

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.conversations.service import Conversations
    from bethink.principal import OnBehalfOf
    from bethink.settings import Settings

FOLLOWED = {CONVERSATIONS.name: "id", MESSAGES.name: "conversation"}
_MOST_KEPT_NOTES = 1_000
"""Kept one by one while Redis is switched off; more are one note, that everything is to be written anew."""
_LEASE, _LEASE_S = "sharing", 60.0
_RENEW_S = 10.0
_TOPIC = "sharing"
_POLL_S = 10.0
"""How often a process looks by itself: whether notes are left, and whether it is the one to work them off."""
_BEAT_S = 20.0
"""How often Redis is asked how it is, and what other programs changed there."""
_PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Between attempts to reach it."""
HOLD_S = 5.0
"""How long a conversation that is being answered may wait for the answer's end, to be written once."""
_CLOSING_S = 3.0
_REMOVED_S, _ELSEWHERE_POLL_S = 10.0, 0.1
_PAGE = 200
_NOTES = Scan(OUTGOING, limit=_PAGE)
_MOST_NOTES = 5_000
_MOST_REFUSED = 3
_TOO_FAST = "Conversations change faster than Redis can be updated."
_ELSEWHERE = "Another process brings conversations to Redis and has not deleted there yet; repeat."
_log = log("sharing")


@dataclass(slots=True)
class RedisMirror:
    """Brings what the store notes to Redis; `fault` says what does not work, `state` is what Redis says."""

    store: Store
    redis: ConversationRedis
    bus: Bus
    writer: OutboundWriter
    reader: InboundReader
    files: RedisFiles
    new_id: Callable[[], str]
    fault: str | None = "Redis has not been reached yet."
    state: RedisState | None = None
    _wake: anyio.Event = field(default_factory=anyio.Event)
    _at_work: anyio.Lock = field(default_factory=anyio.Lock)
    _is_ours: bool = False
    _verified: bool = False
    _asked_at: float = float("-inf")
    _renewed_at: float = float("-inf")
    _failures: int = 0
    _since: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])

    def changed(self) -> None:
        """There are notes to work off."""
        self._wake.set()

    def warnings(self) -> tuple[Warned, ...]:
        """What a reader of an answer should know: Redis does not have it yet, or still has what is gone."""
        messages = [self.files.left] if self.files.left else []
        if self.fault is not None and self._failures:
            messages.append(f"{self.fault} The conversation is stored here, and is written there later.")
        return tuple(Warned(part="redis", message=message) for message in messages)

    async def keep(self) -> None:
        """Work notes off as they come, for ever."""
        async with self.bus.subscribe(_TOPIC) as notices, anyio.create_task_group() as tasks:

            async def listen() -> None:
                async for _ in notices:
                    # Who is not the one to do it told the others itself, and hears that, too.
                    if self._is_ours:
                        self._wake.set()

            tasks.start_soon(listen)
            while True:
                self._wake = anyio.Event()
                pause = await self._try()
                with anyio.move_on_after(pause):
                    await self._wake.wait()
                if self._failures:
                    # New notes do not make an absent Redis come back sooner.
                    await anyio.sleep(_PAUSES_S[0])

    async def close(self) -> None:
        """Bring over what is noted, in the few seconds that a command may take to end."""
        with anyio.move_on_after(_CLOSING_S, shield=True):
            try:
                if not await self._is_mine():
                    await self.bus.publish(_TOPIC)
                    return
                if self._failures == 0:
                    await self.bring_over()
                self._is_ours = False
                await self.bus.release(_LEASE)
            except BethinkError as error:
                _log.warning("what was said last goes to Redis at the next start: %s", error)

    async def bring_over(self) -> None:
        """Bring Redis to what the store has now, answers that are under way too.

        Raises:
            StorageError: it cannot be reached, or refuses.
        """
        async with self._at_work:
            try:
                await self._pass(hold_s=0)
            except StorageError as error:
                self._fail(error)
                raise
            self._failures, self.fault = 0, None

    async def look(self) -> None:
        """Take over what other programs wrote there since it was last looked through.

        Raises:
            StorageError: it cannot be reached, or refuses.
        """
        async with self._at_work:
            await self.reader.look()

    async def scrub(self) -> tuple[str, ...]:
        """Leave no trace in Redis of what was deleted or overwritten, and have its files written anew.

        If it does not write them, what remains there is told in a sentence.

        Raises:
            StorageError: it cannot be reached, and holds what was deleted until it can.
        """
        is_mine = await self._is_mine()
        if not is_mine:
            await self._finish_noted(is_mine=False)
        async with self._at_work:
            try:
                if is_mine:
                    await self._finish_noted(is_mine=True)
                # Another process may have had them written anew before it overwrote the last of it.
                if not is_mine or await self.files.are_stale():
                    await self.files.rewrite(is_mine=is_mine)
            except StorageError as error:
                self._fail(error)
                raise StorageError(
                    f"{error.message} Deleted conversations are still there, and are deleted when it answers."
                ) from error
        return (self.files.left,) if self.files.left else ()

    async def _finish_noted(self, *, is_mine: bool) -> None:
        """Work off what is noted now, or wait until the process that does it has.

        What somebody else wrote too is noted once more, and worked off as well.
        """
        deadline = time.monotonic() + _REMOVED_S
        noted = {
            note.id async for owner in self._owners() async for note in records_of(self.store, owner, _NOTES)
        }
        if not is_mine:
            await self.bus.publish(_TOPIC)
        while await self._is_left(noted):
            if time.monotonic() > deadline:
                raise StorageError(_TOO_FAST if is_mine else _ELSEWHERE)
            if is_mine:
                await self._work_off(hold_s=0)
            else:
                await anyio.sleep(_ELSEWHERE_POLL_S)

    async def pending(self) -> int:
        """How many commits Redis has not heard of."""
        return sum([await self.store.count(owner, OUTGOING, {}) async for owner in self._owners()])

    async def _try(self) -> float:
        """Do what is due; how long to wait for more, in seconds."""
        with recorded(_log, "conversations could not be brought to Redis") as outcome:
            try:
                if not await self._is_mine():
                    await self.bus.publish(_TOPIC)
                    self.state = self.state or await self.redis.state()
                    await self.files.are_stale()
                    self.fault = None
                    return _POLL_S
                async with self._at_work:
                    pause = await self._pass(hold_s=HOLD_S)
            except StorageError as error:
                self._fail(error)
                return _PAUSES_S[min(self._failures, len(_PAUSES_S)) - 1]
            except (Conflict, UnknownId):
                return 0
            self._failures, self.fault = 0, None
            return pause
        self._fail(StorageError(f"Conversations could not be written to Redis: {outcome.fault!r}"))
        return _PAUSES_S[-1]

    def _fail(self, error: StorageError) -> None:
        if self.fault != error.message:
            _log.warning("conversations in Redis are behind: %s", error.message)
        self.fault = error.message
        self._failures += 1
        self._verified = False

    async def _is_mine(self) -> bool:
        """Whether this process is the one that writes."""
        now = time.monotonic()
        if not self._is_ours or now - self._renewed_at > _RENEW_S:
            self._is_ours = await self.bus.claim(_LEASE, _LEASE_S)
            self._renewed_at = now
        return self._is_ours

    async def _pass(self, *, hold_s: float) -> float:
        await self._ask()
        pause = await self._work_off(hold_s=hold_s)
        if not self._verified:
            # Behind what is noted: a conversation deleted meanwhile must not be taken for a foreign one.
            await self._verify()
            pause = await self._work_off(hold_s=hold_s)
            self._verified = True
        await self.files.keep()
        return min(pause, _POLL_S)

    async def _ask(self) -> None:
        """How Redis is, whether it is still the one it was, and what others changed there."""
        now = time.monotonic()
        if now - self._asked_at < _BEAT_S and not self._failures:
            return
        before, self.state = self.state, await self.redis.state()
        home = await self._home()
        holder = await self.redis.claim(home)
        if holder not in {None, home}:
            raise StorageError(
                "Another Bethink's conversations are kept in this Redis, from another data directory: name "
                "another database, such as redis://host/1."
            )
        if (
            holder is None
            or before is None
            or before.run != self.state.run
            or before.evicted != self.state.evicted
        ):
            self._verified = False
        self._asked_at = now
        if self._verified:
            await self.reader.look()

    async def _home(self) -> str:
        (found,) = await self.store.get(HOMES, NOBODY, ["home"])
        if found is not None:
            return found.record.name
        with suppress(Conflict):
            await self.store.commit(NOBODY, [Put(HOMES, Home(id="home", name=self.new_id()), if_version=0)])
        return await self._home()

    async def _verify(self) -> None:
        """Note whatever is not in Redis as it was written, and take over what is there and not here."""
        async for owner in owners_of(self.store, CONVERSATIONS):
            listed = await self.redis.listed(owner)
            async for page in pages_of(self.store, owner, Scan(CONVERSATIONS, limit=_PAGE)):
                ids = [item.record.id for item in page if is_shared(item.record)]
                lost = await self._lost(owner, ids, listed)
                # Of one that drops keys nobody can tell whether it did, or whether somebody deleted them.
                is_sure = self.state is not None and self.state.evicts is None and not self.state.evicted
                deleted = await self.redis.deleted(owner, lost) if is_sure else ()
                for id in lost:
                    await (self.reader.withdraw if id in deleted else self._note_whole)(owner, id)
        await self.reader.look()

    async def _lost(self, owner: str, ids: Sequence[str], listed: Mapping[str, float]) -> list[str]:
        """Those that Redis does not have as they were written."""
        found = await self.store.get(SHARED, owner, ids)
        written = [each.record for each in found if each is not None and not each.record.withdrawn]
        withdrawn = {each.record.id for each in found if each is not None and each.record.withdrawn}
        are = await self.redis.are(owner, [(each.id, each.fingerprint) for each in written])
        intact = {
            each.id
            for each, is_it in zip(written, are, strict=True)
            if is_it and listed.get(each.id) == each.score
        }
        return [id for id in ids if id not in intact | withdrawn]

    async def _work_off(self, *, hold_s: float) -> float:
        """Write all that is noted and not held back; how long until the first of those is due."""
        due = _POLL_S
        refused: list[StorageError] = []
        async for owner in self._owners():
            for root, notes in (await self._notes(owner)).items():
                wait = await self._held_back(owner, root, hold_s)
                if wait > 0:
                    due = min(due, wait)
                    continue
                try:
                    await self._write(owner, root, notes)
                except RefusedByRedis as error:
                    refused.append(error)
                    if len(refused) == _MOST_REFUSED:
                        raise
                except (Conflict, UnknownId):
                    # Written by somebody else too, or deleted just now: what Redis has may be either.
                    await self._note_whole(owner, root)
                    due = 0
        if refused:
            raise refused[0]
        return due

    async def _write(self, owner: str, root: str, notes: Sequence[OutboxNote]) -> None:
        await self._is_mine()
        if root == EVERYTHING:
            every: tuple[Scan[Any], ...] = (Scan(CONVERSATIONS, limit=_PAGE), Scan(SHARED, limit=_PAGE))
            for scan in every:
                async for record in records_of(self.store, owner, scan):
                    await self._note_whole(owner, record.id)
        else:
            await self.writer.write(owner, root, notes)
        self._since.pop((owner, root), None)
        await self.store.commit(owner, [Delete(OUTGOING, note.id) for note in notes])

    async def _notes(self, owner: str) -> dict[str, list[OutboxNote]]:
        """The owner's oldest notes, oldest first, by root."""
        by_root: dict[str, list[OutboxNote]] = {}
        left = _MOST_NOTES
        async for page in pages_of(self.store, owner, _NOTES):
            for item in page:
                by_root.setdefault(item.record.root, []).append(item.record)
            left -= _PAGE
            if left <= 0:
                break
        return by_root

    async def _held_back(self, owner: str, root: str, hold_s: float) -> float:
        """How many seconds a conversation that is being answered still waits for the answer's end."""
        (held,) = await self.store.get(CONVERSATIONS, owner, [root])
        if held is None or held.record.active_run is None:
            return 0
        since = self._since.setdefault((owner, root), time.monotonic())
        return since + hold_s - time.monotonic()

    async def _note_whole(self, owner: str, root: str) -> None:
        await self.store.commit(owner, [Put(OUTGOING, OutboxNote(id=self.new_id(), root=root, whole=True))])

    async def _is_left(self, noted: Collection[str]) -> bool:
        """Whether one of these is left to be worked off, or a removal that was noted since."""
        async for owner in self._owners():
            async with aclosing(records_of(self.store, owner, _NOTES)) as notes:
                async for note in notes:
                    if note.id in noted or note.changed or note.whole:
                        return True
        return False

    def _owners(self) -> AsyncGenerator[str]:
        return owners_of(self.store, OUTGOING)


@asynccontextmanager
async def open_shared_store(settings: Settings, store: Store) -> AsyncGenerator[Store]:
    """The store with notes of what Redis must hear of; as it is if none was ever set.

    Raises:
        StorageError: the address is none.
        NotInstalled: the package is missing.
    """
    new_id = Ids(SystemClock())
    if settings.redis_url is None or settings.redis_use == "bus":
        (home,) = await store.get(HOMES, NOBODY, ["home"])
        if home is not None:
            # Redis is off for now, or for this process alone: it shall not miss what is said meanwhile.
            async for owner in owners_of(store, OUTGOING):
                if await store.count(owner, OUTGOING, {}) > _MOST_KEPT_NOTES:
                    everything = OutboxNote(id=new_id(), root=EVERYTHING, whole=True)
                    await store.commit(owner, [DeleteAll(OUTGOING), Put(OUTGOING, everything)])
            store = OutboxStore(store, FOLLOWED, new_id)
        yield store
        return
    connect = partial(
        ConversationRedis,
        settings.redis_url.get_secret_value(),
        plain_owner=settings.redis_owner,
        timeout_s=settings.redis_timeout_s,
    )
    redis = await anyio.to_thread.run_sync(connect)
    try:
        yield OutboxStore(store, FOLLOWED, new_id, redis=redis)
    finally:
        with anyio.CancelScope(shield=True):
            await redis.close()


def sharing_of(
    conversations: Conversations, bus: Bus, *, acting: OnBehalfOf, on_taken: Callable[[str], None]
) -> RedisMirror | None:
    """Who shares the conversations of this store; None without a Redis."""
    store = conversations.store
    if not isinstance(store, OutboxStore) or store.redis is None:
        return None
    redis = store.redis
    reader = InboundReader(conversations, redis, on_taken)
    files = RedisFiles(store, redis)
    writer = OutboundWriter(conversations, redis, reader, acting, files)
    sharing = RedisMirror(store, redis, bus, writer, reader, files, conversations.new_id)
    store.on_noted, store.scrub_redis = sharing.changed, sharing.scrub
    return sharing


@asynccontextmanager
async def sharing(of: RedisMirror | None, supervise: Supervise) -> AsyncGenerator[None]:
    """Redis is kept up to date within the block, and once more at its end."""
    async with anyio.create_task_group() as tasks:
        if of is not None:
            tasks.start_soon(supervise, "conversations in Redis", of.keep)
        try:
            yield
        finally:
            if of is not None:
                await of.close()
            tasks.cancel_scope.cancel()
