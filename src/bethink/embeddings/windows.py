"""Cuts long texts into parts that the embedding model reads whole. `recall/passages` embeds them.

The unit is the model's own: all-MiniLM-L6-v2 reads 256 word pieces, two of
which are its marks for beginning and end.
"""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING, Any, Final

from bethink.embeddings.minilm_session import WINDOW_TOKENS, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_TOKENS: Final = WINDOW_TOKENS - 2
OVERLAP_TOKENS: Final = 25
"""A tenth, as in spec 002 ("RAG Tool": 50 of 500): what a cut goes through stands whole in one part."""
_MOST_CHARS: Final = 4_000
"""A word of a hundred thousand letters is one piece to the tokenizer."""
_ENDS: Final = (re.compile(r"\n\s*\n"), re.compile(r"[.!?。！？]['\")\]]*\s|[。！？]|\n"), re.compile(r"\s"))
"""Where a text is cut best: between paragraphs, else sentences, else words."""

Span = tuple[int, int]


class Windows:
    """Cuts texts; loads the tokenizer when it is first used. Call it in a thread."""

    def __init__(self) -> None:
        self._tokenizer: Any = None

    def cut(self, text: str) -> list[Span]:
        """Where the parts of a text begin and end, in characters, in order; each overlaps the one before."""
        if self._tokenizer is None:
            tokenizer: Any = open_tokenizer()
            tokenizer.no_truncation()
            self._tokenizer = tokenizer
        spans: list[Span] = []
        for start in range(0, len(text), _PIECE):
            part = text[start : start + _PIECE]
            # Half a surrogate pair cannot leave Python; what it becomes is as long.
            encoded = self._tokenizer.encode(
                part.encode("utf-8", "replace").decode(), add_special_tokens=False
            )
            spans += ((start + begin, start + end) for begin, end in _windows(part, encoded.offsets))
        return spans


_PIECE: Final = 200_000
"""Characters that are tokenized at once."""


def _windows(text: str, offsets: Sequence[Span]) -> Iterator[Span]:
    first = 0
    while first < len(offsets):
        begin = offsets[first][0]
        last = min(first + MOST_TOKENS, len(offsets))
        end = min(offsets[last - 1][1], begin + _MOST_CHARS)
        if last < len(offsets):
            end = _end(text, begin + (end - begin) // 2, end)
        yield begin, end
        following = bisect.bisect_left(offsets, end, key=lambda span: span[0])
        if following >= len(offsets):
            return
        # Not within a word, and never back to where this one began.
        back = max(following - OVERLAP_TOKENS, first + 1)
        while back < following and offsets[back][0] == offsets[back - 1][1]:
            back += 1
        first = back


def _end(text: str, least: int, most: int) -> int:
    """The best place to cut within these two."""
    for pattern in _ENDS:
        found = [match.end() for match in pattern.finditer(text, least, most)]
        if found:
            return found[-1]
    return most
