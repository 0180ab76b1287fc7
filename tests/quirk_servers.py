"""Model servers with a window, as Ollama, llama.cpp and vLLM document them; behind each the same small model.

The model stores what it is told of a name and a home, and says where somebody lives if that stands in
what is left of its prompt. It counts tokens a little more than Bethink does.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

_BYTES_PER_TOKEN = 3.3
_LOST = "Hello! How can I help you today?"
"""What a model says of which the prompt was cut through."""
Kind = Literal["ollama", "llamacpp", "vllm", "silent vllm"]


def tokens(part: object) -> int:
    """How many tokens a part of a request takes."""
    return int(len(json.dumps(part, ensure_ascii=False).encode()) / _BYTES_PER_TOKEN)


@dataclass(slots=True)
class QuirkServer:
    """One server; `requests` are the bodies of its chats, `prompts` how many tokens each took.

    `default` is the window that Ollama takes by itself, `most` what its model holds at most.
    """

    kind: Kind
    window: int = 4_096
    most: int = 131_072
    parameters: str = ""
    origin: str = ""
    running: int | None = None
    paths: list[str] = field(default_factory=list[str])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    prompts: list[int] = field(default_factory=list[int])
    truncated: int = 0
    refused: int = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Whatever is asked."""
        self.paths.append(request.path)
        body: dict[str, Any] = await request.json() if request.can_read_body else {}
        match request.path, self.kind:
            case "/v1/models", _:
                return web.json_response({"object": "list", "data": [self._listed()]})
            case "/props", "llamacpp":
                return web.json_response({"default_generation_settings": {"n_ctx": self.window}})
            case "/api/show", "ollama":
                info = {"general.architecture": "llama", "llama.context_length": self.most}
                return web.json_response({"parameters": self.parameters, "model_info": info})
            case "/api/ps", "ollama":
                running = {"name": "llama3.2:latest", "context_length": self.running}
                return web.json_response({"models": [running] if self.running else []})
            case "/api/generate", "ollama":
                self.running = self.window
                return web.json_response({"done": True, "done_reason": "load"})
            case "/api/chat", "ollama":
                return await self._native(request, body)
            case "/v1/chat/completions", _:
                return await self._openai(request, body)
            case _:
                return web.Response(status=404, text="404 page not found")

    def _listed(self) -> dict[str, Any]:
        model: dict[str, Any] = {"id": "llama3.2", "object": "model"}
        if self.kind == "vllm":
            model["max_model_len"] = self.window
        if self.kind == "llamacpp":
            model["meta"] = {"n_ctx_train": self.most}
        return model

    async def _native(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        window = body["options"].get("num_ctx", self.window)
        self.running = window
        messages = self._kept(body, window)
        if messages is None and body.get("truncate") is False:
            self.refused += 1
            return web.json_response({"error": "the input length exceeds the context length"}, status=400)
        text, calls = self._said(messages, body)
        lines: list[dict[str, Any]] = [
            {"message": {"role": "assistant", "content": piece}, "done": False} for piece in _pieces(text)
        ]
        for name, arguments in calls:
            call = {"function": {"name": name, "arguments": arguments}}
            lines.append(
                {"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False}
            )
        counts = {"prompt_eval_count": self.prompts[-1], "eval_count": 9}
        end = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
        return await _streamed(request, [json.dumps(line) + "\n" for line in (*lines, end | counts)])

    async def _openai(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        messages = self._kept(body, self.window)
        if messages is None and self.kind != "ollama":
            self.refused += 1
            return web.json_response(self._refusal(), status=400)
        text, calls = self._said(messages, body)
        deltas: list[dict[str, Any]] = [{"content": piece} for piece in _pieces(text)]
        for index, (name, arguments) in enumerate(calls):
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"index": index, "id": f"call_{len(self.requests)}_{index}", "function": function}
            deltas.append({"tool_calls": [call]})
        chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        reason = "tool_calls" if calls else "stop"
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        return await _streamed(request, [*events, "data: [DONE]\n\n"])

    def _refusal(self) -> dict[str, Any]:
        took = self.prompts[-1]
        if self.kind == "llamacpp":
            message = "the request exceeds the available context size, try increasing it"
            sizes = {"n_prompt_tokens": took, "n_ctx": self.window}
            return {"error": {"code": 400, "message": message, "type": "exceed_context_size_error", **sizes}}
        message = (
            f"This model's maximum context length is {self.window} tokens. However, you requested {took}"
            " tokens in the messages, Please reduce the length of the messages."
        )
        return {"error": {"message": message, "type": "BadRequestError", "param": None, "code": 400}}

    def _kept(self, body: dict[str, Any], window: int) -> list[dict[str, Any]] | None:
        """What is left of the messages; None if not even the last fits beside the system's and the tools."""
        self.requests.append(body)
        system = [one for one in body["messages"] if one["role"] == "system"]
        others = [one for one in body["messages"] if one["role"] != "system"]
        fixed = tokens(system) + tokens(body.get("tools", []))
        self.prompts.append(fixed + tokens(others))
        if self.prompts[-1] <= window:
            return others
        if self.kind != "ollama" or body.get("truncate") is False:
            return None
        self.truncated += 1
        while len(others) > 1 and fixed + tokens(others) > window:
            others = others[1:]
        return others if fixed + tokens(others) <= window else None

    def _said(
        self, messages: list[dict[str, Any]] | None, body: dict[str, Any]
    ) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
        if messages is None:
            return _LOST, []
        place = max((n for n, one in enumerate(messages) if one["role"] == "user"), default=None)
        if place is None:
            return _LOST, []
        said, after = str(messages[place]["content"]), messages[place + 1 :]
        names = {one["function"]["name"] for one in body.get("tools", [])}
        told = re.search(r"My name is (\w+) and I live in (\w+)", said)
        if told and not after and "store_memory" in names:
            facts = (f"User's name is {told[1]}.", f"User lives in {told[2]}.")
            return "", [("store_memory", {"content": fact, "category": "personal_info"}) for fact in facts]
        if told:
            return f"Nice to meet you, {told[1]}." if after else _LOST, []
        if "Where do I live" in said:
            home = re.search(r"User lives in (\w+)", said)
            return (f"You live in {home[1]}." if home else "I do not know."), []
        return "I see. ", []


def _pieces(text: str) -> list[str]:
    return re.findall(r"\S+\s*", text)


async def _streamed(request: web.Request, parts: list[str]) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for part in parts:
        await response.write(part.encode())
    await response.write_eof()
    return response


@asynccontextmanager
async def serving(server: QuirkServer) -> AsyncGenerator[QuirkServer]:
    """The server on a port of its own; its `origin` says where."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()
