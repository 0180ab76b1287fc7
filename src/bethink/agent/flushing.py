"""Writes what live runs say, many times a second: a crash costs no more of it. `agent/runs` owns it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from bethink.errors import BethinkError
from bethink.events import Warned
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from bethink.agent.recorder import Recorder

FLUSH_S = 0.05
"""How much text a crash may cost, in seconds of streaming."""

_log = log("runs")


@dataclass(slots=True)
class Flusher:
    """The runs of which something is not written yet."""

    _dirty: dict[str, Recorder] = field(default_factory=dict[str, "Recorder"], repr=False)
    _is_dirty: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def soil(self, recorder: Recorder) -> None:
        """Have it written soon."""
        if recorder.run.id not in self._dirty:
            self._dirty[recorder.run.id] = recorder
            self._is_dirty.set()

    def drop(self, run: str) -> None:
        """It is written by somebody else, or ended."""
        self._dirty.pop(run, None)

    async def flush_always(self) -> None:
        """Write what live runs said, every `FLUSH_S` while there is something."""
        while True:
            await self._is_dirty.wait()
            await anyio.sleep(FLUSH_S)
            self._is_dirty.clear()
            dirty = list(self._dirty.values())
            self._dirty.clear()
            async with anyio.create_task_group() as tasks:
                for recorder in dirty:
                    tasks.start_soon(_flush, recorder)


async def _flush(recorder: Recorder) -> None:
    with recorded(_log, "a run's journal could not be written") as outcome:
        try:
            await recorder.flush()
        except BethinkError as error:
            _log.error("the journal of run %s could not be written: %s", recorder.run.id, error)
            recorder.take(Warned(part="store", message=f"The answer is not kept while it streams: {error}"))
    if outcome.fault is not None:
        # One run's fault is told in that run, and keeps no other from being written.
        message = f"The answer is not kept while it streams: {type(outcome.fault).__name__}"
        recorder.take(Warned(part="store", message=message))
