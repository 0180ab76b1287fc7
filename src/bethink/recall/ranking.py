"""In which order what was found answers, and how sure that is: one linear model over plain features.

`recall` asks in two steps. `weighed` goes by what the index tells of all
candidates; `ranked` looks at the texts of the best of them once more. The
weights are log-odds, learnt on public dialogues (docs/adr/0015) that no figure is
published on: they are the same for every question and every owner.
`read_question` tells what a question's own words say of its answer, `_placed` and `_order_in_time` what
was before what. A `Calibration` says what the cosines of an embedding model tell of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bethink.assertions import OWNER as SELF
from bethink.assertions import asked_subject
from bethink.clock import to_us
from bethink.embeddings.e5 import E5
from bethink.feature import ASSISTANT, OWNER, Recallable
from bethink.search.analysis import STOP_WORDS, word_set
from bethink.when.ranges import find

if TYPE_CHECKING:
    from datetime import datetime

    from bethink.index import Candidate, Candidates


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the cosines of one embedding model are read (docs/adr/0076-a-calibration-for-each-embedder.md).

    Models differ in how near a question comes to what answers it, and one model differs between languages:
    with multilingual-e5-small texts about different things have a cosine of 0.3 in Chinese, and of none
    where the question is English and they are not. What tells an answer in all of them is by how much its
    cosine is above those of all candidates, and by how much it leads the next one.

    `weight`: the log-odds of a cosine of 1, in the order of what was found. `few`: of so many items the words
    count half, since how rare a word is shows only among many; those of statements in a few words, which
    somebody chose to say it in, count `stated` times. `common`: the cosine of texts about different
    things. A cosine speaks for an answer if it is by `near` above the common one, and is sure from `sure` on;
    the best one has its lead over the next one added `lead` times.
    """

    weight: float = 6.1
    few: int = 0
    stated: float = 1.0
    common: float = 0.1
    near: float = 0.1
    sure: float = 0.55
    lead: float = 0.0

    def words_trust(self, searched: int) -> float:
        """How much the words of a question count among so many items, 0..1."""
        return searched / (searched + self.few) if searched else 1.0

    def certainty(self, margin: float, lead: float) -> float:
        """How sure a cosine is, 0..1, that is so far above the common one, and above the best other one."""
        above = margin + self.lead * max(0.0, lead)
        return min(1.0, max(0.0, (above - self.near) / (self.sure - self.near)))


_ENGLISH: Final = Calibration()
"""Of all-MiniLM-L6-v2, learnt with the weights below; and of models that nobody has fitted."""
_CALIBRATIONS: Final[Mapping[str, Calibration]] = {
    E5.identity.id: Calibration(weight=7.6, few=80, stated=0.33, near=0.1, sure=0.5, lead=0.5)
}


def calibration_of(model: str) -> Calibration:
    """What the cosines of the model with this identity say."""
    return _CALIBRATIONS.get(model, _ENGLISH)


