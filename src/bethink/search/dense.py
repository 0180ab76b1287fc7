"""Cosines over one owner's vectors of one model: the dense leg. `shard` calls it, under its lock.

Vectors are kept as 16-bit integers (`entry.quantized`), which moves a cosine by
some hundred-thousandths. Up to `SCAN_ROWS` rows every vector is compared.
Above, one bit per dimension (its sign; Charikar 2002) picks candidates by
Hamming distance, and those are compared: the choice is nearly exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bethink.search.column import Column
from bethink.search.entry import SCALE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SCAN_ROWS = 4_000
"""Where comparing bits first becomes quicker than comparing everything."""

_CANDIDATES = 20.0
_CANDIDATES_POWER = 0.4
"""So many times the rows to this power are compared after the bits: 800 of 10,000, 5,000 of a million."""

_FEW = 4
"""Below one row in so many it is quicker to look up those that pass than to measure all."""

_FAR = np.iinfo(np.uint16).max // 8
"""More than the signs of any vector can differ."""

_MANY = 4

_SAMPLE = 8_192
"""Distances looked at to find the one below which the candidates lie."""

_WORD_BITS = 64


class Dense:
    """Vectors in the order in which they are added, each belonging to a document number."""

    def __init__(self, dimensions: int) -> None:
        self._vectors = Column(np.int16, dimensions)
        self._documents = Column(np.int32)
        # One column per 64 dimensions, so that each is read in one run; made when first needed.
        self._signs = [Column(np.uint64) for _ in range(-(-dimensions // _WORD_BITS))]

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._vectors.nbytes + self._documents.nbytes + sum(signs.nbytes for signs in self._signs)

    @property
    def documents(self) -> NDArray[np.int32]:
        """The document of every row."""
        return self._documents.values

    def add(self, documents: ArrayLike, vectors: NDArray[np.int16], *, expected: int = 0) -> None:
        """Add rows: document numbers, shape (n,), and their vectors, shape (n, d); so many are to come."""
        for column in (self._documents, self._vectors):
            column.reserve(len(column) + expected)
        self._documents.extend(documents)
        self._vectors.extend(vectors)

    def best(
        self, query: NDArray[np.float32], passing: NDArray[np.bool_] | None, limit: int
    ) -> NDArray[np.int32]:
        """The `limit` best documents; `passing` masks rows, None for all."""
        rows = None if passing is None else np.flatnonzero(passing)
        count = len(self._vectors) if rows is None else len(rows)
        if count > SCAN_ROWS:
            wanted = min(count, max(round(_CANDIDATES * count**_CANDIDATES_POWER), limit))
            if passing is None or rows is None:
                rows = _nearest(self._distances(query, None), wanted)
            elif count < len(passing) // _FEW:
                rows = rows[_nearest(self._distances(query, rows), wanted)]
            else:
                distances = self._distances(query, None)
                np.putmask(distances, ~passing, _FAR)
                rows = _nearest(distances, wanted)
        vectors, documents = self._vectors.values, self.documents
        if rows is not None:
            vectors, documents = vectors.take(rows, axis=0), documents[rows]
        scores = _cosines(vectors, query)
        if len(scores) > limit:
            chosen = np.argpartition(scores, -limit)[-limit:]
            documents = documents[chosen]
        return documents

    def _distances(self, query: NDArray[np.float32], rows: NDArray[np.intp] | None) -> NDArray[np.uint16]:
        """In how many signs each of the rows (None for all) differs from the query."""
        have = len(self._signs[0])
        if have < len(self._vectors):
            for signs, fresh in zip(self._signs, _sign_words(self._vectors.values[have:]), strict=True):
                signs.extend(fresh)
        distances = np.zeros(len(self._vectors) if rows is None else len(rows), np.uint16)
        for signs, wanted in zip(self._signs, _sign_words(query[np.newaxis]), strict=True):
            distances += np.bitwise_count((signs.values if rows is None else signs.values[rows]) ^ wanted)
        return distances

    def cosines(self, query: NDArray[np.float32], documents: NDArray[np.intp]) -> list[float | None]:
        """The cosine of each document; None of those that have no vector."""
        rows = np.minimum(np.searchsorted(self.documents, documents), len(self) - 1)
        cosines = _cosines(self._vectors.values.take(rows, axis=0), query).tolist()
        has_vector = (self.documents[rows] == documents).tolist()
        return [one if has else None for one, has in zip(cosines, has_vector, strict=True)]

    def merge(self, places: NDArray[np.int32]) -> None:
        """Renumber documents (`places[i]` is the new number of document i) and drop those that become -1."""
        moved = places[self.documents]
        kept = moved >= 0
        if not kept.all():
            self._vectors.keep(kept)
            self._documents.keep(kept)
            for signs in self._signs:
                signs.keep(kept[: len(signs)])
        self.documents[:] = moved[kept]


def _nearest(distances: NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    """Places of the `count` least distances, roughly, in their order; never one that is `_FAR`."""
    sample = distances[:: max(1, len(distances) // _SAMPLE)]
    below = np.cumsum(np.bincount(sample))
    bound = min(int(np.searchsorted(below, count * len(sample) / len(distances))), _FAR - 1)
    found = np.flatnonzero(distances <= bound)
    if len(found) > _MANY * count:
        # Thousands that are all alike: some of them will do.
        nearer, as_near = np.flatnonzero(distances < bound), np.flatnonzero(distances == bound)
        found = np.sort(np.concatenate((nearer[:count], as_near[: max(0, count - len(nearer))])))
    return found


def _cosines(vectors: NDArray[np.int16], query: NDArray[np.float32]) -> NDArray[np.float32]:
    scores = np.matmul(vectors.astype(np.float32), query)
    scores /= SCALE
    return scores


def _sign_words(vectors: NDArray[np.float32] | NDArray[np.int16]) -> NDArray[np.uint64]:
    """One bit per dimension, padded to whole words, shape (words, n)."""
    bits = np.packbits(vectors > 0, axis=1)
    words = -(-vectors.shape[1] // _WORD_BITS)
    padded = np.zeros((len(vectors), words * _WORD_BITS // 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64).T
