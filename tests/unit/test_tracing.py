"""Traces: the spans of a request and all that is done in it, what they tell, and no cost when off."""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import anyio.to_thread
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from bethink.errors import Unreachable
from bethink.events import Warned
from bethink.llm import Delta, LlmRequest
from bethink.llm.models import FallbackLlm, Retries
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.messages import UserMessage
from bethink.telemetry import Tracing, open_tracing, span, trace_headers, tracing_of
from bethink.tool import ToolContext, tool
from tests.door import Door, open_door
from tests.house import ports_of

pytestmark = pytest.mark.anyio

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SCRIPT = [[ScriptedCall("store_memory", {"content": "Lives in Paris"})], "Noted: Paris."]


@tool(effect="read", label="Ask elsewhere")
async def ask_elsewhere(context: ToolContext) -> str:
    """What another service would be told."""
    del context
    return trace_headers().get("traceparent", "none")


class UnreachableLlm(ScriptedLlm):
    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        yield Warned(part="model", message="It takes long.")
        raise Unreachable("secret words")


@asynccontextmanager
async def traced_door(
    llm: ScriptedLlm, *, has_content: bool = False
) -> AsyncGenerator[tuple[Door, InMemorySpanExporter]]:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    ports = ports_of(FallbackLlm([llm], retries=Retries(attempts=1)))
    ports.tracing = tracing_of(provider, has_content=has_content)
    async with open_door(ports=ports, tools=[ask_elsewhere]) as door:
        yield door, exporter


async def ask(door: Door, text: str, **headers: str) -> None:
    chat = f"/conversations/{await door.new()}/chat"
    body = {"message": {"role": "user", "content": text}, "stream": False}
    await door.http.post(chat, json=body, headers=headers)


def tree(spans: tuple[ReadableSpan, ...]) -> dict[str, str | None]:
    """The names of spans, with the names of what they are part of."""
    names = {one.context.span_id: one.name for one in spans if one.context}
    return {one.name: names.get(one.parent.span_id) if one.parent else None for one in spans}


