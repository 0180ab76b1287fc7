"""Vectors that lie near one another among many. `upkeep` loads it when it needs it: NumPy is heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Places = NDArray[np.intp]
    Pairs = dict[tuple[int, int], float]

OUTRIGHT = 4_096
"""As many are compared with all others: 0.2 s on one core."""

_BLOCK = 1_024
_CELLS_OF_EACH = 4
_NEIGHBOURS = 8
"""A fact's nearest; the next ones are found when these have been merged."""


def near_pairs(vectors: Vectors, threshold: float) -> Pairs:
    """Places (i < j) of vectors whose cosine is at least `threshold`, with it.

    `vectors` is float32 (n, d), L2-normalised. For each at most its eight
    nearest; the same for the same input.
    """
    found: Pairs = {}
    everything = np.arange(len(vectors))
    for cell in _cells(vectors, everything, np.random.default_rng(0)):
        _compare(vectors, cell, threshold, found=found)
    return found


def _cells(vectors: Vectors, places: Places, random: np.random.Generator) -> list[Places]:
    if len(places) <= OUTRIGHT:
        return [places]
    count = round(len(places) ** 0.5)
    centres = vectors[random.choice(places, count, replace=False)]
    members: list[list[Places]] = [[] for _ in range(count)]
    for start in range(0, len(places), _BLOCK):
        block = places[start : start + _BLOCK]
        nearest = np.argpartition(vectors[block] @ centres.T, -_CELLS_OF_EACH, axis=1)[:, -_CELLS_OF_EACH:]
        for centre in map(int, np.unique(nearest)):
            members[centre].append(block[(nearest == centre).any(axis=1)])
    cells: list[Places] = []
    for cell in (np.concatenate(parts) for parts in members if parts):
        if len(cell) <= len(places) // 2:
            cells += _cells(vectors, cell, random)
        else:
            # Too alike to be told apart: in the order in which they came.
            cells += [cell[start : start + OUTRIGHT] for start in range(0, len(cell), OUTRIGHT)]
    return cells


def _compare(vectors: Vectors, cell: Places, threshold: float, *, found: Pairs) -> None:
    own = vectors[cell]
    for start in range(0, len(cell), _BLOCK):
        cosines = own[start : start + _BLOCK] @ own.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -1
        kept = min(_NEIGHBOURS, cosines.shape[1])
        nearest = np.argpartition(cosines, -kept, axis=1)[:, -kept:]
        values = np.take_along_axis(cosines, nearest, axis=1)
        for row, column in np.argwhere(values >= threshold):
            one, other = int(cell[start + row]), int(cell[nearest[row, column]])
            found[min(one, other), max(one, other)] = float(values[row, column])
