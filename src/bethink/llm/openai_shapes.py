"""The JSON of OpenAI's chat completions, as it is sent and as it is read.

Source: OpenAI API reference, "Create chat completion" and "The chat completion
chunk object"; what other servers do differently is said where it is allowed for.
Of attachments, the pictures that a request holds are sent; the context names all in words.
"""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.messages import AssistantMessage, Message, ToolMessage, UserMessage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.llm import LlmRequest, Picture, ToolSchema

# --- what is sent -------------------------------------------------------------

_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encode = msgspec.json.Encoder().encode
_UNSEEN: Final = "[You cannot see these pictures: say so plainly where it matters.]"


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """Which optional parts of a request a server takes; learnt from its refusals."""

    stream_options: bool = True
    temperature: bool = True
    max_tokens: str = "max_tokens"
    """The limit's name: OpenAI's newer models take `max_completion_tokens` only."""
    pictures: bool = False

    def without(self, complaint: str) -> Dialect | None:
        """The dialect for a server that refused a request with these words; None if it is not about that.

        Only words that name a parameter count. A request is never refused twice for the same one.
        """
        named = complaint.lower()
        if self.stream_options and ("stream_options" in named or "include_usage" in named):
            return msgspec.structs.replace(self, stream_options=False)
        if self.max_tokens == "max_tokens" and "max_completion_tokens" in named:
            return msgspec.structs.replace(self, max_tokens="max_completion_tokens")
        if self.max_tokens == "max_completion_tokens" and self.max_tokens in named:
            return msgspec.structs.replace(self, max_tokens="max_tokens")
        if self.temperature and "temperature" in named and "support" in named:
            return msgspec.structs.replace(self, temperature=False)
        return None


def encode_request(request: LlmRequest, model: str, dialect: Dialect) -> bytes:
    """The body of a streaming request."""
    if request.pictures and not dialect.pictures:
        request = without_pictures(request)
    messages = [_message(message, request.pictures) for message in request.messages]
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True}
    if dialect.stream_options:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if request.must_call:
            body["tool_choice"] = _choice(request.tools)
    if request.temperature is not None and dialect.temperature:
        body["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        body[dialect.max_tokens] = request.max_output_tokens
    if request.response_format is not None:
        body["response_format"] = request.response_format
    return _encode(body)


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


def _message(message: Message, pictures: Mapping[str, Picture]) -> dict[str, object]:
    match message:
        case UserMessage():
            shown = [
                {"type": "image_url", "image_url": {"url": _data_url(picture)}}
                for picture in _pictures_of(message, pictures)
            ]
            text = message.content
            return {"role": "user", "content": [{"type": "text", "text": text}, *shown] if shown else text}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call, "content": message.content}
        case AssistantMessage(tool_calls=()):
            return {"role": "assistant", "content": message.content}
        case AssistantMessage():
            calls = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": _sendable(call.arguments)},
                }
                for call in message.tool_calls
            ]
            # Null and not "": some models behind gateways refuse empty text.
            return {"role": "assistant", "content": message.content or None, "tool_calls": calls}


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


class Content(msgspec.Struct, frozen=True, gc=False):
    """A `delta` of a stream or the `message` of a whole answer.

    `reasoning_content` is DeepSeek's, vLLM's and llama.cpp's name, `reasoning`
    OpenRouter's and Ollama's.
    """

    content: str | list[Part] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[CallPiece] | None = None


class Choice(msgspec.Struct, frozen=True, gc=False):
    """One alternative; only the first is asked for."""

    index: int = 0
    delta: Content | None = None
    message: Content | None = None
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


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """A chunk of a stream, or the whole document of an answer that is not streamed."""

    choices: list[Choice] | None = None
    usage: UsageCount | None = None
    error: str | ErrorBody | None = None


_chunk = msgspec.json.Decoder(Chunk).decode
_error_body = msgspec.json.Decoder(str | ErrorBody).decode
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
        message = body.message or (body.detail if isinstance(body.detail, str) else "")
        codes = (body.code, body.type, body.param)
        return cls(message, " ".join(str(code) for code in codes if code is not None))

    @classmethod
    def of_bytes(cls, body: bytes) -> ErrorDetail:
        """From the body of an error's response, JSON or plain text; a page says nothing."""
        try:
            return cls.of(_error_body(body))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            text = body.decode(errors="replace").strip()
            return cls("" if text.startswith("<") else text)
