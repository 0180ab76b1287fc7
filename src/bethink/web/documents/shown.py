"""Documents as JSON: what they are, how far they are read, where they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from bethink.documents.records import Stage
from bethink.web.deps import ResponseModel, Timestamp

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.documents.model import DocumentState
    from bethink.principal import Principal
    from bethink.visibility.reader_filter import ReaderFilter


class PendingContent(ResponseModel):
    """The newer version of a document, which is read now."""

    content: str = Field(validation_alias="id")
    stage: Stage
    pages: int
    done: int
    note: str
    error: str


class DocumentVersionShown(ResponseModel):
    """One version of a document, and since when it is one."""

    content: str
    at: Timestamp


class DocumentOrigin(ResponseModel):
    """Where a document came from; `place` is its address or path."""

    kind: Literal["upload", "url", "folder", "text", "import"]
    place: str


class CollectionName(ResponseModel):
    """A collection, named."""

    id: str
    name: str


class DocumentShown(ResponseModel):
    """A document with what was read of it: `done` of its `pages` are read, `passages` are searched."""

    id: str
    name: str
    title: str
    kind: str = Field(description="The format that was found in the file; empty before it was read.")
    media_type: str
    size: int
    stage: Stage
    pages: int
    done: int
    passages: int
    note: str = Field(description="What of it could not be read.")
    error: str = Field(description="Why it could not be read.")
    content: str = Field(description="The current version: the hash of its bytes.")
    has_original: bool
    pending: PendingContent | None = Field(description="The newer version, while it is read.")
    versions: list[DocumentVersionShown] = Field(description="The oldest first.")
    collection: CollectionName | None
    project: str | None
    tags: list[str]
    origin: DocumentOrigin
    folder: str | None
    created_at: Timestamp
    updated_at: Timestamp


async def shown_document(app: App, caller: Principal, id: str, hidden: ReaderFilter | None) -> DocumentShown:
    """A document as JSON, as its reader may see it."""
    (shown,) = await all_shown(app, caller, [await app.library.state(caller, id)], hidden)
    return shown


async def all_shown(
    app: App, caller: Principal, states: Sequence[DocumentState], hidden: ReaderFilter | None
) -> list[DocumentShown]:
    """Documents as JSON, in their order."""
    shared = [one.collection for one in await app.library.shared_collections(caller)]
    named = {one.id: one for one in (*await app.library.collections(caller), *shared)}

    def seen(text: str) -> str:
        return text if hidden is None else hidden.text(text)

    def shown(state: DocumentState) -> DocumentShown:
        document, read = state.document, state.content
        inside = named.get(document.collection or "")
        return DocumentShown.of(
            read,
            id=document.id,
            name=seen(document.name),
            title=seen(read.title),
            note=seen(read.note),
            error=seen(read.error),
            content=read.id,
            has_original=read.original and hidden is None,
            pending=state.next and PendingContent.model_validate(state.next),
            versions=document.versions,
            collection=inside and CollectionName(id=inside.id, name=seen(inside.name)),
            project=document.project,
            tags=[seen(tag) for tag in document.tags],
            origin=DocumentOrigin(kind=document.origin.kind, place=seen(document.origin.place)),
            folder=document.folder,
            created_at=document.created_at,
            updated_at=document.updated_at,
        )

    return [shown(state) for state in states]
