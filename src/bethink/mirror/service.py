"""Keeps facts and their lines in the vault one memory. `app` wires it; whatever changes either side wakes it.

Facts are records, and a line of a page that carries a fact's id is their view:
a line that is edited supersedes its fact, one that is deleted retracts it, a new
one becomes a fact. What was said last tells who changed what since (three-way).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import anyio
import msgspec

from bethink.errors import BethinkError, Conflict
from bethink.forgetting.announcements import StableRead
from bethink.leases import leased
from bethink.memory.facts import mark_of
from bethink.mirror.diff import ChangeReader
from bethink.mirror.lines import LINES, REFUSALS, MirrorLine
from bethink.mirror.reconcile import FactEditor, Reconciler
from bethink.mirror.render import LineLedger, LineWriter
from bethink.principal import OnBehalfOf, PerKey, Principal, WaitingOwners
from bethink.store import Change, Delete, DeleteAll, Put, Scan, Store, owners_of
from bethink.telemetry import Supervise, log
from bethink.vault import VAULTS, Vault

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.memory import Memory

_WAIT_S: Final = 10.0
_PAUSE_S: Final = 0.05
_QUIET_S: Final = 0.2
"""So long nothing changes before lines are written: what is stored at once is written at once."""
_LONGEST_S: Final = 5.0
"""So long lines wait at most while facts go on changing."""
_RETRY_S: Final = 2.0
_FIRST_S: Final = 2.0
"""Commands that end sooner look for nothing that an earlier process left."""
_CLOSING_S: Final = 20.0
_TRIES: Final = 8
_BUSY: Final = "Another program is comparing memories with the vault: try again in a moment."
_CONFLICT: Final = (
    "The line and its memory were both changed: correct the line, and delete the note below it."
)
_HELD: Final = "The line disappeared with others: restore its file, or decide what to do."
_log = log("mirror")


@dataclass(frozen=True, slots=True)
class MirrorProblem:
    """A line that waits for its owner: where, under which id, of which fact, and why."""

    kind: Literal["conflict", "held", "refused", "no_fact"]
    path: str
    line: str
    fact: str
    why: str


@dataclass(frozen=True, slots=True)
class MirrorReport:
    """How lines and facts stand. `is_paused` while lines that vanished wait for an answer.

    `trouble` is why facts have no line.
    """

    lines: int = 0
    problems: Sequence[MirrorProblem] = ()
    is_paused: bool = False
    trouble: str = ""


@dataclass(slots=True)
class Mirror:
    """The lines and facts of all owners. `acting` gives the principal of work for an owner.

    What changes them raises `Busy` while another program is at it, `Conflict` if others go on changing the
    same, `StorageError` if facts or files cannot be changed.
    """

    memory: Memory
    vault: Vault
    bus: Bus
    acting: OnBehalfOf
    _reader: ChangeReader = field(init=False, repr=False)
    _turns: PerKey[str, anyio.Lock] = field(
        default_factory=lambda: PerKey[str, anyio.Lock](anyio.Lock), repr=False
    )
    _woken: WaitingOwners = field(default_factory=WaitingOwners, repr=False)

    def __post_init__(self) -> None:
        self._reader = ChangeReader(self.memory.store, self.vault)
        if self.is_on:
            self.memory.heard.append(self._woken.add)
            self.vault.context.listeners.append(lambda owner, _: self._woken.add(owner))

    @property
    def is_on(self) -> bool:
        """Whether the settings want it."""
        return self.vault.settings.enabled and self.vault.settings.mirror

    @asynccontextmanager
    async def opened(self, supervise: Supervise) -> AsyncGenerator[None]:
        """Compare what changes while the block runs, and at its end what is left."""
        async with anyio.create_task_group() as tasks:
            follow = partial(
                self._woken.follow,
                self._settle_woken,
                quiet_s=_QUIET_S,
                longest_s=_LONGEST_S,
                retry_s=_RETRY_S,
            )
            tasks.start_soon(supervise, "lines of memories", follow)
            tasks.start_soon(supervise, "lines of an earlier process", self._look_for_earlier)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                with anyio.move_on_after(_CLOSING_S, shield=True):
                    await self._settle_woken()

    async def settle(self, owner: str, *, whole: bool = False) -> bool:
        """Have facts and lines say the same; whether anything was compared.

        With `whole` everything is read, and not only what changed.
        """
        if not self.is_on:
            return False
        if not await self.vault.exists(owner) or await self.vault.folder_fault(owner):
            return False
        async with self._alone(owner):
            return await self._repeated(owner, whole=whole)

    async def report(self, owner: str) -> MirrorReport:
        """How lines and facts stand, as they were compared last."""
        state = (await self._reader.state(owner)).record
        lines = [one.record for one in await self._reader.all_lines(owner)]
        if any(line.state != "gone" for line in lines) and (fault := await self.vault.folder_fault(owner)):
            return MirrorReport(trouble=fault)
        problems = [found for line in lines if (found := _problem(line)) is not None]
        (page,) = await self.memory.store.scan(owner, Scan(REFUSALS, limit=1_000))
        problems += [MirrorProblem("no_fact", one.record.path, "", "", one.record.why) for one in page.items]
        there = sum(line.state in {"kept", "conflict"} for line in lines)
        problems.sort(key=lambda one: (one.kind, one.path, one.line))
        return MirrorReport(there, problems, state.paused, state.trouble)

    async def decide(self, owner: str, answer: Literal["retract", "restore"]) -> int:
        """Answer for all lines that vanished together: retract their facts, or write them again; how many."""
        async with self._alone(owner):
            held = await self._reader.all_lines(owner, state="held")
            unchanged = await StableRead.now(self.memory.store, owner)
            editor = FactEditor(self.memory, self._principal(owner), unchanged)
            for one in held:
                (fact,) = await self.memory.get(editor.principal, [one.record.fact])
                if answer == "retract" and fact is not None:
                    await editor.retract(fact)
                # One that is gone while its fact is in use is written again.
                gone = msgspec.structs.replace(one.record, state="gone")
                await self.memory.store.commit(owner, [Put(LINES, gone, one.version)])
            if held:
                await self._repeated(owner, whole=True)
            return len(held)

    async def _repeated(self, owner: str, *, whole: bool) -> bool:
        for again in range(_TRIES):
            try:
                if not await self._compared(owner, whole=whole):
                    return again > 0
            except Conflict:
                await anyio.sleep(again * _PAUSE_S)
                continue
            whole = False
        raise Conflict

    async def _compared(self, owner: str, *, whole: bool) -> bool:
        """Compare once; whether there may be more."""
        principal = self._principal(owner)
        delta = await self._reader.changes(owner, at=self.memory.clock.now_us(), whole=whole)
        if delta.is_idle:
            return False
        unchanged = await StableRead.now(self.memory.store, owner)
        await self._reader.fill(owner, delta)
        ledger = LineLedger(self.memory.store, owner, delta, unchanged)
        editor = FactEditor(self.memory, principal, unchanged)
        writer = LineWriter(self.vault, self._reader, ledger, principal)
        await writer.adopt()
        reconciler = Reconciler(self._reader, editor, ledger)
        await reconciler.run()
        await writer.place([*reconciler.placed, *writer.lineless()])
        await writer.write()
        await writer.finish()
        return True

    def _principal(self, owner: str) -> Principal:
        return self.acting(owner, audience="mirror")

    @asynccontextmanager
    async def _alone(self, owner: str) -> AsyncGenerator[None]:
        """No other comparison of the owner goes on inside, in whatever process."""
        async with self._turns[owner], leased(self.bus, f"mirror:{owner}", _BUSY, wait_s=_WAIT_S):
            yield

    async def _settle_woken(self) -> bool:
        """Compare both sides of all that were woken; whether none is left."""
        failed: set[str] = set()
        while self._woken:
            owner = self._woken.pop()
            try:
                await self.settle(owner)
            except BethinkError as error:
                _log.warning("memories and their lines in the vault are not compared yet: %s", error)
                failed.add(owner)
            except BaseException:
                self._woken.add(owner)
                raise
        for owner in failed:
            self._woken.add(owner)
        return not failed

    async def _look_for_earlier(self) -> None:
        """Compare what an earlier process was stopped in."""
        await anyio.sleep(_FIRST_S)
        try:
            async for owner in owners_of(self.memory.store, VAULTS):
                self._woken.add(owner)
        except BethinkError as error:
            _log.warning("it cannot be said whose memories are to be compared: %s", error)


def _problem(line: MirrorLine) -> MirrorProblem | None:
    if line.state == "conflict":
        return MirrorProblem("conflict", line.path, line.id, line.fact, _CONFLICT)
    if line.state == "held":
        return MirrorProblem("held", line.path, line.id, line.fact, _HELD)
    if line.refused and line.state == "kept":
        return MirrorProblem("refused", line.path, line.id, line.fact, line.why)
    return None


@dataclass(frozen=True, slots=True)
class MirrorLines:
    """The lines of pages that show facts, or showed them last."""

    store: Store

    async def of(self, owner: str, facts: Collection[str]) -> Sequence[str]:
        """The ids of the lines of these facts, also of lines that nobody noted."""
        pages = await self.store.scan(owner, *[Scan(LINES, {"fact": fact}) for fact in facts])
        own = {item.record.id for page in pages for item in page.items}
        marks = [mark_of(fact) for fact in facts]
        noted = await self.store.get(LINES, owner, marks)
        return sorted(own | {mark for mark, line in zip(marks, noted, strict=True) if line is None})

    def without(self, lines: Sequence[str]) -> list[Change]:
        """The changes by which nothing is known of these lines, nor of what was no fact."""
        return [*(Delete(LINES, line) for line in lines), DeleteAll(REFUSALS)]
