"""`/v1`, chat completions, models and embeddings: OpenAI's own client, and what it would never send."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import anyio
import httpx2
import openai
import pytest

from bethink.errors import RateLimited
from bethink.events import ReasoningDelta, TextDelta
from bethink.llm import Delta, Finish, LlmRequest
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import AssistantMessage, ToolMessage, UserMessage
from tests.openai_client import Client, client_of

pytestmark = pytest.mark.anyio

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CALL = ScriptedCall("get_weather", {"city": "Paris"}, id="call_w")
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said_back(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


async def ask(client: Client, messages: Sequence[dict[str, Any]], **more: object) -> Any:  # noqa: ANN401 - streamed or not
    create: Any = client.openai.chat.completions.create
    return await create(model="bethink", messages=list(messages), **more)


async def stored(client: Client) -> list[Any]:
    """The messages of the only conversation."""
    house = client.door.house
    (held,) = (await house.app.conversations.list(house.me)).items
    return [item.message for item in await house.messages(held.record.id)]


async def test_an_answer_in_one_piece() -> None:
    async with client_of(ScriptedLlm(["Hello, Alice."])) as client:
        answer = await ask(client, [user("Hi")])
    choice = answer.choices[0]
    assert (choice.message.content, choice.finish_reason) == ("Hello, Alice.", "stop")
    assert answer.object == "chat.completion"
    assert answer.model == "bethink"
    assert answer.id.startswith("chatcmpl-")
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0


async def test_an_answer_that_streams() -> None:
    async with client_of(ScriptedLlm([[ReasoningDelta(text="Hm."), "Hello, Alice."]])) as client:
        stream = await ask(client, [user("Hi")], stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in stream]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == "Hello, Alice."
    assert "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == "Hm."
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens > 0
    assert len({chunk.id for chunk in chunks}) == 1


async def test_a_history_that_is_sent_again_makes_no_turn_twice() -> None:
    llm = ScriptedLlm(["One.", "Two.", "Three."])
    async with client_of(llm) as client:
        history = [{"role": "system", "content": "Be brief."}, user("Count")]
        for said in ("On", "On and on"):
            answer = await ask(client, history)
            history += [said_back(answer.choices[0].message.content), user(said)]
        await ask(client, history)
        messages = await stored(client)
    assert [message.content for message in messages] == ["Count", "One.", "On", "Two.", "On and on", "Three."]
    assert "Be brief." in llm.requests[2].system
    assert "Be brief." not in str(messages)


async def test_two_conversations_that_begin_alike_stay_apart() -> None:
    async with client_of(ScriptedLlm(["Hello!", "Hey!", "A", "B"])) as client:
        for _ in range(2):
            await ask(client, [user("Hi")])
        await ask(client, [user("Hi"), said_back("Hello!"), user("first")])
        await ask(client, [user("Hi"), said_back("Hey!"), user("second")])
        house = client.door.house
        talks = [
            [message.message.content for message in await house.messages(item.record.id)]
            for item in (await house.app.conversations.list(house.me)).items
        ]
    assert sorted(talks) == [["Hi", "Hello!", "first", "A"], ["Hi", "Hey!", "second", "B"]]


async def test_what_is_said_otherwise_goes_on_in_a_branch() -> None:
    async with client_of(ScriptedLlm(["Hello!", "A", "B"])) as client:
        await ask(client, [user("Hi")])
        await ask(client, [user("Hi"), said_back("Hello!"), user("first")])
        await ask(client, [user("Hi"), said_back("Hello!"), user("second")])
        messages = await stored(client)
    assert [message.content for message in messages] == ["Hi", "Hello!", "second", "B"]


async def test_a_history_from_elsewhere_is_taken_over_and_not_recalled_from() -> None:
    llm = ScriptedLlm(["Yes."])
    async with client_of(llm) as client:
        await ask(client, [user("My zebra is called Ada"), said_back("Nice."), user("Is it?")])
        found = await client.door.house.app.recall.search(client.door.house.me, "zebra Ada", kinds={"turn"})
        messages = await stored(client)
    assert [message.content for message in messages][:2] == ["My zebra is called Ada", "Nice."]
    assert len(llm.requests[0].messages) == 3
    assert not [hit for hit in found if "zebra" in hit.text]


async def test_a_client_may_name_its_conversation() -> None:
    async with client_of(ScriptedLlm(["One.", "Two.", "Three."])) as client:
        conversation = await client.door.new()
        header = {"X-Bethink-Conversation": conversation}
        raw = await client.openai.chat.completions.with_raw_response.create(
            model="bethink",
            messages=[{"role": "user", "content": "Hi"}],
            extra_headers=header,
        )
        assert raw.headers["x-bethink-conversation"] == conversation
        await ask(client, [user("again")], metadata={"conversation_id": conversation})
        messages = await stored(client)
        gone = client.door.house.app.conversations.new_id()
        with pytest.raises(openai.NotFoundError) as refused:
            await ask(client, [user("again")], metadata={"conversation_id": gone})
    assert [message.content for message in messages] == ["Hi", "One.", "again", "Two."]
    assert refused.value.type == "not_found_error"


async def test_a_clients_own_functions_come_back_to_it() -> None:
    llm = ScriptedLlm([[CALL], "It is sunny.", "Yes."])
    async with client_of(llm) as client:
        history: list[dict[str, Any]] = [user("Weather?")]
        first = await ask(client, history, tools=[WEATHER])
        (call,) = first.choices[0].message.tool_calls
        assert first.choices[0].finish_reason == "tool_calls"
        assert first.choices[0].message.content is None
        assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Paris"})
        history += [
            first.choices[0].message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": "sunny"},
        ]
        second = await ask(client, history, tools=[WEATHER])
        assert second.choices[0].message.content == "It is sunny."
        await ask(client, [*history, said_back("It is sunny."), user("Sure?")], tools=[WEATHER])
        messages = await stored(client)
    assert [type(message) for message in messages] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        AssistantMessage,
        UserMessage,
        AssistantMessage,
    ]
    assert {"get_weather", "store_memory"} <= {schema.name for schema in llm.requests[0].tools}


async def test_a_clients_functions_stream() -> None:
    async with client_of(ScriptedLlm([["Let me look.", CALL]])) as client:
        stream = await ask(client, [user("Weather?")], tools=[WEATHER], stream=True)
        chunks = [chunk async for chunk in stream]
    (delta,) = [chunk.choices[0].delta for chunk in chunks if chunk.choices[0].delta.tool_calls]
    assert (delta.tool_calls[0].index, delta.tool_calls[0].function.name) == (0, "get_weather")
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


async def test_bethinks_own_tools_run_unseen_or_are_told_in_the_reasoning() -> None:
    kept = ScriptedCall("store_memory", {"content": "User lives in Paris"})
    async with client_of(ScriptedLlm([[kept], "Noted.", [kept], "Noted."])) as client:
        answer = await ask(client, [user("I live in Paris")])
        facts = (await client.door.house.app.memory.list(client.door.house.me)).items
        told = await ask(client, [user("I do")], extra_headers={"X-Bethink-Activity": "reasoning"})
    assert answer.choices[0].message.content == "Noted."
    assert not hasattr(answer.choices[0].message, "reasoning_content")
    assert len(facts) == 1
    assert "Paris" in told.choices[0].message.reasoning_content


async def test_a_call_that_waits_is_named_with_the_place_to_approve_it() -> None:
    async with client_of(ScriptedLlm([[ScriptedCall("delete_all_memories")], "Kept.", "Fine."])) as client:
        await client.door.house.app.memory.add(client.door.house.me, NewFact("User likes tea"))
        answer = await ask(client, [user("Forget all")])
        text = answer.choices[0].message.content
        await ask(client, [user("Forget all"), said_back(text), user("No, wait")])
        messages = await stored(client)
        assert (await client.door.house.app.memory.list(client.door.house.me)).items
    assert "waits for your approval, at http://127.0.0.1:8484/conversations/" in text
    assert [message.content for message in messages if isinstance(message, UserMessage)] == [
        "Forget all",
        "No, wait",
    ]


@pytest.mark.parametrize(
    "given", [{"metadata": {"memory": "false"}}, {"extra_headers": {"X-Bethink-Memory": "off"}}]
)
async def test_memory_can_be_off(given: dict[str, Any]) -> None:
    llm = ScriptedLlm(["One.", "Two."])
    async with client_of(llm) as client:
        await client.door.house.app.memory.add(
            client.door.house.me, NewFact("User likes tea", importance=1.0)
        )
        await ask(client, [user("Tea?")], **given)
        await ask(client, [user("Tea?"), said_back("One."), user("More?")], **given)
        listed = (await client.door.house.app.conversations.list(client.door.house.me)).items
    assert "tea" not in str(llm.requests[0].messages).lower().replace("tea?", "")
    assert [message.content for message in llm.requests[1].messages] == ["Tea?", "One.", "More?"]
    assert listed == ()


async def test_tools_can_be_off() -> None:
    llm = ScriptedLlm(["One."])
    async with client_of(llm) as client:
        await ask(client, [user("Hi")], extra_headers={"X-Bethink-Tools": "off"})
    assert llm.requests[0].tools == ()


async def test_an_idempotent_request_is_answered_once() -> None:
    async with client_of(ScriptedLlm(["One.", "Two."])) as client:
        header = {"Idempotency-Key": "abc"}
        answers = [await ask(client, [user("Hi")], extra_headers=header) for _ in range(2)]
        messages = await stored(client)
        with pytest.raises(openai.ConflictError):
            await ask(client, [user("Else")], extra_headers=header)
    assert answers[0].id == answers[1].id
    assert [message.content for message in messages] == ["Hi", "One."]


async def test_a_key_whose_request_failed_is_free_again() -> None:
    async with client_of(ScriptedLlm(["One."])) as client:
        header = {"Idempotency-Key": "abc"}
        with pytest.raises(openai.BadRequestError):
            await ask(client, [user("Hi")], tools=[WEATHER, WEATHER], extra_headers=header)
        await ask(client, [user("Hi")], extra_headers=header)


async def test_images_are_kept_as_the_conversations_files() -> None:
    llm = ScriptedLlm(["A pixel."])
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
        {"type": "input_audio", "input_audio": {"data": PIXEL, "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PIXEL}"}},
    ]
    async with client_of(llm) as client:
        await ask(client, [{"role": "user", "content": parts}])
        (message, _) = await stored(client)
    assert [file.name for file in message.attachments] == ["image-1.png", "audio-2.wav", "a.pdf"]
    assert "[image: https://example.org/cat.png]" in message.content


async def test_a_model_that_fails_is_told_and_not_asked_again() -> None:
    failure = RateLimited("Slow down.", retry_after_s=600)
    async with client_of(ScriptedLlm([failure, failure])) as client:
        again = client.openai.with_options(max_retries=3)
        with pytest.raises(openai.RateLimitError) as refused:
            await again.chat.completions.create(model="bethink", messages=[{"role": "user", "content": "Hi"}])
        assert "Slow down" in str(refused.value)
        assert (refused.value.type, refused.value.code) == ("rate_limit_error", "rate_limit_exceeded")
        assert len(await stored(client)) == 2
        stream = await ask(client, [user("Hi")], stream=True)
        with pytest.raises(openai.APIError, match="Slow down"):
            _ = [chunk async for chunk in stream]


async def test_a_long_answer_ends_as_one() -> None:
    llm = ScriptedLlm([["Long", Finish(reason="length", model="m")]])
    async with client_of(llm) as client:
        answer = await ask(client, [user("Hi")], max_completion_tokens=5, temperature=0, stop=["x"], seed=1)
    assert answer.choices[0].finish_reason == "length"
    assert (llm.requests[0].max_output_tokens, llm.requests[0].temperature) == (5, 0)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "model"),
        ({"model": "bethink", "messages": []}, "messages"),
        ({"model": "bethink", "messages": [{"role": "user", "content": "Hi"}], "n": 2}, None),
        ({"model": "bethink", "messages": [{"role": "king", "content": "Hi"}]}, "messages.0.role"),
        ({"model": "bethink", "messages": [{"role": "assistant", "content": "Hi"}]}, None),
        ({"model": "bethink", "messages": [{"role": "system", "content": "Hi"}]}, None),
        ({"model": "bethink", "messages": [{"role": "user", "content": ""}]}, None),
        ({"model": "bethink", "messages": [{"role": "user", "content": [{"type": "smell"}]}]}, None),
        (
            {
                "model": "bethink",
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}
                ],
            },
            None,
        ),
        ({"model": "bethink", "messages": [{"role": "tool", "content": "x"}]}, None),
        (
            {"model": "bethink", "messages": [{"role": "user", "content": "Hi"}], "temperature": 9},
            "temperature",
        ),
        (
            {
                "model": "bethink",
                "messages": [{"role": "user", "content": "Hi"}],
                "metadata": {"memory": "maybe"},
            },
            "metadata.memory",
        ),
    ],
)
async def test_what_is_wrong_is_told_in_openais_shape(body: dict[str, Any], param: str | None) -> None:
    async with client_of(ScriptedLlm(["ok"])) as client:
        answer = await client.door.http.post("/v1/chat/completions", json=body)
        listed = (await client.door.house.app.conversations.list(client.door.house.me)).items
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert error["message"]
    assert error["param"] == param
    assert listed == () or not listed[0].record.count


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/chat/completions", 405),
        ("GET", "/v1/nowhere", 404),
        ("POST", "/v1/models", 405),
        ("POST", "/v1", 404),
    ],
)
async def test_errors_of_the_framework_have_openais_shape_too(method: str, path: str, status: int) -> None:
    async with client_of(None) as client:
        answer = await client.door.http.request(method, path)
        foreign = await client.door.http.get("/v1/models", headers={"Origin": "https://evil.example"})
    assert answer.status_code == status
    assert answer.json()["error"]["message"]
    assert foreign.status_code == 403
    assert foreign.json()["error"]["type"] == "permission_error"
    assert isinstance(answer, httpx2.Response)


class Stopped(ScriptedLlm):
    """Says something, and then its owner stops the run."""

    def __init__(self) -> None:
        super().__init__([])
        self.client: Client | None = None

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        del request
        yield TextDelta(text="One, ")
        assert self.client
        house = self.client.door.house
        (held,) = (await house.app.conversations.list(house.me)).items
        await house.app.runs.cancel(house.me, held.record.active_run or "")
        await anyio.sleep_forever()


async def test_an_answer_that_was_stopped_is_not_told_as_whole() -> None:
    llm = Stopped()
    async with client_of(llm) as client:
        llm.client = client
        again: Any = client.openai.with_options(max_retries=2)
        with pytest.raises(openai.ConflictError, match="stopped before its end"):
            await again.chat.completions.create(model="bethink", messages=[user("Count")])
        assert [message.content for message in await stored(client)] == ["Count", "One, "]


async def test_a_stream_that_was_stopped_ends_with_an_error_and_no_finish() -> None:
    llm = Stopped()
    async with client_of(llm) as client:
        llm.client = client
        chunks: list[Any] = []
        with pytest.raises(openai.APIError, match="stopped before its end"):
            chunks = [chunks.append(chunk) async for chunk in await ask(client, [user("Count")], stream=True)]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "One, "
    assert {chunk.choices[0].finish_reason for chunk in chunks} == {None}
