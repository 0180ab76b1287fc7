"""The feature of documents: the library, and what reads for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import anyio.to_thread

from bethink.documents.collection_shares import Sharing
from bethink.documents.contents import Contents
from bethink.documents.folder_watch import FolderWatch
from bethink.documents.folders import Folders
from bethink.documents.forgetting import DocumentForgetting
from bethink.documents.ingest import Ingest
from bethink.documents.knowledge_bases import ARCHIVE_IMPORTS, KnowledgeBases
from bethink.documents.library import Library, Signal
from bethink.documents.model import DocumentQuery, NewDocument, PassageHit
from bethink.documents.passages import PassageLimits
from bethink.documents.reading.extraction import Extraction, fault_of
from bethink.documents.records import (
    COLLECTIONS,
    CONTENTS,
    DOCUMENTS,
    FOLDER_FILES,
    FOLDERS,
    FORGOTTEN_FILES,
    KIND,
    PAGES,
    PASSAGES,
    RECEIVED,
    STAGES,
    USES,
    Origin,
    passage_id,
)
from bethink.documents.upkeep import LibraryUpkeep
from bethink.documents.uploads import UPLOADS, Uploads
from bethink.errors import Busy, NotAllowed, UnknownId
from bethink.feature import (
    BackgroundTask,
    Feature,
    GraphItem,
    GraphKind,
    OpenFeature,
    RecallKind,
    RetentionRule,
    graph_label,
)
from bethink.forgettable import Removal
from bethink.index import IndexQuery
from bethink.internet.decoder import decoded
from bethink.sandbox.choice import Walls
from bethink.settings.live import Part, follows
from bethink.store import Scan, owners_of, records_of

if TYPE_CHECKING:
    from bethink.documents.records import Document, Stage
    from bethink.embeddings import Embeddings
    from bethink.feature import Surroundings
    from bethink.internet import Internet
    from bethink.principal import Principal
    from bethink.redaction import Redaction
    from bethink.settings import Settings

_PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryStatus:
    """How many contents of an owner are how far, how many `bytes` they take, and how they are found.

    `passages` are those that are searched, `without_vector` those of them that only words find as yet.
    `reader` says as a sentence where files are read.
    """

    waiting: int
    reading: int
    indexing: int
    ready: int
    failed: int
    bytes: int
    quota_bytes: int | None
    passages: int
    without_vector: int
    reader: str


@dataclass(frozen=True, slots=True)
class Documents:
    """What is kept, what is read of it, and what is on its way there."""

    library: Library
    ingest: Ingest
    uploads: Uploads
    bases: KnowledgeBases
    folders: Folders
    watch: FolderWatch

    async def add_address(
        self, principal: Principal, internet: Internet | None, *, address: str, place: NewDocument
    ) -> Document:
        """Keep what stands at an address of the web, in the collection and with the tags of `place`.

        An address that is there already gets a newer version, or nothing if it says what it said.

        Raises:
            NotAllowed: the web is switched off.
            WebError: nothing came from there, or it is not opened.
            TooLarge, StorageError: see `Library.add`.
        """
        if internet is None:
            raise NotAllowed("The web is switched off: BETHINK_WEB_ENABLED.")
        internet.check()
        address = address if "://" in address else f"https://{address}"
        came = await internet.pages.download(address)
        content = came.content
        if came.charset and came.media_type.startswith("text/"):
            # Only its server knows how it is written.
            content = (await anyio.to_thread.run_sync(decoded, content, came.charset)).encode()
        parts = urlsplit(came.url)
        new = replace(
            place,
            name=place.name or unquote(parts.path.rstrip("/").rpartition("/")[2]) or parts.netloc,
            content=content,
            media_type=came.media_type or place.media_type,
            origin=Origin(kind="url", place=address),
        )
        held = await self._of_address(principal, address, place.collection)
        if held is None:
            return await self.library.add(principal, new)
        document = await self.library.replace(principal, held, replace(new, name=place.name))
        with suppress(Busy, UnknownId):  # only what could not be read is tried once more
            await self.ingest.retry(principal, document.newest)
        return document

    async def _of_address(self, principal: Principal, address: str, collection: str | None) -> str | None:
        """The id of the document that came from an address, in this collection or in any."""
        wanted, cursor = DocumentQuery(collection=collection), None
        while True:
            page = await self.library.list(principal, wanted, limit=_PAGE, cursor=cursor)
            for state in page.items:
                if state.document.origin == Origin(kind="url", place=address):
                    return state.document.id
            if (cursor := page.cursor) is None:
                return None

    async def stages(self, owner: str) -> dict[Stage, int]:
        """How many contents of an owner are at each stage."""
        store = self.library.store
        return {stage: await store.count(owner, CONTENTS, {"stage": stage}) for stage in STAGES}

    async def all_stages(self) -> dict[Stage, int]:
        """The same of all owners."""
        total: Counter[Stage] = Counter(dict.fromkeys(STAGES, 0))
        async for owner in owners_of(self.library.store, CONTENTS):
            total.update(await self.stages(owner))
        return dict(total)

    async def status(self, principal: Principal) -> LibraryStatus:
        """How far an owner's documents are."""
        ingest, library, owner = self.ingest, self.library, principal.owner
        stages: Counter[str] = Counter()
        size = 0
        async for content in records_of(library.store, owner, Scan(CONTENTS, limit=_PAGE)):
            stages[content.stage] += 1
            size += content.size * content.original
        import numpy as np  # heavy: a server answers before it is loaded

        model = ingest.embeddings.model
        # What the index counts on its way to the nearest of any vector.
        vector = np.eye(1, model.dimensions, dtype=np.float32)[0]
        found = await ingest.index.search(
            IndexQuery(owner, vector=vector, model=model, kinds=frozenset({KIND}), limit=1)
        )
        return LibraryStatus(
            **{stage: stages[stage] for stage in ("waiting", "reading", "indexing", "ready", "failed")},
            bytes=size,
            quota_bytes=library.contents.quota_bytes,
            passages=found.searched,
            without_vector=found.without_vector,
            reader=ingest.extraction.state,
        )


