"""Which of what recall found goes into the context: facts first, then turns that say more.

`agent/context` asks. A fact says briefly what somebody said at length in the
turn that it came from; giving the model both wastes its attention, and its own
earlier answers would come back to it as if they were evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.conversations import KIND as TURN
from bethink.search.analysis import Analyzer

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bethink.recall.service import Hit

_NEWS = 0.5
"""A turn is worth its place when more than this share of its words was not told yet."""


def selected(hits: Sequence[Hit], known: Collection[str], limit: int) -> list[Hit]:
    """At most `limit` hits, facts before turns, each kind in the order of its relevance.

    A turn whose text is in `known` stands in the conversation already. One from
    which a chosen fact came, or most of whose words were told before it, says
    nothing new.
    """
    hits = [hit for hit in hits if hit.kind != TURN or hit.text not in known][:limit]
    facts = [hit for hit in hits if hit.kind != TURN]
    sources = {fact.source for fact in facts}
    analyzer = Analyzer()
    told = {term for fact in facts for term in analyzer.document(fact.text)}
    turns: list[Hit] = []
    for turn in (hit for hit in hits if hit.kind == TURN and hit.source not in sources):
        terms = set(analyzer.document(turn.text))
        if len(terms - told) > _NEWS * len(terms):
            turns.append(turn)
            told |= terms
    return [*facts, *turns]
