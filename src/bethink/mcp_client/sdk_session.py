"""A session over the SDK's client. `sdk.py` imports this on first use: nothing else may import it."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Self, cast

import anyio
import anyio.to_thread
import httpx2
from jsonschema import Draft202012Validator, SchemaError, ValidationError
from mcp import Client, MCPError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.types import (
    URL_ELICITATION_REQUIRED,
    CallToolResult,
    ElicitationRequiredErrorData,
    Implementation,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    Prompt,
    Resource,
    ResourceTemplate,
    Tool,
    ToolListChangedNotification,
)
from mcp_types.methods import validate_server_result

from bethink import __version__
from bethink.errors import BadInput, McpError, McpUnreachable
from bethink.json_bounds import JsonBounds
from bethink.mcp_client import MAX_MESSAGE_VALUES, CallResult, Progress, RemoteTool, ServerInfo
from bethink.mcp_client.schemas import plain
from bethink.mcp_client.sdk_library import SdkLibrary, answers, brief, pages, part_of
from bethink.mcp_client.sdk_requests import callbacks, question_of
from bethink.mcp_client.sign_in import signing_in
from bethink.mcp_client.stdio import stdio_transport
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from types import TracebackType

    from mcp.client._transport import Transport, TransportStreams
    from mcp.client.session import IncomingMessage
    from mcp.shared._stream_protocols import ReadStream
    from mcp.shared.message import SessionMessage
    from pydantic import BaseModel

    from bethink.mcp_client.sdk import SessionSetup


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
_MAX_PAGES = 3
"""That one call may want visited first."""
_log = log("mcp")

# What the SDK says of foreign servers belongs to our log, not to standard error.
logging.getLogger("mcp").addHandler(logging.NullHandler())


@asynccontextmanager
async def opened(setup: SessionSetup, *, is_older: bool) -> AsyncGenerator[SdkSession]:
    """A session; the handshake of older revisions is made at once where `is_older`."""

    async def hear(message: IncomingMessage) -> None:
        """What the server says without being asked."""
        if isinstance(message, ToolListChangedNotification):
            setup.hooks.on_change()

    async with AsyncExitStack() as stack:
        client = Client(
            cast("Transport", _filtered(await _transport(setup, stack), setup)),
            read_timeout_seconds=min(_HANDSHAKE_S, setup.config.connect_timeout_s),
            message_handler=hear,
            client_info=Implementation(name="bethink", version=__version__),
            mode="legacy" if is_older else "auto",
            cache=None,
            **callbacks(setup.config, setup.hooks),
        )
        await stack.enter_async_context(client)
        session = SdkSession(client, setup)
        # The SDK matches the server's own regular expressions, which can take for ever.
        client.session.validate_tool_result = session.validate
        if session.is_modern:
            await stack.enter_async_context(_listening(client, setup))
        yield session


@asynccontextmanager
async def _filtered(transport: Transport, setup: SessionSetup) -> AsyncGenerator[TransportStreams]:
    async with transport as (messages, answers):
        yield FilteredStream(messages, setup), answers


async def _transport(setup: SessionSetup, stack: AsyncExitStack) -> Transport:
    config = setup.config
    if config.transport == "stdio":
        return cast("Transport", stdio_transport(config, setup.hooks, setup.guard, launcher=setup.launcher))
    # It reads certificates from the disk.
    client = await anyio.to_thread.run_sync(http_client, setup)
    if config.transport == "sse":
        return sse_client(
            config.url,
            timeout=config.connect_timeout_s,
            httpx_client_factory=lambda headers=None, timeout=None, auth=None: client,  # noqa: ARG005 - its own
        )
    await stack.enter_async_context(client)
    return streamable_http_client(config.url, http_client=client, max_sse_event_size=config.max_message_bytes)


@asynccontextmanager
async def _listening(client: Client, setup: SessionSetup) -> AsyncGenerator[None]:
    """Hear of changes from a server of 2026-07-28; older ones say so by themselves."""
    task = asyncio.create_task(_listen(client, setup), name=f"mcp-listen:{setup.config.name}")
    try:
        yield
    finally:
        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({task})


async def _listen(client: Client, setup: SessionSetup) -> None:
    while True:
        with recorded(_log, "a server's stream of changes broke"):
            try:
                await _heard(client, setup)
            except (ListenNotSupportedError, MCPError):
                return
            except (SubscriptionLost, TimeoutError, RuntimeError):
                _log.debug("%s ended its stream of changes", setup.config.name)
        await asyncio.sleep(_LISTEN_AGAIN_S)
        setup.hooks.on_change()


async def _heard(client: Client, setup: SessionSetup) -> None:
    async with client.listen(tools_list_changed=True) as changes:
        async for _ in changes:
            setup.hooks.on_change()


class SdkSession:
    """A session of the port."""

    def __init__(self, client: Client, setup: SessionSetup) -> None:
        self._client = client
        self._setup = setup
        known = client.server_info
        able = client.server_capabilities
        self.info = ServerInfo(
            client.protocol_version,
            known.name if known else "",
            known.version if known else "",
            resources=able.resources is not None,
            prompts=able.prompts is not None,
        )
        self.library = SdkLibrary(client)
        self._promised: dict[str, dict[str, Any]] = {}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of what is no tool; see the port."""
        return tuple(self._setup.left_out)

    @property
    def is_modern(self) -> bool:
        """Whether the server speaks 2026-07-28 or newer: no handshake, no ping."""
        return self._client.session.initialize_result is None

    async def tools(self) -> list[RemoteTool]:
        """All tools, page by page; see the port."""
        if self._client.server_capabilities.tools is None:
            return []
        self._setup.left_out.clear()
        try:
            found: list[Tool] = await pages(self._client.list_tools, lambda page: page.tools)
        except (MCPError, ValueError) as error:
            raise McpError(f"Its list of tools cannot be read: {brief(error)}") from error
        tools = [_remote(tool) for tool in found]
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

        async def made() -> CallToolResult:
            return await self._client.call_tool(
                tool, arguments, read_timeout_seconds=_NEVER_S, progress_callback=report
            )

        with answers(self._refusal):
            try:
                result = await made()
            except MCPError as error:
                # It did nothing yet, and says so: it is called again once its pages were visited.
                if error.code != URL_ELICITATION_REQUIRED or not await self._visited(error):
                    raise
                result = await made()
        parts = await anyio.to_thread.run_sync(lambda: tuple(map(part_of, result.content)))
        return CallResult(parts, structured=result.structured_content, is_error=bool(result.is_error))

    async def _visited(self, error: MCPError) -> bool:
        """Whether the owner has visited the pages without which a call cannot be made."""
        try:
            wanted = ElicitationRequiredErrorData.model_validate(error.data).elicitations[:_MAX_PAGES]
            questions = [question_of(self._setup.config.name, one) for one in wanted]
        except (ValueError, BadInput):
            return False
        for question in questions:
            if (await self._setup.hooks.on_question(question)).action != "accept":
                return False
        return bool(questions)

    async def ping(self) -> None:
        """A sign of life; see the port."""
        try:
            if self.is_modern:
                await self._client.session.send_discover(self.info.protocol)
            else:
                await self._client.session.send_ping()
        except (MCPError, ValueError, anyio.ClosedResourceError, httpx2.HTTPError) as error:
            raise McpUnreachable(f"It gave no sign of life: {brief(error)}{self._refusal()}") from error

    def _refusal(self) -> str:
        return f" ({self._setup.refusal})" if self._setup.refusal else ""


