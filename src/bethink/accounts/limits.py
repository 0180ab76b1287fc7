"""How often something may be done: token buckets in memory, one for each key, owner or address.

`Accounts` refuses by them; `Signing` has sign-ins wait by them (`Queue`).

A process counts for itself: of several, each lets through as much.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from bethink.errors import TooManyRequests

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

_MOST = 10_000
"""Buckets that are kept; the one that was used longest ago goes first, and is full again then."""
_MINUTE_S = 60


async def never() -> bool:
    """Who waits without a connection is never gone."""
    return False


@dataclass(slots=True)
class Buckets:
    """`per_minute` on average, as many at once; 0 is no limit."""

    per_minute: int
    what: str = "requests"
    monotonic_s: Callable[[], float] = time.monotonic
    _held: OrderedDict[str, tuple[float, float]] = field(
        default_factory=OrderedDict[str, tuple[float, float]], repr=False
    )

    def take(self, name: str) -> None:
        """Take one from the bucket.

        Raises:
            TooManyRequests: it is empty; the error says for how long.
        """
        if not self.per_minute:
            return
        if (wait_s := self.wait_s(name)) > 0:
            message = f"Too many {self.what}: at most {self.per_minute} a minute. Wait {wait_s:.0f} s."
            raise TooManyRequests(message, retry_after_s=wait_s)
        left, now_s = self._left(name)
        self._held[name] = (left - 1, now_s)
        self._held.move_to_end(name)
        if len(self._held) > _MOST:
            self._held.popitem(last=False)

    def wait_s(self, name: str) -> float:
        """How long until the bucket holds one; 0 where it does."""
        left, _ = self._left(name)
        return 0 if left >= 1 or not self.per_minute else (1 - left) * _MINUTE_S / self.per_minute

    def forgive(self, name: str) -> None:
        """Fill the bucket."""
        self._held.pop(name, None)

    def _left(self, name: str) -> tuple[float, float]:
        now_s = self.monotonic_s()
        left, at_s = self._held.get(name, (self.per_minute, now_s))
        return min(self.per_minute, left + (now_s - at_s) * self.per_minute / _MINUTE_S), now_s


@dataclass(slots=True)
class Queue:
    """Has those who find a bucket empty wait for their turn, which goes around the names that wait.

    For what many people share, such as an address: refusing would let one of them keep all others
    out, and so would one line for all, in which a program stands a hundred times. `longest` is of one
    name, `most` of all of an address: more than one that is no proxy may have connections.
    """

    buckets: Buckets
    longest: int = 8
    most: int = 1_000
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    _inside: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]], repr=False)
    _waiting: dict[str, OrderedDict[str, deque[object]]] = field(
        default_factory=dict[str, OrderedDict[str, deque[object]]], repr=False
    )

    @asynccontextmanager
    async def turn(
        self, address: str, name: str, *, is_gone: Callable[[], Awaitable[bool]] = never
    ) -> AsyncGenerator[None]:
        """Wait for the bucket of the address to hold one, and for the turn of the name.

        Who is inside the block counts as waiting, too; whom `is_gone` tells to be gone waits no longer.

        Raises:
            TooManyRequests: too many are inside already, or nobody waits for the answer any more.
        """
        waiting = sum(len(line) for line in self._names(address).values())
        if self._inside[address, name] >= self.longest or waiting >= self.most:
            raise self._too_many()
        self._inside[address, name] += 1
        try:
            await self._wait(address, name, is_gone)
            yield
        finally:
            self._inside[address, name] -= 1
            if not self._inside[address, name]:
                del self._inside[address, name]

    async def _wait(self, address: str, name: str, is_gone: Callable[[], Awaitable[bool]]) -> None:
        ticket = object()
        self._waiting.setdefault(address, OrderedDict()).setdefault(name, deque()).append(ticket)
        try:
            while True:
                # All wake at the same time, and the first to do so calls the one whose turn it is.
                while self._waiting.get(address) and self.buckets.wait_s(address) <= 0:
                    self.buckets.take(address)
                    self._call_next(address)
                if not self._is_waiting(address, name, ticket):
                    return
                await self.sleep(self.buckets.wait_s(address))
                if await is_gone():
                    raise self._too_many()
        finally:
            if self._is_waiting(address, name, ticket):
                self._waiting[address][name].remove(ticket)
                self._drop_empty(address, name)

    def _call_next(self, address: str) -> None:
        names = self._waiting[address]
        name = next(iter(names))
        names[name].popleft()
        names.move_to_end(name)
        self._drop_empty(address, name)

    def _is_waiting(self, address: str, name: str, ticket: object) -> bool:
        return ticket in self._names(address).get(name, ())

    def _names(self, address: str) -> OrderedDict[str, deque[object]]:
        return self._waiting.get(address) or OrderedDict[str, deque[object]]()

    def _drop_empty(self, address: str, name: str) -> None:
        if not self._waiting[address][name]:
            del self._waiting[address][name]
        if not self._waiting[address]:
            del self._waiting[address]

    def _too_many(self) -> TooManyRequests:
        message = f"Too many {self.buckets.what} at once from this address: try again in some seconds."
        return TooManyRequests(message, retry_after_s=self.longest)
