"""One recall over everything that is remembered. Needs no language model.

`agent/context`, the memory tools and the doors ask; the index gives candidates
of its two legs, and this module fuses them. Scores of a leg are normalised by
their spread over the candidates before they are added: equal-weight reciprocal
ranks lose to words alone in conversations, where words are the stronger leg.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from bethink.clock import to_datetime, to_us
from bethink.errors import BadInput, EmbeddingsUnavailable
from bethink.index import Candidate, IndexQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import Embeddings
    from bethink.index import Index
    from bethink.principal import Principal

_CANDIDATES = 50
MAX_K = 200
_DENSE_WEIGHT = 0.7
"""Of the meaning leg, the words leg being 1: found on public dialogue sets, see the decision record."""
_IMPORTANCE_WEIGHT = 0.1
_COSINE_NOTHING, _COSINE_SURE = 0.15, 0.65
"""Cosines of all-MiniLM-L6-v2 below the first are chance, above the second near paraphrases."""
_SURE_LEXICAL, _SURE_DENSE = 0.85, 0.95
_LEXICAL_POWER = 1.5
"""Half of a question's words say less than half: "my brother's name" meets "User's name is Alice".

Where meaning cannot be searched, words are all the evidence there is, and count in full.
"""
_OWNER_WORD = re.compile(r"\b(?:the )?user(?:['’]s)?\b", re.IGNORECASE)
"""How models name the owner in a question (spec 002, "SearchMemoryTool"): in the owner's memory it
tells nothing apart. The meaning leg gets the question as it was asked."""
_IMPORTANT = 20
_SURE_IMPORTANT = 0.5
"""How sure it is that the most important of all answers a question that names nothing."""
_SAME = 1e-18
"""Below this variance scores differ by rounding only."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing remembered. `score` is 0..1, comparable between questions."""

    id: str
    kind: str
    text: str
    score: float
    at: datetime
    source: str | None
    conversation: str | None = None
    speaker: str | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of recall, and of what part of memory.

    `since` (inclusive) and `until` (exclusive) bound when it was said; `as_of`
    asks what was held to be true then. `conversation` and `project` leave out
    what belongs to another or to none.
    """

    text: str
    k: int = 10
    kinds: Collection[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    conversation: str | None = None
    project: str | None = None

    @property
    def is_unbounded(self) -> bool:
        """Whether all that the owner has of these kinds is asked."""
        return self.since is self.until is self.as_of is self.conversation is self.project is None


@dataclass(frozen=True, slots=True)
class Memento:
    """What a feature tells of a candidate: enough to rank and to show it.

    Times are microseconds UTC; `valid_until` is None while it holds. `source`
    names where it came from, `doubt` says in a few words why it may not hold.
    """

    text: str
    at: int
    importance: float
    source: str | None
    conversation: str | None = None
    speaker: str | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    doubt: str | None = None


class Resolve(Protocol):
    """The mementos of one kind's ids, in their order; None for what is gone. One a kind."""

    async def __call__(self, principal: Principal, ids: Sequence[str]) -> Sequence[Memento | None]:
        """The mementos."""
        ...


Ranked = tuple[Candidate, Memento, float]
"""A candidate, what is shown of it, and its score."""


class Important(Protocol):
    """What matters whatever is asked, most important first; `app` wires the owner's profile."""

    async def __call__(self, principal: Principal, k: int) -> Sequence[tuple[str, str]]:
        """At most `k` pairs (kind, id)."""
        ...


async def nothing_important(principal: Principal, k: int) -> Sequence[tuple[str, str]]:
    """For a recall over items none of which matters always."""
    del principal, k
    return ()


