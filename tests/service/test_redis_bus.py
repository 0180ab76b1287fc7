"""The bus on a Redis that is away, emptied, started anew or out of one process's reach."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from bethink.bus import Notice
from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.engines.redis import bus as module
from bethink.engines.redis.bus import RedisBus, open_bus
from bethink.engines.sqlite.bus import bus_elsewhere
from bethink.engines.sqlite.bus import open_bus as open_file_bus
from bethink.errors import StorageError
from bethink.store import Store
from tests.redis_server import RedisServer, redis_bus, redis_server
from tests.wire import wire

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

BEAT_S, ALIVE_S = 0.05, 1.0


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes twenty times as fast as in earnest, at least."""
    monkeypatch.setattr(module, "BEAT_S", BEAT_S)
    monkeypatch.setattr(module, "ALIVE_S", ALIVE_S)
    monkeypatch.setattr(module, "_WAIT_S", 0.3)
    monkeypatch.setattr(module, "_QUIET_S", 0.3)
    monkeypatch.setattr(module, "_PAUSES_S", (0.02,))


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def store() -> Store:
    return MemoryStore(MemoryIndex())


@asynccontextmanager
async def at(url: str, store: Store) -> AsyncGenerator[RedisBus]:
    """A process's bus at an address, whatever state that is in."""

    async def supervise(name: str, work: Callable[[], Awaitable[object]]) -> None:
        del name
        await work()

    async with open_bus(url, store, timeout_s=0.3, supervise=supervise) as bus:
        yield bus


async def until(bus: RedisBus, *, well: bool) -> str:
    """What it says is wrong, once that is something, or nothing."""
    with anyio.fail_after(20):
        while (bus.fault is None) is not well:  # noqa: ASYNC110 - no event tells it
            await anyio.sleep(0.01)
    return bus.fault or ""


async def missed(notices: AsyncIterator[Notice]) -> None:
    """The reader has been told that it may have missed something."""
    with anyio.fail_after(20):
        async for notice in notices:
            if notice.payload is None:
                return


async def alive_for(bus: RedisBus, process: str) -> float:
    """How many seconds the bus goes on taking the process for alive."""
    begun = anyio.current_time()
    with anyio.fail_after(20):
        while await bus.is_alive(process):
            await anyio.lowlevel.checkpoint()
    return anyio.current_time() - begun


async def test_an_emptied_redis_costs_neither_lives_nor_leases(redis: RedisServer, store: Store) -> None:
    async with redis_bus(redis, store) as one, redis_bus(redis, store) as other:
        assert await one.claim("lease", 60)
        redis.client().flushall()
        assert await other.is_alive(one.process)
        with anyio.move_on_after(ALIVE_S / 2):
            assert not await other.claim("lease", 60)
        # The holder has said so again by now: it is not a matter of having waited.
        redis.advance(30)
        assert not await other.claim("lease", 60)
        assert await one.claim("lease", 60)


async def test_nothing_is_leased_before_all_who_live_had_the_time_to_say_what_they_hold(
    redis: RedisServer, store: Store
) -> None:
    async with redis_bus(redis, store) as bus:
        redis.client().flushall()
        begun = anyio.current_time()
        assert await bus.claim("lease", 60)
        assert anyio.current_time() - begun > ALIVE_S * 0.9


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_restart_is_told_to_readers_and_survived_by_leases(store: Store, *, keeps: bool) -> None:
    options = ("--appendonly", "yes") if keeps else ("--save", "")
    with redis_server(*options) as redis:
        async with redis_bus(redis, store) as one, redis_bus(redis, store) as other:
            assert await one.claim("lease", 60)
            async with one.subscribe("t") as near, other.subscribe("t") as far:
                redis.kill()
                assert "cannot be reached" in await until(one, well=False)
                await until(other, well=False)
                redis.start()
                for bus, notices in ((one, near), (other, far)):
                    await until(bus, well=True)
                    await missed(notices)
                await one.publish("t", "after")
                assert (await anext(far)).payload in {"after", None}
            assert await other.is_alive(one.process)
            with anyio.move_on_after(ALIVE_S / 2):
                assert not await other.claim("lease", 60)


async def test_while_redis_is_away_a_process_hears_itself_and_leases_nothing(
    redis: RedisServer, store: Store
) -> None:
    async with redis_bus(redis, store) as bus, bus.subscribe("t") as notices:
        redis.kill()
        assert "late" in await until(bus, well=False)
        await bus.publish("t", "mine")
        assert await anext(notices) == Notice("t", "mine")
        with pytest.raises(StorageError, match="cannot be reached"):
            await bus.claim("lease", 60)
        assert [await bus.take("bucket", 1), await bus.take("bucket", 1) > 0] == [0, True]


