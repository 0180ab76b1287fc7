"""What the runs of this process came to since it started. `agent/runs` counts, `/metrics` shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bethink.events import ToolFinished, Usage


@dataclass(slots=True)
class Tally:
    """Counts that only grow.

    `ended` is by reason, `tool_calls` by tool and outcome (an error's code, or
    `ok`), `tokens` by model, job and direction (`in`, `out`).
    """

    started: int = 0
    ended: Counter[str] = field(default_factory=Counter[str])
    tool_calls: Counter[tuple[str, str]] = field(default_factory=Counter["tuple[str, str]"])
    tokens: Counter[tuple[str, str, str]] = field(default_factory=Counter["tuple[str, str, str]"])

    def take(self, event: ToolFinished | Usage) -> None:
        """Count a tool call or a request to a model."""
        match event:
            case ToolFinished():
                # A model may invent names without end: they count as one.
                name = "unknown" if event.error == "unknown_tool" else event.name
                self.tool_calls[name, event.error or "ok"] += 1
            case Usage():
                self.tokens[event.model, event.job, "in"] += event.input_tokens
                self.tokens[event.model, event.job, "out"] += event.output_tokens
