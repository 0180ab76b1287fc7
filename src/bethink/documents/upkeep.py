"""Documents beyond their own room: their lines in export files, old versions, health and numbers."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.clock import checked_id, rfc3339, time_of, with_times
from bethink.documents.model import fit_name, fit_tags
from bethink.documents.records import (
    COLLECTIONS,
    CONTENTS,
    DOCUMENTS,
    PAGES,
    USES,
    Content,
    Document,
    DocumentCollection,
    DocumentVersion,
    Origin,
    PageText,
    Use,
    page_id,
    use_id,
)
from bethink.errors import BadInput
from bethink.feature import DocumentForm, HealthFinding
from bethink.store import OWES_SCRUB, Delete, Put, Scan, pages_of, records_of, retry_conflicts, scrub

if TYPE_CHECKING:
    from bethink.documents.library import Library
    from bethink.principal import Principal
    from bethink.store import Change, Store

_PAGE: Final = 200
_EXAMPLES: Final = 5
_DAY_US: Final = 86_400_000_000
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_IMPORTING: Final = "It is being imported: its pages did not all come."


class ExportedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document as a line of an export file; its pages follow, a line each.

    `content` is the hash of its bytes.
    """

    id: str
    name: str
    content: str
    content_name: str
    media_type: str
    format: str
    size: int
    pages: int
    title: str = ""
    note: str = ""
    collection: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
    origin: Origin = msgspec.field(default_factory=Origin)
    created_at: int
    updated_at: int


class ExportedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a document's content as a line of an export file."""

    content: str
    number: int
    text: str
    label: str = ""


