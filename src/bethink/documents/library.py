"""The library: documents of all owners, kept beyond conversations, read once and found again with their page.

Doors and tools call `Library`; `ingest` reads what it is given. A content is kept under the hash of its
bytes: what is added twice is kept, read and embedded once.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import anyio
import anyio.to_thread
import msgspec

from bethink.documents.passages import above
from bethink.documents.records import (
    COLLECTIONS,
    CONTENTS,
    DOCUMENTS,
    KIND,
    PAGES,
    PASSAGES,
    USES,
    Content,
    Document,
    DocumentCollection,
    DocumentVersion,
    Origin,
    PageText,
    Stage,
    Use,
    page_id,
    use_id,
)
from bethink.errors import BadInput, Conflict, TooLarge, UnknownId
from bethink.feature import Recallable
from bethink.principal import PerKey
from bethink.store import (
    Delete,
    DeleteAll,
    Expect,
    Position,
    Put,
    Scan,
    pages_of,
    records_of,
    retry_conflicts,
)
from bethink.store import cursor as cursor_behind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from bethink.blobs import Blobs
    from bethink.clock import Clock, Ids
    from bethink.documents.records import Passage
    from bethink.feature import FilterFor, Search
    from bethink.principal import Principal
    from bethink.store import Change, Store, Versioned

MAX_TAGS: Final = 32
_MAX_NAME: Final = 255
_MAX_TAG: Final = 60
_IMPORTANCE: Final = 0.5
_MANY: Final = 500
_NO_COLLECTION: Final = "Collection not found: it may have been removed."
_HIDDEN: Final = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")
"""What no name holds: control characters, and marks that hide an ending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """What is added: its bytes, or a file that holds them, which is moved away if it is `taken`."""

    name: str
    content: bytes | Path
    media_type: str = "application/octet-stream"
    collection: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
    origin: Origin = field(default_factory=Origin)
    folder: str | None = None
    taken: bool = False


class DocumentEdit(msgspec.Struct, frozen=True, kw_only=True):
    """What changes of a document's name and place; what is unset stays."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    collection: str | msgspec.UnsetType | None = msgspec.UNSET
    project: str | msgspec.UnsetType | None = msgspec.UNSET
    tags: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which documents are meant: those of a collection or project, with all these tags, of these formats.

    `documents` are ids. What is None, or empty, bounds nothing. `since` (inclusive) and `until`
    (exclusive) bound when it was last changed, microseconds UTC.
    """

    collection: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    documents: tuple[str, ...] | None = None
    since: int | None = None
    until: int | None = None

    @property
    def is_all(self) -> bool:
        """Whether it leaves nothing out."""
        return self == _EVERYTHING


_EVERYTHING: Final = Scope()


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageHit:
    """A passage that answers: characters `begin` to `end` of a page of a content. `score` is 0..1."""

    id: str
    document: Document
    content: Content
    page: int
    label: str
    heading: str
    begin: int
    end: int
    text: str
    score: float

    @property
    def title(self) -> str:
        """What a person calls the place."""
        return title_of(self.document, self.content, self.page, label=self.label)

    @property
    def source(self) -> str:
        """What names the place in citations."""
        return source_of(self.document.id, self.content.id, self.page, span=(self.begin, self.end))


