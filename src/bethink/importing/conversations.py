"""Conversations of an export become conversations here: each once, and grown where the export has more of it.

What was taken is known by ids made of the export's own, so a second import
changes nothing and one that was cut short goes on. A conversation that went on
here keeps what was said here; what forgetting took out of a message stays out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from bethink.conversations import CONVERSATIONS, MESSAGES, Conversation, title_from, turn_of
from bethink.importing.attached import Attached
from bethink.importing.fields import one_line
from bethink.importing.items import Left
from bethink.importing.messages import ids_of, said_in, stored
from bethink.importing.records import GROWN, TAKEN, Grown, Taken, stable_id
from bethink.importing.trees import Growing, Spot
from bethink.messages import UserMessage
from bethink.store import Put, Scan
from bethink.store.retry import retry_conflicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.blobs import Blobs
    from bethink.clock import Clock
    from bethink.conversations import StoredMessage
    from bethink.importing.archive import Archive
    from bethink.importing.items import Talk, Turn
    from bethink.importing.records import Marks
    from bethink.store import Change, Store, Versioned

ORIGINS = {"chatgpt": "ChatGPT", "claude": "Claude"}
"""What a conversation says of where it was held."""
_READ_AT_ONCE = 500


@dataclass(slots=True)
class Outcome:
    """What became of some things: counted by the names of `Tally`, and what is to be told of them."""

    counts: Counter[str] = field(default_factory=Counter[str])
    messages: int = 0
    files: int = 0
    left: list[Left] = field(default_factory=list[Left])
    places: dict[str, str] = field(default_factory=dict[str, str])
    """By the things' keys, where they are."""


@dataclass(frozen=True, slots=True)
class Talks:
    """Takes conversations in for one owner, as one import; with `preview` it only says what it would."""

    store: Store
    blobs: Blobs
    clock: Clock
    owner: str
    batch: str
    source: str
    marks: Marks
    max_file_bytes: int
    preview: bool = False

    @retry_conflicts
    async def take(self, talks: Sequence[Talk], archive: Archive) -> Outcome:
        """Take them in, all or none; durable when it returns.

        Raises:
            Conflict: others keep changing the same conversations.
            StorageError: they cannot be kept.
        """
        draft = _Draft(self, archive)
        await draft.read(talks)
        for talk in talks:
            await draft.add(talk)
        if not self.preview and draft.changes:
            await self.store.commit(self.owner, draft.changes)
        if not self.preview:
            await draft.attached.write()
        return draft.outcome


def total_of(held: Conversation) -> int:
    """How many messages all its branches hold."""
    return sum(one.count - one.start for one in held.branches) if held.branches else held.count


