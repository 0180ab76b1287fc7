"""Changes of facts that are there, and how each is taken back by its token.

`FactUndo` edits, retracts, accepts and takes back; a token names the change and its fact. `Reversal` takes
back changes of many, by the log. Taking back is itself a change, so that history only grows: what a fact
superseded or put in doubt is told by its links, at any later time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from bethink.errors import BadInput, NotAllowed, UnknownId
from bethink.memory.facts import (
    STEPS,
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
)
from bethink.memory.gate import GateOutcome, GateRequest, WriteGate, changed, correct, merge_token, supersede
from bethink.memory.terms import check_span
from bethink.memory.writer import FactDraft, FactWriter, text_of
from bethink.store import Change, Scan, records_of

if TYPE_CHECKING:
    from bethink.principal import Principal


_KINDS = ("import:", "consolidated:", "reflected:", "expired:", "undone:", "batch:")
_SHOWN = 20


def takes_back_many(token: str) -> bool:
    """Whether the token is one of those that `Reversal` knows."""
    return token.startswith(_KINDS)


Along: TypeAlias = "Callable[[str, str], Awaitable[Sequence[Change]]]"
"""What else goes back with an owner's token: changes for the same commit, none if it is not theirs."""


@dataclass(frozen=True, slots=True)
class Reversal:
    """Works in one commit for each step: a consolidation has one, an import one for each batch.

    What others keep beside the facts goes back `along`.
    """

    writing: FactWriter
    along: Sequence[Along] = ()

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

    async def _reversed(self, step: LogStep, undone: str, draft: FactDraft) -> list[Fact]:
        await draft.read(touched.id for touched in step.facts)
        back = [touched.id for touched in step.facts if await self._back(draft, touched)]
        if back:
            self.writing.note(draft, "undone", undo=undone)
            told = [await one(draft.owner, step.undo or "") for one in self.along]
            await self.writing.commit(draft, expected=[change for some in told for change in some])
        return [draft.get(id) for id in back]

    async def _back(self, draft: FactDraft, touched: FactStep) -> bool:
        """Make the fact what it was, if it still is what the step made of it, and nobody says it again."""
        if touched.id not in draft or draft.version(touched.id) != touched.version:
            return False
        for other in touched.objected:
            await draft.reconcile(touched.id, other)
        fact = draft.get(touched.id)
        state = touched.was or "retracted"
        returns = state == "active" and fact.state != "active"
        if returns:
            (same,) = await self.writing.said(draft.owner, [fact.digest])
            if any(one.record.state == "active" for one in same):
                return False
        now = fact
        if touched.in_place and fact.before is not None:
            now = self.writing.in_its_slot(anew(fact, **fact.before.fields))
        draft.put(msgspec.structs.replace(now, state=state, superseded_by=touched.by, merges=touched.merges))
        if fact.superseded_by is not None and fact.superseded_by != touched.by:
            for by in await draft.read([fact.superseded_by]):
                draft.put(_without(by, fact.id))
        if returns:
            await draft.returned(draft.get(fact.id))
        elif fact.state == "active" != state:
            await draft.left(fact)
        return True


