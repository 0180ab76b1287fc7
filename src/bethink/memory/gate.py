"""The one gate for writing facts: what becomes of a new one, beside what is known already.

It is kept, taken as a restatement, put in the place of what it corrects, put in
doubt together with what it contradicts, or left to its owner's review. Deterministic; no
language model.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from bethink.errors import BadInput
from bethink.index import Candidates, IndexQuery
from bethink.memory.compare import FactReading, Relation, compared
from bethink.memory.facts import (
    FACTS,
    ChangeKind,
    Fact,
    FactChange,
    NewFact,
    State,
    anew,
    digest,
    holds,
    in_place_of,
    merged,
    said_at,
    speaks_of,
    taken_in,
)
from bethink.memory.writer import KIND, SUGGESTED_KIND
from bethink.search.analysis import STOP_WORDS
from bethink.store import Scan

if TYPE_CHECKING:
    from bethink.memory.writer import FactDraft, FactWriter, Vector


_CANDIDATES = 6
_SEARCHED_CHARS = 500
_OWNER = re.compile(r"\buser\b", re.IGNORECASE)
"""Nearly every fact has this word: it finds nothing and costs most."""
_READ_COSINE = 0.35
_READ_WORDS = 0.2
"""What is farther in meaning and in words is not even read."""
_NEAR_COSINE = 0.55
"""Below this two restatements in English are not found with all-MiniLM-L6-v2; more would cost time only."""
_WORD = re.compile(r"\w+")
_ROOT_CHARS = 4
_NEAR_WORDS = 0.5
"""The share of a statement's words that one nearby has too."""
_SHOWN = 3
"""Nearest facts that are told of a new one: what it takes the place of was among them in 37 of 37 cases."""
_LIVING = frozenset(("active", "suggested"))
_CORRECTABLE = frozenset(("active", "superseded"))
_DISPLACING = frozenset(("superseded", "corrected"))


@dataclass(slots=True)
class GateRequest:
    """A new fact at the gate. `near` are ids of facts to compare it with, each with its cosine if known."""

    new: NewFact
    vector: Vector | None
    reading: FactReading
    roots: frozenset[str]
    near: dict[str, float | None] = field(default_factory=dict[str, "float | None"])
    shown: dict[str, float] = field(default_factory=dict[str, float])
    """What is nearest, to be told of it; a long batch is told nothing."""

    def may_concern(self, fact: Fact, cosine: float | None) -> bool:
        """Whether a closer look is worth its time: near in meaning, of the same slot or of the same words."""
        if (cosine or 0.0) >= _NEAR_COSINE or (
            fact.slot and self.reading.slot and fact.slot == self.reading.slot.key
        ):
            return True
        roots = _roots(fact.content)
        return len(roots & self.roots) >= _NEAR_WORDS * min(len(roots), len(self.roots))


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """What the facts nearby say: which says the same, and which say something else of the same."""

    same: tuple[Fact, Relation] | None = None
    contradicted: tuple[tuple[Fact, Relation], ...] = ()


