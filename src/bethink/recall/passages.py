"""What files of conversations say: a page of one, or the passages of some that bear on a question.

`tools/documents` asks. A file is read when it is first asked for, its passages
are embedded when they are first searched, and recall itself searches them, over
an index of their own. All of it lies in memory alone, an hour behind its last use
at most, and goes with its conversation and with whatever is forgotten.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from bethink.documents.passages import PassageLimits, PassageSpan, above, passages_of
from bethink.embeddings.windows import embed_windows
from bethink.engines.memory import MemoryIndex
from bethink.errors import BadInput, DocumentError, EmbeddingsUnavailable
from bethink.feature import Recallable, RecallKind
from bethink.index import IndexItem
from bethink.recall.service import Recall, RecallQuestion
from bethink.search.analysis import ShardEntry, model_key, quantized

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.clock import Clock
    from bethink.documents.reading.extraction import Extraction
    from bethink.documents.reading.messages import Extracted
    from bethink.embeddings import Embeddings
    from bethink.principal import Principal
    from bethink.tool import HeldFile
    from bethink.visibility.reader_filter import ReaderFilter
    from bethink.visibility.service import ReaderFilters

KIND: Final = "passage"
_KEPT_S: Final = 3_600
_MOST_CHARS: Final = 20_000_000
"""Of all that is kept: some 100 MB with words and vectors."""
_AHEAD: Final = 10
"""So many pages are read when one is asked for: who reads one reads on."""
_BATCH: Final = 16
"""Passages that are embedded before somebody looks at the clock: a second, on a slow machine."""
_IMPORTANCE: Final = 0.5
_MOST_FILES: Final = 50
_UNREAD: Final = "{} was not read in time: ask again."
_BY_WORDS: Final = (
    "Only {:,} of {:,} passages were searched by meaning, all by words: ask again for the others."
)
_NO_MODEL: Final = "Passages were found by words only: {}"


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page of `count`; `note` says what of the file is not read."""

    number: int
    text: str
    count: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class FilePassage:
    """What a file says at one place; `page` is None where it has only one. `score` is 0..1."""

    file: str
    page: int | None
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class PassageHits:
    """Passages, best first; `notes` say what was not searched, and why."""

    passages: Sequence[FilePassage]
    notes: Sequence[str] = ()


