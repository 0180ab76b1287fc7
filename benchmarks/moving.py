"""Much at once: 100,000 facts brought in, and all of a home moved to PostgreSQL and back.

Parts of `bethink bench scale`. What is brought in passes the gate of the memory, which compares each fact
with those that are there; its vectors are invented, so that no embedder is measured. What is moved goes by
the real command (`bethink migrate`), in a process of its own.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import msgspec
import numpy as np

from benchmarks.corpus import MODEL, OWNER, Corpus
from benchmarks.memory import invented_texts, opened
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.postgres.store import open_database as open_postgres
from bethink.engines.sqlite.store import open_database as open_sqlite
from bethink.memory import NewFact
from bethink.memory.facts import FACTS, Fact
from bethink.store import Put
from tests.postgres_server import postgres_server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from benchmarks.corpus import Fact as Invented
    from bethink.app import App
    from bethink.embeddings import EmbeddingModel
    from bethink.principal import Principal

IMPORTED: Final = (100_000,)
MOVED: Final = (100_000,)
_AT_ONCE: Final = 256
_OWNERS: Final = 100
_LOOK_S: Final = 0.2


class _Invented(HashingEmbeddings):
    """A vector for each text that says nothing of its meaning, made in no time."""

    @property
    def model(self) -> EmbeddingModel:
        """That of all invented vectors."""
        return MODEL

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same vector for the same text."""
        drawn = [np.random.default_rng(crc32(text.encode())) for text in texts]
        vectors = np.stack([one.standard_normal(MODEL.dimensions, dtype=np.float32) for one in drawn])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@dataclass(slots=True)
class _Taken:
    """How many facts in how many seconds, of each batch of one engine."""

    batches: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    cpu_s: float = 0.0

    def row(self) -> dict[str, float]:
        """Facts a second, by the clock and by the processor."""
        last = self.batches[-max(len(self.batches) // 10, 1) :]
        return {
            "per_s": _per_s(self.batches),
            "last_tenth_per_s": _per_s(last),
            "per_cpu_s": round(sum(count for count, _ in self.batches) / self.cpu_s),
        }


def _per_s(batches: Sequence[tuple[int, float]]) -> int:
    return round(sum(count for count, _ in batches) / sum(took for _, took in batches))


async def measure_import(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each size and engine, which take turns."""
    rows: list[dict[str, Any]] = []
    with postgres_server(durable=True) as server:
        for size in sizes:
            async with AsyncExitStack() as stack:
                directory = Path(stack.enter_context(TemporaryDirectory(prefix="bethink-bench-")))
                into: dict[str, tuple[App, Principal]] = {}
                for way, opening in (
                    ("sqlite", open_sqlite(directory)),
                    ("postgresql", open_postgres(server.new_database())),
                ):
                    database = await stack.enter_async_context(opening)
                    home = opened(directory / way, database, _Invented())
                    into[way] = await stack.enter_async_context(home)
                taken = await _imported(into, invented_texts(size))
                for way, (app, me) in into.items():
                    kept = await app.memory.count(me)
                    rows.append({"imported": size, "way": way, "kept": kept, **taken[way].row()})
    return rows


async def _imported(into: dict[str, tuple[App, Principal]], texts: Sequence[str]) -> dict[str, _Taken]:
    taken = {way: _Taken() for way in into}
    for start in range(0, len(texts), _AT_ONCE):
        facts = [NewFact(text) for text in texts[start : start + _AT_ONCE]]
        for way, (app, me) in into.items():
            wall, cpu = time.perf_counter(), time.process_time()
            await app.memory.add_many(me, facts)
            taken[way].batches.append((len(facts), time.perf_counter() - wall))
            taken[way].cpu_s += time.process_time() - cpu
    return taken


async def measure_migration(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each size and direction: seconds, memory, and whether all digests are the same.

    Raises:
        RuntimeError: the command failed, or what came back is something else.
    """
    rows: list[dict[str, Any]] = []
    for size in sizes:
        with (
            TemporaryDirectory(prefix="bethink-bench-") as directory,
            postgres_server(durable=True) as server,
        ):
            home, back, url = f"{directory}/home", f"{directory}/back", server.new_database()
            await _fill(Path(home), size)
            moves = [await _move(home, url), await _move(url, back)]
            if len({move["sha256"] for move in moves}) != 1:
                message = f"what came back is not what was moved: {moves}"
                raise RuntimeError(message)
            rows += [
                {"moved": size, "way": way, **move}
                for way, move in zip(("sqlite to postgresql", "and back"), moves, strict=True)
            ]
    return rows


async def _fill(home: Path, size: int) -> None:
    """Facts of a hundred owners, each with words and a vector."""
    async with open_sqlite(home) as database:
        for number, batch in enumerate(Corpus().batches(size)):
            owner = f"{OWNER}{number % _OWNERS}"
            await database.store.commit(owner, [_fact(one) for one in batch])


def _fact(invented: Put[Invented]) -> Put[Fact]:
    record = invented.record
    fact = Fact(id=record.id, content=record.text, digest=record.id, weight=500, created_at=record.created_at)
    return Put(FACTS, fact, if_version=0, index=invented.index)


async def _move(source: str, target: str) -> dict[str, Any]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("BETHINK_")}
    command = (sys.executable, "-m", "bethink", "migrate", "--from", source, "--to", target, "--json")
    began, most_mb = time.perf_counter(), 0
    with TemporaryFile() as said:
        process = await asyncio.create_subprocess_exec(*command, env=own, stdout=said)
        ending = asyncio.ensure_future(process.wait())
        while not ending.done():
            most_mb = max(most_mb, _most_mb(process.pid))
            await asyncio.wait([ending], timeout=_LOOK_S)
        took = time.perf_counter() - began
        said.seek(0)
        report = msgspec.json.decode(said.read()) if process.returncode == 0 else None
    if report is None:
        message = "bethink migrate failed: see above"
        raise RuntimeError(message)
    return {"s": round(took, 1), "most_mb": most_mb, "sha256": report["sha256"]}


def _most_mb(pid: int) -> int:
    """Megabytes of memory that a process held at most by now; 0 if it does not say."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    return next(
        (int(line.split()[1]) // 1_024 for line in status.splitlines() if line.startswith("VmHWM")), 0
    )
