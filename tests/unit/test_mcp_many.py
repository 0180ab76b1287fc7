"""Servers with thousands of tools, those that change them all the time, and files that cannot be kept."""

from __future__ import annotations

from time import monotonic, process_time
from typing import Any

import anyio
import pytest

from bethink.agent.tool_selection import ToolRoom
from bethink.agent.toolbox import Toolbox
from bethink.clock import FakeClock
from bethink.errors import DiskFull
from bethink.mcp_client import CallResult, Progress, RemoteTool, ResultFile, ServerConfig, Text
from bethink.mcp_client.servers import Servers
from bethink.messages import Attachment
from bethink.principal import Principal
from bethink.telemetry import Supervisor
from bethink.tool import NewFile, ToolContext, ToolOutput
from bethink.tools.mcp import McpTools
from tests.fake_mcp import Answer, FakeConnector, FakeServer, MemoryKeeping
from tests.tool_servers import until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


async def test_thousands_of_tools_and_a_change_of_one_hold_up_nobody() -> None:
    properties = {f"p{n}": {"type": "string", "description": "Said of it.", "enum": ["a"]} for n in range(12)}
    schema = {"type": "object", "properties": properties}
    fake, other = FakeServer(), FakeServer()
    for number in range(2_000):
        fake.offer(RemoteTool(name=f"tool_{number}", input_schema=schema))
    other.offer(RemoteTool(name="one"))
    servers = Servers(FakeConnector({"many": fake, "other": other}), MemoryKeeping(), FakeClock())
    tools = McpTools(servers, {})
    box = Toolbox((), timeout_s=5, concurrency=4, max_result_chars=1000, sources=[tools.source])
    configs = [ServerConfig(name, "http", url="http://x/", pin=False) for name in ("many", "other")]
    async with servers.opened(configs, supervise=Supervisor().supervise):
        await until(lambda: len(servers.status("many").tools) == 2_000)
        await until(lambda: servers.status("other").tools)
        start = process_time()
        first = {tool.name: tool for tool in tools.source()}
        await box.offer_in([], Principal("local"), ToolRoom(10**6, 10**6))
        assert len(first) == 2_001
        assert process_time() - start < 0.5, "what takes long was done in a thread"
        other.offer(RemoteTool(name="two"))
        assert other.hooks is not None
        other.hooks.on_change()
        await until(lambda: len(servers.status("other").tools) == 2)
        second = {tool.name: tool for tool in tools.source()}
        assert all(second[name] is tool for name, tool in first.items() if name.startswith("many"))


async def test_a_flood_of_changes_that_change_nothing_is_read_ever_more_rarely() -> None:
    fake = FakeServer()
    fake.offer(RemoteTool(name="one"))
    read: list[float] = []
    servers = Servers(FakeConnector({"a": fake}), MemoryKeeping(), FakeClock())
    async with servers.opened([ServerConfig("a", "http", url="http://x/")], supervise=Supervisor().supervise):
        await until(lambda: servers.status("a").tools)
        before = servers.version
        tools = fake.tools

        class Counted(dict[str, tuple[RemoteTool, Answer]]):
            def values(self) -> Any:  # noqa: ANN401 - a type that has no public name
                read.append(monotonic())
                return tools.values()

        fake.tools = Counted()
        assert fake.hooks is not None
        with anyio.move_on_after(2.5):
            while True:
                fake.hooks.on_change()
                await anyio.sleep(0.001)
        assert 1 <= len(read) <= 3
        assert servers.version == before


async def test_an_answer_outlives_a_file_that_cannot_be_kept() -> None:
    async def answer(_arguments: dict[str, Any], _progress: Progress) -> CallResult:
        return CallResult((Text("It is booked."), ResultFile("a.png", "image/png", b"\x00")))

    async def keep(_file: NewFile) -> Attachment:
        raise DiskFull

    fake = FakeServer()
    fake.offer(RemoteTool(name="book"), answer)
    servers = Servers(FakeConnector({"a": fake}), MemoryKeeping(), FakeClock())
    tools = McpTools(servers, {})
    async with servers.opened([ServerConfig("a", "http", url="http://x/")], supervise=Supervisor().supervise):
        await until(tools.source)
        output = await tools.source()[0].handler(ToolContext(Principal("me"), "c", "r", "m", keep=keep))
    assert isinstance(output, ToolOutput)
    assert output.text.startswith("It is booked.\n[file left out: ")
    assert output.error is None


@pytest.mark.parametrize(
    ("texts", "structured", "read"),
    [
        (["hi"], {"result": "hi"}, "hi"),
        (["x", "y"], {"result": ["x", "y"]}, "x\ny"),
        (["x"], {"result": ["x"]}, "x"),
        (["5"], {"result": 5}, "5"),
        (['{\n  "k": 1\n}'], {"result": [{"k": 1}]}, '{\n  "k": 1\n}'),
        (['{"k": 1}'], {"k": 1}, '{"k": 1}'),
        ([], {"result": []}, '{"result": []}'),
        (["It is done."], {"result": "other"}, 'It is done.\n{"result": "other"}'),
        (["hi"], {"result": "hi", "more": 1}, 'hi\n{"result": "hi", "more": 1}'),
        (["x"], {"result": ["x", "y"]}, 'x\n{"result": ["x", "y"]}'),
    ],
)
async def test_what_a_server_says_twice_is_read_once(
    texts: list[str], structured: dict[str, Any], read: str
) -> None:
    """As servers of the official library wrap what is no object."""

    async def answer(_arguments: dict[str, Any], _progress: Progress) -> CallResult:
        return CallResult(tuple(map(Text, texts)), structured=structured)

    fake = FakeServer()
    fake.offer(RemoteTool(name="say"), answer)
    servers = Servers(FakeConnector({"a": fake}), MemoryKeeping(), FakeClock())
    tools = McpTools(servers, {})
    async with servers.opened([ServerConfig("a", "http", url="http://x/")], supervise=Supervisor().supervise):
        await until(tools.source)
        output = await tools.source()[0].handler(ToolContext(Principal("me"), "c", "r", "m"))
    assert isinstance(output, ToolOutput)
    assert output.text == read