_WORD = re.compile(r"\w+")
_ASKS_TIME = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:date|day|month|year|time|week)\b|\bhow long\b", re.IGNORECASE
)
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|long|often|old)\b", re.IGNORECASE)
_ASKS_ASSISTANT = re.compile(
    r"\byou (?:said|told|suggested|recommended|mentioned|gave|listed|explained|proposed|advised|wrote)\b"
    r"|\b(?:did|had|have) you (?:\w+ )?(?:say|said|tell|told|suggest|recommend|mention|give|given|list"
    r"|explain|propose|advise|write)"
    r"|\byour (?:suggestion|recommendation|advice|answer|list|explanation|proposal|tip)",
    re.IGNORECASE,
)
_OWN_QUESTION = re.compile(
    r"\b(?:did|had|have) I (?:\w+ )?(?:ask|asked)\b|\bI (?:once |just )?asked (?:you|about)\b"
    r"|\bmy (?:\w+ )?questions?\b",
    re.IGNORECASE,
)
_TALK = r"(?: (?:conversation|chat|session|message|question|answer|discussion)s?\b)"
_STRETCH = r"(?: (?:\w+ )?(?:hour|day|week|month|year)s?\b)"
_ONCE = (
    rf"used to|previous(?:ly)?\b(?!{_TALK})|former(?:ly)?|originally|initially|in the past\b(?!{_STRETCH})"
    r"|back then|any ?more|ex-"
)
_ASKS_PAST = re.compile(
    rf"\b(?:{_ONCE}|did \w+(?: \w+)? use to|no longer|until recently|once (?:lived|worked|had|owned))\b"
    r"|\b(?:before(?: that| this| now)?|earlier)\s*[?.!]*$"
    r"|\b(?:my|our|his|her|their|user's|user’s) (?:old|ex)\b(?! (?:friend|man|woman|mother|father))"
    r"|\blast (?:address|job|employer|landlord|boss|flat|apartment|house|car)\b",
    re.IGNORECASE,
)
_PAST_TENSE = re.compile(r"\b(?:did|was|were|had|happened)\b", re.IGNORECASE)
_STATE = re.compile(
    r"\bdid \w+(?: \w+)? (?:live|stay|reside|work|study|drive|own|rent|have|like|love|prefer|use|weigh|play"
    r"|belong)\b"
    r"|\bha(?:ve|s) \w+(?: \w+)? (?:lived|stayed|worked|studied|driven|owned|rented|used|played|been)\b"
    r"|\b(?:was|were) (?:I|we|he|she|they|my|our|his|her|their|the|user|[a-z]+['’]s)\b",
    re.IGNORECASE,
)
"""Asks what was so, not what was done: what is so no longer can be the answer."""
_CUE = re.compile(rf"\b(?:{_ONCE}|use to)\b", re.IGNORECASE)
_BESIDE = re.compile(r"\b(before|prior to|after)\s+([^,;?!]+)", re.IGNORECASE)
_NAME = re.compile(r"\b[A-Z]\w+")
CODE = re.compile(r"\b(?=[\w-]*\d)(?=[\w-]*[A-Z])\w[\w-]+\w\b")
"""A name of one thing alone: LH2037, XF-1153."""
_NOT_NAMED = frozenset({"Mr", "Mrs", "Ms", "Dr", "The", "My", "We", "He", "She", "They"})
_ROOT_CHARS = 4
_ASKS_LATEST = re.compile(
    r"\b(?:latest|newest|now|nowadays|current(?:ly)?|(?:most )?recent(?:ly)?|at the moment|these days)\b",
    re.IGNORECASE,
)


_MARKS = "?\uff1f\u061f\u037e\u055e\u1367"
MARK = re.compile(f"[{_MARKS}]")
"""Question marks: Latin, full-width, Arabic, Greek, Armenian, Ethiopic."""
_ENDS = f".!\uff01\u3002\u0964{_MARKS}"
SENTENCE = re.compile(f"[^\n{_ENDS}]+[{_ENDS}]*")
_SHORT_QUESTION = 12
"""Words that a question without its mark has at most."""
_INVERTED = word_set("do does did is are was were can could would should will have has")
_ASKING = _INVERTED | word_set("""
    who what when where which whose whom why how
    wer was wann wo welche welcher welches wem wen wessen wohin woher warum wieso wie
    qui que quel quelle quels quelles quand où pourquoi comment combien
    qué quién quiénes cuándo dónde cuál cuáles cómo cuánto cuánta
    chi cosa che quando dove quale quali perché come quanto quanti quem qual quais onde como
    wat wanneer waar welke waarom hoe kto co kiedy gdzie który która jaki jaka dlaczego czy ile
    кто что когда где куда какой какая какое какие почему как сколько чей хто що коли де чому який скільки
    kim ne nerede nereye hangi neden niçin nasıl kaç
    من ماذا ما متى أين كيف هل لماذا كم कौन क्या कब कहाँ क्यों कैसे कितना
""")
_SUBJECT = word_set("""
    i we you he she it they a an the ich wir du ihr er sie es ein eine der die das je j tu il elle nous vous
    on le la les yo él ella io lui lei noi eu ele ela ik jij hij ja ona я мы он она
""")
"""What follows a question word in a statement: "when I was ten", "what a day"."""
_REQUEST = re.compile(
    r"(?:please |can you |could you |bitte )*(?:tell me|remind me|sag mir|sage mir|erinnere mich|nenn mir"
    r"|dime|dis-moi|dimmi|recuérdame|rappelle-moi|diga-me|me diga) ",
    re.IGNORECASE,
)
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_GREETING_CHARS = 3
_GREETING = re.compile("こんにちは|こんばんは|おはよう(?:ございます)?|もしもし|すみません")
_ASKING_UNSPACED = re.compile(
    "什么|什麼|哪|谁|誰|几|幾|怎么|怎麼|多少|为什么|為什麼|吗|嗎|何|どこ|いつ|なぜ|どう|か$"
    "|무엇|뭐|어디|언제|누구|까$|อะไร|ที่ไหน|ไหม"
)


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """What is asked for. `low` (inclusive) and `high` (exclusive) bound the time that it names, if any.

    `of_assistant` asks what the assistant said, `of_talk` also what the owner asked.
    Times are microseconds UTC, None where the range is open. `past` asks for
    what is so no longer, `was` may be answered by it; `is_now` asks what is so.
    `before` and `after` are the `_roots` of what it names in place of a time,
    `codes` the codes that it names, in small letters.
    """

    words: frozenset[str]
    time: bool = False
    number: bool = False
    of_assistant: bool = False
    of_talk: bool = False
    past: bool = False
    was: bool = False
    is_now: bool = False
    now: int = 0
    latest: bool = False
    low: int | None = None
    high: int | None = None
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    text: str = ""

    @property
    def has_range(self) -> bool:
        """Whether it names a time."""
        return self.low is not None or self.high is not None

    def named(self, speakers: Collection[str]) -> set[str]:
        """Those of the speakers whom the question names, by any word of their names."""
        return {speaker for speaker in speakers if self.words.intersection(_words_of(speaker))}


