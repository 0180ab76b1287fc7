"""Turns of conversations as memories: which are found, when, and what becomes of them."""

from __future__ import annotations

import anyio
import pytest

from bethink.agent.context import selected
from bethink.clock import to_datetime
from bethink.conversations.records import MESSAGES, Conversation, StoredMessage, turn_of
from bethink.conversations.service import ConversationEdit, PastMessage
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.events import MemoryRecalled, Warned
from bethink.llm.scripted import Rule, ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from bethink.recall.service import Hit, RecallQuestion
from bethink.settings import Settings
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio

SAID = "The plumber comes on Thursday"
ANSWERED = "Shall I note it?"
SURE: float = Settings.model_fields["recall_min_score"].default


async def turns(house: House, query: str, conversation: str | None = None) -> list[str]:
    asked = RecallQuestion(query, kinds={"turn"}, conversation=conversation)
    answer = await house.app.recall.ask(house.me, asked)
    return [hit.text for hit in answer.hits if hit.score >= SURE]


@pytest.mark.requirement("R135", "R137")
async def test_both_messages_of_a_finished_turn_are_found_with_place_time_and_speaker() -> None:
    async with open_house(ScriptedLlm([ANSWERED])) as house:
        conversation = await house.new()
        await house.say(SAID, conversation)
        said, answered = await house.messages(conversation)
        (hit,) = await house.app.recall.search(house.me, "When does the plumber come?", 1)
        assert (hit.id, hit.kind, hit.text) == (said.id, "turn", SAID)
        assert (hit.conversation, hit.speaker) == (conversation, "owner")
        assert hit.source == f"conversation:{conversation}#{said.id}"
        (hit,) = await house.app.recall.search(house.me, "note it?", 1)
        assert (hit.id, hit.speaker) == (answered.id, "assistant")


async def test_a_question_that_was_asked_before_is_no_answer_to_itself() -> None:
    asked = "When does the plumber come?"
    async with open_house(ScriptedLlm(["Good.", "I cannot say."])) as house:
        await house.say(SAID)
        await house.say(asked)
        hits = await house.app.recall.search(house.me, asked, 5)
    assert hits[0].text == SAID
    (repeated,) = [hit for hit in hits if hit.text == asked]
    assert repeated.score < SURE < hits[0].score


async def test_a_turn_is_not_found_before_its_run_has_ended() -> None:
    gate = anyio.Event()
    async with open_house(ScriptedLlm([["Well", gate]])) as house:
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, SAID)
        await anyio.wait_all_tasks_blocked()
        assert await turns(house, "plumber") == []
        gate.set()
        await house.events(run)
        assert await turns(house, "plumber") == [SAID]


async def test_a_turn_that_waits_for_an_approval_is_found_once_it_was_decided() -> None:
    llm = ScriptedLlm(
        [
            Rule(when="plumber", after_tool=False, tool_calls=(ScriptedCall("delete_all_memories", {}),)),
            Rule(after_tool=True, text="Gone."),
        ]
    )
    async with open_house(llm) as house:
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, SAID)
        await house.events(run)
        assert await turns(house, "plumber") == []
        await house.app.runs.cancel(house.me, run)
        assert await turns(house, "plumber") == [SAID]


async def test_slash_commands_and_their_answers_are_no_talk() -> None:
    async with open_house() as house:
        await house.say("/remember The plumber is called Ed")
        assert await turns(house, "plumber") == []


@pytest.mark.requirement("R139")
async def test_deleting_a_conversation_deletes_its_turns_and_archiving_keeps_them() -> None:
    async with open_house(ScriptedLlm([ANSWERED, ANSWERED])) as house:
        first, second = await house.new(), await house.new()
        await house.say(SAID, first)
        await house.say("The plumber was here", second)
        await house.app.conversations.edit(house.me, first, ConversationEdit(archived=True))
        assert sorted(await turns(house, "plumber")) == [SAID, "The plumber was here"]
        await house.app.runs.delete_conversation(house.me, first)
        assert await turns(house, "plumber") == ["The plumber was here"]


async def test_a_turn_that_stands_in_the_conversation_is_not_recalled_into_it() -> None:
    async with open_house(ScriptedLlm([ANSWERED, "On Thursday.", "On Thursday."])) as house:
        conversation = await house.new()
        await house.say(SAID, conversation)
        again = await house.say("When does the plumber come?", conversation)
        assert [event for event in again if isinstance(event, MemoryRecalled)] == []
        elsewhere = await house.say("When does the plumber come?")
        (recalled,) = [event for event in elsewhere if isinstance(event, MemoryRecalled)]
        assert (SAID, "owner") in [(item.text, item.speaker) for item in recalled.items]


