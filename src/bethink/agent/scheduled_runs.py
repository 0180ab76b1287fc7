"""Runs and messages that no door waits for: schedules make them. `app` wires this for features.

Policy is the usual one. What would ask is kept as a call that waits, and the run ends `awaiting_approval`:
its owner decides in the conversation, and the run goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from bethink.agent.request import RunOptions
from bethink.agent.subagent import SubagentTranscript
from bethink.conversations.records import CONVERSATIONS, MESSAGES, StoredMessage, appended, turn_of
from bethink.conversations.service import ConversationStart
from bethink.errors import Busy
from bethink.feature import RunEnd
from bethink.messages import AssistantMessage
from bethink.store import Change, Put, Versioned, retry_conflicts

if TYPE_CHECKING:
    from bethink.agent.runs import Runs
    from bethink.conversations.records import Conversation
    from bethink.principal import Principal


@dataclass(frozen=True, slots=True)
class ScheduledRuns:
    """Adapter of `UnattendedRuns`; `runs` are made after all features."""

    runs: Callable[[], Runs]

    async def open(self, principal: Principal, title: str, *, untrusted: bool = False) -> str:
        """See `UnattendedRuns.open`."""
        conversations = self.runs().conversations
        made = await conversations.create(principal, ConversationStart(title=title))
        if untrusted:
            outside = msgspec.structs.replace(made, outside=True)
            await conversations.store.commit(principal.owner, [Put(CONVERSATIONS, outside)])
        return made.id

    async def start(
        self, principal: Principal, conversation: str, content: str, *, budget_tokens: int | None = None
    ) -> str:
        """See `UnattendedRuns.start`."""
        await self._idle(principal, conversation)
        options = RunOptions(budget_tokens=budget_tokens)
        return await self.runs().start(principal, conversation, content, options=options)

    async def end(self, principal: Principal, run: str) -> RunEnd:
        """See `UnattendedRuns.end`."""
        transcript = SubagentTranscript()
        async with aclosing(self.runs().follow(principal, run)) as batches:
            async for batch in batches:
                for numbered in batch:
                    transcript.take(numbered.event)
        ended = transcript.outcome()
        return RunEnd(ended.reason, ended.reply, ended.failure, ended.untrusted)

    async def say(
        self,
        principal: Principal,
        conversation: str,
        text: str,
        *,
        changes: Sequence[Change] = (),
        untrusted: bool = False,
    ) -> None:
        """See `UnattendedRuns.say`."""
        held = await self._idle(principal, conversation)
        conversations = self.runs().conversations
        at = conversations.clock.now_us()
        message = StoredMessage(
            id=conversations.new_id(),
            conversation=conversation,
            position=held.record.count,
            branch=held.record.branch,
            at=at,
            run="",
            message=AssistantMessage(text),
            untrusted=untrusted,
            # What is reminded of is kept where it was wished: recall has no use for each time it was said.
            aside=not untrusted,
        )
        now = appended(held.record, [message], at=at, active_run=None)
        if untrusted:
            now = msgspec.structs.replace(now, outside=True)
        told = [
            Put(CONVERSATIONS, now, if_version=held.version),
            Put(MESSAGES, message, if_version=0, index=turn_of(now, message)),
        ]
        await conversations.store.commit(principal.owner, [*changes, *told])

    @retry_conflicts
    async def _idle(self, principal: Principal, conversation: str) -> Versioned[Conversation]:
        """The conversation, if nothing in it runs or waits."""
        held = await self.runs().stored.settle(principal, conversation)
        if held.record.active_run is not None:
            raise Busy
        return held
