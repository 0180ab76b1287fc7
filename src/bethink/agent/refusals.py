"""What a model is told of calls that are not made. `agent/loop` and `agent/stored_runs` tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.messages import ToolMessage

if TYPE_CHECKING:
    from bethink.messages import ToolCall

LATE = "The person did not decide about this call in time. Ask them again if it is still wanted."
REJECTED = "The person rejected this call. Do not repeat it; ask what they want instead."
FORGOTTEN = "Not done: the person has just had this forgotten for good. Do not mention it again."


def rejected(call: ToolCall) -> ToolMessage:
    """The result of a call that the owner did not want."""
    return ToolMessage(call.id, call.name, REJECTED, error="rejected")


def late(call: ToolCall) -> ToolMessage:
    """The result of a call about which the owner did not decide in time."""
    return ToolMessage(call.id, call.name, LATE, error="not_decided")


def denied(call: ToolCall, reason: str) -> ToolMessage:
    """The result of a call that policy does not allow."""
    return ToolMessage(call.id, call.name, reason, error="denied")


def forgotten(call: ToolCall) -> ToolMessage:
    """The result of a call that would keep what was forgotten since the model was asked."""
    return ToolMessage(call.id, call.name, FORGOTTEN, error="forgotten")
