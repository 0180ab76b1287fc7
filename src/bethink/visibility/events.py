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


def filter_event(event: Event, shade: ReaderFilter) -> Event:
    """The event without what its reader may not know."""
    replace = msgspec.structs.replace
    match event:
        case TextDelta(text=text) | ReasoningDelta(text=text) | ToolProgress(text=text):
            return replace(event, text=shade.text(text))
        case MemoryChanged(text=text) | ClaimUnbacked(text=text):
            return replace(event, text=shade.text(text))
        case TextSoFar(text=text, reasoning=reasoning):
            return replace(event, text=shade.text(text), reasoning=shade.text(reasoning))
        case MemoryRecalled(items=items):
            kept = [item for item in items if not shade.hides(item.id)]
            return replace(event, items=tuple(replace(item, text=shade.text(item.text)) for item in kept))
        case ToolRequested() | ApprovalNeeded() | ApprovalDecided():
            said = {"arguments": shade.document(event.arguments) or "{}"}
            for name in ("label", "reason"):
                if isinstance(text := getattr(event, name, None), str):
                    said[name] = shade.text(text)
            return replace(event, **said)
        case ToolFinished(text=text, attachments=files):
            named = tuple(replace(file, name=shade.text(file.name)) for file in files)
            return replace(event, text=shade.document(text) or "", attachments=named)
        case Warned(message=text) | RunFailed(message=text):
            return replace(event, message=shade.text(text))
        case _:
            return event
