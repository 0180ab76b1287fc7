"""Where the lines of a conversation part: arithmetic on its record. The service and `agent/runs` call it.

A conversation is a tree of messages. Each message belongs to one branch and has
the position that it takes on its line, counted from the conversation's first
message. A branch holds only what is its own: before its `start` its line is
that of the branch it left (`parent`). So nothing is ever copied or moved; the
active line is found from the conversation's record alone, as a few ranges of
positions, and another line is made active by writing one number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from bethink.conversations.records import Branch, title_from
from bethink.errors import BadInput, UnknownId
from bethink.messages import UserMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.conversations.records import Conversation, StoredMessage

MAX_BRANCHES = 500
"""Of one conversation: all are on its record, about 30 bytes each, which every turn writes."""


@dataclass(frozen=True, slots=True)
class MessageRange:
    """Messages of one branch that follow one another: positions `start` (inclusive) to `end` (exclusive)."""

    branch: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Siblings:
    """The branches that hold another message at the same place, this one's too, oldest first."""

    branches: tuple[int, ...]
    index: int


def line(held: Conversation, branch: int | None = None) -> list[MessageRange]:
    """The stretches of a branch's line, the active one's by default, from its end to its beginning."""
    here: int | None = held.branch if branch is None else branch
    stretches: list[MessageRange] = []
    end: int | None = None
    while here is not None:
        one = branch_of(held, here)
        last = one.count if end is None else min(end, one.count)
        if last > one.start:
            stretches.append(MessageRange(here, one.start, last))
        here, end = one.parent, one.start
    return stretches


def branch_of(held: Conversation, number: int) -> Branch:
    """The branch with that number.

    Raises:
        UnknownId: the conversation has none.
    """
    if not held.branches and number == 0:
        return Branch(parent=None, start=0, count=held.count)
    if not 0 <= number < len(held.branches):
        message = f"This conversation has no branch {number}."
        raise UnknownId(message)
    return held.branches[number]


def is_on_line(held: Conversation, stored: StoredMessage) -> bool:
    """Whether the message stands on the active line."""
    if not held.branches:
        return stored.branch == 0
    return any(one.branch == stored.branch and one.start <= stored.position < one.end for one in line(held))


def siblings(held: Conversation, stored: StoredMessage) -> Siblings | None:
    """What else was said in the message's place; None where there was only one thing."""
    parent = _before(held, stored.branch, stored.position)
    others = [
        number
        for number, one in enumerate(held.branches)
        if (number == parent and one.start < stored.position < one.count)
        or (one.parent == parent and one.start == stored.position < one.count)
    ]
    if len(others) < 2:  # noqa: PLR2004 - itself and another
        return None
    return Siblings(tuple(others), others.index(stored.branch))


def edited(held: Conversation, stored: StoredMessage) -> Conversation:
    """The record with a new branch made active that goes on in place of the message.

    Raises:
        BadInput: the conversation has `MAX_BRANCHES` already.
    """
    return _parted(held, _before(held, stored.branch, stored.position), stored.position)


def continued(held: Conversation, stored: StoredMessage) -> Conversation:
    """The record with a branch made active that goes on behind the message.

    That is the message's own branch where it is the last one there, and else a new one.

    Raises:
        BadInput: the conversation has `MAX_BRANCHES` already.
    """
    if stored.position + 1 == branch_of(held, stored.branch).count:
        return switched(held, stored.branch)
    return _parted(held, stored.branch, stored.position + 1)


def switched(held: Conversation, branch: int) -> Conversation:
    """The record with another branch made active.

    Raises:
        UnknownId: the conversation has no such branch.
    """
    return msgspec.structs.replace(held, branch=branch, count=branch_of(held, branch).count)


def grown(held: Conversation, count: int, branch: int | None = None) -> Conversation:
    """The record with `count` messages on the line of a branch, the active one by default."""
    number = held.branch if branch is None else branch
    return msgspec.structs.replace(
        held,
        count=count if number == held.branch else held.count,
        branches=_counted(held, number, count),
    )


def appended(
    held: Conversation, messages: Sequence[StoredMessage], *, at: int, active_run: str | None
) -> Conversation:
    """The conversation's record after `messages` were added behind the last one of the active line."""
    title, titled, named_by = held.title, held.titled, held.named_by
    first = next((stored.message for stored in messages if isinstance(stored.message, UserMessage)), None)
    if not titled and first is not None:
        title, titled, named_by = title_from(first.content), True, "words"
    return msgspec.structs.replace(
        grown(held, held.count + len(messages)),
        title=title,
        titled=titled,
        named_by=named_by,
        updated_at=at,
        active_run=active_run,
    )


def _before(held: Conversation, branch: int, position: int) -> int | None:
    """The branch that holds what stands before a message; None at the beginning."""
    if position == 0:
        return None
    one = branch_of(held, branch)
    return branch if position > one.start else one.parent


def _parted(held: Conversation, parent: int | None, start: int) -> Conversation:
    """A branch that has said nothing yet is taken where there is one, so that trying costs none."""
    new = Branch(parent=parent, start=start, count=start)
    branches: Sequence[Branch] = held.branches or (branch_of(held, 0),)
    if new in branches:
        number = branches.index(new)
    elif len(branches) >= MAX_BRANCHES:
        message = (
            f"This conversation has {MAX_BRANCHES} branches: begin a new conversation, or delete this one."
        )
        raise BadInput(message)
    else:
        number, branches = len(branches), (*branches, new)
    return msgspec.structs.replace(held, branch=number, branches=tuple(branches), count=start)


def _counted(held: Conversation, number: int, count: int) -> tuple[Branch, ...]:
    if not held.branches:
        return ()
    branches = list(held.branches)
    branches[number] = msgspec.structs.replace(branches[number], count=count)
    return tuple(branches)