@dataclass(slots=True)
class _Held:
    """What is known of one content, and the conversations in which it was asked for."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    conversations: set[str] = field(default_factory=set[str])
    pages: dict[int, str] = field(default_factory=dict[int, str])
    count: int = 0
    note: str = ""
    is_read: bool = False
    places: list[PassageSpan] = field(default_factory=list["PassageSpan"])
    entries: list[ShardEntry] = field(default_factory=list["ShardEntry"])
    used: float = 0
    chars: int = 0

    def take(self, read: Extracted) -> None:
        self.pages |= read.pages
        self.count, self.note = read.count, read.note
        self.chars = sum(map(len, self.pages.values()))

    def text(self, place: PassageSpan) -> str:
        return self.pages[place.page][place.begin : place.end]

    def below(self, place: PassageSpan) -> str:
        """What stands above a passage."""
        return above(self.pages[place.page], place.begin, place.heading)

    def searched(self, place: PassageSpan) -> str:
        """What a passage is found by."""
        return "\n".join(filter(None, (self.below(place), self.text(place))))


class Passages:
    """The files of all owners, as far as they were asked for lately. `search_s` bounds one search."""

    def __init__(
        self,
        extraction: Extraction,
        embeddings: Embeddings,
        clock: Clock,
        *,
        limits: PassageLimits,
        search_s: float = 60,
        reader_filters: ReaderFilters | None = None,
    ) -> None:
        self._reader_filters = reader_filters
        self.extraction = extraction
        self.search_s = search_s
        self._embeddings = embeddings
        self._clock = clock
        self.limits = limits
        self._held: OrderedDict[tuple[str, str], _Held] = OrderedDict()
        self._digests: dict[tuple[str, str], str] = {}
        self._sweeping: asyncio.TimerHandle | None = None

    @property
    def count(self) -> int:
        """How many contents are held."""
        return len(self._held)

    async def page(self, owner: str, conversation: str, *, file: HeldFile, number: int) -> DocumentPage:
        """One page, counted from 1.

        Raises:
            DocumentError: the file cannot be read.
            BadInput: it has no such page.
        """
        held = await self._of(owner, conversation, file)
        async with held.lock:
            if number not in held.pages and (not held.count or number <= held.count):
                last = number + _AHEAD - 1
                read = await self.extraction.read(
                    file.path, file.name, file.media_type, first=number, last=last
                )
                held.take(read)
        self._bound()
        text = held.pages.get(number)
        if text is None:
            there = f"{held.count:,} pages" if held.count > 1 else "one page" if held.count else "no text"
            raise BadInput(f"{file.name} has {there}: there is no page {number:,}.")
        return DocumentPage(number, text, held.count, held.note)

    async def search(
        self, principal: Principal, conversation: str, *, files: Sequence[HeldFile], question: RecallQuestion
    ) -> PassageHits:
        """The passages of these files that bear most on a question.

        What takes longer than the time for it is left out, and told; asked again, it goes on.

        Raises:
            BadInput: see `Recall.ask`.
        """
        notes: list[str] = []
        named = await self._read(principal.owner, conversation, files[-_MOST_FILES:], notes=notes)
        if len(files) > _MOST_FILES:
            notes.append(f"Only the newest {_MOST_FILES} files were searched: name others to search them.")
        missing = await self._embed([held for _, held in named], anyio.current_time() + self.search_s / 2)
        if missing is not None:
            notes.append(missing)
        reader_filter = None if self._reader_filters is None else await self._reader_filters.of(principal)
        searched = _Searched(principal.owner, named, reader_filter)

        async def filter_for(_: Principal) -> ReaderFilter | None:
            return reader_filter

        recall = Recall(
            searched.index,
            self._embeddings,
            self._clock,
            kinds={KIND: RecallKind(name=KIND, resolve=searched.recallables, filters_itself=True)},
            filter_for=filter_for,
        )
        # These files are the conversation's, whatever project it belongs to.
        answer = await recall.ask(replace(principal, project=None), question)
        self._bound()
        return PassageHits([searched.passage(hit.id, hit.score) for hit in answer.hits], notes)

    def leave(self, owner: str, conversation: str) -> None:
        """A conversation is gone: what nobody else asked for goes with it."""
        for key, held in [*self._held.items()]:
            if key[0] == owner:
                held.conversations.discard(conversation)
                if not held.conversations:
                    del self._held[key]

    def forget(self, owner: str) -> None:
        """Nothing of the owner's files is held any more: what is asked for again is read again."""
        for key in [key for key in self._held if key[0] == owner]:
            del self._held[key]
        for key in [key for key in self._digests if key[0] == owner]:
            del self._digests[key]

    async def _of(self, owner: str, conversation: str, file: HeldFile) -> _Held:
        digest = self._digests.get((owner, file.id))
        if digest is None:
            try:
                digest = await anyio.to_thread.run_sync(_digest, file.path)
            except OSError as error:
                raise DocumentError(f"The content of {file.name} is not there any more.") from error
            self._digests[owner, file.id] = digest
        held = self._held.setdefault((owner, f"{digest}:{file.name}"), _Held())
        self._held.move_to_end((owner, f"{digest}:{file.name}"))
        held.conversations.add(conversation)
        held.used = anyio.current_time()
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(_KEPT_S, self._sweep)
        return held

    async def _read(
        self, owner: str, conversation: str, files: Iterable[HeldFile], *, notes: list[str]
    ) -> list[tuple[str, _Held]]:
        ready: dict[str, tuple[str, _Held]] = {}
        unread: dict[str, str] = {}

        async def one(file: HeldFile) -> None:
            try:
                held = await self._of(owner, conversation, file)
                async with held.lock:
                    await self._whole(held, file)
            except DocumentError as error:
                unread[file.id] = f"Not searched: {error}"
            else:
                ready[file.id] = (file.name, held)

        files = [*files]
        with anyio.move_on_after(self.search_s / 2):
            async with anyio.create_task_group() as tasks:
                for file in files:
                    tasks.start_soon(one, file)
        for file in files:
            if file.id not in ready:
                notes.append(unread.get(file.id) or _UNREAD.format(file.name))
            elif note := ready[file.id][1].note:
                notes.append(f"{file.name}: {note}")
        return [ready[file.id] for file in files if file.id in ready]

    async def _whole(self, held: _Held, file: HeldFile) -> None:
        if held.is_read:
            return
        if not held.count or len(held.pages) < held.count:
            held.take(await self.extraction.read(file.path, file.name, file.media_type))
        held.places, held.entries = await anyio.to_thread.run_sync(self._cut, held)
        held.is_read = True

    def _cut(self, held: _Held) -> tuple[list[PassageSpan], list[ShardEntry]]:
        index = MemoryIndex()
        places = passages_of(held.pages, self.limits)
        texts = (held.searched(place).encode("utf-8", "replace").decode() for place in places)
        return places, [
            index.entry(str(number), IndexItem(KIND, text, at=0)) for number, text in enumerate(texts)
        ]

    async def _embed(self, held: Sequence[_Held], end: float) -> str | None:
        """Give passages their vectors until the time is over; what is to be said of those without."""
        key = model_key(self._embeddings.model)
        wanted = [
            (one, number) for one in held for number, entry in enumerate(one.entries) if entry.model != key
        ]
        done = 0
        try:
            while done < len(wanted) and anyio.current_time() < end:
                batch = wanted[done : done + _BATCH]
                vectors = await embed_windows(
                    self._embeddings, [one.searched(one.places[number]) for one, number in batch]
                )
                for (one, number), vector in zip(batch, vectors, strict=True):
                    one.entries[number] = one.entries[number]._replace(model=key, vector=quantized(vector))
                done += len(batch)
        except EmbeddingsUnavailable as error:
            return _NO_MODEL.format(error)
        total = sum(len(one.entries) for one in held)
        return None if done >= len(wanted) else _BY_WORDS.format(total - len(wanted) + done, total)

    def _bound(self) -> None:
        """Let go of what was used longest ago, where all of it has become too much."""
        total = sum(held.chars for held in self._held.values())
        while total > _MOST_CHARS and len(self._held) > 1:
            _, held = self._held.popitem(last=False)
            total -= held.chars

    def _sweep(self) -> None:
        """Let go of what nobody asked for within the hour."""
        loop = asyncio.get_running_loop()
        self._sweeping = None
        for key, held in [*self._held.items()]:
            if held.used + _KEPT_S <= loop.time():
                del self._held[key]
        self._digests.clear()
        if self._held:
            oldest = min(held.used for held in self._held.values())
            self._sweeping = loop.call_at(oldest + _KEPT_S, self._sweep)


