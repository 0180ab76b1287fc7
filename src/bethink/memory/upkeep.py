"""What facts need when nobody asks: their numbers, what needs a look, and what goes for its age.

The feature's hooks call it. Old facts of little importance are retracted, which is undone with one token;
after a further time, if that is set too, they are forgotten for good. Pinned ones stay. The log of changes,
which grows with every one of them, goes after a year.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from bethink.clock import to_datetime
from bethink.feature import HealthFinding, RetentionRule
from bethink.memory.consolidation import Consolidation
from bethink.memory.facts import FACTS, STEPS, Fact, secret_in
from bethink.store import Delete, Scan, pages_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Iterator, Sequence

    from bethink.feature import Features
    from bethink.memory.writer import Draft, FactWriter
    from bethink.principal import Principal
    from bethink.settings import Settings
    from bethink.store import Versioned

_PAGE = 500
_DAY_US = 86_400_000_000
_LOG_DAYS = 365
"""So long each change stands in the log, and one of many facts can be taken back: a person asks sooner."""

Trouble = Literal[
    "duplicates",
    "contradictions",
    "unsure",
    "stale",
    "secrets",
    "orphans",
    "broken_links",
    "vectors",
    "suggested",
    "expiring",
]

_EXAMPLES = 5
_VECTORS = 1_000
"""As many missing vectors are counted; more are `1,000 or more`."""

_TOLD: dict[Trouble, tuple[str, str]] = {
    "duplicates": ("say the same as another", "bethink memory consolidate --preview"),
    "contradictions": ("contradict another", "bethink memory list --doubted"),
    "unsure": ("rest on something that changed", "bethink memory list --doubted"),
    "stale": ("were true until a day that is past", "bethink memory retract ID"),
    "secrets": ("hold a password, a key or the like", "bethink memory forget ID"),
    "orphans": ("come from conversations that were deleted", "bethink memory show ID"),
    "broken_links": ("name another that was forgotten", "bethink memory show ID"),
    "vectors": ("things are found by words only", "bethink doctor --fix, then bethink serve"),
    "suggested": ("wait for your review", "bethink memory review"),
    "expiring": ("are too old, and will be retracted", "BETHINK_MEMORY_RETENTION_DAYS"),
}


@dataclass(slots=True)
class _Tally:
    """Counts by kind of trouble, with some ids of each."""

    counts: Counter[Trouble] = field(default_factory=Counter["Trouble"])
    examples: defaultdict[Trouble, list[str]] = field(
        default_factory=lambda: defaultdict[Trouble, list[str]](list)
    )

    def add(self, trouble: Trouble, ids: Collection[str]) -> None:
        self.counts[trouble] += len(ids)
        self.examples[trouble] += list(ids)[: _EXAMPLES - len(self.examples[trouble])]

    def findings(self) -> list[HealthFinding]:
        return [
            HealthFinding(
                trouble=trouble,
                count=self.counts[trouble],
                about=about,
                mend=mend,
                examples=tuple(self.examples[trouble]),
            )
            for trouble, (about, mend) in _TOLD.items()
            if self.counts[trouble]
        ]


@dataclass(frozen=True, slots=True)
class FactUpkeep:
    """Looks after the facts of all owners; every call acts for one principal.

    `forget` takes facts out for good; the `features` know what else a fact may name as its source.
    """

    writing: FactWriter
    settings: Settings
    features: Features
    forget: Callable[[Principal, Sequence[str]], Awaitable[object]]

    @property
    def retention(self) -> list[RetentionRule]:
        """What is done by itself, in this order."""
        steps = [
            ("facts were too old and are retracted", self._expire),
            ("facts expired long ago and are forgotten", self._forget_expired),
            ("changes were too old for the log", self._shorten_log),
        ]
        if self.settings.memory_consolidation:
            steps.insert(0, ("facts were merged into others", self._merge))
        return [RetentionRule(of=(FACTS, STEPS), log=log, drop=drop) for log, drop in steps]

    async def statistics(self, principal: Principal) -> dict[str, Any]:
        """How many facts there are, by what they are, from one pass over them.

        States and sources with their counts, and of those in use the categories, the most frequent first,
        and the months in which they were learnt (UTC).
        """
        states, categories, sources, months = (Counter[str]() for _ in range(4))
        pinned = doubted = 0
        async for page in self._pages(principal):
            states.update(fact.state for fact in page)
            sources.update(kind for fact in page for kind in {source.kind for source in fact.sources})
            in_use = [fact for fact in page if fact.state == "active"]
            categories.update(fact.category for fact in in_use)
            months.update(f"{to_datetime(fact.created_at):%Y-%m}" for fact in in_use)
            pinned += sum(fact.pinned for fact in in_use)
            doubted += sum(bool(fact.doubts) for fact in in_use)
        return {
            "facts": states.total(),
            "pinned": pinned,
            "doubted": doubted,
            "states": dict(states.most_common()),
            "categories": dict(categories.most_common()),
            "sources": dict(sources.most_common()),
            "months": dict(sorted(months.items())),
        }

    async def check(self, principal: Principal) -> list[HealthFinding]:
        """What needs a look, each with the command that mends it. Reads only, once over all facts."""
        tally, now = _Tally(), self.writing.clock.now_us()
        async for page in self._pages(principal):
            for fact in page:
                for trouble in _troubles(fact, now):
                    tally.add(trouble, [fact.id])
            await self._check_links(principal, page, tally)
        merged = await Consolidation(self.writing).consolidate(principal, share=1, preview=True)
        tally.add("duplicates", [fact.id for merge in merged.merges for fact in merge.gone])
        model = self.writing.embeddings.model
        missing = await self.writing.index.missing_vectors(principal.owner, model, _VECTORS)
        tally.add("vectors", [id for id, _ in missing])
        async for facts in self._expiring(principal):
            tally.add("expiring", [fact.id for fact in facts])
        return tally.findings()

    async def _check_links(self, principal: Principal, page: list[Fact], tally: _Tally) -> None:
        for kind, collection in self.features.sources.items():
            named = {fact.id: {one.id for one in fact.sources if one.kind == kind} for fact in page}
            ids = {id for of_fact in named.values() for id in of_fact if id is not None}
            there = _ids(await self.writing.store.get(collection, principal.owner, list(ids)))
            tally.add("orphans", [id for id, of_fact in named.items() if of_fact and not of_fact & there])
        linked = {fact.id: set(_links(fact)) for fact in page}
        ids = list(set[str]().union(*linked.values()))
        known = _ids(await self.writing.store.get(FACTS, principal.owner, ids))
        tally.add("broken_links", [id for id, of_fact in linked.items() if of_fact - known])

    async def _pages(self, principal: Principal) -> AsyncGenerator[list[Fact]]:
        scan = Scan(FACTS, order="created_at", limit=_PAGE)
        async for page in pages_of(self.writing.store, principal.owner, scan):
            yield [item.record for item in page]

    async def _merge(self, principal: Principal) -> int:
        consolidation = Consolidation(self.writing)
        if not await consolidation.is_due(principal):
            return 0
        return (await consolidation.consolidate(principal)).gone

    async def _expiring(self, principal: Principal) -> AsyncGenerator[list[Fact]]:
        """The facts that are retracted next, by the page: those that matter, or were said since, stay."""
        if self.settings.memory_retention_days is None:
            return
        before = self.writing.clock.now_us() - self.settings.memory_retention_days * _DAY_US
        scan = Scan(FACTS, {"state": "active"}, order="created_at", high=before, limit=_PAGE)
        async for page in pages_of(self.writing.store, principal.owner, scan):
            old = [
                fact
                for fact in (item.record for item in page)
                if not fact.pinned
                and fact.importance < self.settings.memory_retention_keep_importance
                and all(source.at < before for source in fact.sources)
            ]
            if old:
                yield old

    async def _expire(self, principal: Principal) -> int:
        """Retract what is too old, a page in one commit and one step of the log."""
        count = 0
        async for facts in self._expiring(principal):
            count += await self.writing.repeated(
                principal, partial(self._retract, [fact.id for fact in facts])
            )
        return count

    async def _retract(self, ids: Sequence[str], draft: Draft) -> int:
        old = [fact for fact in await draft.read(ids) if fact.state == "active"]
        for fact in old:
            draft.put(msgspec.structs.replace(draft.get(fact.id), state="retracted"))
            await draft.left(fact)
        if old:
            self.writing.note(draft, "expired", undo=f"expired:{self.writing.new_id()}")
            await self.writing.commit(draft)
        return len(old)

    async def _forget_expired(self, principal: Principal) -> int:
        """Forget what expired long enough ago and was not taken back."""
        if self.settings.memory_retention_forget_days is None:
            return 0
        before = self.writing.clock.now_us() - self.settings.memory_retention_forget_days * _DAY_US
        gone: list[str] = []
        scan = Scan(STEPS, {"change": "expired"}, order="at", high=before)
        async for page in pages_of(self.writing.store, principal.owner, scan):
            touched = {one.id: one.version for item in page for one in item.record.facts}
            found = await self.writing.store.get(FACTS, principal.owner, list(touched))
            gone += [one.record.id for one in found if one and one.version == touched[one.record.id]]
        if gone:
            await self.forget(principal, gone)
        return len(gone)

    async def _shorten_log(self, principal: Principal) -> int:
        """Remove the steps that are too old, once `_forget_expired` has read them."""
        store, count = self.writing.store, 0
        days = max(_LOG_DAYS, self.settings.memory_retention_forget_days or 0)
        scan = Scan(STEPS, order="at", high=self.writing.clock.now_us() - days * _DAY_US, limit=_PAGE)
        while steps := (await store.scan(principal.owner, scan))[0].items:
            await store.commit(principal.owner, [Delete(STEPS, step.record.id) for step in steps])
            count += len(steps)
        return count


def _troubles(fact: Fact, now: int) -> Iterator[Trouble]:
    if fact.state == "suggested":
        yield "suggested"
    if secret_in(fact.content):
        yield "secrets"
    if fact.state != "active":
        return
    kinds = {doubt.kind for doubt in fact.doubts}
    if "contradicts" in kinds:
        yield "contradictions"
    if kinds - {"contradicts"}:
        yield "unsure"
    if fact.valid_until is not None and fact.valid_until < now:
        yield "stale"


def _links(fact: Fact) -> Iterator[str]:
    """The facts that must be there for this one to be understood; of its past, any may be forgotten."""
    yield from fact.depends_on
    if fact.superseded_by is not None:
        yield fact.superseded_by


def _ids(found: Iterable[Versioned[Any] | None]) -> set[str]:
    return {one.record.id for one in found if one is not None}
