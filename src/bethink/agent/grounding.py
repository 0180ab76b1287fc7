"""Is a fact in somebody's own words? `agent/extraction` asks before it believes a model.

A model that invents, mixes people up or repeats what it was told before brings
names, numbers and words that the message does not have. Such a fact is left
out, true or not: what was never said needs another source.
"""

from __future__ import annotations

import re
from typing import Final

from bethink.index.analysis import Analyzer

_HALF: Final = 0.5
"""More of a fact's words are the speaker's: the rest is how a third person puts it ("owns", "works as")."""
_OWNER: Final = frozenset({"user", "person", "owner", "they", "their"})
_NAME: Final = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]+")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")

_ANALYZER: Final = Analyzer()


def is_said(fact: str, message: str) -> bool:
    """Whether `message` itself has the fact's names and numbers, and most of its words."""
    said = message.casefold()
    telling = [*_NAME.findall(fact), *_NUMBER.findall(fact)]
    if any(word.casefold() not in said for word in telling if word.casefold() not in _OWNER):
        return False
    words = set(_ANALYZER.question(fact)) - _OWNER
    return len(words & set(_ANALYZER.document(message))) > _HALF * len(words)
