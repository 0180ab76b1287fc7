"""What `bench scale` prints of streams, imports and migrations, on small sizes: the figures are possible."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from blockbuster import BlockBuster

from benchmarks import streams
from benchmarks.moving import measure_import, measure_migration
from tests.contract.embeddings_suite import models_directory

# Processes start here, on machines that have other things to do.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def _nobody_waits(no_blocking_calls: BlockBuster) -> Iterator[None]:
    """A measurement has its thread for itself."""
    no_blocking_calls.deactivate()
    yield
    no_blocking_calls.activate()


@pytest.mark.requirement("R195")
async def test_whole_answers_are_measured_on_both_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "AT_ONCE", (2,))
    monkeypatch.setattr(streams, "_ANSWERS", 2)
    monkeypatch.setattr(streams, "_DELAY_MS", 1)
    rows = await streams.measure_streams(models_directory())
    assert [(row["streams"], row["way"]) for row in rows] == [(2, "sqlite"), (2, "postgresql")]
    assert min(row["answer_cpu_ms"] for row in rows) > 0


@pytest.mark.requirement("R195")
async def test_what_is_brought_in_is_there_on_both_engines() -> None:
    rows = await measure_import([300])
    assert [(row["way"], row["kept"]) for row in rows] == [("sqlite", 300), ("postgresql", 300)]
    assert min(row["per_s"] for row in rows) > 0


async def test_what_was_moved_and_came_back_is_the_same() -> None:
    there, back = await measure_migration([300])
    assert there["sha256"] == back["sha256"]
    assert min(there["most_mb"], back["most_mb"]) > 10
