"""Facts: what is kept of what was said, merged, refused, listed; and whose it is."""

from __future__ import annotations

import dataclasses
import re

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.clock import FakeClock
from bethink.errors import BadInput, TooLarge, UnknownId
from bethink.memory import FACTS, Fact, FactChange, NewFact, Source
from bethink.memory.facts import clean, digest
from bethink.principal import Principal
from tests.facts import PARIS, ROME, TEA, active, the
from tests.house import open_house

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("R43")
async def test_a_fact_is_kept_with_what_was_said_of_it() -> None:
    async with open_house() as house:
        said = Source(kind="conversation", id="talk", message="first")
        changed = await house.app.memory.add(
            house.me, NewFact("Lives in Paris", "personal_info", 0.9, ("home",), said, pinned=True)
        )
        fact = await the(house, changed.fact.id)
        now = house.clock.now_us()
    assert changed == FactChange(fact, "added", f"added:{fact.id}")
    assert fact == Fact(
        id=fact.id,
        content="Lives in Paris",
        digest=digest("Lives in Paris"),
        weight=1_900,
        created_at=now,
        category="personal_info",
        importance=0.9,
        topics=("home",),
        sources=(Source(kind="conversation", id="talk", message="first", at=now),),
        pinned=True,
        slot="|home",
    )


@pytest.mark.requirement("C2")
async def test_facts_of_one_moment_have_different_ids_and_their_time_beside_them() -> None:
    async with open_house() as house:
        changes = await house.app.memory.add_many(house.me, [NewFact(f"Fact {n}") for n in range(600)])
        assert len({change.fact.id for change in changes}) == 600
        assert {change.fact.created_at for change in changes} == {house.clock.now_us()}
        assert await house.app.memory.count(house.me) == 600


@pytest.mark.parametrize("again", ["Lives in Paris", "  lives in\nPARIS. ", "Lives in Paris!"])
async def test_the_same_words_are_merged_with_the_sources_of_both(again: str) -> None:
    async with open_house() as house:
        first = await house.app.memory.add(
            house.me, NewFact("Lives in Paris", importance=0.4, topics=("home",))
        )
        told = Source(kind="conversation", id="talk", message="second")
        house.clock.advance(60)
        second = await house.app.memory.add(
            house.me, NewFact(again, "personal_info", 0.9, ("city", "home"), told, pinned=True)
        )
        assert await house.app.memory.count(house.me) == 1
        fact = await the(house, first.fact.id)
    assert (second.change, second.fact) == ("merged", fact)
    assert (fact.content, fact.category, fact.importance, fact.weight) == (
        "Lives in Paris",
        "personal_info",
        0.9,
        1_900,
    )
    assert fact.topics == ("home", "city")
    assert [source.kind for source in fact.sources] == ["person", "conversation"]
    assert fact.created_at < house.clock.now_us()


async def test_the_same_source_is_kept_once_and_many_are_bounded() -> None:
    async with open_house() as house:
        for message in ["a", "a", *map(str, range(150))]:
            source = Source(kind="conversation", id="talk", message=message)
            await house.app.memory.add(house.me, dataclasses.replace(PARIS, source=source))
        (fact,) = (await house.app.memory.list(house.me)).items
    messages = [source.message for source in fact.record.sources]
    assert len(messages) == 100
    assert (messages[0], messages[1], messages[-1]) == ("a", "51", "149")


async def test_what_a_tool_said_becomes_the_owner_s_when_the_owner_says_it() -> None:
    async with open_house() as house:
        tool = dataclasses.replace(PARIS, source=Source(kind="tool", id="fetch"))
        assert (await house.app.memory.add(house.me, tool)).fact.trust == "untrusted"
        assert (await house.app.memory.add(house.me, PARIS)).fact.trust == "owner"
        assert (await house.app.memory.add(house.me, tool)).fact.trust == "owner"


@pytest.mark.requirement("C5")
async def test_fifty_additions_at_once_of_the_same_words_are_one_fact() -> None:
    async with open_house() as house:
        async with anyio.create_task_group() as tasks:
            for number in range(50):
                source = Source(kind="conversation", id="talk", message=str(number))
                fact = dataclasses.replace(PARIS, source=source)
                tasks.start_soon(house.app.memory.add, house.me, fact)
        (fact,) = (await house.app.memory.list(house.me)).items
    assert {source.message for source in fact.record.sources} == {str(number) for number in range(50)}


