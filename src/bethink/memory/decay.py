"""How far facts have faded that nobody needed for long: recall ranks them lower. `reflection` works it out.

Nothing goes by it, and nothing of the fact itself changes: it is a factor of its importance, kept beside it,
and what is said or recalled again does not fade any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bethink.principal import Recent
from bethink.store import Collection, Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bethink.clock import Clock
    from bethink.memory.facts import Fact
    from bethink.store import Store

_DAY_US: Final = 86_400_000_000
_STEPS: Final = ((360, 0.25), (180, 0.5), (90, 0.75))
"""From so many days without use on, what is left of the importance."""
_USED_OFTEN: Final = 3
"""In so many conversations: then it takes twice as long."""
_LASTING: Final = 0.8
"""From this importance on nothing fades, as it is always told."""
_READ_AGAIN_US: Final = 600_000_000
"""Another process may have worked it out anew."""
_OWNERS: Final = 1_000
ID: Final = "fading"


class Fading(Record, frozen=True, kw_only=True):
    """An owner's, one of them. `factors` are of the facts that have faded, by their ids, below 1."""

    id: str = ID
    schema: int = 1
    factors: dict[str, float]


FADING: Final = Collection("memory_fading", Fading, searchable=False)


@dataclass(frozen=True, slots=True)
class FadingFactors:
    """What is read for each recall, so it is kept for ten minutes."""

    store: Store
    clock: Clock
    _known: Recent[str, tuple[int, Mapping[str, float]]] = field(
        default_factory=lambda: Recent[str, "tuple[int, Mapping[str, float]]"](_OWNERS), repr=False
    )

    async def of(self, owner: str) -> Mapping[str, float]:
        """By the ids of facts; of others it is 1."""
        known, now = self._known.get(owner), self.clock.now_us()
        if known is None or not 0 <= now - known[0] < _READ_AGAIN_US:
            (found,) = await self.store.get(FADING, owner, [ID])
            known = now, {} if found is None else found.record.factors
        self._known[owner] = known
        return known[1]

    def forget(self, owner: str) -> None:
        """Read it again the next time."""
        self._known.pop(owner)


def factor_of(fact: Fact, *, used_at: int, uses: int, now: int) -> float:
    """What is left of a fact's importance; `used_at` is when it was last said or shown (microseconds UTC)."""
    if fact.pinned or fact.importance >= _LASTING:
        return 1.0
    days = (now - used_at) / _DAY_US / (2 if uses >= _USED_OFTEN else 1)
    return next((factor for least, factor in _STEPS if days >= least), 1.0)