def _words_of(text: str) -> list[str]:
    """The words of a text in small letters."""
    return _WORD.findall(text.casefold())


def only_asks(text: str) -> bool:
    """Whether a text asks and tells nothing beside: a greeting of one word is nothing."""
    sentences = [sentence for found in SENTENCE.finditer(text) if (sentence := found.group().strip())]
    asking = [sentence for sentence in sentences if _is_question(sentence)]
    others = (sentence for sentence in sentences if sentence not in asking)
    return bool(asking) and all(map(_is_greeting, others))


def _is_greeting(sentence: str) -> bool:
    """Whether a sentence is one word, or as short as one in a writing without spaces."""
    words = _words_of(sentence)
    return len(words) <= 1 and all(
        len(word) <= _GREETING_CHARS or _GREETING.fullmatch(word) or not _UNSPACED.search(word)
        for word in words
    )


def is_asking(text: str) -> bool:
    """Whether any sentence of a text asks."""
    return any(
        _is_question(sentence) for found in SENTENCE.finditer(text) if (sentence := found.group().strip())
    )


def _is_question(sentence: str) -> bool:
    """Whether a sentence asks: by its mark or, if it is short and has none, by its first words."""
    if MARK.search(sentence):
        return True
    first, *rest = _words_of(sentence) or [""]
    if len(rest) >= _SHORT_QUESTION:
        return False
    if _REQUEST.match(sentence) or _ASKING_UNSPACED.search(sentence.rstrip(_ENDS)):
        return True
    return first in _ASKING and bool(rest) and (rest[0] not in _SUBJECT or first in _INVERTED)


def read_question(text: str, now: datetime) -> ParsedQuestion:
    """What the text asks for; `now` is aware, and is what its relative times go by."""
    mention = next(iter(find(text, now)), None)
    low, high = (None, None) if mention is None else (_us(mention.low), _us(mention.high))
    told = _PAST_TENSE.search(text) is not None
    of_assistant = _ASKS_ASSISTANT.search(text) is not None
    before, after = _anchors(text) if told and low is high is None else (frozenset[str](), frozenset[str]())
    past = _ASKS_PAST.search(text) is not None or bool(before) or (high is not None and high <= to_us(now))
    return ParsedQuestion(
        words=frozenset(_words_of(text)),
        time=_ASKS_TIME.search(text) is not None,
        number=_ASKS_NUMBER.search(text) is not None,
        of_assistant=of_assistant,
        of_talk=of_assistant or _OWN_QUESTION.search(text) is not None,
        past=past,
        was=past or bool(after) or _STATE.search(text) is not None,
        is_now=not past and not told,
        now=to_us(now),
        latest=_ASKS_LATEST.search(text) is not None,
        low=low,
        high=high,
        before=before,
        after=after,
        codes=frozenset(code.casefold() for code in CODE.findall(text)),
        text=text,
    )


