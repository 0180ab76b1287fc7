"""Forgetting while the gate lets something in: nothing of it is stored behind the forgetting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from bethink.clock import FakeClock
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.memory import MemoryBus, MemoryHub, MemoryIndex, MemoryStore
from bethink.events import ToolFinished
from bethink.index import Candidates, IndexQuery
from bethink.llm import Llm
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.ports import Ports
from tests.house import open_house
from tests.unit.test_forgetting import SECRET, everything

pytestmark = pytest.mark.anyio

SAID_AGAIN = f"User has long dreamt of {SECRET} in the north"
Meanwhile = Callable[[], Awaitable[object]]


class EmbeddingsMeanwhile(HashingEmbeddings):
    """Does something once, while what is to be stored is embedded."""

    do: Meanwhile | None = None

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.do is not None and SAID_AGAIN in texts:
            do, self.do = self.do, None
            await do()
        return await super().embed(texts)


class IndexMeanwhile(MemoryIndex):
    """Does something once, after something was found and before it is read."""

    do: Meanwhile | None = None

    async def search(self, query: IndexQuery) -> Candidates:
        found = await super().search(query)
        await self._meanwhile([found])
        return found

    async def search_all(self, queries: Sequence[IndexQuery]) -> list[Candidates]:
        found = await super().search_all(queries)
        await self._meanwhile(found)
        return found

    async def _meanwhile(self, found: Sequence[Candidates]) -> None:
        if self.do is not None and any(one.items for one in found):
            do, self.do = self.do, None
            await do()


def two_processes(
    index: MemoryIndex, embeddings: HashingEmbeddings, llm: Llm | None = None
) -> tuple[Ports, Ports]:
    store, hub, clock = MemoryStore(index), MemoryHub(), FakeClock()
    return (
        Ports(store, index, MemoryBus(hub), embeddings, llm, clock),
        Ports(store, index, MemoryBus(hub), HashingEmbeddings(), None, clock),
    )


@pytest.mark.parametrize("where", ["here", "in another process"])
@pytest.mark.parametrize("by", ["a model", "the owner"])
async def test_what_is_forgotten_while_it_is_being_stored_is_not_stored(where: str, by: str) -> None:
    embeddings = EmbeddingsMeanwhile()
    llm = ScriptedLlm([[ScriptedCall("store_memory", {"content": SAID_AGAIN})], "As you like."])
    one, two = two_processes(MemoryIndex(), embeddings, llm)
    async with open_house(ports=one) as house, open_house(ports=two) as other:
        gone = (await house.app.memory.add(house.me, NewFact(f"User dreams of {SECRET}"))).fact
        forgetting = house if where == "here" else other
        embeddings.do = lambda: forgetting.app.forgetting.forget(forgetting.me, [gone.id])
        say = "I have long dreamt of {} in the north." if by == "a model" else f"/remember {SAID_AGAIN}"
        events = await house.say(say.format(SECRET))
        assert embeddings.do is None
        (finished,) = [event for event in events if isinstance(event, ToolFinished)]
        assert finished.error == "forgotten"
        assert await house.app.memory.count(house.me) == 0
        assert SECRET not in await everything(house)


async def test_what_has_nothing_to_do_with_what_is_forgotten_meanwhile_is_stored() -> None:
    embeddings = EmbeddingsMeanwhile()
    llm = ScriptedLlm([[ScriptedCall("store_memory", {"content": SAID_AGAIN})], "Noted."])
    one, two = two_processes(MemoryIndex(), embeddings, llm)
    async with open_house(ports=one) as house, open_house(ports=two) as other:
        gone = (await house.app.memory.add(house.me, NewFact("User likes green tea"))).fact
        embeddings.do = lambda: other.app.forgetting.forget(other.me, [gone.id])
        await house.say(f"I have long dreamt of {SECRET} in the north.")
        assert embeddings.do is None
        stored = [item.record.content for item in (await house.app.memory.list(house.me)).items]
        assert stored == [SAID_AGAIN]


@pytest.mark.parametrize("suggested", [False, True])
async def test_a_fact_forgotten_elsewhere_after_the_gate_found_it_is_not_missed(*, suggested: bool) -> None:
    index = IndexMeanwhile()
    one, two = two_processes(index, HashingEmbeddings())
    async with open_house(ports=one) as house, open_house(ports=two) as other:
        gone = (await house.app.memory.add(house.me, NewFact("User likes green tea in the morning"))).fact
        index.do = lambda: other.app.forgetting.forget(other.me, [gone.id])
        new = NewFact("User likes green tea in the evening", suggested=suggested)
        changed = await house.app.memory.add(house.me, new)
        assert index.do is None
        assert changed.change == ("suggested" if suggested else "added")
