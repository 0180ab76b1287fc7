"""How many tokens a text takes, and where a long one is cut into parts that a model reads whole.

`maintenance/background` and `recall/passages` embed what is long; `documents/passages` counts. Tokens are
counted by the word: tokenizers cut texts into words first, and most words were seen lately.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import anyio.to_thread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import Embeddings

    Pieces = Callable[[str], int]
    """How many tokens a word takes, or a sign."""

Span = tuple[int, int]

WORD: Final = re.compile(r"[^\W_]{1,40}|[^\w\s]|_")
"""A run of letters and digits, or one sign, as BERT's basic tokenizer has them (Devlin et al. 2018). A run
without an end, as of Chinese, is counted by parts."""
CHARS_PER_TOKEN: Final = 4
"""Of plain English; where nobody knows better."""
MOST_WINDOWS: Final = 8
"""Parts of one item that are embedded: of a very long text its beginning, some 1,500 words."""
MOST_CHARS: Final = 4_000
"""Of a part: a run of a hundred thousand letters is one token to some tokenizers."""
_TOKENS_PER_CHAR: Final = 4
"""No character becomes more: decomposed, some become four."""
_ENDS: Final = (re.compile(r"\n\s*\n"), re.compile(r"[.!?。！？]['\")\]]*\s|[。！？]|\n"), re.compile(r"\s"))
"""Where a text is cut best: between paragraphs, else sentences, else words."""
_LEAST_SHARE: Final = 0.7
"""A part is not shorter than this share of what parts of equal length would have."""


async def embed_windows(embeddings: Embeddings, texts: Sequence[str]) -> list[NDArray[np.float32]]:
    """The vectors of each text, float32 (m, d): one for each of its parts.

    Raises:
        EmbeddingsUnavailable: see `Embeddings.embed`.
    """

    def cut() -> list[list[str]]:
        window, pieces = embeddings.window, embeddings.pieces
        return [[text[begin:end] for begin, end in windows_of(text, window, pieces)] for text in texts]

    parts = await anyio.to_thread.run_sync(cut)
    rows = await embeddings.embed([part for of_text in parts for part in of_text])
    ends = accumulate(map(len, parts))
    return [rows[end - len(of_text) : end] for of_text, end in zip(parts, ends, strict=True)]


def tokens_in(text: str, pieces: Pieces) -> int:
    """How many tokens a text takes."""
    return sum(map(pieces, WORD.findall(text)))


def estimated_pieces(word: str) -> int:
    """About how many tokens a word takes, for models whose tokenizer is not known."""
    return -(-len(word) // CHARS_PER_TOKEN) if word.isascii() else len(word)


def windows_of(text: str, window: int, pieces: Pieces) -> list[Span]:
    """Where the parts of a text begin and end, in order, none longer than `window` tokens.

    One part if it fits; at most `MOST_WINDOWS`: what stands behind them is in none. They are of about equal
    length and end between paragraphs, sentences or words.
    """
    if len(text) * _TOKENS_PER_CHAR <= window:
        return [(0, len(text))]
    words = [match.span() for match in WORD.finditer(text, 0, MOST_WINDOWS * MOST_CHARS)]
    ends = [*accumulate(pieces(text[begin:end]) for begin, end in words)]
    if not words or (ends[-1] <= window and len(text) <= MOST_CHARS):
        return [(0, len(text))]
    return _parts(text, words, ends, window=window)


def _parts(text: str, words: Sequence[Span], ends: Sequence[int], *, window: int) -> list[Span]:
    """Parts of words that begin and end there, with so many tokens up to the end of each."""
    spans: list[Span] = []
    first = 0
    while first < len(words) and len(spans) < MOST_WINDOWS:
        before = ends[first - 1] if first else 0
        begin = words[first][0]
        left = ends[-1] - before
        parts = max(1, -(-left // window))
        last = _behind(words, ends, first, tokens=before + window, chars=begin + MOST_CHARS)
        if last < len(words):
            # So many that what is left fits into the other parts, if it can.
            needed = max(left - (parts - 1) * window, int(left / parts * _LEAST_SHARE))
            least = min(_behind(words, ends, first, tokens=before + needed, chars=begin + MOST_CHARS), last)
            end = _end(text, words[least - 1][1], words[last - 1][1] + 1)
            while last > first + 1 and words[last - 1][1] > end:
                last -= 1
        spans.append((begin, min(words[last - 1][1], begin + MOST_CHARS)))
        first = last
    return spans


def _behind(words: Sequence[Span], ends: Sequence[int], first: int, *, tokens: int, chars: int) -> int:
    """The word behind the last one that fits; one always does."""
    last = first + 1
    while last < len(words) and ends[last] <= tokens and words[last][1] <= chars:
        last += 1
    return last


def _end(text: str, least: int, most: int) -> int:
    """The best place to cut within these two."""
    for pattern in _ENDS:
        found = [match.end() for match in pattern.finditer(text, least, most)]
        if found:
            return found[-1]
    return most
