"""Model servers that behave as providers document, over real HTTP on this machine: what no script can play.

A behaviour is a function of the request's body: the deltas of an answer, or a refusal.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Body = dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """An error, as the provider writes it."""

    status: int
    body: Any


@dataclass(frozen=True)
class Deltas:
    """An answer: what is streamed, or, joined, the message of an answer that is not."""

    pieces: Sequence[Body]
    finish: str = "stop"

    def whole(self) -> Body:
        message: Body = {"role": "assistant", "content": None}
        for piece in self.pieces:
            for name, value in piece.items():
                joins = isinstance(value, str | list) and message.get(name)
                message[name] = message[name] + value if joins else value
        return message


Behave = Callable[[Body], Deltas | Refusal]


@dataclass
class Quirk:
    """A server, and the bodies of all requests that it was sent."""

    behave: Behave
    url: str = ""
    bodies: list[Body] = field(default_factory=list[Body])

    @property
    def answered(self) -> list[Body]:
        """The requests that were not refused."""
        return [body for body in self.bodies if isinstance(self.behave(body), Deltas)]

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        said = self.behave(body)
        if isinstance(said, Refusal):
            return web.json_response(said.body, status=said.status)
        if not body.get("stream"):
            choice = {"index": 0, "message": said.whole(), "finish_reason": said.finish}
            return web.json_response({"id": "x", "object": "chat.completion", "choices": [choice]})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in said.pieces:
            await response.write(_frame(piece, None))
        await response.write(_frame({}, said.finish) + b"data: [DONE]\n\n")
        await response.write_eof()
        return response


def _frame(delta: Body, finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "x", "choices": [choice]}).encode() + b"\n\n"


async def _models(_: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [{"id": "m", "object": "model"}]})


@asynccontextmanager
async def quirk_server(behave: Behave) -> AsyncGenerator[Quirk]:
    quirk = Quirk(behave)
    app = web.Application()
    app.add_routes([web.post("/v1/chat/completions", quirk.chat), web.get("/v1/models", _models)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        quirk.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield quirk
    finally:
        await runner.cleanup()


# --- what requests hold ----------------------------------------------------------------------------


def last_user(body: Body) -> str:
    texts = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return texts[-1]


def has_result(body: Body) -> bool:
    """Whether a tool has answered since the user spoke."""
    return body["messages"][-1]["role"] == "tool"


def answers_in(body: Body) -> list[Body]:
    return [message for message in body["messages"] if message["role"] == "assistant"]


def in_turn_with_tools(body: Body) -> list[Body]:
    """The answers between two messages of the user's between which a tool was called."""
    turns: list[list[Body]] = [[]]
    for message in body["messages"]:
        if message["role"] == "user":
            turns.append([])
        elif message["role"] == "assistant":
            turns[-1].append(message)
    return [one for turn in turns if any(said.get("tool_calls") for said in turn) for one in turn]


def call(name: str, arguments: Body | str, *, id: str = "call_1", **extra: Body) -> Body:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": text}, **extra}


def stores(text: str, **extra: Body) -> Body:
    """The delta of a call that stores a fact."""
    return {"tool_calls": [call("store_memory", {"content": text}) | extra]}


def wants_call(body: Body) -> bool:
    return "emember" in last_user(body) and not has_result(body)


# --- providers -------------------------------------------------------------------------------------


def deepseek(body: Body) -> Deltas | Refusal:
    """Thinking mode: turns with tools need their reasoning back. Source: DeepSeek API Docs."""
    if any(not said.get("reasoning_content") for said in in_turn_with_tools(body)):
        message = "The `reasoning_content` in the thinking mode must be passed back to the API."
        return Refusal(400, {"error": {"message": message, "type": "invalid_request_error", "param": None}})
    if "orget" in last_user(body) and not has_result(body):
        return _thinking(
            "All of it has to go.", {"tool_calls": [call("delete_all_memories", {}, id="call_d")]}
        )
    if wants_call(body):
        return _thinking("This is worth keeping.", stores("Lives in Paris"))
    return _thinking("Nothing to look up.", {"content": "Noted."})


