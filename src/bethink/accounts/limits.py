"""How often something may be done: token buckets in memory, one for each key, owner or address.

A process counts for itself: of several, each lets through as much.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bethink.errors import TooManyRequests

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 10_000
"""Buckets that are kept; the one that was used longest ago goes first, and is full again then."""
_MINUTE_S = 60


@dataclass(slots=True)
class Buckets:
    """`per_minute` on average, as many at once; 0 is no limit."""

    per_minute: int
    what: str = "requests"
    monotonic_s: Callable[[], float] = time.monotonic
    _held: OrderedDict[str, tuple[float, float]] = field(
        default_factory=OrderedDict[str, tuple[float, float]], repr=False
    )

    def take(self, name: str) -> None:
        """Take one from the bucket.

        Raises:
            TooManyRequests: it is empty; the error says for how long.
        """
        if not self.per_minute:
            return
        if (wait_s := self.wait_s(name)) > 0:
            message = f"Too many {self.what}: at most {self.per_minute} a minute. Wait {wait_s:.0f} s."
            raise TooManyRequests(message, retry_after_s=wait_s)
        left, now_s = self._left(name)
        self._held[name] = (left - 1, now_s)
        self._held.move_to_end(name)
        if len(self._held) > _MOST:
            self._held.popitem(last=False)

    def wait_s(self, name: str) -> float:
        """How long until the bucket holds one; 0 where it does."""
        left, _ = self._left(name)
        return 0 if left >= 1 or not self.per_minute else (1 - left) * _MINUTE_S / self.per_minute

    def forgive(self, name: str) -> None:
        """Fill the bucket."""
        self._held.pop(name, None)

    def _left(self, name: str) -> tuple[float, float]:
        now_s = self.monotonic_s()
        left, at_s = self._held.get(name, (self.per_minute, now_s))
        return min(self.per_minute, left + (now_s - at_s) * self.per_minute / _MINUTE_S), now_s
