"""How well an owner is known, month by month: what is known, and what became of it. Months are UTC's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from bethink.clock import to_datetime
from bethink.conversations.records import MESSAGES
from bethink.forgetting.announcements import forgotten_by_month
from bethink.memory import FACTS, STEPS
from bethink.store import Scan, pages_of

if TYPE_CHECKING:
    from bethink.store import Store

_MOST: Final = 24
_PAGE: Final = 500
_CORRECTED: Final = frozenset({"superseded", "corrected"})


@dataclass(frozen=True, slots=True)
class KnownMonth:
    """One month, such as `2026-11`.

    `known` are the facts in use that had been learnt by its end, `learnt` those of the month. `recalled` are
    answers that were given with memories, `used` those that name one. The log keeps changes for a year.
    """

    month: str
    known: int
    learnt: int
    recalled: int
    used: int
    corrected: int
    forgotten: int


async def months_of(store: Store, owner: str) -> list[KnownMonth]:
    """The last two years of months in which anything was, oldest first."""
    learnt, recalled, used, corrected = (Counter[str]() for _ in range(4))
    async for facts in pages_of(store, owner, Scan(FACTS, {"state": "active"}, limit=_PAGE)):
        learnt.update(_month(item.record.created_at) for item in facts)
    async for messages in pages_of(store, owner, Scan(MESSAGES, limit=_PAGE)):
        recalled.update(_month(item.record.at) for item in messages if item.record.recalled)
        used.update(_month(item.record.at) for item in messages if item.record.used)
    async for steps in pages_of(store, owner, Scan(STEPS, order="at", limit=_PAGE)):
        corrected.update(_month(item.record.at) for item in steps if item.record.change in _CORRECTED)
    forgotten = await forgotten_by_month(store, owner)
    months = sorted({*learnt, *recalled, *used, *corrected, *forgotten})
    known = accumulate(learnt[month] for month in months)
    return [
        KnownMonth(
            month,
            so_far,
            learnt[month],
            recalled[month],
            used[month],
            corrected[month],
            forgotten.get(month, 0),
        )
        for month, so_far in zip(months, known, strict=True)
    ][-_MOST:]


def _month(at: int) -> str:
    return f"{to_datetime(at):%Y-%m}"
