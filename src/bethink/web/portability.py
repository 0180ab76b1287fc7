"""`/memories/export` and `/memories/import`: everything that is known, as a file."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal
from zoneinfo import ZoneInfo

import anyio.to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from bethink.clock import to_datetime
from bethink.errors import BadInput, TooLarge
from bethink.export import FORMATS
from bethink.web.deps import Caller, Served
from bethink.web.problems import documented

if TYPE_CHECKING:
    from typing import IO

router = APIRouter(prefix="/memories", tags=["memories"])

_SPOOLED_BYTES = 1_000_000
FormatName = Literal["jsonl", "md", "csv", "data.json"]


class BadImportLine(BaseModel):
    """A line that was not taken, and why."""

    line: int
    reason: str


class MemoryImport(BaseModel):
    """What became of a file."""

    id: str = Field(description="The same for the same bytes.")
    format: FormatName
    lines: int = Field(description="Those that say something.")
    restored: int = Field(description="Put back as they were exported.")
    said: int = Field(description="Conversations and messages put back.")
    added: int
    merged: int = Field(description="Said more of what is known.")
    known: int = Field(description="Changed nothing.")
    differing: int = Field(description="Changed here since they were exported, and left as they are here.")
    refused: int
    bad: list[BadImportLine] = Field(description="The first hundred of those refused.")
    preview: bool
    undo: str | None = Field(description="Takes back what was added.")


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The file.", "content": {one.media_type: {} for one in FORMATS.values()}}
    },
)
async def export_memories(
    app: Served,
    caller: Caller,
    *,
    format: Annotated[FormatName, Query(description="`jsonl`, `md` and `csv` lose nothing.")] = "jsonl",
    conversations: Annotated[bool, Query(description="With all that was said, in `jsonl` only.")] = False,
) -> StreamingResponse:
    """Everything that is known, as a file."""
    parts = app.portability.export(caller, format, conversations=conversations)
    # What cannot be exported is a problem, and no file that breaks off.
    head = await anext(parts)

    async def body() -> AsyncGenerator[bytes]:
        yield head.encode()
        async for part in parts:
            yield part.encode()

    now: datetime = to_datetime(app.ports.clock.now_us()).astimezone(ZoneInfo(caller.time_zone))
    name = f"bethink-memory-{now:%Y-%m-%d}{FORMATS[format].suffix}"
    return StreamingResponse(
        body(),
        media_type=FORMATS[format].media_type,
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


@router.post(
    "/import",
    responses=documented(507),
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": {}}}},
)
async def import_memories(
    request: Request,
    app: Served,
    caller: Caller,
    *,
    format: Annotated[
        FormatName | Literal["auto"], Query(description="Known by how the file begins, unless named.")
    ] = "auto",
    preview: Annotated[bool, Query(description="Say what would be, and write nothing.")] = False,
) -> MemoryImport:
    """Take in a file, which is the request's body; what is known already changes nothing."""
    with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as file:
        await _receive(request, file, app.settings.max_import_bytes)
        report = await app.portability.import_file(caller, file, format=format, preview=preview)  # pyright: ignore[reportArgumentType] - it does all that a file does
    return MemoryImport.model_validate(report, from_attributes=True)


async def _receive(request: Request, file: IO[bytes], limit: int) -> None:
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            message = (
                f"The file is larger than {limit // 1_000_000:,} MB (BETHINK_MAX_IMPORT_BYTES). `bethink "
                "memory import` takes any size."
            )
            raise TooLarge(message)
        await anyio.to_thread.run_sync(file.write, part)
    if not size:
        message = "The request has no body: send the file itself."
        raise BadInput(message)
