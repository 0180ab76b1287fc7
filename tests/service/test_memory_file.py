"""Memory on real files: what it keeps of a fact, how large it is, and what it never does twice."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bethink.app import App, open_app
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.sqlite.schema import RESERVE_FILE
from bethink.memory import NewFact
from bethink.ports import open_ports
from bethink.principal import Principal
from bethink.settings import Settings
from tests.traces import left_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

ME = Principal("local")
HOBBIES = ("rowing", "weaving", "chess", "botany", "fencing", "pottery", "astronomy")


class Counting(HashingEmbeddings):
    """Counts the texts that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = 0

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += len(texts)
        return await super().embed(texts)


@asynccontextmanager
async def opened(directory: Path, embeddings: Counting) -> AsyncGenerator[App]:
    settings = Settings(data_dir=directory)
    async with (
        open_ports(settings) as ports,
        open_app(settings, replace(ports, embeddings=embeddings, llm=None)) as app,
    ):
        yield app


def lives(count: int) -> list[NewFact]:
    return [
        NewFact(
            f"Cousin number {n} took up {HOBBIES[n % 7]} in the year {1500 + n} and keeps {n + 3} notebooks"
        )
        for n in range(count)
    ]


def size_of(directory: Path) -> int:
    """Of all but the reserve, whose size is the same whatever is kept."""
    return sum(file.stat().st_size for file in directory.iterdir() if file.name != RESERVE_FILE)


@pytest.mark.requirement("R44", "R45")
async def test_a_memory_keeps_its_vector_and_is_embedded_once(tmp_path: Path) -> None:
    first, later = Counting(), Counting()
    async with opened(tmp_path, first) as app:
        added = await app.memory.add_many(ME, lives(20))
        ids = [change.fact.id for change in added]
        kept = await app.ports.index.vectors(ME.owner, first.model, ids)
        assert {vector.shape for vector in kept.values()} == {(1, 384)}
        assert first.texts == 20
    async with opened(tmp_path, later) as app:
        (hit, *_) = await app.recall.search(ME, "Who took up botany in the year 1503?")
        assert hit.id == ids[3]
        again = await app.ports.index.vectors(ME.owner, later.model, ids)
        assert all(np.array_equal(again[id], kept[id]) for id in ids)
    assert later.texts == 1, "the question alone"


@pytest.mark.requirement("R46", "U1")
async def test_a_thousand_memories_are_a_few_megabytes(tmp_path: Path) -> None:
    async with opened(tmp_path, Counting()) as app:
        await app.memory.add_many(ME, lives(1_000))
        assert await app.memory.count(ME) == 1_000
        # Processor time: a machine that does much else takes longer by the clock.
        assert await _cpu_s(app.memory.add(ME, NewFact("Keeps a parrot called Rio"))) < 0.2
        assert await _cpu_s(app.recall.search(ME, "Who took up botany in the year 1503?", 5)) < 0.5
        assert await _cpu_s(app.memory.consolidate(ME)) < 30
    assert size_of(tmp_path) < 8_000_000


async def _cpu_s(work: Awaitable[object]) -> float:
    before = time.process_time()
    await work
    return time.process_time() - before


@pytest.mark.requirement("R52")
async def test_memory_adds_searches_and_deletes_all(tmp_path: Path) -> None:
    async with opened(tmp_path, Counting()) as app:
        await app.memory.add(ME, NewFact("Plays the zither"))
        ((fact, score),) = await app.memory.search(ME, "zither", k=5)
        assert (fact.content, score > 0) == ("Plays the zither", True)
        assert (await app.forgetting.forget_all(ME)).facts == (fact.id,)
        assert await app.memory.search(ME, "zither", k=5) == []
        assert (await app.forgetting.forget_all(ME)).facts == ()
    assert left_of(["zither"], tmp_path) == []
