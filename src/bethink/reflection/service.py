"""Keeps what was worked out about a whole memory: one commit, a receipt of ids, one step that takes it back.

`agent/reflection` looks, has a model judge, and gives a plan; `web/reflection` and `bethink memory` show
receipts and the profile. A sentence of the profile is shown while the facts that it is told from hold; what
was forgotten is cut out of it like out of everything else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import msgspec

from bethink.clock import Clock, Ids, checked_id, rfc3339
from bethink.conversations.records import CONVERSATIONS, SIGHTINGS
from bethink.errors import BadInput, UnknownId
from bethink.feature import Feature, OpenFeature, Surroundings
from bethink.forgettable import FORGOTTEN
from bethink.forgetting.announcements import StableRead
from bethink.memory import FACTS, LARGEST_SHARE, Fact, Memory, NewFact
from bethink.memory.facts import said_at, taken_in
from bethink.memory.service import FADING, FADING_ID, Fading
from bethink.memory.upkeep import Duplicate, vectors_of, without_chains
from bethink.memory.writer import REVISION, REVISIONS, text_of
from bethink.record_texts import RecordLines, RecordTexts, of_document
from bethink.reflection.pairs import FactPair, PairsFound, kept_of, names_among, pairs_among
from bethink.reflection.records import (
    MOST_JUDGED,
    MOST_KEPT,
    REFLECTIONS,
    STATE,
    STATES,
    MergedPair,
    ProfileSentence,
    Reflection,
    ReflectionState,
    Refusals,
)
from bethink.store import Delete, Put, Scan, Versioned, items_of, pages_of, records_of, retry_conflicts

if TYPE_CHECKING:
    from bethink.memory.writer import FactDraft, Vector
    from bethink.principal import Principal
    from bethink.store import Change, RecordPage, Store

KIND: Final = "reflection"
TOKEN: Final = "reflected:"  # noqa: S105 - how an undo token begins
_PAGE: Final = 500
_PROFILES: Final = 5
"""Receipts that keep their profile, to go back to."""
MOST_SENTENCES: Final = 60
_DAY_US: Final = 86_400_000_000
_FADED: Final = ((360, 0.25), (180, 0.5), (90, 0.75))
"""From so many days without use on, what is left of a fact's importance; beside it, and it comes back."""
_USED_OFTEN: Final = 3
"""In so many conversations: then it takes twice as long."""
_LASTING: Final = 0.8
"""From this importance on nothing fades, as it is always told."""


@dataclass(frozen=True, slots=True)
class MemoryView:
    """An owner's facts in use as a reader sees them, and their pairs; `stable` tells whether that holds."""

    principal: Principal
    facts: Mapping[str, Versioned[Fact]]
    pairs: PairsFound
    names: frozenset[str]
    state: Versioned[ReflectionState]
    stable: StableRead

    @property
    def records(self) -> list[Fact]:
        """The facts, oldest first."""
        return [one.record for one in self.facts.values()]

    @property
    def rested_on(self) -> frozenset[str]:
        """The facts on which others depend."""
        return frozenset(id for fact in self.records for id in fact.depends_on)


