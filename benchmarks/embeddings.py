"""`bethink bench`: what an embedder costs, and how near the full-precision model it is."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

from bethink.embeddings.fetch import measure_accuracy
from bethink.embeddings.local import LocalEmbeddings

if TYPE_CHECKING:
    from bethink.embeddings import Embeddings

_QUERIES = 200
_WARM_UP = 20
_BULK = 512
# About 17 word pieces each, as the questions that people ask of a memory are.
_SUBJECTS = ("my sister", "the plumber", "our landlord", "a friend from Lisbon", "the new dentist")
_DEEDS = ("told me about the roof", "moved the appointment", "sent a letter", "asked for the key")
_TIMES = ("last Tuesday evening", "in March", "before the holidays", "on the first of May")


async def measure_embeddings(embeddings: Embeddings) -> dict[str, Any]:
    """CPU milliseconds a query (p50 of 200, all threads), texts a second in bulk, accuracy.

    `accuracy` is the cosine to the full-precision model (mean, minimum) if that is known. Nothing else may
    run in this process; a busy machine shows in the distance between the least query and the median.

    Raises:
        EmbeddingsUnavailable: the embedder cannot be used.
    """
    started = time.process_time()
    await embeddings.load()
    load_s = time.process_time() - started
    query_ms = await _query_ms(embeddings)
    bulk = [f"{_question(number)} {number}" for number in range(_BULK)]
    wall, cpu = time.perf_counter(), time.process_time()
    await embeddings.embed(bulk)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    found = await measure_accuracy(embeddings) if isinstance(embeddings, LocalEmbeddings) else None
    return {
        "model": embeddings.model.id,
        "load_cpu_s": round(load_s, 3),
        "query_cpu_ms_min": round(min(query_ms), 2),
        "query_cpu_ms_p50": round(statistics.median(query_ms), 2),
        "query_cpu_ms_p95": round(statistics.quantiles(query_ms, n=20)[-1], 2),
        "bulk_texts_per_s": round(_BULK / wall),
        "bulk_texts_per_cpu_s": round(_BULK / cpu),
        "accuracy": found and {"mean": round(found.mean, 4), "minimum": round(found.minimum, 4)},
    }


async def _query_ms(embeddings: Embeddings) -> list[float]:
    spent: list[float] = []
    for number in range(_WARM_UP + _QUERIES):
        started = time.process_time()
        await embeddings.embed([_question(number)])
        spent.append((time.process_time() - started) * 1_000)
    return spent[_WARM_UP:]


def _question(number: int) -> str:
    subject = _SUBJECTS[number % len(_SUBJECTS)]
    deed = _DEEDS[number // 5 % len(_DEEDS)]
    return f"When was it that {subject} {deed}, {_TIMES[number // 20 % len(_TIMES)]}?"
