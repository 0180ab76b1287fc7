"""What is left out of a search among many items changes nothing of what it finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bethink.embeddings import EmbeddingModel
from bethink.index import Candidates, IndexItem, IndexQuery
from bethink.search.analysis import Analyzer, Entries, entry_of
from bethink.search.shard import Shard

_ITEMS = 12_000
_MODEL = EmbeddingModel("random", "1", 64)
_KINDS = frozenset(("fact", "suggested_fact"))


def _unit(random: np.random.Generator, *shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    vectors = random.standard_normal((*shape, _MODEL.dimensions), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def random() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture(scope="module")
def shard(random: np.random.Generator) -> Shard:
    """Facts and turns with common and rare words, some of them with several vectors, some removed."""
    shard, analyzer = Shard(), Analyzer()
    for start in range(0, _ITEMS, 1_000):
        entries = [
            entry_of(
                str(number),
                IndexItem(
                    "turn" if number % 3 == 0 else "fact",
                    " ".join(f"w{word}" for word in random.zipf(1.3, size=9) % 4_000),
                    number,
                    _unit(random, 2) if number % 50 == 0 else _unit(random),
                    _MODEL,
                ),
                analyzer,
            )
            for number in range(start, start + 1_000)
        ]
        shard.add(Entries(*(list(column) for column in zip(*entries, strict=True))))
        shard.remove(str(start))
        shard.settle()
    return shard


def _questions(random: np.random.Generator, *, vectors: bool) -> list[IndexQuery]:
    texts = [" ".join(f"w{word}" for word in random.zipf(1.3, size=12) % 4_000) for _ in range(30)]
    asked = [IndexQuery("ann", text, model=_MODEL, kinds=_KINDS, limit=6) for text in texts]
    return [replace(one, vector=_unit(random)) if vectors else one for one in asked]


def _best(found: Candidates, leg: str) -> list[float]:
    scores = (getattr(candidate, leg) for candidate in found.items)
    return sorted((score for score in scores if score is not None), reverse=True)[:6]


def test_the_best_by_words_are_those_of_all_postings(shard: Shard, random: np.random.Generator) -> None:
    questions = _questions(random, vectors=False)
    some = shard.search_all(questions, Analyzer())
    # Nothing is left out where all are asked for.
    every = shard.search_all([replace(one, limit=_ITEMS) for one in questions], Analyzer())
    for one, whole in zip(some, every, strict=True):
        assert _best(one, "lexical") == pytest.approx(_best(whole, "lexical"), rel=1e-5)
        shares = {candidate.id: candidate.met for candidate in whole.items}
        assert all(candidate.met == pytest.approx(shares[candidate.id]) for candidate in one.items)
        assert one.lexical_ideal == whole.lexical_ideal


def test_many_questions_find_what_a_full_comparison_finds(shard: Shard, random: np.random.Generator) -> None:
    questions = _questions(random, vectors=True)
    some = shard.search_all(questions, Analyzer())
    every = shard.search_all([replace(one, limit=_ITEMS) for one in questions], Analyzer())
    for one, whole in zip(some, every, strict=True):
        assert _best(one, "dense") == pytest.approx(_best(whole, "dense"), abs=1e-6)
        assert len({candidate.id for candidate in one.items}) == len(one.items) >= 6
