"""The facts of all owners, as doors, tools and the command line read and change them.

Each change is one atomic commit, and comes with a token that takes it back. `FEATURE` is
what recall and the other rooms see of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from bethink.errors import JustForgotten, UnknownId
from bethink.feature import Feature, GraphItem, GraphKind, OpenFeature, Recallable, RecallKind, graph_label
from bethink.memory.aliases import OtherNames
from bethink.memory.batch import BatchEdit, FactBatch
from bethink.memory.facts import (
    FACTS,
    STEPS,
    Fact,
    FactChange,
    LogStep,
    NewFact,
    StepKind,
    digest,
    doubt_of,
    import_token,
    weight,
)
from bethink.memory.gate import WriteGate
from bethink.memory.selection import FactSelection, in_use_at, selected
from bethink.memory.terms import dated
from bethink.memory.undo import Along, FactUndo, Reversal, takes_back_many
from bethink.memory.upkeep import (
    LARGEST_SHARE,
    THRESHOLD,
    ConsolidationReport,
    FactUpkeep,
    consolidated,
    last_consolidated,
    likely_duplicates,
)
from bethink.memory.writer import KIND, PAST_KIND, FactDraft, FactFilterOf, FactWriter, sees_all, text_of
from bethink.principal import Principal, Recent
from bethink.store import Change, Collection, Key, Record, RecordPage, Scan, Store, pages_of, records_of

if TYPE_CHECKING:
    from bethink.clock import Clock, Ids
    from bethink.embeddings import Embeddings
    from bethink.feature import Source, Surroundings
    from bethink.index import Index
    from bethink.memory.upkeep import Duplicate
    from bethink.memory.writer import Vector
    from bethink.tool import Forgotten


Restored = Literal["restored", "known", "differing"]
"""`known`: it is here, or another fact says the same; `differing`: its id names a fact that was changed."""


class FindFacts(Protocol):
    """Finds at most `k` facts that answer a question, best first, each with a score 0..1.

    Those in use, or those that held at a moment, microseconds UTC.
    """

    def __call__(
        self, principal: Principal, query: str, k: int, /, *, as_of: int | None = None
    ) -> Awaitable[Sequence[tuple[Fact, float]]]:
        """The facts, found."""
        ...


_BATCH = 256
_PAGE = 500
_PROFILE_WEIGHT = 800
FADING_ID = "fading"
_FADING_KEPT_US = 600_000_000
"""Another process may have worked it out anew."""


class Fading(Record, frozen=True, kw_only=True):
    """What is left, below 1, of the importance of facts that nobody needed for long, by their ids.

    Recall ranks these lower; nothing else changes. `reflection` works it out.
    """

    id: str = FADING_ID
    schema: int = 1
    factors: dict[str, float]


FADING = Collection("memory_fading", Fading, searchable=False)


@dataclass(frozen=True, slots=True)
class FadingFactors:
    """What is read for each recall, so it is kept for ten minutes."""

    store: Store
    clock: Clock
    _known: Recent[str, tuple[int, Mapping[str, float]]] = field(default_factory=lambda: Recent(_PAGE))

    async def of(self, owner: str) -> Mapping[str, float]:
        """By the ids of facts; of others it is 1."""
        known, now = self._known.get(owner), self.clock.now_us()
        if known is None or not 0 <= now - known[0] < _FADING_KEPT_US:
            (found,) = await self.store.get(FADING, owner, [FADING_ID])
            known = now, {} if found is None else found.record.factors
        self._known[owner] = known
        return known[1]

    def forget(self, owner: str) -> None:
        """Read it again the next time."""
        self._known.pop(owner)


@dataclass(slots=True)
class Memory:
    """The facts of all owners; every call acts for one principal.

    What is recalled, searched or always told is as the principal may see it; what is
    read by its id, listed or paged is not: doors see to that.
    """

    store: Store
    index: Index
    embeddings: Embeddings
    clock: Clock
    new_id: Ids
    find: FindFacts = field(repr=False)
    sight: FactFilterOf = field(default=sees_all, repr=False)
    writing: FactWriter = field(init=False, repr=False)
    fading: FadingFactors = field(init=False, repr=False)
    along: list[Along] = field(default_factory=list["Along"], repr=False)
    names: OtherNames | None = field(default=None, repr=False)
    gate: WriteGate = field(init=False, repr=False)
    _undoing: FactUndo = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.writing = FactWriter(
            self.store, self.index, self.embeddings, self.clock, self.new_id, self.sight
        )
        self.gate = WriteGate(self.writing)
        self.fading = FadingFactors(self.store, self.clock)
        self._undoing = FactUndo(self.writing, self.gate)

    @property
    def heard(self) -> list[Callable[[str], None]]:
        """Told, on the loop, whose facts this process changed; behind the commit."""
        return self.writing.heard

    async def add(
        self, principal: Principal, fact: NewFact, *, forgotten: Forgotten | None = None
    ) -> FactChange:
        """Let a fact through the gate; durable when it returns.

        What is known already is merged, with the sources of both; what it
        plainly supersedes is superseded, what it contradicts is put in doubt
        with it; what is not the owner's own word waits for review. What it
        `repeats`, `replaces` or `corrects` by its author's word is put away so,
        and comes back by the same undo. See `FactChange`.
        What is `forgotten` by the time of the commit is not kept.

        Raises:
            BadInput: the fact is not fit to be kept; the sentence says why.
            JustForgotten: it says what was forgotten meanwhile.
            HoldsSecret: it holds a password, a key or the like.
        """
        (changed,) = await self.add_many(principal, [fact], forgotten=forgotten)
        return changed

    async def add_many(
        self, principal: Principal, facts: Sequence[NewFact], *, forgotten: Forgotten | None = None
    ) -> list[FactChange]:
        """Let facts through the gate, in order; each batch of 256 is durable before the next is judged.

        Raises:
            BadInput: one of them is not fit to be kept; then none is.
            HoldsSecret: one of them holds a secret; then none is kept.
            JustForgotten: see `add`; what was durable by then is kept.
        """
        now = self.clock.now_us()
        checked = [dated(fact.checked(), principal.time_zone, now) for fact in facts]
        if principal.project is not None:
            checked = [replace(fact, project=fact.project or principal.project) for fact in checked]
        if self.names is not None:
            checked = await self.names.filed(principal.owner, checked)
        batches = [checked[start : start + _BATCH] for start in range(0, len(checked), _BATCH)]
        results: list[FactChange] = []
        vectors = await self._vectors(batches[0] if batches else ())
        for place, batch in enumerate(batches):
            following = batches[place + 1] if place + 1 < len(batches) else ()
            # Embedding leaves one core to the gate.
            embedding = asyncio.create_task(self._vectors(following))
            try:
                add = partial(self._add, batch, vectors, forgotten=forgotten)
                results += await self.writing.repeated(principal, add)
                vectors = await embedding
            finally:
                embedding.cancel()
        return [_told(principal, one) for one in results]

    async def restore_many(
        self,
        principal: Principal,
        facts: Sequence[Fact],
        *,
        source: str,
        preview: bool = False,
        vectors: Mapping[str, Vector] | None = None,
    ) -> list[Restored]:
        """Put back facts as they were exported, all or none; what is here already stays as it is.

        `source` names the import; `undo` of `import:<source>` takes back what it added.
        `vectors` are those at hand, by the facts' ids.
        """

        async def restore(draft: FactDraft) -> list[Restored]:
            outcomes, new = await _sorted_out(self.store, principal, facts, is_seen=draft.is_seen)
            if new and not preview:
                for fact in new:
                    draft.put(self.writing.in_its_slot(fact))
                    # Reading many facts must not keep everybody else waiting.
                    await asyncio.sleep(0)
                self.writing.note(draft, "imported", undo=import_token(source))
                by_id = vectors or {}
                at_hand = {text_of(fact): by_id[fact.id] for fact in new if fact.id in by_id}
                await self.writing.commit(draft, at_hand)
            return outcomes

        return await self.writing.repeated(principal, restore)

    async def said(self, principal: Principal, contents: Sequence[str]) -> list[list[Fact]]:
        """For each content, the facts of any state that say the very same, as far as they are seen whole."""
        found = await self.writing.said(principal.owner, [digest(content) for content in contents])
        sight, every = await self.sight(principal), [[one.record for one in same] for same in found]
        return [[one for one in same if sight is None or sight.fact(one) == one] for same in every]

    async def search(
        self, principal: Principal, query: str, *, k: int = 10, selection: FactSelection | None = None
    ) -> Sequence[tuple[Fact, float]]:
        """Facts in use that answer `query`, best first, each with a score 0..1; of those that are meant.

        A `selection` as of an earlier moment looks among what was in use then.
        """
        moment = None if selection is None else selection.as_of
        found = await self.find(principal, query, k, as_of=moment)
        if selection is None:
            return found
        meant = [(fact, score) for fact, score in found if selection.holds_of(fact)]
        if moment is None:
            return meant
        known = await in_use_at(self.store, principal.owner, [fact for fact, _ in meant], moment=moment)
        return [(fact, score) for fact, score in meant if fact.id in known]

    async def list(
        self,
        principal: Principal,
        *,
        limit: int = 50,
        cursor: str | None = None,
        where: Mapping[str, Key] | None = None,
    ) -> RecordPage[Fact]:
        """One page of facts, newest first; `where` may name state, category, project and doubted (1)."""
        scan = Scan(FACTS, where=where or {}, order="created_at", reverse=True, limit=limit, after=cursor)
        return (await self.store.scan(principal.owner, scan))[0]

    async def select(
        self, principal: Principal, selection: FactSelection, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[RecordPage[Fact], int]:
        """One page of the facts that are meant, newest first, and how many are meant in all."""
        return await selected(self.store, principal.owner, selection, limit=limit, cursor=cursor)

    async def pages(
        self, principal: Principal, where: Mapping[str, Key] | None = None
    ) -> AsyncGenerator[list[Fact]]:
        """All facts with these keys, oldest first, by the page."""
        scan = Scan(FACTS, where=where or {}, order="created_at", limit=_PAGE)
        async for page in pages_of(self.store, principal.owner, scan):
            if page:
                yield [item.record for item in page]

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
            found = [one for one in await self.get(principal, asked) if one is not None]
            chain |= {one.id: one for one in found}
            linked = [(*one.earlier, one.superseded_by) for one in found]
            asked = list({id for ids in linked for id in ids if id is not None and id not in chain})
        if fact not in chain:
            raise UnknownId("No such memory: it may have been forgotten.")
        return sorted(chain.values(), key=lambda one: (one.created_at, one.id))

    async def outdated(self, principal: Principal, ids: Sequence[str]) -> set[str]:
        """Where the words stand of what these facts took the place of, named as recall names sources."""
        words: set[str] = set()
        seen, asked = set(ids), list(ids)
        while asked:
            found = [one for one in await self.get(principal, asked) if one is not None]
            words |= {_named(source) for one in found if one.id not in ids for source in one.sources}
            asked = list({id for one in found for id in (*one.supersedes, *one.corrects)} - seen)
            seen |= set(asked)
        return words

    async def profile(self, principal: Principal, limit: int) -> list[Fact]:
        """The facts that matter in every conversation: pinned or of importance 0.8 and more."""
        project = {} if principal.project is None else {"project": principal.project}
        where = {**_HOLDS, **project}
        scan = Scan(FACTS, where, order="weight", low=_PROFILE_WEIGHT, reverse=True, limit=max(limit, 1))
        (page,) = await self.store.scan(principal.owner, scan)
        facts, sight = [item.record for item in page.items[:limit]], await self.sight(principal)
        return facts if sight is None else [seen for fact in facts if (seen := sight.fact(fact))]

    async def edit(
        self,
        principal: Principal,
        fact: str,
        statement: NewFact,
        *,
        wrong: bool = False,
        expected: Sequence[Change] = (),
    ) -> FactChange:
        """Put a statement in a fact's place: what has changed keeps its time, what was `wrong` never was so.

        Where it still says the same the fact itself is put anew. Refused unless what is `expected` stays so.

        Raises:
            UnknownId: this owner has no active fact with that id.
            BadInput: the statement is not fit to be kept, or another fact says it.
            Conflict: another process kept changing facts, or what is expected, meanwhile.
        """
        checked = dated(statement.checked(), principal.time_zone, self.clock.now_us())
        if self.names is not None:
            (checked,) = await self.names.filed(principal.owner, [checked])
        return await self._commit(
            principal, lambda draft: self._undoing.edit(draft, fact, checked, wrong=wrong), expected
        )

    async def retract(self, principal: Principal, fact: str) -> FactChange:
        """Take a fact out of recall, or a suggestion away; it can be restored.

        Raises:
            UnknownId: this owner has no fact with that id in use or under review.
            Conflict: another process kept changing facts meanwhile.
        """
        return await self._commit(
            principal, lambda draft: self._undoing.retract(draft, fact, "active", "suggested")
        )

    async def edit_many(self, principal: Principal, ids: Sequence[str], edit: BatchEdit) -> FactChange:
        """Retract, pin or file several facts in one commit; see `FactBatch.edit`."""
        return await FactBatch(self.writing, self.names).edit(principal, ids, edit)

    async def merge(self, principal: Principal, keep: str, gone: Sequence[str]) -> FactChange:
        """Take facts into one that says the same, in one commit; see `FactBatch.merge`."""
        return await FactBatch(self.writing).merge(principal, keep, gone)

    async def likely_duplicates(self, principal: Principal) -> Sequence[Duplicate]:
        """Pairs that a person may take for the same, the likest first; nothing merges them by itself."""
        return await likely_duplicates(self.writing, principal)

    async def accept(self, principal: Principal, fact: str) -> FactChange:
        """Make a suggestion the owner's own: it passes the gate as if they had said it.

        Raises:
            UnknownId: this owner has no such suggestion.
            Conflict: another process kept changing facts meanwhile.
        """
        return await self._commit(principal, lambda draft: self._undoing.accept(draft, fact))

    async def reject(self, principal: Principal, fact: str) -> FactChange:
        """Take a suggestion away; the same words are not suggested again.

        Raises:
            UnknownId: this owner has no such suggestion.
            Conflict: another process kept changing facts meanwhile.
        """
        return await self._commit(principal, lambda draft: self._undoing.retract(draft, fact, "suggested"))

    async def undo(self, principal: Principal, token: str) -> FactChange:
        """Take back the change that a token names, of one fact or of many.

        Raises:
            UnknownId: the fact is gone, or was changed again since.
            BadInput: this is no undo token, or another fact says the same now.
            Conflict: another process kept changing facts meanwhile.
        """
        if takes_back_many(token):
            return _told(principal, await Reversal(self.writing, self.along).undo(principal, token))
        return await self._commit(principal, lambda draft: self._undoing.undo(draft, token))

    def alone(self, owner: str) -> asyncio.Lock:
        """While it is held, nothing else in this process changes facts of the owner."""
        return self.writing.alone(owner)

    async def consolidate(
        self,
        principal: Principal,
        *,
        threshold: float = THRESHOLD,
        share: float = LARGEST_SHARE,
        preview: bool = False,
    ) -> ConsolidationReport:
        """Merge facts that say the same, in one commit; at most a `share` of all goes.

        `threshold` is the least cosine of two facts that are compared for it.
        With `preview` nothing is written, and exactly what would be comes back.

        Raises:
            BadInput: a number is not above 0 and up to 1.
            Conflict: another process kept changing facts meanwhile.
        """
        return await consolidated(self.writing, principal, threshold=threshold, share=share, preview=preview)

    async def consolidated_at(self, principal: Principal) -> int | None:
        """When facts were last consolidated, microseconds UTC; None if never."""
        return await last_consolidated(self.writing, principal)

    async def log(
        self, principal: Principal, *, limit: int = 50, cursor: str | None = None
    ) -> RecordPage[LogStep]:
        """One page of what was changed, by ids, the newest first."""
        scan = Scan(STEPS, order="at", reverse=True, limit=limit, after=cursor)
        return (await self.store.scan(principal.owner, scan))[0]

    async def steps_of(self, principal: Principal, ids: Sequence[str]) -> list[tuple[LogStep, str]]:
        """What was done to these facts, as far as the log goes back, newest first, each with its fact."""
        scan = Scan(STEPS, order="at", reverse=True, limit=_PAGE)
        return [
            (step, touched.id)
            async for step in records_of(self.store, principal.owner, scan)
            for touched in step.facts
            if touched.id in ids
        ]

    async def parting(self, owner: str, going: set[str]) -> Sequence[Change]:
        """The changes by which nothing that stays contradicts facts that are to go for good.

        They belong into the commit that removes those.
        """
        self.writing.readings.clear()
        draft = await FactDraft.begun(self.store, owner, self.clock.now_us())
        for fact in await draft.read(going):
            if fact.state == "active":
                await draft.left(fact)
        return await self.writing.changes(draft, but=going)

    async def _vectors(self, batch: Sequence[NewFact]) -> Sequence[Vector] | None:
        return await self.writing.vectors([text_of(fact) for fact in batch])

    async def _add(
        self,
        batch: Sequence[NewFact],
        vectors: Sequence[Vector] | None,
        draft: FactDraft,
        *,
        forgotten: Forgotten | None,
    ) -> list[FactChange]:
        if forgotten is not None:
            await forgotten.listen()
            said = ("\n".join((new.content, *new.topics, new.source.said or "")) for new in batch)
            if any(map(forgotten.says, said)):
                raise JustForgotten
        asked = [
            self.gate.asked(draft.signed(new), None if vectors is None else vectors[place])
            for place, new in enumerate(batch)
        ]
        results = await self.gate.add(draft, asked)
        at_hand = {text_of(one.new): one.vector for one in asked if one.vector is not None}
        for change, undo, facts in _steps(batch, results):
            self.writing.note(draft, change, undo=undo, facts=facts)
        await self.writing.commit(draft, at_hand, forgotten.expected if forgotten else ())
        return results

    async def _commit(
        self,
        principal: Principal,
        change: Callable[[FactDraft], Awaitable[FactChange]],
        expected: Sequence[Change] = (),
    ) -> FactChange:
        async def committed(draft: FactDraft) -> FactChange:
            result = await change(draft)
            self.writing.note(draft, result.change, undo=result.undo)
            await self.writing.commit(draft, expected=expected)
            return result

        return _told(principal, await self.writing.repeated(principal, committed))


def _told(principal: Principal, changed: FactChange) -> FactChange:
    """A change as its maker is told of it: who may not read learns of no fact but what they said."""
    if "read" in principal.rights:
        return changed
    hidden = {"content": "", "topics": ()} if changed.change == "restored" else {}
    return replace(changed, fact=msgspec.structs.replace(changed.fact, **hidden), others=(), near=())


def _steps(
    batch: Sequence[NewFact], results: Sequence[FactChange]
) -> list[tuple[StepKind, str | None, set[str] | None]]:
    """What the log says of a batch: an import is one step, else each fact has its own."""
    sources = {(new.source.kind, new.source.id) for new in batch}
    match [*sources]:
        case [("import", str(id))]:
            return [("imported", import_token(id), None)]
        case _:
            return [
                (one.change, one.undo, {one.fact.id, *(other.id for other in one.others)}) for one in results
            ]


async def _sorted_out(
    store: Store, principal: Principal, facts: Sequence[Fact], *, is_seen: Callable[[Fact], bool]
) -> tuple[list[Restored], list[Fact]]:
    """What is to become of each fact, and those that are new here.

    By what is not seen whole nothing is decided but that an id is taken.
    """
    here = await store.get(FACTS, principal.owner, [fact.id for fact in facts])
    full = [
        msgspec.structs.replace(
            fact, digest=digest(fact.content), weight=weight(fact.importance, pinned=fact.pinned)
        )
        for fact in facts
    ]
    unknown = [fact for fact, found in zip(full, here, strict=True) if not found and fact.state == "active"]
    scans = [Scan(FACTS, where={"digest": fact.digest, "state": "active"}) for fact in unknown]
    pages = await store.scan(principal.owner, *scans)
    said = {
        fact.digest
        for fact, page in zip(unknown, pages, strict=True)
        if any(is_seen(one.record) for one in page.items)
    }
    outcomes: list[Restored] = []
    new: dict[str, Fact] = {}
    for fact, found in zip(full, here, strict=True):
        known = found.record if found else new.get(fact.id)
        if known is not None:
            # The slot follows from what is said.
            is_known = not is_seen(known) or known == msgspec.structs.replace(fact, slot=known.slot)
            outcomes.append("known" if is_known else "differing")
        elif fact.state == "active" and fact.digest in said:
            outcomes.append("known")
        else:
            outcomes.append("restored")
            new[fact.id] = fact
            said |= {fact.digest} if fact.state == "active" else set()
    return outcomes, list(new.values())


_RECALLED = ("active", "superseded")
_HOLDS: Mapping[str, Key] = {"state": "active"}
_NODE = "fact:"
"""How the ids of facts begin in the graph."""


def _open(at: Surroundings) -> OpenFeature:
    async def find(
        principal: Principal, query: str, k: int, /, *, as_of: int | None = None
    ) -> Sequence[tuple[Fact, float]]:
        scores = dict(await at.search.find(principal, query, k, kind=KIND, as_of=as_of))
        facts = [fact for fact in await memory.get(principal, [*scores]) if fact is not None]
        reader_filter = await at.filter_for(principal)
        if reader_filter is not None:
            facts = [seen for fact in facts if (seen := reader_filter.fact(fact)) is not None]
        return [(fact, scores[fact.id]) for fact in facts]

    async def important(principal: Principal, k: int) -> Sequence[tuple[str, str]]:
        return [(KIND, fact.id) for fact in await memory.profile(principal, k)]

    async def resolve(principal: Principal, ids: Sequence[str]) -> Sequence[Recallable | None]:
        factors = await memory.fading.of(principal.owner)
        facts = await memory.get(principal, ids)
        return [fact and recallable_of(fact, factors.get(fact.id, 1.0)) for fact in facts]

    memory = Memory(at.store, at.index, at.embeddings, at.clock, at.new_id, find, at.filter_for)
    memory.names = at.features.of(OtherNames)
    memory.along.append(memory.names.parted)
    memory.heard.append(memory.names.heard)
    upkeep = FactUpkeep(memory.writing, at.settings, at.features, at.forget)
    return OpenFeature(
        service=memory,
        recall=[
            RecallKind(name=KIND, resolve=resolve, past=PAST_KIND, statements=True, graph=_graph(memory))
        ],
        important=important,
        retention=upkeep.retention,
        check=upkeep.check,
        statistics=upkeep.statistics,
    )


def _graph(memory: Memory) -> GraphKind:
    """How the facts that hold stand in the graph: each leads to those that it rests on."""

    async def newest(
        principal: Principal, limit: int, part_of: frozenset[str] | None
    ) -> tuple[list[GraphItem], int]:
        if part_of is not None:
            return [], 0
        page = await memory.list(principal, limit=limit, where=_HOLDS)
        return [_item(one.record) for one in page.items], await memory.count(principal, _HOLDS)

    async def of_items(principal: Principal, ids: Sequence[str]) -> dict[str, GraphItem]:
        facts = await memory.get(principal, ids)
        return {fact.id: _item(fact) for fact in facts if fact is not None and fact.state == "active"}

    async def of_nodes(principal: Principal, ids: Sequence[str]) -> list[GraphItem]:
        named = [id.removeprefix(_NODE) for id in ids if id.startswith(_NODE)]
        return [*(await of_items(principal, named)).values()]

    return GraphKind(newest=newest, of_items=of_items, of_nodes=of_nodes)


def _item(fact: Fact) -> GraphItem:
    return GraphItem(
        id=f"{_NODE}{fact.id}",
        kind=KIND,
        label=graph_label(fact.content),
        text=fact.content,
        source=f"{_NODE}{fact.id}",
        items=(fact.id,),
        names=fact.topics,
        links=tuple(f"{_NODE}{id}" for id in fact.depends_on),
    )


FEATURE = Feature(
    name="memory",
    open=_open,
    collections=(FACTS, STEPS, FADING),
    counted={"memories": ("memory", FACTS)},
    tools="bethink.tools.memory",
    routes=(
        "bethink.web.reflection",
        "bethink.web.own_numbers",
        "bethink.web.memory_views",
        "bethink.web.memories",
    ),
    commands="bethink.cli.memory",
    mcp_summary=(
        "Long-term memory of the user: search it before you answer questions about them, store what is "
        "worth knowing later. What cannot be undone shows first what would go, and needs their agreement."
    ),
)


def recallable_of(fact: Fact, factor: float = 1.0) -> Recallable | None:
    """What recall shows of a fact, as far as it has faded; None for one that is not in use."""
    if fact.state not in _RECALLED:
        return None
    return Recallable(
        text=fact.content,
        at=fact.created_at,
        importance=fact.importance * factor,
        source=_named(fact.sources[0]) if fact.sources else None,
        valid_from=fact.valid_from,
        valid_until=fact.valid_until,
        doubt=doubt_of(fact),
        superseded_by=fact.superseded_by,
        untrusted=fact.trust == "untrusted",
        said_by=fact.sources,
        about=fact.about,
    )


def _named(source: Source) -> str:
    place = ":".join(part for part in (source.kind, source.id) if part)
    return f"{place}#{source.message}" if source.message else place
