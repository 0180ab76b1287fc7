"""`/conversations/{id}/files` and `/files/{id}`: what the owner uploads and what tools made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote

import anyio.to_thread
from fastapi import APIRouter, File, Response, UploadFile
from fastapi.responses import FileResponse
from pydantic import Field

from bethink.errors import BadInput, TooLarge, UnknownId
from bethink.tool import NewFile
from bethink.tools.mcp_library import attach
from bethink.web.deps import Body, Caller, Items, ResponseModel, Served, Timestamp
from bethink.web.problems import documented

if TYPE_CHECKING:
    from pathlib import Path

    from bethink import files as kept

router = APIRouter(tags=["files"], responses=documented(404))

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser may show by itself; everything else is downloaded, since it could carry a script."""
_SAFE = {"content-security-policy": "default-src 'none'; sandbox"}


class ConversationFile(ResponseModel):
    """A file of a conversation; `size` is in bytes, its content is at `url`."""

    id: str
    name: str
    media_type: str
    size: int
    at: Timestamp
    made_by: Literal["owner", "tool"]
    url: str


class FileList(Items[ConversationFile]):
    """Files, oldest first."""


@router.post("/conversations/{conversation}/files", status_code=201, responses=documented(413, 507))
async def upload_file(
    conversation: str, file: Annotated[UploadFile, File()], app: Served, caller: Caller
) -> ConversationFile:
    """Put a file into a conversation: code that is run there reads it by its name."""
    await app.conversations.get(caller, conversation)
    limit = app.settings.max_file_bytes
    if (file.size or 0) > limit:
        raise TooLarge(f"The file is larger than {limit // 1_000_000} MB (BETHINK_MAX_FILE_BYTES).")
    if not file.filename:
        raise BadInput("The field `file` is text: send a file with a name.")
    content = await file.read()
    new = NewFile(file.filename, file.content_type or "application/octet-stream", content)
    return _shown(await app.files.add(caller, conversation, new))


@router.get("/conversations/{conversation}/files")
async def list_files(conversation: str, app: Served, caller: Caller) -> FileList:
    """The conversation's files, those that tools made too."""
    await app.conversations.get(caller, conversation)
    return FileList(items=[_shown(file) for file in await app.files.list(caller, conversation)])


@router.get(
    "/files/{file}",
    response_class=Response,
    responses={200: {"description": "The file.", "content": {"application/octet-stream": {}}}},
)
async def get_file(file: str, app: Served, caller: Caller) -> Response:
    """A file's content: pictures as they are, everything else as a download."""
    held, path = await app.files.get(caller, file)
    if not await anyio.to_thread.run_sync(path.is_file):
        raise UnknownId(
            f"The content of {held.name} is missing: its upload did not finish, or it was removed by hand."
        )
    return shown_file(held, path)


def shown_file(held: kept.File, path: Path, headers: Mapping[str, str] | None = None) -> FileResponse:
    """The content of a file: pictures as they are, everything else as a download."""
    is_picture = held.media_type in _PICTURES
    named = {"content-disposition": disposition(held.name, "inline" if is_picture else "attachment")}
    media_type = held.media_type if is_picture else "application/octet-stream"
    return FileResponse(path, media_type=media_type, headers={**(headers or {}), **_SAFE, **named})


def disposition(name: str, way: Literal["inline", "attachment"] = "attachment") -> str:
    """What the header Content-Disposition says of a file (RFC 6266)."""
    return f"{way}; filename*=utf-8''{quote(name, safe='')}"


class ResourceBody(Body):
    """A resource of an MCP server."""

    server: str = Field(max_length=64)
    uri: str = Field(min_length=1, max_length=2_000)


@router.post("/conversations/{conversation}/resources", status_code=201, responses=documented(413, 502))
async def attach_resource(conversation: str, body: ResourceBody, app: Served, caller: Caller) -> FileList:
    """Read a resource of an MCP server into files of a conversation; they count as content from outside."""
    await app.conversations.get(caller, conversation)
    made = await attach(app.mcp_servers, app.files, caller, conversation, server=body.server, uri=body.uri)
    return FileList(items=[_shown(file) for file in made])


def _shown(file: kept.File) -> ConversationFile:
    return ConversationFile.of(file, url=file.attachment.url)
