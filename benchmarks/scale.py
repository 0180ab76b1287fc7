"""`bethink bench scale`: SQLite beside PostgreSQL, on a server of the measurement's own.

Each thing is done in turns on both, so that a busy machine slows both: compare the ratios. The server
flushes to the disk as it does for everybody. Facts and vectors are invented (`corpus`). A fact is kept by its
record alone (`commit`), and with its words and vector (`add`). An owner is searched in memory first, and
then, with tables of its own, in the database.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from benchmarks.corpus import FACTS, MODEL, OWNER, Corpus, Fact, put
from benchmarks.meter import WARM_UP, Meter
from benchmarks.search import best_of, exact_best_of
from bethink.engines.postgres import large
from bethink.engines.postgres.store import open_database as open_postgres
from bethink.engines.sqlite.store import open_database as open_sqlite
from bethink.index import IndexQuery
from bethink.store import Put
from tests.postgres_server import postgres_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from numpy.typing import NDArray

    from bethink.engines.postgres.connection import Connections, DatabaseSession
    from bethink.index import Candidates, Index
    from bethink.store import Store

    _Measure = Callable[["_Engines"], Awaitable[list[dict[str, Any]]]]

SIZES = (10_000, 100_000)
OWNERS = 1_000
_OWNER_FACTS = 100
_COMMITS = 100
_SEARCHES = 100
_LIMIT = 50
_BEST = 10
_CONVERSATIONS = 50
_MEGABYTE = 1_000_000
_BUFFERS = "shared_buffers=2GB"
"""What PostgreSQL's manual advises for a machine of 8 GB; of itself it takes 128 MB."""


class _Database(Protocol):
    """What both engines open."""

    @property
    def store(self) -> Store: ...

    @property
    def index(self) -> Index: ...


@dataclass(frozen=True, slots=True)
class _Engines:
    sqlite: _Database
    postgres: _Database
    connections: Connections

    @property
    def both(self) -> dict[str, _Database]:
        return {"sqlite": self.sqlite, "postgresql": self.postgres}


