"""What is done with finished turns while their owner is silent. `agent/runs` tells it who talks.

It never delays anybody: work begins after an answer, stops as soon as its owner
says something new, and begins again when that is answered. What still waits
when the process ends is left: a turn stays recallable without it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from bethink.errors import BethinkError
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from anyio.abc import TaskGroup

    from bethink.agent.request import Turn

_MOST_WAITING: Final = 20
"""Turns of one owner that wait; beyond that the oldest is left."""
_AT_ONCE: Final = 4
"""Owners whose turns are worked on at the same time."""
_TIMEOUT_S: Final = 120

_log = log("between_turns")


class Work(Protocol):
    """What is done with a finished turn. It is repeated where it was stopped."""

    @property
    def off(self) -> str | None:
        """Why nothing is done, as a sentence; None while it is on."""
        ...

    async def do(self, turn: Turn) -> None:
        """Do it."""
        ...


@dataclass(frozen=True, slots=True)
class Works:
    """Several works, one after the other; the first ones must be cheap to repeat."""

    works: Sequence[Work]

    @property
    def off(self) -> str | None:
        """Why nothing at all is done; None while something is."""
        reasons = [work.off for work in self.works]
        return None if None in reasons else " ".join(filter(None, reasons))

    async def do(self, turn: Turn) -> None:
        """Do each that is on; one that fails does not keep the others from it."""
        failed: BethinkError | None = None
        for work in self.works:
            try:
                if work.off is None:
                    await work.do(turn)
            except BethinkError as error:
                failed = error
        if failed is not None:
            raise failed


@dataclass(slots=True)
class BetweenTurns:
    """The turns that wait, of all owners; one of each at a time."""

    work: Work
    _tasks: TaskGroup | None = None
    _waiting: dict[str, deque[Turn]] = field(default_factory=dict[str, "deque[Turn]"], repr=False)
    _talking: Counter[str] = field(default_factory=Counter[str], repr=False)
    _working: dict[str, anyio.CancelScope] = field(default_factory=dict[str, anyio.CancelScope], repr=False)
    _limit: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(_AT_ONCE), repr=False)
    _rested: anyio.Event = field(default_factory=anyio.Event, repr=False)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[BetweenTurns]:
        """Turns are worked on inside."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield self
            finally:
                self._tasks = None
                if left := sum(map(len, self._waiting.values())):
                    _log.info("%d finished turns were not looked through", left)
                tasks.cancel_scope.cancel()

    def pause(self, owner: str) -> None:
        """The owner is being answered: what works for them stops."""
        self._talking[owner] += 1
        if scope := self._working.get(owner):
            scope.cancel()

    def go_on(self, owner: str, turn: Turn | None) -> None:
        """An answer has ended; `turn` is what can be worked on of it."""
        self._talking[owner] -= 1
        if not self._talking[owner]:
            del self._talking[owner]
        if turn is not None and self.work.off is None:
            self._waiting.setdefault(owner, deque(maxlen=_MOST_WAITING)).append(turn)
        self._start(owner)
        self._tell()

    @property
    def is_busy(self) -> bool:
        """Whether somebody is being answered still, or a turn waits or is worked on."""
        return self.work.off is None and bool(self._talking or self._waiting)

    async def flush(self, owner: str) -> None:
        """Work now on what waits of an owner who is being answered, before it is told in short."""
        if (waiting := self._waiting.get(owner)) is None or owner in self._working:
            return
        for turn in list(waiting):
            if turn not in waiting:
                # Another answer to the same owner was as long, and came before.
                continue
            await self._attempt(turn)
            if waiting and waiting[0] is turn:
                waiting.popleft()
        if not waiting and self._waiting.get(owner) is waiting:
            del self._waiting[owner]

    async def finished(self) -> None:
        """Return once nobody talks and nothing waits."""
        while self.is_busy:
            await self._rested.wait()

    def _tell(self) -> None:
        """Wake those who wait for the end."""
        if not self.is_busy:
            self._rested.set()
            self._rested = anyio.Event()

    def _start(self, owner: str) -> None:
        is_free = owner not in self._talking and owner not in self._working
        if is_free and owner in self._waiting and self._tasks is not None:
            self._working[owner] = anyio.CancelScope()
            self._tasks.start_soon(self._work, owner)

    async def _work(self, owner: str) -> None:
        """Work on what waits of one owner until it is done or has to stop."""
        waiting = self._waiting[owner]
        try:
            with self._working[owner]:
                while waiting:
                    turn = waiting[0]
                    async with self._limit:
                        await self._attempt(turn)
                    if waiting and waiting[0] is turn:
                        waiting.popleft()
        finally:
            del self._working[owner]
            if not waiting:
                del self._waiting[owner]
            self._start(owner)
            self._tell()

    async def _attempt(self, turn: Turn) -> None:
        if self.work.off is not None:
            return
        with recorded(_log, "a finished turn could not be looked through"):
            try:
                async with asyncio.timeout(_TIMEOUT_S):
                    await self.work.do(turn)
            except (BethinkError, TimeoutError) as error:
                _log.warning("a finished turn was not looked through: %s", error or "it took too long")
