"""What the mirror keeps of facts that are forgotten. `app` hands it to `forgetting/service`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.memory.facts import mark_of
from bethink.mirror.records import LINES, REFUSALS
from bethink.store import Delete, DeleteAll, Scan

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bethink.store import Change, Store


@dataclass(frozen=True, slots=True)
class FactLines:
    """The lines of pages that show facts, or showed them last."""

    store: Store

    async def of(self, owner: str, facts: Collection[str]) -> Sequence[str]:
        """The ids of the lines of these facts, also of lines that nobody noted."""
        pages = await self.store.scan(owner, *[Scan(LINES, {"fact": fact}) for fact in facts])
        own = {item.record.id for page in pages for item in page.items}
        marks = [mark_of(fact) for fact in facts]
        noted = await self.store.get(LINES, owner, marks)
        return sorted(own | {mark for mark, line in zip(marks, noted, strict=True) if line is None})

    def without(self, lines: Sequence[str]) -> list[Change]:
        """The changes by which nothing is known of these lines, nor of what was no fact."""
        return [*(Delete(LINES, line) for line in lines), DeleteAll(REFUSALS)]
