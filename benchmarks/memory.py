"""`bethink bench memory`: keeping, finding and forgetting, end to end, beside other memories.

All get the same texts and the same vectors, made beforehand by the embedding
model, and are asked the same. Bethink's way goes through the gate, which
searches for what is known before it keeps a fact, and its forgetting through
the search for what was said of it; the others keep and delete.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers import PEERS, texts_left
from bethink.app import open_app
from bethink.engines.memory import MemoryBus
from bethink.engines.sqlite.store import open_database
from bethink.errors import EmbeddingsUnavailable
from bethink.index import IndexQuery
from bethink.memory import NewFact
from bethink.memory.writer import text_of
from bethink.ports import Ports
from bethink.principal import LOCAL_OWNER
from bethink.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Sequence

    from numpy.typing import NDArray

    from bethink.app import App
    from bethink.embeddings import EmbeddingModel, Embeddings
    from bethink.engines.postgres.store import PostgresDatabase
    from bethink.engines.sqlite.store import SqliteDatabase
    from bethink.principal import Principal

SIZES = (1_000, 10_000)
_SINGLY = 100
_QUESTIONS = 100
_FORGOTTEN = 20
_BATCH = 256
_PEER_S = 900
"""A peer that takes longer is left out."""

_CHOICES = tuple(
    words.split()
    for words in (
        "Anna Boris Chloe Dmitri Elena Farid Greta Hugo Ines Jonas Katya Luis Mira Nils Olga Pavel",
        "bought borrowed repaired sold painted lost found broke returned admired hid wrapped",
        "blue wooden broken tiny heavy silver striped old round cracked folding velvet",
        "lamp violin bicycle kettle ladder carpet mirror suitcase clock tent drum kayak globe",
        "Lisbon Oslo Kyoto Quito Tallinn Cork Basel Turin Bergen Accra Porto Split Ghent Riga",
    )
)
_SEED = 7


def invented_texts(count: int, *, short: bool = False) -> list[str]:
    """Different sentences of thirteen words, or of seven."""
    chance = random.Random(_SEED)  # noqa: S311 - the same sentences every time
    made: dict[str, None] = {}
    while len(made) < count:
        who, deed, look, thing, place = map(chance.choice, _CHOICES)
        year, price = chance.randrange(1990, 2026), chance.randrange(5, 900)
        more = "" if short else f" in {year} for {price} euros"
        made[f"{who} {deed} a {look} {thing} in {place}{more}"] = None
    return list(made)


class _Given:
    """Embeddings that were made beforehand; it makes the others."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._made: dict[str, NDArray[np.float32]] = {}
        self.unavailable: str | None = None

    @property
    def model(self) -> EmbeddingModel:
        """That of the vectors."""
        return self._embeddings.model

    @property
    def window(self) -> int:
        """That of the model."""
        return self._embeddings.window

    def pieces(self, word: str) -> int:
        """Those of the model."""
        return self._embeddings.pieces(word)

    async def load(self) -> None:
        """Nothing is to be done."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors."""
        fresh = [text for text in texts if text not in self._made]
        if fresh:
            self._made.update(zip(fresh, await self._embeddings.embed(fresh), strict=True))
        return np.stack([self._made[text] for text in texts])


async def measure_memory(
    embeddings: Embeddings, sizes: Sequence[int], peer_python: Path | None
) -> list[dict[str, Any]]:
    """A row for each size and memory; in those that name an embedder the import embeds, in the others not.

    `add_ms_p50` is durable; `beyond_search_ms` is what is left of it without one search of the index.

    Raises:
        EmbeddingsUnavailable: the model is not there.
    """
    await embeddings.load()
    if embeddings.unavailable:
        raise EmbeddingsUnavailable
    rows: list[dict[str, Any]] = []
    for size in sizes:
        texts = invented_texts(size + _SINGLY + _QUESTIONS)
        given = _Given(embeddings)
        vectors = await given.embed([text_of(NewFact(text)) for text in texts])
        measured = {"bethink": await _own(given, texts, size)}
        if peer_python is not None:
            measured |= {name: await _peer(peer_python, name, texts, vectors=vectors) for name in PEERS}
        rows += [{"items": size, "memory": name, **figures} for name, figures in measured.items()]
    for memory, texts in (
        (f"bethink, with {embeddings.model.id}", invented_texts(4 * _BATCH)),
        (f"bethink, with {embeddings.model.id}, texts of 7 words", invented_texts(4 * _BATCH, short=True)),
    ):
        rows.append({"items": len(texts), "memory": memory, **await _embedding(embeddings, texts)})
    return rows


