"""Near pairs among many vectors, found without comparing each with all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bethink.memory import likeness
from bethink.memory.likeness import near_pairs

Vectors = NDArray[np.float32]


def unit(vectors: NDArray[np.floating]) -> Vectors:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def some(count: int, *, seed: int = 0, dimensions: int = 48) -> Vectors:
    return unit(np.random.default_rng(seed).standard_normal((count, dimensions)))


def all_pairs(vectors: Vectors, threshold: float) -> dict[tuple[int, int], float]:
    cosines = vectors @ vectors.T
    found = np.argwhere(np.triu(cosines >= threshold, k=1))
    return {(int(i), int(j)): float(cosines[i, j]) for i, j in found}


@given(st.integers(0, 60), st.integers(0, 5), st.floats(0.3, 0.99))
def test_a_few_are_compared_outright(count: int, seed: int, threshold: float) -> None:
    vectors = some(count, seed=seed)
    assert near_pairs(vectors, threshold) == pytest.approx(all_pairs(vectors, threshold), abs=1e-5)


@pytest.mark.requirement("R62")
def test_among_many_hardly_a_pair_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likeness, "OUTRIGHT", 200)
    count, twins = 3_000, 300
    vectors = some(count)
    vectors[-twins:] = unit(vectors[:twins] + 0.07 * np.random.default_rng(1).standard_normal((twins, 48)))
    wanted = all_pairs(vectors, 0.75)
    assert len(wanted) > 0.95 * twins
    found = near_pairs(vectors, 0.75)
    assert set(found) <= set(wanted)
    assert len(found) > 0.9 * len(wanted)
    assert found == near_pairs(vectors, 0.75), "the same each time"


@pytest.mark.requirement("R62")
def test_the_cells_together_are_far_from_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likeness, "OUTRIGHT", 200)
    compared: list[int] = []
    compare = likeness._compare  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - its work is counted

    def counted(vectors: Vectors, cell: NDArray[np.intp], threshold: float, **more: object) -> None:
        compared.append(len(cell) ** 2)
        compare(vectors, cell, threshold, **more)  # pyright: ignore[reportArgumentType] - as it was called

    monkeypatch.setattr(likeness, "_compare", counted)
    near_pairs(some(5_000), 0.75)
    assert sum(compared) < 5_000**2 / 4


def test_thousands_of_the_very_same_neither_loop_nor_blow_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likeness, "OUTRIGHT", 200)
    found = near_pairs(np.repeat(some(1), 1_200, axis=0), 0.75)
    assert 600 < len(found) <= 8 * 4 * 1_200
