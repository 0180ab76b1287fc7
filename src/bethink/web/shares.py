"""Conversations that are shown to others: shared and revoked by their owner, read by whoever has the link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import anyio.to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field

from bethink.errors import UnknownId
from bethink.shares import MAX_DAYS, NO_SHARE, ShareDraft, Shares
from bethink.transcript import Transcripts
from bethink.web.deps import (
    SEES_ALL,
    Body,
    Caller,
    Items,
    KnownTime,
    ResponseModel,
    Served,
    Timestamp,
    opened_by_link,
)
from bethink.web.files import shown_file
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink import shares as kept
    from bethink.app import App

router = APIRouter(tags=["shares"])

SHARED_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; frame-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'none'"
    ),
    "x-robots-tag": "noindex, nofollow",
    "referrer-policy": "no-referrer",
    "cache-control": "private, no-store",
}
"""Of all that is read by a link: nobody indexes it, and nothing tells another site of it."""


class NewShare(Body):
    """What to show of a conversation, as it is now."""

    days: Annotated[int | None, Field(ge=1, le=MAX_DAYS)] = Field(
        default=30, description="After so many days it ends; null: only when it is revoked."
    )
    memories: bool = Field(default=False, description="Show the memories, too, that answers used.")
    files: bool = Field(default=False, description="Show the files, too, that were attached.")


class ShareShown(ResponseModel):
    """A share. `path` is its link, a secret: it is told once, when the share is made."""

    id: str
    conversation: str
    title: str
    hint: str = Field(description="The end of its link.")
    created_at: Timestamp
    expires_at: KnownTime
    messages: int
    has_memories: bool
    has_files: bool
    opened: int = Field(description="How often it was opened; again within a minute counts once.")
    opened_at: KnownTime = Field(description="The last time; null if never.")
    path: str | None = None


class ShareList(Items[ShareShown]):
    """Shares that have not ended, the newest first."""


class SharedFileShown(ResponseModel):
    """A file that is shown; `url` is where."""

    name: str
    media_type: str
    url: str


class SharedMessageShown(ResponseModel):
    """A message that is shown."""

    role: Literal["user", "assistant"]
    content: str
    at: Timestamp
    speaker: str | None
    memories: list[str]
    files: list[SharedFileShown]


class SharedConversation(ResponseModel):
    """A conversation as it was when it was shared."""

    title: str
    created_at: Timestamp = Field(description="When it was shared.")
    expires_at: KnownTime
    messages: list[SharedMessageShown]


@router.post(
    "/conversations/{conversation}/shares",
    status_code=201,
    responses=documented(404),
    dependencies=[SEES_ALL],
)
async def share_conversation(conversation: str, body: NewShare, app: Served, caller: Caller) -> ShareShown:
    """Show a conversation as it is now to whoever has the link."""
    held = (await app.conversations.get(caller, conversation)).record
    transcripts = Transcripts(app.ports.store, app.memory)
    messages = await transcripts.of(caller, held, memories=body.memories, files=body.files)
    draft = ShareDraft(
        conversation=held.id,
        title=held.title,
        messages=messages,
        days=body.days,
        memories=body.memories,
        files=body.files,
    )
    share, token = await app.features.of(Shares).add(caller, draft)
    return _shown(share, f"/share/{token}")


@router.get("/shares", dependencies=[SEES_ALL])
async def list_shares(
    app: Served,
    caller: Caller,
    *,
    conversation: Annotated[str | None, Query(max_length=200, description="Only of this one.")] = None,
) -> ShareList:
    """What is shown to others now."""
    return ShareList(items=[_shown(one) for one in await app.features.of(Shares).list(caller, conversation)])


@router.delete("/shares/{share}", status_code=204, responses=documented(404))
async def revoke_share(share: str, app: Served, caller: Caller) -> None:
    """End a share: its link shows nothing any more."""
    await app.features.of(Shares).revoke(caller, share)


@router.get("/share/{token}", responses=documented(404, 429))
async def read_share(token: str, request: Request, response: Response, app: Served) -> SharedConversation:
    """A conversation that is shown, by its link alone: without a key."""
    owner, share = await _found(token, request, app)
    await app.features.of(Shares).note_opened(owner, share.id)
    response.headers.update(SHARED_HEADERS)
    path, said = f"/share/{token}/files", await app.features.of(Shares).messages(owner, share)
    messages = [
        SharedMessageShown.of(
            one, files=[SharedFileShown.of(file, url=f"{path}/{file.id}") for file in one.files]
        )
        for one in said
    ]
    return SharedConversation.of(share, messages=messages)


@router.get("/share/{token}/files/{file}", response_class=Response, responses=documented(404, 429))
async def read_shared_file(token: str, file: str, request: Request, app: Served) -> Response:
    """A file that is shown: pictures as they are, everything else as a download."""
    owner, share = await _found(token, request, app)
    if not await app.features.of(Shares).shows_file(owner, share, file):
        raise UnknownId(NO_SHARE)
    held, path = await app.files.get(app.accounts.on_behalf_of(owner, audience="rest:share"), file)
    if not await anyio.to_thread.run_sync(path.is_file):
        raise UnknownId(NO_SHARE)
    return shown_file(held, path, SHARED_HEADERS)


async def _found(token: str, request: Request, app: App) -> tuple[str, kept.Share]:
    """Whose conversation a link shows, and which."""
    return await opened_by_link(request, app, await app.features.of(Shares).of(token), NO_SHARE)


def _shown(share: kept.Share, path: str | None = None) -> ShareShown:
    return ShareShown.of(share, path=path)
