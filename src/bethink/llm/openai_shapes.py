"""The JSON of OpenAI's chat completions, as it is sent and as it is read.

Source: OpenAI API reference, "Create chat completion" and "The chat completion
chunk object"; what other servers do differently is said where it is allowed for.
Of attachments, the pictures that a request holds are sent; the context names all in words.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from bethink.llm.capabilities import EXTRA_CONTENT, REASONING, SIGNATURE, Capabilities
from bethink.llm.routed import in_words
from bethink.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

if TYPE_CHECKING:
    from bethink.llm import LlmRequest, Picture, ToolSchema

# --- what is sent -------------------------------------------------------------

_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encode = msgspec.json.Encoder().encode
_TOOLLESS: Final = (
    "\n# No tools here\nWhatever is said above, you can call no tool in this conversation: you store, look "
    "up and change nothing. Answer from what you were told, and do not say that you did any such thing.\n"
)
_UNSIGNED: Final = "skip_thought_signature_validator"
"""What Google documents for calls that another model made. Source: Gemini API, "Thought signatures"."""
_UNSEEN: Final = "[You cannot see these pictures: say so plainly where it matters.]"


def encode_request(
    request: LlmRequest, model: str, known: Capabilities, *, origin: str = "", pictures: bool = False
) -> bytes:
    """The body of a request to a server of which so much is `known`.

    What came with answers of `origin` goes back to it; other servers would refuse it.
    """
    if request.pictures and not pictures:
        request = without_pictures(request)
    if not known.tools:
        request = without_tools(request)
    messages = _messages(request, known, origin)
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": known.stream}
    if known.stream and known.takes("stream_options"):
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if request.must_call:
            body["tool_choice"] = _choice(request.tools)
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        body[known.max_tokens] = request.max_output_tokens
    if request.response_format is not None:
        body["response_format"] = request.response_format
    options = msgspec.to_builtins(request.options)
    if not request.tools:
        options.pop("parallel_tool_calls", None)
    return _encode({name: value for name, value in (body | options).items() if known.takes(name)})


def parts_of(body: bytes) -> set[str]:
    """Of what an encoded request is made: parameters, `system`, `tool_calls`, fields of earlier answers."""
    request = msgspec.json.decode(body, type=_Sent)
    parts = set(msgspec.json.decode(body, type=dict[str, msgspec.Raw]))
    for message in request.messages:
        parts |= message.keys() - _OWN_FIELDS
        if message.get("role") == _SYSTEM:
            parts.add("system")
        for call in msgspec.json.decode(message.get("tool_calls", b"[]"), type=list[dict[str, msgspec.Raw]]):
            parts |= {"tool_calls", *(call.keys() - _OWN_FIELDS)}
    return parts


class _Sent(msgspec.Struct):
    messages: list[dict[str, msgspec.Raw]]


_SYSTEM: Final = msgspec.Raw(b'"system"')
_OWN_FIELDS: Final = frozenset(
    (
        *("role", "content", "refusal", "tool_calls", "tool_call_id", "function_call"),
        *("id", "index", "type", "function"),
    )
)
"""Fields of messages and calls that are read and written here."""


def without_tools(request: LlmRequest) -> LlmRequest:
    """The request for a model that takes no tools: calls and results in words, and that it has none."""
    if not request.tools and not any(isinstance(message, ToolMessage) for message in request.messages):
        return request
    system = f"{request.system.rstrip()}\n{_TOOLLESS}" if request.tools else request.system
    return replace(
        request, system=system, messages=tuple(in_words(request.messages)), tools=(), must_call=False
    )


def without_pictures(request: LlmRequest) -> LlmRequest:
    """The request for a model that does not see: where pictures would stand, it is told that it does not."""
    messages = tuple(
        msgspec.structs.replace(message, content=f"{message.content}\n{_UNSEEN}")
        if _pictures_of(message, request.pictures)
        else message
        for message in request.messages
    )
    return replace(request, messages=messages, pictures={})


def _pictures_of(message: Message, pictures: Mapping[str, Picture]) -> list[Picture]:
    if not pictures or not isinstance(message, UserMessage):
        return []
    return [pictures[file.url] for file in message.attachments if file.url in pictures]


def _messages(request: LlmRequest, known: Capabilities, origin: str) -> list[dict[str, Any]]:
    """All messages as they are sent, the system's first."""
    in_tool_turn = _in_tool_turns(request.messages)
    messages = [
        _assistant(message, known, origin, in_tool_turn=is_in)
        if isinstance(message, AssistantMessage)
        else _message(message, request.pictures)
        for message, is_in in zip(request.messages, in_tool_turn, strict=True)
    ]
    if not request.system:
        return messages
    if known.system:
        return [{"role": "system", "content": request.system}, *messages]
    first = messages[0] if messages else {}
    if first.get("role") != "user":
        return [{"role": "user", "content": request.system}, *messages]
    text = first["content"]
    told = f"{request.system}\n\n{text}" if isinstance(text, str) else [_text_part(request.system), *text]
    return [{"role": "user", "content": told}, *messages[1:]]