@dataclass(slots=True)
class LibraryUpkeep:
    """Looks after the documents of all owners. Old versions are kept `versions_days`, for ever if None."""

    library: Library
    versions_days: int | None

    @property
    def store(self) -> Store:
        """Where the records are."""
        return self.library.store

    # --- export files

    @property
    def forms(self) -> tuple[DocumentForm, ...]:
        """Lines of collections, of documents, and of their pages, in the order in which they come back."""
        return (
            DocumentForm(
                kind="document_collection",
                export=self._export_collections,
                parse=_collection,
                restore=self._restore_collections,
                made_at=lambda one: one.created_at,
            ),
            DocumentForm(
                kind="document",
                export=self._export_documents,
                parse=_document,
                restore=self._restore_documents,
                made_at=lambda one: one.created_at,
            ),
            DocumentForm(
                kind="document_page",
                export=self._export_pages,
                parse=_page,
                restore=self._restore_pages,
                made_at=lambda _: 0,
            ),
        )

    async def _export_collections(self, owner: str) -> AsyncGenerator[Sequence[Mapping[str, Any]]]:
        async for page in pages_of(self.store, owner, Scan(COLLECTIONS, order="created_at", limit=_PAGE)):
            # With whom they are shared is a matter of this Bethink.
            kept = [msgspec.structs.replace(item.record, shares=()) for item in page]
            yield [_line("document_collection", one) for one in kept]

    async def _export_documents(self, owner: str) -> AsyncGenerator[Sequence[Mapping[str, Any]]]:
        async for page in pages_of(self.store, owner, Scan(DOCUMENTS, order="updated_at", limit=_PAGE)):
            documents = [item.record for item in page]
            contents = await self.library.contents.of(owner, [one.content for one in documents])
            yield [
                _line("document", _exported(one, content))
                for one in documents
                if (content := contents.get(one.content)) is not None and content.is_read
            ]

    async def _export_pages(self, owner: str) -> AsyncGenerator[Sequence[Mapping[str, Any]]]:
        current = {one.content async for one in records_of(self.store, owner, Scan(DOCUMENTS, limit=_PAGE))}
        contents = await self.library.contents.of(owner, sorted(current))
        for content in contents.values():
            if content.is_read:
                scan = Scan(PAGES, {"content": content.id}, order="number", limit=_PAGE)
                async for page in pages_of(self.store, owner, scan):
                    yield [
                        _line(
                            "document_page", msgspec.convert(one.record, ExportedPage, from_attributes=True)
                        )
                        for one in page
                    ]

    @retry_conflicts
    async def _restore_collections(
        self,
        owner: str,
        collections: Sequence[DocumentCollection],
        is_preview: bool,  # noqa: FBT001 - as DocumentForm has it
    ) -> Sequence[str]:
        held = await self.store.get(COLLECTIONS, owner, [one.id for one in collections])
        scan = Scan(COLLECTIONS, limit=_PAGE)
        names = {one.name.casefold() async for one in records_of(self.store, owner, scan)}
        outcomes: list[str] = []
        puts: list[Change] = []
        for one, here in zip(collections, held, strict=True):
            if here is not None:
                same = msgspec.structs.replace(here.record, shares=()) == one
                outcomes.append("known" if same else "differing")
            elif one.name.casefold() in names:
                outcomes.append("differing")
            else:
                names.add(one.name.casefold())
                puts.append(Put(COLLECTIONS, one, 0))
                outcomes.append("said")
        if puts and not is_preview:
            await self.store.commit(owner, puts)
        return outcomes

    @retry_conflicts
    async def _restore_documents(
        self,
        owner: str,
        documents: Sequence[ExportedDocument],
        is_preview: bool,  # noqa: FBT001 - as DocumentForm has it
    ) -> Sequence[str]:
        held = await self.store.get(DOCUMENTS, owner, [one.id for one in documents])
        contents = await self.library.contents.of(owner, [one.content for one in documents])
        outcomes: list[str] = []
        changes: list[Change] = []
        for one, here in zip(documents, held, strict=True):
            if here is not None:
                same = (here.record.name, here.record.content) == (one.name, one.content)
                outcomes.append("known" if same else "differing")
                continue
            outcomes.append("said")
            if one.content not in contents:
                contents[one.content] = content = _awaited(one)
                changes.append(Put(CONTENTS, content, 0))
            use = Use(id=use_id(one.content, one.id), content=one.content, document=one.id)
            changes += [Put(DOCUMENTS, _restored(one), 0), Put(USES, use)]
        if changes and not is_preview:
            await self.store.commit(owner, changes)
            # Contents that were there may not be searched: an older version is current now.
            for id in {one.content for one in documents} & contents.keys():
                await self._index_if_whole(owner, id)
        return outcomes

    @retry_conflicts
    async def _restore_pages(
        self,
        owner: str,
        pages: Sequence[ExportedPage],
        is_preview: bool,  # noqa: FBT001 - as DocumentForm has it
    ) -> Sequence[str]:
        contents = await self.library.contents.of(owner, dict.fromkeys(one.content for one in pages))
        awaited = {id for id, one in contents.items() if one.error == _IMPORTING}
        puts = [
            Put(PAGES, PageText(id=page_id(one.content, one.number), **msgspec.structs.asdict(one)))
            for one in pages
            if one.content in awaited
        ]
        if puts and not is_preview:
            await self.store.commit(owner, puts)
            for id in awaited:
                await self._index_if_whole(owner, id)
        return [
            "said"
            if one.content in awaited or (is_preview and one.content not in contents)
            else "known"
            if one.content in contents
            else "differing"
            for one in pages
        ]

    @retry_conflicts
    async def _index_if_whole(self, owner: str, id: str) -> None:
        """Have a content searched whose pages have all come."""
        held = await self.library.contents.held(owner, id)
        content = held.record
        is_awaited = content.error == _IMPORTING
        count = await self.store.count(owner, PAGES, {"content": id}) if is_awaited else content.done
        if count < content.pages or not (is_awaited or (content.stage == "ready" and not content.passages)):
            return
        await self.store.commit(
            owner, [Put(CONTENTS, content.restaged("indexing", done=content.pages), held.version)]
        )
        self.library.added.set()

    # --- upkeep

    async def drop_versions(self, principal: Principal) -> int:
        """Remove versions that another one took the place of too long ago; how many that were."""
        if self.versions_days is None:
            return 0
        owner, before = principal.owner, self.library.clock.now_us() - self.versions_days * _DAY_US
        count = 0
        async for document in records_of(self.store, owner, Scan(DOCUMENTS, limit=_PAGE)):
            if len(document.versions) > 1:
                count += await self._drop_versions(owner, document.id, before)
        if count:
            await self.library.contents.sweep(owner)
            await scrub(self.store, owner)
        return count

    @retry_conflicts
    async def _drop_versions(self, owner: str, id: str, before: int) -> int:
        (held,) = await self.store.get(DOCUMENTS, owner, [id])
        if held is None:
            return 0
        was = held.record
        replaced_at = [one.at for one in was.versions[1:]]
        old = {
            one.content
            for one, at in zip(was.versions, replaced_at, strict=False)
            if at < before and one.content not in {was.content, was.pending}
        }
        if not old:
            return 0
        left = tuple(one for one in was.versions if one.content not in old)
        gone = await self.library.contents.dropped(owner, old, gone={id})
        now = msgspec.structs.replace(was, versions=left)
        await self.store.commit(
            owner,
            [
                Put(DOCUMENTS, now, held.version),
                *[Delete(USES, use_id(content, id)) for content in old],
                OWES_SCRUB,
                *gone,
            ],
        )
        return len(old)

    async def check(self, principal: Principal) -> list[HealthFinding]:
        """Documents that could not be read."""
        scan = Scan(CONTENTS, {"stage": "failed"}, order="at", limit=_PAGE)
        failed = [one async for one in records_of(self.store, principal.owner, scan)]
        if not failed:
            return []
        examples: list[str] = []
        for one in failed[:_EXAMPLES]:
            found = await self.library.documents_with(principal.owner, one.id)
            examples += [document.id for document in found[:1]]
        return [
            HealthFinding(
                trouble="documents_unreadable",
                count=len(failed),
                about="documents could not be read",
                mend="See why in the room of documents, then replace or remove them.",
                examples=tuple(examples),
            )
        ]

    async def statistics(self, principal: Principal) -> Mapping[str, Any]:
        """How many documents, contents and passages there are, and how many bytes they take."""
        contents = [item.record for item in await self.library.contents.all_of(principal.owner)]
        return {
            "documents": await self.store.count(principal.owner, DOCUMENTS, {}),
            "contents": len(contents),
            "pages": sum(one.done for one in contents),
            "passages": sum(one.passages for one in contents),
            "bytes": sum(one.size for one in contents if one.original),
        }


