"""The memory tools as the model meets them: names, schemas and replies of spec 002."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bethink.agent.toolbox import CallResult, Prepared
from bethink.conversations.service import PastMessage
from bethink.events import Event, MemoryChanged
from bethink.llm import ToolSchema
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact, Source
from bethink.messages import ToolCall, ToolMessage
from bethink.tool import MAX_DESCRIPTION, ToolContext, tool
from tests.house import House, open_house

pytestmark = pytest.mark.anyio


async def call(house: House, name: str, **arguments: object) -> tuple[ToolMessage, list[Event]]:
    """The result of a call, and what it told the run of memory."""
    box = house.app.toolbox
    prepared = box.prepare(ToolCall("call", name, json.dumps(arguments)))
    if isinstance(prepared, ToolMessage):
        return prepared, []
    context = ToolContext(house.me, "talk", "run", "message")
    items = [item async for item in box.run([prepared], context)]
    (result,) = [item.message for item in items if isinstance(item, CallResult)]
    return result, [item for item in items if isinstance(item, MemoryChanged)]


async def reply(house: House, name: str, **arguments: object) -> str:
    return (await call(house, name, **arguments))[0].content


async def test_memory_is_waited_for_longer_than_other_tools() -> None:
    async with open_house(None, tool_timeout_s=1e-6) as house:
        assert await reply(house, "store_memory", content="Lives in Paris") == "Memory stored: Lives in Paris"
        assert "Lives in Paris" in await reply(house, "search_memory", query="Where?")


async def schema(name: str) -> ToolSchema:
    async with open_house() as house:
        (found,) = [schema for schema in house.app.toolbox.offer.schemas if schema.name == name]
    return found


def described(schema: ToolSchema) -> dict[str, Any]:
    """Its parameters, the descriptions apart: the source's schema says the same in other words."""
    properties: dict[str, Any] = {
        name: {key: value for key, value in rules.items() if key != "description"}
        for name, rules in schema.parameters["properties"].items()
    }
    return schema.parameters | {"properties": properties}


@pytest.mark.requirement("R54", "C3")
async def test_store_memory_has_the_documented_schema() -> None:
    found = await schema("store_memory")
    assert described(found) == {
        "type": "object",
        "properties": {
            "content": {"type": "string", "minLength": 1},
            "category": {"type": "string", "default": "general"},
            "importance": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
            "topics": {"type": "array", "items": {"type": "string"}, "default": []},
        }
        | {
            name: {"type": "array", "items": {"type": "string"}, "default": []}
            for name in ("replaces", "corrects", "repeats", "depends_on")
        }
        | {name: {"type": "string", "default": ""} for name in ("valid_from", "about")},
        "required": ["content"],
        "additionalProperties": False,
    }
    assert found.description.startswith("Store important information about the user in long-term memory.")
    category = found.parameters["properties"]["category"]["description"]
    for name in ("preferences", "personal_info", "goals", "plans", "context", "general"):
        assert f"'{name}'" in category


@pytest.mark.requirement("R56", "C1")
async def test_search_memory_has_the_documented_schema() -> None:
    found = await schema("search_memory")
    assert described(found) == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1},
            "top_k": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    assert found.description.startswith("Search long-term memory for information about the user.")


@pytest.mark.requirement("R58")
async def test_delete_all_memories_needs_nothing_as_documented_and_may_be_told_what_else_goes() -> None:
    found = await schema("delete_all_memories")
    kinds, conversations = (found.parameters["properties"].pop(name) for name in ("kinds", "conversations"))
    assert found.parameters == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }
    assert (kinds["default"], conversations["default"]) == ([], "keep")
    assert found.description.startswith("Delete ALL stored memories. Use only when user explicitly requests.")


@pytest.mark.requirement("R31", "R2")
async def test_every_tool_has_a_name_of_its_own_and_a_description_for_itself_and_each_parameter() -> None:
    async with open_house() as house:
        names = [found.name for found in house.app.toolbox.offer.schemas]
        assert len(set(names)) == len(names)
        for found in house.app.toolbox.offer.schemas:
            assert 0 < len(found.description) <= MAX_DESCRIPTION
            assert all(rules.get("description") for rules in found.parameters["properties"].values())


