"""`bethink bench search`: what finding costs one owner with many facts, and many owners with some.

Each size is measured in turns with a baseline: SQLite's FTS5 (OR of the words,
`bm25`) beside a product with the whole float32 matrix, in this thread, without
a hop to another. Texts and vectors are invented (`corpus`).
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from benchmarks import CLONE
from benchmarks.cold import resident_mb
from benchmarks.corpus import FACTS, MODEL, OWNER, Corpus, id_of, number_of
from benchmarks.meter import WARM_UP, Meter
from bethink.engines.sqlite.store import open_database
from bethink.index import IndexQuery
from bethink.store import Delete

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Sequence

    from numpy.typing import NDArray

    from benchmarks.corpus import Questions
    from bethink.engines.sqlite.store import SqliteDatabase
    from bethink.index import Candidates

SIZES = (1_000, 10_000, 100_000)
_SEARCHES = 200
_LIMIT = 50
_BEST = 10
_COLD_STARTS = 3
_FORGOTTEN = 20
_FORGETTINGS = 5
OWNERS = 200
_OWNER_FACTS = 1_000
_COPIES_THAT_FIT = 100
"""So many owners' copies are all in memory."""
_KEEPING_S = 180.0
"""Owners for whom there is no time are left out."""


async def measure_search(sizes: Sequence[int], owners: int = OWNERS) -> list[dict[str, Any]]:
    """Rows for each size, one a way, and one for `owners` owners of 1,000 facts each.

    `agreement` is the share of the ten best of an exact float32 hybrid that are
    among ours; `cold_ms` is the least of three new processes.
    """
    rows = [row for size in sizes for row in await _of_one_owner(size)]
    return [*rows, await _of_many_owners(owners)]


async def _of_one_owner(items: int) -> list[dict[str, Any]]:
    corpus = Corpus()
    with TemporaryDirectory(prefix="bethink-bench-") as directory, _plain() as plain:
        async with _database(Path(directory)) as database:
            started = time.perf_counter()
            matrix = await _keep(database, corpus, items, plain=plain)
            kept_s = time.perf_counter() - started
            cold = [await _cold(directory) for _ in range(_COLD_STARTS)]
            questions = corpus.questions(WARM_UP + _SEARCHES)
            rows = await _searched(database, plain, matrix, questions=questions)
            forgetting = await _forgotten(database, items)
            size = _bytes_in(directory)
    rows[0] |= {
        **min(cold, key=lambda figures: figures["cold_ms"]),
        "bytes_each": round(size / items),
        "kept_per_s": round(items / kept_s),
        "forget_20_ms": round(min(forgetting.wall_ms), 1),
    }
    return [{"items": items, **row} for row in rows]


async def _keep(
    database: SqliteDatabase, corpus: Corpus, items: int, *, plain: sqlite3.Connection
) -> NDArray[np.float32]:
    """Commit the facts; their vectors come back, shape (items, d)."""
    vectors: list[NDArray[np.float32]] = []
    for batch in corpus.batches(items):
        await database.store.commit(OWNER, batch)
        plain.executemany("INSERT INTO words VALUES (?)", [(put.record.text,) for put in batch])
        vectors += [put.index.vector for put in batch if put.index and put.index.vector is not None]
    return np.stack(vectors)


async def _searched(
    database: SqliteDatabase,
    plain: sqlite3.Connection,
    matrix: NDArray[np.float32],
    *,
    questions: Questions,
) -> list[dict[str, Any]]:
    ours, filtered, baseline = Meter(), Meter(), Meter()
    agreed = 0
    for number, (text, vector) in enumerate(zip(questions.texts, questions.vectors, strict=True)):
        query = IndexQuery(OWNER, text, vector, MODEL, limit=_LIMIT)
        stop = ours.start()
        found = await database.index.search(query)
        stop()
        narrow = IndexQuery(OWNER, text, vector, MODEL, conversation=f"c{number % 7}", limit=_LIMIT)
        stop = filtered.start()
        await database.index.search(narrow)
        stop()
        stop = baseline.start()
        _plain_search(plain, matrix, text, vector=vector)
        stop()
        agreed += len(best_of(found) & exact_best_of(found, matrix, vector))
    agreement = round(agreed / _BEST / len(questions.texts), 4)
    plain_ms = baseline.figures()["wall_ms_p50"]
    rows: list[dict[str, Any]] = [
        {"way": way, **meter.figures(), "wall_ratio": round(meter.figures()["wall_ms_p50"] / plain_ms, 3)}
        for way, meter in (
            ("bethink", ours),
            ("bethink, one conversation of 50", filtered),
            ("FTS5 and a float32 matrix", baseline),
        )
    ]
    rows[0]["agreement"] = agreement
    return rows


