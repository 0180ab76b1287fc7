"""Tasks that run for ever: an unexpected error is logged and told in `/health`, and the task started again.

The ports bring the `Supervisor` of an app; whoever has a task that runs for ever starts it with
`supervise`, in a task group of its own that says how long it lives. No such task ends the server.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

import anyio

from bethink.telemetry import log

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

PAUSES_S = (1.0, 2.0, 5.0, 15.0, 60.0)
"""What is waited before each further start: an error of a moment costs little, a lasting one no load."""
_STEADY_S = 300.0
"""A task that did not fail for so long is well again."""

_log = log("supervision")


class Supervise(Protocol):
    """Runs `work` until it returns or is cancelled; see `Supervisor.supervise`."""

    async def __call__(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        """Run it."""
        ...


@dataclass(slots=True)
class Loop:
    """A task that runs for ever; `fault` names the kind of its last error, while that is told.

    `failures` counts those that followed one another.
    """

    failures: int = 0
    fault: str | None = None
    failed_at: float = 0


@dataclass(slots=True)
class Supervisor:
    """The tasks of one process that run for ever, by name; several of one name are told as one."""

    pauses_s: Sequence[float] = PAUSES_S
    loops: dict[str, Loop] = field(default_factory=dict[str, Loop])

    async def supervise(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        """Run `work`, and again after each unexpected error, until it returns or is cancelled.

        What it leaves half done it must find again when it is started again.
        """
        loop = self.loops.setdefault(name, Loop())
        while True:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - a background task: recorded, and told in /health
                _log.exception("%s stopped unexpectedly and is started again", name)
                self._failed(loop, error)
            else:
                return
            await anyio.sleep(self.pauses_s[min(loop.failures, len(self.pauses_s)) - 1])

    def faults(self) -> list[str]:
        """A sentence for each task that failed lately."""
        now = anyio.current_time()
        return [
            f"{name} stopped unexpectedly ({loop.fault}) and was started again; the log says why"
            for name, loop in self.loops.items()
            if loop.fault is not None and now - loop.failed_at < _STEADY_S
        ]

    def _failed(self, loop: Loop, error: Exception) -> None:
        now = anyio.current_time()
        if now - loop.failed_at >= _STEADY_S:
            loop.failures = 0
        loop.failures += 1
        loop.failed_at = now
        # Its kind only: what an error says may be somebody's own words.
        loop.fault = " and ".join(sorted(_kinds(error)))


def _kinds(error: BaseException) -> set[str]:
    if not isinstance(error, BaseExceptionGroup):
        return {type(error).__name__}
    group = cast("BaseExceptionGroup[BaseException]", error)
    return {kind for one in group.exceptions for kind in _kinds(one)}