def _thinking(thought: str, said: Body) -> Deltas:
    half = len(thought) // 2
    pieces = [{"role": "assistant", "content": None, "reasoning_content": ""}]
    pieces += [{"reasoning_content": thought[:half]}, {"reasoning_content": thought[half:]}]
    return Deltas([*pieces, said], "tool_calls" if "tool_calls" in said else "stop")


def deepseek_r1(body: Body) -> Deltas | Refusal:
    """The first reasoner: it refuses reasoning among the messages, and has no tools."""
    if any("reasoning_content" in said for said in answers_in(body)):
        message = "The reasoning_content is not allowed in the input messages."
        return Refusal(400, {"error": {"message": message, "type": "invalid_request_error"}})
    if body.get("tools"):
        return Refusal(400, {"error": {"message": "deepseek-reasoner does not support Function Calling"}})
    return _thinking("Simple.", {"content": "Yes."})


SIGNATURE = "CvcBAdHtim9-signature"
SKIPPED = "skip_thought_signature_validator"


def gemini(body: Body) -> Deltas | Refusal:
    """Gemini 3's endpoint for OpenAI's clients: the first call of a step needs its signature back."""
    for said in answers_in(body):
        if not said.get("tool_calls"):
            continue
        given = said["tool_calls"][0].get("extra_content", {}).get("google", {}).get("thought_signature")
        if given not in {SIGNATURE, SKIPPED}:
            what = "Corrupted thought signature." if given else _MISSING
            error = {"code": 400, "message": what, "status": "INVALID_ARGUMENT"}
            return Refusal(400, [{"error": error}])
    if wants_call(body):
        signed = {"google": {"thought_signature": SIGNATURE}}
        return Deltas([{"role": "assistant", **stores("Lives in Paris", extra_content=signed)}], "tool_calls")
    return Deltas([{"role": "assistant", "content": "Noted."}])


_MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
    "correctly, and missing thought_signature may lead to degraded model performance."
)
DETAILS = [
    {
        "type": "reasoning.text",
        "text": "Keep this.",
        "signature": "sig",
        "format": "claude-v1",
        "index": 0,
    },
    {"type": "reasoning.encrypted", "data": "b3BhcXVl", "format": "claude-v1", "index": 1},
]


def openrouter(body: Body) -> Deltas | Refusal:
    """OpenRouter before a model whose blocks of reasoning must come back as they were."""
    if any(said.get("reasoning_details") != DETAILS for said in answers_in(body) if said.get("tool_calls")):
        raw = json.dumps({"error": {"message": "messages.1.content.0.type: Expected `thinking`"}})
        return Refusal(400, {"error": {"message": "Provider returned error", "metadata": {"raw": raw}}})
    if not wants_call(body):
        return Deltas([{"content": "Noted."}])
    first = {**DETAILS[0], "text": "Keep", "signature": None}
    second = {**DETAILS[0], "text": " this.", "signature": None}
    signed = {"type": "reasoning.text", "signature": "sig", "format": "claude-v1", "index": 0}
    return Deltas(
        [
            {"role": "assistant", "content": "", "reasoning": "Keep", "reasoning_details": [first]},
            {"content": "", "reasoning": " this.", "reasoning_details": [second]},
            {"content": "", "reasoning_details": [signed]},
            {"content": "", "reasoning_details": [DETAILS[1]]},
            stores("Lives in Paris"),
        ],
        "tool_calls",
    )


def strict(body: Body) -> Deltas | Refusal:
    """A server that refuses each field of a message that it does not know, as Mistral's and Groq's do."""
    known = {"role", "content", "tool_calls", "tool_call_id"}
    for place, message in enumerate(body["messages"]):
        if unknown := message.keys() - known:
            loc = ["body", "messages", place, message["role"], min(unknown)]
            detail = [{"type": "extra_forbidden", "loc": loc, "msg": "Extra inputs are not permitted"}]
            return Refusal(422, {"detail": detail})
        for one in message.get("tool_calls", ()):
            if one.keys() - {"id", "type", "function"}:
                return Refusal(422, {"detail": "Extra inputs are not permitted"})
    return Deltas([{"content": "From the other model."}])
