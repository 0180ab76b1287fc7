"""What the store knows of runs: their history and events, the calls that wait, how the dead ones ended.

`agent/runs` reads here what it does not run itself: runs of before a restart, runs of other processes on
the same data, and those that wait for a decision (`Approvals`); it goes on after the last one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import anyio
import msgspec

from bethink.agent.completion import unlabelled
from bethink.agent.context import unknown_outcome
from bethink.agent.recorder import Recorder
from bethink.agent.records import JOURNAL, RUNS, THREADS, Journal, NumberedEvent, Run, WaitingCall, behind
from bethink.agent.request import NO_RESOURCES, DecidedCall, Earlier, MessagePlace, RunOptions, RunResources
from bethink.agent.toolbox import REFUSALS, Toolbox, refused
from bethink.artifacts.records import artifacts_removal
from bethink.conversations.records import MESSAGES, SUMMARIES, Conversation, StoredMessage, line, removal
from bethink.errors import BadInput, BethinkError, Busy, Conflict, UnknownId
from bethink.events import Place, QuestionAnswered, QuestionAsked, RunDone, RunFailed, StopReason, Usage
from bethink.files import removal as files_removal
from bethink.forgetting.announcements import Announcements, ForgetBarrier
from bethink.masking import restored
from bethink.messages import AssistantMessage, ToolCall, ToolMessage, tokens_of
from bethink.principal import Principal
from bethink.shares import removal as shares_removal
from bethink.store import (
    OWES_SCRUB,
    DeleteAll,
    Put,
    Scan,
    items_of,
    owners_of,
    pages_of,
    records_of,
    retry_conflicts,
)
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from bethink.agent.policy import ToolRules
    from bethink.agent.signals import RunSignals
    from bethink.bus import Bus
    from bethink.conversations.service import Conversations
    from bethink.redaction import Redaction
    from bethink.settings import Settings
    from bethink.store import Change, Versioned


_TEND_S = 300
_ELSEWHERE = (
    "This call can only be decided where it was made, because its model needs the key of that request."
)

_log = log("deciding")


@dataclass(frozen=True, slots=True)
class ApprovalChoice:
    """A decision; `arguments` are of an edited call. With `always` it holds for the tool from now on."""

    decision: Literal["approve", "reject", "edit"]
    arguments: dict[str, Any] | None = None
    always: bool = False


@dataclass(frozen=True, slots=True)
class Approvals:
    """Decisions about the calls of all owners; `go_on` runs on what was decided."""

    stored: StoredRuns
    toolbox_of: Callable[[RunOptions, RunResources], Toolbox]
    rules: ToolRules
    go_on: Callable[[Principal, str, RunResources], Awaitable[None]]

    async def decide(
        self,
        principal: Principal,
        run: str,
        *,
        call: str,
        choice: ApprovalChoice,
        resources: RunResources = NO_RESOURCES,
    ) -> bool:
        """Keep the decision; True when it was the last one, and the run goes on with these `resources`.

        Raises:
            UnknownId: no such run, or the call does not wait.
            Conflict: others kept deciding too, or it is to be decided where it was asked.
            BadInput: the edited arguments do not fit the tool, or the tool asks each time.
        """
        found = await self.stored.versioned(principal, run)
        item = _waiting(found.record, call)
        if found.record.has_resources and resources is NO_RESOURCES:
            raise Conflict(_ELSEWHERE)
        if choice.always and item.final:
            raise BadInput(f"{item.name} cannot be undone, so it asks each time.")
        toolbox = self.toolbox_of(found.record.options, resources)
        record = await self._keep(principal, run, call=call, choice=choice, toolbox=toolbox)
        if choice.always:
            tool = toolbox.get(item.name)
            rule = "deny" if choice.decision == "reject" else "auto"
            name, origin = (tool.name, tool.origin) if tool else (item.name, "")
            await self.rules.set(principal, name, rule, origin=origin)
        if record.is_decided:
            await self.go_on(principal, run, resources)
        return record.is_decided

    @retry_conflicts
    async def _keep(
        self, principal: Principal, run: str, *, call: str, choice: ApprovalChoice, toolbox: Toolbox
    ) -> Run:
        found = await self.stored.versioned(principal, run)
        record = await _decided(found.record, _waiting(found.record, call), choice, toolbox=toolbox)
        await self.rules.store.commit(principal.owner, [Put(RUNS, record, found.version)])
        return record

    async def tend(self) -> None:
        """Go on with what was decided before a crash, end what waited too long, and what died."""
        async for owner, run in self.stored.unfinished():
            with recorded(_log, "a run that waits could not be tended"):
                await self._tend(Principal(owner), run)

    async def _tend(self, principal: Principal, run: Run) -> None:
        try:
            if run.is_decided and run.has_resources:
                await self.stored.orphan(principal, run)
            elif run.is_decided:
                await self.go_on(principal, run.id, NO_RESOURCES)
            else:
                await self.stored.settle(principal, run.conversation)
        except BethinkError as error:
            _log.info("run %s is left as it is: %s", run.id, error)

    async def tend_always(self) -> None:
        """Tend at once, and every few minutes."""
        while True:
            try:
                await self.tend()
            except BethinkError as error:
                _log.error("runs that wait could not be tended: %s", error)
            await anyio.sleep(_TEND_S)


def decided_calls(run: Run) -> list[DecidedCall]:
    """The run's calls that waited, with what was decided about each."""
    return [
        DecidedCall(
            ToolCall(item.call, item.name, item.arguments),
            approved=item.decision != "reject",
            edited=item.decision == "edit",
            sealed=item.sealed,
        )
        for item in run.waiting
    ]


