"""`bethink bench`: what keeping and finding cost, each beside the least that could do it.

Every figure is taken in turns with its baseline, so that a busy machine slows
both: compare the ratios. CPU is that of the whole process, the kernel's work
for it included.
"""

from __future__ import annotations

import sqlite3
import statistics
import time
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from bethink.embeddings import EmbeddingModel
from bethink.index import IndexItem, IndexQuery
from bethink.store import Collection, Put, Record
from bethink.store.sqlite import open_database

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from numpy.typing import NDArray

    from bethink.store.sqlite import SqliteDatabase

_DIMENSIONS = 384
_MODEL = EmbeddingModel("synthetic", "1", _DIMENSIONS)
_SEED = 20
_OWNER = "bench"
_COMMITS = 400
_SEARCHES = 200
_WARM_UP = 10
_LIMIT = 50
_BATCH = 1_000
_TOPICS = 200
_SPREAD = 1.2
"""Vectors lie about topics, as those of sentences do; this far, in units of the topics' own distances."""


class _Fact(Record, frozen=True, kw_only=True):
    text: str
    state: str = "active"
    created_at: int = 0


class _Message(Record, frozen=True, kw_only=True):
    conversation: str
    position: int
    text: str


class _Conversation(Record, frozen=True, kw_only=True):
    updated_at: int


_FACTS = Collection("facts", _Fact, ("state", "created_at"))
_MESSAGES = Collection("messages", _Message, ("conversation", "position"))
_CONVERSATIONS = Collection("conversations", _Conversation, ("updated_at",))


@dataclass(slots=True)
class _Meter:
    """Wall and CPU milliseconds of one thing, done many times."""

    wall_ms: list[float] = field(default_factory=list[float])
    cpu_ms: list[float] = field(default_factory=list[float])

    def start(self) -> Callable[[], None]:
        wall, cpu = time.perf_counter(), time.process_time()

        def stop() -> None:
            self.wall_ms.append((time.perf_counter() - wall) * 1000)
            self.cpu_ms.append((time.process_time() - cpu) * 1000)

        return stop

    def figures(self) -> dict[str, float]:
        wall, cpu = self.wall_ms[_WARM_UP:], self.cpu_ms[_WARM_UP:]
        return {
            "wall_ms_p50": round(statistics.median(wall), 3),
            "wall_ms_p95": round(statistics.quantiles(wall, n=20)[-1], 3),
            "cpu_ms_mean": round(statistics.fmean(cpu), 3),
        }


def _compared(ours: _Meter, baseline: _Meter) -> dict[str, Any]:
    mine, theirs = ours.figures(), baseline.figures()
    return {
        "bethink": mine,
        "baseline": theirs,
        "cpu_ratio": round(mine["cpu_ms_mean"] / theirs["cpu_ms_mean"], 2),
        "wall_ratio": round(mine["wall_ms_p50"] / theirs["wall_ms_p50"], 2),
    }


class _Corpus:
    """Invented sentences of nine words, frequent and rare ones, and vectors about topics."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(_SEED)
        self._topics = self._random.standard_normal((_TOPICS, _DIMENSIONS), dtype=np.float32)

    def text(self) -> str:
        return " ".join(f"word{number}" for number in self._random.zipf(1.3, 9) % 20_000)

    def vector(self) -> NDArray[np.float32]:
        topic = self._topics[self._random.integers(_TOPICS)]
        vector = topic + _SPREAD * self._random.standard_normal(_DIMENSIONS, dtype=np.float32)
        return vector / np.linalg.norm(vector)

    def put(self, number: int) -> Put[_Fact]:
        text = self.text()
        fact = _Fact(id=f"{number:032}", text=text, created_at=number)
        item = IndexItem("fact", text, number, self.vector(), _MODEL)
        return Put(_FACTS, fact, if_version=0, index=item)


@asynccontextmanager
async def _database() -> AsyncGenerator[SqliteDatabase]:
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        async with open_database(Path(directory)) as database:
            yield database


@contextmanager
def _bare(table: str) -> Generator[sqlite3.Connection]:
    """A plain SQLite file, flushed as durably as the store's."""
    with (
        TemporaryDirectory(prefix="bethink-bench-") as directory,
        closing(sqlite3.connect(Path(directory) / "bare.sqlite3", isolation_level=None)) as connection,
    ):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(table)
        yield connection


