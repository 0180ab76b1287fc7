"""What is kept put in order in the background: duplicates merged, what is too old let go. `app` runs it.

Never while something is stored or answered: some time after the start, and
then every hour, for each owner by one process of those that share the data.

Facts that are too old are retracted first, which is undone with one token; after a further time, if that is
set too, they are forgotten for good. Pinned ones stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from bethink.conversations import CONVERSATIONS
from bethink.errors import BethinkError
from bethink.forgetting.announcements import INTENTS
from bethink.memory import FACTS, STEPS, Fact
from bethink.store import Delete, Scan, owners_of, pages_of
from bethink.telemetry import log, recorded
from bethink.vault import VAULTS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from bethink.accounts import Accounts
    from bethink.bus import Bus
    from bethink.clock import Clock
    from bethink.forgetting.service import Forgetting
    from bethink.memory import Memory
    from bethink.principal import Principal
    from bethink.settings import Settings
    from bethink.store import Collection, Store
    from bethink.vault import Vault


_PAGE = 500
_DAY_US = 86_400_000_000
_LOG_DAYS = 365
"""So long each change stands in the log, and one of many facts can be taken back: a person asks sooner."""


@dataclass(frozen=True, slots=True)
class RetentionPeriods:
    """How long facts are kept: `days` since they were last said, if less important than `importance`.

    `forget_days` later they are forgotten. None is for ever.
    """

    days: int | None = None
    importance: float = 0.8
    forget_days: int | None = None

    @classmethod
    def of(cls, settings: Settings) -> RetentionPeriods:
        """As the settings want it."""
        return cls(
            settings.memory_retention_days,
            settings.memory_retention_keep_importance,
            settings.memory_retention_forget_days,
        )


@dataclass(frozen=True, slots=True)
class Retention:
    """Lets facts of all owners expire; every call acts for one principal."""

    store: Store
    memory: Memory
    forgetting: Forgetting
    clock: Clock
    keep: RetentionPeriods

    async def expiring(self, principal: Principal) -> AsyncGenerator[list[Fact]]:
        """The facts that the next sweep retracts, oldest first, by the page."""
        if self.keep.days is None:
            return
        before = self.clock.now_us() - self.keep.days * _DAY_US
        scan = Scan(FACTS, {"state": "active"}, order="created_at", high=before, limit=_PAGE)
        async for page in pages_of(self.store, principal.owner, scan):
            if old := [item.record for item in page if self._may_go(item.record, before)]:
                yield old

    async def expire(self, principal: Principal) -> int:
        """Retract what is too old; how many facts."""
        count = 0
        async for facts in self.expiring(principal):
            count += await self.memory.expire(principal, [fact.id for fact in facts])
        return count

    async def forget(self, principal: Principal) -> int:
        """Forget what expired long enough ago and was not taken back; how many facts."""
        if self.keep.forget_days is None:
            return 0
        before = self.clock.now_us() - self.keep.forget_days * _DAY_US
        gone: list[str] = []
        scan = Scan(STEPS, {"change": "expired"}, order="at", high=before)
        async for page in pages_of(self.store, principal.owner, scan):
            touched = {one.id: one.version for item in page for one in item.record.facts}
            found = [one for one in await self.store.get(FACTS, principal.owner, list(touched)) if one]
            gone += [one.record.id for one in found if one.version == touched[one.record.id]]
        if gone:
            await self.forgetting.forget(principal, gone)
        return len(gone)

    async def shorten_log(self, principal: Principal) -> int:
        """Remove the steps that are too old, once `forget` has read them; how many."""
        days = max(_LOG_DAYS, self.keep.forget_days or 0)
        scan = Scan(STEPS, order="at", high=self.clock.now_us() - days * _DAY_US, limit=_PAGE)
        count = 0
        while steps := (await self.store.scan(principal.owner, scan))[0].items:
            await self.store.commit(principal.owner, [Delete(STEPS, step.record.id) for step in steps])
            count += len(steps)
        return count

    def _may_go(self, fact: Fact, before: int) -> bool:
        matters = fact.pinned or fact.importance >= self.keep.importance
        return not matters and all(source.at < before for source in fact.sources)


_LEASE_S = 86_400.0
"""However long it takes; the bus knows of a process that died."""
_FIRST_S = 60.0
"""Commands that end sooner put nothing in order."""
_EVERY_S = 3600.0

_log = log("tidying")


@dataclass(frozen=True, slots=True)
class Housekeeping:
    """Puts the memory of all owners in order. `merges` where duplicates are merged by itself.

    `let_go` removes what is kept for a time only, of those too who have records in `also`.
    """

    memory: Memory
    retention: Retention
    forgetting: Forgetting
    bus: Bus
    accounts: Accounts
    vault: Vault
    let_go: Callable[[Principal], Awaitable[None]]
    merges: bool = True
    also: Sequence[Collection[Any]] = ()

    async def keep_tidy(self, *, first_s: float = _FIRST_S) -> None:
        """Tidy everybody's again and again, for ever; what fails is tried again the next time."""
        await anyio.sleep(first_s)
        while True:
            try:
                await self.tidy_all()
            except BethinkError as error:
                _log.error("not everybody's memory was put in order: %s", error)
            await anyio.sleep(_EVERY_S)

    async def tidy_all(self) -> None:
        """Do what is due of each owner, one after the other.

        Raises:
            StorageError: it cannot be said who they are.
        """
        if over := await self.accounts.register.clear_sign_ins():
            _log.info("%d sign-ins were over and are cleared", over)
        kinds = (FACTS, INTENTS, CONVERSATIONS, VAULTS, *self.also)
        async for owner in owners_of(self.memory.store, *kinds):
            with recorded(_log, "the memory was not put in order"):
                await self.tidy(self.accounts.on_behalf_of(owner, audience="tidying"))

    async def _thin(self, owner: str) -> None:
        """Let go of versions of pages that are too old to be kept one by one."""
        days = self.vault.settings.versions_days
        if days is not None and await self.vault.exists(owner):
            thinned = await self.vault.versions.thin(owner, days)
            if thinned:
                _log.info("%d old versions of pages are not kept any more", thinned)

    async def tidy(self, principal: Principal) -> None:
        """Do what is due now, unless another process is at it.

        Raises:
            BethinkError: the store or the memory refused; nothing is half done.
        """
        lease = f"tidying:{principal.owner}"
        if not await self.bus.claim(lease, _LEASE_S):
            return
        try:
            await self.forgetting.finish(principal.owner)
            await self.let_go(principal)
            if self.merges and await self.memory.is_consolidation_due(principal):
                merged = await self.memory.consolidate(principal)
                _log.info("merged %d of %d facts into others", merged.gone, merged.facts)
            if expired := await self.retention.expire(principal):
                _log.info("%d facts were too old and are retracted", expired)
            if forgotten := await self.retention.forget(principal):
                _log.info("%d facts expired long ago and are forgotten", forgotten)
            await self.retention.shorten_log(principal)
            await self._thin(principal.owner)
        finally:
            with anyio.CancelScope(shield=True):
                await self.bus.release(lease)
