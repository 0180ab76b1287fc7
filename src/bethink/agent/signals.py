"""What processes on the same data tell one another of runs: to end them, what is forgotten, their events.

`agent/runs` answers for the runs of its process, `agent/stored_runs` reads those of others. Nothing is lost
if nothing arrives: events are in the store a moment later, and forgettings are heard of at the next commit.
"""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import msgspec

from bethink.agent.records import Journal, NumberedEvent, behind
from bethink.errors import BethinkError
from bethink.events import Place
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.bus import Bus, Notice
    from bethink.clock import Ids


_CANCEL_TOPIC = "runs.cancel"
_ANSWER_TOPIC = "runs.answer"
_FORGETTING_TOPIC = "runs.hush"
_ANSWERED_TOPIC = "runs.answered"
_READ_TOPIC = "runs.read"
_EVENTS_TOPIC = "runs.events."
"""With the run's id behind it."""
_ANSWER_S = 2.0
"""How long a process may take to answer: that is soon, unless it hangs."""
_AGAIN_S = 10.0
"""How often a reader says that it still reads."""
_READ_S = 30.0
"""A process goes on telling of a run so long after a reader last asked."""

_log = log("runs")


class ToldEvents(msgspec.Struct, frozen=True):
    """The events that follow a place."""

    after: Place
    events: list[NumberedEvent]


_MISSED = ToldEvents(Place(sys.maxsize), [])
_told = msgspec.json.Decoder(ToldEvents)


@dataclass(slots=True)
class RemoteReader:
    """One reader of a run of another process; made by `RunSignals.reading`."""

    bus: Bus
    subject: str
    notices: AsyncIterator[Notice]
    is_answered: bool = False
    _asks_at: float = 0

    async def next(self, after: Place, wait_s: float) -> list[NumberedEvent]:
        """The events behind a place that come next; none if none came in time, or some were missed."""
        now = time.monotonic()
        if now >= self._asks_at:
            self._asks_at = now + _AGAIN_S
            await self.bus.publish(_READ_TOPIC, f"{self.subject} {after}")
        with anyio.move_on_after(wait_s):
            async for notice in self.notices:
                told = _MISSED if notice.payload is None else _told.decode(notice.payload)
                if told.after > after:
                    self._asks_at = 0
                    return []
                self.is_answered = True
                if batch := behind(told.events, after):
                    return batch
        return []


@dataclass(frozen=True, slots=True)
class RunSignals:
    """What this process tells others, and hears of them."""

    bus: Bus
    new_id: Ids
    _told_until: dict[str, float] = field(default_factory=dict[str, float], repr=False)

    async def cancel(self, owner: str, run: str, process: str) -> bool:
        """Have the process that runs it end it; whether it has heard."""
        return not await self._ask(_CANCEL_TOPIC, f"{owner} {run}", {process})

    async def cancel_for_others(self, cancel: Callable[[str, str], bool]) -> None:
        """Cancel runs of this process for others, for ever; `cancel` is given the owner and the run."""
        async with self.bus.subscribe(_CANCEL_TOPIC) as notices:
            async for notice in notices:
                subject, _, asked = (notice.payload or "").rpartition(" ")
                owner, _, run = subject.rpartition(" ")
                if cancel(owner, run):
                    await self._answer(asked)

    async def answer(self, owner: str, run: str, sealed: bytes, *, process: str) -> bool:
        """Hand an answer to the process that runs it; whether it took it. It is sealed: a bus keeps it."""
        subject = f"{owner} {run} {base64.b64encode(sealed).decode()}"
        return not await self._ask(_ANSWER_TOPIC, subject, {process})

    async def take_answers(self, take: Callable[[str, str, bytes], Awaitable[bool]]) -> None:
        """Take answers to questions of this process's runs, for ever; given the owner, the run, the seal."""
        async with self.bus.subscribe(_ANSWER_TOPIC) as notices:
            async for notice in notices:
                subject, _, asked = (notice.payload or "").rpartition(" ")
                subject, _, sealed = subject.rpartition(" ")
                owner, _, run = subject.rpartition(" ")
                with suppress(BethinkError, ValueError):
                    if await take(owner, run, base64.b64decode(sealed)):
                        await self._answer(asked)

    async def heed_forgetting(self, owner: str, processes: Collection[str]) -> None:
        """Have these processes listen to what is announced of the owner; return when they have."""
        if waiting := await self._ask(_FORGETTING_TOPIC, owner, processes):
            # They keep nothing of their runs before they have.
            _log.warning("%d processes have not heard that something is being forgotten", len(waiting))

    async def heed_for_others(self, heed: Callable[[str], Awaitable[None]]) -> None:
        """Have this process's runs of an owner heed what others forget, for ever."""
        async with self.bus.subscribe(_FORGETTING_TOPIC) as notices:
            async for notice in notices:
                owner, _, asked = (notice.payload or "").rpartition(" ")
                try:
                    await heed(owner)
                    await self._answer(asked)
                except BethinkError as error:
                    # Their commits are refused until they have listened.
                    _log.warning("runs have not heard what is being forgotten: %s", error)

    @asynccontextmanager
    async def reading(self, owner: str, run: str) -> AsyncGenerator[RemoteReader]:
        """A reader of a run of another process."""
        async with self.bus.subscribe(_EVENTS_TOPIC + run) as notices:
            yield RemoteReader(self.bus, f"{owner} {run}", notices)

    async def tell_readers(self, journal_of: Callable[[str, str], Journal | None]) -> None:
        """Tell readers in other processes what happens in runs of this one, for ever, as long as they ask.

        `journal_of` gives the journal of a run of an owner, if it runs here.
        """
        async with self.bus.subscribe(_READ_TOPIC) as notices, anyio.create_task_group() as tasks:
            async for notice in notices:
                subject, _, text = (notice.payload or "").rpartition(" ")
                owner, _, run = subject.rpartition(" ")
                journal, after = journal_of(owner, run), Place.parse(text)
                if journal is None or after is None:
                    continue
                is_told, place = run in self._told_until, journal.place
                self._told_until[run] = time.monotonic() + _READ_S
                await self._tell(run, max(after, Place(journal.first - 1)), journal.read(after))
                if not is_told:
                    tasks.start_soon(self._tell_on, run, journal, place)

    async def _tell_on(self, run: str, journal: Journal, after: Place) -> None:
        """Tell what follows, while somebody reads."""
        try:
            async with aclosing(journal.follow(after)) as batches:
                async for batch in batches:
                    if time.monotonic() > self._told_until[run]:
                        return
                    await self._tell(run, after, batch)
                    after = batch[-1].place
        finally:
            del self._told_until[run]

    async def _tell(self, run: str, after: Place, events: list[NumberedEvent]) -> None:
        await self.bus.publish(_EVENTS_TOPIC + run, msgspec.json.encode(ToldEvents(after, events)).decode())

    async def _ask(self, topic: str, subject: str, processes: Collection[str]) -> set[str]:
        """Tell processes something; those of them that have not answered in time."""
        waiting = set(processes)
        if not waiting:
            return waiting
        asked = self.new_id()
        async with self.bus.subscribe(_ANSWERED_TOPIC) as notices:
            await self.bus.publish(topic, f"{subject} {asked}")
            with anyio.move_on_after(_ANSWER_S):
                async for notice in notices:
                    about, _, process = (notice.payload or "").partition(" ")
                    if about == asked:
                        waiting.discard(process)
                    if not waiting:
                        break
        return waiting

    async def _answer(self, asked: str) -> None:
        await self.bus.publish(_ANSWERED_TOPIC, f"{asked} {self.bus.process}")
