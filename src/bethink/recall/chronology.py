"""What was before what: the time that a question asks for, and what held then. `ranking` calls it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bethink.recall.question import roots, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.feature import Recallable
    from bethink.index import Candidate
    from bethink.recall.question import ParsedQuestion

_STEP = 0.01
"""By how much one is put above another."""
_READ_CHARS = 2_000
"""Of a long text this much is looked at for what a question names."""
_SOON_US = 14 * 86_400_000_000


def placed(
    asked: ParsedQuestion, best: Sequence[tuple[Candidate, Recallable]]
) -> tuple[ParsedQuestion, int | None]:
    """The question with the time of what it names instead ("before Paris"), and whose place that is."""
    named = asked.before or asked.after
    if not named:
        return asked, None
    for place, (_, recallable) in enumerate(best):
        if named <= roots(words_of(recallable.text[:_READ_CHARS])):
            begun, ended = _held(recallable)
            times = {"high": begun} if asked.before else {"low": ended or begun}
            return replace(asked, **times), place
    return asked, None


def order_in_time(
    logits: list[float],
    best: Sequence[tuple[Candidate, Recallable]],
    asked: ParsedQuestion,
    *,
    anchor: int | None,
) -> None:
    """Put what is asked for above what took its place, or the other way round, whatever their words."""
    places = {candidate.id: place for place, (candidate, _) in enumerate(best)}
    pairs = [
        (old, places[recallable.superseded_by])
        for old, (_, recallable) in enumerate(best)
        if recallable.superseded_by in places
    ]
    if asked.past:
        fits = [is_over(recallable, asked) and nearness(recallable, asked) == 1 for _, recallable in best]
        pairs.sort(key=lambda pair: best[pair[0]][1].valid_until or 0)
        for old, new in pairs:
            if fits[old] and fits[new]:
                _raise(logits, new, above=old)
        for old, new in pairs:
            if fits[old] and not fits[new]:
                _raise(logits, old, above=new)
        told = [place for place, fit in enumerate(fits) if fit and best[place][0].met > 0]
        if asked.before and anchor is not None and best[anchor][1].position is None and told:
            _raise(logits, max(told, key=logits.__getitem__), above=anchor)
    elif asked.after:
        for old, new in pairs:
            if old == anchor:
                _raise(logits, new, above=old)


def _raise(logits: list[float], place: int, *, above: int) -> None:
    logits[place] = max(logits[place], logits[above] + _STEP)


def is_over(recallable: Recallable, asked: ParsedQuestion) -> bool:
    """Whether it held, and does so no longer."""
    return recallable.valid_until is not None and recallable.valid_until <= asked.now


def _held(recallable: Recallable) -> tuple[int, int | None]:
    return recallable.at if recallable.valid_from is None else recallable.valid_from, recallable.valid_until


def nearness(recallable: Recallable, asked: ParsedQuestion) -> float:
    """1 for what was said or held at the time that was asked for, half for what was told soon after."""
    if (asked.high is None or recallable.at < asked.high) and (
        asked.low is None or recallable.at >= asked.low
    ):
        return 1.0
    begun, ended = _held(recallable)
    is_fact = recallable.position is None
    if (
        is_fact
        and (asked.high is None or begun < asked.high)
        and (asked.low is None or ended is None or ended > asked.low)
    ):
        return 1.0
    told_soon = asked.high is not None and asked.high <= recallable.at < asked.high + _SOON_US
    return 0.5 if told_soon else 0.0
