"""A numpy array that grows at its end. The index's legs and shards are made of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

T = TypeVar("T", bound=np.generic)

_GROWTH = 1.25
"""Room is made in proportion, so that adding one by one costs the same per item at any size."""


class Column(Generic[T]):
    """Values of one type, shape (n, *width)."""

    def __init__(self, kind: type[T], *width: int) -> None:
        self._room: NDArray[T] = np.empty((0, *width), kind)
        self._values = self._room

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> NDArray[T]:
        """All values; a view, valid until the next change."""
        return self._values

    @property
    def nbytes(self) -> int:
        """Bytes of memory, spare room included."""
        return self._room.nbytes

    def reserve(self, length: int) -> None:
        """Make room for so many values in all."""
        if length > len(self._room):
            room = np.empty((length, *self._room.shape[1:]), self._room.dtype)
            room[: len(self._values)] = self._values
            self._room, self._values = room, room[: len(self._values)]

    def extend(self, values: ArrayLike) -> None:
        """Add values at the end, shape (m, *width)."""
        fresh: NDArray[Any] = np.asarray(values, self._room.dtype)
        start, end = len(self._values), len(self._values) + len(fresh)
        if end > len(self._room):
            self.reserve(max(end, int(end * _GROWTH)))
        self._room[start:end] = fresh
        self._values = self._room[:end]

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop what the mask, shape (n,), does not say."""
        self._room = self._values[mask]
        self._values = self._room
