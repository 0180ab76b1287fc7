"""`/kb`: knowledge bases, which are collections of documents by their names; searched, exported, imported."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncGenerator
from typing import IO, TYPE_CHECKING, Annotated, Any, Final

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from bethink.documents.service import Documents
from bethink.web.deps import (
    SEES_ALL,
    Body,
    Caller,
    CallerFilter,
    Items,
    ResponseModel,
    Served,
    Timestamp,
    seen,
)
from bethink.web.files import disposition
from bethink.web.problems import documented
from bethink.web.uploads import file_body, receive

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.documents.knowledge_bases import BaseSummary, KnowledgeBases, ListedBase
    from bethink.visibility.reader_filter import ReaderFilter

router = APIRouter(prefix="/kb", tags=["knowledge bases"], responses=documented(404))

_PART: Final = 1 << 18
_NOTHING: Final = "Nothing in this knowledge base answers this."
_NEW_NAME: Final = "What to call the base here; its own name by default."


class ListedKnowledgeBase(ResponseModel):
    """A base, and how many documents it has."""

    id: str
    name: str
    description: str
    documents: int
    created_at: Timestamp


class KnowledgeBase(ListedKnowledgeBase):
    """A base, and how much it holds; `waiting` of its documents are being read, `failed` cannot be."""

    waiting: int
    failed: int
    pages: int
    passages: int


class KnowledgeBaseList(Items[ListedKnowledgeBase]):
    """Knowledge bases, in the order in which they were made."""


class KnowledgeBaseQuestion(Body):
    """What is asked of a base."""

    query: str = Field(min_length=1, max_length=2_000, description="A question or words.")
    limit: int = Field(default=5, ge=1, le=100, description="At most so many passages.")
    graph: bool = Field(default=False, description="Also what hangs together with what was found.")
    min_similarity: float = Field(
        default=0.3, ge=0, le=1, description="Only passages that answer at least so surely."
    )


class KnowledgeBasePassage(ResponseModel):
    """A passage that answers: characters `begin` to `end` of a page of a document."""

    id: str
    document: str
    name: str = Field(description="The document's name.")
    content: str
    page: int
    label: str
    heading: str
    begin: int
    end: int
    text: str
    score: float
    source: str = Field(description="What names the place in citations.")


class KnowledgeBaseAnswer(Items[KnowledgeBasePassage]):
    """Passages, best first; `note` says what was not searched, or that nothing answers."""

    note: str


class ArchiveCounts(ResponseModel):
    """How much an archive holds."""

    documents: int
    contents: int
    pages: int
    passages: int
    vectors: int
    originals: int


class ImportedBase(ResponseModel):
    """A base that was imported; `note` says what of it has to be made anew."""

    name: str
    counts: ArchiveCounts
    note: str


@router.get("")
async def list_bases(app: Served, caller: Caller, hidden: CallerFilter) -> KnowledgeBaseList:
    """The knowledge bases."""
    found = await _bases(app).list(caller)
    return KnowledgeBaseList(
        items=[ListedKnowledgeBase.of(one.base, **_listed(one, hidden)) for one in found]
    )


@router.post(
    "/import", status_code=201, responses=documented(409, 413, 507), openapi_extra=file_body(name=_NEW_NAME)
)
async def import_base(
    request: Request,
    app: Served,
    caller: Caller,
    *,
    name: Annotated[str | None, Query(max_length=300, description=_NEW_NAME)] = None,
) -> ImportedBase:
    """Take in an archive as a new base; it is verified first, and nothing stays of one that is not whole."""
    limit = app.settings.kb_max_archive_bytes
    too_large = f"The archive is larger than {limit // 1_000_000:,} MB (BETHINK_KB_MAX_ARCHIVE_BYTES)."
    async with app.features.of(Documents).uploads.staged(caller.owner) as path:
        came = await receive(
            request, lambda _: path.open("wb"), limit=limit, name="archive", too_large=too_large
        )
        named = name or came.fields.get("name")
        report = await _bases(app).import_archive(caller, path, name=named)
    return ImportedBase.of(report)


@router.get("/{base}")
async def get_base(base: str, app: Served, caller: Caller, hidden: CallerFilter) -> KnowledgeBase:
    """A base by its name or id."""
    one = await _bases(app).get(caller, base)
    named = {"id": one.base.id, "created_at": one.base.created_at}
    return KnowledgeBase.of(one, **named, **_listed(one, hidden))


@router.delete("/{base}", status_code=204)
async def delete_base(base: str, app: Served, caller: Caller) -> None:
    """Remove a base with its documents."""
    await _bases(app).remove(caller, base)


@router.post("/{base}/search")
async def search_base(
    base: str, body: KnowledgeBaseQuestion, app: Served, caller: Caller, hidden: CallerFilter
) -> KnowledgeBaseAnswer:
    """The passages of a base that answer a question, best first."""
    hits = await _bases(app).search(
        caller,
        base,
        body.query,
        limit=body.limit,
        graph=body.graph,
        min_similarity=body.min_similarity,
    )
    items = [
        KnowledgeBasePassage.of(
            hit,
            document=hit.document.id,
            name=seen(hit.document.name, hidden),
            content=hit.content.id,
            heading=seen(hit.heading, hidden),
        )
        for hit in hits
    ]
    notes = (app.recall.warning, None if items else _NOTHING)
    return KnowledgeBaseAnswer(items=items, note=" ".join(filter(None, notes)))


@router.get(
    "/{base}/export",
    dependencies=[SEES_ALL],
    response_class=Response,
    responses={200: {"description": "The archive.", "content": {"application/gzip": {}}}},
)
async def export_base(
    base: str,
    app: Served,
    caller: Caller,
    *,
    originals: Annotated[bool, Query(description="With the files themselves.")] = False,
) -> Response:
    """A base as an archive (`.tar.gz`) that another machine can import."""
    file: IO[bytes] = await anyio.to_thread.run_sync(tempfile.TemporaryFile)
    try:
        report = await _bases(app).export(caller, base, file, originals=originals)
    except BaseException:
        file.close()
        raise
    size = await anyio.to_thread.run_sync(file.tell)
    headers = {"content-disposition": disposition(f"{report.name}.tar.gz"), "content-length": str(size)}
    return StreamingResponse(_parts(file), media_type="application/gzip", headers=headers)


async def _parts(file: IO[bytes]) -> AsyncGenerator[bytes]:
    try:
        await anyio.to_thread.run_sync(file.seek, 0, os.SEEK_SET)
        while part := await anyio.to_thread.run_sync(file.read, _PART):
            yield part
    finally:
        file.close()


def _bases(app: App) -> KnowledgeBases:
    return app.features.of(Documents).bases


def _listed(one: ListedBase | BaseSummary, hidden: ReaderFilter | None) -> dict[str, Any]:
    return {
        "name": seen(one.base.name, hidden),
        "description": seen(one.base.description, hidden),
        "documents": one.documents,
    }
