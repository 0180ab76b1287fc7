"""What a person replies to an answer that waits: `/approve`, `/reject`, with a number where several wait.

Only the last message of the request, which is the user's own, is read for it: never what
a model said, nor what a state holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.agent.records import WaitingCall

_DECISION: Final = re.compile(r"\s*/(approve|reject)(?:\s+(\d{1,3}|all))?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision; `number` counts the calls that wait from 1, None is all of them."""

    approves: bool
    number: int | None = None

    def among(self, waiting: Sequence[WaitingCall]) -> Sequence[WaitingCall]:
        """The calls that it is about; none where there is no such number."""
        if self.number is None:
            return waiting
        return waiting[self.number - 1 : self.number] if self.number else ()


def decided(said: str) -> Decided | None:
    """The decision that a message is; None where it is talk."""
    found = _DECISION.fullmatch(said)
    if found is None:
        return None
    number = found[2]
    return Decided(found[1].lower() == "approve", int(number) if number and number.isdecimal() else None)