@pytest.mark.requirement("R47", "R55", "R196")
async def test_what_is_stored_is_confirmed_told_to_the_run_and_can_be_undone() -> None:
    async with open_house() as house:
        result, (told,) = await call(
            house,
            "store_memory",
            content="User's name is Alice",
            category="personal_info",
            importance=0.9,
            topics=["identity"],
        )
        (fact,) = [item.record for item in (await house.app.memory.list(house.me)).items]
        assert (result.content, result.error) == ("Memory stored: User's name is Alice", None)
        assert told == MemoryChanged(
            change="added", ids=(fact.id,), text="User's name is Alice", undo=f"added:{fact.id}"
        )
        assert (fact.category, fact.importance, fact.topics) == ("personal_info", 0.9, ("identity",))
        assert fact.sources == (
            Source(kind="conversation", id="talk", message="message", at=house.clock.now_us()),
        )
        again, (merged,) = await call(house, "store_memory", content="user's name is Alice.")
        assert again.content == "Memory stored: User's name is Alice (it was known already)"
        assert isinstance(merged, MemoryChanged)
        assert merged.change == "merged"


@pytest.mark.requirement("R57", "C6", "R196", "R48")
async def test_a_search_lists_what_it_found_with_importance_and_similarity() -> None:
    async with open_house() as house:
        await house.app.memory.add_many(
            house.me,
            [
                NewFact("Lives in Paris, France", "personal_info", 0.9, ("location", "geography")),
                NewFact("Enjoys cafes in the Marais", "context", 0.6),
            ],
        )
        text = await reply(house, "search_memory", query="where does the user live?")
        hits = await house.app.memory.search(house.me, "where does the user live?", k=5)
    first, second = (f"{score:.2f}" for _, score in hits)
    assert text == (
        "Found 2 memories:\n"
        "\n"
        f"1. **Category:** personal_info | **Importance:** 0.9 | **Similarity:** {first}\n"
        "   Content: Lives in Paris, France\n"
        "   Topics: location, geography\n"
        "\n"
        f"2. **Category:** context | **Importance:** 0.6 | **Similarity:** {second}\n"
        "   Content: Enjoys cafes in the Marais"
    )
    assert 1 >= float(first) > float(second) >= 0


async def test_a_search_finds_what_was_said_too_with_its_date_speaker_and_conversation() -> None:
    async with open_house(ScriptedLlm(["Bees need water."])) as house:
        await house.app.memory.add(house.me, NewFact("Keeps bees", "preferences"))
        elsewhere = await house.new()
        told = PastMessage("My bees\nswarmed in the garden", 1_683_540_000_000_000, speaker="Ben")
        await house.app.conversations.take_over(house.me, elsewhere, [told])
        talk = await house.new()
        await house.say("What do bees drink? I have two hives with bees.", talk)
        text = await reply(house, "search_memory", query="bees")
    assert text.startswith("Found 4 memories:\n\n1. ")
    assert "**Category:** preferences | **Importance:** 0.5 | **Similarity:** " in text
    (ben,) = [entry for entry in text.split("\n\n") if "swarmed" in entry]
    assert re.search(
        rf"\d\. \*\*Said:\*\* 2023-05-08 by Ben \| \*\*Similarity:\*\* 0\.\d\d"
        rf" \| \*\*Source:\*\* conversation {elsewhere}\n   Content: My bees swarmed in the garden",
        ben,
    )
    assert "2026-02-02 by the user" in text
    assert "2026-02-02 by you" in text


async def test_what_a_tool_said_and_what_hardly_fits_is_not_found() -> None:
    @tool(effect="read", trust="untrusted", label="peek")
    async def peek(context: ToolContext) -> str:
        """Look at a page."""
        return "The secret of the page is plums."

    async with open_house(ScriptedLlm([ScriptedCall("peek"), "Done."]), tools=[peek]) as house:
        await house.say("Look, please.", await house.new())
        text = await reply(house, "search_memory", query="secret of the page")
    assert text == "No memories found matching: secret of the page"


async def test_what_is_past_or_in_doubt_says_so() -> None:
    async with open_house() as house:
        home = await house.app.memory.add(house.me, NewFact("Lives in Oslo"))
        house.clock.advance(60)
        await house.app.memory.edit(house.me, home.fact.id, NewFact("Lives in Rome"))
        text = await reply(house, "search_memory", query="Where did the user live before?")
    first, second = text.split("\n\n")[1:]
    assert "| **True until:** 2026-02-02\n   Content: Lives in Oslo" in first
    assert "True until" not in second


