"""A whole import taken back: what it brought goes, what was changed since stays. `service` calls it."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from bethink.conversations import CONVERSATIONS, MESSAGES
from bethink.errors import BethinkError, Busy, Conflict, NoSuchPage, StorageError, UnknownId
from bethink.importing.context import ImportOutcome
from bethink.importing.conversations import total_of
from bethink.importing.items import Skipped
from bethink.importing.records import GROWN, IMPORTS, TAKEN, ImportReport
from bethink.redaction import FORGOTTEN
from bethink.store import Delete, Put, Scan
from bethink.store.reading import items_of, pages_of, records_of
from bethink.vault import PageToDelete

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from bethink.conversations import Conversation
    from bethink.importing.context import ImportContext, ReportBuilder
    from bethink.importing.records import (
        ImportedItem,
        ImportedUpdate,
    )
    from bethink.principal import Principal
    from bethink.redaction import Redaction
    from bethink.store import Change, Store, Versioned

_PAGE = 100
_WENT_ON = "You went on with it here, so it stays."
_CHANGED = "It was changed here since, so it stays."


@dataclass(frozen=True, slots=True)
class ImportUndo:
    """Takes one import back. `remove` deletes a conversation with all that belongs to it."""

    context: ImportContext
    remove: Callable[[Principal, str], Awaitable[None]]
    report: ReportBuilder

    async def run(self) -> ImportReport:
        """Do it; the report counts what went (`new`), what is as before (`grown`) and what stays (`kept`).

        Safe to repeat: what has gone is not looked for.
        """
        store, owner, batch = self.context.store, self.context.owner, {"batch": self.context.batch}
        async for grown in records_of(store, owner, Scan(GROWN, batch, limit=_PAGE)):
            self.report.became(await self._shrunk(grown), pages=grown.before.kind == "page")
            self.report.show()
        folders: set[str] = set()
        async for page in pages_of(store, owner, Scan(TAKEN, batch, limit=_PAGE)):
            taken = [one.record for one in page]
            self.report.became(
                await self._pages_gone([one for one in taken if one.kind == "page"], folders), pages=True
            )
            for exported in [one for one in taken if one.kind != "page"]:
                self.report.became(await self._conversation_gone(exported), pages=False)
                self.report.show()
            self.report.show()
        await self._remove_empty(folders)
        return self.report.report

    async def _remove_empty(self, folders: set[str]) -> None:
        """Remove the folders that held pages of the import, and those above, where nothing is left."""
        parts = [folder.split("/") for folder in folders if folder]
        every = {"/".join(part[: count + 1]) for part in parts for count in range(len(part))}
        for folder in sorted(every, key=lambda name: (-name.count("/"), name)):
            with suppress(Conflict, NoSuchPage):
                await self.context.vault.delete_folder(self.context.principal, folder)

    async def _conversation_gone(self, taken: ImportedItem) -> ImportOutcome:
        stays = await self._removed(taken)
        if stays is None:
            await self.context.store.commit(self.context.owner, [Delete(TAKEN, taken.id)])
        return _outcome("new", stays)

    async def _removed(self, taken: ImportedItem) -> Skipped | None:
        """Remove a conversation; why it stays, if it does."""
        held = await self._held(taken.place)
        if held is None:
            return None
        stays = Skipped(held.record.title[:80], _WENT_ON, is_fault=False)
        if held.record.active_run is not None or taken.written != str(total_of(held.record)):
            return stays
        try:
            await self.remove(self.context.principal, taken.place)
        except Busy:
            return stays
        except UnknownId:
            pass
        return None

    async def _pages_gone(self, pages: Sequence[ImportedItem], folders: set[str]) -> ImportOutcome:
        """Delete these pages in one go, but those that were changed; `folders` gathers where they were."""
        left = await self._staying(pages)
        gone = [one for one, stays in zip(pages, left, strict=True) if stays is None]
        folders |= {one.place.rpartition("/")[0] for one in gone}
        if gone:
            await self.context.store.commit(self.context.owner, [Delete(TAKEN, one.id) for one in gone])
        return _outcome("new", *left)

    async def _staying(self, exported_pages: Sequence[ImportedItem]) -> list[Skipped | None]:
        """Which of these pages stay, and why; the others are gone."""
        written = [one for one in exported_pages if one.written]
        unwanted = [
            PageToDelete(one.place, lambda version, one=one: self.context.marks.of(version) == one.written)
            for one in written
        ]
        try:
            became = await self.context.vault.delete_many(
                self.context.principal, unwanted, by="import", note="Import taken back"
            )
        except NoSuchPage:
            return [None] * len(exported_pages)
        left: dict[str, Skipped] = {}
        for one, what in zip(written, became, strict=True):
            if isinstance(what, StorageError):
                raise what
            if isinstance(what, BethinkError) and not isinstance(what, NoSuchPage):
                left[one.id] = Skipped(one.place, _CHANGED, is_fault=False)
        return [left.get(one.id) for one in exported_pages]

    async def _shrunk(self, grown: ImportedUpdate) -> ImportOutcome:
        stays = await (self._page_back(grown) if grown.before.kind == "page" else self._talk_back(grown))
        await self.context.store.commit(self.context.owner, [Delete(GROWN, grown.id)])
        return _outcome("grown", stays)

    async def _talk_back(self, grown: ImportedUpdate) -> Skipped | None:
        held = await self._held(grown.before.place)
        if held is None:
            return None
        was = held.record
        before = msgspec.structs.replace(was, branches=grown.branches, branch=grown.branch, count=grown.count)
        if was.active_run is not None or total_of(was) != total_of(before) + len(grown.messages):
            return Skipped(was.title[:80], _WENT_ON, is_fault=False)
        try:
            await self.context.store.commit(
                self.context.owner,
                [
                    Put(CONVERSATIONS, before, held.version),
                    Put(TAKEN, grown.before),
                    *(Delete(MESSAGES, id) for id in grown.messages),
                ],
            )
        except Conflict:
            return Skipped(was.title[:80], _WENT_ON, is_fault=False)
        return None

    async def _page_back(self, grown: ImportedUpdate) -> Skipped | None:
        if not grown.undo:
            return None
        try:
            await self.context.vault.undo(self.context.principal, grown.undo)
        except (Conflict, UnknownId):
            return Skipped(grown.before.place, _CHANGED, is_fault=False)
        await self.context.store.commit(self.context.owner, [Put(TAKEN, grown.before)])
        return None

    async def _held(self, conversation: str) -> Versioned[Conversation] | None:
        (held,) = await self.context.store.get(CONVERSATIONS, self.context.owner, [conversation])
        return held


def _outcome(done: str, *stays: Skipped | None) -> ImportOutcome:
    """Counted as `done`, but those that stay."""
    left = [one for one in stays if one is not None]
    return ImportOutcome(Counter({done: len(stays) - len(left), "kept": len(left)}), left=left)


async def forgotten(store: Store, owner: str, gone: Redaction) -> Sequence[Change]:
    """The changes by which nothing that is kept of imports says it any more."""
    changes: list[Change] = []
    async for held in items_of(store, owner, Scan(IMPORTS, limit=_PAGE)):
        record = held.record
        now = msgspec.structs.replace(
            record,
            name=_text(record.name, gone),
            preview=record.preview and _report(record.preview, gone),
            report=record.report and _report(record.report, gone),
        )
        if now != record:
            changes.append(Put(IMPORTS, now, held.version))
    # A page whose name says it is not known again: its name here must not stay.
    changes += [
        Delete(TAKEN, taken.record.id, taken.version)
        async for taken in items_of(store, owner, Scan(TAKEN, limit=_PAGE))
        if _is_named(taken.record, gone)
    ]
    changes += [
        Delete(GROWN, grown.record.id, grown.version)
        async for grown in items_of(store, owner, Scan(GROWN, limit=_PAGE))
        if _is_named(grown.record.before, gone)
    ]
    return changes


def _is_named(taken: ImportedItem, gone: Redaction) -> bool:
    return taken.kind == "page" and _says(taken.place, gone)


def _report(report: ImportReport, gone: Redaction) -> ImportReport:
    replace = msgspec.structs.replace
    return replace(
        report,
        problems=tuple(
            replace(one, name=_text(one.name, gone), why=_text(one.why, gone)) for one in report.problems
        ),
        topics=tuple(
            replace(one, name=FORGOTTEN, keywords=())
            if _says(" ".join((one.name, *one.keywords)), gone)
            else one
            for one in report.topics
        ),
    )


def _text(text: str, gone: Redaction) -> str:
    return FORGOTTEN if _says(text, gone) else text


def _says(text: str, gone: Redaction) -> bool:
    return gone.says_in(text.replace("_", " ").replace("/", " "), close=False)
