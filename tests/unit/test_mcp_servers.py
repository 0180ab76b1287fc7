"""The servers as a whole, over a connector of functions: a dead or hung one is nobody else's business."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest

from bethink.clock import FakeClock
from bethink.errors import McpUnreachable, UnknownId
from bethink.mcp_client import CallResult, Pinned, RemoteTool, ServerConfig
from bethink.mcp_client.servers import Servers
from bethink.telemetry import Supervisor
from tests.fake_mcp import FakeConnector, FakeServer, MemoryKeeping
from tests.tool_servers import called, states, until

pytestmark = pytest.mark.anyio

ECHO = RemoteTool(name="echo", description="Says it again.")


def server(*tools: RemoteTool, fault: str | None = None, is_hung: bool = False) -> FakeServer:
    made = FakeServer(fault=fault, is_hung=is_hung)
    for tool in tools:
        made.offer(tool)
    return made


def config(name: str, **more: object) -> ServerConfig:
    return ServerConfig(name, "http", url=f"http://127.0.0.1/{name}", **more)  # pyright: ignore[reportArgumentType] - by name


@asynccontextmanager
async def opened(
    keeping: MemoryKeeping | None = None, /, *configs: ServerConfig, **fakes: FakeServer
) -> AsyncGenerator[tuple[Servers, FakeConnector]]:
    connector = FakeConnector(fakes)
    servers = Servers(connector, keeping or MemoryKeeping(), FakeClock())
    async with servers.opened(configs or [config(name) for name in fakes], supervise=Supervisor().supervise):
        yield servers, connector


@pytest.mark.requirement("C17", "R92")
async def test_a_hung_and_a_dead_server_delay_neither_start_nor_others() -> None:
    fakes = {"a": server(ECHO), "dead": server(fault="no such host"), "hung": server(is_hung=True)}
    async with opened(**fakes) as (servers, _):
        assert states(servers) == {"a": "idle", "dead": "idle", "hung": "idle"}
        assert (await called(servers, "a", "echo")).text == "echo"
        await until(lambda: states(servers)["dead"] == "retrying")
        assert servers.status("dead").reason == "no such host"
        assert states(servers)["hung"] == "connecting"
        with pytest.raises(McpUnreachable, match="no such host"):
            await called(servers, "dead", "echo")


async def test_every_session_is_closed_at_the_end() -> None:
    async with opened(a=server(ECHO), b=server(ECHO)) as (servers, connector):
        await until(lambda: set(states(servers).values()) == {"ready"})
        assert connector.open_sessions == 2
    assert connector.open_sessions == 0


async def test_a_lazy_server_is_opened_by_its_first_call_and_an_eager_one_at_once() -> None:
    keeping = MemoryKeeping()
    lazy, eager = config("lazy"), config("eager", start="eager")
    for one in (lazy, eager):
        await keeping.pin(one.name, Pinned(origin=one.origin, tools=(ECHO,)))
    async with opened(keeping, lazy, eager, lazy=server(ECHO), eager=server(ECHO)) as (servers, _):
        await until(lambda: states(servers)["eager"] == "ready")
        assert states(servers)["lazy"] == "idle"
        assert [tool.name for _, tool in servers.tools()] == ["echo", "echo"]
        await called(servers, "lazy", "echo")
        assert states(servers)["lazy"] == "ready"


async def test_another_program_under_the_same_name_is_another_server() -> None:
    keeping = MemoryKeeping()
    await keeping.pin("a", Pinned(origin="something else", tools=(RemoteTool(name="old"),)))
    async with opened(keeping, a=server(ECHO)) as (servers, _):
        await until(lambda: servers.status("a").tools == ("echo",))
        assert keeping.pins["a"].tools == (ECHO,)


async def test_without_pins_every_change_is_taken() -> None:
    fake = server(ECHO)
    async with opened(None, config("a", pin=False), a=fake) as (servers, _):
        await until(lambda: states(servers)["a"] == "ready")
        fake.offer(RemoteTool(name="more"))
        assert fake.hooks is not None
        before = servers.version
        fake.hooks.on_change()
        await until(lambda: servers.version > before)
        assert servers.status("a").tools == ("echo", "more")


@pytest.mark.requirement("U10", "R164")
async def test_a_server_that_was_lost_is_opened_again() -> None:
    fake = server(ECHO)
    async with opened(a=fake) as (servers, _):
        await until(lambda: states(servers)["a"] == "ready")
        assert fake.hooks is not None
        fake.hooks.on_lost("the cable was cut")
        await until(lambda: fake.opened == 2 and states(servers)["a"] == "ready")
        assert servers.status("a").last_error == "the cable was cut"


@pytest.mark.requirement("U10")
async def test_a_server_without_a_sign_of_life_is_opened_again() -> None:
    fake = server(ECHO)
    async with opened(None, config("a", ping_every_s=0.05), a=fake) as (servers, _):
        await until(lambda: states(servers)["a"] == "ready")
        fake.fault = "asleep"
        await until(lambda: servers.status("a").last_error == "asleep")
        fake.fault = None
        await until(lambda: states(servers)["a"] == "ready")


async def test_reconnecting_is_done_at_once_and_says_how_it_went() -> None:
    fake = server(ECHO, fault="not yet")
    async with opened(a=fake) as (servers, _):
        assert (await servers.reconnect("a")).reason == "not yet"
        fake.fault = None
        assert (await servers.reconnect("a")).state == "ready"
        with pytest.raises(UnknownId, match="Known: a"):
            await servers.reconnect("b")


async def test_two_tools_of_one_name_are_the_first_of_them() -> None:
    fake = FakeServer()
    fake.tools = {"x": (ECHO, _never), "y": (RemoteTool(name="echo", description="Another."), _never)}
    async with opened(a=fake) as (servers, _):
        await until(lambda: servers.status("a").tools)
        assert [tool.description for _, tool in servers.tools()] == ["Says it again."]


async def _never(*_: object) -> CallResult:
    await anyio.sleep_forever()
    raise AssertionError


async def test_calls_of_one_session_run_at_once() -> None:
    fake = server(ECHO)
    async with opened(a=fake) as (servers, _), anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(called, servers, "a", "echo")
    assert fake.opened == 1


async def test_what_another_process_accepted_is_heard_of() -> None:
    keeping, changed = MemoryKeeping(), RemoteTool(name="echo", description="Changed.")
    async with opened(keeping, a=server(changed)) as (servers, _):
        await keeping.pin("a", Pinned(origin=config("a").origin, tools=(ECHO,)))
        await servers.look_again()
        assert [tool.change for tool in servers.status("a").waiting] in ([], ["changed"])
        await until(lambda: states(servers)["a"] == "ready")
        await servers.look_again()
        assert [tool.change for tool in servers.status("a").waiting] == ["changed"]
        await keeping.pin("a", Pinned(origin=config("a").origin, tools=(changed,)))
        await servers.look_again()
        assert not servers.status("a").waiting
