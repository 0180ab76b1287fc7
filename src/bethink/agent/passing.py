"""Removes what is kept for a time only. `maintenance/housekeeping` calls it, `app` wires it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.agent.threads import Threads
from bethink.errors import Busy, UnknownId
from bethink.telemetry import log

if TYPE_CHECKING:
    from collections.abc import Callable

    from bethink.agent.runs import Runs
    from bethink.principal import Principal
    from bethink.secrets_at_rest import SecretBox

_STEPS = 1_000
"""Commits at once at most, each of some records; what is left then goes in the next hour."""
_log = log("passing")


@dataclass(frozen=True, slots=True)
class Passing:
    """Lets go of what has passed; runs are made after what calls it."""

    runs: Callable[[], Runs]
    keeper: SecretBox

    async def __call__(self, principal: Principal) -> None:
        """Remove the owner's temporary conversations that have not changed for a day, and all said in them.

        Events of runs, uses of tools and requests that nobody repeats any more are let go, too.
        """
        runs = self.runs()
        for _ in range(_STEPS):
            if not await runs.purge(principal):
                break
        await Threads(runs.conversations, self.keeper).purge(principal)
        for conversation in await runs.conversations.passed(principal):
            try:
                await runs.delete_conversation(principal, conversation)
            except (Busy, UnknownId) as error:
                _log.info("a temporary conversation is not removed now: %s", error)
