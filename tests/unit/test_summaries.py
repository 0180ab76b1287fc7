"""Long conversations told in short, conversations named by the model, and what all of it costs."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from bethink.agent.request import BranchPoint
from bethink.agent.stored_runs import ApprovalChoice
from bethink.conversations.records import MESSAGES, SUMMARIES
from bethink.conversations.service import ConversationEdit
from bethink.errors import LlmError
from bethink.events import ContextFilled, Event, RunStarted, Usage, Warned
from bethink.llm import Delta, LlmRequest
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import tokens_in, tokens_of
from bethink.store import Scan
from bethink.tool import ToolContext, tool
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

LONG: dict[str, Any] = {"summary_after_messages": 4, "summary_keep_messages": 2, "recall_limit": 0}


class NoSummary(ScriptedLlm):
    """Answers, but fails where it is asked for a summary."""

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        if "write the summary" in request.system:
            raise LlmError("the model is busy")
        async for delta in super().stream(request):
            yield delta


async def told_in_short(house: House) -> list[str]:
    where = {"branch": SUMMARIES}
    (page,) = await house.app.ports.store.scan(house.me.owner, Scan(MESSAGES, where))
    return [item.record.message.content for item in page.items]


def jobs(events: list[Event]) -> list[str]:
    return [event.job for event in events if isinstance(event, Usage)]


@pytest.mark.requirement("U7", "R178", "R202")
async def test_the_oldest_part_is_told_in_short_once_and_then_extended() -> None:
    llm = ScriptedLlm(["A1", "A2", "A3", "They greeted.", "A4", "A5", "They greeted, then talked.", "A6"])
    async with open_house(llm, **dict(LONG, summary_after_messages=6)) as house:
        conversation = await house.new()
        events = [await house.say(f"Q{number}", conversation) for number in range(1, 7)]
        kept = [message.message.content for message in await house.messages(conversation)]
        summaries = await told_in_short(house)
        held = (await house.app.conversations.get(house.me, conversation)).record
    chat, both = ["chat"], ["summary", "chat"]
    assert [jobs(told) for told in events] == [chat, chat, chat, both, chat, both]
    assert kept == [text for number in range(1, 7) for text in (f"Q{number}", f"A{number}")]
    assert sorted(summaries) == ["They greeted, then talked.", "They greeted."]
    fourth, fifth, again, sixth = llm.requests[4:]
    first = fourth.messages[0].content
    assert first.startswith("<earlier_conversation>")
    assert "They greeted." in first
    assert first.endswith("Q3")
    assert "They greeted." in fifth.messages[0].content
    assert '"summary":"They greeted."' in again.messages[0].content
    assert "Q1" not in again.messages[0].content
    assert "then talked" in sixth.messages[0].content
    assert {one.job: one.requests for one in held.spent} == {"chat": 6, "summary": 2}


async def test_what_fills_the_window_is_told_once_a_run_and_kept_on_its_answer() -> None:
    async with open_house(ScriptedLlm(["A1", "A2", "Short.", "A3"]), **LONG) as house:
        conversation = await house.new()
        for number in range(2):
            await house.say(f"Q{number}", conversation)
        events = await house.say("Q3", conversation)
        last = (await house.messages(conversation))[-1]
    (filled,) = [event for event in events if isinstance(event, ContextFilled)]
    assert last.filled == filled
    assert filled.summary > 0
    assert filled.system > 0
    assert filled.window > filled.history > 0


async def test_without_a_summary_the_oldest_part_is_left_out_and_that_is_said() -> None:
    llm = NoSummary(["A1", "A2", "A3"], context_tokens=4_096)
    async with open_house(llm, tools_enabled=False, recall_limit=0) as house:
        conversation = await house.new()
        await house.say("x" * 5_000, conversation)
        await house.say("y" * 5_000, conversation)
        events = await house.say("z" * 2_000, conversation)
        assert await told_in_short(house) == []
    warned = {event.part: event.message for event in events if isinstance(event, Warned)}
    assert "not summarised: the model is busy" in warned["summary"]
    assert "its oldest part is left out" in warned["history"]


def _talks(request: LlmRequest) -> str:
    if "write the summary" in request.system:
        read = json.loads(request.messages[0].content)
        told = " ".join(one.get("person", "")[:12] for one in read["messages"])
        return f"{read['summary']} {told} " + " ".join(f"{at} is said of the pond." for at in range(100))
    return f"An answer to {request.messages[-1].content[-9:]} " + "with words that fill the window. " * 14


@pytest.mark.parametrize("window", [2_048, 4_096, 8_192])
async def test_a_small_window_loses_nothing_to_the_summary_and_keeps_the_last_turn(window: int) -> None:
    llm = ScriptedLlm(_talks, context_tokens=window)
    async with open_house(llm, extraction="off", recall_limit=0) as house:
        conversation = await house.new()
        told = [
            await house.say(f"Topic{number:02} " + "is a plan. " * (window // 128), conversation)
            for number in range(14)
        ]
    assert [e for events in told for e in events if isinstance(e, Warned)] == []
    made = [one for one in llm.requests if "write the summary" in one.system]
    seen = " ".join(message.content for one in (*made, llm.requests[-1]) for message in one.messages)
    assert made
    assert all(f"Topic{number:02}" in seen for number in range(14))
    for asked in llm.requests:
        written = asked.max_output_tokens or window // 4
        tools = sum(len(json.dumps(one.parameters)) for one in asked.tools) // 4
        assert tokens_in(asked.system) + sum(map(tokens_of, asked.messages)) + tools + written <= window
    chats = [one for one in llm.requests if one not in made][1:]
    assert all("An answer to" in one.messages[-2].content for one in chats)


async def test_a_summary_is_made_anew_of_all_that_is_left_after_forgetting() -> None:
    llm = ScriptedLlm(_talks, context_tokens=4_096)
    async with open_house(llm, extraction="off", recall_limit=0, tools_enabled=False) as house:
        conversation = await house.new()
        await house.say("I owe Pat 40 euros", conversation)
        for number in range(40):
            await house.say(f"Topic{number:02} is a plan", conversation)
        fact = await house.app.memory.add(house.me, NewFact("The user owes Pat 40 euros"))
        await house.app.forgetting.forget(house.me, [fact.fact.id])
        assert await told_in_short(house) == []
        before = len(llm.requests)
        events = await house.say("Topic99 is a plan", conversation)
    assert [event for event in events if isinstance(event, Warned)] == []
    seen = " ".join(message.content for one in llm.requests[before:] for message in one.messages)
    assert all(f"Topic{number:02}" in seen for number in range(40))
    assert "Pat" not in seen


async def test_a_summary_that_repeats_itself_is_not_used() -> None:
    loop = "They talked about the garden and the pond and the hedge, and then they talked on about it. "
    async with open_house(ScriptedLlm(["A1", "A2", loop * 40, "A3"]), **LONG) as house:
        conversation = await house.new()
        for number in range(2):
            await house.say(f"Q{number}", conversation)
        events = await house.say("Q3", conversation)
        assert await told_in_short(house) == []
    assert "repeated itself" in "".join(event.message for event in events if isinstance(event, Warned))


async def test_an_edit_of_what_is_covered_goes_on_without_the_summary() -> None:
    llm = ScriptedLlm(["A1", "A2", "They greeted.", "A3", "B1", "They greeted more.", "A4"])
    async with open_house(llm, **LONG) as house:
        conversation = await house.new()
        for number in range(1, 4):
            await house.say(f"Q{number}", conversation)
        first = (await house.messages(conversation))[0].id
        run = await house.app.runs.start(house.me, BranchPoint(conversation, first, "edit"), "Else")
        await house.events(run)
        assert [message.content for message in llm.requests[-1].messages] == ["Else"]
        await house.app.conversations.edit(house.me, conversation, ConversationEdit(branch=0))
        await house.say("Q4", conversation)
    assert '"summary":"They greeted."' in llm.requests[-2].messages[0].content
    assert "They greeted more." in llm.requests[-1].messages[0].content


async def test_forgetting_what_is_covered_removes_the_summary_too() -> None:
    llm = ScriptedLlm(["Fine.", "A2", "The person lives in Ljubljana.", "A3"])
    async with open_house(llm, **LONG) as house:
        conversation = await house.new()
        await house.say("I live in Ljubljana", conversation)
        await house.say("Q2", conversation)
        await house.say("Q3", conversation)
        assert await told_in_short(house) == ["The person lives in Ljubljana."]
        fact = await house.app.memory.add(house.me, NewFact("The user lives in Ljubljana"))
        await house.app.forgetting.forget(house.me, [fact.fact.id])
        assert await told_in_short(house) == []


async def test_the_model_names_a_conversation_but_never_one_that_a_person_named() -> None:
    llm = ScriptedLlm(["A1", '"A trip to Lisbon".', "A2", "A3"])
    async with open_house(llm, titles="model", recall_limit=0) as house:
        first, second = await house.new(), await house.new()
        await house.say("Where should I go in May?", first)
        await house.app.post_turn.finished()
        held = (await house.app.conversations.get(house.me, first)).record
        assert (held.title, held.named_by) == ("A trip to Lisbon", "model")
        assert {one.job for one in held.spent} == {"chat", "title"}
        await house.say("And in June?", first)
        await house.app.conversations.edit(house.me, second, ConversationEdit(title="Mine"))
        await house.say("Hi", second)
        await house.app.post_turn.finished()
        assert (await house.app.conversations.get(house.me, second)).record.title == "Mine"
        assert len(llm.requests) == 4


@tool(effect="destructive", label="Burn it")
async def burn(context: ToolContext) -> str:
    """Burn something."""
    return f"Burnt for {context.call}."


async def test_a_run_that_went_on_after_an_approval_is_summarised_too() -> None:
    llm = ScriptedLlm(["A1", [ScriptedCall("burn", id="call_d")], "They greeted.", "All gone.", "A4"])
    async with open_house(llm, tools=[burn], **LONG) as house:
        conversation = await house.new()
        await house.say("Q1", conversation)
        events = await house.say("Burn it", conversation)
        (started,) = [event for event in events if isinstance(event, RunStarted)]
        await house.app.runs.approvals.decide(
            house.me, started.run, call="call_d", choice=ApprovalChoice("approve")
        )
        after = await house.events(started.run)
        assert jobs(after)[-2:] == ["summary", "chat"]
        assert await told_in_short(house) == ["They greeted."]
        assert llm.requests[-1].messages[0].content.startswith("<earlier_conversation>")
        assert "Q1" not in llm.requests[-1].messages[0].content
        await house.say("Q4", conversation)
        kept = [message.message.content for message in await house.messages(conversation)]
    assert "They greeted." in llm.requests[-1].messages[0].content
    assert (kept[:3], kept[-1]) == (["Q1", "A1", "Burn it"], "A4")
