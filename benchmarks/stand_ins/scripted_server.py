"""An OpenAI-compatible HTTP server that plays a script: `python benchmarks/stand_ins/scripted_server.py`.

A model's stand-in for another process: tests, the README's demonstration and
`bethink bench` point a base URL at it. It is a script and says so; it also
fails in every way that `script.Fault` names.

    GET  /v1/models, POST /v1/chat/completions       (and Azure's and DIAL's /openai/deployments/…)
    GET  /requests     what it was asked, oldest first; DELETE forgets it
    PUT  /script       replaces the script by the JSON array of rules in the body
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import re
import signal
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiohttp import web

from bethink.llm.scripted import CHUNK_CHARACTERS, Reply, Rules, ScriptInput

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

MODEL: Final = "scripted-demo"
_KEPT_REQUESTS: Final = 1_000
_MAX_BODY_BYTES: Final = 64 * 1024 * 1024
_SECRET_HEADERS: Final = frozenset({"authorization", "api-key"})
_GARBAGE: Final = b"\x00\xff\xfedata: {not json\n\ndata: \xc3\x28\n\n:::\n\n"
_PAGE: Final = "<!doctype html><title>Sign in</title><h1>Sign in to continue</h1>"
_ERROR_STATUS: Final = 400
_CHARACTERS_A_TOKEN: Final = 4


class Recorded(msgspec.Struct, frozen=True):
    """One request as it came; keys are masked. Requests of one connection share `client_port`."""

    client_port: int
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: Any


class _Message(msgspec.Struct, frozen=True):
    role: str
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """The message's text, pictures left out."""
        if isinstance(self.content, list):
            return "\n".join(str(part.get("text", "")) for part in self.content)
        return self.content or ""


class _Function(msgspec.Struct, frozen=True):
    name: str


class _Tool(msgspec.Struct, frozen=True):
    function: _Function


class _ChatRequest(msgspec.Struct, frozen=True):
    messages: list[_Message]
    model: str = MODEL
    stream: bool = False
    tools: list[_Tool] = []
    stream_options: dict[str, Any] | None = None

    def asked(self) -> ScriptInput:
        """What a script sees of this request."""
        user = ""
        results: list[str] = []
        for message in self.messages:
            if message.role == "user":
                user, results = message.text, []
            elif message.role == "tool":
                results.append(message.text)
        return ScriptInput(user, tuple(results), frozenset(tool.function.name for tool in self.tools))


