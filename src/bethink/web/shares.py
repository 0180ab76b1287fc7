"""Conversations that are shown to others: shared and revoked by their owner, read by whoever has the link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote

import anyio.to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel, Field

from bethink.clock import to_datetime
from bethink.errors import UnknownId
from bethink.shares import MAX_DAYS, NO_SHARE, ShareDraft, Shares
from bethink.transcript import Transcripts
from bethink.web.deps import SEES_ALL, Body, Caller, ResponseModel, Served, Timestamp
from bethink.web.problems import documented
from bethink.web.security.credentials import peer_of

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
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


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
    expires_at: Timestamp | None
    messages: int
    has_memories: bool
    has_files: bool
    opened: int = Field(description="How often it was opened; again within a minute counts once.")
    opened_at: Timestamp | None = Field(description="The last time; null if never.")
    path: str | None = None


class ShareList(BaseModel):
    """Shares that have not ended, the newest first."""

    items: list[ShareShown]


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


class SharedConversation(BaseModel):
    """A conversation as it was when it was shared."""

    title: str
    created_at: Timestamp = Field(description="When it was shared.")
    expires_at: Timestamp | None
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
    return SharedConversation(
        title=share.title,
        created_at=to_datetime(share.created_at),
        expires_at=to_datetime(share.expires_at) if share.expires_at else None,
        messages=[
            SharedMessageShown.of(
                said,
                memories=list(said.memories),
                files=[
                    SharedFileShown.of(file, url=f"/share/{token}/files/{file.id}") for file in said.files
                ],
            )
            for said in await app.features.of(Shares).messages(owner, share)
        ],
    )


@router.get("/share/{token}/files/{file}", response_class=Response, responses=documented(404, 429))
async def read_shared_file(token: str, file: str, request: Request, app: Served) -> Response:
    """A file that is shown: pictures as they are, everything else as a download."""
    owner, share = await _found(token, request, app)
    if not await app.features.of(Shares).shows_file(owner, share, file):
        raise UnknownId(NO_SHARE)
    held, path = await app.files.get(app.accounts.on_behalf_of(owner, audience="rest:share"), file)
    if not await anyio.to_thread.run_sync(path.is_file):
        raise UnknownId(NO_SHARE)
    is_picture = held.media_type in _PICTURES
    way = "inline" if is_picture else "attachment"
    headers = SHARED_HEADERS | {
        "content-security-policy": "default-src 'none'; sandbox",
        "content-disposition": f"{way}; filename*=utf-8''{quote(held.name, safe='')}",
    }
    return FileResponse(
        path, media_type=held.media_type if is_picture else "application/octet-stream", headers=headers
    )


async def _found(token: str, request: Request, app: App) -> tuple[str, kept.Share]:
    """Whose conversation a link shows, and which.

    Raises:
        UnknownId: it shows nothing, or its owner may not come in any more.
    """
    found = await app.features.of(Shares).of(token)
    user = await app.accounts.find_user(found[0]) if found else None
    is_disabled = user is not None and user.disabled_at is not None
    is_gone = user is None and await app.accounts.needs_key()
    if found is None or is_disabled or is_gone:
        app.accounts.signing.count_failure(peer_of(request.scope, app.settings.trusted_proxies))
        raise UnknownId(NO_SHARE)
    return found


def _shown(share: kept.Share, path: str | None = None) -> ShareShown:
    times = {"expires_at": share.expires_at, "opened_at": share.opened_at}
    return ShareShown.of(
        share, **{name: to_datetime(at) if at else None for name, at in times.items()}, path=path
    )
