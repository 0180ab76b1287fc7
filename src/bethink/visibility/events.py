"""Events of runs without what filters hide from their reader. `web/runs` and `agent/commands` ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bethink.events import (
    ApprovalDecided,
    ApprovalNeeded,
    ClaimUnbacked,
    MemoryChanged,
    MemoryRecalled,
    ReasoningDelta,
    RunFailed,
    TextDelta,
    TextSoFar,
    ToolFinished,
    ToolProgress,
    ToolRequested,
    Warned,
)

if TYPE_CHECKING:
    from bethink.events import Event
    from bethink.visibility.reader_filter import ReaderFilter


def filter_event(event: Event, reader_filter: ReaderFilter) -> Event:
    """The event without what its reader may not know."""
    replace = msgspec.structs.replace
    match event:
        case TextDelta(text=text) | ReasoningDelta(text=text) | ToolProgress(text=text):
            return replace(event, text=reader_filter.text(text))
        case MemoryChanged(text=text) | ClaimUnbacked(text=text):
            return replace(event, text=reader_filter.text(text))
        case TextSoFar(text=text, reasoning=reasoning):
            return replace(event, text=reader_filter.text(text), reasoning=reader_filter.text(reasoning))
        case MemoryRecalled(items=items):
            kept = [item for item in items if not reader_filter.hides(item.id)]
            return replace(
                event, items=tuple(replace(item, text=reader_filter.text(item.text)) for item in kept)
            )
        case ToolRequested() | ApprovalNeeded() | ApprovalDecided():
            said = {"arguments": reader_filter.document(event.arguments) or "{}"}
            for name in ("label", "reason"):
                if isinstance(text := getattr(event, name, None), str):
                    said[name] = reader_filter.text(text)
            return replace(event, **said)
        case ToolFinished(text=text, attachments=files):
            named = tuple(replace(file, name=reader_filter.text(file.name)) for file in files)
            return replace(event, text=reader_filter.document(text) or "", attachments=named)
        case Warned(message=text) | RunFailed(message=text):
            return replace(event, message=reader_filter.text(text))
        case _:
            return event