@dataclass(frozen=True, slots=True)
class _Turn:
    """One request and the reply that the script gives to it."""

    body: _ChatRequest
    reply: Reply
    number: int
    chunk_characters: int

    def frames(self) -> list[bytes]:
        """The frames of the stream, shortened or spoilt as the reply's fault says."""
        fault = self.reply.fault
        if fault == "garbage":
            return [_GARBAGE]
        if fault == "hang":
            return []
        frames = [self._chunk(piece) for piece in self._kept_pieces()]
        if fault == "error_in_stream":
            frames.append(_frame({"error": {"message": "The server had an error.", "type": "server_error"}}))
        if fault is None:
            frames.append(self._chunk({}, self.reply.finish_reason))
            if self.reply.usage and (self.body.stream_options or {}).get("include_usage"):
                frames.append(_frame({**self._head(), "choices": [], "usage": self._usage()}))
        if fault in {None, "empty", "no_finish"}:
            frames.append(b"data: [DONE]\n\n")
        return frames

    def document(self) -> dict[str, object]:
        """The answer without streaming."""
        message: dict[str, object] = {"role": "assistant", "content": self.reply.text or None}
        if self.reply.reasoning:
            message["reasoning_content"] = self.reply.reasoning
        if self.reply.tool_calls:
            message["tool_calls"] = [
                self._call(index, call.arguments_text()) for index, call in enumerate(self.reply.tool_calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": self.reply.finish_reason}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage()}

    def _kept_pieces(self) -> list[dict[str, object]]:
        pieces = list(self._pieces())
        match self.reply.fault:
            case "empty":
                return []
            case "half_tool_call":
                return pieces[:-1]
            case "hang_midstream" | "close_midstream" | "error_in_stream":
                return pieces[: max(1, len(pieces) // 2)]
            case _:
                return pieces

    def _pieces(self) -> Iterator[dict[str, object]]:
        """The deltas of the whole answer in OpenAI's shape; a call's arguments come in two pieces."""
        size = self.chunk_characters
        yield {"role": "assistant", "content": ""}
        for start in range(0, len(self.reply.reasoning), size):
            yield {"reasoning_content": self.reply.reasoning[start : start + size]}
        for start in range(0, len(self.reply.text), size):
            yield {"content": self.reply.text[start : start + size]}
        for index, call in enumerate(self.reply.tool_calls):
            yield {"tool_calls": [{"index": index, **self._call(index, "")}]}
            text = call.arguments_text()
            for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                yield {"tool_calls": [{"index": index, "function": {"arguments": half}}]}

    def _call(self, index: int, arguments: str) -> dict[str, object]:
        call = self.reply.tool_calls[index]
        function = {"name": call.name, "arguments": arguments}
        return {"id": call.id or f"call_{self.number}_{index}", "type": "function", "function": function}

    def _chunk(self, delta: dict[str, object], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return _frame({**self._head(), "choices": [choice]})

    def _head(self, kind: str = "chat.completion.chunk") -> dict[str, object]:
        return {"id": f"chatcmpl-{self.number}", "object": kind, "created": 0, "model": MODEL}

    def _usage(self) -> dict[str, int]:
        read = sum(len(message.text) for message in self.body.messages) // _CHARACTERS_A_TOKEN
        written = len(self.reply.text) // _CHARACTERS_A_TOKEN
        return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


class ScriptedServer:
    """The server's state: its script, what it was asked, and the pace of its answers."""

    def __init__(
        self,
        script: Rules,
        *,
        key: str | None = None,
        delay_ms: float = 0,
        chunk_characters: int = CHUNK_CHARACTERS,
    ) -> None:
        self._script = script
        self._key = key
        self._delay_ms = delay_ms
        self._chunk_characters = chunk_characters
        self._requests: deque[Recorded] = deque(maxlen=_KEPT_REQUESTS)
        self._numbers = itertools.count(1)

    def application(self) -> web.Application:
        """The routes."""
        app = web.Application(client_max_size=_MAX_BODY_BYTES)
        app.add_routes(
            [
                web.get("/v1/models", self._models),
                web.post("/v1/chat/completions", self._chat),
                web.get("/openai/models", self._models),
                web.post("/openai/deployments/{deployment}/chat/completions", self._chat),
                web.get("/requests", self._list_requests),
                web.delete("/requests", self._forget_requests),
                web.put("/script", self._replace_script),
            ]
        )
        return app

    async def _models(self, request: web.Request) -> web.StreamResponse:
        self._record(request, None)
        if not self._authorized(request):
            return _error(401, "Incorrect API key provided.", "invalid_api_key")
        return _json({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "script"}]})

    async def _list_requests(self, _: web.Request) -> web.StreamResponse:
        return _json(list(self._requests))

    async def _forget_requests(self, _: web.Request) -> web.StreamResponse:
        self._requests.clear()
        return _json({})

    async def _replace_script(self, request: web.Request) -> web.StreamResponse:
        try:
            self._script = Rules.decode(await request.read())
        except (msgspec.MsgspecError, re.error) as error:
            return _error(422, f"No script: {error}", "bad_script")
        return _json({})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        try:
            body = msgspec.json.decode(raw, type=_ChatRequest)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return _error(400, f"No chat request: {error}", "invalid_request_error")
        self._record(request, msgspec.json.decode(raw))
        if not self._authorized(request):
            return _error(401, "Incorrect API key provided.", "invalid_api_key")
        reply = self._script(body.asked())
        if reply.status >= _ERROR_STATUS or reply.body is not None or reply.fault in {"html", "no_answer"}:
            return _refuse(request, reply)
        size = reply.chunk_characters or self._chunk_characters
        turn = _Turn(body, reply, next(self._numbers), size)
        if not body.stream or reply.fault == "plain_json":
            return _json(turn.document(), headers=reply.headers)
        return await self._stream(request, turn)

    async def _stream(self, request: web.Request, turn: _Turn) -> web.StreamResponse:
        reply = turn.reply
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **reply.headers})
        await response.prepare(request)
        delay_s = (self._delay_ms if reply.delay_ms is None else reply.delay_ms) / 1000
        # The client may leave whenever it likes.
        with contextlib.suppress(ConnectionError):
            if delay_s:
                for frame in turn.frames():
                    await asyncio.sleep(delay_s)
                    await response.write(frame)
            else:
                await response.write(b"".join(turn.frames()))
            if reply.fault in {"hang", "hang_midstream"}:
                await asyncio.Event().wait()
            if reply.fault == "close_midstream":
                _break(request)
            await response.write_eof()
        return response

    def _authorized(self, request: web.Request) -> bool:
        if self._key is None:
            return True
        headers = request.headers
        return self._key in {headers.get("api-key"), headers.get("Authorization", "").removeprefix("Bearer ")}

    def _record(self, request: web.Request, body: object) -> None:
        headers = {
            name.lower(): "***" if name.lower() in _SECRET_HEADERS else value
            for name, value in request.headers.items()
        }
        peer = request.transport.get_extra_info("peername") if request.transport else None
        port = peer[1] if peer else 0
        self._requests.append(
            Recorded(port, request.method, request.path, request.query_string, headers, body)
        )


def _refuse(request: web.Request, reply: Reply) -> web.StreamResponse:
    """An answer without a stream: an error, a page, or no answer at all."""
    if reply.fault == "no_answer":
        _break(request)
        return web.Response()
    if reply.fault == "html":
        return web.Response(text=_PAGE, content_type="text/html", status=reply.status)
    if reply.body is not None:
        headers = {"Content-Type": "application/json", **reply.headers}
        return web.Response(body=reply.body.encode(), status=reply.status, headers=headers)
    return _error(reply.status, reply.text or "The script says no.", "scripted", headers=reply.headers)


def _break(request: web.Request) -> None:
    """Cut the connection without an orderly end."""
    if request.transport is not None:
        request.transport.abort()


def _frame(value: object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def _json(value: object, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    body = msgspec.json.encode(value)
    return web.Response(body=body, status=status, content_type="application/json", headers=headers)


def _error(status: int, message: str, code: str, *, headers: dict[str, str] | None = None) -> web.Response:
    return _json({"error": {"message": message, "type": code, "code": code}}, status=status, headers=headers)


@contextlib.asynccontextmanager
async def listening(server: ScriptedServer, *, host: str = "127.0.0.1", port: int = 0) -> AsyncGenerator[str]:
    """Serve in this event loop while the context lasts; gives the origin, such as `http://127.0.0.1:4711`."""
    runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, backlog=1024).start()
        address = runner.addresses[0]
        yield f"http://{address[0]}:{address[1]}"
    finally:
        await runner.cleanup()


async def serve(server: ScriptedServer, *, host: str, port: int) -> None:
    """Serve until SIGINT or SIGTERM; the address is the first line of standard output."""
    async with listening(server, host=host, port=port) as origin:
        sys.stdout.write(f"listening on {origin}/v1\n")
        sys.stdout.flush()
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
        await stopped.wait()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the server from the command line."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/stand_ins/scripted_server.py",
        description="An OpenAI-compatible server that plays a script: it is not a language model.",
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free port")
    parser.add_argument("--script", type=Path, help="JSON array of rules; without it, the demonstration")
    parser.add_argument("--key", help="refuse requests that do not carry this key")
    parser.add_argument("--delay-ms", type=float, default=0, help="pause before each chunk")
    parser.add_argument("--chunk-characters", type=int, default=CHUNK_CHARACTERS)
    options = parser.parse_args(arguments)
    try:
        script = Rules.decode(options.script.read_bytes()) if options.script else Rules()
    except (OSError, msgspec.MsgspecError, re.error) as error:
        parser.error(f"cannot use {options.script}: {error}")
    server = ScriptedServer(
        script, key=options.key, delay_ms=options.delay_ms, chunk_characters=options.chunk_characters
    )
    asyncio.run(serve(server, host=options.host, port=options.port))


if __name__ == "__main__":
    main()
