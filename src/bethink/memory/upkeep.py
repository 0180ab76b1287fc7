"""What facts need when nobody asks: their numbers, what needs a look, and what goes for its age.

The feature's hooks call it. Old facts of little importance are retracted, which is undone with one token;
after a further time, if that is set too, they are forgotten for good. Pinned ones stay. The log of changes,
which grows with every one of them, goes after a year.

Duplicates among all facts of an owner are merged in one commit (spec 000, "Deduplication
Algorithm"). Nearness of meaning, or a slot in common, only proposes a pair; what the two say
decides (`compare`). The more important fact stays, or the one that says more, with the sources,
topics and importance of both; the other is kept as merged, and comes back with the token.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio.to_thread
import msgspec

from bethink.clock import to_datetime
from bethink.errors import BadInput
from bethink.feature import Features, HealthFinding, RetentionRule
from bethink.memory.compare import FactReading, compared, reading
from bethink.memory.facts import FACTS, STEPS, Fact, holds, said_at, secret_in, taken_in
from bethink.memory.terms import figures
from bethink.store import Delete, Scan, Versioned, items_of, pages_of, records_of

if TYPE_CHECKING:
    from bethink.memory.writer import FactDraft, FactWriter, Vector
    from bethink.principal import Principal
    from bethink.settings import Settings


_PAGE = 500
_DAY_US = 86_400_000_000
_LOG_DAYS = 365
"""So long each change stands in the log, and one of many facts can be taken back: a person asks sooner."""

Trouble = Literal[
    "duplicates",
    "alike",
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
    "alike": ("pairs say nearly the same", "Health, in the room Memory"),
    "contradictions": ("contradict another", "bethink memory list --doubted"),
    "unsure": ("depend on something that changed", "bethink memory list --doubted"),
    "stale": ("were true until a day that is past", "bethink memory retract ID"),
    "secrets": ("contain a password, a key or the like", "bethink memory forget ID"),
    "orphans": ("come from conversations that were deleted", "bethink memory show ID"),
    "broken_links": ("refer to a forgotten memory", "bethink memory show ID"),
    "vectors": ("items are found by words only", "bethink doctor --fix, then bethink serve"),
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

        `first_at` is when the oldest was learnt. States and sources come with their counts, and of those in
        use the categories, projects and trusts, the most frequent first, and the months in which they were
        learnt (UTC).
        """
        states, categories, sources, months, projects, trusts, abouts = (Counter[str]() for _ in range(7))
        pinned = doubted = 0
        first_at: int | None = None
        async for page in self._pages(principal):
            states.update(fact.state for fact in page)
            sources.update(kind for fact in page for kind in {source.kind for source in fact.sources})
            in_use = [fact for fact in page if fact.state == "active"]
            categories.update(fact.category for fact in in_use)
            projects.update(fact.project for fact in in_use if fact.project is not None)
            trusts.update(fact.trust for fact in in_use)
            abouts.update(fact.about for fact in in_use)
            months.update(f"{to_datetime(fact.created_at):%Y-%m}" for fact in in_use)
            if first_at is None and page:
                first_at = page[0].created_at
            pinned += sum(fact.pinned for fact in in_use)
            doubted += sum(bool(fact.doubts) for fact in in_use)
        return {
            "facts": states.total(),
            "first_at": first_at,
            "pinned": pinned,
            "doubted": doubted,
            "states": dict(states.most_common()),
            "categories": dict(categories.most_common()),
            "sources": dict(sources.most_common()),
            "projects": dict(projects.most_common()),
            "trusts": dict(trusts.most_common()),
            "abouts": dict(abouts.most_common()),
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
        merged = await consolidated(self.writing, principal, share=1, preview=True)
        going = {fact.id for merge in merged.merges for fact in merge.gone}
        tally.add("duplicates", [*going])
        pairs = await likely_duplicates(self.writing, principal)
        tally.add("alike", [pair.gone.id for pair in pairs if not going & {pair.gone.id, pair.kept.id}])
        model = self.writing.embeddings.model
        missing = await self.writing.index.missing_vectors(principal.owner, model, _VECTORS)
        tally.add("vectors", [one.id for one in missing])
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
        if not await is_due(self.writing, principal):
            return 0
        return (await consolidated(self.writing, principal)).gone

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
            ids = [fact.id for fact in facts]
            count += await self.writing.repeated(principal, partial(self._retract, ids))
        return count

    async def _retract(self, ids: Sequence[str], draft: FactDraft) -> int:
        old = [fact for fact in await draft.read(ids) if fact.state == "active"]
        for fact in old:
            draft.put(msgspec.structs.replace(draft.get(fact.id), state="retracted"))
            await draft.left(fact)
        if old:
            self.writing.note(draft, "expired", undo=f"expired:{self.writing.new_id()}")
            await self.writing.commit(draft)
        return len(old)

    async def _forget_expired(self, principal: Principal) -> int:
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


THRESHOLD = 0.75
LARGEST_SHARE = 0.2
"""Of all facts, what one consolidation may merge away unless it is told otherwise."""
_MORE_THAN = 10
_EVERY_US = 86_400_000_000
"""Spec 000: with more than ten facts, and a day after the last time."""

_AT_ONCE = 2_000
"""In one commit, for which other writers wait; the next consolidation goes on."""
_IN_ONE_SLOT = 40
"""Compared with each other; a slot has one value or a few."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A fact with the duplicates taken into it. `kept` is as it becomes, `gone` are as they were."""

    kept: Fact
    gone: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class ConsolidationReport:
    """What was merged, or would be in a preview.

    Of `facts` in use, `merges` in order of importance; `waiting` duplicates
    were left for the next time by the bound on what may go at once.
    """

    facts: int
    merges: tuple[Merge, ...]
    waiting: int = 0
    undo: str | None = None

    @property
    def gone(self) -> int:
        """How many facts were merged into others."""
        return sum(len(merge.gone) for merge in self.merges)


async def last_consolidated(writing: FactWriter, principal: Principal) -> int | None:
    """When facts were last consolidated, microseconds UTC; None if never."""
    scan = Scan(STEPS, where={"change": "consolidated"}, order="at", reverse=True, limit=1)
    (page,) = await writing.store.scan(principal.owner, scan)
    return next((item.record.at for item in page.items), None)


async def is_due(writing: FactWriter, principal: Principal) -> bool:
    """Whether there are more than ten facts and the last time is more than a day ago."""
    last = await last_consolidated(writing, principal)
    is_long_ago = last is None or writing.clock.now_us() - last > _EVERY_US
    return is_long_ago and await writing.store.count(principal.owner, FACTS, {"state": "active"}) > _MORE_THAN


async def consolidated(
    writing: FactWriter,
    principal: Principal,
    *,
    threshold: float = THRESHOLD,
    share: float = LARGEST_SHARE,
    preview: bool = False,
) -> ConsolidationReport:
    """Find duplicates off the event loop and merge them, all in one commit; see `Memory.consolidate`."""
    if not (0 < threshold <= 1 and 0 < share <= 1):
        raise BadInput("threshold and share are numbers above 0 and up to 1.")
    scan = Scan(FACTS, where={"state": "active"}, order="created_at", limit=_PAGE)
    facts = {item.record.id: item async for item in items_of(writing.store, principal.owner, scan)}
    vectors = await vectors_of(writing, principal.owner, list(facts))
    by_id = {id: one.record for id, one in facts.items()}
    pairs = await anyio.to_thread.run_sync(_duplicates, by_id, vectors, threshold)
    most = min(max(1, int(share * len(facts))), _AT_ONCE)
    planned = ConsolidationReport(len(facts), merges_of(by_id, pairs[:most]), waiting=len(pairs[most:]))

    async def merged(draft: FactDraft) -> ConsolidationReport:
        await draft.read(fact.id for merge in planned.merges for fact in (merge.kept, *merge.gone))
        # What was changed since it was looked at is left for the next time.
        merges = tuple(
            merge
            for merge in planned.merges
            if all(
                fact.id in draft and draft.version(fact.id) == facts[fact.id].version
                for fact in (merge.kept, *merge.gone)
            )
        )
        for merge in merges:
            draft.put(merge.kept)
            for gone in merge.gone:
                draft.put(msgspec.structs.replace(gone, state="merged", superseded_by=merge.kept.id))
        undo = f"consolidated:{writing.new_id()}"
        # Also where nothing was merged: it tells when the next one is due.
        writing.note(draft, "consolidated", undo=undo)
        await writing.commit(draft)
        return ConsolidationReport(planned.facts, merges, planned.waiting, undo if merges else None)

    return planned if preview else await writing.repeated(principal, merged)


async def vectors_of(writing: FactWriter, owner: str, ids: Sequence[str]) -> dict[str, Vector]:
    """The vectors of those of the facts that have one."""
    model = writing.embeddings.model
    found: dict[str, Vector] = {}
    for start in range(0, len(ids), _PAGE):
        some = await writing.index.vectors(owner, model, ids[start : start + _PAGE])
        found |= {id: vectors[0] for id, vectors in some.items()}
    return found


@dataclass(frozen=True, slots=True)
class Duplicate:
    """`gone` says nothing that `kept` does not say; `likeness` (their cosine, or 1) orders them."""

    kept: Fact
    gone: Fact
    likeness: float


def _duplicates(by_id: dict[str, Fact], vectors: dict[str, Vector], threshold: float) -> list[Duplicate]:
    """What may be merged: no fact goes twice, and none goes into one that goes itself."""
    rested_on = {id for fact in by_id.values() for id in fact.depends_on}
    readings: dict[str, FactReading] = {}
    found: list[Duplicate] = []
    for (one, other), cosine in candidates_of([*by_id.values()], vectors, threshold).items():
        pair = judged_pair(by_id[one], by_id[other], cosine, readings=readings)
        if pair is not None and not pair.gone.doubts and pair.gone.id not in rested_on:
            found.append(pair)
    return without_chains(found)


def without_chains(found: Iterable[Duplicate]) -> list[Duplicate]:
    """The surest first: no fact goes twice, and none goes into one that goes itself."""
    kept, gone, chosen = set[str](), set[str](), list[Duplicate]()
    for pair in sorted(found, key=lambda pair: (-pair.likeness, pair.kept.id, pair.gone.id)):
        if pair.gone.id not in gone | kept and pair.kept.id not in gone:
            kept.add(pair.kept.id)
            gone.add(pair.gone.id)
            chosen.append(pair)
    return chosen


def candidates_of(
    facts: Sequence[Fact], vectors: dict[str, Vector], threshold: float
) -> dict[tuple[str, str], float | None]:
    """Pairs worth a comparison: near in meaning, of one slot, or, without vectors, of the same words."""
    pairs: dict[tuple[str, str], float | None] = {}
    alike: defaultdict[object, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.slot is not None:
            alike[fact.project, fact.slot].append(fact)
        if fact.id not in vectors:
            alike[fact.project, frozenset(reading(fact.content).statement.keys)].append(fact)
    for group in alike.values():
        pairs |= {(one.id, other.id): None for one, other in combinations(group[:_IN_ONE_SLOT], 2)}
    return pairs | {(one.id, other.id): cosine for one, other, cosine in _near(facts, vectors, threshold)}


def _near(
    facts: Sequence[Fact], vectors: dict[str, Vector], least: float
) -> Iterator[tuple[Fact, Fact, float]]:
    """Pairs of one project whose cosine is at least so much, with it."""
    import numpy as np  # heavy, and only wanted here

    from bethink.memory.likeness import near_pairs

    known = [fact for fact in facts if fact.id in vectors]
    if not known:
        return
    for (i, j), cosine in near_pairs(np.stack([vectors[fact.id] for fact in known]), least).items():
        if known[i].project == known[j].project:
            yield known[i], known[j], cosine


def judged_pair(
    one: Fact, other: Fact, cosine: float | None, *, readings: dict[str, FactReading]
) -> Duplicate | None:
    """Which of two goes into the other by what their words say; None if neither does."""
    older, newer = sorted((one, other), key=lambda fact: (fact.created_at, fact.id))
    if not of_one_time(older, newer):
        return None
    for fact in (older, newer):
        if fact.content not in readings:
            readings[fact.content] = reading(fact.content)
    relation = compared(readings[older.content], readings[newer.content], cosine)
    if relation.verdict == "same":
        kept, gone = sorted((older, newer), key=rank_of)
    elif relation.verdict == "refines" and relation.fuller is not None:
        kept, gone = (newer, older) if relation.fuller == "new" else (older, newer)
        if kept.trust != gone.trust:
            # What only an untrusted source said must not take the owner's own words in.
            return None
    else:
        return None
    return Duplicate(kept, gone, 1.0 if cosine is None else cosine)


def rank_of(fact: Fact) -> tuple[bool, bool, float, int, str]:
    """Which of two that say the same stays: the owner's, the pinned, the important, the older."""
    return fact.trust != "owner", not fact.pinned, -fact.importance, fact.created_at, fact.id


def of_one_time(one: Fact, other: Fact) -> bool:
    """Whether both have the same dates, or each held when the other was said."""
    if (one.valid_from, one.valid_until) == (other.valid_from, other.valid_until):
        return True
    if not (_agree(one.valid_from, other.valid_from) and _agree(one.valid_until, other.valid_until)):
        return False
    return holds(one, said_at(other)) and holds(other, said_at(one))


def _agree(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other


def merges_of(facts: dict[str, Fact], pairs: Iterable[Duplicate]) -> tuple[Merge, ...]:
    """What each fact that stays becomes with those that go into it."""
    groups: defaultdict[str, list[Fact]] = defaultdict(list)
    for pair in pairs:
        groups[pair.kept.id].append(pair.gone)
    merges = [Merge(taken_in(facts[id], gone), tuple(gone)) for id, gone in groups.items()]
    return tuple(sorted(merges, key=lambda merge: (-merge.kept.importance, merge.kept.id)))


LIKELY: Final = 0.88
"""Least cosine of two that are proposed: "coffee without sugar" and "with no sugar" have 0.92 and more,
"red wine" and "white wine" 0.86 (all-MiniLM-L6-v2)."""
_WITHOUT: Final = re.compile(r"\b(?:without|ohne)\b", re.IGNORECASE)
_NAME: Final = re.compile(r"(?<!^)\b[A-Z]\w+")


async def likely_duplicates(writing: FactWriter, principal: Principal) -> list[Duplicate]:
    """Pairs of facts in use for a person to look at, the likest first.

    Near enough in meaning that a person takes them for the same, though their words do not prove it: nothing
    merges them by itself.
    """
    scan = Scan(FACTS, where={"state": "active"}, order="created_at", limit=_PAGE)
    facts = [fact async for fact in records_of(writing.store, principal.owner, scan)]
    vectors = await vectors_of(writing, principal.owner, [fact.id for fact in facts])

    def likely() -> list[Duplicate]:
        found: list[Duplicate] = []
        for one, other, cosine in _near(facts, vectors, LIKELY):
            is_doubted = one.doubts or other.doubts
            if not is_doubted and _may_be_same(reading(one.content), reading(other.content), cosine):
                # The one that says more, else the older.
                kept, gone = sorted((one, other), key=lambda fact: (-len(fact.content), fact.created_at))
                found.append(Duplicate(kept, gone, round(cosine, 3)))
        return sorted(found, key=lambda pair: (-pair.likeness, pair.kept.id))

    return await anyio.to_thread.run_sync(likely)


def _may_be_same(one: FactReading, other: FactReading, cosine: float) -> bool:
    """Whether nothing in the words speaks against it: other numbers, other names, a denial of one alone."""
    if compared(one, other, cosine).verdict != "different":
        return False
    if figures(one.content) != figures(other.content) or _denies(one) is not _denies(other):
        return False
    names, others = {*_NAME.findall(one.content)}, {*_NAME.findall(other.content)}
    return (names <= others or others <= names) and one.statement.past is other.statement.past


def _denies(read: FactReading) -> bool:
    return (len(read.statement.denials) + len(_WITHOUT.findall(read.content))) % 2 == 1
