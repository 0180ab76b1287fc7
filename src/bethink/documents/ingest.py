"""Has contents read, cut into passages and searched, one after the other, beside everything else.

A content is `waiting`, then `reading` (pages are kept as they come), `indexing` (its passages come into the
index, words at once, meaning as the background embeds them), and `ready`. What a process did not end, the
next one takes up where it stands. Whoever changes a content's record, to cancel it, stops its reading.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
import anyio.to_thread
import msgspec

from bethink.documents.passages import above, passages_of
from bethink.documents.records import (
    CONTENTS,
    DOCUMENTS,
    KIND,
    PAGES,
    PASSAGES,
    WORKING,
    Content,
    PageText,
    Passage,
    page_id,
    passage_id,
)
from bethink.errors import BethinkError, Conflict, DocumentError, UnknownId
from bethink.index import IndexItem
from bethink.store import DeleteAll, Put, Scan, owners_of, records_of, retry_conflicts
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bethink.bus import Bus
    from bethink.documents.library import Library
    from bethink.documents.passages import PassageLimits, PassageSpan
    from bethink.documents.reading.extraction import Extraction
    from bethink.documents.reading.messages import Extracted
    from bethink.embeddings import Embeddings
    from bethink.index import Index
    from bethink.principal import Principal
    from bethink.store import Change, Store, Versioned

T = TypeVar("T")

_LEASE: Final = "documents-ingest"
_LEASE_S: Final = 30.0
_RENEW_S: Final = 5.0
_LOOK_S: Final = 2.0
"""How soon one process takes over from another that ended."""
_PORTION: Final = 200
"""Pages that are read by one process: what follows damage, or takes too long, costs no more than that."""
_MOST_PAGES: Final = 20_000
_BATCH: Final = 200
"""Records of one commit."""
_FAULT: Final = "Something went wrong in Bethink; its log says what. Try again."
_HEADING: Final = re.compile(r"^#{1,6} +(.+?)[ #]*$", re.MULTILINE)
_MAX_TITLE: Final = 200
_log = log("documents")


@dataclass(slots=True, kw_only=True)
class Ingest:
    """Reads what the library was given. One process at a time reads, by lease."""

    library: Library
    extraction: Extraction
    embeddings: Embeddings
    index: Index
    bus: Bus
    limits: PassageLimits
    ask_vectors: Callable[[str], None]

    @property
    def store(self) -> Store:
        """Where the library keeps its records."""
        return self.library.store

    async def run(self) -> None:
        """Read what waits, for ever, when it is asked for."""
        while True:
            await self.library.added.wait()
            while not await self.bus.claim(_LEASE, _LEASE_S):
                await anyio.sleep(_LOOK_S)
                if not await self._has_work():
                    break
            else:
                try:
                    await self._read_all()
                finally:
                    with anyio.CancelScope(shield=True):
                        await self.bus.release(_LEASE)

    async def finish(self, principal: Principal, contents: Sequence[str], *, pause_s: float = 0.05) -> None:
        """Wait until all these contents are read, or cannot be, whichever process does it."""
        self.library.added.set()
        while True:
            found = await self.store.get(CONTENTS, principal.owner, contents)
            if all(item is None or item.record.stage not in WORKING for item in found):
                return
            await anyio.sleep(pause_s)

    async def cancel(self, principal: Principal, content: str) -> Content:
        """Stop the reading of a content that is not ready yet; what was read of it goes."""
        return await self._restage(principal.owner, content, "cancelled")

    async def retry(self, principal: Principal, content: str) -> Content:
        """Read a content again that could not be read, or was cancelled."""
        again = await self._restage(principal.owner, content, "waiting")
        self.library.added.set()
        return again

    @retry_conflicts
    async def _restage(self, owner: str, content: str, stage: str) -> Content:
        held = await self._held(owner, content)
        is_working = held.record.stage in WORKING
        if is_working is (stage == "waiting") or held.record.stage == "ready":
            raise Conflict(f"This document is {held.record.stage}.")
        after = msgspec.structs.replace(held.record, stage=stage, error="", done=0)
        gone: list[Change] = [
            DeleteAll(PAGES, {"content": content}),
            DeleteAll(PASSAGES, {"content": content}),
        ]
        await self.store.commit(owner, [Put(CONTENTS, after, held.version), *gone])
        return after

    async def _held(self, owner: str, content: str) -> Versioned[Content]:
        (held,) = await self.store.get(CONTENTS, owner, [content])
        if held is None:
            raise UnknownId("This document was removed.")
        return held

    # --- reading

    async def _has_work(self) -> bool:
        async for owner in owners_of(self.store, CONTENTS):
            for stage in WORKING:
                if await self.store.count(owner, CONTENTS, {"stage": stage}):
                    return True
        return False

    async def _read_all(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._renew)
            async for owner in owners_of(self.store, CONTENTS):
                for stage in reversed(WORKING):
                    while waiting := await self._next(owner, stage):
                        await self._ingest(owner, waiting)
            tasks.cancel_scope.cancel()

    async def _renew(self) -> None:
        while True:
            await anyio.sleep(_RENEW_S)
            await self.bus.claim(_LEASE, _LEASE_S)

    async def _next(self, owner: str, stage: str) -> str | None:
        (page,) = await self.store.scan(owner, Scan(CONTENTS, {"stage": stage}, limit=1))
        return page.items[0].record.id if page.items else None

    async def _ingest(self, owner: str, content: str) -> None:
        """Bring one content to its end; what somebody changed meanwhile is left to the next look."""
        work = _ContentIngest(self, owner, content)
        with recorded(_log, "a document could not be read") as outcome:
            try:
                await work.run()
            except (Conflict, UnknownId):
                _log.info("the reading of a document was stopped: somebody changed it")
            except DocumentError as error:
                await work.fail(str(error))
        if isinstance(outcome.fault, BethinkError):
            # The disk or the database refuses: whoever runs this tries again, later and later.
            raise outcome.fault
        if outcome.fault is not None:
            await work.fail(_FAULT)


@dataclass(slots=True)
class _ContentIngest:
    """The way of one content, from bytes to what is searched."""

    ingest: Ingest
    owner: str
    content: str

    async def run(self) -> None:
        held = await self._held()
        if held.record.stage != "indexing":
            await self._read(held)
        pages = [page async for page in records_of(self.ingest.store, self.owner, self._of_content)]
        await self._index({page.number: page.text for page in pages})
        await self._settle()
        self.ingest.ask_vectors(self.owner)

    @property
    def _of_content(self) -> Scan[PageText]:
        return Scan(PAGES, {"content": self.content}, order="number", limit=_BATCH)

    async def _held(self) -> Versioned[Content]:
        (held,) = await self.ingest.store.get(CONTENTS, self.owner, [self.content])
        if held is None:
            raise UnknownId
        return held

    async def _keep(self, held: Versioned[Content], changes: Sequence[Change], **fields: object) -> None:
        """Commit changes with what the content's record says now, unless somebody changed it meanwhile."""
        after = msgspec.structs.replace(held.record, **fields)
        await self.ingest.store.commit(self.owner, [Put(CONTENTS, after, held.version), *changes])

    async def _read(self, held: Versioned[Content]) -> None:
        """Keep the pages of a file, a portion at a time."""
        file, extraction = held.record, self.ingest.extraction
        path = self.ingest.library.blobs.path(self.owner, self.content)
        kind = await extraction.kind(path, file.name, file.media_type)
        await self._keep(
            held, [DeleteAll(PAGES, {"content": self.content})], stage="reading", kind=kind or "", done=0
        )
        note = await self._read_pages(file)
        await self._keep(await self._held(), [], stage="indexing", note=note)

    async def _read_pages(self, file: Content) -> str:
        """Keep all pages, a portion at a time; what is to be said of those that are missing."""
        done, title = 0, ""
        while True:
            try:
                read = await self._portion(file, done + 1)
            except DocumentError as error:
                if not done:
                    raise
                return str(error)
            title = title or _title(read.pages)
            for some in _batches([*read.pages.items()]):
                puts = [Put(PAGES, self._page(number, text)) for number, text in some]
                await self._keep(await self._held(), puts, pages=read.count, done=some[-1][0], title=title)
            last = max(read.pages, default=done)
            if last == done or last >= read.count:
                return read.note
            if last >= _MOST_PAGES:
                return f"Only the first {_MOST_PAGES:,} of {read.count:,} pages are read."
            done = last

    async def _portion(self, file: Content, first: int) -> Extracted:
        path = self.ingest.library.blobs.path(self.owner, self.content)
        return await self.ingest.extraction.read(
            path, file.name, file.media_type, first=first, last=first + _PORTION - 1
        )

    def _page(self, number: int, text: str) -> PageText:
        id = page_id(self.content, number)
        return PageText(id=id, content=self.content, number=number, text=text)

    async def _index(self, pages: Mapping[int, str]) -> None:
        """Have its passages searched; those that an earlier version had keep their vectors."""
        held = await self._held()
        spans = await anyio.to_thread.run_sync(passages_of, pages, self.ingest.limits)
        texts = [searched_text(held.record, span, pages) for span in spans]
        known = await self._known_vectors()
        # Passages are numbered: those of an earlier, longer cut would stay behind.
        changes: list[Change] = [DeleteAll(PASSAGES, {"content": self.content})]
        for some in _batches([*enumerate(spans)]):
            for number, span in some:
                changes.append(self._put(number, span, text=texts[number], vector=known.get(texts[number])))
            await self._keep(await self._held(), changes, passages=some[-1][0] + 1)
            changes = []
        if changes:
            await self._keep(await self._held(), changes, passages=0)

    def _put(
        self, number: int, span: PassageSpan, *, text: str, vector: NDArray[np.float32] | None
    ) -> Put[Passage]:
        id = passage_id(self.content, number)
        passage = Passage(
            id=id,
            content=self.content,
            number=number,
            page=span.page,
            begin=span.begin,
            end=span.end,
            heading=span.heading,
        )
        item = IndexItem(
            KIND,
            text,
            self.ingest.library.clock.now_us(),
            vector,
            None if vector is None else self.ingest.embeddings.model,
            part_of=self.content,
        )
        return Put(PASSAGES, passage, index=item)

    async def _known_vectors(self) -> dict[str, NDArray[np.float32]]:
        """The vectors of what this content, and those whose place it takes, have in the index, by text."""
        library, model = self.ingest.library, self.ingest.embeddings.model
        documents = await library.documents_with(self.owner, self.content)
        before = {one.content for one in documents if one.pending == self.content} | {self.content}
        known: dict[str, NDArray[np.float32]] = {}
        for content in before:
            (read,) = await self.ingest.store.get(CONTENTS, self.owner, [content])
            if read is None:
                continue
            scan = Scan(PASSAGES, {"content": content}, order="number", limit=_BATCH)
            passages = [one async for one in records_of(self.ingest.store, self.owner, scan)]
            pages = {page.number: page.text async for page in self._pages_of(content)}
            for some in _batches(passages):
                vectors = await self.ingest.index.vectors(self.owner, model, [one.id for one in some])
                for one in some:
                    if one.id in vectors and one.page in pages:
                        known[searched_text(read.record, one, pages)] = vectors[one.id]
        return known

    def _pages_of(self, content: str) -> AsyncGenerator[PageText]:
        scan = Scan(PAGES, {"content": content}, order="number", limit=_BATCH)
        return records_of(self.ingest.store, self.owner, scan)

    async def _settle(self) -> None:
        """It is ready: documents that waited for it have it, and what they had before goes from the index."""
        library = self.ingest.library
        before: set[str] = set()
        for document in await library.documents_with(self.owner, self.content):
            if document.pending == self.content:
                before.add(await self._switch(document.id))
        await self._keep(await self._held(), [], stage="ready")
        await library.drop_unused(self.owner, before - {self.content})

    @retry_conflicts
    async def _switch(self, id: str) -> str:
        """Give a document its newer content; the id of the one before."""
        store = self.ingest.store
        (held,) = await store.get(DOCUMENTS, self.owner, [id])
        if held is None or held.record.pending != self.content:
            return self.content
        after = msgspec.structs.replace(held.record, content=self.content, pending=None)
        await store.commit(self.owner, [Put(DOCUMENTS, after, held.version)])
        return held.record.content

    @retry_conflicts
    async def fail(self, error: str) -> None:
        """Say why it cannot be read. Documents that waited for it keep what they had."""
        (held,) = await self.ingest.store.get(CONTENTS, self.owner, [self.content])
        if held is not None and held.record.stage in WORKING:
            await self._keep(held, [], stage="failed", error=error)


def searched_text(content: Content, span: PassageSpan | Passage, pages: Mapping[int, str]) -> str:
    """What a passage is found by: the document's name, its heading, and what it says."""
    page = pages[span.page]
    said = page[span.begin : span.end]
    return "\n".join(filter(None, (content.name, above(page, span.begin, span.heading), said)))


def _title(pages: Mapping[int, str]) -> str:
    """The first heading."""
    for number in sorted(pages):
        if found := _HEADING.search(pages[number]):
            return found[1].strip()[:_MAX_TITLE]
    return ""


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))
