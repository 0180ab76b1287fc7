"""Export as a stream of text, import as a stream of batches. Memory use does not grow with the file.

The formats stand in `FORMATS`, one row each; the doors ask for one by name.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

import anyio.to_thread
import msgspec

from bethink import __version__
from bethink.clock import Clock, rfc3339
from bethink.conversations.records import CONVERSATIONS
from bethink.errors import BadInput
from bethink.export import collection, jsonl, markdown, table
from bethink.export.conversations import ConversationRestore, documents
from bethink.export.records import (
    BadLine,
    ExportHeader,
    ExportWriter,
    FactBatch,
    KeptConversation,
    KeptFact,
    KeptMessage,
    KeptRecord,
    StatedFact,
    opening,
)
from bethink.memory.facts import import_token

if TYPE_CHECKING:
    from bethink.embeddings import Embeddings
    from bethink.export.records import ImportLine
    from bethink.feature import Features
    from bethink.memory import Fact, FactChange, Memory
    from bethink.principal import Principal
    from bethink.store import Key, Store


AUTO = "auto"


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One format.

    Its files are named with `suffix`. `by_category` has facts come category by
    category, else oldest first; `only_active` leaves out what is past;
    `with_vectors` has each come with its vector.
    """

    suffix: str
    media_type: str
    writer: Callable[[], ExportWriter]
    read: Callable[[BinaryIO], Iterator[ImportLine]]
    by_category: bool = False
    only_active: bool = False
    with_vectors: bool = False


FORMATS: dict[str, ExportFormat] = {
    "jsonl": ExportFormat(".jsonl", "application/x-ndjson", jsonl.JsonLinesWriter, jsonl.read),
    "md": ExportFormat(
        ".md", "text/markdown; charset=utf-8", markdown.MarkdownWriter, markdown.read, by_category=True
    ),
    "csv": ExportFormat(".csv", "text/csv; charset=utf-8; header=present", table.CsvWriter, table.read),
    "data.json": ExportFormat(
        ".json",
        "application/json",
        collection.DataFileWriter,
        collection.read,
        only_active=True,
        with_vectors=True,
    ),
}


def format_named(name: str) -> ExportFormat:
    """The format of this name.

    Raises:
        BadInput: there is none.
    """
    if (found := FORMATS.get(name)) is None:
        raise BadInput(f"There is no format {name!r}: choose one of {', '.join(FORMATS)}.")
    return found


def recognised(file: BinaryIO) -> str:
    """The name of a file's format, by how it begins.

    Raises:
        BadInput: it is not UTF-8, it is empty, or it begins like none of them.
    """
    head = opening(file)
    first = head.partition("\n")[0]
    if not head:
        raise BadInput("The file is empty.")
    if collection.is_collection(head):
        return "data.json"
    if head.startswith("{"):
        return "jsonl"
    if table.delimiter_of(first) is not None:
        return "csv"
    if head.startswith(("#", "- ", "* ", "+ ", "1.", "<!--", "---\n", "---\r\n")):
        return "md"
    raise BadInput(f"The file's format is not known by its beginning: name one of {', '.join(FORMATS)}.")


_OUTCOMES = ("restored", "said", "added", "merged", "known", "differing")
_BATCH = 512
"""As many as the memory keeps in one step: what an interrupted import has reported is on the disk."""
_SHOWN_BAD = 100
_HASHED = 1_000_000
_CLOCKS_DIFFER_US = 86_400_000_000
"""A day: what was learnt on another machine may seem to come from the future by less than this."""


class RestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a file.

    Of its `lines` that say something, `restored` facts and `said` conversations,
    messages and people came back as they were exported, `added` are new, `merged` said
    more of what is known, `known` changed nothing, `differing` have the id of
    what was changed here and is kept, `refused` were not taken: the first
    hundred of these are `bad`. `undo` takes back what was added. A `preview` wrote nothing.
    """

    id: str
    format: str
    lines: int = 0
    restored: int = 0
    said: int = 0
    added: int = 0
    merged: int = 0
    known: int = 0
    differing: int = 0
    refused: int = 0
    bad: tuple[BadLine, ...] = ()
    preview: bool = False

    @property
    def undo(self) -> str | None:
        """The token that takes back the facts that were added, where any were."""
        added = self.restored + self.added + self.merged
        return import_token(self.id) if added and not self.preview else None


@dataclass(frozen=True, slots=True)
class Portability:
    """Exports and imports for all owners; every call acts for one principal."""

    memory: Memory
    store: Store
    embeddings: Embeddings
    clock: Clock
    features: Features
    on_written: Callable[[str], None] = lambda _owner: None

    async def export(
        self, principal: Principal, format: str, *, conversations: bool = False
    ) -> AsyncGenerator[str]:
        """All facts of the owner as a file of this format, in parts; with `conversations`, these too.

        Raises:
            BadInput: there is no such format, or it cannot hold conversations.
            EmbeddingsUnavailable: the format has vectors, and the model is not there.
        """
        chosen = format_named(format)
        if chosen.with_vectors:
            await self.embeddings.load()
        writer = chosen.writer()
        if conversations and not isinstance(writer, jsonl.JsonLinesWriter):
            raise BadInput(f"Conversations go into jsonl only: leave them out of {format}, or choose jsonl.")
        where: dict[str, Key] = {"state": "active"} if chosen.only_active else {}
        count = await self.memory.count(principal, where)
        last = await self.memory.consolidated_at(principal)
        consolidated_at = None if last is None else rfc3339(last)
        now = rfc3339(self.clock.now_us())
        talks = (
            await self.store.count(principal.owner, CONVERSATIONS, {"temporary": 0})
            if conversations
            else None
        )
        yield writer.head(ExportHeader(f"Bethink {__version__}", now, count, talks, consolidated_at))
        async for page in self._pages(principal, where, by_category=chosen.by_category):
            vectors = None
            if chosen.with_vectors:
                vectors = await self.embeddings.embed([fact.content for fact in page])
            yield writer.facts(FactBatch(page, vectors))
        if isinstance(writer, jsonl.JsonLinesWriter):
            for form in self.features.documents.values():
                async for some in form.export(principal.owner):
                    yield writer.talk(some)
        if conversations and isinstance(writer, jsonl.JsonLinesWriter):
            async for some in documents(self.store, principal):
                yield writer.talk(some)
        yield writer.tail()

    async def import_file(
        self,
        principal: Principal,
        file: BinaryIO,
        *,
        format: str = AUTO,
        preview: bool = False,
        tell: Callable[[RestoreReport, int], None] | None = None,
    ) -> RestoreReport:
        """Take in a file of any format; what became of its lines.

        Each batch is durable before the next is begun, so an import that was
        interrupted can be repeated: what is known already changes nothing.
        `tell` hears after each batch what has become of the file so far, and
        how many of its bytes have been read.

        Raises:
            BadInput: it is no file of the format, or not UTF-8.
            NewerSchema: a newer Bethink wrote it.
        """
        name = await anyio.to_thread.run_sync(recognised, file) if format == AUTO else format
        chosen = format_named(name)
        id = await anyio.to_thread.run_sync(_id_of, file)
        report = RestoreReport(id=id, format=name, preview=preview)
        returning = ConversationRestore(self.store, principal.owner, preview)
        is_ours = chosen.read is jsonl.read
        lines = jsonl.read(file, self.features.documents) if is_ours else chosen.read(file)
        while batch := await anyio.to_thread.run_sync(lambda: list(islice(lines, _BATCH))):
            report = await self._take(principal, batch, report, returning=returning)
            if tell is not None:
                tell(report, await anyio.to_thread.run_sync(file.tell))
        if report.said and not preview:
            self.on_written(principal.owner)
        return report

    async def _take(
        self,
        principal: Principal,
        batch: Sequence[ImportLine],
        report: RestoreReport,
        *,
        returning: ConversationRestore,
    ) -> RestoreReport:
        latest = self.clock.now_us() + _CLOCKS_DIFFER_US
        batch = [
            BadLine(line.line, why) if (why := self._from_the_future(line, latest)) else line
            for line in batch
        ]
        kept = [line.fact for line in batch if isinstance(line, KeptFact)]
        outcomes = list(
            await self.memory.restore_many(principal, kept, source=report.id, preview=report.preview)
            if kept
            else ()
        )
        said, refused = await self._state(
            principal, [line for line in batch if isinstance(line, StatedFact)], report
        )
        outcomes += said
        talk = [line for line in batch if isinstance(line, KeptConversation | KeptMessage)]
        returned, unfit = await returning.take(talk) if talk else ([], [])
        outcomes += returned
        for form in self.features.documents.values():
            records = [
                line.record for line in batch if isinstance(line, KeptRecord) and line.kind == form.kind
            ]
            if records:
                outcomes += await form.restore(principal.owner, records, report.preview)
        bad = [*(line for line in batch if isinstance(line, BadLine)), *refused, *unfit]
        room = _SHOWN_BAD - len(report.bad)
        return msgspec.structs.replace(
            report,
            lines=report.lines + len(batch),
            **{name: getattr(report, name) + outcomes.count(name) for name in _OUTCOMES},
            refused=report.refused + len(bad),
            bad=(*report.bad, *sorted(bad, key=lambda one: one.line)[:room]),
        )

    def _from_the_future(self, line: ImportLine, latest: int) -> str | None:
        """Why a line cannot be taken that says it is later than `latest`."""
        match line:
            case KeptRecord(kind=kind, record=record):
                happened, at = "made", self.features.documents[kind].made_at(record)
            case KeptFact(fact=fact):
                happened, at = "learnt", max([fact.created_at, *(one.at for one in fact.sources)])
            case KeptConversation(conversation=talk):
                happened, at = "held", max(talk.created_at, talk.updated_at)
            case KeptMessage(message=message):
                happened, at = "said", message.at
            case StatedFact(fact=stated):
                happened, at = "said", stated.at or 0
            case BadLine():
                return None
        return f"it was {happened} in the future, as it says." if at > latest else None

    async def _state(
        self, principal: Principal, stated: Sequence[StatedFact], report: RestoreReport
    ) -> tuple[list[str], list[BadLine]]:
        outcomes: list[str] = []
        new: list[StatedFact] = []
        said = await self.memory.said(principal, [one.fact.content for one in stated])
        for one, same in zip(stated, said, strict=True):
            source = msgspec.structs.replace(one.fact.source, id=report.id)
            origin = (source.kind, source.id)
            if any((had.kind, had.id) == origin for fact in same for had in fact.sources):
                # Whatever became of it since: it was taken in from this very file.
                outcomes.append("known")
            elif report.preview:
                outcomes.append("merged" if any(fact.state == "active" for fact in same) else "added")
            else:
                new.append(replace(one, fact=replace(one.fact, source=source)))
        changed, bad = await self._add(principal, new)
        return outcomes + ["merged" if one.change == "merged" else "added" for one in changed], bad

    async def _add(
        self, principal: Principal, stated: Sequence[StatedFact]
    ) -> tuple[list[FactChange], list[BadLine]]:
        """Add them; where one is refused, one by one, so that only that one is left out."""
        try:
            return await self.memory.add_many(principal, [one.fact for one in stated]), []
        except BadInput as error:
            if len(stated) == 1:
                return [], [BadLine(stated[0].line, error.message)]
        added: list[FactChange] = []
        bad: list[BadLine] = []
        for one in stated:
            changed, refused = await self._add(principal, [one])
            added += changed
            bad += refused
        return added, bad

    async def _pages(
        self, principal: Principal, where: dict[str, Key], *, by_category: bool
    ) -> AsyncGenerator[list[Fact]]:
        if not by_category:
            async for page in self.memory.pages(principal, where):
                yield page
            return
        found = {fact.category async for page in self.memory.pages(principal, where) for fact in page}
        for category in sorted(found):
            async for page in self.memory.pages(principal, {**where, "category": category}):
                yield page


def _id_of(file: BinaryIO) -> str:
    """A file's name among imports: the same for the same bytes."""
    hashed = hashlib.blake2b(digest_size=8)
    file.seek(0)
    while some := file.read(_HASHED):
        hashed.update(some)
    return hashed.hexdigest()