def exact_best_of(found: Candidates, matrix: NDArray[np.float32], vector: NDArray[np.float32]) -> set[str]:
    """The ten best of an exact hybrid: the words' leg is exact, the other is computed anew."""
    scores = matrix @ vector
    nearest = set(np.argpartition(scores, -_LIMIT)[-_LIMIT:].tolist())
    words = {one.id: one.lexical for one in found.items if one.lexical is not None}
    meant = nearest | {number_of(id) for id in words}
    return _fused(words, {id_of(number): float(scores[number]) for number in meant})


def best_of(found: Candidates) -> set[str]:
    """The ten best by both legs."""
    words = {one.id: one.lexical for one in found.items if one.lexical is not None}
    meanings = {one.id: one.dense for one in found.items if one.dense is not None}
    return _fused(words, meanings)


def _fused(words: dict[str, float], meanings: dict[str, float]) -> set[str]:
    """The ten best by both scores, each in units of its spread; who is not in a leg has its least."""
    fused: dict[str, float] = dict.fromkeys((*words, *meanings), 0.0)
    for leg in (words, meanings):
        scores = np.array(list(leg.values()))
        least, spread = float(scores.min(initial=np.inf)), float(scores.std() or 1.0) if len(leg) else 1.0
        for id in fused:
            fused[id] += leg.get(id, least if leg else 0.0) / spread
    return set(sorted(fused, key=lambda id: (-fused[id], id))[:_BEST])


def _plain_search(
    connection: sqlite3.Connection, matrix: NDArray[np.float32], text: str, *, vector: NDArray[np.float32]
) -> None:
    words = " OR ".join(word for word in text.split() if word.startswith("word"))
    connection.execute(
        "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (words, _LIMIT)
    ).fetchall()
    scores = matrix @ vector
    np.argpartition(scores, -_LIMIT)[-_LIMIT:].tolist()


async def _cold(directory: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.cold", directory, cwd=CLONE, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    return msgspec.json.decode(said)


def _bytes_in(directory: str) -> int:
    return sum(file.stat().st_size for file in Path(directory).iterdir())


async def _forgotten(database: SqliteDatabase, items: int) -> Meter:
    meter = Meter()
    for start in range(_FORGETTINGS):
        numbers = range(start, items, max(1, items // _FORGOTTEN))[:_FORGOTTEN]
        stop = meter.start()
        await database.store.commit(OWNER, [Delete(FACTS, id_of(number)) for number in numbers])
        await database.store.scrub()
        stop()
    return meter


async def _of_many_owners(owners: int) -> dict[str, Any]:
    """What an owner's copy costs in memory, and the first search of one whose copy is not there."""
    corpus, meter = Corpus(), Meter()
    facts = [put for batch in corpus.batches(_OWNER_FACTS) for put in batch]
    questions = corpus.questions(owners)
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        kept = 0
        deadline = time.monotonic() + _KEEPING_S
        async with open_database(Path(directory)) as database:
            while kept < owners and time.monotonic() < deadline:
                await database.store.commit(f"{OWNER}{kept}", facts)
                kept += 1
        grown: list[float] = []
        async with open_database(Path(directory)) as database:
            before = resident_mb()
            for number in range(kept):
                query = IndexQuery(
                    f"{OWNER}{number}", questions.texts[number], questions.vectors[number], MODEL
                )
                stop = meter.start()
                await database.index.search(query)
                stop()
                grown.append(resident_mb() - before)
    few = min(kept, _COPIES_THAT_FIT)
    return {
        "items": _OWNER_FACTS,
        "way": f"bethink, each of {kept} owners' first",
        **meter.figures(),
        "resident_mb": round(max(grown), 1),
        "owner_mb": round(grown[few - 1] / few, 2),
    }


@asynccontextmanager
async def _database(directory: Path) -> AsyncGenerator[SqliteDatabase]:
    async with open_database(directory) as database:
        yield database


@contextmanager
def _plain() -> Generator[sqlite3.Connection]:
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        connection = sqlite3.connect(Path(directory) / "plain.sqlite3", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter')")
        yield connection
        connection.close()
