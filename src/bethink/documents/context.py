"""What is read with a passage that was found: its neighbours, or the whole document where that fits.

The library asks, with the pages of a content and the passages they were cut into.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bethink.documents.passages import PassageSpan
from bethink.embeddings.windows import estimated_pieces, tokens_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def surroundings(
    pages: Mapping[int, str],
    spans: Sequence[PassageSpan],
    place: int,
    *,
    budget: int,
    pieces: Callable[[str], int] = estimated_pieces,
) -> list[PassageSpan]:
    """What stands around passage `place` of a document, of at most `budget` tokens, in reading order.

    All pages if they fit, else the passage with as many neighbours as fit, those of its section first; of
    each page one span, with the headings above its beginning. The passage itself is there in any case.
    """

    def size(number: int) -> int:
        span = spans[number]
        return tokens_in(pages[span.page][span.begin : span.end], pieces)

    if len(spans) <= budget and sum(map(size, range(len(spans)))) <= budget:
        headings = {span.page: span.heading for span in reversed(spans)}
        return [PassageSpan(page, 0, len(pages[page]), headings[page]) for page in sorted(headings)]
    section = range(place, place + 1)
    while section.start and spans[section.start - 1].heading == spans[place].heading:
        section = range(section.start - 1, section.stop)
    while section.stop < len(spans) and spans[section.stop].heading == spans[place].heading:
        section = range(section.start, section.stop + 1)
    chosen, left = range(place, place + 1), budget - size(place)
    for within in (section, range(len(spans))):
        chosen, left = _grown(chosen, within, size, left=left)
    return _joined([spans[number] for number in chosen])


def _grown(chosen: range, within: range, size: Callable[[int], int], *, left: int) -> tuple[range, int]:
    """A run of passages with those behind and before it, by turns, while they fit; what is left then."""
    while True:
        before = chosen
        for neighbour in (chosen.stop, chosen.start - 1):
            if neighbour in within and (tokens := size(neighbour)) <= left:
                chosen = range(min(chosen.start, neighbour), max(chosen.stop, neighbour + 1))
                left -= tokens
        if chosen == before:
            return chosen, left


def _joined(spans: Sequence[PassageSpan]) -> list[PassageSpan]:
    """One span of each page."""
    joined: dict[int, PassageSpan] = {}
    for span in spans:
        before = joined.setdefault(span.page, span)
        joined[span.page] = replace(before, end=max(before.end, span.end))
    return [*joined.values()]
