"""`/conversations/search`, and of one conversation: its export, and what its model is told in short."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from bethink.clock import to_datetime
from bethink.conversations.export import MEDIA_TYPES, ExportFormat, exported, file_name
from bethink.errors import UnknownId
from bethink.messages import AssistantMessage, ToolMessage, UserMessage
from bethink.recall.message_search import MAX_QUERY_CHARS
from bethink.web.deps import Caller, Cursor, Limit, Served
from bethink.web.problems import documented

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.recall.message_search import MessageHit

Role = Literal["user", "assistant", "tool"]
Said = UserMessage | AssistantMessage | ToolMessage
router = APIRouter(prefix="/conversations", tags=["conversations"])


_ROLES: dict[type[Said], Role] = {UserMessage: "user", AssistantMessage: "assistant", ToolMessage: "tool"}


class FoundMark(BaseModel):
    """Where a sought word stands in the snippet: from the character `start` to before `end`."""

    start: int
    end: int


class FoundMessage(BaseModel):
    """A message that holds what is sought."""

    message: str = Field(description="Its id.")
    conversation: str
    title: str = Field(description="The conversation's.")
    role: Role
    at: datetime
    snippet: str = Field(description="The part of its text around the first word that was found.")
    marks: list[FoundMark]
    branch: int
    position: int = Field(description="`GET /conversations/{id}?at=` shows it among its neighbours.")
    active: bool = Field(
        description="Whether it stands on the active branch; otherwise"
        " `PATCH /conversations/{id}` with its `branch` shows it."
    )


class FoundMessages(BaseModel):
    """Some of what was found, the best first: with most of the words."""

    items: list[FoundMessage]
    cursor: str | None = Field(description="Leads to the next page; null at the end.")


class SummaryShown(BaseModel):
    """What the model is told of the earlier part of a conversation; the messages themselves are kept."""

    text: str
    at: datetime = Field(description="When it was written.")
    covered_messages: int = Field(description="It stands for the first so many of the active branch.")


@router.get("/search", responses=documented(404))
async def search_messages(
    app: Served,
    caller: Caller,
    *,
    query: Annotated[str, Query(min_length=1, max_length=MAX_QUERY_CHARS, description="Words.")],
    conversation: Annotated[
        str | None, Query(max_length=200, description="Only in this one, by its id.")
    ] = None,
    project: Annotated[str | None, Query(max_length=200, description="Only in this project's.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> FoundMessages:
    """Messages that hold words of the query, in any form, over all conversations or in one.

    Tools' results are not searched, nor what was said in temporary conversations.
    At most the best 1,000 messages are reached.
    """
    page = await app.finding.search(
        caller, query, conversation=conversation, project=project, limit=limit, cursor=cursor
    )
    return FoundMessages(items=[_shown(found) for found in page.items], cursor=page.cursor)


@router.get(
    "/{conversation}/export",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The file.", "content": {kind: {} for kind in MEDIA_TYPES.values()}},
        **documented(404),
    },
)
async def export_conversation(
    conversation: str,
    app: Served,
    caller: Caller,
    *,
    format: Annotated[
        ExportFormat,
        Query(description="`md` is the active branch, for people; `json` has all branches, for programs."),
    ] = "md",
) -> StreamingResponse:
    """The whole conversation as a file, named after its title."""
    held = (await app.conversations.get(caller, conversation)).record

    async def body() -> AsyncGenerator[bytes]:
        async for part in exported(app.ports.store, caller, held, format=format):
            yield part.encode()

    name = quote(file_name(held, format), safe="")
    return StreamingResponse(
        body(),
        media_type=MEDIA_TYPES[format],
        headers={
            "content-disposition": f"attachment; filename*=utf-8''{name}",
            "x-content-type-options": "nosniff",
        },
    )


@router.get("/{conversation}/summary", responses=documented(404))
async def get_summary(conversation: str, app: Served, caller: Caller) -> SummaryShown:
    """The summary that stands for the earlier part of a long conversation; 404 where there is none."""
    held = (await app.conversations.get(caller, conversation)).record
    summary = await app.runs.stored.summary(caller, held)
    if summary is None:
        message = "There is no summary of this conversation: its model is told all of it."
        raise UnknownId(message)
    return SummaryShown(
        text=summary.message.content, at=to_datetime(summary.at), covered_messages=summary.position
    )


def _shown(found: MessageHit) -> FoundMessage:
    message = found.stored.message
    return FoundMessage(
        message=found.stored.id,
        conversation=found.conversation.id,
        title=found.conversation.title,
        role=_ROLES[type(message)],
        at=to_datetime(found.stored.at),
        snippet=found.snippet,
        marks=[FoundMark(start=start, end=end) for start, end in found.marks],
        branch=found.stored.branch,
        position=found.stored.position,
        active=found.is_active,
    )