def _waiting(run: Run, call: str) -> WaitingCall:
    for item in run.waiting:
        if run.state == "waiting" and item.call == call and item.decision is None:
            return item
    raise UnknownId("No call with this id waits for a decision: it was decided, or the run has ended.")


async def _decided(run: Run, item: WaitingCall, choice: ApprovalChoice, *, toolbox: Toolbox) -> Run:
    now = msgspec.structs.replace(item, decision=choice.decision)
    if choice.decision == "edit":
        prepared = toolbox.prepare(await _edited(item, choice.arguments or {}, toolbox))
        if isinstance(prepared, ToolMessage):
            raise BadInput(prepared.content)
        sealed = await toolbox.sealed(prepared)
        now = msgspec.structs.replace(now, arguments=prepared.call.arguments, sealed=sealed)
    elif choice.decision == "reject":
        now = msgspec.structs.replace(now, sealed=None)
    waiting = tuple(now if other.call == item.call else other for other in run.waiting)
    return msgspec.structs.replace(run, waiting=waiting)


async def _edited(item: WaitingCall, arguments: dict[str, Any], toolbox: Toolbox) -> ToolCall:
    """The call as a person left it: who sees a secret masked, and leaves it so, means the secret."""
    call = ToolCall(item.call, item.name, item.arguments)
    if item.sealed is not None:
        whole = (await toolbox.unsealed(call, item.sealed)).arguments
        arguments = restored(arguments, json.loads(item.arguments), json.loads(whole))
    return msgspec.structs.replace(call, arguments=msgspec.json.encode(arguments).decode())


_POLL_S = 0.1
_LOOK_S = 1.0
"""How often the store is read for events of a run whose process does not tell of them, or does."""
_PAGE = 50
_WAITING = Scan(RUNS, {"state": "waiting"}, limit=_PAGE)
_RUNNING = Scan(RUNS, {"state": "running"}, limit=_PAGE)
_LEAST_SUMMARISED = 4
"""Messages of a conversation: a shorter one has no summary to look for."""
_SECOND_US = 1_000_000
_DAY_US = 86_400 * _SECOND_US
_PURGED_AT_ONCE = 100
"""Runs whose journals go in one commit: each may hold thousands of entries."""


