"""Responses that a client may come back to: each is a run, kept under its id. `/v1/responses` asks.

What is kept of one is where it is. What was said is read from the run's events
while they are there, and then from its messages, so that nothing is kept twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bethink.agent.history_match import THREADS, Thread
from bethink.agent.run_options import BranchPoint
from bethink.conversations import MESSAGES
from bethink.errors import UnknownId
from bethink.events import (
    MessageSaved,
    Place,
    RunDone,
    RunFailed,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolRequested,
)
from bethink.messages import AssistantMessage, ToolMessage
from bethink.store import Delete, Put, Scan, pages_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.agent.records import Run
    from bethink.agent.stored_runs import StoredRuns
    from bethink.conversations import StoredMessage
    from bethink.events import Event
    from bethink.principal import Principal

_SAID: Final = "response"
_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class Responses:
    """The kept responses of all owners."""

    stored: StoredRuns

    async def keep(
        self, principal: Principal, run: str, *, conversation: str, model: str, previous: str
    ) -> None:
        """Have a run's answer be found again, until its conversation is deleted."""
        at = self.stored.conversations.clock.now_us()
        kept = Thread(
            id=_id(run),
            said=_SAID,
            conversation=conversation,
            at=at,
            run=run,
            previous=previous,
            model=model,
        )
        await self.stored.conversations.store.commit(principal.owner, [Put(THREADS, kept)])

    async def get(self, principal: Principal, run: str) -> Thread:
        """What is kept of a response.

        Raises:
            UnknownId: this owner has none, or it was deleted, or never kept.
        """
        (found,) = await self.stored.conversations.store.get(THREADS, principal.owner, [_id(run)])
        if found is None:
            message = (
                f"There is no response {f'resp_{run}'[:80]!r}: it was made with store: false, or deleted, or "
                "its conversation was, or the id is wrong."
            )
            raise UnknownId(message)
        return found.record

    async def delete(self, principal: Principal, run: str) -> None:
        """Have it not be found again; what was said stays in its conversation.

        Raises:
            UnknownId: this owner has none.
        """
        kept = await self.get(principal, run)
        await self.stored.conversations.store.commit(principal.owner, [Delete(THREADS, kept.id)])

    async def behind(self, principal: Principal, run: str) -> str | BranchPoint:
        """Where a conversation goes on behind a response.

        Raises:
            UnknownId: this owner has no such response.
        """
        kept = await self.get(principal, run)
        await self.stored.settle(principal, kept.conversation)
        record = await self.stored.get(principal, run)
        if record.state in ("running", "waiting"):
            # Nothing can have been said after it: it is the one that its conversation waits for.
            return kept.conversation
        said = await self._said(principal, record)
        return BranchPoint(kept.conversation, said[-1].id, "behind") if said else kept.conversation

    async def brought(self, principal: Principal, record: Run) -> Sequence[StoredMessage]:
        """What a run's request brought: the owner's message, or what a client's functions returned."""
        brought: list[StoredMessage] = []
        for stored in await self._said(principal, record):
            if isinstance(stored.message, AssistantMessage):
                break
            brought.append(stored)
        if brought:
            return brought
        # It answers anew what was said for another run.
        found = await self.stored.conversations.said(principal, [record.message])
        return [one for one in found if one is not None]

    async def events(self, principal: Principal, record: Run) -> Sequence[Event]:
        """What happened in a run so far; once its events are dropped, what its messages tell."""
        events = [numbered.event for numbered in await self.stored.events(principal, record.id, Place(0))]
        if events and isinstance(events[0], RunStarted):
            return events
        return _retold(record, await self._said(principal, record))

    async def _said(self, principal: Principal, record: Run) -> list[StoredMessage]:
        """The run's messages, in order."""
        conversations = self.stored.conversations
        (asked,) = await conversations.said(principal, [record.message])
        said: list[StoredMessage] = []
        if asked is None:
            return said
        where, low = {"conversation": record.conversation}, asked.position
        scan = Scan(MESSAGES, where, order="position", low=low, limit=_PAGE)
        async for page in pages_of(conversations.store, principal.owner, scan):
            mine = [item.record for item in page if item.record.run == record.id]
            said += mine
            if said and not mine:
                break
        return said


def _id(run: str) -> str:
    return f"response:{run}"


def _retold(record: Run, said: Sequence[StoredMessage]) -> list[Event]:
    """A run's events, as far as its messages have them."""
    events: list[Event] = [
        RunStarted(
            run=record.id,
            conversation=record.conversation,
            message=record.message,
            model=None,
            at=record.started_at,
        )
    ]
    note = ""
    for stored in said:
        match stored.message:
            case AssistantMessage(content=text, tool_calls=calls):
                events += [TextDelta(text=text)] if text else []
                events += [
                    ToolRequested(call=call.id, name=call.name, arguments=call.arguments, label=call.name)
                    for call in calls
                ]
                events += [*stored.usage, MessageSaved(id=stored.id, role="assistant")]
                note = stored.note or note
            case ToolMessage(call=call, name=name):
                events.append(ToolFinished(call=call, name=name, text="", duration_ms=0))
            case _:
                pass
    if record.state in ("ended", "dropped"):
        if record.reason == "failed":
            events.append(RunFailed(code="failed", message=note or "The run failed."))
        events.append(RunDone(reason=record.reason or "interrupted"))
    return events
