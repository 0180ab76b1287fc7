"""What would be forgotten, and the receipt of what is gone: made by `forgetting`, shown by the doors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bethink.feature import RecordExcerpt
    from bethink.forgetting.selection import FullSelection, KindCount
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
class MessageExcerpt:
    """What would go out of one message: its sentences, as they were said. `at` is microseconds UTC."""

    message: str
    conversation: str
    by_owner: bool
    at: int
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageExcerpt:
    """What would go out of one page of the vault."""

    path: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What would go; nothing has. `token` confirms it.

    `facts` are those that were asked for, `versions` what these were before and
    became since: they go too. `titles` are ids of conversations named after them,
    other `records`, and `pages` of the vault, say it, too.
    `has_more` tells that more answers the question than was asked for.
    `held` is what else holds its words, by kind.
    """

    token: str
    facts: tuple[Fact, ...]
    versions: tuple[Fact, ...]
    said: tuple[MessageExcerpt, ...]
    titles: tuple[str, ...]
    has_more: bool = False
    records: tuple[RecordExcerpt, ...] = ()
    pages: tuple[PageExcerpt, ...] = ()
    whole: FullSelection | None = None
    held: tuple[KindCount, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to forget."""
        some = self.facts or self.said or self.pages or self.held
        return not some and (self.whole is None or self.whole.is_empty)

    @property
    def counts(self) -> list[str]:
        """How many of each kind would go, in words, if everything does."""
        if self.whole is None:
            return [f"{counted(one.count, one.one, one.many)} whose words hold it" for one in self.held]
        facts = len(self.facts) + len(self.versions)
        return [counted(facts, "memory", "memories"), *self.whole.told(is_done=False)]

    def told(self, limit: int = _TOLD) -> str:
        """What would go as a list in Markdown, at most `limit` lines of it."""
        counts = [f"- **{line}**" for line in self.counts]
        lines = [f"- {fact.content}" for fact in self.facts]
        lines += [f"- {fact.content} (an earlier or later version)" for fact in self.versions]
        lines += [f"- said: {' … '.join(said.sentences)}" for said in self.said]
        lines += [f"- in the record of {told.name}: {' … '.join(told.parts)}" for told in self.records]
        lines += [f"- on the page {told.path}: {' … '.join(told.parts)}" for told in self.pages]
        lines += [f"- {line}" for one in self.held for line in one.lines]
        lines += [f"- {line}" for line in (self.whole.lines if self.whole else ())]
        more = len(lines) - limit
        shown = [*counts, *lines[:limit], *([f"- and {more:,} more"] if more > 0 else [])]
        return "\n".join([*shown, "", MORE] if self.has_more else shown)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is gone, by ids and counts; it quotes nothing. `at` is microseconds UTC.

    `facts` are the ids of all that is gone, earlier and later versions among
    them. Out of `messages` what said them was taken, `titles` are conversations
    that got another name, `doubted` are facts that rested on what is gone, out of
    other `records`, by kind, and out of `pages` of the vault, went what told of it.
    `has_more` tells that more than this answers the question. `held` is what else held its words, by kind.
    `outside` tells what may still say it; those sentences of it that the store gave are in `remains`, too.
    """

    at: int
    facts: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    doubted: tuple[str, ...] = ()
    outside: tuple[str, ...] = OUTSIDE
    has_more: bool = False
    records: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    pages: tuple[str, ...] = ()
    whole: FullSelection | None = None
    held: tuple[KindCount, ...] = ()
    remains: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is gone."""
        some = self.facts or self.messages or self.pages or self.held
        return bool(some or (self.whole and not self.whole.is_empty))

    @property
    def counts(self) -> dict[str, int]:
        """How much is gone, by kind."""
        held = {one.kind: one.count for one in self.held}
        return {"facts": len(self.facts), **held, **(self.whole.by_kind if self.whole else {})}

    @property
    def summary(self) -> str:
        """One sentence of counts, for a person."""
        parts = [counted(len(self.facts), "memory", "memories")]
        if self.messages:
            parts.append(f"what {counted(len(self.messages), 'message', 'messages')} said of it")
        for kind, ids in self.records.items():
            parts.append(f"what {counted(len(ids), 'record', 'records')} of {kind} told of it")
        if self.pages:
            parts.append(f"what {counted(len(self.pages), 'page', 'pages')} of the vault said of it")
        parts += [f"what {counted(one.count, one.one, one.many)} held of it" for one in self.held]
        if self.whole is not None:
            parts += self.whole.told(is_done=True)
        told = f"Forgotten for good: {' and '.join(parts)}."
        return f"{told} {MORE}" if self.has_more else told


def counted(count: int, one: str, many: str) -> str:
    """A number and what it counts."""
    return f"{count:,} {one if count == 1 else many}"


def outside(*, has_pages: bool, unreached: int) -> tuple[str, ...]:
    """What a forgetting did not reach, where it took something out of pages or could not read some."""
    told = [_BESIDE_PAGES] if has_pages else []
    return (*OUTSIDE, *told, *([_UNREACHED.format(unreached)] if unreached else []))
