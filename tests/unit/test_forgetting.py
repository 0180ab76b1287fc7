"""Forgetting: nothing of a fact is left in any record, index, journal or message."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from bethink.agent.records import JOURNAL, RUNS
from bethink.clock import to_datetime
from bethink.conversations.records import CONVERSATIONS, MESSAGES, SIGHTINGS
from bethink.conversations.service import ConversationEdit
from bethink.errors import BadInput, Conflict, UnknownId
from bethink.forgetting.announcements import INTENTS, ForgetIntent
from bethink.forgetting.selection import OUTSIDE, ForgetRequest
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import FACTS, NewFact
from bethink.memory.facts import STEPS
from bethink.messages import AssistantMessage
from bethink.store import Collection, Put, Scan
from tests.house import House, open_house
from tests.unit.test_consolidation import consolidated, put_back

pytestmark = pytest.mark.anyio

SECRET = "zanzibar"
KEPT: tuple[Collection[Any], ...] = (STEPS, FACTS, JOURNAL, RUNS, MESSAGES, CONVERSATIONS, SIGHTINGS, INTENTS)


def remember(content: str, **more: object) -> ScriptedCall:
    return ScriptedCall("store_memory", {"content": content, **more})


async def everything(house: House) -> str:
    """All that the store keeps, as text."""
    kept: list[Any] = []
    for collection in KEPT:
        (page,) = await house.app.ports.store.scan(house.me.owner, Scan(collection, limit=10_000))
        kept += [item.record for item in page.items]
    return msgspec.json.encode(kept).decode()


async def texts(house: House, conversation: str) -> list[str]:
    return [stored.message.content for stored in await house.messages(conversation)]


@pytest.mark.requirement("C22")
async def test_a_forgotten_fact_is_in_no_record_no_index_and_no_journal() -> None:
    async with open_house(ScriptedLlm(["I know."])) as house:
        gone = (await house.app.memory.add(house.me, NewFact(f"Dreams of {SECRET}", importance=0.9))).fact
        await house.app.memory.add(house.me, NewFact("Dreams of the sea"))
        await house.say("What do I dream of?")
        assert SECRET in await everything(house)
        receipt = await house.app.forgetting.forget(house.me, [gone.id, "no such id"])
        assert receipt.facts == (gone.id,)
        assert SECRET not in await everything(house)
        assert await house.app.memory.get(house.me, [gone.id]) == (None,)
        hits = await house.app.recall.search(house.me, f"dreams of {SECRET}", kinds={"fact"})
        assert [hit.text for hit in hits] == ["Dreams of the sea"]
        missing = await house.app.ports.index.missing_vectors(
            house.me.owner, house.app.ports.embeddings.model, 10
        )
        assert SECRET not in str(missing)


@pytest.mark.requirement("C22")
async def test_what_was_said_of_it_goes_and_the_rest_of_the_conversation_stays() -> None:
    said = f"I moved last year. I live in {SECRET} now! Do you like music?"
    call = remember(f"User lives in {SECRET}", topics=[SECRET, "home"])
    llm = ScriptedLlm(
        [[call], f"Noted: you live in {SECRET}. And yes, I like music.", "You moved last year."]
    )
    async with open_house(llm) as house:
        conversation = await house.new()
        await house.say(said, conversation)
        await house.say("When did I move?", conversation)
        (fact,) = (await house.app.memory.list(house.me)).items
        receipt = await house.app.forgetting.forget(house.me, [fact.record.id])
        assert SECRET not in (await everything(house)).lower()
        assert await texts(house, conversation) == [
            "I moved last year. [forgotten] Do you like music?",
            "",
            "[forgotten]",
            "[forgotten] And yes, I like music.",
            "When did I move?",
            "You moved last year.",
        ]
        kept = (await house.app.conversations.get(house.me, conversation)).record
        assert kept.title == "I moved last year. [forgotten] Do you like music?"
        assert len(receipt.messages) == 4
        assert receipt.titles == (conversation,)
        assert receipt.outside == OUTSIDE
        asked = (await house.messages(conversation))[1].message
        assert isinstance(asked, AssistantMessage)
        (made,) = asked.tool_calls
        assert msgspec.json.decode(made.arguments) == {
            "content": "[forgotten]",
            "topics": ["[forgotten]"] * 2,
        }
        await house.say("And now?", conversation)  # its history is still one that a model can be sent


async def test_search_results_and_answers_of_other_conversations_go_too() -> None:
    search = ScriptedCall("search_memory", {"query": "Where is the house?"})
    llm = ScriptedLlm([[search], f"Your house is in {SECRET}, of course."])
    async with open_house(llm) as house:
        memory = house.app.memory
        gone = (await memory.add(house.me, NewFact(f"The house of the user is in {SECRET}"))).fact
        stays = (await memory.add(house.me, NewFact("The house of the user is blue"))).fact
        conversation = await house.new()
        await house.say("Where is my house?", conversation)
        assert SECRET in " ".join(await texts(house, conversation))
        await house.app.forgetting.forget(house.me, [gone.id])
        assert SECRET not in await everything(house)
        assert stays.content in " ".join(await texts(house, conversation))


async def test_what_was_said_where_only_a_message_of_it_was_recalled_goes_too() -> None:
    """The fact itself never came up there, and a tool's arguments are found by no words."""
    note = ScriptedCall("search_memory", {"query": f"anyone else in {SECRET}"})
    llm = ScriptedLlm(["I see.", [note], "Nobody."])
    async with open_house(llm) as house:
        told, other = await house.new(), await house.new()
        await house.say(f"I live in {SECRET} with two cats.", told)
        await house.say(f"Who else lives there, in {SECRET}?", other)
        last = (await house.messages(other))[-1]
        assert [ref.kind for ref in last.recalled] == ["turn"]
        gone = await house.app.memory.add(house.me, NewFact(f"User lives in {SECRET}"))
        await house.app.forgetting.forget(house.me, [gone.fact.id])
        assert SECRET not in await everything(house)


