"""What a tool call knows of its run, and whose words stand in the run's context. `agent/loop` asks."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from bethink.messages import AssistantMessage, ToolMessage, UserMessage
from bethink.tool import Evidence, ToolContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from bethink.agent.request import RunRequest
    from bethink.tool import Trust

_FOUND = re.compile(r"^ +Content: (.+?)(?: \[\w+\])?$", re.MULTILINE)
"""A memory, as `search_memory` lists it."""
_SEARCHES = ("search_memory", "search_memories")
_LATELY = 50
"""So many of the owner's last messages tell what they said."""


def tool_context(request: RunRequest, trust_of: Callable[[str], Trust]) -> ToolContext:
    """The context of a run's calls."""
    return ToolContext(
        principal=request.principal,
        conversation=request.conversation,
        run=request.run,
        message=request.message,
        label=request.labels.of,
        evidence=partial(evidence_of, request, trust_of),
        forgotten=request.forgotten,
    )


def evidence_of(request: RunRequest, trust_of: Callable[[str], Trust]) -> Evidence:
    """Whose words stand in the run's context now."""
    said: list[str] = []
    asked = answered = ""
    recalled = [item.text for item in request.recalled]
    untrusted: list[str] = []
    for message in request.messages:
        match message:
            case UserMessage():
                said.append(message.content)
                asked = answered
            case AssistantMessage():
                answered = message.content
            case ToolMessage() if message.name in _SEARCHES:
                recalled += _FOUND.findall(message.content)
            case ToolMessage():
                if trust_of(message.name) == "untrusted" and message.error is None:
                    untrusted.append(message.content)
    return Evidence(tuple(said[-_LATELY:]), asked, tuple(recalled), tuple(untrusted))
