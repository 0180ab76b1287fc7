"""The MCP client against servers that nobody here wrote, over both transports; each is killed and comes back.

`make servers` installs them, pinned by hash. Without them these tests are skipped, and fail in CI.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from bethink.errors import McpLost, McpTimeout, McpUnreachable
from bethink.mcp_client import NamedResource, ResultFile, ServerConfig
from bethink.mcp_client.servers import Servers
from tests.tool_servers import called, foreign_node, foreign_python, is_running, open_servers, states, until

# Node and Python processes start slowly where others are at work.
pytestmark = [pytest.mark.foreign(make="servers"), pytest.mark.anyio, pytest.mark.timeout(120)]

LONG = "trigger-long-running-operation"


def everything(**more: object) -> ServerConfig:
    return ServerConfig("everything", "stdio", command=foreign_node("everything"), **more)  # pyright: ignore[reportArgumentType] - by name


@asynccontextmanager
async def everything_over_http(port: int) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *foreign_node("everything", "streamableHttp"),
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def long_call(servers: Servers, name: str, reported: asyncio.Event) -> None:
    """A minute's work, of which the server reports ten times a second."""
    await servers.call(
        name,
        LONG,
        arguments={"duration": 60, "steps": 600},
        on_progress=lambda _text, _share: reported.set(),
    )


def names(servers: Servers, server: str) -> set[str]:
    return {tool.name for config, tool in servers.tools() if config.name == server}


def children_of(pid: int) -> list[int]:
    """The processes that a process started, and that still run."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if _parent(entry) == pid]


def _parent(entry: Path) -> int:
    try:
        return (
            int((entry / "stat").read_text().rpartition(")")[2].split()[1]) if entry.name.isdecimal() else 0
        )
    except OSError:
        return 0


def child_of(servers: Servers, name: str) -> int:
    """The process of a server, found as an administrator would."""
    config = next(config for config, _ in servers.tools() if config.name == name)
    return next(
        pid for pid in children_of(os.getpid()) if config.command[-1].encode() in command_of(pid).split(b"\0")
    )


def command_of(pid: int) -> bytes:
    """What a process was started with; nothing where it has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


@pytest.mark.requirement("R68", "R69")
async def test_everything_over_stdio() -> None:
    async with open_servers(everything()) as servers:
        assert (await called(servers, "everything", "echo", message="hi")).text == "Echo: hi"
        image = (await called(servers, "everything", "get-tiny-image")).result
        assert any(isinstance(part, ResultFile) and part.media_type == "image/png" for part in image.parts)
        links = (await called(servers, "everything", "get-resource-links", count=2)).result
        assert sum(isinstance(part, NamedResource) for part in links.parts) == 2
        weather = (await called(servers, "everything", "get-structured-content", location="Chicago")).result
        assert weather.structured["temperature"] == 36
        assert (await called(servers, "everything", "get-sum", a="x", b=1)).result.is_error
        steps = await called(servers, "everything", LONG, duration=0.3, steps=3)
        assert [share for _, share in steps.progress] == [1 / 3, 2 / 3, 1.0]


async def test_everything_is_killed_in_a_call_and_comes_back() -> None:
    async with open_servers(everything()) as servers:
        await servers.reconnect("everything")
        reported = asyncio.Event()
        call = asyncio.create_task(long_call(servers, "everything", reported))
        await reported.wait()
        os.kill(child_of(servers, "everything"), signal.SIGKILL)
        with pytest.raises(McpLost, match="signal 9"):
            await call
        assert (await called(servers, "everything", "echo", message="again")).text == "Echo: again"


async def test_progress_keeps_a_call_alive_and_silence_ends_it() -> None:
    async with open_servers(everything(idle_timeout_s=1.5, call_timeout_s=30)) as servers:
        assert (await called(servers, "everything", LONG, duration=3, steps=6)).text
        with pytest.raises(McpTimeout, match="without a sign of progress"):
            await called(servers, "everything", LONG, duration=20, steps=2)
        assert states(servers) == {"everything": "ready"}


@pytest.mark.requirement("R67", "R70")
async def test_everything_over_http_is_killed_and_comes_back() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    async with open_servers(ServerConfig("web", "http", url=url, connect_timeout_s=20)) as servers:
        with pytest.raises(McpUnreachable):
            await called(servers, "web", "echo", message="early")
        async with everything_over_http(port) as process:
            await until(lambda: states(servers)["web"] == "ready", 60)
            assert (await called(servers, "web", "echo", message="hi")).text == "Echo: hi"
            reported = asyncio.Event()
            call = asyncio.create_task(long_call(servers, "web", reported))
            await reported.wait()
            process.kill()
            with pytest.raises(McpLost):
                await call
            await until(lambda: states(servers)["web"] != "ready")
        async with everything_over_http(port):
            await until(lambda: states(servers)["web"] == "ready", 60)
            assert (await called(servers, "web", "echo", message="again")).text == "Echo: again"


