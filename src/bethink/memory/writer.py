"""How facts get into the store: with what finds them, in one commit, begun again where it was refused."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import msgspec

from bethink.errors import EmbeddingsUnavailable, UnknownId
from bethink.index import IndexItem
from bethink.memory.compare import FactReadings
from bethink.memory.draft import Draft, FactFilterOf, sees_all
from bethink.memory.facts import FACTS, Fact, NewFact, State, digest, weight
from bethink.memory.steps import LogStep, StepKind
from bethink.per_key import PerKey, Recent
from bethink.store import Scan
from bethink.store.retry import retry_conflicts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bethink.clock import Clock, Ids
    from bethink.embeddings import Embeddings
    from bethink.index import Index
    from bethink.memory.slots import Slot
    from bethink.principal import Principal
    from bethink.store import Change, Store, Versioned

    Vector = NDArray[np.float32]

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
    _revisions: Recent[str, int] = field(default_factory=lambda: Recent[str, int](_REVISIONS), repr=False)
    heard: list[Callable[[str], None]] = field(default_factory=list["Callable[[str], None]"], repr=False)

    def alone(self, owner: str) -> asyncio.Lock:
        """While it is held, nothing else in this process changes facts of the owner."""
        return self._locks[owner]

    async def repeated(self, principal: Principal, change: Callable[[Draft], Awaitable[_T]]) -> _T:
        """A change that reads and commits, begun again where another process came between the two.

        Raises:
            Conflict: another process kept changing the same.
        """

        @retry_conflicts
        async def attempt() -> _T:
            draft = await self._begun(principal.owner)
            draft.sight = await self.sight(principal)
            return await change(draft)

        async with self.alone(principal.owner):
            return await attempt()

    async def _begun(self, owner: str) -> Draft:
        """A new draft, at the revision that this process made last if another one has made none since.

        If it has, the commit is refused, and the next draft reads which it is.
        """
        revision, now = self._revisions.pop(owner), self.clock.now_us()
        return (
            await Draft.begun(self.store, owner, now)
            if revision is None
            else Draft(self.store, owner, now, revision)
        )

    async def commit(
        self, draft: Draft, vectors: Mapping[str, Vector] | None = None, expected: Sequence[Change] = ()
    ) -> None:
        """Keep what the draft changed; `vectors` of texts are those that are at hand.

        `expected` refuses the commit where something else did not stay as it was.

        Raises:
            Conflict: another process changed facts of the owner, or what is expected, meanwhile.
        """
        await self.store.commit(draft.owner, [*await self.changes(draft, vectors), *expected])
        self._revisions[draft.owner] = draft.revision + 1
        for listener in self.heard:
            listener(draft.owner)

    def note(
        self,
        draft: Draft,
        change: StepKind,
        *,
        undo: str | None,
        facts: Collection[str] | None = None,
    ) -> None:
        """Have the commit keep in the log what it does to these facts, or to all that it changes."""
        touched = [one for one in draft.touched() if facts is None or one.id in facts]
        draft.note(LogStep(id=self.new_id(), at=draft.at, change=change, undo=undo, facts=tuple(touched)))

    async def changes(
        self, draft: Draft, vectors: Mapping[str, Vector] | None = None, *, but: Collection[str] = ()
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

    async def found(self, draft: Draft, fact: str, state: State, *, missing: str) -> Fact:
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
    return fact.valid_from


def text_of(fact: Fact | NewFact) -> str:
    """What a fact is found by, in words and in meaning."""
    return " ".join((fact.content, *fact.topics))
