"""The one gate for writing facts: what becomes of a new one, beside what is known already.

It is kept, taken as a restatement, put in the place of what it corrects, put in
doubt together with what it contradicts, or left to its owner's review. Deterministic; no
language model.

`FactUndo` changes facts that are there, and takes each change back by its token, which names the
change and its fact; `Reversal` does so for changes of many. Taking back is itself a change, so that
history only grows: what a fact superseded or put in doubt is told by its links, at any later time.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from bethink.errors import BadInput, NotAllowed, UnknownId
from bethink.index import IndexQuery
from bethink.memory.compare import FactReading, Relation, compared, reading
from bethink.memory.facts import (
    FACTS,
    STEPS,
    ChangeKind,
    Fact,
    FactChange,
    FactStep,
    LogStep,
    NewFact,
    Source,
    State,
    anew,
    corrected,
    digest,
    has_source,
    holds,
    merged,
    said_at,
    speaks_of,
)
from bethink.memory.writer import KIND, SUGGESTED_KIND, text_of
from bethink.search.analysis import STOP_WORDS
from bethink.store import Scan, records_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bethink.index import Candidates
    from bethink.memory.writer import Draft, FactWriter, Vector
    from bethink.principal import Principal


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
            relation = compared(self.writing.readings.of(fact.content), asked.reading, cosine)
            if relation.verdict == "contradicts":
                contradicted.append((fact, relation))
            elif relation.verdict != "different" and speaks_of(fact, asked.new, draft.at):
                same = min(same or (fact, relation), (fact, relation), key=_rank)
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
            known, relation = verdict.same
            if known.state == "active" or new.is_suggested:
                draft.put(self._restated(known, new, relation, at=draft.at))
                return GateOutcome(known.id, "merged", merge_token(known.id, draft.version(known.id)))
            draft.put(self._restated(known, new, relation, at=draft.at))
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

    def _restated(self, known: Fact, new: NewFact, relation: Relation, *, at: int) -> Fact:
        now = merged(known, new, at, is_fuller=relation.fuller == "new")
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


def _refused(draft: Draft, asked: GateRequest) -> Fact | None:
    """What the owner took back before in the very same words."""
    said = digest(asked.new.content)
    near = (draft.get(id) for id in asked.near if id in draft)
    return next((fact for fact in near if fact.state == "retracted" and fact.digest == said), None)


_KINDS = ("import:", "consolidated:", "expired:", "undone:", "batch:")
_SHOWN = 20


def takes_back_many(token: str) -> bool:
    """Whether the token is one of those that `Reversal` knows."""
    return token.startswith(_KINDS)


@dataclass(frozen=True, slots=True)
class Reversal:
    """Works in one commit for each step: a consolidation has one, an import one for each batch."""

    writing: FactWriter

    async def undo(self, principal: Principal, token: str) -> FactChange:
        """Take back what the token names; what cannot be taken back any more stays.

        Raises:
            UnknownId: there is nothing of it to take back.
            Conflict: another process kept changing facts meanwhile.
        """
        undone = f"undone:{self.writing.new_id()}"
        shown: list[Fact] = []
        count = 0
        scan = Scan(STEPS, where={"undo": token}, order="at", reverse=True, limit=1)
        async for step in records_of(self.writing.store, principal.owner, scan):
            back = await self.writing.repeated(principal, partial(self._reversed, step, undone))
            count += len(back)
            shown += back[: _SHOWN - len(shown)]
        if not shown:
            raise UnknownId(
                "There is nothing to undo: it was undone already, or each memory was changed since."
            )
        change = "retracted" if shown[0].state == "retracted" else "restored"
        return FactChange(shown[0], change, undone, tuple(shown[1:]), count)

    async def _reversed(self, step: LogStep, undone: str, draft: Draft) -> list[Fact]:
        await draft.read(touched.id for touched in step.facts)
        back = [touched.id for touched in step.facts if await self._back(draft, touched)]
        if back:
            self.writing.note(draft, "undone", undo=undone)
            await self.writing.commit(draft)
        return [draft.get(id) for id in back]

    async def _back(self, draft: Draft, touched: FactStep) -> bool:
        """Make the fact what it was, if it still is what the step made of it, and nobody says it again."""
        if touched.id not in draft or draft.version(touched.id) != touched.version:
            return False
        fact = draft.get(touched.id)
        state = touched.was or "retracted"
        returns = state == "active" and fact.state != "active"
        if returns:
            (same,) = await self.writing.said(draft.owner, [fact.digest])
            if any(one.record.state == "active" for one in same):
                return False
        now = fact
        if touched.in_place and fact.before is not None:
            now = self.writing.in_its_slot(anew(fact, **msgspec.structs.asdict(fact.before)))
        draft.put(msgspec.structs.replace(now, state=state, superseded_by=touched.by, merges=touched.merges))
        if returns:
            await draft.returned(draft.get(fact.id))
        elif fact.state == "active" != state:
            await draft.left(fact)
        return True


NO_TOKEN = "This is not an undo token: use the one that came with the change."  # noqa: S105 - a sentence
GONE = "No such memory: it may have been retracted, corrected or forgotten."
_NO_SUGGESTION = "No such suggestion: it may have been decided already."
_NOT_RETRACTED = "There is nothing to undo: the memory is gone or active again."
_NOT_SUPERSEDED = "There is nothing to undo: the memory that was corrected is gone."
_CHANGED_SINCE = "This change can no longer be undone: the memory was changed again since."
_PARTLY_HIDDEN = "This memory cannot be changed from here: a filter of its owner hides a part of it."
_SAID_ALREADY = "Another memory says exactly this already; retract one of the two instead."


@dataclass(frozen=True, slots=True)
class FactUndo:
    """Edits, retracts, accepts and takes back, each within a draft."""

    writing: FactWriter
    gate: Gate

    async def edit(self, draft: Draft, id: str, correction: NewFact) -> FactChange:
        """Supersede a fact with its correction, or put it anew where it says the same.

        It is true in the time in which it was, where the correction does not say another.
        """
        old = await self.writing.found(draft, id, "active", missing=GONE)
        check_seen(draft, old, missing=GONE)
        if digest(correction.content) == old.digest:
            new = anew(
                old,
                content=correction.content,
                category=correction.category,
                importance=correction.importance,
                topics=correction.topics,
                pinned=correction.pinned,
            )
            draft.put(new)
            return FactChange(new, "merged", merge_token(id, draft.version(id)))
        correction = draft.signed(corrected(old, correction))
        await self._check_unsaid(draft, digest(correction.content))
        new = self.writing.fact(correction, draft.at, slot=reading(correction.content).slot)
        draft.put(new)
        await supersede(draft, old, by=new)
        asked = await self._asked(draft, correction)
        contradicted = self.gate.judge(draft, asked, but=new.id).contradicted
        for other, _ in contradicted:
            await draft.contradict(draft.get(new.id), other)
        others = [id, *(other.id for other, _ in contradicted)]
        return changed(draft, GateOutcome(new.id, "superseded", f"superseded:{new.id}", others))

    async def retract(self, draft: Draft, id: str, *states: State) -> FactChange:
        """Take a fact of one of these states out of use; of a suggestion, reject it."""
        (old,) = await draft.read([id]) or (None,)
        if old is None or old.state not in states:
            raise UnknownId(_NO_SUGGESTION if states == ("suggested",) else GONE)
        check_seen(draft, old, missing=_NO_SUGGESTION if states == ("suggested",) else GONE)
        draft.put(msgspec.structs.replace(old, state="retracted"))
        await draft.left(old)
        undo = "rejected" if old.state == "suggested" else "retracted"
        return FactChange(draft.get(id), "retracted", f"{undo}:{id}")

    async def accept(self, draft: Draft, id: str) -> FactChange:
        """Make a suggestion the owner's own, through the gate like anything that is said."""
        suggestion = await self.writing.found(draft, id, "suggested", missing=_NO_SUGGESTION)
        check_seen(draft, suggestion, missing=_NO_SUGGESTION)
        asked = await self._asked(draft, _said_by_owner(suggestion))
        verdict = self.gate.judge(draft, asked, but=id)
        known = None if verdict.same is None else verdict.same[0]
        if known is None or known.state != "active":
            return changed(draft, await self.gate.promote(draft, id, verdict))
        more = [one for one in suggestion.sources if not has_source(known.sources, one)]
        taken_in = anew(known, sources=(*known.sources, *more))
        draft.put(msgspec.structs.replace(taken_in, merges=(*known.merges, id)))
        draft.put(msgspec.structs.replace(suggestion, state="merged", superseded_by=known.id))
        return FactChange(draft.get(known.id), "merged", f"accepted:{id}:{draft.version(known.id) + 1}")

    async def undo(self, draft: Draft, token: str) -> FactChange:
        """Take back the change that a token names."""
        match token.split(":"):
            case ["added", id]:
                return await self.retract(draft, id, "active")
            case ["suggested", id]:
                return await self.retract(draft, id, "suggested")
            case ["retracted", id]:
                return await self._restore(draft, id)
            case ["rejected", id]:
                return await self._review_again(draft, id, "retracted")
            case ["accepted", id]:
                return await self._unaccept(draft, id)
            case ["accepted", id, version]:
                return await self._part(draft, id, version)
            case ["superseded", id]:
                return await self._reinstate(draft, id)
            case ["merged", id, version] if version.isascii() and version.isdecimal():
                return await self._unmerge(draft, id, version)
            case _:
                raise BadInput(NO_TOKEN)

    async def _restore(self, draft: Draft, id: str) -> FactChange:
        """Bring back a retracted fact, and supersede again what it had corrected."""
        found = await self.writing.found(draft, id, "retracted", missing=_NOT_RETRACTED)
        await self._check_unsaid(draft, found.digest)
        draft.put(msgspec.structs.replace(found, state="active"))
        again = [old for old in await draft.read(found.supersedes) if old.state == "active"]
        for old in again:
            await supersede(draft, old, by=draft.get(id))
        await draft.returned(draft.get(id))
        undo = f"{'superseded' if again else 'added'}:{id}"
        return changed(draft, GateOutcome(id, "restored", undo, [old.id for old in again]))

    async def _reinstate(self, draft: Draft, id: str) -> FactChange:
        """Retract a correction and bring back what it had corrected."""
        new = await self.writing.found(draft, id, "active", missing=GONE)
        back = await self._bring_back(draft, new)
        draft.put(msgspec.structs.replace(draft.get(id), state="retracted"))
        await draft.left(new)
        return changed(draft, GateOutcome(back[0], "restored", f"retracted:{id}", back[1:]))

    async def _bring_back(self, draft: Draft, new: Fact) -> list[str]:
        superseded = [old for old in await draft.read(new.supersedes) if old.superseded_by == new.id]
        if not superseded:
            raise UnknownId(_NOT_SUPERSEDED)
        for old in superseded:
            await self._check_unsaid(draft, old.digest)
            until = None if old.before is None else old.before.valid_until
            draft.put(msgspec.structs.replace(old, state="active", superseded_by=None, valid_until=until))
            await draft.returned(draft.get(old.id))
        return [old.id for old in superseded]

    async def _unaccept(self, draft: Draft, id: str) -> FactChange:
        """Leave to review again what was accepted, and bring back what it had superseded."""
        accepted = await self.writing.found(draft, id, "active", missing=GONE)
        back = await self._bring_back(draft, accepted) if accepted.supersedes else []
        await draft.left(accepted)
        return await self._review_again(draft, id, "active", others=back)

    async def _part(self, draft: Draft, id: str, version: str) -> FactChange:
        """Leave to review again what was accepted as a restatement of a fact."""
        found = await self.writing.found(draft, id, "merged", missing=_CHANGED_SINCE)
        known = (await draft.read([found.superseded_by or ""]))[0:1]
        for one in known:
            if one.before is not None and str(draft.version(one.id)) == version:
                back = anew(one, **msgspec.structs.asdict(one.before))
                merges = tuple(merged for merged in one.merges if merged != id)
                draft.put(msgspec.structs.replace(back, merges=merges))
        return await self._review_again(draft, id, "merged")

    async def _review_again(
        self, draft: Draft, id: str, state: State, *, others: Sequence[str] = ()
    ) -> FactChange:
        found = await self.writing.found(draft, id, state, missing=_NOT_RETRACTED)
        trust = "owner" if found.before is None else found.before.trust
        draft.put(
            msgspec.structs.replace(
                draft.get(id), state="suggested", superseded_by=None, supersedes=(), doubts=(), trust=trust
            )
        )
        return changed(draft, GateOutcome(id, "restored", f"suggested:{id}", [*others]))

    async def _unmerge(self, draft: Draft, id: str, version: str) -> FactChange:
        """Give a fact back what its last merge or edit in place changed."""
        found = await self.writing.found(draft, id, "active", missing=GONE)
        if found.before is None or str(draft.version(id)) != version:
            raise UnknownId(_CHANGED_SINCE)
        old = self.writing.in_its_slot(anew(found, **msgspec.structs.asdict(found.before)))
        draft.put(old)
        return FactChange(old, "restored", merge_token(id, draft.version(id)))

    async def _check_unsaid(self, draft: Draft, said: str) -> None:
        (same,) = await self.writing.said(draft.owner, [said])
        if any(one.record.state == "active" and draft.is_seen(one.record) for one in same):
            raise BadInput(_SAID_ALREADY)

    async def _asked(self, draft: Draft, new: NewFact) -> GateRequest:
        vectors = await self.writing.vectors([text_of(new)])
        asked = self.gate.asked(new, vectors[0] if vectors else None)
        await self.gate.look_around(draft, [asked])
        return asked


def check_seen(draft: Draft, fact: Fact, *, missing: str) -> None:
    """Go on only where the writer sees the fact, and sees all of it.

    Raises:
        UnknownId: it is hidden from them; `missing` says so.
        NotAllowed: a part of it is.
    """
    if draft.is_seen(fact):
        return
    if draft.sight is not None and draft.sight.fact(fact) is None:
        raise UnknownId(missing)
    raise NotAllowed(_PARTLY_HIDDEN)


def _said_by_owner(suggestion: Fact) -> NewFact:
    """A suggestion, as its owner states it by accepting it."""
    return NewFact(
        content=suggestion.content,
        topics=suggestion.topics,
        source=suggestion.sources[0] if suggestion.sources else Source(kind="person"),
        project=suggestion.project,
        valid_from=suggestion.valid_from,
        valid_until=suggestion.valid_until,
        trust="owner",
    )
