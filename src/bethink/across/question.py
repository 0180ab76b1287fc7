"""What a question's own words tell about its answer. `ranking` and `recall` read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.clock import to_us
from bethink.index.analysis import STOP_WORDS
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


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for. `low` (inclusive) and `high` (exclusive) bound the time that it names, if any.

    Times are microseconds UTC, None where the range is open. `past` asks for
    what is so no longer, `was` may be answered by it; `is_now` asks what is so.
    `before` and `after` are the `roots` of what it names in place of a time.
    """

    words: frozenset[str]
    time: bool = False
    number: bool = False
    of_assistant: bool = False
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


def read_question(text: str, now: datetime) -> Asked:
    """What the text asks for; `now` is aware, and is what its relative times go by."""
    low, high = _range(text, now)
    told = _PAST_TENSE.search(text) is not None
    before, after = _anchors(text) if told and low is high is None else (frozenset[str](), frozenset[str]())
    past = _PAST.search(text) is not None or bool(before) or (high is not None and high <= to_us(now))
    return Asked(
        words=frozenset(words_of(text)),
        time=_TIME.search(text) is not None,
        number=_NUMBER.search(text) is not None,
        of_assistant=_ASSISTANT.search(text) is not None,
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
