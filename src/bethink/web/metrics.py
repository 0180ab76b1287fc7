"""`GET /metrics`: counts for a Prometheus, in its text format 0.0.4.

Labels are names of tools, models and reasons: never whose something is, nor what anybody said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Response

from bethink import __version__
from bethink.documents.service import Documents
from bethink.web.deps import Caller, Served

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

router = APIRouter(tags=["health"])

_MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SHOWN: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "Prometheus' text format", "content": {"text/plain": {}}}
}


@router.get("/metrics", response_class=Response, responses=_SHOWN)
async def get_metrics(app: Served, _: Caller) -> Response:
    """Counters since the start, and what is live now."""
    tally = app.runs.metrics
    metrics = [
        _metric("info", "gauge", "The version that runs.", {(__version__,): 1}, ["version"]),
        _metric("runs_live", "gauge", "Runs that answer now.", {(): app.runs.live}),
        _metric("runs_started_total", "counter", "Runs that were begun or went on.", {(): tally.started}),
        _metric(
            "runs_ended_total",
            "counter",
            "Runs that ended or wait, by the reason.",
            {(reason,): count for reason, count in tally.ended.items()},
            ["reason"],
        ),
        _metric(
            "tool_calls_total",
            "counter",
            "Tool calls that ended, by the tool and its error's code.",
            tally.tool_calls,
            ["tool", "outcome"],
        ),
        _metric(
            "tokens_total",
            "counter",
            "Tokens, by the model, what they were for and the direction.",
            tally.tokens,
            ["model", "job", "direction"],
        ),
    ]
    stages = {(stage,): count for stage, count in (await app.features.of(Documents).all_stages()).items()}
    metrics.append(
        _metric("documents", "gauge", "Files of documents, by how far they are.", stages, ["stage"])
    )
    return Response("".join(metrics), media_type=_MEDIA_TYPE)


def _metric(
    name: str, kind: str, about: str, samples: Mapping[tuple[str, ...], int], labels: Sequence[str] = ()
) -> str:
    """A metric; each sample has a value for each of the `labels`."""
    lines = [f"# HELP bethink_{name} {about}", f"# TYPE bethink_{name} {kind}"]
    for values, number in samples.items():
        told = ",".join(f'{label}="{_escaped(value)}"' for label, value in zip(labels, values, strict=True))
        lines.append(f"bethink_{name}{'{' + told + '}' if told else ''} {number}")
    return "\n".join((*lines, ""))


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
