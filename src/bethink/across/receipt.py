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

_BESIDE_PAGES = (
    "Copies that other programs made of pages, in hidden folders of the vault for example, still hold it."
)
_UNREACHED = "{:,} files of the vault that cannot be read were not looked through."

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
class ToldPage:
    """What would go out of one page of the vault."""

    path: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What would go; nothing has. `token` confirms it.

    `facts` are those that were asked for, `versions` what these were before and
    became since: they go too. `titles` are ids of conversations named after them,
    `people` records of people that tell of them.
    `pages` of the vault say it, too.
    `has_more` tells that more answers the question than was asked for.
    """

    token: str
    facts: tuple[Fact, ...]
    versions: tuple[Fact, ...]
    said: tuple[Said, ...]
    titles: tuple[str, ...]
    has_more: bool = False
    people: tuple[Told, ...] = ()
    pages: tuple[ToldPage, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to forget."""
        return not (self.facts or self.said or self.pages)

    def told(self, limit: int = _TOLD) -> str:
        """What would go as a list in Markdown, at most `limit` lines of it."""
        lines = [f"- {fact.content}" for fact in self.facts]
        lines += [f"- {fact.content} (an earlier or later version)" for fact in self.versions]
        lines += [f"- said: {' … '.join(said.sentences)}" for said in self.said]
        lines += [f"- in the record of {told.name}: {' … '.join(told.parts)}" for told in self.people]
        lines += [f"- on the page {told.path}: {' … '.join(told.parts)}" for told in self.pages]
        more = len(lines) - limit
        shown = [*lines[:limit], f"- and {more:,} more"] if more > 0 else lines
        return "\n".join([*shown, "", MORE] if self.has_more else shown)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is gone, by ids and counts; it quotes nothing. `at` is microseconds UTC.

    `facts` are the ids of all that is gone, earlier and later versions among
    them. Out of `messages` what said them was taken, `titles` are conversations
    that got another name, `doubted` are facts that rested on what is gone, out of
    the records of `people`, and out of `pages` of the vault, went what told of it.
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
    pages: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is gone."""
        return bool(self.facts or self.messages or self.pages)

    @property
    def summary(self) -> str:
        """One sentence of counts, for a person."""
        parts = [_counted(len(self.facts), "memory", "memories")]
        if self.messages:
            parts.append(f"what {_counted(len(self.messages), 'message', 'messages')} said of it")
        if self.people:
            parts.append(f"what {_counted(len(self.people), 'record', 'records')} of people told of it")
        if self.pages:
            parts.append(f"what {_counted(len(self.pages), 'page', 'pages')} of the vault said of it")
        told = f"Forgotten for good: {' and '.join(parts)}."
        return f"{told} {MORE}" if self.has_more else told


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def outside(*, has_pages: bool, unreached: int) -> tuple[str, ...]:
    """What a forgetting did not reach, where it took something out of pages or could not read some."""
    told = [_BESIDE_PAGES] if has_pages else []
    return (*OUTSIDE, *told, *([_UNREACHED.format(unreached)] if unreached else []))