@pytest.mark.requirement("R57", "C6", "R48")
async def test_the_count_of_a_search_is_that_of_its_list() -> None:
    async with open_house() as house:
        await house.app.memory.add_many(house.me, [NewFact(f"Likes plum number {n}") for n in range(30)])
        for top_k in (1, 5, 20):
            text = await reply(house, "search_memory", query="plum", top_k=top_k)
            assert text.startswith(f"Found {top_k} memor{'y' if top_k == 1 else 'ies'}:\n\n1. ")
            assert text.count("   Content: ") == top_k
        assert (await reply(house, "search_memory", query="plum")).count("   Content: ") == 5


@pytest.mark.requirement("R49", "U2")
async def test_a_search_of_nothing_says_what_was_sought() -> None:
    async with open_house() as house:
        assert await reply(house, "search_memory", query="favourite colour") == (
            "No memories found matching: favourite colour"
        )


@pytest.mark.requirement("R53")
async def test_what_one_tool_stores_or_deletes_the_others_see_at_once() -> None:
    async with open_house() as house:
        await reply(house, "store_memory", content="Likes plums")
        assert "Content: Likes plums" in await reply(house, "search_memory", query="plums")
        await reply(house, "delete_all_memories")
        assert "No memories found" in await reply(house, "search_memory", query="plums")
        await reply(house, "store_memory", content="Likes pears")
        assert "Content: Likes pears" in await reply(house, "search_memory", query="pears")


@pytest.mark.requirement("C1")
async def test_the_name_and_the_parameter_of_the_other_document_work_too() -> None:
    async with open_house() as house:
        await house.app.memory.add_many(house.me, [NewFact("Likes plums"), NewFact("Likes pears")])
        assert (await reply(house, "search_memories", query="likes", limit=1)).startswith("Found 1 memory:")


@pytest.mark.requirement("R58", "C7")
async def test_deleting_everything_is_confirmed_and_of_nothing_is_told_too() -> None:
    async with open_house() as house:
        changes = await house.app.memory.add_many(house.me, [NewFact("Likes plums"), NewFact("Likes pears")])
        result, (told,) = await call(house, "delete_all_memories")
        assert (result.content, result.error) == (
            "Successfully deleted all memories. The memory file has been removed.",
            None,
        )
        ids = tuple(changed.fact.id for changed in changes)
        assert told == MemoryChanged(change="forgotten", ids=ids, text="Forgotten for good: 2 memories.")
        assert await house.app.memory.count(house.me) == 0
        again, nothing = await call(house, "delete_all_memories")
        assert (again.content, again.error, nothing) == ("There were no memories to delete.", None, [])


@pytest.mark.requirement("R160", "U9")
@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("store_memory", {}, "content: Field required"),
        ("store_memory", {"content": ""}, "content: String should have at least 1 character"),
        (
            "store_memory",
            {"content": "a", "importance": 2},
            "importance: Input should be less than or equal",
        ),
        ("store_memory", {"content": "a", "topics": "b"}, "topics: Input should be a valid array"),
        ("store_memory", {"content": " \x00 "}, "The memory has no content"),
        ("store_memory", {"content": "a" * 9_000}, "Store it as several facts"),
        ("store_memory", {"content": "a", "topics": ["b"] * 2_000}, "Topics are at most 32 words"),
        ("search_memory", {"query": "a", "top_k": 0}, "top_k: Input should be greater than or equal to 1"),
        ("search_memory", {"query": "a", "top_k": 21}, "top_k: Input should be less than or equal to 20"),
        ("search_memory", {"query": "a", "top_k": 1.5}, "top_k: Input should be a valid integer"),
        ("delete_all_memories", {"really": True}, "really: Extra inputs are not permitted"),
    ],
)
async def test_what_does_not_fit_is_told_to_the_model_and_changes_nothing(
    name: str, arguments: dict[str, object], says: str
) -> None:
    async with open_house() as house:
        result, told = await call(house, name, **arguments)
        assert says in result.content
        assert result.error in {"invalid_arguments", "bad_input", "too_large"}
        assert told == []
        assert await house.app.memory.count(house.me) == 0


@pytest.mark.parametrize(
    ("name", "arguments", "label"),
    [
        ("store_memory", {"content": "Lives in Paris"}, "Remember: Lives in Paris"),
        ("search_memory", {"query": "home"}, "Search memory: home"),
        ("delete_all_memories", {}, "Delete all memories"),
    ],
)
async def test_a_call_says_in_plain_words_what_it_does(
    name: str, arguments: dict[str, object], label: str
) -> None:
    async with open_house() as house:
        prepared = house.app.toolbox.prepare(ToolCall("call", name, json.dumps(arguments)))
    assert isinstance(prepared, Prepared)
    assert prepared.label == label
