"""What is kept of many facts is read in few steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.feature import Features
from bethink.forgetting.occurrences import OccurrenceFinder
from bethink.memory import NewFact
from bethink.principal import LOCAL_OWNER
from bethink.store import RecordPage, Scan
from tests.mirrored import mirrored_in
from tests.vaults import ME, kept_in

pytestmark = pytest.mark.anyio


class AskedStore(MemoryStore):
    """Counts how often it is asked for one scan."""

    scans = 0

    async def scan(self, owner: str, *scans: Scan[Any]) -> list[RecordPage[Any]]:
        """Scan, and count it; several in one step are not counted."""
        self.scans += len(scans) == 1
        return await super().scan(owner, *scans)


async def test_repetitions_of_many_facts_are_looked_for_at_once(tmp_path: Path) -> None:
    store = AskedStore(MemoryIndex())
    both = await mirrored_in(tmp_path, kept=kept_in(tmp_path, store=store))
    added = await both.memory.add_many(ME, [NewFact(f"Counted {n} sheep behind the barn") for n in range(50)])
    store.scans = 0
    found = await OccurrenceFinder(store, Features()).versions(LOCAL_OWNER, [one.fact.id for one in added])
    assert {one.record.id for one in found} == {one.fact.id for one in added}
    assert store.scans == 0