@dataclass(frozen=True, slots=True)
class Recall:
    """Everything remembered, of all owners; every call acts for one principal.

    `kinds` holds a resolver a kind; `past` maps a kind to the kind of its
    superseded items, searched only for a question about a time. `important`
    answers a question that names nothing ("Who am I?"). `on_missing` is told
    of an owner whose items lack vectors.
    """

    index: Index
    embeddings: Embeddings
    kinds: Mapping[str, Resolve]
    past: Mapping[str, str] = field(default_factory=dict[str, str])
    important: Important = nothing_important
    on_missing: Callable[[str], None] = lambda _owner: None

    @property
    def warning(self) -> str | None:
        """Why recall works less well than it should, as a sentence."""
        reason = self.embeddings.unavailable
        return f"Recall goes by words only: {reason}" if reason else None

    async def search(  # noqa: PLR0913 - the public contract's own parameters
        self,
        principal: Principal,
        query: str,
        k: int = 10,
        *,
        kinds: Collection[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
    ) -> list[Hit]:
        """What `ask` finds for these fields of a `Question`."""
        question = Question(query, k, kinds=kinds, since=since, until=until, as_of=as_of)
        return await self.ask(principal, question)

    async def ask(self, principal: Principal, question: Question) -> list[Hit]:
        """At most `question.k` things that answer it, best first. An empty text finds nothing.

        Raises:
            BadInput: `k` is not 1..200, a kind is unknown or a time has no zone.
        """
        wanted = self._wanted(question.kinds, question.as_of)
        if not 1 <= question.k <= MAX_K:
            message = f"k is {question.k}: give a number from 1 to {MAX_K}."
            raise BadInput(message)
        if not question.text.strip():
            return []
        moment = _us(question.as_of)
        found = await self.index.search(
            IndexQuery(
                owner=principal.owner,
                text=_words(question.text),
                vector=await self._vector(question.text),
                model=self.embeddings.model,
                kinds=wanted,
                conversation=question.conversation,
                project=question.project,
                since=_us(question.since),
                until=_earliest(_us(question.until), None if moment is None else moment + 1),
                limit=max(_CANDIDATES, 2 * question.k),
            )
        )
        if found.without_vector and not self.embeddings.unavailable:
            self.on_missing(principal.owner)
        kept = [
            (candidate, memento)
            for candidate, memento in await self._resolve(principal, found.items)
            if moment is None or memento.valid_until is None or memento.valid_until > moment
        ]
        ranked = _ranked(kept, found.lexical_ideal)
        if not found.lexical_ideal and question.is_unbounded:
            ranked = await self._with_important(principal, ranked, query=question.text, wanted=wanted)
        return [
            _hit(candidate.id, self._shown(candidate.kind), memento, score=score)
            for candidate, memento, score in ranked[: question.k]
        ]

    async def _with_important(
        self, principal: Principal, ranked: Sequence[Ranked], *, query: str, wanted: Collection[str]
    ) -> list[Ranked]:
        """A question of function words only ("Who am I?") asks for what matters most of all."""
        if not any(char.isalpha() for char in query):
            return list(ranked)
        asked = [
            Candidate(id, kind, 0, None, None, None)
            for kind, id in await self.important(principal, _IMPORTANT)
            if kind in wanted
        ]
        scores = {candidate.id: score for candidate, _, score in ranked}
        important = [
            (candidate, memento, max(scores.get(candidate.id, 0.0), _SURE_IMPORTANT * memento.importance))
            for candidate, memento in await self._resolve(principal, asked)
        ]
        first = {candidate.id for candidate, _, _ in important}
        rest = [one for one in ranked if one[0].id not in first]
        return sorted((*important, *rest), key=lambda one: (-one[2], -scores.get(one[0].id, 0.0)))

    def _wanted(self, kinds: Collection[str] | None, as_of: datetime | None) -> frozenset[str]:
        asked = set(self.kinds) - set(self.past.values()) if kinds is None else set(kinds)
        if unknown := sorted(asked - set(self.kinds)):
            message = f"Unknown kind {unknown[0]!r}: there are {', '.join(sorted(self.kinds))}."
            raise BadInput(message)
        if as_of is not None:
            asked |= {self.past[kind] for kind in asked if kind in self.past}
        return frozenset(asked)

    def _shown(self, kind: str) -> str:
        return next((shown for shown, past in self.past.items() if past == kind), kind)

    async def _vector(self, query: str) -> NDArray[np.float32] | None:
        try:
            return (await self.embeddings.embed([query]))[0]
        except EmbeddingsUnavailable:
            return None

    async def _resolve(
        self, principal: Principal, found: Sequence[Candidate]
    ) -> list[tuple[Candidate, Memento]]:
        resolved: list[tuple[Candidate, Memento]] = []
        for kind in {candidate.kind for candidate in found}:
            of_kind = [candidate for candidate in found if candidate.kind == kind]
            mementos = await self.kinds[kind](principal, [candidate.id for candidate in of_kind])
            resolved += [
                (candidate, memento)
                for candidate, memento in zip(of_kind, mementos, strict=True)
                if memento is not None
            ]
        return resolved


def _hit(id: str, kind: str, memento: Memento, *, score: float) -> Hit:
    return Hit(
        id,
        kind,
        memento.text,
        score,
        to_datetime(memento.at),
        memento.source,
        conversation=memento.conversation,
        speaker=memento.speaker,
        valid_from=_moment(memento.valid_from),
        valid_until=_moment(memento.valid_until),
        doubt=memento.doubt,
    )


def _moment(us: int | None) -> datetime | None:
    return None if us is None else to_datetime(us)


def _ranked(found: Sequence[tuple[Candidate, Memento]], lexical_ideal: float) -> list[Ranked]:
    cosines = [candidate.dense for candidate, _ in found if candidate.dense is not None]
    floor = min(cosines, default=0.0)
    words = _spread([candidate.lexical or 0.0 for candidate, _ in found])
    meanings = _spread([floor if candidate.dense is None else candidate.dense for candidate, _ in found])
    fused = [
        word + _DENSE_WEIGHT * meaning + _IMPORTANCE_WEIGHT * memento.importance
        for word, meaning, (_, memento) in zip(words, meanings, found, strict=True)
    ]
    order = sorted(range(len(found)), key=lambda i: (-fused[i], -found[i][1].at, found[i][0].id))
    power = _LEXICAL_POWER if cosines else 1.0
    ranked: list[Ranked] = []
    least = 0.0
    for i in reversed(order):
        candidate, memento = found[i]
        least = max(least, _confidence(candidate, lexical_ideal, power))
        ranked.append((candidate, memento, round(least, 4)))
    return ranked[::-1]


def _words(query: str) -> str:
    kept = _OWNER_WORD.sub(" ", query)
    return kept if any(char.isalnum() for char in kept) else query


def _spread(scores: list[float]) -> list[float]:
    """Scores in units of their standard deviation, from their mean."""
    if not scores:
        return scores
    mean = math.fsum(scores) / len(scores)
    variance = math.fsum((score - mean) ** 2 for score in scores) / len(scores)
    if variance < _SAME:
        return [0.0] * len(scores)
    deviation = math.sqrt(variance)
    return [(score - mean) / deviation for score in scores]


def _confidence(candidate: Candidate, ideal: float, power: float) -> float:
    """How likely the candidate answers, 0..1: either leg alone can be sure (noisy or)."""
    words = min(1.0, (candidate.lexical or 0.0) / ideal) if ideal > 0 else 0.0
    cosine = candidate.dense if candidate.dense is not None else 0.0
    meaning = min(1.0, max(0.0, (cosine - _COSINE_NOTHING) / (_COSINE_SURE - _COSINE_NOTHING)))
    return 1 - (1 - _SURE_LEXICAL * words**power) * (1 - _SURE_DENSE * meaning)


def _us(moment: datetime | None) -> int | None:
    if moment is None:
        return None
    try:
        return to_us(moment)
    except ValueError as error:
        message = f"{moment.isoformat()} has no time zone: add one, such as Z for UTC."
        raise BadInput(message) from error


def _earliest(*moments: int | None) -> int | None:
    return min((moment for moment in moments if moment is not None), default=None)
