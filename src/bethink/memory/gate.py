"""The one gate for writing facts: what becomes of a new one, beside what is known already.

It is kept, taken as a restatement, put in the place of what it corrects, put in
doubt together with what it contradicts, or left to its owner's review. Each
comes with a token that takes exactly that back (`undoing`). Deterministic; no
language model.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from bethink.errors import BadInput
from bethink.index import IndexQuery
from bethink.memory.compare import FactReading, Relation, compared
from bethink.memory.facts import (
    FACTS,
    ChangeKind,
    Fact,
    FactChange,
    NewFact,
    anew,
    digest,
    holds,
    merged,
    said_at,
    speaks_of,
)
from bethink.memory.writer import KIND, SUGGESTED_KIND
from bethink.search.analysis import STOP_WORDS
from bethink.store import Scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bethink.index import Candidates
    from bethink.memory.writer import Draft, FactWriter, Vector

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
_LIVING = frozenset(("active", "suggested"))


@dataclass(slots=True)
class GateRequest:
    """A new fact at the gate. `near` are ids of facts to compare it with, each with its cosine if known."""

    new: NewFact
    vector: Vector | None
    reading: FactReading
    roots: frozenset[str]
    near: dict[str, float | None] = field(default_factory=dict[str, "float | None"])

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
class Gate:
    """Decides about new facts, within a draft."""

    writing: FactWriter

    def asked(self, new: NewFact, vector: Vector | None) -> GateRequest:
        """A new fact, read."""
        return GateRequest(new, vector, self.writing.readings.of(new.content), _roots(new.content))

    async def add(self, draft: Draft, batch: Sequence[GateRequest]) -> list[FactChange]:
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
        return [changed(draft, result) for result in results]

    def judge(self, draft: Draft, asked: GateRequest, *, but: str | None = None) -> GateVerdict:
        """How a new fact stands to those around it, the fact `but` apart."""
        same: tuple[Fact, Relation] | None = None
        contradicted: list[tuple[Fact, Relation]] = []
        for id, cosine in asked.near.items():
            if id == but or id not in draft:  # what was forgotten meanwhile is still in what was found
                continue
            fact = draft.get(id)
            if fact.state not in _LIVING or fact.project != asked.new.project:
                continue
            if not asked.may_concern(fact, cosine):
                continue
            told = compared(self.writing.readings.of(fact.content), asked.reading, cosine)
            if told.verdict == "contradicts":
                contradicted.append((fact, told))
            elif told.verdict != "different" and speaks_of(fact, asked.new, draft.at):
                same = min(same or (fact, told), (fact, told), key=lambda one: _rank(*one))
        return GateVerdict(same, tuple(contradicted))

    async def look_around(self, draft: Draft, batch: Sequence[GateRequest]) -> None:
        """Find what each new fact is to be compared with."""
        await self._find_near(draft, batch)
        rests_on = {id for asked in batch for id in asked.new.depends_on}
        read = await draft.read(rests_on.union(*(asked.near for asked in batch)))
        unseen = {fact.id for fact in read if not draft.is_seen(fact)}
        for asked in batch:
            # What becomes of a fact tells what is known: what is hidden from its writer has no part in it.
            asked.near = {id: cosine for id, cosine in asked.near.items() if id not in unseen}
        if unknown := sorted(id for id in rests_on if id not in draft or id in unseen):
            raise BadInput(f"depends_on names {unknown[0][:40]!r}: there is no memory with that id.")

    async def _find_near(self, draft: Draft, batch: Sequence[GateRequest]) -> None:
        """The very same words, the same slot, and what is nearest in words and in meaning."""
        scans = [(asked, scan) for asked in batch for scan in _same(asked)]
        pages = await self.writing.store.scan(draft.owner, *[scan for _, scan in scans])
        for (asked, _), page in zip(scans, pages, strict=True):
            draft.saw(*page.items)
            asked.near |= dict.fromkeys(one.record.id for one in page.items)
        # One after the other: threads that search at once only wait for one another.
        for asked in batch:
            asked.near |= _near_enough(
                asked, await self.writing.index.search(self._query(draft.owner, asked))
            )

    def _query(self, owner: str, asked: GateRequest) -> IndexQuery:
        return IndexQuery(
            owner=owner,
            text=_OWNER.sub(" ", asked.new.content[:_SEARCHED_CHARS]),
            vector=asked.vector,
            model=None if asked.vector is None else self.writing.embeddings.model,
            kinds=frozenset((KIND, SUGGESTED_KIND)),
            limit=_CANDIDATES,
        )

    async def _admit(self, draft: Draft, asked: GateRequest, verdict: GateVerdict) -> GateOutcome:
        new = asked.new
        if verdict.same is not None:
            known, told = verdict.same
            if known.state == "active" or new.is_suggested:
                return self._merge(draft, known, new, told=told)
            draft.put(self._restated(known, new, told, at=draft.at))
            return await self.promote(draft, known.id, verdict)
        if new.is_suggested and (refused := _refused(draft, asked)) is not None:
            return GateOutcome(refused.id, "retracted")
        fact = self.writing.fact(new, draft.at, slot=asked.reading.slot)
        draft.put(fact)
        draft.doubt_what_it_rests_on(fact)
        if fact.state == "suggested":
            for other, _ in verdict.contradicted:
                draft.object_to(fact, other)
            return GateOutcome(fact.id, "suggested", f"suggested:{fact.id}")
        return await self.settle(draft, fact.id, verdict)

    def _merge(self, draft: Draft, known: Fact, new: NewFact, *, told: Relation) -> GateOutcome:
        draft.put(self._restated(known, new, told, at=draft.at))
        return GateOutcome(known.id, "merged", merge_token(known.id, draft.version(known.id)))

    def _restated(self, known: Fact, new: NewFact, told: Relation, *, at: int) -> Fact:
        now = merged(known, new, at, is_fuller=told.fuller == "new")
        return now if now.content == known.content else self.writing.in_its_slot(now)

    async def promote(self, draft: Draft, id: str, verdict: GateVerdict) -> GateOutcome:
        """Make a suggestion the owner's own fact."""
        known = draft.get(id)
        own = known if known.trust == "owner" else anew(known, trust="owner")
        draft.put(msgspec.structs.replace(own, state="active", doubts=()))
        result = await self.settle(draft, id, verdict)
        result.undo = f"accepted:{id}"
        return result

    async def settle(self, draft: Draft, id: str, verdict: GateVerdict) -> GateOutcome:
        """Let a fact that is now active supersede what it corrects, and doubt what it contradicts."""
        result = GateOutcome(id, "added", f"added:{id}")
        for other, told in verdict.contradicted:
            fact = draft.get(id)
            result.others.append(other.id)
            if other.state == "suggested":
                draft.object_to(other, fact)
            elif told.replaces and _is_news(fact, other, draft.at):
                await supersede(draft, other, by=fact)
                result.change, result.undo = "superseded", f"superseded:{id}"
            else:
                await draft.contradict(fact, other)
        return result


