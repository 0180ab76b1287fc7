"""What a service keeps for each owner, or for another key, and does not keep for ever.

Owners come and go by the thousand: each conversation that comes through DIAL is one. A dictionary
that only grows would outlive them all.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K")
V = TypeVar("V")


class PerKey(Generic[K, V]):
    """A value for each key while somebody uses it, such as a lock: one that nobody holds can be made anew."""

    def __init__(self, make: Callable[[], V]) -> None:
        self._make = make
        self._values: WeakValueDictionary[K, V] = WeakValueDictionary()

    def __getitem__(self, key: K) -> V:
        """The value that is in use, or a new one; it is kept while the caller holds it."""
        value = self._values.get(key)
        if value is None:
            self._values[key] = value = self._make()
        return value

    def __len__(self) -> int:
        """How many are in use."""
        return len(self._values)


class Recent(Generic[K, V]):
    """Values of the keys that were used last, at most so many: the others are found out anew."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()

    def __setitem__(self, key: K, value: V) -> None:
        """Keep a value; that of the key which was used longest ago may go."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

    def get(self, key: K) -> V | None:
        """The value, if it is kept."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def pop(self, key: K) -> V | None:
        """The same, and it is not kept any more."""
        return self._values.pop(key, None)

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._values)