def _without(fact: Fact, old: str) -> Fact:
    """The fact as one that never took the place of an old one."""
    return msgspec.structs.replace(
        fact,
        supersedes=tuple(id for id in fact.supersedes if id != old),
        corrects=tuple(id for id in fact.corrects if id != old),
    )


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
    gate: WriteGate

    async def edit(self, draft: FactDraft, id: str, statement: NewFact, *, wrong: bool) -> FactChange:
        """Put what is stated in the place of a fact, or the fact anew where it says the same.

        Where the old one was `wrong` the new one is true in its time, as far as it does not say another.
        """
        old = await self.writing.found(draft, id, "active", missing=GONE)
        check_seen(draft, old, missing=GONE)
        if digest(statement.content) == old.digest:
            return await self._put_anew(draft, old, statement)
        statement = draft.signed(corrected(old, statement) if wrong else statement)
        statement = replace(statement, **{"corrects" if wrong else "replaces": (id,)})
        await self._check_unsaid(draft, digest(statement.content))
        asked = await self._asked(draft, statement)
        new = self.writing.fact(statement, draft.at, slot=asked.reading.slot)
        draft.put(msgspec.structs.replace(new, told_at=(old.told_at or old.created_at) if wrong else None))
        result = GateOutcome(new.id, "added", f"added:{new.id}")
        await self.gate.displace(draft, result, replaced=statement.replaces, wrong=statement.corrects)
        for other, _ in self.gate.judge(draft, asked, but=new.id).contradicted:
            await draft.contradict(draft.get(new.id), other)
            result.others.append(other.id)
        return changed(draft, result)

    async def _put_anew(self, draft: FactDraft, old: Fact, statement: NewFact) -> FactChange:
        await self._check_rests(draft, old, statement.depends_on)
        new = anew(
            old,
            content=statement.content,
            category=statement.category,
            importance=statement.importance,
            topics=statement.topics,
            pinned=statement.pinned,
            told_about=statement.about,
            depends_on=statement.depends_on,
            valid_from=old.valid_from if statement.valid_from is None else statement.valid_from,
            valid_until=old.valid_until if statement.valid_until is None else statement.valid_until,
        )
        check_span(new.valid_from, new.valid_until)
        draft.put(new)
        return FactChange(new, "merged", merge_token(old.id, draft.version(old.id)))

    async def _check_rests(self, draft: FactDraft, fact: Fact, depends_on: Sequence[str]) -> None:
        """Refuse that a fact rests on what is not there, or, by others, on itself.

        Raises:
            BadInput: it would.
        """
        found: dict[str, Fact] = {}
        asked = {*depends_on} - {*fact.depends_on}
        while asked:
            some = await draft.read(asked)
            if not found and len(some) < len(asked):
                raise BadInput("depends_on names a memory that is not there. Nothing was changed.")
            found |= {one.id: one for one in some}
            asked = {id for one in some for id in one.depends_on} - found.keys()
            if fact.id in found or fact.id in asked:
                raise BadInput("The memory would depend on itself. Nothing was changed.")

    async def retract(self, draft: FactDraft, id: str, *states: State) -> FactChange:
        """Take a fact of one of these states out of use; of a suggestion, reject it."""
        (old,) = await draft.read([id]) or (None,)
        if old is None or old.state not in states:
            raise UnknownId(_NO_SUGGESTION if states == ("suggested",) else GONE)
        check_seen(draft, old, missing=_NO_SUGGESTION if states == ("suggested",) else GONE)
        draft.put(msgspec.structs.replace(old, state="retracted"))
        await draft.left(old)
        undo = "rejected" if old.state == "suggested" else "retracted"
        return FactChange(draft.get(id), "retracted", f"{undo}:{id}")

    async def accept(self, draft: FactDraft, id: str) -> FactChange:
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

    async def undo(self, draft: FactDraft, token: str) -> FactChange:
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

    async def _restore(self, draft: FactDraft, id: str) -> FactChange:
        """Bring back a retracted fact, and supersede again what it had corrected."""
        found = await self.writing.found(draft, id, "retracted", missing=_NOT_RETRACTED)
        await self._check_unsaid(draft, found.digest)
        draft.put(msgspec.structs.replace(found, state="active"))
        again = [old for old in await draft.read(found.supersedes) if old.state == "active"]
        for old in again:
            await supersede(draft, old, by=draft.get(id))
        wrong = [old for old in await draft.read(found.corrects) if old.state == "active"]
        for old in wrong:
            await correct(draft, old, by=draft.get(id))
        await draft.returned(draft.get(id))
        others = [old.id for old in (*again, *wrong)]
        return changed(
            draft, GateOutcome(id, "restored", f"{'superseded' if others else 'added'}:{id}", others)
        )

    async def _reinstate(self, draft: FactDraft, id: str) -> FactChange:
        """Retract a correction and bring back what it had corrected."""
        new = await self.writing.found(draft, id, "active", missing=GONE)
        back = await self._bring_back(draft, new)
        draft.put(msgspec.structs.replace(draft.get(id), state="retracted"))
        await draft.left(new)
        return changed(draft, GateOutcome(back[0], "restored", f"retracted:{id}", back[1:]))

    async def _bring_back(self, draft: FactDraft, new: Fact) -> list[str]:
        displaced = await draft.read((*new.supersedes, *new.corrects))
        displaced = [old for old in displaced if old.superseded_by == new.id]
        if not displaced:
            raise UnknownId(_NOT_SUPERSEDED)
        for old in displaced:
            await self._check_unsaid(draft, old.digest)
            until = old.valid_until
            if old.state == "superseded":
                until = None if old.before is None else old.before.valid_until
            draft.put(msgspec.structs.replace(old, state="active", superseded_by=None, valid_until=until))
            await draft.returned(draft.get(old.id))
        return [old.id for old in displaced]

    async def _unaccept(self, draft: FactDraft, id: str) -> FactChange:
        """Leave to review again what was accepted, and bring back what it had superseded."""
        accepted = await self.writing.found(draft, id, "active", missing=GONE)
        displaced = await draft.read((*accepted.supersedes, *accepted.corrects))
        has_displaced = any(old.superseded_by == id for old in displaced)
        back = await self._bring_back(draft, accepted) if has_displaced else []
        await draft.left(accepted)
        return await self._review_again(draft, id, "active", others=back)

    async def _part(self, draft: FactDraft, id: str, version: str) -> FactChange:
        """Leave to review again what was accepted as a restatement of a fact."""
        found = await self.writing.found(draft, id, "merged", missing=_CHANGED_SINCE)
        known = (await draft.read([found.superseded_by or ""]))[0:1]
        for one in known:
            if one.before is not None and str(draft.version(one.id)) == version:
                back = anew(one, **one.before.fields)
                merges = tuple(merged for merged in one.merges if merged != id)
                draft.put(msgspec.structs.replace(back, merges=merges))
        return await self._review_again(draft, id, "merged")

    async def _review_again(
        self, draft: FactDraft, id: str, state: State, *, others: Sequence[str] = ()
    ) -> FactChange:
        found = await self.writing.found(draft, id, state, missing=_NOT_RETRACTED)
        trust = "owner" if found.before is None else found.before.trust
        draft.put(
            msgspec.structs.replace(
                draft.get(id), state="suggested", superseded_by=None, doubts=(), trust=trust
            )
        )
        return changed(draft, GateOutcome(id, "restored", f"suggested:{id}", [*others]))

    async def _unmerge(self, draft: FactDraft, id: str, version: str) -> FactChange:
        """Give a fact back what its last merge or edit in place changed."""
        found = await self.writing.found(draft, id, "active", missing=GONE)
        if found.before is None or str(draft.version(id)) != version:
            raise UnknownId(_CHANGED_SINCE)
        old = self.writing.in_its_slot(anew(found, **found.before.fields))
        draft.put(old)
        return FactChange(old, "restored", merge_token(id, draft.version(id)))

    async def _check_unsaid(self, draft: FactDraft, said: str) -> None:
        (same,) = await self.writing.said(draft.owner, [said])
        if any(one.record.state == "active" and draft.is_seen(one.record) for one in same):
            raise BadInput(_SAID_ALREADY)

    async def _asked(self, draft: FactDraft, new: NewFact) -> GateRequest:
        vectors = await self.writing.vectors([text_of(new)])
        asked = self.gate.asked(new, vectors[0] if vectors else None)
        await self.gate.look_around(draft, [asked])
        return asked


def check_seen(draft: FactDraft, fact: Fact, *, missing: str) -> None:
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