async def test_earlier_versions_go_and_later_ones_only_where_they_say_it_still() -> None:
    async with open_house() as house:
        memory, forgetting = house.app.memory, house.app.forgetting
        first = (await memory.add(house.me, NewFact("Works at Initech"))).fact
        second = (await memory.edit(house.me, first.id, NewFact("Worked at Initech until May"))).fact
        third = (await memory.edit(house.me, second.id, NewFact("Works at Globex"))).fact
        preview = await forgetting.preview(house.me, ForgetRequest(ids=[first.id]))
        assert ([fact.id for fact in preview.facts], [fact.id for fact in preview.versions]) == (
            [first.id],
            [second.id],
        )
        receipt = await forgetting.forget(house.me, [first.id])
        assert receipt.facts == (first.id, second.id)
        assert "Initech" not in await everything(house)
        fourth = (await memory.edit(house.me, third.id, NewFact("Works for the city"))).fact
        assert set((await forgetting.forget(house.me, [fourth.id])).facts) == {third.id, fourth.id}


async def test_a_retracted_repetition_goes_with_it() -> None:
    async with open_house() as house:
        memory = house.app.memory
        once = (await memory.add(house.me, NewFact(f"Dreams of {SECRET}"))).fact
        await memory.retract(house.me, once.id)
        again = (await memory.add(house.me, NewFact(f"Dreams of {SECRET}."))).fact
        assert set((await house.app.forgetting.forget(house.me, [again.id])).facts) == {once.id, again.id}
        assert SECRET not in await everything(house)


async def test_forgetting_what_is_not_there_changes_nothing() -> None:
    async with open_house(ScriptedLlm(["I know."])) as house:
        await house.app.memory.add(house.me, NewFact("Dreams of the sea", importance=0.9))
        await house.say("What do I dream of?")
        before = await everything(house)
        for ids in (["no such id"], []):
            assert not await house.app.forgetting.forget(house.me, ids)
        assert await everything(house) == before


@pytest.mark.requirement("R50")
async def test_forgetting_all_takes_active_superseded_and_retracted_facts() -> None:
    async with open_house() as house:
        memory = house.app.memory
        changes = await memory.add_many(house.me, [NewFact(f"Fact {n} of {SECRET}") for n in range(1_100)])
        await memory.retract(house.me, changes[0].fact.id)
        await memory.edit(house.me, changes[1].fact.id, NewFact("Corrected"))
        assert len((await house.app.forgetting.forget_all(house.me)).facts) == 1_101
        assert await memory.count(house.me) == 0
        assert SECRET not in await everything(house)
        assert await house.app.recall.search(house.me, SECRET) == []
        assert not await house.app.forgetting.forget_all(house.me)


async def test_nothing_is_forgotten_before_its_preview_was_confirmed() -> None:
    async with open_house() as house:
        memory, forgetting = house.app.memory, house.app.forgetting
        ids = [
            (await memory.add(house.me, NewFact(content))).fact.id
            for content in ("Worked at Initech as a clerk", "The boss at Initech was Bill", "Likes tea")
        ]
        wanted = ForgetRequest(query="Initech")
        preview = await forgetting.preview(house.me, wanted)
        assert {fact.id for fact in preview.facts} == {*ids[:2]}
        assert await memory.count(house.me) == 3
        for token in ("", "1-0", "please", f"{preview.token}0", preview.token[::-1]):
            with pytest.raises(BadInput, match="not the token of a preview"):
                await forgetting.confirm(house.me, wanted, token)
        with pytest.raises(Conflict, match="has changed"):
            await forgetting.confirm(house.me, ForgetRequest(query="tea"), preview.token)
        receipt = await forgetting.confirm(house.me, wanted, preview.token)
        assert {*receipt.facts} == {*ids[:2]}
        assert "Initech" not in await everything(house)
        with pytest.raises(Conflict):
            await forgetting.confirm(house.me, wanted, preview.token)


