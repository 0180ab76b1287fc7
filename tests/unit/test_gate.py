"""The gate: what becomes of a new fact beside what is known already, and how that is taken back."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from bethink.clock import to_datetime, to_us
from bethink.engines.sqlite.store import open_database
from bethink.errors import BadInput
from bethink.memory import Fact, FactChange, NewFact, Source
from bethink.memory.facts import Doubt
from tests.facts import PARIS, ROME, TEA, active, found, the
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio

TOLD = Source(kind="conversation", id="talk", message="later")


async def say(
    house: House,
    content: str,
    message: str = "m",
    **more: Any,  # noqa: ANN401 - what a new fact has
) -> FactChange:
    source = Source(kind="conversation", id="talk", message=message)
    return await house.app.memory.add(house.me, NewFact(content, source=source, **more))


async def everything(house: House) -> dict[str, Fact]:
    page = await house.app.memory.list(house.me, limit=100)
    return {item.record.id: item.record for item in page.items}


def but_for_history(facts: dict[str, Fact]) -> dict[str, Fact]:
    """The facts as their owner sees them: `before` is what the last change was made to."""
    return {id: msgspec.structs.replace(fact, before=None) for id, fact in facts.items()}


@pytest.mark.requirement("C9", "U3")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Likes spicy food", "Does not like spicy food"),
        ("Has a meeting on Monday at 9am", "Has a meeting on Tuesday at 9am"),
        ("User's daughter is called Anna", "User's daughter is called Maria"),
        ("User's name is Alice", "User's dog's name is Alice"),
        ("User takes 5 mg", "User takes 10 mg"),
        ("她住在巴黎", "她住在柏林"),
    ],
)
async def test_what_is_near_and_says_something_else_stays_beside_it(one: str, other: str) -> None:
    async with open_house() as house:
        await house.app.memory.add_many(house.me, [NewFact(one), NewFact(other)])
        assert await active(house) == {one, other}
        await say(house, one)
        await say(house, other)
        assert await active(house) == {one, other}


@pytest.mark.requirement("C9")
async def test_a_restatement_in_fuller_words_is_one_fact_with_the_words_and_sources_of_both() -> None:
    async with open_house() as house:
        first = await say(house, "User lives in Paris.", "one", importance=0.4, topics=("home",))
        again = await say(house, "The user's home is in Paris", "two", importance=0.9)
        fuller = await say(house, "I live in Paris, France", "three", topics=("city",))
        fact = await the(house, first.fact.id)
        assert await active(house) == {"I live in Paris, France"}
        assert await found(house, "France") == ["I live in Paris, France"]
        assert (again.change, fuller.change, fuller.fact) == ("merged", "merged", fact)
        assert [(one.message, one.said) for one in fact.sources] == [
            ("one", "User lives in Paris."),
            ("two", "User lives in Paris."),
            ("three", None),
        ]
        assert (fact.importance, fact.topics) == (0.9, ("home", "city"))
        back = await house.app.memory.undo(house.me, fuller.undo or "")
        assert (back.fact.content, back.fact.topics) == ("User lives in Paris.", ("home",))
        assert [one.message for one in back.fact.sources] == ["one", "two"]
        assert await active(house) == {"User lives in Paris."}


async def test_a_new_value_of_what_has_one_supersedes_and_can_be_taken_back() -> None:
    async with open_house() as house:
        old = (await say(house, "User lives in Paris")).fact
        before = but_for_history(await everything(house))
        house.clock.advance(3_600)
        moved = await say(house, "User moved to Berlin in May 2024")
        was = await the(house, old.id)
        assert (moved.change, moved.undo) == ("superseded", f"superseded:{moved.fact.id}")
        assert moved.others == (was,)
        assert (was.state, was.superseded_by) == ("superseded", moved.fact.id)
        assert was.valid_until == moved.fact.valid_from == to_us(datetime(2024, 5, 1, tzinfo=UTC))
        assert [fact.content for fact in await house.app.memory.history(house.me, moved.fact.id)] == [
            "User lives in Paris",
            "User moved to Berlin in May 2024",
        ]
        back = await house.app.memory.undo(house.me, moved.undo or "")
        after = but_for_history(await everything(house))
        assert after.pop(moved.fact.id).state == "retracted"
        assert (back.change, after) == ("restored", before)
        again = await house.app.memory.undo(house.me, back.undo or "")
        assert (again.undo, await active(house)) == (moved.undo, {"User moved to Berlin in May 2024"})


async def test_what_is_over_supersedes_what_held() -> None:
    async with open_house() as house:
        smokes = (await say(house, "User smokes")).fact
        house.clock.advance(60)
        ended = await say(house, "User has stopped smoking")
        was = await the(house, smokes.id)
    assert (ended.change, was.state) == ("superseded", "superseded")
    assert was.valid_until == house.clock.now_us()


async def test_a_contradiction_puts_both_in_doubt_until_one_of_them_goes() -> None:
    async with open_house() as house:
        likes = (await say(house, "User likes olives")).fact
        hates = await say(house, "User hates olives")
        at = house.clock.now_us()
        assert hates.change == "added"
        assert hates.fact.doubts == (Doubt(kind="contradicts", fact=likes.id, at=at),)
        assert hates.others == (await the(house, likes.id),)
        assert hates.others[0].doubts == (Doubt(kind="contradicts", fact=hates.fact.id, at=at),)
        away = await house.app.memory.retract(house.me, likes.id)
        assert (await the(house, hates.fact.id)).doubts == ()
        await house.app.memory.undo(house.me, away.undo or "")
        assert [doubt.fact for doubt in (await the(house, hates.fact.id)).doubts] == [likes.id]
        await house.app.memory.undo(house.me, hates.undo or "")
        assert (await the(house, likes.id)).doubts == ()


async def test_forgetting_one_of_two_lifts_the_doubt_of_the_other() -> None:
    async with open_house() as house:
        likes = (await say(house, "User likes olives")).fact
        hates = (await say(house, "User hates olives")).fact
        await house.app.forgetting.forget(house.me, [likes.id])
        assert (await the(house, hates.id)).doubts == ()


async def test_what_rests_on_a_changed_fact_is_doubted_as_far_as_it_goes() -> None:
    async with open_house() as house:
        home = (await say(house, "User lives in Paris")).fact
        cafe = (await say(house, "The nearest cafe is Chez Lou", depends_on=(home.id,))).fact
        walk = (await say(house, "Coffee is two minutes away", depends_on=(cafe.id,))).fact
        tea = (await say(house, "User likes tea")).fact
        moved = await say(house, "User lives in Berlin")
        for fact in (cafe, walk):
            (doubt,) = (await the(house, fact.id)).doubts
            assert (doubt.kind, doubt.fact) == ("depends", home.id)
        assert (await the(house, tea.id)).doubts == ()
        await house.app.memory.undo(house.me, moved.undo or "")
        for fact in (cafe, walk):
            assert (await the(house, fact.id)).doubts == ()
        away = await house.app.memory.retract(house.me, home.id)
        assert (await the(house, walk.id)).doubts != ()
        late = await say(house, "The metro is near", depends_on=(home.id,))
        assert [doubt.kind for doubt in late.fact.doubts] == ["depends"]
        await house.app.memory.undo(house.me, away.undo or "")
        assert (await the(house, walk.id)).doubts == (await the(house, late.fact.id)).doubts == ()


async def test_what_rests_on_a_contradicted_fact_is_doubted_while_it_is() -> None:
    async with open_house() as house:
        car = (await say(house, "User's car is a Fiat")).fact
        tank = (await say(house, "A tank costs 40 euros", depends_on=(car.id,))).fact
        other = await say(house, "User's car is a Volvo")
        late = (await say(house, "The car takes diesel", depends_on=(car.id,))).fact
        for fact in (tank, late):
            assert [doubt.kind for doubt in (await the(house, fact.id)).doubts] == ["depends"]
        await house.app.memory.undo(house.me, other.undo or "")
        for fact in (tank, late):
            assert (await the(house, fact.id)).doubts == ()


async def test_a_fact_can_only_rest_on_what_is_there() -> None:
    async with open_house() as house:
        with pytest.raises(BadInput, match="no memory with that id"):
            await say(house, "The metro is near", depends_on=("nothing",))
        with pytest.raises(BadInput, match="at most 32"):
            await say(house, "The metro is near", depends_on=("nothing",) * 33)
        assert await everything(house) == {}


async def test_an_earlier_statement_that_comes_later_replaces_nothing() -> None:
    async with open_house() as house:
        now = house.clock.now_us()
        await say(house, "User lives in Berlin", at=now)
        late = await say(house, "User lives in Paris", at=now - 86_400_000_000)
        assert await active(house) == {"User lives in Berlin", "User lives in Paris"}
    assert [doubt.kind for doubt in late.fact.doubts] == ["contradicts"]


async def test_what_is_to_come_and_what_has_been_replace_nothing_yet() -> None:
    async with open_house() as house:
        now = house.clock.now_us()
        await say(house, "User works at Google")
        await say(house, "User works at Apple", valid_from=now + 86_400_000_000)
        assert len(await active(house)) == 2


async def test_facts_of_another_project_are_left_alone() -> None:
    async with open_house() as house:
        await say(house, "The deadline is Friday", project="ada")
        other = await say(house, "The deadline is Monday", project="eve")
        again = await say(house, "The deadline is Friday", project="eve")
        assert (other.fact.doubts, again.change) == ((), "added")


async def test_those_of_one_batch_see_each_other() -> None:
    async with open_house() as house:
        said = ["User lives in Paris", "User likes olives", "I live in Paris", "User hates olives"]
        results = await house.app.memory.add_many(
            house.me, [NewFact(content) for content in (*said, "User lives in Berlin")]
        )
        assert [result.change for result in results] == ["added", "added", "merged", "added", "superseded"]
        assert await active(house) == {"User likes olives", "User hates olives", "User lives in Berlin"}
        assert results[1].fact.doubts != ()
        await house.app.memory.undo(house.me, results[-1].undo or "")
        assert "User lives in Paris" in await active(house)


@pytest.mark.requirement("C5")
@pytest.mark.parametrize("other", ["Lives in Paris", "The user's home is in Paris", "Lives in Rome"])
async def test_two_processes_never_leave_two_facts_for_one_slot(tmp_path: Path, other: str) -> None:
    async with (
        open_database(tmp_path) as one,
        open_database(tmp_path) as two,
        open_house(ports=dataclasses.replace(ports_of(), store=one.store, index=one.index)) as first,
        open_house(ports=dataclasses.replace(ports_of(), store=two.store, index=two.index)) as second,
    ):
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(first.app.memory.add, first.me, PARIS)
                tasks.start_soon(second.app.memory.add, second.me, NewFact(other))
        assert len(await active(first)) == 1


async def test_a_word_that_is_not_the_owner_s_waits_for_review() -> None:
    async with open_house() as house:
        memory = house.app.memory
        page = NewFact("User lives in Berlin", source=Source(kind="tool", id="fetch_url"))
        await say(house, "User lives in Paris")
        waits = await memory.add(house.me, page)
        assert (waits.change, waits.fact.state, waits.fact.trust) == ("suggested", "suggested", "untrusted")
        assert [doubt.kind for doubt in waits.fact.doubts] == ["contradicts"]
        assert await active(house) == {"User lives in Paris"}
        assert "User lives in Berlin" not in await found(house, "Berlin")
        accepted = await memory.accept(house.me, waits.fact.id)
        assert (accepted.change, accepted.fact.trust) == ("superseded", "owner")
        assert await active(house) == {"User lives in Berlin"}
        back = await memory.undo(house.me, accepted.undo or "")
        assert (back.fact.state, back.fact.trust) == ("suggested", "untrusted")
        assert await active(house) == {"User lives in Paris"}


async def test_what_was_rejected_is_not_suggested_again_but_its_owner_may_say_it() -> None:
    async with open_house() as house:
        memory = house.app.memory
        suggestion = dataclasses.replace(TEA, suggested=True)
        first = await memory.add(house.me, suggestion)
        rejected = await memory.reject(house.me, first.fact.id)
        again = await memory.add(house.me, suggestion)
        assert (again.change, again.fact.id, again.undo) == ("retracted", first.fact.id, None)
        await memory.undo(house.me, rejected.undo or "")
        assert (await the(house, first.fact.id)).state == "suggested"
        await memory.reject(house.me, first.fact.id)
        assert (await memory.add(house.me, TEA)).change == "added"
        for call in (memory.accept, memory.reject):
            with pytest.raises(BadInput, match="No such suggestion"):
                await call(house.me, first.fact.id)


async def test_a_suggestion_that_the_owner_states_is_accepted_by_that() -> None:
    async with open_house() as house:
        first = await house.app.memory.add(house.me, dataclasses.replace(TEA, suggested=True))
        repeated = await house.app.memory.add(house.me, dataclasses.replace(TEA, suggested=True, source=TOLD))
        stated = await house.app.memory.add(house.me, TEA)
        assert (repeated.change, stated.change, stated.fact.id) == ("merged", "added", first.fact.id)
        assert await active(house) == {"Likes tea"}
        await house.app.memory.undo(house.me, stated.undo or "")
        assert (await the(house, first.fact.id)).state == "suggested"


async def test_accepting_what_is_known_already_adds_its_source_and_can_be_taken_back() -> None:
    async with open_house() as house:
        memory = house.app.memory
        waits = await memory.add(house.me, dataclasses.replace(TEA, suggested=True, source=TOLD))
        other = await memory.add(house.me, NewFact("User prefers tea"))
        await memory.edit(house.me, other.fact.id, NewFact("User likes tea"))
        accepted = await memory.accept(house.me, waits.fact.id)
        assert (accepted.change, len(accepted.fact.sources)) == ("merged", 2)
        assert (await the(house, waits.fact.id)).state == "merged"
        await memory.undo(house.me, accepted.undo or "")
        assert (await the(house, waits.fact.id)).state == "suggested"
        assert len((await the(house, accepted.fact.id)).sources) == 1


async def test_what_others_repeat_adds_itself_as_a_source_and_changes_nothing_else() -> None:
    async with open_house() as house:
        await house.app.memory.add(house.me, ROME)
        page = NewFact(
            "Lives in Rome, Italy",
            importance=1.0,
            topics=("hacked",),
            source=Source(kind="tool"),
            pinned=True,
        )
        merged = (await house.app.memory.add(house.me, page)).fact
    assert (merged.content, merged.importance, merged.topics, merged.pinned) == (
        "Lives in Rome",
        0.5,
        (),
        False,
    )
    assert [source.kind for source in merged.sources] == ["person", "tool"]


async def test_relative_dates_are_kept_with_the_days_that_they_meant() -> None:
    async with open_house() as house:
        at = to_us(datetime(2026, 11, 22, 12, tzinfo=UTC))
        trip = await say(house, "User has a trip next week", at=at)
        job = await say(house, "User works at Google since 2019", at=at)
        until = await say(house, "User rents a flat until June", at=at)
        habit = await say(house, "User plays tennis on Monday", at=at)
    assert trip.fact.content == "User has a trip next week (2026-11-23 to 2026-11-29)"
    assert job.fact.valid_from is not None
    assert to_datetime(job.fact.valid_from) == datetime(2019, 1, 1, tzinfo=UTC)
    assert until.fact.valid_until is not None
    assert to_datetime(until.fact.valid_until) == datetime(2027, 7, 1, tzinfo=UTC)
    assert habit.fact.content == "User plays tennis on Monday"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"at": 10**18}, "no calendar has|calendar has"),
        ({"valid_from": -(10**19)}, "^valid_from is .* calendar has"),
        ({"valid_until": 10**18}, "^valid_until is .* calendar has"),
        ({"valid_from": 5, "valid_until": 5}, "end before it begins"),
    ],
)
async def test_a_time_that_cannot_be_is_told(more: dict[str, Any], says: str) -> None:
    async with open_house() as house:
        with pytest.raises(BadInput, match=says):
            await say(house, "User likes tea", **more)
        kept = await say(house, "User was born on 31 February 1990")
    assert kept.fact.content == "User was born on 31 February 1990"


async def test_what_holds_until_a_day_or_held_once_is_still_recalled() -> None:
    async with open_house() as house:
        await say(house, "User rents a flat in Lyon until June")
        await say(house, "User lived in Rome from 2015 to 2018")
        assert set(await found(house, "Where did the user live, or rent a flat?")) == await active(house)
