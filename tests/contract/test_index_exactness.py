"""Both legs beside a plain computation of what they claim, on random items and changes."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bethink.clock import Ids, SystemClock
from bethink.embeddings import EmbeddingModel
from bethink.index import IndexItem, IndexQuery
from bethink.search.analysis import Analyzer
from bethink.store import Change, Delete, Put
from tests.contract.conftest import Database
from tests.contract.records import NOTES, Note

pytestmark = pytest.mark.anyio

DIMENSIONS = 64
MODEL = EmbeddingModel("random", "1", DIMENSIONS)
_WORDS = [f"w{n}" for n in range(30)]
_new_owner = Ids(SystemClock())

_texts = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=12).map(" ".join)
_changes = st.lists(st.tuples(st.integers(0, 15).map(str), st.none() | _texts), min_size=1, max_size=40)


def plain_bm25(texts: dict[str, str], question: str) -> dict[str, float]:
    """BM25 as its formula is written, k1 0.9, b 0.4."""
    analyzer = Analyzer()
    counts = {id: Counter(analyzer.document(text)) for id, text in texts.items()}
    mean = sum(sum(count.values()) for count in counts.values()) / max(len(counts), 1)
    scores: dict[str, float] = {}
    for term in analyzer.question(question):
        holding = [id for id, count in counts.items() if count[term]]
        idf = math.log(1 + (len(counts) - len(holding) + 0.5) / (len(holding) + 0.5))
        for id in holding:
            frequency, length = counts[id][term], sum(counts[id].values())
            part = idf * frequency * 1.9 / (frequency + 0.9 * (0.6 + 0.4 * length / mean))
            scores[id] = scores.get(id, 0.0) + part
    return scores


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(_changes, min_size=1, max_size=4), question=_texts)
async def test_lexical_scores_are_those_of_the_formula_after_any_changes(
    database: Database, batches: list[list[tuple[str, str | None]]], question: str
) -> None:
    owner = _new_owner()
    texts: dict[str, str] = {}
    for batch in batches:
        changes: list[Change] = []
        for id, text in batch:
            if text is None:
                texts.pop(id, None)
                changes.append(Delete(NOTES, id))
            else:
                texts[id] = text
                changes.append(Put(NOTES, Note(id=id), index=IndexItem("fact", text, 0)))
        await database.store.commit(owner, changes)
        candidates = await database.index.search(IndexQuery(owner, question, limit=100))
        scores = {candidate.id: candidate.lexical for candidate in candidates.items}
        assert scores == pytest.approx(plain_bm25(texts, question), rel=1e-4)


async def test_many_items_are_ranked_as_the_formula_ranks_them(database: Database) -> None:
    random = np.random.default_rng(7)
    texts = {
        str(n): " ".join(f"w{word}" for word in random.zipf(1.4, size=random.integers(3, 20)) % 5_000)
        for n in range(3_000)
    }
    puts = [Put(NOTES, Note(id=id), index=IndexItem("fact", text, 0)) for id, text in texts.items()]
    await database.store.commit("ann", puts)
    gone = [str(n) for n in range(0, 3_000, 5)]
    await database.store.commit("ann", [Delete(NOTES, id) for id in gone])
    for id in gone:
        del texts[id]
    for question in ("w1 w7 w40", "w200 w3", "w1", "w17 w90 w4999 nowhere"):
        candidates = await database.index.search(IndexQuery("ann", question, limit=10))
        plain = sorted(plain_bm25(texts, question).values(), reverse=True)[:10]
        assert sorted((c.lexical or 0.0 for c in candidates.items), reverse=True) == pytest.approx(
            plain, rel=1e-4
        )


@pytest.mark.requirement("R167")
async def test_the_best_ten_by_meaning_are_those_of_a_full_comparison(database: Database) -> None:
    """Above 5,000 items signs choose whom to compare; at least 99 in 100 of the best ten survive it."""
    random = np.random.default_rng(11)
    topics = random.standard_normal((300, 384), dtype=np.float32)
    count, model = 5_500, EmbeddingModel("random", "1", 384)
    vectors = topics[random.integers(0, 300, count)] + 1.2 * random.standard_normal(
        (count, 384), dtype=np.float32
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    puts = [
        Put(NOTES, Note(id=str(n)), index=IndexItem("fact" if n % 2 else "turn", "", 0, vectors[n], model))
        for n in range(count)
    ]
    await database.store.commit("ann", puts)
    hits = 0
    questions = 40
    for _ in range(questions):
        question = topics[random.integers(0, 300)] + 1.2 * random.standard_normal(384, dtype=np.float32)
        question /= np.linalg.norm(question)
        exact = vectors @ question
        candidates = await database.index.search(IndexQuery("ann", "", question, model, limit=50))
        scores = {int(candidate.id): candidate.dense for candidate in candidates.items}
        assert scores == pytest.approx({n: float(exact[n]) for n in scores}, abs=1e-4)
        hits += len(set(np.argsort(-exact)[:10].tolist()) & scores.keys())
    assert hits >= 0.99 * 10 * questions
    # Half of them are few enough to be compared in full.
    turns = IndexQuery("ann", "", vectors[0], model, kinds=frozenset({"turn"}), limit=10)
    best = {int(candidate.id) for candidate in (await database.index.search(turns)).items}
    assert best == set((2 * np.argsort(-(vectors[::2] @ vectors[0]))[:10]).tolist())


async def test_of_several_vectors_the_nearest_counts_and_no_item_comes_twice(database: Database) -> None:
    random = np.random.default_rng(13)
    counts = random.integers(1, 5, 2_200)
    starts = np.cumsum(counts) - counts
    topics = random.standard_normal((200, DIMENSIONS), dtype=np.float32)
    rows = np.repeat(topics[random.integers(0, 200, len(counts))], counts, axis=0)
    rows += 0.8 * random.standard_normal(rows.shape, dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    puts = [
        Put(
            NOTES,
            Note(id=str(n)),
            index=IndexItem("fact", "", 0, rows[start : start + count], MODEL, part_of=str(n % 3)),
        )
        for n, (start, count) in enumerate(zip(starts.tolist(), counts.tolist(), strict=True))
    ]
    await database.store.commit("ann", puts)
    wholes = {None: range(len(counts)), frozenset({"0", "2"}): [n for n in range(len(counts)) if n % 3 != 1]}
    for part_of, among in wholes.items():
        hits = 0
        for _ in range(20):
            question = topics[random.integers(0, 200)] + random.standard_normal(DIMENSIONS, dtype=np.float32)
            question /= np.linalg.norm(question)
            exact = np.maximum.reduceat(rows @ question, starts)
            query = IndexQuery("ann", "", question, MODEL, limit=40, part_of=part_of)
            candidates = await database.index.search(query)
            assert (candidates.searched, candidates.without_vector) == (len(among), 0)
            scores = {int(one.id): one.dense for one in candidates.items}
            assert len(candidates.items) == len(scores) == 40
            assert scores == pytest.approx({n: float(exact[n]) for n in scores}, abs=2e-4)
            hits += len(set(sorted(among, key=lambda n: -exact[n])[:10]) & scores.keys())
        assert hits >= 0.98 * 200
    await database.store.commit("ann", [Delete(NOTES, str(n)) for n in range(0, len(counts), 2)])
    candidates = await database.index.search(IndexQuery("ann", "", rows[-1], MODEL, limit=1_000))
    exact = np.maximum.reduceat(rows @ rows[-1], starts)
    best = sorted(range(1, len(counts), 2), key=lambda n: -exact[n])[:1_000]
    assert {int(one.id) for one in candidates.items} == set(best)