async def test_what_was_learnt_in_a_time_can_be_forgotten() -> None:
    async with open_house() as house:
        moments = []
        for content in ("One", "Two", "Three"):
            house.clock.advance(3600)
            moments.append(to_datetime(house.clock.now_us()))
            await house.app.memory.add(house.me, NewFact(content))
        wanted = ForgetRequest(since=moments[1], until=moments[1] + timedelta(minutes=1))
        preview = await house.app.forgetting.preview(house.me, wanted)
        assert [fact.content for fact in preview.facts] == ["Two"]
        later = await house.app.forgetting.preview(house.me, ForgetRequest(since=moments[1]))
        assert [fact.content for fact in later.facts] == ["Two", "Three"]
        await house.app.forgetting.confirm(house.me, wanted, preview.token)
        assert await house.app.memory.count(house.me) == 2
        with pytest.raises(BadInput, match="no time zone"):
            await house.app.forgetting.preview(house.me, ForgetRequest(since=moments[0].replace(tzinfo=None)))


@pytest.mark.parametrize(
    "wanted",
    [
        ForgetRequest(),
        ForgetRequest(ids=["a"], everything=True),
        ForgetRequest(query=" "),
        ForgetRequest(query="a", k=0),
        ForgetRequest(query="a", k=999),
    ],
)
async def test_what_names_nothing_or_two_things_is_refused(wanted: ForgetRequest) -> None:
    async with open_house() as house:
        with pytest.raises(BadInput):
            await house.app.forgetting.preview(house.me, wanted)


async def test_what_is_written_down_of_a_forgetting_goes_when_it_is_complete() -> None:
    async with open_house() as house:
        store, owner = house.app.ports.store, house.me.owner
        fact = (await house.app.memory.add(house.me, NewFact("One"))).fact
        earlier = ForgetIntent(id="from an earlier version", at=0, state="done", facts=(fact.id,))
        await store.commit(owner, [Put(INTENTS, earlier)])
        await house.app.forgetting.forget(house.me, [fact.id])
        assert not (await store.scan(owner, Scan(INTENTS)))[0].items


async def test_what_rests_on_a_forgotten_fact_is_put_in_doubt_and_named_in_the_receipt() -> None:
    async with open_house() as house:
        memory = house.app.memory
        office = (await memory.add(house.me, NewFact("The office of the user is in Lyon"))).fact
        way = NewFact("Takes the 7:40 train to the office", depends_on=(office.id,))
        train = (await memory.add(house.me, way)).fact
        receipt = await house.app.forgetting.forget(house.me, [office.id])
        assert (receipt.facts, receipt.doubted) == ((office.id,), (train.id,))
        (kept,) = (await memory.list(house.me)).items
        assert [(doubt.kind, doubt.fact) for doubt in kept.record.doubts] == [("depends", office.id)]
        found = await house.app.recall.search(house.me, "train to the office", kinds={"fact"})
        assert [(hit.id, hit.doubt) for hit in found] == [(train.id, "based on something that has changed")]


@pytest.mark.parametrize("asked", ["active", "merged"])
async def test_duplicates_that_were_merged_go_together(asked: str) -> None:
    async with open_house() as house:
        ids = {
            fact.id
            for content in (f"Likes {SECRET} tea", f"The user likes {SECRET} tea")
            for fact in await put_back(house, content)
        }
        await consolidated(house)
        facts = [item.record for item in (await house.app.memory.list(house.me)).items]
        assert sorted(fact.state for fact in facts) == ["active", "merged"]
        (named,) = [fact.id for fact in facts if fact.state == asked]
        assert {*(await house.app.forgetting.forget(house.me, [named])).facts} == ids
        assert SECRET not in await everything(house)


async def test_other_words_in_which_it_was_told_go_too() -> None:
    async with open_house() as house:
        memory = house.app.memory
        first = (await memory.add(house.me, NewFact("Likes tea"))).fact
        fuller = (await memory.add(house.me, NewFact(f"Likes tea from {SECRET}"))).fact
        await house.app.forgetting.forget(house.me, [first.id, fuller.id])
        assert SECRET not in await everything(house)


@pytest.mark.requirement("C23")
async def test_archiving_retracting_and_forgetting_are_three_things() -> None:
    stored = ScriptedCall("store_memory", {"content": f"User dreams of {SECRET}"})
    async with open_house(ScriptedLlm([[stored], "I see."])) as house:
        conversation = await house.new()
        await house.say(f"I dream of {SECRET}.", conversation)
        memory, me = house.app.memory, house.me
        (fact,) = [item.record for item in (await memory.list(me)).items]

        async def found(*kinds: str) -> bool:
            return any(SECRET in hit.text for hit in await house.app.recall.search(me, SECRET, kinds=kinds))

        await house.app.conversations.edit(me, conversation, ConversationEdit(archived=True))
        assert await found("fact")
        assert await found("turn")
        retracted = await memory.retract(me, fact.id)
        assert (await found("fact"), await found("turn")) == (False, True)
        await memory.undo(me, retracted.undo or "")
        assert await found("fact")
        await house.app.forgetting.forget(me, [fact.id])
        assert not await found("fact", "turn")
        with pytest.raises(UnknownId):
            await memory.undo(me, retracted.undo or "")
