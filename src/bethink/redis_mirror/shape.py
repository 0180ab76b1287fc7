"""Spec 001's JSON of a conversation, written and read. `writer` and `reader` call it.

`{"id", "title", "messages": [{"role", "content", …}], "created_at", "updated_at"}`
with times as ISO 8601 and messages as OpenAI's API has them (spec 001, "Redis
Integration" and "Message Format Evolution"). Only the active line is in it, and
never a system prompt. What another program wrote may hold more than that:
whatever can be understood is read, and the rest passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from bethink.clock import to_datetime, to_us
from bethink.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from bethink.redis_mirror.client import ConversationValue

if TYPE_CHECKING:
    from bethink.conversations.records import Conversation, StoredMessage

_SECOND_US = 1_000_000
_MAX_TITLE_CHARS = 200


def score_of(conversation: Conversation) -> float:
    """When it changed, in seconds: its place in `conversations:list`."""
    return conversation.updated_at / _SECOND_US


def value_of(
    conversation: Conversation,
    messages: Iterable[StoredMessage],
    *,
    lead: Sequence[msgspec.Raw] = (),
    follows: bool = False,
) -> ConversationValue:
    """The conversation's string with these messages; `follows` where others stand before them in it.

    `lead` are system prompts of another program, which stand first.
    """
    written = (*lead, *(_written(stored.message) for stored in messages))
    body = b",".join(map(msgspec.json.encode, written))
    opened = {"id": conversation.id, "title": conversation.title}
    times = {
        "created_at": to_datetime(conversation.created_at).isoformat(),
        "updated_at": to_datetime(conversation.updated_at).isoformat(),
    }
    return ConversationValue(
        head=msgspec.json.encode(opened)[:-1] + b',"messages":[',
        body=b"," + body if follows and body else body,
        tail=b"]," + msgspec.json.encode(times)[1:],
    )


def _written(message: Message) -> dict[str, Any]:
    match message:
        case UserMessage():
            return {"role": "user", "content": message.content}
        case AssistantMessage():
            said: dict[str, Any] = {"role": "assistant", "content": message.content}
            if message.tool_calls:
                said["tool_calls"] = [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": call.arguments},
                    }
                    for call in message.tool_calls
                ]
            return said
        case ToolMessage():
            return {
                "role": "tool",
                "content": message.content,
                "tool_call_id": message.call,
                "name": message.name,
            }


class ForeignConversation(msgspec.Struct, frozen=True):
    """What another program's string tells. Times are microseconds UTC, None if it tells none.

    `lead` are its system prompts: its own business, no part of the history.
    """

    title: str
    messages: tuple[Message, ...]
    created_at: int | None
    updated_at: int | None
    lead: tuple[msgspec.Raw, ...] = ()


class _WireConversation(msgspec.Struct):
    # As they were written: what is understood in part can be written back whole.
    messages: list[msgspec.Raw]
    title: Any = None
    created_at: Any = None
    updated_at: Any = None


class _WireMessage(msgspec.Struct):
    role: Any = None
    content: Any = None
    tool_calls: Any = None
    tool_call_id: Any = None
    name: Any = None


class _WireFunction(msgspec.Struct, frozen=True):
    name: Any = None
    arguments: Any = None


class _WireCall(msgspec.Struct):
    id: Any = None
    function: _WireFunction = _WireFunction()


class _WirePart(msgspec.Struct):
    text: Any = None


_T = TypeVar("_T")


def read(text: bytes) -> ForeignConversation | None:
    """What a conversation's string tells; None if it is none."""
    try:
        value = msgspec.json.decode(text, type=_WireConversation)
        said = [(raw, _said_in(raw)) for raw in value.messages]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    messages = [_read(each) for _, each in said if each is not None]
    return ForeignConversation(
        title=" ".join(_text(value.title).split())[:_MAX_TITLE_CHARS],
        messages=tuple(message for message in messages if message is not None),
        created_at=_time(value.created_at),
        updated_at=_time(value.updated_at),
        lead=tuple(raw for raw, each in said if each is not None and each.role == "system"),
    )


def is_said_in(first: Sequence[Message], second: Sequence[Message]) -> bool:
    """Whether the second says the first from its beginning."""
    return len(first) <= len(second) and all(
        _written(one) == _written(other) for one, other in zip(first, second, strict=False)
    )


def _said_in(raw: msgspec.Raw) -> _WireMessage | None:
    """A message; None for JSON that is none.

    Raises:
        msgspec.DecodeError, UnicodeError, RecursionError: it is no JSON that can be read.
    """
    try:
        return msgspec.json.decode(raw, type=_WireMessage)
    except msgspec.ValidationError:
        return None


def _read(said: _WireMessage) -> Message | None:
    """A message; None for the system's, which is no part of a history, and for what is none."""
    content = _text(said.content)
    match said.role:
        case "user":
            return UserMessage(content)
        case "assistant":
            return AssistantMessage(
                content,
                tuple(
                    ToolCall(_text(call.id), _text(call.function.name), _text(call.function.arguments))
                    for call in _each(_WireCall, said.tool_calls)
                ),
            )
        case "tool":
            return ToolMessage(_text(said.tool_call_id), _text(said.name), content, untrusted=True)
        case _:
            return None


def _text(content: object) -> str:
    """A text, or the texts of a list of parts."""
    if isinstance(content, str):
        return content.replace("\0", "").encode("utf-8", "ignore").decode()
    texts = [_text(part.text) for part in _each(_WirePart, content)]
    return "\n".join(text for text in texts if text)


def _each(kind: type[_T], value: object) -> list[_T]:
    """What of a list is of the kind; nothing of what is no list."""
    found = [_as(kind, each) for each in (_as(list[Any], value) or [])]
    return [each for each in found if each is not None]


def _as(kind: type[_T], value: object) -> _T | None:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def time_of(score: float) -> int | None:
    """When a conversation changed that is listed with this score; None if that is no time."""
    try:
        return _within_calendars(round(score * _SECOND_US))
    except (ValueError, OverflowError):
        return None


def _time(text: object) -> int | None:
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
        if moment is None:
            return None
        return _within_calendars(to_us(moment if moment.tzinfo else moment.replace(tzinfo=UTC)))
    except (ValueError, OverflowError):
        return None


def _within_calendars(us: int) -> int:
    """The moment as it is.

    Raises:
        OverflowError: it lies in no year from 1 to 9999, so that nobody could be shown it.
    """
    to_datetime(us)
    return us
