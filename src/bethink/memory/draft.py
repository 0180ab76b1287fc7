"""Facts as one commit will leave them: read, changed, put together. `gate` and `undoing` work on it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from bethink.memory.facts import FACTS, Doubt, Fact
from bethink.memory.steps import STEPS, FactStep, LogStep
from bethink.store import Collection, Put, Record, Scan
from bethink.store.reading import pages_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bethink.index import IndexItem
    from bethink.memory.facts import NewFact, Source
    from bethink.principal import Principal
    from bethink.store import Change, Store, Versioned


class FactFilter(Protocol):
    """What somebody sees of facts who may not see all."""

    def fact(self, fact: Fact) -> Fact | None:
        """A fact as they see it; None where it is hidden from them."""
        ...

    def signed(self, source: Source) -> Source:
        """A source that says whose words they are: what they wrote is told them as they wrote it."""
        ...


class FactFilterOf(Protocol):
    """What a principal sees of facts, None for who sees all; `app` wires the vault's filters."""

    async def __call__(self, principal: Principal) -> FactFilter | None:
        """Their sight."""
        ...


async def sees_all(principal: Principal) -> None:
    """For a memory of which nothing is hidden from anybody."""
    del principal


_PAGE = 500


class Revision(Record, frozen=True, kw_only=True):
    """One an owner; its version counts the changes of their facts."""


REVISIONS = Collection("meta", Revision, searchable=False)
REVISION = "facts"


