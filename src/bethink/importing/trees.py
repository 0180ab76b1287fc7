"""Where the messages of an export stand among a conversation's branches. Arithmetic; `talks` calls it.

An export's tree grows: what is known stays where it is, what is new goes on
behind it, on the branch itself where that ends there and else on one of its own.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from bethink.conversations import MAX_BRANCHES, Branch, branch_of, switched

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.conversations import Conversation
    from bethink.importing.items import Turn


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a turn ends: its branch, and the position behind its last message."""

    branch: int
    end: int


def parents_first(turns: Sequence[Turn]) -> list[Turn]:
    """The turns in their order, but none before its parent; those that hang on themselves are left out."""
    children: defaultdict[str | None, list[Turn]] = defaultdict(list)
    keys = {turn.key for turn in turns}
    for turn in turns:
        children[turn.parent if turn.parent in keys else None].append(turn)
    ordered: list[Turn] = []
    taken: set[str] = set()
    waiting = children[None][::-1]
    while waiting:
        turn = waiting.pop()
        if turn.key in taken:
            continue
        taken.add(turn.key)
        ordered.append(turn)
        waiting += children[turn.key][::-1]
    return ordered


@dataclass(slots=True)
class Growing:
    """A conversation's branches while turns are placed on them; `left` counts those that found none free."""

    held: Conversation
    left: int = 0
    _branches: list[Branch] = field(default_factory=list[Branch])

    def __post_init__(self) -> None:
        self._branches = list(self.held.branches) or [branch_of(self.held, 0)]

    def place(self, after: Spot | None, messages: int) -> Spot | None:
        """Room for so many messages behind a spot, None being the beginning; None where no branch is left.

        The spot is where they end: the first stands `messages` before it.
        """
        number = self._branch(after)
        if number is None:
            self.left += 1
            return None
        end = self._branches[number].count + messages
        self._branches[number] = msgspec.structs.replace(self._branches[number], count=end)
        return Spot(number, end)

    def _branch(self, after: Spot | None) -> int | None:
        parent, start = (None, 0) if after is None else (after.branch, after.end)
        here = 0 if parent is None else parent
        if self._branches[here].count == start:
            return here
        if len(self._branches) >= MAX_BRANCHES:
            return None
        self._branches.append(Branch(parent=parent, start=start, count=start))
        return len(self._branches) - 1

    def grown(self, active: int | None = None) -> Conversation:
        """The record as it is now, with the given branch active; the one that was, where none is given."""
        branches = tuple(self._branches) if len(self._branches) > 1 else ()
        count = self._branches[self.held.branch].count
        now = msgspec.structs.replace(self.held, branches=branches, count=count)
        return now if active is None else switched(now, active)
