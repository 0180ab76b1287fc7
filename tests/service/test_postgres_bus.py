"""The bus in a PostgreSQL that is killed and started again, and what is too long for a notification."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest

from bethink.bus import Notice
from bethink.engines.postgres import bus as module
from bethink.engines.postgres.bus import PostgresBus, open_bus
from bethink.errors import StorageError
from tests.postgres_server import PostgresServer, postgres_server
from tests.redis_server import always

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]

ALIVE_S = 1.0


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def url(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a database; time goes ten times as fast as in earnest."""
    monkeypatch.setattr(module, "BEAT_S", 0.05)
    monkeypatch.setattr(module, "ALIVE_S", ALIVE_S)
    return server.new_database()


async def until(bus: PostgresBus, *, well: bool) -> str:
    """What it says is wrong, once that is something, or nothing."""
    with anyio.fail_after(30):
        while (bus.fault is None) is not well:  # noqa: ASYNC110 - no event tells it
            await anyio.sleep(0.01)
    return bus.fault or ""


async def test_a_bus_that_is_closed_complains_of_nothing(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with open_bus(url, supervise=always) as bus:
        await until(bus, well=True)
    assert caplog.messages == []


async def test_a_long_notice_arrives_whole_and_in_its_place(url: str) -> None:
    long = "ü" * 20_000
    async with (
        open_bus(url, supervise=always) as one,
        open_bus(url, supervise=always) as other,
        other.subscribe("t") as notices,
    ):
        for payload in ("before", long, "after"):
            await one.publish("t", payload)
        assert [(await anext(notices)).payload for _ in range(3)] == ["before", long, "after"]


async def test_a_killed_server_costs_neither_leases_nor_lives_and_readers_are_told(
    server: PostgresServer, url: str
) -> None:
    async with (
        open_bus(url, supervise=always) as one,
        open_bus(url, supervise=always) as other,
        one.subscribe("t") as near,
        other.subscribe("t") as far,
    ):
        assert await one.claim("lease", 600)
        await anyio.to_thread.run_sync(server.kill)
        for bus in (one, other):
            assert "PostgreSQL" in await until(bus, well=False)
        await one.publish("t", "mine")
        assert await anext(near) == Notice("t", "mine")
        with pytest.raises(StorageError, match="BETHINK_DATABASE_URL"):
            await other.claim("lease", 1)
        assert await other.is_alive(one.process)
        assert [await one.take("bucket", 1), await one.take("bucket", 1) > 0] == [0, True]
        await anyio.to_thread.run_sync(server.start)
        for bus in (one, other):
            await until(bus, well=True)
        assert await other.is_alive(one.process)
        assert not await other.claim("lease", 1)
        with anyio.fail_after(30):
            while (await anext(far)).payload is not None:
                pass


async def test_a_process_that_says_nothing_is_dead_after_a_while_and_its_leases_are_free(
    server: PostgresServer, url: str
) -> None:
    async with open_bus(url, supervise=always) as bus:
        server.administer(
            "INSERT INTO bus_processes VALUES ('killed', clock_timestamp())",
            "INSERT INTO bus_leases VALUES ('lease', 'killed', clock_timestamp() + interval '1 hour')",
            database=url.partition("@/")[2].partition("?")[0],
        )
        assert not await bus.claim("lease", 60)
        with anyio.fail_after(30):
            while await bus.is_alive("killed"):
                await anyio.lowlevel.checkpoint()
        assert await bus.claim("lease", 60)
