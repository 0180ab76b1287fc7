"""Old facts of little importance go by themselves, if their owner has set so. `housekeeping` runs it.

First they are retracted, which is undone with one token; after a further time,
if that is set too, they are forgotten for good. Pinned ones stay. The log of
changes, which grows with every one of them, goes after a year.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.memory import FACTS, STEPS, Fact
from bethink.store import Delete, Scan
from bethink.store.reading import pages_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.clock import Clock
    from bethink.forgetting.service import Forgetting
    from bethink.memory import Memory
    from bethink.principal import Principal
    from bethink.settings import Settings
    from bethink.store import Store

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
