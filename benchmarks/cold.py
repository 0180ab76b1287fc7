"""A new process's first search: `python -m benchmarks.cold DIRECTORY` prints its figures as JSON.

numpy is loaded before the clock starts, and the files are in the system's
cache: what is measured is the opening of the database, and the reading of one
owner's rows.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import anyio
import msgspec
import numpy as np  # noqa: F401  # pyright: ignore[reportUnusedImport] - see above

from benchmarks.corpus import MODEL, OWNER, Corpus
from bethink.engines.sqlite.store import open_database
from bethink.index import IndexQuery

_KB_PER_MB = 1_024


def resident_mb() -> float:
    """Megabytes of memory that this process holds; 0 where the system does not say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    (line,) = [line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) / _KB_PER_MB


async def _first_search(directory: Path) -> dict[str, Any]:
    questions = Corpus().questions(1)
    before = resident_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    async with open_database(directory) as database:
        await database.index.search(IndexQuery(OWNER, questions.texts[0], questions.vectors[0], MODEL))
        return {
            "cold_ms": round((time.perf_counter() - wall) * 1_000, 1),
            "cold_cpu_ms": round((time.process_time() - cpu) * 1_000, 1),
            "resident_mb": round(resident_mb() - before, 1),
        }


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(anyio.run(_first_search, Path(sys.argv[1]))))
