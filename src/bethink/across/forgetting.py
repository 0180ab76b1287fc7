"""Forgetting for good: whatever was kept of a fact, wherever it was kept.

Doors, the command line and `delete_all_memories` forget through here. After it
the facts are in no record, no index, no journal, and in no file of the store.
What was said about them in the messages of conversations stays there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bethink.store import Collection, DeleteAll

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.memory import Memory
    from bethink.principal import Principal
    from bethink.store import Store

_BATCH = 500


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Removes facts of all owners for good; `journals` quote what was recalled."""

    store: Store
    memory: Memory
    journals: Collection[Any]

    async def forget(self, principal: Principal, ids: Sequence[str]) -> int:
        """Forget these facts; how many there were.

        Raises:
            StorageError: they are gone from every record, but other readers keep
                traces in the files; the next forgetting removes those too.
        """
        count = 0
        for start in range(0, len(ids), _BATCH):
            count += await self.memory.forget(principal, ids[start : start + _BATCH])
        if count:
            await self.store.commit(principal.owner, [DeleteAll(self.journals)])
            await self.store.scrub()
        return count

    async def forget_all(self, principal: Principal) -> int:
        """Forget every fact of the owner, whatever its state; how many there were."""
        return await self.forget(principal, await self.memory.all_ids(principal))
