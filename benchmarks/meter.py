"""Wall and CPU time of one thing that is done many times. The measurements call it."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

WARM_UP = 10
"""The first times of each thing, which are left out."""


@dataclass(slots=True)
class Meter:
    """Milliseconds of each time. CPU is that of the whole process, the kernel's work for it included."""

    wall_ms: list[float] = field(default_factory=list[float])
    cpu_ms: list[float] = field(default_factory=list[float])

    def start(self) -> Callable[[], None]:
        """Begin; call what comes back at the end."""
        wall, cpu = time.perf_counter(), time.process_time()

        def stop() -> None:
            self.wall_ms.append((time.perf_counter() - wall) * 1000)
            self.cpu_ms.append((time.process_time() - cpu) * 1000)

        return stop

    def figures(self) -> dict[str, float]:
        """Wall p50, p95 and least, CPU mean."""
        wall, cpu = self.wall_ms[WARM_UP:], self.cpu_ms[WARM_UP:]
        return {
            "wall_ms_p50": round(statistics.median(wall), 3),
            "wall_ms_p95": round(statistics.quantiles(wall, n=20)[-1], 3),
            "wall_ms_min": round(min(wall), 3),
            "cpu_ms_mean": round(statistics.fmean(cpu), 3),
        }


def compared(ours: Meter, baseline: Meter) -> dict[str, Any]:
    """The figures of both, and how many times the baseline's ours are."""
    mine, theirs = ours.figures(), baseline.figures()
    return {
        "bethink": mine,
        "baseline": theirs,
        "cpu_ratio": round(mine["cpu_ms_mean"] / theirs["cpu_ms_mean"], 2),
        "wall_ratio": round(mine["wall_ms_p50"] / theirs["wall_ms_p50"], 2),
    }
