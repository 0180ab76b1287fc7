"""`/v1/files`: the library's documents as OpenAI's clients upload, list, fetch and delete files.

Source: OpenAI API reference, "Files".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from bethink.documents.service import Documents
from bethink.errors import BadInput
from bethink.web.deps import SEES_ALL, Caller, CallerFilter, Served
from bethink.web.documents.documents import get_original, received_document
from bethink.web.documents.shown import DocumentShown, all_shown, shown_document
from bethink.web.uploads import file_body
from bethink.web.v1.errors import ERRORS
from bethink.web.v1.request import listed

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.principal import Principal
    from bethink.visibility.reader_filter import ReaderFilter

router = APIRouter(prefix="/v1/files", tags=["openai"], responses=ERRORS)

_READ: Final = ("user_data", "assistants", "vision")
"""Purposes of files that are there to be read; others belong to services that are not here."""
_PURPOSE: Final = "`user_data`, `assistants` or `vision`: all are documents that are read and searched."
_AT_ONCE: Final = 200
_Purpose = Annotated[
    str | None, Query(max_length=100, description="Files of another purpose there are none.")
]


class FileObject(BaseModel):
    """A document, as OpenAI writes a file."""

    id: str
    object: Literal["file"] = "file"
    bytes: int
    created_at: int = Field(description="Seconds since 1970, UTC.")
    filename: str
    purpose: str = "user_data"
    status: Literal["uploaded", "processed", "error"]
    status_details: str | None = None


class FileObjectList(BaseModel):
    """Some files; `has_more` says whether there are others behind `last_id`."""

    object: Literal["list"] = "list"
    data: list[FileObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


@router.post("", openapi_extra=file_body(purpose=_PURPOSE))
async def create_file_object(
    request: Request, app: Served, caller: Caller, hidden: CallerFilter
) -> FileObject:
    """Keep a file as a document; it is read soon. The same bytes under the same name are kept once."""
    async with app.features.of(Documents).uploads.staged(caller.owner) as path:
        new, fields = await received_document(request, app, path, name="document")
        purpose = fields.get("purpose", _READ[0])
        if purpose not in _READ:
            raise BadInput(f"purpose is {purpose[:40]!r}: files are documents here, give {', '.join(_READ)}.")
        document = await app.library.add(caller, new)
    return _file(await shown_document(app, caller, document.id, hidden))


@router.get("")
async def list_file_objects(
    app: Served,
    caller: Caller,
    hidden: CallerFilter,
    *,
    purpose: _Purpose = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 10_000,
    order: Literal["asc", "desc"] = "desc",
    after: Annotated[str | None, Query(max_length=200, description="The files behind this one.")] = None,
) -> FileObjectList:
    """The documents, the newest first."""
    files = await _all(app, caller, hidden) if purpose in (None, *_READ) else []
    files.sort(key=lambda one: (one.created_at, one.id), reverse=order == "desc")
    items = {one.id: one for one in files}
    return FileObjectList(**listed(items, limit, after, fault="after: there is no file {}."))


@router.get("/{document}")
async def get_file_object(document: str, app: Served, caller: Caller, hidden: CallerFilter) -> FileObject:
    """One of them; it is `processed` once it was read."""
    return _file(await shown_document(app, caller, document, hidden))


@router.get(
    "/{document}/content",
    dependencies=[SEES_ALL],
    response_class=Response,
    responses={200: {"description": "The file.", "content": {"application/octet-stream": {}}}},
)
async def get_file_object_content(document: str, app: Served, caller: Caller) -> Response:
    """The file as it came."""
    return await get_original(document, app, caller)


@router.delete("/{document}")
async def delete_file_object(document: str, app: Served, caller: Caller) -> dict[str, Any]:
    """Remove a document for good, with what was read of it."""
    await app.library.remove(caller, document)
    return {"id": document, "object": "file", "deleted": True}


async def _all(app: App, caller: Principal, hidden: ReaderFilter | None) -> list[FileObject]:
    files: list[FileObject] = []
    cursor: str | None = None
    while True:
        page = await app.library.list(caller, limit=_AT_ONCE, cursor=cursor)
        files += [_file(one) for one in await all_shown(app, caller, page.items, hidden)]
        if (cursor := page.cursor) is None:
            return files


def _file(shown: DocumentShown) -> FileObject:
    return FileObject(
        id=shown.id,
        bytes=shown.size,
        created_at=int(shown.created_at.timestamp()),
        filename=shown.name,
        status={"ready": "processed", "failed": "error"}.get(shown.stage, "uploaded"),  # pyright: ignore[reportArgumentType] - the values are OpenAI's
        status_details=shown.error or None,
    )
