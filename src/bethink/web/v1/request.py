"""What a client asks in OpenAI's words, as the rest of the door reads it. `chat` and `responses` make it."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, cast
from urllib.parse import unquote_to_bytes

from fastapi import Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from bethink.agent.history_match import GO_ON, ClientMessage
from bethink.agent.request import RunOptions
from bethink.errors import BadInput
from bethink.llm import ToolSchema
from bethink.messages import ToolMessage
from bethink.tool import NewFile

_MAX_DEPTH: Final = 64
_MAX_INTEGER: Final = 2**63


async def sound(request: Request) -> None:
    """Refuse a body that cannot be kept; one that is not JSON is left to what reads it.

    Raises:
        BadInput: half a character, a number that is too large or none, or too deep.
    """
    try:
        given: object = await request.json()
    except (ValueError, RecursionError):
        return
    check_sound(given)


def check_sound(given: object) -> None:
    """As `sound`, of a value.

    Raises:
        BadInput: it is not sound.
    """
    level: list[object] = [given]
    for _ in range(_MAX_DEPTH):
        if not level:
            return
        level = [inner for value in level for inner in _within(value)]
    if level:
        raise BadInput(f"The request is nested deeper than {_MAX_DEPTH} levels.")


def _within(value: object) -> Iterable[object]:
    match value:
        case dict():
            pairs = cast("dict[str, Any]", value)
            return (*pairs.keys(), *pairs.values())
        case list():
            return cast("list[Any]", value)
        case str():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise BadInput(
                    f"A text of the request has half a character (a lone surrogate) at {error.start}."
                ) from error
        case int():
            if not -_MAX_INTEGER <= value < _MAX_INTEGER:
                raise BadInput("A number of the request has more than 64 bits.")
        case float():
            if not math.isfinite(value):
                raise BadInput("The request contains NaN or an infinite number.")
        case _:
            pass
    return ()


USUAL: Final = "bethink"
"""The name under which the usual model is listed: its other name is the settings'."""
MAX_MESSAGES: Final = 5_000
_DATA_URL: Final = re.compile(r"data:(?P<type>[\w.+/-]*)(?P<parameters>(?:;[\w=.+-]+)*?)(?P<base>;base64)?,")
_SYSTEM: Final = ("system", "developer")
_EXTENSIONS: Final = {"image/jpeg": "jpg", "image/svg+xml": "svg", "text/plain": "txt", "audio/mpeg": "mp3"}


def _url(given: object) -> object:
    """Chat completions have an object there, responses a text."""
    return given.get("url") if isinstance(given, dict) else given  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON


class Loose(BaseModel):
    """A part of a request; fields that are not known are passed over, as OpenAI's clients expect."""

    model_config = ConfigDict(extra="ignore")


class Part(Loose):
    """A piece of a message's content, of chat completions or of responses."""

    type: str
    text: str | None = None
    image_url: Annotated[str | None, BeforeValidator(_url)] = None
    input_audio: dict[str, str] | None = None
    file: dict[str, Any] | None = None
    file_data: str | None = None
    file_url: str | None = None
    file_id: str | None = None
    filename: str | None = None
    refusal: str | None = None

    @property
    def document(self) -> str | None:
        """The id under which the file was uploaded before."""
        given = self.file_id or (self.file or {}).get("file_id")
        return given if isinstance(given, str) and given else None


