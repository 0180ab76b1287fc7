"""Runs that no door waits for: a schedule starts one, and asks how it ended. `app` wires it for features.

Policy is the usual one. What would ask is kept as a call that waits, and the run ends `awaiting_approval`:
its owner decides in the conversation, and the run goes on from there.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.agent.request import RunOptions
from bethink.agent.subagent import SubagentTranscript
from bethink.feature import RunEnd

if TYPE_CHECKING:
    from collections.abc import Callable

    from bethink.agent.runs import Runs
    from bethink.principal import Principal


@dataclass(frozen=True, slots=True)
class ScheduledRuns:
    """Adapter of `UnattendedRuns`; `runs` are made after all features."""

    runs: Callable[[], Runs]

    async def start(
        self, principal: Principal, conversation: str, content: str, *, budget_tokens: int | None = None
    ) -> str:
        """See `UnattendedRuns.start`."""
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
        return RunEnd(ended.reason, ended.reply, ended.failure)