async def test_memory_keeps_what_it_was_told_through_a_kill(tmp_path: Path) -> None:
    config = ServerConfig(
        "memory",
        "stdio",
        command=foreign_node("memory"),
        env={"MEMORY_FILE_PATH": str(tmp_path / "graph.jsonl")},
    )
    async with open_servers(config) as servers:
        entity = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
        await called(servers, "memory", "create_entities", entities=[entity])
        os.kill(child_of(servers, "memory"), signal.SIGKILL)
        await until(lambda: states(servers)["memory"] != "ready")
        found = await called(servers, "memory", "search_nodes", query="tea")
        assert "Ada" in found.text


@pytest.mark.requirement("R209")
async def test_filesystem_reads_what_it_may_and_says_what_it_may_not(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("the answer is 42")
    config = ServerConfig("files", "stdio", command=foreign_node("filesystem", str(tmp_path)))
    async with open_servers(config) as servers:
        note = str(tmp_path / "note.txt")
        assert "the answer is 42" in (await called(servers, "files", "read_text_file", path=note)).text
        refused = await called(servers, "files", "read_text_file", path="/etc/passwd")
        assert refused.result.is_error
        assert "denied" in refused.text.lower()
        write = next(tool for _, tool in servers.tools() if tool.name == "write_file")
        assert write.destructive
        os.kill(child_of(servers, "files"), signal.SIGKILL)
        await until(lambda: states(servers)["files"] != "ready")
        assert "the answer is 42" in (await called(servers, "files", "read_text_file", path=note)).text


@pytest.mark.requirement("R76", "R206")
async def test_three_python_servers_side_by_side_each_killed(tmp_path: Path) -> None:
    await anyio.run_process(["git", "init", "-q", str(tmp_path)])
    (tmp_path / "new.txt").write_text("x")
    configs = (
        ServerConfig("time", "stdio", command=foreign_python("time")),
        ServerConfig("git", "stdio", command=foreign_python("git")),
        ServerConfig("fetch", "stdio", command=foreign_python("fetch")),
    )

    async def use_them(servers: Servers) -> None:
        zone = await called(servers, "time", "get_current_time", timezone="Europe/Paris")
        assert "Europe/Paris" in zone.text
        assert "new.txt" in (await called(servers, "git", "git_status", repo_path=str(tmp_path))).text
        refused = await called(servers, "fetch", "fetch", url="http://127.0.0.1:9/")
        assert refused.result.is_error

    async with open_servers(*configs) as servers:
        await use_them(servers)
        for config in configs:
            os.kill(child_of(servers, config.name), signal.SIGKILL)
        await until(lambda: "ready" not in states(servers).values())
        await use_them(servers)


_HOLDS = """
import asyncio, sys
sys.path.insert(0, {root!r})
from tests.tool_servers import called, foreign_node, hostile, open_servers
from bethink.mcp_client import ServerConfig
async def main():
    configs = [hostile("stubborn"), ServerConfig("everything", "stdio", command=foreign_node("everything"))]
    async with open_servers(*configs) as servers:
        pid = (await called(servers, "hostile", "pid")).text
        await called(servers, "everything", "echo", message="x")
        child = next(tool.description for _, tool in servers.tools() if tool.name == "add")
        print(pid, child, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.mark.requirement("R204")
async def test_no_server_outlives_a_bethink_that_is_killed() -> None:
    """One that ignores the end of its input and SIGTERM, its own child, and an ordinary one."""
    foreign_node("everything")  # here, where a skip is one, and not in the process that holds it
    root = str(Path(__file__).parent.parent.parent)
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _HOLDS.format(root=root), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert holder.stdout is not None
    try:
        pid, child = map(int, (await holder.stdout.readline()).split())
        everything = children_of(holder.pid)
        assert pid in everything
        assert len(everything) == 3, "two servers and the guard"
    finally:
        # Whatever went wrong before, nothing stays behind for the next test.
        holder.kill()
        await holder.wait()
    await until(lambda: not any(map(is_running, (*everything, child))), 15)