def _quota(settings: Settings) -> int | None:
    """In bytes."""
    return settings.documents_quota_mb and settings.documents_quota_mb * 1_000_000


def _library(at: Surroundings) -> Library:
    settings = at.settings
    contents = Contents(
        store=at.store,
        blobs=at.blobs.area("documents"),
        clock=at.clock,
        digest=at.digest,
        max_bytes=settings.documents_max_bytes,
        quota_bytes=_quota(settings),
    )
    return Library(
        contents=contents,
        sharing=Sharing(store=at.store, clock=at.clock, find_user=at.find_user, acting=at.acting),
        bus=at.bus,
        clock=at.clock,
        new_id=at.new_id,
        search_index=at.search,
        filter_for=at.filter_for,
    )


def passage_limits(embeddings: Embeddings, settings: Settings) -> PassageLimits:
    """How documents are cut into passages, as the settings want it."""
    return PassageLimits(
        settings.documents_passage_tokens, settings.documents_passage_overlap, embeddings.pieces
    )


def _ingest(at: Surroundings, library: Library) -> Ingest:
    settings = at.settings
    walls = Walls(settings.code_sandbox, settings.data_dir, fault_of)
    return Ingest(
        library=library,
        extraction=Extraction(settings.documents_timeout_s, settings.documents_memory_mb * 2**20, walls),
        embeddings=at.embeddings,
        index=at.index,
        bus=at.bus,
        limits=passage_limits(at.embeddings, settings),
        ask_vectors=at.ask_vectors,
    )


def _documents(at: Surroundings) -> Documents:
    settings = at.settings
    library = _library(at)
    ingest = _ingest(at, library)
    folders = Folders(
        library=library,
        kind=ingest.extraction.kind,
        digest=at.digest,
        find_user=at.find_user,
        data_dir=settings.data_dir,
        roots=settings.documents_folders,
        changed=Signal(),
    )
    bases = KnowledgeBases(
        library=library,
        widen=at.widen,
        embeddings=at.embeddings,
        index=at.index,
        bus=at.bus,
        limits=ingest.limits,
        work=settings.data_dir / "unpacking",
        ask_vectors=at.ask_vectors,
    )
    return Documents(
        library=library,
        ingest=ingest,
        uploads=Uploads(library, settings.data_dir / "uploads"),
        bases=bases,
        folders=folders,
        watch=FolderWatch(folders, at.bus),
    )


def _parts(at: Surroundings, documents: Documents, upkeep: LibraryUpkeep) -> list[Part]:
    """What follows the settings."""
    ingest, limits = documents.ingest, partial(passage_limits, at.embeddings)
    return [
        follows(
            documents.library.contents, max_bytes=lambda now: now.documents_max_bytes, quota_bytes=_quota
        ),
        follows(
            ingest.extraction,
            seconds=lambda now: now.documents_timeout_s,
            memory=lambda now: now.documents_memory_mb * 2**20,
        ),
        follows(ingest, limits=limits),
        follows(documents.bases, limits=limits),
        follows(documents.folders, roots=lambda now: now.documents_folders),
        follows(upkeep, versions_days=lambda now: now.documents_versions_days),
    ]


