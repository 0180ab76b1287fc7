"""`/documents`: the library of what its owner reads; added, listed, searched, shown page by page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from bethink.documents.model import DocumentEdit, DocumentQuery, NewDocument, PassageHit, Scope
from bethink.documents.records import Origin, Stage
from bethink.documents.service import Documents
from bethink.recall.service import AnswerCheck
from bethink.web.deps import (
    SEES_ALL,
    Body,
    Caller,
    CallerFilter,
    Cursor,
    Items,
    Limit,
    Page,
    ResponseModel,
    Served,
    seen,
)
from bethink.web.documents.shown import DocumentShown, all_shown, shown_document
from bethink.web.files import disposition
from bethink.web.problems import documented
from bethink.web.uploads import file_body, receive

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.app import App
    from bethink.visibility.reader_filter import ReaderFilter

router = APIRouter(prefix="/documents", tags=["documents"], responses=documented(404))

_SHOWN_INLINE: Final = {
    "application/pdf": re.compile(rb"%PDF-"),
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
"""What a browser may show, by its first bytes; all else is downloaded, since it could carry a script."""
_HEAD: Final = 16
_SAFE: Final = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
_MOST_PAGES: Final = 100
_CHECK: Final = AnswerCheck()
_NOTHING: Final = "Nothing in your documents answers this."
_FORM: Final = {
    "collection": "Id or name of the collection to put it into.",
    "project": "Project that it belongs to.",
    "tags": "Tags with commas between them.",
}
_IdOrName = Annotated[str | None, Query(max_length=300, description="Id or name of a collection.")]
_Project = Annotated[str | None, Query(max_length=200, description="Only what belongs to this project.")]
_Tags = Annotated[str | None, Query(max_length=2_000, description="Tags with commas between them.")]
_Kind = Annotated[str | None, Query(max_length=40, description="Only files of this format, such as `pdf`.")]
_Version = Annotated[
    str | None, Query(max_length=64, description="A version, by the id of its content; else the current one.")
]


class DocumentList(Page[DocumentShown]):
    """Some documents, the one that changed last first."""


class DocumentPatch(Body):
    """What to change; what is left out stays, null takes it out of its collection or project."""

    name: str | None = None
    collection: str | None = Field(default=None, description="Its id or name.")
    project: str | None = None
    tags: list[str] | None = Field(default=None, max_length=100)


class DocumentText(Body):
    """A text to keep as a document."""

    name: str
    text: str
    collection: str | None = Field(default=None, description="Its id or name.")
    project: str | None = None
    tags: list[str] = Field(default=[], max_length=100)


class DocumentAddress(Body):
    """An address of the web whose file or page is kept as a document."""

    url: str = Field(min_length=1, max_length=4_000)
    name: str | None = Field(default=None, description="Else what the address calls it.")
    collection: str | None = Field(default=None, description="Its id or name.")
    project: str | None = None
    tags: list[str] = Field(default=[], max_length=100)


class DocumentPageShown(ResponseModel):
    """What a page says, as Markdown; `label` names it if it has a name."""

    number: int
    label: str
    text: str


class DocumentPages(BaseModel):
    """Some pages of `count`."""

    count: int
    items: list[DocumentPageShown]


class DocumentNamed(BaseModel):
    """The document that a passage is of."""

    id: str
    name: str
    kind: str


class PassageShown(ResponseModel):
    """A passage that answers: characters `begin` to `end` of the text of its page."""

    id: str
    document: DocumentNamed
    content: str
    page: int
    pages: int
    label: str
    heading: str
    begin: int
    end: int
    text: str
    marks: list[tuple[int, int]] = Field(description="Where words of the question stand in `text`.")
    score: float
    source: str = Field(description="What names the place in citations.")


class PassageList(Items[PassageShown]):
    """Passages, best first; `note` says what was not searched, or that nothing answers."""

    note: str


class LibraryStatus(ResponseModel):
    """How much there is, and how far it is read."""

    waiting: int
    reading: int
    indexing: int
    ready: int
    failed: int
    bytes: int
    quota_bytes: int | None
    passages: int
    without_vector: int = Field(description="Passages that are found by words only as yet.")
    reader: str = Field(description="What files are read by, and within which limits.")


@router.get("")
async def list_documents(
    app: Served,
    caller: Caller,
    hidden: CallerFilter,
    *,
    query: Annotated[str | None, Query(max_length=300, description="Found in names and titles.")] = None,
    collection: _IdOrName = None,
    tag: Annotated[str | None, Query(max_length=100)] = None,
    kind: _Kind = None,
    stage: Stage | None = None,
    project: _Project = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> DocumentList:
    """The documents that fit all that is asked, or all of them."""
    inside = collection and (await app.library.collection(caller, collection)).id
    wanted = DocumentQuery(text=query, collection=inside, project=project, tag=tag, kind=kind, stage=stage)
    found = await app.library.list(caller, wanted, limit=limit, cursor=cursor)
    return DocumentList(items=await all_shown(app, caller, found.items, hidden), cursor=found.cursor)


@router.post("", status_code=202, responses=documented(507), openapi_extra=file_body(**_FORM))
async def add_document(
    request: Request,
    app: Served,
    caller: Caller,
    hidden: CallerFilter,
    *,
    name: Annotated[
        str, Query(max_length=300, description="The name of the file, if the body is the file.")
    ] = "document",
    collection: _IdOrName = None,
    project: _Project = None,
    tags: _Tags = None,
) -> DocumentShown:
    """Keep a file; it is read soon. The same bytes under the same name are kept once."""
    given = {"collection": collection, "project": project, "tags": tags}
    async with app.features.of(Documents).uploads.staged(caller.owner) as path:
        new = await _received(request, app, path, name=name, given=given)
        document = await app.library.add(caller, new)
    return await shown_document(app, caller, document.id, hidden)


@router.post("/text", status_code=202, responses=documented(507))
async def add_text(body: DocumentText, app: Served, caller: Caller, hidden: CallerFilter) -> DocumentShown:
    """Keep a text as a document."""
    content, origin = body.text.encode("utf-8", "replace"), Origin(kind="text")
    new = NewDocument(content=content, media_type="text/markdown", origin=origin, **body.given("text"))
    return await shown_document(app, caller, (await app.library.add(caller, new)).id, hidden)


@router.post("/url", status_code=202, responses=documented(502, 507))
async def add_address(
    body: DocumentAddress, app: Served, caller: Caller, hidden: CallerFilter
) -> DocumentShown:
    """Fetch a file or a page of the web, and keep it as a document."""
    place = NewDocument(name=body.name or "", content=b"", **body.given("url", "name"))
    documents = app.features.of(Documents)
    document = await documents.add_address(caller, app.ports.internet, address=body.url, place=place)
    return await shown_document(app, caller, document.id, hidden)


@router.get("/search")
async def search_documents(
    app: Served,
    caller: Caller,
    hidden: CallerFilter,
    query: Annotated[str, Query(max_length=2000, description="A question or words.")],
    *,
    k: Annotated[int, Query(ge=1, le=100, description="At most so many passages.")] = 10,
    collection: _IdOrName = None,
    tag: Annotated[str | None, Query(max_length=100)] = None,
    kind: _Kind = None,
    document: Annotated[str | None, Query(max_length=100, description="Only this document.")] = None,
    project: _Project = None,
) -> PassageList:
    """The passages that answer a question, best first, each with its page."""
    scope = Scope(
        collection=collection and (await app.library.collection(caller, collection)).id,
        project=project,
        tags=(tag,) if tag else (),
        kinds=(kind,) if kind else (),
        documents=(document,) if document else None,
    )
    hits = await app.library.search(caller, query, k, scope=scope)
    said = [(f"{hit.document.name}\n{hit.heading}\n{hit.text}", hit.score) for hit in hits]
    verdict = await anyio.to_thread.run_sync(_CHECK.verdict, query, said)
    notes = [app.recall.warning or "", "" if verdict.answers else _NOTHING, verdict.note]
    terms = frozenset(app.message_search.analyzer.question(query))

    def shown() -> list[PassageShown]:
        return [_passage(hit, app.message_search.marks(hit.text, terms), hidden) for hit in hits]

    items = await anyio.to_thread.run_sync(shown)
    return PassageList(items=items, note=" ".join(filter(None, notes)))


@router.get("/status")
async def get_status(app: Served, caller: Caller) -> LibraryStatus:
    """How much there is, and how far it is read."""
    status = await app.features.of(Documents).status(caller)
    return LibraryStatus.of(status)


@router.get("/{document}")
async def get_document(document: str, app: Served, caller: Caller, hidden: CallerFilter) -> DocumentShown:
    """A document; ask again while it is `waiting`, `reading` or `indexing`."""
    return await shown_document(app, caller, document, hidden)


@router.patch("/{document}", responses=documented(409))
async def edit_document(
    document: str, body: DocumentPatch, app: Served, caller: Caller, hidden: CallerFilter
) -> DocumentShown:
    """Rename a document, or put it elsewhere."""
    edit = DocumentEdit(**body.given(empties=("collection", "project")))
    await app.library.change(caller, document, edit)
    return await shown_document(app, caller, document, hidden)


@router.delete("/{document}", status_code=204)
async def delete_document(document: str, app: Served, caller: Caller) -> None:
    """Remove a document for good, with what was read of it."""
    await app.library.remove(caller, document)


@router.put("/{document}/file", status_code=202, responses=documented(507), openapi_extra=file_body())
async def replace_document(
    request: Request,
    document: str,
    app: Served,
    caller: Caller,
    hidden: CallerFilter,
    *,
    name: Annotated[str, Query(max_length=300, description="Its new name, if the body is the file.")] = "",
) -> DocumentShown:
    """Give a document a new version; the one of before is searched until that was read, and is kept."""
    held = await app.library.get(caller, document)
    async with app.features.of(Documents).uploads.staged(caller.owner) as path:
        new = await _received(request, app, path, name=name or held.name, given={})
        await app.library.replace(caller, document, new)
    return await shown_document(app, caller, document, hidden)


@router.get(
    "/{document}/file",
    dependencies=[SEES_ALL],
    response_class=Response,
    responses={200: {"description": "The file.", "content": {"application/octet-stream": {}}}},
)
async def get_original(document: str, app: Served, caller: Caller, *, content: _Version = None) -> Response:
    """The file as it came: PDFs and pictures to be shown, everything else as a download."""
    version = await app.library.version(caller, document, content)
    path = await app.library.original(caller, version.id)
    name = (await app.library.get(caller, document)).name
    media_type = await anyio.to_thread.run_sync(_media_type, path)
    return FileResponse(
        path,
        media_type=media_type or "application/octet-stream",
        headers=_SAFE | {"content-disposition": disposition(name, "inline" if media_type else "attachment")},
    )


@router.get("/{document}/pages")
async def get_pages(
    document: str,
    app: Served,
    caller: Caller,
    *,
    content: _Version = None,
    first: Annotated[int, Query(ge=1)] = 1,
    last: Annotated[int | None, Query(ge=1)] = None,
) -> DocumentPages:
    """What pages `first` to `last` say, at most 100 at once."""
    version = await app.library.version(caller, document, content)
    end = min(last or first, first + _MOST_PAGES - 1)
    pages = await app.library.pages(caller, version.id, first=first, last=end)
    return DocumentPages(count=version.pages, items=[DocumentPageShown.of(page) for page in pages])


@router.post("/{document}/cancel", status_code=202, responses=documented(409))
async def cancel_reading(document: str, app: Served, caller: Caller, hidden: CallerFilter) -> DocumentShown:
    """Stop the reading of a document, or of its newer version."""
    seen = await app.library.seen(caller, document, to_write=True)
    await app.features.of(Documents).ingest.cancel(seen.acting, seen.document.newest)
    return await shown_document(app, caller, document, hidden)


@router.post("/{document}/retry", status_code=202, responses=documented(409))
async def retry_reading(document: str, app: Served, caller: Caller, hidden: CallerFilter) -> DocumentShown:
    """Read a document again that could not be read, or whose reading was cancelled."""
    seen = await app.library.seen(caller, document, to_write=True)
    await app.features.of(Documents).ingest.retry(seen.acting, seen.document.newest)
    return await shown_document(app, caller, document, hidden)


async def _received(
    request: Request, app: App, path: Path, *, name: str, given: Mapping[str, str | None]
) -> NewDocument:
    """The request's file, written to `path`, with what is `given` beside it, here or in the form."""
    new, fields = await received_document(request, app, path, name=name)
    said = {field: value for field in _FORM if (value := given.get(field) or fields.get(field))}
    return replace(
        new,
        collection=said.get("collection"),
        project=said.get("project"),
        tags=tuple(said.get("tags", "").split(",")),
    )


async def received_document(
    request: Request, app: App, path: Path, *, name: str
) -> tuple[NewDocument, Mapping[str, str]]:
    """The request's file, written to `path`, and the other fields of its form."""
    limit, too_large = app.library.contents.max_bytes, app.library.contents.too_large("The file")
    came = await receive(request, lambda _: path.open("wb"), limit=limit, name=name, too_large=too_large)
    media_type = came.media_type.partition(";")[0].strip() or "application/octet-stream"
    return NewDocument(name=came.name, content=path, media_type=media_type, taken=True), came.fields


def _passage(hit: PassageHit, marks: Sequence[tuple[int, int]], hidden: ReaderFilter | None) -> PassageShown:
    name = seen(hit.document.name, hidden)
    return PassageShown.of(
        hit,
        document=DocumentNamed(id=hit.document.id, name=name, kind=hit.content.kind),
        content=hit.content.id,
        pages=hit.content.pages,
        heading=seen(hit.heading, hidden),
        marks=list(marks),
    )


def _media_type(path: Path) -> str | None:
    """The type of a file that a browser may show by itself, by its first bytes; None for any other."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return next((kind for kind, first in _SHOWN_INLINE.items() if first.match(head)), None)
