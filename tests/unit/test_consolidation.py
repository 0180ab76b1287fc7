"""Merging duplicates among all facts: what goes, what stays, and how it comes back."""

from __future__ import annotations

import msgspec
import pytest

from bethink.errors import BadInput, UnknownId
from bethink.memory import ConsolidationReport, Fact, NewFact, Source
from bethink.memory.upkeep import is_due
from tests.facts import active, the
from tests.house import House, open_house
from tests.unit.test_portability import everything

pytestmark = pytest.mark.anyio

APART = (
    ("Likes spicy food", "Does not like spicy food"),
    ("Has a meeting on Monday at 9am", "Has a meeting on Tuesday at 9am"),
    ("Has a daughter called Anna", "Has a daughter called Maria"),
    ("My name is Rex", "My dog's name is Rex"),
    ("Ran 10 kilometres on 3 May 2024", "Ran 12 kilometres on 3 May 2024"),
)
TEA = ("Likes a cup of green tea after dinner", "The user likes a cup of green tea after dinner")
CAT = ("Has a black cat called Minka", "The user has a black cat called Minka")


async def put_back(house: House, *contents: str, **more: object) -> list[Fact]:
    """Facts as an import brings them, past the gate which would have merged them at once."""
    facts = [
        Fact(
            id=house.app.memory.new_id(),
            content=content,
            digest="",
            weight=0,
            created_at=house.clock.now_us() - 1_000 + place,
            sources=(Source(kind="conversation", id=f"c{place}", at=place),),
            **more,  # pyright: ignore[reportArgumentType] - by name
        )
        for place, content in enumerate(contents)
    ]
    assert set(await house.app.memory.restore_many(house.me, facts, source="x")) == {"restored"}
    return [await the(house, fact.id) for fact in facts]


async def consolidated(house: House, **how: float) -> ConsolidationReport:
    return await house.app.memory.consolidate(house.me, **{"share": 1.0, "threshold": 0.3, **how})  # pyright: ignore[reportArgumentType] - by name


def without_before(fact: Fact) -> Fact:
    return msgspec.structs.replace(fact, before=None)


@pytest.mark.requirement("R60", "R61", "P3d")
async def test_duplicates_are_merged_into_the_more_important() -> None:
    async with open_house() as house:
        (low,) = await put_back(house, "Likes green tea", importance=0.3, topics=("drink",))
        (high,) = await put_back(house, "The user likes green tea", importance=0.9, topics=("tea",))
        result = await consolidated(house)
        assert [(merge.kept.id, [fact.id for fact in merge.gone]) for merge in result.merges] == [
            (high.id, [low.id])
        ]
        now = await the(house, high.id)
        assert (now.importance, now.topics) == (0.9, ("tea", "drink"))
        assert {source.id for source in now.sources} == {"c0"}
        assert [source.said for source in now.sources] == [None, "Likes green tea"]
        gone = await the(house, low.id)
        assert (gone.state, gone.superseded_by) == ("merged", high.id)
        assert await active(house) == {high.content}
        found = await house.app.memory.search(house.me, "green tea")
        assert [fact.id for fact, _ in found] == [high.id]
        assert {fact.id for fact in await house.app.memory.history(house.me, high.id)} == {high.id, low.id}


@pytest.mark.requirement("C9")
@pytest.mark.parametrize("pair", APART)
async def test_what_only_sounds_alike_stays_apart(pair: tuple[str, str]) -> None:
    async with open_house() as house:
        await put_back(house, *pair)
        assert (await consolidated(house, threshold=0.01)).merges == ()
        assert await active(house) == set(pair)


async def test_the_one_that_says_more_stays() -> None:
    async with open_house() as house:
        await put_back(house, "Works at Initech", "Works at Initech as a baker")
        (merge,) = (await consolidated(house)).merges
        assert merge.kept.content == "Works at Initech as a baker"
        assert await active(house) == {"Works at Initech as a baker"}


async def test_a_preview_is_exactly_what_is_done_and_writes_nothing() -> None:
    async with open_house() as house:
        await put_back(
            house, "Likes tea", "The user likes tea", "Has a dog", "The user has a dog", "Lives in Rome"
        )
        before = list((await everything(house)).values())
        preview = await house.app.memory.consolidate(house.me, threshold=0.3, share=1, preview=True)
        assert (preview.gone, preview.undo, preview.facts) == (2, None, 5)
        assert [await the(house, fact.id) for fact in before] == before
        done = await consolidated(house)
        assert done.merges == preview.merges
        for merge in done.merges:
            assert await the(house, merge.kept.id) == merge.kept


@pytest.mark.requirement("C9")
async def test_all_of_it_is_taken_back_and_done_again() -> None:
    async with open_house() as house:
        await put_back(
            house,
            "Likes tea",
            "The user likes tea",
            "Has a dog",
            "The user has a dog",
            importance=0.4,
            topics=("x",),
        )
        before = await everything(house)
        done = await consolidated(house)
        assert done.undo is not None
        after = await active(house)
        back = await house.app.memory.undo(house.me, done.undo)
        assert (back.change, back.count) == ("restored", 4)
        for id, fact in before.items():
            assert without_before(await the(house, id)) == fact
        assert len(await house.app.memory.search(house.me, "tea")) == 4
        with pytest.raises(UnknownId, match="undone already"):
            await house.app.memory.undo(house.me, done.undo)
        assert back.undo is not None
        await house.app.memory.undo(house.me, back.undo)
        assert await active(house) == after


