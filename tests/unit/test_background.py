"""What goes on beside requests."""

from __future__ import annotations

from pathlib import Path

import anyio
import numpy as np
import pytest

from bethink.embeddings import fetch
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.errors import EmbeddingsUnavailable, StorageError
from bethink.index import IndexItem
from bethink.maintenance.background import Background, Vectors
from bethink.memory import FACTS, Fact
from bethink.store import Put

pytestmark = pytest.mark.anyio


class ReadStore(MemoryStore):
    """A store whose files another program reads, when they are scrubbed for the first time."""

    asked = 0
    scrubbed: anyio.Event

    async def scrub(self, owner: str | None = None) -> tuple[str, ...]:
        self.asked += 1
        if self.asked == 1:
            raise StorageError("Another process reads the database without a pause.")
        self.scrubbed.set()
        return ()


async def test_traces_that_could_not_be_removed_are_removed_later(tmp_path: Path) -> None:
    index = MemoryIndex()
    store = ReadStore(index)
    store.scrubbed = anyio.Event()
    background = Background(Vectors(store, index, HashingEmbeddings()), tmp_path, [FACTS], again_s=0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(background.scrub_always)
        background.ask_scrub("ann")
        await store.scrubbed.wait()
        tasks.cancel_scope.cancel()
    assert store.asked == 2


class LateEmbeddings(HashingEmbeddings):
    """A model that somebody puts in its place after some looks."""

    looks = 0

    @property
    def unavailable(self) -> str | None:
        return None if self.looks > 5 else "It cannot be read."

    async def load(self) -> None:
        self.looks += 1
        if self.unavailable:
            raise EmbeddingsUnavailable(self.unavailable)


async def test_long_items_of_some_kinds_have_a_vector_for_each_part() -> None:
    index, embeddings = MemoryIndex(), HashingEmbeddings()
    store = MemoryStore(index)
    long = " ".join(f"walnut{n} grows." for n in range(900))
    for id, kind, text in (("a", "passage", long), ("b", "fact", long), ("c", "passage", "short")):
        fact = Fact(id=id, content="-", digest="d", weight=1, created_at=0)
        await store.commit("ann", [Put(FACTS, fact, index=IndexItem(kind, text, 0))])
    assert await Vectors(store, index, embeddings, frozenset({"passage"})).fill("ann") == 3
    vectors = await index.vectors("ann", embeddings.model, ["a", "b", "c"])
    assert {id: len(rows) for id, rows in vectors.items()} == {"a": len(vectors["a"]), "b": 1, "c": 1}
    assert len(vectors["a"]) > 2
    assert np.allclose(vectors["b"], await embeddings.embed([long]), atol=1e-4)


async def test_an_embedding_model_that_comes_later_is_used_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[int] = []

    async def fails(directory: Path, progress: object, *, model: str) -> None:
        del directory, progress, model
        fetched.append(embeddings.looks)
        raise EmbeddingsUnavailable("There is no network.")

    monkeypatch.setattr(fetch, "fetch_model", fails)
    embeddings = LateEmbeddings()
    index = MemoryIndex()
    store = MemoryStore(index)
    background = Background(Vectors(store, index, embeddings), tmp_path, [FACTS], again_s=0)
    fact = Fact(id="f", content="Likes tea", digest="d", weight=1, created_at=0)
    note = Put(FACTS, fact, index=IndexItem("fact", "Likes tea", 0))
    await store.commit("ann", [note])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(background.fill_vectors)
        with anyio.fail_after(5):
            await background.ready_embedder()
            while await index.missing_vectors("ann", embeddings.model, 1):
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    # Not at each look: fetching takes a process and the network.
    assert fetched == [1, 2, 3, 5]
