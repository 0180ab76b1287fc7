"""Where a page says what is sought, and what is shown of it. `search` calls it, in threads; pure."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.vault.search.query import Span

MAX_HITS: Final = 200
"""Of one page that are counted: more make it no better."""
_MAX_EXCERPTS: Final = 5
_MAX_LINE_CHARS: Final = 300
_BEFORE_CHARS: Final = 100
"""Of a long line, what is shown before its first mark."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a page, the first one's number from 1, and the places in `text` of what is sought."""

    line: int
    text: str
    marks: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class PageMatches:
    """Where a page says it: `spans` in order, how many of the terms, and how many stand as whole words."""

    spans: tuple[Span, ...]
    met: int
    whole: int


def matcher_of(term: str, *, case: bool) -> re.Pattern[str]:
    """Finds a word or a phrase, in whichever Unicode form it is written."""
    forms = dict.fromkeys((unicodedata.normalize("NFC", term), unicodedata.normalize("NFD", term), term))
    return re.compile("|".join(map(re.escape, forms)), 0 if case else re.IGNORECASE)


def matched(
    text: str, matchers: Sequence[re.Pattern[str]], parts: Sequence[Span], *, name: str = ""
) -> PageMatches:
    """Where the parts of a text hold what the matchers seek; a page's `name` may hold it, too."""
    spans: set[Span] = set()
    met = whole = 0
    for matcher in matchers:
        found = [
            hit.span() for start, end in parts for hit in islice(matcher.finditer(text, start, end), MAX_HITS)
        ]
        met += bool(found) or matcher.search(name) is not None
        whole += any(_is_whole(text, span) for span in found[:_LOOKED_AT])
        spans.update(found)
    return PageMatches(tuple(sorted(spans)[:MAX_HITS]), met, whole)


def within(spans: Sequence[Span], parts: Sequence[Span]) -> tuple[Span, ...]:
    """The spans that begin in one of the parts; both in order."""
    starts = [start for start, _ in parts]
    found: list[Span] = []
    for span in spans:
        place = bisect_right(starts, span[0]) - 1
        if place >= 0 and span[0] < max(parts[place][1], parts[place][0] + 1):
            found.append(span)
    return tuple(found)


def excerpts(text: str, spans: Sequence[Span], context: int) -> tuple[Excerpt, ...]:
    """The lines of the first hits with so many around each; those that touch are shown as one."""
    starts = [0, *(end.end() for end in _LINE_END.finditer(text))]
    blocks: list[tuple[int, int, list[Span]]] = []
    for span in spans:
        line = bisect_right(starts, span[0]) - 1
        last = bisect_right(starts, max(span[0], span[1] - 1)) - 1
        low, high = max(0, line - context), min(len(starts) - 1, last + context)
        if blocks and low <= blocks[-1][1] + 1:
            blocks[-1] = (blocks[-1][0], max(high, blocks[-1][1]), [*blocks[-1][2], span])
        elif len(blocks) < _MAX_EXCERPTS:
            blocks.append((low, high, [span]))
        else:
            break
    return tuple(_excerpt(text, starts, block) for block in blocks)


_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_LOOKED_AT: Final = 50
_MAX_MARKS: Final = 50
_MAX_LINES: Final = 60


def _excerpt(text: str, starts: Sequence[int], block: tuple[int, int, Sequence[Span]]) -> Excerpt:
    low, high, spans = block
    parts: list[str] = []
    marks: list[Span] = []
    place = 0
    for line in range(low, min(high, low + _MAX_LINES) + 1):
        end = starts[line + 1] if line + 1 < len(starts) else len(text)
        content = text[starts[line] : end].rstrip("\r\n")
        inside = [
            (max(0, start - starts[line]), min(len(content), stop - starts[line]))
            for start, stop in spans
            if start < starts[line] + len(content) and stop > starts[line]
        ]
        shown, inside = _cut(content, inside)
        marks += [(place + start, place + stop) for start, stop in inside if stop > start]
        parts.append(shown)
        place += len(shown) + 1
    return Excerpt(low + 1, "\n".join(parts), tuple(marks[:_MAX_MARKS]))


def _cut(line: str, marks: list[Span]) -> tuple[str, list[Span]]:
    """A line short enough to be shown, around its first mark."""
    if len(line) <= _MAX_LINE_CHARS:
        return line, marks
    start = max(0, (marks[0][0] if marks else 0) - _BEFORE_CHARS)
    end = min(len(line), start + _MAX_LINE_CHARS)
    before = "…" if start else ""
    moved = [
        (a - start + len(before), min(b, end) - start + len(before)) for a, b in marks if start <= a < end
    ]
    return f"{before}{line[start:end]}{'…' if end < len(line) else ''}", moved


def _is_whole(text: str, span: Span) -> bool:
    start, end = span
    return not (text[start - 1 : start].isalnum() and text[start : start + 1].isalnum()) and not (
        text[end : end + 1].isalnum() and text[end - 1 : end].isalnum()
    )