async def measure_sizes(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Rows for each size and way: one owner with so many facts."""
    return await _measured(*(_of_one_owner(size) for size in sizes))


async def measure_owners(owners: int) -> list[dict[str, Any]]:
    """Rows for so many owners of 100 facts each."""
    return await _measured(_of_many_owners(owners))


async def _measured(*measures: _Measure) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with postgres_server(_BUFFERS, durable=True) as server:
        for measure in measures:
            with TemporaryDirectory(prefix="bethink-bench-") as directory:
                async with AsyncExitStack() as stack:
                    sqlite = await stack.enter_async_context(open_sqlite(Path(directory)))
                    postgres = await stack.enter_async_context(open_postgres(server.new_database()))
                    rows += await measure(_Engines(sqlite, postgres, postgres.connections))
    return rows


def _of_one_owner(items: int) -> _Measure:
    async def measure(engines: _Engines) -> list[dict[str, Any]]:
        corpus = Corpus()
        matrix, kept = await _keep(engines, corpus, items)
        questions = corpus.questions(WARM_UP + _SEARCHES)
        asked = [
            IndexQuery(OWNER, text, vector, MODEL, limit=_LIMIT)
            for text, vector in zip(questions.texts, questions.vectors, strict=True)
        ]
        rows = {way: {"items": items, "way": way, **figures} for way, figures in kept.items()}
        # Tables of its own would be made meanwhile, and have both engines wait.
        large.LARGE = max(large.LARGE, 2 * items)
        for way, database in engines.both.items():
            began = time.perf_counter()
            await database.index.search(asked[0])
            rows[way]["cold_ms"] = round((time.perf_counter() - began) * 1_000)
        found = await _searched(engines, asked, matrix)
        for way, figures in found.items():
            rows[way] |= figures
        for way, figures in (await _written(engines, corpus, "small")).items():
            rows[way] |= figures
        within: dict[str, Any] = {"items": items, "way": "postgresql, in the database"}
        began = time.perf_counter()
        if not await large.build(engines.connections, OWNER):
            message = "the owner's tables were not made"
            raise RuntimeError(message)
        within["build_s"] = round(time.perf_counter() - began, 1)
        within |= await engines.connections.read(OWNER, _sizes)
        within |= (await _searched(engines, asked, matrix))["postgresql"]
        within |= (await _written(engines, corpus, OWNER))["postgresql"]
        return [*rows.values(), within]

    return measure


async def _keep(
    engines: _Engines, corpus: Corpus, items: int
) -> tuple[NDArray[np.float32], dict[str, dict[str, Any]]]:
    """Commit the facts on both, a thousand at a time; their vectors, and how many a second."""
    vectors: list[NDArray[np.float32]] = []
    taken = dict.fromkeys(engines.both, 0.0)
    for batch in corpus.batches(items):
        vectors += [one.index.vector for one in batch if one.index and one.index.vector is not None]
        for way, database in engines.both.items():
            began = time.perf_counter()
            await database.store.commit(OWNER, batch)
            taken[way] += time.perf_counter() - began
    return np.stack(vectors), {way: {"kept_per_s": round(items / spent)} for way, spent in taken.items()}


async def _written(engines: _Engines, corpus: Corpus, owner: str) -> dict[str, dict[str, Any]]:
    """Milliseconds of one commit, of a record alone and with its index item."""
    figures: dict[str, dict[str, Any]] = {way: {} for way in engines.both}
    count = WARM_UP + _COMMITS
    stamp = time.time_ns()
    texts, vectors = corpus.texts(count), corpus.vectors(count)
    changes: dict[str, list[Put[Fact]]] = {
        "commit": [Put(FACTS, Fact(id=f"r{stamp + number}", text=texts[number])) for number in range(count)],
        "add": [put(stamp + number, texts[number], vectors[number]) for number in range(count)],
    }
    for name, of_name in changes.items():
        meters = {way: Meter() for way in engines.both}
        for change in of_name:
            for way, database in engines.both.items():
                stop = meters[way].start()
                await database.store.commit(owner, [change])
                stop()
        for way, meter in meters.items():
            figures[way] |= _named(name, meter)
    return figures


async def _searched(
    engines: _Engines, asked: Sequence[IndexQuery], matrix: NDArray[np.float32]
) -> dict[str, dict[str, Any]]:
    """Milliseconds of searches among all, and in one conversation of 50; and how well they agree.

    `agreement` is the share of the ten best of an exact float32 hybrid that are found; words are exact on
    SQLite.
    """
    meters = {way: (Meter(), Meter()) for way in engines.both}
    agreed: Counter[str] = Counter()
    for number, query in enumerate(asked):
        narrow = replace(query, conversation=f"c{number % _CONVERSATIONS}")
        found: dict[str, Candidates] = {}
        for way, database in engines.both.items():
            stop = meters[way][0].start()
            found[way] = await database.index.search(query)
            stop()
            stop = meters[way][1].start()
            await database.index.search(narrow)
            stop()
        if query.vector is not None:
            exact = exact_best_of(found["sqlite"], matrix, query.vector)
            agreed.update({way: len(best_of(one) & exact) for way, one in found.items()})
    return {
        way: {
            **_named("search", every),
            **_named("narrow", narrowed),
            "agreement": round(agreed[way] / _BEST / len(asked), 4),
        }
        for way, (every, narrowed) in meters.items()
    }


def _named(name: str, meter: Meter) -> dict[str, float]:
    figures = meter.figures()
    return {f"{name}_ms_{which}": figures[f"wall_ms_{which}"] for which in ("p50", "p95")}


async def _sizes(session: DatabaseSession) -> dict[str, Any]:
    """Megabytes of the owner's graph, its index of words, and all of its tables."""
    rows = await session.fetch(
        "SELECT am.amname, sum(pg_relation_size(c.oid))::bigint FROM pg_class AS c "
        "JOIN pg_namespace AS n ON n.oid = c.relnamespace LEFT JOIN pg_am AS am ON am.oid = c.relam "
        "WHERE n.nspname ~ '^index_[0-9]+$' GROUP BY am.amname"
    )
    sizes = dict(rows)
    return {
        "graph_mb": round(sizes.get("hnsw", 0) / _MEGABYTE),
        "words_mb": round(sizes.get("gin", 0) / _MEGABYTE),
        "tables_mb": round(sum(sizes.values()) / _MEGABYTE),
    }


def _of_many_owners(owners: int) -> _Measure:
    async def measure(engines: _Engines) -> list[dict[str, Any]]:
        corpus = Corpus()
        facts = [one for batch in corpus.batches(_OWNER_FACTS) for one in batch]
        questions = corpus.questions(owners)
        kept = {way: Meter() for way in engines.both}
        first, again = ({way: Meter() for way in engines.both} for _ in range(2))
        for number in range(owners):
            for way, database in engines.both.items():
                stop = kept[way].start()
                await database.store.commit(f"{OWNER}{number}", facts)
                stop()
        for meters in (first, again):
            for number in range(owners):
                query = IndexQuery(
                    f"{OWNER}{number}", questions.texts[number], questions.vectors[number], MODEL
                )
                for way, database in engines.both.items():
                    stop = meters[way].start()
                    await database.index.search(query)
                    stop()
        return [
            {
                "owners": owners,
                "way": way,
                "facts_each": _OWNER_FACTS,
                **_named("keep", kept[way]),
                **_named("first_search", first[way]),
                **_named("search", again[way]),
            }
            for way in engines.both
        ]

    return measure
