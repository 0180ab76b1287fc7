"""Resources and prompts of MCP servers: the tool that reads them, files and texts made of them.

`tools/mcp` gives each server that has resources the tool; the doors attach resources and fill prompts.
All of it comes from outside, as results of the server's tools do.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from bethink.errors import BadInput
from bethink.mcp_client import (
    NamedResource,
    Part,
    PromptMessage,
    RemoteResource,
    ResultFile,
    ServerConfig,
    Text,
)
from bethink.tool import NewFile, Tool, ToolContext, ToolOutput, foreign_tool

if TYPE_CHECKING:
    from bethink import files
    from bethink.files import Files
    from bethink.mcp_client.servers import Servers
    from bethink.principal import Principal
    from bethink.settings import McpServer

    ShowParts = Callable[[ToolContext, Sequence[Part]], Awaitable[ToolOutput]]

READER: Final = "read_resource"
"""What the tool is called behind its server's name."""
_MOST_LISTED: Final = 100
"""Resources that a model is told of at once; what is longer, it narrows down with words."""
_LINE_CHARS: Final = 300
_MAX_URI: Final = 2_000
_MAX_ATTACHED: Final = 20
_MAX_PROMPT_CHARS: Final = 100_000
_MARGIN_S: Final = 5
_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "uri": {"type": "string", "maxLength": _MAX_URI, "description": "Address of the resource to read."},
        "query": {"type": "string", "maxLength": 200, "description": "Without uri: list only what fits."},
    },
    "additionalProperties": False,
}


def reader_tool(
    servers: Servers, config: ServerConfig, rules: McpServer, *, name: str, show: ShowParts
) -> Tool:
    """The tool with which a model lists and reads what one server has; judged as the server's tools are."""

    async def read(context: ToolContext, /, **arguments: str) -> ToolOutput:
        if uri := arguments.get("uri", "").strip():
            return await show(context, await servers.read(config.name, uri))
        listed = await servers.resources(config.name)
        return ToolOutput(_told(listed, arguments.get("query", "")))

    return foreign_tool(
        read,
        name=name,
        description=f"Read a resource of the server {config.name}, by its address (`uri`)."
        " Without one: list what it has.",
        parameters=_PARAMETERS,
        effect=rules.effect,
        trust=rules.trust,
        label=f"{config.name}: Read a resource"[:120],
        source=config.name,
        origin=f"{config.origin}:{READER}",
        timeout_s=config.connect_timeout_s + config.call_timeout_s + _MARGIN_S,
    )


def _told(resources: Sequence[RemoteResource], query: str) -> str:
    words = query.casefold().split()
    fit = [one for one in resources if all(word in _line(one).casefold() for word in words)]
    lines = [_line(one) for one in fit[:_MOST_LISTED]]
    if more := len(fit) - len(lines):
        lines.append(f"[{more:,} more: give words in `query`]")
    return "\n".join(lines) or "There is no such resource."


def _line(one: RemoteResource) -> str:
    about = ", ".join(filter(None, (one.name, one.media_type, one.description)))
    kind = "address with gaps, in braces" if one.template else "resource"
    return f"[{kind} {one.uri}: {' '.join(about.split())}]"[:_LINE_CHARS]


async def attach(
    servers: Servers, files: Files, principal: Principal, conversation: str, *, server: str, uri: str
) -> list[files.File]:
    """Read a resource into files of the conversation.

    Raises:
        McpError: it cannot be read.
        BadInput: it is empty.
        TooLarge: a part is larger than a file may be.
    """
    parts = (await servers.read(server, uri))[:_MAX_ATTACHED]
    fresh = [made for part in parts if (made := _as_file(part, uri)) is not None]
    if not fresh:
        raise BadInput(f"{server} has nothing to read at this address.")
    return [await files.add(principal, conversation, file) for file in fresh]


def _as_file(part: Part, uri: str) -> NewFile | None:
    name = _name_of(uri)
    match part:
        case Text(text) if text:
            known = mimetypes.guess_type(name)[0]
            name = name if known else f"{name}.txt"
            return NewFile(name, known or "text/plain", text.encode("utf-8", "replace"))
        case ResultFile():
            ending = "" if mimetypes.guess_type(name)[0] else mimetypes.guess_extension(part.media_type) or ""
            return NewFile(part.name or f"{name}{ending}", part.media_type, part.content)
        case Text() | NamedResource():
            return None


def _name_of(uri: str) -> str:
    """A file's name for an address: its last step."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return "resource"
    steps = [step for step in (parts.netloc, *parts.path.split("/")) if step]
    return unquote(steps[-1])[-100:] if steps else "resource"


def prompt_text(messages: Sequence[PromptMessage]) -> str:
    """A prompt as the text of one message; who says what, where several speak.

    Raises:
        BadInput: there is no text in it, or too much.
    """
    speakers = {message.role for message in messages}
    written: list[str] = []
    for message in messages:
        match message.part:
            case Text(text):
                said = text
            case NamedResource(uri, name):
                said = f"[{name}: {uri}]"
            case ResultFile(_, media_type):
                said = f"[{media_type}, left out]"
        head = {"user": "User", "assistant": "Assistant"}[message.role] if len(speakers) > 1 else ""
        written.append(f"{head}: {said}" if head else said)
    text = "\n\n".join(written).strip()
    if not text:
        raise BadInput("The server gave an empty prompt.")
    if len(text) > _MAX_PROMPT_CHARS:
        raise BadInput(f"The prompt has {len(text):,} characters; at most {_MAX_PROMPT_CHARS:,} are taken.")
    return text
