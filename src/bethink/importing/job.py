"""One import from beginning to end: read, learn what it is about, take in. `service` runs it.

The export is read in a thread, some things at a time, so that no more of it is
held than a few conversations, however large it is.
"""

from __future__ import annotations

from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec

from bethink.errors import BadInput, EmbeddingsUnavailable, TooLarge
from bethink.importing.archive import opened
from bethink.importing.items import Left, Sheet, Talk
from bethink.importing.page_text import TopicLink, sheets_of, topic_path, topic_sheet
from bethink.importing.report import Telling
from bethink.importing.sources import HOLDS_TALK, READERS, recognised
from bethink.importing.topics import MAX_SAMPLE, Known, Learning, told_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
    from pathlib import Path

    from bethink.embeddings import Embeddings
    from bethink.importing.archive import Archive
    from bethink.importing.conversations import Talks
    from bethink.importing.items import Item
    from bethink.importing.pages import Sheets
    from bethink.importing.records import Into, Report, SourceName, Topic, Topics

_BATCH = 64
_BATCH_CHARS = 2_000_000
_MAX_MEANT = 3_000
"""Things that are embedded to find groups: some minutes of a processor."""
_MEANT_CHARS = 1_000
_AT_ONCE = 64
_NOT_PAGES = "Pages were not asked for: choose the vault, or both, to have them."


