"""In which order what was found answers, and how sure that is: one linear model over plain features.

`recall` asks in two steps. `weighed` goes by what the index tells of all
candidates; `ranked` looks at the texts of the best of them once more. The
weights are log-odds, learnt on public dialogues (docs/adr/0015) that no figure is
published on: they are the same for every question and every owner.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.conversations import ASSISTANT, OWNER
from bethink.recall.chronology import is_over, nearness, order_in_time, placed
from bethink.recall.question import MARK, SENTENCE, only_asks, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bethink.feature import Recallable
    from bethink.index import Candidate, Candidates
    from bethink.recall.question import ParsedQuestion

# Learnt. The first two are of BM25 as a share of the ideal, and of the cosine.
_WORDS = 2.6
_MEANING = 6.1
_MET = 3.7
_COMPANY = 1.75
_ASKS = -0.5
_SHORT = -1.4
_TELLS_TIME = 0.8
_TELLS_NUMBER = 1.2
_REPLIES = 1.4
_FOLLOWED = 0.5

# Set by what is plain, where the learning sets say nothing of it.
_NAMED = 1.5
_AMONG_NAMED = 0.75
_ASSISTANT = -2.0
_IMPORTANCE = 0.3
_IN_TIME = 1.0
_PAST = 1.0
_LATEST = 1.0

_SAME_WORDS = 0.7
"""The same question was asked before if so much of the words of both is in both."""
_SAME_MEANING = 0.75
"""And if its owner put it in other words: the cosine of paraphrases; what answers is rarely as near."""

# How sure it is that what was found answers: either leg alone can be.
_COMMON, _COMMON_COUNT = 0.1, 5
"""The cosine of texts about different things, and of how many more items it is as good as the cosines."""
_NEAR, _SURE = 0.1, 0.55
"""By how much a cosine must be above those of all others to speak for an answer, and to be one."""
_SURE_WORDS, _SURE_MEANING = 0.85, 0.95
_WORDS_POWER = 1.5
"""Half of a question's words say less than half, unless words are all the evidence there is."""

_MOST = 1.9
"""A word that is said over and over counts at most so much more than one that is said once (k1 + 1)."""

_CHANCE = 0.2
"""The cosine of a text about something else: what is assumed where nothing can be compared."""
_SHORT_WORDS = 5
_READ_CHARS = 2_000
"""Of a long text this much is looked at for questions and numbers."""
_DAY_US = 86_400_000_000
_MONTH_DAYS = 30

_TIME = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|week|weekend|month|year|morning|monday|tuesday"
    r"|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|recently|since|20\d\d)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\b(?:\d+|two|three|four|five|six|seven|eight|nine|ten|couple|few|several|once|twice|dozen)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class WeightedCandidate:
    """A candidate; `base` says how well it matches alone, `logit` what speaks for it in all."""

    candidate: Candidate
    base: float
    logit: float


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """A candidate, what is shown of it, and how sure it is that it answers, 0..1."""

    candidate: Candidate
    recallable: Recallable
    score: float


def weighed(found: Candidates, asked: ParsedQuestion) -> list[WeightedCandidate]:
    """All candidates by what the index tells of them, the likeliest first."""
    ideal = found.lexical_ideal
    unknown = _expected_cosine(found.items)
    items: list[WeightedCandidate] = []
    best: dict[str, tuple[float, float]] = {}
    for candidate in found.items:
        share = min(_MOST, (candidate.lexical or 0.0) / ideal) if ideal > 0 else 0.0
        cosine = unknown if candidate.dense is None else candidate.dense
        base = share + cosine
        items.append(
            WeightedCandidate(candidate, base, _WORDS * share + _MEANING * cosine + _MET * candidate.met)
        )
        if (conversation := candidate.conversation) is not None:
            first, second = best.get(conversation, (0.0, 0.0))
            best[conversation] = (base, first) if base > first else (first, max(base, second))
    bonuses = _of_speakers(found.items, asked)
    for item in items:
        first, second = best.get(item.candidate.conversation or "", (item.base, item.base))
        # What belongs to no conversation keeps itself company.
        item.logit += _COMPANY * (second if item.base == first else first)
        item.logit += bonuses.get(item.candidate.speaker or "", 0.0)
    items.sort(key=lambda item: (-item.logit, -item.candidate.at, item.candidate.id))
    return items