@dataclass(slots=True)
class GateOutcome:
    """A `FactChange` in the making: the facts are those of the finished draft."""

    fact: str
    change: ChangeKind
    undo: str | None = None
    others: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WriteGate:
    """Decides about new facts, within a draft."""

    writing: FactWriter

    def asked(self, new: NewFact, vector: Vector | None) -> GateRequest:
        """A new fact, read."""
        return GateRequest(new, vector, self.writing.readings.of(new.content), _roots(new.content))

    async def add(self, draft: FactDraft, batch: Sequence[GateRequest]) -> list[FactChange]:
        """Take in new facts, in order; those of one batch see each other. Nothing is committed yet."""
        await self.look_around(draft, batch)
        results: list[GateOutcome] = []
        earlier: defaultdict[object, list[str]] = defaultdict(list)
        for asked in batch:
            heads = [*_heads(asked.reading)]
            asked.near |= {id: None for head in heads for id in earlier[head] if id not in asked.near}
            results.append(await self._admit(draft, asked, self.judge(draft, asked)))
            for head in heads:
                earlier[head].append(results[-1].fact)
            # A long batch must not keep everybody else waiting.
            await asyncio.sleep(0)
        return [
            replace(changed(draft, result), near=_nearest(draft, asked, result))
            for asked, result in zip(batch, results, strict=True)
        ]

    def judge(self, draft: FactDraft, asked: GateRequest, *, but: str | None = None) -> GateVerdict:
        """How a new fact stands to those around it, the fact `but` apart."""
        same: tuple[Fact, Relation] | None = None
        contradicted: list[tuple[Fact, Relation]] = []
        for id, cosine in asked.near.items():
            if id == but or id not in draft:  # what was forgotten meanwhile is still in what was found
                continue
            fact = draft.get(id)
            if fact.state not in _LIVING or fact.project != asked.new.project:
                continue
            if id in asked.new.displaced and fact.digest != digest(asked.new.content):
                continue
            if not asked.may_concern(fact, cosine):
                continue
            relation = compared(self.writing.readings.of(fact.content), asked.reading, cosine)
            if relation.verdict == "contradicts":
                contradicted.append((fact, relation))
            elif relation.verdict != "different" and speaks_of(fact, asked.new, draft.at):
                same = min(same or (fact, relation), (fact, relation), key=_rank)
        return GateVerdict(same, tuple(contradicted))

    async def look_around(self, draft: FactDraft, batch: Sequence[GateRequest]) -> None:
        """Find what each new fact is to be compared with."""
        await self._find_near(draft, batch)
        named = {id for asked in batch for _, ids in _links(asked.new) for id in ids}
        read = await draft.read(named.union(*((*asked.near, *asked.shown) for asked in batch)))
        unseen = {fact.id for fact in read if not draft.is_seen(fact)}
        for asked in batch:
            # What becomes of a fact tells what is known: what is hidden from its writer has no part in it.
            asked.near = {id: cosine for id, cosine in asked.near.items() if id not in unseen}
            asked.shown = {id: cosine for id, cosine in asked.shown.items() if id not in unseen}
            _check_links(draft, asked.new, unseen)

    async def _find_near(self, draft: FactDraft, batch: Sequence[GateRequest]) -> None:
        """The very same words, the same slot, and what is nearest in words and in meaning."""
        scans = [(asked, scan) for asked in batch for scan in _same(asked)]
        pages = await self.writing.store.scan(draft.owner, *[scan for _, scan in scans])
        for (asked, _), page in zip(scans, pages, strict=True):
            draft.saw(*page.items)
            asked.near |= dict.fromkeys(one.record.id for one in page.items)
        every = await self.writing.index.search_all([self._query(draft.owner, asked) for asked in batch])
        for asked, found in zip(batch, every, strict=True):
            asked.near |= _near_enough(asked, found)
            if len(batch) == 1:
                asked.shown = {one.id: one.dense or 0.0 for one in found.items}

    def _query(self, owner: str, asked: GateRequest) -> IndexQuery:
        return IndexQuery(
            owner=owner,
            text=_OWNER.sub(" ", asked.new.content[:_SEARCHED_CHARS]),
            vector=asked.vector,
            model=None if asked.vector is None else self.writing.embeddings.model,
            kinds=frozenset((KIND, SUGGESTED_KIND)),
            limit=_CANDIDATES,
        )

    async def _admit(self, draft: FactDraft, asked: GateRequest, verdict: GateVerdict) -> GateOutcome:
        new = asked.new
        if new.repeats and not new.is_suggested:
            return self._joined(draft, asked, verdict)
        if verdict.same is not None:
            return await self._restate(draft, asked, verdict, same=verdict.same)
        for past in _said_before(draft, asked):
            # What its owner took back or corrected is not suggested again.
            if new.is_suggested and past.state in _REFUSED:
                return GateOutcome(past.id, "retracted")
            # What was put away for one of those that were never true holds again.
            if not new.is_suggested and past.state == "superseded" and past.superseded_by in new.corrects:
                return await self._reinstate(draft, past, new)
        told_at = [fact.told_at or fact.created_at for fact in map(draft.get, new.corrects)]
        new = in_place_of([draft.get(id) for id in new.displaced], new)
        fact = self.writing.fact(new, draft.at, slot=asked.reading.slot)
        draft.put(msgspec.structs.replace(fact, told_at=min(told_at, default=None)))
        draft.doubt_what_it_rests_on(draft.get(fact.id))
        if fact.state == "suggested":
            for other, _ in verdict.contradicted:
                draft.object_to(draft.get(fact.id), other)
            return GateOutcome(fact.id, "suggested", f"suggested:{fact.id}")
        return await self.settle(draft, fact.id, verdict)

    async def _restate(
        self, draft: FactDraft, asked: GateRequest, verdict: GateVerdict, *, same: tuple[Fact, Relation]
    ) -> GateOutcome:
        """Take a new fact for one that says the same, which then takes the place of those that are named."""
        known, relation = same
        draft.put(self._restated(known, asked.new, relation, at=draft.at))
        if known.state != "active" and not asked.new.is_suggested:
            return await self.promote(draft, known.id, verdict)
        result = GateOutcome(known.id, "merged", merge_token(known.id, draft.version(known.id)))
        if not asked.new.is_suggested:
            await self.displace(draft, result, replaced=asked.new.replaces, wrong=asked.new.corrects)
        return result

    def _joined(self, draft: FactDraft, asked: GateRequest, verdict: GateVerdict) -> GateOutcome:
        """Take a new fact into the first of those that it repeats, and the rest of them, too."""
        new = asked.new
        same = [] if verdict.same is None or verdict.same[0].state != "active" else [verdict.same[0].id]
        first, *rest = [draft.get(id) for id in dict.fromkeys((*new.repeats, *same))]
        source = msgspec.structs.replace(new.source, said=new.source.said or new.content)
        now = taken_in(merged(first, replace(new, source=source), draft.at), rest)
        # All of it is one change, which is taken back at once.
        draft.put(msgspec.structs.replace(now, before=anew(first).before))
        for gone in rest:
            draft.put(msgspec.structs.replace(gone, state="merged", superseded_by=first.id))
        others = [gone.id for gone in rest]
        undo = self._token() if others else merge_token(first.id, draft.version(first.id))
        return GateOutcome(first.id, "merged", undo, others)

    async def _reinstate(self, draft: FactDraft, past: Fact, new: NewFact) -> GateOutcome:
        """Have hold again what was put away for something that was never true."""
        until = None if past.before is None else past.before.valid_until
        back = anew(past, state="active", superseded_by=None, valid_until=until)
        draft.put(merged(back, new, draft.at))
        await draft.returned(draft.get(past.id))
        result = GateOutcome(past.id, "restored", self._token())
        await self.displace(draft, result, replaced=new.replaces, wrong=new.corrects)
        return result

    def _token(self) -> str:
        return f"batch:{self.writing.new_id()}"

    def _restated(self, known: Fact, new: NewFact, relation: Relation, *, at: int) -> Fact:
        now = merged(known, new, at, is_fuller=relation.fuller == "new")
        return now if now.content == known.content else self.writing.in_its_slot(now)

    async def promote(self, draft: FactDraft, id: str, verdict: GateVerdict) -> GateOutcome:
        """Make a suggestion the owner's own fact."""
        known = draft.get(id)
        own = known if known.trust == "owner" else anew(known, trust="owner")
        draft.put(msgspec.structs.replace(own, state="active", doubts=()))
        result = await self.settle(draft, id, verdict)
        result.undo = f"accepted:{id}"
        return result

    async def settle(self, draft: FactDraft, id: str, verdict: GateVerdict) -> GateOutcome:
        """Let a fact that is now active supersede what it corrects, and doubt what it contradicts."""
        result = GateOutcome(id, "added", f"added:{id}")
        for other, relation in verdict.contradicted:
            fact = draft.get(id)
            result.others.append(other.id)
            if other.state == "suggested":
                draft.object_to(other, fact)
            elif relation.replaces and holds(fact, draft.at) and said_at(fact) >= said_at(other):
                await supersede(draft, other, by=fact)
                result.change, result.undo = "superseded", f"superseded:{id}"
            else:
                await draft.contradict(fact, other)
        fact = draft.get(id)
        await draft.read((*fact.supersedes, *fact.corrects))
        await self.displace(draft, result, replaced=fact.supersedes, wrong=fact.corrects)
        return result

    async def displace(
        self, draft: FactDraft, result: GateOutcome, *, replaced: Sequence[str], wrong: Sequence[str]
    ) -> None:
        """Have the result's fact take the place of those that its author named, as far as they are in use."""
        by, plain = result.fact, True
        for old in [draft.get(id) for id in replaced if id in draft and id != by]:
            begins = draft.get(by).valid_from
            if old.state != "active":
                continue
            result.others.append(old.id)
            if begins is not None and begins > draft.at:
                # What is to change holds until then.
                draft.put(anew(old, valid_until=begins))
                plain = False
            else:
                await supersede(draft, old, by=draft.get(by))
                result.change = "superseded"
        for old in [draft.get(id) for id in wrong if id in draft and id != by]:
            if old.state not in _CORRECTABLE:
                continue
            result.others.append(old.id)
            await correct(draft, old, by=draft.get(by))
            result.change, plain = "corrected", plain and old.state == "active"
        if result.others:
            is_new = result.undo in {f"added:{by}", f"superseded:{by}"}
            if not (plain and is_new):
                result.undo = self._token()
            elif result.change in _DISPLACING:
                result.undo = f"superseded:{by}"


