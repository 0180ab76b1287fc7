"""What was said before a run, and what tools say in it, as those may be told it for whom the run reads.

`agent/beginning` and `agent/toolbox` ask.
What is kept of a conversation stays whole: a filter of the owner's bears on what is given to a model.
Whom no filter restrains costs nothing; else each text is looked through once a run, and
comes out the same every time, so that what models keep of a prompt's beginning still fits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import msgspec

from bethink.messages import AssistantMessage, ToolMessage, UserMessage
from bethink.tools.memory_agent import SEEN
from bethink.vault.filters.patterns import HIDDEN

if TYPE_CHECKING:
    from bethink.agent.request import Earlier
    from bethink.agent.wishes import Wishes
    from bethink.messages import Attachment, Message, ToolCall
    from bethink.principal import Principal
    from bethink.tool import Tool, ToolOutput
    from bethink.visibility.reader_filter import ReaderFilter

_OWN_WORDS: Final = frozenset({"execute_code", "store_memory", "search_memory"})
"""Tools that say again what a call says, beside what is looked through already: by what the vault hides
their answers are not looked through once more, or each number that code prints would be a guess answered."""

Shades = Callable[["Principal"], Awaitable["ReaderFilter | None"]]
"""Gives what a reader is not told."""

KeptBack = Callable[["Principal"], Awaitable["Sequence[str]"]]
"""Gives the filters in words for a reader: what a model is asked not to tell it."""


async def no_shade(principal: Principal) -> None:
    """For runs of owners without a vault."""
    del principal


async def nothing_kept_back(principal: Principal) -> Sequence[str]:
    """For runs of owners without a vault."""
    del principal
    return ()


async def retold(earlier: Earlier, shade: ReaderFilter | None) -> Earlier:
    """The same messages at the same places, saying no more than their reader may know."""
    if shade is None or not (earlier.messages or earlier.summary):
        return earlier
    return await anyio.to_thread.run_sync(_retold, earlier, shade)


async def veiled(output: ToolOutput, tool: Tool, shade: ReaderFilter | None) -> ToolOutput:
    """What a tool answers without what is hidden; what Bethink fetches from the net is not the owner's."""
    if shade is None or tool.name in SEEN or (tool.effect == "egress" and not tool.source):
        return output
    if tool.name in _OWN_WORDS and not tool.source:
        shade = shade.plain
    return await anyio.to_thread.run_sync(shade.output, output)


def wished(wishes: Wishes, shade: ReaderFilter | None) -> Wishes:
    """The wishes without what filters hide of what the conversation is for."""
    if shade is None or not wishes.system:
        return wishes
    return msgspec.structs.replace(wishes, system=shade.text(wishes.system))


def _retold(earlier: Earlier, shade: ReaderFilter) -> Earlier:
    messages = [_message(message, shade) for message in earlier.messages]
    summary = shade.text(earlier.summary) if earlier.summary else ""
    return replace(earlier, messages=messages, summary=summary)


def _message(message: Message, shade: ReaderFilter) -> Message:
    files = tuple(_file(file, shade) for file in getattr(message, "attachments", ()))
    match message:
        case UserMessage(content=content):
            return UserMessage(shade.text(content), files)
        case AssistantMessage(content=content, tool_calls=calls, reasoning=reasoning):
            told = msgspec.structs.replace(
                message,
                content=shade.text(content),
                tool_calls=tuple(_call(call, shade) for call in calls),
                reasoning=shade.text(reasoning),
            )
            is_whole = told == message and shade.value(message.extra) == message.extra
            return message if is_whole else told.without_extra()
        case ToolMessage(content=content, addresses=addresses):
            return msgspec.structs.replace(
                message,
                content=shade.document(content) or HIDDEN,
                attachments=files,
                addresses=tuple(address for address in addresses if shade.text(address) == address),
            )


def _call(call: ToolCall, shade: ReaderFilter) -> ToolCall:
    try:
        was = msgspec.json.decode(call.arguments)
    except msgspec.DecodeError:
        return msgspec.structs.replace(call, arguments=shade.text(call.arguments))
    now = shade.value(was)
    return call if now == was else msgspec.structs.replace(call, arguments=msgspec.json.encode(now).decode())


def _file(file: Attachment, shade: ReaderFilter) -> Attachment:
    return msgspec.structs.replace(file, name=shade.text(file.name))
