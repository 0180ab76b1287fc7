"""What running code costs: a session from the pool and a new one, one line in it, a single run, memory.

`python benchmarks/code.py` prints medians in milliseconds; quiet machines only.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from pathlib import Path
from time import perf_counter

from bethink.sandbox import CodeLimits
from bethink.sandbox.choice import choose
from bethink.sandbox.interpreters import InterpreterOptions, Interpreters, Workplaces
from bethink.telemetry import Supervisor

_TIMES = 7


async def main() -> None:
    """Print each figure."""
    for wanted in ("bubblewrap", "landlock"):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            sandbox = (await choose(wanted, root)).sandbox
            if sandbox is None:
                print(f"{wanted}: not here")
                continue
            runs: list[float] = []
            for _ in range(_TIMES):
                start = perf_counter()
                await sandbox.run("1", root, CodeLimits())
                runs.append(perf_counter() - start)
            print(f"{wanted}: one run {_ms(runs)}")
            options = InterpreterOptions(wanted=wanted, prewarmed=1)
            async with Interpreters(Workplaces(root / "code"), root, options).opened(
                Supervisor().supervise
            ) as interpreters:
                await _sessions(interpreters, wanted)


async def _sessions(interpreters: Interpreters, wanted: str) -> None:
    first: list[float] = []
    lines: list[float] = []
    for number in range(3):
        await asyncio.sleep(4)
        start = perf_counter()
        await _execute(interpreters, str(number))
        first.append(perf_counter() - start)
        for _ in range(_TIMES):
            start = perf_counter()
            await _execute(interpreters, str(number))
            lines.append(perf_counter() - start)
    print(f"{wanted}: first answer from the pool {_ms(first)}, execute('1') {_ms(lines)}")


async def _execute(interpreters: Interpreters, conversation: str) -> None:
    await interpreters.execute("me", conversation, "1", timeout_s=30)


def _ms(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.0f} ms"


asyncio.run(main())
