"""Port: what processes that share data tell one another.

`agent/runs` follows runs of other processes and cancels them through it, and
claims what only one process may do. Nothing that must not be lost travels here.
"""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode, b64encode
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bethink.sealing import Cipher, NotSealedSoError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager


ALIVE_WITHIN_S = 60.0
"""A process that has said nothing for this long counts as ended; each says several times within it that it
lives. A bus that can tell an end sooner does."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A message on a topic; without a payload it says that others may have been missed: look at all anew."""

    topic: str
    payload: str | None


class Bus(Protocol):
    """Publish and subscribe, and leases."""

    @property
    def process(self) -> str:
        """This process's own name on the bus, unique for its life."""
        ...

    @property
    def fault(self) -> str | None:
        """What does not work since the bus last looked after itself, as a sentence; None where all does."""
        ...

    async def publish(self, topic: str, payload: str = "") -> None:
        """Tell every subscriber of the topic, in every process, soon.

        What cannot be told is not: no fault of the bus is an error here. A subscriber that may have missed
        something is told so later.
        """
        ...

    def subscribe(self, topic: str) -> AbstractAsyncContextManager[AsyncIterator[Notice]]:
        """Notices published after the block was entered, in order.

        A reader that falls behind by more than 1,000 notices loses the oldest.
        """
        ...

    async def claim(self, name: str, ttl_s: float) -> bool:
        """Take or renew the lease `name` for `ttl_s` seconds.

        False while another living process holds it, see `is_alive`.
        """
        ...

    async def release(self, name: str) -> None:
        """Give up the lease if this process holds it."""
        ...

    async def is_alive(self, process: str) -> bool:
        """Whether the process with that name still runs: it has spoken within `ALIVE_WITHIN_S`."""
        ...

    async def take(self, name: str, per_minute: int) -> float:
        """Take one from the bucket `name`, which all processes share and `per_minute` refills and fills.

        0 if it was taken, else how many seconds until it holds one.
        """
        ...


BACKLOG = 1_000
"""How many notices wait for a slow reader before the oldest is dropped (the port's promise)."""


def sealed_payload(payload: str, cipher: Cipher | None) -> str:
    """A notice's payload as it travels: with a cipher nobody else can read it."""
    return payload if cipher is None else b64encode(cipher.seal(payload.encode())).decode()


def opened_payload(said: str | None, cipher: Cipher | None) -> str | None:
    """What `sealed_payload` was given; None if it was sealed otherwise: its reader looks at all anew."""
    if said is None or cipher is None:
        return said
    try:
        return cipher.open(b64decode(said, validate=True)).decode()
    except (NotSealedSoError, ValueError):
        return None


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
    """The subscribers of one process, by topic; every adapter of the port keeps their notices in these."""

    def __init__(self) -> None:
        self._by_topic: dict[str, list[Mailbox]] = {}

    @property
    def topics(self) -> list[str]:
        """What somebody subscribes to."""
        return list(self._by_topic)

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


_MOST_BUCKETS = 10_000
"""Kept at once; the one that was used longest ago goes first, and is full again then."""
_MINUTE_S = 60


class TokenBuckets:
    """The buckets of one process: for a bus that has no others, or cannot reach them."""

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, per_minute: int) -> float:
        """As the bus does."""
        now_s = self._monotonic_s()
        left, at_s = self._held.get(name, (per_minute, now_s))
        left = min(per_minute, left + (now_s - at_s) * per_minute / _MINUTE_S)
        wait_s = 0.0 if left >= 1 else (1 - left) * _MINUTE_S / per_minute
        self._held[name] = (left - 1 if left >= 1 else left, now_s)
        self._held.move_to_end(name)
        if len(self._held) > _MOST_BUCKETS:
            self._held.popitem(last=False)
        return wait_s
