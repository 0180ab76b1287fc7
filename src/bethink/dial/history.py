"""A request's messages, as DIAL clients hold them, and the state in which tool calls come back.

Spec 000, "State management" and "Message unpacking": an answer carries in its state the
calls that were made for it, and unpacking puts them before the answer's text. Answers
without a state, of other agents or models, stay as they are. All of it is held by the
client, so it is checked and bounded; what carries no seal of this process for this very
conversation counts as words from outside.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from bethink.agent.request import RunOptions
from bethink.errors import BadInput
from bethink.llm import Options, ToolSchema
from bethink.messages import AssistantMessage, Message, ModelOrigin, ToolCall, ToolMessage, UserMessage

TOOL_CALL_HISTORY_KEY: Final = "tool_call_history"
_SEAL: Final = "bethink"
_MAX_ENTRIES: Final = 400
"""Of one answer's state."""
_MAX_CHARS: Final = 20_000
"""Of one result in it."""
_MAX_MESSAGES: Final = 2_000
_CUT: Final = "\n[cut]"
_RESULTS: Final = ("tool", "function")
_FAR: Final = ("http://", "https://")


class _Function(msgspec.Struct, frozen=True):
    name: str
    arguments: str = "{}"


class _Call(msgspec.Struct, frozen=True):
    id: str
    function: _Function
    type: str = "function"


