"""A call's result, for the readers of its run and for its model; the toolbox tells both here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.events import ToolFinished
from bethink.messages import ToolMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bethink.events import Event
    from bethink.messages import ToolCall
    from bethink.tool import ToolOutput


def finish(
    put: Callable[[Event | ToolMessage], None],
    call: ToolCall,
    output: ToolOutput,
    *,
    duration_ms: float = 0,
    untrusted: bool = False,
    redacted: Mapping[str, int] | None = None,
) -> None:
    """Put the event and then the message, which is the last of a call."""
    put(
        ToolFinished(
            call=call.id,
            name=call.name,
            text=output.text,
            duration_ms=duration_ms,
            error=output.error,
            attachments=output.attachments,
            memories=output.memories,
            untrusted=untrusted,
            redacted=dict(redacted or {}),
        )
    )
    put(
        ToolMessage(
            call.id,
            call.name,
            output.text,
            output.error,
            duration_ms,
            output.attachments,
            untrusted=untrusted,
            addresses=output.addresses,
        )
    )
