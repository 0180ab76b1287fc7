"""One recall over everything that is remembered. Needs no language model.

`agent/context`, the memory tools and the doors ask; the index gives candidates
of its two legs, and `ranking` puts them in order by what it reads in the
question.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from bethink.assertions import parted
from bethink.clock import Clock, to_datetime, to_us
from bethink.errors import BadInput, EmbeddingsUnavailable
from bethink.feature import OWNER, FilterFor, Recallable, RecallKind, sees_everything
from bethink.index import Candidate, Candidates, Index, IndexQuery
from bethink.messages import tokens_in
from bethink.recall.ranking import (
    CODE,
    RankedCandidate,
    asks_the_same,
    calibration_of,
    ranked,
    read_question,
    weighed,
    without_cues,
)
from bethink.search.analysis import STOP_WORDS, Analyzer
from bethink.telemetry import Histogram, span
from bethink.visibility.search import VisibleSearch

if TYPE_CHECKING:
    from bethink.embeddings import Embeddings
    from bethink.principal import Principal
    from bethink.recall.ranking import ParsedQuestion, WeightedCandidate

_CANDIDATES = 100
"""Of each leg. Of what answers, conversations hold one part in twelve beyond the best 50 of both."""
MAX_K = 200
_SPARE = 22
"""So many more than are asked for are read and ranked by their texts, too."""
_OWNER_WORD = re.compile(r"\b(?:the )?user(?:['’]s)?\b", re.IGNORECASE)
"""How models name the owner in a question (spec 002, "SearchMemoryTool"): in the owner's memory it
tells nothing apart. The meaning leg gets the question as it was asked."""
_IMPORTANT = 20
_SURE_IMPORTANT = 0.5
"""How sure it is that the most important of all answers a question that names nothing."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing remembered. `score` is 0..1, comparable between questions; `title` is its source in words.

    What is `near` stands near the question, and neither it nor anything else is known to answer it.
    """

    id: str
    kind: str
    text: str
    score: float
    at: datetime
    source: str | None
    title: str | None = None
    conversation: str | None = None
    speaker: str | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    doubt: str | None = None
    untrusted: bool = False
    near: bool = False

    @property
    def pasted(self) -> bool:
        """Whether its owner said it with a text that somebody else wrote."""
        return self.speaker == OWNER and bool(parted(self.text)[1])


@dataclass(frozen=True, slots=True)
class RecallQuestion:
    """What is asked of recall, and of what part of memory.

    `since` (inclusive) and `until` (exclusive) bound when it was said. `as_of`
    asks what held at that moment, whenever it was said: from its `valid_from`
    (or, where nobody gave one, from when it was said) until its `valid_until`;
    the text's own "now" is that moment then. `conversation` and `project` leave
    out what belongs to another or to none, `part_of` what is no part of one of
    these wholes (`IndexItem.part_of`). All texts together take at most
    `budget` tokens: the best that fit. `lookups` ranks what only looked something
    up like all else, as a question about what was asked or answered does.
    """

    text: str
    k: int = 10
    kinds: Collection[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    conversation: str | None = None
    project: str | None = None
    part_of: frozenset[str] | None = None
    budget: int | None = None
    lookups: bool = False

    @property
    def is_unbounded(self) -> bool:
        """Whether all that the owner has of these kinds is asked."""
        bounds = (self.since, self.until, self.as_of, self.conversation, self.project, self.part_of)
        return all(bound is None for bound in bounds)


@dataclass(frozen=True, slots=True)
class RecallResult:
    """What was found, best first; `tokens` is about how many its texts take, `left_out` what was too long."""

    hits: list[Hit]
    tokens: int
    left_out: int = 0


@dataclass(slots=True)
class Recall:
    """Everything remembered, of all owners; every call acts for one principal.

    `kinds` are those that are shown, by the kinds of their items. `important` answers a question that names
    nothing ("Who am I?"), `named` adds the other names of whom a question names. What `filter_for` gives
    for a reader hides of every kind that does not filter itself; only those from whom it hides nothing find
    items of a kind's own: all others find by what they see. `on_missing` is told of an owner whose items
    lack vectors.
    """

    index: Index
    embeddings: Embeddings
    clock: Clock
    kinds: dict[str, RecallKind] = field(default_factory=dict[str, "RecallKind"])
    important: Callable[[Principal, int], Awaitable[Sequence[tuple[str, str]]]] | None = None
    named: Callable[[Principal, str], Awaitable[str]] | None = None
    on_missing: Callable[[str], None] = lambda _owner: None
    filter_for: FilterFor = sees_everything
    times: Histogram = field(default_factory=Histogram, repr=False)
    visible_search: VisibleSearch = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.visible_search = VisibleSearch(self.index, self.embeddings)

    def show(self, kind: RecallKind) -> None:
        """Show this kind's items, too."""
        for name in filter(None, (kind.name, kind.past, kind.lookups, kind.own)):
            self.kinds[name] = kind

    async def find(
        self,
        principal: Principal,
        query: str,
        k: int,
        *,
        kind: str,
        part_of: frozenset[str] | None = None,
        as_of: int | None = None,
    ) -> list[tuple[str, float]]:
        """The ids of what `ask` finds of one kind (and of these wholes), each with its score.

        `as_of` asks for what held at a moment, microseconds UTC.
        """
        moment = None if as_of is None else to_datetime(as_of)
        question = RecallQuestion(query, k, kinds={kind}, part_of=part_of, as_of=moment)
        return [(hit.id, hit.score) for hit in (await self.ask(principal, question)).hits]

    @property
    def by_itself(self) -> frozenset[str]:
        """The kinds that may come into a turn without being asked for."""
        return frozenset(kind.name for kind in self.kinds.values() if not kind.on_request)

    @property
    def _statements(self) -> frozenset[str]:
        """The kinds of items that are statements."""
        kinds = [kind for kind in self.kinds.values() if kind.statements]
        return frozenset(name for kind in kinds for name in (kind.name, kind.past)) - {""}

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
        """The hits that `ask` finds for these fields of a `RecallQuestion`."""
        question = RecallQuestion(query, k, kinds=kinds, since=since, until=until, as_of=as_of)
        return (await self.ask(principal, question)).hits

    async def ask(self, principal: Principal, question: RecallQuestion) -> RecallResult:
        """At most `question.k` things that answer it, best first. An empty text finds nothing.

        Raises:
            BadInput: `k` is not 1..200, `budget` not above 0, a kind is unknown or a time has no zone.
        """
        told = {"gen_ai.operation.name": "search_memory", "gen_ai.retrieval.top_k": question.k}
        with self.times.measuring(), span("search_memory", told) as kept:
            kept.tell("gen_ai.memory.query.text", lambda: question.text)
            result = await self._ask(principal, question)
            kept.set({"gen_ai.memory.record.count": len(result.hits)})
            return result

    async def _ask(self, principal: Principal, question: RecallQuestion) -> RecallResult:
        if principal.project is not None:
            question = replace(question, project=principal.project)
        if self.named is not None:
            question = replace(question, text=await self.named(principal, question.text))
        moment = asked_us(question.as_of)
        asked = read_question(question.text, self._now(principal, moment))
        wanted = self._wanted(question, asked)
        if not 1 <= question.k <= MAX_K:
            raise BadInput(f"k is {question.k}: give a number from 1 to {MAX_K}.")
        if question.budget is not None and question.budget < 1:
            raise BadInput(f"budget is {question.budget}: give a number of tokens from 1.")
        if not question.text.strip():
            return RecallResult([], 0)
        sees_all = await self.filter_for(principal) is None
        if sees_all:
            wanted |= {self.kinds[kind].own for kind in wanted} - {""}
        lookups = frozenset(self.kinds[kind].lookups for kind in wanted) - {""}
        if question.lookups or asked.of_talk:
            wanted, lookups = wanted | lookups, frozenset[str]()
        vector = None
        with suppress(EmbeddingsUnavailable):
            (vector,) = await self.embeddings.embed([_meaning(question.text)])
        query = IndexQuery(
            owner=principal.owner,
            text=_words(question.text, asked),
            vector=vector,
            model=self.embeddings.model,
            kinds=wanted,
            conversation=question.conversation,
            project=question.project,
            part_of=question.part_of,
            since=asked_us(question.since),
            until=asked_us(question.until),
            as_of=moment,
            limit=max(_CANDIDATES, 2 * question.k),
        )
        find = partial(self._ranked, principal, asked=asked, sees_all=sees_all)
        found, answers = await find(query, count=question.k)
        if not found.lexical_ideal and question.is_unbounded:
            answers = await self._with_important(principal, answers, query=question.text, wanted=wanted)
        if lookups and len(answers) < question.k:
            _, below = await find(replace(query, kinds=lookups), count=question.k - len(answers))
            most = min((one.score for one in answers), default=1.0)
            answers += [replace(one, score=min(one.score, most)) for one in below]
        hits = [_hit(one, self.kinds[one.candidate.kind].name) for one in answers[: question.k]]
        return _fitting(hits, question.budget)

    async def _ranked(
        self, principal: Principal, query: IndexQuery, *, asked: ParsedQuestion, sees_all: bool, count: int
    ) -> tuple[Candidates, list[RankedCandidate]]:
        """What a query finds, and more than the best `count` of it in their order."""
        found = await self.index.search(query)
        if not sees_all:
            found = await self.visible_search.visible(found, query, partial(self._resolve, principal))
        if found.without_vector and not self.embeddings.unavailable:
            self.on_missing(principal.owner)
        calibration = calibration_of(self.embeddings.model.id)
        items = weighed(found, asked, calibration, statements=self._statements)
        best = await self._best(principal, items, asked, count=count + _SPARE, moment=query.as_of)
        return found, ranked(best, asked, found, calibration=calibration)

    def _now(self, principal: Principal, as_of: int | None) -> datetime:
        """What "now" is in the question, in the principal's zone."""
        zone = UTC if principal.time_zone == "UTC" else ZoneInfo(principal.time_zone)
        if as_of is not None:
            with suppress(OverflowError):  # the ends of the calendar, in another zone
                return to_datetime(as_of).astimezone(zone)
        return to_datetime(self.clock.now_us()).astimezone(zone)

    async def _best(
        self,
        principal: Principal,
        items: Sequence[WeightedCandidate],
        asked: ParsedQuestion,
        *,
        count: int,
        moment: int | None,
    ) -> list[tuple[WeightedCandidate, Recallable]]:
        """The first `count` that are there and held at the moment, with what is shown of them.

        The same question, asked before, takes no place of theirs: it comes in addition.
        """
        best: list[tuple[WeightedCandidate, Recallable]] = []
        start = 0
        while start < len(items) and sum(not asks_the_same(*one, asked) for one in best) < count:
            some = items[start : start + count]
            start += count
            shown = await self._resolve(principal, [item.candidate for item in some])
            best += [
                (item, recallable)
                for item in some
                if (recallable := shown.get(item.candidate.id)) is not None
                and (moment is None or recallable.valid_until is None or recallable.valid_until > moment)
            ]
        return best

    async def _with_important(
        self, principal: Principal, answers: Sequence[RankedCandidate], *, query: str, wanted: Collection[str]
    ) -> list[RankedCandidate]:
        """A question of function words only ("Who am I?") asks for what matters most of all."""
        if self.important is None or not any(char.isalpha() for char in query):
            return list(answers)
        asked = [
            Candidate(id, kind, 0, None, None, None)
            for kind, id in await self.important(principal, _IMPORTANT)
            if kind in wanted
        ]
        scores = {one.candidate.id: one.score for one in answers}
        shown = await self._resolve(principal, asked)
        important = [
            RankedCandidate(
                candidate, recallable, max(scores.get(id, 0.0), _SURE_IMPORTANT * recallable.importance)
            )
            for candidate in asked
            if (recallable := shown.get(id := candidate.id)) is not None
        ]
        first = {one.candidate.id for one in important}
        rest = [one for one in answers if one.candidate.id not in first]
        places = {id: place for place, id in enumerate(scores)}
        return sorted(
            (*important, *rest), key=lambda one: (-one.score, places.get(one.candidate.id, len(places)))
        )

    def _wanted(self, question: RecallQuestion, asked: ParsedQuestion) -> frozenset[str]:
        """The kinds to search: past ones, too, where the question is about another time."""
        names = {one.name for one in self.kinds.values()}
        there = names | {one.past for one in self.kinds.values()} - {""}
        wanted = names if question.kinds is None else set(question.kinds)
        if unknown := sorted(wanted - there):
            raise BadInput(f"Unknown kind {unknown[0]!r}: there are {', '.join(sorted(there))}.")
        if question.as_of is not None or asked.was:
            wanted |= {self.kinds[kind].past for kind in wanted} - {""}
        return frozenset(wanted)

    async def _resolve(self, principal: Principal, candidates: Sequence[Candidate]) -> dict[str, Recallable]:
        """What is shown of the candidates that are still there, by their ids."""
        shown: dict[str, Recallable] = {}
        for kind in {candidate.kind for candidate in candidates}:
            ids = [candidate.id for candidate in candidates if candidate.kind == kind]
            recallables = await self.shown(principal, kind, ids)
            shown |= {id: one for id, one in zip(ids, recallables, strict=True) if one is not None}
        return shown

    async def shown(self, principal: Principal, kind: str, ids: Sequence[str]) -> Sequence[Recallable | None]:
        """What a reader may see of items of a kind, in order; None for what is gone or hidden."""
        of_kind = self.kinds[kind]
        found = await of_kind.resolve(principal, ids)
        reader_filter = None if of_kind.filters_itself else await self.filter_for(principal)
        if reader_filter is None:
            return found
        return [one and reader_filter.recallable(id, one) for id, one in zip(ids, found, strict=True)]


