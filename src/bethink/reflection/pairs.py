"""Which facts may say the same in other words, and which words stay: a model only says that they do.

What is near in meaning and about the same person is worth a judgement. Of two that say the same the one stays
that has every number, name and denial of the other; where neither has, both stay. `service` calls it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bethink.assertions import denies_alike, names_said, share_said
from bethink.memory.compare import FactReading, compared, reading
from bethink.memory.terms import figures
from bethink.memory.upkeep import Duplicate, candidates_of, judged_pair, of_one_time, rank_of
from bethink.redaction import COMMON_WORDS

if TYPE_CHECKING:
    from bethink.memory import Fact
    from bethink.memory.writer import Vector

FLOOR: Final = 0.5
"""Least cosine of two that a model is asked about. Paraphrases have 0.6 and more, texts about other things
0.1 on average (all-MiniLM-L6-v2, and multilingual-e5-small: `recall/ranking.py`)."""
_ONE_SUBJECT: Final = 0.34
"""The share of words that two need to have in common to contradict each other."""
_CASELESS_SHARE: Final = 0.6
"""In writing without capital letters names cannot be told: so much of the words must stand in both."""
_CASED: Final = re.compile(r"[A-Za-zÀ-ɏͰ-ϿЀ-ӿ]")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class FactPair:
    """Two facts, the older first, that may say the same, or not agree."""

    one: Fact
    other: Fact
    nearness: float

    @property
    def key(self) -> str:
        """Names it, whichever of the two is older."""
        return f"{self.one.id} {self.other.id}"


@dataclass(slots=True)
class PairsFound:
    """What rules decide, and what is open: the likeliest first."""

    same: list[Duplicate] = field(default_factory=list[Duplicate])
    contradicting: list[FactPair] = field(default_factory=list[FactPair])
    open: list[FactPair] = field(default_factory=list[FactPair])


def pairs_among(facts: Sequence[Fact], vectors: Mapping[str, Vector], judged: Collection[str]) -> PairsFound:
    """The pairs among facts in use that were not `judged` before, by their keys. Takes a thread's time."""
    by_id = {fact.id: fact for fact in facts}
    rested_on = {id for fact in facts for id in fact.depends_on}
    readings: dict[str, FactReading] = {}
    found = PairsFound()
    for (a, b), cosine in candidates_of(facts, dict(vectors), FLOOR).items():
        one, other = sorted((by_id[a], by_id[b]), key=lambda fact: (fact.created_at, fact.id))
        if one.about != other.about or one.doubts or other.doubts:
            continue
        duplicate = judged_pair(one, other, cosine, readings=readings)
        if duplicate is not None:
            if duplicate.gone.id not in rested_on:
                found.same.append(duplicate)
            continue
        pair = FactPair(one, other, cosine or 1.0)
        if not of_one_time(one, other) or pair.key in judged:
            continue
        verdict = compared(reading(one.content), reading(other.content), cosine).verdict
        if verdict == "contradicts":
            found.contradicting.append(pair)
        elif cosine is not None and not {a, b} <= rested_on:
            found.open.append(pair)
    found.open.sort(key=lambda pair: (-pair.nearness, pair.key))
    return found


def kept_of(pair: FactPair, names: Collection[str], rested_on: Collection[str]) -> Duplicate | None:
    """Which of two that say the same stays; None if each says something that the other does not.

    `names` are the words that the owner's facts write with a capital letter inside a sentence, casefolded.
    """
    if pair.one.trust != pair.other.trust or pair.one.project != pair.other.project:
        return None
    kept, gone = sorted((pair.one, pair.other), key=rank_of)
    for stays, goes in ((kept, gone), (gone, kept)):
        if goes.id not in rested_on and not goes.pinned and _has_all(stays.content, goes.content, names):
            return Duplicate(stays, goes, pair.nearness)
    return None


def may_contradict(pair: FactPair) -> bool:
    """Whether two facts speak of so much the same that they can contradict each other."""
    one, other = pair.one.content, pair.other.content
    return max(share_said(one, other), share_said(other, one)) >= _ONE_SUBJECT


def names_among(facts: Sequence[Fact]) -> frozenset[str]:
    """The words that stand with a capital letter inside of sentences."""
    return frozenset(
        word.casefold() for fact in facts for word in _WORD.findall(fact.content)[1:] if word[0].isupper()
    )


def _has_all(kept: str, gone: str, names: Collection[str]) -> bool:
    if not figures(gone) <= figures(kept) or denies_alike(gone, kept) is not True:
        return False
    if denies_alike(kept, gone) is not True:
        return False
    letters = [char for char in gone if char.isalpha()]
    if sum(_CASED.match(char) is not None for char in letters) < len(letters) / 2:
        return share_said(gone, kept) >= _CASELESS_SHARE
    return names_said(gone, kept) and _first_is_said(gone, kept, names)


def _first_is_said(gone: str, kept: str, names: Collection[str]) -> bool:
    """The first word has a capital letter whatever it is: it is a name if it is one elsewhere."""
    first = (_WORD.findall(gone) or [""])[0].casefold()
    is_name = first in names and first not in COMMON_WORDS
    return not is_name or first in {word.casefold() for word in _WORD.findall(kept)}
