"""What is said in a conversation. The loop, the models' adapters and the store share it.

The system prompt is not a message: it is made anew for each request and never stored.
"""

from __future__ import annotations

import msgspec


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
    """What a tool answered to one call. `error` is an error's code, None on success."""

    call: str
    name: str
    content: str
    error: str | None = None
    duration_ms: float = 0
    attachments: tuple[Attachment, ...] = ()


Message = UserMessage | AssistantMessage | ToolMessage
