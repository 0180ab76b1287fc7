"""Which tools were called, who let them, and how it ended. The recorder writes it, doors ask.

A call's arguments stay in the message that asked for it: what is deleted or
forgotten there is gone from here too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

from bethink.conversations import MESSAGES
from bethink.events import ApprovalDecided, ToolFinished
from bethink.messages import AssistantMessage
from bethink.store import Collection, Delete, Page, Put, Record, Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.agent.records import Run
    from bethink.clock import Clock
    from bethink.conversations import Conversations
    from bethink.events import Event
    from bethink.principal import Principal
    from bethink.store import Store

By = Literal["policy", "approve", "edit", "reject", "deny"]
"""Who decided: policy by itself, the owner in one of three ways, or policy that it may not be."""

_DAY_US = 86_400_000_000
_PURGED_AT_ONCE = 500
"""More calls than a run makes, and few enough for one commit."""
_REFUSED: dict[str | None, By] = {"denied": "deny", "rejected": "reject", "not_decided": "reject"}


class ToolUse(Record, frozen=True, kw_only=True):
    """One call. `at` is when it ended, in microseconds UTC; `error` a code, None where it went well.

    `message` is the message that asked for it, None where that is not known.
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
    """A call with its arguments, JSON text; None where its message is gone."""

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

    def taken(self, run: Run, conversations: Conversations) -> Sequence[ToolUse]:
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


@dataclass(frozen=True, slots=True)
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
    ) -> Page[ToolUse]:
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
