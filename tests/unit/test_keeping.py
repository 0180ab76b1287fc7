"""The memory looked after: health, numbers, what expires, and what is done in the background."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bethink.engines.memory import MemoryBus, MemoryHub
from bethink.errors import StorageError
from bethink.feature import RetentionRule
from bethink.memory import NewFact, Source
from bethink.ports import Ports
from bethink.principal import Principal
from bethink.settings import Settings
from tests.facts import active, the
from tests.fakes import NoEmbeddings
from tests.house import House, open_house, ports_of
from tests.unit.test_consolidation import CAT, TEA, put_back

pytestmark = pytest.mark.anyio

DAY_S = 86_400


async def troubles(house: House) -> dict[str, int]:
    return {one.trouble: one.count for one in await house.app.features.check(house.me)}


async def test_a_memory_without_trouble_is_well() -> None:
    async with open_house() as house:
        assert await house.app.features.check(house.me) == []
        await house.app.memory.add(house.me, NewFact("Likes tea"))
        assert await house.app.features.check(house.me) == []


async def test_each_trouble_is_found_with_examples_and_what_mends_it() -> None:
    async with open_house() as house:
        memory = house.app.memory
        await put_back(house, *TEA)
        home = await memory.add(house.me, NewFact("The office is in Rome"))
        await memory.add(house.me, NewFact("Takes the metro", depends_on=(home.fact.id,)))
        await memory.retract(house.me, home.fact.id)
        await memory.add(house.me, NewFact("Rents a car", valid_until=house.clock.now_us() + 1))
        await put_back(house, "The password for the router is hunter22!x")
        await memory.add(house.me, NewFact("May like jam", suggested=True))
        said = Source(kind="conversation", id=await house.new(), message="m")
        await memory.add(house.me, NewFact("Has a dog", source=said))
        house.clock.advance(1)
        assert await troubles(house) == {
            "duplicates": 1,
            "unsure": 1,
            "stale": 1,
            "secrets": 1,
            # Facts put back name conversations that are not here.
            "orphans": 3,
            "suggested": 1,
        }
        await house.app.runs.delete_conversation(house.me, said.id or "")
        await house.app.forgetting.forget(house.me, [home.fact.id])
        found = {one.trouble: one for one in await house.app.features.check(house.me)}
        assert (found["orphans"].count, found["broken_links"].count) == (4, 1)
        assert found["duplicates"].mend.startswith("bethink memory consolidate")
        for finding in found.values():
            assert len(await memory.get(house.me, finding.examples)) == finding.count


async def test_contradictions_are_found_and_listed() -> None:
    async with open_house() as house:
        memory = house.app.memory
        await memory.add(house.me, NewFact("Likes spicy food"))
        await memory.add(house.me, NewFact("Does not like spicy food"))
        assert (await troubles(house)).get("contradictions") == 2
        page = await memory.list(house.me, where={"doubted": 1})
        assert {item.record.content for item in page.items} == {
            "Likes spicy food",
            "Does not like spicy food",
        }


async def test_missing_vectors_are_counted() -> None:
    async with open_house(ports=ports_of(embeddings=NoEmbeddings())) as house:
        await house.app.memory.add(house.me, NewFact("Likes tea"))
        assert await troubles(house) == {"vectors": 1}


@pytest.mark.requirement("U3")
async def test_the_numbers_count_what_there_is() -> None:
    async with open_house() as house:
        memory = house.app.memory
        old = await memory.add(house.me, NewFact("Lives in Rome", "personal_info", pinned=True))
        house.clock.advance(40 * DAY_S)
        await memory.edit(house.me, old.fact.id, NewFact("Lives in Paris", "personal_info", pinned=True))
        await memory.add(house.me, NewFact("Likes tea", source=Source(kind="import", id="x")))
        numbers = await house.app.statistics.numbers(house.me, "memory")
        assert (numbers["facts"], numbers["pinned"], numbers["doubted"]) == (3, 1, 0)
        assert numbers["states"] == {"active": 2, "superseded": 1}
        assert numbers["categories"] == {"personal_info": 1, "general": 1}
        assert numbers["sources"] == {"person": 2, "import": 1}
        assert numbers["months"] == {"2026-03": 2}
        assert numbers["warning"] is None


async def aged(house: House) -> None:
    """A year ago: a trifle, a trifle that was said again since, what matters, and what is pinned."""
    memory = house.app.memory
    for fact in (
        NewFact("Had soup"),
        NewFact("Has a dog"),
        NewFact("Has a son", importance=0.8),
        NewFact("Is called Ann", pinned=True),
    ):
        await memory.add(house.me, fact)
    house.clock.advance(365 * DAY_S)
    await memory.add(house.me, NewFact("has a dog", source=Source(kind="conversation", id="c", message="m")))


async def test_nothing_expires_unless_it_is_set() -> None:
    async with open_house() as house:
        await aged(house)
        await house.app.housekeeping.tidy(house.me)
        assert len(await active(house)) == 4


@pytest.mark.requirement("R207")
async def test_what_is_old_and_matters_little_is_retracted_and_comes_back() -> None:
    async with open_house(memory_retention_days=30) as house:
        await aged(house)
        assert (await troubles(house))["expiring"] == 1
        await house.app.housekeeping.tidy(house.me)
        assert await active(house) == {"Has a dog", "Has a son", "Is called Ann"}
        step = (await house.app.memory.log(house.me)).items[0].record
        assert (step.change, len(step.facts)) == ("expired", 1)
        await house.app.memory.undo(house.me, step.undo or "")
        assert "Had soup" in await active(house)


@pytest.mark.requirement("R207")
async def test_what_expired_is_forgotten_after_a_further_time() -> None:
    async with open_house(memory_retention_days=30, memory_retention_forget_days=10) as house:
        await aged(house)
        await house.app.housekeeping.tidy(house.me)
        ((touched,),) = [item.record.facts for item in (await house.app.memory.log(house.me, limit=1)).items]
        house.clock.advance(9 * DAY_S)
        await house.app.housekeeping.tidy(house.me)
        assert (await the(house, touched.id)).state == "retracted"
        house.clock.advance(2 * DAY_S)
        await house.app.housekeeping.tidy(house.me)
        assert await house.app.memory.get(house.me, [touched.id]) == (None,)


async def test_what_was_brought_back_is_not_forgotten() -> None:
    async with open_house(memory_retention_days=30, memory_retention_forget_days=10) as house:
        await aged(house)
        await house.app.housekeeping.tidy(house.me)
        step = (await house.app.memory.log(house.me)).items[0].record
        await house.app.memory.undo(house.me, step.undo or "")
        await house.app.memory.retract(house.me, step.facts[0].id)
        house.clock.advance(20 * DAY_S)
        await house.app.housekeeping.tidy(house.me)
        assert (await house.app.memory.get(house.me, [step.facts[0].id]))[0] is not None


@pytest.mark.requirement("R59", "C4", "U4")
async def test_duplicates_are_merged_in_the_background_and_never_while_storing() -> None:
    async with open_house() as house:
        await put_back(house, *(f"Knows the number {n}" for n in range(12)), *TEA)
        await house.app.memory.add(house.me, NewFact("Has a dog"))
        assert len(await active(house)) == 15, "storing merges nothing but what is stored"
        await house.app.housekeeping.tidy(house.me)
        assert len(await active(house)) == 14
        await put_back(house, *CAT)
        await house.app.housekeeping.tidy(house.me)
        assert len(await active(house)) == 16, "once a day"
        house.clock.advance(DAY_S + 1)
        await house.app.housekeeping.tidy(house.me)
        assert len(await active(house)) == 15


async def test_merging_in_the_background_can_be_switched_off() -> None:
    async with open_house(memory_consolidation=False) as house:
        await put_back(house, *(f"Knows the number {n}" for n in range(12)), *TEA)
        await house.app.housekeeping.tidy(house.me)
        assert len(await active(house)) == 14


async def test_the_log_of_changes_goes_back_a_year() -> None:
    async with open_house() as house:
        old = (await house.app.memory.add(house.me, NewFact("Has a dog"))).fact
        house.clock.advance(360 * DAY_S)
        await house.app.memory.edit(house.me, old.id, NewFact("Has two dogs"))
        house.clock.advance(6 * DAY_S)
        await house.app.housekeeping.tidy(house.me)
        steps = [item.record.change for item in (await house.app.memory.log(house.me)).items]
        assert steps == ["superseded"]
        assert len(await house.app.memory.history(house.me, old.id)) == 2


async def test_one_process_tidies_at_a_time() -> None:
    async with open_house() as house:
        await put_back(house, *(f"Knows the number {n}" for n in range(12)), *TEA)
        other = Other(house.app.ports)
        tidying = replace(house.app.housekeeping, bus=other)
        await tidying.tidy(house.me)
        assert len(await active(house)) == 14
        assert other.asked == [f"tidying:{house.me.owner}"]


class Other:
    """A bus on which another process holds every lease."""

    def __init__(self, ports: Ports) -> None:
        self.process = "other"
        self.publish = ports.bus.publish
        self.subscribe = ports.bus.subscribe
        self.is_alive = ports.bus.is_alive
        self.asked: list[str] = []

    async def claim(self, name: str, ttl_s: float) -> bool:
        self.asked.append(name)
        return False

    async def release(self, name: str) -> None:
        raise AssertionError(name)


async def test_the_background_goes_on_after_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    import anyio

    async with open_house() as house:
        failed = anyio.Event()

        class Broken(Other):
            async def claim(self, name: str, ttl_s: float) -> bool:
                failed.set()
                raise ValueError(name)

        tidying = replace(house.app.housekeeping, bus=Broken(house.app.ports))
        await house.app.memory.add(house.me, NewFact("Has a dog"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: tidying.keep_tidy(first_s=0))
            await failed.wait()
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert "not put in order" in caplog.text


def test_the_settings_of_expiry_are_checked() -> None:
    assert Settings().memory_retention_days is None
    with pytest.raises(ValueError, match="memory_retention_days"):
        Settings(memory_retention_days=0)


async def test_however_long_it_takes_nobody_else_begins_it() -> None:
    ports, hub = ports_of(), MemoryHub()
    first = replace(ports, bus=MemoryBus(hub, clock=ports.clock))
    other = replace(ports, bus=MemoryBus(hub, clock=ports.clock))
    begun = list[str]()

    async with open_house(ports=first) as house, open_house(ports=other) as beside:

        async def slow(principal: Principal) -> int:
            begun.append(principal.owner)
            house.clock.advance(1_000)
            await behind.tidy(beside.me)
            return 0

        async def again(principal: Principal) -> int:
            begun.append(principal.owner)
            return 0

        at_first = replace(house.app.housekeeping, retention=[RetentionRule(of=(), log="", drop=slow)])
        behind = replace(beside.app.housekeeping, retention=[RetentionRule(of=(), log="", drop=again)])
        await at_first.tidy(house.me)
        assert len(begun) == 1
        await behind.tidy(beside.me)
        assert len(begun) == 2


async def test_what_one_feature_cannot_let_go_keeps_no_other_from_it() -> None:
    done = list[str]()

    async def fails(_: Principal) -> int:
        raise StorageError("The disk is full.")

    async def works(principal: Principal) -> int:
        done.append(principal.owner)
        return 0

    rules = [RetentionRule(of=(), log="", drop=drop) for drop in (fails, works)]
    async with open_house() as house:
        with pytest.raises(StorageError, match="disk is full"):
            await replace(house.app.housekeeping, retention=rules).tidy(house.me)
        assert done == [house.me.owner]
        await house.app.housekeeping.tidy(house.me)
