"""Where notices wait for their readers inside one process. Every adapter of the port uses it."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bethink.bus import Notice

BACKLOG = 1_000
"""How many notices wait for a slow reader before the oldest is dropped (the port's promise)."""


class Mailbox:
    """One subscriber's notices, in order; ends when the bus closes."""

    def __init__(self) -> None:
        self._notices: deque[Notice] = deque(maxlen=BACKLOG)
        self._news = asyncio.Event()
        self._closed = False

    def __aiter__(self) -> Mailbox:
        return self

    async def __anext__(self) -> Notice:
        while not self._notices:
            if self._closed:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._notices.popleft()

    def put(self, notice: Notice) -> None:
        """Add a notice."""
        self._notices.append(notice)
        self._news.set()

    def close(self) -> None:
        """Let the reader finish what is there, and end."""
        self._closed = True
        self._news.set()


class Mailboxes:
    """The subscribers of one process, by topic."""

    def __init__(self) -> None:
        self._by_topic: dict[str, list[Mailbox]] = {}

    def open(self, topic: str) -> Mailbox:
        """A new subscriber's mailbox."""
        mailbox = Mailbox()
        self._by_topic.setdefault(topic, []).append(mailbox)
        return mailbox

    def drop(self, topic: str, mailbox: Mailbox) -> None:
        """Forget a subscriber."""
        self._by_topic[topic].remove(mailbox)
        if not self._by_topic[topic]:
            del self._by_topic[topic]

    def deliver(self, notices: Iterable[Notice]) -> None:
        """Hand notices to every subscriber of their topics."""
        for notice in notices:
            for mailbox in self._by_topic.get(notice.topic, ()):
                mailbox.put(notice)

    def close(self) -> None:
        """End every subscription."""
        for mailboxes in self._by_topic.values():
            for mailbox in mailboxes:
                mailbox.close()
