"""What was said before a filter was made: kept whole, and told to nobody whom the filter restrains."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from bethink.conversations.service import ConversationEdit
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.tool import ToolContext, tool
from bethink.vault.filters.rules import FilterRule
from tests.house import House, open_house

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

SECRET = "jane@secret.example"
LONG: dict[str, Any] = {"summary_after_messages": 4, "summary_keep_messages": 2, "recall_limit": 0}


@tool(effect="read", label="Look up {name}")
async def look_up(context: ToolContext, name: Annotated[str, Field(description="Whom.")]) -> str:
    """Look somebody up."""
    del context
    return json.dumps([{"id": "1", "name": name, "text": f"writes from {SECRET}"}, {"text": "likes tea"}])


@asynccontextmanager
async def told_before(
    tmp_path: Path,
    *replies: Any,  # noqa: ANN401 - as the script reads it
    **settings: Any,  # noqa: ANN401 - by name
) -> AsyncGenerator[tuple[House, ScriptedLlm, str]]:
    """A conversation in which an address was said by everybody, and then a filter of addresses."""
    call = ScriptedCall("look_up", {"name": SECRET})
    llm = ScriptedLlm([[call], f"She is {SECRET}.", *replies])
    async with open_house(llm, data_dir=tmp_path, tools=[look_up], **settings) as house:
        own = replace(house, me=replace(house.me, audience="web"))
        conversation = await own.new()
        await own.say(f"Write down that Jane is {SECRET}, and likes tea.", conversation)
        await house.app.visibility.filters.add(own.me, FilterRule(pattern="email", action="mask"))
        yield own, llm, conversation


async def test_a_restricted_run_is_not_told_what_was_said_before_the_filter(tmp_path: Path) -> None:
    async with told_before(tmp_path, "Nothing.") as (house, llm, conversation):
        await house.say("What did you say before?", conversation)
        asked = llm.requests[-1].messages
        assert SECRET not in str(asked)
        assert [type(message).__name__ for message in asked] == [
            *("UserMessage", "AssistantMessage", "ToolMessage", "AssistantMessage", "UserMessage")
        ]
        assert "[hidden]" in asked[0].content
        assert "likes tea" in asked[0].content
        assert "likes tea" in asked[2].content
        kept = await house.messages(conversation)
        assert [SECRET in str(one.message) for one in kept] == [True, True, True, True, False, False]


async def test_who_is_not_restricted_is_told_the_very_same_messages(tmp_path: Path) -> None:
    async with told_before(tmp_path, "All.") as (house, llm, conversation):
        owner = house.me
        await house.app.visibility.filters.reset(owner)
        await house.app.visibility.filters.add(owner, FilterRule(pattern="email", audiences=("rest",)))
        await house.say("What did you say before?", conversation)
        first, *_ = llm.requests[-1].messages
        assert first.content == f"Write down that Jane is {SECRET}, and likes tea."


async def test_history_is_told_in_the_same_words_turn_after_turn(tmp_path: Path) -> None:
    async with told_before(tmp_path, "One.", "Two.") as (house, llm, conversation):
        await house.say("And now?", conversation)
        await house.say("And then?", conversation)
        before, now = llm.requests[-2].messages, llm.requests[-1].messages
        assert now[: len(before)] == before


async def test_what_a_conversation_is_for_is_told_without_what_is_hidden(tmp_path: Path) -> None:
    async with told_before(tmp_path, "Nothing.") as (house, llm, conversation):
        edit = ConversationEdit(system=f"You write to {SECRET} alone.")
        await house.app.conversations.edit(house.me, conversation, edit)
        await house.say("What are you for?", conversation)
        assert "You write to" in llm.requests[-1].system
        assert SECRET not in llm.requests[-1].system


async def test_a_tool_of_another_kind_of_memory_tells_no_run_what_is_hidden(tmp_path: Path) -> None:
    calls = [ScriptedCall("look_up", {"name": "Jane"})]
    async with told_before(tmp_path, calls, "Done.") as (house, llm, conversation):
        events = await house.say("Look her up again.", conversation)
        assert "likes tea" in llm.requests[-1].messages[-1].content
        assert SECRET not in str(llm.requests[-1].messages)
        assert SECRET not in str(events)


async def test_a_summary_made_for_a_restricted_run_is_told_to_that_run_alone(tmp_path: Path) -> None:
    async with told_before(tmp_path, "One.", "A summary.", "Two.", "A whole summary.", "Three.", **LONG) as (
        house,
        llm,
        here,
    ):
        agents = replace(house, me=replace(house.me, audience="rest"))
        owner = house.me
        await house.app.visibility.filters.reset(owner)
        await house.app.visibility.filters.add(owner, FilterRule(pattern="email", audiences=("rest",)))
        await agents.say("Go on.", here)
        await agents.say("Go on.", here)
        assert SECRET not in str(llm.requests[-2])
        assert "A summary." in llm.requests[-1].messages[0].content
        await house.say("Go on.", here)
        assert SECRET in str(llm.requests[-2])
        assert "A whole summary." in llm.requests[-1].messages[0].content


async def test_a_model_is_asked_in_words_not_to_tell_where_the_words_are_for_its_reader(
    tmp_path: Path,
) -> None:
    llm = ScriptedLlm(["Yes.", "No."])
    async with open_house(llm, data_dir=tmp_path) as house:
        await house.app.visibility.filters.add(
            replace(house.me, audience="web"),
            FilterRule(text="Do not tell\nmy salary.", audiences=("rest*",)),
        )
        for audience in ("rest:phone", "web"):
            own = replace(house, me=replace(house.me, audience=audience))
            await own.say("What do I earn?", await own.new())
        asked, free = (request.system for request in llm.requests)
        assert "# What is to be kept back" in asked
        assert "- Do not tell my salary." in asked
        assert "kept back" not in free
