"""The stream of spec 001's API, for clients that ask for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from bethink.agent.records import NumberedEvent
from bethink.errors import StorageError
from bethink.events import Event, MessageSaved, Place, RunDone, RunFailed, RunStarted, TextDelta, TextSoFar
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.web.v1.frames import OpenAiFrames, asks_for_profile
from tests.door import Door, open_door, open_server, said

pytestmark = pytest.mark.anyio

OPENAI = {"Accept": "text/event-stream; profile=openai"}
PARIS = ScriptedCall("store_memory", {"content": "Lives in Paris"})


async def streamed(door: Door, conversation: str, headers: Mapping[str, str] = OPENAI) -> list[Any]:
    """What the `data` lines of an answer hold; no other line is sent."""
    url = f"/conversations/{conversation}/chat"
    answer = await door.http.post(url, json=said("I live in Paris"), headers=dict(headers))
    lines = [line for line in answer.text.split("\n\n") if line]
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert all(line.startswith("data: ") for line in lines)
    data = [line.removeprefix("data: ") for line in lines]
    return [each if each == "[DONE]" else json.loads(each) for each in data]


def written(events: Sequence[Event]) -> str:
    frames = OpenAiFrames("c", "r")
    return frames.written(
        [NumberedEvent(Place(number), event) for number, event in enumerate(events)]
    ).decode()


def text_of(chunks: Sequence[Any]) -> str:
    return "".join(
        choice["delta"].get("content", "")
        for chunk in chunks
        if chunk != "[DONE]"
        for choice in chunk.get("choices", ())
    )


@pytest.mark.requirement("U6", "R99")
async def test_the_stream_is_the_conversations_id_then_deltas_then_stop_and_done() -> None:
    async with open_door(ScriptedLlm([[PARIS], "Noted, Paris."])) as door:
        conversation = await door.new()
        told = await streamed(door, conversation)
    first, *chunks, last, done = told
    assert first == {"conversation_id": conversation}
    assert done == "[DONE]"
    assert {chunk["object"] for chunk in (*chunks, last)} == {"chat.completion.chunk"}
    assert len({(chunk["id"], chunk["model"], chunk["created"]) for chunk in (*chunks, last)}) == 1
    assert chunks[0]["choices"] == [
        {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    ]
    assert text_of(chunks) == "Noted, Paris."
    assert last["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]


@pytest.mark.requirement("U6", "R93")
async def test_chunks_are_what_the_openai_library_reads() -> None:
    async with open_server(ScriptedLlm(["Grüße aus Paris \n 猫"])) as door:
        url = f"/conversations/{await door.new()}"
        kept: list[ChatCompletionChunk] = []
        async with openai.AsyncOpenAI(
            api_key="any", base_url=f"{door.http.base_url}{url}", max_retries=0, default_headers=OPENAI
        ) as client:
            answer = await client.post(
                "/chat",
                body=said("Hello"),
                cast_to=ChatCompletionChunk,
                stream=True,
                stream_cls=openai.AsyncStream[ChatCompletionChunk],
            )
            kept = [chunk async for chunk in answer]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in kept[1:]) == "Grüße aus Paris \n 猫"
    assert kept[-1].choices[0].finish_reason == "stop"


async def test_a_call_that_waits_is_named_with_where_to_decide_it() -> None:
    script = ["First this.", [ScriptedCall("delete_all_memories", {})]]
    async with open_door(ScriptedLlm(script)) as door:
        conversation = await door.new()
        await door.chat(conversation, "Hello")
        told = await streamed(door, conversation)
        run = (await door.http.get(f"/conversations/{conversation}")).json()["active_run"]
    assert f"POST /runs/{run}/approvals/" in text_of(told)
    assert told[-2]["choices"][0]["finish_reason"] == "stop"


def test_a_failure_is_an_error_inside_of_the_stream() -> None:
    events = [RunFailed(code="unreachable", message="The model is away."), RunDone(reason="failed")]
    error, end, _ = written(events).split("\n\n")
    assert json.loads(error.removeprefix("data: "))["error"] == {
        "message": "The model is away.",
        "type": "server_error",
        "code": "unreachable",
    }
    assert '"finish_reason":"stop"' in end


@pytest.mark.parametrize("accept", ["text/event-stream", "*/*", "text/html; profile=openai"])
async def test_who_does_not_ask_for_it_gets_our_own_events(accept: str) -> None:
    async with open_door(ScriptedLlm(["Hello"])) as door:
        url = f"/conversations/{await door.new()}/chat"
        answer: httpx2.Response = await door.http.post(url, json=said("Hi"), headers={"Accept": accept})
    assert answer.text.startswith('id: 1.0\ndata: {"kind":"run_started"')


@pytest.mark.parametrize(
    ("accept", "asks"),
    [
        (None, False),
        ("text/event-stream;profile=openai", True),
        ('text/event-stream; q=0.9; PROFILE="OpenAI"', True),
        ("application/json, text/event-stream; profile=openai", True),
        ("application/json; profile=openai", False),
        ("text/event-stream; profile=other", False),
    ],
)
def test_the_profile_is_a_parameter_of_the_accepted_type(accept: str | None, *, asks: bool) -> None:
    assert asks_for_profile(accept) is asks


def test_texts_of_several_steps_stand_apart_and_nothing_is_told_twice() -> None:
    events = [
        RunStarted(run="r", conversation="c", message="m", model="m:x", at=1_700_000_000_000_000),
        TextDelta(text="One"),
        TextSoFar(text="One and"),
        MessageSaved(id="a", role="assistant"),
        TextDelta(text="Two"),
        RunDone(reason="max_steps"),
    ]
    head = 'data: {"id":"r","object":"chat.completion.chunk","created":1700000000,"model":"m:x","choices":'
    conversation, *chunks, nothing = written(events).split("\n\n")
    assert (conversation, nothing) == ('data: {"conversation_id":"c"}', "")
    assert all(chunk.startswith(head) for chunk in chunks)
    assert [chunk.removeprefix(head) for chunk in chunks] == [
        '[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}',
        '[{"index":0,"delta":{"content":"One"},"finish_reason":null}]}',
        '[{"index":0,"delta":{"content":" and"},"finish_reason":null}]}',
        '[{"index":0,"delta":{"content":"\\n\\nTwo"},"finish_reason":null}]}',
        '[{"index":0,"delta":{},"finish_reason":"length"}]}',
    ]


async def test_a_stream_that_breaks_off_says_why() -> None:
    frame = OpenAiFrames("c", "r").broken(StorageError("The disk is gone."))
    assert json.loads(frame.removeprefix(b"data: "))["error"]["message"] == "The disk is gone."