class _Past(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of the history of calls, in the shape of OpenAI's messages."""

    role: str
    content: str | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    untrusted: bool = False
    origin: str = ""
    """What the model's provider wants back, as the JSON of `_Beside`: a text comes back letter by letter."""


class _Beside(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an answer keeps for its provider, and its calls by their ids."""

    origin: ModelOrigin
    reasoning: str = ""
    calls: dict[str, dict[str, Any]] = {}


class _State(msgspec.Struct, frozen=True):
    tool_call_history: list[_Past] = []
    bethink: str = ""


class HistoryFile(msgspec.Struct, frozen=True):
    """A file that came with a message: `data` is its text or base64, `url` where it lies."""

    type: str | None = None
    title: str | None = None
    data: str | None = None
    url: str | None = None


class _Content(msgspec.Struct, frozen=True):
    attachments: list[HistoryFile] | None = None
    state: Any = None


class _Told(msgspec.Struct, frozen=True):
    role: str
    content: str | list[dict[str, Any]] | None = None
    custom_content: _Content | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    name: str | None = None

    @property
    def text(self) -> str:
        """The text, of several parts one below the other."""
        if not isinstance(self.content, list):
            return self.content or ""
        parts = [part.get("text") for part in self.content if part.get("type") == "text"]
        far = [f"[image: {url}]" for url in self._images if url.startswith(_FAR)]
        return "\n".join(part for part in (*parts, *far) if isinstance(part, str))

    @property
    def files(self) -> tuple[HistoryFile, ...]:
        """What came with it: attachments, and images among the parts of its content.

        Raises:
            BadInput: the data of an image cannot be read.
        """
        near = [url for url in self._images if not url.startswith(_FAR)]
        images = (_image(url, number) for number, url in enumerate(near, 1))
        return (*((self.custom_content and self.custom_content.attachments) or ()), *images)

    @property
    def _images(self) -> list[str]:
        """The addresses of images among the parts, as chat completions have them."""
        if not isinstance(self.content, list):
            return []
        given = [part.get("image_url") for part in self.content if part.get("type") == "image_url"]
        urls = [one.get("url") if isinstance(one, dict) else one for one in given]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
        return [url for url in urls if isinstance(url, str)]  # pyright: ignore[reportUnknownVariableType] - the same


class _Offered(msgspec.Struct, frozen=True):
    """A function that the client makes itself."""

    class Function(msgspec.Struct, frozen=True):
        name: str
        description: str | None = None
        parameters: dict[str, Any] | None = None

    function: Function
    type: str = "function"

    @property
    def schema(self) -> ToolSchema:
        """The function as a model is told of it."""
        one = self.function
        return ToolSchema(
            one.name, one.description or "", one.parameters or {"type": "object", "properties": {}}
        )


class _Fields(msgspec.Struct, frozen=True):
    configuration: dict[str, Any] | None = None


class _Request(msgspec.Struct, frozen=True):
    messages: list[_Told]
    custom_fields: _Fields | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    top_p: float | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    parallel_tool_calls: bool | None = None
    response_format: dict[str, Any] | None = None
    tools: list[_Offered] | None = None
    tool_choice: Any = None


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message of the history, with the files that came with it."""

    message: Message
    files: tuple[HistoryFile, ...] = ()


@dataclass(frozen=True, slots=True)
class DialChat:
    """What a request asks: the last message, what was before it, and what the client wants of the model.

    In place of a message there may be `results` of the functions that the client makes itself,
    its `tools`. `outside` says whether words in the history may be from outside.
    """

    said: str
    files: tuple[HistoryFile, ...]
    past: tuple[HistoryMessage, ...]
    system: str
    outside: bool
    first: str
    options: RunOptions
    configuration: dict[str, Any] = field(default_factory=dict[str, Any])
    results: tuple[ToolMessage, ...] = ()
    tools: tuple[ToolSchema, ...] = ()
    tool_choice: Any = None


@dataclass(frozen=True, slots=True)
class HistorySeal:
    """Marks states of one process, one user and one conversation."""

    secret: bytes = field(repr=False)
    place: str

    def of(self, calls: Sequence[_Past], text: str) -> str:
        """The seal of an answer with these calls before it."""
        told = msgspec.json.encode((self.place, calls, text))
        return hmac.new(self.secret, told, hashlib.sha256).hexdigest()

    def state(self, messages: Iterable[Message], text: str, *, told: Collection[str] = ()) -> dict[str, Any]:
        """The state of an answer: the calls made for it, each with its result, and the seal.

        Those that are `told` stand in an earlier answer's state.
        """
        calls = _paired([_past(message) for message in messages], but=told)
        return {
            TOOL_CALL_HISTORY_KEY: [msgspec.to_builtins(call) for call in calls],
            _SEAL: self.of(calls, text),
        }


def unpack(body: bytes, seal_of: Callable[[str], HistorySeal]) -> DialChat:
    """The request's messages in full. `seal_of` gives the seal for the first thing that was said.

    Raises:
        BadInput: they are none, or the last one is neither the user's nor a function's result.
    """
    try:
        request = msgspec.json.decode(body, type=_Request)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"The request's messages cannot be read: {error}.") from error
    told = request.messages
    said = _said_now(told)
    first = next(one.text for one in told if one.role == "user")
    seal = seal_of(first)
    past: list[HistoryMessage] = []
    outside = False
    for one in told[: -len(said)][-_MAX_MESSAGES:]:
        if one.role == "user":
            past.append(HistoryMessage(UserMessage(one.text), one.files))
        elif one.role == "assistant":
            calls, is_ours = _calls(one, seal)
            past += map(HistoryMessage, calls)
            past.append(HistoryMessage(AssistantMessage(one.text, tuple(map(_call, one.tool_calls or ())))))
            outside = outside or not is_ours or any(_is_outside(message) for message in calls)
        elif one.role in _RESULTS:
            past.append(HistoryMessage(_result(one)))
            outside = True
    system = "\n\n".join(one.text for one in told if one.role in {"system", "developer"} and one.text)
    fields = request.custom_fields
    last, is_result = said[-1], said[-1].role in _RESULTS
    return DialChat(
        said="" if is_result else last.text,
        files=() if is_result else last.files,
        past=tuple(past),
        system=system,
        outside=outside,
        first=first,
        options=RunOptions(
            temperature=request.temperature,
            max_output_tokens=request.max_completion_tokens or request.max_tokens,
            response_format=request.response_format,
            options=Options(
                top_p=request.top_p,
                stop=(request.stop,) if isinstance(request.stop, str) else tuple(request.stop or ()),
                seed=request.seed,
                reasoning_effort=request.reasoning_effort,
                parallel_tool_calls=request.parallel_tool_calls,
            ),
        ),
        configuration=(fields and fields.configuration) or {},
        results=tuple(map(_result, said)) if is_result else (),
        tools=tuple(one.schema for one in request.tools or ()),
        tool_choice=request.tool_choice,
    )


def _said_now(told: Sequence[_Told]) -> Sequence[_Told]:
    """What is new: the user's last message, or what functions returned since the model's."""
    if told and told[-1].role == "user":
        return told[-1:]
    first = len(told)
    while first and told[first - 1].role in _RESULTS:
        first -= 1
    if first == len(told) or not any(one.role == "user" for one in told[:first]):
        raise BadInput("The last message must be the user's, or what your functions returned.")
    return told[first:]


def _result(told: _Told) -> ToolMessage:
    return ToolMessage(told.tool_call_id or "", told.name or "tool", _cut(told.text), untrusted=True)


def _image(url: str, number: int) -> HistoryFile:
    """An image of DIAL's storage, or one that stands in its address."""
    if not url.startswith("data:"):
        return HistoryFile(url=url)
    head, comma, data = url.removeprefix("data:").partition(",")
    media_type, *rest = head.split(";")
    if not comma or "base64" not in rest:
        raise BadInput("An image of the request cannot be read: give it as data:image/png;base64,…")
    ending = media_type.partition("/")[2].replace("jpeg", "jpg").partition("+")[0] or "bin"
    return HistoryFile(type=media_type or "image/png", title=f"image-{number}.{ending}", data=data)


def _calls(told: _Told, seal: HistorySeal) -> tuple[list[Message], bool]:
    """The calls that an answer's state holds, and whether the answer is ours as we gave it."""
    state = told.custom_content.state if told.custom_content else None
    try:
        held = msgspec.convert(state, type=_State)
    except msgspec.ValidationError:
        return [], False
    entries, sealed = held.tool_call_history, held.bethink
    is_ours = hmac.compare_digest(sealed, seal.of(entries, told.text))
    kept = _paired(entries[:_MAX_ENTRIES])
    return [_message(entry, is_ours=is_ours) for entry in kept], is_ours


def _paired(entries: Sequence[_Past], *, but: Collection[str] = ()) -> list[_Past]:
    """The entries in which every call has its result and every result its call, some calls left out."""
    answered = {entry.tool_call_id for entry in entries if entry.role == "tool"} - {*but}
    asked: set[str] = set()
    kept: list[_Past] = []
    for entry in entries:
        if entry.role == "assistant":
            calls = [call for call in entry.tool_calls or () if call.id in answered]
            if calls:
                asked |= {call.id for call in calls}
                kept.append(msgspec.structs.replace(entry, tool_calls=calls))
        elif entry.role == "tool" and entry.tool_call_id in asked:
            kept.append(entry)
    return kept


def _past(message: Message) -> _Past:
    match message:
        case AssistantMessage():
            calls = [_Call(call.id, _Function(call.name, call.arguments)) for call in message.tool_calls]
            origin = ""
            if message.origin is not None:
                extra = {call.id: call.extra for call in message.tool_calls if call.extra}
                beside = _Beside(message.origin, message.reasoning, extra)
                origin = msgspec.json.encode(beside).decode()
            return _Past("assistant", message.content, calls or None, origin=origin)
        case ToolMessage():
            return _Past(
                "tool",
                _cut(message.content),
                tool_call_id=message.call,
                name=message.name,
                untrusted=message.untrusted,
            )
        case UserMessage():
            return _Past("user", message.content)


def _message(entry: _Past, *, is_ours: bool) -> Message:
    if entry.role == "assistant":
        calls = tuple(map(_call, entry.tool_calls or ()))
        if not (is_ours and entry.origin):
            return AssistantMessage(entry.content or "", calls)
        kept = msgspec.json.decode(entry.origin, type=_Beside)
        calls = tuple(msgspec.structs.replace(call, extra=kept.calls.get(call.id, {})) for call in calls)
        return AssistantMessage(entry.content or "", calls, kept.reasoning, kept.origin)
    untrusted = entry.untrusted or not is_ours
    return ToolMessage(
        entry.tool_call_id or "", entry.name or "tool", _cut(entry.content or ""), untrusted=untrusted
    )


def _call(call: _Call) -> ToolCall:
    return ToolCall(call.id, call.function.name, call.function.arguments)


def _is_outside(message: Message) -> bool:
    return isinstance(message, ToolMessage) and message.untrusted


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else text[:_MAX_CHARS] + _CUT