@dataclass(frozen=True, slots=True)
class DocumentState:
    """A document with what was read of it; `next` is read now and takes the content's place when ready."""

    document: Document
    content: Content
    next: Content | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentQuery:
    """Which documents are listed: `text` stands in their name or title; what is None bounds nothing."""

    text: str | None = None
    collection: str | None = None
    project: str | None = None
    tag: str | None = None
    kind: str | None = None
    stage: Stage | None = None

    @property
    def is_by_content(self) -> bool:
        """Whether many may have to be looked at for each that fits."""
        return replace(self, collection=None) != DocumentQuery()

    def fits(self, state: DocumentState) -> bool:
        """Whether a document is one of these."""
        document, read = state.document, state.content
        stages = {one.stage for one in (read, state.next) if one is not None}
        return (
            (self.text is None or self.text.casefold() in f"{document.name}\n{read.title}".casefold())
            and (self.project is None or document.project == self.project)
            and (self.tag is None or self.tag in document.tags)
            and (self.kind is None or read.kind == self.kind)
            and (self.stage is None or self.stage in stages)
        )


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Some documents, the one that changed last first; `cursor` continues behind them."""

    items: Sequence[DocumentState]
    cursor: str | None = None


@dataclass(slots=True)
class Signal:
    """Wakes who waits for it, once for all that was told meanwhile."""

    _told: anyio.Event = field(default_factory=anyio.Event)

    def set(self) -> None:
        """Wake."""
        self._told.set()

    async def wait(self) -> None:
        """Wait until it is set; it is not any more then."""
        await self._told.wait()
        self._told = anyio.Event()


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The documents of all owners; every call acts for one principal.

    `added` is told when there is something to be read. `max_bytes` bounds one file, `quota_bytes` all
    contents of an owner.

    Raises:
        UnknownId: the owner has no such document or collection.
    """

    store: Store
    blobs: Blobs
    clock: Clock
    new_id: Ids
    search_index: Search
    filter_for: FilterFor
    max_bytes: int
    quota_bytes: int | None = None
    added: Signal = field(default_factory=Signal)
    _sweeping: PerKey[str, anyio.Lock] = field(default_factory=lambda: PerKey(anyio.Lock), repr=False)

    # --- what is added

    async def add(self, principal: Principal, new: NewDocument) -> Document:
        """Keep a document; it is read soon. The same bytes under the same name in one place are kept once.

        Durable when it returns.

        Raises:
            TooLarge: it is longer than a file may be, or the owner has no room left.
            BadInput: it is empty, or its name or tags are not fit.
            StorageError: it cannot be kept.
        """
        new = await self._checked(principal.owner, new)
        content = await self._kept(principal.owner, new)
        document = await self._added(principal.owner, new, content)
        self.added.set()
        return document

    async def replace(self, principal: Principal, id: str, new: NewDocument) -> Document:
        """Give a document a newer version; that of before is searched until the new one was read.

        Raises:
            TooLarge, BadInput, StorageError: see `add`.
        """
        before = await self.get(principal, id)
        new = await self._checked(principal.owner, replace(new, name=new.name or before.name))
        content = await self._kept(principal.owner, new)
        document = await self._replaced(principal.owner, id, content, name=new.name)
        self.added.set()
        return document

    async def _checked(self, owner: str, new: NewDocument) -> NewDocument:
        inside = new.collection and (await self._collection(owner, new.collection)).id
        return replace(new, name=fit_name(new.name), tags=fit_tags(new.tags), collection=inside)

    async def _kept(self, owner: str, new: NewDocument) -> str:
        """The id of the content, kept with its bytes; a new one waits to be read."""
        id, size = await anyio.to_thread.run_sync(_hashed, new.content)
        if not size:
            raise BadInput(f"{new.name} is empty: there is nothing to read in it.")
        if size > self.max_bytes:
            raise TooLarge(self.too_large(new.name))
        content = Content(id=id, name=new.name, media_type=new.media_type, size=size, at=self.clock.now_us())
        # What is swept meanwhile must not be these bytes, which no record names yet.
        async with self._sweeping[owner]:
            (known,) = await self.store.get(CONTENTS, owner, [id])
            if known is None:
                await self._check_quota(owner, size, new.name)
                await self.blobs.keep(owner, id, new.content, move=new.taken)
                with suppress(Conflict):  # another process kept the same bytes meanwhile
                    await self.store.commit(owner, [Put(CONTENTS, content, if_version=0)])
        return id

    async def check_room(self, principal: Principal, size: int, name: str) -> None:
        """Nothing, if a file of this size may be added.

        Raises:
            TooLarge: it is longer than a file may be, or the owner has no room left.
        """
        if size > self.max_bytes:
            raise TooLarge(self.too_large(name))
        await self._check_quota(principal.owner, size, name)

    def too_large(self, name: str) -> str:
        """What is said of a file that is longer than one may be."""
        return f"{name} is larger than {self.max_bytes // 1_000_000:,} MB (BETHINK_DOCUMENTS_MAX_BYTES)."

    async def _check_quota(self, owner: str, size: int, name: str) -> None:
        if self.quota_bytes is None:
            return
        used = await self.used_bytes(owner)
        if used + size > self.quota_bytes:
            raise TooLarge(
                f"There is no room for {name}: your documents take {used / 1e6:,.0f} of "
                f"{self.quota_bytes / 1e6:,.0f} MB (BETHINK_DOCUMENTS_QUOTA_MB). Remove some first."
            )

    async def used_bytes(self, owner: str) -> int:
        """How much all contents of an owner take, each once."""
        contents = records_of(self.store, owner, Scan(CONTENTS, limit=_MANY))
        return sum([content.size async for content in contents if content.original])

    @retry_conflicts
    async def _added(self, owner: str, new: NewDocument, content: str) -> Document:
        for document in await self.documents_with(owner, content):
            is_here = (document.collection, document.folder) == (new.collection, new.folder)
            if is_here and document.name == new.name and document.newest == content:
                return document
        now = self.clock.now_us()
        document = Document(
            id=self.new_id(),
            name=new.name,
            content=content,
            versions=(DocumentVersion(content=content, at=now),),
            collection=new.collection,
            project=new.project,
            tags=new.tags,
            origin=new.origin,
            folder=new.folder,
            created_at=now,
            updated_at=now,
        )
        await self.store.commit(
            owner, [Put(DOCUMENTS, document, 0), *await self._use(owner, document, content)]
        )
        return document

    @retry_conflicts
    async def _replaced(self, owner: str, id: str, content: str, *, name: str) -> Document:
        before = await self._get(owner, id)
        was = before.record
        if was.newest == content:
            return was
        now = self.clock.now_us()
        document = msgspec.structs.replace(
            was,
            name=name,
            pending=content,
            versions=(*was.versions, DocumentVersion(content=content, at=now)),
            updated_at=now,
        )
        used = await self._use(owner, document, content)
        await self.store.commit(owner, [Put(DOCUMENTS, document, before.version), *used])
        return document

    async def _use(self, owner: str, document: Document, content: str) -> list[Change]:
        """That a document has a content, which is read if it is not searched yet."""
        (held,) = await self.store.get(CONTENTS, owner, [content])
        if held is None:
            raise Conflict
        stage = held.record.stage
        if stage in {"failed", "cancelled"}:
            stage = "waiting"
        elif stage == "ready" and (document.pending or not held.record.passages):
            # Its passages went with its last document; with them this one's older version goes, too.
            stage = "indexing"
        use = Use(id=use_id(content, document.id), content=content, document=document.id)
        return [
            Put(USES, use),
            Expect(CONTENTS, content, held.version)
            if stage == held.record.stage
            else Put(CONTENTS, msgspec.structs.replace(held.record, stage=stage, error=""), held.version),
        ]

    # --- what is there

    async def get(self, principal: Principal, id: str) -> Document:
        """A document."""
        return (await self._get(principal.owner, id)).record

    async def state(self, principal: Principal, id: str) -> DocumentState:
        """A document with what was read of it."""
        return (await self._states(principal.owner, [await self.get(principal, id)]))[0]

    async def content(self, principal: Principal, id: str) -> Content:
        """What was read of one content."""
        (found,) = await self.store.get(CONTENTS, principal.owner, [id])
        if found is None:
            raise UnknownId("This version of the document is not kept any more.")
        return found.record

    async def version(self, principal: Principal, id: str, content: str | None = None) -> Content:
        """What was read of a version of a document; of the current one if none is named.

        Raises:
            UnknownId: the document has no such version.
        """
        document = await self.get(principal, id)
        if content not in {None, document.content, *(one.content for one in document.versions)}:
            raise UnknownId("This document has no such version.")
        return await self.content(principal, content or document.content)

    async def is_used(self, principal: Principal) -> bool:
        """Whether a principal has any documents."""
        return bool(await self.store.count(principal.owner, DOCUMENTS, {}))

    async def count(self, principal: Principal, collection: str) -> int:
        """How many documents a collection has."""
        return await self.store.count(principal.owner, DOCUMENTS, {"collection": collection})

    async def list(
        self,
        principal: Principal,
        wanted: DocumentQuery | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> DocumentPage:
        """The documents that fit all that is asked, or all, the one that changed last first."""
        wanted = wanted or DocumentQuery()
        where = {} if wanted.collection is None else {"collection": wanted.collection}
        scan = Scan(DOCUMENTS, where, order="updated_at", reverse=True, limit=limit + 1, after=cursor)
        if wanted.is_by_content:
            scan = replace(scan, limit=_MANY)
        found: list[DocumentState] = []
        async for page in pages_of(self.store, principal.owner, scan):
            for state in await self._states(principal.owner, [item.record for item in page]):
                if len(found) == limit:
                    last = found[-1].document
                    return DocumentPage(found, cursor_behind(scan, Position(last.updated_at, last.id)))
                if wanted.fits(state):
                    found.append(state)
        return DocumentPage(found)

    async def in_scope(self, principal: Principal, scope: Scope) -> list[Document]:
        """All documents of a scope."""
        owner = principal.owner
        if scope.documents is not None:
            found = [item.record for item in await self.store.get(DOCUMENTS, owner, scope.documents) if item]
        else:
            where = {} if scope.collection is None else {"collection": scope.collection}
            scan = Scan(DOCUMENTS, where, order="updated_at", limit=_MANY)
            found = [document async for document in records_of(self.store, owner, scan)]
        found = [document for document in found if _is_in(document, scope)]
        if not scope.kinds:
            return found
        contents = await self._contents(owner, {document.content for document in found})
        return [one for one in found if one.content in contents and contents[one.content].kind in scope.kinds]

    async def documents_with(self, owner: str, content: str) -> list[Document]:
        """The documents that have a content, or had it."""
        uses = [use async for use in records_of(self.store, owner, Scan(USES, {"content": content}))]
        found = await self.store.get(DOCUMENTS, owner, [use.document for use in uses])
        return [item.record for item in found if item is not None]

    async def page(self, principal: Principal, content: str, number: int) -> PageText:
        """What a page of a content says, counted from 1."""
        (found,) = await self.store.get(PAGES, principal.owner, [page_id(content, number)])
        if found is None:
            raise UnknownId(f"There is no page {number:,} in what was read of this document.")
        return await self._shown(principal, found.record)

    async def pages(self, principal: Principal, content: str, *, first: int, last: int) -> list[PageText]:
        """Pages `first` to `last` of a content, as far as there are any."""
        scan = Scan(PAGES, {"content": content}, order="number", low=first, high=last + 1, limit=_MANY)
        found = [page async for page in records_of(self.store, principal.owner, scan)]
        return [await self._shown(principal, page) for page in found]

    async def original(self, principal: Principal, content: str) -> Path:
        """Where the bytes of a content are read.

        Raises:
            UnknownId: they are not kept.
        """
        held = await self.content(principal, content)
        path = self.blobs.path(principal.owner, content)
        if not held.original or not await anyio.to_thread.run_sync(path.is_file):
            raise UnknownId(f"The original file of {held.name} is not kept: its text is.")
        return path

    async def _shown(self, principal: Principal, page: PageText) -> PageText:
        reader_filter = await self.filter_for(principal)
        return (
            page
            if reader_filter is None
            else msgspec.structs.replace(page, text=reader_filter.text(page.text))
        )

    async def _get(self, owner: str, id: str) -> Versioned[Document]:
        (found,) = await self.store.get(DOCUMENTS, owner, [id])
        if found is None:
            raise UnknownId("Document not found: it may have been removed.")
        return found

    async def _contents(self, owner: str, ids: Iterable[str]) -> dict[str, Content]:
        found = await self.store.get(CONTENTS, owner, [*dict.fromkeys(ids)])
        return {item.record.id: item.record for item in found if item is not None}

    async def _states(self, owner: str, documents: Sequence[Document]) -> list[DocumentState]:
        wanted = {id for one in documents for id in (one.content, one.pending) if id}
        contents = await self._contents(owner, wanted)
        return [
            DocumentState(one, contents[one.content], contents.get(one.pending or ""))
            for one in documents
            if one.content in contents
        ]

    # --- what is found

    async def search(
        self, principal: Principal, query: str, k: int = 10, *, scope: Scope = _EVERYTHING
    ) -> list[PassageHit]:
        """The passages of a scope that answer a question, best first."""
        within = None
        if not scope.is_all:
            within = frozenset(document.content for document in await self.in_scope(principal, scope))
            if not within:
                return []
        found = await self.search_index.find(principal, query, k, kind=KIND, part_of=within)
        shown = await self._passages(principal.owner, [id for id, _ in found])
        reader_filter = await self.filter_for(principal)
        hits: list[PassageHit] = []
        for id, score in found:
            if (one := shown.get(id)) is None:
                continue
            documents = [document for document in one.documents if _is_in(document, scope)]
            if not documents:
                continue
            text = one.text if reader_filter is None else reader_filter.text(one.text)
            hits.append(
                PassageHit(
                    id=id,
                    document=documents[0],
                    content=one.content,
                    page=one.passage.page,
                    label=one.page.label,
                    heading=one.passage.heading,
                    begin=one.passage.begin,
                    end=one.passage.end,
                    text=text,
                    score=score,
                )
            )
        return hits

    async def recallables(self, principal: Principal, ids: Sequence[str]) -> list[Recallable | None]:
        """What recall shows of these passages; None for what is gone."""
        shown = await self._passages(principal.owner, ids)
        return [one and _recallable(one) for one in map(shown.get, ids)]

    async def _passages(self, owner: str, ids: Sequence[str]) -> dict[str, _ShownPassage]:
        """Those of these passages that are there, with their pages and current documents."""
        passages = [item.record for item in await self.store.get(PASSAGES, owner, ids) if item is not None]
        contents = await self._contents(owner, {passage.content for passage in passages})
        wanted = [*dict.fromkeys(page_id(one.content, one.page) for one in passages)]
        pages = {item.record.id: item.record for item in await self.store.get(PAGES, owner, wanted) if item}
        documents: dict[str, list[Document]] = defaultdict(list)
        for content in contents:
            documents[content] = [
                one for one in await self.documents_with(owner, content) if one.content == content
            ]
        return {
            one.id: _ShownPassage(one, page, contents[one.content], documents[one.content])
            for one in passages
            if one.content in contents
            and documents[one.content]
            and (page := pages.get(page_id(one.content, one.page))) is not None
        }

    # --- what is changed

    @retry_conflicts
    async def change(self, principal: Principal, id: str, edit: DocumentEdit) -> Document:
        """Give a document another name or place, or other tags.

        Raises:
            BadInput: the name or the tags are not fit.
        """
        before = await self._get(principal.owner, id)
        changes = {
            name: value for name, value in msgspec.structs.asdict(edit).items() if value is not msgspec.UNSET
        }
        if edit.name is not msgspec.UNSET:
            changes["name"] = fit_name(edit.name)
        if edit.tags is not msgspec.UNSET:
            changes["tags"] = fit_tags(edit.tags)
        if isinstance(edit.collection, str):
            changes["collection"] = (await self._collection(principal.owner, edit.collection)).id
        after = msgspec.structs.replace(before.record, **changes, updated_at=self.clock.now_us())
        await self.store.commit(principal.owner, [Put(DOCUMENTS, after, before.version)])
        return after

    async def remove(self, principal: Principal, id: str) -> Document:
        """Remove a document with all that nothing else has: its contents, pages, passages and bytes."""
        gone = (await self._get(principal.owner, id)).record
        await self.store.commit(principal.owner, [Delete(DOCUMENTS, id), DeleteAll(USES, {"document": id})])
        await self.drop_unused(principal.owner, [version.content for version in gone.versions])
        await self.store.scrub()
        return gone

    async def drop_unused(self, owner: str, contents: Iterable[str]) -> None:
        """Remove what of these contents no document has, or had; what is read only has no passages then."""
        for content in dict.fromkeys(contents):
            await self._drop_unused(owner, content)
        await self.sweep(owner)

    @retry_conflicts
    async def _drop_unused(self, owner: str, content: str) -> None:
        (held,) = await self.store.get(CONTENTS, owner, [content])
        if held is None:
            return
        documents = await self.documents_with(owner, content)
        if not documents:
            await self.store.commit(
                owner,
                [
                    Delete(CONTENTS, content, held.version),
                    DeleteAll(PAGES, {"content": content}),
                    DeleteAll(PASSAGES, {"content": content}),
                ],
            )
        elif held.record.passages and all(content not in {one.content, one.pending} for one in documents):
            read = msgspec.structs.replace(held.record, passages=0)
            await self.store.commit(
                owner, [Put(CONTENTS, read, held.version), DeleteAll(PASSAGES, {"content": content})]
            )

    async def sweep(self, owner: str) -> None:
        """Remove the bytes that no content names.

        Raises:
            StorageError: some cannot be removed.
        """
        async with self._sweeping[owner]:
            await self.blobs.clean(owner)
            kept = await self.blobs.ids(owner)
            known = await self.store.get(CONTENTS, owner, kept) if kept else ()
            named = {item.record.id for item in known if item is not None and item.record.original}
            await self.blobs.delete(owner, {*kept} - named)

    # --- collections

    async def collections(self, principal: Principal) -> list[DocumentCollection]:
        """All collections, in the order in which they were made."""
        scan = Scan(COLLECTIONS, order="created_at", limit=_MANY)
        return [one async for one in records_of(self.store, principal.owner, scan)]

    async def collection(self, principal: Principal, id_or_name: str) -> DocumentCollection:
        """The collection with this id or name."""
        return await self._collection(principal.owner, id_or_name)

    async def create_collection(
        self, principal: Principal, name: str, description: str = ""
    ) -> DocumentCollection:
        """A new collection.

        Raises:
            BadInput: there is one of this name, or it is not fit.
        """
        name = fit_name(name)
        if any(one.name.casefold() == name.casefold() for one in await self.collections(principal)):
            raise BadInput(f"There is a collection {name!r} already: choose another name.")
        made = DocumentCollection(
            id=self.new_id(), name=name, description=description[:2_000], created_at=self.clock.now_us()
        )
        await self.store.commit(principal.owner, [Put(COLLECTIONS, made, 0)])
        return made

    @retry_conflicts
    async def change_collection(
        self, principal: Principal, id: str, *, name: str | None = None, description: str | None = None
    ) -> DocumentCollection:
        """Rename or describe a collection.

        Raises:
            BadInput: there is another one of this name, or it is not fit.
        """
        (held,) = await self.store.get(COLLECTIONS, principal.owner, [id])
        if held is None:
            raise UnknownId(_NO_COLLECTION)
        wanted = held.record.name if name is None else fit_name(name)
        others = [one.name.casefold() for one in await self.collections(principal) if one.id != id]
        if wanted.casefold() in others:
            raise BadInput(f"There is a collection {wanted!r} already: choose another name.")
        after = msgspec.structs.replace(
            held.record,
            name=wanted,
            description=held.record.description if description is None else description[:2_000],
        )
        await self.store.commit(principal.owner, [Put(COLLECTIONS, after, held.version)])
        return after

    async def remove_collection(self, principal: Principal, id: str, *, documents: bool) -> int:
        """Remove a collection, with its `documents` or without; how many documents went."""
        await self._collection(principal.owner, id)
        inside = await self.in_scope(principal, Scope(collection=id))
        for document in inside:
            if documents:
                await self.remove(principal, document.id)
            else:
                await self.change(principal, document.id, DocumentEdit(collection=None))
        await self.store.commit(principal.owner, [Delete(COLLECTIONS, id)])
        return len(inside) if documents else 0

    async def _collection(self, owner: str, id_or_name: str) -> DocumentCollection:
        (found,) = await self.store.get(COLLECTIONS, owner, [id_or_name])
        if found is not None:
            return found.record
        async for one in records_of(self.store, owner, Scan(COLLECTIONS, order="created_at", limit=_MANY)):
            if one.name.casefold() == id_or_name.casefold():
                return one
        raise UnknownId(_NO_COLLECTION)


@dataclass(frozen=True, slots=True)
class _ShownPassage:
    """A passage with its page, its content, and the documents that say it now."""

    passage: Passage
    page: PageText
    content: Content
    documents: Sequence[Document]

    @property
    def text(self) -> str:
        return self.page.text[self.passage.begin : self.passage.end]


def _recallable(one: _ShownPassage) -> Recallable:
    document = one.documents[0]
    passage = one.passage
    place = source_of(document.id, one.content.id, passage.page, span=(passage.begin, passage.end))
    return Recallable(
        one.text,
        document.updated_at,
        _IMPORTANCE,
        source=place,
        title=title_of(document, one.content, passage.page, label=one.page.label),
        untrusted=True,
        below="\n".join(filter(None, (document.name, above(one.page.text, passage.begin, passage.heading)))),
    )


def title_of(document: Document, content: Content, page: int, *, label: str) -> str:
    """What a person calls a place of a document."""
    return f"{document.name}, {label or f'page {page:,}'}" if content.pages > 1 or label else document.name


def source_of(document: str, content: str, page: int, *, span: tuple[int, int]) -> str:
    """What names a place of a document in citations: the version that was seen, its page, and characters."""
    query = urlencode({"content": content, "page": page, "at": f"{span[0]}-{span[1]}"})
    return f"document:{document}?{query}"


def fit_name(name: str) -> str:
    """A name without path, control characters and marks that hide its ending.

    Raises:
        BadInput: nothing is left of it.
    """
    fit = _HIDDEN.sub(" ", name.replace("\\", "/").rstrip("/").rpartition("/")[2]).strip()
    if not fit:
        raise BadInput("A document needs a name.")
    if len(fit) <= _MAX_NAME:
        return fit
    stem, dot, ending = fit.rpartition(".")
    is_ending = dot and len(ending) < _MAX_NAME // 4
    return f"{stem[: _MAX_NAME - len(ending) - 1]}.{ending}" if is_ending else fit[:_MAX_NAME]


def fit_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags without doubles.

    Raises:
        BadInput: there are too many, or one is too long.
    """
    fit = tuple(dict.fromkeys(tag for one in tags if (tag := " ".join(_HIDDEN.sub(" ", one).split()))))
    if len(fit) > MAX_TAGS:
        raise BadInput(f"A document has at most {MAX_TAGS} tags.")
    if any(len(tag) > _MAX_TAG for tag in fit):
        raise BadInput(f"A tag has at most {_MAX_TAG} characters.")
    return fit


def _is_in(document: Document, scope: Scope) -> bool:
    wanted: Mapping[str, object] = {"collection": scope.collection, "project": scope.project}
    return (
        all(value is None or getattr(document, name) == value for name, value in wanted.items())
        and {*scope.tags} <= {*document.tags}
        and (scope.documents is None or document.id in scope.documents)
        and (scope.since is None or document.updated_at >= scope.since)
        and (scope.until is None or document.updated_at < scope.until)
    )


def _hashed(content: bytes | Path) -> tuple[str, int]:
    """The hex SHA-256 of what is added, and how long it is."""
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest(), len(content)
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
