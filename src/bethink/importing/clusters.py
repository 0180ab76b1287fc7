"""Groups of vectors that point the same way, always the same ones: spherical k-means. `running` calls it.

The first centres are chosen one by one, each farthest from those before it
(Gonzalez 1985), so nothing is left to chance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROUNDS = 25
_MOST = 24
_LEAST_LIKE = 0.15
"""The cosine below which a vector belongs to no group: its nearest is by accident."""


def clusters(vectors: NDArray[np.float32]) -> list[list[int]]:
    """The rows of each group, the largest group first; those that belong nowhere are in none.

    `vectors` is float32, shape (n, d), L2-normalised. As many groups as half of
    n's square root or so, 24 at most.
    """
    count = len(vectors)
    if count < 2:  # noqa: PLR2004 - one thing is no group
        return []
    centres = _first(vectors, min(_MOST, max(2, round(math.sqrt(count / 2)))))
    nearest = np.full(count, -1)
    for _ in range(_ROUNDS):
        found = np.argmax(vectors @ centres.T, axis=1)
        if np.array_equal(found, nearest):
            break
        nearest = found
        centres = _centres(vectors, nearest, centres)
    likeness = np.take_along_axis(vectors @ centres.T, nearest[:, None], axis=1)[:, 0]
    groups = [
        [int(row) for row in np.flatnonzero((nearest == group) & (likeness >= _LEAST_LIKE))]
        for group in range(len(centres))
    ]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), group[0]))


def _first(vectors: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    mean = vectors.mean(axis=0)
    chosen = [int(np.argmax(vectors @ mean))]
    likest = vectors @ vectors[chosen[0]]
    while len(chosen) < k:
        farthest = int(np.argmin(likest))
        if likest[farthest] > 1 - 1e-6:
            break
        chosen.append(farthest)
        likest = np.maximum(likest, vectors @ vectors[farthest])
    return vectors[chosen]


def _centres(
    vectors: NDArray[np.float32], nearest: NDArray[np.int64], before: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The mean direction of each group; that of an empty one stays."""
    centres = before.copy()
    for group in range(len(before)):
        members = vectors[nearest == group]
        total = members.sum(axis=0)
        length = float(np.linalg.norm(total))
        if length > 0:
            centres[group] = total / length
    return centres
