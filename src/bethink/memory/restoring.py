"""Facts put back as they were exported, with ids, states, times and links. `Memory.restore_many` calls it.

Nothing that is here already is changed by it, so the same file can be taken in
twice, or again after an interruption.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

import msgspec

from bethink.memory.facts import FACTS, Fact, digest, weight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.principal import Principal
    from bethink.store import Store

Restored = Literal["restored", "known", "differing"]
"""`known`: it is here, or another fact says the same; `differing`: its id names a fact that was changed."""


async def sorted_out(
    store: Store, principal: Principal, facts: Sequence[Fact]
) -> tuple[list[Restored], list[Fact]]:
    """What is to become of each fact, and those that are new here."""
    here = await store.get(FACTS, principal.owner, [fact.id for fact in facts])
    full = [
        msgspec.structs.replace(
            fact, digest=digest(fact.content), weight=weight(fact.importance, pinned=fact.pinned)
        )
        for fact in facts
    ]
    unknown = [fact for fact, found in zip(full, here, strict=True) if not found and fact.state == "active"]
    # At once: each look by itself would wait for a thread of its own.
    counts = await asyncio.gather(*(_said(store, principal, fact) for fact in unknown))
    said = {fact.digest for fact, count in zip(unknown, counts, strict=True) if count}
    outcomes: list[Restored] = []
    new: dict[str, Fact] = {}
    for fact, found in zip(full, here, strict=True):
        known = found.record if found else new.get(fact.id)
        if known is not None:
            outcomes.append("known" if _is_like(known, fact) else "differing")
        elif fact.state == "active" and fact.digest in said:
            outcomes.append("known")
        else:
            outcomes.append("restored")
            new[fact.id] = fact
            said |= {fact.digest} if fact.state == "active" else set()
    return outcomes, list(new.values())


async def _said(store: Store, principal: Principal, fact: Fact) -> int:
    return await store.count(principal.owner, FACTS, {"digest": fact.digest, "state": "active"})


def _is_like(known: Fact, fact: Fact) -> bool:
    """Whether they are the same but for the slot, which follows from what is said."""
    return known == msgspec.structs.replace(fact, slot=known.slot)