def _open(at: Surroundings) -> OpenFeature:
    documents = _documents(at)
    library, ingest, uploads = documents.library, documents.ingest, documents.uploads
    forgetting = DocumentForgetting(library)
    upkeep = LibraryUpkeep(library, at.settings.documents_versions_days)

    async def redact(owner: str, gone: Redaction) -> Removal:
        hidden = await forgetting.redact(owner, gone)
        # Nobody can say what an upload holds.
        return Removal([*hidden.changes, *await uploads.forgotten(owner)], notes=hidden.notes)

    async def clean(owner: str) -> None:
        await forgetting.clean(owner)
        await uploads.clean(owner)

    async def take_up() -> None:
        """What earlier processes did not end."""
        await documents.bases.finish_earlier()
        await uploads.clean_all()
        await ingest.take_up()

    return OpenFeature(
        service=documents,
        parts=_parts(at, documents, upkeep),
        recall=[
            RecallKind(
                name=KIND, resolve=library.recallables, on_request=True, graph=PassageGraph(library).kind
            )
        ],
        forgettable=forgetting.forgettable,
        cut=forgetting.cut,
        redact=redact,
        clean=clean,
        documents=upkeep.forms,
        check=upkeep.check,
        statistics=upkeep.statistics,
        retention=[
            RetentionRule(of=(UPLOADS,), log="uploads that were not ended are removed", drop=uploads.expire),
            RetentionRule(
                of=(DOCUMENTS,), log="old versions of documents are removed", drop=upkeep.drop_versions
            ),
        ],
        tasks=[
            BackgroundTask(name="reading of documents", run=ingest.run),
            BackgroundTask(name="news of documents", run=ingest.listen),
            BackgroundTask(name="watching of folders", run=documents.watch.watch, served=True),
            BackgroundTask(name="documents left unread", run=take_up, served=True),
        ],
    )


FEATURE = Feature(
    name="documents",
    open=_open,
    collections=(
        DOCUMENTS,
        USES,
        CONTENTS,
        PAGES,
        PASSAGES,
        COLLECTIONS,
        RECEIVED,
        FORGOTTEN_FILES,
        FOLDERS,
        FOLDER_FILES,
        UPLOADS,
        ARCHIVE_IMPORTS,
    ),
    commands="bethink.cli.documents",
    routes=tuple(
        f"bethink.web.documents.{part}"
        for part in ("collections", "folders", "uploads", "graph", "documents")
    ),
    counted={"documents": ("document", DOCUMENTS)},
    by_parts=frozenset({KIND}),
)


_DOCUMENT: Final = "document:"
_OF_ONE: Final = 40
"""Passages of one document that are shown, if it is named."""
_NEWEST: Final = Scan(DOCUMENTS, order="updated_at", reverse=True, limit=200)


@dataclass(frozen=True, slots=True)
class PassageGraph:
    """The passages of all owners, each in its document and between those before and behind it."""

    library: Library

    @property
    def kind(self) -> GraphKind:
        """How they stand in the graph."""
        return GraphKind(newest=self.newest, of_items=self.of_items, of_nodes=self.of_nodes)

    async def newest(
        self, principal: Principal, limit: int, part_of: frozenset[str] | None
    ) -> tuple[list[GraphItem], int]:
        """Passages of the newest documents by turns: the first of each, the second of each."""
        owner, store = principal.owner, self.library.store
        if part_of is None:
            total = await store.count(owner, PASSAGES, {})
        else:
            total = sum([await store.count(owner, PASSAGES, {"content": one}) for one in part_of])
        contents: dict[str, None] = {}
        async for document in records_of(store, owner, _NEWEST):
            if part_of is None or document.content in part_of:
                contents[document.content] = None
            if len(contents) == limit:
                break
        rows = await self._ids(owner, [*contents], limit)
        longest = max(map(len, rows), default=0)
        ids = [row[turn] for turn in range(longest) for row in rows if turn < len(row)][:limit]
        return [*(await self.of_items(principal, ids)).values()], total

    async def of_items(self, principal: Principal, ids: Sequence[str]) -> dict[str, GraphItem]:
        """The passages with these ids that are there."""
        hits = await self.library.hits(principal, [(id, 1.0) for id in ids])
        return {hit.id: _item(hit) for hit in hits}

    async def of_nodes(self, principal: Principal, ids: Sequence[str]) -> list[GraphItem]:
        """The passages that are named, and the first of the documents that are."""
        owner, store = principal.owner, self.library.store
        wanted = [id for id in ids if not id.startswith(_DOCUMENT)]
        for id in ids:
            if id.startswith(_DOCUMENT):
                (held,) = await store.get(DOCUMENTS, owner, [id.removeprefix(_DOCUMENT)])
                if held is not None:
                    wanted += (await self._ids(owner, [held.record.content], _OF_ONE))[0]
        return [*(await self.of_items(principal, wanted)).values()]

    async def _ids(self, owner: str, contents: Sequence[str], limit: int) -> list[list[str]]:
        """The first passages of each of these contents, in their order."""
        scans = [Scan(PASSAGES, {"content": one}, order="number", limit=limit) for one in contents]
        pages = await self.library.store.scan(owner, *scans) if scans else []
        return [[item.record.id for item in page.items] for page in pages]


def _item(hit: PassageHit) -> GraphItem:
    content, _, number = hit.id.rpartition(":p")
    place = int(number)
    return GraphItem(
        id=hit.id,
        kind=KIND,
        label=hit.heading or hit.label or graph_label(hit.text),
        text=hit.text,
        source=hit.source,
        items=(hit.id,),
        whole=(f"{_DOCUMENT}{hit.document.id}", hit.document.name),
        page=hit.page,
        names=(hit.document.name,),
        before=passage_id(content, place - 1) if place else None,
        behind=passage_id(content, place + 1),
    )
