"""What its author says of a new fact and others: it repeats, replaces or corrects them; undo of each."""

from __future__ import annotations

import pytest

from bethink.errors import BadInput
from bethink.memory import NewFact, Source
from tests.facts import active, found, the
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

DAY_S = 86_400


async def told(house: House, content: str) -> str:
    return (await house.app.memory.add(house.me, NewFact(content))).fact.id


@pytest.mark.requirement("U3")
async def test_what_is_replaced_was_true_until_then_and_what_is_corrected_never_was() -> None:
    async with open_house() as house:
        memory = house.app.memory
        golf = await told(house, "User drives a Golf")
        born = await told(house, "User was born in 1988")
        house.clock.advance(30 * DAY_S)
        changed = await memory.add(house.me, NewFact("User goes by bicycle", replaces=(golf,)))
        corrected = await memory.add(house.me, NewFact("User was born in 1989", corrects=(born,)))
        past, wrong = await the(house, golf), await the(house, born)
        assert (changed.change, past.state, past.valid_until) == (
            "superseded",
            "superseded",
            house.clock.now_us(),
        )
        assert (corrected.change, wrong.state, wrong.valid_until) == ("corrected", "corrected", None)
        assert (past.superseded_by, wrong.superseded_by) == (changed.fact.id, corrected.fact.id)
        assert (changed.fact.supersedes, corrected.fact.corrects) == ((golf,), (born,))
        assert await active(house) == {"User goes by bicycle", "User was born in 1989"}
        answers = await found(house, "In which year was the user born?")
        assert (answers[0], "User was born in 1988" in answers) == ("User was born in 1989", False)
        for one, id in ((changed, golf), (corrected, born)):
            back = await memory.undo(house.me, one.undo or "")
            assert (back.fact.id, back.fact.state, back.fact.valid_until) == (id, "active", None)
        again = await memory.undo(house.me, f"retracted:{corrected.fact.id}")
        assert (again.change, (await the(house, born)).state) == ("restored", "corrected")


async def test_what_is_repeated_gains_a_source_and_no_second_fact_stays() -> None:
    async with open_house() as house:
        memory = house.app.memory
        first = await told(house, "User has a dog, Rex")
        twice = await told(house, "A terrier called Rex belongs to the user")
        again = Source(kind="conversation", id="talk", message="third")
        new = NewFact("User owns the terrier Rex", topics=("pets",), source=again, repeats=(first, twice))
        merged = await memory.add(house.me, new)
        assert (merged.change, merged.fact.id, merged.fact.topics) == ("merged", first, ("pets",))
        assert await active(house) == {"User has a dog, Rex"}
        assert {source.said for source in merged.fact.sources} >= {
            "User owns the terrier Rex",
            "A terrier called Rex belongs to the user",
        }
        back = await memory.undo(house.me, merged.undo or "")
        assert back.count == 2
        assert await active(house) == {"User has a dog, Rex", "A terrier called Rex belongs to the user"}
        assert len((await the(house, first)).sources) == 1


async def test_what_was_said_already_can_still_take_the_place_of_another_and_give_it_back() -> None:
    async with open_house() as house:
        memory = house.app.memory
        old = await told(house, "User works at Acme")
        new = await told(house, "User earns a living with Globex")
        changed = await memory.add(house.me, NewFact("User earns a living with Globex", replaces=(old,)))
        assert (changed.change, changed.fact.id, changed.fact.supersedes) == ("superseded", new, (old,))
        assert await active(house) == {"User earns a living with Globex"}
        await memory.undo(house.me, changed.undo or "")
        assert await active(house) == {"User earns a living with Globex", "User works at Acme"}
        assert (await the(house, new)).supersedes == ()


async def test_a_change_that_never_happened_gives_back_what_it_had_replaced() -> None:
    async with open_house() as house:
        memory = house.app.memory
        graz = await told(house, "User lives in Graz")
        linz = (await memory.add(house.me, NewFact("User lives in Linz", replaces=(graz,)))).fact.id
        house.clock.advance(DAY_S)
        back = await memory.add(house.me, NewFact("User lives in Graz", corrects=(linz,)))
        assert (back.change, back.fact.id, back.fact.valid_until) == ("corrected", graz, None)
        assert await active(house) == {"User lives in Graz"}
        await memory.undo(house.me, back.undo or "")
        assert await active(house) == {"User lives in Linz"}
        assert (await the(house, graz)).superseded_by == linz


async def test_what_is_past_can_be_corrected_and_stays_past() -> None:
    async with open_house() as house:
        memory = house.app.memory
        graz = await told(house, "User lives in Graz")
        house.clock.advance(DAY_S)
        linz = (await memory.add(house.me, NewFact("User lives in Linz", replaces=(graz,)))).fact.id
        until = (await the(house, graz)).valid_until
        gmunden = await memory.add(house.me, NewFact("User's home was Gmunden", corrects=(graz,)))
        assert (gmunden.change, gmunden.fact.valid_until) == ("corrected", until)
        assert (await the(house, linz)).state == "active"
        await memory.undo(house.me, gmunden.undo or "")
        was = await the(house, graz)
        assert (was.state, was.superseded_by) == ("superseded", linz)