def _line(kind: str, record: msgspec.Struct) -> dict[str, Any]:
    kept = {name: value for name, value in msgspec.to_builtins(record).items() if value not in (None, "", [])}
    return {"kind": kind, **with_times(kept, rfc3339)}


_OF_DOCUMENT: Final = ("id", "collection", "project", "tags", "origin", "created_at", "updated_at")
_OF_CONTENT: Final = ("media_type", "size", "pages", "title", "note")


def _copied(record: msgspec.Struct, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _exported(document: Document, content: Content) -> ExportedDocument:
    return ExportedDocument(
        **_copied(document, _OF_DOCUMENT),
        **_copied(content, _OF_CONTENT),
        name=document.name,
        content=content.id,
        content_name=content.name,
        format=content.kind,
    )


def _awaited(one: ExportedDocument) -> Content:
    """A content whose pages are still to come."""
    return Content(
        **_copied(one, _OF_CONTENT),
        id=one.content,
        name=one.content_name,
        stage="cancelled",
        kind=one.format,
        error=_IMPORTING,
        original=False,
        at=one.created_at,
    )


def _restored(one: ExportedDocument) -> Document:
    version = DocumentVersion(content=one.content, at=one.created_at)
    return Document(**_copied(one, _OF_DOCUMENT), name=one.name, content=one.content, versions=(version,))


def _collection(document: Mapping[str, Any]) -> DocumentCollection:
    found = msgspec.convert(with_times(dict(document), time_of), DocumentCollection)
    checked_id(found.id)
    return msgspec.structs.replace(found, name=fit_name(found.name), shares=())


def _document(document: Mapping[str, Any]) -> ExportedDocument:
    found = msgspec.convert(with_times(dict(document), time_of), ExportedDocument)
    checked_id(found.id)
    if not _HASH.fullmatch(found.content) or found.pages < 1:
        raise BadInput("content: the hash of its bytes in 64 hexadecimal digits, and one page at least.")
    return msgspec.structs.replace(
        found,
        name=fit_name(found.name),
        content_name=fit_name(found.content_name),
        tags=fit_tags(found.tags),
    )


def _page(document: Mapping[str, Any]) -> ExportedPage:
    found = msgspec.convert(dict(document), ExportedPage)
    if not _HASH.fullmatch(found.content) or found.number < 1:
        raise BadInput("content: the hash of its bytes in 64 hexadecimal digits; number: from 1 on.")
    return found