def ranked(
    best: Sequence[tuple[WeightedCandidate, Recallable]], asked: ParsedQuestion, found: Candidates
) -> list[RankedCandidate]:
    """The best of what was found by their texts as well, the likeliest first."""
    pairs = [(item.candidate, recallable) for item, recallable in best]
    asked, anchor = placed(asked, pairs)
    newest = max((recallable.at for _, recallable in best), default=0)
    places = {
        (recallable.conversation, recallable.position): (item.base, recallable)
        for item, recallable in best
        if recallable.position is not None
    }
    logits: list[float] = []
    for item, recallable in best:
        logit = item.logit + _of_text(recallable.text, asked) + _IMPORTANCE * recallable.importance
        if recallable.position is not None:
            if recallable.text[:_READ_CHARS].count(" ") < _SHORT_WORDS - 1:
                logit += _SHORT
            before = places.get((recallable.conversation, recallable.position - 1))
            if before is not None and before[1].speaker != recallable.speaker:
                logit += _REPLIES * before[0] * _share_of_questions(before[1].text)
            after = places.get((recallable.conversation, recallable.position + 1))
            if after is not None:
                logit += _FOLLOWED * after[0]
        logits.append(logit + _of_time(recallable, asked, newest))
    order_in_time(logits, pairs, asked, anchor=anchor)
    repeated = [asks_the_same(item, recallable, asked) for item, recallable in best]
    order = sorted(
        range(len(best)), key=lambda i: (repeated[i], -logits[i], -best[i][1].at, best[i][0].candidate.id)
    )
    said_before = {item.candidate.id for (item, _), is_same in zip(best, repeated, strict=True) if is_same}
    confidence = _confidence(found, [one for one in found.items if one.id not in said_before])
    answers: list[RankedCandidate] = []
    least = 0.0
    for i in reversed(order):
        item, recallable = best[i]
        if not repeated[i]:
            least = max(least, confidence(item.candidate))
        answers.append(RankedCandidate(item.candidate, recallable, round(least, 4)))
    return answers[::-1]


def _confidence(found: Candidates, others: Sequence[Candidate]) -> Callable[[Candidate], float]:
    """How likely a candidate answers, 0..1, by its words and its meaning alone (noisy or).

    A cosine is judged against what the `others` have in common with the question:
    among facts that begin with "User", so does every question about the user.
    """
    cosines = [item.dense for item in others if item.dense is not None]
    common = (sum(cosines) + _COMMON * _COMMON_COUNT) / (len(cosines) + _COMMON_COUNT)
    power = _WORDS_POWER if cosines else 1.0

    def confidence(candidate: Candidate) -> float:
        words = min(1.0, (candidate.lexical or 0.0) / found.lexical_ideal) if found.lexical_ideal > 0 else 0.0
        nearness = 0.0 if candidate.dense is None else candidate.dense - common
        meaning = min(1.0, max(0.0, (nearness - _NEAR) / (_SURE - _NEAR)))
        return 1 - (1 - _SURE_WORDS * words**power) * (1 - _SURE_MEANING * meaning)

    return confidence


def _expected_cosine(items: Iterable[Candidate]) -> float:
    """What to assume of items without a vector: the mean of those found by words that have one."""
    known = [item.dense for item in items if item.dense is not None and item.lexical is not None]
    return sum(known) / len(known) if known else _CHANCE


def _of_speakers(items: Iterable[Candidate], asked: ParsedQuestion) -> dict[str, float]:
    """What speaks for the words of each speaker: being named, and for the assistant being asked."""
    speakers = {item.speaker for item in items if item.speaker is not None}
    named = asked.named(speakers - {OWNER, ASSISTANT})
    bonus = _NAMED if len(named) == 1 else _AMONG_NAMED
    of_assistant = -_ASSISTANT if asked.of_assistant else _ASSISTANT
    return dict.fromkeys(named, bonus) | {ASSISTANT: of_assistant}


def _of_text(text: str, asked: ParsedQuestion) -> float:
    read = text[:_READ_CHARS]
    logit = _ASKS * _share_of_questions(read)
    if asked.time and _TIME.search(read):
        logit += _TELLS_TIME
    if asked.number and _NUMBER.search(read):
        logit += _TELLS_NUMBER
    return logit


def asks_the_same(item: WeightedCandidate, recallable: Recallable, asked: ParsedQuestion) -> bool:
    """Whether it is the question itself, put once before: that answers nothing."""
    text = recallable.text[:_READ_CHARS]
    if recallable.position is None or not only_asks(text):
        return False
    words = frozenset(words_of(text))
    if len(words & asked.words) >= _SAME_WORDS * len(words | asked.words):
        return True
    return recallable.speaker == OWNER and (item.candidate.dense or 0.0) >= _SAME_MEANING


def _share_of_questions(text: str) -> float:
    """How much of a text asks, 0..1, by its words."""
    if not MARK.search(text):
        return 0.0
    sentences = [found.group().rstrip() for found in SENTENCE.finditer(text[:_READ_CHARS])]
    words = [sentence.count(" ") + 1 for sentence in sentences]
    asking = sum(
        count for sentence, count in zip(sentences, words, strict=True) if MARK.search(sentence[-1:])
    )
    return asking / max(sum(words), 1)


def _of_time(recallable: Recallable, asked: ParsedQuestion, newest: int) -> float:
    logit = 0.0
    if asked.has_range:
        logit += _IN_TIME * nearness(recallable, asked)
    if is_over(recallable, asked):
        logit += _PAST if asked.past else -_PAST if asked.is_now else 0.0
    if asked.latest:
        days = (newest - recallable.at) / _DAY_US
        logit += _LATEST / (1 + days / _MONTH_DAYS)
    return logit
