"""Has contents read, cut into passages and searched, one after the other, beside everything else.

A content is `waiting`, then `reading` (pages are kept as they come), `indexing` (its passages come into the
index, words at once, meaning as the background embeds them), and `ready`. What a process did not end, the
next one takes up where it stands. Whoever changes a content's record, to cancel it, stops its reading.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
import anyio.to_thread
import msgspec

from bethink.documents.library import ADDED, Library
from bethink.documents.passages import PassageLimits, PassageSpan, above, passages_of
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
    Stage,
    page_id,
    passage_id,
)
from bethink.errors import BadInput, BethinkError, Busy, Conflict, DocumentError, UnknownId
from bethink.index import Index, IndexItem
from bethink.store import Change, DeleteAll, Put, Scan, owners_of, records_of, retry_conflicts
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from numpy.typing import NDArray

    from bethink.bus import Bus
    from bethink.documents.archive import PassageLine
    from bethink.documents.reading.extraction import Extraction
    from bethink.documents.reading.messages import Extracted
    from bethink.documents.records import Document
    from bethink.embeddings import Embeddings
    from bethink.principal import Principal

T = TypeVar("T")

_LEASE: Final = "documents-ingest"
_LEASE_S: Final = 30.0
_RENEW_S: Final = 5.0
_LOOK_S: Final = 2.0
"""How soon one process takes over from another that ended."""
_LOOK_AGAIN_S: Final = 60.0
"""How long what nobody was told of may wait: notices between processes may be lost."""
_AT_ONCE: Final = 2
"""Contents that are read at once: one waits for its process while another is kept."""
_PORTION: Final = 200
"""Pages that are read by one process: what follows damage, or takes too long, costs no more than that."""
_MOST_PAGES: Final = 20_000
_BATCH: Final = 200
"""Records of one commit."""
_FAULT: Final = "Something went wrong in Bethink; its log says what. Try again."
_STATES: Final[Mapping[Stage, str]] = {
    "waiting": "waiting to be read",
    "reading": "being read",
    "indexing": "being indexed",
    "ready": "ready",
    "failed": "not readable",
    "cancelled": "cancelled",
}
_HEADING: Final = re.compile(r"^#{1,6} +(.+?)[ #]*$", re.MULTILINE)
_MAX_TITLE: Final = 200
_log = log("documents")


@dataclass(slots=True, kw_only=True)
class Ingest:
    """Reads what the library was given. One process at a time reads, by lease, two contents side by side."""

    library: Library
    extraction: Extraction
    embeddings: Embeddings
    index: Index
    bus: Bus
    limits: PassageLimits
    ask_vectors: Callable[[str], None]
    _taken: set[tuple[str, str]] = field(default_factory=set["tuple[str, str]"])

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

    async def listen(self) -> None:
        """Read what other processes add, for ever: they may end before it is read."""
        async with self.bus.subscribe(ADDED) as notices:
            async for _ in notices:
                self.library.added.set()

    async def take_up(self) -> None:
        """Read what earlier processes left unread, now and from time to time, for ever."""
        while True:
            await self.take_up_once()
            await anyio.sleep(_LOOK_AGAIN_S)

    async def take_up_once(self) -> None:
        """Read what waits, whoever left it."""
        if await self._has_work():
            self.library.added.set()

    async def finish(self, principal: Principal, contents: Sequence[str], *, pause_s: float = 0.05) -> None:
        """Wait until all these contents are read, or cannot be, whichever process does it."""
        self.library.added.set()
        while True:
            found = await self.library.contents.of(principal.owner, contents)
            if all(content.stage not in WORKING for content in found.values()):
                return
            await anyio.sleep(pause_s)

    async def cancel(self, principal: Principal, content: str) -> Content:
        """Stop the reading of a content that is not ready yet."""
        return await self._restage(principal.owner, content, to_work=False)

    async def retry(self, principal: Principal, content: str) -> Content:
        """Read a content again that could not be read, or was cancelled."""
        again = await self._restage(principal.owner, content, to_work=True)
        self.library.added.set()
        return again

    @retry_conflicts
    async def _restage(self, owner: str, id: str, *, to_work: bool) -> Content:
        held = await self.library.contents.held(owner, id)
        content = held.record
        is_working = content.stage in WORKING
        if content.stage == "ready" or is_working is to_work:
            raise Busy(f"This document is {_STATES[content.stage]}.")
        changes: list[Change] = []
        if to_work:
            after = content.restaged("indexing" if content.is_read else "waiting")
        elif content.stage == "indexing":
            # Its pages are whole, and a file may not be there to read them again.
            after = content.restaged("cancelled", passages=0)
            changes.append(DeleteAll(PASSAGES, {"content": id}))
        else:
            after = content.restaged("cancelled", pages=0, done=0)
            changes.append(DeleteAll(PAGES, {"content": id}))
        await self.library.store.commit(owner, [Put(CONTENTS, after, held.version), *changes])
        return after

    # --- what waits

    async def _has_work(self) -> bool:
        async for owner in owners_of(self.library.store, CONTENTS):
            if await self._next(owner) is not None:
                return True
        return False

    async def _read_all(self) -> None:
        """Read until nothing waits, while the lease is renewed."""
        hand, take = anyio.create_memory_object_stream[tuple[str, str]]()
        self._taken.clear()
        async with self.extraction.kept_warm(), anyio.create_task_group() as renewing:
            renewing.start_soon(self._renew)
            async with anyio.create_task_group() as readers, hand, take:
                for _ in range(_AT_ONCE):
                    readers.start_soon(self._read_each, take.clone())
                await self._hand_out(hand)
                await hand.aclose()
            renewing.cancel_scope.cancel()

    async def _renew(self) -> None:
        while True:
            await anyio.sleep(_RENEW_S)
            await self.bus.claim(_LEASE, _LEASE_S)

    async def _read_each(self, waiting: MemoryObjectReceiveStream[tuple[str, str]]) -> None:
        async with waiting:
            async for owner, content in waiting:
                try:
                    await self._ingest(owner, content)
                finally:
                    self._taken.discard((owner, content))

    async def _hand_out(self, hand: MemoryObjectSendStream[tuple[str, str]]) -> None:
        """Hand out what waits, one content of each owner after the other's, until there is nothing."""
        while True:
            owners = [owner async for owner in owners_of(self.library.store, CONTENTS)]
            found = False
            while owners:
                owners = [owner for owner in owners if await self._hand_one(owner, hand)]
                found = found or bool(owners)
                if self.library.added.is_set:
                    # Owners who come now wait for nobody.
                    await self.library.added.wait()
                    break
            else:
                if not found:
                    return

    async def _hand_one(self, owner: str, hand: MemoryObjectSendStream[tuple[str, str]]) -> bool:
        content = await self._next(owner)
        if content is None:
            return False
        self._taken.add((owner, content))
        await hand.send((owner, content))
        return True

    async def _next(self, owner: str) -> str | None:
        """What of an owner's to work at next: what was begun comes first, then what waits the longest."""
        scans = [
            Scan(CONTENTS, {"stage": stage}, order="at", limit=_AT_ONCE + 1) for stage in reversed(WORKING)
        ]
        found = [
            item.record.id for page in await self.library.store.scan(owner, *scans) for item in page.items
        ]
        return next((id for id in found if (owner, id) not in self._taken), None)

    async def _ingest(self, owner: str, content: str) -> None:
        """Bring one content to its end; what somebody changed meanwhile is left to the next look."""
        held = (await self.library.contents.of(owner, [content])).get(content)
        if held is None or held.stage not in WORKING:
            return
        work = _ContentIngest(self, owner, held)
        with recorded(_log, "a document could not be read") as outcome:
            try:
                await work.run()
            except (Superseded, UnknownId):
                _log.info("the reading of a document was stopped: somebody changed it")
            except (DocumentError, BadInput) as error:
                await work.fail(str(error))
        if isinstance(outcome.fault, BethinkError):
            # The disk or the database refuses: whoever runs this tries again, later and later.
            raise outcome.fault
        if outcome.fault is not None:
            await work.fail(_FAULT)


