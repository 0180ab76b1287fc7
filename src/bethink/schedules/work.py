"""What a schedule does beside reminding: a run of the agent, or a look at a page. `clock` calls it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from bethink.errors import Busy, NotAllowed, UnknownId
from bethink.internet.decoder import visible
from bethink.schedules.records import WATCHED_PAGES, Outcome, Schedule, WatchedPage
from bethink.store import Change, Put, Store

if TYPE_CHECKING:
    from bethink.clock import Clock
    from bethink.feature import RunEnd, UnattendedRuns
    from bethink.internet import Internet
    from bethink.principal import Principal

MAX_RESULT_CHARS: Final = 600
"""Of a result, in a notice; all of it stands in the conversation."""
_MAX_LINES: Final = 30
_MAX_LINE_CHARS: Final = 300
_MAX_TEXT_CHARS: Final = 200_000
"""Of a page, compared: a longer one is compared as far as that."""
_STOPPED: Final = {
    "client_tools": "The model asked for a tool that is not there.",
    "cancelled": "It was stopped, or a call in it was not approved in time.",
    "interrupted": "Bethink ended before it did; what it had done by then is in its conversation.",
    "max_steps": "It reached the limit of steps (BETHINK_MAX_STEPS).",
    "max_tool_calls": "It reached the limit of tool calls (BETHINK_MAX_TOOL_CALLS).",
    "max_tokens": "It reached its budget of tokens, or that of BETHINK_MAX_RUN_TOKENS.",
    "max_cost": "It reached the limit of cost (BETHINK_MAX_RUN_COST_USD).",
    "max_seconds": "It reached the time limit (BETHINK_MAX_RUN_S).",
    "repeated_calls": "The model asked for the same call again and again.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of it. Without a `notice` its owner is not told; it `is_said` in the conversation, too."""

    outcome: Outcome
    text: str
    conversation: str = ""
    notice: str = ""
    is_said: bool = False
    error: str = ""
    changes: Sequence[Change] = ()
    untrusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Does what schedules ask for. `internet` gives None if the web is off."""

    store: Store
    clock: Clock
    unattended: UnattendedRuns
    internet: Callable[[], Internet | None]

    async def run(
        self, principal: Principal, schedule: Schedule, begun: Callable[[str, str], Awaitable[None]]
    ) -> Result:
        """Have the agent do what the schedule says, in the schedule's own conversation.

        `begun` is told the conversation and the run, before anything is waited for. While that conversation
        waits for an approval, another one is begun: what waits is not taken back.

        Raises:
            TooManyRequests: so many runs of this owner may not run at once.
        """
        text, budget = schedule.text, schedule.budget_tokens
        conversation = schedule.results or await self._opened(principal, schedule)
        try:
            run = await self.unattended.start(principal, conversation, text, budget_tokens=budget)
        except (Busy, UnknownId):
            conversation = await self._opened(principal, schedule)
            run = await self.unattended.start(principal, conversation, text, budget_tokens=budget)
        await begun(conversation, run)
        return result_of(await self.unattended.end(principal, run), conversation)

    async def _opened(self, principal: Principal, schedule: Schedule) -> str:
        return await self.unattended.open(principal, schedule.title, untrusted=schedule.untrusted)

    async def watch(self, principal: Principal, schedule: Schedule) -> Result:
        """Look at the schedule's page, and tell what changed since the last look.

        Raises:
            NotAllowed: the web is off.
            WebError: the page cannot be read.
        """
        if (internet := self.internet()) is None:
            raise NotAllowed("The web is switched off: BETHINK_WEB_ENABLED.")
        internet.check()
        page = await internet.pages.read(schedule.url)
        text = page.text[:_MAX_TEXT_CHARS]
        (before,) = await self.store.get(WATCHED_PAGES, principal.owner, [schedule.id])
        now = WatchedPage(id=schedule.id, url=page.url, title=page.title, text=text, at=self.clock.now_us())
        kept = [Put(WATCHED_PAGES, now)]
        if before is None or not before.record.text:
            return Result(outcome="done", text="First look: the page is kept for comparison.", changes=kept)
        told = await anyio.to_thread.run_sync(difference, before.record.text, text)
        if not told:
            return Result(outcome="done", text="Nothing changed.")
        return Result(
            outcome="done",
            text="The page changed.",
            conversation=schedule.results or await self._opened(principal, schedule),
            notice=f"{schedule.url} changed.\n\n{told}",
            is_said=True,
            changes=kept,
            untrusted=True,
        )


def result_of(end: RunEnd, conversation: str) -> Result:
    """How a run ended, as its schedule tells it."""
    text = end.text.strip()
    if end.reason == "answered":
        told = text or "It is done."
        return Result(
            outcome="done", text=text, conversation=conversation, notice=told, untrusted=end.untrusted
        )
    if end.reason == "awaiting_approval":
        told = "It waits for your approval: open its conversation to decide."
        return Result(outcome="waiting_for_approval", text=told, conversation=conversation, notice=told)
    why = end.error or _STOPPED.get(end.reason, "It failed.")
    told = f"{why}\n\n{text}".strip()
    return Result(outcome="failed", text=text, conversation=conversation, notice=told, error=why)


def difference(before: str, after: str) -> str:
    """Which lines of a page are new and which are gone, quoted; "" if none is. Order does not matter."""
    was, now = Counter(_lines(before)), Counter(_lines(after))
    parts = (("New", now - was), ("Gone", was - now))
    return "\n\n".join(f"{head}:\n{_quoted(lines)}" for head, lines in parts if lines)


def _lines(text: str) -> Iterable[str]:
    return filter(None, (" ".join(visible(line).split()) for line in text.splitlines()))


def _quoted(lines: Counter[str]) -> str:
    shown = [*lines.elements()]
    quoted = [
        f"> {line[:_MAX_LINE_CHARS]}{'…' * (len(line) > _MAX_LINE_CHARS)}" for line in shown[:_MAX_LINES]
    ]
    more = [f"> … and {len(shown) - _MAX_LINES} more lines"] if len(shown) > _MAX_LINES else []
    return "\n".join([*quoted, *more])