@dataclass(slots=True)
class Draft:
    """One owner's facts, within one commit.

    What it read holds until the commit, or the commit is refused: every change
    of facts counts on the owner's revision, so that two processes which say the
    same at once cannot both be the first to say it.
    """

    store: Store
    owner: str
    at: int
    revision: int
    sight: FactFilter | None = None
    """What their writer sees of facts; None is all. By the rest nothing is decided that they are told."""
    _facts: dict[str, Fact] = field(default_factory=dict[str, Fact])
    _versions: dict[str, int] = field(default_factory=dict[str, int])
    _changed: dict[str, None] = field(default_factory=dict[str, None])
    _originals: dict[str, Fact | None] = field(default_factory=dict[str, "Fact | None"])
    _steps: list[LogStep] = field(default_factory=list[LogStep])
    _derived: set[str] = field(default_factory=set[str])
    _knows_derived: bool = False

    @classmethod
    async def begun(cls, store: Store, owner: str, at: int) -> Draft:
        """A draft to which everything read from now on belongs."""
        (found,) = await store.get(REVISIONS, owner, [REVISION])
        return cls(store, owner, at, 0 if found is None else found.version)

    def saw(self, *found: Versioned[Fact]) -> None:
        """Keep what was read of the store; what was changed meanwhile stays changed."""
        for one in found:
            self._hold(self._facts.get(one.record.id, one.record))
            self._versions.setdefault(one.record.id, one.version)

    def _hold(self, fact: Fact) -> None:
        self._facts[fact.id] = fact
        if fact.depends_on:
            self._derived.add(fact.id)

    async def read(self, ids: Iterable[str]) -> list[Fact]:
        """The facts with these ids, in their order, as they are in the draft, without those that are not."""
        wanted = list(dict.fromkeys(ids))
        unread = [id for id in wanted if id not in self._facts]
        if unread:
            self.saw(*(one for one in await self.store.get(FACTS, self.owner, unread) if one is not None))
        return [self._facts[id] for id in wanted if id in self._facts]

    def put(self, fact: Fact) -> None:
        """Have the commit keep this fact."""
        self._originals.setdefault(fact.id, self._facts.get(fact.id))
        self._hold(fact)
        self._versions.setdefault(fact.id, 0)
        self._changed[fact.id] = None

    def __contains__(self, id: str) -> bool:
        return id in self._facts

    def get(self, id: str) -> Fact:
        """A fact that was read or put."""
        return self._facts[id]

    def is_seen(self, fact: Fact) -> bool:
        """Whether the writer sees all of a fact."""
        return self.sight is None or self.sight.fact(fact) == fact

    def signed(self, new: NewFact) -> NewFact:
        """A new fact as the words of the writer, where not all is seen by them."""
        return new if self.sight is None else replace(new, source=self.sight.signed(new.source))

    def version(self, id: str) -> int:
        """The fact's version before the commit, 0 of a new one."""
        return self._versions[id]

    @property
    def changed(self) -> list[Fact]:
        """What the commit will keep."""
        return [self._facts[id] for id in self._changed]

    def changes(self, facts: Iterable[tuple[Fact, IndexItem | None]]) -> list[Change]:
        """The commit that keeps these facts, each with what finds it."""
        puts = [Put(FACTS, fact, self._versions[fact.id], item) for fact, item in facts]
        steps = [Put(STEPS, step, 0) for step in self._steps]
        return [*puts, *steps, Put(REVISIONS, Revision(id=REVISION), self.revision)]

    def note(self, step: LogStep) -> None:
        """Have the commit keep what it was, for the log."""
        self._steps.append(step)

    def touched(self) -> list[FactStep]:
        """What the commit does to facts, their doubts apart: those follow what is done to others."""
        return [
            FactStep(
                id=fact.id,
                version=self._versions[fact.id] + 1,
                was=None if was is None else was.state,
                by=None if was is None else was.superseded_by,
                merges=() if was is None else was.merges,
                in_place=was is not None and fact.before is not was.before,
            )
            for fact, was in ((fact, self._originals[fact.id]) for fact in self.changed)
            if was is None or msgspec.structs.replace(fact, doubts=was.doubts) != was
        ]

    async def left(self, fact: Fact) -> None:
        """Tell the others that a fact no longer holds: lift its objections, doubt what rests on it."""
        for other in await self.read(_contradicted(fact)):
            self._mark(other, "contradicts", fact.id, is_so=False)
            await self._tell_resting_on(other.id)
        await self._tell_resting_on(fact.id, is_gone=True)

    async def returned(self, fact: Fact) -> None:
        """Tell the others that a fact holds again."""
        for other in await self.read(_contradicted(fact)):
            holds = other.state == "active"
            self._mark(other if holds else fact, "contradicts", fact.id if holds else other.id, is_so=holds)
            await self._tell_resting_on(other.id)
        await self._tell_resting_on(fact.id)

    async def contradict(self, one: Fact, other: Fact) -> None:
        """Put each of two facts in doubt by the other, and what rests on them."""
        for fact, by in ((one, other), (other, one)):
            self.object_to(fact, by)
            await self._tell_resting_on(fact.id)

    def object_to(self, fact: Fact, other: Fact) -> None:
        """Put a fact in doubt by another, which stands."""
        self._mark(fact, "contradicts", other.id, is_so=True)

    def doubt_what_it_rests_on(self, fact: Fact) -> None:
        """Put a new fact in doubt where one that it depends on is in doubt itself, or holds no longer."""
        for id in fact.depends_on:
            self._mark(fact, "depends", id, is_so=_is_shaken(self._facts[id]))

    async def _tell_resting_on(self, id: str, *, is_gone: bool = False) -> None:
        shaken = is_gone or _is_shaken(self._facts[id])
        for other in await self._resting_on(id):
            self._mark(other, "depends", id, is_so=shaken)

    def _mark(self, fact: Fact, kind: Literal["contradicts", "depends"], about: str, *, is_so: bool) -> None:
        """Have a fact be in this doubt, or not."""
        now = self._facts.get(fact.id, fact)
        others = tuple(one for one in now.doubts if (one.kind, one.fact) != (kind, about))
        if is_so is (len(others) < len(now.doubts)):
            return
        doubts = (*others, Doubt(kind=kind, fact=about, at=self.at)) if is_so else others
        self.put(msgspec.structs.replace(now, doubts=doubts))

    async def _resting_on(self, id: str) -> list[Fact]:
        """Active facts that depend on a fact, or on one that does, and so on."""
        if not self._knows_derived:
            await self._read_derived()
        derived = [self._facts[id] for id in self._derived]
        resting: dict[str, Fact] = {}
        found = {id}
        while found:
            more = [one for one in derived if one.id not in resting and found & {*one.depends_on}]
            resting |= {one.id: one for one in more}
            found = {one.id for one in more}
        return [one for one in resting.values() if one.state == "active" and one.id != id]

    async def _read_derived(self) -> None:
        if self._knows_derived:
            return
        scan = Scan(FACTS, where={"derived": 1, "state": "active"}, limit=_PAGE)
        async for page in pages_of(self.store, self.owner, scan):
            self.saw(*page)
        self._knows_derived = True


def _is_shaken(fact: Fact) -> bool:
    return fact.state != "active" or bool(_contradicted(fact))


def _contradicted(fact: Fact) -> list[str]:
    return [doubt.fact for doubt in fact.doubts if doubt.kind == "contradicts" and doubt.fact is not None]
