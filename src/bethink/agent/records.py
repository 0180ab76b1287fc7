"""What is kept of a run beside its messages: its record, and its journal. The recorder writes both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from bethink.agent.journal import Numbered
from bethink.agent.wishes import NO_WISHES, Wishes
from bethink.events import StopReason, Usage
from bethink.store import Collection, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.redaction import Redaction


class WaitingCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for the owner; `decision` is None until it comes.

    `message` is the assistant's message that asks for it, where that is known.
    `arguments` are masked where something in them is secret: then they are `sealed` too.
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
    and goes on with the same `wishes`; `usage` is what it had cost by then. It reads for the
    `audience` that began it, whoever decides about its calls; "" is of before that was kept. One that was
    `brought` a model or tools by its door's request goes on with what another request brings.
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
    wishes: Wishes = NO_WISHES
    brought: bool = False
    audience: str = ""

    @property
    def is_decided(self) -> bool:
        """Whether it waits for nobody any more, and only has to go on."""
        return self.state == "waiting" and all(item.decision is not None for item in self.waiting)

    def without(self, gone: Redaction) -> Run:
        """The record with nothing of what is forgotten in the calls that wait."""
        waiting = tuple(_hushed_call(call, gone) for call in self.waiting)
        return msgspec.structs.replace(self, waiting=waiting, wishes=self.wishes.without(gone))

    def without_journal(self) -> Run:
        """The record once its journal is dropped: not found among those to be dropped again."""
        return msgspec.structs.replace(self, state="dropped")


class JournalEntry(Record, frozen=True, kw_only=True):
    """Some events of a run, the last of them at `sequence`.

    A long text is many entries of one sequence, which a scan gives in the order of their ids.
    """

    run: str
    sequence: int
    events: tuple[Numbered, ...]

    @classmethod
    def of(cls, run: str, events: Sequence[Numbered]) -> JournalEntry:
        """The entry of these events, which are one or more; its id sorts as the place of the last does."""
        last = events[-1].place
        return cls(id=f"{run}:{last.sort_key}", run=run, sequence=last.sequence, events=tuple(events))


RUNS = Collection("runs", Run, ("conversation", "state", "ended_at"), searchable=False)
JOURNAL = Collection("journal", JournalEntry, ("run", "sequence"), searchable=False)


def _hushed_call(call: WaitingCall, gone: Redaction) -> WaitingCall:
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
