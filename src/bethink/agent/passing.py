"""Temporary conversations, removed when their time is over. `across/tidying` calls it, `app` wires it."""

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
    from bethink.secrets_at_rest import Keeper

_log = log("passing")


@dataclass(frozen=True, slots=True)
class Passing:
    """Lets temporary conversations go; runs are made after what calls it."""

    runs: Callable[[], Runs]
    keeper: Keeper

    async def __call__(self, principal: Principal) -> None:
        """Remove the owner's that have not changed for a day, with all that was said in them.

        Requests that nobody repeats any more are let go, too.
        """
        runs = self.runs()
        await Threads(runs.conversations, self.keeper).purge(principal)
        for conversation in await runs.conversations.passed(principal):
            try:
                await runs.delete_conversation(principal, conversation)
            except (Busy, UnknownId) as error:
                _log.info("a temporary conversation is not removed now: %s", error)
