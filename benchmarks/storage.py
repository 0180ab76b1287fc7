"""`bethink bench storage`: what keeping costs, each beside the least that could do it.

Every figure is taken in turns with its baseline, so that a busy machine slows
both: compare the ratios. What finding costs is measured by `search`.
"""

from __future__ import annotations

import sqlite3
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks.corpus import BATCH, FACTS, OWNER, Corpus, put
from benchmarks.meter import WARM_UP, Meter, compared
from bethink.engines.sqlite.store import open_database
from bethink.store import Collection, Put, Record

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from bethink.engines.sqlite.store import SqliteDatabase

_COMMITS = 400


class _Message(Record, frozen=True, kw_only=True):
    conversation: str
    position: int
    text: str


class _Conversation(Record, frozen=True, kw_only=True):
    updated_at: int


_MESSAGES = Collection("messages", _Message, ("conversation", "position"))
_CONVERSATIONS = Collection("conversations", _Conversation, ("updated_at",))


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
    corpus, ours, baseline = Corpus(), Meter(), Meter()
    count = WARM_UP + _COMMITS
    texts, vectors = corpus.texts(count), corpus.vectors(count)
    table = "CREATE TABLE facts (id TEXT PRIMARY KEY, body BLOB, vector BLOB)"
    async with _database() as database:
        with _bare(table) as connection:
            for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
                one = put(number, text, vector)
                stop = ours.start()
                await database.store.commit(OWNER, [one])
                stop()
                row = (one.record.id, FACTS.encode(one.record), vector.tobytes())
                stop = baseline.start()
                connection.execute("INSERT INTO facts VALUES (?, ?, ?)", row)
                stop()
    return compared(ours, baseline)


async def measure_turns(turns: int) -> dict[str, Any]:
    """Appending a turn (two messages, and the conversation put anew) behind `turns` others.

    Baseline: the same three statements in plain SQLite.
    """
    ours, baseline = Meter(), Meter()
    table = "CREATE TABLE messages (id TEXT PRIMARY KEY, position INTEGER, body BLOB)"
    async with _database() as database:
        earlier = [_message(position) for position in range(2 * turns)]
        for start in range(0, len(earlier), BATCH):
            puts = [Put(_MESSAGES, message) for message in earlier[start : start + BATCH]]
            await database.store.commit(OWNER, puts)
        with _bare(table) as connection:
            for number in range(turns, turns + WARM_UP + _COMMITS):
                messages = [_message(2 * number), _message(2 * number + 1)]
                conversation = _Conversation(id="c", updated_at=number)
                stop = ours.start()
                await database.store.commit(
                    OWNER,
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
    return {"turns": turns, **compared(ours, baseline)}


def _message(position: int) -> _Message:
    text = "Something that somebody said, of about the length that people write. " * 3
    return _Message(id=f"{position:032}", conversation="c", position=position, text=text)


async def measure_storage() -> list[dict[str, Any]]:
    """A row for each measure and way, ours and the baseline: all of this module's figures."""
    measures = {"a fact, committed": await measure_commits()}
    for turns in (10, 10_000):
        measures[f"a turn behind {turns:,}"] = await measure_turns(turns)
    return [
        {"load": load, "way": way, **found[way], **(_shared(found) if way == "bethink" else {})}
        for load, found in measures.items()
        for way in ("bethink", "baseline")
    ]


def _shared(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if isinstance(value, float)}
