"""Whose word a fact is that a model wants to store: told by where its words come from.

`tools/memory` asks before it lets anything through the gate as the owner's
statement, `agent/extraction` before it believes a model. What was recalled in
the same run is known already; what nobody said waits for the owner's review. Once
words from outside stand in the run, so does all that one statement of the owner's
does not say word for word: an order can be put in other words, in any language.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from bethink.memory.compare import relation
from bethink.memory.wording import dates, figures, is_date, read, stems, words
from bethink.search.analysis import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bethink.tool import Evidence

Origin = Literal["owner", "recalled", "untrusted", "nobody"]

_MAX_CHARS = 100_000
"""Of each side that is looked through, its end: what was said and fetched last."""
_SUPPORTED = 0.6
"""The share of a statement's words that must be the owner's for it to be theirs."""
_ENGLISH = 0.2
"""The least share of function words in English talk: only there do the words of a paraphrase recur."""
_YES = re.compile(
    r"^(?:yes|yeah|yep|sure|ok(?:ay)?|please do|do (?:it|that|so)|right|correct|exactly|go ahead)\b.{0,40}$",
    re.IGNORECASE | re.DOTALL,
)
_QUESTION = re.compile(r"(?<![^.!?？\n])[^.!?？\n]*+[?？]")
_LINK = re.compile(r"(?<!\S)\S+://\S+|\bwww\.\S+")
_SENTENCE = re.compile(r"(?<![.!\n;])[.!\n;]+(?=\s|$)")
_WORD = re.compile(r"\w+")
_LIGHT = frozenset(
    ("user", "and", "have", "with", "to", "for", "from", "want", "like", "his", "her", "their")
)


def origin_of(content: str, evidence: Evidence) -> Origin:
    """Where a statement comes from, as far as its words show."""
    keys = _keys(content)
    said = _said(evidence)
    missing = keys - said
    if evidence.is_untrusted and is_stated(content, _statements(evidence)):
        return "owner"
    if not missing and not evidence.is_untrusted:
        return "owner"
    recalled = _stems(evidence.recalled)
    is_unsaid = len(missing) == len(keys)
    if missing & recalled and (
        _is_restated(content, keys, evidence.recalled) or (is_unsaid and keys <= recalled)
    ):
        return "recalled"
    if evidence.is_untrusted:
        return "untrusted"
    return "nobody" if is_unsaid and _is_english(evidence.said) else "owner"


def is_stated(content: str, said: Iterable[str]) -> bool:
    """Whether one of the texts states all that tells something in a statement, word for word.

    Knows no language: what is put in other words is not stated. Links, and what is only asked, state nothing.
    """
    keys = _keys(content)
    for text in said:
        stated = _QUESTION.sub(" ", _LINK.sub(" ", text[-_MAX_CHARS:]))
        if keys and keys <= _stems([stated]):
            sentences = (part for part in _SENTENCE.split(stated) if keys & _stems([part]))
            return all(relation(part.strip(), content).verdict != "contradicts" for part in sentences)
    return False


def is_said(content: str, said: str) -> bool:
    """Whether what was `said` has a statement's names and numbers, and most of its other words.

    For a model that reads between the lines: it invents, mixes people up and
    repeats what it was told. What is only asked about is not said.
    """
    keys = _keys(content)
    told = _stems([_QUESTION.sub(" ", said)])
    return _marks(content) - _LIGHT <= told and len(keys & told) > len(keys) / 2


def _is_restated(content: str, keys: set[str], recalled: Sequence[str]) -> bool:
    """Whether one memory that was recalled says all of it, or nearly all of its words."""
    for text in recalled:
        told = relation(text, content)
        if told.verdict == "same" or told.fuller == "old":
            return True
        if told.verdict != "contradicts" and len(keys - _stems([text])) <= (1 - _SUPPORTED) * len(keys) / 2:
            return True
    return False


def _statements(evidence: Evidence) -> tuple[str, ...]:
    """What the owner said, each by itself; a plain yes states what was asked."""
    agreed = evidence.said and _YES.match(evidence.said[-1].strip())
    return (*evidence.said, evidence.asked.replace("?", ".")) if agreed else evidence.said


def _said(evidence: Evidence) -> set[str]:
    """The owner's words; after a plain yes also those that they agreed to."""
    said = _stems(evidence.said)
    if evidence.said and _YES.match(evidence.said[-1].strip()):
        said |= _stems([evidence.asked])
    return said


def _keys(content: str) -> set[str]:
    """The words by which it shows where a statement comes from: function words come from anywhere."""
    keys = {key for key in read(content).keys if not is_date(key)} | _stems(dates(content))
    return keys - _LIGHT - STOP_WORDS or keys - _LIGHT


def _stems(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in words(text[-_MAX_CHARS:])}


def _marks(content: str) -> set[str]:
    """Names and numbers, by which a statement is told from others of its kind."""
    names = [word.casefold() for word in _WORD.findall(content)[1:] if word[0].isupper()]
    return set(stems(names)) | figures(content)


def _is_english(said: Sequence[str]) -> bool:
    found = [word for text in said for word in _WORD.findall(text[-_MAX_CHARS:].casefold())]
    return sum(word in STOP_WORDS for word in found) >= _ENGLISH * len(found) > 0
