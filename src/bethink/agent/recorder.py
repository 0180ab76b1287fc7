"""What is kept of a run: its record, its journal, and its messages, in one commit each time.

`agent/runs` makes a `Recorder` for each live run; `agent/stored_runs` reads what a
dead process left. Messages are the truth, the journal is a buffer: text is
written to it as often as the store makes cheap, so a crash loses no more than was said between two writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import anyio
import msgspec

from bethink.agent.claims import place_of
from bethink.agent.records import (
    JOURNAL,
    RUNS,
    TOOL_USES,
    UNREAD,
    Journal,
    JournalEntry,
    Ledger,
    NumberedEvent,
    Run,
    UnreadTurn,
    WaitingCall,
)
from bethink.agent.request import (
    ANSWERED,
    BOUND_REACHED,
    DEFAULT_OPTIONS,
    FinishedTurn,
    LoadedBranchPoint,
    RunOptions,
)
from bethink.conversations.records import (
    CONVERSATIONS,
    MESSAGES,
    ChangedRef,
    Conversation,
    RecalledRef,
    StoredMessage,
    appended,
    sighting,
    turn_of,
)
from bethink.conversations.service import Conversations, charged
from bethink.errors import BethinkError, Busy, Conflict
from bethink.events import (
    ApprovalNeeded,
    ClaimUnbacked,
    ContextFilled,
    Event,
    Mark,
    MemoryChanged,
    MemoryRecalled,
    MemoryUsed,
    MessageSaved,
    Place,
    ReasoningDelta,
    RunDone,
    RunFailed,
    StopReason,
    TextDelta,
    ToolFinished,
    Usage,
    Warned,
)
from bethink.forgetting.occurrences import indexed
from bethink.messages import AssistantMessage, Message, ToolMessage, UserMessage
from bethink.store import Change, Put, Versioned, retry_conflicts
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from bethink.events import Recalled
    from bethink.forgetting.announcements import ForgetBarrier
    from bethink.principal import Principal


_log = log("runs")
_NO_ANSWER = "The results so far are above; ask it to continue."


@dataclass(slots=True)
class Recorder:
    """Keeps one live run: what it yields, and what of that must survive.

    `aside` marks a run that is not to be recalled, such as a slash command's. Its
    `options` are kept with it while it waits. `lookup` says of one that ends that it only
    looked something up, `is_to_be_read` that its turn is to be learnt from. `fork` makes the branch on
    which it goes on, from the record as it is when the run begins.
    """

    principal: Principal
    run: Run
    conversation: Versioned[Conversation]
    conversations: Conversations
    journal: Journal
    barrier: ForgetBarrier
    aside: bool = False
    options: RunOptions = DEFAULT_OPTIONS
    lookup: bool = False
    is_to_be_read: bool = False
    fork: LoadedBranchPoint | None = None
    ledger: Ledger = field(default_factory=Ledger)
    sealed: dict[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    _written: Place = field(init=False)
    _held: list[StoredMessage] = field(default_factory=list[StoredMessage])
    _last: StoredMessage | None = None
    _asked: Versioned[StoredMessage] | None = None
    _note: str | None = None
    _outside: bool = False
    _is_quoted: bool = False
    _recalled: tuple[RecalledRef, ...] = ()
    _used: tuple[Mark, ...] = ()
    _unbacked: list[ClaimUnbacked] = field(default_factory=list[ClaimUnbacked])
    _changed: list[ChangedRef] = field(default_factory=list[ChangedRef])
    _filled: ContextFilled | None = None
    _usage: list[Usage] = field(default_factory=list[Usage])
    _shown: set[str] = field(default_factory=set[str])
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_behind: bool = False

    def __post_init__(self) -> None:
        self._written = self.journal.place
        self._usage += self.run.usage

    async def begin(self, said: Sequence[UserMessage | ToolMessage]) -> None:
        """Store the owner's message, or what a client's tools answered, and that the run exists."""
        for message in said:
            is_owners = isinstance(message, UserMessage)
            self._held.append(
                self._stored(message, self.run.message if is_owners else self.conversations.new_id())
            )
            self._outside |= message.untrusted or (is_owners and bool(message.attachments))
            # A text that a server gave is nobody's assertion.
            self._is_quoted |= is_owners and message.untrusted
        async with self._writing:
            await self._write([Put(RUNS, self.run, if_version=0)], active_run=self.run.id)
        await self._announce()

    async def resume(self, version: int) -> None:
        """Store that a waiting run goes on, here.

        Raises:
            Conflict: it is not `version` any more: it goes on elsewhere.
        """
        await self.conversations.store.commit(self.principal.owner, [Put(RUNS, self.run, if_version=version)])
        await self._announce()

    async def _announce(self) -> None:
        await self.conversations.announce(self.principal.owner, self.run.conversation)

    def take(self, event: Event) -> None:
        """Add an event to the journal and remember what the last message will tell of it."""
        match event:
            case TextDelta() | ReasoningDelta():
                pass  # the usual case, first
            case RunFailed():
                self._note = event.message
            case MemoryRecalled():
                given = (*self._recalled, *map(_ref, event.items))
                self._recalled = tuple({one.id: one for one in given}.values())
                self._shown.update(item.id for item in event.items)
                self._outside |= any(item.untrusted for item in event.items)
            case ToolFinished():
                self._shown.update(event.memories)
                self._outside |= event.untrusted
            case MemoryChanged():
                self._shown.update(event.ids if event.change != "forgotten" else ())
                self._changed.append(ChangedRef(change=event.change, ids=event.ids, undo=event.undo))
            case MemoryUsed():
                self._used = event.marks
            case ClaimUnbacked():
                self._unbacked.append(event)
            case ContextFilled() | Usage():
                self._count(event)
            case ApprovalNeeded():
                call = WaitingCall(
                    call=event.call,
                    name=event.name,
                    arguments=event.arguments,
                    label=event.label,
                    reason=event.reason,
                    final=event.final,
                    message=self._last.id if self._last else None,
                    sealed=self.sealed.pop(event.call, None),
                )
                self.run = msgspec.structs.replace(self.run, waiting=(*self.run.waiting, call))
            case _:
                pass
        self.ledger.take(event, self._last.id if self._last else None)
        self.journal.append(event)

    def _count(self, event: ContextFilled | Usage) -> None:
        if isinstance(event, Usage):
            self._usage.append(event)
        else:
            self._filled = event
            self._outside |= event.untrusted

    async def save(self, messages: Sequence[Message], *, durably: bool = False) -> Sequence[str]:
        """Keep messages of the run; their ids. Unless `durably`, they are written with what comes next."""
        stored = [self._stored(message, self.conversations.new_id()) for message in messages]
        self._held += stored
        answers = [one for one in stored if isinstance(one.message, AssistantMessage)]
        self._last = answers[-1] if answers else self._last
        if durably:
            await self.flush()
        return [message.id for message in stored]

    async def end(self, done: RunDone) -> None:
        """Store how the run ended, with the text that was not saved yet; then tell the readers.

        Every run leaves a last assistant message that says how it ended, empty
        where no text came, or the calls that it leaves to its client. One that
        awaits an approval is kept as waiting, and its conversation stays taken.
        If it raises, nothing of it is stored, and it may be called again.
        """
        waits, is_left = done.reason == "awaiting_approval", done.reason == "client_tools"
        said = self.journal.unsaved()
        if not said.text and not _is_final(self._last) and done.reason in BOUND_REACHED:
            # Nor did the model say anything when it was asked for a last answer.
            self.take(TextDelta(text=f"{BOUND_REACHED[done.reason]} {_NO_ANSWER}"))
            said = self.journal.unsaved()
        if not (waits or is_left) and (said.text or not _is_final(self._last)):
            (partial,) = await self.save([AssistantMessage(said.text, (), said.reasoning)])
            self.journal.append(MessageSaved(id=partial, role="assistant"))
        if not (waits or is_left) and self._last is not None:
            done = RunDone(reason=done.reason, message=self._last.id)
        ended = msgspec.structs.replace(
            self.run,
            state="waiting" if waits else "ended",
            ended_at=None if waits else self.conversations.clock.now_us(),
            reason=done.reason,
            waiting=self.run.waiting if waits else (),
            waits_since=self.conversations.clock.now_us() if waits else None,
            options=self.options if waits else DEFAULT_OPTIONS,
            usage=tuple(self._usage) if waits else (),
        )
        last = NumberedEvent(Place(self.journal.place.sequence + 1), done)
        async with self._writing:
            # Not before: what is being written meanwhile has no place in its conversation yet.
            final = self._finish(self._last, done.reason) if self._last is not None and not waits else []
            changes = [*final, Put(RUNS, ended), *self._unread(ended)]
            await self._write(changes, last, active_run=self.run.id if waits else None)
        self.run = ended
        self.journal.append(done)
        await self._announce()

    @property
    def _forgot(self) -> bool:
        """Whether something was forgotten for good in the run: what asked for that is no talk to recall."""
        return any(one.change == "forgotten" for one in self._changed)

    @property
    def has_changed(self) -> bool:
        """Whether the run changed something in memory."""
        return bool(self._changed)

    @property
    def outside(self) -> bool:
        """Whether something from outside was read in the conversation by now."""
        return self._outside or self.conversation.record.outside

    @property
    def turn(self) -> FinishedTurn | None:
        """What was said and answered, once that is stored; None if it is none, or no talk that lasts."""
        return self._turn_of(self.run)

    def _turn_of(self, run: Run) -> FinishedTurn | None:
        if (
            self.aside
            or self.conversation.record.temporary
            or run.reason not in ANSWERED
            # A key that may not write has nothing written for it afterwards either.
            or "write" not in self.principal.rights
            or self._last is None
        ):
            return None
        return FinishedTurn(self.principal.lasting, run.message, self._last.id)

    def _unread(self, run: Run) -> list[Change]:
        """What has the turn learnt from later, whatever becomes of this process."""
        turn = self._turn_of(run)
        is_learnt = self.is_to_be_read and self.options.memory and not (self.lookup or self._is_quoted)
        if turn is None or not is_learnt:
            return []
        return [
            Put(
                UNREAD,
                UnreadTurn(
                    id=turn.said,
                    answered=turn.answered,
                    at=run.ended_at or 0,
                    audience=turn.principal.audience,
                    project=turn.principal.project,
                ),
            )
        ]

    def warn_behind(self, why: str) -> None:
        """Tell the reader that nothing is stored for now; once until something is."""
        if not self._is_behind:
            self._is_behind = True
            self.take(Warned(part="store", message=f"The answer is not saved while it streams: {why}"))

    def mark_written(self) -> None:
        """What the journal holds now came from the store."""
        self._written = self.journal.place

    async def flush(self) -> None:
        """Write the messages and events that are not stored yet."""
        async with self._writing:
            await self._write([], active_run=self.run.id)

    def _finish(self, last: StoredMessage, reason: StopReason) -> list[Change]:
        """Write on the last message how the run ended."""
        final = msgspec.structs.replace(
            last,
            untrusted=self.outside,
            lookup=self.lookup,
            aside=last.aside or self._forgot,
            stop_reason=reason,
            note=self._note,
            recalled=self._recalled,
            used=self._used,
            unbacked=tuple(place_of(claim, last.message.content) for claim in self._unbacked),
            changed=tuple(self._changed),
            usage=tuple(self._usage),
            filled=self._filled,
        )
        held = [one.id for one in self._held]
        if last.id in held:
            self._held[held.index(last.id)] = final
            return []
        after = msgspec.structs.replace(self.conversation.record, active_run=None)
        return [Put(MESSAGES, final, index=turn_of(after, final))]

    def _stored(self, message: Message, id: str) -> StoredMessage:
        return StoredMessage(
            id=id,
            conversation=self.run.conversation,
            position=-1,
            at=self.conversations.clock.now_us(),
            run=self.run.id,
            message=message,
            untrusted=isinstance(message, UserMessage) and message.untrusted,
            aside=self.aside,
        )

    async def _write(self, changes: Sequence[Change], *more: NumberedEvent, active_run: str | None) -> None:
        """Write these changes and what is not stored yet. Whoever calls it holds `_writing`."""
        if self.run.state != "running":
            # The end was written while this waited; nothing may be behind it.
            return
        held, self._held = self._held, []
        written = self._written
        shown, self._shown = self._shown, set()
        conversation = self.run.conversation
        uses = self.ledger.drain(self.run, self.conversations)
        sightings = (sighting(fact, conversation) for fact in sorted(shown))
        changes = [*changes, *sightings, *(Put(TOOL_USES, use) for use in uses)]
        events = (*self.journal.read(written), *more)
        if events:
            self._written = events[-1].place
            changes = [*changes, Put(JOURNAL, JournalEntry.of(self.run.id, events))]
        try:
            # Cut short, nobody could tell whether it was kept.
            with anyio.CancelScope(shield=True):
                await self._commit(held, changes, active_run=active_run)
        except BaseException:
            self._held = held + self._held
            self._written = written
            self._shown |= shown
            self.ledger.give_back(uses)
            raise
        self._is_behind = False

    @retry_conflicts
    async def _commit(
        self, messages: Sequence[StoredMessage], changes: Sequence[Change], *, active_run: str | None
    ) -> None:
        """Keep it all; again after a renaming meanwhile, or after something was forgotten."""
        try:
            if messages or active_run != self.conversation.record.active_run:
                await self._append(messages, changes, active_run=active_run)
            elif changes:
                await self.conversations.store.commit(self.principal.owner, self._redacted(changes))
        except Conflict:
            await self._catch_up()
            raise

    async def _append(
        self, messages: Sequence[StoredMessage], changes: Sequence[Change], *, active_run: str | None
    ) -> None:
        """Append messages to the conversation, or have it taken or free; `_redacted` redacts them."""
        held = self.conversation
        placed = [
            msgspec.structs.replace(message, position=held.record.count + offset, branch=held.record.branch)
            for offset, message in enumerate(messages)
        ]
        at = self.conversations.clock.now_us()
        now = appended(held.record, placed, at=at, active_run=active_run)
        now = msgspec.structs.replace(
            charged(now, () if active_run else self._usage),
            outside=self.outside,
            unread=now.unread or (active_run is None and not now.temporary),
        )
        puts = [Put(MESSAGES, message, if_version=0, index=turn_of(now, message)) for message in placed]
        if now.active_run is None:
            puts += await self._question(now)
        await self.conversations.store.commit(
            self.principal.owner,
            self._redacted([*puts, Put(CONVERSATIONS, now, if_version=held.version), *changes]),
        )
        self.conversation = Versioned(now, held.version + 1)
        self.fork = None
        self._asked = self._asked or next(
            (Versioned(message, 1) for message in placed if message.id == self.run.message), None
        )
        if self._last is not None:
            self._last = next((message for message in placed if message.id == self._last.id), self._last)

    async def _catch_up(self) -> None:
        """Read again what another writer changed."""
        await self.barrier.listen()
        self._asked = None
        held = self.conversation.record
        now = await self.conversations.get(self.principal, held.id)
        if now.record.active_run not in (held.active_run, self.run.id):
            raise Busy
        if self.fork is not None:
            # Another may have made a branch of the same number.
            now = Versioned(self.fork.of(now.record), now.version)
        elif now.record.branch != held.branch:
            # What this run answers is on another branch; the version that it holds stays refused.
            raise Conflict
        self.conversation = now

    async def _question(self, now: Conversation) -> list[Put[StoredMessage]]:
        """What the owner said, put once more: its turn has ended, so it is to be found from now on."""
        if self._asked is None:
            (self._asked,) = await self.conversations.store.get(
                MESSAGES, self.principal.owner, [self.run.message]
            )
        if self._asked is None or self._forgot:
            return []
        asked = msgspec.structs.replace(self._asked.record, lookup=self.lookup)
        item = turn_of(now, asked)
        return [Put(MESSAGES, asked, self._asked.version, item)] if item is not None else []

    def _redacted(self, changes: Sequence[Change]) -> list[Change]:
        """The changes as they may be committed now, whatever was forgotten since they were worked out."""
        kept: list[Change] = self.barrier.expected
        if not self.barrier.gone:
            return [*changes, *kept]
        ended = msgspec.structs.replace(self.conversation.record, active_run=None)
        for change in changes:
            match change:
                case Put(record=StoredMessage() as message):
                    said = self.barrier.said(message)
                    item = change.index and indexed(ended, said)
                    kept.append(Put(MESSAGES, said, change.if_version, item))
                case Put(record=Run() as run):
                    kept.append(Put(RUNS, reduce(Run.without, self.barrier.gone, run), change.if_version))
                case Put(record=Conversation() as held):
                    title, system = self.barrier.title(held.title), self.barrier.title(held.system)
                    named = msgspec.structs.replace(held, title=title, system=system)
                    kept.append(Put(CONVERSATIONS, named, change.if_version))
                case Put(record=JournalEntry()):
                    pass
                case _:
                    kept.append(change)
        return kept


def _is_final(stored: StoredMessage | None) -> bool:
    return (
        stored is not None and isinstance(stored.message, AssistantMessage) and not stored.message.tool_calls
    )


FLUSH_S = 0.05
"""How much text a crash costs, in seconds of streaming, as long as writing is cheap."""
SLOWEST_FLUSH_S = 1.0
"""How much it costs at most, and how long that is written."""
_WRITING_SHARE = 1 / 20
"""Which part of the time may be spent with writing, before it is done less often."""


def pause_after(took_s: float) -> float:
    """Seconds until the journals are written again, if writing them took so long.

    One answer on a quiet disk is written twenty times a second; a hundred at once on a database beyond the
    network once a second, which costs a twentieth of it.
    """
    return max(FLUSH_S, min(took_s / _WRITING_SHARE, SLOWEST_FLUSH_S))


@dataclass(slots=True)
class JournalWriter:
    """The runs of which something is not written yet."""

    _dirty: dict[str, Recorder] = field(default_factory=dict[str, "Recorder"], repr=False)
    _is_dirty: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def mark_dirty(self, recorder: Recorder) -> None:
        """Have it written soon."""
        if recorder.run.id not in self._dirty:
            self._dirty[recorder.run.id] = recorder
            self._is_dirty.set()

    def drop(self, run: str) -> None:
        """It is written by somebody else, or ended."""
        self._dirty.pop(run, None)

    async def flush_always(self) -> None:
        """Write what live runs said, again and again while there is something."""
        due_at, pause_s = 0.0, FLUSH_S
        while True:
            await self._is_dirty.wait()
            # The first words after a silence do not wait for what the last write took.
            await anyio.sleep(max(FLUSH_S, due_at - anyio.current_time()))
            self._is_dirty.clear()
            dirty = list(self._dirty.values())
            self._dirty.clear()
            begun = anyio.current_time()
            async with anyio.create_task_group() as tasks:
                for recorder in dirty:
                    tasks.start_soon(_flush, recorder)
            now = anyio.current_time()
            # One write that is slow by chance must not cost a second of text: the pause grows step by step.
            pause_s = min(pause_after(now - begun), 2 * pause_s)
            due_at = now + pause_s


def _ref(item: Recalled) -> RecalledRef:
    # Where it stands is kept of what has no other address.
    return RecalledRef(
        id=item.id,
        kind=item.kind,
        score=item.score,
        source=item.source if item.title else None,
        near=item.near,
        pasted=item.pasted,
    )


async def _flush(recorder: Recorder) -> None:
    with recorded(_log, "a run's journal could not be written") as outcome:
        try:
            await recorder.flush()
        except BethinkError as error:
            _log.error("the journal of run %s could not be written: %s", recorder.run.id, error)
            recorder.warn_behind(str(error))
    if outcome.fault is not None:
        # One run's fault is told in that run, and keeps no other from being written.
        recorder.warn_behind(type(outcome.fault).__name__)
