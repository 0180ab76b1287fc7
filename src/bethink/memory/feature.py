"""The facts about the owner, as a feature: what recall shows of them, and how a question finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.feature import Feature, OpenFeature, Recallable, RecallKind
from bethink.memory.facts import FACTS, Fact, doubt_of
from bethink.memory.service import Memory
from bethink.memory.steps import STEPS
from bethink.memory.writer import KIND, PAST_KIND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.feature import Source, Surroundings
    from bethink.principal import Principal

_RECALLED = ("active", "superseded")


def _open(at: Surroundings) -> OpenFeature:
    async def find(principal: Principal, query: str, k: int) -> Sequence[tuple[Fact, float]]:
        scores = dict(await at.search.find(principal, query, k, kind=KIND))
        facts = [fact for fact in await memory.get(principal, [*scores]) if fact is not None]
        reader_filter = await at.filter_for(principal)
        if reader_filter is not None:
            facts = [seen for fact in facts if (seen := reader_filter.fact(fact)) is not None]
        return [(fact, scores[fact.id]) for fact in facts]

    async def important(principal: Principal, k: int) -> Sequence[tuple[str, str]]:
        return [(KIND, fact.id) for fact in await memory.profile(principal, k)]

    async def resolve(principal: Principal, ids: Sequence[str]) -> Sequence[Recallable | None]:
        return [fact and recallable_of(fact) for fact in await memory.get(principal, ids)]

    memory = Memory(at.store, at.index, at.embeddings, at.clock, at.new_id, find, at.filter_for)
    return OpenFeature(
        service=memory,
        recall=[RecallKind(name=KIND, resolve=resolve, past=PAST_KIND)],
        important=important,
    )


FEATURE = Feature(
    name="memory",
    open=_open,
    collections=(FACTS, STEPS),
    counted={"memories": ("memory", FACTS)},
    tools="bethink.tools.memory",
    mcp_summary=(
        "Long-term memory of the user: search it before you answer questions about them, store what is "
        "worth knowing later. What cannot be undone shows first what would go, and needs their agreement."
    ),
)


def recallable_of(fact: Fact) -> Recallable | None:
    """What recall shows of a fact; None for one that is not in use."""
    if fact.state not in _RECALLED:
        return None
    return Recallable(
        text=fact.content,
        at=fact.created_at,
        importance=fact.importance,
        source=_named(fact.sources[0]) if fact.sources else None,
        valid_from=fact.valid_from,
        valid_until=fact.valid_until,
        doubt=doubt_of(fact),
        superseded_by=fact.superseded_by,
        untrusted=fact.trust == "untrusted",
        said_by=fact.sources,
    )


def _named(source: Source) -> str:
    place = ":".join(part for part in (source.kind, source.id) if part)
    return f"{place}#{source.message}" if source.message else place
