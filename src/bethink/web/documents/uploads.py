"""`/documents/uploads`: files that come in parts, and go on after whatever cut them short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Header, Request
from pydantic import BaseModel, Field

from bethink.clock import to_datetime
from bethink.documents.service import Documents
from bethink.documents.uploads import Upload, UploadState
from bethink.web.deps import Body, Caller, CallerFilter, Served, Timestamp
from bethink.web.documents.shown import DocumentShown, shown_document
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.principal import Principal
    from bethink.visibility.reader_filter import ReaderFilter

router = APIRouter(prefix="/documents/uploads", tags=["documents"], responses=documented(404))


class UploadDraft(Body):
    """A file that comes in parts."""

    name: str
    size: int = Field(ge=0, description="In bytes.")
    sha256: str = Field(default="", description="The hash of its bytes; they are checked against it.")
    media_type: str = Field(default="application/octet-stream", max_length=200)
    collection: str | None = Field(default=None, description="Its id or name.")
    project: str | None = None
    tags: list[str] = Field(default=[], max_length=100)
    version_of: str | None = Field(default=None, description="The document whose newer version it is.")


class UploadShown(BaseModel):
    """An upload: `offset` of its bytes came, and behind the last one it is a `document`."""

    id: str
    offset: int
    expires_at: Timestamp = Field(description="It goes then if it did not end.")
    document: DocumentShown | None


@router.post("", status_code=201, responses=documented(409, 507))
async def begin_upload(body: UploadDraft, app: Served, caller: Caller, hidden: CallerFilter) -> UploadShown:
    """Begin an upload in parts: send them with `PATCH`, and go on at its `offset` whatever happens."""
    draft = Upload(id="", at=0, **body.given())
    begun = await app.features.of(Documents).uploads.begin(caller, draft)
    return await _upload(app, caller, UploadState(begun, 0), hidden)


@router.get("/{upload}")
async def get_upload(upload: str, app: Served, caller: Caller, hidden: CallerFilter) -> UploadShown:
    """How far an upload is."""
    state = await app.features.of(Documents).uploads.get(caller, upload)
    return await _upload(app, caller, state, hidden)


@router.patch(
    "/{upload}",
    responses=documented(409, 507),
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": {}}}},
)
async def append_to_upload(
    upload: str,
    request: Request,
    app: Served,
    caller: Caller,
    hidden: CallerFilter,
    upload_offset: Annotated[int, Header(ge=0, description="Where the body goes on: `offset`.")],
) -> UploadShown:
    """Send the next part of an upload; what came of it is kept if the rest is cut off."""
    uploads = app.features.of(Documents).uploads
    state = await uploads.append(caller, upload, request.stream(), offset=upload_offset)
    return await _upload(app, caller, state, hidden)


@router.delete("/{upload}", status_code=204)
async def discard_upload(upload: str, app: Served, caller: Caller) -> None:
    """Remove what came of an upload; a document that it became stays."""
    await app.features.of(Documents).uploads.discard(caller, upload)


async def _upload(
    app: App, caller: Principal, state: UploadState, hidden: ReaderFilter | None
) -> UploadShown:
    id = state.upload.document
    return UploadShown(
        id=state.upload.id,
        offset=state.offset,
        expires_at=to_datetime(state.upload.expires_at),
        document=None if id is None else await shown_document(app, caller, id, hidden),
    )