def _fault(promised: dict[str, Any], structured: Any) -> str | None:  # noqa: ANN401 - JSON
    try:
        validator = Draft202012Validator(plain(promised))
        errors = cast("Iterator[ValidationError]", validator.iter_errors(structured))  # pyright: ignore[reportUnknownMemberType]
        error = next(errors, None)
    except (SchemaError, RecursionError):
        return None
    return error.message if error else None


def _remote(tool: Tool) -> RemoteTool:
    hints = tool.annotations
    return RemoteTool(
        name=tool.name,
        description=tool.description or "",
        title=tool.title or (hints.title if hints and hints.title else ""),
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        read_only=hints.read_only_hint if hints else None,
        destructive=hints.destructive_hint if hints else None,
        open_world=hints.open_world_hint if hints else None,
    )


_REFUSED = 400
_BETWEEN = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_SILENCE_S = 600
"""Of a stream of changes; what else is too slow is bounded by whoever waits for it."""


def http_client(setup: SessionSetup) -> httpx2.AsyncClient:
    """A client for one session; closed with it."""
    config = setup.config
    auth = (
        signing_in(config, setup.hooks, sign_ins=setup.sign_ins, keeping=setup.keeping)
        if config.oauth
        else None
    )

    async def note(response: httpx2.Response) -> None:
        is_refused = response.status_code >= _REFUSED and response.request.url == httpx2.URL(config.url)
        setup.refusal = f"HTTP {response.status_code} {response.reason_phrase}".strip() if is_refused else ""

    return httpx2.AsyncClient(
        headers=dict(config.headers),
        auth=auth,
        follow_redirects=False,
        timeout=httpx2.Timeout(config.connect_timeout_s, read=_SILENCE_S),
        transport=_Bounded(config.max_message_bytes),
        event_hooks={"response": [note]},
    )


