"""What one run must not keep, nor tell its model again, because it was forgotten meanwhile.

`agent/recorder` and `memory` expect in each commit what this has heard. A commit that comes
too late is refused, and the run listens before it tries again, so that
nothing forgotten is written behind the forgetting, whichever process did it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from bethink.forgetting.announcements import expecting
from bethink.forgetting.occurrences import redacted
from bethink.redaction import redaction_of_everything

if TYPE_CHECKING:
    from collections.abc import Callable

    from bethink.conversations import StoredMessage
    from bethink.forgetting.announcements import Announcements, AnnouncementState
    from bethink.redaction import Redaction
    from bethink.store import Change, Versioned


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
