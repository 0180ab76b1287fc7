"""The figures of an embedder that `bethink bench` prints."""

from __future__ import annotations

import pytest

from benchmarks.embeddings import measure_embeddings
from bethink.embeddings.hashing import HashingEmbeddings

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("R166")
async def test_an_embedder_is_measured() -> None:
    figures = await measure_embeddings(HashingEmbeddings())
    assert figures["model"] == "hashing-384-1"
    assert 0 < figures["query_cpu_ms_p50"] <= figures["query_cpu_ms_p95"]
    assert figures["bulk_texts_per_s"] > 0
    assert figures["accuracy"] is None
