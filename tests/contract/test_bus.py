"""What every bus tells, and whom it lets hold a lease."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from anyio.streams.text import TextReceiveStream

from bethink.bus import Bus, Notice, TokenBuckets
from bethink.clock import FakeClock
from bethink.engines.memory import MemoryBus, MemoryHub, MemoryIndex, MemoryStore
from bethink.engines.postgres.bus import open_bus as open_postgres_bus
from bethink.engines.sqlite import bus as sqlite_file
from bethink.engines.sqlite.bus import FILE_NAME, BusFile, open_bus
from bethink.errors import StorageError
from tests.postgres_server import PostgresServer
from tests.redis_server import always, redis_bus, redis_server

pytestmark = pytest.mark.anyio

_HOLDER = """
import anyio, sys
from pathlib import Path
from bethink.engines.sqlite.bus import open_bus

async def main():
    async with open_bus(Path(sys.argv[1])) as bus:
        await bus.claim("lease", 1000)
        await bus.publish("hello", bus.process)
        async with bus.subscribe("echo") as notices:
            print(bus.process, flush=True)
            async for notice in notices:
                await bus.publish("echoed", notice.payload)

anyio.run(main)
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two processes' buses, or what plays them; `advance` has so many seconds pass for both."""

    one: Bus
    other: Bus
    advance: Callable[[float], None]


@pytest.fixture(params=["memory", "sqlite", "redis", "postgres"])
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pair]:
    clock = FakeClock()
    async with AsyncExitStack() as stack:
        if request.param == "memory":
            hub = MemoryHub(buckets=TokenBuckets(lambda: clock.now_us() / 1_000_000))
            yield Pair(MemoryBus(hub, clock=clock), MemoryBus(hub, clock=clock), clock.advance)
        elif request.param == "sqlite":
            buses = [await stack.enter_async_context(open_bus(tmp_path, clock=clock)) for _ in range(2)]
            yield Pair(buses[0], buses[1], clock.advance)
        elif request.param == "postgres":
            postgres: PostgresServer = request.getfixturevalue("postgres")
            url = await anyio.to_thread.run_sync(postgres.empty_database)
            buses = [
                await stack.enter_async_context(open_postgres_bus(url, supervise=always)) for _ in range(2)
            ]

            def advance(seconds: float) -> None:
                """Have the leases and buckets be so much older."""
                postgres.administer(
                    f"UPDATE bus_leases SET until = until - make_interval(secs => {seconds})",  # noqa: S608
                    f"UPDATE bus_buckets SET at = at - make_interval(secs => {seconds})",  # noqa: S608
                    database=url.partition("@/")[2].partition("?")[0],
                )

            yield Pair(buses[0], buses[1], advance)
        else:
            server, store = stack.enter_context(redis_server()), MemoryStore(MemoryIndex())
            buses = [await stack.enter_async_context(redis_bus(server, store)) for _ in range(2)]
            yield Pair(buses[0], buses[1], server.advance)


async def test_a_notice_reaches_subscribers_in_every_process_in_order(pair: Pair) -> None:
    async with pair.one.subscribe("t") as near, pair.other.subscribe("t") as far:
        for number in range(5):
            await (pair.one if number % 2 else pair.other).publish("t", str(number))
        for notices in (near, far):
            assert [(await anext(notices)).payload for _ in range(5)] == list("01234")


async def test_only_the_topic_asked_for_and_only_from_now_on(pair: Pair) -> None:
    await pair.one.publish("t", "before")
    async with pair.other.subscribe("t") as first:
        await pair.one.publish("t", "between")
        assert await anext(first) == Notice("t", "between")
        async with pair.other.subscribe("t") as second:
            await pair.one.publish("another", "not this")
            await pair.one.publish("t", "now")
            assert await anext(second) == Notice("t", "now")


async def test_a_slow_reader_loses_the_oldest(pair: Pair) -> None:
    async with pair.one.subscribe("t") as notices, pair.one.subscribe("end") as end:
        for number in range(1_005):
            await pair.one.publish("t", str(number))
        await pair.one.publish("end")
        await anext(end)
        assert (await anext(notices)).payload == "5"


async def test_leaving_a_subscription_ends_it_for_that_reader_alone(pair: Pair) -> None:
    async with pair.one.subscribe("t") as staying:
        async with pair.one.subscribe("t"):
            pass
        await pair.one.publish("t", "x")
        assert await anext(staying) == Notice("t", "x")


async def test_a_lease_has_one_holder_who_may_renew_and_release_it(pair: Pair) -> None:
    assert await pair.one.claim("lease", 10)
    assert not await pair.other.claim("lease", 10)
    assert await pair.one.claim("lease", 10)
    assert await pair.other.claim("another", 10)
    await pair.other.release("lease")
    assert not await pair.other.claim("lease", 10)
    await pair.one.release("lease")
    assert await pair.other.claim("lease", 10)


async def test_a_lease_ends_with_its_time(pair: Pair) -> None:
    assert await pair.one.claim("lease", 10)
    pair.advance(9.9)
    assert not await pair.other.claim("lease", 10)
    pair.advance(0.2)
    assert await pair.other.claim("lease", 10)
    assert not await pair.one.claim("lease", 10)


