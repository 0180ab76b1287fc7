"""Knowledge bases: collections of documents that commands and programs use by name, and that travel.

A base is built from files (`build`), searched, exported as an archive and imported on another machine. What
an import did not end, because its process did, `finish_earlier` removes: a base is there whole or not at all.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import IO, TYPE_CHECKING, Final, TypeVar

import anyio
import anyio.to_thread
import msgspec

from bethink.documents.archive import (
    SCALE,
    ArchiveContent,
    ArchiveWriter,
    ContentLine,
    DocumentLine,
    PageLine,
    PassageLine,
    archive_file,
    unpacked,
)
from bethink.documents.ingest import passage_of, searched_text
from bethink.documents.library import DocumentState, Library, PassageHit, Scope, fit_name, fit_tags
from bethink.documents.records import (
    COLLECTIONS,
    CONTENTS,
    DOCUMENTS,
    KIND,
    PAGES,
    PASSAGES,
    USES,
    WORKING,
    Content,
    Document,
    DocumentCollection,
    PageText,
    Use,
    page_id,
    use_id,
)
from bethink.documents.work_folders import clear_left_over, work_folder
from bethink.errors import BadInput, NotAllowed, TooLarge
from bethink.index import Index, IndexItem
from bethink.store import (
    OWES_SCRUB,
    Collection,
    Delete,
    DeleteAll,
    Expect,
    Put,
    Record,
    Scan,
    owners_of,
    records_of,
    scrub,
)

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from bethink.bus import Bus
    from bethink.documents.archive import Counts, Manifest, Unpacked
    from bethink.documents.model import NewText
    from bethink.documents.passages import PassageLimits
    from bethink.documents.records import Passage
    from bethink.embeddings import EmbeddingModel, Embeddings
    from bethink.feature import Widen
    from bethink.principal import Principal
    from bethink.store import Change, Versioned

T = TypeVar("T")

_LEASE: Final = "kb-import-"
_LEASE_S: Final = 60.0
_BATCH: Final = 200
"""Records of one commit, or a whole content's if it has more pages."""
_UNREAD: Final = frozenset({"failed", "cancelled"})
_LEAST: Final = 0.01
"""Below it a passage has nothing to do with the question."""
_ALL: Final = 1_000_000_000
_HIDDEN: Final = (
    "Filters hide a part of your data from this client: an export would be incomplete. "
    "Export on the command line or the page, or remove the filters."
)


class ArchiveImport(Record, frozen=True, kw_only=True):
    """That an archive is being imported: these contents go again if that does not end well."""

    contents: tuple[str, ...]
    at: int


ARCHIVE_IMPORTS: Final = Collection("document_imports", ArchiveImport, searchable=False)


@dataclass(frozen=True, slots=True)
class ListedBase:
    """A knowledge base, and how many documents it has."""

    base: DocumentCollection
    documents: int


@dataclass(frozen=True, slots=True)
class BaseSummary:
    """A knowledge base, and how much it holds; `waiting` of its documents are still being read."""

    base: DocumentCollection
    documents: int
    waiting: int
    failed: int
    pages: int
    passages: int


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """What an archive holds, or what was imported; `note` says what is missing, and why."""

    name: str
    counts: Counts
    note: str = ""


