"""What would be forgotten, and the receipt of what is gone: made by `forgetting`, shown by the doors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bethink.memory import Fact

OUTSIDE = (
    "Backups and exports that were made before still hold it.",
    "A model's provider received what was sent to it.",
)
"""What no forgetting here can reach."""

MORE = "More than this answers the question: ask again afterwards, or for more at once."
"""Where a query found more than it may take."""

_TOLD = 20


@dataclass(frozen=True, slots=True)
class Said:
    """What would go out of one message: its sentences, as they were said. `at` is microseconds UTC."""

    message: str
    conversation: str
    by_owner: bool
    at: int
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What would go out of one person's record."""

    person: str
    name: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What would go; nothing has. `token` confirms it.

    `facts` are those that were asked for, `versions` what these were before and
    became since: they go too. `titles` are ids of conversations named after them,
    `people` records of people that tell of them.
    `has_more` tells that more answers the question than was asked for.
    """

    token: str
    facts: tuple[Fact, ...]
    versions: tuple[Fact, ...]
    said: tuple[Said, ...]
    titles: tuple[str, ...]
    has_more: bool = False
    people: tuple[Told, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to forget."""
        return not (self.facts or self.said)

    def told(self, limit: int = _TOLD) -> str:
        """What would go as a list in Markdown, at most `limit` lines of it."""
        lines = [f"- {fact.content}" for fact in self.facts]
        lines += [f"- {fact.content} (an earlier or later version)" for fact in self.versions]
        lines += [f"- said: {' … '.join(said.sentences)}" for said in self.said]
        lines += [f"- in the record of {told.name}: {' … '.join(told.parts)}" for told in self.people]
        more = len(lines) - limit
        shown = [*lines[:limit], f"- and {more:,} more"] if more > 0 else lines
        return "\n".join([*shown, "", MORE] if self.has_more else shown)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is gone, by ids and counts; it quotes nothing. `at` is microseconds UTC.

    `facts` are the ids of all that is gone, earlier and later versions among
    them. Out of `messages` what said them was taken, `titles` are conversations
    that got another name, `doubted` are facts that rested on what is gone, out of
    the records of `people` went what told of it.
    `has_more` tells that more than this answers the question.
    """

    at: int
    facts: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    doubted: tuple[str, ...] = ()
    outside: tuple[str, ...] = OUTSIDE
    has_more: bool = False
    people: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is gone."""
        return bool(self.facts or self.messages)

    @property
    def summary(self) -> str:
        """One sentence of counts, for a person."""
        parts = [_counted(len(self.facts), "memory", "memories")]
        if self.messages:
            parts.append(f"what {_counted(len(self.messages), 'message', 'messages')} said of it")
        if self.people:
            parts.append(f"what {_counted(len(self.people), 'record', 'records')} of people told of it")
        told = f"Forgotten for good: {' and '.join(parts)}."
        return f"{told} {MORE}" if self.has_more else told


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
