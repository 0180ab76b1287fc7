"""Facts: corrected, taken back, brought back, also while another process changes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from bethink.engines.sqlite.store import open_database
from bethink.errors import BadInput, Conflict, UnknownId
from bethink.memory import Fact, FactChange, Memory, NewFact, Source
from bethink.memory.facts import EarlierShape
from bethink.principal import Principal
from bethink.store import Change, Store
from tests.facts import PARIS, ROME, TEA, active, found, the
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("R51", "U3")
async def test_a_correction_supersedes_and_the_old_fact_keeps_its_time() -> None:
    async with open_house() as house:
        old = (await house.app.memory.add(house.me, PARIS)).fact
        house.clock.advance(3_600)
        changed = await house.app.memory.edit(house.me, old.id, ROME)
        was = await the(house, old.id)
        now = house.clock.now_us()
        assert await found(house, "Lives") == ["Lives in Rome"]
    assert (changed.change, changed.fact.supersedes) == ("superseded", (old.id,))
    assert (was.state, was.superseded_by, was.valid_until) == ("superseded", changed.fact.id, now)
    assert was.created_at == old.created_at


async def test_changing_only_importance_or_topics_keeps_the_fact_and_can_be_taken_back() -> None:
    async with open_house() as house:
        old = (await house.app.memory.add(house.me, NewFact("lives in paris", topics=("home",)))).fact
        changed = await house.app.memory.edit(
            house.me, old.id, NewFact("Lives in Paris.", "personal_info", 0.9, ("city",), pinned=True)
        )
        assert (changed.change, changed.fact.id, changed.fact.content) == (
            "merged",
            old.id,
            "Lives in Paris.",
        )
        assert [fact.id for fact in await house.app.memory.profile(house.me, 5)] == [old.id]
        assert await found(house, "city") == ["Lives in Paris."]
        back = await house.app.memory.undo(house.me, changed.undo or "")
        assert back.change == "restored"
        assert kept_of(await the(house, old.id)) == kept_of(old)
        assert await house.app.memory.profile(house.me, 5) == []
        again = await house.app.memory.undo(house.me, back.undo or "")
        assert kept_of(again.fact) == kept_of(changed.fact)


def kept_of(fact: Fact) -> tuple[object, ...]:
    return (fact.id, fact.weight, *(getattr(fact, name) for name in EarlierShape.__struct_fields__))


async def test_a_merge_is_taken_back_unless_the_fact_was_changed_since() -> None:
    async with open_house() as house:
        await house.app.memory.add(house.me, NewFact("Lives in Paris", importance=0.2))
        first = await house.app.memory.add(house.me, NewFact("Lives in Paris", importance=0.5))
        second = await house.app.memory.add(house.me, NewFact("Lives in Paris", importance=0.9))
        with pytest.raises(UnknownId, match="changed again since"):
            await house.app.memory.undo(house.me, first.undo or "")
        assert (await house.app.memory.undo(house.me, second.undo or "")).fact.importance == 0.5


async def test_a_correction_that_another_fact_says_already_is_refused() -> None:
    async with open_house() as house:
        paris = (await house.app.memory.add(house.me, PARIS)).fact.id
        await house.app.memory.add(house.me, TEA)
        with pytest.raises(BadInput, match="says exactly this already"):
            await house.app.memory.edit(house.me, paris, NewFact("likes TEA"))
        assert await active(house) == {"Lives in Paris", "Likes tea"}


@pytest.mark.parametrize("state", ["unknown", "retracted", "superseded", "forgotten"])
async def test_only_an_active_fact_can_be_changed(state: str) -> None:
    async with open_house() as house:
        memory = house.app.memory
        id = (await memory.add(house.me, PARIS)).fact.id
        match state:
            case "retracted":
                await memory.retract(house.me, id)
            case "superseded":
                await memory.edit(house.me, id, ROME)
            case "forgotten":
                await house.app.forgetting.forget(house.me, [id])
            case _:
                id = "no such id"
        before = await memory.count(house.me)
        acts: list[Callable[[], Awaitable[object]]] = [
            lambda: memory.retract(house.me, id),
            lambda: memory.edit(house.me, id, NewFact("Lives in Oslo")),
            lambda: memory.undo(house.me, f"added:{id}"),
        ]
        for act in acts:
            with pytest.raises(UnknownId, match="may have been retracted, corrected or forgotten"):
                await act()
        assert await memory.count(house.me) == before


@pytest.mark.requirement("R51")
async def test_a_retracted_fact_is_found_no_more_until_it_is_restored() -> None:
    async with open_house() as house:
        added = await house.app.memory.add(house.me, NewFact("Lives in Paris", importance=0.9))
        away = await house.app.memory.retract(house.me, added.fact.id)
        assert (away.change, await found(house, "Paris")) == ("retracted", [])
        assert await house.app.memory.profile(house.me, 5) == []
        back = await house.app.memory.undo(house.me, away.undo or "")
        assert (back.change, await found(house, "Paris")) == ("restored", ["Lives in Paris"])
        assert [fact.content for fact in await house.app.memory.profile(house.me, 5)] == ["Lives in Paris"]


async def test_undo_can_be_undone_for_ever() -> None:
    async with open_house() as house:
        change = await house.app.memory.add(house.me, PARIS)
        states: list[set[str]] = []
        for _ in range(4):
            change = await house.app.memory.undo(house.me, change.undo or "")
            states.append(await active(house))
    assert states == [set(), {"Lives in Paris"}, set(), {"Lives in Paris"}]


async def test_undoing_a_correction_and_undoing_that_goes_to_and_fro() -> None:
    async with open_house() as house:
        first = await house.app.memory.add(house.me, PARIS)
        change = await house.app.memory.edit(house.me, first.fact.id, ROME)
        rome = change.fact.id
        for expected in ("Lives in Paris", "Lives in Rome", "Lives in Paris", "Lives in Rome"):
            change = await house.app.memory.undo(house.me, change.undo or "")
            assert await active(house) == {expected}
            assert await found(house, "Lives") == [expected]
        paris = await the(house, first.fact.id)
        assert (paris.state, paris.superseded_by) == ("superseded", rome)


async def test_a_chain_of_corrections_is_taken_back_from_its_end_only() -> None:
    async with open_house() as house:
        memory = house.app.memory
        first = await memory.add(house.me, PARIS)
        second = await memory.edit(house.me, first.fact.id, ROME)
        third = await memory.edit(house.me, second.fact.id, NewFact("Lives in Oslo"))
        with pytest.raises(UnknownId):
            await memory.undo(house.me, second.undo or "")
        await memory.undo(house.me, third.undo or "")
        assert await active(house) == {"Lives in Rome"}
        await memory.undo(house.me, second.undo or "")
        assert await active(house) == {"Lives in Paris"}


async def test_nothing_is_brought_back_beside_a_fact_that_says_the_same() -> None:
    async with open_house() as house:
        memory = house.app.memory
        away = await memory.retract(house.me, (await memory.add(house.me, PARIS)).fact.id)
        corrected = await memory.edit(
            house.me, (await memory.add(house.me, TEA)).fact.id, NewFact("Likes mate")
        )
        await memory.add_many(house.me, [PARIS, TEA])
        for token in (away.undo, corrected.undo):
            with pytest.raises(BadInput, match="says exactly this already"):
                await memory.undo(house.me, token or "")
        assert await active(house) == {"Lives in Paris", "Likes tea", "Likes mate"}


async def test_the_token_of_a_forgotten_fact_is_void() -> None:
    async with open_house() as house:
        memory = house.app.memory
        added = await memory.add(house.me, PARIS)
        corrected = await memory.edit(house.me, added.fact.id, ROME)
        await house.app.forgetting.forget(house.me, [added.fact.id])
        with pytest.raises(UnknownId, match="gone"):
            await memory.undo(house.me, corrected.undo or "")
        assert await active(house) == {"Lives in Rome"}


@pytest.mark.parametrize(
    "token",
    ["", ":", "added", "added:", "unknown:1", "merged:1", "merged:1:x", "merged:1:²", "a:b:c:d", "added:1:2"],
)
async def test_what_is_no_token_is_told(token: str) -> None:
    async with open_house() as house:
        with pytest.raises(BadInput):
            await house.app.memory.undo(house.me, token)


class Contested:
    """A store into which another process commits just before each of our first `times` commits."""

    def __init__(self, store: Store, times: int) -> None:
        self.inner = store
        self.times = times
        self.meddle: Callable[[int], Awaitable[object]] | None = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        return getattr(self.inner, name)

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        if self.meddle is not None and self.times:
            self.times -= 1
            await self.meddle(self.times)
        await self.inner.commit(owner, changes)


def contest(house: House, store: Contested) -> None:
    """Let another process say again that the owner lives in Paris, just before we commit."""
    ours = house.app.memory
    other = Memory(store.inner, ours.index, ours.embeddings, ours.clock, ours.new_id, ours.find)

    async def say_again(number: int) -> None:
        source = Source(kind="import", id=str(number))
        await other.add(house.me, dataclasses.replace(PARIS, source=source))

    store.meddle = say_again


ACTS: dict[str, Callable[[Memory, Principal, str], Awaitable[FactChange]]] = {
    "superseded": lambda memory, me, id: memory.edit(me, id, ROME),
    "retracted": lambda memory, me, id: memory.retract(me, id),
    "merged": lambda memory, me, id: memory.add(me, PARIS),
}


@pytest.mark.requirement("C5")
@pytest.mark.parametrize("change", list(ACTS))
async def test_a_change_that_another_process_came_between_is_begun_again(change: str) -> None:
    ports = ports_of()
    store = Contested(ports.store, times=3)
    async with open_house(ports=dataclasses.replace(ports, store=store)) as house:
        id = (await house.app.memory.add(house.me, PARIS)).fact.id
        contest(house, store)
        changed = await ACTS[change](house.app.memory, house.me, id)
        fact = await the(house, id)
    assert changed.change == change
    assert {source.id for source in fact.sources} >= {"0", "1", "2"}


@pytest.mark.parametrize("change", list(ACTS))
async def test_a_change_that_never_gets_through_is_told_and_leaves_all_as_it_was(change: str) -> None:
    ports = ports_of()
    store = Contested(ports.store, times=1_000)
    async with open_house(ports=dataclasses.replace(ports, store=store)) as house:
        id = (await house.app.memory.add(house.me, PARIS)).fact.id
        contest(house, store)
        with pytest.raises(Conflict, match="Somebody else changed it"):
            await ACTS[change](house.app.memory, house.me, id)
        assert await active(house) == {"Lives in Paris"}


@pytest.mark.requirement("C5")
async def test_two_processes_that_say_the_same_over_and_over_lose_no_source(tmp_path: Path) -> None:
    async with (
        open_database(tmp_path) as one,
        open_database(tmp_path) as two,
        open_house(ports=dataclasses.replace(ports_of(), store=one.store, index=one.index)) as first,
        open_house(ports=dataclasses.replace(ports_of(), store=two.store, index=two.index)) as second,
    ):
        id = (await first.app.memory.add(first.me, PARIS)).fact.id
        async with anyio.create_task_group() as tasks:
            for number in range(40):
                house = second if number % 2 else first
                source = Source(kind="import", id=str(number))
                tasks.start_soon(house.app.memory.add, house.me, dataclasses.replace(PARIS, source=source))
        fact = await the(second, id)
        assert {source.id for source in fact.sources} == {None, *map(str, range(40))}
        await second.app.memory.edit(second.me, id, ROME)
        assert await found(first, "Lives") == ["Lives in Rome"]