def _fitting(hits: list[Hit], budget: int | None) -> RecallResult:
    """The hits that fit, each in its turn: one that is too long does not keep out a shorter one behind it."""
    kept: list[Hit] = []
    used = 0
    for hit in hits:
        tokens = tokens_in(hit.text)
        if budget is None or used + tokens <= budget:
            used += tokens
            kept.append(hit)
    return RecallResult(kept, used, len(hits) - len(kept))


def _hit(found: RankedCandidate, kind: str) -> Hit:
    recallable = found.recallable
    return Hit(
        found.candidate.id,
        kind,
        recallable.text,
        found.score,
        to_datetime(recallable.at),
        recallable.source,
        title=recallable.title,
        conversation=recallable.conversation,
        speaker=recallable.speaker,
        valid_from=_moment(recallable.valid_from),
        valid_until=_moment(recallable.valid_until),
        doubt=recallable.doubt,
        untrusted=recallable.untrusted,
        near=found.near,
    )


def _moment(us: int | None) -> datetime | None:
    return None if us is None else to_datetime(us)


def _words(query: str, asked: ParsedQuestion) -> str:
    kept = _OWNER_WORD.sub(" ", without_cues(query) if asked.past else query)
    return kept if any(char.isalnum() for char in kept) else query


def _meaning(query: str) -> str:
    kept = _OWNER_WORD.sub(" ", query).strip()
    return kept if any(char.isalnum() for char in kept) else query


