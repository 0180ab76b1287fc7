"""The log, and the background work whose errors it tells of: one line an event, without secrets.

Every module logs to a child of `bethink`; `cli` calls `configure` once. Strangers can
cause lines, so that lines have a length and each kind a rate: no disk is filled by them.

Whoever has a task that runs for ever starts it with `supervise` of the app's `Supervisor`, in a task
group of its own: an unexpected error is logged and told in `/health`, and the task started again.
"""

from __future__ import annotations

import logging
import sys
import time
from bisect import bisect_left
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence


_MINUTE_S: Final = 60
_KIND_CHARS: Final = 100
_MOST_KINDS: Final = 1_000
_LINE_CHARS: Final = 2_000
_TRACEBACK_CHARS: Final = 16_000


def log(room: str) -> logging.Logger:
    """The logger of one room of the house."""
    return logging.getLogger(f"bethink.{room}")


@dataclass(slots=True)
class Outcome:
    """How a piece of background work ended: `fault` is what broke it, None where nothing did."""

    fault: Exception | None = None


@contextmanager
def recorded(log: logging.Logger, message: str) -> Generator[Outcome]:
    """Background work that must not take the rest down: what breaks it is logged, with its traceback.

    Whoever waits for the work tells of the outcome. A cancellation passes.
    """
    outcome = Outcome()
    try:
        yield outcome
    except Exception as error:
        log.exception(message)
        outcome.fault = error


@dataclass(slots=True)
class Throttle(logging.Filter):
    """Lets `per_minute` lines of a kind through, and `in_all` of all kinds; the next line counts the rest.

    A kind is a logger with the text of its message before anything is put into it.
    """

    per_minute: int = 30
    in_all: int = 600
    monotonic_s: Callable[[], float] = time.monotonic
    _minute: int = -1
    _passed: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    _left_out: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        minute = int(self.monotonic_s() // _MINUTE_S)
        if minute != self._minute:
            self._minute = minute
            self._passed.clear()
        kind = (record.name, str(record.msg)[:_KIND_CHARS])
        if self._passed[kind] >= self.per_minute or self._passed.total() >= self.in_all:
            if kind in self._left_out or len(self._left_out) < _MOST_KINDS:
                self._left_out[kind] += 1
            return False
        self._passed[kind] += 1
        if more := self._left_out.pop(kind, 0):
            record.msg, record.args = f"{record.getMessage()} ({more:,} lines like it were left out)", ()
        return True


class _Line(logging.Formatter):
    """A line of bounded length; a traceback behind it keeps its end, which says what went wrong."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        line = super().formatMessage(record)
        return line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}…"

    def formatException(self, ei: Any) -> str:  # noqa: ANN401, N802 - logging's names and types
        return super().formatException(ei)[-_TRACEBACK_CHARS:]


def configure(level: str) -> None:
    """Write the log to standard error from `level` on; of what serves requests, warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(Throttle())
    for name, least in (("bethink", level.upper()), ("uvicorn", "WARNING"), ("asyncio", "WARNING")):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(least)
    logging.getLogger("bethink").propagate = False


TIMES_S: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Bounds between the counts of a `Histogram`: from a search of a few facts to a long answer."""


@dataclass(slots=True)
class Histogram:
    """How often something took how long, in seconds; counts only grow."""

    total_s: float = 0
    counts: list[int] = field(default_factory=lambda: [0] * (len(TIMES_S) + 1))

    def take(self, seconds: float) -> None:
        """Count one."""
        self.total_s += seconds
        self.counts[bisect_left(TIMES_S, seconds)] += 1

    @contextmanager
    def measuring(self) -> Generator[None]:
        """Count what is done inside, unless it fails."""
        started = time.perf_counter()
        yield
        self.take(time.perf_counter() - started)


PAUSES_S = (1.0, 2.0, 5.0, 15.0, 60.0)
"""What is waited before each further start: an error of a moment costs little, a lasting one no load."""
_STEADY_S = 300.0
"""A task that did not fail for so long is well again."""

_supervision = log("supervision")


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
                _supervision.exception("%s stopped unexpectedly and is started again", name)
                now = anyio.current_time()
                loop.failures = loop.failures + 1 if now - loop.failed_at < _STEADY_S else 1
                loop.failed_at = now
                # Its kind only: what an error says may be somebody's own words.
                loop.fault = " and ".join(sorted(_kinds(error)))
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


def _kinds(error: BaseException) -> set[str]:
    if not isinstance(error, BaseExceptionGroup):
        return {type(error).__name__}
    group = cast("BaseExceptionGroup[BaseException]", error)
    return {kind for one in group.exceptions for kind in _kinds(one)}
