"""Talking over HTTP: streamed and whole answers, readers that leave and come back, stopping, approving."""

from __future__ import annotations

from collections.abc import AsyncGenerator, MutableMapping
from typing import Any

import anyio
import pytest

from bethink.agent.records import NumberedEvent
from bethink.errors import DiskFull
from bethink.events import Place, TextDelta
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.web.sse import EventStream
from tests.door import DONE, Door, Frame, open_door, open_server, said, served, text_of
from tests.house import open_house

pytestmark = pytest.mark.anyio

PARIS = ScriptedCall("store_memory", {"content": "Lives in Paris", "importance": 0.9})
DELETE = ScriptedCall("delete_all_memories", {})
WOULD_GO = """This cannot be undone.
- **1 memory**
- **what was said in 1 conversation, which would stay to be read**
- Lives in Paris
- conversation: Delete all my memories"""
STORY = "Once upon a time there was a house. "


def kinds(told: list[Frame]) -> list[str]:
    return [frame.kind for frame in told]


@pytest.mark.requirement("R93", "R99", "R111", "P2e")
async def test_an_answer_streams_as_server_sent_events_that_end_in_done() -> None:
    async with open_server(ScriptedLlm([[PARIS], "Noted, Paris."])) as door:
        url = f"/conversations/{await door.new()}/chat"
        async with door.http.stream("POST", url, json=said("I live in Paris")) as response:
            body = (await response.aread()).decode()
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    blocks = body.split("\n\n")
    assert blocks[0].startswith('id: 1.0\ndata: {"kind":"run_started"')
    assert blocks[-2:] == ["data: [DONE]", ""]


async def test_the_tools_events_come_before_the_text_that_uses_them() -> None:
    async with open_server(ScriptedLlm([[PARIS], "Noted, Paris."])) as door:
        told = await door.streamed(await door.new(), "I live in Paris")
    assert text_of(told) == "Noted, Paris."
    wanted = [
        "run_started",
        "tool_requested",
        "memory_changed",
        "tool_finished",
        "text_delta",
        "run_done",
        DONE,
    ]
    assert [kind for kind in dict.fromkeys(kinds(told)) if kind in wanted] == wanted


@pytest.mark.requirement("R93", "R97", "R101", "R146", "P5c")
async def test_a_whole_answer_is_the_stream_collected_and_both_are_stored() -> None:
    script = [[PARIS], "Noted, Paris.", [PARIS], "Noted, Paris."]
    async with open_server(ScriptedLlm(script)) as door:
        streamed, whole = await door.new(), await door.new()
        told = await door.streamed(streamed, "I live in Paris")
        answer = (await door.chat(whole, "I live in Paris")).json()
        pages = [(await door.http.get(f"/conversations/{each}")).json() for each in (streamed, whole)]
    shown = [page["messages"] for page in pages]
    assert [message["content"] for message in shown[0]] == [
        "I live in Paris",
        "",
        "Memory stored: Lives in Paris",
        "Noted, Paris.",
    ]
    assert [message["role"] for message in shown[1]] == ["user", "assistant", "tool", "assistant"]
    assert answer["message"] == {"id": shown[1][-1]["id"], "role": "assistant", "content": text_of(told)}
    assert (answer["reason"], answer["error"], answer["conversation_id"]) == ("answered", None, whole)
    (tool,) = answer["tools_run"]
    assert (tool["name"], tool["text"], tool["error"]) == (
        "store_memory",
        "Memory stored: Lives in Paris (it was known already)",
        None,
    )
    assert tool["arguments"] == '{"content":"Lives in Paris","importance":0.9}'
    assert answer["latency_ms"] >= tool["duration_ms"] > 0
    assert min(answer["usage"]["input_tokens"], answer["usage"]["output_tokens"]) > 0
    assert [change["change"] for change in answer["changed"]] == ["merged"]
    assert [item["kind"] for item in answer["recalled"]] == ["fact"]


async def test_a_reader_that_comes_back_gets_exactly_what_it_missed() -> None:
    gate = anyio.Event()
    async with open_server(ScriptedLlm([[STORY, gate, "The end."]])) as door:
        seen: list[Frame] = []
        async with door.stream(await door.new(), "Tell me a story") as answer:
            async for frame in answer:
                seen.append(frame)
                if text_of(seen) == STORY:
                    break
        run, place = seen[0].data["run"], seen[-1].id
        assert place is not None
        gate.set()
        rest = await door.followed(run, place)
        again = await door.followed(run)
        middle = await door.followed(run, "3.5")
    assert text_of(rest) == "The end."
    assert [frame.kind for frame in seen + rest if frame.kind != "text_delta"] == [
        kind for kind in kinds(again) if kind != "text_delta"
    ]
    assert text_of(seen + rest) == text_of(again) == STORY + "The end."
    assert text_of(middle) == (STORY + "The end.")[5:]


