"""What a model reads of passages that were found: each with what stands around it, or its whole document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from bethink.documents.passages import PassageLimits, PassageSpan, passages_of
from bethink.embeddings.windows import estimated_pieces, tokens_in

if TYPE_CHECKING:
    from bethink.documents.library import Library
    from bethink.documents.model import PassageHit
    from bethink.principal import Principal

_PAGES_AROUND: Final = 2
"""Of the page with the passage, before and behind it: a document of so few is read whole if it fits."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Parts of pages around a passage, in reading order: the number of each page, its headings, its text."""

    hit: PassageHit
    parts: Sequence[tuple[int, str, str]]


async def excerpts_of(
    library: Library, principal: Principal, hits: Sequence[PassageHit], *, limits: PassageLimits, budget: int
) -> list[Excerpt]:
    """What is shown of these passages, best first, in about `budget` tokens, shared evenly.

    A passage that another one's excerpt shows already has none of its own. One alone is never cut.
    """
    shown: dict[str, list[PassageSpan]] = {}
    excerpts: list[Excerpt] = []
    for hit in hits:
        before = shown.setdefault(hit.content.id, [])
        if any(_covers(span, hit) for span in before):
            continue
        page = hit.page
        found = await library.pages(
            principal, hit.content.id, first=max(1, page - _PAGES_AROUND), last=page + _PAGES_AROUND
        )
        texts = {one.number: one.text for one in found}
        spans = await anyio.to_thread.run_sync(
            partial(_around, hit, texts, limits=limits, budget=budget // len(hits))
        )
        before += spans
        excerpts.append(
            Excerpt(hit, [(one.page, one.heading, texts[one.page][one.begin : one.end]) for one in spans])
        )
    return excerpts


def _covers(span: PassageSpan, hit: PassageHit) -> bool:
    return span.page == hit.page and span.begin <= hit.begin and hit.end <= span.end


def _around(
    hit: PassageHit, pages: Mapping[int, str], *, limits: PassageLimits, budget: int
) -> list[PassageSpan]:
    spans = passages_of(pages, limits)
    own = PassageSpan(hit.page, hit.begin, hit.end, hit.heading)
    place = next((number for number, span in enumerate(spans) if _covers(span, hit)), None)
    if place is None or hit.page not in pages:
        return [own] if hit.page in pages else []
    if len(pages) < hit.content.pages:
        # All that is here is not all there is: it is never taken for the whole.
        whole = sum(tokens_in(pages[span.page][span.begin : span.end], limits.pieces) for span in spans)
        budget = min(budget, whole - 1)
    return surroundings(pages, spans, place, budget=budget, pieces=limits.pieces)


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
