"""What a tool call knows of its run, and whose words stand in the run's context. `agent/loop` asks."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from bethink.errors import JustForgotten
from bethink.files import text_of
from bethink.messages import AssistantMessage, ToolMessage, UserMessage
from bethink.store.retry import retry_conflicts
from bethink.tool import Evidence, ToolContext

if TYPE_CHECKING:
    from bethink.agent.request import RunRequest
    from bethink.files import Files
    from bethink.messages import Attachment
    from bethink.tool import NewFile

_FOUND = re.compile(r"^ +Content: (.+?)(?: \[\w+\])?$", re.MULTILINE)
"""A memory, as `search_memory` lists it."""
_SEARCHES = ("search_memory", "search_memories")
_LATELY = 50
"""So many of the owner's last messages tell what they said."""


def tool_context(request: RunRequest, files: Files) -> ToolContext:
    """The context of a run's calls."""
    principal, conversation = request.principal, request.conversation
    return ToolContext(
        principal=principal,
        conversation=conversation,
        run=request.run,
        message=request.message,
        label=request.labels.of,
        evidence=partial(evidence_of, request),
        forgotten=request.forgotten,
        keep=partial(_keep, request, files),
        files=partial(files.held, principal, conversation),
    )


@retry_conflicts
async def _keep(request: RunRequest, files: Files, file: NewFile) -> Attachment:
    """Keep a file, unless it says what was forgotten since the run began."""
    forgotten = request.forgotten
    if forgotten is None:
        return (await files.add(request.principal, request.conversation, file, made_by="tool")).attachment
    await forgotten.listen()
    if (text := text_of(file.content)) is not None and forgotten.says(text):
        raise JustForgotten
    expected = forgotten.expected
    kept = await files.add(request.principal, request.conversation, file, made_by="tool", expecting=expected)
    return kept.attachment


def evidence_of(request: RunRequest) -> Evidence:
    """Whose words stand in the run's context now."""
    said: list[str] = []
    asked = answered = ""
    recalled = [item.text for item in request.recalled]
    untrusted = [item.text for item in request.recalled if item.untrusted]
    own: list[str] = []
    vouched: list[str] = []
    addresses: list[str] = []
    for message in request.messages:
        match message:
            case UserMessage():
                said.append(message.content)
                # A file that its owner gives may have been written, and named, by anybody.
                untrusted += [file.name for file in message.attachments]
                asked = answered
            case AssistantMessage():
                answered = message.content
            case ToolMessage() if message.name in _SEARCHES:
                found = _FOUND.findall(message.content)
                recalled += found
                untrusted += found if message.untrusted else []
            case ToolMessage():
                (untrusted if message.untrusted else own).append(message.content)
                addresses += message.addresses
                if not (untrusted or request.outside):
                    vouched.append(message.content)
    return Evidence(
        said=tuple(said[-_LATELY:]),
        asked=asked,
        recalled=tuple(recalled),
        untrusted=tuple(untrusted),
        own=tuple(own),
        vouched=tuple(vouched),
        addresses=tuple(addresses),
        outside=request.outside or bool(untrusted),
    )