async def correct(draft: FactDraft, old: Fact, *, by: Fact) -> None:
    """Put a fact away as one that was never true."""
    draft.put(msgspec.structs.replace(old, state="corrected", superseded_by=by.id))
    now = draft.get(by.id)
    if old.id not in now.corrects:
        draft.put(msgspec.structs.replace(now, corrects=(*now.corrects, old.id)))
    if old.state == "active":
        await draft.left(old)


async def supersede(draft: FactDraft, old: Fact, *, by: Fact) -> None:
    """Put a fact away as past truth: until what took its place began, as far as that is known."""
    begun = by.valid_from if by.valid_from is not None and by.valid_from > (old.valid_from or 0) else None
    until = begun or said_at(by)
    if old.valid_until is not None:
        until = min(until, old.valid_until)
    draft.put(anew(old, state="superseded", superseded_by=by.id, valid_until=until))
    now = draft.get(by.id)
    if old.id not in now.supersedes:
        draft.put(msgspec.structs.replace(now, supersedes=(*now.supersedes, old.id)))
    await draft.left(old)


def merge_token(fact: str, version: int) -> str:
    """Names the version that the merge makes: after another change the token is void."""
    return f"merged:{fact}:{version + 1}"


def changed(draft: FactDraft, result: GateOutcome) -> FactChange:
    """The result, with the facts as the draft leaves them."""
    others = tuple(draft.get(id) for id in result.others)
    return FactChange(draft.get(result.fact), result.change, result.undo, others)


