"""A session over the SDK's client. `sdk.py` imports this on first use: nothing else may import it."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio
import httpx2
from jsonschema import Draft202012Validator, SchemaError
from mcp import Client, MCPError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.types import (
    CONNECTION_CLOSED,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    Implementation,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolListChangedNotification,
)

from bethink import __version__
from bethink.errors import McpError, McpLost, McpUnreachable
from bethink.mcp_client import CallResult, File, RemoteTool, ServerInfo, Text
from bethink.mcp_client import Link as LinkPart
from bethink.mcp_client.filter import Sifted
from bethink.mcp_client.http_client import http_client
from bethink.mcp_client.schemas import plain
from bethink.mcp_client.stdio import stdio_transport
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from jsonschema import ValidationError
    from mcp.client._transport import Transport, TransportStreams
    from mcp.client.session import IncomingMessage

    from bethink.mcp_client import Part, Progress
    from bethink.mcp_client.options import Link

FAILURES = (
    ExceptionGroup,
    MCPError,
    McpError,
    OSError,
    RuntimeError,
    ValueError,
    httpx2.HTTPError,
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    anyio.EndOfStream,
)
"""What opening and holding a session may end in; `ValueError` is what the SDK's models raise."""

_HANDSHAKE_S = 20
"""For one request that opens a session; the connection's own bound holds as well."""
_NEVER_S = 1e9
"""The caller bounds calls itself, since progress may renew its bound."""
_LISTEN_AGAIN_S = 5
_PAGES = 50
"""Of a list of tools: a server that never ends it is cut off."""
_MAX_TOOLS = 2_000
_log = log("mcp")

# What the SDK says of foreign servers belongs to our log, not to standard error.
logging.getLogger("mcp").addHandler(logging.NullHandler())


@asynccontextmanager
async def opened(link: Link, *, is_older: bool) -> AsyncGenerator[SdkSession]:
    """A session; the handshake of older revisions is made at once where `is_older`."""
    async with AsyncExitStack() as stack:
        client = Client(
            cast("Transport", _sifted(await _transport(link, stack), link)),
            read_timeout_seconds=min(_HANDSHAKE_S, link.config.connect_timeout_s),
            message_handler=partial(_hear, link),
            client_info=Implementation(name="bethink", version=__version__),
            mode="legacy" if is_older else "auto",
            cache=None,
        )
        await stack.enter_async_context(client)
        session = SdkSession(client, link)
        # The SDK matches the server's own regular expressions, which can take for ever.
        client.session.validate_tool_result = session.validate
        if session.is_modern:
            await stack.enter_async_context(_listening(client, link))
        yield session


@asynccontextmanager
async def _sifted(transport: Transport, link: Link) -> AsyncGenerator[TransportStreams]:
    async with transport as (messages, answers):
        yield Sifted(messages, link), answers


async def _hear(link: Link, message: IncomingMessage) -> None:
    """What the server says without being asked."""
    if isinstance(message, ToolListChangedNotification):
        link.hooks.on_change()


async def _transport(link: Link, stack: AsyncExitStack) -> Transport:
    config = link.config
    if config.transport == "stdio":
        return cast("Transport", stdio_transport(config, link.hooks, link.guard))
    # It reads certificates from the disk.
    client = await anyio.to_thread.run_sync(http_client, link)
    if config.transport == "sse":
        return sse_client(
            config.url,
            timeout=config.connect_timeout_s,
            httpx_client_factory=lambda headers=None, timeout=None, auth=None: client,  # noqa: ARG005 - its own
        )
    await stack.enter_async_context(client)
    return streamable_http_client(config.url, http_client=client, max_sse_event_size=config.max_message_bytes)


@asynccontextmanager
async def _listening(client: Client, link: Link) -> AsyncGenerator[None]:
    """Hear of changes from a server of 2026-07-28; older ones say so by themselves."""
    task = asyncio.create_task(_listen(client, link), name=f"mcp-listen:{link.config.name}")
    try:
        yield
    finally:
        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({task})


async def _listen(client: Client, link: Link) -> None:
    while True:
        with recorded(_log, "a server's stream of changes broke"):
            try:
                await _heard(client, link)
            except (ListenNotSupportedError, MCPError):
                return
            except (SubscriptionLost, TimeoutError, RuntimeError):
                _log.debug("%s ended its stream of changes", link.config.name)
        await asyncio.sleep(_LISTEN_AGAIN_S)
        link.hooks.on_change()


async def _heard(client: Client, link: Link) -> None:
    async with client.listen(tools_list_changed=True) as changes:
        async for _ in changes:
            link.hooks.on_change()


