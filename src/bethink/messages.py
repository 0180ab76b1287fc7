"""What is said in a conversation. The loop, the models' adapters and the store share it.

The system prompt is not a message: it is made anew for each request and never stored.
"""

from __future__ import annotations

from typing import Final

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


class ToolCall(msgspec.Struct, frozen=True):
    """A call that a model asked for; `arguments` is JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


class UserMessage(msgspec.Struct, frozen=True, tag_field="role", tag="user"):
    """What the owner said."""

    content: str
    attachments: tuple[Attachment, ...] = ()


class AssistantMessage(msgspec.Struct, frozen=True, tag_field="role", tag="assistant"):
    """What the model said and which tools it asked for."""

    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""


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
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return int(size / _BYTES_PER_TOKEN) + MESSAGE_TOKENS