class _Draft:
    """One commit being made."""

    def __init__(self, taking: Talks, archive: Archive) -> None:
        self.taking = taking
        self.outcome = Outcome()
        self.changes: list[Change] = []
        self.attached = Attached(taking.blobs, taking.owner, archive, taking.max_file_bytes)
        self._rows: dict[str, Versioned[Taken]] = {}
        self._same: dict[str, str] = {}
        self._held: dict[str, Versioned[Conversation]] = {}
        self._seen: set[str] = set()
        self._said: dict[int, str] = {}

    async def read(self, talks: Sequence[Talk]) -> None:
        """What is here of these conversations already."""
        store, owner = self.taking.store, self.taking.owner
        ids = [self._row_id(talk) for talk in talks]
        rows = await store.get(TAKEN, owner, ids)
        self._rows = {row.record.id: row for row in rows if row is not None}
        new = [self._says(talk) for talk, id in zip(talks, ids, strict=True) if id not in self._rows]
        pages = await store.scan(owner, *[Scan(TAKEN, {"same": same}, limit=1) for same in new])
        self._same = {
            same: page.items[0].record.place for same, page in zip(new, pages, strict=True) if page.items
        }
        places = [*(self._place(talk) for talk in talks), *self._same.values()]
        held = await store.get(CONVERSATIONS, owner, list(dict.fromkeys(places)))
        self._held = {one.record.id: one for one in held if one is not None}

    async def add(self, talk: Talk) -> None:
        """Add what a conversation brings."""
        id, name = self._row_id(talk), one_line(talk.title, 80) or "Untitled"
        if id in self._seen:
            self.outcome.counts["duplicates"] += 1
            return
        self._seen.add(id)
        row, held = self._rows.get(id), self._held.get(self._place(talk))
        self.outcome.places[talk.key] = self._place(talk)
        same = self._same.get(self._says(talk))
        if row is None and same is not None and (same in self._held or same in self._seen):
            self.outcome.counts["duplicates"] += 1
            self.outcome.places[talk.key] = same
            return
        if row is not None and held is not None and row.record.digest == self._holds(talk):
            self.outcome.counts["known"] += 1
            if not self.taking.preview:
                await self.attached.mend(self.taking.store, held.record.id, talk.turns)
            return
        self.outcome.left += [Left(name, f"Of it was not taken: {lost}.") for lost in talk.lost]
        if held is None:
            await self._begin(talk, row)
        else:
            await self._grow(talk, row, held)

    async def _begin(self, talk: Talk, row: Versioned[Taken] | None) -> None:
        place = self._place(talk)
        now = self.taking.clock.now_us()
        created = min(talk.created_at or talk.turns[0].at or now, now)
        empty = Conversation(
            id=place,
            title=one_line(talk.title) or title_from(_first_words(talk.turns)),
            titled=True,
            named_by="person" if talk.title else "words",
            created_at=created,
            updated_at=created,
            archived=int(talk.archived),
            outside=True,
            origin=ORIGINS.get(self.taking.source, self.taking.source),
        )
        grown, messages = self._placed(talk, empty, {})
        self.changes += [
            Put(CONVERSATIONS, grown, 0),
            Put(TAKEN, self._row(talk, grown), row.version if row else 0),
            *(Put(MESSAGES, one, 0, turn_of(grown, one)) for one in messages),
        ]
        self._same[self._says(talk)] = place
        self._seen.add(place)
        self.outcome.counts["new"] += 1
        self.outcome.messages += len(messages)

    async def _grow(self, talk: Talk, row: Versioned[Taken] | None, held: Versioned[Conversation]) -> None:
        known = await self._known(talk)
        was = held.record
        grown, messages = self._placed(talk, was, known, is_ours=_is_ours(row, was))
        if not messages:
            self.outcome.counts["known"] += 1
            if row is not None:
                changed = msgspec.structs.replace(row.record, digest=self._holds(talk))
                self.changes.append(Put(TAKEN, changed, row.version))
            return
        if was.active_run is not None:
            self.outcome.counts["kept"] += 1
            self.outcome.left.append(Left(was.title[:80], "It is being answered now; import again later."))
            return
        now = self._row(talk, grown)
        before = row.record if row else now
        self.changes += [
            Put(CONVERSATIONS, grown, held.version),
            Put(TAKEN, msgspec.structs.replace(now, batch=before.batch), row.version if row else 0),
            Put(GROWN, self._growth(before, was, messages)),
            *(Put(MESSAGES, one, 0, turn_of(grown, one)) for one in messages),
        ]
        self.outcome.counts["grown"] += 1
        self.outcome.messages += len(messages)

    def _growth(self, before: Taken, was: Conversation, messages: Sequence[StoredMessage]) -> Grown:
        return Grown(
            id=f"{self.taking.batch}:{before.id}",
            batch=self.taking.batch,
            before=before,
            messages=tuple(one.id for one in messages),
            branches=was.branches,
            branch=was.branch,
            count=was.count,
        )

    async def _known(self, talk: Talk) -> dict[str, Spot]:
        """Where the turns stand that are here."""
        place = self._place(talk)
        by_id = {id: turn.key for turn in talk.turns for id in ids_of(turn, place)}
        ids, spots = list(by_id), dict[str, Spot]()
        for begin in range(0, len(ids), _READ_AT_ONCE):
            some = ids[begin : begin + _READ_AT_ONCE]
            for found in await self.taking.store.get(MESSAGES, self.taking.owner, some):
                if found is not None and found.record.conversation == place:
                    message = found.record
                    spot = Spot(message.branch, message.position + 1)
                    known = spots.get(by_id[message.id])
                    if known is None or known.end < spot.end:
                        spots[by_id[message.id]] = spot
        return spots

    def _placed(
        self, talk: Talk, held: Conversation, known: dict[str, Spot], *, is_ours: bool = True
    ) -> tuple[Conversation, list[StoredMessage]]:
        """The record with the turns that are new, and their messages."""
        growing, spots = Growing(held), dict[str | None, Spot | None]({None: None})
        messages: list[StoredMessage] = []
        latest, at = self.taking.clock.now_us(), talk.created_at or 0
        for turn in talk.turns:
            at = min(turn.at or at or latest, latest)
            if turn.key in known:
                spots[turn.key] = known[turn.key]
                continue
            if turn.parent not in spots:
                continue
            files = self.attached.given(held.id, turn, at)
            said = said_in(turn, held.id, files)
            spot = growing.place(spots[turn.parent], len(said))
            if spot is None:
                continue
            spots[turn.key] = spot
            messages += stored(said, conversation=held.id, branch=spot.branch, end=spot.end, at=at)
        if growing.left:
            why = f"It parts more often than a conversation here may: {growing.left:,} ways were left out."
            self.outcome.left.append(Left(held.title[:80], why))
        self.outcome.left += self.attached.left(held.title[:80])
        self.outcome.files += len(self.attached.new)
        self.changes += self.attached.changes()
        spot = spots.get(talk.current) if is_ours else None
        last = max((one.at for one in messages), default=held.updated_at)
        now = growing.grown(spot.branch if spot else None)
        return msgspec.structs.replace(now, updated_at=max(held.updated_at, last)), messages

    def _row_id(self, talk: Talk) -> str:
        return self.taking.marks.id(self.taking.source, "talk", talk.key)

    def _says(self, talk: Talk) -> str:
        """Equal for two that say the same."""
        if (mark := self._said.get(id(talk))) is None:
            mark = self._said[id(talk)] = self.taking.marks.of(talk.words)
        return mark

    def _holds(self, talk: Talk) -> str:
        return self.taking.marks.of(talk.substance)

    def _place(self, talk: Talk) -> str:
        row = self._rows.get(self._row_id(talk))
        if row is not None:
            return row.record.place
        return stable_id(talk.created_at or 0, self.taking.owner, self.taking.source, talk.key)

    def _row(self, talk: Talk, held: Conversation) -> Taken:
        return Taken(
            id=self._row_id(talk),
            batch=self.taking.batch,
            kind="talk",
            place=held.id,
            digest=self._holds(talk),
            same=self._says(talk),
            written=str(total_of(held)),
        )


def _is_ours(row: Versioned[Taken] | None, held: Conversation) -> bool:
    """Whether nothing was said in it since it was imported."""
    return row is not None and row.record.written == str(total_of(held))


def _first_words(turns: Sequence[Turn]) -> str:
    for turn in turns:
        for said in said_in(turn, "", {}):
            if isinstance(said.message, UserMessage) and said.message.content.strip():
                return said.message.content
    return ""
