"""Blocks that one process at a time is in, by a lease on the bus: files, imports, calendars and mirror."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Protocol

import anyio

from bethink.errors import Busy, StorageError

_LEASE_S = 60.0
_RENEW_S = 15.0
_LOOK_S = 0.05


class Leases(Protocol):
    """What of a bus is needed to be alone."""

    async def claim(self, name: str, ttl_s: float) -> bool:
        """As the bus does."""
        ...

    async def release(self, name: str) -> None:
        """As the bus does."""
        ...


@asynccontextmanager
async def leased(
    bus: Leases, name: str, busy: str, *, wait_s: float = 0.0, renew_s: float = _RENEW_S
) -> AsyncGenerator[None]:
    """A block in which this process has the lease, renewed however long it takes.

    If the lease is lost, because nobody could be told for too long that this process lives, the block is
    cancelled. Those within one process are not told apart.

    Raises:
        Busy: another process has it, and still had it after the wait; or it was lost.
        StorageError: the bus cannot be reached.
    """
    deadline = anyio.current_time() + wait_s
    while not await bus.claim(name, _LEASE_S):
        if anyio.current_time() >= deadline:
            raise Busy(busy)
        await anyio.sleep(_LOOK_S)
    with anyio.CancelScope() as block:
        renewing = asyncio.create_task(_renew(bus, name, block, every_s=renew_s))
        try:
            yield
        finally:
            renewing.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([renewing])
                await bus.release(name)
    if block.cancelled_caught:
        raise Busy(busy)


async def _renew(bus: Leases, name: str, block: anyio.CancelScope, *, every_s: float) -> None:
    """Renew a lease for ever; if that cannot be done any more, cancel the block that needs it."""
    until = anyio.current_time() + _LEASE_S
    while anyio.current_time() < until:
        await anyio.sleep(every_s)
        with suppress(StorageError):
            if not await bus.claim(name, _LEASE_S):
                break
            until = anyio.current_time() + _LEASE_S
    block.cancel()
