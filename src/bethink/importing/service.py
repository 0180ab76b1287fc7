"""Imports: exports of other programs taken into conversations and the vault, and taken back.

The command line and `jobs` call `Imports`. One import of an owner is at work at a time; each is
durable as far as it came, and goes on where it stopped when it is begun again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

import anyio
import anyio.to_thread
import msgspec

from bethink.conversations.records import CONVERSATIONS, MESSAGES, Conversation
from bethink.errors import BethinkError, Busy, Conflict, NoSuchPage, StorageError, UnknownId
from bethink.files import fit
from bethink.forgettable import FORGOTTEN
from bethink.importing.conversations import total_of
from bethink.importing.items import Skipped
from bethink.importing.job import ImportRun
from bethink.importing.records import (
    GROWN,
    IMPORTS,
    TAKEN,
    WORKING,
    Import,
    ImportContext,
    ImportOptions,
    ImportOutcome,
    ImportReport,
    KeyedDigest,
    ReportBuilder,
)
from bethink.leases import leased
from bethink.store import Change, Delete, Put, Scan, Store, Versioned, items_of, pages_of, records_of
from bethink.vault import PageToDelete, Vault

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.blobs import Blobs
    from bethink.bus import Bus
    from bethink.clock import Clock, Ids
    from bethink.embeddings import Embeddings
    from bethink.importing.records import ImportedItem, ImportedUpdate
    from bethink.principal import Principal
    from bethink.redaction import Redaction


_BUSY = "Another import of yours is running: wait until it ends."
_LISTED = 50
_STOPPED = "Bethink was stopped during the import. Continue it; nothing is imported twice."
_CUT_SHORT = "It was stopped; start it again to continue."


def _unwatched(report: ImportReport) -> None:
    del report


@dataclass(slots=True)
class Imports:
    """Imports for all owners; every call acts for one principal.

    `digest` makes digests with a key, `remove` gives what deletes a conversation
    with all that belongs to it, `on_written` is told of an owner whose items lack vectors.
    """

    store: Store
    blobs: Blobs
    vault: Vault
    embeddings: Embeddings
    clock: Clock
    new_id: Ids
    bus: Bus
    digest: Callable[[str], Awaitable[str]]
    max_file_bytes: int
    staging: UploadFolder
    remove: Callable[[], Callable[[Principal, str], Awaitable[None]]]
    on_written: Callable[[str], None]
    _busy: set[str] = field(default_factory=set[str], repr=False)
    _working: Counter[str] = field(default_factory=Counter[str], repr=False)

    async def preview(
        self,
        principal: Principal,
        path: Path,
        options: ImportOptions,
        *,
        tell: Callable[[ImportReport], None] = _unwatched,
    ) -> Import:
        """What an export holds and what would become of it; nothing is written.

        Raises:
            BadInput: it is no export that can be read.
            TooLarge: it unpacks to more than any export would.
        """
        context = await self._context(principal, "", preview=True)
        run = ImportRun(context, path, options, self.embeddings, report=ReportBuilder(tell))
        report = await run.run()
        return msgspec.structs.replace(self._record("", path.name, run), state="ready", preview=report)

    async def run(
        self,
        principal: Principal,
        path: Path,
        options: ImportOptions,
        *,
        tell: Callable[[ImportReport], None] = _unwatched,
        resumed: Import | None = None,
    ) -> Import:
        """Take an export in; its record, which is kept as far as it came whatever happens.

        `resumed` is the record of an import that goes on; one of the same name that was
        cut short goes on by itself.

        Raises:
            BadInput: it is no export that can be read.
            TooLarge: it unpacks to more than any export would.
            Busy: another import of the owner is at work.
            StorageError: what it holds cannot be kept.
        """
        async with self._alone(principal):
            resumed = resumed or await self._unfinished(principal, path.name, options)
            id = resumed.id if resumed else self.new_id()
            context = await self._context(principal, id)
            run = ImportRun(context, path, options, self.embeddings, report=ReportBuilder(tell))
            kept = resumed or self._record(id, path.name, run)
            with self.working(id):
                # Written first: what is taken can be taken back, whatever becomes of this process.
                applying = msgspec.structs.replace(kept, state="applying", process=self.bus.process)
                await self.keep(principal, applying)
                try:
                    report = await run.run()
                except BaseException as error:
                    stopped = msgspec.structs.replace(
                        kept,
                        state="stopped",
                        source=run.options.source or kept.source,
                        into=run.options.into or kept.into,
                        report=run.report.report,
                        error=error.message if isinstance(error, BethinkError) else _CUT_SHORT,
                    )
                    with anyio.CancelScope(shield=True):
                        await self.keep(principal, stopped)
                    raise
                now = msgspec.structs.replace(
                    self._record(id, kept.name, run),
                    state="done",
                    report=report,
                    preview=kept.preview,
                    at=kept.at,
                    staged=kept.staged,
                )
                await self.keep(principal, now)
            self.on_written(principal.owner)
            return now

    async def undo(
        self, principal: Principal, id: str, tell: Callable[[ImportReport], None] = _unwatched
    ) -> Import:
        """Take back a whole import; what was changed since stays, and the report names it.

        Raises:
            UnknownId: this owner has no such import.
            Busy: an import of the owner is at work.
        """
        async with self._alone(principal):
            held = await self.get(principal, id)
            undo = _ImportUndo(await self._context(principal, id), self.remove(), ReportBuilder(tell))
            report = await undo.run()
            now = msgspec.structs.replace(held, state="undone", report=report, error=None)
            await self.keep(principal, now)
            return now

    async def get(self, principal: Principal, id: str) -> Import:
        """An import's record.

        Raises:
            UnknownId: this owner has no such import.
        """
        (found,) = await self.store.get(IMPORTS, principal.owner, [id])
        if found is None:
            raise UnknownId("Import not found: the id is wrong, or it was removed.")
        return await self._settled(principal.owner, found.record)

    async def list(self, principal: Principal) -> Sequence[Import]:
        """The owner's imports, the newest first."""
        scan = Scan(IMPORTS, order="at", reverse=True, limit=_LISTED)
        (page,) = await self.store.scan(principal.owner, scan)
        return [await self._settled(principal.owner, item.record) for item in page.items]

    async def keep(self, principal: Principal, record: Import) -> None:
        """Keep an import's record as it is now."""
        await self.store.commit(principal.owner, [Put(IMPORTS, record)])

    async def drop(self, principal: Principal, id: str) -> None:
        """Remove the record of an import that took nothing."""
        await self.store.commit(principal.owner, [Delete(IMPORTS, id)])

    @contextmanager
    def working(self, id: str) -> Generator[None]:
        """An import is at work in this process."""
        self._working[id] += 1
        try:
            yield
        finally:
            self._working[id] -= 1
            if not self._working[id]:
                del self._working[id]

    async def forget(self, owner: str, gone: Redaction) -> Sequence[Change]:
        """The changes after which nothing that is kept of imports says what is forgotten."""
        changes: list[Change] = []
        async for held in items_of(self.store, owner, Scan(IMPORTS, limit=_PAGE)):
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
        async for taken in items_of(self.store, owner, Scan(TAKEN, limit=_PAGE)):
            if not _is_named(taken.record, gone):
                continue
            changes.append(Delete(TAKEN, taken.record.id, taken.version))
            # What a file holds nobody can tell; its name says it.
            if taken.record.kind == "file" and (
                version := await self.vault.attached(owner, taken.record.place)
            ):
                with suppress(Conflict, NoSuchPage):
                    await self.vault.detach(owner, taken.record.place, version)
        changes += [
            Delete(GROWN, grown.record.id, grown.version)
            async for grown in items_of(self.store, owner, Scan(GROWN, limit=_PAGE))
            if _is_named(grown.record.before, gone)
        ]
        return changes

    async def scrub(self, owner: str) -> None:
        """Remove uploads that are not being read: nobody can say what is in them."""
        await anyio.to_thread.run_sync(self.staging.remove_all, owner, {*self._working})

    async def _settled(self, owner: str, held: Import) -> Import:
        """The record, as stopped if the process that worked on it is gone."""
        if not await self._is_left(held):
            return held
        # It may have ended after it was read: how it ended is kept before nobody works on it any more.
        (now,) = await self.store.get(IMPORTS, owner, [held.id])
        if now is not None and not await self._is_left(now.record):
            return now.record
        state = "failed" if held.state == "reading" else "stopped"
        return msgspec.structs.replace(held, state=state, error=_STOPPED)

    async def _is_left(self, held: Import) -> bool:
        """Whether it says that it is at work, and nobody works on it."""
        if held.state not in WORKING or held.id in self._working:
            return False
        return held.process == self.bus.process or not await self.bus.is_alive(held.process)

    async def _unfinished(self, principal: Principal, name: str, options: ImportOptions) -> Import | None:
        """The import of a file of this name that was cut short, to go on with."""
        for one in await self.list(principal):
            if one.state == "stopped" and one.name == name[:200] and one.into == (options.into or one.into):
                return one
        return None

    async def _context(self, principal: Principal, batch: str, *, preview: bool = False) -> ImportContext:
        return ImportContext(
            principal=principal,
            store=self.store,
            blobs=self.blobs,
            vault=self.vault,
            clock=self.clock,
            marks=KeyedDigest(bytes.fromhex(await self.digest(f"imports\0{principal.owner}"))),
            max_file_bytes=self.max_file_bytes,
            batch=batch,
            preview=preview,
        )

    def _record(self, id: str, name: str, run: ImportRun) -> Import:
        return Import(
            id=id,
            at=self.clock.now_us(),
            state="applying",
            source=run.options.source or "",
            name=name[:200],
            into=run.options.into or "conversations",
            topics=run.options.topics,
        )

    @asynccontextmanager
    async def _alone(self, principal: Principal) -> AsyncGenerator[None]:
        owner = principal.owner
        if owner in self._busy:
            raise Busy(_BUSY)
        self._busy.add(owner)
        try:
            async with leased(self.bus, f"import:{owner}", _BUSY):
                yield
        finally:
            self._busy.discard(owner)


