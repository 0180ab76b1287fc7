"""When a fact is true, where the same is said again, merged or corrected: what is over is not what is so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bethink.memory import Fact, FactChange, NewFact, Source
from bethink.memory.terms import dated
from tests.facts import the
from tests.house import House, open_house

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.anyio

DAY = 86_400_000_000
CABIN = "Rents a cabin in Bonn"
OVER = {"valid_until": -300}
AHEAD = {"valid_from": 300}
TILL_NEXT_YEAR = {"valid_until": 300}
SINCE_LAST_YEAR = {"valid_from": -300}
Days = dict[str, int]


def at(house: House, days: Mapping[str, int]) -> Days:
    """Times as so many days from now."""
    return {name: house.clock.now_us() + count * DAY for name, count in days.items()}


async def say(house: House, content: str, days: Mapping[str, int] | None = None) -> FactChange:
    return await house.app.memory.add(house.me, NewFact(content, **at(house, days or {})))  # pyright: ignore[reportArgumentType] - by name


@pytest.mark.parametrize("days", [OVER, AHEAD])
@pytest.mark.parametrize("again", [CABIN, f"The user currently {CABIN.lower()}", f"{CABIN} with Anna"])
async def test_what_is_over_or_yet_to_come_and_is_said_to_be_so_is_a_new_fact(days: Days, again: str) -> None:
    async with open_house() as house:
        known = await say(house, CABIN, days)
        new = await say(house, again)
        assert (new.change, new.fact.id != known.fact.id) == ("added", True)
        assert (new.fact.valid_from, new.fact.valid_until) == (None, None)
        assert await the(house, known.fact.id) == known.fact
        third = await say(house, again)
        assert (third.change, third.fact.id) == ("merged", new.fact.id)


@pytest.mark.parametrize("days", [TILL_NEXT_YEAR, SINCE_LAST_YEAR])
async def test_what_holds_and_is_said_again_keeps_its_dates(days: Days) -> None:
    async with open_house() as house:
        known = await say(house, CABIN, days)
        again = await say(house, CABIN)
        assert (again.change, again.fact.id) == ("merged", known.fact.id)
        assert (again.fact.valid_from, again.fact.valid_until) == (
            known.fact.valid_from,
            known.fact.valid_until,
        )


async def test_what_was_said_while_it_held_is_the_same_also_where_it_comes_later() -> None:
    async with open_house() as house:
        known = await say(house, CABIN, OVER)
        then = Source(kind="import", id="x", at=house.clock.now_us() - 400 * DAY)
        again = await house.app.memory.add(house.me, NewFact(CABIN, source=then))
        assert (again.change, again.fact.id) == ("merged", known.fact.id)
        assert again.fact.valid_until == known.fact.valid_until


async def test_what_begins_after_it_ended_is_another_fact() -> None:
    async with open_house() as house:
        await say(house, CABIN, OVER)
        again = await say(house, CABIN, {"valid_from": -10})
        assert (again.change, again.fact.valid_until) == ("added", None)


async def put_back(house: House, content: str, days: Mapping[str, int]) -> Fact:
    """A fact as an import brings it, past the gate."""
    fact = Fact(
        id=house.app.memory.new_id(),
        content=content,
        digest="",
        weight=0,
        created_at=house.clock.now_us(),
        **at(house, days),  # pyright: ignore[reportArgumentType] - by name
    )
    await house.app.memory.restore_many(house.me, [fact], source="x")
    return await the(house, fact.id)


@pytest.mark.parametrize(
    ("days", "other", "merges"),
    [
        (OVER, {}, 0),
        ({}, OVER, 0),
        (AHEAD, {}, 0),
        (OVER, {"valid_until": -299}, 0),
        (OVER, OVER, 1),
        (TILL_NEXT_YEAR, {}, 1),
        ({}, SINCE_LAST_YEAR, 1),
        ({}, {}, 1),
    ],
)
async def test_consolidation_ends_nothing_that_is_so(days: Days, other: Days, merges: int) -> None:
    async with open_house() as house:
        facts = [
            await put_back(house, CABIN, days),
            await put_back(house, f"The user currently {CABIN.lower()}", other),
        ]
        done = await house.app.memory.consolidate(house.me, threshold=0.01, share=1.0)
        assert len(done.merges) == merges
        if not merges:
            assert [await the(house, fact.id) for fact in facts] == facts
        else:
            (kept,) = (merge.kept for merge in done.merges)
            dates = at(house, {**days, **other})
            assert (kept.valid_from, kept.valid_until) == (dates.get("valid_from"), dates.get("valid_until"))


@pytest.mark.parametrize("days", [OVER, AHEAD, TILL_NEXT_YEAR, {"valid_from": -300, "valid_until": 300}])
async def test_correcting_the_words_keeps_the_dates(days: Days) -> None:
    async with open_house() as house:
        known = await say(house, "Rents a cabbin in Bonn", days)
        house.clock.advance(60)
        new = await house.app.memory.edit(house.me, known.fact.id, NewFact(CABIN), wrong=True)
        assert (new.change, new.fact.content) == ("corrected", CABIN)
        dates = known.fact.valid_from, known.fact.valid_until
        assert (new.fact.valid_from, new.fact.valid_until) == dates
        back = await house.app.memory.undo(house.me, new.undo or "")
        assert (back.fact.id, back.fact.valid_from, back.fact.valid_until) == (known.fact.id, *dates)


async def test_a_correction_with_dates_of_its_own_has_these() -> None:
    async with open_house() as house:
        known = await say(house, "Rents a cabbin in Bonn", {"valid_from": -300, "valid_until": -200})
        given = at(house, {"valid_until": 100})
        cabin = NewFact(CABIN, **given)  # pyright: ignore[reportArgumentType] - by name
        new = await house.app.memory.edit(house.me, known.fact.id, cabin, wrong=True)
        assert (new.fact.valid_from, new.fact.valid_until) == (known.fact.valid_from, given["valid_until"])
        # Dates that speak against what is known take its place.
        given = at(house, {"valid_from": 200})
        hut = NewFact("Rents a hut in Bonn", **given)  # pyright: ignore[reportArgumentType] - by name
        last = await house.app.memory.edit(house.me, new.fact.id, hut, wrong=True)
        assert (last.fact.valid_from, last.fact.valid_until) == (given["valid_from"], None)


def test_the_first_day_of_all_calendars_is_no_bound_where_the_owner_s_zone_has_it_alone() -> None:
    fact = NewFact("User's town stands since 0001-01-01")
    assert dated(fact, "Asia/Tokyo", 0).valid_from is None
    assert dated(fact, "UTC", 0).valid_from is not None
