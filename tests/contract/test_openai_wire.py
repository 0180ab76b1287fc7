"""What the wire sends, and what becomes of each way in which a server fails; over real HTTP."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace

import anyio
import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from bethink.errors import (
    ContextTooLong,
    InvalidResponse,
    LlmError,
    RateLimited,
    Refused,
    Unreachable,
)
from bethink.events import TextDelta
from bethink.llm import Delta, Finish, Llm, LlmRequest, ToolCallDelta, ToolSchema
from bethink.llm.endpoint import Endpoint
from bethink.llm.openai_wire import OpenAiWire, WireLimits
from bethink.llm.scripted import Rule, ScriptedCall
from bethink.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage

pytestmark = pytest.mark.anyio

STORE = ToolSchema("store_memory", "Store", {"type": "object", "properties": {"content": {"type": "string"}}})
HELLO = LlmRequest("You are Bethink.", (UserMessage("hello"),))
QUICK = WireLimits(connect_s=2, first_byte_s=5, gap_s=5)
IMPATIENT = WireLimits(connect_s=5, first_byte_s=0.5, gap_s=0.5)


async def collect(llm: Llm, request: LlmRequest = HELLO, into: list[Delta] | None = None) -> list[Delta]:
    """All deltas; those before an error stay in `into`."""
    deltas = [] if into is None else into
    async with aclosing(llm.stream(request)) as stream:
        async for delta in stream:
            deltas.append(delta)
    return deltas


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


@pytest.fixture
def endpoint(scripted: ScriptedProcess) -> Endpoint:
    return Endpoint(scripted.base_url, "scripted-demo", api_key="right-key", key_setting="TEST_KEY")


@asynccontextmanager
async def connected(endpoint: Endpoint, limits: WireLimits = QUICK) -> AsyncGenerator[OpenAiWire, None]:
    wire = OpenAiWire("test:model", endpoint, context_tokens=4_096, limits=limits)
    try:
        yield wire
    finally:
        await wire.close()


@pytest.fixture
async def wire(endpoint: Endpoint) -> AsyncIterator[OpenAiWire]:
    async with connected(endpoint) as wire:
        yield wire


# --- what is sent ----------------------------------------------------------------


@pytest.mark.requirement("R110", "R127")
async def test_a_request_is_sent_in_openais_shape(scripted: ScriptedProcess, wire: OpenAiWire) -> None:
    await scripted.plays(Rule(text="ok"))
    call = ToolCall("c1", "store_memory", '{"content": "x"}')
    broken = ToolCall("c2", "store_memory", "{broken")
    request = LlmRequest(
        "Be brief.",
        (
            UserMessage("hi"),
            AssistantMessage("", (call, broken)),
            ToolMessage("c1", "store_memory", "Memory stored"),
            ToolMessage("c2", "store_memory", "Not JSON", error="bad_input"),
        ),
        (STORE,),
        temperature=0.5,
        max_output_tokens=100,
        response_format={"type": "json_object"},
    )
    await collect(wire, request)
    (sent,) = await scripted.requests()
    assert sent.headers["authorization"] == "***"
    body = sent.body
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    assistant = body["messages"][2]
    assert assistant["content"] is None
    assert assistant["tool_calls"][0] == {
        "id": "c1",
        "type": "function",
        "function": {"name": "store_memory", "arguments": '{"content": "x"}'},
    }
    # A server's chat template fails on arguments that are no JSON object.
    assert json.loads(assistant["tool_calls"][1]["function"]["arguments"]) == {"not_json": "{broken"}
    assert body["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "Memory stored"}
    assert body["tools"][0]["function"]["parameters"] == STORE.parameters
    assert (body["temperature"], body["max_tokens"]) == (0.5, 100)
    assert body["response_format"] == {"type": "json_object"}
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


@pytest.mark.requirement("R102")
@pytest.mark.parametrize("version", ["", "2025-01-01-preview"])
async def test_azure_and_dial_have_the_model_in_the_path(scripted: ScriptedProcess, version: str) -> None:
    await scripted.plays(Rule(text="ok"))
    name = "claude-3-7-sonnet@20250219"
    endpoint = Endpoint(scripted.origin + "/", name, api_key="right-key", azure=True, api_version=version)
    async with connected(endpoint) as wire:
        assert text_of(await collect(wire)) == "ok"
        assert await wire.probe() is None
    chat, models = await scripted.requests()
    assert chat.path == f"/openai/deployments/{name}/chat/completions"
    assert models.path == "/openai/models"
    assert chat.query == models.query == (f"api-version={version}" if version else "")
    assert chat.headers["api-key"] == "***"
    assert "authorization" not in chat.headers


@pytest.mark.parametrize(
    ("complaint", "left_out", "put_in"),
    [
        ("Unknown parameter: 'stream_options'.", "stream_options", None),
        (
            "'max_tokens' is not supported; use 'max_completion_tokens'.",
            "max_tokens",
            "max_completion_tokens",
        ),
        ("'temperature' does not support 0.5 with this model.", "temperature", None),
    ],
)
async def test_what_a_server_refuses_is_left_out_from_then_on(
    scripted: ScriptedProcess, wire: OpenAiWire, *, complaint: str, left_out: str, put_in: str | None
) -> None:
    await scripted.plays(Rule(status=400, text=complaint, times=1), Rule(text="ok"))
    request = LlmRequest("", (UserMessage("hi"),), temperature=0.5, max_output_tokens=9)
    assert text_of(await collect(wire, request)) == "ok"
    assert text_of(await collect(wire, request)) == "ok"
    first, *later = [sent.body for sent in await scripted.requests()]
    assert left_out in first
    assert len(later) == 2
    assert all(left_out not in body and (put_in is None or body[put_in] == 9) for body in later)


async def test_a_server_that_refuses_everything_is_not_asked_for_ever(
    scripted: ScriptedProcess, wire: OpenAiWire
) -> None:
    await scripted.plays(
        Rule(status=400, text="max_tokens max_completion_tokens stream_options temperature support")
    )
    request = LlmRequest("", (UserMessage("hi"),), temperature=0.5, max_output_tokens=9)
    with pytest.raises(Refused):
        await collect(wire, request)
    assert len(await scripted.requests()) <= 5


async def test_connections_are_used_again(scripted: ScriptedProcess, wire: OpenAiWire) -> None:
    await scripted.plays(Rule(text="ok"))
    for _ in range(3):
        await collect(wire)
    asked = await scripted.requests()
    assert len(asked) == 3
    assert len({request.client_port for request in asked}) == 1


# --- how servers fail --------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (Rule(status=401), Refused, "TEST_KEY"),
        (Rule(status=403), Refused, "TEST_KEY"),
        (Rule(status=404), Refused, "base URL"),
        (Rule(status=307, headers={"Location": "/v1/models"}, body=""), Refused, "final"),
        (Rule(status=400, body='{"error":{"code":"context_length_exceeded"}}'), ContextTooLong, "longer"),
        (Rule(status=413), ContextTooLong, "longer"),
        (Rule(status=429, headers={"Retry-After": "7"}), RateLimited, "7 s"),
        (Rule(status=500), Unreachable, "500"),
        (Rule(status=503, body="upstream down"), Unreachable, "upstream down"),
        (Rule(fault="no_answer"), Unreachable, "closed the connection"),
        (Rule(fault="empty"), InvalidResponse, "empty"),
        (Rule(fault="garbage"), InvalidResponse, "not a chat completion"),
        (Rule(fault="html"), InvalidResponse, "base URL"),
        (Rule(body="not json"), InvalidResponse, "without an answer"),
        (Rule(body='{"choices":'), InvalidResponse, "not a chat completion"),
    ],
)
async def test_a_server_that_does_not_answer_gives_one_clear_error(
    scripted: ScriptedProcess, wire: OpenAiWire, *, reply: Rule, kind: type[LlmError], words: str
) -> None:
    await scripted.plays(reply)
    seen: list[Delta] = []
    with pytest.raises(LlmError) as raised:
        await collect(wire, into=seen)
    assert isinstance(raised.value, kind)
    assert words in str(raised.value)
    assert "right-key" not in str(raised.value)
    assert seen == []
    await scripted.plays(Rule(text="ok"))
    assert text_of(await collect(wire)) == "ok"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Rule(text="half of this answer", fault="close_midstream"), "broke"),
        (Rule(text="half of this answer", fault="error_in_stream"), "failed while"),
        (Rule(text="Wait", tool_calls=(ScriptedCall("t", {"a": 1}),), fault="half_tool_call"), "broke off"),
    ],
)
async def test_what_came_before_a_break_stands(
    scripted: ScriptedProcess, wire: OpenAiWire, *, reply: Rule, words: str
) -> None:
    await scripted.plays(reply)
    seen: list[Delta] = []
    with pytest.raises(InvalidResponse, match=words):
        await collect(wire, into=seen)
    assert text_of(seen)
    assert reply.text.startswith(text_of(seen))
    assert not any(isinstance(delta, Finish) for delta in seen)


@pytest.mark.parametrize("rule", [Rule(fault="hang"), Rule(text="half of this", fault="hang_midstream")])
async def test_a_silent_server_is_given_up(scripted: ScriptedProcess, endpoint: Endpoint, rule: Rule) -> None:
    await scripted.plays(rule)
    async with connected(endpoint, IMPATIENT) as wire:
        with pytest.raises(Unreachable, match=re.escape("nothing came for 0.5 s")):
            await collect(wire)


async def test_a_slow_server_is_not_given_up_while_it_sends(
    scripted: ScriptedProcess, endpoint: Endpoint
) -> None:
    await scripted.plays(Rule(text="a slow answer", chunk_characters=1, delay_ms=60))
    async with connected(endpoint, IMPATIENT) as wire:
        assert text_of(await collect(wire)) == "a slow answer"


async def test_a_slow_reader_is_not_taken_for_a_silent_server(
    scripted: ScriptedProcess, endpoint: Endpoint
) -> None:
    await scripted.plays(Rule(text="a slow answer", chunk_characters=1, delay_ms=1))
    async with connected(endpoint, IMPATIENT) as wire, aclosing(wire.stream(HELLO)) as stream:
        await anext(stream)
        await anyio.sleep(0.8)  # longer than the limit: what is under test
        assert [delta async for delta in stream]


@pytest.mark.requirement("R100")
async def test_a_stream_may_come_as_one_document(scripted: ScriptedProcess, wire: OpenAiWire) -> None:
    await scripted.plays(Rule(text="whole", tool_calls=(ScriptedCall("t", {"a": 1}),), fault="plain_json"))
    deltas = await collect(wire)
    assert text_of(deltas) == "whole"
    assert [delta.arguments for delta in deltas if isinstance(delta, ToolCallDelta)] == ['{"a":1}']


async def test_the_end_may_go_unsaid(scripted: ScriptedProcess, wire: OpenAiWire) -> None:
    await scripted.plays(Rule(text="all of it", fault="no_finish"))
    assert text_of(await collect(wire)) == "all of it"


async def test_a_wrong_key_is_refused_without_naming_it(endpoint: Endpoint) -> None:
    async with connected(replace(endpoint, api_key="wrong-key-99")) as wire:
        with pytest.raises(Refused, match="TEST_KEY") as raised:
            await collect(wire)
        assert "wrong-key-99" not in str(raised.value)
        assert "wrong-key-99" not in repr(vars(wire))
        assert "TEST_KEY" in (await wire.probe() or "")


async def test_a_missing_key_is_asked_for(endpoint: Endpoint) -> None:
    async with connected(replace(endpoint, api_key=None)) as wire:
        with pytest.raises(Refused, match="none is set"):
            await collect(wire)


@pytest.mark.parametrize(
    ("scheme", "port", "words"), [("http", "9", "Is it started"), ("https", "", "reached")]
)
async def test_an_address_where_nothing_answers_is_named(
    scripted: ScriptedProcess, *, scheme: str, port: str, words: str
) -> None:
    base_url = f"{scheme}://127.0.0.1:{port or scripted.origin.rpartition(':')[2]}/v1"
    async with connected(Endpoint(base_url, "m")) as wire:
        with pytest.raises(Unreachable, match=words):
            await collect(wire)
        assert words in (await wire.probe() or "")


@dataclass
class Watched:
    """A server that never finishes, and whether its client has left."""

    port: int
    connected: asyncio.Event
    left: asyncio.Event


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    connected, left = asyncio.Event(), asyncio.Event()

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        writer.write(b'data: {"choices":[{"delta":{"content":"Hello"}}]}\n\n')
        connected.set()
        while await reader.read(65_536):
            pass
        left.set()
        writer.close()

    server = await asyncio.start_server(endless, "127.0.0.1", 0)
    yield Watched(server.sockets[0].getsockname()[1], connected, left)
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize("way", ["aclose", "cancel"])
async def test_leaving_an_answer_closes_its_connection_at_once(watched: Watched, way: str) -> None:
    wire = OpenAiWire(
        "t:m", Endpoint(f"http://127.0.0.1:{watched.port}", "m"), context_tokens=9, limits=QUICK
    )
    if way == "aclose":
        async with aclosing(wire.stream(HELLO)) as stream:
            await anext(stream)
    else:
        async with anyio.create_task_group() as group:
            group.start_soon(collect, wire)
            await watched.connected.wait()
            group.cancel_scope.cancel()
    await watched.left.wait()
    await wire.close()


async def test_a_stranger_that_speaks_no_http_is_named() -> None:
    async def mumble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail.test ESMTP\r\n")
        writer.close()

    server = await asyncio.start_server(mumble, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with connected(Endpoint(f"http://127.0.0.1:{port}", "m")) as wire:
        with pytest.raises(InvalidResponse, match="does not speak HTTP"):
            await collect(wire)
    server.close()
    await server.wait_closed()


async def test_many_answers_at_once_do_not_mix(scripted: ScriptedProcess, wire: OpenAiWire) -> None:
    wanted = {number: f"answer {number} " * 20 for number in range(50)}
    await scripted.plays(*(Rule(when=f"^number {n}$", text=text, delay_ms=1) for n, text in wanted.items()))
    answers: dict[int, str] = {}

    async def ask(number: int) -> None:
        request = LlmRequest("", (UserMessage(f"number {number}"),))
        answers[number] = text_of(await collect(wire, request))

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(ask, number)
    assert answers == wanted


def test_importing_the_wire_does_not_import_aiohttp() -> None:
    code = "import sys, bethink.llm.providers; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
