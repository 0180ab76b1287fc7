"""The ways to change facts: add, edit, retract, restore. Each is one atomic commit.

An undo token names a change and the fact it was made to; taking it back is
itself a change, so that history only grows.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from bethink.errors import BadInput, Conflict, EmbeddingsUnavailable, UnknownId
from bethink.index import IndexItem
from bethink.memory.facts import FACTS, Changed, Fact, NewFact, State, anew, digest, merged, trust_of, weight
from bethink.memory.history import history_of
from bethink.memory.restoring import Restored, sorted_out
from bethink.store import Page, Put, Scan

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bethink.clock import Clock, Ids
    from bethink.embeddings import Embeddings
    from bethink.principal import Principal
    from bethink.store import Key, Store

KIND = "fact"
PAST_KIND = "past_fact"
"""The kind under which a superseded fact is found, when a question asks about a time."""
_BATCH = 256
_PROFILE_WEIGHT = 800
_CONFLICT_TRIES = 20
"""Two processes that change one fact as fast as they can lose five races in a row now and then."""
_T = TypeVar("_T")
_NOT_FOUND: dict[State, str] = {
    "suggested": "No such suggestion: it may have been decided already.",
    "merged": "There is nothing to take back: the memory that was merged is gone.",
    "active": "No such memory: it may have been retracted, corrected or forgotten.",
    "retracted": "There is nothing to take back: the memory is gone or active again.",
    "superseded": "There is nothing to take back: the memory that was corrected is gone.",
}


class Find(Protocol):
    """Active facts that answer a question, best first, each with a score 0..1; `app` wires recall."""

    async def __call__(self, principal: Principal, query: str, k: int) -> Sequence[tuple[Fact, float]]:
        """At most `k` facts."""
        ...


@dataclass(frozen=True, slots=True)
class Memory:
    """The facts of all owners; every call acts for one principal."""

    store: Store
    embeddings: Embeddings
    clock: Clock
    new_id: Ids
    find: Find = field(repr=False)
    _locks: defaultdict[str, asyncio.Lock] = field(
        default_factory=lambda: defaultdict(asyncio.Lock), repr=False
    )

    async def add(self, principal: Principal, fact: NewFact) -> Changed:
        """Keep a fact; durable when it returns.

        The very same words, if known already, are merged: nothing is repeated,
        and the sources of both are kept.

        Raises:
            BadInput: the fact is not fit to be kept; the sentence says why.
        """
        (changed,) = await self.add_many(principal, [fact])
        return changed

    async def add_many(self, principal: Principal, facts: Sequence[NewFact]) -> list[Changed]:
        """Keep facts, in order; each batch of 256 is durable before the next is begun.

        Raises:
            BadInput: one of them is not fit to be kept; then none is.
        """
        checked = [fact.checked() for fact in facts]
        results: list[Changed] = []
        for start in range(0, len(checked), _BATCH):
            batch = checked[start : start + _BATCH]
            vectors = await self._vectors([_text(fact.content, fact.topics) for fact in batch])
            results += await self._repeated(principal, partial(self._add_batch, principal, batch, vectors))
        return results

    async def restore_many(
        self, principal: Principal, facts: Sequence[Fact], *, preview: bool = False
    ) -> list[Restored]:
        """Put back facts as they were exported, all or none; what is here already stays as it is."""

        async def restore() -> list[Restored]:
            outcomes, new = await sorted_out(self.store, principal, facts)
            await self._put(principal, *((fact, 0) for fact in new if not preview))
            return outcomes

        return await self._repeated(principal, restore)

    async def said(self, principal: Principal, content: str) -> list[Fact]:
        """Facts of any state that say the very same."""
        scan = Scan(FACTS, where={"digest": digest(content)})
        return [item.record for item in (await self.store.scan(principal.owner, scan)).items]

    async def search(self, principal: Principal, query: str, *, k: int = 10) -> Sequence[tuple[Fact, float]]:
        """Active facts that answer `query`, best first, each with a score 0..1."""
        return await self.find(principal, query, k)

    async def list(
        self,
        principal: Principal,
        *,
        limit: int = 50,
        cursor: str | None = None,
        where: Mapping[str, Key] | None = None,
    ) -> Page[Fact]:
        """One page of facts, newest first; `where` may name state, category and project."""
        scan = Scan(FACTS, where=where or {}, order="created_at", reverse=True, limit=limit, after=cursor)
        return await self.store.scan(principal.owner, scan)

    async def count(self, principal: Principal, where: Mapping[str, Key] | None = None) -> int:
        """How many facts have these keys."""
        return await self.store.count(principal.owner, FACTS, where or {})

    async def get(self, principal: Principal, ids: Sequence[str]) -> tuple[Fact | None, ...]:
        """The facts with these ids, in their order, None where there is none."""
        found = await self.store.get(FACTS, principal.owner, ids)
        return tuple(versioned and versioned.record for versioned in found)

    async def history(self, principal: Principal, fact: str) -> list[Fact]:
        """What a fact was before its corrections and what it became, oldest first, itself among them.

        Raises:
            UnknownId: this owner has no such fact.
        """
        return await history_of(self.store, principal.owner, fact)

    async def profile(self, principal: Principal, limit: int) -> list[Fact]:
        """The facts that matter in every conversation: pinned or of importance 0.8 and more."""
        scan = Scan(
            FACTS,
            where={"state": "active"},
            order="weight",
            low=_PROFILE_WEIGHT,
            reverse=True,
            limit=max(limit, 1),
        )
        page = await self.store.scan(principal.owner, scan)
        return [item.record for item in page.items[:limit]]

    async def edit(self, principal: Principal, fact: str, correction: NewFact) -> Changed:
        """Supersede a fact with its correction; the old one keeps its time.

        Where only importance, category, topics or the pin change, the fact
        itself is put anew: it still says the same.

        Raises:
            UnknownId: this owner has no active fact with that id.
            BadInput: the correction is not fit to be kept, or another fact says it.
            Conflict: another process kept changing the fact meanwhile.
        """
        checked = correction.checked()
        return await self._repeated(principal, lambda: self._edit(principal, fact, checked))

    async def retract(self, principal: Principal, fact: str) -> Changed:
        """Take a fact out of recall; it can be restored.

        Raises:
            UnknownId: this owner has no active fact with that id.
            Conflict: another process kept changing the fact meanwhile.
        """
        return await self._repeated(principal, lambda: self._retract(principal, fact))

    async def undo(self, principal: Principal, token: str) -> Changed:
        """Take back the change that a token names.

        Raises:
            UnknownId: the fact is gone, or was changed again since.
            BadInput: this is no undo token, or another fact says the same now.
            Conflict: another process kept changing the fact meanwhile.
        """
        match token.split(":"):
            case ["added", fact]:
                return await self._repeated(principal, lambda: self._retract(principal, fact))
            case ["suggested", fact]:
                return await self._repeated(principal, lambda: self._retract(principal, fact, "suggested"))
            case ["retracted", fact]:
                return await self._repeated(principal, lambda: self._restore(principal, fact))
            case ["superseded", fact]:
                return await self._repeated(principal, lambda: self._reinstate(principal, fact))
            case ["merged", fact, version] if version.isascii() and version.isdecimal():
                return await self._repeated(principal, lambda: self._unmerge(principal, fact, version))
            case _:
                message = "This is no undo token: use the one that came with the change."
                raise BadInput(message)

    async def _repeated(self, principal: Principal, change: Callable[[], Awaitable[_T]]) -> _T:
        """A change that reads and commits, begun again where another process came between the two."""
        async with self._locks[principal.owner]:
            for _ in range(_CONFLICT_TRIES):
                try:
                    return await change()
                except Conflict:
                    continue
        raise Conflict

    async def _add_batch(
        self, principal: Principal, batch: Sequence[NewFact], vectors: NDArray[np.float32] | None
    ) -> list[Changed]:
        now = self.clock.now_us()
        puts: dict[str, Put[Fact]] = {}
        results: list[Changed] = []
        for position, new in enumerate(batch):
            said = digest(new.content)
            pending = puts.get(said)
            known = (pending.record, pending.if_version) if pending else await self._same(principal, said)
            if known is None:
                fact, version = self._fact(new, now), 0
                change = "suggested" if new.suggested else "added"
                results.append(Changed(fact, change, undo=f"{change}:{fact.id}"))
            else:
                fact, version = merged(known[0], new, now), known[1] or 0
                results.append(Changed(fact, "merged", undo=_merge_token(fact, version)))
            puts[said] = Put(FACTS, fact, version, self._index_item(fact, vectors, position))
        await self.store.commit(principal.owner, list(puts.values()))
        return results

    async def _same(self, principal: Principal, said: str) -> tuple[Fact, int] | None:
        scan = Scan(FACTS, where={"digest": said, "state": "active"}, limit=1)
        page = await self.store.scan(principal.owner, scan)
        return next(((item.record, item.version) for item in page.items), None)

    async def _found(self, principal: Principal, fact: str, state: State) -> tuple[Fact, int]:
        (found,) = await self.store.get(FACTS, principal.owner, [fact])
        if found is None or found.record.state != state:
            raise UnknownId(_NOT_FOUND[state])
        return found.record, found.version

    async def _edit(self, principal: Principal, fact: str, correction: NewFact) -> Changed:
        old, version = await self._found(principal, fact, "active")
        said = digest(correction.content)
        if said == old.digest:
            new = anew(
                old,
                content=correction.content,
                category=correction.category,
                importance=correction.importance,
                topics=correction.topics,
                pinned=correction.pinned,
            )
            await self._put(principal, (new, version))
            return Changed(new, "merged", undo=_merge_token(new, version))
        await self._check_unsaid(principal, said)
        now = self.clock.now_us()
        new = msgspec.structs.replace(self._fact(correction, now), supersedes=(old.id,))
        await self._put(principal, (_superseded(old, new.id, now), version), (new, 0))
        return Changed(new, "superseded", undo=f"superseded:{new.id}")

    async def _retract(self, principal: Principal, fact: str, state: State = "active") -> Changed:
        old, version = await self._found(principal, fact, state)
        now = msgspec.structs.replace(old, state="retracted")
        await self._put(principal, (now, version))
        return Changed(now, "retracted", undo=f"retracted:{fact}")

    async def _restore(self, principal: Principal, fact: str) -> Changed:
        """Bring back a retracted fact, and supersede again what it had corrected."""
        found, version = await self._found(principal, fact, "retracted")
        await self._check_unsaid(principal, found.digest)
        now = msgspec.structs.replace(found, state="active")
        at = self.clock.now_us()
        again = [
            (_superseded(old.record, fact, at), old.version)
            for old in await self.store.get(FACTS, principal.owner, found.supersedes)
            if old is not None and old.record.state == "active"
        ]
        await self._put(principal, (now, version), *again)
        return Changed(now, "restored", undo=f"{'superseded' if again else 'added'}:{fact}")

    async def _reinstate(self, principal: Principal, correction: str) -> Changed:
        """Retract a correction and bring back what it had corrected."""
        new, version = await self._found(principal, correction, "active")
        (corrected,) = new.supersedes or ("",)
        found, found_version = await self._found(principal, corrected, "superseded")
        await self._check_unsaid(principal, found.digest)
        old = msgspec.structs.replace(found, state="active", superseded_by=None, valid_until=None)
        away = msgspec.structs.replace(new, state="retracted")
        await self._put(principal, (away, version), (old, found_version))
        return Changed(old, "restored", undo=f"retracted:{correction}")

    async def _unmerge(self, principal: Principal, fact: str, version: str) -> Changed:
        """Give a fact back what its last merge or edit in place changed."""
        found, now = await self._found(principal, fact, "active")
        if found.before is None or str(now) != version:
            message = "This change cannot be taken back any more: the memory was changed again since."
            raise UnknownId(message)
        old = anew(found, **msgspec.structs.asdict(found.before))
        await self._put(principal, (old, now))
        return Changed(old, "restored", undo=_merge_token(old, now))

    async def _check_unsaid(self, principal: Principal, said: str) -> None:
        if await self._same(principal, said):
            message = "Another memory says exactly this already; retract one of the two instead."
            raise BadInput(message)

    async def _put(self, principal: Principal, *facts: tuple[Fact, int]) -> None:
        """Commit facts in place of their versions, each with what it is found by."""
        found = [fact for fact, _ in facts if fact.state != "retracted"]
        vectors = await self._vectors([_text(fact.content, fact.topics) for fact in found])
        items = {fact.id: self._index_item(fact, vectors, place) for place, fact in enumerate(found)}
        await self.store.commit(
            principal.owner, [Put(FACTS, fact, version, items.get(fact.id)) for fact, version in facts]
        )

    async def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        if not texts:
            return None
        try:
            return await self.embeddings.embed(texts)
        except EmbeddingsUnavailable:
            return None

    def _fact(self, new: NewFact, now: int) -> Fact:
        return Fact(
            id=self.new_id(),
            content=new.content,
            digest=digest(new.content),
            weight=weight(new.importance, pinned=new.pinned),
            created_at=now,
            category=new.category,
            importance=new.importance,
            topics=new.topics,
            state="suggested" if new.suggested else "active",
            valid_from=new.valid_from,
            valid_until=new.valid_until,
            sources=(msgspec.structs.replace(new.source, at=new.source.at or new.at or now),),
            trust=new.trust or trust_of(new.source),
            depends_on=new.depends_on,
            project=new.project,
            pinned=new.pinned,
        )

    def _index_item(self, fact: Fact, vectors: NDArray[np.float32] | None, position: int) -> IndexItem | None:
        if fact.state not in {"active", "superseded"}:
            return None
        return IndexItem(
            kind=KIND if fact.state == "active" else PAST_KIND,
            text=_text(fact.content, fact.topics),
            at=fact.created_at,
            vector=None if vectors is None else vectors[position],
            model=None if vectors is None else self.embeddings.model,
            project=fact.project,
        )


def _text(content: str, topics: Sequence[str]) -> str:
    """What a fact is found by, in words and in meaning."""
    return " ".join((content, *topics))


def _superseded(old: Fact, by: str, now: int) -> Fact:
    return msgspec.structs.replace(old, state="superseded", superseded_by=by, valid_until=now)


def _merge_token(fact: Fact, version: int) -> str:
    """Names the version that the merge makes: after another change the token is void."""
    return f"merged:{fact.id}:{version + 1}"