@dataclass(slots=True, kw_only=True)
class KnowledgeBases:
    """The knowledge bases of all owners; every call acts for one principal.

    Archives are unpacked and put together in folders of `work`, below the data directory.

    Raises:
        UnknownId: the owner has no such base.
    """

    library: Library
    widen: Widen
    embeddings: Embeddings
    index: Index
    bus: Bus
    limits: PassageLimits
    work: Path
    ask_vectors: Callable[[str], None]
    _running: set[str] = field(default_factory=set[str], repr=False)

    # --- what there is

    async def list(self, principal: Principal) -> list[ListedBase]:
        """All bases, in the order in which they were made. Reads none of their documents."""
        store, owner = self.library.store, principal.owner
        return [
            ListedBase(one, await store.count(owner, DOCUMENTS, {"collection": one.id}))
            for one in await self.library.collections(principal)
        ]

    async def get(self, principal: Principal, name: str) -> BaseSummary:
        """The base with this name or id."""
        base = await self.library.collection(principal, name)
        documents = await self.library.in_scope(principal, Scope(collection=base.id))
        contents = await self.library.contents.of(principal.owner, {one.content for one in documents})
        stages = [contents[one.content].stage for one in documents if one.content in contents]
        return BaseSummary(
            base,
            documents=len(documents),
            waiting=sum(stage in WORKING for stage in stages),
            failed=sum(stage in _UNREAD for stage in stages),
            pages=sum(one.pages for one in contents.values()),
            passages=sum(one.passages for one in contents.values()),
        )

    async def documents(self, principal: Principal, name: str) -> list[DocumentState]:
        """The documents of a base by their names."""
        base = await self.library.collection(principal, name)
        found = await self.library.in_scope(principal, Scope(collection=base.id))
        contents = await self.library.contents.of(principal.owner, {one.content for one in found})
        found.sort(key=lambda one: (one.name, one.created_at))
        return [DocumentState(one, contents[one.content]) for one in found if one.content in contents]

    async def remove(self, principal: Principal, name: str) -> int:
        """Remove a base with its documents; how many those were."""
        base = await self.library.collection(principal, name)
        return await self.library.remove_collection(principal, base.id, documents=True)

    async def search(
        self,
        principal: Principal,
        name: str | None,
        query: str,
        *,
        limit: int = 5,
        graph: bool = False,
        min_similarity: float = 0.0,
    ) -> list[PassageHit]:
        """The passages of a base, or of all documents, that answer a question, best first.

        `min_similarity` is the least score, 0..1. With the `graph` also what hangs together with them.
        """
        base = None if name is None else (await self.library.collection(principal, name)).id
        scope = Scope(collection=base)
        hits = await self.library.search(principal, query, limit, scope=scope)
        if graph:
            hits = (await self._widened(principal, query, hits, scope=scope))[:limit]
        return [hit for hit in hits if hit.score >= max(min_similarity, _LEAST)]

    async def _widened(
        self, principal: Principal, query: str, hits: Sequence[PassageHit], *, scope: Scope
    ) -> list[PassageHit]:
        """What was found and what hangs together with what is the principal's own of it, ranked anew."""
        own = {hit.id: hit for hit in hits if hit.owner is None}
        within = None
        if not scope.is_all:
            within = frozenset(one.content for one in await self.library.in_scope(principal, scope))
        found = [(hit.id, hit.score) for hit in own.values()]
        widened = await self.widen(principal, query, found, kind=KIND, part_of=within)
        scores = dict(widened)
        new = [pair for pair in widened if pair[0] not in own][: len(hits)]
        more = await self.library.hits(principal, new, scope=scope)
        kept = [replace(hit, score=scores.get(hit.id, hit.score)) for hit in hits]
        return sorted((*kept, *more), key=lambda hit: -hit.score)

    # --- export

    async def export(
        self, principal: Principal, name: str, target: IO[bytes], *, originals: bool = False
    ) -> ArchiveReport:
        """Write a base as an archive, with the files themselves if they are asked for.

        What is not read yet, or cannot be, is left out: the note of the report says so.

        Raises:
            NotAllowed: something is hidden from this reader.
        """
        if await self.library.filter_for(principal) is not None:
            raise NotAllowed(_HIDDEN)
        base = await self.library.collection(principal, name)
        documents = await self.library.in_scope(principal, Scope(collection=base.id))
        documents.sort(key=lambda one: (one.name, one.created_at, one.content, one.id))
        contents = await self.library.contents.of(
            principal.owner, {id for one in documents for id in _versions(one)}
        )
        ready = {id for id, content in contents.items() if content.stage == "ready"}
        kept = [one for one in documents if one.content in ready]
        async with _in_thread(work_folder(self.work)) as folder:
            writer = ArchiveWriter(folder)
            lines = [_document_line(one, ready) for one in kept]
            await anyio.to_thread.run_sync(writer.add_documents, lines)
            current = {one.content for one in kept}
            for id in sorted({version.content for line in lines for version in line.versions}):
                await self._export_content(principal, writer, contents[id], is_current=id in current)
                if originals and contents[id].original:
                    writer.originals[id] = await self.library.original(principal, id)
            write = partial(writer.write, target, base.name, base.description, model=self.embeddings.model)
            manifest = await anyio.to_thread.run_sync(write)
        left = len(documents) - len(kept)
        note = (
            f"{left:,} of {len(documents):,} documents were not read (yet): they are left out."
            if left
            else ""
        )
        return ArchiveReport(base.name, manifest.counts, note)

    async def export_file(
        self, principal: Principal, name: str, path: Path, *, originals: bool = False
    ) -> ArchiveReport:
        """Write a base to a file, in place of an older archive.

        Raises:
            NotAllowed: something is hidden from this reader.
            BadInput: there is another file of that name.
        """
        async with _in_thread(archive_file(path)) as target:
            return await self.export(principal, name, target, originals=originals)

    async def export_texts(
        self, principal: Principal, name: str, texts: AsyncGenerator[NewText], *, path: Path
    ) -> ArchiveReport:
        """Write what another feature gives as the archive of a base, with the originals and without vectors.

        Raises:
            NotAllowed: something is hidden from this reader.
            BadInput: there is another file of that name.
        """
        if await self.library.filter_for(principal) is not None:
            raise NotAllowed(_HIDDEN)
        async with (
            aclosing(texts),
            _in_thread(archive_file(path)) as target,
            _in_thread(work_folder(self.work)) as folder,
        ):
            writer = ArchiveWriter(folder)
            async for one in texts:
                await anyio.to_thread.run_sync(writer.add_text, one, self.limits)
            write = partial(writer.write, target, name, "", model=self.embeddings.model)
            manifest = await anyio.to_thread.run_sync(write)
        return ArchiveReport(name, manifest.counts)

    async def _export_content(
        self, principal: Principal, writer: ArchiveWriter, content: Content, *, is_current: bool
    ) -> None:
        pages = await self.library.pages(principal, content.id, first=1, last=_ALL)
        scan = Scan(PASSAGES, {"content": content.id}, order="number", limit=_BATCH)
        passages = (
            [one async for one in records_of(self.library.store, principal.owner, scan)] if is_current else []
        )
        vectors = await self._vectors(principal.owner, passages)
        some = ArchiveContent(
            ContentLine(**{name: getattr(content, name) for name in ContentLine.__struct_fields__}),
            [PageLine(number=page.number, text=page.text, label=page.label) for page in pages],
            [
                PassageLine(
                    page=one.page,
                    begin=one.begin,
                    end=one.end,
                    heading=one.heading,
                    vectors=len(vectors.get(one.id, ())),
                )
                for one in passages
            ],
        )
        rows = b"".join(_packed(vectors[one.id]) for one in passages if one.id in vectors)
        await anyio.to_thread.run_sync(writer.add, some, rows)

    async def _vectors(self, owner: str, passages: Sequence[Passage]) -> dict[str, NDArray[np.float32]]:
        vectors: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(passages), _BATCH):
            ids = [one.id for one in passages[start : start + _BATCH]]
            vectors |= await self.index.vectors(owner, self.embeddings.model, ids)
        return vectors

    # --- import

    async def import_archive(
        self, principal: Principal, path: Path, *, name: str | None = None
    ) -> ArchiveReport:
        """Take in an archive as a new base, under its own name or another one: all of it, or nothing.

        Its vectors are taken over if they are of this machine's model; otherwise they are made soon.

        Raises:
            BadInput: the archive is not valid, or there is a base of that name.
            TooLarge: it is too large, or the owner has no room left.
            Conflict: somebody changed one of its documents meanwhile.
        """
        await self.finish_earlier()
        async with _in_thread(unpacked(path, self.work)) as archive:
            manifest = archive.manifest
            name = fit_name(name or manifest.name)
            taken = {one.name.casefold() for one in await self.library.collections(principal)}
            if name.casefold() in taken:
                raise BadInput(f"There is a knowledge base {name!r} already: import it under another name.")
            is_same = _is_of(manifest, self.embeddings.model)
            work = _ArchiveImport(self, principal.owner, archive, is_same)
            await work.run(self._collection_of(manifest, name))
        self.ask_vectors(principal.owner)
        self.library.added.set()
        note = (
            "Its vectors are of another model: they are made anew, and until then words alone are searched."
            if manifest.model is not None and not work.has_vectors
            else ""
        )
        return ArchiveReport(name, manifest.counts, note)

    def _collection_of(self, manifest: Manifest, name: str) -> DocumentCollection:
        return DocumentCollection(
            id=self.library.new_id(),
            name=name,
            description=manifest.description[:2_000],
            created_at=self.library.clock.now_us(),
        )

    async def finish_earlier(self) -> None:
        """Remove what imports and exports have left that ended with their process."""
        await anyio.to_thread.run_sync(clear_left_over, self.work)
        async for owner in owners_of(self.library.store, ARCHIVE_IMPORTS):
            scan = Scan(ARCHIVE_IMPORTS, limit=_BATCH)
            for begun in [one async for one in records_of(self.library.store, owner, scan)]:
                if begun.id not in self._running and await self.claim(begun.id):
                    await self.undo_import(owner, begun)
                    await self.bus.release(_LEASE + begun.id)

    async def undo_import(self, owner: str, begun: ArchiveImport) -> None:
        """Remove what an import has kept so far, but for what documents have meanwhile."""
        await self.library.contents.drop_unused(owner, begun.contents)
        await self.library.store.commit(owner, [Delete(ARCHIVE_IMPORTS, begun.id), OWES_SCRUB])
        await scrub(self.library.store, owner)

    @asynccontextmanager
    async def importing(self, owner: str, begun: ArchiveImport) -> AsyncGenerator[None]:
        """A block in which an import keeps contents: if it does not end well, they go again."""
        self._running.add(begun.id)
        try:
            await self.claim(begun.id)
            await self.library.store.commit(owner, [Put(ARCHIVE_IMPORTS, begun, 0)])
            yield
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.undo_import(owner, begun)
            raise
        finally:
            self._running.discard(begun.id)
            with anyio.CancelScope(shield=True):
                await self.bus.release(_LEASE + begun.id)

    async def claim(self, id: str) -> bool:
        """Hold an import, for a while, against those who would take it for one of a process that ended."""
        return await self.bus.claim(_LEASE + id, _LEASE_S)


