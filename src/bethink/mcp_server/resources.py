"""What MCP clients may attach: the profile, facts and conversations, each kind a row of `SHELVES`.

And follow: since 2026-07-28 a client opens a stream for it, before that it is told within its session. Only
what it would really see otherwise than before is told: after a change of the owner's, whatever a client
follows is read as that client would, and compared by digest. Whether the list of tools changed is told with
it. What other processes do to facts is not heard here.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
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

from bethink.agent.policy import NO_READ
from bethink.conversations.service import CHANGED
from bethink.errors import BethinkError, NotAllowed, UnknownId
from bethink.mcp_server.families import memory_of, talk_of
from bethink.tool import ToolContext

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.session import ServerSession

    from bethink.app import App
    from bethink.principal import Principal

_PAGE = 50
_TITLE_CHARS = 80
_MESSAGES = 100
_ID = "{id}"
_PROFILE = 50
JSON, TEXT = "application/json", "text/plain"
MOST_VALUES = 100
"""That complete what somebody types (the specification's most)."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """One kind of resource. In its `uri` stands `{id}`; where it does not, there is one of the kind.

    What `read` gives as bytes is sent as they are: only text is looked through for its reader.
    """

    uri: str
    name: str
    description: str
    mime_type: str
    read: Callable[[App, Principal, str], Awaitable[str | bytes]]
    ids: Callable[[App, Principal], Awaitable[Sequence[str]]] | None = None
    """The newest ids of the kind, for who completes one."""


async def _fact(app: App, principal: Principal, id: str) -> str:
    found = await app.memory.get(principal, [id])
    facts = await app.visibility.reader_filters.facts(principal, [*filter(None, found)])
    if not facts:
        raise UnknownId("No such memory: it may have been forgotten.")
    return memory_of(facts[0]).model_dump_json()


async def _profile(app: App, principal: Principal, _id: str) -> str:
    facts = await app.memory.profile(principal, _PROFILE)
    return "\n".join(f"- {fact.content}" for fact in facts) or "Nothing that matters always is known yet."


async def _conversation(app: App, principal: Principal, id: str) -> str:
    context = ToolContext(principal, "", "", "")
    return (await talk_of(app, context, id, limit=_MESSAGES)).model_dump_json()


async def _fact_ids(app: App, principal: Principal) -> Sequence[str]:
    page = await app.memory.list(principal, limit=MOST_VALUES, where={"state": "active"})
    facts = await app.visibility.reader_filters.facts(principal, [item.record for item in page.items])
    return [fact.id for fact in facts]


async def _conversation_ids(app: App, principal: Principal) -> Sequence[str]:
    page = await app.conversations.list(principal, limit=MOST_VALUES)
    return [item.record.id for item in page.items]


SHELVES: Sequence[Shelf] = (
    Shelf("memory://profile", "profile", "What matters about the user in every conversation", TEXT, _profile),
    Shelf("memory://facts/{id}", "fact", "One fact known about the user, by its id", JSON, _fact, _fact_ids),
    Shelf(
        "memory://conversations/{id}",
        "conversation",
        "The newest messages of a conversation",
        JSON,
        _conversation,
        _conversation_ids,
    ),
)


async def listed(
    app: App, principal: Principal, shelves: Sequence[Shelf], cursor: str | None
) -> types.ListResourcesResult:
    """What there is one of, then facts in use, newest first, page by page.

    Raises:
        NotAllowed: the key may not read.
    """
    check_reads(principal)
    page = await app.memory.list(principal, limit=_PAGE, cursor=cursor, where={"state": "active"})
    facts = await app.visibility.reader_filters.facts(principal, [item.record for item in page.items])
    found = [
        types.Resource(
            uri=f"memory://facts/{fact.id}",
            name=_title(fact.content),
            description=fact.category,
            mime_type=JSON,
        )
        for fact in facts
    ]
    single = [
        types.Resource(
            uri=shelf.uri, name=shelf.name, description=shelf.description, mime_type=shelf.mime_type
        )
        for shelf in shelves
        if cursor is None and _ID not in shelf.uri
    ]
    return types.ListResourcesResult(resources=[*single, *found], next_cursor=page.cursor)


async def completed(
    app: App, principal: Principal, shelves: Sequence[Shelf], template: str, begun: str
) -> Sequence[str]:
    """The newest ids that begin so, for an address of this template.

    Raises:
        UnknownId: there is no such template.
        NotAllowed: the key may not read.
    """
    shelf = next((one for one in shelves if one.uri == template and _ID in one.uri), None)
    if shelf is None:
        raise UnknownId(f"There is no template {template[:_TITLE_CHARS]}.")
    if shelf.ids is None:
        return []
    check_reads(principal)
    return [id for id in await shelf.ids(app, principal) if id.startswith(begun)]


def templates(shelves: Sequence[Shelf]) -> types.ListResourceTemplatesResult:
    """How the address of each kind is made."""
    return types.ListResourceTemplatesResult(
        resource_templates=[
            types.ResourceTemplate(
                uri_template=shelf.uri,
                name=shelf.name,
                description=shelf.description,
                mime_type=shelf.mime_type,
            )
            for shelf in shelves
            if _ID in shelf.uri
        ]
    )


async def read(
    app: App, principal: Principal, shelves: Sequence[Shelf], uri: str
) -> types.ReadResourceResult:
    """What stands at an address.

    Raises:
        UnknownId: nothing does.
        NotAllowed: the key may not read.
    """
    check_reads(principal)
    for shelf in shelves:
        if (id := _id_in(uri, shelf)) is not None:
            content = await shelf.read(app, principal, id)
            if isinstance(content, bytes):
                blob = base64.b64encode(content).decode()
                found = types.BlobResourceContents(uri=uri, mime_type=shelf.mime_type, blob=blob)
                return types.ReadResourceResult(contents=[found])
            text: str | None = content
            if (reader_filter := await app.visibility.reader_filters.of(principal)) is not None:
                text = reader_filter.document(content)
            if text is not None:
                said = types.TextResourceContents(uri=uri, mime_type=shelf.mime_type, text=text)
                return types.ReadResourceResult(contents=[said])
    raise UnknownId(f"There is nothing at {uri[:_TITLE_CHARS]}.")


def _id_in(uri: str, shelf: Shelf) -> str | None:
    """The id that an address names, "" of what there is one of; None if it is of another kind."""
    begin, has_id, end = shelf.uri.partition(_ID)
    if not has_id:
        return "" if uri == begin else None
    if not (uri.startswith(begin) and uri.endswith(end)):
        return None
    return uri[len(begin) : len(uri) - len(end)] or None


def check_reads(principal: Principal) -> None:
    """Refuse what a key without the scope `read` may not see.

    Raises:
        NotAllowed: it has not that scope.
    """
    if "read" not in principal.rights:
        raise NotAllowed(NO_READ)


def _title(content: str) -> str:
    return content if len(content) <= _TITLE_CHARS else f"{content[: _TITLE_CHARS - 1]}…"


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
            check_reads(follower.principal)
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
            reader = await self.app.visibility.filters.hold(principal)
            if uri == _LIST:
                found = await listed(self.app, reader, self.shelves, None)
                told = f"{await self.app.memory.count(principal)} {found.model_dump_json()}"
            else:
                told = (await read(self.app, reader, self.shelves, uri)).model_dump_json()
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
