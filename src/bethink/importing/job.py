"""One import from beginning to end: read, learn what it is about, take in. `service` runs it.

The export is read in a thread, some things at a time, so that no more of it is
held than a few conversations, however large it is.
"""

from __future__ import annotations

import re
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec

from bethink.errors import BadInput, EmbeddingsUnavailable, TooLarge
from bethink.importing import chatgpt, claude, markdown, notion, obsidian
from bethink.importing.archive import CONVERSATIONS, opened
from bethink.importing.items import ExportedConversation, ExportedPage, Skipped, TextPart
from bethink.importing.pages import TopicLink, sheets_of, topic_path, topic_sheet
from bethink.importing.records import MAX_PROBLEMS, ImportProblem, ImportReport, ImportTally, ImportTopic
from bethink.importing.topics import MAX_SAMPLE, TopicLearner, TopicMatcher, told_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bethink.embeddings import Embeddings
    from bethink.importing.archive import Archive
    from bethink.importing.conversations import ConversationImporter, ImportOutcome
    from bethink.importing.items import Item
    from bethink.importing.pages import PageImporter
    from bethink.importing.records import Into, SourceName, TopicMethod


_NAMES = frozenset(ImportTally.__struct_fields__)


@dataclass(slots=True)
class ReportBuilder:
    """Counts; `report` is what they come to."""

    report: ImportReport = field(default_factory=ImportReport)
    _alike: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """Where among the problems one stands that is told again."""

    def saw(self, item: ExportedConversation | ExportedPage) -> None:
        """A thing of the export: how long it is, and of what time."""
        if isinstance(item, ExportedPage):
            times = [item.at] if item.at else []
            characters = len(item.text)
        else:
            times = [at for at in (item.created_at, item.updated_at) if at]
            characters = sum(
                len(piece.text) for turn in item.turns for piece in turn.pieces if isinstance(piece, TextPart)
            )
        known = [at for at in (self.report.first, self.report.last) if at]
        self._change(
            characters=self.report.characters + characters,
            first=min((*known, *times), default=None),
            last=max((*known, *times), default=None),
        )

    def became(self, outcome: ImportOutcome, *, pages: bool) -> None:
        """What became of some things."""
        name = "pages" if pages else "conversations"
        self._change(
            **{name: _added(getattr(self.report, name), outcome.counts)},
            messages=self.report.messages + outcome.messages,
            files=self.report.files + outcome.files,
        )
        for left in outcome.left:
            self.left(left)

    def left(self, left: Skipped) -> None:
        """Something that was not taken."""
        if left.whole is not None:
            name = "conversations" if left.whole == "talk" else "pages"
            self._change(**{name: _added(getattr(self.report, name), {"left": 1})})
        problems = list(self.report.problems)
        key = (left.name, left.why)
        if (place := self._alike.get(key)) is not None:
            problems[place] = msgspec.structs.replace(
                problems[place], count=problems[place].count + left.count
            )
        elif len(problems) < MAX_PROBLEMS:
            self._alike[key] = len(problems)
            problems.append(
                ImportProblem(name=left.name, why=left.why, fault=left.is_fault, count=left.count)
            )
        self._change(problems=tuple(problems), problem_count=self.report.problem_count + left.count)

    def read(self, done: int, size: int) -> None:
        """How far the reading is, in bytes."""
        self._change(read=min(done, size) if size else done, size=size)

    def topics(self, topics: Sequence[ImportTopic], note: str = "") -> None:
        """What it is about, and why not more can be said of that."""
        self._change(topics=tuple(topics), note=note or self.report.note)

    def _change(self, **changes: object) -> None:
        self.report = msgspec.structs.replace(self.report, **changes)


def _added(tally: ImportTally, counts: Mapping[str, int]) -> ImportTally:
    return msgspec.structs.replace(
        tally, **{name: getattr(tally, name) + count for name, count in counts.items() if name in _NAMES}
    )


READERS: Mapping[SourceName, Callable[[Archive], Iterator[Item]]] = {
    "chatgpt": chatgpt.read,
    "claude": claude.read,
    "notion": notion.read,
    "obsidian": obsidian.read,
    "markdown": markdown.read,
}
HOLDS_TALK: frozenset[str] = frozenset({"chatgpt", "claude"})
"""Sources of conversations; the others hold pages only."""
_HEAD = 1_000_000


def recognised(archive: Archive) -> SourceName:
    """What an export came from.

    Raises:
        BadInput: nobody can tell.
    """
    if (talk := _of_conversations(archive)) is not None:
        return talk
    if any(re.search(r"(^|/)\.obsidian/", name) for name in archive.members):
        return "obsidian"
    if any(notion.is_notions(name) for name in archive.members):
        return "notion"
    if any(markdown.is_page(name) for name in archive.members):
        return "markdown"
    message = (
        f"{archive.name} is no export that is known here: neither ChatGPT's nor Claude's, nor Notion's "
        "(Markdown & CSV), nor an Obsidian folder, nor Markdown."
    )
    raise BadInput(message)


