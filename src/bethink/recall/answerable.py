"""Whether what was found answers a question at all: better to say no than to give what is merely nearest.

`tools/documents` asks of passages; of facts `web/memories` and `/recall` ask where the answers end, and
`agent/context` asks what bears on a message. Two things tell of passages: how sure recall is of the best
(`ranking`), and whether any of them holds what the question names. docs/adr/0054 has the figures.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bethink.recall.ranking import CODE
from bethink.search.analysis import STOP_WORDS, Analyzer

if TYPE_CHECKING:
    from collections.abc import Sequence

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
class Verdict:
    """Whether the passages are worth showing, and what is to be said beside them, or in their place."""

    answers: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """Looks at what was found. Safe to call from several threads."""

    analyzer: Analyzer = field(default_factory=Analyzer, repr=False)

    def verdict(self, question: str, found: Sequence[tuple[str, float]]) -> Verdict:
        """What to make of passages, best first: their searched texts, each with its score."""
        if not found or found[0][1] < _LEAST:
            return Verdict(answers=False)
        named = names_in(question)
        missing = [self._missing(named, text) for text, _ in found[:_LOOKED_AT]]
        fewest = min(missing, key=len)
        codes = [name for name in fewest if CODE.fullmatch(name)]
        if codes or len(fewest) > len(named) * (1 - _LEAST_NAMED):
            return Verdict(answers=False, note=f"Nothing in them names {_listed(codes or fewest)}.")
        if fewest:
            return Verdict(
                answers=True, note=f"None of these passages names {_listed(fewest)} beside the rest."
            )
        return Verdict(answers=True)

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
