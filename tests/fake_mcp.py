"""A connector whose servers are functions, and keeping in memory: what tests and embedders stand on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bethink.errors import McpError, McpUnreachable
from bethink.mcp_client import CallResult, RemoteTool, ServerInfo, Text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.mcp_client import Hooks, Library, Pinned, Progress, ServerConfig, ServerSession

Answer = Callable[[dict[str, Any], "Progress"], Awaitable[CallResult]]


class MemoryKeeping:
    """What is pinned and kept, for as long as the object lives."""

    def __init__(self) -> None:
        self.pins: dict[str, Pinned] = {}
        self.secrets: dict[str, str] = {}

    async def pinned(self, server: str) -> Pinned | None:
        """The accepted definitions."""
        return self.pins.get(server)

    async def pin(self, server: str, pinned: Pinned) -> None:
        """Keep the accepted definitions."""
        self.pins[server] = pinned

    async def secret(self, server: str) -> str | None:
        """What was kept."""
        return self.secrets.get(server)

    async def keep_secret(self, server: str, secret: str | None) -> None:
        """Keep a text; None forgets it."""
        if secret is None:
            self.secrets.pop(server, None)
        else:
            self.secrets[server] = secret


@dataclass
class FakeServer:
    """A server: its tools with what answers them, and what is wrong with it."""

    tools: dict[str, tuple[RemoteTool, Answer]] = field(default_factory=dict[str, tuple[RemoteTool, Answer]])
    fault: str | None = None
    is_hung: bool = False
    opened: int = 0
    hooks: Hooks | None = None

    def offer(self, tool: RemoteTool, answer: Answer | None = None) -> None:
        """Offer a tool, in the place of one of the same name; without `answer` it gives its name."""

        async def named(_arguments: dict[str, Any], _progress: Progress) -> CallResult:
            return CallResult((Text(tool.name),))

        self.tools[tool.name] = (tool, answer or named)


class FakeConnector:
    """Opens sessions with `FakeServer`s, by the name of their configuration."""

    def __init__(self, servers: dict[str, FakeServer]) -> None:
        self.servers = servers
        self.open_sessions = 0

    @asynccontextmanager
    async def open(self, config: ServerConfig, hooks: Hooks) -> AsyncGenerator[ServerSession]:
        """A session with the server of that name."""
        server = self.servers[config.name]
        server.opened += 1
        server.hooks = hooks
        if server.is_hung:
            await asyncio.get_running_loop().create_future()
        if server.fault is not None:
            raise McpUnreachable(server.fault)
        self.open_sessions += 1
        try:
            yield _FakeSession(server)
        finally:
            self.open_sessions -= 1

    def signed_in(self, state: str, code: str, issuer: str | None) -> bool:
        """Nobody waits."""
        del state, code, issuer
        return False

    async def close(self) -> None:
        """Nothing is shared."""


@dataclass
class _FakeSession:
    server: FakeServer
    info: ServerInfo = field(default_factory=lambda: ServerInfo("2026-07-28", "fake", "1"))

    left_out: tuple[str, ...] = ()

    @property
    def library(self) -> Library:
        raise McpError("It has nothing beside its tools.")

    async def tools(self) -> list[RemoteTool]:
        return [tool for tool, _ in self.server.tools.values()]

    async def call(self, tool: str, arguments: dict[str, Any], on_progress: Progress) -> CallResult:
        if tool not in self.server.tools:
            raise McpError(f"There is no tool {tool}.")
        return await self.server.tools[tool][1](arguments, on_progress)

    async def ping(self) -> None:
        if self.server.fault is not None:
            raise McpUnreachable(self.server.fault)
