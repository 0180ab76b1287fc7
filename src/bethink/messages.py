"""What is said in a conversation. The loop, the models' adapters and the store share it.

The system prompt is not a message: it is made anew for each request and never stored.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

_BYTES_PER_TOKEN = 3.5
"""Of English prose in the tokenizers of current models, a little on the safe side.

Bytes and not characters: a Chinese character is about a token, an emoji two.
"""
MESSAGE_TOKENS: Final = 8
"""What a message or call takes beside its text."""


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """A file that belongs to a message; `url` leads to its content."""

    name: str
    media_type: str
    url: str


class ModelOrigin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which model an answer came from, and what its provider wants back with the answer.

    `model` is the model's name and its server's host. `reasoning` names the field in which the
    server sent the reasoning, if it did; `extra` are the fields that Bethink does not read itself.
    Of a `toolless` answer the server had refused the tools.
    """

    model: str
    reasoning: str = ""
    extra: dict[str, Any] = {}
    toolless: bool = False


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that a model asked for; `arguments` is JSON text as the model wrote it.

    `extra` are fields that the model's provider wants back with the call.
    """

    id: str
    name: str
    arguments: str
    extra: dict[str, Any] = {}


class UserMessage(msgspec.Struct, frozen=True, tag_field="role", tag="user"):
    """What the owner said. One that is `untrusted` holds a text that a server gave: it is not their word."""

    content: str
    attachments: tuple[Attachment, ...] = ()
    untrusted: bool = False


class AssistantMessage(msgspec.Struct, frozen=True, tag_field="role", tag="assistant"):
    """What the model said and which tools it asked for; `origin` is None where no provider said it."""

    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    origin: ModelOrigin | None = None

    @property
    def extra(self) -> list[dict[str, Any]]:
        """What its provider wants back with it and with its calls."""
        own = () if self.origin is None else (self.origin.extra,)
        return [extra for extra in (*own, *(call.extra for call in self.tool_calls)) if extra]

    def without_extra(self) -> AssistantMessage:
        """The same without it: of an answer that is told in other words, it is not true any more."""
        calls = tuple(msgspec.structs.replace(call, extra={}) for call in self.tool_calls)
        origin = self.origin and msgspec.structs.replace(self.origin, extra={})
        return msgspec.structs.replace(self, tool_calls=calls, origin=origin)


class ToolMessage(msgspec.Struct, frozen=True, tag_field="role", tag="tool"):
    """What a tool answered to one call. `error` is an error's code, None on success.

    What is `untrusted` is not the owner's own; `addresses` are URLs that a search found.
    """

    call: str
    name: str
    content: str
    error: str | None = None
    duration_ms: float = 0
    attachments: tuple[Attachment, ...] = ()
    untrusted: bool = False
    addresses: tuple[str, ...] = ()


Message = UserMessage | AssistantMessage | ToolMessage


def tokens_in(text: str) -> int:
    """About how many tokens a text takes as a message of its own, for models that do not count."""
    return tokens_of_bytes(len(text) if text.isascii() else len(text.encode("utf-8", "replace")))


def tokens_of_bytes(size: int) -> int:
    """The same for a text of that many bytes."""
    return int(size / _BYTES_PER_TOKEN) + MESSAGE_TOKENS


def tokens_of(message: Message) -> int:
    """About how many tokens a message takes, for a provider that does not count."""
    match message:
        case UserMessage() | ToolMessage():
            return tokens_in(message.content)
        case AssistantMessage():
            return tokens_in(message.content) + _tokens_beside(message)


def _tokens_beside(message: AssistantMessage) -> int:
    calls = sum(tokens_in(call.name + call.arguments) + MESSAGE_TOKENS for call in message.tool_calls)
    if message.origin is None:
        return calls
    reasoning = tokens_in(message.reasoning) if message.origin.reasoning and calls else 0
    extra = tokens_in(msgspec.json.encode(message.extra).decode()) if message.extra else 0
    return calls + reasoning + extra