class _Bounded(httpx2.AsyncHTTPTransport):
    """Refuses an answer that is larger, or holds more values, than a message may; the SDK bounds events."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request; the answer's body is counted while it is read."""
        response = await super().handle_async_request(request)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - an async transport's
        response.stream = _Counted(response.stream, None if is_stream else self._limit)
        return response


class _Counted(httpx2.AsyncByteStream):
    """An answer of at most `limit` bytes; without a limit a stream whose events are counted one by one."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int | None) -> None:
        self._inner = inner
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, bounds = 0, JsonBounds(MAX_MESSAGE_VALUES)
        async for chunk in self._inner:
            size += len(chunk)
            # An empty line ends an event.
            parts = _BETWEEN.split(chunk) if self._limit is None else [chunk]
            try:
                bounds.feed(parts[0])
                for part in parts[1:]:
                    bounds = JsonBounds(MAX_MESSAGE_VALUES)
                    bounds.feed(part)
            except BadInput as error:
                raise httpx2.StreamError(error.message) from error
            if self._limit is not None and size > self._limit:
                raise httpx2.StreamError(
                    f"The answer has more than the {self._limit:,} bytes that are taken."
                )
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


MAX_PARTS = 1_000
"""Of one answer: a model reads a few hundred, and each takes time to be made."""
_REVISION = "2025-11-25"
"""By which a tool is judged: of the newest ones the shape of a tool is the same."""


class FilteredStream:
    """A transport's stream of messages, filtered before the SDK works on them, whatever they came over.

    One tool that breaks the protocol shall not cost the others, an answer of a hundred thousand parts
    nobody's time, a flood the machine's.
    """

    def __init__(self, inner: ReadStream[SessionMessage | Exception], setup: SessionSetup) -> None:
        self._inner = inner
        self._setup = setup

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        return await self._filtered(await self._inner.receive())

    async def aclose(self) -> None:
        """Take no more."""
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self._filtered(await self._inner.__anext__())

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)

    async def _filtered(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, Exception):
            return item
        message = item.message
        if isinstance(message, JSONRPCNotification | JSONRPCRequest):
            if self._setup.flow.is_flood():
                self._setup.hooks.on_lost("it sends far more messages than anybody asked for")
        elif isinstance(message, JSONRPCResponse):
            await self._filter(message.result)
        return item

    async def _filter(self, result: dict[str, Any]) -> None:
        content, tools = result.get("content"), result.get("tools")
        if isinstance(content, list):
            parts = cast("list[Any]", content)
            if (more := len(parts) - MAX_PARTS) > 0:
                parts[MAX_PARTS:] = [{"type": "text", "text": f"[{more:,} more parts, left out]"}]
        for key in ("contents", "messages"):
            if isinstance(found := result.get(key), list):
                del cast("list[Any]", found)[MAX_PARTS:]
        for key, model in _LISTED.items():
            if isinstance(found := result.get(key), list):
                listed = cast("list[Any]", found)
                result[key] = await anyio.to_thread.run_sync(_valid, listed, model)
        if isinstance(tools, list):
            good, bad = await anyio.to_thread.run_sync(_judged, cast("list[Any]", tools))
            result["tools"] = good
            self._setup.left_out += bad


_LISTED: dict[str, type[BaseModel]] = {
    "resources": Resource,
    "resourceTemplates": ResourceTemplate,
    "prompts": Prompt,
}


def _valid(items: list[Any], model: type[BaseModel]) -> list[Any]:
    """Those that are what they should be; one that is not shall not cost the others."""
    good: list[Any] = []
    for item in items:
        with suppress(ValueError):
            model.model_validate(item, by_name=False)
            good.append(item)
    return good


def _judged(tools: list[Any]) -> tuple[list[Any], list[str]]:
    """Those that are tools, and the names of those that are not."""
    good: list[Any] = []
    bad: list[str] = []
    for tool in tools:
        try:
            Tool.model_validate(tool, by_name=False)
            validate_server_result("tools/list", _REVISION, {"tools": [tool]})
        except ValueError:
            name = cast("dict[str, Any]", tool).get("name") if isinstance(tool, dict) else None
            bad.append(str(name or "one without a name")[:64])
        else:
            good.append(tool)
    return good, bad
