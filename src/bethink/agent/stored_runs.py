"""What the store knows of runs: their history, their events, and how the dead ones ended.

`agent/runs` reads here what it does not run itself: runs of before a restart,
and runs of other processes on the same data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import msgspec

from bethink.agent.answer import unlabelled
from bethink.agent.context import unknown_outcome
from bethink.agent.history_match import THREADS
from bethink.agent.recorder import Recorder
from bethink.agent.records import JOURNAL, RUNS, Journal, NumberedEvent, Run, behind
from bethink.agent.request import Earlier, MessagePlace
from bethink.agent.toolbox import REFUSALS, refused
from bethink.conversations import MESSAGES, SUMMARIES, line, removal
from bethink.errors import Busy, Conflict, UnknownId
from bethink.events import Place, RunDone, RunFailed, StopReason, Usage
from bethink.files import removal as files_removal
from bethink.forgetting.announcements import ForgetBarrier
from bethink.messages import AssistantMessage, ToolMessage, tokens_of
from bethink.store import DeleteAll, Put, Scan, items_of, owners_of, pages_of, records_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from bethink.bus import Bus
    from bethink.conversations import Conversation, Conversations, StoredMessage
    from bethink.forgetting.announcements import Announcements
    from bethink.principal import Principal
    from bethink.redaction import Redaction
    from bethink.store import Change, Versioned

_POLL_S = 0.1
_PAGE = 50
_WAITING = Scan(RUNS, {"state": "waiting"}, limit=_PAGE)
_RUNNING = Scan(RUNS, {"state": "running"}, limit=_PAGE)
_LEAST_SUMMARISED = 4
"""Messages of a conversation: a shorter one has no summary to look for."""
_SECOND_US = 1_000_000
_DAY_US = 86_400 * _SECOND_US
_PURGED_AT_ONCE = 20
"""Runs whose journals go in one commit: each may hold thousands of entries."""


@dataclass(frozen=True, slots=True)
class StoredRuns:
    """The stored runs of all owners. `is_live` says whether this process runs one now.

    A call may wait `max_wait_s` seconds for a decision.
    """

    conversations: Conversations
    announcements: Announcements
    bus: Bus
    is_live: Callable[[str], bool]
    max_wait_s: float
    ending: anyio.Lock = field(default_factory=anyio.Lock, repr=False)

    async def get(self, principal: Principal, run: str) -> Run:
        """The run's record.

        Raises:
            UnknownId: this owner has no such run.
        """
        return (await self.versioned(principal, run)).record

    async def versioned(self, principal: Principal, run: str) -> Versioned[Run]:
        """The run's record and its version.

        Raises:
            UnknownId: this owner has no such run.
        """
        (found,) = await self.conversations.store.get(RUNS, principal.owner, [run])
        if found is None:
            message = "Run not found: it belongs to a conversation that was deleted, or the id is wrong."
            raise UnknownId(message)
        return found

    async def history(self, principal: Principal, held: Conversation, *, tokens: int) -> Earlier:
        """The newest messages of the active line: at least as many as `tokens` hold, or up to a summary."""
        summary = await self.summary(principal, held)
        least = summary.position if summary else 0
        found: list[StoredMessage] = []
        before: int | None = None
        while tokens > 0 and before != least:
            page = await self.conversations.line(principal, held, limit=_PAGE, before=before)
            said = [item.record for item in page.items if item.record.position >= least]
            found += said
            tokens -= sum(tokens_of(one.message) for one in said)
            before = said[-1].position if len(said) == _PAGE else least
        found = [one for one in reversed(found) if not one.withdrawn]
        is_whole = before == least or not found or found[0].position <= least
        return Earlier(
            [unlabelled(one.message) for one in found],
            [MessagePlace(one.branch, one.position) for one in found],
            summary.message.content if summary and is_whole else "",
            is_whole,
        )

    async def summary(self, principal: Principal, held: Conversation) -> StoredMessage | None:
        """The last summary of what stands on the active line: of the messages before its position."""
        if held.count < _LEAST_SUMMARISED:
            return None
        where: dict[str, str | int | None] = {"conversation": held.id, "branch": SUMMARIES}
        scan = Scan(MESSAGES, where, order="position", reverse=True, limit=_PAGE)
        (page,) = await self.conversations.store.scan(principal.owner, scan)
        stretches = line(held)
        return next(
            (
                item.record
                for item in page.items
                if any(
                    one.branch == item.record.covers and one.start < item.record.position <= one.end
                    for one in stretches
                )
            ),
            None,
        )

    async def events(self, principal: Principal, run: str, after: Place) -> list[NumberedEvent]:
        """The run's stored events behind a place."""
        found: list[NumberedEvent] = []
        scan = Scan(JOURNAL, {"run": run}, order="sequence", low=after.sequence, limit=_PAGE)
        async for page in pages_of(self.conversations.store, principal.owner, scan):
            found += behind([numbered for item in page for numbered in item.record.events], after)
        return found

    async def follow(
        self, principal: Principal, run: str, after: Place
    ) -> AsyncGenerator[list[NumberedEvent], None]:
        """The run's stored events behind a place, as another process adds to them, until its end.

        Raises:
            UnknownId: this owner has no such run, or its events were dropped.
        """
        record = await self.get(principal, run)
        while True:
            await self.settle(principal, record.conversation)
            record = await self.get(principal, run)
            batch = await self.events(principal, run, after)
            if batch:
                after = batch[-1].place
                yield batch
            if record.state != "running":
                if record.state == "dropped" and after == Place(0):
                    message = (
                        "The events of this run were dropped a day after its end; its messages are kept."
                    )
                    raise UnknownId(message)
                if not batch or not isinstance(batch[-1].event, RunDone):
                    yield await self._last(principal, record)
                return
            await anyio.sleep(_POLL_S)

    async def settle(
        self, principal: Principal, conversation: str, *, rejecting: bool = False
    ) -> Versioned[Conversation]:
        """The conversation, after the end of a run whose process died has been told in it.

        With `rejecting`, calls that wait for an approval are rejected and their
        run ends, and a run that is alive is an error.

        Raises:
            UnknownId: this owner has no such conversation.
            Busy: with `rejecting`, when it is being answered.
        """
        held = await self.conversations.get(principal, conversation)
        if held.record.active_run is None:
            return held
        # One at a time: who comes while another ends the run finds it ended, not busy.
        async with self.ending:
            return await self._settle(principal, conversation, rejecting=rejecting)

    async def _settle(
        self, principal: Principal, conversation: str, *, rejecting: bool
    ) -> Versioned[Conversation]:
        held = await self.conversations.get(principal, conversation)
        if (active := held.record.active_run) is None:
            return held
        found = await self.versioned(principal, active)
        run = found.record
        if run.state == "running":
            if self.is_live(active) or await self._runs_elsewhere(run):
                if rejecting:
                    raise Busy
                return held
            await self._finish(principal, held, found=found, reason="interrupted")
        elif run.state == "waiting":
            if not rejecting and not self._is_late(run):
                return held
            await self._finish(principal, held, found=found, reason="cancelled")
        return await self.conversations.get(principal, conversation)

    async def settled(
        self, principal: Principal, listed: Sequence[Versioned[Conversation]]
    ) -> list[Versioned[Conversation]]:
        """Conversations of a list, after the ends of their runs whose process died have been told in them."""
        return [await self._settled(principal, held) for held in listed]

    async def _settled(self, principal: Principal, held: Versioned[Conversation]) -> Versioned[Conversation]:
        if held.record.active_run is None:
            return held
        try:
            return await self.settle(principal, held.record.id)
        except (Busy, UnknownId):
            # Somebody else ends it, or removed the conversation, just now.
            return held

    async def orphan(self, principal: Principal, run: Run) -> None:
        """End a run that was decided about, and whose model went with the request that brought it.

        Not while the process lives in which that is: it may go on just now.
        """
        if await self.bus.is_alive(run.process):
            return
        held = await self.conversations.get(principal, run.conversation)
        found = await self.versioned(principal, run.id)
        if held.record.active_run == run.id and found.record.is_decided:
            await self._finish(principal, held, found=found, reason="failed")

    async def unfinished(self) -> AsyncGenerator[tuple[str, Run]]:
        """The runs of all owners that wait for decisions or have not ended, each with its owner."""
        async for owner in owners_of(self.conversations.store, RUNS):
            for scan in (_WAITING, _RUNNING):
                async for run in records_of(self.conversations.store, owner, scan):
                    yield owner, run

    async def purge(self, principal: Principal) -> int:
        """Drop journals of the owner's runs that ended more than a day ago, a few at once; of how many."""
        high = self.conversations.clock.now_us() - _DAY_US
        scan = Scan(RUNS, {"state": "ended"}, order="ended_at", low=0, high=high, limit=_PURGED_AT_ONCE)
        items = (await self.conversations.store.scan(principal.owner, scan))[0].items
        if items:
            dropped = [DeleteAll(JOURNAL, {"run": item.record.id}) for item in items]
            kept = [Put(RUNS, item.record.without_journal(), if_version=item.version) for item in items]
            await self.conversations.store.commit(principal.owner, [*dropped, *kept])
        return len(items)

    async def forget(self, owner: str, gone: Redaction) -> list[Change]:
        """The changes after which neither journals nor calls that wait tell what is forgotten."""
        changes: list[Change] = [DeleteAll(JOURNAL)]
        waiting = items_of(self.conversations.store, owner, _WAITING)
        changes += [Put(RUNS, item.record.without(gone), if_version=item.version) async for item in waiting]
        return changes

    async def delete(self, principal: Principal, conversation: str) -> None:
        """Remove a conversation, its messages, its runs and their journals; none of them is alive."""
        scan = Scan(RUNS, {"conversation": conversation}, limit=_PAGE)
        runs = records_of(self.conversations.store, principal.owner, scan)
        journals = [DeleteAll(JOURNAL, {"run": run.id}) async for run in runs]
        dropped = [
            *journals,
            DeleteAll(RUNS, {"conversation": conversation}),
            DeleteAll(THREADS, {"conversation": conversation}),
            *removal(conversation),
            files_removal(conversation),
        ]
        await self.conversations.store.commit(principal.owner, dropped)

    async def processes(self, owner: str) -> set[str]:
        """The other processes that run something of the owner now."""
        runs = records_of(self.conversations.store, owner, _RUNNING)
        others = {run.process async for run in runs} - {self.bus.process}
        return {process for process in others if await self.bus.is_alive(process)}

    def _is_late(self, run: Run) -> bool:
        waited_us = self.conversations.clock.now_us() - (run.waits_since or run.started_at)
        return run.state == "waiting" and not run.is_decided and waited_us > self.max_wait_s * _SECOND_US

    async def _runs_elsewhere(self, run: Run) -> bool:
        return run.process != self.bus.process and await self.bus.is_alive(run.process)

    async def _finish(
        self,
        principal: Principal,
        held: Versioned[Conversation],
        *,
        found: Versioned[Run],
        reason: StopReason,
    ) -> None:
        """End a run that nobody drives any more, with what its journal still holds of it.

        Raises:
            Busy: it went on elsewhere, or is ended by somebody else.
        """
        run = found.record
        usage = run.usage if run.state == "waiting" else ()
        taken = msgspec.structs.replace(run, state="running", process=self.bus.process, usage=usage)
        try:
            await self.conversations.store.commit(principal.owner, [Put(RUNS, taken, found.version)])
        except Conflict as error:
            raise Busy from error
        hush = await ForgetBarrier.listening(principal.owner, self.announcements)
        recorder = Recorder(principal, taken, held, self.conversations, Journal(), hush)
        counted = run.state == "waiting"
        for numbered in await self.events(principal, run.id, Place(0)):
            if not (counted and isinstance(numbered.event, Usage)):
                recorder.take(numbered.event)
        recorder.mark_written()
        if reason == "failed":
            recorder.take(RunFailed(code="gone", message=REFUSALS["gone"]))
        if missing := await self._unanswered(principal, run):
            await recorder.save(missing)
        await recorder.end(RunDone(reason=reason))

    async def _unanswered(self, principal: Principal, run: Run) -> list[ToolMessage]:
        """Results for the calls of the last assistant message that have none."""
        page = await self.conversations.messages(principal, run.conversation, limit=_PAGE)
        answered: set[str] = set()
        waiting = {item.call for item in run.waiting}
        why = "not_decided" if self._is_late(run) else "gone" if run.is_decided else "rejected"
        for item in page.items:
            message = item.record.message
            if isinstance(message, ToolMessage):
                answered.add(message.call)
            elif isinstance(message, AssistantMessage) and item.record.run == run.id:
                return [
                    refused(call, why) if call.id in waiting else unknown_outcome(call.id, call.name)
                    for call in message.tool_calls
                    if call.id not in answered
                ]
            else:
                break
        return []

    async def _last(self, principal: Principal, record: Run) -> list[NumberedEvent]:
        """What a reader gets whose place is not known any more: the text as it is, and the end."""
        journal = Journal()
        for numbered in await self.events(principal, record.id, Place(0)):
            journal.append(numbered.event)
        end = journal.place
        return [
            NumberedEvent(end, journal.snapshot().event),
            NumberedEvent(end, RunDone(reason=record.reason or "interrupted")),
        ]