KEPT_S = 86_400
"""A day."""


@dataclass(frozen=True, slots=True)
class UploadFolder:
    """Uploads that wait for a decision, below a folder, for nobody else to read.

    They hold all that somebody said elsewhere, so they do not stay: they go with the decision, after a day,
    and when something is forgotten. Every call looks at the disk: make it in a thread.
    """

    root: Path

    def create(self, owner: str, id: str, name: str) -> IO[bytes]:
        """A new file to be filled.

        Raises:
            OSError: it cannot be made.
        """
        folder = self._home(owner) / id
        for one in (self.root, folder.parent, folder):
            one.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / fit(name)
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")

    def path(self, owner: str, id: str) -> Path | None:
        """The file of an import; None if there is none any more."""
        folder = self._home(owner) / id
        return next(iter(folder.iterdir()), None) if folder.is_dir() else None

    def remove(self, owner: str, id: str) -> None:
        """Remove it."""
        shutil.rmtree(self._home(owner) / id, ignore_errors=True)

    def remove_all(self, owner: str, but: Collection[str] = ()) -> None:
        """Remove all of an owner's, but those that are read just now."""
        home = self._home(owner)
        for folder in home.iterdir() if home.is_dir() else ():
            if folder.name not in but:
                shutil.rmtree(folder, ignore_errors=True)

    def expire(self) -> None:
        """Remove what has waited for more than a day."""
        for home in self.root.iterdir() if self.root.is_dir() else ():
            for folder in home.iterdir() if home.is_dir() else ():
                if time.time() - folder.stat().st_mtime > KEPT_S:
                    shutil.rmtree(folder, ignore_errors=True)

    def _home(self, owner: str) -> Path:
        # An owner's name may be anything; a directory's may not.
        return self.root / hashlib.sha256(owner.encode()).hexdigest()[:32]


