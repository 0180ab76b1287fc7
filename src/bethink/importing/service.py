"""Imports: exports of other programs taken into conversations and the vault, and taken back.

The command line and `jobs` call `Imports`. One import of an owner is at work at a time; each is
durable as far as it came, and goes on where it stopped when it is begun again.
"""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import msgspec

from bethink.errors import BethinkError, Busy, UnknownId
from bethink.importing.context import ImportContext, ReportBuilder
from bethink.importing.job import ImportRun
from bethink.importing.records import IMPORTS, WORKING, Import, KeyedDigest
from bethink.importing.undo import ImportUndo, forgotten
from bethink.store import Delete, Put, Scan

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
    from pathlib import Path

    from bethink.blobs import Blobs
    from bethink.bus import Bus
    from bethink.clock import Clock, Ids
    from bethink.embeddings import Embeddings
    from bethink.importing.records import ImportReport, Into, SourceName, TopicMethod
    from bethink.importing.uploads import UploadFolder
    from bethink.principal import Principal
    from bethink.redaction import Redaction
    from bethink.store import Change, Store
    from bethink.vault import Vault

_LEASE_S = 86_400.0
_BUSY = "An import of yours is at work already: wait for its end."
_LISTED = 50
_STOPPED = "Bethink was stopped meanwhile. Go on, and nothing is taken twice."
_CUT_SHORT = "It was stopped; begin it again to go on."


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What is wanted of an export. What is None is chosen by what it is."""

    source: SourceName | None = None
    into: Into | None = None
    topics: TopicMethod = "keywords"


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
        run = self._run(context, path, options, tell=tell)
        report = await run.run()
        return msgspec.structs.replace(self._record("", path.name, run), state="ready", preview=report)

    async def run(
        self,
        principal: Principal,
        path: Path,
        options: ImportOptions,
        *,
        tell: Callable[[ImportReport], None] = _unwatched,
        begun: Import | None = None,
    ) -> Import:
        """Take an export in; its record, which is kept as far as it came whatever happens.

        `begun` is the record of an import that goes on; one of the same name that was
        cut short goes on by itself.

        Raises:
            BadInput: it is no export that can be read.
            TooLarge: it unpacks to more than any export would.
            Busy: another import of the owner is at work.
            StorageError: what it holds cannot be kept.
        """
        async with self._alone(principal):
            begun = begun or await self._unfinished(principal, path.name, options)
            id = begun.id if begun else self.new_id()
            run = self._run(await self._context(principal, id), path, options, tell=tell)
            kept = begun or self._record(id, path.name, run)
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
                        source=run.source or kept.source,
                        into=run.into or kept.into,
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
            undo = ImportUndo(await self._context(principal, id), self.remove(), ReportBuilder(tell))
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
            message = "Import not found: the id is wrong, or it was taken away."
            raise UnknownId(message)
        return await self._settled(found.record)

    async def list(self, principal: Principal) -> Sequence[Import]:
        """The owner's imports, the newest first."""
        scan = Scan(IMPORTS, order="at", reverse=True, limit=_LISTED)
        (page,) = await self.store.scan(principal.owner, scan)
        return [await self._settled(item.record) for item in page.items]

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
        return await forgotten(self.store, owner, gone)

    async def scrub(self, owner: str) -> None:
        """Remove uploads that are not being read: nobody can say what is in them."""
        await anyio.to_thread.run_sync(self.staging.remove_all, owner, {*self._working})

    async def _settled(self, held: Import) -> Import:
        """The record, as stopped if the process that worked on it is gone."""
        if held.state not in WORKING or held.id in self._working:
            return held
        if held.process != self.bus.process and await self.bus.is_alive(held.process):
            return held
        state = "failed" if held.state == "reading" else "stopped"
        return msgspec.structs.replace(held, state=state, error=_STOPPED)

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

    def _run(
        self,
        context: ImportContext,
        path: Path,
        options: ImportOptions,
        *,
        tell: Callable[[ImportReport], None],
    ) -> ImportRun:
        return ImportRun(
            context,
            path,
            source=options.source,
            into=options.into,
            topics=options.topics,
            embeddings=self.embeddings,
            report=ReportBuilder(tell),
        )

    def _record(self, id: str, name: str, run: ImportRun) -> Import:
        return Import(
            id=id,
            at=self.clock.now_us(),
            state="applying",
            source=run.source or "",
            name=name[:200],
            into=run.into or "conversations",
            topics=run.topics,
        )

    @asynccontextmanager
    async def _alone(self, principal: Principal) -> AsyncGenerator[None]:
        owner = principal.owner
        if owner in self._busy:
            raise Busy(_BUSY)
        self._busy.add(owner)
        try:
            if not await self.bus.claim(f"import:{owner}", _LEASE_S):
                raise Busy(_BUSY)
            try:
                yield
            finally:
                with anyio.CancelScope(shield=True):
                    await self.bus.release(f"import:{owner}")
        finally:
            self._busy.discard(owner)
