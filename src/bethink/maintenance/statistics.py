"""What the memory holds, in numbers. The command line and the web door ask."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec

from bethink.clock import to_datetime

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.memory import Memory
    from bethink.principal import Principal
    from bethink.recall.service import Recall

_DATABASE = "bethink.sqlite3*"


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """How many facts there are, by what they are.

    States and sources with their counts, and of those in use the categories,
    the most frequent first, and the months in which they were learnt (UTC).
    `bytes_on_disk` is the size of the whole database, of all owners.
    """

    facts: int
    pinned: int
    doubted: int
    states: dict[str, int]
    categories: dict[str, int]
    sources: dict[str, int]
    months: dict[str, int]
    bytes_on_disk: int
    warning: str | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts for all owners; every call acts for one principal."""

    memory: Memory
    recall: Recall
    data_dir: Path

    async def numbers(self, principal: Principal) -> Numbers:
        """The owner's numbers, from one pass over their facts."""
        states, categories, sources, months = (Counter[str]() for _ in range(4))
        pinned = doubted = 0
        async for page in self.memory.pages(principal):
            states.update(fact.state for fact in page)
            sources.update(kind for fact in page for kind in {source.kind for source in fact.sources})
            in_use = [fact for fact in page if fact.state == "active"]
            categories.update(fact.category for fact in in_use)
            months.update(f"{to_datetime(fact.created_at):%Y-%m}" for fact in in_use)
            pinned += sum(fact.pinned for fact in in_use)
            doubted += sum(bool(fact.doubts) for fact in in_use)
        return Numbers(
            facts=states.total(),
            pinned=pinned,
            doubted=doubted,
            states=dict(states.most_common()),
            categories=dict(categories.most_common()),
            sources=dict(sources.most_common()),
            months=dict(sorted(months.items())),
            bytes_on_disk=await anyio.to_thread.run_sync(self._bytes),
            warning=self.recall.warning,
        )

    def _bytes(self) -> int:
        return sum(file.stat().st_size for file in self.data_dir.glob(_DATABASE))