class Superseded(Conflict):
    """Somebody cancelled, forgot or removed what is being read."""


@dataclass(slots=True)
class _ContentIngest:
    """The way of one content, from bytes to what is searched. `content` is what its record said last."""

    ingest: Ingest
    owner: str
    content: Content

    @property
    def id(self) -> str:
        """Of the content."""
        return self.content.id

    async def run(self) -> None:
        if self.content.stage != "indexing":
            await self._read()
        pages = {page.number: page.text async for page in self._pages_of(self.id)}
        await self._index(pages)
        self.ingest.ask_vectors(self.owner)

    @retry_conflicts
    async def _keep(self, changes: Sequence[Change], **fields: object) -> None:
        await self._commit(changes, **fields)

    async def _commit(self, changes: Sequence[Change], **fields: object) -> None:
        """Commit changes with what the content's record says then.

        Raises:
            Superseded: what is read here does not hold any more.
        """
        held = await self.ingest.library.contents.held(self.owner, self.id)
        if (held.record.stage, held.record.revision) != (self.content.stage, self.content.revision):
            raise Superseded
        after = msgspec.structs.replace(held.record, **fields)
        await self.ingest.library.store.commit(self.owner, [Put(CONTENTS, after, held.version), *changes])
        self.content = after

    # --- reading

    async def _read(self) -> None:
        """Keep the pages of a file, a portion at a time."""
        file, extraction = self.content, self.ingest.extraction
        kind = await extraction.kind(await self._path(), file.name, file.media_type)
        gone = [DeleteAll(PAGES, {"content": self.id})]
        await self._keep(gone, stage="reading", kind=kind or "", pages=0, done=0, note="", title="")
        done = 0
        remarks: list[str] = []
        while True:
            try:
                read = await self._portion(done + 1)
            except DocumentError as error:
                if not done:
                    raise
                await self._keep([], stage="indexing", note=_joined([*remarks, str(error)]))
                return
            last = max(read.pages, default=done)
            note = None
            if last == done or last >= read.count:
                note = _joined([*remarks, read.note])
            elif last >= _MOST_PAGES:
                cut = f"Only the first {_MOST_PAGES:,} of {read.count:,} pages are read."
                note = _joined([*remarks, read.remarks, cut])
            remarks.append(read.remarks)
            await self._keep_pages(read, note)
            if note is not None:
                return
            done = last

    async def _keep_pages(self, read: Extracted, note: str | None) -> None:
        """Keep the pages of a portion; with a `note` it was the last one."""
        title = self.content.title or read.title[:_MAX_TITLE] or _title(read.pages)
        batches = [*_batches([*read.pages.items()])] or [()]
        for some in batches:
            fields: dict[str, object] = {"pages": read.count, "title": title}
            fields["kind"] = read.kind or self.content.kind
            if some:
                fields["done"] = some[-1][0]
            if note is not None and some is batches[-1]:
                fields |= {"stage": "indexing", "note": note}
            puts = [
                Put(PAGES, self._page(number, text, read.labels.get(number, ""))) for number, text in some
            ]
            await self._keep(puts, **fields)

    async def _path(self) -> Path:
        return await self.ingest.library.contents.blobs.opened(self.owner, self.id)

    async def _portion(self, first: int) -> Extracted:
        file = self.content
        return await self.ingest.extraction.read(
            await self._path(), file.name, file.media_type, first=first, last=first + _PORTION - 1
        )

    def _page(self, number: int, text: str, label: str) -> PageText:
        return PageText(id=page_id(self.id, number), content=self.id, number=number, text=text, label=label)

    # --- indexing

    async def _index(self, pages: Mapping[int, str]) -> None:
        """Have its passages searched; those that an earlier version had keep their vectors."""
        documents = await self.ingest.library.documents_with(self.owner, self.id)
        # Passages are numbered: those of an earlier, longer cut would stay behind.
        changes: list[Change] = [DeleteAll(PASSAGES, {"content": self.id})]
        spans: Sequence[PassageSpan] = ()
        if any(one.newest == self.id for one in documents):
            spans = await anyio.to_thread.run_sync(passages_of, pages, self.ingest.limits)
        texts = [searched_text(self.content, span, pages) for span in spans]
        known = await self._known_vectors(documents) if spans else {}
        for some in _batches([*enumerate(spans)]):
            changes += [
                self._put(number, span, text=texts[number], vector=known.get(texts[number]))
                for number, span in some
            ]
            if some[-1][0] < len(spans) - 1:
                await self._keep(changes, passages=some[-1][0] + 1)
                changes = []
        await self._settle(changes, len(spans))

    def _put(
        self, number: int, span: PassageSpan, *, text: str, vector: NDArray[np.float32] | None
    ) -> Put[Passage]:
        at, model = self.ingest.library.clock.now_us(), self.ingest.embeddings.model
        item = IndexItem(KIND, text, at, vector, None if vector is None else model, part_of=self.id)
        return Put(PASSAGES, passage_of(self.id, number, span), index=item)

    async def _known_vectors(self, documents: Sequence[Document]) -> dict[str, NDArray[np.float32]]:
        """The vectors of what this content, and those whose place it takes, have in the index, by text."""
        store, index, model = self.ingest.library.store, self.ingest.index, self.ingest.embeddings.model
        before = {one.content for one in documents if one.pending == self.id} | {self.id}
        known: dict[str, NDArray[np.float32]] = {}
        for content in (await self.ingest.library.contents.of(self.owner, before)).values():
            scan = Scan(PASSAGES, {"content": content.id}, order="number", limit=_BATCH)
            passages = [one async for one in records_of(store, self.owner, scan)]
            pages = {page.number: page.text async for page in self._pages_of(content.id)} if passages else {}
            for some in _batches(passages):
                vectors = await index.vectors(self.owner, model, [one.id for one in some])
                for one in some:
                    if one.id in vectors and one.page in pages:
                        known[searched_text(content, one, pages)] = vectors[one.id]
        return known

    def _pages_of(self, content: str) -> AsyncGenerator[PageText]:
        scan = Scan(PAGES, {"content": content}, order="number", limit=_BATCH)
        return records_of(self.ingest.library.store, self.owner, scan)

    @retry_conflicts
    async def _settle(self, changes: Sequence[Change], passages: int) -> None:
        """It is ready: documents that waited for it have it, and what they had before goes from the index."""
        contents = self.ingest.library.contents
        documents = await contents.documents_with(self.owner, self.id)
        switched = {
            item.record.id: Put(
                DOCUMENTS, msgspec.structs.replace(item.record, content=self.id, pending=None), item.version
            )
            for item in documents
            if item.record.pending == self.id
        }
        before = {item.record.content for item in documents if item.record.id in switched} - {self.id}
        dropped = await contents.dropped(self.owner, before, now=[put.record for put in switched.values()])
        await self._commit([*changes, *switched.values(), *dropped], stage="ready", passages=passages)

    async def fail(self, error: str) -> None:
        """Say why it cannot be read. Documents that waited for it keep what they had."""
        with suppress(Superseded, UnknownId):
            await self._keep([], stage="failed", error=error)


def passage_of(content: str, number: int, span: PassageSpan | PassageLine) -> Passage:
    """The record of a passage of a content."""
    return Passage(
        id=passage_id(content, number),
        content=content,
        number=number,
        page=span.page,
        begin=span.begin,
        end=span.end,
        heading=span.heading,
    )


def searched_text(content: Content, span: PassageSpan | Passage, pages: Mapping[int, str]) -> str:
    """What a passage is found by: the document's name, its heading, and what it says."""
    page = pages[span.page]
    said = page[span.begin : span.end]
    return "\n".join(filter(None, (content.name, above(page, span.begin, span.heading), said)))


def _joined(notes: Sequence[str]) -> str:
    """Notes of portions, each once."""
    return " ".join(dict.fromkeys(filter(None, notes)))


def _title(pages: Mapping[int, str]) -> str:
    """The first heading."""
    for number in sorted(pages):
        if found := _HEADING.search(pages[number]):
            return found[1].strip()[:_MAX_TITLE]
    return ""


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))