async def test_after_in_the_address_counts_unless_the_browser_says_a_newer_place() -> None:
    async with open_server(ScriptedLlm(["Hello"])) as door:
        told = await door.streamed(await door.new(), "Hi")
        url, last = f"/runs/{told[0].data['run']}/events", told[-2].id
        assert last is not None
        by_address = await door.http.get(url, params={"after": "3.3"})
        by_header = await door.http.get(url, params={"after": "0"}, headers={"Last-Event-ID": "3.3"})
        at_end = await door.http.get(url, params={"after": last})
    assert '"text":"lo"' in by_address.text
    assert by_header.text == by_address.text
    assert at_end.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize("place", ["x", "1.x", "-1", "1.2.3", "９", "1" * 30, "Infinity"])
async def test_a_place_that_is_none_is_refused(place: str) -> None:
    async with open_door(ScriptedLlm(["Hello"])) as door:
        run = (await door.chat(await door.new(), "Hi")).json()["run_id"]
        answer = await door.http.get(f"/runs/{run}/events", params={"after": place})
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, "after")


async def test_a_client_that_leaves_does_not_end_the_run() -> None:
    gate = anyio.Event()
    async with open_server(ScriptedLlm([[STORY, gate, "The end."]])) as door:
        conversation = await door.new()
        async with door.stream(conversation, "Tell me a story") as answer:
            first = await anext(answer)
        gate.set()
        told = await door.followed(first.data["run"])
        last = (await door.house.messages(conversation))[-1]
    assert told[-2].data["reason"] == "answered"
    assert last.message.content == STORY + "The end."


async def test_a_conversation_that_is_being_answered_is_busy() -> None:
    async with open_door(ScriptedLlm([[STORY, anyio.Event()]])) as door:
        conversation = await door.new()
        run = await door.house.app.runs.start(door.house.me, conversation, "Tell me a story")
        shown = (await door.http.get(f"/conversations/{conversation}")).json()
        answer = await door.chat(conversation, "And?")
    assert shown["active_run"] == run
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:bethink:error:busy")
    assert answer.json()["title"] == "Busy"


async def test_stopping_a_run_keeps_what_it_said() -> None:
    async with open_server(ScriptedLlm([[STORY, anyio.Event()]])) as door:
        conversation = await door.new()
        seen: list[Frame] = []
        async with door.stream(conversation, "Tell me a story") as answer:
            async for frame in answer:
                seen.append(frame)
                if text_of(seen) == STORY and frame.kind == "text_delta":
                    stopped = await door.http.post(f"/runs/{seen[0].data['run']}/cancel")
                    assert stopped.status_code == 202
        shown = (await door.http.get(f"/conversations/{conversation}")).json()
    assert (seen[-2].data["reason"], seen[-1].kind) == ("cancelled", DONE)
    last = shown["messages"][-1]
    assert (last["content"], last["stop_reason"]) == (STORY, "cancelled")
    assert (shown["active_run"], shown["interrupted"]) == (None, None)


async def waiting_run(door: Door) -> tuple[str, dict[str, Any]]:
    conversation = await door.new()
    answer = (await door.chat(conversation, "Delete all my memories")).json()
    assert answer["reason"] == "awaiting_approval"
    shown = (await door.http.get(f"/conversations/{conversation}")).json()
    assert shown["waiting"] == answer["waiting"]
    assert shown["active_run"] == answer["run_id"]
    return conversation, shown["waiting"][0]


@pytest.mark.parametrize(("decision", "left"), [("approve", 0), ("reject", 1)])
async def test_a_waiting_call_runs_only_if_it_is_approved(decision: str, left: int) -> None:
    async with open_door(ScriptedLlm([[DELETE], "As you wish."])) as door:
        await door.http.post("/memories", json={"content": "Lives in Paris"})
        conversation, call = await waiting_run(door)
        assert (call["name"], call["label"], call["reason"]) == (
            "delete_all_memories",
            "Delete all memories",
            WOULD_GO,
        )
        url = f"/runs/{call['run']}/approvals/{call['call']}"
        decided = await door.http.post(url, json={"decision": decision})
        assert (decided.status_code, decided.json()) == (202, {"run": call["run"], "goes_on": True})
        told = await door.followed(call["run"])
        shown = (await door.http.get(f"/conversations/{conversation}")).json()
        assert (await door.http.get("/memories")).json()["total"] == left
    assert [frame.data["decision"] for frame in told if frame.kind == "approval_decided"] == [decision]
    assert (text_of(told), told[-2].data["reason"]) == ("As you wish.", "answered")
    assert (shown["waiting"], shown["active_run"]) == ([], None)


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({"decision": "perhaps"}, "decision"),
        ({"decision": "edit"}, "body"),
        ({"decision": "approve", "arguments": {}}, "body"),
        ({"decision": "edit", "arguments": {"scope": "all"}, "always": True}, "body"),
    ],
)
async def test_a_decision_that_is_none_is_refused(body: object, parameter: str) -> None:
    async with open_door(ScriptedLlm([[DELETE], "As you wish."])) as door:
        _, call = await waiting_run(door)
        answer = await door.http.post(f"/runs/{call['run']}/approvals/{call['call']}", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, parameter)


