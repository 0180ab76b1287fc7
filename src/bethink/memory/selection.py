"""Which facts are listed: by what their records say, now or as they stood at an earlier moment.

`Memory.select` calls it for `GET /memories`. What the store has keys for it finds by them; the rest is
looked at fact by fact, in one pass over those that can be meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bethink.memory.facts import FACTS, STEPS, Fact, State, Trust
from bethink.store import Key, RecordPage, Scan, Store, items_of, records_of

_PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSelection:
    """All of it holds of each fact that is meant; None means any.

    `since` (inclusive) and `until` (exclusive) bound when it was learnt, microseconds UTC. `as_of` asks for
    what was in use at that moment, whatever became of it since: what was learnt later does not count. What
    was found to be wrong since (`corrected`) never was true: it is meant if `state` is that, or any.
    """

    state: State | None = "active"
    category: str | None = None
    project: str | None = None
    about: str | None = None
    doubted: bool = False
    pinned: bool | None = None
    trust: Trust | None = None
    source: str | None = None
    since: int | None = None
    until: int | None = None
    as_of: int | None = None
    order: Literal["newest", "category"] = "newest"

    @property
    def where(self) -> dict[str, Key]:
        """Those of its conditions that the store has keys for."""
        state = None if self.as_of is not None else self.state
        named: dict[str, Key] = {
            "state": state,
            "category": self.category,
            "project": self.project,
            "about": self.about,
            "doubted": 1 if self.doubted else None,
        }
        return {name: value for name, value in named.items() if value is not None}

    @property
    def is_by_keys(self) -> bool:
        """Whether the store can count what it means."""
        return self.order == "newest" and all(
            one is None for one in (self.pinned, self.trust, self.source, self.since, self.until, self.as_of)
        )

    @property
    def scan(self) -> Scan[Fact]:
        """The facts that can be meant, newest first."""
        bounds = [self.until, None if self.as_of is None else self.as_of + 1]
        high = min((bound for bound in bounds if bound is not None), default=None)
        return Scan(
            FACTS, self.where, order="created_at", low=self.since, high=high, reverse=True, limit=_PAGE
        )

    def holds_of(self, fact: Fact) -> bool:
        """Whether a fact is meant, its state now apart."""
        return (
            (self.as_of is None or self._was_so(fact))
            and self.category in {None, fact.category}
            and self.project in {None, fact.project}
            and self.about in {None, fact.about}
            and (bool(fact.doubts) or not self.doubted)
            and (self.since is None or fact.created_at >= self.since)
            and (self.until is None or fact.created_at < self.until)
            and (self.pinned is None or fact.pinned is self.pinned)
            and (self.trust is None or fact.trust == self.trust)
            and (self.source is None or any(source.kind == self.source for source in fact.sources))
        )

    def _was_so(self, fact: Fact) -> bool:
        """Whether what became of a fact since leaves it among what is meant as of a moment."""
        if self.state == "active":
            return fact.state != "corrected"
        return self.state in {None, fact.state}


async def selected(
    store: Store, owner: str, selection: FactSelection, *, limit: int, cursor: str | None
) -> tuple[RecordPage[Fact], int]:
    """Some of what is meant of an owner's facts, newest first, and how many are meant in all.

    The cursor is the store's where keys are enough, else the id of the last fact shown.
    """
    if selection.is_by_keys:
        scan = Scan(FACTS, selection.where, order="created_at", reverse=True, limit=limit, after=cursor)
        (page,) = await store.scan(owner, scan)
        return page, await store.count(owner, FACTS, selection.where)
    found = items_of(store, owner, selection.scan)
    meant = [item async for item in found if selection.holds_of(item.record)]
    if selection.as_of is not None:
        known = await in_use_at(store, owner, [item.record for item in meant], moment=selection.as_of)
        meant = [item for item in meant if item.record.id in known]
    if selection.order == "category":
        counts = Counter(item.record.category for item in meant)
        meant.sort(key=lambda item: (-counts[item.record.category], item.record.category))
    begin = next((place + 1 for place, item in enumerate(meant) if item.record.id == cursor), 0)
    items = tuple(meant[begin : begin + limit])
    more = begin + limit < len(meant)
    return RecordPage(items, items[-1].record.id if more else None), len(meant)


async def in_use_at(store: Store, owner: str, facts: Sequence[Fact], *, moment: int) -> set[str]:
    """Those of the facts that were known and in use at a moment, microseconds UTC, by their ids."""
    earlier: dict[str, State] = {}
    scan = Scan(STEPS, order="at", low=moment + 1, limit=_PAGE)
    async for step in records_of(store, owner, scan):
        for touched in step.facts:
            # Before its first change since, it was what it was at the moment. What was put back by an
            # import was known when it was learnt.
            if touched.was is not None:
                earlier.setdefault(touched.id, touched.was)
    # The log is kept for a year: of what was superseded before, what came instead tells when.
    instead = [fact.superseded_by for fact in facts if fact.state == "superseded" and fact.superseded_by]
    found = await store.get(FACTS, owner, [*dict.fromkeys(instead)])
    later = {one.record.id for one in found if one is not None and one.record.created_at > moment}
    return {
        fact.id
        for fact in facts
        if fact.created_at <= moment
        and (
            earlier[fact.id] == "active"
            if fact.id in earlier
            else fact.state == "active" or fact.superseded_by in later
        )
    }