async def _own(given: _Given, texts: Sequence[str], kept: int) -> dict[str, Any]:
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        async with _opened(Path(directory), given) as (app, me):
            started = time.perf_counter()
            for start in range(0, kept, _BATCH):
                await app.memory.add_many(
                    me, [NewFact(text) for text in texts[start : min(start + _BATCH, kept)]]
                )
            kept_s = time.perf_counter() - started
            singly = texts[kept : kept + _SINGLY]
            adds = [await _ms(app.memory.add(me, NewFact(text))) for text in singly]
            probes, searches = await _searched(app, me, given, questions=texts[kept + _SINGLY :])
            page = await app.memory.list(me, limit=_FORGOTTEN)
            gone = [item.record for item in page.items]
            forget_ms = await _ms(app.forgetting.forget(me, [fact.id for fact in gone]))
            left = await asyncio.to_thread(texts_left, Path(directory), [fact.content for fact in gone])
    return {
        "import_per_s": round(kept / kept_s),
        "add_ms_p50": round(statistics.median(adds), 2),
        "beyond_search_ms": round(statistics.median(adds) - statistics.median(probes), 2),
        "search_ms_p50": round(statistics.median(searches), 2),
        "search_ms_p95": round(statistics.quantiles(searches, n=20)[-1], 2),
        "forget_20_ms": round(forget_ms, 1),
        "texts_left": left,
    }


async def _searched(
    app: App, me: Principal, given: _Given, *, questions: Sequence[str]
) -> tuple[list[float], list[float]]:
    """Milliseconds of each search of the index alone, and of recall; their vectors are made before."""
    vectors = await given.embed(questions)
    probes: list[float] = []
    searches: list[float] = []
    for text, vector in zip(questions, vectors, strict=True):
        query = IndexQuery(me.owner, text, vector, given.model)
        probes.append(await _ms(app.ports.index.search(query)))
        searches.append(await _ms(app.recall.search(me, text, 10)))
    return probes, searches


async def _embedding(embeddings: Embeddings, texts: Sequence[str]) -> dict[str, Any]:
    """Importing with the real embedder, which works on one core while the gate has another."""
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        async with _opened(Path(directory), embeddings) as (app, me):
            started, cpu = time.perf_counter(), time.process_time()
            await app.memory.add_many(me, [NewFact(text) for text in texts])
            wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    return {"import_per_s": round(len(texts) / wall), "import_per_cpu_s": round(len(texts) / cpu)}


async def _peer(
    python: Path, name: str, texts: Sequence[str], *, vectors: NDArray[np.float32]
) -> dict[str, Any]:
    kept = len(texts) - _SINGLY - _QUESTIONS
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        place = Path(directory)
        await asyncio.to_thread(np.save, place / "vectors.npy", vectors)
        task = {
            "directory": str(place / "kept"),
            "vectors": str(place / "vectors.npy"),
            "texts": texts,
            "kept": kept,
            "singly": _SINGLY,
            "forgotten": list(range(0, kept, kept // _FORGOTTEN))[:_FORGOTTEN],
        }
        await asyncio.to_thread((place / "task.json").write_text, json.dumps(task), "utf-8")
        script = Path(__file__).with_name("peers.py")
        process = await asyncio.create_subprocess_exec(
            python,
            script,
            name,
            place / "task.json",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            said, _ = await asyncio.wait_for(process.communicate(), _PEER_S)
        except TimeoutError:
            process.kill()
            await process.wait()
            return {}
    lines = said.decode().strip().splitlines()
    return json.loads(lines[-1]) if lines and process.returncode == 0 else {}


@asynccontextmanager
async def _opened(directory: Path, embeddings: Embeddings) -> AsyncGenerator[tuple[App, Principal]]:
    async with open_database(directory) as database, opened(directory, database, embeddings) as app_and_me:
        yield app_and_me


@asynccontextmanager
async def opened(
    directory: Path, database: SqliteDatabase | PostgresDatabase, embeddings: Embeddings
) -> AsyncGenerator[tuple[App, Principal]]:
    """A Bethink over a database, without a model; and its one owner."""
    ports = Ports(database.store, database.index, MemoryBus(), embeddings, None)
    async with open_app(load_settings(data_dir=directory, model=""), ports) as app:
        yield app, app.accounts.on_behalf_of(LOCAL_OWNER, audience="bench")


async def _ms(work: Awaitable[object]) -> float:
    started = time.perf_counter()
    await work
    return (time.perf_counter() - started) * 1_000
