"""What an owner decides about a call that waits. `agent/runs` keeps it, and goes on after the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from bethink.errors import BadInput, UnknownId
from bethink.messages import ToolCall, ToolMessage

if TYPE_CHECKING:
    from bethink.agent.records import Run
    from bethink.agent.toolbox import Toolbox

Decision = Literal["approve", "reject", "edit"]


def decided(
    run: Run, toolbox: Toolbox, call: str, *, decision: Decision, arguments: dict[str, Any] | None = None
) -> Run:
    """The run's record with the decision about one of its calls; `arguments` are of an edited one.

    Raises:
        UnknownId: the call does not wait.
        BadInput: the edited arguments do not fit the tool.
    """
    waiting = {item.call: item for item in run.waiting if item.decision is None}
    if run.state != "waiting" or call not in waiting:
        message = "No call with this id waits for a decision: it was decided, or the run has ended."
        raise UnknownId(message)
    item = msgspec.structs.replace(waiting[call], decision=decision)
    if decision == "edit":
        item = msgspec.structs.replace(item, arguments=msgspec.json.encode(arguments or {}).decode())
        prepared = toolbox.prepare(ToolCall(call, item.name, item.arguments))
        if isinstance(prepared, ToolMessage):
            raise BadInput(prepared.content)
        item = msgspec.structs.replace(item, arguments=prepared.call.arguments)
    return msgspec.structs.replace(
        run, waiting=tuple(item if other.call == call else other for other in run.waiting)
    )