@dataclass(slots=True)
class Running:
    """One import at work. `talks` and `sheets` take in."""

    path: Path
    source: SourceName | None
    into: Into | None
    topics: Topics
    talks: Callable[[SourceName], Talks]
    sheets: Callable[[SourceName], Sheets]
    embeddings: Embeddings
    tell: Callable[[Report], None]
    telling: Telling = field(default_factory=Telling)
    _members: dict[str, list[tuple[str, str]]] = field(default_factory=dict[str, "list[tuple[str, str]]"])
    _known: Known = field(default_factory=lambda: Known(()))

    async def run(self) -> Report:
        """Do it; what became of it.

        Raises:
            BadInput: it is no export that can be read.
            TooLarge: it unpacks to more than any export would.
            StorageError: what it holds cannot be kept.
        """
        with ExitStack() as stack:
            archive = await anyio.to_thread.run_sync(lambda: stack.enter_context(opened(self.path)))
            source = self.source or await anyio.to_thread.run_sync(recognised, archive)
            self.source = source
            if self.into is None:
                self.into = "conversations" if source in HOLDS_TALK else "vault"
            if self.topics != "none":
                await self._learn(archive, source)
            self.telling.topics(self._known.topics, self.telling.report.note)
            await self._take(archive, source)
            for left in archive.left:
                self.telling.left(left)
            await self._tell_topics(source)
        return self.telling.report

    async def _take(self, archive: Archive, source: SourceName) -> None:
        talks = self.talks(source)
        sheets = self.sheets(source) if self.into != "conversations" else None
        if sheets is not None and not sheets.preview:
            # What an import that was cut short left in the folder counts, and is its own.
            await sheets.vault.sync(sheets.principal.owner)
        archive.budget.out = 0
        async with aclosing(self._batches(archive, source)) as batches:
            async for batch in batches:
                for item in batch:
                    if isinstance(item, Left):
                        self.telling.left(item)
                    else:
                        self.telling.saw(item)
                found = [item for item in batch if isinstance(item, Talk)]
                places: dict[str, str] = {}
                if found and self.into != "vault":
                    outcome = await talks.take(found, archive)
                    places = outcome.places
                    self.telling.became(outcome, pages=False)
                pages = [item for item in batch if isinstance(item, Sheet)]
                if sheets is not None:
                    await self._write(sheets, pages, found, places=places)
                else:
                    for page in pages:
                        self.telling.left(Left(page.title, _NOT_PAGES, is_fault=False, whole="page"))
                self.telling.read(archive.budget.out, archive.size)
                self.tell(self.telling.report)

    async def _write(
        self, sheets: Sheets, pages: Sequence[Sheet], talks: Sequence[Talk], *, places: dict[str, str]
    ) -> None:
        """Pages, and conversations as pages, with their topics."""
        wanted: list[Sheet] = list(pages)
        about: dict[str, list[Topic]] = {page.key: self._about(page) for page in pages}
        for talk in talks:
            topics = self._about(talk)
            links = [TopicLink(one.name, topic_path(sheets.source, one.name)) for one in topics]
            made = sheets_of(talk, sheets.source, links, conversation=places.get(talk.key))
            about[made[0].key] = topics
            wanted += made
        outcome = await sheets.take(wanted)
        self.telling.became(outcome, pages=True)
        for sheet in wanted:
            for topic in about.get(sheet.key, ()):
                place = outcome.places.get(sheet.key, sheet.path)
                self._members.setdefault(topic.name, []).append((place, sheet.title))

    def _about(self, item: Talk | Sheet) -> list[Topic]:
        return self._known.of(item.key, *told_of(item)) if self._known.topics else []

    async def _tell_topics(self, source: SourceName) -> None:
        """A page a topic, and how many belong to each."""
        topics = [
            msgspec.structs.replace(topic, count=len(self._members.get(topic.name, ())) or topic.count)
            for topic in self._known.topics
        ]
        self.telling.topics(topics)
        if self.into == "conversations":
            return
        pages = [
            topic_sheet(source, topic, members)
            for topic in topics
            if (members := self._members.get(topic.name))
        ]
        self.telling.became(await self.sheets(source).take(pages), pages=True)

    async def _learn(self, archive: Archive, source: SourceName) -> None:
        learning, keys, texts = Learning(), list[str](), list[str]()
        async with aclosing(self._batches(archive, source)) as batches:
            async for batch in batches:
                things = [item for item in batch if not isinstance(item, Left)]
                told = [told_of(item) for item in things]
                await anyio.to_thread.run_sync(_learn_all, learning, told)
                if len(keys) < _MAX_MEANT:
                    keys += [item.key for item in things]
                    texts += [f"{title}\n{text}"[:_MEANT_CHARS] for title, text in told]
                self.tell(msgspec.structs.replace(self.telling.report, note="Learning what it is about"))
                if len(learning.items) >= MAX_SAMPLE:
                    break
        if self.topics == "meaning":
            self._known, note = await self._meant(learning, keys[:_MAX_MEANT], texts[:_MAX_MEANT])
            self.telling.topics(self._known.topics, note)
        else:
            self._known = Known(await anyio.to_thread.run_sync(learning.topics))

    async def _meant(
        self, learning: Learning, keys: Sequence[str], texts: Sequence[str]
    ) -> tuple[Known, str]:
        import numpy as np

        from bethink.importing.clusters import clusters

        try:
            await self.embeddings.load()
            parts = [
                await self.embeddings.embed(texts[begin : begin + _AT_ONCE])
                for begin in range(0, len(texts), _AT_ONCE)
            ]
        except EmbeddingsUnavailable as error:
            known = Known(await anyio.to_thread.run_sync(learning.topics))
            return known, f"Topics go by words, not by meaning: {error.message}"
        if not parts:
            return Known(()), ""
        groups = await anyio.to_thread.run_sync(clusters, np.concatenate(parts))
        named = await anyio.to_thread.run_sync(learning.topics_of, groups)
        placed = {keys[row]: topic.name for topic, rows in named for row in rows}
        topics = sorted((topic for topic, _ in named), key=lambda topic: (-topic.count, topic.name))
        return Known(topics, placed), ""

    async def _batches(self, archive: Archive, source: SourceName) -> AsyncGenerator[list[Item]]:
        items = READERS[source](archive)
        while batch := await anyio.to_thread.run_sync(_some, items):
            yield batch


def _learn_all(learning: Learning, told: Sequence[tuple[str, str]]) -> None:
    for title, text in told:
        learning.add(title, text)


def _some(items: Iterator[Item]) -> list[Item]:
    """The next few things: as many as are not too much to be held."""
    batch: list[Item] = []
    size = 0
    while len(batch) < _BATCH and size < _BATCH_CHARS:
        try:
            item = next(items, None)
        except TooLarge:
            raise
        except BadInput as error:
            item = Left("the export", error.message)
        if item is None:
            break
        batch.append(item)
        size += _size(item)
    return batch


def _size(item: Item) -> int:
    match item:
        case Sheet():
            return len(item.text)
        case Talk():
            return sum(len(getattr(piece, "text", "")) for turn in item.turns for piece in turn.pieces)
        case Left():
            return 0