def _roots(words: Iterable[str]) -> frozenset[str]:
    """The beginnings of those words that mean something: the same for "moving" and "moved"."""
    return frozenset(word[:_ROOT_CHARS] for word in words if word not in STOP_WORDS)


def without_cues(text: str) -> str:
    """The question without the words that only tell that it is about the past."""
    return _CUE.sub(" ", text)


def _anchors(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """What the question names "before" and "after" which it asks, by its names if it has any."""
    found: dict[bool, frozenset[str]] = {}
    for match in _BESIDE.finditer(text):
        named = [name for name in _NAME.findall(match[2]) if name not in _NOT_NAMED]
        found[match[1].lower() == "after"] = _roots(_words_of(" ".join(named) or match[2]))
    return found.get(False, frozenset()), found.get(True, frozenset())


def _us(moment: datetime | None) -> int | None:
    return None if moment is None else to_us(moment)


_STEP = 0.01
"""By how much one is put above another."""
_SOON_US = 14 * 86_400_000_000


def _placed(
    asked: ParsedQuestion, best: Sequence[tuple[Candidate, Recallable]]
) -> tuple[ParsedQuestion, int | None]:
    """The question with the time of what it names instead ("before Paris"), and whose place that is."""
    named = asked.before or asked.after
    if not named:
        return asked, None
    for place, (_, recallable) in enumerate(best):
        if named <= _roots(_words_of(recallable.text[:_READ_CHARS])):
            begun, ended = _held(recallable)
            times = {"high": begun} if asked.before else {"low": ended or begun}
            return replace(asked, **times), place
    return asked, None


def _order_in_time(
    logits: list[float],
    best: Sequence[tuple[Candidate, Recallable]],
    asked: ParsedQuestion,
    *,
    anchor: int | None,
) -> None:
    """Put what is asked for above what took its place, or the other way round, whatever their words."""
    places = {candidate.id: place for place, (candidate, _) in enumerate(best)}
    pairs = [
        (old, places[recallable.superseded_by])
        for old, (_, recallable) in enumerate(best)
        if recallable.superseded_by in places
    ]
    if asked.past:
        fits = [_is_over(recallable, asked) and _nearness(recallable, asked) == 1 for _, recallable in best]
        pairs.sort(key=lambda pair: best[pair[0]][1].valid_until or 0)
        for old, new in pairs:
            if fits[old] and fits[new]:
                _raise(logits, new, above=old)
        for old, new in pairs:
            if fits[old] and not fits[new]:
                _raise(logits, old, above=new)
        told = [place for place, fit in enumerate(fits) if fit and best[place][0].met > 0]
        if asked.before and anchor is not None and best[anchor][1].position is None and told:
            _raise(logits, max(told, key=logits.__getitem__), above=anchor)
    elif asked.after:
        for old, new in pairs:
            if old == anchor:
                _raise(logits, new, above=old)


def _raise(logits: list[float], place: int, *, above: int) -> None:
    logits[place] = max(logits[place], logits[above] + _STEP)


def _is_over(recallable: Recallable, asked: ParsedQuestion) -> bool:
    """Whether it held, and does so no longer."""
    return recallable.valid_until is not None and recallable.valid_until <= asked.now


def _held(recallable: Recallable) -> tuple[int, int | None]:
    return recallable.at if recallable.valid_from is None else recallable.valid_from, recallable.valid_until


def _nearness(recallable: Recallable, asked: ParsedQuestion) -> float:
    """1 for what was said or held at the time that was asked for, half for what was told soon after."""
    if (asked.high is None or recallable.at < asked.high) and (
        asked.low is None or recallable.at >= asked.low
    ):
        return 1.0
    begun, ended = _held(recallable)
    is_fact = recallable.position is None
    if (
        is_fact
        and (asked.high is None or begun < asked.high)
        and (asked.low is None or ended is None or ended > asked.low)
    ):
        return 1.0
    told_soon = asked.high is not None and asked.high <= recallable.at < asked.high + _SOON_US
    return 0.5 if told_soon else 0.0


# Learnt. The first is of BM25 as a share of the ideal; that of the cosine is `Calibration.weight`.
_WORDS = 2.6
_MET = 3.7
_COMPANY = 1.75
_ASKS = -0.5
_SHORT = -1.4
_TELLS_TIME = 0.8
_TELLS_NUMBER = 1.2
_REPLIES = 1.4
_FOLLOWED = 0.5
_AROUND, _STEPS = 0.2, (-2, -1, 1, 2)
"""What is said around a turn often holds what the question names: each at a small weight."""

# Set by what is plain, where the learning sets say nothing of it.
_NAMED = 1.5
_AMONG_NAMED = 0.75
_ASSISTANT = -2.0
_CODE = 3.0
_IMPORTANCE = 0.3
_IN_TIME = 1.0
_PAST = 1.0
_STRANGE = -1.0
_UNSURE = 0.6
_HALF = 0.5
"""What is about somebody else is no answer, however near its words are."""
_LATEST = 1.0

_SAME_WORDS = 0.7
"""The same question was asked before if so much of the words of both is in both."""
_SAME_MEANING = 0.75
"""And if its owner put it in other words: the cosine of paraphrases; what answers is rarely as near."""

# How sure it is that what was found answers: either leg alone can be.
_COMMON_COUNT = 5
"""Of how many more items `Calibration.common` is as good as the cosines."""
_SURE_WORDS, _SURE_MEANING = 0.85, 0.95
_WORDS_POWER = 1.5
"""Half of a question's words say less than half, unless words are all the evidence there is."""

_LEAST_ANSWER, _LEAD = 0.32, 2.0
"""Of the best with its lead, if it answers: fitted on every second question of `tests/evals`
(docs/adr/0081-what-is-near-and-does-not-answer.md)."""

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
    """A candidate, what is shown of it, and how sure it is that it answers, 0..1.

    If it is `near` only, nothing that was found is known to answer.
    """

    candidate: Candidate
    recallable: Recallable
    score: float
    near: bool = False


def weighed(
    found: Candidates,
    asked: ParsedQuestion,
    calibration: Calibration,
    *,
    statements: Collection[str] = frozenset(),
) -> list[WeightedCandidate]:
    """All candidates by what the index tells of them, the likeliest first.

    Those of the kinds `statements` say one thing in a few words that somebody chose.
    """
    ideal = found.lexical_ideal
    unknown = _expected_cosine(found.items)
    among = calibration.words_trust(found.searched)
    items: list[WeightedCandidate] = []
    best: dict[str, tuple[float, float]] = {}
    for candidate in found.items:
        share = min(_MOST, (candidate.lexical or 0.0) / ideal) if ideal > 0 else 0.0
        cosine = unknown if candidate.dense is None else candidate.dense
        is_statement = candidate.kind in statements
        trust = among * calibration.stated if is_statement else among
        base = (trust * share if is_statement else share) + cosine
        items.append(
            WeightedCandidate(
                candidate,
                base,
                trust * (_WORDS * share + _MET * candidate.met) + calibration.weight * cosine,
            )
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
    best: Sequence[tuple[WeightedCandidate, Recallable]],
    asked: ParsedQuestion,
    found: Candidates,
    *,
    calibration: Calibration,
) -> list[RankedCandidate]:
    """The best of what was found by their texts as well, the likeliest first."""
    pairs = [(item.candidate, recallable) for item, recallable in best]
    asked, anchor = _placed(asked, pairs)
    newest = max((recallable.at for _, recallable in best), default=0)
    places = {
        (recallable.conversation, recallable.position): (item.base, recallable)
        for item, recallable in best
        if recallable.position is not None
    }
    logits: list[float] = []
    strange = _of_others(pairs, asked)
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
            logit += _AROUND * sum(
                beside[0]
                for step in _STEPS
                if (beside := places.get((recallable.conversation, recallable.position + step)))
            )
        logit += _STRANGE * strange.get(item.candidate.id, 0.0)
        logits.append(logit + _of_time(recallable, asked, newest))
    _order_in_time(logits, pairs, asked, anchor=anchor)
    repeated = [asks_the_same(item, recallable, asked) for item, recallable in best]
    order = sorted(
        range(len(best)), key=lambda i: (repeated[i], -logits[i], -best[i][1].at, best[i][0].candidate.id)
    )
    said_before = {item.candidate.id for (item, _), is_same in zip(best, repeated, strict=True) if is_same}
    others = [one for one in found.items if one.id not in said_before]
    confidence = _confidence(found, others, calibration)
    answers: list[RankedCandidate] = []
    least = 0.0
    for i in reversed(order):
        item, recallable = best[i]
        if not repeated[i]:
            doubt = 1 - _UNSURE * strange.get(item.candidate.id, 0.0)
            least = max(least, doubt * confidence(item.candidate))
        answers.append(RankedCandidate(item.candidate, recallable, round(least, 4)))
    best_first = answers[::-1]
    if best_first and not _is_answer(best_first[0], others):
        return [replace(one, near=True) for one in best_first]
    return best_first


def _is_answer(best: RankedCandidate, others: Sequence[Candidate]) -> bool:
    """Whether the best answers, and is not merely nearest: what answers leads what else was found."""
    id, cosine = best.candidate.id, best.candidate.dense
    next_best = max((one.dense for one in others if one.dense is not None and one.id != id), default=None)
    lead = 0.0 if cosine is None or next_best is None else cosine - next_best
    return best.score + _LEAD * lead >= _LEAST_ANSWER


def _of_others(best: Sequence[tuple[Candidate, Recallable]], asked: ParsedQuestion) -> dict[str, float]:
    """How surely facts are about somebody else than the question asks about, 0..1, by their ids.

    What is said of the owner may answer for a relative, too.
    """
    known = {one.about for _, one in best if one.about is not None}
    whom = asked_subject(asked.text, known)
    return {
        candidate.id: _HALF if one.about == SELF else 1.0
        for candidate, one in best
        if one.about is not None and whom.fits(one.about, one.text) is False
    }


def _confidence(
    found: Candidates, others: Sequence[Candidate], calibration: Calibration
) -> Callable[[Candidate], float]:
    """How likely a candidate answers, 0..1, by its words and its meaning alone (noisy or).

    A cosine is judged against what the `others` have in common with the question:
    among facts that begin with "User", so does every question about the user.
    """
    cosines = sorted((item.dense for item in others if item.dense is not None), reverse=True)
    common = (sum(cosines) + calibration.common * _COMMON_COUNT) / (len(cosines) + _COMMON_COUNT)
    power = _WORDS_POWER if cosines else 1.0
    next_best = cosines[1] if len(cosines) > 1 else common

    def confidence(candidate: Candidate) -> float:
        words = min(1.0, (candidate.lexical or 0.0) / found.lexical_ideal) if found.lexical_ideal > 0 else 0.0
        cosine = common if candidate.dense is None else candidate.dense
        meaning = calibration.certainty(cosine - common, cosine - next_best)
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
    if asked.codes:
        told = read.casefold()
        logit += _CODE * sum(code in told for code in asked.codes) / len(asked.codes)
    return logit


def asks_the_same(item: WeightedCandidate, recallable: Recallable, asked: ParsedQuestion) -> bool:
    """Whether it is the question itself, put once before: that answers nothing."""
    text = recallable.text[:_READ_CHARS]
    if recallable.position is None or not only_asks(text):
        return False
    words = frozenset(_words_of(text))
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
    nearness = _nearness(recallable, asked) if asked.has_range else 1.0
    logit = _IN_TIME * nearness if asked.has_range else 0.0
    if _is_over(recallable, asked):
        # What was over before the time that is asked for is no answer for being past.
        logit += _PAST * nearness if asked.past else -_PAST if asked.is_now else 0.0
    if asked.latest:
        days = (newest - recallable.at) / _DAY_US
        logit += _LATEST / (1 + days / _MONTH_DAYS)
    return logit
