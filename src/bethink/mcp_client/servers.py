"""All configured servers: their connections, the definitions that were accepted, how they are.

`app` opens them.

Definitions of tools are pinned: a server's first ones are offered, since the
owner of the machine configured it, and are words from outside until a person
accepts them; one that changes later, or comes anew, is not offered until
then. What is pinned is offered before the server was connected to,
so that a lazy one costs nothing until it is used.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from bethink.errors import BethinkError, Conflict, McpError, McpUnreachable, UnknownId
from bethink.mcp_client import Hooks, Pinned, ServerStatus, Waiting
from bethink.mcp_client.connection import ServerConnection
from bethink.mcp_client.masking import SecretMask
from bethink.telemetry import Supervise, log

if TYPE_CHECKING:
    from bethink.clock import Clock
    from bethink.mcp_client import (
        CallOwner,
        CallResult,
        Connector,
        Keeping,
        Part,
        Progress,
        PromptMessage,
        RemotePrompt,
        RemoteResource,
        RemoteTool,
        ServerConfig,
        ServerInfo,
    )

_CLOSE_S = 10
_SHOWN_CHARS = 1024
_log = log("mcp")


@dataclass(slots=True)
class _Server:
    """One server: what it is, what it offers, what of that is accepted. `is_known` is that anything was.

    It `is_reviewed` where a person accepted what is pinned.
    """

    config: ServerConfig
    connection: ServerConnection
    offered: tuple[RemoteTool, ...] | None = None
    pinned: tuple[RemoteTool, ...] = ()
    is_known: bool = False
    is_reviewed: bool = False
    task: asyncio.Task[None] | None = None
    accepted: tuple[RemoteTool, ...] = ()
    waiting: tuple[RemoteTool, ...] = ()
    resources: bool = False
    prompts: bool = False
    settling: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def unreviewed(self) -> tuple[RemoteTool, ...]:
        """What is offered without that a person has accepted it."""
        return () if self.is_reviewed else self.accepted

    @property
    def suggested(self) -> dict[str, str]:
        """Settings for a server whose tools all claim to reach nothing outside, once a person read them."""
        tools = self.accepted
        if not tools or self.waiting or self.unreviewed or any(one.open_world is not False for one in tools):
            return {}
        reads = all(one.read_only and not one.destructive for one in tools)
        return {"trust": "owner", **({"effect": "read"} if reads else {})}

    def sorted_out(self) -> tuple[tuple[RemoteTool, ...], tuple[RemoteTool, ...]]:
        """What may be offered to a model, and what waits to be accepted.

        The first are accepted definitions of what the server has, as far as is known.
        """
        if self.offered is None:
            return self.pinned, ()
        if not self.config.pin:
            return self.offered, ()
        digests = {tool.digest for tool in self.pinned}
        known = {tool.name: tool.digest in digests for tool in self.offered}
        return (
            tuple(tool for tool in self.offered if known[tool.name]),
            tuple(tool for tool in self.offered if not known[tool.name]),
        )


class Servers:
    """The configured servers. `version` counts changes of what is offered, `on_change` is told of them.

    What is asked of a server by its name raises `UnknownId` if there is none. `prepare` is called in a
    thread with what a server will be offering next: a server may have thousands of tools.
    """

    def __init__(
        self,
        connector: Connector,
        keeping: Keeping,
        clock: Clock,
        *,
        on_accept: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._on_accept = on_accept
        self._connector = connector
        self._keeping = keeping
        self._clock = clock
        self._servers: dict[str, _Server] = {}
        self._off: tuple[tuple[ServerConfig, str], ...] = ()
        self._supervise: Supervise | None = None
        self.version = 0
        self.prepare: Callable[[ServerConfig, tuple[RemoteTool, ...]], None] = lambda _config, _tools: None
        self.on_change: Callable[[], None] = lambda: None

    @asynccontextmanager
    async def opened(
        self,
        configs: Sequence[ServerConfig],
        off: Sequence[tuple[ServerConfig, str]] = (),
        *,
        supervise: Supervise,
    ) -> AsyncGenerator[None]:
        """Keep the servers while the block lasts; none is waited for. Those `off` are shown, with why."""
        self._supervise = supervise
        await self.reconfigure(configs, off)
        try:
            yield
        finally:
            await self._end(list(self._servers.values()))
            await self._connector.close()

    async def reconfigure(
        self, configs: Sequence[ServerConfig], off: Sequence[tuple[ServerConfig, str]] = ()
    ) -> None:
        """Keep these servers from now on: those that are configured as before stay connected."""
        before, self._servers, self._off = self._servers, {}, tuple(off)
        fresh: list[_Server] = []
        for config in configs:
            server = before.get(config.name)
            if server is not None and server.config == config:
                del before[config.name]
            else:
                connection = ServerConnection(
                    config, self._connector, clock=self._clock, on_tools=self._learn
                )
                server = _Server(config, connection)
                fresh.append(server)
            self._servers[config.name] = server
        self._tell()
        await self._end(list(before.values()))
        for server in fresh:
            await self._begin(server)

    async def try_out(self, config: ServerConfig) -> tuple[ServerInfo, list[RemoteTool]]:
        """Connect to a server that is not kept, once: who answers, and the tools that it offers.

        Raises:
            McpError: it cannot be started or reached, or answers otherwise than it should.
        """
        lost: list[str] = []
        words = deque([""], maxlen=1)
        hidden = SecretMask(config)
        hooks = Hooks(lambda: None, lost.append, lambda _sign_in: None, words.append)
        try:
            async with asyncio.timeout(config.connect_timeout_s):
                async with self._connector.open(config, hooks) as session:
                    return session.info, await session.tools()
        except TimeoutError as error:
            told = lost[0] if lost else f"no answer within {config.connect_timeout_s:g} s"
            told = f"{told}: {words[-1]}" if words[-1] and not lost else told
            raise McpUnreachable(f"{config.name} did not connect: {hidden(told)}") from error
        except McpError as error:
            raise McpUnreachable(hidden(error.message)) from error

    async def _begin(self, server: _Server) -> None:
        await self._read_pins(server)
        if not server.is_known:
            # What it offers is not known yet: the first time, it is asked.
            server.connection.want()
        if self._supervise is not None:
            name = server.config.name
            server.task = asyncio.create_task(
                self._supervise(f"the MCP server {name}", server.connection.run), name=f"mcp-owner:{name}"
            )

    @staticmethod
    async def _end(servers: Sequence[_Server]) -> None:
        tasks = [server.task for server in servers if server.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_S)

    # --- what is offered

    def tools(self) -> list[tuple[ServerConfig, RemoteTool]]:
        """Every accepted tool and its server, in the order of the configuration."""
        return [(config, tool) for config, tools in self.offers() for tool in tools]

    def offers(self) -> list[tuple[ServerConfig, tuple[RemoteTool, ...]]]:
        """Each server with its accepted tools: the very same tuple as long as they are the same."""
        return [(server.config, server.accepted) for server in self._servers.values()]

    def is_reviewed(self, name: str) -> bool:
        """Whether a person has accepted what a server says of its tools."""
        server = self._servers[name]
        return server.is_reviewed and server.config.pin

    async def call(
        self,
        server: str,
        tool: str,
        *,
        arguments: dict[str, Any],
        on_progress: Progress,
        person: CallOwner | None = None,
    ) -> CallResult:
        """Make a call; see `Connection.call`.

        Raises:
            UnknownId: there is no such server, or its tool is not accepted any more.
        """
        found = self._found(server)
        before = self.version
        await found.connection.ready()
        if before != self.version and all(known.name != tool for known in found.accepted):
            raise UnknownId(
                f"The server {server} describes {tool} otherwise than when it was accepted: "
                f"`bethink mcp-servers accept {server}` shows and accepts it."
            )
        return await found.connection.call(tool, arguments, on_progress, person=person)

    def has_resources(self, name: str) -> bool:
        """Whether a server has anything to read beside its tools, as far as is known."""
        return self._servers[name].resources

    async def resources(self, server: str) -> list[RemoteResource]:
        """What a server lets read; raises as `call` does."""
        return await self._found(server).connection.ask(lambda library: library.resources())

    async def read(self, server: str, uri: str) -> tuple[Part, ...]:
        """A resource's content; raises as `call` does."""
        return await self._found(server).connection.ask(lambda library: library.read(uri))

    async def prompts(self, server: str) -> list[RemotePrompt]:
        """The prompts that a server offers; raises as `call` does."""
        return await self._found(server).connection.ask(lambda library: library.prompts())

    async def prompt(self, server: str, name: str, arguments: dict[str, str]) -> tuple[PromptMessage, ...]:
        """A prompt with its gaps filled; raises as `call` does."""
        return await self._found(server).connection.ask(lambda library: library.prompt(name, arguments))

    async def _learn(self, name: str, tools: list[RemoteTool], info: ServerInfo) -> None:
        if (server := self._servers.get(name)) is None:
            return
        is_other = (server.resources, server.prompts) != (info.resources, info.prompts)
        server.resources, server.prompts = info.resources, info.prompts
        await self._learn_tools(server, tools)
        if is_other:
            await self._keep_pins(server)
            self._tell()

    async def _learn_tools(self, server: _Server, tools: list[RemoteTool]) -> None:
        # The first of each name: a second one could only stand in for it.
        first: dict[str, RemoteTool] = {}
        for tool in tools:
            first.setdefault(tool.name, tool)
        offered = tuple(first.values())
        if server.is_known and server.offered == offered:
            return
        server.offered = offered
        if not server.is_known or not server.config.pin:
            await self._pin(server, reviewed=False)
        await self._settle(server)
        if server.waiting:
            _log.warning(
                "%s: %d tools are new or changed, and wait to be accepted",
                server.config.name,
                len(server.waiting),
            )

    async def _settle(self, server: _Server, *, anew: bool = False) -> None:
        """Work out what is offered, and have it made ready, where nobody waits for it."""
        async with server.settling:
            accepted, waiting = await anyio.to_thread.run_sync(server.sorted_out)
            if anew or accepted != server.accepted:
                await anyio.to_thread.run_sync(self.prepare, server.config, accepted)
                server.accepted = accepted
            # Not before: what is said to wait is offered no more.
            server.waiting = waiting
            self._tell()

    async def _pin(self, server: _Server, *, reviewed: bool) -> None:
        server.pinned, server.is_known, server.is_reviewed = server.offered or (), True, reviewed
        await self._keep_pins(server)

    async def _keep_pins(self, server: _Server) -> None:
        pinned = Pinned(
            origin=server.config.origin,
            tools=server.pinned,
            reviewed=server.is_reviewed,
            resources=server.resources,
            prompts=server.prompts,
        )
        try:
            await self._keeping.pin(server.config.name, pinned)
        except BethinkError as error:
            _log.error("what %s offers could not be pinned: %s", server.config.name, error)

    async def _read_pins(self, server: _Server) -> None:
        found = await self._keeping.pinned(server.config.name)
        if found is not None and found.origin == server.config.origin:
            server.pinned, server.is_known, server.is_reviewed = found.tools, True, found.reviewed
            server.resources, server.prompts = found.resources, found.prompts
            await self._settle(server)

    async def look_again(self) -> None:
        """Hear of what another process accepted, and where somebody signed in there."""
        for server in self._servers.values():
            await self._read_pins(server)
            if server.connection.status.state == "sign_in":
                server.connection.reconnect()

    # --- what people see and do

    def statuses(self) -> list[ServerStatus]:
        """How each server is, in the order of the configuration; those that are switched off come last."""
        now = self._clock.now_us()
        off = [ServerStatus.of(config, "off", now, reason=reason) for config, reason in self._off]
        return [_status(server) for server in self._servers.values()] + off

    def status(self, name: str) -> ServerStatus:
        """How a server is."""
        return _status(self._found(name))

    async def reconnect(self, name: str) -> ServerStatus:
        """Connect anew at once, and how that went; waits for at most the server's time for connecting."""
        self._found(name).connection.reconnect()
        await self.connected(name)
        return self.status(name)

    async def connected(self, name: str) -> None:
        """Wait until a server is connected to, or turns out not to be; at most its time for connecting."""
        try:
            await self._found(name).connection.ready()
        except McpUnreachable as error:
            _log.info("%s", error)

    async def accept(self, name: str, digest: str | None = None) -> ServerStatus:
        """Accept the definitions that a server gives now; with `digest`, only if they are those.

        Raises:
            McpUnreachable: it is not connected, so that nobody knows what it offers.
            Conflict: they are not those of `digest` any more.
        """
        server = self._found(name)
        if server.offered is None:
            await server.connection.ready()
        if digest is not None and digest != _digest((*server.waiting, *server.unreviewed)):
            raise Conflict(f"{name} has changed its tools again: look at them once more.")
        await self._pin(server, reviewed=True)
        await self._settle(server, anew=True)
        if self._on_accept is not None:
            await self._on_accept()
        return self.status(name)

    async def sign_in(self, name: str) -> ServerStatus:
        """Have the server ask for a sign-in, if it wants one; the status has the page's address."""
        status = self.status(name)
        return status if status.sign_in else await self.reconnect(name)

    def signed_in(self, state: str, code: str, issuer: str | None) -> bool:
        """Hand in what a sign-in page gave back; False where nobody waits for it."""
        return self._connector.signed_in(state, code, issuer)

    def _tell(self) -> None:
        self.version += 1
        self.on_change()

    def _found(self, name: str) -> _Server:
        server = self._servers.get(name)
        if server is None:
            raise UnknownId(f"There is no MCP server {name!r}. Known: {', '.join(self._servers) or 'none'}.")
        return server


def _status(server: _Server) -> ServerStatus:
    waiting, unreviewed, hidden = server.waiting, server.unreviewed, server.connection.hidden
    known = {tool.name for tool in server.pinned}

    def waiting_tool(tool: RemoteTool) -> Waiting:
        is_changed = tool.name in known and tool not in unreviewed
        said = hidden(tool.description[:_SHOWN_CHARS])
        return Waiting(tool.name, "changed" if is_changed else "new", said)

    return replace(
        server.connection.status,
        tools=tuple(tool.name for tool in server.accepted),
        waiting=tuple(map(waiting_tool, waiting)),
        unreviewed=tuple(map(waiting_tool, unreviewed)),
        suggested=server.suggested,
        resources=server.resources,
        prompts=server.prompts,
        digest=_digest((*waiting, *unreviewed)) if waiting or unreviewed else None,
    )


def _digest(tools: Sequence[RemoteTool]) -> str:
    return hashlib.sha256(" ".join(sorted(tool.digest for tool in tools)).encode()).hexdigest()
