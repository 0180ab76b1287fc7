"""Private words in a text that leaves this machine: plain, or disguised as a hidden order would have it.

`agent/policy` asks. Looked for are words written backwards, in fragments (within a text, or over
several calls), inside longer words, and encoded: rotated letters, base64, base32, hexadecimal,
percent signs, numbers of characters. What else a model could agree upon with an attacker is not: this
makes leaking harder, and the rule that nothing goes to an address that the owner did not give stays below it.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_plus

from bethink.redaction import COMMON_WORDS
from bethink.search.analysis import BASE_FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

_WORD: Final = re.compile(r"\w+")
_PART: Final = re.compile(r"[^\W_]+")
_LEAST_CHARS: Final = 3
_INSIDE_CHARS: Final = 5
"""Shorter words stand inside others by chance."""
_FRAGMENTED_CHARS: Final = 4
_LONGEST_CHARS: Final = 25
"""Longer words are found by themselves only."""
_ROTATED_CHARS: Final = 7
"""Shorter words are one another's, rotated, by chance."""
_SHORT_CHARS: Final = 2_000
_MOST_CHARS: Final = 20_000
"""Of what leaves: what is longer is not decoded."""
_MOST_LAYERS: Final = 2
"""Encodings within one another."""
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{4,}={0,6}")
_NUMBERS: Final = re.compile(r"(?:\b(?:0[xX])?[0-9A-Fa-f]{2,8}\b[\s,;.\\ux]*){3,}")
_NUMBER: Final = re.compile(r"\b(?:0[xX])?[0-9A-Fa-f]{2,8}\b")
_LETTERS: Final = 26
_ROT13: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_GROUP: Final = 8
"""Characters that stand for whole bytes together: four of base64, eight of base32."""


def words_in(texts: Iterable[str]) -> set[str]:
    """The words of texts that may tell something, in one case: without those that everybody uses."""
    words = {word for text in texts for word in _WORD.findall(text.casefold()) if len(word) >= _LEAST_CHARS}
    return {word for word in words - COMMON_WORDS if BASE_FORMS.get(word) not in COMMON_WORDS}


def hidden_in(texts: Sequence[str], private: Collection[str], sent: Sequence[str] = ()) -> str | None:
    """A private word that the texts hold, in whatever form, alone or with what was `sent` before; or None.

    Takes some 50 ms for texts of 2,000 characters and thousands of private words.
    """
    if not private:
        return None
    sought = _Sought(frozenset(private), frozenset(map(_steps, private)) - {()})
    size = sum(map(len, texts))
    layers = _MOST_LAYERS if size <= _MOST_CHARS else 0
    seen: set[str] = set()
    for text in texts:
        for form in _forms(text, layers, is_short=size <= _SHORT_CHARS):
            if form not in seen and (found := sought.found(form)) is not None:
                return found
            seen.add(form)
    now, before = _fragments(texts), _fragments(sent)
    return next((word for word in sorted(private) if _is_spelled(word, now, now | before)), None)


@dataclass(frozen=True, slots=True)
class _Sought:
    """Private words, and the steps between their letters, which moving along the alphabet keeps."""

    words: frozenset[str]
    steps: frozenset[tuple[int, ...]]

    def found(self, form: str) -> str | None:
        """A word in the form: by itself, within another, backwards, or with its letters rotated."""
        for token in {*_WORD.findall(form), *_PART.findall(form)}:
            for said in (token, token[::-1]):
                if said in self.words:
                    return said
                if (inside := self._within(said)) is not None:
                    return inside
                if said.translate(_ROT13) in self.words and len(said) >= _INSIDE_CHARS:
                    return said.translate(_ROT13)
                if len(said) >= _ROTATED_CHARS and _steps(said) in self.steps:
                    return said
        return None

    def _within(self, token: str) -> str | None:
        places = range(len(token) - _INSIDE_CHARS + 1)
        parts = (token[at : at + size] for at in places for size in range(_INSIDE_CHARS, _LONGEST_CHARS))
        return next((part for part in parts if part in self.words), None)


def _steps(word: str) -> tuple[int, ...]:
    """From letter to letter; of what is not written in ASCII letters alone nothing."""
    if not (word.isascii() and word.isalpha()):
        return ()
    return tuple((ord(after) - ord(before)) % _LETTERS for before, after in pairwise(word))


def _forms(text: str, layers: int, *, is_short: bool) -> Iterator[str]:
    """The text in one case, and what it says when it is decoded; of a short one also with blanks within."""
    yield text.casefold()
    if not layers:
        return
    if (plain := unquote_plus(text)) != text:
        yield from _forms(plain, layers - 1, is_short=is_short)
    encodings = {*_ENCODED.findall(text)}
    if is_short:
        # Blanks may stand within what is encoded, and other words right before it.
        joined = _ENCODED.findall("".join(text.split()))
        encodings |= {one[skipped:] for one in joined for skipped in range(_GROUP)}
    for encoded in encodings:
        for decode in _DECODERS:
            decoded = _decoded(encoded, decode)
            yield from _forms(decoded, layers - 1 if decoded.isprintable() else 0, is_short=False)
    for numbers in _NUMBERS.findall(text):
        for base in (10, 16, 8, 2):
            if (decoded := _spelled(numbers, base)) is not None:
                yield from _forms(decoded, layers - 1, is_short=False)


def _base64(text: str) -> bytes:
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4))


def _base32(text: str) -> bytes:
    plain = text.rstrip("=").upper()
    return base64.b32decode(plain + "=" * (-len(plain) % 8))


_DECODERS: Final[tuple[Callable[[str], bytes], ...]] = (_base64, _base32, bytes.fromhex)


def _decoded(text: str, decode: Callable[[str], bytes]) -> str:
    try:
        return decode(text).decode("utf-8", "ignore")
    except (ValueError, binascii.Error):
        return ""


def _spelled(numbers: str, base: int) -> str | None:
    """What a row of characters' numbers says."""
    try:
        return "".join(chr(int(number, base)) for number in _NUMBER.findall(numbers))
    except (ValueError, OverflowError):
        return None


def _fragments(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(part for text in texts for part in _PART.findall(text.casefold()[:_MOST_CHARS]))


def _is_spelled(word: str, now: frozenset[str], all_fragments: frozenset[str]) -> bool:
    """Whether fragments make a word: one of them leaves now, and not all are usual words."""
    if len(word) < _FRAGMENTED_CHARS:
        return False
    for target in (word, word[::-1]):
        if not any(target[:size] in all_fragments for size in range(1, len(target))):
            continue
        # For each place: whether it is reached with a fragment of now, and with one that is no usual word.
        reached: dict[int, set[tuple[bool, bool]]] = {0: {(False, False)}}
        for start in range(len(target)):
            for end in range(start + 1, len(target) + 1):
                part = target[start:end]
                if start in reached and len(part) < len(target) and part in all_fragments:
                    marks = (part in now, part not in COMMON_WORDS)
                    reached.setdefault(end, set()).update(
                        (was[0] or marks[0], was[1] or marks[1]) for was in reached[start]
                    )
        if (True, True) in reached.get(len(target), ()):
            return True
    return False
