"""What a question's own words tell about its answer. `ranking` and `recall` read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.clock import to_us
from bethink.search.analysis import STOP_WORDS
from bethink.when import find

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

_WORD = re.compile(r"\w+")
_TIME = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:date|day|month|year|time|week)\b|\bhow long\b", re.IGNORECASE
)
_NUMBER = re.compile(r"\bhow (?:many|much|long|often|old)\b", re.IGNORECASE)
_ASSISTANT = re.compile(
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
_PAST = re.compile(
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
_NOT_NAMED = frozenset({"Mr", "Mrs", "Ms", "Dr", "The", "My", "We", "He", "She", "They"})
_ROOT_CHARS = 4
_LATEST = re.compile(
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
_INVERTING = """
    do does did is are was were can could would should will have has
"""
_QUESTION_WORDS = f"""
    {_INVERTING} who what when where which whose whom why how
    wer was wann wo welche welcher welches wem wen wessen wohin woher warum wieso wie
    qui que quel quelle quels quelles quand où pourquoi comment combien
    qué quién quiénes cuándo dónde cuál cuáles cómo cuánto cuánta
    chi cosa che quando dove quale quali perché come quanto quanti quem qual quais onde como
    wat wanneer waar welke waarom hoe kto co kiedy gdzie który która jaki jaka dlaczego czy ile
    кто что когда где куда какой какая какое какие почему как сколько чей хто що коли де чому який скільки
    kim ne nerede nereye hangi neden niçin nasıl kaç
    من ماذا ما متى أين كيف هل لماذا كم कौन क्या कब कहाँ क्यों कैसे कितना
"""
_SUBJECTS = """
    i we you he she it they a an the ich wir du ihr er sie es ein eine der die das je j tu il elle nous vous
    on le la les yo él ella io lui lei noi eu ele ela ik jij hij ja ona я мы он она
"""
"""What follows a question word in a statement: "when I was ten", "what a day"."""
_ASKING, _INVERTED = frozenset(_QUESTION_WORDS.split()), frozenset(_INVERTING.split())
_SUBJECT = frozenset(_SUBJECTS.split())
_REQUEST = re.compile(
    r"(?:please |can you |could you |bitte )*(?:tell me|remind me|sag mir|sage mir|erinnere mich|nenn mir"
    r"|dime|dis-moi|dimmi|recuérdame|rappelle-moi|diga-me|me diga) ",
    re.IGNORECASE,
)
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
    `before` and `after` are the `roots` of what it names in place of a time.
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

    @property
    def has_range(self) -> bool:
        """Whether it names a time."""
        return self.low is not None or self.high is not None

    def named(self, speakers: Collection[str]) -> set[str]:
        """Those of the speakers whom the question names, by any word of their names."""
        return {speaker for speaker in speakers if self.words.intersection(words_of(speaker))}


def words_of(text: str) -> list[str]:
    """The words of a text in small letters."""
    return _WORD.findall(text.casefold())


def only_asks(text: str) -> bool:
    """Whether a text asks and tells nothing beside: a greeting of one word is nothing."""
    sentences = [sentence for found in SENTENCE.finditer(text) if (sentence := found.group().strip())]
    asking = [sentence for sentence in sentences if _is_question(sentence)]
    telling = (words_of(sentence) for sentence in sentences if sentence not in asking)
    return bool(asking) and all(len(words) <= 1 for words in telling)


def _is_question(sentence: str) -> bool:
    """Whether a sentence asks: by its mark or, if it is short and has none, by its first words."""
    if MARK.search(sentence):
        return True
    first, *rest = words_of(sentence) or [""]
    if len(rest) >= _SHORT_QUESTION:
        return False
    if _REQUEST.match(sentence) or _ASKING_UNSPACED.search(sentence.rstrip(_ENDS)):
        return True
    return first in _ASKING and bool(rest) and (rest[0] not in _SUBJECT or first in _INVERTED)


def read_question(text: str, now: datetime) -> ParsedQuestion:
    """What the text asks for; `now` is aware, and is what its relative times go by."""
    low, high = _range(text, now)
    told = _PAST_TENSE.search(text) is not None
    of_assistant = _ASSISTANT.search(text) is not None
    before, after = _anchors(text) if told and low is high is None else (frozenset[str](), frozenset[str]())
    past = _PAST.search(text) is not None or bool(before) or (high is not None and high <= to_us(now))
    return ParsedQuestion(
        words=frozenset(words_of(text)),
        time=_TIME.search(text) is not None,
        number=_NUMBER.search(text) is not None,
        of_assistant=of_assistant,
        of_talk=of_assistant or _OWN_QUESTION.search(text) is not None,
        past=past,
        was=past or bool(after) or _STATE.search(text) is not None,
        is_now=not past and not told,
        now=to_us(now),
        latest=_LATEST.search(text) is not None,
        low=low,
        high=high,
        before=before,
        after=after,
    )


def roots(words: Iterable[str]) -> frozenset[str]:
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
        found[match[1].lower() == "after"] = roots(words_of(" ".join(named) or match[2]))
    return found.get(False, frozenset()), found.get(True, frozenset())


def _range(text: str, now: datetime) -> tuple[int | None, int | None]:
    mention = next(iter(find(text, now)), None)
    if mention is None:
        return None, None
    low, high = mention.low, mention.high
    return None if low is None else to_us(low), None if high is None else to_us(high)
