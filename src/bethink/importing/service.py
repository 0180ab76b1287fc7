"""Bringing a life along: exports of other programs, taken into conversations and the vault, and taken back.

The command line and the web door call `Imports`. One import of an owner is at
work at a time; each is durable as far as it came, and goes on where it stopped
when it is begun again.
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
from bethink.importing.conversations import ConversationImporter
from bethink.importing.job import ImportRun
from bethink.importing.pages import PageImporter
from bethink.importing.records import IMPORTS, WORKING, Import, ImportReport, KeyedDigest
from bethink.importing.undo import ImportUndo, forgotten
from bethink.store import Delete, Put, Scan

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
    from pathlib import Path

    from bethink.blobs import Blobs
    from bethink.bus import Bus
    from bethink.clock import Clock, Ids
    from bethink.embeddings import Embeddings
    from bethink.importing.jobs import UploadFolder
    from bethink.importing.records import Into, SourceName, TopicMethod
    from bethink.principal import Principal
    from bethink.redaction import Redaction
    from bethink.store import Change, Store
    from bethink.vault import Vault

_LEASE_S = 86_400.0
_BUSY = "An import of yours is at work already: wait for its end."
_LISTED = 50
_STOPPED = "Bethink was stopped meanwhile. Go on, and nothing is taken twice."


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What is wanted of an export. What is None is chosen by what it is."""

    source: SourceName | None = None
    into: Into | None = None
    topics: TopicMethod = "keywords"


def nothing_told(report: ImportReport) -> None:
    """For who does not watch."""
    del report


@dataclass(frozen=True, slots=True)
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
        choice: ImportOptions,
        *,
        tell: Callable[[ImportReport], None] = nothing_told,
    ) -> Import:
        """What an export holds and what would become of it; nothing is written.

        Raises:
            BadInput: it is no export that can be read.
            TooLarge: it unpacks to more than any export would.
        """
        running = await self._running(principal, path, choice, batch="", tell=tell, preview=True)
        report = await running.run()
        record = self._record("", path.name, running)
        return msgspec.structs.replace(record, state="ready", preview=report)

    async def run(
        self,
        principal: Principal,
        path: Path,
        choice: ImportOptions,
        *,
        tell: Callable[[ImportReport], None] = nothing_told,
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
            begun = begun or await self._unfinished(principal, path.name, choice)
            id = begun.id if begun else self.new_id()
            running = await self._running(principal, path, choice, batch=id, tell=tell)
            kept = begun or self._record(id, path.name, running)
            with self.working(id):
                # Written first: what is taken can be taken back, whatever becomes of this process.
                await self.keep(
                    principal, msgspec.structs.replace(kept, state="applying", process=self.bus.process)
                )
                try:
                    report = await running.run()
                except BaseException as error:
                    await self._ended(principal, kept, running, error=error)
                    raise
                now = msgspec.structs.replace(
                    self._record(id, kept.name, running),
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
        self, principal: Principal, id: str, tell: Callable[[ImportReport], None] = nothing_told
    ) -> Import:
        """Take back a whole import; what was changed since stays, and the report names it.

        Raises:
            UnknownId: this owner has no such import.
            Busy: an import of the owner is at work.
        """
        async with self._alone(principal):
            held = await self.get(principal, id)
            undoing = ImportUndo(
                *(self.store, self.vault, principal, id, await self._marks(principal.owner)),
                remove=self.remove(),
                tell=tell,
            )
            report = await undoing.run()
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
        (page,) = await self.store.scan(
            principal.owner, Scan(IMPORTS, order="at", reverse=True, limit=_LISTED)
        )
        return [await self._settled(item.record) for item in page.items]

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

    async def _settled(self, held: Import) -> Import:
        """The record, told as stopped where whoever worked on it is gone."""
        if held.state not in WORKING or held.id in self._working:
            return held
        if held.process != self.bus.process and await self.bus.is_alive(held.process):
            return held
        state = "failed" if held.state == "reading" else "stopped"
        return msgspec.structs.replace(held, state=state, error=_STOPPED)

    async def _unfinished(self, principal: Principal, name: str, choice: ImportOptions) -> Import | None:
        """The import of a file of this name that was cut short, to be gone on with."""
        return next(
            (
                one
                for one in await self.list(principal)
                if one.state == "stopped" and one.name == name[:200] and one.into == (choice.into or one.into)
            ),
            None,
        )

    async def drop(self, principal: Principal, id: str) -> None:
        """Remove the record of an import that took nothing."""
        await self.store.commit(principal.owner, [Delete(IMPORTS, id)])

    async def forget(self, owner: str, gone: Redaction) -> Sequence[Change]:
        """The changes by which no report and no place says what is forgotten any more."""
        return await forgotten(self.store, owner, gone)

    async def scrub(self, owner: str) -> None:
        """Remove uploads that nobody reads just now: nobody can say what is in them."""
        await anyio.to_thread.run_sync(self.staging.remove_all, owner, {*self._working})

    async def keep(self, principal: Principal, record: Import) -> None:
        """Have an import's record kept as it is now."""
        await self.store.commit(principal.owner, [Put(IMPORTS, record)])

    async def _running(
        self,
        principal: Principal,
        path: Path,
        choice: ImportOptions,
        *,
        batch: str,
        tell: Callable[[ImportReport], None],
        preview: bool = False,
    ) -> ImportRun:
        marks = await self._marks(principal.owner)

        def talks(source: SourceName) -> ConversationImporter:
            return ConversationImporter(
                *(self.store, self.blobs, self.clock, principal.owner, batch, source, marks),
                max_file_bytes=self.max_file_bytes,
                preview=preview,
            )

        def sheets(source: SourceName) -> PageImporter:
            return PageImporter(self.store, self.vault, principal, batch, source, marks, preview=preview)

        return ImportRun(
            *(path, choice.source, choice.into, choice.topics, talks),
            sheets=sheets,
            embeddings=self.embeddings,
            tell=tell,
        )

    async def _marks(self, owner: str) -> KeyedDigest:
        return KeyedDigest(bytes.fromhex(await self.digest(f"imports\0{owner}")))

    def _record(self, id: str, name: str, running: ImportRun) -> Import:
        return Import(
            id=id,
            at=self.clock.now_us(),
            state="applying",
            source=running.source or "",
            name=name[:200],
            into=running.into or "conversations",
            topics=running.topics,
        )

    async def _ended(
        self, principal: Principal, kept: Import, running: ImportRun, *, error: BaseException
    ) -> None:
        """Keep how far an import came that did not come to its end."""
        why = error.message if isinstance(error, BethinkError) else "It was stopped; begin it again to go on."
        now = msgspec.structs.replace(
            kept,
            state="stopped",
            source=running.source or kept.source,
            into=running.into or kept.into,
            report=running.telling.report,
            error=why,
        )
        with anyio.CancelScope(shield=True):
            await self.keep(principal, now)

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
