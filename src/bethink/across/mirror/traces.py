"""What the mirror keeps of facts that are forgotten. `across/forgetting` takes it along in its commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.across.mirror.records import LINES, REFUSALS, mark_of
from bethink.store import Delete, DeleteAll, Scan

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bethink.store import Change, Store


async def lines_of(store: Store, owner: str, facts: Collection[str]) -> Sequence[str]:
    """The ids of the lines that show these facts, or showed them last; also of lines that nobody noted."""
    pages = await store.scan_many(owner, [Scan(LINES, {"fact": fact}) for fact in facts])
    own = {item.record.id for page in pages for item in page.items}
    marks = [mark_of(fact) for fact in facts]
    noted = await store.get(LINES, owner, marks)
    return sorted(own | {mark for mark, line in zip(marks, noted, strict=True) if line is None})


def parting(lines: Sequence[str]) -> list[Change]:
    """The changes by which nothing is known of these lines, nor of what was no fact."""
    return [*(Delete(LINES, line) for line in lines), DeleteAll(REFUSALS)]
