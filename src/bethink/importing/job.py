"""One import from beginning to end: read the export, learn its topics, take it in. `service` runs it.

The export is read in a thread, a few items at a time: no more of it is held, however large it is.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec

from bethink.errors import BadInput, EmbeddingsUnavailable, TooLarge
from bethink.importing import chatgpt, claude, markdown
from bethink.importing.archive import CONVERSATIONS, Archive, opened
from bethink.importing.conversations import import_conversations
from bethink.importing.items import ExportedAttachment, ExportedConversation, ExportedPage, Item, Skipped
from bethink.importing.pages import PageImporter, conversation_pages, import_attachments, topic_page
from bethink.importing.topics import MAX_SAMPLE, TopicLearner, TopicMatcher, clusters, title_and_text

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.embeddings import Embeddings
    from bethink.importing.records import (
        ImportContext,
        ImportOptions,
        ImportReport,
        ImportTopic,
        ReportBuilder,
        SourceName,
    )

READERS: Mapping[SourceName, Callable[[Archive], Iterator[Item]]] = {
    "chatgpt": chatgpt.read,
    "claude": claude.read,
    "notion": markdown.read_notion,
    "obsidian": markdown.read_obsidian,
    "markdown": markdown.read,
}
_WITH_CONVERSATIONS = frozenset({"chatgpt", "claude"})
"""The other sources hold pages only."""
_HEAD = 1_000_000
_BATCH = 64
_BATCH_CHARS = 2_000_000
_MAX_EMBEDDED = 3_000
"""Items that are embedded to find groups: some minutes of a processor."""
_EMBEDDED_CHARS = 1_000
_AT_ONCE = 64
_NOT_PAGES = "Pages were not imported: choose the vault, or both, to import them."


@dataclass(slots=True)
class ImportRun:
    """One import at work; `options` come to say what was chosen by what the export is."""

    context: ImportContext
    path: Path
    options: ImportOptions
    embeddings: Embeddings
    report: ReportBuilder
    _members: dict[str, list[tuple[str, str]]] = field(default_factory=dict[str, "list[tuple[str, str]]"])
    """By a topic's name, its items as pairs of path and title."""
    _matcher: TopicMatcher = field(default_factory=TopicMatcher)

    async def run(self) -> ImportReport:
        """Do it; what became of it.

        Raises:
            BadInput: it is no export that can be read.
            TooLarge: it unpacks to more than any export would.
            StorageError: what it holds cannot be kept.
        """
        with ExitStack() as stack:
            archive = await anyio.to_thread.run_sync(lambda: stack.enter_context(opened(self.path)))
            source = self.options.source or await anyio.to_thread.run_sync(source_of, archive)
            into = self.options.into or ("conversations" if source in _WITH_CONVERSATIONS else "vault")
            self.options = replace(self.options, source=source, into=into)
            self.context = replace(self.context, source=source)
            if self.options.topics != "none":
                await self._learn(archive)
            pages = None if into == "conversations" else PageImporter(self.context)
            await self._take(archive, pages)
            for left in archive.left:
                self.report.skipped(left)
            topics = [
                msgspec.structs.replace(topic, count=len(self._members.get(topic.name, ())) or topic.count)
                for topic in self._matcher.topics
            ]
            self.report.topics(topics)
            if pages is not None:
                members = [(topic, self._members.get(topic.name)) for topic in topics]
                written = [topic_page(source, topic, found) for topic, found in members if found]
                self.report.became(await pages.take(written), pages=True)
        return self.report.report

    async def _take(self, archive: Archive, importer: PageImporter | None) -> None:
        if importer is not None and not self.context.preview:
            # What an import that was cut short left in the folder counts, and is its own.
            await self.context.vault.sync(self.context.owner)
        archive.budget.out = 0
        async with aclosing(self._batches(archive)) as batches:
            async for batch in batches:
                for item in batch:
                    if isinstance(item, Skipped):
                        self.report.skipped(item)
                    elif not isinstance(item, ExportedAttachment):
                        self.report.found(item)
                found = [item for item in batch if isinstance(item, ExportedConversation)]
                places: dict[str, str] = {}
                if found and self.options.into != "vault":
                    outcome = await import_conversations(self.context, found, archive)
                    places = outcome.places
                    self.report.became(outcome, pages=False)
                pages = [item for item in batch if isinstance(item, ExportedPage)]
                files = [item for item in batch if isinstance(item, ExportedAttachment)]
                if importer is not None and files:
                    outcome = await import_attachments(self.context, files, archive)
                    self.report.became(outcome, pages=True)
                if importer is not None:
                    await self._write(importer, pages, found, places=places)
                else:
                    for page in pages:
                        self.report.skipped(Skipped(page.title, _NOT_PAGES, is_fault=False, whole="page"))
                done, size = archive.budget.out, archive.size
                self.report.change(read=min(done, size) if size else done, size=size)
                self.report.show()

    async def _write(
        self,
        importer: PageImporter,
        pages: Sequence[ExportedPage],
        conversations: Sequence[ExportedConversation],
        *,
        places: Mapping[str, str],
    ) -> None:
        """Write pages, and conversations as pages, with their topics."""
        wanted = list(pages)
        about = {page.key: self._matcher.of(page) for page in pages}
        source = self.context.source
        for one in conversations:
            topics = self._matcher.of(one)
            made = conversation_pages(one, source, topics, conversation=places.get(one.key))
            about[made[0].key] = topics
            wanted += made
        outcome = await importer.take(wanted)
        self.report.became(outcome, pages=True)
        for page in wanted:
            for topic in about.get(page.key, ()):
                place = outcome.places.get(page.key, page.path)
                self._members.setdefault(topic.name, []).append((place, page.title))

    async def _learn(self, archive: Archive) -> None:
        learner, keys, texts = TopicLearner(), list[str](), list[str]()
        async with aclosing(self._batches(archive)) as batches:
            async for batch in batches:
                items = [
                    (item.key, *title_and_text(item))
                    for item in batch
                    if isinstance(item, ExportedConversation | ExportedPage)
                ]
                await anyio.to_thread.run_sync(learner.add_all, items)
                if len(keys) < _MAX_EMBEDDED:
                    keys += [key for key, _, _ in items]
                    texts += [f"{title}\n{text}"[:_EMBEDDED_CHARS] for _, title, text in items]
                self.report.show(note="Learning what it is about")
                if len(learner.items) >= MAX_SAMPLE:
                    break
        note = ""
        if self.options.topics == "meaning":
            try:
                topics, placed = await self._by_meaning(learner, texts[:_MAX_EMBEDDED])
                self._matcher = TopicMatcher(topics, {keys[row]: name for row, name in placed.items()})
            except EmbeddingsUnavailable as error:
                note = f"Topics go by words, not by meaning: {error.message}"
        if self.options.topics == "keywords" or note:
            self._matcher = TopicMatcher(await anyio.to_thread.run_sync(learner.topics))
        self.report.topics(self._matcher.topics, note)

    async def _by_meaning(
        self, learner: TopicLearner, texts: Sequence[str]
    ) -> tuple[list[ImportTopic], dict[int, str]]:
        import numpy as np

        await self.embeddings.load()
        begins = range(0, len(texts), _AT_ONCE)
        parts = [await self.embeddings.embed(texts[begin : begin + _AT_ONCE]) for begin in begins]
        if not parts:
            return [], {}
        groups = await anyio.to_thread.run_sync(clusters, np.concatenate(parts))
        return await anyio.to_thread.run_sync(learner.topics_of, groups)

    async def _batches(self, archive: Archive) -> AsyncGenerator[list[Item]]:
        items = READERS[self.options.source or source_of(archive)](archive)
        while batch := await anyio.to_thread.run_sync(_next_items, items):
            yield batch


