"""Blocks that one process at a time is in: `leased`, over a bus that answers as it is told to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import anyio
import pytest

from bethink.errors import Busy, StorageError
from bethink.leases import leased

pytestmark = pytest.mark.anyio
BUSY = "Somebody else is at it: try again."


@dataclass
class ToldBus:
    """Answers claims in turn, the last answer for ever; `asked` is set when all were given."""

    answers: Iterable[bool | StorageError]
    asked: anyio.Event = field(default_factory=anyio.Event)
    released: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self._left = [*self.answers]

    async def claim(self, name: str, ttl_s: float) -> bool:
        del name, ttl_s
        answer = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        if len(self._left) == 1:
            self.asked.set()
        if isinstance(answer, StorageError):
            raise answer
        return answer

    async def release(self, name: str) -> None:
        self.released.append(name)


async def test_a_lease_is_renewed_as_long_as_the_block_lasts() -> None:
    bus = ToldBus([True] * 5)
    async with leased(bus, "files", BUSY, renew_s=0):
        await bus.asked.wait()
    assert bus.released == ["files"]


async def test_a_bus_that_is_away_for_a_moment_ends_no_block() -> None:
    bus = ToldBus([True, StorageError("away"), StorageError("away"), True])
    async with leased(bus, "files", BUSY, renew_s=0):
        await bus.asked.wait()
    assert bus.released == ["files"]


async def test_who_lost_the_lease_goes_on_no_longer() -> None:
    with pytest.raises(Busy, match="Somebody else"):
        async with leased(ToldBus([True, True, False]), "files", BUSY, renew_s=0):
            await anyio.sleep_forever()


async def test_who_waits_for_a_lease_takes_it_when_it_is_free() -> None:
    bus = ToldBus([False, False, True])
    async with leased(bus, "files", BUSY, wait_s=60):
        assert bus.asked.is_set()


async def test_waiting_for_a_lease_ends() -> None:
    bus = ToldBus([False])
    with pytest.raises(Busy, match="Somebody else"):
        async with leased(bus, "files", BUSY):
            pass
    assert bus.released == []


async def test_an_error_of_the_block_is_told_as_it_is() -> None:
    bus = ToldBus([True])
    with pytest.raises(StorageError, match="full"):
        async with leased(bus, "files", BUSY):
            raise StorageError("full")
    assert bus.released == ["files"]


async def test_a_block_that_is_cancelled_gives_its_lease_back() -> None:
    bus = ToldBus([True])
    entered = anyio.Event()

    async def work() -> None:
        async with leased(bus, "files", BUSY):
            entered.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        await entered.wait()
        tasks.cancel_scope.cancel()
    assert bus.released == ["files"]