def _in_tool_turns(messages: Sequence[Message]) -> list[bool]:
    """Of each message, whether a tool was called between the two user's messages that it stands between."""
    turn, turns, calling = 0, list[int](), set[int]()
    for message in messages:
        turn += isinstance(message, UserMessage)
        turns.append(turn)
        if isinstance(message, AssistantMessage) and message.tool_calls:
            calling.add(turn)
    return [turn in calling for turn in turns]


def _message(message: UserMessage | ToolMessage, pictures: Mapping[str, Picture]) -> dict[str, Any]:
    match message:
        case UserMessage():
            shown = [
                {"type": "image_url", "image_url": {"url": _data_url(picture)}}
                for picture in _pictures_of(message, pictures)
            ]
            text = message.content
            return {"role": "user", "content": [_text_part(text), *shown] if shown else text}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call, "content": message.content}


def _text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _assistant(
    message: AssistantMessage, known: Capabilities, origin: str, *, in_tool_turn: bool
) -> dict[str, Any]:
    """An answer, with what its provider wants back of it.

    The reasoning goes back in turns with tools only: DeepSeek demands it there, and elsewhere it passes
    it over, or once refused it.
    Source: DeepSeek API Docs, "Thinking Mode"; OpenRouter, "Preserving reasoning blocks".
    """
    came_from = message.origin if message.origin is not None and message.origin.model == origin else None
    told: dict[str, Any] = {} if came_from is None else dict(came_from.extra)
    if came_from is not None and came_from.reasoning and in_tool_turn and "reasoning_details" not in told:
        told[came_from.reasoning] = message.reasoning
    if in_tool_turn and REASONING in known.missed:
        told.setdefault(REASONING, message.reasoning or " ")
    told = {name: value for name, value in told.items() if known.takes(name) and name not in _OWN_FIELDS}
    told |= {"role": "assistant", "content": message.content}
    if message.tool_calls:
        # Null and not "": some models behind gateways refuse empty text.
        told["content"] = message.content or None
        told["tool_calls"] = [_call(call, known, is_own=came_from is not None) for call in message.tool_calls]
        if SIGNATURE in known.missed:
            told["tool_calls"][0].setdefault(EXTRA_CONTENT, {"google": {SIGNATURE: _UNSIGNED}})
    return told


def _call(call: ToolCall, known: Capabilities, *, is_own: bool) -> dict[str, Any]:
    given = call.extra if is_own else {}
    extra = {name: value for name, value in given.items() if known.takes(name) and name not in _OWN_FIELDS}
    beside: object = given.get("function")
    function: dict[str, Any] = {**cast("dict[str, Any]", beside)} if isinstance(beside, dict) else {}
    function |= {"name": call.name, "arguments": _sendable(call.arguments)}
    return {**extra, "id": call.id, "type": "function", "function": function}


