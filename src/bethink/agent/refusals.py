"""What a model is told of calls that are not made. `agent/loop` and `agent/stored_runs` tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.messages import ToolMessage

if TYPE_CHECKING:
    from bethink.messages import ToolCall

REJECTED = "The person rejected this call. Do not repeat it; ask what they want instead."
FORGOTTEN = "Not done: the person has just had this forgotten for good. Do not mention it again."


def rejected(call: ToolCall) -> ToolMessage:
    """The result of a call that the owner did not want."""
    return ToolMessage(call.id, call.name, REJECTED, error="rejected")


def forgotten(call: ToolCall) -> ToolMessage:
    """The result of a call that would keep what was forgotten since the model was asked."""
    return ToolMessage(call.id, call.name, FORGOTTEN, error="forgotten")
