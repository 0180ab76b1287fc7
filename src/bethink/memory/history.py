"""The life of a fact: what it corrected, what corrected it. `Memory.history` asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.errors import UnknownId
from bethink.memory.facts import FACTS, Fact

if TYPE_CHECKING:
    from bethink.store import Store


async def history_of(store: Store, owner: str, fact: str) -> list[Fact]:
    """All that is linked to a fact by corrections and merges, oldest first, itself among them.

    Raises:
        UnknownId: this owner has no such fact.
    """
    chain: dict[str, Fact] = {}
    asked = [fact]
    while asked:
        found = [one.record for one in await store.get(FACTS, owner, asked) if one is not None]
        chain |= {one.id: one for one in found}
        linked = [(*one.supersedes, *one.merges, one.superseded_by) for one in found]
        asked = list({id for ids in linked for id in ids if id is not None and id not in chain})
    if fact not in chain:
        message = "No such memory: it may have been forgotten."
        raise UnknownId(message)
    return sorted(chain.values(), key=lambda one: (one.created_at, one.id))
