"""Imports that go on beside requests: an upload is looked through, decided upon, taken in, taken back.

The web door keeps one `ImportJobs` for as long as it serves. What is at work tells how
far it is; what its process did not end is told as stopped, and goes on when it
is asked to.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.to_thread
import msgspec

from bethink.errors import BadInput, BethinkError, Conflict
from bethink.importing.records import Import, ImportOptions, ImportReport, State
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from pathlib import Path

    from anyio.abc import TaskGroup

    from bethink.importing.service import Imports
    from bethink.principal import Principal

_AT_ONCE = 2
"""Exports that are worked on at a time, whoever's they are."""
_GONE = (
    "The uploaded file was deleted: it is kept for a day at most, and only until something is forgotten."
    " Upload it again."
)
_FAULT = "Something went wrong in Bethink; its log says what. What was imported so far is kept."
_log = log("importing")


@dataclass(slots=True)
class ImportJobs:
    """The imports that came over the network, of all owners."""

    importing: Imports
    _tasks: TaskGroup | None = None
    _live: dict[str, Import] = field(default_factory=dict[str, Import])
    _scopes: dict[str, anyio.CancelScope] = field(default_factory=dict[str, anyio.CancelScope])
    _limit: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(_AT_ONCE))

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[ImportJobs]:
        """Imports go on inside; what is at work at its end is stopped."""
        await anyio.to_thread.run_sync(self.importing.staging.expire)
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield self
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    async def look(self, principal: Principal, id: str, *, name: str, choice: ImportOptions) -> Import:
        """Have an upload looked through; it is there already."""
        record = Import(
            id=id,
            at=self.importing.clock.now_us(),
            state="reading",
            source=choice.source or "",
            name=name[:200],
            staged=True,
            process=self.importing.bus.process,
            chosen=choice.source,
        )

        async def work() -> Import:
            path = await self._path(principal, record)
            found = await self.importing.preview(principal, path, choice, tell=self._teller(id))
            return msgspec.structs.replace(
                record, state="ready", source=found.source, into=found.into, preview=found.preview
            )

        await self._start(principal, record, work, failing="failed")
        return record

    async def apply(self, principal: Principal, id: str, choice: ImportOptions) -> Import:
        """Take in what was looked through.

        Raises:
            UnknownId: this owner has no such import.
            BadInput: the file is not here any more.
            Conflict: it is at work, or done.
        """
        held = await self.get(principal, id)
        if held.state not in {"ready", "stopped"}:
            raise Conflict(f"This import is {held.state}: only one that is ready or stopped can be started.")
        path = await self._path(principal, held)
        chosen = ImportOptions(choice.source or held.chosen, choice.into, choice.topics)
        started = msgspec.structs.replace(
            held,
            state="applying",
            error=None,
            into=choice.into or held.into,
            topics=choice.topics,
            chosen=chosen.source,
            process=self.importing.bus.process,
        )

        async def work() -> Import:
            done = await self.importing.run(principal, path, chosen, tell=self._teller(id), resumed=started)
            await anyio.to_thread.run_sync(self.importing.staging.remove, principal.owner, id)
            return msgspec.structs.replace(done, staged=False)

        await self._start(principal, started, work, failing="stopped")
        return started

    async def undo(self, principal: Principal, id: str) -> Import:
        """Take back a whole import.

        Raises:
            UnknownId: this owner has no such import.
            Conflict: it is at work, or nothing was taken.
        """
        held = await self.get(principal, id)
        if held.state not in {"done", "stopped", "undone"} or held.report is None:
            raise Conflict(f"This import is {held.state}: there is nothing to undo.")
        started = msgspec.structs.replace(held, state="undoing", process=self.importing.bus.process)

        async def work() -> Import:
            return await self.importing.undo(principal, id, tell=self._teller(id))

        await self._start(principal, started, work, failing="stopped")
        return started

    async def discard(self, principal: Principal, id: str) -> None:
        """Remove the upload; the record of what was taken stays, so that it can be taken back.

        Raises:
            UnknownId: this owner has no such import.
        """
        held = await self.get(principal, id)
        if scope := self._scopes.get(id):
            scope.cancel()
        await anyio.to_thread.run_sync(self.importing.staging.remove, principal.owner, id)
        if held.report is None:
            await self.importing.drop(principal, id)
        else:
            await self.importing.keep(principal, msgspec.structs.replace(held, staged=False))

    async def get(self, principal: Principal, id: str) -> Import:
        """An import as it is now.

        Raises:
            UnknownId: this owner has no such import.
        """
        return self._shown(await self.importing.get(principal, id))

    async def list(self, principal: Principal) -> Sequence[Import]:
        """The owner's imports as they are now, the newest first."""
        return [self._shown(one) for one in await self.importing.list(principal)]

    def _shown(self, held: Import) -> Import:
        # What is at work has not ended before its file is gone too, whatever its record says.
        return self._live.get(held.id, held)

    async def _path(self, principal: Principal, held: Import) -> Path:
        path = await anyio.to_thread.run_sync(self.importing.staging.path, principal.owner, held.id)
        if path is None:
            raise BadInput(_GONE)
        return path

    def _teller(self, id: str) -> Callable[[ImportReport], None]:
        def tell(report: ImportReport) -> None:
            if now := self._live.get(id):
                self._live[id] = _so_far(now, report)

        return tell

    async def _start(
        self,
        principal: Principal,
        record: Import,
        work: Callable[[], Awaitable[Import]],
        *,
        failing: Literal["failed", "stopped"],
    ) -> None:
        if self._tasks is None:
            raise Conflict("Bethink is stopping: import again after its restart.")
        with ExitStack() as stack:
            stack.enter_context(self.importing.working(record.id))
            stack.callback(self._live.pop, record.id, None)
            self._live[record.id] = _so_far(record, ImportReport())
            await self.importing.keep(principal, record)
            working = stack.pop_all()
            self._tasks.start_soon(
                partial(self._worked, failing=failing, working=working), principal, record, work
            )

    async def _worked(
        self,
        principal: Principal,
        record: Import,
        work: Callable[[], Awaitable[Import]],
        *,
        failing: State,
        working: ExitStack,
    ) -> None:
        with working, anyio.CancelScope() as scope, recorded(_log, "an import could not be kept"):
            working.callback(self._scopes.pop, record.id, None)
            self._scopes[record.id] = scope
            now, fault = None, _FAULT
            with recorded(_log, "an import failed"):
                try:
                    async with self._limit:
                        now = await work()
                except BethinkError as error:
                    fault = error.message
            if now is None:
                report = record.report if record.state == "reading" else self._live[record.id].report
                now = msgspec.structs.replace(record, state=failing, error=fault, report=report)
            await self.importing.keep(principal, now)


def _so_far(record: Import, report: ImportReport) -> Import:
    """An import at work, and how far it is."""
    if record.state == "reading":
        return msgspec.structs.replace(record, preview=report)
    return msgspec.structs.replace(record, report=report)
