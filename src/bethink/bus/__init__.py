"""Port: what processes that share data tell one another.

`agent/runs` follows runs of other processes and cancels them through it, and
claims what only one process may do. Nothing that must not be lost travels here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager


ALIVE_WITHIN_S = 60.0
"""A process that has said nothing for this long counts as ended; each says several times within it that it
lives. A bus that can tell an end sooner does."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A message on a topic."""

    topic: str
    payload: str


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
        """Tell every subscriber of the topic, in every process, soon and at most once."""
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
