"""How facts get into the store: with what finds them, in one commit, begun again if it was refused.

`FactDraft` is what one commit will leave: read, changed, put together; `gate` and `undo` work on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from bethink.errors import EmbeddingsUnavailable, UnknownId
from bethink.index import Index, IndexItem
from bethink.memory.compare import FactReadings
from bethink.memory.facts import (
    FACTS,
    STEPS,
    Doubt,
    Fact,
    FactStep,
    LogStep,
    NewFact,
    State,
    StepKind,
    digest,
    weight,
)
from bethink.principal import PerKey, Principal, Recent
from bethink.store import Change, Collection, Put, Record, Scan, Store, Versioned, pages_of, retry_conflicts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.clock import Clock, Ids
    from bethink.embeddings import Embeddings
    from bethink.memory.facts import Source
    from bethink.memory.slots import Slot

    Vector = NDArray[np.float32]


class FactFilter(Protocol):
    """What somebody sees of facts who may not see all."""

    def fact(self, fact: Fact) -> Fact | None:
        """A fact as they see it; None where it is hidden from them."""
        ...

    def signed(self, source: Source) -> Source:
        """A source that says whose words they are: what they wrote is told them as they wrote it."""
        ...


FactFilterOf: TypeAlias = "Callable[[Principal], Awaitable[FactFilter | None]]"
"""What a principal sees of facts, None for who sees all; `app` wires the vault's filters."""


async def sees_all(principal: Principal) -> None:
    """For a memory of which nothing is hidden from anybody."""
    del principal


_PAGE = 500


class Revision(Record, frozen=True, kw_only=True):
    """One an owner; its version counts the changes of their facts. The last was `at`, in microseconds UTC."""

    at: int = 0


REVISIONS = Collection("meta", Revision, searchable=False)
REVISION = "facts"
_APART_US = 300_000_000
"""Clocks of processes may be so far apart; one that is further ahead is wrong, and not followed."""


def behind(last: int, now: int) -> int:
    """When a change is that follows another: now, or right behind that if it is of a clock ahead of ours."""
    return last + 1 if 0 <= last - now - 1 < _APART_US else now