async def test_turns_get_their_vectors_beside_the_run() -> None:
    ports = ports_of(ScriptedLlm([ANSWERED]), embeddings=HashingEmbeddings())
    async with open_house(ports=ports) as house:
        await house.say(SAID)
        while await ports.index.missing_vectors(house.me.owner, ports.embeddings.model, 1):
            await anyio.lowlevel.checkpoint()
        assert (await turns(house, "plumbers"))[0] == SAID


@pytest.mark.requirement("R139")
async def test_a_conversation_from_elsewhere_is_taken_over_with_its_speakers_and_times() -> None:
    async with open_house() as house:
        conversation = await house.new()
        await house.app.conversations.take_over(
            house.me,
            conversation,
            [
                PastMessage("We met in Lisbon", 1_000_000, speaker="Ann"),
                PastMessage("I remember", 2_000_000, "assistant"),
            ],
        )
        (hit,) = await house.app.recall.search(house.me, "Lisbon", 1)
        assert (hit.speaker, hit.at.year, hit.conversation) == ("Ann", 1970, conversation)
        kept = await house.messages(conversation)
        assert [message.position for message in kept] == [0, 1]
        assert kept[1].message == AssistantMessage("I remember")
        assert await turns(house, "Lisbon", conversation=conversation) == ["We met in Lisbon"]
        assert await turns(house, "Lisbon", conversation=await house.new()) == []


@pytest.mark.parametrize(
    "message",
    [
        ToolMessage("call", "look_up", "The plumber"),
        AssistantMessage("I look it up", (ToolCall("call", "look_up", "{}"),)),
        AssistantMessage(""),
        UserMessage("  "),
    ],
)
async def test_only_what_was_said_is_indexed(message: Message) -> None:
    conversation = Conversation(id="c", title="t", created_at=0, updated_at=0)
    stored = StoredMessage(id="m", conversation="c", position=0, at=0, run="r", message=message)
    assert turn_of(conversation, stored) is None


async def test_a_turn_is_found_by_its_date_too() -> None:
    conversation = Conversation(id="c", title="t", created_at=0, updated_at=0, project="house")
    stored = StoredMessage(
        id="m", conversation="c", position=0, at=1_683_550_800_000_000, run="r", message=UserMessage(SAID)
    )
    item = turn_of(conversation, stored)
    assert item is not None
    assert (item.text, item.project, item.speaker) == (f"8 May 2023: {SAID}", "house", "owner")
    assert MESSAGES.searchable


def hit(kind: str, text: str, source: str | None = None) -> Hit:
    return Hit(text, kind, text, 0.9, to_datetime(0), source)


def test_facts_come_before_turns_and_turns_that_say_more_follow() -> None:
    fact = hit("fact", "Lives in Paris", "conversation:c#m1")
    origin = hit("turn", "I moved to Paris with my sister, you know", "conversation:c#m1")
    echo = hit("turn", "You live in Paris.", "conversation:c#m2")
    more = hit("turn", "The flat in Paris has a blue door and no lift", "conversation:d#m3")
    assert selected([origin, echo, more, fact], (), 5) == [fact, more]
    assert selected([origin, echo, more, fact], {more.text}, 5) == [fact]
    # What says nothing new makes room for the next.
    assert selected([origin, echo, more, fact], (), 2) == [origin, more]


@pytest.mark.requirement("R156")
async def test_without_memory_nothing_is_recalled_and_no_tool_of_memory_is_offered() -> None:
    llm = ScriptedLlm(["I cannot say."])
    async with open_house(llm, memory_enabled=False) as house:
        await house.app.memory.add(house.me, NewFact("The plumber comes on Thursday"))
        told = await house.say("When does the plumber come?")
        assert [event for event in told if isinstance(event, MemoryRecalled)] == []
        assert "search_memory" not in {tool.name for tool in llm.requests[-1].tools}
        assert await turns(house, "plumber") == []


@pytest.mark.requirement("U9", "R159")
async def test_without_memory_who_begins_a_conversation_is_told_once() -> None:
    llm = ScriptedLlm(["I cannot say.", "Nor now."])
    async with open_house(llm, memory_enabled=False) as house:
        conversation = await house.new()
        told, again = [await house.say("When?", conversation) for _ in range(2)]
        (warned,) = [event for event in told if isinstance(event, Warned)]
        assert (warned.part, "Memory is switched off" in warned.message) == ("memory", True)
        assert [event for event in again if isinstance(event, Warned)] == []