_PAGE = 100
_WENT_ON = "You continued it here, so it is kept."
_CHANGED = "It was changed here since, so it is kept."


@dataclass(frozen=True, slots=True)
class _ImportUndo:
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
            is_page = grown.before.kind == "page"
            stays = await (self._page_back(grown) if is_page else self._talk_back(grown))
            await self.context.store.commit(self.context.owner, [Delete(GROWN, grown.id)])
            self.report.became(_outcome("grown", stays), pages=is_page)
            self.report.show()
        folders: set[str] = set()
        async for page in pages_of(store, owner, Scan(TAKEN, batch, limit=_PAGE)):
            taken = [one.record for one in page]
            files = [one for one in taken if one.kind == "file"]
            for file in files:
                stays = await self._detached(file)
                folders.add(file.place.rpartition("/")[0])
                await self.context.store.commit(owner, [Delete(TAKEN, file.id)])
                self.report.became(ImportOutcome(left=[stays] if stays else []), pages=True)
            pages = [one for one in taken if one.kind == "page"]
            left = await self._staying(pages)
            gone = [one for one, stays in zip(pages, left, strict=True) if stays is None]
            folders |= {one.place.rpartition("/")[0] for one in gone}
            if gone:
                await self.context.store.commit(owner, [Delete(TAKEN, one.id) for one in gone])
            self.report.became(_outcome("new", *left), pages=True)
            for exported in [one for one in taken if one.kind == "talk"]:
                stays = await self._removed(exported)
                if stays is None:
                    await self.context.store.commit(self.context.owner, [Delete(TAKEN, exported.id)])
                self.report.became(_outcome("new", stays), pages=False)
                self.report.show()
            self.report.show()
        # The folders that held pages of the import, and those above, go if nothing is left in them.
        parts = [folder.split("/") for folder in folders if folder]
        every = {"/".join(part[: count + 1]) for part in parts for count in range(len(part))}
        for folder in sorted(every, key=lambda name: (-name.count("/"), name)):
            with suppress(Conflict, NoSuchPage):
                await self.context.vault.delete_folder(self.context.principal, folder)
        return self.report.report

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

    async def _detached(self, taken: ImportedItem) -> Skipped | None:
        """Remove a file that lies beside the pages; why it stays, if it does."""
        vault, owner = self.context.vault, self.context.owner
        version = await vault.attached(owner, taken.place)
        if version is None:
            return None
        if self.context.marks.of(version) != taken.written:
            return Skipped(taken.place, _CHANGED, is_fault=False)
        with suppress(Conflict, NoSuchPage):
            await vault.detach(owner, taken.place, version)
        return None

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


def _is_named(taken: ImportedItem, gone: Redaction) -> bool:
    return taken.kind != "talk" and _says(taken.place, gone)


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
