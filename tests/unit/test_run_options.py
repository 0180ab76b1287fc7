"""What one run may have of its own: model, system prompt, no tools, no memory, tools of its client."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from bethink.agent.request import RunOptions, RunResources
from bethink.agent.stored_runs import ApprovalChoice
from bethink.conversations.service import ConversationStart
from bethink.errors import BadInput, TooLarge, UnknownId
from bethink.events import ApprovalNeeded, MemoryRecalled, RunDone, RunStarted, ToolFinished, ToolRequested
from bethink.llm import ToolSchema
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import AssistantMessage, ToolMessage, UserMessage
from bethink.tool import ToolContext, tool, tools_in
from bethink.tools.forgetting import ForgettingTools
from bethink.tools.memory import MemoryTools
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

WEATHER = ToolSchema(
    "get_weather",
    "The weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
ASKED = ScriptedCall("get_weather", {"city": "Paris"}, id="theirs")


@tool(effect="read", label="Look at the clock")
async def look_at_clock(context: ToolContext) -> str:
    """Say what time it is."""
    del context
    return "noon"


@tool(effect="read", label="Another search")
async def search_memory(context: ToolContext) -> str:
    """Search elsewhere."""
    del context
    return "elsewhere"


def done_in(events: list[Any]) -> RunDone:
    assert isinstance(events[-1], RunDone)
    return events[-1]


MEMORY_TOOLS = {"store_memory", "search_memory", "forget_memory", "delete_all_memories"}


async def ask(house: House, said: str, conversation: str | None = None, **options: object) -> list[Any]:
    run = await house.app.runs.start(
        house.me,
        conversation or await house.new(),
        said,
        options=RunOptions(**options),  # pyright: ignore[reportArgumentType] - by name
    )
    return list(await house.events(run))


async def test_a_run_has_the_system_prompt_and_the_bounds_that_it_wishes() -> None:
    llm = ScriptedLlm(["ok"])
    async with open_house(llm) as house:
        await ask(
            house,
            "Hello",
            system="Speak like a pirate.",
            temperature=0.0,
            max_output_tokens=77,
            response_format={"type": "json_object"},
        )
    (asked,) = llm.requests
    assert "Speak like a pirate." in asked.system
    assert asked.system.index("pirate") > asked.system.index("Bethink")
    assert (asked.temperature, asked.max_output_tokens) == (0.0, 77)
    assert asked.response_format == {"type": "json_object"}


async def test_a_wished_system_prompt_is_stored_nowhere() -> None:
    async with open_house(ScriptedLlm(["ok"])) as house:
        conversation = await house.new()
        await ask(house, "Hello", conversation, system="Speak like a pirate.")
        stored = msgspec.json.encode(await house.messages(conversation)).decode()
        runs = [owned async for owned in house.app.runs.stored.unfinished()]
    assert "pirate" not in stored
    assert runs == []


async def test_a_run_without_tools_is_offered_none_and_can_call_none() -> None:
    llm = ScriptedLlm([[ScriptedCall("store_memory", {"content": "User likes tea"})], "ok"])
    async with open_house(llm) as house:
        events = await ask(house, "Hello", tools=False)
        assert not (await house.app.memory.list(house.me)).items
    assert llm.requests[0].tools == ()
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.error == "unknown_tool"


async def test_a_run_without_memory_recalls_nothing_and_is_not_found_again() -> None:
    llm = ScriptedLlm(["ok", "ok"])
    async with open_house(llm) as house:
        await house.app.memory.add(house.me, NewFact("User likes green tea", importance=1.0))
        events = await ask(house, "Which tea do I like? My zebra is called Ada.", memory=False)
        found = await house.app.recall.search(house.me, "zebra called Ada")
    assert not [event for event in events if isinstance(event, MemoryRecalled)]
    assert not {schema.name for schema in llm.requests[0].tools} & MEMORY_TOOLS
    assert llm.requests[0].tools
    assert [hit.kind for hit in found] == ["fact"]


async def test_a_temporary_conversation_has_no_memory_whatever_is_wished() -> None:
    llm = ScriptedLlm(["ok"])
    async with open_house(llm) as house:
        await house.app.memory.add(house.me, NewFact("User likes green tea", importance=1.0))
        held = await house.app.conversations.create(house.me, ConversationStart(temporary=True))
        events = await ask(house, "Which tea do I like?", held.id)
    assert not [event for event in events if isinstance(event, MemoryRecalled)]
    assert not {schema.name for schema in llm.requests[0].tools} & MEMORY_TOOLS
    assert "green" not in str(llm.requests[0])


def test_every_tool_of_memory_is_known_as_one() -> None:
    nothing: Any = None
    made = (*tools_in(MemoryTools(nothing, nothing, 0)), *tools_in(ForgettingTools(nothing)))
    assert {one.name for one in made} == MEMORY_TOOLS
    assert all(one.needs_memory and one.family == "memory" for one in made)


async def test_a_run_may_have_another_model_that_is_offered() -> None:
    async with open_house(
        ScriptedLlm(["usual"], name="scripted:usual"), models_offered=["scripted:demo"]
    ) as house:
        events = await ask(house, "Hello", model="scripted:demo")
        started = next(event for event in events if isinstance(event, RunStarted))
        assert started.model == "scripted:demo"
        assert house.app.models.names() == ("scripted:usual", "scripted:demo")
        with pytest.raises(UnknownId, match="Offered are: scripted:usual, scripted:demo"):
            await ask(house, "Hello", model="openai:other")


async def test_what_a_door_brings_stands_before_bethinks_own() -> None:
    mine = ScriptedLlm([[ScriptedCall("search_memory")], "ok"], name="scripted:brought")
    async with open_house(None) as house:
        resources = RunResources(llm=mine, tools=[search_memory], only=frozenset(("look_at_clock",)))
        run = await house.app.runs.start(house.me, await house.new(), "Hello", resources=resources)
        events = await house.events(run)
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.text == "elsewhere"
    assert [schema.name for schema in mine.requests[0].tools] == ["search_memory"]


async def test_a_call_of_the_clients_tool_ends_the_run_after_bethinks_own() -> None:
    llm = ScriptedLlm([[ASKED, ScriptedCall("look_at_clock")], "It is sunny."])
    async with open_house(llm, tools=[look_at_clock]) as house:
        conversation = await house.new()
        events = await ask(house, "Weather?", conversation, client_tools=(WEATHER,))
        assert done_in(events).reason == "client_tools"
        (own,) = [event for event in events if isinstance(event, ToolFinished)]
        assert own.text == "noon"
        asked = [event for event in events if isinstance(event, ToolRequested)]
        assert ("theirs", '{"city":"Paris"}') in [(event.call, event.arguments) for event in asked]
        run = await house.app.runs.answer(
            house.me,
            conversation,
            [ToolMessage("theirs", "", "sunny")],
            options=RunOptions(client_tools=(WEATHER,)),
        )
        assert done_in(list(await house.events(run))).reason == "answered"
        stored = [item.message for item in await house.messages(conversation)]
    assert [type(message) for message in stored] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        ToolMessage,
        AssistantMessage,
    ]
    (told,) = [item for item in stored if isinstance(item, ToolMessage) and item.call == "theirs"]
    assert (told.name, told.content, told.untrusted) == ("get_weather", "sunny", True)
    assert llm.requests[1].messages[1:] == tuple(stored[1:4])


async def test_a_clients_calls_are_told_to_be_unknown_where_it_never_answers() -> None:
    llm = ScriptedLlm([[ASKED], "Never mind."])
    async with open_house(llm) as house:
        conversation = await house.new()
        await ask(house, "Weather?", conversation, client_tools=(WEATHER,))
        await ask(house, "Never mind", conversation)
    (unknown,) = [message for message in llm.requests[1].messages if isinstance(message, ToolMessage)]
    assert unknown.error == "outcome_unknown"


async def test_a_result_that_answers_nothing_is_refused() -> None:
    async with open_house(ScriptedLlm([[ASKED], "ok"]), max_message_chars=1000) as house:
        conversation = await house.new()
        with pytest.raises(BadInput, match="made none"):
            await house.app.runs.answer(house.me, conversation, [ToolMessage("theirs", "", "sunny")])
        await ask(house, "Weather?", conversation, client_tools=(WEATHER,))
        with pytest.raises(BadInput, match="'other'"):
            await house.app.runs.answer(house.me, conversation, [ToolMessage("other", "", "sunny")])
        with pytest.raises(TooLarge):
            await house.app.runs.answer(house.me, conversation, [ToolMessage("theirs", "", "x" * 1001)])


async def test_a_run_that_waited_goes_on_with_its_wishes() -> None:
    llm = ScriptedLlm([[ASKED, ScriptedCall("delete_all_memories")], [ASKED], "ok"])
    async with open_house(llm) as house:
        await house.app.memory.add(house.me, NewFact("User likes tea"))
        conversation = await house.new()
        events = await ask(house, "Do", conversation, client_tools=(WEATHER,), system="Be brief.")
        assert done_in(events).reason == "awaiting_approval"
        (needed,) = [event for event in events if isinstance(event, ApprovalNeeded)]
        (held,) = [event for event in events if isinstance(event, ToolFinished)]
        assert (held.call, held.error) == ("theirs", "held_back")
        (run,) = [run.id async for _, run in house.app.runs.stored.unfinished()]
        await house.app.runs.approvals.decide(
            house.me, run, call=needed.call, choice=ApprovalChoice("approve")
        )
        assert done_in(list(await house.events(run))).reason == "client_tools"
    assert "Be brief." in llm.requests[1].system
    assert "get_weather" in {schema.name for schema in llm.requests[1].tools}


async def test_what_waits_keeps_nothing_that_is_forgotten_in_its_wishes() -> None:
    llm = ScriptedLlm([[ScriptedCall("delete_all_memories")]])
    async with open_house(llm) as house:
        await house.app.memory.add(house.me, NewFact("User likes tea"))
        fact = (await house.app.memory.add(house.me, NewFact("User's parrot is called Xanthippe"))).fact
        told = replace(WEATHER, description="Xanthippe's weather")
        await ask(house, "Do", client_tools=(told,), system="The parrot is called Xanthippe.")
        await house.app.forgetting.forget(house.me, [fact.id])
        (run,) = [run async for _, run in house.app.runs.stored.unfinished()]
    assert "Xanthippe" not in msgspec.json.encode(run).decode()


@pytest.mark.parametrize("name", ["store_memory", "delete_all_memories"])
async def test_a_client_cannot_stand_in_for_a_tool_that_changes_things(name: str) -> None:
    async with open_house(ScriptedLlm(["ok", "ok"])) as house:
        with pytest.raises(BadInput, match="of its own, which changes things"):
            await ask(house, "Hello", client_tools=(replace(WEATHER, name=name),))
        await ask(house, "Hello", client_tools=(replace(WEATHER, name=name),), tools=False)


async def test_a_client_may_stand_in_for_a_tool_that_reads() -> None:
    llm = ScriptedLlm(["ok"])
    async with open_house(llm) as house:
        await ask(house, "Hello", client_tools=(replace(WEATHER, name="search_memory"),))
    offered = [schema for schema in llm.requests[0].tools if schema.name == "search_memory"]
    assert [schema.description for schema in offered] == ["The weather of a city."]


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"type": "array"}, "not an object"),
        ({"type": "object", "properties": []}, "properties is no object"),
        ({"type": "object", "properties": {"a": 1}}, "properties.a is not a schema"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "properties.a.type is 'text'"),
        ({"type": "object", "properties": {"a": {"type": [{}]}}}, "properties.a.type"),
        ({"type": "object", "required": "a"}, "required is no list"),
        ({"type": "object", "properties": {"a": {"items": 3}}}, "properties.a.items is not a schema"),
        ({"type": "object", "description": "x" * 70_000}, "larger than 64 kB"),
    ],
)
async def test_a_broken_schema_is_named(parameters: dict[str, Any], said: str) -> None:
    async with open_house(ScriptedLlm(["ok"])) as house:
        with pytest.raises(BadInput, match=said):
            await ask(house, "Hello", client_tools=(replace(WEATHER, parameters=parameters),))


@pytest.mark.parametrize("name", ["", "two words", "x" * 65])
async def test_a_name_that_no_tool_can_have_is_refused(name: str) -> None:
    async with open_house(ScriptedLlm(["ok"])) as house:
        with pytest.raises(BadInput):
            await ask(house, "Hello", client_tools=(replace(WEATHER, name=name),))
        with pytest.raises(BadInput, match="Two tools"):
            await ask(house, "Hello", client_tools=(WEATHER, WEATHER))