class SdkSession:
    """A session of the port."""

    def __init__(self, client: Client, link: Link) -> None:
        self._client = client
        self._link = link
        known = client.server_info
        self.info = ServerInfo(
            client.protocol_version, known.name if known else "", known.version if known else ""
        )
        self._promised: dict[str, dict[str, Any]] = {}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of what is no tool; see the port."""
        return tuple(self._link.left_out)

    @property
    def is_modern(self) -> bool:
        """Whether the server speaks 2026-07-28 or newer: no handshake, no ping."""
        return self._client.session.initialize_result is None

    async def tools(self) -> list[RemoteTool]:
        """All tools, page by page; see the port."""
        if self._client.server_capabilities.tools is None:
            return []
        found: list[Tool] = []
        cursor: str | None = None
        seen: set[str] = set()
        self._link.left_out.clear()
        try:
            for _ in range(_PAGES):
                page = await self._client.list_tools(cursor=cursor)
                found += page.tools
                cursor = page.next_cursor
                if not cursor or cursor in seen or len(found) >= _MAX_TOOLS:
                    break
                seen.add(cursor)
        except (MCPError, ValueError) as error:
            raise McpError(f"Its list of tools cannot be read: {_brief(error)}") from error
        tools = [_tool(tool) for tool in found[:_MAX_TOOLS]]
        self._promised = {tool.name: tool.output_schema for tool in tools if tool.output_schema}
        return tools

    async def validate(self, name: str, result: CallToolResult) -> None:
        """Hold a result against what its tool promised.

        Raises:
            ValueError: it is something else.
        """
        promised = self._promised.get(name)
        if promised is None:
            return
        fault = await anyio.to_thread.run_sync(_fault, promised, result.structured_content)
        if fault is not None:
            raise ValueError(fault)

    async def call(self, tool: str, arguments: dict[str, Any], on_progress: Progress) -> CallResult:
        """Make a call; see the port."""

        async def report(progress: float, total: float | None, message: str | None) -> None:
            on_progress(message or "", progress / total if total and 0 <= progress <= total else None)

        try:
            result = await self._client.call_tool(
                tool, arguments, read_timeout_seconds=_NEVER_S, progress_callback=report
            )
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise McpLost from error
            raise McpError(f"{_brief(error)}{self._refusal()}") from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, httpx2.HTTPError) as error:
            raise McpLost from error
        except (RuntimeError, ValueError) as error:
            # The answer broke the tool's own schema or the protocol.
            raise McpError(f"The answer is not valid: {_brief(error)}") from error
        return await anyio.to_thread.run_sync(_result, result)

    async def ping(self) -> None:
        """A sign of life; see the port."""
        try:
            if self.is_modern:
                await self._client.session.send_discover(self.info.protocol)
            else:
                await self._client.session.send_ping()
        except (MCPError, ValueError, anyio.ClosedResourceError, httpx2.HTTPError) as error:
            raise McpUnreachable(f"It gave no sign of life: {_brief(error)}{self._refusal()}") from error

    def _refusal(self) -> str:
        return f" ({self._link.refusal})" if self._link.refusal else ""


def _fault(promised: dict[str, Any], given: Any) -> str | None:  # noqa: ANN401 - JSON
    try:
        validator = Draft202012Validator(plain(promised))
        errors = cast("Iterator[ValidationError]", validator.iter_errors(given))  # pyright: ignore[reportUnknownMemberType]
        error = next(errors, None)
    except (SchemaError, RecursionError):
        return None
    return error.message if error else None


_BRIEF = 500


def _brief(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:_BRIEF]


def _tool(tool: Tool) -> RemoteTool:
    hints = tool.annotations
    return RemoteTool(
        name=tool.name,
        description=tool.description or "",
        title=tool.title or (hints.title if hints and hints.title else ""),
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        read_only=hints.read_only_hint if hints else None,
        destructive=hints.destructive_hint if hints else None,
    )


def _result(result: CallToolResult) -> CallResult:
    return CallResult(
        tuple(_part(block) for block in result.content),
        structured=result.structured_content,
        is_error=bool(result.is_error),
    )


def _part(block: ContentBlock) -> Part:
    match block:
        case TextContent():
            return Text(block.text)
        case ImageContent() | AudioContent():
            return _file("", block.mime_type, block.data)
        case ResourceLink():
            return LinkPart(
                block.uri, block.title or block.name, block.mime_type or "", block.description or ""
            )
        case EmbeddedResource():
            return _resource(block.resource)


def _resource(resource: TextResourceContents | BlobResourceContents) -> Part:
    if isinstance(resource, TextResourceContents):
        return Text(f"[{resource.uri}]\n{resource.text}")
    name = resource.uri.rstrip("/").rpartition("/")[2]
    return _file(name, resource.mime_type or "application/octet-stream", resource.blob)


def _file(name: str, media_type: str, data: str) -> Part:
    with suppress(binascii.Error, ValueError):
        return File(name, media_type, base64.b64decode(data, validate=True))
    return Text(f"[{media_type}, which is not valid base64]")