@pytest.mark.requirement("C5")
async def test_fifty_additions_at_once_of_different_words_are_all_kept() -> None:
    async with open_house() as house:
        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(house.app.memory.add, house.me, NewFact(f"Likes number {number}"))
        assert await active(house) == {f"Likes number {number}" for number in range(50)}


@pytest.mark.requirement("R207")
async def test_many_are_added_in_order_and_equal_ones_among_them_merged() -> None:
    async with open_house() as house:
        changes = await house.app.memory.add_many(house.me, [PARIS, TEA, NewFact("lives in paris")])
        assert [change.change for change in changes] == ["added", "added", "merged"]
        assert changes[0].fact.id == changes[2].fact.id
        assert await house.app.memory.count(house.me) == 2
        await house.app.memory.undo(house.me, changes[2].undo or "")
        assert await active(house) == {"Lives in Paris", "Likes tea"}


async def test_one_unfit_fact_among_many_keeps_all_of_them_out() -> None:
    async with open_house() as house:
        with pytest.raises(BadInput):
            await house.app.memory.add_many(house.me, [PARIS] * 300 + [NewFact(" ")])
        assert await house.app.memory.count(house.me) == 0


@pytest.mark.parametrize(
    ("fact", "error", "says"),
    [
        (NewFact(""), BadInput, "no content"),
        (NewFact(" \n\x00\u200b"), BadInput, "no content"),
        (NewFact("a" * 8_001), TooLarge, "8,001 characters; a fact has at most 8,000"),
        (NewFact("a" * 1_000_000), TooLarge, "1,000,000 characters"),
        (NewFact("a", importance=1.1), BadInput, "importance is 1.1"),
        (NewFact("a", importance=float("nan")), BadInput, "importance is nan"),
        (NewFact("a", topics=tuple(map(str, range(33)))), BadInput, "33 topics; a fact has at most 32"),
        (NewFact("a", topics=tuple(map(str, range(10_000)))), BadInput, "at most 32"),
        (NewFact("a", topics=("b" * 65,)), BadInput, "longer than 64"),
        (NewFact("a", topics=("b" * 1_000_000,)), BadInput, "at most 64"),
    ],
)
async def test_what_is_unfit_is_refused_with_a_sentence(
    fact: NewFact, error: type[BadInput], says: str
) -> None:
    async with open_house() as house:
        with pytest.raises(error, match=re.escape(says)):
            await house.app.memory.add(house.me, fact)
        assert await house.app.memory.count(house.me) == 0


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("a\x00b\x1bc", "a b c"),
        (" many \t\n  spaces ", "many spaces"),
        ("Family: 👩‍👩‍👧 🏳️‍🌈 \U0001fae9", "Family: 👩‍👩‍👧 🏳️‍🌈 \U0001fae9"),
        ("شكرا\u200e (thanks) שלום", "شكرا\u200e (thanks) שלום"),
        ("می‌خواهم", "می‌خواهم"),
        ("葛\U000e0100城", "葛\U000e0100城"),
        ("hidden\U000e0041\U000e0042 \u202eoverride\u202c", "hidden override"),
        ("vs\U000e0100\U000e0101", "vs"),
        ("half \ud83d pair", "half pair"),
        ("e\u0301", "é"),
        ("co\u00adoperate", "cooperate"),
        ("a" * 8_000, "a" * 8_000),
    ],
)
async def test_content_is_put_in_order_and_nothing_that_is_read_is_lost(said: str, kept: str) -> None:
    async with open_house() as house:
        changed = await house.app.memory.add(house.me, NewFact(said))
        assert (await the(house, changed.fact.id)).content == kept


@given(st.text())
def test_putting_in_order_twice_is_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters(categories=["L", "N", "M", "Z"])))
def test_equal_words_have_equal_digests_whatever_their_spaces(text: str) -> None:
    assert digest(text) == digest(f"  {clean(text).replace(' ', '   ')} .")


@pytest.mark.requirement("C3")
async def test_a_category_is_free_and_general_where_none_is_given() -> None:
    async with open_house() as house:
        kept = await house.app.memory.add_many(
            house.me, [NewFact("a"), NewFact("b", " Work Stuff "), NewFact("c", ""), NewFact("d", "x" * 99)]
        )
    assert [change.fact.category for change in kept] == ["general", "work_stuff", "general", "x" * 64]


