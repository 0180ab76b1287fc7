"""What is told of calls that are not made, or not yet. `agent/loop` and `agent/stored_runs` tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.events import ApprovalNeeded, ToolFinished
from bethink.messages import ToolMessage

if TYPE_CHECKING:
    from bethink.agent.toolbox import Prepared
    from bethink.messages import ToolCall

LATE = "The person did not decide about this call in time. Ask them again if it is still wanted."
REJECTED = "The person rejected this call. Do not repeat it; ask what they want instead."
ORPHANED = "Not done, though it was decided: the request that brought its model ended first. Ask again."
HELD_BACK = "Not made: another call beside it waits for the person. Ask for it again if it is still wanted."
FORGOTTEN = "Not done: the person has just had this forgotten for good. Do not mention it again."


def rejected(call: ToolCall) -> ToolMessage:
    """The result of a call that the owner did not want."""
    return ToolMessage(call.id, call.name, REJECTED, error="rejected")


def late(call: ToolCall) -> ToolMessage:
    """The result of a call about which the owner did not decide in time."""
    return ToolMessage(call.id, call.name, LATE, error="not_decided")


def orphaned(call: ToolCall) -> ToolMessage:
    """The result of a call that was approved when nothing was left to go on with."""
    return ToolMessage(call.id, call.name, ORPHANED, error="gone")


def denied(call: ToolCall, reason: str) -> ToolMessage:
    """The result of a call that policy does not allow."""
    return ToolMessage(call.id, call.name, reason, error="denied")


def forgotten(call: ToolCall) -> ToolMessage:
    """The result of a call that would keep what was forgotten since the model was asked."""
    return ToolMessage(call.id, call.name, FORGOTTEN, error="forgotten")


def held_back(call: ToolCall) -> ToolMessage:
    """The result of a client's call beside one that waits for the owner."""
    return ToolMessage(call.id, call.name, HELD_BACK, error="held_back")


def finished(result: ToolMessage) -> ToolFinished:
    """The event of a result that no tool gave."""
    return ToolFinished(
        call=result.call,
        name=result.name,
        text=result.content,
        duration_ms=result.duration_ms,
        error=result.error,
        untrusted=result.untrusted,
    )


def approval(prepared: Prepared, reason: str) -> ApprovalNeeded:
    """The event of a call that waits for its owner."""
    return ApprovalNeeded(
        call=prepared.call.id,
        name=prepared.call.name,
        arguments=prepared.shown,
        label=prepared.label,
        reason=reason,
        final=prepared.tool.effect == "destructive",
    )
