"""A whole import taken back: what it brought goes, what was changed since stays. `service` calls it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from bethink.conversations import CONVERSATIONS, MESSAGES
from bethink.errors import BethinkError, Busy, Conflict, NoSuchPage, StorageError, UnknownId
from bethink.importing.conversations import ImportOutcome, total_of
from bethink.importing.items import Skipped
from bethink.importing.job import ReportBuilder
from bethink.importing.records import GROWN, IMPORTS, TAKEN, ImportReport
from bethink.redaction import FORGOTTEN
from bethink.store import Delete, Put, Scan
from bethink.store.reading import items_of, pages_of, records_of
from bethink.vault import Unwanted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from bethink.conversations import Conversation
    from bethink.importing.records import (
        ImportedItem,
        ImportedUpdate,
        ImportProblem,
        ImportTopic,
        KeyedDigest,
    )
    from bethink.principal import Principal
    from bethink.redaction import Redaction
    from bethink.store import Change, Store, Versioned
    from bethink.vault import Vault


_SCAN_PAGE = 500


async def forgotten(store: Store, owner: str, gone: Redaction) -> Sequence[Change]:
    """The changes by which nothing that is kept of imports says it any more."""
    changes: list[Change] = []
    async for held in items_of(store, owner, Scan(IMPORTS, limit=_SCAN_PAGE)):
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
        async for taken in items_of(store, owner, Scan(TAKEN, limit=_SCAN_PAGE))
        if _is_named(taken.record, gone)
    ]
    changes += [
        Delete(GROWN, grown.record.id, grown.version)
        async for grown in items_of(store, owner, Scan(GROWN, limit=_SCAN_PAGE))
        if _is_named(grown.record.before, gone)
    ]
    return changes


def _is_named(taken: ImportedItem, gone: Redaction) -> bool:
    return taken.kind == "page" and _says(taken.place, gone)


def _report(report: ImportReport, gone: Redaction) -> ImportReport:
    return msgspec.structs.replace(
        report,
        problems=tuple(_problem(one, gone) for one in report.problems),
        topics=tuple(_topic(one, gone) for one in report.topics),
    )


def _problem(problem: ImportProblem, gone: Redaction) -> ImportProblem:
    return msgspec.structs.replace(problem, name=_text(problem.name, gone), why=_text(problem.why, gone))


def _topic(topic: ImportTopic, gone: Redaction) -> ImportTopic:
    if _says(" ".join((topic.name, *topic.keywords)), gone):
        return msgspec.structs.replace(topic, name=FORGOTTEN, keywords=())
    return topic


def _text(text: str, gone: Redaction) -> str:
    return FORGOTTEN if _says(text, gone) else text


def _says(text: str, gone: Redaction) -> bool:
    return gone.says_in(text.replace("_", " ").replace("/", " "), close=False)


_PAGE = 100
_WENT_ON = "You went on with it here, so it stays."
_CHANGED = "It was changed here since, so it stays."


@dataclass(frozen=True, slots=True)
class ImportUndo:
    """Takes one import back. `remove` deletes a conversation with all that belongs to it."""

    store: Store
    vault: Vault
    principal: Principal
    batch: str
    marks: KeyedDigest
    remove: Callable[[Principal, str], Awaitable[None]]
    tell: Callable[[ImportReport], None]

    async def run(self) -> ImportReport:
        """Do it; the report counts what went (`new`), what is as before (`grown`) and what stays (`kept`).

        Safe to repeat: what has gone is not looked for.
        """
        telling, owner = ReportBuilder(), self.principal.owner
        async for grown in records_of(self.store, owner, Scan(GROWN, {"batch": self.batch}, limit=_PAGE)):
            outcome = await self._shrunk(grown)
            telling.became(outcome, pages=grown.before.kind == "page")
            self.tell(telling.report)
        folders: set[str] = set()
        async for page in pages_of(self.store, owner, Scan(TAKEN, {"batch": self.batch}, limit=_PAGE)):
            taken = [one.record for one in page]
            for outcome in await self._sheets_gone([one for one in taken if one.kind == "page"], folders):
                telling.became(outcome, pages=True)
            for talk in [one for one in taken if one.kind != "page"]:
                telling.became(await self._gone(talk, await self._talk_gone(talk)), pages=False)
                self.tell(telling.report)
            self.tell(telling.report)
        await self._remove_empty(folders)
        return telling.report

    async def _remove_empty(self, folders: set[str]) -> None:
        """Remove the folders that held pages of the import, and those above, where nothing is left."""
        parts = [folder.split("/") for folder in folders if folder]
        every = {"/".join(part[: count + 1]) for part in parts for count in range(len(part))}
        for folder in sorted(every, key=lambda name: (-name.count("/"), name)):
            with suppress(Conflict, NoSuchPage):
                await self.vault.delete_folder(self.principal, folder)

    async def _gone(self, taken: ImportedItem, stays: Skipped | None) -> ImportOutcome:
        outcome = ImportOutcome()
        if stays is None:
            outcome.counts["new"] += 1
            await self.store.commit(self.principal.owner, [Delete(TAKEN, taken.id)])
        else:
            outcome.counts["kept"] += 1
            outcome.left.append(stays)
        return outcome

    async def _talk_gone(self, taken: ImportedItem) -> Skipped | None:
        held = await self._held(taken.place)
        if held is None:
            return None
        if held.record.active_run is not None or taken.written != str(total_of(held.record)):
            return Skipped(held.record.title[:80], _WENT_ON, is_fault=False)
        try:
            await self.remove(self.principal, taken.place)
        except Busy:
            return Skipped(held.record.title[:80], _WENT_ON, is_fault=False)
        except UnknownId:
            pass
        return None

    async def _sheets_gone(self, sheets: Sequence[ImportedItem], folders: set[str]) -> list[ImportOutcome]:
        """Delete these pages in one go, but those that were changed; `folders` gathers where they were."""
        outcomes: list[ImportOutcome] = []
        for taken, stays in zip(sheets, await self._staying(sheets), strict=True):
            outcomes.append(outcome := ImportOutcome())
            outcome.counts["kept" if stays else "new"] += 1
            if stays is None:
                folders.add(taken.place.rpartition("/")[0])
            else:
                outcome.left.append(stays)
        gone = [one for one, outcome in zip(sheets, outcomes, strict=True) if not outcome.left]
        if gone:
            await self.store.commit(self.principal.owner, [Delete(TAKEN, one.id) for one in gone])
        return outcomes

    async def _staying(self, sheets: Sequence[ImportedItem]) -> list[Skipped | None]:
        """Which of these pages stay, and why; the others are gone."""
        written = [one for one in sheets if one.written]
        unwanted = [
            Unwanted(one.place, lambda version, one=one: self.marks.of(version) == one.written)
            for one in written
        ]
        try:
            became = await self.vault.delete_many(
                self.principal, unwanted, by="import", note="Import taken back"
            )
        except NoSuchPage:
            return [None] * len(sheets)
        left: dict[str, Skipped] = {}
        for one, what in zip(written, became, strict=True):
            if isinstance(what, StorageError):
                raise what
            if isinstance(what, BethinkError) and not isinstance(what, NoSuchPage):
                left[one.id] = Skipped(one.place, _CHANGED, is_fault=False)
        return [left.get(one.id) for one in sheets]

    async def _shrunk(self, grown: ImportedUpdate) -> ImportOutcome:
        outcome = ImportOutcome()
        stays = await (self._page_back(grown) if grown.before.kind == "page" else self._talk_back(grown))
        if stays is None:
            outcome.counts["grown"] += 1
        else:
            outcome.counts["kept"] += 1
            outcome.left.append(stays)
        await self.store.commit(self.principal.owner, [Delete(GROWN, grown.id)])
        return outcome

    async def _talk_back(self, grown: ImportedUpdate) -> Skipped | None:
        held = await self._held(grown.before.place)
        if held is None:
            return None
        was = held.record
        before = msgspec.structs.replace(was, branches=grown.branches, branch=grown.branch, count=grown.count)
        if was.active_run is not None or total_of(was) != total_of(before) + len(grown.messages):
            return Skipped(was.title[:80], _WENT_ON, is_fault=False)
        try:
            await self.store.commit(
                self.principal.owner,
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
            await self.vault.undo(self.principal, grown.undo)
        except (Conflict, UnknownId):
            return Skipped(grown.before.place, _CHANGED, is_fault=False)
        await self.store.commit(self.principal.owner, [Put(TAKEN, grown.before)])
        return None

    async def _held(self, conversation: str) -> Versioned[Conversation] | None:
        (held,) = await self.store.get(CONVERSATIONS, self.principal.owner, [conversation])
        return held