class Function(Loose):
    """A function that the client runs."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


def listed(items: Mapping[str, Any], limit: int, after: str | None, *, fault: str) -> dict[str, Any]:
    """A page of items by their ids, as OpenAI writes it: those behind `after`.

    Raises:
        BadInput: there is none with that id; `fault` is what is said of it.
    """
    ids = [*items]
    if after is not None and after not in items:
        raise BadInput(fault.format(repr(after[:80])))
    start = 0 if after is None else ids.index(after) + 1
    page = ids[start : start + limit]
    return {
        "object": "list",
        "data": [items[id] for id in page],
        "first_id": page[0] if page else None,
        "last_id": page[-1] if page else None,
        "has_more": start + limit < len(ids),
    }


class Metadata(Loose):
    """What Bethink reads of a request's `metadata`; clients may only send texts there."""

    conversation_id: str | None = None
    chat_id: str | None = None
    task: str | None = None
    memory: bool | None = None
    tools: bool | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request, read.

    `history` is what stands before the new message, or before the new results
    of the client's tools. Of both, one is there. `files` came with the message; `documents` are ids of
    those that were uploaded before it.
    """

    options: RunOptions
    history: Sequence[ClientMessage] = ()
    said: str = ""
    results: Sequence[ToolMessage] = ()
    files: Sequence[NewFile] = field(default=(), repr=False)
    documents: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class MessageContent:
    """A message's content: its text, what came beside it, and ids of what was uploaded before."""

    text: str
    files: Sequence[NewFile] = field(default=(), repr=False)
    documents: Sequence[str] = ()


class Format(Loose):
    """`response_format`."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: dict[str, Any] | None = None


def content_of(given: str | Sequence[Part] | None) -> MessageContent:
    """Text of all parts, and their files; an image elsewhere is named by its address, and not fetched.

    Raises:
        BadInput: a part is of no known kind, or its data cannot be read.
    """
    if given is None or isinstance(given, str):
        return MessageContent(given or "")
    texts: list[str] = []
    files: list[NewFile] = []
    documents: list[str] = []
    for part in given:
        match part.type:
            case "text" | "input_text" | "output_text":
                texts.append(part.text or "")
            case "refusal":
                texts.append(part.refusal or "")
            case "image_url" | "input_image" | "file" | "input_file" if part.document is not None:
                documents.append(part.document)
            case "image_url" | "input_image" | "input_audio" | "file" | "input_file":
                _take(part, texts, files, len(files) + 1)
            case _:
                raise BadInput(f"A part of the content has the type {part.type[:60]!r}, which is not known.")
    return MessageContent("\n".join(texts), files, documents)


def switch(headers: Mapping[str, str], name: str, given: bool | None) -> bool:  # noqa: FBT001 - a value, not a flag
    """Whether something is on: by the header, else by the metadata, else it is.

    Raises:
        BadInput: the header says neither on nor off.
    """
    written = headers.get(name)
    if written is None:
        return given is not False
    if written.lower() in {"on", "true", "1", "yes"}:
        return True
    if written.lower() in {"off", "false", "0", "no"}:
        return False
    raise BadInput(f"The header {name} is {written[:40]!r}: write on or off.")


def _take(part: Part, texts: list[str], files: list[NewFile], number: int) -> None:
    """Add what a part brings: a file, or the address at which one is."""
    if part.input_audio is not None:
        kind = part.input_audio.get("format", "wav")
        content = _decoded(part.input_audio.get("data", ""))
        media_type = "audio/mpeg" if kind == "mp3" else f"audio/{kind}"
        files.append(NewFile(f"audio-{number}.{kind}", media_type, content))
        return
    about: dict[str, Any] = part.file or {}
    url = part.image_url or part.file_data or part.file_url or about.get("file_data")
    name = part.filename or about.get("filename")
    if not isinstance(url, str):
        raise BadInput(f"A part of the type {part.type} contains no data: send it as a data: URL.")
    if url.startswith(("http://", "https://")):
        texts.append(f"[{'image' if 'image' in part.type else 'file'}: {url}]")
        return
    media_type, content = _of_data_url(url)
    ending = _EXTENSIONS.get(media_type, media_type.partition("/")[2] or "bin")
    kind = "image" if media_type.startswith("image/") else "file"
    files.append(NewFile(str(name or f"{kind}-{number}.{ending}"), media_type, content))


def _of_data_url(url: str) -> tuple[str, bytes]:
    """The media type and the bytes of a data: URL (RFC 2397), or of plain base64."""
    if not url.startswith("data:"):
        return "application/octet-stream", _decoded(url)
    if (head := _DATA_URL.match(url)) is None:
        raise BadInput("A data: URL cannot be read: write data:image/png;base64,…")
    rest = url[head.end() :]
    media_type = head["type"] or "text/plain"
    return media_type, _decoded(rest) if head["base"] else unquote_to_bytes(rest)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput("The data of a part is not base64.") from error


class Offered(Loose):
    """A tool that the client offers; those of OpenAI's own, such as its search, mean nothing here."""

    type: str = "function"
    function: Function | None = None
    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