def _data_url(picture: Picture) -> str:
    return f"data:{picture.media_type};base64,{b64encode(picture.content).decode()}"


def _sendable(arguments: str) -> str:
    """Arguments that a server can parse: chat templates fail on what is no JSON object."""
    try:
        _OBJECT.decode(arguments)
    except (msgspec.MsgspecError, UnicodeError):
        return _encode({"not_json": arguments} if arguments.strip() else {}).decode()
    return arguments


def _choice(tools: Sequence[ToolSchema]) -> object:
    """That one of the tools must be called; one alone is named, which more servers understand."""
    if len(tools) > 1:
        return "required"
    return {"type": "function", "function": {"name": tools[0].name}}


def _tool(tool: ToolSchema) -> dict[str, object]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


# --- what is read -------------------------------------------------------------

_FUNCTION: Final = frozenset(("name", "arguments"))
_CONTENT: Final = _OWN_FIELDS | {"reasoning_content", "reasoning"}


def _unread(given: dict[str, Any], read: frozenset[str] = _OWN_FIELDS) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in read and value not in _NOTHING}


_NOTHING: Final[tuple[object, ...]] = (None, "", [], {})


def gather(extra: dict[str, Any], more: dict[str, Any]) -> None:
    """Add pieces of fields to what came of them before."""
    for name, value in more.items():
        extra[name] = _merged(extra[name], value) if name in extra else value


def _merged(earlier: Any, more: Any) -> Any:  # noqa: ANN401 it is JSON
    """What pieces of a field add up to.

    Texts are joined; the items of lists by their type and index, as OpenRouter's `reasoning_details`; of
    the strings in an object only its texts are: the others, such as a signature, are whole.
    """
    if isinstance(earlier, str) and isinstance(more, str):
        return earlier if earlier == more else earlier + more
    if isinstance(earlier, list) and isinstance(more, list):
        items = [*cast("list[Any]", earlier)]
        for item in cast("list[Any]", more):
            place = next((place for place, known in enumerate(items) if _is_same(known, item)), None)
            if place is None:
                items.append(item)
            else:
                items[place] = _merged(items[place], item)
        return items
    if isinstance(earlier, dict) and isinstance(more, dict):
        whole = dict(cast("dict[str, Any]", earlier))
        for name, value in cast("dict[str, Any]", more).items():
            joins = name in _TEXTS or not isinstance(value, str)
            if value is not None:
                whole[name] = _merged(whole[name], value) if name in whole and joins else value
        return whole
    return cast("Any", earlier if more is None else more)


_TEXTS: Final = frozenset(("text", "summary"))


def _is_same(one: object, other: object) -> bool:
    """Whether two items are pieces of one: both say which."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return False
    first, second = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
    keys = ("type", "index")
    return first.get("index") is not None and all(first.get(key) == second.get(key) for key in keys)


class Part(msgspec.Struct, frozen=True, gc=False):
    """A part of a message whose content is a list (Mistral)."""

    type: str = ""
    text: str | None = None


class Function(msgspec.Struct, frozen=True, gc=False):
    """A call's function; some servers send `arguments` as an object."""

    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class CallPiece(msgspec.Struct, frozen=True, gc=False):
    """A piece of a tool call, or a whole one."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None

    @classmethod
    def of(cls, given: dict[str, Any]) -> tuple[CallPiece, dict[str, Any]]:
        """A piece, and those of its fields that are not read here.

        Raises:
            msgspec.ValidationError: it is none.
        """
        extra = _unread(given)
        function = given.get("function")
        if isinstance(function, dict) and (beside := _unread(cast("dict[str, Any]", function), _FUNCTION)):
            extra["function"] = beside
        return msgspec.convert(given, cls), extra


class DeltaContent(msgspec.Struct, frozen=True, gc=False):
    """A `delta` of a stream or the `message` of a whole answer.

    `reasoning_content` is DeepSeek's, vLLM's and llama.cpp's name, `reasoning`
    OpenRouter's and Ollama's. `function_call` is what calls were before `tool_calls`.
    """

    content: str | list[Part] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    function_call: Function | None = None

    @classmethod
    def of(cls, given: dict[str, Any]) -> tuple[DeltaContent, dict[str, Any]]:
        """The content, and those of its fields that are not read here.

        Raises:
            msgspec.ValidationError: it is none.
        """
        return msgspec.convert(given, cls), _unread(given, _CONTENT)


class Choice(msgspec.Struct, frozen=True, gc=False):
    """One alternative; only the first is asked for."""

    index: int = 0
    delta: dict[str, Any] | None = None
    message: dict[str, Any] | None = None
    finish_reason: str | None = None


class UsageCount(msgspec.Struct, frozen=True, gc=False):
    """Tokens, and OpenRouter's cost in US dollars. Numbers may come as floats."""

    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    cost: float | None = None


