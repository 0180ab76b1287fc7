"""Forgetting: nothing of a fact is left in any record, index or journal."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bethink.agent.records import JOURNAL
from bethink.llm.scripted import ScriptedLlm
from bethink.memory import FACTS, NewFact
from bethink.store import Collection, Scan
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

SECRET = "zanzibar"


async def everything(house: House) -> str:
    """All that the store keeps of facts and journals, as text."""
    kept: list[Any] = []
    collections: list[Collection[Any]] = [FACTS, JOURNAL]
    for collection in collections:
        page = await house.app.ports.store.scan(house.me.owner, Scan(collection, limit=1_000))
        kept += [item.record for item in page.items]
    return msgspec.json.encode(kept).decode()


@pytest.mark.requirement("C22")
async def test_a_forgotten_fact_is_in_no_record_no_index_and_no_journal() -> None:
    async with open_house(ScriptedLlm(["I know."])) as house:
        gone = (await house.app.memory.add(house.me, NewFact(f"Dreams of {SECRET}", importance=0.9))).fact
        await house.app.memory.add(house.me, NewFact("Dreams of the sea"))
        await house.say("What do I dream of?")
        assert SECRET in await everything(house)
        assert await house.app.forgetting.forget(house.me, [gone.id, "no such id"]) == 1
        assert SECRET not in await everything(house)
        assert await house.app.memory.get(house.me, [gone.id]) == (None,)
        hits = await house.app.recall.search(house.me, f"dreams of {SECRET}", kinds={"fact"})
        assert [hit.text for hit in hits] == ["Dreams of the sea"]
        missing = await house.app.ports.index.missing_vectors(
            house.me.owner, house.app.ports.embeddings.model, 10
        )
        assert gone.id not in [id for id, _ in missing]


async def test_forgetting_what_is_not_there_changes_nothing() -> None:
    async with open_house(ScriptedLlm(["I know."])) as house:
        await house.app.memory.add(house.me, NewFact("Dreams of the sea", importance=0.9))
        await house.say("What do I dream of?")
        before = await everything(house)
        assert await house.app.forgetting.forget(house.me, ["no such id"]) == 0
        assert await house.app.forgetting.forget(house.me, []) == 0
        assert await everything(house) == before


@pytest.mark.requirement("R50")
async def test_forgetting_all_takes_active_superseded_and_retracted_facts() -> None:
    async with open_house() as house:
        memory = house.app.memory
        changes = await memory.add_many(house.me, [NewFact(f"Fact {n} of {SECRET}") for n in range(1_100)])
        await memory.retract(house.me, changes[0].fact.id)
        await memory.edit(house.me, changes[1].fact.id, NewFact("Corrected"))
        assert await house.app.forgetting.forget_all(house.me) == 1_101
        assert await memory.count(house.me) == 0
        assert await everything(house) == "[]"
        assert await house.app.recall.search(house.me, SECRET) == []
        assert await house.app.forgetting.forget_all(house.me) == 0