async def measure_commits() -> dict[str, Any]:
    """One durable commit of a fact with its index item.

    Baseline: one row of the same bytes in plain SQLite, in this thread.
    """
    corpus, ours, baseline = _Corpus(), _Meter(), _Meter()
    table = "CREATE TABLE facts (id TEXT PRIMARY KEY, body BLOB, vector BLOB)"
    async with _database() as database:
        with _bare(table) as connection:
            for number in range(_WARM_UP + _COMMITS):
                put = corpus.put(number)
                stop = ours.start()
                await database.store.commit(_OWNER, [put])
                stop()
                row = (put.record.id, _FACTS.encode(put.record), corpus.vector().tobytes())
                stop = baseline.start()
                connection.execute("INSERT INTO facts VALUES (?, ?, ?)", row)
                stop()
    return _compared(ours, baseline)


async def measure_search(items: int) -> dict[str, Any]:
    """One hybrid search among `items` of one owner, both legs' best 50, the thread's hop included.

    Baseline: FTS5 (OR of the words, `bm25`) and a numpy product of the whole matrix, in this
    thread. `cold_ms` is the first search after opening, which loads the owner's rows.
    """
    corpus, ours, baseline = _Corpus(), _Meter(), _Meter()
    async with _database() as database:
        puts = [corpus.put(number) for number in range(items)]
        for start in range(0, items, _BATCH):
            await database.store.commit(_OWNER, puts[start : start + _BATCH])
        matrix = np.stack([put.index.vector for put in puts if put.index and put.index.vector is not None])
        cold = time.perf_counter()
        await database.index.search(IndexQuery(_OWNER, corpus.text(), corpus.vector(), _MODEL))
        cold_ms = (time.perf_counter() - cold) * 1000
        with _bare("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter')") as connection:
            connection.executemany("INSERT INTO words VALUES (?)", [(put.record.text,) for put in puts])
            for _ in range(_WARM_UP + _SEARCHES):
                question, vector = " ".join(corpus.text().split()[:4]), corpus.vector()
                stop = ours.start()
                await database.index.search(IndexQuery(_OWNER, question, vector, _MODEL, limit=_LIMIT))
                stop()
                stop = baseline.start()
                _plain_search(connection, matrix, question, vector=vector)
                stop()
    return {"items": items, "cold_ms": round(cold_ms, 1), **_compared(ours, baseline)}


def _plain_search(
    connection: sqlite3.Connection, matrix: NDArray[np.float32], question: str, *, vector: NDArray[np.float32]
) -> None:
    words = " OR ".join(question.split())
    connection.execute(
        "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (words, _LIMIT)
    ).fetchall()
    scores = matrix @ vector
    np.argpartition(scores, -_LIMIT)[-_LIMIT:].tolist()


async def measure_turns(turns: int) -> dict[str, Any]:
    """Appending a turn (two messages, and the conversation put anew) behind `turns` others.

    Baseline: the same three statements in plain SQLite.
    """
    ours, baseline = _Meter(), _Meter()
    table = "CREATE TABLE messages (id TEXT PRIMARY KEY, position INTEGER, body BLOB)"
    async with _database() as database:
        earlier = [_message(position) for position in range(2 * turns)]
        for start in range(0, len(earlier), _BATCH):
            puts = [Put(_MESSAGES, message) for message in earlier[start : start + _BATCH]]
            await database.store.commit(_OWNER, puts)
        with _bare(table) as connection:
            for number in range(turns, turns + _WARM_UP + _COMMITS):
                messages = [_message(2 * number), _message(2 * number + 1)]
                conversation = _Conversation(id="c", updated_at=number)
                stop = ours.start()
                await database.store.commit(
                    _OWNER,
                    [
                        *(Put(_MESSAGES, message, if_version=0) for message in messages),
                        Put(_CONVERSATIONS, conversation),
                    ],
                )
                stop()
                rows = [(message.id, message.position, _MESSAGES.encode(message)) for message in messages]
                stop = baseline.start()
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT INTO messages VALUES (?, ?, ?)", rows)
                connection.execute(
                    "INSERT OR REPLACE INTO messages VALUES ('c', ?, ?)",
                    (number, _CONVERSATIONS.encode(conversation)),
                )
                connection.execute("COMMIT")
                stop()
    return {"turns": turns, **_compared(ours, baseline)}


def _message(position: int) -> _Message:
    text = "Something that somebody said, of about the length that people write. " * 3
    return _Message(id=f"{position:032}", conversation="c", position=position, text=text)


async def measure_storage() -> list[dict[str, Any]]:
    """A row for each measure and way, ours and the baseline: all of this module's figures."""
    measures = {"a fact, committed": await measure_commits()}
    for items in (1_000, 10_000):
        measures[f"a search among {items:,}"] = await measure_search(items)
    for turns in (10, 10_000):
        measures[f"a turn behind {turns:,}"] = await measure_turns(turns)
    return [
        {"load": load, "way": way, **found[way], **(_shared(found) if way == "bethink" else {})}
        for load, found in measures.items()
        for way in ("bethink", "baseline")
    ]


def _shared(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if isinstance(value, float)}