def named(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [one for one in exporter.get_finished_spans() if one.name == name]


def told(one: ReadableSpan) -> dict[str, Any]:
    return dict(one.attributes or {})


async def test_a_request_its_run_and_what_that_asks_are_one_tree() -> None:
    async with traced_door(ScriptedLlm(SCRIPT)) as (door, exporter):
        await ask(door, "I live in Paris", traceparent=f"00-{TRACE}-{PARENT}-01")
        spans = tuple(
            one
            for one in exporter.get_finished_spans()
            if one.context and f"{one.context.trace_id:x}" == TRACE
        )
    request = "POST /conversations/{conversation}/chat"
    assert tree(spans) == {
        request: None,
        "invoke_agent bethink": request,
        "search_memory": "invoke_agent bethink",
        "chat demo": "invoke_agent bethink",
        "execute_tool store_memory": "invoke_agent bethink",
    }
    (served,) = named(exporter, request)
    assert served.parent
    assert f"{served.parent.span_id:016x}" == PARENT
    assert (served.kind.name, told(served)["http.response.status_code"]) == ("SERVER", 200)
    (run,) = named(exporter, "invoke_agent bethink")
    assert told(run)["gen_ai.operation.name"] == "invoke_agent"
    assert told(run)["bethink.run.end"] == "answered"
    first, second = named(exporter, "chat demo")
    assert first.kind.name == "CLIENT"
    assert told(first)["gen_ai.provider.name"] == "scripted"
    assert told(first)["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert told(second)["gen_ai.usage.output_tokens"] > 0
    assert told(second)["gen_ai.response.time_to_first_chunk"] > 0
    (call,) = named(exporter, "execute_tool store_memory")
    assert told(call)["gen_ai.tool.name"] == "store_memory"


@pytest.mark.parametrize("has_content", [False, True])
async def test_what_was_said_is_told_only_if_it_is_asked_for(*, has_content: bool) -> None:
    async with traced_door(ScriptedLlm(SCRIPT), has_content=has_content) as (door, exporter):
        await ask(door, "I live in Paris")
        every = [str(told(one)) for one in exporter.get_finished_spans()]
        (_, last) = named(exporter, "chat demo")
        (call,) = named(exporter, "execute_tool store_memory")
    assert any("Paris" in one for one in every) is has_content
    assert ("gen_ai.input.messages" in told(last)) is has_content
    if has_content:
        assert "I live in Paris" in told(last)["gen_ai.input.messages"]
        assert "Noted: Paris." in told(last)["gen_ai.output.messages"]
        assert "Lives in Paris" in told(call)["gen_ai.tool.call.arguments"]


async def test_what_fails_is_told_by_its_kind_and_not_by_its_words() -> None:
    async with traced_door(UnreachableLlm([])) as (door, exporter):
        await ask(door, "Hi")
        (chat,) = named(exporter, "chat demo")
        (run,) = named(exporter, "invoke_agent bethink")
    assert told(chat)["error.type"] == Unreachable.__name__
    assert chat.status.status_code is run.status.status_code is StatusCode.ERROR
    assert not any("secret" in str((told(one), one.events, one.status)) for one in (chat, run))


async def test_another_service_is_told_the_span_that_asks_it() -> None:
    async with traced_door(ScriptedLlm([[ScriptedCall("ask_elsewhere", {})], "Done."]), has_content=True) as (
        door,
        exporter,
    ):
        await ask(door, "Hi")
        (call,) = named(exporter, "execute_tool ask_elsewhere")
    assert call.context
    expected = f"00-{call.context.trace_id:032x}-{call.context.span_id:016x}-"
    assert told(call)["gen_ai.tool.call.result"].startswith(expected)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
async def test_what_supervises_leaves_no_traces(path: str) -> None:
    async with traced_door(ScriptedLlm([])) as (door, exporter):
        await door.http.get(path)
        assert exporter.get_finished_spans() == ()


async def test_a_stream_that_is_left_early_ends_its_span() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with tracing_of(provider).begin("outside", {}):
        llm = FallbackLlm([ScriptedLlm(["one two three"])])
        stream = llm.stream(LlmRequest("", (UserMessage("Hi"),)))
        await anext(stream)
        await stream.aclose()
        with span("inside", {}):
            pass
    assert tree(exporter.get_finished_spans()) == {
        "chat demo": "outside",
        "inside": "outside",
        "outside": None,
    }


class Collector(BaseHTTPRequestHandler):
    taken: ClassVar[list[tuple[str, str | None, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.taken.append((self.path, self.headers["authorization"], body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@contextmanager
def collector() -> Generator[tuple[str, list[tuple[str, str | None, bytes]]]]:
    Collector.taken.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", Collector.taken
        server.shutdown()
        thread.join()


async def test_spans_are_sent_to_a_collector_at_the_latest_at_the_end() -> None:
    with collector() as (url, taken):
        async with open_tracing(url, headers="authorization=Bearer k3y,x-team=a") as tracing:
            with tracing.begin("invoke_agent bethink", {"gen_ai.operation.name": "invoke_agent"}):
                pass
        ((path, key, body),) = await anyio.to_thread.run_sync(lambda: taken)
    assert (path, key) == ("/v1/traces", "Bearer k3y")
    sent = ExportTraceServiceRequest.FromString(body)
    (resource,) = sent.resource_spans
    names = {one.key: one.value.string_value for one in resource.resource.attributes}
    assert names["service.name"] == "bethink"
    assert resource.scope_spans[0].spans[0].name == "invoke_agent bethink"


async def test_a_collector_that_is_not_there_keeps_nobody_waiting() -> None:
    with anyio.fail_after(8):
        async with open_tracing("http://127.0.0.1:9") as tracing:
            with tracing.begin("x", {}):
                pass


async def test_without_a_collector_nothing_is_imported_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("opentelemetry")]:
        monkeypatch.setitem(sys.modules, name, None)
    async with open_tracing(None) as tracing:
        assert tracing == Tracing()
        with tracing.begin("a", {}) as outer, span("b", {}) as inner:
            inner.tell("c", lambda: pytest.fail("nobody wants it"))
            assert trace_headers() == {}
        assert outer is inner