def _of_conversations(archive: Archive) -> SourceName | None:
    for name in archive.talks:
        head = _head(archive, name)
        if chatgpt.is_chatgpt(head):
            return "chatgpt"
        if claude.is_claude(head):
            return "claude"
    if archive.named(r"(projects|memories|projects/[^/]+|memories/[^/]+)\.json") and archive.named(
        r"users\.json"
    ):
        return "claude"
    if archive.named(CONVERSATIONS):
        return "claude" if archive.named(r"users\.json") else "chatgpt"
    return None


def _head(archive: Archive, name: str) -> str:
    parts: list[bytes] = []
    try:
        with archive.open(name) as file:
            while sum(map(len, parts)) < _HEAD and (part := file.read(1 << 16)):
                parts.append(part)
    except TooLarge:
        raise
    except BadInput:
        pass
    return b"".join(parts).decode("utf-8", "replace")


_BATCH = 64
_BATCH_CHARS = 2_000_000
_MAX_MEANT = 3_000
"""Things that are embedded to find groups: some minutes of a processor."""
_MEANT_CHARS = 1_000
_AT_ONCE = 64
_NOT_PAGES = "Pages were not asked for: choose the vault, or both, to have them."


@dataclass(slots=True)
class ImportRun:
    """One import at work. `talks` and `sheets` take in."""

    path: Path
    source: SourceName | None
    into: Into | None
    topics: TopicMethod
    talks: Callable[[SourceName], ConversationImporter]
    sheets: Callable[[SourceName], PageImporter]
    embeddings: Embeddings
    tell: Callable[[ImportReport], None]
    telling: ReportBuilder = field(default_factory=ReportBuilder)
    _members: dict[str, list[tuple[str, str]]] = field(default_factory=dict[str, "list[tuple[str, str]]"])
    _known: TopicMatcher = field(default_factory=lambda: TopicMatcher(()))

    async def run(self) -> ImportReport:
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
                    if isinstance(item, Skipped):
                        self.telling.left(item)
                    else:
                        self.telling.saw(item)
                found = [item for item in batch if isinstance(item, ExportedConversation)]
                places: dict[str, str] = {}
                if found and self.into != "vault":
                    outcome = await talks.take(found, archive)
                    places = outcome.places
                    self.telling.became(outcome, pages=False)
                pages = [item for item in batch if isinstance(item, ExportedPage)]
                if sheets is not None:
                    await self._write(sheets, pages, found, places=places)
                else:
                    for page in pages:
                        self.telling.left(Skipped(page.title, _NOT_PAGES, is_fault=False, whole="page"))
                self.telling.read(archive.budget.out, archive.size)
                self.tell(self.telling.report)

    async def _write(
        self,
        sheets: PageImporter,
        pages: Sequence[ExportedPage],
        talks: Sequence[ExportedConversation],
        *,
        places: dict[str, str],
    ) -> None:
        """Pages, and conversations as pages, with their topics."""
        wanted: list[ExportedPage] = list(pages)
        about: dict[str, list[ImportTopic]] = {page.key: self._about(page) for page in pages}
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

    def _about(self, item: ExportedConversation | ExportedPage) -> list[ImportTopic]:
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
        learning, keys, texts = TopicLearner(), list[str](), list[str]()
        async with aclosing(self._batches(archive, source)) as batches:
            async for batch in batches:
                things = [item for item in batch if not isinstance(item, Skipped)]
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
            self._known = TopicMatcher(await anyio.to_thread.run_sync(learning.topics))

    async def _meant(
        self, learning: TopicLearner, keys: Sequence[str], texts: Sequence[str]
    ) -> tuple[TopicMatcher, str]:
        import numpy as np

        from bethink.importing.topics import clusters

        try:
            await self.embeddings.load()
            parts = [
                await self.embeddings.embed(texts[begin : begin + _AT_ONCE])
                for begin in range(0, len(texts), _AT_ONCE)
            ]
        except EmbeddingsUnavailable as error:
            known = TopicMatcher(await anyio.to_thread.run_sync(learning.topics))
            return known, f"Topics go by words, not by meaning: {error.message}"
        if not parts:
            return TopicMatcher(()), ""
        groups = await anyio.to_thread.run_sync(clusters, np.concatenate(parts))
        named = await anyio.to_thread.run_sync(learning.topics_of, groups)
        placed = {keys[row]: topic.name for topic, rows in named for row in rows}
        topics = sorted((topic for topic, _ in named), key=lambda topic: (-topic.count, topic.name))
        return TopicMatcher(topics, placed), ""

    async def _batches(self, archive: Archive, source: SourceName) -> AsyncGenerator[list[Item]]:
        items = READERS[source](archive)
        while batch := await anyio.to_thread.run_sync(_some, items):
            yield batch


def _learn_all(learning: TopicLearner, told: Sequence[tuple[str, str]]) -> None:
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
            item = Skipped("the export", error.message)
        if item is None:
            break
        batch.append(item)
        size += _size(item)
    return batch


def _size(item: Item) -> int:
    match item:
        case ExportedPage():
            return len(item.text)
        case ExportedConversation():
            return sum(len(getattr(piece, "text", "")) for turn in item.turns for piece in turn.pieces)
        case Skipped():
            return 0
