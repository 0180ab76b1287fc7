"""Tools for a model whose template knows none: the question, the call, the answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import aclosing

import pytest
from jsonschema import Draft202012Validator

from bethink.errors import InvalidResponse, Refused
from bethink.events import TextDelta, Warned
from bethink.llm import Delta, Finish, LlmRequest, ToolCallDelta, ToolSchema
from bethink.llm.routed import RoutedLlm, routing, schema_of
from bethink.llm.scripted import ScriptedLlm
from bethink.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage

pytestmark = pytest.mark.anyio

READ = ToolSchema(
    "read_file",
    "Read a page.\n\nLong words that a small model need not read.",
    {
        "type": "object",
        "properties": {"file_path": {"type": "string", "description": "Its path.", "maxLength": 200_000}},
        "required": ["file_path"],
        "additionalProperties": False,
    },
)
SEARCH = ToolSchema(
    "search",
    "Search pages.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "filters": {"type": "array", "items": {"$ref": "#/$defs/Filter"}},
        },
        "required": ["query"],
        "additionalProperties": False,
        "$defs": {"Filter": {"type": "object", "properties": {"path": {"type": "string", "pattern": "^a"}}}},
    },
)
ASKED = LlmRequest("You keep a vault.", (UserMessage("Where do I live?"),), tools=(READ, SEARCH))


async def answered(llm: RoutedLlm, request: LlmRequest = ASKED) -> list[Delta]:
    async with aclosing(llm.stream(request)) as deltas:
        return [delta async for delta in deltas]


def text_of(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def chosen(tool: str, **arguments: object) -> str:
    return json.dumps({"tool": tool, "arguments": arguments})


@pytest.mark.requirement("C18")
async def test_a_tool_is_chosen_by_a_schema_and_the_answer_is_asked_for_plainly() -> None:
    model = ScriptedLlm([chosen("read_file", file_path="user.md"), chosen("answer"), "In Paris."])
    llm = RoutedLlm(model, new_id=lambda: "c1")
    deltas = await answered(llm)
    (call,) = [delta for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert (call.id, call.name, json.loads(call.arguments)) == ("c1", "read_file", {"file_path": "user.md"})
    assert isinstance(deltas[-1], Finish)
    assert deltas[-1].reason == "tool_calls"
    made = ToolCall("c1", "read_file", '{"file_path":"user.md"}')
    said = (*ASKED.messages, AssistantMessage("", (made,)), ToolMessage("c1", "read_file", "- city: Paris"))
    deltas = await answered(llm, LlmRequest(ASKED.system, said, tools=ASKED.tools))
    assert text_of(deltas) == "In Paris."
    route, _, plain = model.requests
    assert route.tools == ()
    assert route.response_format is not None
    assert "read_file: Read a page." in route.system
    assert "Long words" not in route.system
    assert plain.response_format is None
    assert [type(message) for message in plain.messages] == [UserMessage, AssistantMessage, UserMessage]
    assert "- city: Paris" in plain.messages[2].content


def test_the_schema_takes_what_the_tools_take_and_nothing_else() -> None:
    schema = schema_of(ASKED.tools)
    assert "maxLength" not in json.dumps(schema)
    assert "$ref" not in json.dumps(schema)
    valid = Draft202012Validator(schema)
    assert valid.is_valid({"tool": "read_file", "arguments": {"file_path": "user.md"}})
    assert valid.is_valid({"tool": "search", "arguments": {"query": "a", "filters": [{"path": "b"}]}})
    assert valid.is_valid({"tool": "answer", "arguments": {}})
    assert not valid.is_valid({"tool": "read_file", "arguments": {}})
    assert not valid.is_valid({"tool": "delete_all", "arguments": {}})
    forced = Draft202012Validator(schema_of(ASKED.tools, must_call=True))
    assert not forced.is_valid({"tool": "answer", "arguments": {}})


async def test_without_tools_one_question_is_enough() -> None:
    model = ScriptedLlm(["Hello."])
    assert text_of(await answered(RoutedLlm(model), LlmRequest("", ASKED.messages))) == "Hello."
    assert len(model.requests) == 1


async def test_what_is_no_choice_is_no_answer() -> None:
    for written in ("I would read it.", chosen("delete_all")):
        with pytest.raises(InvalidResponse):
            await answered(RoutedLlm(ScriptedLlm([written])))


async def test_a_server_that_takes_no_schema_is_asked_without_tools_from_then_on() -> None:
    model = ScriptedLlm([Refused("No schema here."), "Hello.", "Again."])
    llm = RoutedLlm(model)
    first = await answered(llm)
    assert isinstance(first[0], Warned)
    assert text_of(first) == "Hello."
    assert text_of(await answered(llm)) == "Again."


def test_turns_alternate_whatever_came_together() -> None:
    calls = (ToolCall("1", "read_file", "{}"), ToolCall("2", "search", "no json"))
    said = (
        UserMessage("a"),
        AssistantMessage("I look.", calls),
        ToolMessage("1", "read_file", "x"),
        ToolMessage("2", "search", "y"),
    )
    asked = routing(LlmRequest("s", said, tools=ASKED.tools))
    assert [type(message) for message in asked.messages] == [UserMessage, AssistantMessage, UserMessage]
    assert '{"tool": "search", "arguments": {}}' in asked.messages[1].content
