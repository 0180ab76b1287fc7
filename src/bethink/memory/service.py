"""The ways to change facts: add, edit, retract, restore, forget. Each is one atomic commit.

An undo token names a change and the fact it was made to; taking it back is
itself a change, so that history only grows.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from bethink.errors import BadInput, EmbeddingsUnavailable, UnknownId
from bethink.index import IndexItem
from bethink.memory.facts import FACTS, Fact, NewFact, digest, weight
from bethink.store import Delete, Page, Put, Scan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
_PAGE = 500

ChangeKind = Literal["added", "merged", "superseded", "retracted", "restored", "forgotten"]


class Find(Protocol):
    """Active facts that answer a question, best first, each with a score 0..1; `app` wires recall."""

    async def __call__(self, principal: Principal, query: str, k: int) -> Sequence[tuple[Fact, float]]:
        """At most `k` facts."""
        ...


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of a fact. `undo` is the token that takes the change back."""

    fact: Fact
    change: ChangeKind
    undo: str | None = None


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
            async with self._locks[principal.owner]:
                results += await self._add_batch(principal, batch, vectors)
        return results

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
        chain: dict[str, Fact] = {}
        asked = [fact]
        while asked:
            found = await self.get(principal, asked)
            chain |= {one.id: one for one in found if one is not None}
            linked = [(*one.supersedes, one.superseded_by) for one in found if one is not None]
            asked = list({id for ids in linked for id in ids if id is not None and id not in chain})
        if fact not in chain:
            message = "No such memory: it may have been forgotten."
            raise UnknownId(message)
        return sorted(chain.values(), key=lambda one: (one.created_at, one.id))

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
        """
        checked = correction.checked()
        vectors = await self._vectors([_text(checked.content, checked.topics)])
        async with self._locks[principal.owner]:
            old, version = await self._active(principal, fact)
            now = self.clock.now_us()
            if digest(checked.content) == old.digest:
                new = msgspec.structs.replace(
                    old,
                    content=checked.content,
                    category=checked.category,
                    importance=checked.importance,
                    topics=checked.topics,
                    pinned=checked.pinned,
                    weight=weight(checked.importance, pinned=checked.pinned),
                )
                await self.store.commit(
                    principal.owner, [Put(FACTS, new, version, self._index_item(new, vectors, 0))]
                )
                return Changed(new, "merged")
            if await self._same(principal, digest(checked.content)):
                message = "Another memory says exactly this already; retract this one instead."
                raise BadInput(message)
            new = msgspec.structs.replace(self._fact(checked, now), supersedes=(old.id,))
            was = msgspec.structs.replace(old, state="superseded", superseded_by=new.id, valid_until=now)
            past = await self._vectors([_text(was.content, was.topics)])
            await self.store.commit(
                principal.owner,
                [
                    Put(FACTS, was, version, self._index_item(was, past, 0)),
                    Put(FACTS, new, if_version=0, index=self._index_item(new, vectors, 0)),
                ],
            )
        return Changed(new, "superseded", undo=f"superseded:{new.id}")

    async def retract(self, principal: Principal, fact: str) -> Changed:
        """Take a fact out of recall; it can be restored.

        Raises:
            UnknownId: this owner has no active fact with that id.
        """
        async with self._locks[principal.owner]:
            old, version = await self._active(principal, fact)
            now = msgspec.structs.replace(old, state="retracted")
            await self.store.commit(principal.owner, [Put(FACTS, now, if_version=version)])
        return Changed(now, "retracted", undo=f"retracted:{fact}")

    async def undo(self, principal: Principal, token: str) -> Changed:
        """Take back the change that a token names.

        Raises:
            UnknownId: the fact is gone, or the change was taken back already.
            BadInput: this is no undo token.
        """
        change, _, fact = token.partition(":")
        match change:
            case "added":
                return await self.retract(principal, fact)
            case "retracted":
                return await self._restore(principal, fact)
            case "superseded":
                return await self._reinstate(principal, fact)
            case _:
                message = "This is no undo token: use the one that came with the change."
                raise BadInput(message)

    async def forget(self, principal: Principal, ids: Sequence[str]) -> int:
        """Remove facts for good, with everything that the store and the index keep of them.

        Returns how many there were. Other facts' links to them stay as ids of
        nothing: an id says nothing about what it named.
        """
        async with self._locks[principal.owner]:
            gone = [fact.record.id for fact in await self.store.get(FACTS, principal.owner, ids) if fact]
            await self.store.commit(principal.owner, [Delete(FACTS, fact) for fact in gone])
        return len(gone)

    async def all_ids(self, principal: Principal) -> list[str]:
        """The ids of every fact, whatever its state."""
        ids: list[str] = []
        cursor: str | None = None
        while True:
            page = await self.store.scan(principal.owner, Scan(FACTS, limit=_PAGE, after=cursor))
            ids += [item.record.id for item in page.items]
            if (cursor := page.cursor) is None:
                return ids

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
                fact = self._fact(new, now)
                puts[said] = Put(FACTS, fact, if_version=0, index=self._index_item(fact, vectors, position))
                results.append(Changed(fact, "added", undo=f"added:{fact.id}"))
            else:
                fact = _merged(known[0], new, now)
                puts[said] = Put(FACTS, fact, known[1], index=self._index_item(fact, vectors, position))
                results.append(Changed(fact, "merged"))
        await self.store.commit(principal.owner, list(puts.values()))
        return results

    async def _same(self, principal: Principal, said: str) -> tuple[Fact, int] | None:
        scan = Scan(FACTS, where={"digest": said, "state": "active"}, limit=1)
        page = await self.store.scan(principal.owner, scan)
        return next(((item.record, item.version) for item in page.items), None)

    async def _active(self, principal: Principal, fact: str) -> tuple[Fact, int]:
        (found,) = await self.store.get(FACTS, principal.owner, [fact])
        if found is None or found.record.state != "active":
            message = "No such memory: it may have been retracted, corrected or forgotten."
            raise UnknownId(message)
        return found.record, found.version

    async def _restore(self, principal: Principal, fact: str) -> Changed:
        async with self._locks[principal.owner]:
            (found,) = await self.store.get(FACTS, principal.owner, [fact])
            if found is None or found.record.state != "retracted":
                message = "There is nothing to take back: the memory is gone or active again."
                raise UnknownId(message)
            now = msgspec.structs.replace(found.record, state="active")
            vectors = await self._vectors([_text(now.content, now.topics)])
            item = self._index_item(now, vectors, 0)
            await self.store.commit(principal.owner, [Put(FACTS, now, found.version, item)])
        return Changed(now, "restored", undo=f"added:{fact}")

    async def _reinstate(self, principal: Principal, correction: str) -> Changed:
        async with self._locks[principal.owner]:
            new, version = await self._active(principal, correction)
            (found,) = await self.store.get(FACTS, principal.owner, new.supersedes[:1])
            if found is None:
                message = "The memory that was corrected is gone."
                raise UnknownId(message)
            old = msgspec.structs.replace(found.record, state="active", superseded_by=None, valid_until=None)
            vectors = await self._vectors([_text(old.content, old.topics)])
            await self.store.commit(
                principal.owner,
                [
                    Put(FACTS, msgspec.structs.replace(new, state="retracted"), if_version=version),
                    Put(FACTS, old, found.version, self._index_item(old, vectors, 0)),
                ],
            )
        return Changed(old, "restored")

    async def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
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
            sources=(msgspec.structs.replace(new.source, at=new.source.at or now),),
            trust="untrusted" if new.source.kind == "tool" else "owner",
            project=new.project,
            pinned=new.pinned,
        )

    def _index_item(self, fact: Fact, vectors: NDArray[np.float32] | None, position: int) -> IndexItem:
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


def _merged(known: Fact, new: NewFact, now: int) -> Fact:
    source = msgspec.structs.replace(new.source, at=new.source.at or now)
    places = {(kept.kind, kept.id, kept.message) for kept in known.sources}
    importance, pinned = max(known.importance, new.importance), known.pinned or new.pinned
    return msgspec.structs.replace(
        known,
        importance=importance,
        weight=weight(importance, pinned=pinned),
        topics=tuple(dict.fromkeys((*known.topics, *new.topics))),
        sources=known.sources
        if (source.kind, source.id, source.message) in places
        else (*known.sources, source),
        pinned=pinned,
    )
