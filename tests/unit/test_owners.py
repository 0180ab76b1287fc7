"""What goes on by itself serves everybody of whom there is something, not the local owner alone."""

from __future__ import annotations

import anyio.lowlevel
import pytest

from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.forgetting.announcements import INTENTS, ForgetIntent
from bethink.memory import NewFact
from bethink.memory.facts import STEPS, LogStep
from bethink.principal import Principal
from bethink.store import Put, Scan, owners_of
from tests.fakes import NoEmbeddings
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio

OWNERS = ("ann", "bob", "local")


def acting(house: House, owner: str) -> Principal:
    return house.app.accounts.on_behalf_of(owner, audience="test")


async def remembered(house: House) -> dict[str, str]:
    """The id of a fact of each owner."""
    return {
        owner: (await house.app.memory.add(acting(house, owner), NewFact("Has a dog"))).fact.id
        for owner in OWNERS
    }


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
async def test_every_owner_is_met_once_and_in_order(count: int) -> None:
    store = MemoryStore(MemoryIndex())
    names = [f"{number:03}" for number in range(count)]
    for place, name in enumerate(names):
        if place % 2:
            await store.commit(name, [Put(INTENTS, ForgetIntent(id="i", at=0, state="open"))])
        if place % 3 != 1:
            await store.commit(name, [Put(STEPS, LogStep(id="s", at=0, change="added"))])
    expected = [name for place, name in enumerate(names) if place % 2 or place % 3 != 1]
    assert [owner async for owner in owners_of(store, STEPS, INTENTS)] == expected


async def test_a_forgetting_that_was_cut_short_is_finished_at_the_next_start_whoever_asked_for_it() -> None:
    ports = ports_of()
    async with open_house(ports=ports) as house:
        facts = await remembered(house)
        for owner in ("ann", "bob"):
            intent = ForgetIntent(id="cut short", at=0, state="open", facts=(facts[owner],))
            await ports.store.commit(owner, [Put(INTENTS, intent)])
    async with open_house(ports=ports) as house:
        for owner in OWNERS:
            assert await house.app.memory.count(acting(house, owner)) == int(owner == "local")
            assert not (await ports.store.scan(owner, Scan(INTENTS)))[0].items


async def test_what_is_too_old_expires_for_everybody() -> None:
    async with open_house(memory_retention_days=30) as house:
        await remembered(house)
        house.clock.advance(31 * 86_400)
        await house.app.housekeeping.tidy_all()
        for owner in OWNERS:
            assert await house.app.memory.count(acting(house, owner), {"state": "active"}) == 0


async def test_everybodys_items_get_their_vectors_once_there_is_a_model() -> None:
    embeddings = NoEmbeddings()
    ports = ports_of(embeddings=embeddings)
    async with open_house(ports=ports) as house:
        await remembered(house)
        embeddings.arrive()
        await house.app.background.ready_embedder()
        for owner in OWNERS:
            while await ports.index.missing_vectors(owner, embeddings.model, 1):
                await anyio.lowlevel.checkpoint()