async def test_what_will_change_holds_until_then() -> None:
    async with open_house() as house:
        memory, day = house.app.memory, 20 * DAY_S * 1_000_000
        old = await told(house, "User works at Acme")
        begins = house.clock.now_us() + day
        new = await memory.add(
            house.me, NewFact("User will be with Globex", replaces=(old,), valid_from=begins)
        )
        was = await the(house, old)
        assert (was.state, was.valid_until) == ("active", begins)
        await memory.undo(house.me, new.undo or "")
        assert (await the(house, old)).valid_until is None
        assert await active(house) == {"User works at Acme"}


@pytest.mark.parametrize("link", ["repeats", "replaces", "corrects", "depends_on"])
async def test_ids_that_are_not_there_or_another_s_lose_nothing(link: str) -> None:
    async with open_house() as house:
        memory = house.app.memory
        mine = await told(house, "User works at Acme")
        other = house.me.__class__("somebody")
        theirs = (await memory.add(other, NewFact("User works at Acme"))).fact.id
        for id in ("m99", theirs):
            with pytest.raises(BadInput, match=f"{link} names .*no memory with that id"):
                await memory.add(house.me, NewFact("User works at Globex", **{link: (id,)}))  # pyright: ignore[reportArgumentType] - by name
        await memory.retract(house.me, mine)
        if link != "depends_on":
            with pytest.raises(BadInput, match="no longer in use"):
                await memory.add(house.me, NewFact("User works at Globex", **{link: (mine,)}))  # pyright: ignore[reportArgumentType] - by name
        assert await active(house) == set()
        assert (await memory.get(other, [theirs]))[0] is not None


async def test_a_memory_has_one_part_only_and_rests_on_no_ring() -> None:
    async with open_house() as house:
        memory = house.app.memory
        base = await told(house, "User works at Acme")
        with pytest.raises(BadInput, match="named twice"):
            await memory.add(house.me, NewFact("User is at Globex", replaces=(base,), corrects=(base,)))
        with pytest.raises(BadInput, match="named twice"):
            await memory.add(house.me, NewFact("User is at Globex", replaces=(base,), depends_on=(base,)))
        rests = await memory.add(house.me, NewFact("User commutes by tram", depends_on=(base,)))
        with pytest.raises(BadInput, match="depend on itself"):
            await memory.edit(house.me, base, NewFact("User works at Acme", depends_on=(rests.fact.id,)))
        assert (await the(house, base)).depends_on == ()


@pytest.mark.parametrize("wrong", [False, True])
async def test_an_edit_says_whether_it_was_wrong_or_has_changed(*, wrong: bool) -> None:
    async with open_house() as house:
        memory = house.app.memory
        begins = house.clock.now_us() - DAY_S * 1_000_000
        old = (await memory.add(house.me, NewFact("User lives in Graz", valid_from=begins))).fact.id
        house.clock.advance(DAY_S)
        edited = await memory.edit(house.me, old, NewFact("User lives in Grado"), wrong=wrong)
        was = await the(house, old)
        assert (edited.change, was.state) == (("corrected",) * 2 if wrong else ("superseded",) * 2)
        assert edited.fact.valid_from == (begins if wrong else None)
        back = await memory.undo(house.me, edited.undo or "")
        assert (back.fact.id, back.fact.state, back.fact.valid_from) == (old, "active", begins)


async def test_a_suggestion_takes_the_place_of_others_once_it_is_accepted() -> None:
    async with open_house() as house:
        memory = house.app.memory
        old = await told(house, "User drives a Golf")
        new = NewFact("User goes by bicycle", replaces=(old,), suggested=True)
        suggested = await memory.add(house.me, new)
        assert (suggested.change, (await the(house, old)).state) == ("suggested", "active")
        accepted = await memory.accept(house.me, suggested.fact.id)
        assert (await the(house, old)).state == "superseded"
        await memory.undo(house.me, accepted.undo or "")
        assert await active(house) == {"User drives a Golf"}
        # What was only suggested takes nothing with it.
        await house.app.forgetting.forget(house.me, [suggested.fact.id])
        assert await active(house) == {"User drives a Golf"}


async def test_what_is_forgotten_takes_what_it_corrected_along() -> None:
    async with open_house() as house:
        memory = house.app.memory
        born = await told(house, "User was born in 1988")
        new = await memory.add(house.me, NewFact("User was born in 1989", corrects=(born,)))
        history = await memory.history(house.me, born)
        assert [one.content for one in history] == ["User was born in 1988", "User was born in 1989"]
        await house.app.forgetting.forget(house.me, [new.fact.id])
        assert await memory.count(house.me) == 0
