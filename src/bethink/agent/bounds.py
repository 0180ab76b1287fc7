"""What one run may spend, and what it has spent. `agent/loop` asks before every step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.events import StopReason, Usage
    from bethink.settings import Settings


BOUND_REACHED: Final[dict[StopReason, str]] = {
    "max_steps": "Stopped after the most steps that one answer may take (BETHINK_MAX_STEPS).",
    "max_tool_calls": "Stopped after the most tool calls that one answer may make (BETHINK_MAX_TOOL_CALLS).",
    "max_tokens": "Stopped after the most tokens that one answer may use (BETHINK_MAX_RUN_TOKENS).",
    "max_cost": "Stopped at the most that one answer may cost (BETHINK_MAX_RUN_COST_USD).",
    "max_seconds": "Stopped after the longest time that one answer may take (BETHINK_MAX_RUN_S).",
    "repeated_calls": "Stopped: the model asked for the same call again and again.",
}
"""Which bound ended a run, as a person reads it."""
_LAST_ANSWER_SHARE: Final = 0.1
_LAST_ANSWER_S: Final = 30
"""What is kept of a run's time for its last answer: a tenth, and no more than this."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one run may spend at most; see the settings of the same names.

    `prices` are dollars per million tokens, (input, output), by a model's name.
    """

    steps: int
    tool_calls: int
    tokens: int
    cost_usd: float
    seconds: float
    repeated_calls: int
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, "tuple[float, float]"])


def bounds_of(settings: Settings) -> Bounds:
    """The bounds that the settings name."""
    return Bounds(
        steps=settings.max_steps,
        tool_calls=settings.max_tool_calls,
        tokens=settings.max_run_tokens,
        cost_usd=settings.max_run_cost_usd,
        seconds=settings.max_run_s - min(settings.max_run_s * _LAST_ANSWER_SHARE, _LAST_ANSWER_S),
        repeated_calls=settings.max_repeated_calls,
        prices={name: (price.input, price.output) for name, price in settings.prices.items()},
    )


@dataclass(slots=True)
class Spent:
    """What a run has used so far; `started` is on the monotonic clock, in seconds."""

    started: float = 0.0
    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    _asked: Counter[tuple[str, str]] = field(default_factory=Counter["tuple[str, str]"])

    def add(self, calls: Sequence[tuple[str, str]], used: Usage) -> None:
        """Count one answer: the names and arguments of its calls, and what it cost."""
        self.steps += 1
        self.tool_calls += len(calls)
        self._asked.update(calls)
        self.charge(used)

    def charge(self, used: Usage) -> None:
        """Count what a request cost, this run's own or one that a tool made for it."""
        self.tokens += used.input_tokens + used.output_tokens
        self.cost_usd += used.cost_usd or 0.0

    def exceeded(self, bounds: Bounds) -> StopReason | None:
        """Which bound the run has reached, if any."""
        most_asked = max(self._asked.values(), default=0)
        reached: dict[StopReason, bool] = {
            "max_steps": self.steps >= bounds.steps,
            "max_tool_calls": self.tool_calls >= bounds.tool_calls,
            "max_tokens": self.tokens >= bounds.tokens,
            "max_cost": self.cost_usd >= bounds.cost_usd,
            "max_seconds": monotonic() - self.started >= bounds.seconds,
            "repeated_calls": most_asked >= bounds.repeated_calls,
        }
        return next((reason for reason, is_reached in reached.items() if is_reached), None)
