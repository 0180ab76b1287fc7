"""`GET /metrics`: what the runs of this process came to, for a Prometheus that asks.

In Prometheus' text format, version 0.0.4. Counts begin with the process and
hold names of tools, models and reasons, never what anybody said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response

from bethink import __version__
from bethink.web.deps import Caller, Served

if TYPE_CHECKING:
    from collections.abc import Mapping

router = APIRouter(tags=["health"])

_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SHOWN: dict[int | str, dict[str, Any]] = {
    200: {"description": "Prometheus' text format", "content": {"text/plain": {}}}
}


@router.get("/metrics", response_class=Response, responses=_SHOWN)
async def get_metrics(app: Served, _: Caller) -> Response:
    """Counters since the start, and what is live now."""
    tally = app.runs.metrics
    metrics = [
        _metric("info", "gauge", "The version that runs.", {(("version", __version__),): 1}),
        _metric("runs_live", "gauge", "Runs that answer now.", {(): app.runs.live}),
        _metric("runs_started_total", "counter", "Runs that were begun or went on.", {(): tally.started}),
        _metric(
            "runs_ended_total",
            "counter",
            "Runs that ended or wait, by the reason.",
            {(("reason", reason),): count for reason, count in tally.ended.items()},
        ),
        _metric(
            "tool_calls_total",
            "counter",
            "Tool calls that ended, by the tool and its error's code.",
            {
                (("tool", tool), ("outcome", outcome)): count
                for (tool, outcome), count in tally.tool_calls.items()
            },
        ),
        _metric(
            "tokens_total",
            "counter",
            "Tokens, by the model, what they were for and the direction.",
            {
                (("model", model), ("job", job), ("direction", direction)): count
                for (model, job, direction), count in tally.tokens.items()
            },
        ),
    ]
    return Response("".join(metrics), media_type=_MEDIA_TYPE)


def _metric(name: str, kind: str, told: str, samples: Mapping[tuple[tuple[str, str], ...], int]) -> str:
    head = f"# HELP bethink_{name} {told}\n# TYPE bethink_{name} {kind}\n"
    return head + "".join(f"bethink_{name}{_labels(labels)} {value}\n" for labels, value in samples.items())


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
