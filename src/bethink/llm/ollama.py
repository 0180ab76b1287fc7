"""Ollama's own way of asking, between the OpenAI wire and its server: `POST /api/chat`.

Only there a request can say how large the window is to be, and that a prompt that does not fit is to be
refused: at `/v1` Ollama takes its default and drops the beginning of a conversation without a word.
`openai_wire` makes and reads OpenAI's JSON as ever; here it is translated, both ways.
Sources: Ollama, docs/api.md ("Generate a chat completion") and docs/api/openai-compatibility.mdx
("Setting the context size").
"""

from __future__ import annotations

import json
from typing import Any, Final, cast

import msgspec

_OPTIONS: Final = {
    "max_tokens": "num_predict",
    **{name: name for name in ("temperature", "top_p", "seed", "stop")},
}
_object: Final = msgspec.json.Decoder(dict[str, Any]).decode


def chat_url(base_url: str) -> str:
    """Where to post a request, by the address of the OpenAI-compatible one."""
    return (
        f"{base_url.rstrip('/').removesuffix('/chat/completions').removesuffix('/v1').rstrip('/')}/api/chat"
    )


def native_request(body: bytes, window: int) -> bytes:
    """A request as Ollama reads it, to be run in a window of so many tokens."""
    asked = _object(body)
    options = {name: asked[key] for key, name in _OPTIONS.items() if key in asked} | {"num_ctx": window}
    native: dict[str, Any] = {
        "model": asked["model"],
        "messages": _messages(asked["messages"]),
        "stream": asked.get("stream", True),
        "options": options,
        # Too long is an error, and an answer that fills the window ends there.
        "truncate": False,
        "shift": False,
    }
    if "tools" in asked:
        native["tools"] = asked["tools"]
    if "reasoning_effort" in asked:
        native["think"] = False if asked["reasoning_effort"] == "none" else asked["reasoning_effort"]
    match asked.get("response_format"):
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            native["format"] = schema
        case {"type": "json_object"}:
            native["format"] = "json"
        case _:
            pass
    return msgspec.json.encode(native)


def _messages(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = {call["id"]: call["function"]["name"] for one in messages for call in one.get("tool_calls") or ()}
    return [_message(one, names) for one in messages]


def _message(message: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    content = message.get("content") or ""
    native: dict[str, Any] = {"role": message["role"], "content": content}
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        native["content"] = "\n".join(part["text"] for part in parts if part["type"] == "text")
        native["images"] = [
            part["image_url"]["url"].partition(",")[2] for part in parts if part["type"] == "image_url"
        ]
    if calls := message.get("tool_calls"):
        native["tool_calls"] = [
            {
                "id": call["id"],
                "function": {
                    "name": call["function"]["name"],
                    "arguments": json.loads(call["function"]["arguments"]),
                },
            }
            for call in calls
        ]
    if thought := message.get("reasoning"):
        native["thinking"] = thought
    if "tool_call_id" in message:
        native |= {
            "tool_call_id": message["tool_call_id"],
            "tool_name": names.get(message["tool_call_id"], ""),
        }
    return native


class NativeAnswer:
    """Reads the lines of an answer, as bytes arrive, and writes them as OpenAI's events."""

    def __init__(self) -> None:
        self._line = b""
        self._calls = 0

    def feed(self, received: bytes) -> bytes:
        """The events of the lines that are whole by now."""
        *lines, self._line = (self._line + received).split(b"\n")
        if self._line.endswith(b"}") and _is_whole(self._line):
            # The last line of an answer may come without its end.
            lines, self._line = [*lines, self._line], b""
        return b"".join(self._event(line) for line in lines if line.strip())

    def _event(self, line: bytes) -> bytes:
        try:
            return self._translated(_object(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
            # The reader of events says what is wrong with it.
            return b"data: %s\n\n" % line

    def _translated(self, told: dict[str, Any]) -> bytes:
        if "error" in told:
            return _data({"error": told["error"]})
        message: dict[str, Any] = told.get("message") or {}
        delta: dict[str, Any] = {}
        if message.get("content"):
            delta["content"] = message["content"]
        if message.get("thinking"):
            delta["reasoning"] = message["thinking"]
        if calls := message.get("tool_calls"):
            delta["tool_calls"] = [self._call(call) for call in calls]
        if not told.get("done"):
            return _data({"choices": [{"index": 0, "delta": delta}]})
        reason = told.get("done_reason") or "stop"
        finish = "tool_calls" if self._calls and reason == "stop" else reason
        usage = {
            "prompt_tokens": told.get("prompt_eval_count") or 0,
            "completion_tokens": told.get("eval_count") or 0,
        }
        last = _data({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": usage})
        return last + b"data: [DONE]\n\n"

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        function = call["function"]
        arguments = json.dumps(function.get("arguments") or {}, ensure_ascii=False)
        named = {"index": self._calls, "function": {"name": function["name"], "arguments": arguments}}
        self._calls += 1
        return named | ({"id": call["id"]} if call.get("id") else {})


def _data(chunk: dict[str, Any]) -> bytes:
    return b"data: %s\n\n" % msgspec.json.encode(chunk)


def _is_whole(line: bytes) -> bool:
    try:
        _object(line)
    except msgspec.DecodeError:
        return False
    return True
