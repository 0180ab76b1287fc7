"""Where a model is served, and how many tokens its server gives it: asked of it, and set where it lets us.

`openai_wire` asks for the window once, before the first request to a model. What is asked, and of whom:

- `models`: the list of models, which tells it of each (vLLM `max_model_len`, OpenRouter
  `context_length`, Groq `context_window`, llama.cpp `meta.n_ctx`);
- `local`: the same, then llama.cpp's `/props` and LM Studio's `/api/v0/models`;
- `ollama`: what the model says of itself (`/api/show`) and with which window it runs (`/api/ps`).

Of Ollama a request asks in its own way, too (`POST /api/chat`): only there it can say how large the window
is to be, and that a prompt that does not fit is to be refused. At `/v1` Ollama takes its default and drops
the beginning of a conversation without a word. `openai_wire` makes and reads OpenAI's JSON as ever; here it
is translated, both ways.

Sources: vLLM, "OpenAI-Compatible Server"; OpenRouter API reference, "List available models"; llama.cpp,
tools/server/README.md; LM Studio, "REST API v0"; Ollama, docs/api.md, docs/context-length.mdx and
docs/api/openai-compatibility.mdx ("Setting the context size").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, cast
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec

from bethink.errors import BadInput

_OPTIONS: Final = {
    "max_tokens": "num_predict",
    **{name: name for name in ("temperature", "top_p", "seed", "stop")},
}
_object: Final = msgspec.json.Decoder(dict[str, Any]).decode


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


Asking = Literal["nobody", "models", "local", "ollama"]
"""Who is asked for a model's window."""
ROOMY: Final = 8_192
"""Tokens: Ollama's own 4,096 leave little for a conversation, so more is asked of it."""
_LEAST: Final = 512
_MOST: Final = 100_000_000
_NAMES: Final = ("loaded_context_length", "max_model_len", "context_length", "context_window", "n_ctx")
"""By what names servers tell a model's window."""
_PARAMETER: Final = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)
_NAMED: Final = re.compile(
    r"(?:maximum context length (?:is|of)|context (?:window|length|size) (?:is|of)|\bn_ctx[\"': =]+)"
    r"\s*\(?(\d[\d,]*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is served and how to ask there.

    `azure` is Azure OpenAI's and DIAL's way: the model's name in the path, the
    key in `api-key`, and `api-version` in the query unless it is empty.
    `key_setting` is what the owner must check when the key is refused,
    `max_tokens` the server's name for the limit of an answer. `window` says who is asked how much the
    model holds; `wanted_window` is what the owner set, in tokens.

    Raises:
        BadInput: the base URL is no http(s) address, or the key cannot be sent.
    """

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    azure: bool = False
    api_version: str = ""
    key_setting: str = "the key"
    max_tokens: str = "max_tokens"
    window: Asking = "nobody"
    wanted_window: int | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise BadInput(f"{self.base_url!r} is no address: it begins with http:// or https://.")
        if self.api_key and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise BadInput(
                f"Check {self.key_setting}: it has characters that no key has, such as a line break."
            )

    @property
    def address(self) -> str:
        """The base URL as it may be shown: no user, password or query."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))

    @property
    def origin(self) -> str:
        """The server's address: base URLs end in /v1 or the like."""
        return self.base_url.rstrip("/").removesuffix("/chat/completions").removesuffix("/v1").rstrip("/")

    @property
    def chat_url(self) -> str:
        """Where to post a request."""
        base = self._base()
        if not self.azure:
            return f"{base}/chat/completions"
        deployment = quote(self.model, safe="@:.")
        return f"{base}/openai/deployments/{deployment}/chat/completions{self._version()}"

    @property
    def models_url(self) -> str:
        """Where the models are listed."""
        return f"{self._base()}/openai/models{self._version()}" if self.azure else f"{self._base()}/models"

    @property
    def headers(self) -> dict[str, str]:
        """What identifies us; compressed streams cost more than they save."""
        headers = {"Accept-Encoding": "identity", "User-Agent": "bethink"}
        if self.api_key:
            name, value = (
                ("api-key", self.api_key) if self.azure else ("Authorization", f"Bearer {self.api_key}")
            )
            headers[name] = value
        return headers

    def _base(self) -> str:
        base = self.base_url.rstrip("/").removesuffix("/chat/completions")
        return base.removesuffix("/openai") if self.azure else base

    def _version(self) -> str:
        return f"?api-version={quote(self.api_version)}" if self.api_version else ""


class Fetch(Protocol):
    """Asks a server: its answer as JSON, None unless it is one with the status 200."""

    async def __call__(self, url: str, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 it is JSON
        """With a body it is posted."""
        ...


@dataclass(frozen=True, slots=True)
class Window:
    """What was found: its `tokens`, and whether they are set by Ollama's own way of asking."""

    tokens: int
    by_ollama: bool = False


async def window_of(endpoint: Endpoint, fetch: Fetch) -> Window | None:
    """The window of the endpoint's model; None if nobody tells."""
    wanted = endpoint.wanted_window
    match endpoint.window:
        case "nobody":
            return None
        case "ollama":
            return await _of_ollama(endpoint, fetch, wanted)
        case _:
            if wanted is not None:
                return None
            tokens = await _of_servers(endpoint, fetch)
            return None if tokens is None else Window(tokens)


def window_named(refusal: str) -> int | None:
    """The window that a server names where it refuses a request as too long."""
    found = _NAMED.search(refusal)
    return None if found is None else _tokens(int(found[1].replace(",", "")))


async def _of_servers(endpoint: Endpoint, fetch: Fetch) -> int | None:
    listed = _in_list(await fetch(endpoint.models_url), endpoint.model)
    if listed is not None or endpoint.window != "local":
        return listed
    origin = endpoint.origin
    props = _part(await fetch(f"{origin}/props"), "default_generation_settings")
    if (tokens := _tokens(_part(props, "n_ctx"))) is not None:
        return tokens
    return _in_list(await fetch(f"{origin}/api/v0/models"), endpoint.model)


def _in_list(answer: object, model: str) -> int | None:
    """What a list of models tells of one; of the only one, whatever it is called there."""
    data = _part(answer, "data")
    models = cast("list[object]", data) if isinstance(data, list) else []
    mine = [one for one in models if _part(one, "id") == model] or (models if len(models) == 1 else [])
    return min((tokens for one in mine[:1] for tokens in _told(one)), default=None)


def _told(model: object) -> Iterator[int]:
    """The model's window; the smaller of OpenRouter's two, of which one is its best provider's."""
    for part in (model, _part(model, "top_provider"), _part(model, "meta")):
        tokens = next((found for name in _NAMES if (found := _tokens(_part(part, name)))), None)
        if tokens is not None:
            yield tokens


async def _of_ollama(endpoint: Endpoint, fetch: Fetch, wanted: int | None) -> Window | None:
    """The window to run a model with: the owner's, else the model file's, else what it runs with, if roomy.

    A model that is not loaded yet is loaded: the first message would do it as well, and only then
    Ollama tells which window it takes by itself.
    """
    origin, named = endpoint.origin, {"model": endpoint.model}
    shown = await fetch(f"{origin}/api/show", named)
    if not isinstance(shown, dict):
        return None
    info = _part(cast("dict[str, object]", shown), "model_info")
    lengths = cast("dict[str, object]", info) if isinstance(info, dict) else {}
    most = next(
        (
            found
            for key, value in lengths.items()
            if key.endswith(".context_length") and (found := _tokens(value))
        ),
        _MOST,
    )
    if wanted is not None:
        return Window(min(wanted, most), by_ollama=True)
    if _part(cast("dict[str, object]", shown), "remote_model"):
        # It runs elsewhere, with all that it has.
        return Window(most, by_ollama=False) if most < _MOST else None
    if found := _PARAMETER.search(str(_part(cast("dict[str, object]", shown), "parameters") or "")):
        return Window(min(int(found[1]), most), by_ollama=True)
    runs_with = _running(await fetch(f"{origin}/api/ps"), endpoint.model)
    if runs_with is None:
        await fetch(f"{origin}/api/generate", {**named, "stream": False})
        runs_with = _running(await fetch(f"{origin}/api/ps"), endpoint.model)
    return Window(min(max(runs_with or 0, ROOMY), most), by_ollama=True)


def _running(answer: object, model: str) -> int | None:
    listed = _part(answer, "models")
    names = {model, f"{model}:latest"}
    for one in cast("list[object]", listed) if isinstance(listed, list) else []:
        if _part(one, "name") in names or _part(one, "model") in names:
            return _tokens(_part(one, "context_length"))
    return None


def _part(whole: object, name: str) -> object:
    return cast("dict[str, object]", whole).get(name) if isinstance(whole, dict) else None


def _tokens(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and _LEAST <= value <= _MOST else None