class ErrorBody(msgspec.Struct, frozen=True):
    """An error as servers write it: OpenAI's object, an object around it, or FastAPI's `detail`."""

    error: str | ErrorBody | None = None
    message: str | None = None
    detail: Any = None
    code: str | int | float | None = None
    type: str | int | None = None
    param: str | None = None
    metadata: Any = None


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """A chunk of a stream, or the whole document of an answer that is not streamed."""

    choices: list[Choice] | None = None
    usage: UsageCount | None = None
    error: str | ErrorBody | None = None


_chunk = msgspec.json.Decoder(Chunk).decode
_error_body = msgspec.json.Decoder(str | ErrorBody).decode
_listed_error = msgspec.json.Decoder(list[ErrorBody]).decode
_SURROGATES: Final = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..")
_PAIR_CHARACTERS: Final = 12


def decode_chunk(payload: bytes) -> Chunk:
    """A chunk; a character that a server cut in two reads as U+FFFD.

    Raises:
        msgspec.MsgspecError: it is not one.
    """
    try:
        return _chunk(payload)
    except msgspec.ValidationError:
        raise
    except UnicodeDecodeError:
        return _chunk(payload.decode(errors="replace").encode())
    except msgspec.DecodeError:
        # Half a surrogate pair, which msgspec does not take.
        text = payload.decode(errors="replace")
        mended = _SURROGATES.sub(_whole_or_replaced, text)
        if mended == text:
            raise
        return _chunk(mended.encode())


def _whole_or_replaced(escape: re.Match[str]) -> str:
    return escape[0] if len(escape[0]) == _PAIR_CHARACTERS else r"\ufffd"


class ErrorDetail(msgspec.Struct, frozen=True):
    """What a server says about a failure: its sentence, and its codes in one string."""

    message: str
    code: str = ""

    @classmethod
    def of(cls, body: str | ErrorBody) -> ErrorDetail:
        """From an error's object or string."""
        if isinstance(body, str):
            return cls(body)
        if body.error is not None:
            return cls.of(body.error)
        detail = body.detail if isinstance(body.detail, str | None) else _encode(body.detail).decode()
        message = body.message or detail or ""
        if isinstance(body.metadata, dict):
            # OpenRouter: what the provider behind it said.
            raw = cast("dict[str, Any]", body.metadata).get("raw")
            message = f"{message} {raw}" if isinstance(raw, str) else message
        codes = (body.code, body.type, body.param)
        return cls(message, " ".join(str(code) for code in codes if code is not None))

    @classmethod
    def of_bytes(cls, body: bytes) -> ErrorDetail:
        """From the body of an error's response, JSON or plain text; a page says nothing."""
        try:
            # Gemini's endpoint puts its error into a list.
            return cls.of(_listed_error(body)[0] if body.lstrip()[:1] == b"[" else _error_body(body))
        except (msgspec.MsgspecError, UnicodeDecodeError, IndexError):
            text = body.decode(errors="replace").strip()
            return cls("" if text.startswith("<") else text)
