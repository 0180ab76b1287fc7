"""What the memory holds in numbers, and what in it needs a look, each with the command that mends it.

The command line, `doctor` and the web door ask. Reads only, once over all facts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import anyio.to_thread
import msgspec

from bethink.clock import to_datetime
from bethink.conversations import CONVERSATIONS
from bethink.memory import FACTS, secret_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from bethink.clock import Clock
    from bethink.embeddings import Embeddings
    from bethink.index import Index
    from bethink.maintenance.housekeeping import Retention
    from bethink.memory import Fact, Memory
    from bethink.principal import Principal
    from bethink.recall.service import Recall
    from bethink.store import Store, Versioned


_DATABASE = "bethink.sqlite3*"


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """How many facts there are, by what they are.

    States and sources with their counts, and of those in use the categories,
    the most frequent first, and the months in which they were learnt (UTC).
    `bytes_on_disk` is the size of the whole database, of all owners.
    """

    facts: int
    pinned: int
    doubted: int
    states: dict[str, int]
    categories: dict[str, int]
    sources: dict[str, int]
    months: dict[str, int]
    bytes_on_disk: int
    warning: str | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts for all owners; every call acts for one principal."""

    memory: Memory
    recall: Recall
    data_dir: Path

    async def numbers(self, principal: Principal) -> Numbers:
        """The owner's numbers, from one pass over their facts."""
        states, categories, sources, months = (Counter[str]() for _ in range(4))
        pinned = doubted = 0
        async for page in self.memory.pages(principal):
            states.update(fact.state for fact in page)
            sources.update(kind for fact in page for kind in {source.kind for source in fact.sources})
            in_use = [fact for fact in page if fact.state == "active"]
            categories.update(fact.category for fact in in_use)
            months.update(f"{to_datetime(fact.created_at):%Y-%m}" for fact in in_use)
            pinned += sum(fact.pinned for fact in in_use)
            doubted += sum(bool(fact.doubts) for fact in in_use)
        return Numbers(
            facts=states.total(),
            pinned=pinned,
            doubted=doubted,
            states=dict(states.most_common()),
            categories=dict(categories.most_common()),
            sources=dict(sources.most_common()),
            months=dict(sorted(months.items())),
            bytes_on_disk=await anyio.to_thread.run_sync(self._bytes),
            warning=self.recall.warning,
        )

    def _bytes(self) -> int:
        return sum(file.stat().st_size for file in self.data_dir.glob(_DATABASE))


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


class HealthFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of trouble: how many facts have it, the ids of some, and what mends it."""

    trouble: Trouble
    count: int
    about: str
    mend: str
    examples: tuple[str, ...] = ()


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
class Health:
    """Looks after the memories of all owners; every call acts for one principal."""

    store: Store
    index: Index
    embeddings: Embeddings
    clock: Clock
    memory: Memory
    retention: Retention

    async def check(self, principal: Principal) -> list[HealthFinding]:
        """What needs a look, nothing where all is well."""
        tally = _Tally()
        now = self.clock.now_us()
        async for page in self.memory.pages(principal):
            for fact in page:
                for trouble in _troubles(fact, now):
                    tally.add(trouble, [fact.id])
            await self._check_links(principal, page, tally)
        merged = await self.memory.consolidate(principal, share=1, preview=True)
        tally.add("duplicates", [fact.id for merge in merged.merges for fact in merge.gone])
        missing = await self.index.missing_vectors(principal.owner, self.embeddings.model, _VECTORS)
        tally.add("vectors", [id for id, _ in missing])
        async for facts in self.retention.expiring(principal):
            tally.add("expiring", [fact.id for fact in facts])
        return tally.findings()

    async def _check_links(self, principal: Principal, page: list[Fact], tally: _Tally) -> None:
        said_in = {
            fact.id: {source.id for source in fact.sources if source.kind == "conversation"} for fact in page
        }
        talks = {id for ids in said_in.values() for id in ids if id is not None}
        there = _ids(await self.store.get(CONVERSATIONS, principal.owner, list(talks)))
        tally.add("orphans", [id for id, ids in said_in.items() if ids and not ids & there])
        linked = {fact.id: set(_links(fact)) for fact in page}
        known = _ids(await self.store.get(FACTS, principal.owner, list(set[str]().union(*linked.values()))))
        tally.add("broken_links", [id for id, ids in linked.items() if ids - known])


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