def source_of(archive: Archive) -> SourceName:
    """What an export came from, by what it holds.

    Raises:
        BadInput: it is no known export.
    """
    if (found := _source_of_conversations(archive)) is not None:
        return found
    if any(re.search(r"(^|/)\.obsidian/", name) for name in archive.members):
        return "obsidian"
    if any(markdown.is_notions(name) for name in archive.members):
        return "notion"
    if any(markdown.is_page(name) for name in archive.members):
        return "markdown"
    raise BadInput(
        f"{archive.name} is not a known export. Upload the zip as ChatGPT, Claude or Notion (Markdown & CSV)"
        " gave it, a zip of an Obsidian folder, or a Markdown file."
    )


def _source_of_conversations(archive: Archive) -> SourceName | None:
    for name in archive.conversation_files:
        head = _head(archive, name)
        if chatgpt.is_chatgpt(head):
            return "chatgpt"
        if claude.is_claude(head):
            return "claude"
    has_users = bool(archive.named(r"users\.json"))
    if has_users and archive.named(r"(projects|memories|projects/[^/]+|memories/[^/]+)\.json"):
        return "claude"
    if archive.named(CONVERSATIONS):
        return "claude" if has_users else "chatgpt"
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


def _next_items(items: Iterator[Item]) -> list[Item]:
    """The next few items: as many as are not too much to be held."""
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
        if isinstance(item, ExportedPage):
            size += len(item.text)
        elif isinstance(item, ExportedConversation):
            pieces = [piece for message in item.messages for piece in message.pieces]
            size += sum(len(getattr(piece, "text", "")) for piece in pieces)
    return batch
