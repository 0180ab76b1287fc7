"""A run as it is kept: its events in memory (`Journal`), its stored record and journal, its uses of tools.

Deltas that follow one another are pieces of one part, so that a token costs a list append, and a reader
that fell behind gets one delta with everything it missed: there are no queues to overflow.
A call's arguments stay in the message that asked for it: what is deleted or forgotten there is gone from
the record of its use, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

from bethink.agent.request import DEFAULT_OPTIONS, RunOptions
from bethink.conversations.records import MESSAGES
from bethink.events import (
    PLACE_DIGITS,
    ApprovalDecided,
    Event,
    MessageSaved,
    Place,
    ReasoningDelta,
    RunDone,
    StopReason,
    TextDelta,
    TextSoFar,
    ToolFinished,
    Usage,
)
from bethink.messages import AssistantMessage
from bethink.store import Collection, Delete, Put, Record, RecordPage, Scan, Store

if TYPE_CHECKING:
    from bethink.clock import Clock
    from bethink.conversations.service import Conversations
    from bethink.principal import Principal
    from bethink.redaction import Redaction


By = Literal["policy", "approve", "edit", "reject", "deny"]
"""Who decided: policy by itself, the owner in one of three ways, or policy that it may not be."""

_DAY_US = 86_400_000_000
_PURGED_AT_ONCE = 500
"""More calls than a run makes, and few enough for one commit."""
_REFUSED: dict[str | None, By] = {"denied": "deny", "rejected": "reject", "not_decided": "reject"}


class ToolUse(Record, frozen=True, kw_only=True):
    """One call. `at` is when it ended, in microseconds UTC; `error` a code, None if it went well.

    `message` is the message that asked for it, None if that is not known.
    `redacted` says how many personal numbers of each kind were masked in the result.
    """

    at: int
    tool: str
    call: str
    conversation: str
    run: str
    message: str | None
    by: By
    error: str | None
    duration_ms: float
    redacted: dict[str, int] = msgspec.field(default_factory=dict)


TOOL_USES = Collection(
    "tool_uses",
    ToolUse,
    ("tool", "conversation", "at"),
    scans=(("tool", "at"), ("conversation", "at"), ("at",)),
    searchable=False,
)


class LoggedCall(msgspec.Struct, frozen=True):
    """A call with its arguments, JSON text; None if its message is gone."""

    use: ToolUse
    arguments: str | None


@dataclass(slots=True)
class Ledger:
    """The calls of one run that are not written yet. `asked` names the messages of earlier ones."""

    asked: dict[str, str] = field(default_factory=dict[str, str])
    _decided: dict[str, By] = field(default_factory=dict[str, By])
    _ended: list[tuple[ToolFinished, str | None]] = field(
        default_factory=list[tuple[ToolFinished, str | None]]
    )
    _held: list[ToolUse] = field(default_factory=list[ToolUse])

    def take(self, event: Event, message: str | None) -> None:
        """Note what an event tells; `message` is the one that the run said last."""
        match event:
            case ApprovalDecided():
                self._decided[event.call] = event.decision
            case ToolFinished():
                self._ended.append((event, self.asked.get(event.call, message)))
            case _:
                pass

    def drain(self, run: Run, conversations: Conversations) -> Sequence[ToolUse]:
        """The records of what was noted, each once."""
        if not self._ended and not self._held:
            return ()
        at = conversations.clock.now_us()
        ended, self._ended = self._ended, []
        held, self._held = self._held, []
        return held + [
            ToolUse(
                id=conversations.new_id(),
                at=at,
                tool=event.name,
                call=event.call,
                conversation=run.conversation,
                run=run.id,
                message=message,
                by=_REFUSED.get(event.error) or self._decided.get(event.call, "policy"),
                error=event.error,
                duration_ms=event.duration_ms,
                redacted=event.redacted,
            )
            for event, message in ended
        ]

    def give_back(self, uses: Sequence[ToolUse]) -> None:
        """Have them taken again: they could not be written."""
        self._held += uses


@dataclass(slots=True)
class Audit:
    """The calls of all owners, kept for `days`; for ever without."""

    store: Store
    clock: Clock
    days: int | None = None

    async def note(self, principal: Principal, use: ToolUse) -> None:
        """Keep a call that is no run's."""
        await self.store.commit(principal.owner, [Put(TOOL_USES, use)])

    async def purge(self, principal: Principal) -> int:
        """Remove the owner's calls that are older than they are kept, some at once; how many."""
        if self.days is None:
            return 0
        high = self.clock.now_us() - self.days * _DAY_US
        (old,) = await self.store.scan(
            principal.owner, Scan(TOOL_USES, order="at", low=0, high=high, limit=_PURGED_AT_ONCE)
        )
        if old.items:
            gone = [Delete(TOOL_USES, item.record.id) for item in old.items]
            await self.store.commit(principal.owner, gone)
        return len(old.items)

    async def calls(
        self,
        principal: Principal,
        *,
        tool: str | None = None,
        conversation: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> RecordPage[ToolUse]:
        """Calls, the last first."""
        where = {"tool": tool, "conversation": conversation}
        named = {key: value for key, value in where.items() if value is not None}
        scan = Scan(TOOL_USES, named, order="at", reverse=True, limit=limit, after=cursor)
        return (await self.store.scan(principal.owner, scan))[0]

    async def with_arguments(self, principal: Principal, uses: Sequence[ToolUse]) -> list[LoggedCall]:
        """The calls with what they were called with, as far as that is still there."""
        ids = list({use.message for use in uses if use.message is not None})
        found = await self.store.get(MESSAGES, principal.owner, ids)
        arguments = {
            (item.record.id, call.id): call.arguments
            for item in found
            if item is not None and isinstance(item.record.message, AssistantMessage)
            for call in item.record.message.tool_calls
        }
        return [LoggedCall(use, arguments.get((use.message or "", use.call))) for use in uses]


class NumberedEvent(msgspec.Struct, frozen=True):
    """An event and the reader's place after it."""

    place: Place
    event: Event


class _Part:
    """Deltas of one kind in a row."""

    __slots__ = ("characters", "kind", "pieces")

    def __init__(self, kind: type[TextDelta | ReasoningDelta]) -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.characters = 0

    def after(self, characters: int) -> str:
        """The text behind the first `characters`."""
        left = self.characters - characters
        taken: list[str] = []
        for piece in reversed(self.pieces):
            if left <= 0:
                break
            taken.append(piece if len(piece) <= left else piece[-left:])
            left -= len(piece)
        return "".join(reversed(taken))


@dataclass(slots=True)
class Journal:
    """The events of one run; the first entry has the sequence `first`."""

    first: int = 1
    ended: bool = False
    _entries: list[Event | _Part] = field(default_factory=list["Event | _Part"])
    _wakers: list[asyncio.Future[None]] = field(default_factory=list["asyncio.Future[None]"])

    def append(self, event: Event) -> None:
        """Add an event and wake the readers."""
        if isinstance(event, TextDelta | ReasoningDelta):
            self._extend(event)
        else:
            self._entries.append(event)
            self.ended = self.ended or isinstance(event, RunDone)
        if self._wakers:
            self._wake()

    @property
    def place(self) -> Place:
        """The end of what has been appended."""
        if not self._entries:
            return Place(self.first - 1)
        last = self._entries[-1]
        return Place(self.first + len(self._entries) - 1, last.characters if isinstance(last, _Part) else 0)

    def snapshot(self) -> NumberedEvent:
        """The last answer part as it is now, for a reader whose place is not known here."""
        texts = {TextDelta: "", ReasoningDelta: ""}
        for entry in self._entries:
            if isinstance(entry, _Part):
                texts[entry.kind] = entry.after(0)
            elif isinstance(entry, TextSoFar):
                texts = {TextDelta: entry.text, ReasoningDelta: entry.reasoning}
        return NumberedEvent(self.place, TextSoFar(text=texts[TextDelta], reasoning=texts[ReasoningDelta]))

    def unsaved(self) -> TextSoFar:
        """The text that came after the last message which was saved."""
        texts: dict[type[Event], list[str]] = {TextDelta: [], ReasoningDelta: []}
        for entry in reversed(self._entries):
            if isinstance(entry, MessageSaved):
                break
            if isinstance(entry, _Part):
                texts[entry.kind].append(entry.after(0))
            elif isinstance(entry, TextSoFar):
                texts[TextDelta].append(entry.text)
                texts[ReasoningDelta].append(entry.reasoning)
                break
        return TextSoFar(text="".join(texts[TextDelta][::-1]), reasoning="".join(texts[ReasoningDelta][::-1]))

    def read(self, after: Place) -> list[NumberedEvent]:
        """Everything behind a place; text as one delta a part. A place before the start reads all."""
        index = max(0, after.sequence - self.first)
        numbered: list[NumberedEvent] = []
        for offset, entry in enumerate(self._entries[index:], index):
            sequence = self.first + offset
            seen = after.characters if sequence == after.sequence else 0
            if isinstance(entry, _Part):
                if text := entry.after(seen):
                    numbered.append(NumberedEvent(Place(sequence, entry.characters), entry.kind(text=text)))
            elif sequence > after.sequence:
                numbered.append(NumberedEvent(Place(sequence), entry))
        return numbered

    async def follow(self, after: Place) -> AsyncGenerator[list[NumberedEvent], None]:
        """Everything behind a place in batches, as it comes, until the journal is closed."""
        while True:
            if batch := self.read(after):
                after = batch[-1].place
                yield batch
            elif self.ended:
                return
            else:
                waker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._wakers.append(waker)
                await waker

    def close(self) -> None:
        """There will be no more events."""
        self.ended = True
        self._wake()

    def _extend(self, delta: TextDelta | ReasoningDelta) -> None:
        if not delta.text:
            return
        last = self._entries[-1] if self._entries else None
        kind = type(delta)
        if not isinstance(last, _Part) or last.kind is not kind:
            last = _Part(kind)
            self._entries.append(last)
        last.pieces.append(delta.text)
        last.characters += len(delta.text)

    def _wake(self) -> None:
        wakers, self._wakers = self._wakers, []
        for waker in wakers:
            if not waker.done():
                waker.set_result(None)


def behind(events: list[NumberedEvent], after: Place) -> list[NumberedEvent]:
    """What of numbered events lies behind a place; a delta that reaches across it is cut."""
    kept: list[NumberedEvent] = []
    for numbered in events:
        place, event = numbered.place, numbered.event
        if place <= after:
            continue
        if place.sequence == after.sequence and isinstance(event, TextDelta | ReasoningDelta):
            event = type(event)(text=event.text[-(place.characters - after.characters) :])
        kept.append(NumberedEvent(place, event))
    return kept


class WaitingCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for the owner; `decision` is None until it comes.

    `message` is the assistant's message that asks for it, if that is known.
    `arguments` are masked if something in them is secret: then they are `sealed` too.
    """

    call: str
    name: str
    arguments: str
    label: str
    reason: str
    final: bool = False
    message: str | None = None
    decision: Literal["approve", "reject", "edit"] | None = None
    sealed: bytes | None = None


class Run(Record, frozen=True, kw_only=True):
    """One run. Times are microseconds UTC. `process` is who runs it, by its name on the bus.

    `dropped` is ended, and its journal is gone. It began to wait at `waits_since`,
    and goes on with the same `options`; `usage` is what it had cost by then. It reads for the
    `audience` that began it, whoever decides about its calls; "" is of before that was kept. One that
    `has_resources` of its door's request goes on with what another request brings.
    """

    conversation: str
    message: str
    process: str
    started_at: int
    state: Literal["running", "waiting", "ended", "dropped"] = "running"
    ended_at: int | None = None
    reason: StopReason | None = None
    waiting: tuple[WaitingCall, ...] = ()
    waits_since: int | None = None
    usage: tuple[Usage, ...] = ()
    options: RunOptions = msgspec.field(default=DEFAULT_OPTIONS, name="wishes")
    has_resources: bool = msgspec.field(default=False, name="brought")
    audience: str = ""

    @property
    def is_decided(self) -> bool:
        """Whether it waits for nobody any more, and only has to go on."""
        return self.state == "waiting" and all(item.decision is not None for item in self.waiting)

    def without(self, gone: Redaction) -> Run:
        """The record with nothing of what is forgotten in the calls that wait."""
        waiting = tuple(_redacted_call(call, gone) for call in self.waiting)
        return msgspec.structs.replace(self, waiting=waiting, options=self.options.without(gone))

    def without_journal(self) -> Run:
        """The record once its journal is dropped: not found among those to be dropped again."""
        return msgspec.structs.replace(self, state="dropped")


class JournalEntry(Record, frozen=True, kw_only=True):
    """Some events of a run, the last of them at `sequence`.

    A long text is many entries of one sequence, which a scan gives in the order of their ids.
    """

    run: str
    sequence: int
    events: tuple[NumberedEvent, ...]

    @classmethod
    def of(cls, run: str, events: Sequence[NumberedEvent]) -> JournalEntry:
        """The entry of these events, which are one or more; its id sorts as the place of the last does."""
        last = events[-1].place
        place = f"{last.sequence:0{PLACE_DIGITS}}.{last.characters:0{PLACE_DIGITS}}"
        return cls(id=f"{run}:{place}", run=run, sequence=last.sequence, events=tuple(events))


RUNS = Collection(
    "runs",
    Run,
    ("conversation", "state", "ended_at"),
    scans=(("conversation", "ended_at"), ("state", "ended_at")),
    searchable=False,
)
JOURNAL = Collection(
    "journal", JournalEntry, ("run", "sequence"), scans=(("run", "sequence"),), searchable=False
)


def _redacted_call(call: WaitingCall, gone: Redaction) -> WaitingCall:
    arguments, _ = gone.arguments(call.arguments, close=True)
    label, _ = gone.cut(call.label, close=True)
    reason, _ = gone.cut(call.reason, close=True)
    # What waits now is not what its owner was shown: nobody may approve it.
    is_same = arguments == call.arguments
    return msgspec.structs.replace(
        call,
        arguments=arguments,
        label=label,
        reason=reason,
        decision=call.decision if is_same else "reject",
        sealed=call.sealed if is_same else None,
    )


class Thread(Record, frozen=True, kw_only=True):
    """That the owner's `message` ended what was `said`, a digest. `at` is microseconds UTC.

    One with a `request`, a digest too, stands for a request that may be repeated: `run` answers it.
    It is empty once something of it is forgotten: then any request with the key counts as the same.
    One that is a response of `run` says after which run it came (`previous`), and the `model` as
    its client called it.
    """

    said: str
    conversation: str
    at: int
    message: str = ""
    run: str = ""
    request: str = ""
    previous: str = ""
    model: str = ""


THREADS = Collection(
    "threads",
    Thread,
    ("said", "conversation", "at"),
    scans=(("said", "at"), ("conversation",)),
    searchable=False,
)


class UnreadTurn(Record, frozen=True, kw_only=True):
    """A finished turn that is not learnt from yet, by the id of what the owner said.

    It is `answered` by a message, and was had through the door that `audience` names, in a `project` if it
    has one. Written with the turn's end, removed with what is learnt: `agent/extraction`.
    """

    answered: str
    at: int
    audience: str
    project: str | None = None


UNREAD = Collection("unread_turns", UnreadTurn, ("at",), scans=(("at",),), searchable=False)


class LearningDay(Record, frozen=True, kw_only=True):
    """In how many `turns` of an owner facts were looked for on their last `day`, counted from 1970."""

    day: int
    turns: int


LEARNING_DAYS = Collection("learning_days", LearningDay, searchable=False)
LEARNING_DAY_ID = "last"