@dataclass(slots=True)
class _ArchiveImport:
    """The way of one verified archive into the library."""

    bases: KnowledgeBases
    owner: str
    archive: Unpacked
    has_vectors: bool
    _held: dict[str, Versioned[Content]] = field(default_factory=dict[str, "Versioned[Content]"])
    """The archive's contents that are here already, by id."""
    _ready: dict[str, tuple[Content, int]] = field(default_factory=dict[str, tuple[Content, int]])
    """How the contents that it keeps will be, and the versions of their records now."""

    @property
    def library(self) -> Library:
        return self.bases.library

    async def run(self, collection: DocumentCollection) -> None:
        lines = await anyio.to_thread.run_sync(lambda: [*self.archive.documents()])
        contents = sorted({version.content for line in lines for version in line.versions})
        held = await self.library.store.get(CONTENTS, self.owner, contents)
        self._held = {item.record.id: item for item in held if item is not None}
        new = tuple(id for id in contents if id not in self._held)
        begun = ArchiveImport(id=self.library.new_id(), contents=new, at=self.library.clock.now_us())
        await self._check_room(new)
        async with self.bases.importing(self.owner, begun):
            await self._keep_contents(begun)
            await self._keep_documents(collection, lines, begun)

    async def _check_room(self, new: Sequence[str]) -> None:
        quota = self.library.contents.quota_bytes
        if quota is None:
            return
        members = self.archive.manifest.members
        size = sum(members[f"originals/{id}"].size for id in new if f"originals/{id}" in members)
        used = await self.library.contents.used_bytes(self.owner)
        if used + size > quota:
            raise TooLarge(
                f"There is no room for the archive's files: your documents take {used / 1e6:,.0f} of "
                f"{quota / 1e6:,.0f} MB (BETHINK_DOCUMENTS_QUOTA_MB). Remove some first."
            )

    async def _keep_contents(self, begun: ArchiveImport) -> None:
        contents = self.archive.contents()
        rows = self.archive.vectors() if self.archive.manifest.counts.vectors else None
        try:
            while (some := await anyio.to_thread.run_sync(next, contents, None)) is not None:
                vectors = [None] * len(some.passages)
                if rows:
                    vectors = await anyio.to_thread.run_sync(self._read_vectors, rows, some)
                await self.bases.claim(begun.id)
                held = self._held.get(some.content.id)
                if held is None or held.record.stage in _UNREAD:
                    await self._keep_content(some, vectors)
        finally:
            if rows is not None:
                await anyio.to_thread.run_sync(rows.close)

    def _read_vectors(self, rows: IO[bytes], some: ArchiveContent) -> list[NDArray[np.float32] | None]:
        """The vectors of each passage; None for one that has none, or only another model's."""
        import numpy as np  # heavy: only who imports vectors works with them

        model = self.archive.manifest.model
        dimensions = 0 if model is None else model.dimensions
        found: list[NDArray[np.float32] | None] = []
        for passage in some.passages:
            content = rows.read(passage.vectors * dimensions * 2)
            if not passage.vectors or not self.has_vectors:
                found.append(None)
                continue
            vectors = np.frombuffer(content, "<i2").reshape(-1, dimensions).astype(np.float32)
            found.append(vectors / np.float32(SCALE))
        return found

    async def _keep_content(
        self, some: ArchiveContent, vectors: Sequence[NDArray[np.float32] | None]
    ) -> None:
        line, held = some.content, self._held.pop(some.content.id, None)
        original = self.archive.original(line.id)
        ready = Content(
            **msgspec.structs.asdict(line),
            stage="ready",
            pages=len(some.pages),
            done=len(some.pages),
            passages=len(some.passages),
            original=original is not None or (held is not None and held.record.original),
        )
        # Inert until its documents are there: nothing reads it, nothing shows it.
        now = self.library.clock.now_us()
        waiting = msgspec.structs.replace(ready, stage="cancelled", error="It is being imported.", at=now)
        version = 0 if held is None else held.version
        changes: list[Change] = [
            Put(CONTENTS, waiting, version),
            DeleteAll(PAGES, {"content": line.id}),
            DeleteAll(PASSAGES, {"content": line.id}),
        ]
        for change in self._parts(ready, some, vectors):
            changes.append(change)
            if len(changes) > _BATCH:
                await self.library.store.commit(self.owner, changes)
                changes = [Expect(CONTENTS, line.id, version + 1)]
        await self.library.store.commit(self.owner, changes)
        if original is not None:
            await self.library.contents.blobs.keep(self.owner, line.id, original)
        self._ready[line.id] = ready, version + 1

    def _parts(
        self, content: Content, some: ArchiveContent, vectors: Sequence[NDArray[np.float32] | None]
    ) -> Iterator[Change]:
        pages = {page.number: page.text for page in some.pages}
        for page in some.pages:
            id = page_id(content.id, page.number)
            yield Put(
                PAGES,
                PageText(id=id, content=content.id, number=page.number, text=page.text, label=page.label),
            )
        at, model = self.library.clock.now_us(), self.bases.embeddings.model
        for number, (line, vector) in enumerate(zip(some.passages, vectors, strict=True)):
            passage = passage_of(content.id, number, line)
            text = searched_text(content, passage, pages)
            item = IndexItem(KIND, text, at, vector, None if vector is None else model, part_of=content.id)
            yield Put(PASSAGES, passage, index=item)

    async def _keep_documents(
        self, collection: DocumentCollection, lines: Sequence[DocumentLine], begun: ArchiveImport
    ) -> None:
        """All of it appears at once."""
        documents = [self._document(line, collection.id) for line in lines]
        current = {document.content for document in documents}
        uses = [
            Use(id=use_id(id, document.id), content=id, document=document.id)
            for document in documents
            for id in dict.fromkeys(_versions(document))
        ]
        changes: list[Change] = [
            Put(COLLECTIONS, collection, 0),
            *(Put(DOCUMENTS, document, 0) for document in documents),
            *(Put(USES, use) for use in uses),
            *(Put(CONTENTS, ready, version) for ready, version in self._ready.values()),
            *(_wanted(held, is_current=id in current) for id, held in self._held.items()),
            Delete(ARCHIVE_IMPORTS, begun.id),
        ]
        await self.library.store.commit(self.owner, changes)

    def _document(self, line: DocumentLine, collection: str) -> Document:
        fit = msgspec.structs.replace(line, name=fit_name(line.name), tags=fit_tags(line.tags))
        return Document(id=self.library.new_id(), collection=collection, **msgspec.structs.asdict(fit))