async def supersede(draft: Draft, old: Fact, *, by: Fact) -> None:
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


def changed(draft: Draft, result: GateOutcome) -> FactChange:
    """The result, with the facts as the draft leaves them."""
    others = tuple(draft.get(id) for id in result.others)
    return FactChange(draft.get(result.fact), result.change, result.undo, others)


def _same(asked: GateRequest) -> Iterator[Scan[Fact]]:
    """What finds facts that say the very same, and those that fill the same slot."""
    yield Scan(FACTS, where={"digest": digest(asked.new.content)})
    if asked.reading.slot is not None:
        yield Scan(FACTS, where={"slot": asked.reading.slot.key, "state": "active"}, limit=_CANDIDATES)


def _near_enough(asked: GateRequest, found: Candidates) -> dict[str, float | None]:
    """The cosines of what is worth reading."""
    least = _READ_WORDS * found.lexical_ideal
    return {
        one.id: one.dense
        for one in found.items
        if one.id in asked.near
        or (one.dense or 0.0) >= _READ_COSINE
        or (one.lexical is not None and one.lexical >= least > 0)
    }


def _rank(fact: Fact, told: Relation) -> tuple[bool, bool]:
    return fact.state != "active", told.verdict != "same"


def _is_news(fact: Fact, other: Fact, now: int) -> bool:
    """Whether it tells of the present, and later than the other did."""
    return holds(fact, now) and said_at(fact) >= said_at(other)


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


def _refused(draft: Draft, asked: GateRequest) -> Fact | None:
    """What the owner took back before in the very same words."""
    said = digest(asked.new.content)
    near = (draft.get(id) for id in asked.near if id in draft)
    return next((fact for fact in near if fact.state == "retracted" and fact.digest == said), None)
