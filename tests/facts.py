"""Short ways to look at facts, for tests of what changes them."""

from __future__ import annotations

from bethink.memory import Fact, NewFact
from bethink.principal import Principal
from tests.house import House

PARIS = NewFact("Lives in Paris")
ROME = NewFact("Lives in Rome")
TEA = NewFact("Likes tea")


async def active(house: House, me: Principal | None = None) -> set[str]:
    page = await house.app.memory.list(me or house.me, limit=100, where={"state": "active"})
    return {item.record.content for item in page.items}


async def found(house: House, question: str) -> list[str]:
    return [fact.content for fact, _ in await house.app.memory.search(house.me, question)]


async def the(house: House, id: str) -> Fact:
    (fact,) = await house.app.memory.get(house.me, [id])
    assert fact is not None
    return fact
