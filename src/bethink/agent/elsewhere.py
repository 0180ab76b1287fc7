"""Runs in other processes: told to end, and of what is being forgotten. `agent/runs` asks and answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from bethink.errors import BethinkError
from bethink.telemetry import log

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from bethink.bus import Bus
    from bethink.clock import Ids

_CANCEL_TOPIC = "runs.cancel"
_HUSH_TOPIC = "runs.hush"
_HUSHED_TOPIC = "runs.hushed"
_HUSH_S = 2.0
"""How long a process may take to hear: that is soon, unless it hangs. Later it keeps nothing of its runs."""

_log = log("elsewhere")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What the processes that share the data tell one another of runs."""

    bus: Bus
    new_id: Ids

    async def cancel(self, owner: str, run: str) -> None:
        """Have whoever runs it end it."""
        await self.bus.publish(_CANCEL_TOPIC, f"{owner} {run}")

    async def cancel_for_others(self, cancel: Callable[[str, str], object]) -> None:
        """Cancel runs of this process for others, for ever; `cancel` is given the owner and the run."""
        async with self.bus.subscribe(_CANCEL_TOPIC) as notices:
            async for notice in notices:
                owner, _, run = notice.payload.rpartition(" ")
                cancel(owner, run)

    async def hush(self, owner: str, processes: Collection[str]) -> None:
        """Have these processes listen to what is announced of the owner; return when they have."""
        waiting = set(processes)
        if not waiting:
            return
        asked = self.new_id()
        async with self.bus.subscribe(_HUSHED_TOPIC) as notices:
            await self.bus.publish(_HUSH_TOPIC, f"{owner} {asked}")
            with anyio.move_on_after(_HUSH_S):
                async for notice in notices:
                    about, _, process = notice.payload.partition(" ")
                    if about == asked:
                        waiting.discard(process)
                    if not waiting:
                        return
        _log.warning("%d processes have not heard that something is being forgotten", len(waiting))

    async def hush_for_others(self, hush: Callable[[str], Awaitable[None]]) -> None:
        """Hush this process's runs of an owner for others, for ever."""
        async with self.bus.subscribe(_HUSH_TOPIC) as notices:
            async for notice in notices:
                owner, _, asked = notice.payload.rpartition(" ")
                try:
                    await hush(owner)
                    await self.bus.publish(_HUSHED_TOPIC, f"{asked} {self.bus.process}")
                except BethinkError as error:
                    # Their commits are refused until they have listened.
                    _log.warning("runs have not heard what is being forgotten: %s", error)