async def test_what_was_published_while_redis_was_away_is_told_as_missed(
    redis: RedisServer, store: Store
) -> None:
    async with (
        redis_bus(redis, store) as one,
        redis_bus(redis, store) as other,
        other.subscribe("t") as far,
    ):
        redis.kill()
        for bus in (one, other):
            await until(bus, well=False)
        await one.publish("t", "lost")
        async with one.subscribe("new") as new:
            redis.start()
            for bus in (one, other):
                await until(bus, well=True)
            await missed(far)
            await other.publish("new", "heard")
            payloads = {(await anext(new)).payload for _ in range(2)}
            assert payloads == {None, "heard"}


async def test_bethink_opens_the_bus_without_a_redis_and_joins_once_it_is_there(store: Store) -> None:
    with redis_server(started=False) as redis:
        async with at(redis.url, store) as bus:
            assert "cannot be reached" in (bus.fault or "")
            redis.start()
            await until(bus, well=True)
            assert await bus.claim("lease", 1)


@pytest.mark.parametrize("silently", [True, False])
async def test_a_process_that_cannot_reach_redis_lives_as_long_as_it_says_so_in_the_store(
    redis: RedisServer, store: Store, *, silently: bool
) -> None:
    async with AsyncExitStack() as stack:
        line = await stack.enter_async_context(wire(redis.socket))
        other = await stack.enter_async_context(redis_bus(redis, store))
        async with at(f"unix://{line.socket}", store) as one:
            await until(one, well=True)
            redis.advance(60)
            assert await one.claim("lease", 600)
            if silently:
                line.hold()
            else:
                line.cut()
            await until(one, well=False)
            with anyio.move_on_after(3 * ALIVE_S):
                while True:
                    assert await other.is_alive(one.process)
                    assert not await other.claim("lease", 600)
                    await anyio.sleep(0.02)
            name = one.process
        assert await alive_for(other, name) < 3 * ALIVE_S
        assert await other.claim("lease", 1)


async def test_of_a_dead_process_redis_tells_within_its_time(redis: RedisServer, store: Store) -> None:
    async with redis_bus(redis, store) as bus:
        client = redis.client()
        (key,) = client.keys(f"*:process:{bus.process}")
        client.set(key.replace(bus.process, "killed"), "1", px=round(ALIVE_S * 1000))
        assert await alive_for(bus, "killed") < 2 * ALIVE_S


async def test_while_redis_is_away_a_silent_process_is_dead_after_a_while_of_watching(
    redis: RedisServer, store: Store
) -> None:
    async with redis_bus(redis, store) as one, redis_bus(redis, store) as other:
        redis.kill()
        await until(one, well=False)
        await until(other, well=False)
        assert ALIVE_S * 0.9 < await alive_for(one, "killed") < 5 * ALIVE_S
        assert await one.is_alive(other.process)


async def test_stores_on_one_redis_do_not_hear_one_another(redis: RedisServer, store: Store) -> None:
    async with redis_bus(redis, store) as one, redis_bus(redis, MemoryStore(MemoryIndex())) as stranger:
        async with one.subscribe("t") as notices:
            await stranger.publish("t", "not yours")
            await one.publish("t", "yours")
            assert (await anext(notices)).payload == "yours"
        assert await stranger.claim("lease", 60)
        assert await one.claim("lease", 60)
        assert not await one.is_alive(stranger.process)


async def test_one_that_drops_keys_is_warned_of(store: Store) -> None:
    with redis_server("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", "--save", "") as redis:
        async with at(redis.url, store) as bus:
            assert "noeviction" in await until(bus, well=False)


async def test_processes_on_one_directory_must_use_the_same_bus(tmp_path: Path) -> None:
    async with open_file_bus(tmp_path):
        with pytest.raises(StorageError, match="BETHINK_REDIS_USE"):
            async with bus_elsewhere(tmp_path):
                pass
    async with bus_elsewhere(tmp_path):
        async with bus_elsewhere(tmp_path):
            pass
        with pytest.raises(StorageError, match="BETHINK_REDIS_USE"):
            async with open_file_bus(tmp_path):
                pass
    async with open_file_bus(tmp_path):
        pass
