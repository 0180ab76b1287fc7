"""Which forgettings are under way, and what they take: what `forgetting` writes down and live runs listen to.

A run may live in another process than the one that forgets, and what was
forgotten is written nowhere. So a forgetting is announced before anything of it
goes: whoever keeps a run expects the announcements' version in its own commits,
and one that is refused reads here what it must not keep, while it can be read
(`ForgetBarrier`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Literal

import anyio.to_thread
import msgspec

from bethink.clock import to_datetime
from bethink.errors import Conflict
from bethink.forgettable import TextPlace
from bethink.forgetting.occurrences import MessageCut, OccurrenceFinder, names_of, redacted, texts_of
from bethink.forgetting.pages import PageCut, cut_out
from bethink.redaction import Redaction, redaction_of, redaction_of_everything
from bethink.store import Change, Collection, Expect, Put, Record, Store, Versioned, retry_conflicts

if TYPE_CHECKING:
    from bethink.conversations.records import StoredMessage


_ONE = "forgettings"
_MONTHS = 24


class ForgetIntent(Record, frozen=True, kw_only=True):
    """What is being forgotten, by ids and places alone.

    `open` until it is gone from the records, `traces` until the files are clean;
    then it is deleted (earlier versions of Bethink kept it for a day as `done`).
    `places` are what else holds the words of a question.
    With everything, what was said in `conversations` is kept or removed, but for the one
    that it was `asked_in`, and all of these `kinds` go.
    """

    at: int
    state: Literal["open", "traces", "done"]
    facts: tuple[str, ...] = ()
    cuts: tuple[MessageCut, ...] = ()
    pages: tuple[PageCut, ...] = ()
    kinds: tuple[str, ...] = ()
    conversations: Literal["", "keep", "remove"] = ""
    asked_in: str | None = None
    places: tuple[TextPlace, ...] = ()


class AnnouncementState(Record, frozen=True, kw_only=True):
    """One an owner: the intents `under_way`, how many have `ended`, and how many facts went in each month."""

    under_way: tuple[str, ...] = ()
    ended: int = 0
    forgotten: dict[str, int] = msgspec.field(default_factory=dict[str, int])


INTENTS = Collection(
    "forgettings", ForgetIntent, ("state", "at"), scans=(("state", "at"), ("at",)), searchable=False
)
ANNOUNCED = Collection("meta", AnnouncementState, searchable=False)


@dataclass(frozen=True, slots=True)
class Announcements:
    """The forgettings of all owners."""

    store: Store
    occurrences: OccurrenceFinder

    async def announced(self, owner: str) -> Versioned[AnnouncementState]:
        """What is announced now; see `announced_of`."""
        return await announced_of(self.store, owner)

    @retry_conflicts
    async def announce(self, owner: str, intent: str, changes: Sequence[Change] = ()) -> None:
        """Announce an intent, with these changes; nothing happens where it is announced already."""
        now = await self.announced(owner)
        if intent in now.record.under_way:
            return
        announced = msgspec.structs.replace(now.record, under_way=(*now.record.under_way, intent))
        await self.store.commit(owner, [*changes, Put(ANNOUNCED, announced, now.version)])

    async def end(self, owner: str, intent: str, *, at: int, facts: int) -> Change:
        """The change by which an intent of `at` has ended, with which so many facts go.

        It belongs into the commit that removes everything.
        """
        now = await self.announced(owner)
        left = tuple(id for id in now.record.under_way if id != intent)
        ended = now.record.ended + len(now.record.under_way) - len(left)
        month = f"{to_datetime(at):%Y-%m}"
        counts = now.record.forgotten | {month: now.record.forgotten.get(month, 0) + facts}
        forgotten = dict(sorted(counts.items())[-_MONTHS:])
        state = AnnouncementState(id=_ONE, under_way=left, ended=ended, forgotten=forgotten)
        return Put(ANNOUNCED, state, now.version)

    async def redaction(self, owner: str, intent: str) -> Redaction | None:
        """What an intent takes out of texts; None where nobody can tell any more: it is gone."""
        (found,) = await self.store.get(INTENTS, owner, [intent])
        if found is None or found.record.state != "open":
            return None
        facts = await self.occurrences.versions(owner, found.record.facts)
        texts = [text for fact in facts for text in (*texts_of(fact.record), *names_of(fact.record))]
        said = await self.occurrences.said(owner, found.record.cuts)
        texts += [text for parts in said.values() for text in parts]
        texts += await cut_out(self.store, owner, found.record.pages)
        (after,) = await self.store.get(INTENTS, owner, [intent])
        if after is None or after.record.state != "open":
            # It ended while it was read: there may be more.
            return None
        return await anyio.to_thread.run_sync(redaction_of, texts)


@dataclass(frozen=True, slots=True)
class StableRead:
    """What was read holds while nothing was announced, nor has ended, since.

    Whoever writes from it expects that in the commit, and looks once more before a file is written.
    """

    store: Store
    owner: str
    since: int

    @classmethod
    async def now(cls, store: Store, owner: str) -> StableRead:
        """Made before anything is read."""
        return cls(store, owner, (await announced_of(store, owner)).version)

    async def listen(self) -> None:
        """Look whether it holds.

        Raises:
            Conflict: it does not: read all of it again.
        """
        if self.since != (await announced_of(self.store, self.owner)).version:
            raise Conflict

    def says(self, text: str) -> bool:
        """Whether a text says something that was forgotten meanwhile: nothing was."""
        del text
        return False

    @property
    def expected(self) -> list[Change]:
        """What refuses a commit where it does not hold."""
        return [Expect(ANNOUNCED, _ONE, self.since)]


async def announced_of(store: Store, owner: str) -> Versioned[AnnouncementState]:
    """What is announced now; of version 0 where nothing ever was.

    Another version tells that something was forgotten. Each forgetting that has `ended` was one change of
    the facts.
    """
    (found,) = await store.get(ANNOUNCED, owner, [_ONE])
    return found or Versioned(AnnouncementState(id=_ONE), 0)


async def forgotten_by_month(store: Store, owner: str) -> dict[str, int]:
    """How many facts were forgotten in each month, such as `2026-11` (UTC), of the last two years."""
    return (await announced_of(store, owner)).record.forgotten


def expecting(announced: Versioned[AnnouncementState]) -> Expect[AnnouncementState]:
    """Refuses a commit if something was announced, or has ended, since this was read."""
    return Expect(ANNOUNCED, _ONE, announced.version)


@dataclass(slots=True)
class ForgetBarrier:
    """What a run of the owner has heard of forgettings."""

    owner: str
    announcements: Announcements
    gone: tuple[Redaction, ...] = ()
    _known: Versioned[AnnouncementState] | None = None
    _tell: Callable[[Redaction], None] = lambda _gone: None
    _heard: set[str] = field(default_factory=set[str])
    _listening: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    @classmethod
    async def listening(cls, owner: str, announcements: Announcements) -> ForgetBarrier:
        """One that has listened: made before anything is read for the run."""
        barrier = cls(owner, announcements)
        await barrier.listen()
        return barrier

    async def listen(self) -> None:
        """Hear what was announced since the last time.

        What had ended before it was heard, nobody can tell any more. Then
        nothing at all that the run says is kept.
        """
        async with self._listening:
            known, now = self._known, await self.announcements.announced(self.owner)
            if known is not None and known.version == now.version:
                return
            under_way = set(now.record.under_way)
            for intent in under_way - self._heard:
                gone = await self.announcements.redaction(self.owner, intent)
                if gone is not None or known is not None:
                    self._take(gone or redaction_of_everything())
            ended = self._heard - under_way
            if known is not None and now.record.ended - known.record.ended > len(ended):
                self._take(redaction_of_everything())
            self._heard = under_way
            self._known = now

    def tell(self, forget: Callable[[Redaction], None]) -> None:
        """Have `forget` called with each redaction, those heard so far too."""
        self._tell = forget
        for gone in self.gone:
            forget(gone)

    @property
    def expected(self) -> list[Change]:
        """What refuses a commit if there is something that was not heard."""
        return [] if self._known is None else [expecting(self._known)]

    def said(self, message: StoredMessage) -> StoredMessage:
        """The message without what was forgotten while the run lived."""
        return reduce(lambda said, gone: redacted(said, gone, close=True)[0], self.gone, message)

    def says(self, text: str) -> bool:
        """Whether the text says what was forgotten while the run lived."""
        return any(gone.spans(text, close=True) for gone in self.gone)

    def title(self, title: str) -> str:
        """A conversation's title, or its system prompt, without it."""
        return reduce(lambda title, gone: gone.cut(title, close=True)[0], self.gone, title)

    def _take(self, gone: Redaction) -> None:
        self.gone = (*self.gone, gone)
        self._tell(gone)