@dataclass(slots=True)
class ReflectionPlan:
    """What is to be done. `propose` leaves merges and contradictions to the owner.

    Of `read` facts the profile and the insights were written: if one of them is another by then, they are not
    kept. `apart` are pairs that say different things, by their keys.
    """

    view: MemoryView
    asked: bool = False
    propose: bool = False
    day: str = ""
    model: str = ""
    merges: list[Duplicate] = field(default_factory=list["Duplicate"])
    contradictions: list[FactPair] = field(default_factory=list[FactPair])
    insights: list[NewFact] = field(default_factory=list["NewFact"])
    profile: list[ProfileSentence] = field(default_factory=list[ProfileSentence])
    read: set[str] = field(default_factory=set[str])
    apart: list[str] = field(default_factory=list[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    looked_at: int = 0
    waiting: int = 0
    tokens: int = 0
    note: str = ""

    def judged(self, pair: FactPair, verdict: str) -> None:
        """Take in what a model says of a pair, as far as the words bear it out."""
        self.looked_at += 1
        merge = kept_of(pair, self.view.names, self.view.rested_on) if verdict == "same" else None
        if merge is not None:
            self.merges.append(merge)
        elif verdict == "contradicts":
            self.contradictions.append(pair)
        else:
            self.refused["merges"] += verdict == "same"
            self.apart.append(pair.key)

    def bounded(self) -> list[Duplicate]:
        """The merges that the bound on what may go at once allows, the surest first."""
        found = without_chains((*self.view.pairs.same, *self.merges))
        most = max(1, int(LARGEST_SHARE * len(self.view.facts)))
        self.waiting += len(found[most:])
        return found[:most]


@dataclass(frozen=True, slots=True)
class Profile:
    """What is told of an owner, written `at`: sentences whose facts hold; `lost` counts the others."""

    at: int
    sentences: tuple[ProfileSentence, ...]
    lost: int
    reflection: str


@dataclass(frozen=True, slots=True)
class Reflections:
    """The receipts and profiles of all owners; every call acts for one principal."""

    memory: Memory
    store: Store
    clock: Clock
    new_id: Ids

    async def state(self, owner: str) -> Versioned[ReflectionState] | None:
        """What is known of an owner's last time; None if there was none."""
        return (await self.store.get(STATES, owner, [STATE]))[0]

    async def is_changed(self, owner: str, state: ReflectionState | None) -> bool:
        """Whether facts were changed since the last time."""
        (found,) = await self.store.get(REVISIONS, owner, [REVISION])
        return found is not None and (state is None or found.version != state.revision)

    async def view(self, principal: Principal) -> MemoryView:
        """Read everything that is in use, as far as the principal sees it whole."""
        stable = await StableRead.now(self.store, principal.owner)
        found = await self.state(principal.owner)
        sight = await self.memory.sight(principal)
        scan = Scan(FACTS, where={"state": "active"}, order="created_at", limit=_PAGE)
        facts = {
            item.record.id: item
            async for item in items_of(self.store, principal.owner, scan)
            if sight is None or sight.fact(item.record) == item.record
        }
        vectors = await vectors_of(self.memory.writing, principal.owner, [*facts])
        records = [one.record for one in facts.values()]
        judged = frozenset(found.record.judged if found else ())
        pairs = await anyio.to_thread.run_sync(pairs_among, records, vectors, judged)
        state = found or Versioned(ReflectionState(), 0)
        return MemoryView(principal, facts, pairs, names_among(records), state, stable)

    async def keep(self, plan: ReflectionPlan) -> Reflection:
        """Do what is planned, all of it or nothing; what has changed since it was looked at is left alone.

        Raises:
            Conflict: something was forgotten meanwhile, or another process has just done the same.
        """
        writing, principal = self.memory.writing, plan.view.principal
        vectors = await writing.vectors([text_of(new) for new in plan.insights])
        factors = await self._factors(plan.view)
        merges = plan.bounded()
        kept = await writing.repeated(
            principal, partial(self._keep, plan, merges=merges, vectors=vectors, factors=factors)
        )
        self.memory.fading.forget(principal.owner)
        await self._shorten(principal.owner)
        return kept

    async def _keep(
        self,
        plan: ReflectionPlan,
        draft: FactDraft,
        *,
        merges: Sequence[Duplicate],
        vectors: Sequence[Vector] | None,
        factors: Mapping[str, float],
    ) -> Reflection:
        id = self.new_id()
        done = _Doing(self.memory, draft, plan.view.facts)
        pairs = [(pair.kept.id, pair.gone.id) for pair in merges]
        contradictions = [
            (pair.one.id, pair.other.id) for pair in (*plan.view.pairs.contradicting, *plan.contradictions)
        ]
        await draft.read([*plan.read, *(id for pair in (*pairs, *contradictions) for id in pair)])
        by_model = {pair.gone.id for pair in plan.merges}
        is_same = all(map(done.is_same, plan.read))
        if not plan.propose:
            pairs = done.merge(pairs)
            contradictions = await done.contradict(contradictions)
        insights = await done.suggest(plan.insights, vectors, source=f"{KIND}:{id}") if is_same else []
        proposed = plan.propose and bool(pairs or contradictions)
        revised = draft.revision + 1
        fading, faded = await self._fading(draft.owner, factors)
        record = Reflection(
            id=id,
            at=draft.at,
            status="proposed" if proposed else "done",
            asked=plan.asked,
            model=plan.model,
            facts=len(plan.view.facts),
            merges=tuple(MergedPair(kept=kept, gone=gone, by_model=gone in by_model) for kept, gone in pairs),
            contradictions=tuple(contradictions),
            insights=tuple(insights),
            profile=tuple(done.told(plan.profile)) if is_same else (),
            faded=faded,
            looked_at=plan.looked_at,
            waiting=plan.waiting,
            refused=Refusals(
                merges=plan.refused["merges"],
                sentences=plan.refused["sentences"],
                insights=plan.refused["insights"] + len(plan.insights) - len(insights),
                answers=plan.refused["answers"],
            ),
            tokens=plan.tokens,
            note=plan.note,
            undo=f"{TOKEN}{id}",
        )
        was = plan.view.state
        judged = tuple(dict.fromkeys((*was.record.judged, *plan.apart)))[-MOST_JUDGED:]
        state = ReflectionState(judged=judged, at=draft.at, day=plan.day or was.record.day, revision=revised)
        self.memory.writing.note(draft, "reflected", undo=record.undo)
        changes: list[Change] = [Put(REFLECTIONS, record, 0), Put(STATES, state, was.version), *fading]
        await self.memory.writing.commit(draft, expected=[*changes, *plan.view.stable.expected])
        return record

    async def apply(self, principal: Principal, id: str) -> Reflection:
        """Do what was proposed, as far as its facts are in use still.

        Raises:
            UnknownId: there is no such proposal.
        """

        async def applied(draft: FactDraft) -> Reflection:
            (found,) = await self.store.get(REFLECTIONS, principal.owner, [id])
            if found is None or found.record.status != "proposed":
                raise UnknownId(_NO_PROPOSAL)
            was = found.record
            pairs = [(one.kept, one.gone) for one in was.merges]
            facts = await draft.read([id for pair in (*pairs, *was.contradictions) for id in pair])
            done = _Doing(self.memory, draft, {fact.id: None for fact in facts if fact.state == "active"})
            merged = {gone for _, gone in done.merge(pairs)}
            contradictions = await done.contradict(was.contradictions)
            now = msgspec.structs.replace(
                was,
                status="done",
                merges=tuple(one for one in was.merges if one.gone in merged),
                contradictions=tuple(contradictions),
            )
            self.memory.writing.note(draft, "reflected", undo=was.undo)
            await self.memory.writing.commit(draft, expected=[Put(REFLECTIONS, now, found.version)])
            return now

        return await self.memory.writing.repeated(principal, applied)

    async def undo(self, principal: Principal, id: str) -> Reflection:
        """Take back all that one time did.

        Raises:
            UnknownId: there is no such receipt, or it was undone already.
        """
        (found,) = await self.store.get(REFLECTIONS, principal.owner, [id])
        if found is None or found.record.status == "undone":
            raise UnknownId(_NOT_DONE)
        try:
            await self.memory.undo(principal, f"{TOKEN}{id}")
        except UnknownId:
            # It changed no fact, or each was changed again since.
            await self._take_back(principal.owner, f"{TOKEN}{id}")
        (now,) = await self.store.get(REFLECTIONS, principal.owner, [id])
        return now.record if now else found.record

    @retry_conflicts
    async def _take_back(self, owner: str, token: str) -> None:
        await self.store.commit(owner, await self.along(owner, token))

    async def along(self, owner: str, token: str) -> list[Change]:
        """What goes back with the facts: the fading, and the profile, which the receipt keeps."""
        if not token.startswith(TOKEN):
            return []
        (found,) = await self.store.get(REFLECTIONS, owner, [token.removeprefix(TOKEN)])
        (fading,) = await self.store.get(FADING, owner, [FADING_ID])
        state = await self.state(owner)
        if found is None or found.record.status == "undone":
            return []
        was = found.record
        factors = dict(fading.record.factors if fading else {}) | was.faded
        changes: list[Change] = [
            Put(REFLECTIONS, msgspec.structs.replace(was, status="undone"), found.version),
            _put(factors, fading),
        ]
        if state is not None:
            # What was taken back is not done again by itself.
            keys = [f"{a} {b}" for one in was.merges for a, b in ((one.kept, one.gone), (one.gone, one.kept))]
            judged = tuple(dict.fromkeys((*state.record.judged, *keys)))[-MOST_JUDGED:]
            changes.append(Put(STATES, msgspec.structs.replace(state.record, judged=judged), state.version))
        self.memory.fading.forget(owner)
        return changes

    async def list(
        self, principal: Principal, *, limit: int = 20, cursor: str | None = None
    ) -> RecordPage[Reflection]:
        """One page of receipts, the newest first."""
        scan = Scan(REFLECTIONS, order="at", reverse=True, limit=limit, after=cursor)
        return (await self.store.scan(principal.owner, scan))[0]

    async def profile(self, principal: Principal) -> Profile | None:
        """The newest profile that was not undone, as far as its facts hold; None if there is none."""
        async for one in records_of(self.store, principal.owner, Scan(REFLECTIONS, order="at", reverse=True)):
            if one.profile and one.status != "undone":
                held = await self._held(principal, {id for told in one.profile for id in told.facts})
                told = tuple(
                    msgspec.structs.replace(
                        sentence, facts=tuple(dict.fromkeys(held[id] for id in sentence.facts))
                    )
                    for sentence in one.profile
                    if all(id in held for id in sentence.facts)
                )
                return Profile(one.at, told, len(one.profile) - len(told), one.id)
        return None

    async def _held(self, principal: Principal, ids: Collection[str]) -> dict[str, str]:
        """Those of the facts that hold, each with the id of the one that says it now."""
        facts = {fact.id: fact for fact in await self.memory.get(principal, [*ids]) if fact is not None}
        into = {fact.id: fact.superseded_by for fact in facts.values() if fact.state == "merged"}
        kept = await self.memory.get(principal, [id for id in into.values() if id is not None])
        active = {fact.id for fact in (*facts.values(), *kept) if fact is not None and fact.state == "active"}
        found = {id: into.get(id) or id for id in facts}
        return {id: now for id, now in found.items() if now in active}

    async def clean(self, owner: str) -> None:
        """Remove what is told from facts that are not there any more."""
        async for item in items_of(self.store, owner, Scan(REFLECTIONS, order="at")):
            told = item.record.profile
            ids = list({id for sentence in told for id in sentence.facts})
            there = {one.record.id for one in await self.store.get(FACTS, owner, ids) if one is not None}
            left = tuple(sentence for sentence in told if there.issuperset(sentence.facts))
            if left != told:
                now = msgspec.structs.replace(item.record, profile=left)
                await self.store.commit(owner, [Put(REFLECTIONS, now, item.version)])

    async def _shorten(self, owner: str) -> None:
        """Remove old receipts, and the profiles of those that are not so old."""
        scan = Scan(REFLECTIONS, order="at", reverse=True)
        found = [item async for item in items_of(self.store, owner, scan)]
        changes: list[Change] = [Delete(REFLECTIONS, one.record.id) for one in found[MOST_KEPT:]]
        changes += [
            Put(REFLECTIONS, msgspec.structs.replace(one.record, profile=()), one.version)
            for one in found[_PROFILES:MOST_KEPT]
            if one.record.profile
        ]
        if changes:
            await self.store.commit(owner, changes)

    async def _factors(self, view: MemoryView) -> dict[str, float]:
        """How far each fact has faded: by when it was last said, or shown in a conversation."""
        owner, now = view.principal.owner, self.clock.now_us()
        talks = {
            one.id: one.updated_at
            async for one in records_of(self.store, owner, Scan(CONVERSATIONS, limit=_PAGE))
        }
        shown: dict[str, list[int]] = {}
        async for page in pages_of(self.store, owner, Scan(SIGHTINGS, limit=_PAGE)):
            for one in (item.record for item in page):
                if one.conversation in talks:
                    shown.setdefault(one.fact, []).append(talks[one.conversation])
        return {
            fact.id: _factor_of(
                fact,
                used_at=max((said_at(fact), *shown.get(fact.id, ()))),
                uses=len(shown.get(fact.id, ())),
                now=now,
            )
            for fact in view.records
        }

    async def _fading(
        self, owner: str, factors: Mapping[str, float]
    ) -> tuple[list[Change], dict[str, float]]:
        """The change by which these factors hold, and those that it changes as they were."""
        (found,) = await self.store.get(FADING, owner, [FADING_ID])
        was = found.record.factors if found else {}
        changed = {id: was.get(id, 1.0) for id, factor in factors.items() if factor != was.get(id, 1.0)}
        if not changed:
            return [], {}
        return [_put(factors, found)], changed


def _put(factors: Mapping[str, float], before: Versioned[Fading] | None) -> Put[Fading]:
    now = Fading(factors={id: factor for id, factor in factors.items() if factor < 1})
    return Put(FADING, now, before.version if before else 0)


def _factor_of(fact: Fact, *, used_at: int, uses: int, now: int) -> float:
    """What is left of a fact's importance; `used_at` is when it was last said or shown (microseconds UTC)."""
    if fact.pinned or fact.importance >= _LASTING:
        return 1.0
    days = (now - used_at) / _DAY_US / (2 if uses >= _USED_OFTEN else 1)
    return next((factor for least, factor in _FADED if days >= least), 1.0)


@dataclass(frozen=True, slots=True)
class _Doing:
    """Does what is planned within a draft; `known` are facts at their versions when they were looked at."""

    memory: Memory
    draft: FactDraft
    known: Mapping[str, Versioned[Fact] | None]

    def is_same(self, id: str) -> bool:
        """Whether a fact is in use, and what it was."""
        if id not in self.draft or id not in self.known or self.draft.get(id).state != "active":
            return False
        was = self.known[id]
        return was is None or self.draft.version(id) == was.version

    def merge(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        done = [(kept, gone) for kept, gone in pairs if self.is_same(kept) and self.is_same(gone)]
        groups: dict[str, list[Fact]] = {}
        for kept, gone in done:
            groups.setdefault(kept, []).append(self.draft.get(gone))
        for id, gone in groups.items():
            self.draft.put(taken_in(self.draft.get(id), gone))
            for fact in gone:
                self.draft.put(msgspec.structs.replace(fact, state="merged", superseded_by=id))
        return done

    async def contradict(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        # What was merged just now is not in use any more.
        done = [pair for pair in pairs if all(map(self.is_same, pair))]
        for one, other in done:
            for fact, by in ((one, other), (other, one)):
                self.draft.objected.setdefault(fact, []).append(by)
            await self.draft.contradict(self.draft.get(one), self.draft.get(other))
        return done

    async def suggest(
        self, insights: Sequence[NewFact], vectors: Sequence[Vector] | None, *, source: str
    ) -> list[str]:
        """Leave insights to their owner's review; what is known, or was refused before, is left out."""
        gate, found = self.memory.gate, list[str]()
        for place, new in enumerate(insights):
            depends = tuple(dict.fromkeys(self.draft.get(id).superseded_by or id for id in new.depends_on))
            said = replace(new, depends_on=depends, source=msgspec.structs.replace(new.source, id=source))
            asked = gate.asked(self.draft.signed(said), vectors[place] if vectors else None)
            await gate.look_around(self.draft, [asked])
            if gate.judge(self.draft, asked).same is not None:
                continue
            (result,) = await gate.add(self.draft, [asked])
            if result.change == "suggested":
                found.append(result.fact.id)
        return found

    def told(self, sentences: Sequence[ProfileSentence]) -> list[ProfileSentence]:
        """The sentences, told from the facts that stay."""
        return [
            msgspec.structs.replace(
                one, facts=tuple(dict.fromkeys(self.draft.get(id).superseded_by or id for id in one.facts))
            )
            for one in sentences
        ]


def _parsed(document: Mapping[str, Any]) -> Reflection:
    found = of_document(document, Reflection)
    checked_id(found.id)
    if len(found.profile) > MOST_SENTENCES:
        raise BadInput(f"A profile has at most {MOST_SENTENCES} sentences.")
    # What it did was done elsewhere.
    return msgspec.structs.replace(found, schema=1, undo=None, faded={})


def _left(record: Reflection, left: Mapping[str, str]) -> Reflection:
    told = [
        msgspec.structs.replace(one, text=left.get(str(place), one.text))
        for place, one in enumerate(record.profile)
    ]
    return msgspec.structs.replace(record, profile=tuple(one for one in told if FORGOTTEN not in one.text))


def _open(at: Surroundings) -> OpenFeature:
    reflections = Reflections(at.features.of(Memory), at.store, at.clock, at.new_id)
    reflections.memory.along.append(reflections.along)
    texts = RecordTexts(
        store=at.store,
        collection=REFLECTIONS,
        kind="reflections",
        one="tidying up of memory",
        name=lambda one: f"the profile of {rfc3339(one.at)[:10]}",
        fields=lambda one: {str(place): told.text for place, told in enumerate(one.profile)},
        sentences=frozenset(map(str, range(MOST_SENTENCES))),
        rewrite=_left,
        others=(STATES, FADING),
    )
    return OpenFeature(
        service=reflections,
        forgettable=texts.forgettable,
        cut=texts.cut,
        clean=reflections.clean,
        documents=[
            RecordLines(
                store=at.store,
                collection=REFLECTIONS,
                kind=KIND,
                parse=_parsed,
                order="at",
                at="at",
                told=lambda _: None,
            ).form
        ],
    )


_NO_PROPOSAL: Final = "There is no such proposal: it was decided already, or removed."
_NOT_DONE: Final = "There is nothing to undo: it was undone already, or the receipt is gone."

FEATURE: Final = Feature(
    name="reflection",
    open=_open,
    collections=(REFLECTIONS, STATES),
)