def _wanted(held: Versioned[Content], *, is_current: bool) -> Change:
    """What becomes of a content that is here already: it is searched now, if it was not."""
    content = held.record
    if content.stage != "ready" or content.passages or not is_current:
        return Expect(CONTENTS, content.id, held.version)
    return Put(CONTENTS, msgspec.structs.replace(content, stage="indexing"), held.version)


@asynccontextmanager
async def _in_thread(manager: AbstractContextManager[T]) -> AsyncGenerator[T]:
    """A context manager that blocks as it is entered and left."""
    entered = await anyio.to_thread.run_sync(manager.__enter__)
    try:
        yield entered
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(manager.__exit__, type(error), error, error.__traceback__)
        raise
    else:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(manager.__exit__, None, None, None)


def _is_of(manifest: Manifest, model: EmbeddingModel) -> bool:
    """Whether the archive's vectors compare with those that are made here."""
    return manifest.model is not None and msgspec.structs.astuple(manifest.model) == (
        model.id,
        model.tokenizer,
        model.dimensions,
    )


def _versions(document: Document) -> list[str]:
    return [version.content for version in document.versions]


def _document_line(document: Document, ready: set[str]) -> DocumentLine:
    """A document with those of its versions that were read; the current one is the last."""
    before = [one for one in document.versions if one.content in ready and one.content != document.content]
    current = [one for one in document.versions if one.content == document.content][-1:]
    line = msgspec.convert(document, DocumentLine, from_attributes=True)
    return msgspec.structs.replace(line, versions=(*before, *current))


def _packed(vectors: NDArray[np.float32]) -> bytes:
    return (vectors * SCALE).round().astype("<i2").tobytes()