class _Searched:
    """The passages of one search as an index, and as recall wants to know them."""

    def __init__(
        self, owner: str, named: Sequence[tuple[str, _Held]], reader_filter: ReaderFilter | None
    ) -> None:
        self.index = MemoryIndex()
        self._named = named
        self._reader_filter = reader_filter
        for file, (_, held) in enumerate(named):
            for number, entry in enumerate(held.entries):
                self.index.put(owner, "", entry._replace(id=f"{file}:{number}"))

    async def recallables(self, principal: Principal, ids: Sequence[str]) -> Sequence[Recallable | None]:
        """What is shown of these passages."""
        del principal
        found = [(held.text(place), held.below(place)) for _, held, place in map(self._found, ids)]
        return [
            Recallable(
                seen := self._seen(text), 0, _IMPORTANCE, None, is_part=seen != text, below=self._seen(below)
            )
            for text, below in found
        ]

    def _seen(self, text: str) -> str:
        return text if self._reader_filter is None else self._reader_filter.text(text)

    def passage(self, id: str, score: float) -> FilePassage:
        """A passage of an answer."""
        name, held, place = self._found(id)
        page = place.page if held.count > 1 else None
        return FilePassage(name, page, self._seen(held.text(place)), score)

    def _found(self, id: str) -> tuple[str, _Held, PassageSpan]:
        file, _, number = id.partition(":")
        name, held = self._named[int(file)]
        return name, held, held.places[int(number)]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