@dataclass(slots=True)
class FactDraft:
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
    objected: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Objections that are a change by themselves, by their facts."""
    _facts: dict[str, Fact] = field(default_factory=dict[str, Fact])
    _versions: dict[str, int] = field(default_factory=dict[str, int])
    _changed: dict[str, None] = field(default_factory=dict[str, None])
    _originals: dict[str, Fact | None] = field(default_factory=dict[str, "Fact | None"])
    _steps: list[LogStep] = field(default_factory=list[LogStep])
    _derived: set[str] = field(default_factory=set[str])
    _knows_derived: bool = False

    @classmethod
    async def begun(cls, store: Store, owner: str, at: int) -> FactDraft:
        """A draft to which everything read from now on belongs."""
        (found,) = await store.get(REVISIONS, owner, [REVISION])
        if found is None:
            return cls(store, owner, at, 0)
        return cls(store, owner, behind(found.record.at, at), found.version)

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
        return [*puts, *steps, Put(REVISIONS, Revision(id=REVISION, at=self.at), self.revision)]

    def note(self, step: LogStep) -> None:
        """Have the commit keep what it was, for the log."""
        self._steps.append(step)

    def touched(self, ids: Container[str] | None = None) -> list[FactStep]:
        """What the commit does to these facts, or to all: not their doubts, which follow from others."""
        changed = [self._facts[id] for id in self._changed if ids is None or id in ids]
        return [
            FactStep(
                id=fact.id,
                version=self._versions[fact.id] + 1,
                was=None if was is None else was.state,
                by=None if was is None else was.superseded_by,
                merges=() if was is None else was.merges,
                in_place=was is not None and fact.before is not was.before,
                objected=tuple(self.objected.get(fact.id, ())),
            )
            for fact, was in ((fact, self._originals[fact.id]) for fact in changed)
            if was is None
            or fact.id in self.objected
            or msgspec.structs.replace(fact, doubts=was.doubts) != was
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

    async def reconcile(self, one: str, other: str) -> None:
        """Lift what each of two facts has against the other, if they are there."""
        facts = await self.read((one, other))
        for fact, by in ((one, other), (other, one)):
            if any(found.id == fact for found in facts):
                self._mark(self.get(fact), "contradicts", by, is_so=False)
                await self._tell_resting_on(fact)

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
            scan = Scan(FACTS, where={"derived": 1, "state": "active"}, limit=_PAGE)
            async for page in pages_of(self.store, self.owner, scan):
                self.saw(*page)
            self._knows_derived = True
        derived = [self._facts[id] for id in self._derived]
        resting: dict[str, Fact] = {}
        found = {id}
        while found:
            more = [one for one in derived if one.id not in resting and found & {*one.depends_on}]
            resting |= {one.id: one for one in more}
            found = {one.id for one in more}
        return [one for one in resting.values() if one.state == "active" and one.id != id]


def _is_shaken(fact: Fact) -> bool:
    return fact.state != "active" or bool(_contradicted(fact))


def _contradicted(fact: Fact) -> list[str]:
    return [doubt.fact for doubt in fact.doubts if doubt.kind == "contradicts" and doubt.fact is not None]


KIND = "fact"
PAST_KIND = "past_fact"
"""The kind under which a superseded fact is found, when a question asks about a time."""
SUGGESTED_KIND = "suggested_fact"
"""The kind under which the gate finds what waits for review; recall does not look there."""
_KINDS: dict[State, str] = {"active": KIND, "superseded": PAST_KIND, "suggested": SUGGESTED_KIND}
_EVER = -(2**62)
"""Microseconds; before every time that a calendar has."""

_REVISIONS = 1_000
"""Owners whose last revision is known without a look: it spares one for whoever writes again soon."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class FactWriter:
    """Commits facts, one change of an owner at a time. Behind each commit `heard` are told whose it was."""

    store: Store
    index: Index
    embeddings: Embeddings
    clock: Clock
    new_id: Ids
    sight: FactFilterOf = sees_all
    readings: FactReadings = field(default_factory=FactReadings, repr=False)
    _locks: PerKey[str, asyncio.Lock] = field(
        default_factory=lambda: PerKey[str, asyncio.Lock](asyncio.Lock), repr=False
    )
    _revisions: Recent[str, tuple[int, int]] = field(
        default_factory=lambda: Recent[str, tuple[int, int]](_REVISIONS), repr=False
    )
    heard: list[Callable[[str], None]] = field(default_factory=list["Callable[[str], None]"], repr=False)

    def alone(self, owner: str) -> asyncio.Lock:
        """While it is held, nothing else in this process changes facts of the owner."""
        return self._locks[owner]

    async def repeated(self, principal: Principal, change: Callable[[FactDraft], Awaitable[_T]]) -> _T:
        """A change that reads and commits, begun again where another process came between the two.

        Raises:
            Conflict: another process kept changing the same.
        """

        @retry_conflicts
        async def attempt() -> _T:
            # At the revision that this process made last: if another one has made one since, the commit is
            # refused, and the next draft reads which it is.
            owner, now = principal.owner, self.clock.now_us()
            last = self._revisions.pop(owner)
            draft = (
                await FactDraft.begun(self.store, owner, now)
                if last is None
                else FactDraft(self.store, owner, behind(last[1], now), last[0])
            )
            draft.sight = await self.sight(principal)
            return await change(draft)

        async with self.alone(principal.owner):
            return await attempt()

    async def commit(
        self, draft: FactDraft, vectors: Mapping[str, Vector] | None = None, expected: Sequence[Change] = ()
    ) -> None:
        """Keep what the draft changed; `vectors` of texts are those that are at hand.

        `expected` refuses the commit where something else did not stay as it was.

        Raises:
            Conflict: another process changed facts of the owner, or what is expected, meanwhile.
        """
        await self.store.commit(draft.owner, [*await self.changes(draft, vectors), *expected])
        self._revisions[draft.owner] = draft.revision + 1, draft.at
        for listener in self.heard:
            listener(draft.owner)

    def note(
        self,
        draft: FactDraft,
        change: StepKind,
        *,
        undo: str | None,
        facts: Container[str] | None = None,
    ) -> None:
        """Have the commit keep in the log what it does to these facts, or to all that it changes."""
        touched = tuple(draft.touched(facts))
        draft.note(LogStep(id=self.new_id(), at=draft.at, change=change, undo=undo, facts=touched))

    async def changes(
        self, draft: FactDraft, vectors: Mapping[str, Vector] | None = None, *, but: Container[str] = ()
    ) -> list[Change]:
        """What `commit` commits, the facts `but` apart."""
        facts = [fact for fact in draft.changed if fact.id not in but]
        known = dict(vectors or {})
        texts = dict.fromkeys(text_of(fact) for fact in facts if fact.state in _KINDS)
        missing = [text for text in texts if text not in known]
        known |= zip(missing, await self.vectors(missing) or (), strict=False)
        return draft.changes([(fact, self._item(fact, known.get(text_of(fact)))) for fact in facts])

    async def vectors(self, texts: Sequence[str]) -> list[Vector] | None:
        """The texts' vectors; None while there is no embedding model."""
        if not texts:
            return []
        try:
            return list(await self.embeddings.embed(texts))
        except EmbeddingsUnavailable:
            return None

    async def said(self, owner: str, digests: Sequence[str]) -> list[list[Versioned[Fact]]]:
        """For each digest, the facts of any state that have it."""
        scans = [Scan(FACTS, where={"digest": digest}) for digest in digests]
        return [[*page.items] for page in await self.store.scan(owner, *scans)]

    async def found(self, draft: FactDraft, fact: str, state: State, *, missing: str) -> Fact:
        """The fact, if it has this state.

        Raises:
            UnknownId: it is not there, or in another state; `missing` says so.
        """
        found = await draft.read([fact])
        if not found or found[0].state != state:
            raise UnknownId(missing)
        return found[0]

    def fact(self, new: NewFact, now: int, *, slot: Slot | None) -> Fact:
        """The record of a new fact, which fills this slot."""
        return Fact(
            id=self.new_id(),
            content=new.content,
            digest=digest(new.content),
            weight=weight(new.importance, pinned=new.pinned),
            created_at=now,
            category=new.category,
            importance=new.importance,
            topics=new.topics,
            state="suggested" if new.is_suggested else "active",
            valid_from=new.valid_from,
            valid_until=new.valid_until,
            sources=(msgspec.structs.replace(new.source, at=new.source.at or new.at or now),),
            trust=new.trusted,
            depends_on=new.depends_on,
            supersedes=new.replaces,
            corrects=new.corrects,
            told_about=new.about,
            project=new.project,
            pinned=new.pinned,
            slot=slot and slot.key,
        )

    def in_its_slot(self, fact: Fact) -> Fact:
        """The fact, found by the slot that its content fills."""
        slot = self.readings.of(fact.content).slot
        return msgspec.structs.replace(fact, slot=slot and slot.key)

    def _item(self, fact: Fact, vector: Vector | None) -> IndexItem | None:
        if fact.state not in _KINDS:
            return None
        return IndexItem(
            kind=_KINDS[fact.state],
            text=text_of(fact),
            at=fact.created_at,
            vector=vector,
            model=None if vector is None else self.embeddings.model,
            project=fact.project,
            held_from=_held_from(fact),
            held_until=fact.valid_until,
        )


def _held_from(fact: Fact) -> int | None:
    if fact.valid_from is None and fact.valid_until is not None and fact.valid_until < fact.created_at:
        # Over before it was told: since when, nobody said.
        return _EVER
    return fact.told_at if fact.valid_from is None else fact.valid_from


def text_of(fact: Fact | NewFact) -> str:
    """What a fact is found by, in words and in meaning."""
    return " ".join((fact.content, *fact.topics))
