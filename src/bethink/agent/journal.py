"""What happened in a run, in memory: appended by its task, read by any number of readers.

`agent/runs` holds one for each live run. Deltas that follow one another are
pieces of one part, so that a token costs a list append, and a reader that fell
behind gets one delta with everything it missed: there are no queues to overflow.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from bethink.events import Event, MessageSaved, Place, ReasoningDelta, RunDone, TextDelta, TextSoFar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class Numbered(msgspec.Struct, frozen=True):
    """An event and the reader's place after it."""

    place: Place
    event: Event


class _Part:
    """Deltas of one kind in a row."""

    __slots__ = ("characters", "kind", "pieces")

    def __init__(self, kind: type[TextDelta | ReasoningDelta]) -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.characters = 0

    def after(self, characters: int) -> str:
        """The text behind the first `characters`."""
        left = self.characters - characters
        taken: list[str] = []
        for piece in reversed(self.pieces):
            if left <= 0:
                break
            taken.append(piece if len(piece) <= left else piece[-left:])
            left -= len(piece)
        return "".join(reversed(taken))


@dataclass(slots=True)
class Journal:
    """The events of one run; the first entry has the sequence `first`."""

    first: int = 1
    ended: bool = False
    _entries: list[Event | _Part] = field(default_factory=list["Event | _Part"])
    _wakers: list[asyncio.Future[None]] = field(default_factory=list["asyncio.Future[None]"])

    def append(self, event: Event) -> None:
        """Add an event and wake the readers."""
        if isinstance(event, TextDelta | ReasoningDelta):
            self._extend(event)
        else:
            self._entries.append(event)
            self.ended = self.ended or isinstance(event, RunDone)
        if self._wakers:
            self._wake()

    @property
    def place(self) -> Place:
        """The end of what has been appended."""
        if not self._entries:
            return Place(self.first - 1)
        last = self._entries[-1]
        return Place(self.first + len(self._entries) - 1, last.characters if isinstance(last, _Part) else 0)

    def snapshot(self) -> Numbered:
        """The last answer part as it is now, for a reader whose place is not known here."""
        texts = {TextDelta: "", ReasoningDelta: ""}
        for entry in self._entries:
            if isinstance(entry, _Part):
                texts[entry.kind] = entry.after(0)
            elif isinstance(entry, TextSoFar):
                texts = {TextDelta: entry.text, ReasoningDelta: entry.reasoning}
        return Numbered(self.place, TextSoFar(text=texts[TextDelta], reasoning=texts[ReasoningDelta]))

    def unsaved(self) -> TextSoFar:
        """The text that came after the last message which was saved."""
        texts: dict[type[Event], list[str]] = {TextDelta: [], ReasoningDelta: []}
        for entry in reversed(self._entries):
            if isinstance(entry, MessageSaved):
                break
            if isinstance(entry, _Part):
                texts[entry.kind].append(entry.after(0))
            elif isinstance(entry, TextSoFar):
                texts[TextDelta].append(entry.text)
                texts[ReasoningDelta].append(entry.reasoning)
                break
        return TextSoFar(text="".join(texts[TextDelta][::-1]), reasoning="".join(texts[ReasoningDelta][::-1]))

    def read(self, after: Place) -> list[Numbered]:
        """Everything behind a place; text as one delta a part. A place before the start reads all."""
        index = max(0, after.sequence - self.first)
        numbered: list[Numbered] = []
        for offset, entry in enumerate(self._entries[index:], index):
            sequence = self.first + offset
            seen = after.characters if sequence == after.sequence else 0
            if isinstance(entry, _Part):
                if text := entry.after(seen):
                    numbered.append(Numbered(Place(sequence, entry.characters), entry.kind(text=text)))
            elif sequence > after.sequence:
                numbered.append(Numbered(Place(sequence), entry))
        return numbered

    async def follow(self, after: Place) -> AsyncGenerator[list[Numbered], None]:
        """Everything behind a place in batches, as it comes, until the journal is closed."""
        while True:
            if batch := self.read(after):
                after = batch[-1].place
                yield batch
            elif self.ended:
                return
            else:
                waker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._wakers.append(waker)
                await waker

    def close(self) -> None:
        """There will be no more events."""
        self.ended = True
        self._wake()

    def _extend(self, delta: TextDelta | ReasoningDelta) -> None:
        if not delta.text:
            return
        last = self._entries[-1] if self._entries else None
        kind = type(delta)
        if not isinstance(last, _Part) or last.kind is not kind:
            last = _Part(kind)
            self._entries.append(last)
        last.pieces.append(delta.text)
        last.characters += len(delta.text)

    def _wake(self) -> None:
        wakers, self._wakers = self._wakers, []
        for waker in wakers:
            if not waker.done():
                waker.set_result(None)


def behind(events: list[Numbered], after: Place) -> list[Numbered]:
    """What of numbered events lies behind a place; a delta that reaches across it is cut."""
    kept: list[Numbered] = []
    for numbered in events:
        place, event = numbered.place, numbered.event
        if place <= after:
            continue
        if place.sequence == after.sequence and isinstance(event, TextDelta | ReasoningDelta):
            event = type(event)(text=event.text[-(place.characters - after.characters) :])
        kept.append(Numbered(place, event))
    return kept
