"""What a feature says of itself to the rest of the house: where a memory came from, what recall shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.principal import Principal


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a fact came from. `id` is the conversation's or import's, `message` the message's.

    `said` is what it said where the fact was put in fuller words since. Where filters restrained
    who said it, `by` is their audience, and `under` the number of the newest of those filters.
    """

    kind: Literal["conversation", "tool", "import", "person"]
    id: str | None = None
    message: str | None = None
    at: int = 0
    said: str | None = None
    by: str | None = None
    under: int = 0


@dataclass(frozen=True, slots=True)
class Recallable:
    """What a feature tells of a candidate: enough to rank and to show it.

    Times are microseconds UTC; `valid_until` is None while it holds. `source`
    names where it came from, `doubt` says in a few words why it may not hold,
    `position` is a message's place in its conversation, `superseded_by` the id
    of the fact that took its place. What is `untrusted` came from outside. What
    `is_part` says less than what the index holds; what is searched stands `below` its headings.
    `said_by` are a fact's sources.
    """

    text: str
    at: int
    importance: float
    source: str | None
    conversation: str | None = None
    speaker: str | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    doubt: str | None = None
    position: int | None = None
    superseded_by: str | None = None
    untrusted: bool = False
    is_part: bool = False
    below: str = ""
    said_by: tuple[Source, ...] = ()

    @property
    def searched(self) -> str:
        """What of it may be searched for."""
        return f"{self.below}\n{self.text}" if self.below else self.text

    def saying(self, text: str) -> Recallable:
        """The same, of which no more than a text is told."""
        return replace(self, text=text, is_part=True)


class Resolve(Protocol):
    """The recallables of one kind's ids, in their order; None for what is gone. One a kind."""

    async def __call__(self, principal: Principal, ids: Sequence[str]) -> Sequence[Recallable | None]:
        """The recallables."""
        ...
