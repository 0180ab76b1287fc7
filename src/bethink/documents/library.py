"""The library: documents of all owners, kept beyond conversations, read once and found again with their page.

Doors and tools call `Library`; `ingest` reads what it is given. A content is kept under the hash of its
bytes: what is added twice is kept, read and embedded once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
import msgspec

from bethink.documents.collection_shares import NO_COLLECTION, SeenDocument, SharedCollection, Sharing
from bethink.documents.model import (
    EVERYTHING,
    DocumentEdit,
    DocumentPage,
    DocumentQuery,
    DocumentState,
    NewDocument,
    PassageHit,
    Scope,
    fit_name,
    fit_tags,
    source_of,
    title_of,
)
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
    page_id,
)
from bethink.errors import BadInput, NotAllowed, UnknownId
from bethink.feature import FilterFor, ItemSearch, Recallable
from bethink.store import (
    OWES_SCRUB,
    Delete,
    DeleteAll,
    Expect,
    Position,
    Put,
    Scan,
    pages_of,
    records_of,
    retry_conflicts,
    scrub,
)
from bethink.store import cursor as cursor_behind

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.clock import Clock, Ids
    from bethink.documents.contents import Contents
    from bethink.documents.records import Passage
    from bethink.principal import Principal
    from bethink.store import Change, Store, Versioned

ADDED: Final = "documents-added"
"""The topic on the bus that wakes who reads."""
_IMPORTANCE: Final = 0.5
_MANY: Final = 500
_TOGETHER: Final = 50
"""Documents that are removed in one commit."""
_MAX_DESCRIPTION: Final = 2_000
_NO_DOCUMENT: Final = "Document not found: it may have been removed, or is not shared with you any more."
_NO_VERSION: Final = "This version of the document is not kept any more."
_READ_ONLY: Final = "This collection is shared with you to be read: its owner can let you write."


@dataclass(slots=True)
class Signal:
    """Wakes who waits for it, once for all that was told meanwhile."""

    _told: anyio.Event = field(default_factory=anyio.Event)

    def set(self) -> None:
        """Wake."""
        self._told.set()

    @property
    def is_set(self) -> bool:
        """Whether somebody was told and has not woken yet."""
        return self._told.is_set()

    async def wait(self) -> None:
        """Wait until it is set; it is not any more then."""
        await self._told.wait()
        self._told = anyio.Event()


@dataclass(frozen=True, slots=True)
class _Searched:
    """Where is searched: an owner's documents, by whom, and which of them (None: all that are in scope)."""

    acting: Principal
    documents: Sequence[Document] | None
    owner: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The documents of all owners; every call acts for one principal, and sees what others share with them.

    `bus` tells other processes that there is something to be read, `added` this one.

    Raises:
        UnknownId: there is no such document or collection, or the principal may not see it.
        NotAllowed: they see it, and may not change it.
    """

    contents: Contents
    sharing: Sharing
    bus: Bus
    clock: Clock
    new_id: Ids
    search_index: ItemSearch
    filter_for: FilterFor
    added: Signal = field(default_factory=Signal)

    @property
    def store(self) -> Store:
        """Where the records are."""
        return self.contents.store

    # --- what is added

    async def add(self, principal: Principal, new: NewDocument) -> Document:
        """Keep a document; it is read soon. The same bytes under the same name in one place are kept once.

        Durable when it returns.

        Raises:
            TooLarge: it is longer than a file may be, or the owner has no room left.
            BadInput: it is empty, or its name or tags are not fit.
            JustForgotten: it is a file of a watched folder, and was forgotten.
            StorageError: it cannot be kept.
        """
        new = replace(new, name=fit_name(new.name), tags=fit_tags(new.tags))
        owner = principal.owner
        if new.collection:
            place = await self._place(principal, new.collection, to_write=True)
            owner, new = place.owner, replace(new, collection=place.collection.id)
        return await self._read_soon(owner, new, self._added)

    async def take_in(self, owner: str, new: NewDocument, id: str | None) -> Document:
        """The document that a file of a watched folder is: a new one, or the newer version of one.

        Raises:
            TooLarge, BadInput, JustForgotten, StorageError: see `add`.
        """
        new = replace(new, name=fit_name(new.name))
        if id is not None:
            with suppress(UnknownId):  # removed by hand: a changed file is a new document
                return await self._read_soon(owner, new, partial(self._replaced, id=id))
        return await self._read_soon(owner, new, self._added)

    async def rename(self, owner: str, id: str, *, name: str, origin: Origin) -> None:
        """Have a document follow its file, which was renamed."""
        with suppress(UnknownId):
            await self._changed(owner, id, {"name": fit_name(name), "origin": origin})

    async def replace(self, principal: Principal, id: str, new: NewDocument) -> Document:
        """Give a document a newer version; that of before is searched until the new one was read.

        Raises:
            TooLarge, BadInput, JustForgotten, StorageError: see `add`.
        """
        seen = await self.seen(principal, id, to_write=True)
        new = replace(new, name=fit_name(new.name) if new.name else seen.document.name)
        return await self._read_soon(seen.owner, new, partial(self._replaced, id=id))

    async def _read_soon(
        self, owner: str, new: NewDocument, keep: Callable[[str, NewDocument, str], Awaitable[Document]]
    ) -> Document:
        """Keep the bytes, then the document that has them, and have them read."""
        document = await self._kept(owner, new, keep)
        if new.taken and isinstance(new.content, Path):
            await anyio.to_thread.run_sync(partial(new.content.unlink, missing_ok=True))
        self.added.set()
        await self.bus.publish(ADDED)
        return document

    @retry_conflicts
    async def _kept(
        self, owner: str, new: NewDocument, keep: Callable[[str, NewDocument, str], Awaitable[Document]]
    ) -> Document:
        """A document with its content; again if somebody removed the last other one that had it meanwhile."""
        content = await self.contents.keep(
            owner, new.content, name=new.name, media_type=new.media_type, by_itself=bool(new.folder)
        )
        return await keep(owner, new, content)

    async def _added(self, owner: str, new: NewDocument, content: str) -> Document:
        for item in await self.contents.documents_with(owner, content):
            document = item.record
            is_here = (document.collection, document.folder) == (new.collection, new.folder)
            if new.folder:
                is_here = is_here and document.origin.place == new.origin.place
            if is_here and document.name == new.name and document.newest == content:
                # Its content is used again: one that could not be read is tried once more.
                is_there = Expect(DOCUMENTS, document.id, item.version)
                await self.store.commit(owner, [is_there, *await self.contents.use(owner, document)])
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
            owner, [Put(DOCUMENTS, document, 0), *await self.contents.use(owner, document)]
        )
        return document

    async def _replaced(self, owner: str, new: NewDocument, content: str, *, id: str) -> Document:
        before = await self._held(owner, id)
        was = before.record
        if (was.newest, was.name) == (content, new.name):
            return was
        now = self.clock.now_us()
        document = msgspec.structs.replace(was, name=new.name, updated_at=now)
        changes: list[Change] = []
        if was.newest != content:
            (held,) = await self.store.get(CONTENTS, owner, [content])
            is_searched = held is not None and held.record.stage == "ready" and held.record.passages > 0
            document = msgspec.structs.replace(
                document,
                content=content if is_searched else was.content,
                pending=None if is_searched else content,
                versions=(*was.versions, DocumentVersion(content=content, at=now)),
            )
            changes = await self.contents.use(owner, document)
            before_it = {was.content, was.newest} - {content, document.content}
            changes += await self.contents.dropped(owner, before_it, now=[document])
        await self.store.commit(owner, [Put(DOCUMENTS, document, before.version), *changes])
        return document

    # --- who may see what

    async def seen(self, principal: Principal, id: str, *, to_write: bool = False) -> SeenDocument:
        """A document of the principal's, or of a collection that is shared with them."""
        (held,) = await self.store.get(DOCUMENTS, principal.owner, [id])
        if held is not None:
            return SeenDocument(principal, held)
        for shared in await self.sharing.received(principal):
            (held,) = await self.store.get(DOCUMENTS, shared.owner, [id])
            if held is not None and held.record.collection == shared.collection.id:
                if to_write and not shared.writes:
                    raise NotAllowed(_READ_ONLY)
                return SeenDocument(shared.acting, held, shared.writes)
        raise UnknownId(_NO_DOCUMENT)

    async def _content(self, principal: Principal, id: str) -> tuple[Principal, Content]:
        """A content of a document that the principal may see, and who reads it."""
        (held,) = await self.store.get(CONTENTS, principal.owner, [id])
        if held is not None:
            return principal, held.record
        for shared in await self.sharing.received(principal):
            documents = await self.contents.documents_with(shared.owner, id)
            if any(one.record.collection == shared.collection.id for one in documents):
                return shared.acting, (await self.contents.held(shared.owner, id)).record
        raise UnknownId(_NO_VERSION)

    async def _place(
        self, principal: Principal, id_or_name: str, *, to_write: bool = False
    ) -> SharedCollection:
        """A collection of the principal's, or one that is shared with them."""
        own = [SharedCollection(one, principal, True) for one in await self.collections(principal)]
        all_of_them = [*own, *await self.sharing.received(principal)]
        wanted = id_or_name.casefold()
        found = [one for one in all_of_them if one.collection.id == id_or_name]
        found += [one for one in all_of_them if one.collection.name.casefold() == wanted]
        if not found:
            raise UnknownId(NO_COLLECTION)
        if to_write and not found[0].writes:
            raise NotAllowed(_READ_ONLY)
        return found[0]

    # --- what is there

    async def get(self, principal: Principal, id: str) -> Document:
        """A document."""
        return (await self.seen(principal, id)).document

    async def state(self, principal: Principal, id: str) -> DocumentState:
        """A document with what was read of it."""
        seen = await self.seen(principal, id)
        owner = None if seen.owner == principal.owner else seen.owner
        return (await self._states(seen.owner, [seen.document], owner))[0]

    async def content(self, principal: Principal, id: str) -> Content:
        """What was read of one content."""
        return (await self._content(principal, id))[1]

    async def version(self, principal: Principal, id: str, content: str | None = None) -> Content:
        """What was read of a version of a document; of the current one if none is named.

        Raises:
            UnknownId: the document has no such version.
        """
        seen = await self.seen(principal, id)
        document = seen.document
        if content not in {None, document.content, *(one.content for one in document.versions)}:
            raise UnknownId("This document has no such version.")
        return (await self.contents.held(seen.owner, content or document.content)).record

    async def count(self, principal: Principal, collection: str) -> int:
        """How many documents a collection has."""
        place = await self._place(principal, collection)
        return await self.store.count(place.owner, DOCUMENTS, {"collection": place.collection.id})

    async def list(
        self,
        principal: Principal,
        wanted: DocumentQuery | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> DocumentPage:
        """The documents that fit all that is asked, or all own ones, the one that changed last first."""
        wanted = wanted or DocumentQuery()
        owner, where = principal.owner, dict[str, str]()
        if wanted.collection is not None:
            place = await self._place(principal, wanted.collection)
            owner, where = place.owner, {"collection": place.collection.id}
        whose = None if owner == principal.owner else owner
        scan = Scan(DOCUMENTS, where, order="updated_at", reverse=True, limit=limit + 1, after=cursor)
        if wanted.is_by_content:
            scan = replace(scan, limit=_MANY)
        found: list[DocumentState] = []
        async for page in pages_of(self.store, owner, scan):
            for state in await self._states(owner, [item.record for item in page], whose):
                if len(found) == limit:
                    last = found[-1].document
                    return DocumentPage(found, cursor_behind(scan, Position(last.updated_at, last.id)))
                if wanted.fits(state):
                    found.append(state)
        return DocumentPage(found)

    async def in_scope(self, principal: Principal, scope: Scope) -> list[Document]:
        """The principal's own documents of a scope, the one that changed last first."""
        where = {} if scope.collection is None else {"collection": scope.collection}
        scan = Scan(
            DOCUMENTS, where, order="updated_at", low=scope.since, high=scope.until, reverse=True, limit=_MANY
        )
        found = [one async for one in records_of(self.store, principal.owner, scan) if scope.holds(one)]
        if not scope.kinds:
            return found
        contents = await self.contents.of(principal.owner, {one.content for one in found})
        return [one for one in found if one.content in contents and contents[one.content].kind in scope.kinds]

    async def documents_with(self, owner: str, content: str) -> list[Document]:
        """The documents that have a content, or had it, the oldest first."""
        return [item.record for item in await self.contents.documents_with(owner, content)]

    async def pages(
        self, principal: Principal, content: str, *, first: int = 1, last: int | None = None
    ) -> list[PageText]:
        """Pages `first` to `last` of a content, as this reader sees them."""
        acting, held = await self._content(principal, content)
        scan = Scan(
            PAGES,
            {"content": held.id},
            order="number",
            low=first,
            high=None if last is None else last + 1,
            limit=_MANY,
        )
        reader_filter = await self.filter_for(acting)
        found = [page async for page in records_of(self.store, acting.owner, scan)]
        if reader_filter is None:
            return found
        return [msgspec.structs.replace(page, text=reader_filter.text(page.text)) for page in found]

    async def original(self, principal: Principal, content: str) -> Path:
        """Where the bytes of a content are read.

        Raises:
            UnknownId: they are not kept.
            NotAllowed: a filter may hide a part of it from this reader, which no file can leave out.
        """
        acting, held = await self._content(principal, content)
        if not held.original or not await self.contents.has_bytes(acting.owner, content):
            raise UnknownId(f"The original file of {held.name} is not kept: its text is.")
        if await self.filter_for(acting) is not None:
            raise NotAllowed("A filter may hide a part of this file from you: read its text instead.")
        return await self.contents.blobs.opened(acting.owner, content)

    async def _held(self, owner: str, id: str) -> Versioned[Document]:
        (found,) = await self.store.get(DOCUMENTS, owner, [id])
        if found is None:
            raise UnknownId(_NO_DOCUMENT)
        return found

    async def _states(
        self, owner: str, documents: Sequence[Document], whose: str | None
    ) -> list[DocumentState]:
        wanted = {id for one in documents for id in (one.content, one.pending) if id}
        contents = await self.contents.of(owner, wanted)
        return [
            DocumentState(one, contents[one.content], contents.get(one.pending or ""), whose)
            for one in documents
            if one.content in contents
        ]

    # --- what is found

    async def search(
        self, principal: Principal, query: str, k: int = 10, *, scope: Scope = EVERYTHING
    ) -> list[PassageHit]:
        """The passages of a scope that answer a question, best first; those of shared collections, too.

        A scope that leaves nothing out is what the principal's own bounds leave.
        """
        hits: list[PassageHit] = []
        for place in await self._searched(principal, scope):
            hits += await self._search_in(place, query, k)
        return sorted(hits, key=lambda hit: -hit.score)[:k]

    async def _searched(self, principal: Principal, scope: Scope) -> list[_Searched]:
        """The principal's own documents, and those of each other owner who shares some."""
        if scope.is_all:
            scope = replace(scope, bounds=principal.documents)
        own = None if scope.is_all else await self.in_scope(principal, scope)
        # Documents have their project themselves: what is found of them has none.
        places = [_Searched(replace(principal, project=None), own, None)]
        for shared in await self.sharing.received(principal):
            if scope.reaches(shared.collection.id):
                inside = replace(scope, collection=shared.collection.id)
                documents = await self.in_scope(shared.acting, inside)
                places.append(_Searched(shared.acting, documents, shared.owner))
        return places

    async def hits(
        self, principal: Principal, found: Sequence[tuple[str, float]], *, scope: Scope = EVERYTHING
    ) -> list[PassageHit]:
        """The principal's own passages with these ids, each with its score, as far as the scope has them."""
        own = None if scope.is_all else await self.in_scope(principal, scope)
        return await self._hits(_Searched(principal, own, None), found)

    async def _search_in(self, place: _Searched, query: str, k: int) -> list[PassageHit]:
        within = None
        if place.documents is not None:
            within = frozenset(one.content for one in place.documents)
            if not within:
                return []
        found = await self.search_index.find(place.acting, query, k, kind=KIND, part_of=within)
        return await self._hits(place, found)

    async def _hits(self, place: _Searched, found: Sequence[tuple[str, float]]) -> list[PassageHit]:
        acting = place.acting
        shown = await self._passages(acting.owner, [id for id, _ in found])
        reader_filter = await self.filter_for(acting)
        seen = None if place.documents is None else {one.id for one in place.documents}
        hits: list[PassageHit] = []
        for id, score in found:
            if (one := shown.get(id)) is None:
                continue
            documents = [document for document in one.documents if seen is None or document.id in seen]
            if not documents:
                continue
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
                    text=one.text if reader_filter is None else reader_filter.text(one.text),
                    score=score,
                    owner=place.owner,
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
        contents = await self.contents.of(owner, {passage.content for passage in passages})
        wanted = [*dict.fromkeys(page_id(one.content, one.page) for one in passages)]
        pages = {item.record.id: item.record for item in await self.store.get(PAGES, owner, wanted) if item}
        documents = await self.contents.current(owner, [*contents])
        return {
            one.id: _ShownPassage(one, page, contents[one.content], documents[one.content])
            for one in passages
            if one.content in contents
            and documents[one.content]
            and (page := pages.get(page_id(one.content, one.page))) is not None
        }

    # --- what is changed

    async def change(self, principal: Principal, id: str, edit: DocumentEdit) -> Document:
        """Give a document another name or place, or other tags.

        Raises:
            BadInput: the name or the tags are not fit.
        """
        seen = await self.seen(principal, id, to_write=True)
        changes = {
            name: value for name, value in msgspec.structs.asdict(edit).items() if value is not msgspec.UNSET
        }
        if edit.name is not msgspec.UNSET:
            changes["name"] = fit_name(edit.name)
        if edit.tags is not msgspec.UNSET:
            changes["tags"] = fit_tags(edit.tags)
        if edit.collection is not msgspec.UNSET:
            if seen.owner != principal.owner:
                raise NotAllowed("Only its owner moves a document to another collection.")
            if edit.collection is not None:
                changes["collection"] = (await self.collection(principal, edit.collection)).id
        return await self._changed(seen.owner, id, changes)

    @retry_conflicts
    async def _changed(self, owner: str, id: str, changes: Mapping[str, Any]) -> Document:
        before = await self._held(owner, id)
        after = msgspec.structs.replace(before.record, **changes, updated_at=self.clock.now_us())
        await self.store.commit(owner, [Put(DOCUMENTS, after, before.version)])
        return after

    async def remove(self, principal: Principal, id: str) -> Document:
        """Remove a document with all that nothing else has: its contents, pages, passages and bytes."""
        seen = await self.seen(principal, id, to_write=True)
        await self.remove_all(seen.owner, [id])
        return seen.document

    async def remove_all(self, owner: str, ids: Sequence[str]) -> int:
        """Remove an owner's documents; those that are not there any more are passed over."""
        count = 0
        for start in range(0, len(ids), _TOGETHER):
            count += await self._remove_some(owner, ids[start : start + _TOGETHER])
        if count:
            await self.contents.sweep(owner)
            await scrub(self.store, owner)
        return count

    @retry_conflicts
    async def _remove_some(self, owner: str, ids: Sequence[str]) -> int:
        found = [item for item in await self.store.get(DOCUMENTS, owner, ids) if item is not None]
        contents = [version.content for item in found for version in item.record.versions]
        changes: list[Change] = [OWES_SCRUB] if found else []
        changes += [Delete(DOCUMENTS, item.record.id, item.version) for item in found]
        changes += [DeleteAll(USES, {"document": item.record.id}) for item in found]
        changes += await self.contents.dropped(owner, contents, gone={item.record.id for item in found})
        await self.store.commit(owner, changes)
        return len(found)

    # --- collections

    async def collections(self, principal: Principal) -> list[DocumentCollection]:
        """The principal's own collections, in the order in which they were made."""
        scan = Scan(COLLECTIONS, order="created_at", limit=_MANY)
        return [one async for one in records_of(self.store, principal.owner, scan)]

    async def shared_collections(self, principal: Principal) -> list[SharedCollection]:
        """The collections of other owners that the principal may see."""
        return await self.sharing.received(principal)

    async def collection(self, principal: Principal, id_or_name: str) -> DocumentCollection:
        """The collection with this id or name, the principal's own or a shared one."""
        return (await self._place(principal, id_or_name)).collection

    async def create_collection(
        self, principal: Principal, name: str, description: str = ""
    ) -> DocumentCollection:
        """A new collection.

        Raises:
            BadInput: there is one of this name, or it is not fit.
        """
        made = DocumentCollection(
            id=self.new_id(),
            name=await self._free_name(principal, name),
            description=description[:_MAX_DESCRIPTION],
            created_at=self.clock.now_us(),
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
        held = await self.sharing.held(principal.owner, id)
        was = held.record
        after = msgspec.structs.replace(
            was,
            name=was.name if name is None else await self._free_name(principal, name, but=id),
            description=was.description if description is None else description[:_MAX_DESCRIPTION],
        )
        await self.store.commit(principal.owner, [Put(COLLECTIONS, after, held.version)])
        return after

    async def _free_name(self, principal: Principal, name: str, but: str | None = None) -> str:
        fit = fit_name(name)
        others = [one for one in await self.collections(principal) if one.id != but]
        if any(one.name.casefold() == fit.casefold() for one in others):
            raise BadInput(f"There is a collection {fit!r} already: choose another name.")
        return fit

    async def remove_collection(self, principal: Principal, id: str, *, documents: bool) -> int:
        """Remove a collection, with its `documents` or without; how many documents went."""
        await self.sharing.held(principal.owner, id)
        inside = [one.id for one in await self.in_scope(principal, Scope(collection=id))]
        if documents:
            await self.remove_all(principal.owner, inside)
        else:
            for document in inside:
                await self._changed(principal.owner, document, {"collection": None})
        await self.store.commit(principal.owner, [Delete(COLLECTIONS, id)])
        return len(inside) if documents else 0


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