async def test_what_was_changed_since_stays_as_it_is_when_the_rest_is_taken_back() -> None:
    async with open_house() as house:
        tea, *_ = await put_back(house, "Likes tea", "The user likes tea", "Has a dog", "The user has a dog")
        done = await consolidated(house)
        new = await house.app.memory.edit(house.me, tea.id, NewFact("Likes coffee"))
        await house.app.memory.undo(house.me, done.undo or "")
        assert await active(house) == {
            "Likes coffee",
            "The user likes tea",
            "Has a dog",
            "The user has a dog",
        }
        assert (await the(house, tea.id)).superseded_by == new.fact.id


async def test_no_more_than_its_share_goes_at_once() -> None:
    async with open_house() as house:
        same = [
            f"{'The user knows' if mark else 'Knows'} the number {n}" for n in range(10) for mark in (0, 1)
        ]
        await put_back(house, *same)
        first = await house.app.memory.consolidate(house.me, threshold=0.3)
        assert (first.facts, first.gone, first.waiting) == (20, 4, 6)
        second = await house.app.memory.consolidate(house.me, threshold=0.3)
        assert (second.facts, second.gone, second.waiting) == (16, 3, 3)
        rest = await consolidated(house)
        assert (rest.gone, rest.waiting) == (3, 0)
        assert len(await active(house)) == 10


@pytest.mark.requirement("R59", "U4")
async def test_it_is_due_with_more_than_ten_facts_once_a_day() -> None:
    async with open_house() as house:
        memory = house.app.memory
        await put_back(house, *(f"Knows the number {n}" for n in range(10)))
        assert not await is_due(memory.writing, house.me)
        await memory.add(house.me, NewFact("Lives in Paris"))
        assert await is_due(memory.writing, house.me)
        await memory.consolidate(house.me)
        assert await memory.consolidated_at(house.me) == house.clock.now_us()
        house.clock.advance(24 * 3600)
        assert not await is_due(memory.writing, house.me)
        house.clock.advance(1)
        assert await is_due(memory.writing, house.me)


async def test_what_others_rest_on_what_is_in_doubt_and_other_projects_are_left() -> None:
    async with open_house() as house:
        (base,) = await put_back(house, "Lives in Rome", importance=0.1)
        (twin,) = await put_back(house, "The user lives in Rome", importance=0.9)
        await house.app.memory.add(house.me, NewFact("Takes the metro to work", depends_on=(base.id,)))
        await put_back(house, "Likes tea", project="a")
        await put_back(house, "The user likes tea", project="b")
        await put_back(house, "Was in Oslo", valid_from=1)
        await put_back(house, "The user was in Oslo", valid_from=2)
        assert (await consolidated(house)).merges == ()
        assert {base.content, twin.content} <= await active(house)


async def test_a_tools_word_never_takes_in_the_owners() -> None:
    async with open_house() as house:
        await put_back(house, "Works at Initech")
        await put_back(house, "Works at Initech as a spy", trust="untrusted")
        assert (await consolidated(house)).merges == ()
        await put_back(house, "The user works at Initech", trust="untrusted", importance=1.0)
        (merge,) = (await consolidated(house)).merges
        assert (merge.kept.content, merge.kept.trust) == ("Works at Initech", "owner")


@pytest.mark.parametrize(
    "how", [{"threshold": 0}, {"threshold": 1.5}, {"share": 0}, {"share": -1}, {"share": 2}]
)
async def test_numbers_that_make_no_sense_are_bad_input(how: dict[str, float]) -> None:
    async with open_house() as house:
        with pytest.raises(BadInput):
            await house.app.memory.consolidate(house.me, **how)  # pyright: ignore[reportArgumentType] - by name


async def test_what_an_import_added_is_taken_back_as_one() -> None:
    async with open_house() as house:
        memory = house.app.memory
        await memory.add(house.me, NewFact("Likes tea", importance=0.2))
        source = Source(kind="import", id="file")
        await memory.add_many(
            house.me,
            [NewFact(text, importance=0.7, source=source) for text in ("Has a dog", "likes tea", "Is tall")],
        )
        kept = await put_back(house, "Speaks Latin", state="superseded")
        await memory.undo(house.me, "import:x")
        assert (await the(house, kept[0].id)).state == "retracted"
        back = await memory.undo(house.me, "import:file")
        assert back.count == 3
        assert await active(house) == {"Likes tea"}
        ((tea, _),) = await memory.search(house.me, "tea")
        assert (tea.importance, [one.kind for one in tea.sources]) == (0.2, ["person"])
        await memory.undo(house.me, back.undo or "")
        assert await active(house) == {"Likes tea", "Has a dog", "Is tall"}


async def test_the_log_tells_every_change_with_its_token() -> None:
    async with open_house() as house:
        memory = house.app.memory
        added = await memory.add(house.me, NewFact("Lives in Rome"))
        house.clock.advance(1)
        edited = await memory.edit(house.me, added.fact.id, NewFact("Lives in Paris"))
        house.clock.advance(1)
        await memory.retract(house.me, edited.fact.id)
        page = await memory.log(house.me, limit=2)
        assert [item.record.change for item in page.items] == ["retracted", "superseded"]
        assert page.items[0].record.undo == f"retracted:{edited.fact.id}"
        rest = await memory.log(house.me, cursor=page.cursor)
        assert [(item.record.change, item.record.facts[0].id) for item in rest.items] == [
            ("added", added.fact.id)
        ]
