"""The scripted model: what tests may rely on when they use it."""

from __future__ import annotations

import json

import anyio
import msgspec
import pytest

from bethink.errors import InvalidResponse, RateLimited, Unreachable
from bethink.events import ReasoningDelta, TextDelta
from bethink.llm import Delta, Finish, LlmRequest, ToolCallDelta, ToolSchema
from bethink.llm.scripted import (
    Reply,
    Rules,
    ScriptedCall,
    ScriptedLlm,
    ScriptInput,
    demonstration,
    recalled_texts,
)
from bethink.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

pytestmark = pytest.mark.anyio

STORE = ToolSchema("store_memory", "Store", {"type": "object"})


def asking(*messages: Message | str, tools: tuple[ToolSchema, ...] = ()) -> LlmRequest:
    said = tuple(UserMessage(message) if isinstance(message, str) else message for message in messages)
    return LlmRequest("You are Bethink.", said, tools)


async def answer(llm: ScriptedLlm, request: LlmRequest | None = None) -> list[Delta]:
    return [delta async for delta in llm.stream(request or asking("hello"))]


async def read(llm: ScriptedLlm, into: list[Delta]) -> None:
    """What comes before an error is kept in `into`."""
    async for delta in llm.stream(asking("hi")):
        into.append(delta)  # noqa: PERF401 a comprehension would lose it


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


async def test_answers_are_used_up_in_order_and_come_in_chunks() -> None:
    llm = ScriptedLlm(["Hello there, Alice", "Bye"], chunk_characters=5)
    first = await answer(llm)
    assert [delta.text for delta in first if isinstance(delta, TextDelta)] == [
        "Hello",
        " ther",
        "e, Al",
        "ice",
    ]
    assert isinstance(first[-1], Finish)
    assert first[-1].reason == "stop"
    assert text_of(await answer(llm)) == "Bye"
    with pytest.raises(InvalidResponse):
        await answer(llm)
    assert len(llm.requests) == 3


async def test_parallel_calls_have_their_own_index_and_finish_with_tool_calls() -> None:
    calls = [ScriptedCall("store_memory", {"content": "a"}), ScriptedCall("search_memory", "{broken", id="x")]
    deltas = await answer(ScriptedLlm([["Wait. ", *calls]]))
    pieces = [delta for delta in deltas if isinstance(delta, ToolCallDelta)]
    joined = {index: "".join(p.arguments for p in pieces if p.index == index) for index in (0, 1)}
    assert json.loads(joined[0]) == {"content": "a"}
    assert joined[1] == "{broken"
    assert [(p.index, p.id, p.name) for p in pieces if p.id] == [
        (0, "call_1", "store_memory"),
        (1, "x", "search_memory"),
    ]
    assert isinstance(deltas[-1], Finish)
    assert deltas[-1].reason == "tool_calls"


async def test_an_error_after_text_is_raised_after_that_text() -> None:
    llm = ScriptedLlm([["Hal", Unreachable("gone")], RateLimited(retry_after_s=3)])
    seen: list[Delta] = []
    with pytest.raises(Unreachable, match="gone"):
        await read(llm, seen)
    assert text_of(seen) == "Hal"
    with pytest.raises(RateLimited):
        await answer(llm)


async def test_a_gate_holds_the_answer_until_it_opens() -> None:
    gate = anyio.Event()
    stream = ScriptedLlm([["before", gate, ReasoningDelta(text="hm"), "after"]]).stream(asking("hi"))
    assert await anext(stream) == TextDelta(text="before")
    with anyio.move_on_after(0) as scope:
        await anext(stream)
    assert scope.cancelled_caught
    stream = ScriptedLlm([["before", gate, "after"]]).stream(asking("hi"))
    await anext(stream)
    gate.set()
    assert await anext(stream) == TextDelta(text="after")
    await stream.aclose()


async def test_rules_answer_by_the_last_user_message() -> None:
    llm = ScriptedLlm({"weather": "Rain.", "": "Else."})
    assert text_of(await answer(llm, asking("The weather?"))) == "Rain."
    assert text_of(await answer(llm, asking("The weather?", AssistantMessage("Rain."), "And?"))) == "Else."
    with pytest.raises(InvalidResponse, match="no answer"):
        await answer(ScriptedLlm({"weather": "Rain."}))


async def test_a_function_sees_the_request() -> None:
    llm = ScriptedLlm(lambda request: request.system)
    assert text_of(await answer(llm)) == "You are Bethink."


async def test_the_demonstration_stores_a_name_and_a_city_then_confirms() -> None:
    llm = ScriptedLlm()
    said = UserMessage("My name is Alice and I live in Paris.")
    deltas = await answer(llm, asking(said, tools=(STORE,)))
    arguments: dict[int, str] = {}
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            arguments[delta.index] = arguments.get(delta.index, "") + delta.arguments
    assert [json.loads(text)["content"] for text in arguments.values()] == [
        "User's name is Alice.",
        "User lives in Paris.",
    ]
    calls = tuple(ToolCall(str(index), "store_memory", text) for index, text in arguments.items())
    results = [ToolMessage(call.id, call.name, "Memory stored") for call in calls]
    confirmed = await answer(llm, asking(said, AssistantMessage("", calls), *results, tools=(STORE,)))
    assert "Alice" in text_of(confirmed)
    assert "Memory stored" in text_of(confirmed)
    assert "script" in text_of(confirmed)


RECALLED = """<recalled_memories note="data">
{"text": "User's name is Alice.", "score": 0.9}
not json
{"text": "User lives in Paris."}
</recalled_memories>
"""


@pytest.mark.parametrize(
    ("question", "quoted"),
    [("Where do I live?", "Paris"), ("what is my name", "Alice"), ("When is my dentist?", "do not know")],
)
def test_the_demonstration_quotes_the_recalled_memory_that_answers(question: str, quoted: str) -> None:
    assert quoted in demonstration(ScriptInput(RECALLED + question)).text


def test_without_recalled_memories_the_demonstration_does_not_know() -> None:
    assert "do not know" in demonstration(ScriptInput("Where do I live?")).text
    assert recalled_texts("no block here") == []


def test_without_the_tool_nothing_is_stored() -> None:
    assert demonstration(ScriptInput("My name is Alice")).tool_calls == ()


def test_a_rule_is_used_up_and_the_next_one_answers() -> None:
    rules = Rules.decode(b'[{"when": "hi", "status": 500, "times": 1}, {"when": "hi", "text": "again"}]')
    assert rules(ScriptInput("HI")).status == 500
    assert rules(ScriptInput("hi")).text == "again"
    assert "script" in rules(ScriptInput("other")).text


def test_a_rule_can_wait_for_tool_results() -> None:
    rules = Rules.decode(b'[{"after_tool": true, "text": "done"}, {"after_tool": false, "text": "first"}]')
    assert rules(ScriptInput("x")).text == "first"
    assert rules(ScriptInput("x", ("result",))).text == "done"


def test_a_misspelt_rule_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        Rules.decode(b'[{"wehn": "x"}]')


async def test_a_reply_plays_in_process_as_it_does_over_http() -> None:
    llm = ScriptedLlm([Reply(reasoning="hm", text="ok", tool_calls=(ScriptedCall("t"),))])
    kinds = [type(delta).__name__ for delta in await answer(llm)]
    assert kinds == ["ReasoningDelta", "TextDelta", "ToolCallDelta", "ToolCallDelta", "Finish"]