async def test_edited_arguments_must_fit_the_tool() -> None:
    async with open_door(ScriptedLlm([[DELETE], "As you wish."])) as door:
        _, call = await waiting_run(door)
        url = f"/runs/{call['run']}/approvals/{call['call']}"
        answer = await door.http.post(url, json={"decision": "edit", "arguments": {"really": True}})
        unknown = await door.http.post(f"{url}x", json={"decision": "approve"})
    assert (answer.status_code, unknown.status_code) == (422, 404)
    assert "really" in answer.json()["detail"]


async def test_without_a_model_the_answer_says_how_to_set_one() -> None:
    async with open_door(None) as door:
        conversation = await door.new()
        answer = (await door.chat(conversation, "Hello?")).json()
        remembered = (await door.chat(conversation, "/remember I live in Paris")).json()
    assert (answer["reason"], answer["error"]["code"]) == ("failed", "no_model")
    assert "BETHINK_MODEL" in answer["error"]["message"]
    assert remembered["message"]["content"] == "Memory stored: I live in Paris"


@pytest.mark.parametrize("path", ["/runs/nobody/events", "/runs/nobody/cancel", "/runs/nobody/approvals/c1"])
async def test_an_unknown_run_is_not_found(path: str) -> None:
    async with open_door() as door:
        if path.endswith("events"):
            answer = await door.http.get(path)
        else:
            answer = await door.http.post(path, json={"decision": "approve"})
    assert (answer.status_code, answer.json()["type"]) == (404, "urn:bethink:error:not_found")


async def test_a_message_beyond_the_limit_is_too_large_and_an_empty_one_not_valid() -> None:
    async with open_door(ScriptedLlm(["Hello"]), max_message_chars=1000) as door:
        conversation = await door.new()
        long = await door.chat(conversation, "x" * 1001)
        empty = await door.chat(conversation, " \u0000\u0007 ")
        shown = (await door.http.get(f"/conversations/{conversation}")).json()
    assert (long.status_code, long.json()["title"]) == (413, "Too large")
    assert (empty.status_code, empty.json()["detail"]) == (422, "The message is empty: write something.")
    assert shown["messages"] == []


@pytest.mark.requirement("P2c")
async def test_control_characters_of_a_message_are_dropped_and_every_script_is_kept() -> None:
    async with open_door(ScriptedLlm(["Hello"])) as door:
        conversation = await door.new()
        await door.chat(conversation, "a\u0000b\u0007\u009f\tc\u2028नमस्ते 👩‍👩‍👧 שלום")
        shown = (await door.http.get(f"/conversations/{conversation}")).json()
    assert shown["messages"][0]["content"] == "ab\tc\u2028नमस्ते 👩‍👩‍👧 שלום"


async def test_a_server_that_stops_ends_its_streams_and_keeps_what_was_said() -> None:
    seen: list[Frame] = []
    async with open_house(ScriptedLlm([[STORY, anyio.Event()]])) as house, served(house) as (http, server):
        door = Door(house, http)
        conversation = await door.new()
        async with door.stream(conversation, "Tell me a story") as answer:
            async for frame in answer:
                seen.append(frame)
                server.should_exit = server.should_exit or text_of(seen) == STORY
        last = (await house.messages(conversation))[-1]
    assert (seen[-2].data["reason"], seen[-1].kind) == ("interrupted", DONE)
    assert (last.message.content, last.stop_reason) == (STORY, "interrupted")


async def sent_by(stream: EventStream[NumberedEvent], until: anyio.Event | None = None) -> list[bytes]:
    """What a stream sends to a reader who leaves when `until` is set."""
    bodies: list[bytes] = []

    async def receive() -> MutableMapping[str, Any]:
        await (until or anyio.Event()).wait()
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            bodies.append(message["body"])
            if until is not None and len(bodies) > 1:
                until.set()

    await stream({}, receive, send)
    return bodies


async def test_a_silent_stream_is_kept_alive_until_its_reader_leaves() -> None:
    async def silent() -> AsyncGenerator[list[NumberedEvent], None]:
        await anyio.sleep_forever()
        yield []

    bodies = await sent_by(EventStream(silent(), keep_alive_s=0.01), until=anyio.Event())
    assert bodies[:2] == [b": keep-alive\n\n", b": keep-alive\n\n"]


async def test_a_stream_that_breaks_off_says_so_and_does_not_pretend_to_be_done() -> None:
    async def broken() -> AsyncGenerator[list[NumberedEvent], None]:
        yield [NumberedEvent(Place(1, 2), TextDelta(text="Hi"))]
        raise DiskFull

    bodies = await sent_by(EventStream(broken()))
    assert bodies[0] == b'id: 1.2\ndata: {"kind":"text_delta","text":"Hi"}\n\n'
    assert bodies[1].startswith(b'data: {"kind":"warning","part":"events","message":"The disk is full')
    assert len(bodies) == 2
