"""What a database file still holds of what was deleted: nothing, once it was scrubbed."""

from __future__ import annotations

import random
import re
import sqlite3
import string
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bethink.embeddings import EmbeddingModel
from bethink.errors import StorageError
from bethink.index import IndexItem, IndexQuery
from bethink.store import Change, Delete, DeleteAll, Put
from bethink.store import sqlite as sqlite_store
from bethink.store.sqlite import open_database
from bethink.store.sqlite_schema import FILE_NAME
from tests.contract.records import NOTES, SETTINGS, Note, Setting

pytestmark = pytest.mark.anyio

MODEL = EmbeddingModel("small", "1", 32)


def everything_in(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file())


def traces(directory: Path, words: Iterable[str], vectors: Iterable[bytes]) -> list[bytes]:
    """What is found of words of 16 letters (the whole, the first or last nine) and of vectors."""
    data = everything_in(directory)
    runs = set(re.findall(rb"[a-z]{9,}", data))
    there = {run[start : start + 9] for run in runs for start in range(len(run) - 8)}
    ends = {end for word in words for end in (word[:9].encode(), word[-9:].encode())}
    return [*(ends & there), *(vector for vector in vectors if vector[:48] in data)]


async def test_nothing_of_what_was_deleted_or_overwritten_is_left_in_any_file(tmp_path: Path) -> None:
    """Random sizes and places, so that pages are split, overflow and are used again.

    With `secure_delete` alone, traces stay in pages that were split.
    """
    chance = random.Random(1)  # noqa: S311 - the same places every time
    numbers = np.random.default_rng(5)
    live: dict[str, tuple[str, bytes]] = {}
    gone: list[tuple[str, bytes]] = []

    def drop(id: str) -> None:
        if id in live:
            gone.append(live.pop(id))

    def gone_traces() -> list[bytes]:
        return traces(tmp_path, (word for word, _ in gone), (vector for _, vector in gone[::5]))

    def fresh(id: str) -> Put[Note]:
        word = "".join(chance.choices(string.ascii_lowercase, k=16))
        vector = numbers.standard_normal(32, dtype=np.float32)
        drop(id)
        live[id] = (word, vector.tobytes())
        text = f"{word} " * chance.choice([1, 3, 20, 60, 200])
        note = Note(id=id, text=text, category=word, created_at=chance.randrange(10**9))
        return Put(NOTES, note, index=IndexItem("fact", text, 0, vector, MODEL, speaker=word))

    async with open_database(tmp_path / "data") as database:
        for _ in range(25):
            batch: list[Change] = [fresh(f"{chance.getrandbits(64):x}") for _ in range(30)]
            batch += [fresh(id) for id in chance.sample(sorted(live), k=10)]
            dead = chance.sample(sorted(live), k=15)
            batch += [Delete(NOTES, id) for id in dead]
            for id in dead:
                drop(id)
            await database.store.commit("ann", batch)
        for id in list(live)[:20]:
            await database.store.commit("ann", [DeleteAll(NOTES, {"category": live[id][0]})])
            drop(id)
        assert (await database.index.search(IndexQuery("ann", "anything"))).searched == len(live)
        assert gone_traces(), "there must have been something to find"
        await database.store.scrub()
        assert gone_traces() == []
        found = traces(tmp_path, (word for word, _ in live.values()), (vector for _, vector in live.values()))
        assert len(found) == 3 * len(live)
        assert (await database.index.search(IndexQuery("ann", "anything"))).searched == len(live)
    assert gone_traces() == []


async def test_scrubbing_waits_for_readers_of_other_processes_and_says_so_when_they_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "SCRUB_S", 0.0)
    async with open_database(tmp_path) as database:
        await database.store.commit("ann", [Put(SETTINGS, Setting(id="s", value="unspeakable"))])
        with closing(sqlite3.connect(tmp_path / FILE_NAME)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM meta").fetchall()
            await database.store.commit("ann", [Delete(SETTINGS, "s")])
            with pytest.raises(StorageError, match="Another process reads"):
                await database.store.scrub()
            assert b"unspeakable" in everything_in(tmp_path)
        await database.store.commit("ann", [Put(SETTINGS, Setting(id="t"))])
        await database.store.scrub()
        assert b"unspeakable" not in everything_in(tmp_path)
