"""Forgetting finds what was said wherever it stands: among many, outside the index, in titles and topics."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bethink.conversations.service import ConversationStart, PastMessage
from bethink.engines.memory import MemoryStore
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact, Source
from bethink.store import OWES_SCRUB, Change, Delete
from tests.house import House, open_house
from tests.unit.test_forgetting import SECRET, everything, texts

pytestmark = pytest.mark.anyio

AT = 1_700_000_000_000_000
FACT = f"User was a clerk at {SECRET} under Quillfeather"


async def told(house: House, said: str, at: int = AT, title: str | None = None) -> str:
    """A conversation in which the owner says something."""
    conversation = (await house.app.conversations.create(house.me, ConversationStart(title=title))).id
    await house.app.conversations.take_over(house.me, conversation, [PastMessage(said, at=at)])
    return conversation


async def forget(
    house: House, content: str = FACT, topics: Sequence[str] = (), told_in: str | None = None
) -> None:
    """Keep a fact of no conversation, or of this one, and forget it."""
    where = Source(kind="conversation", id=told_in) if told_in else Source(kind="person")
    fact = (await house.app.memory.add(house.me, NewFact(content, topics=tuple(topics), source=where))).fact
    await house.app.forgetting.forget(house.me, [fact.id])


@pytest.mark.parametrize(
    ("short", "said", "fact"),
    [
        (f"{SECRET}, Quillfeather, clerk?", f"I was a clerk at {SECRET} under Quillfeather.", FACT),
        ("Like tea? Tea, tea.", "I like tea.", "User likes tea"),
    ],
)
async def test_one_long_message_is_found_behind_many_short_ones(short: str, said: str, fact: str) -> None:
    rain = "Well it rained and rained and we walked along the river for hours. " * 9
    async with open_house() as house:
        for place in range(60):
            await told(house, short, AT + place * 10**9)
        conversation = await told(house, rain + said)
        await forget(house, fact)
        assert (await texts(house, conversation))[0].endswith("hours. [forgotten]")


@pytest.mark.parametrize("name", ["search_memory", "no_such_tool"])
async def test_what_a_call_elsewhere_was_told_is_found(name: str) -> None:
    llm = ScriptedLlm([[ScriptedCall(name, {"query": FACT})], "I do not know."])
    async with open_house(llm) as house:
        await house.say("Where was it?")
        await forget(house)
        assert SECRET not in await everything(house)


async def test_what_was_said_beside_a_call_elsewhere_is_found() -> None:
    call = ScriptedCall("search_memory", {"query": "x"})
    llm = ScriptedLlm([[f"As you were a clerk at {SECRET} under Quillfeather, I look.", call], "Nothing."])
    async with open_house(llm) as house:
        conversation = await house.new()
        await house.say("Hello?", conversation)
        await forget(house)
        assert await texts(house, conversation) == [
            "Hello?",
            "[forgotten]",
            "No memories found matching: x",
            "Nothing.",
        ]


async def test_where_somebody_said_it_in_full_the_rest_is_read_closely() -> None:
    llm = ScriptedLlm([f"Quillfeather was your boss at {SECRET}. How kind!"])
    async with open_house(llm) as house:
        conversation = await house.new()
        await house.say(f"I was a clerk at {SECRET} under Quillfeather, years ago.", conversation)
        elsewhere = await told(house, f"Quillfeather came from {SECRET}.")
        await forget(house)
        assert await texts(house, conversation) == ["[forgotten]", "[forgotten] How kind!"]
        assert await texts(house, elsewhere) == [f"Quillfeather came from {SECRET}."]


async def test_only_what_was_said_there_is_read_closely() -> None:
    async with open_house() as house:
        conversation = await told(house, "I was a clerk in Oslo under Smith.\nAnna came to dinner.")
        ids = [
            (await house.app.memory.add(house.me, NewFact(content))).fact.id
            for content in ("User was a clerk in Oslo under Smith", "Anna sings in the choir of Bergen")
        ]
        await house.app.forgetting.forget(house.me, ids)
        assert await texts(house, conversation) == ["[forgotten]\nAnna came to dinner."]


async def test_titles_of_other_conversations_go_too() -> None:
    async with open_house() as house:
        named = await told(house, "Good morning!", title=f"{SECRET.title()} and Quillfeather")
        other = await told(house, "Good morning!", title="Quillfeather")
        await forget(house)
        titles = [(await house.app.conversations.get(house.me, one)).record.title for one in (named, other)]
        assert titles == ["[forgotten]", "Quillfeather"]


async def test_topics_that_are_names_give_a_sentence_away_where_the_fact_was_told() -> None:
    async with open_house() as house:
        conversation = await told(house, f"It was {SECRET.title()}. I like programming.")
        await forget(house, "User was a clerk there", [SECRET.title(), "programming"], conversation)
        assert await texts(house, conversation) == ["[forgotten] I like programming."]


async def test_deleting_a_conversation_leaves_nothing_of_its_runs_and_cannot_stop_halfway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    llm = ScriptedLlm([f"Quillfeather was your boss at {SECRET}."])
    async with open_house(llm) as house:
        conversation = await house.new()
        await house.say(f"I was a clerk at {SECRET} under Quillfeather.", conversation)
        commit, batches = MemoryStore.commit, list[Sequence[Change]]()

        async def counted(store: MemoryStore, owner: str, changes: Sequence[Change]) -> None:
            batches.append(changes)
            await commit(store, owner, changes)

        monkeypatch.setattr(MemoryStore, "commit", counted)
        await house.app.runs.delete_conversation(house.me, conversation)
        # What comes behind it in the background says that it is scrubbed.
        assert [batch for batch in batches[1:] if not isinstance(batch[0], Delete)] == []
        assert OWES_SCRUB in batches[0]
        assert SECRET not in await everything(house)