def asked_us(moment: datetime | None) -> int | None:
    """A moment that somebody asks for, in microseconds UTC.

    Raises:
        BadInput: it has no time zone.
    """
    if moment is None:
        return None
    try:
        return to_us(moment)
    except ValueError as error:
        raise BadInput(f"{moment.isoformat()} has no time zone: add one, such as Z for UTC.") from error


_LEAST: Final = 0.1
"""Of 862 questions with an answer, every best passage had 0.12 or more; of 30 about other things, 22 less."""
_LEAST_NAMED: Final = 0.5
"""A passage that answers holds so much of the names at least: it may call a person by the first one."""
_LOOKED_AT: Final = 5
_ENGLISH: Final = 0.25
"""Share of a question's words that are English function words, if it is in English: elsewhere nouns are
written like names."""
_WORD: Final = re.compile(r"\w+")


_LEAST_BEST: Final = 0.25
"""Of 16 questions to 21 facts that answer them the best had 0.31 or more but for two ("job", one in another
language); of ten about other things nine had 0.22 or less."""
_LEAST_NEXT, _SHARE_OF_BEST = 0.15, 0.4
"""What follows the best answers too if it is not far less sure."""


def answering(scores: Sequence[float]) -> int:
    """How many of the scores, best first, are those of facts that answer; the others are merely nearest."""
    if not scores or scores[0] < _LEAST_BEST:
        return 0
    least = max(_LEAST_NEXT, _SHARE_OF_BEST * scores[0])
    return next((place for place, score in enumerate(scores) if score < least), len(scores))


