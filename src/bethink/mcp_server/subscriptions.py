"""What MCP clients are told of: that the list of tools changed, and resources that they follow.

Since 2026-07-28 a client opens a stream for it, before that it is told within its session. Only what it would
really see otherwise than before is told: after a change of the owner's, whatever a client follows is read as
that client would, and compared by digest. What other processes do to facts is not heard here.
"""

from __future__ import annotations

import hashlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.lowlevel
from mcp import types
from mcp.server.subscriptions import (
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from bethink.conversations.service import CHANGED
from bethink.errors import BethinkError
from bethink.mcp_server import resources

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.session import ServerSession

    from bethink.app import App
    from bethink.mcp_server.resources import Shelf
    from bethink.principal import Principal

_MOST: Final = 256
"""Streams and sessions of one process that are told."""
_MOST_URIS: Final = 64
"""Of one stream or session: each is read after every change."""
_SEND_S: Final = 2.0
"""A session that takes no notice for so long is told nothing more."""
_LIST: Final = ""
"""In place of an address: the list of resources."""


@dataclass(slots=True)
class Follower:
    """One stream or session: how it is told, and the digests of what it follows, by address."""

    principal: Principal
    tell: Callable[[ServerEvent], Awaitable[None]]
    seen: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Subscriptions:
    """Those who follow one server. `tools` says what tools there are, `shelves` what resources."""

    app: App
    tools: Callable[[], object]
    shelves: Sequence[Shelf]
    _followers: dict[str, Follower] = field(default_factory=dict[str, Follower])
    _owners: set[str] = field(default_factory=set[str])
    """Whose things changed since they were looked at."""
    _news: anyio.Event = field(default_factory=anyio.Event)
    _tools: object = None
    _count: int = 0

    @asynccontextmanager
    async def followed(self, _server: Server[Any]) -> AsyncGenerator[dict[str, Any]]:
        """Changes are told inside: the life of a server."""
        self._tools = self.tools()
        memory, configuration = self.app.memory.heard, self.app.configuration.heard
        memory.append(self._changed)
        configuration.append(self._reconfigured)
        supervise = self.app.ports.supervisor.supervise
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(supervise, "changes that MCP clients follow", self._tell_on)
                tasks.start_soon(supervise, "conversations that MCP clients follow", self._hear)
                yield {}
                tasks.cancel_scope.cancel()
        finally:
            memory.remove(self._changed)
            configuration.remove(self._reconfigured)

    async def listen(
        self,
        context: ServerRequestContext[Any, Any],
        params: types.SubscriptionsListenRequestParams,
        principal: Principal,
    ) -> types.SubscriptionsListenResult:
        """Serve one stream, until its client leaves.

        Raises:
            MCPError: it follows too much, or too many do.
            NotAllowed: the key may not read what it follows.
        """
        wanted = params.notifications
        uris = [*(wanted.resource_subscriptions or ())]
        if wanted.resources_list_changed:
            uris.append(_LIST)
        self._count += 1
        name = f"stream {self._count}"
        bus = _StreamBus()
        await self._join(name, Follower(principal.lasting, bus.publish), uris)
        try:
            return await ListenHandler(bus)(context, params)
        finally:
            self._followers.pop(name, None)

    async def met(self, name: str, session: ServerSession, principal: Principal) -> None:
        """Tell a session, of before 2026-07-28, from now on of its lists; it is told once for each change."""

        async def tell(event: ServerEvent) -> None:
            with anyio.move_on_after(_SEND_S) as scope:
                match event:
                    case ResourceUpdated(uri=uri):
                        await session.send_resource_updated(uri)
                    case ResourcesListChanged():
                        await session.send_resource_list_changed()
                    case _:
                        await session.send_tool_list_changed()
            if scope.cancelled_caught:
                self._followers.pop(name, None)

        held = self._followers.get(name)
        if held is not None and held.principal == principal.lasting:
            held.tell = tell
            return
        uris = [_LIST] if "read" in principal.rights else []
        await self._join(name, Follower(principal.lasting, tell), uris)

    async def subscribe(self, name: str, uri: str) -> None:
        """Have a session that was `met` be told of a resource, too.

        Raises:
            MCPError: it follows too many.
        """
        if (follower := self._followers.get(name)) is not None:
            await self._follow(follower, [uri])

    def unsubscribe(self, name: str, uri: str) -> None:
        """Tell the session of it no more."""
        if (follower := self._followers.get(name)) is not None:
            follower.seen.pop(uri, None)

    async def _join(self, name: str, follower: Follower, uris: list[str]) -> None:
        if len(self._followers) >= _MOST:
            # A session says nothing when it ends: the one that was met longest ago is told no more.
            oldest = next((each for each in self._followers if not each.startswith("stream ")), None)
            if oldest is None:
                raise MCPError(types.INTERNAL_ERROR, "Too many streams follow changes: close some.")
            del self._followers[oldest]
        await self._follow(follower, uris)
        self._followers[name] = follower

    async def _follow(self, follower: Follower, uris: list[str]) -> None:
        if uris:
            resources.check_reads(follower.principal)
        if len({*follower.seen, *uris}) > _MOST_URIS:
            raise MCPError(types.INVALID_PARAMS, f"At most {_MOST_URIS} resources can be followed at once.")
        for uri in uris:
            follower.seen[uri] = await self._digest(follower.principal, uri)

    def _changed(self, owner: str) -> None:
        self._owners.add(owner)
        self._news.set()

    def _reconfigured(self) -> None:
        self._news.set()

    async def _hear(self) -> None:
        async with self.app.ports.bus.subscribe(CHANGED) as notices:
            async for notice in notices:
                owner = (notice.payload or "").rpartition(" ")[0]
                for each in {owner} if owner else {one.principal.owner for one in self._followers.values()}:
                    self._changed(each)

    async def _tell_on(self) -> None:
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            owners, self._owners = self._owners, set()
            tools = self.tools()
            has_other_tools, self._tools = tools != self._tools, tools
            for follower in list(self._followers.values()):
                if has_other_tools:
                    await follower.tell(ToolsListChanged())
                if follower.principal.owner in owners:
                    await self._look(follower)

    async def _look(self, follower: Follower) -> None:
        for uri, seen in list(follower.seen.items()):
            digest = await self._digest(follower.principal, uri)
            if digest == seen or uri not in follower.seen:
                continue
            follower.seen[uri] = digest
            await follower.tell(ResourcesListChanged() if uri == _LIST else ResourceUpdated(uri))

    async def _digest(self, principal: Principal, uri: str) -> str:
        """Of what the client would read; of nothing where there is nothing."""
        try:
            reader = await self.app.visibility.for_request(principal)
            if uri == _LIST:
                found = await resources.listed(self.app, reader, self.shelves, None)
                told = f"{await self.app.memory.count(principal)} {found.model_dump_json()}"
            else:
                told = (await resources.read(self.app, reader, self.shelves, uri)).model_dump_json()
        except BethinkError as error:
            told = error.code
        return hashlib.sha256(told.encode()).hexdigest()


class _StreamBus:
    """The SDK's seam to one stream."""

    def __init__(self) -> None:
        self._listener: Callable[[ServerEvent], None] | None = None

    async def publish(self, event: ServerEvent) -> None:
        """Tell the stream."""
        if self._listener is not None:
            self._listener(event)
        await anyio.lowlevel.checkpoint()

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Have the stream be told."""
        self._listener = listener

        def leave() -> None:
            self._listener = None

        return leave