@dataclass(frozen=True, slots=True)
class StoredRuns:
    """The stored runs of all owners. `is_live` says whether this process runs one now.

    A call may wait `approval_timeout_s` for a decision.
    """

    conversations: Conversations
    announcements: Announcements
    signals: RunSignals
    is_live: Callable[[str], bool]
    settings: Settings
    ending: anyio.Lock = field(default_factory=anyio.Lock, repr=False)
    _beginning: set[str] = field(default_factory=set[str], repr=False)

    @property
    def bus(self) -> Bus:
        """By which processes are known."""
        return self.signals.bus

    @contextmanager
    def beginning(self, run: str) -> Generator[None]:
        """Have nobody take a run for dead that is stored by now, and not yet driven."""
        self._beginning.add(run)
        try:
            yield
        finally:
            self._beginning.discard(run)

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
            raise UnknownId(
                "Run not found: it belongs to a conversation that was deleted, or the id is wrong."
            )
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

    async def question(self, principal: Principal, run: str, question: str) -> QuestionAsked | None:
        """What a run asked, as far as that is stored; None if it is not, or is answered."""
        asked: QuestionAsked | None = None
        for numbered in await self.events(principal, run, Place(0)):
            match numbered.event:
                case QuestionAsked() as event if event.question == question:
                    asked = event
                case QuestionAnswered() as event if event.question == question:
                    return None
                case _:
                    pass
        return asked

    async def follow(
        self, principal: Principal, run: str, after: Place
    ) -> AsyncGenerator[list[NumberedEvent], None]:
        """The run's stored events behind a place, as another process adds to them, until its end.

        Raises:
            UnknownId: this owner has no such run, or its events were dropped.
        """
        if (await self.get(principal, run)).state == "running":
            async with aclosing(self._running(principal, run, after)) as batches:
                async for batch in batches:
                    yield batch
                    after = batch[-1].place
                    if isinstance(batch[-1].event, RunDone):
                        return
        record, batch = await self.get(principal, run), await self.events(principal, run, after)
        if batch:
            yield batch
        elif record.state == "dropped" and after == Place(0):
            raise UnknownId("The events of this run were deleted a day after its end; its messages are kept.")
        if not batch or not isinstance(batch[-1].event, RunDone):
            yield await self._last(principal, record)

    async def _running(
        self, principal: Principal, run: str, after: Place
    ) -> AsyncGenerator[list[NumberedEvent], None]:
        """The run's events behind a place while it runs: as its process tells them, or as they are stored."""
        async with self.signals.reading(principal.owner, run) as told:
            while True:
                record = await self.get(principal, run)
                await self.settle(principal, record.conversation)
                if (await self.get(principal, run)).state != "running":
                    return
                batch = await self.events(principal, run, after)
                looks_at = anyio.current_time() + (_LOOK_S if told.is_answered else _POLL_S)
                while True:
                    if batch:
                        yield batch
                        after = batch[-1].place
                    if not (batch := await told.next(after, looks_at - anyio.current_time())):
                        break

    async def settle(
        self,
        principal: Principal,
        conversation: str,
        *,
        rejecting: bool = False,
        found: Versioned[Conversation] | None = None,
    ) -> Versioned[Conversation]:
        """The conversation, after the end of a run whose process died has been told in it.

        Where it was `found` just now without a run it is not read again: who changes it meanwhile refuses
        the commit of what follows.

        With `rejecting`, calls that wait for an approval are rejected and their
        run ends, and a run that is alive is an error.

        Raises:
            UnknownId: this owner has no such conversation.
            Busy: with `rejecting`, when it is being answered.
        """
        held = found or await self.conversations.get(principal, conversation)
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
            is_elsewhere = run.process != self.bus.process and await self.bus.is_alive(run.process)
            if self.is_live(active) or active in self._beginning or is_elsewhere:
                if rejecting:
                    raise Busy
                return held
            try:
                await self._finish(principal, held, found=found, reason="interrupted")
            except Busy:
                # Another process is ending it just now: only who wants to go on at once is told so.
                if rejecting:
                    raise
        elif run.state == "waiting":
            if not rejecting and not self._is_late(run):
                return held
            await self._finish(principal, held, found=found, reason="cancelled")
        return await self.conversations.get(principal, conversation)

    async def settled(
        self, principal: Principal, listed: Sequence[Versioned[Conversation]]
    ) -> list[Versioned[Conversation]]:
        """Conversations of a list, after the ends of their runs whose process died have been told in them."""
        found = list(listed)
        for place, held in enumerate(listed):
            if held.record.active_run is not None:
                # Somebody else may end it, or remove the conversation, just now.
                with suppress(Busy, UnknownId):
                    found[place] = await self.settle(principal, held.record.id)
        return found

    async def waiting(self, principal: Principal) -> Mapping[str, str]:
        """The runs that wait for a decision of their owner, by their conversations."""
        runs = records_of(self.conversations.store, principal.owner, _WAITING)
        return {
            run.conversation: run.id async for run in runs if not run.is_decided and not self._is_late(run)
        }

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
            *shares_removal(conversation),
            *artifacts_removal(conversation),
            OWES_SCRUB,
        ]
        await self.conversations.store.commit(principal.owner, dropped)
        await self.conversations.announce(principal.owner, conversation)

    async def elsewhere(self, owner: str) -> list[Run]:
        """The owner's runs that other processes run now."""
        running = [run async for run in records_of(self.conversations.store, owner, _RUNNING)]
        processes = {run.process for run in running} - {self.bus.process}
        living = {process for process in processes if await self.bus.is_alive(process)}
        return [run for run in running if run.process in living]

    def _is_late(self, run: Run) -> bool:
        waited_us = self.conversations.clock.now_us() - (run.waits_since or run.started_at)
        return (
            run.state == "waiting"
            and not run.is_decided
            and waited_us > self.settings.approval_timeout_s * _SECOND_US
        )

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
        barrier = await ForgetBarrier.listening(principal.owner, self.announcements)
        recorder = Recorder(principal, taken, held, self.conversations, Journal(), barrier)
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
