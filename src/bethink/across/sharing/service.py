"""Keeps a Redis at what the store has, for as long as the app lives. `app` runs it, doors ask how it is.

One process of those that share the data does it at a time. What is noted in
the store stays there until Redis has it, so that a Redis that is away, full or
emptied costs nothing but time: it is brought up to date as soon as it answers.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio

from bethink.across.owners import owners_of
from bethink.across.sharing.records import HOMES, NOBODY, SHARED, Home
from bethink.across.sharing.writing import is_shared
from bethink.conversations import CONVERSATIONS
from bethink.errors import BethinkError, Conflict, StorageError, UnknownId
from bethink.events import Warned
from bethink.store import Delete, Put, Scan
from bethink.store.outgoing import EVERYTHING, OUTGOING, Outgoing
from bethink.store.redis import RefusedByRedis
from bethink.telemetry import log

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from bethink.across.sharing.taking import Taking
    from bethink.across.sharing.writing import Writing
    from bethink.bus import Bus
    from bethink.store import Store
    from bethink.store.redis import ConversationRedis
    from bethink.store.redis_state import RedisState

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
_FILES_EVERY_S = 600.0
_CLOSING_S = 3.0
_ELSEWHERE_S, _ELSEWHERE_POLL_S = 10.0, 0.1
_PAGE = 200
_MOST_NOTES = 5_000
_MOST_REFUSED = 3
_log = log("sharing")


@dataclass(slots=True)
class Sharing:
    """Brings what the store notes to Redis; `fault` says what does not work, `state` is what Redis says."""

    store: Store
    redis: ConversationRedis
    bus: Bus
    writing: Writing
    taking: Taking
    new_id: Callable[[], str]
    fault: str | None = "Redis has not been reached yet."
    state: RedisState | None = None
    _wake: anyio.Event = field(default_factory=anyio.Event)
    _at_work: anyio.Lock = field(default_factory=anyio.Lock)
    _is_ours: bool = False
    _verified: bool = False
    _asked_at: float = float("-inf")
    _renewed_at: float = float("-inf")
    _files_at: float = float("-inf")
    _overwrote: bool = False
    _failures: int = 0
    _since: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])

    def changed(self, owner: str) -> None:
        """There are notes to work off."""
        del owner
        self._wake.set()

    def warnings(self) -> tuple[Warned, ...]:
        """What a reader of an answer should know: that Redis does not have it yet, and why."""
        if self.fault is None or not self._failures:
            return ()
        return (
            Warned(
                part="redis", message=f"{self.fault} The conversation is kept here, and goes there later."
            ),
        )

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
                await self._hand_over()
            except BethinkError as error:
                _log.warning("what was said last goes to Redis at the next start: %s", error)

    async def _hand_over(self) -> None:
        if not await self._is_mine():
            await self.bus.publish(_TOPIC)
            return
        if self._failures == 0:
            await self.bring_over()
        self._is_ours = False
        await self.bus.release(_LEASE)

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
            await self.taking.look()

    async def scrub(self) -> None:
        """Leave no trace in Redis of what was deleted or overwritten, and have its files written anew.

        Raises:
            StorageError: it cannot be reached, and holds what was deleted until it can.
        """
        if not self._overwrote and not await self._has_removals():
            return
        if not await self._is_mine():
            await self._scrubbed_elsewhere()
            return
        async with self._at_work:
            try:
                await self._work_off(hold_s=0)
                if self._overwrote:
                    await self._rewrite_files()
            except StorageError as error:
                self._fail(error)
                message = f"{error.message} What was deleted here is still there, and goes when it answers."
                raise StorageError(message) from error

    async def _scrubbed_elsewhere(self) -> None:
        """Have the process that does it work off the removals, and wait until it has."""
        deadline = time.monotonic() + _ELSEWHERE_S
        await self.bus.publish(_TOPIC)
        while await self._has_removals():
            if time.monotonic() > deadline:
                message = (
                    "Another process brings conversations to Redis and has not deleted there yet; repeat."
                )
                raise StorageError(message)
            await anyio.sleep(_ELSEWHERE_POLL_S)

    async def pending(self) -> int:
        """How many commits Redis has not heard of."""
        return sum([await self.store.count(owner, OUTGOING, {}) async for owner in self._owners()])

    async def _try(self) -> float:
        """Do what is due; how long to wait for more, in seconds."""
        try:
            if not await self._is_mine():
                await self.bus.publish(_TOPIC)
                self.state = self.state or await self.redis.state()
                self.fault = None
                return _POLL_S
            async with self._at_work:
                pause = await self._pass(hold_s=HOLD_S)
        except StorageError as error:
            self._fail(error)
            return _PAUSES_S[min(self._failures, len(_PAUSES_S)) - 1]
        except (Conflict, UnknownId):
            return 0
        except Exception as error:  # noqa: BLE001 - a background task: recorded, told, and tried again
            _log.exception("conversations could not be brought to Redis")
            self._fail(StorageError(f"Conversations could not be brought to Redis: {error!r}"))
            return _PAUSES_S[-1]
        self._failures, self.fault = 0, None
        return pause

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
        if self._overwrote and time.monotonic() - self._files_at > _FILES_EVERY_S:
            await self._rewrite_files()
        return min(pause, _POLL_S)

    async def _ask(self) -> None:
        """How Redis is, whether it is still the one it was, and what others changed there."""
        now = time.monotonic()
        if now - self._asked_at < _BEAT_S and not self._failures:
            return
        before, self.state = self.state, await self.redis.state()
        holder = await self.redis.claim(await self._home())
        if holder not in {None, await self._home()}:
            message = (
                "Another Bethink's conversations are kept in this Redis, from another data directory: name "
                "another database, such as redis://host/1."
            )
            raise StorageError(message)
        if (
            holder is None
            or before is None
            or before.run != self.state.run
            or before.evicted != self.state.evicted
        ):
            self._verified = False
        self._asked_at = now
        if self._verified:
            await self.taking.look()

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
            cursor: str | None = None
            while True:
                page = await self.store.scan(owner, Scan(CONVERSATIONS, limit=_PAGE, after=cursor))
                ids = [item.record.id for item in page.items if is_shared(item.record)]
                for id in await self._lost(owner, ids, listed):
                    await self._note_whole(owner, id)
                if (cursor := page.cursor) is None:
                    break
        await self.taking.look()

    async def _lost(self, owner: str, ids: Sequence[str], listed: Mapping[str, float]) -> list[str]:
        """Those that Redis does not have as they were written."""
        found = await self.store.get(SHARED, owner, ids)
        written = [each.record for each in found if each is not None]
        are = await self.redis.are(owner, [(each.id, each.fingerprint) for each in written])
        intact = {
            each.id
            for each, is_it in zip(written, are, strict=True)
            if is_it and listed.get(each.id) == each.score
        }
        return [id for id in ids if id not in intact]

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

    async def _write(self, owner: str, root: str, notes: Sequence[Outgoing]) -> None:
        await self._is_mine()
        if root == EVERYTHING:
            await self._note_everything(owner)
        else:
            self._overwrote |= await self.writing.write(owner, root, notes)
        self._since.pop((owner, root), None)
        await self.store.commit(owner, [Delete(OUTGOING, note.id) for note in notes])

    async def _notes(self, owner: str) -> dict[str, list[Outgoing]]:
        """The owner's notes, oldest first, by root."""
        by_root: dict[str, list[Outgoing]] = {}
        cursor: str | None = None
        for _ in range(0, _MOST_NOTES, _PAGE):
            page = await self.store.scan(owner, Scan(OUTGOING, limit=_PAGE, after=cursor))
            for item in page.items:
                by_root.setdefault(item.record.root, []).append(item.record)
            if (cursor := page.cursor) is None:
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
        await self.store.commit(owner, [Put(OUTGOING, Outgoing(id=self.new_id(), root=root, whole=True))])

    async def _note_everything(self, owner: str) -> None:
        for every in (Scan[Any](CONVERSATIONS, limit=_PAGE), Scan[Any](SHARED, limit=_PAGE)):
            scan = every
            while True:
                page = await self.store.scan(owner, scan)
                for item in page.items:
                    await self._note_whole(owner, item.record.id)
                if page.cursor is None:
                    break
                scan = replace(scan, after=page.cursor)

    async def _has_removals(self) -> bool:
        return any(
            [
                note.changed or note.whole
                async for owner in self._owners()
                for notes in (await self._notes(owner)).values()
                for note in notes
            ]
        )

    def _owners(self) -> AsyncGenerator[str]:
        return owners_of(self.store, OUTGOING)

    async def _rewrite_files(self) -> None:
        try:
            await self.redis.rewrite_files()
        except RefusedByRedis as error:
            _log.warning("files of Redis may keep what was deleted until it writes them anew: %s", error)
        self._overwrote, self._files_at = False, time.monotonic()
