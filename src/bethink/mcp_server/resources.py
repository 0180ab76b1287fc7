"""What MCP clients may attach: the profile, facts and conversations, each kind a row of `SHELVES`."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp import types

from bethink.agent.policy import NO_READ
from bethink.errors import NotAllowed, UnknownId
from bethink.mcp_server.families import memory_of, talk_of
from bethink.tool import ToolContext

if TYPE_CHECKING:
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
