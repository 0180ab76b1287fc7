"""`bethink bench start`: what a server costs until it answers, and at rest with its embedder loaded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from benchmarks.process import can_measure, serving

if TYPE_CHECKING:
    from pathlib import Path

_ROUNDS = 3
_EMBEDDER_S = 30
_POLL_S = 0.1


async def measure_start(models: Path) -> list[dict[str, Any]]:
    """One row: the least of three starts over empty data; CPU in seconds, memory in megabytes."""
    if not can_measure():
        return [{"way": "serve", "skipped": "this machine does not tell what a process has used"}]
    starts = [await _start(models) for _ in range(_ROUNDS)]
    return [{"way": "serve"} | {name: min(start[name] for start in starts) for name in starts[0]}]


async def _start(models: Path) -> dict[str, float]:
    async with serving(models) as server:
        await server.get("/health")
        first_answer = {
            "cpu_s_at_first_health": round(server.cpu_ms() / 1_000, 2),
            "rss_mb_at_first_health": round(server.resident_mb(), 1),
        }
        async with asyncio.timeout(_EMBEDDER_S):
            while (await server.get("/health"))["parts"]["embeddings"]["status"] != "ok":  # noqa: ASYNC110 - it is told by polling only
                await asyncio.sleep(_POLL_S)
        await server.get("/recall?query=warm&k=1")
        return first_answer | {
            "cpu_s_with_embedder": round(server.cpu_ms() / 1_000, 2),
            "rss_mb_with_embedder": round(server.resident_mb(), 1),
        }
