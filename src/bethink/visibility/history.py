"""What was said before a run, and what tools answer in it, without what filters hide from its reader.

The stored conversation stays whole. Free for readers without filters; otherwise every text is
filtered once per run and comes out the same every time, so that prompt caches keep fitting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec

from bethink.messages import AssistantMessage, ToolMessage, UserMessage
from bethink.vault.filters.patterns import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.messages import Attachment, Message, ToolCall
    from bethink.principal import Principal
    from bethink.tool import Tool, ToolOutput
    from bethink.visibility.reader_filter import ReaderFilter


async def sees_everything(principal: Principal) -> None:
    """For tools of owners without a vault."""
    del principal


async def filter_history(
    messages: Sequence[Message], summary: str, reader_filter: ReaderFilter
) -> tuple[list[Message], str]:
    """The same messages in the same places and the summary, without what the reader may not know."""

    def filtered() -> tuple[list[Message], str]:
        return [_message(message, reader_filter) for message in messages], summary and reader_filter.text(
            summary
        )

    return await anyio.to_thread.run_sync(filtered)


async def filter_output(output: ToolOutput, tool: Tool, reader_filter: ReaderFilter | None) -> ToolOutput:
    """What a tool answers, without what is hidden; what is fetched from the net is not the owner's."""
    if reader_filter is None or tool.filters_itself or (tool.effect == "egress" and not tool.source):
        return output
    if tool.echoes_arguments and not tool.source:
        reader_filter = reader_filter.plain
    return await anyio.to_thread.run_sync(reader_filter.output, output)


def _message(message: Message, reader_filter: ReaderFilter) -> Message:
    files = tuple(_file(file, reader_filter) for file in getattr(message, "attachments", ()))
    match message:
        case UserMessage(content=content):
            return UserMessage(reader_filter.text(content), files)
        case AssistantMessage(content=content, tool_calls=calls, reasoning=reasoning):
            told = msgspec.structs.replace(
                message,
                content=reader_filter.text(content),
                tool_calls=tuple(_call(call, reader_filter) for call in calls),
                reasoning=reader_filter.text(reasoning),
            )
            is_whole = told == message and reader_filter.value(message.extra) == message.extra
            return message if is_whole else told.without_extra()
        case ToolMessage(content=content, addresses=addresses):
            return msgspec.structs.replace(
                message,
                content=reader_filter.document(content) or HIDDEN,
                attachments=files,
                addresses=tuple(address for address in addresses if reader_filter.text(address) == address),
            )


def _call(call: ToolCall, reader_filter: ReaderFilter) -> ToolCall:
    try:
        was = msgspec.json.decode(call.arguments)
    except msgspec.DecodeError:
        return msgspec.structs.replace(call, arguments=reader_filter.text(call.arguments))
    now = reader_filter.value(was)
    return call if now == was else msgspec.structs.replace(call, arguments=msgspec.json.encode(now).decode())


def _file(file: Attachment, reader_filter: ReaderFilter) -> Attachment:
    return msgspec.structs.replace(file, name=reader_filter.text(file.name))
