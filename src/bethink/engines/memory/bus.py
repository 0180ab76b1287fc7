"""The bus inside one process: for tests, and for an app that keeps nothing on disk."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bethink.bus import Notice
from bethink.bus.mailbox import Mailboxes
from bethink.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from bethink.clock import Clock


@dataclass(frozen=True, slots=True)
class _Lease:
    process: str
    until_us: int


@dataclass(slots=True)
class MemoryHub:
    """What the buses of one test share, each playing a process."""

    mailboxes: Mailboxes = field(default_factory=Mailboxes)
    leases: dict[str, _Lease] = field(default_factory=dict[str, _Lease])
    living: set[str] = field(default_factory=set[str])
    started: int = 0


class MemoryBus:
    """A bus without other processes, except those on the same hub that play them."""

    def __init__(self, hub: MemoryHub | None = None, *, clock: Clock | None = None) -> None:
        self._hub = hub or MemoryHub()
        self._clock = clock or SystemClock()
        self._hub.started += 1
        self._process = f"memory-{self._hub.started}"
        self._hub.living.add(self._process)

    @property
    def process(self) -> str:
        """This process's own name on the bus."""
        return self._process

    @property
    def fault(self) -> None:
        """Nothing can go wrong."""
        return

    async def publish(self, topic: str, payload: str = "") -> None:
        """Tell every subscriber of the topic."""
        self._hub.mailboxes.deliver((Notice(topic, payload),))

    @asynccontextmanager
    async def subscribe(self, topic: str) -> AsyncGenerator[AsyncIterator[Notice]]:
        """Notices published after the block was entered, in order."""
        mailbox = self._hub.mailboxes.open(topic)
        try:
            yield mailbox
        finally:
            self._hub.mailboxes.drop(topic, mailbox)

    async def claim(self, name: str, ttl_s: float) -> bool:
        """Take or renew the lease `name` for `ttl_s` seconds."""
        now = self._clock.now_us()
        held = self._hub.leases.get(name)
        if (
            held
            and held.process != self._process
            and held.process in self._hub.living
            and held.until_us > now
        ):
            return False
        self._hub.leases[name] = _Lease(self._process, now + round(ttl_s * 1_000_000))
        return True

    async def release(self, name: str) -> None:
        """Give up the lease if this process holds it."""
        held = self._hub.leases.get(name)
        if held and held.process == self._process:
            del self._hub.leases[name]

    async def is_alive(self, process: str) -> bool:
        """Whether the process with that name on the bus still runs."""
        return process in self._hub.living