async def test_a_bucket_is_emptied_by_all_processes_and_refilled_by_time(pair: Pair) -> None:
    assert [await bus.take("a", 3) for bus in (pair.one, pair.other, pair.one)] == [0, 0, 0]
    assert 10 < await pair.other.take("a", 3) <= 20
    assert await pair.one.take("another", 3) == 0
    pair.advance(21)
    assert await pair.other.take("a", 3) == 0
    assert await pair.one.take("a", 3) > 0


async def test_both_processes_know_that_the_other_lives_and_nobody_knows_a_stranger(pair: Pair) -> None:
    assert pair.one.process != pair.other.process
    assert await pair.one.is_alive(pair.other.process)
    assert await pair.one.is_alive(pair.one.process)
    assert not await pair.one.is_alive("nobody")


async def test_what_a_process_held_is_free_when_it_leaves(tmp_path: Path) -> None:
    async with open_bus(tmp_path) as one:
        async with open_bus(tmp_path) as other:
            assert await other.claim("lease", 1000)
        assert not await one.is_alive(other.process)
        assert await one.claim("lease", 1000)


async def test_a_killed_process_is_known_to_be_dead_at_once(tmp_path: Path) -> None:
    async with (
        open_bus(tmp_path) as bus,
        bus.subscribe("hello") as hellos,
        await anyio.open_process([sys.executable, "-c", _HOLDER, str(tmp_path)]) as holder,
    ):
        name = (await anext(hellos)).payload
        assert name
        assert await bus.is_alive(name)
        assert not await bus.claim("lease", 1000)
        # A zombie is dead too, so its parent need not ask for it first.
        os.kill(holder.pid, signal.SIGKILL)
        with anyio.fail_after(120):
            while await bus.is_alive(name):
                await anyio.lowlevel.checkpoint()
        assert await bus.claim("lease", 1000)


async def test_processes_hear_one_another(tmp_path: Path) -> None:
    async with (
        open_bus(tmp_path) as bus,
        bus.subscribe("echoed") as echoes,
        await anyio.open_process([sys.executable, "-c", _HOLDER, str(tmp_path)]) as holder,
    ):
        assert holder.stdout
        await TextReceiveStream(holder.stdout).receive()
        for number in range(3):
            await bus.publish("echo", str(number))
        assert [(await anext(echoes)).payload for _ in range(3)] == list("012")
        holder.kill()


async def test_a_process_that_cannot_be_looked_up_counts_as_dead_after_a_minute_of_silence(
    tmp_path: Path,
) -> None:
    clock = FakeClock()

    def register() -> None:
        with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection, connection:
            row = ("far", "another machine", clock.now_us())
            connection.execute("INSERT INTO processes VALUES (?, ?, ?)", row)

    async with open_bus(tmp_path, clock=clock) as bus:
        await anyio.to_thread.run_sync(register)
        assert await bus.is_alive("far")
        clock.advance(61)
        assert not await bus.is_alive("far")


async def test_a_damaged_file_is_replaced_for_nothing_in_it_must_last(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"garbage " * 1000)
    async with open_bus(tmp_path) as bus:
        assert await bus.claim("lease", 10)


async def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file"):
        async with open_bus(tmp_path / "file"):
            pass


async def test_a_closed_bus_ends_its_readers_and_says_so(tmp_path: Path) -> None:
    received: list[Notice] = []
    async with open_bus(tmp_path) as bus:
        subscription = bus.subscribe("t")
        notices = await subscription.__aenter__()
        await bus.publish("t", "last")
        assert await anext(notices) == Notice("t", "last")
    received += [notice async for notice in notices]
    assert received == []
    await subscription.__aexit__(None, None, None)
    with pytest.raises(StorageError, match="closed"):
        await bus.publish("t")


async def test_a_cancelled_subscriber_leaves_no_trace(pair: Pair) -> None:
    with anyio.CancelScope() as scope:
        async with pair.one.subscribe("t"):
            scope.cancel()
            await anyio.sleep_forever()
    async with pair.one.subscribe("t") as notices:
        await pair.one.publish("t", "x")
        assert await anext(notices) == Notice("t", "x")


def test_a_process_that_was_taken_for_ended_is_known_to_live_again_once_it_speaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on two machines of which one slept: neither sees the other's locks."""
    clock = FakeClock()
    path = tmp_path / FILE_NAME
    machines = iter("ab")
    monkeypatch.setattr(sqlite_file, "_machine", lambda: next(machines))
    with closing(sqlite_file.open_file(path)) as one, closing(sqlite_file.open_file(path)) as other:
        sleeper = BusFile(one, "sleeper", clock, locks=tmp_path / "a")
        waker = BusFile(other, "waker", clock, locks=tmp_path / "b")
        clock.advance(seconds=100)
        waker.do_chores()
        assert not waker.is_alive("sleeper")
        sleeper.do_chores()
        assert waker.is_alive("sleeper")
        assert sleeper.claim("lease", 10)
        assert not waker.claim("lease", 10)
        sleeper.close()
        waker.close()