_LEAST_OF_ALL, _SHARE_OF_THE_BEST = 0.04, 0.2


def bearing(scores: Sequence[float], least: float) -> int:
    """How many of the scores, best first, are worth telling a model, which knows an answer when it sees one.

    None if the best is below `least`. Behind it they end where they fall off.
    """
    if not scores or scores[0] < least:
        return 0
    end = max(_LEAST_OF_ALL, _SHARE_OF_THE_BEST * scores[0])
    return next((place for place, score in enumerate(scores) if score < end), len(scores))


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """Whether the passages are worth showing, and what is to be said beside them, or in their place."""

    answers: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """Looks at what was found. Safe to call from several threads."""

    analyzer: Analyzer = field(default_factory=Analyzer, repr=False)

    def verdict(self, question: str, found: Sequence[tuple[str, float]]) -> AnswerVerdict:
        """What to make of passages, best first: their searched texts, each with its score."""
        if not found or found[0][1] < _LEAST:
            return AnswerVerdict(answers=False)
        named = names_in(question)
        missing = [self._missing(named, text) for text, _ in found[:_LOOKED_AT]]
        fewest = min(missing, key=len)
        codes = [name for name in fewest if CODE.fullmatch(name)]
        if codes or len(fewest) > len(named) * (1 - _LEAST_NAMED):
            return AnswerVerdict(answers=False, note=f"Nothing in them names {_listed(codes or fewest)}.")
        if fewest:
            return AnswerVerdict(
                answers=True, note=f"None of these passages names {_listed(fewest)} beside the rest."
            )
        return AnswerVerdict(answers=True)

    def _missing(self, named: Sequence[str], text: str) -> list[str]:
        terms = set(self.analyzer.document(text)) if named else set[str]()
        return [name for name in named if not terms.issuperset(self.analyzer.question(name))]


def names_in(question: str) -> list[str]:
    """The names that a question in English holds, word by word, and the codes that any does."""
    words = _WORD.findall(question)
    codes = list(dict.fromkeys(CODE.findall(question)))
    if sum(word.lower() in STOP_WORDS for word in words) < _ENGLISH * len(words):
        return codes
    parts = {part for code in codes for part in _WORD.findall(code)}
    names = [word for word in words[1:] if word[0].isupper() and word.lower() not in STOP_WORDS | {"i"}]
    return [*codes, *(name for name in dict.fromkeys(names) if name not in parts)]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
