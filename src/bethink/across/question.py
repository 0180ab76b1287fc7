"""What a question's own words tell about its answer. `ranking` and `recall` read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.clock import to_us
from bethink.when import find

if TYPE_CHECKING:
    from collections.abc import Collection
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
_PAST = re.compile(
    r"\bused to\b|\bprevious(?:ly)?\b|\bformer(?:ly)?\b|\bin the past\b|\bback then\b|\bno longer\b"
    r"|\boriginally\b|\bbefore(?: that| this| now)?\s*[?.!]*$"
    r"|\bold (?:address|job|phone|number|employer|name)\b",
    re.IGNORECASE,
)
_LATEST = re.compile(
    r"\b(?:latest|newest|now|nowadays|current(?:ly)?|(?:most )?recent(?:ly)?|at the moment|these days)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for. `low` (inclusive) and `high` (exclusive) bound the time that it names, if any.

    Times are microseconds UTC, None where the range is open.
    """

    words: frozenset[str]
    time: bool = False
    number: bool = False
    of_assistant: bool = False
    past: bool = False
    latest: bool = False
    low: int | None = None
    high: int | None = None

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
    return Asked(
        words=frozenset(words_of(text)),
        time=_TIME.search(text) is not None,
        number=_NUMBER.search(text) is not None,
        of_assistant=_ASSISTANT.search(text) is not None,
        past=_PAST.search(text) is not None or (high is not None and high <= to_us(now)),
        latest=_LATEST.search(text) is not None,
        low=low,
        high=high,
    )


def _range(text: str, now: datetime) -> tuple[int | None, int | None]:
    mention = next(iter(find(text, now)), None)
    if mention is None:
        return None, None
    low, high = mention.low, mention.high
    return None if low is None else to_us(low), None if high is None else to_us(high)
