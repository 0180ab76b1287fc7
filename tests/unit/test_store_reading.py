"""What a store holds is read to its end, page by page, as it is when a page is asked for."""

from __future__ import annotations

import pytest

from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.memory.facts import STEPS, LogStep
from bethink.store import Delete, Put, Scan, items_of, pages_of, records_of

pytestmark = pytest.mark.anyio


async def stored(count: int) -> MemoryStore:
    store = MemoryStore(MemoryIndex())
    steps = [Put(STEPS, LogStep(id=f"{number:03}", at=-number, change="added")) for number in range(count)]
    await store.commit("ann", steps)
    return store


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 25])
async def test_every_record_is_met_once_and_in_the_order_of_the_scan(count: int) -> None:
    store, scan = await stored(count), Scan(STEPS, order="at", limit=10)
    expected = [f"{number:03}" for number in reversed(range(count))]
    assert [one.id async for one in records_of(store, "ann", scan)] == expected
    assert [(one.record.id, one.version) async for one in items_of(store, "ann", scan)] == [
        (id, 1) for id in expected
    ]
    assert [item.record.id async for page in pages_of(store, "ann", scan) for item in page] == expected
    assert [one async for one in records_of(store, "bob", scan)] == []


async def test_what_goes_while_it_is_read_is_not_met_on_a_later_page() -> None:
    store, met = await stored(25), list[str]()
    async for one in records_of(store, "ann", Scan(STEPS, limit=10)):
        met.append(one.id)
        await store.commit("ann", [Delete(STEPS, one.id), Delete(STEPS, "015")])
    assert met == [f"{number:03}" for number in range(25) if number != 15]