@pytest.mark.requirement("R3")
async def test_nothing_of_one_owner_is_another_s() -> None:
    bob = Principal("bob")
    async with open_house() as house:
        memory = house.app.memory
        mine = (await memory.add(house.me, PARIS)).fact.id
        await memory.add_many(bob, [PARIS, ROME])
        assert await active(house) == {"Lives in Paris"}
        assert await memory.get(bob, [mine]) == (None,)
        assert {fact.id for fact, _ in await memory.search(bob, "Paris")}.isdisjoint({mine})
        for act in (
            memory.retract(bob, mine),
            memory.undo(bob, f"added:{mine}"),
            memory.edit(bob, mine, NewFact("Lives in Oslo")),
        ):
            with pytest.raises(UnknownId):
                await act
        assert not await house.app.forgetting.forget(bob, [mine])
        await house.app.forgetting.forget_all(bob)
        assert await active(house) == {"Lives in Paris"}
        assert await active(house, bob) == set()


async def test_the_profile_is_what_is_pinned_and_then_what_matters_most() -> None:
    async with open_house() as house:
        await house.app.memory.add_many(
            house.me,
            [
                NewFact("small", importance=0.79),
                NewFact("edge", importance=0.8),
                NewFact("great", importance=1.0),
                NewFact("pinned", importance=0.1, pinned=True),
            ],
        )
        assert [fact.content for fact in await house.app.memory.profile(house.me, 9)] == [
            "pinned",
            "great",
            "edge",
        ]
        assert [fact.content for fact in await house.app.memory.profile(house.me, 1)] == ["pinned"]
        assert await house.app.memory.profile(house.me, 0) == []


async def test_a_list_is_paged_newest_first_under_its_filters() -> None:
    async with open_house() as house:
        for number in range(7):
            house.clock.advance(1)
            category = "plans" if number % 2 else "goals"
            await house.app.memory.add(house.me, NewFact(f"Number {number}", category))
        first = await house.app.memory.list(house.me, limit=2, where={"category": "goals"})
        second = await house.app.memory.list(
            house.me, limit=2, cursor=first.cursor, where={"category": "goals"}
        )
        contents = [item.record.content for item in (*first.items, *second.items)]
        assert contents == ["Number 6", "Number 4", "Number 2", "Number 0"]
        assert second.cursor is None
        assert await house.app.memory.count(house.me, {"category": "plans"}) == 3


async def test_an_older_record_without_what_came_later_is_still_read() -> None:
    """The fields that this version added have defaults."""
    body = b'{"id":"1","content":"a","digest":"d","weight":500,"created_at":1}'
    assert FACTS.decode(body) == Fact(id="1", content="a", digest="d", weight=500, created_at=1)


async def test_a_fact_is_kept_with_its_time_and_with_what_it_rests_on() -> None:
    async with open_house() as house:
        paris = (await house.app.memory.add(house.me, PARIS)).fact
        cafe = NewFact(
            "The nearest cafe is Chez Lou", valid_from=1, valid_until=2, depends_on=(paris.id,), at=3
        )
        fact = (await house.app.memory.add(house.me, cafe)).fact
        assert await house.app.memory.count(house.me, {"derived": 1}) == 1
    assert (fact.valid_from, fact.valid_until, fact.sources[0].at) == (1, 2, 3)
    assert (fact.depends_on, fact.derived, paris.derived) == ((paris.id,), 1, None)


async def test_a_suggestion_waits_without_being_recalled_and_can_be_taken_back() -> None:
    async with open_house() as house:
        waits = await house.app.memory.add(house.me, dataclasses.replace(PARIS, suggested=True))
        assert (waits.change, waits.fact.state) == ("suggested", "suggested")
        assert await house.app.memory.search(house.me, "Paris") == []
        gone = await house.app.memory.undo(house.me, waits.undo or "")
    assert gone.change == "retracted"


async def test_a_change_by_a_clock_that_is_behind_follows_what_it_changes() -> None:
    async with (
        open_house() as house,
        open_house(ports=dataclasses.replace(house.app.ports, clock=FakeClock())) as late,
    ):
        house.clock.advance(30)
        kept = await house.app.memory.add(house.me, NewFact("Lives in Paris"))
        changed = await late.app.memory.edit(late.me, kept.fact.id, NewFact("Lives in Rome"))
        again = await late.app.memory.edit(late.me, changed.fact.id, NewFact("Lives in Oslo"))
        before = await the(house, kept.fact.id)
        assert before.valid_until == changed.fact.created_at
        assert before.created_at < changed.fact.created_at < again.fact.created_at
        log = await house.app.memory.log(house.me)
        assert [item.record.undo for item in log.items] == [again.undo, changed.undo, kept.undo]