def _same(asked: GateRequest) -> Iterator[Scan[Fact]]:
    """What finds facts that say the very same, and those that fill the same slot."""
    yield Scan(FACTS, where={"digest": digest(asked.new.content)})
    if asked.reading.slot is not None:
        yield Scan(FACTS, where={"slot": asked.reading.slot.key, "state": "active"}, limit=_CANDIDATES)


def _nearest(draft: FactDraft, asked: GateRequest, result: GateOutcome) -> tuple[Fact, ...]:
    """What is in use in its project beside a new fact, nearest in meaning first, but its slot before all."""
    slot = asked.reading.slot and asked.reading.slot.key
    done = {result.fact, *result.others}
    near = [draft.get(id) for id in {**asked.near, **asked.shown} if id in draft and id not in done]
    used = [fact for fact in near if fact.state == "active" and fact.project == asked.new.project]
    used.sort(key=lambda fact: (slot is None or fact.slot != slot, -asked.shown.get(fact.id, 0.0)))
    return tuple(used[:_SHOWN])


def _near_enough(asked: GateRequest, found: Candidates) -> dict[str, float | None]:
    least = _READ_WORDS * found.lexical_ideal
    return {
        one.id: one.dense
        for one in found.items
        if one.id in asked.near
        or (one.dense or 0.0) >= _READ_COSINE
        or (one.lexical is not None and one.lexical >= least > 0)
    }


def _rank(one: tuple[Fact, Relation]) -> tuple[bool, bool]:
    fact, relation = one
    return fact.state != "active", relation.verdict != "same"


def _roots(content: str) -> frozenset[str]:
    """The beginnings of its words: a quick look at what it speaks of."""
    words = _WORD.findall(content[:_SEARCHED_CHARS].casefold())
    return frozenset(word[:_ROOT_CHARS] for word in words if word not in STOP_WORDS and word != "user")


def _heads(read: FactReading) -> Iterator[object]:
    """What two facts of one batch share if one of them can be the same as the other or contradict it."""
    keys = read.statement.keys
    yield frozenset(keys)
    yield keys[:2]
    if keys[:1] == ("have",):
        yield "have", keys[-1]
    if read.slot is not None:
        yield read.slot.key


def _said_before(draft: FactDraft, asked: GateRequest) -> list[Fact]:
    """What says the very same, whatever became of it."""
    said = digest(asked.new.content)
    near = (draft.get(id) for id in asked.near if id in draft)
    return [fact for fact in near if fact.digest == said]


def _links(new: NewFact) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The other facts that a new one names, by what it says of them."""
    yield "depends_on", new.depends_on
    yield "repeats", new.repeats
    yield "replaces", new.replaces
    yield "corrects", new.corrects


_USABLE: dict[str, frozenset[State]] = {
    "repeats": frozenset(("active",)),
    "replaces": frozenset(("active",)),
    "corrects": _CORRECTABLE,
}
_REFUSED: frozenset[State] = frozenset(("retracted", "corrected"))


def _check_links(draft: FactDraft, new: NewFact, unseen: Collection[str]) -> None:
    """Refuse a new fact that names what is not there; nothing is lost by it.

    Raises:
        BadInput: there is no such fact of this owner, or it is in use no longer.
    """
    for name, ids in _links(new):
        for id in ids:
            if id not in draft or id in unseen:
                raise BadInput(
                    f"{name} names {id[:40]!r}: there is no memory with that id. Nothing was changed."
                )
            fact = draft.get(id)
            if name in _USABLE and fact.state not in _USABLE[name]:
                instead = f" {fact.superseded_by} took its place." if fact.superseded_by else ""
                raise BadInput(
                    f"{name} names {id[:40]!r}, which is no longer in use ({fact.state}).{instead} "
                    "Nothing was changed."
                )
