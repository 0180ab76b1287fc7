"""Pages of an export become pages of the vault: each once, and anew where only the export's changed.

What is about to be written is noted first with its version, so that a page that
stands there when an import was cut short is known as this import's own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import anyio.to_thread
import msgspec

from bethink.clock import to_datetime
from bethink.errors import BadInput, BethinkError, Conflict, NoSuchPage, StorageError, TooLarge
from bethink.importing.conversations import ORIGINS
from bethink.importing.items import FULL_PAGE_BYTES, ExportedPage, Skipped, TextPart, link_label, snake
from bethink.importing.records import GROWN, TAKEN, ImportedItem, ImportedUpdate, ImportOutcome
from bethink.store import Change as StoreChange
from bethink.store import Put, Scan, Versioned
from bethink.vault import Authorship, Change, CurrentPage, PageToWrite
from bethink.vault.files.paths import twin_key

if TYPE_CHECKING:
    from bethink.importing.archive import Archive
    from bethink.importing.items import ExportedAttachment, ExportedConversation, ExportedMessage
    from bethink.importing.records import ImportContext, ImportTopic


_CUT = "\n\n[The message goes on; a page holds no more.]"
_MOST_NAMES = 1_000


@dataclass(slots=True)
class _PagePlan:
    """A page that is to be written: where, and of which version it is there; "" if it must be new."""

    exported: ExportedPage
    row: Versioned[ImportedItem] | None
    path: str
    becomes: Literal["new", "known", "grown"]
    if_version: str = ""
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class PageImporter:
    """Takes pages in, as one import."""

    context: ImportContext

    async def take(self, exported_pages: Sequence[ExportedPage]) -> ImportOutcome:
        """Take them in, all that may be; durable when it returns.

        Raises:
            StorageError: they cannot be kept.
        """
        owner, outcome = self.context.owner, ImportOutcome()
        ids = [self._row_id(exported) for exported in exported_pages]
        rows = await self.context.store.get(TAKEN, owner, ids)
        marks = [self.context.marks.of(exported.text) for exported in exported_pages]
        pages = await self.context.store.scan(owner, *[Scan(TAKEN, {"same": one}, limit=2) for one in marks])
        plans: dict[str, _PagePlan] = {}
        for id, exported, row, page in zip(ids, exported_pages, rows, pages, strict=True):
            others = [item.record for item in page.items if item.record.batch != self.context.batch]
            if id in plans:
                outcome.counts["duplicates"] += 1
                continue
            try:
                plan = await self._plan(exported, row, others, outcome=outcome, taken=plans)
            except (TooLarge, Conflict) as error:
                outcome.left.append(Skipped(exported.title, error.message, whole="page"))
                continue
            if plan is not None:
                plans[id] = plan
        if not self.context.preview:
            await self._write([*plans.values()], outcome)
        for plan in plans.values():
            if not plan.is_refused:
                outcome.counts[plan.becomes] += 1
        return outcome

    async def _plan(
        self,
        exported: ExportedPage,
        row: Versioned[ImportedItem] | None,
        others: Sequence[ImportedItem],
        *,
        outcome: ImportOutcome,
        taken: Mapping[str, _PagePlan],
    ) -> _PagePlan | None:
        """What is to be done about a page; None if that is nothing."""
        if row is None:
            for other in others:
                if other.kind == "page" and await self._page(other.place) is not None:
                    outcome.counts["duplicates"] += 1
                    outcome.places[exported.key] = other.place
                    return None
        page = None if row is None else await self._page(row.record.place)
        if row is None or page is None:
            wanted = row.record.place if row else exported.path
            planned = {twin_key(plan.path) for plan in taken.values()}
            path, is_there = await self._place(wanted, exported, planned)
            outcome.places[exported.key] = path
            return _PagePlan(exported, row, path, "known" if is_there else "new")
        outcome.places[exported.key] = row.record.place
        if row.record.digest == self.context.marks.of(exported.text) or page.text == exported.text:
            outcome.counts["known"] += 1
            return None
        if self.context.marks.of(page.version) != row.record.written:
            outcome.counts["kept"] += 1
            outcome.left.append(
                Skipped(row.record.place, "It was changed here since and is not overwritten.", is_fault=False)
            )
            return None
        return _PagePlan(exported, row, row.record.place, "grown", if_version=page.version)

    async def _write(self, plans: Sequence[_PagePlan], outcome: ImportOutcome) -> None:
        """Note what is about to be written, then write it: all in one go."""
        await self._note([plan for plan in plans if plan.becomes != "grown"])
        writes = [plan for plan in plans if plan.becomes != "known" and not plan.is_refused]
        pages: list[PageToWrite] = []
        for plan in writes:
            again = " again" if plan.becomes == "grown" else ""
            # Notes of another program may hold what it clipped from anywhere.
            untrusted = plan.exported.untrusted or self.context.vault.settings.trust == "untrusted"
            how = Authorship("import", f"Imported{again} from {self.context.source}", untrusted or None)
            pages.append(PageToWrite(plan.path, plan.exported.text, how, plan.if_version))
        became = await self.context.vault.write_many(self.context.principal, pages)
        grown: list[StoreChange] = []
        for plan, change in zip(writes, became, strict=True):
            if isinstance(change, StorageError):
                raise change
            if isinstance(change, BethinkError):
                plan.is_refused = True
                outcome.left.append(Skipped(plan.exported.title, change.message, whole="page"))
            elif plan.becomes == "grown" and plan.row is not None:
                grown += self._grown(plan.exported, plan.row, change)
        if grown:
            await self.context.store.commit(self.context.owner, grown)

    async def _note(self, plans: Sequence[_PagePlan]) -> None:
        owner = self.context.owner
        rows: list[StoreChange] = []
        for plan in plans:
            # Of a page that was there nothing is ours to take away.
            is_theirs = plan.becomes == "known" and plan.row is None
            written = "" if is_theirs else self._version(plan.exported.text)
            version = plan.row.version if plan.row else 0
            rows.append(Put(TAKEN, self._row(plan.exported, plan.path, written), version))
        try:
            if rows:
                await self.context.store.commit(owner, rows)
        except Conflict:
            # One of them was forgotten meanwhile, say: the others are noted all the same.
            for plan, row in zip(plans, rows, strict=True):
                try:
                    await self.context.store.commit(owner, [row])
                except Conflict:
                    plan.is_refused = True

    def _grown(
        self, exported: ExportedPage, row: Versioned[ImportedItem], change: Change
    ) -> list[StoreChange]:
        now = msgspec.structs.replace(
            self._row(exported, row.record.place, self._version(exported.text)), batch=row.record.batch
        )
        grown = ImportedUpdate(
            id=f"{self.context.batch}:{now.id}",
            batch=self.context.batch,
            before=row.record,
            undo=change.undo or "",
        )
        return [Put(TAKEN, now, row.version), Put(GROWN, grown)]

    async def _place(self, path: str, exported: ExportedPage, taken: Collection[str]) -> tuple[str, bool]:
        """A path that no other page has or is about to have, and whether the very same page is there."""
        stem = path.removesuffix(".md")
        for number in range(1, _MOST_NAMES):
            name = path if number == 1 else f"{stem}_{number}.md"
            if twin_key(name) in taken:
                continue
            page = await self._page(name)
            if page is None or page.text == exported.text:
                return name, page is not None
        raise Conflict(f"There are {_MOST_NAMES:,} pages named like {path}.")

    async def _page(self, path: str) -> CurrentPage | None:
        try:
            return await self.context.vault.read(self.context.owner, path)
        except NoSuchPage:
            return None
        except TooLarge:
            raise
        except BadInput as error:
            raise Conflict(error.message) from error

    def _row_id(self, exported: ExportedPage) -> str:
        return self.context.marks.id(self.context.source, "page", exported.key)

    def _version(self, text: str) -> str:
        """The mark of what the vault calls the version of a page with this text."""
        return self.context.marks.of(hashlib.sha256(text.encode()).hexdigest())

    def _row(self, exported: ExportedPage, path: str, written: str) -> ImportedItem:
        return ImportedItem(
            id=self._row_id(exported),
            batch=self.context.batch,
            kind="page",
            place=path,
            digest=self.context.marks.of(exported.text),
            same=self.context.marks.of(exported.text),
            written=written,
        )


def _topic_path(source: str, name: str) -> str:
    """Where the page of a topic is."""
    return f"imported/{source}/topics/{snake(name)}.md"


def conversation_pages(
    exported: ExportedConversation,
    source: str,
    topics: Sequence[ImportTopic],
    *,
    conversation: str | None = None,
) -> list[ExportedPage]:
    """The pages of a conversation: what was looked at last of it, with its topics."""
    title = exported.title or "Untitled conversation"
    began = exported.created_at or next((turn.at for turn in exported.messages if turn.at), None)
    day = f"{to_datetime(began):%Y-%m-%d}" if began else ""
    stem = "_".join(filter(None, (day.replace("-", "_"), snake(title))))
    # The pages of one folder have a bound together: a folder for each month stays below it.
    month = day[:7].replace("-", "_") or "undated"
    head = _head(title, source, day, topics=topics, conversation=conversation)
    links = [f"[[{_topic_path(source, topic.name)}|{link_label(topic.name)}]]" for topic in topics]
    about = f"Topics: {', '.join(links)}\n\n" if links else ""
    parts = _parts([_said(turn, source) for turn in exported.line()], FULL_PAGE_BYTES - len(head.encode()))
    exported_pages: list[ExportedPage] = []
    for number, part in enumerate(parts, 1):
        more = "" if number == 1 else f"_part_{number}"
        name = title if number == 1 else f"{title} ({number})"
        exported_pages.append(
            ExportedPage(
                key=f"talk:{exported.key}{more}",
                path=f"imported/{source}/{month}/{stem}{more}.md",
                title=name,
                text=f"{head}# {name}\n\n{about}{part}\n",
                at=exported.updated_at,
                untrusted=True,
            )
        )
    return exported_pages


def topic_page(source: str, topic: ImportTopic, members: Sequence[tuple[str, str]]) -> ExportedPage:
    """The page of a topic, with links to its members, pairs of path and title."""
    lines = [f"- [[{path}|{link_label(title)}]]" for path, title in sorted(set(members))]
    shown, size = list[str](), 0
    for line in lines:
        size += len(line.encode()) + 1
        if size > FULL_PAGE_BYTES:
            shown.append(f"- and {len(lines) - len(shown):,} more")
            break
        shown.append(line)
    name = topic.name
    text = f"# {name}\n\n- keywords: {', '.join(topic.keywords)}\n\n## Members\n\n" + "\n".join(shown) + "\n"
    return ExportedPage(f"topic:{name}", _topic_path(source, name), name, text)


def _head(
    title: str, source: str, day: str, *, topics: Sequence[ImportTopic], conversation: str | None
) -> str:
    """The front matter: JSON's texts are YAML's, too."""
    fields = {
        "title": json.dumps(title, ensure_ascii=False),
        "source": source,
        "created": day,
        "conversation": conversation or "",
        "topics": json.dumps([topic.name for topic in topics], ensure_ascii=False) if topics else "",
    }
    return "---\n" + "".join(f"{name}: {value}\n" for name, value in fields.items() if value) + "---\n"


def _said(turn: ExportedMessage, source: str) -> str:
    who = "You" if turn.role == "user" else ORIGINS.get(source, source)
    when = f" · {to_datetime(turn.at):%Y-%m-%d %H:%M}" if turn.at else ""
    paragraphs = [
        piece.text.strip("\n") if isinstance(piece, TextPart) else f"*Used {link_label(piece.name)}.*"
        for piece in turn.pieces
    ]
    paragraphs += [f"*File: {link_label(file.name)}*" for file in turn.files]
    body = "\n\n".join(filter(None, paragraphs))
    return f"## {who}{when}\n\n{body}" if body else ""


def _parts(said: Sequence[str], most: int) -> list[str]:
    """The messages in as few parts as hold them."""
    parts: list[list[str]] = [[]]
    size = 0
    for one in filter(None, said):
        cut = one
        if len(one.encode()) > most:
            cut = one.encode()[: most - len(_CUT)].decode("utf-8", "ignore") + _CUT
        length = len(cut.encode()) + 2
        if size + length > most and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(cut)
        size += length
    return ["\n\n".join(part) for part in parts]


async def import_attachments(
    context: ImportContext, exported_files: Sequence[ExportedAttachment], archive: Archive
) -> ImportOutcome:
    """Lay files beside the pages of the vault, each durable by itself. What lies there already stays.

    A known one that was deleted here does not come back.

    Raises:
        StorageError: they cannot be kept.
    """
    outcome = ImportOutcome()
    ids = [context.marks.id(context.source, "file", one.key) for one in exported_files]
    rows = await context.store.get(TAKEN, context.owner, ids)
    for id, exported, row in zip(ids, exported_files, rows, strict=True):
        if row is not None and row.record.batch != context.batch:
            continue
        try:
            await _attach(context, exported, archive, id=id, row=row)
            outcome.files += 1
        except TooLarge as error:
            if archive.members[exported.member].size <= context.max_file_bytes:
                raise
            outcome.left.append(Skipped(exported.key[:200], error.message))
        except (BadInput, Conflict) as error:
            outcome.left.append(Skipped(exported.key[:200], error.message))
    return outcome


async def _attach(
    context: ImportContext,
    exported: ExportedAttachment,
    archive: Archive,
    *,
    id: str,
    row: Versioned[ImportedItem] | None,
) -> None:
    most = context.max_file_bytes
    too_large = f"It is larger than {most // 1_000_000} MB and was not imported."
    if archive.members[exported.member].size > most:
        raise TooLarge(too_large)
    if context.preview:
        return
    body = await anyio.to_thread.run_sync(archive.content, exported.member, most)
    if body is None:
        raise BadInput(too_large)
    version = hashlib.sha256(body).hexdigest()
    there = await context.vault.attached(context.owner, exported.path)
    if there is not None:
        if there != version:
            raise Conflict(f"Another file lies at {exported.path}: it was kept.")
        return
    digest = context.marks.of(version)
    noted = ImportedItem(
        id=id,
        batch=context.batch,
        kind="file",
        place=exported.path,
        digest=digest,
        same=digest,
        written=digest,
    )
    await context.store.commit(context.owner, [Put(TAKEN, noted, row.version if row else 0)])
    await context.vault.attach(context.principal, exported.path, body)
