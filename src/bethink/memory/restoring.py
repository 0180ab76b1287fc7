"""Facts put back as they were exported, with ids, states, times and links. `Memory.restore_many` calls it.

Nothing that is here already is changed by it, so the same file can be taken in
twice, or again after an interruption.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

import msgspec

from bethink.memory.facts import FACTS, Fact, digest, weight
from bethink.store import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bethink.principal import Principal
    from bethink.store import Key, Store

Restored = Literal["restored", "known", "differing"]
"""`known`: it is here, or another fact says the same; `differing`: its id names a fact that was changed."""


async def sorted_out(
    store: Store, principal: Principal, facts: Sequence[Fact], *, is_seen: Callable[[Fact], bool]
) -> tuple[list[Restored], list[Fact]]:
    """What is to become of each fact, and those that are new here.

    By what is not seen whole nothing is decided but that an id is taken.
    """
    here = await store.get(FACTS, principal.owner, [fact.id for fact in facts])
    full = [
        msgspec.structs.replace(
            fact, digest=digest(fact.content), weight=weight(fact.importance, pinned=fact.pinned)
        )
        for fact in facts
    ]
    unknown = [fact for fact, found in zip(full, here, strict=True) if not found and fact.state == "active"]
    # At once: each look by itself would wait for a thread of its own.
    told = await asyncio.gather(*(_is_said(store, principal, fact, is_seen=is_seen) for fact in unknown))
    said = {fact.digest for fact, is_said in zip(unknown, told, strict=True) if is_said}
    outcomes: list[Restored] = []
    new: dict[str, Fact] = {}
    for fact, found in zip(full, here, strict=True):
        known = found.record if found else new.get(fact.id)
        if known is not None:
            is_known = _is_like(known, fact) or not is_seen(known)
            outcomes.append("known" if is_known else "differing")
        elif fact.state == "active" and fact.digest in said:
            outcomes.append("known")
        else:
            outcomes.append("restored")
            new[fact.id] = fact
            said |= {fact.digest} if fact.state == "active" else set()
    return outcomes, list(new.values())


async def _is_said(
    store: Store, principal: Principal, fact: Fact, *, is_seen: Callable[[Fact], bool]
) -> bool:
    where: dict[str, Key] = {"digest": fact.digest, "state": "active"}
    (page,) = await store.scan(principal.owner, Scan(FACTS, where=where))
    return any(is_seen(one.record) for one in page.items)


def _is_like(known: Fact, fact: Fact) -> bool:
    """Whether they are the same but for the slot, which follows from what is said."""
    return known == msgspec.structs.replace(fact, slot=known.slot)
