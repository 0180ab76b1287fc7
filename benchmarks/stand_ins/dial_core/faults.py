"""What goes wrong in the stand-in when it is told to: tests and people try out with it what happens then."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal["status", "delay", "drop", "drop_midway", "slow", "race"]


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happens to the next `times` requests of a `method` whose path fits the pattern.

    `status`: they are refused with it and `text`. `delay`: they are answered
    `delay_ms` later. `drop`: the connection is cut instead of an answer;
    `drop_midway`: after the first part of it. `slow`: `delay_ms` pass before
    each part of it. `race`: `text` is written to the file first, by somebody else.
    """

    kind: Kind
    path: str = ".*"
    method: str = ".*"
    times: int = 1
    status: int = 500
    text: str = "The stand-in was told to fail."
    delay_ms: float = 0

    def fits(self, method: str, path: str) -> bool:
        """Whether it is about such a request."""
        return bool(re.fullmatch(self.method, method) and re.search(self.path, path))


@dataclass(slots=True)
class Faults:
    """The faults that are still to happen."""

    _left: list[tuple[Fault, int]] = field(default_factory=list[tuple[Fault, int]])

    def set(self, faults: Sequence[Fault]) -> None:
        """Have these happen, and no others."""
        self._left = [(fault, fault.times) for fault in faults]

    def take(self, method: str, path: str) -> list[Fault]:
        """What happens to a request, which is counted."""
        taken: list[Fault] = []
        left: list[tuple[Fault, int]] = []
        for fault, times in self._left:
            fits = fault.fits(method, path)
            if fits:
                taken.append(fault)
            if times - fits > 0:
                left.append((fault, times - fits))
        self._left = left
        return taken


async def waited(faults: Sequence[Fault], *kinds: Kind) -> None:
    """Let pass the time that faults of these kinds cost."""
    for fault in faults:
        if fault.kind in kinds and fault.delay_ms:
            await asyncio.sleep(fault.delay_ms / 1000)