def client_tools(offered: Sequence[Offered] | None) -> tuple[ToolSchema, ...]:
    """The functions of a request, as chat completions or responses give them."""
    functions = [one.function or one for one in offered or () if one.type == "function"]
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    return tuple(
        ToolSchema(one.name or "", one.description or "", one.parameters or nothing) for one in functions
    )


Temperature = Annotated[float | None, Field(ge=0, le=2)]
Tokens = Annotated[int | None, Field(ge=1)]
Share = Annotated[float | None, Field(ge=0, le=1)]
Effort = Annotated[str, Field(max_length=20)] | None


Stop = Annotated[
    Annotated[list[Annotated[str, Field(max_length=1_000)]], Field(max_length=4)] | None,
    BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
]
"""OpenAI takes one text, or up to four."""


class ChatMessage(Loose):
    """One message of a history."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None
    tool_call_id: str | None = None


def system_of(messages: Sequence[ChatMessage]) -> str:
    """What the client tells its model, in its messages of that kind."""
    told = [content_of(one.content).text for one in messages if one.role in _SYSTEM]
    return "\n\n".join(part for part in told if part.strip())


def asked_of(options: RunOptions, told: Sequence[ChatMessage]) -> ChatRequest:
    """A history, taken apart: what is new stands at its end.

    Raises:
        BadInput: it ends in no message of the owner's and no results.
    """
    messages = [one for one in told if one.role not in _SYSTEM]
    end = len(messages)
    last = messages[-1].role if messages else ""
    while end and messages[end - 1].role == last:
        end -= 1
    history = _history(messages[:end])
    match last:
        case "user":
            contents = [content_of(one.content) for one in messages[end:]]
            return ChatRequest(
                options,
                history,
                # A message that is files alone is kept as one.
                said="\n\n".join(one.text for one in contents if one.text)
                or ("(files)" if contents[-1].files or contents[-1].documents else ""),
                files=[file for one in contents for file in one.files],
                documents=[id for one in contents for id in one.documents],
            )
        case "tool":
            return ChatRequest(options, history, results=[_result(one) for one in messages[end:]])
        case "assistant" if history and content_of(messages[-1].content).text.strip():
            # The client wants this answer to go on.
            return ChatRequest(options, _history(messages), said=GO_ON)
        case _:
            raise BadInput("messages: the last one must be the user's, or a tool's result.")


def _history(messages: Sequence[ChatMessage]) -> list[ClientMessage]:
    """What was said before, text alone; messages of one role that follow one another are one."""
    history: list[ClientMessage] = []
    for one in messages:
        text = content_of(one.content).text
        if history and history[-1].role == one.role == "user":
            history[-1] = ClientMessage("user", f"{history[-1].text}\n\n{text}")
        elif one.role in ("user", "assistant"):
            history.append(ClientMessage(one.role, text))
    return history


_ASIDE: Final = re.compile(
    r"### Task:\n.*<chat_history>|Provide a concise, 5-word-or-less title for the conversation"
    r"|Analyze this conversation and provide:?\n",
    re.DOTALL,
)
"""How Open WebUI and LibreChat ask for a title, tags or what could be said next."""


def is_aside(messages: Sequence[ChatMessage]) -> bool:
    """Whether a front end asks something about a chat by itself, and its user said nothing."""
    told = [one for one in messages if one.role not in _SYSTEM]
    return len(told) == 1 and told[0].role == "user" and bool(_ASIDE.match(content_of(told[0].content).text))


def _result(one: ChatMessage) -> ToolMessage:
    if not one.tool_call_id:
        raise BadInput("messages: a tool's result needs the id of its call (tool_call_id, or call_id).")
    return ToolMessage(one.tool_call_id, "", content_of(one.content).text)
