"""A supervisor that breaks its tasks when a test wants it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel

from bethink.telemetry import Supervisor


class InjectedError(Exception):
    """What no task expects."""


@dataclass(slots=True)
class Trial(Supervisor):
    """A supervisor that breaks its tasks when a test wants it; `begun` counts their starts."""

    pauses_s: Sequence[float] = (0,)
    begun: dict[str, int] = field(default_factory=dict[str, int])
    ended: set[str] = field(default_factory=set[str])
    _breaks: dict[str, anyio.Event] = field(default_factory=dict[str, anyio.Event])

    async def supervise(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        async def working() -> None:
            self.begun[name] = self.begun.get(name, 0) + 1
            self._breaks[name] = anyio.Event()
            async with anyio.create_task_group() as tasks:

                async def worked() -> None:
                    await work()
                    tasks.cancel_scope.cancel()

                tasks.start_soon(worked)
                await self._breaks[name].wait()
                raise InjectedError
            self.ended.add(name)

        await super(Trial, self).supervise(name, working)

    def inject(self, name: str) -> None:
        """Break a task where it is now."""
        self._breaks[name].set()


async def broken(trial: Trial, name: str) -> None:
    """Break a task, and return once it was started again."""
    before = trial.begun[name]
    trial.inject(name)
    with anyio.fail_after(30):
        while trial.begun[name] == before:
            await anyio.lowlevel.checkpoint()
    await anyio.wait_all_tasks_blocked()
