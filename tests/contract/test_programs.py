"""Whole programs in the sandbox: what they see, what they reach, and what they cannot be given."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from anyio import to_thread

from bethink.child_process import ChildProcess
from bethink.clock import SystemClock
from bethink.errors import McpUnreachable, SandboxUnavailable
from bethink.mcp_client import Sandboxed, ServerConfig
from bethink.mcp_client.processes import descendants
from bethink.mcp_client.sdk import SdkConnector
from bethink.mcp_client.servers import Servers
from bethink.sandbox.choice import Wanted
from bethink.sandbox.confinement import Bubblewrap, Landlock
from bethink.sandbox.programs import Program, Programs
from bethink.telemetry import Supervisor
from bethink.tools.mcp import SandboxLauncher
from tests.contract.sandboxes import sandbox_named
from tests.fake_mcp import MemoryKeeping
from tests.tool_servers import called, hostile, is_running, states, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

_SHELL = "/bin/sh"


@pytest.fixture(params=["bubblewrap", "landlock"])
def wall(request: pytest.FixtureRequest) -> Wanted:
    sandbox_named(request.param)
    return request.param


@pytest.fixture
def place() -> Generator[Path]:
    """Not among temporary files, of which a program in the sandbox has its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="bethink-programs-") as made:
        (Path(made) / "data").mkdir()
        (Path(made) / "data" / "secret").write_text("the owner's")
        (Path(made) / "mine").write_text("the owner's, too")
        yield Path(made)


async def ran(wall: Wanted, place: Path, script: str, *, closed_port: int = 0, **more: object) -> str:
    """What a shell in the sandbox prints."""
    programs = Programs(wall, place / "data", closed_port=closed_port)
    folder = place / "data" / "mcp_servers" / "one"
    program = Program([_SHELL, "-c", script], {"PATH": os.environ["PATH"]}, folder, **more)  # pyright: ignore[reportArgumentType] - by name
    enclosed = await programs.enclosed(program)
    child = ChildProcess.opened(
        *enclosed.command,
        env=enclosed.env,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        start_new_session=True,
    )
    async with child as process:
        assert process.stdout is not None
        return (await process.stdout.read()).decode()


@contextmanager
def listening() -> Generator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.requirement("R80")
async def test_a_program_sees_what_is_installed_and_its_own_folder(wall: Wanted, place: Path) -> None:
    script = (
        f'cat {place}/mine {place}/data/secret; echo kept > "$HOME/own" && cat ~/own; echo x > {place}/new'
    )
    said = await ran(wall, place, f"{script}; kill -0 {os.getpid()} && echo found")
    assert "the owner's" not in said
    assert "kept\n" in said
    assert "found" not in said
    assert (place / "data" / "mcp_servers" / "one" / "own").read_text() == "kept\n"
    assert not (place / "new").exists()


@pytest.mark.requirement("R80")
async def test_what_is_named_is_open_and_nothing_else(wall: Wanted, place: Path) -> None:
    (place / "notes").mkdir()
    script = f"cat {place}/mine; echo y > {place}/mine; echo z > {place}/notes/new"
    said = await ran(wall, place, script, readable=[place / "mine"], writable=[place / "notes"])
    assert "the owner's, too" in said
    assert (place / "mine").read_text() == "the owner's, too"
    assert (place / "notes" / "new").read_text() == "z\n"


@pytest.mark.requirement("R80")
async def test_without_the_network_nothing_is_reached(wall: Wanted, place: Path) -> None:
    with listening() as port:
        tried = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('reached')"
        assert "reached" not in await ran(wall, place, f'{sys.executable} -c "{tried}"', network=False)
        assert "reached" in await ran(wall, place, f'{sys.executable} -c "{tried}"', network=True)


async def test_with_the_network_the_port_of_bethink_stays_closed(wall: Wanted, place: Path) -> None:
    if Landlock().version_here() < 4:
        pytest.skip("needs Landlock 4")
    with listening() as port:
        tried = (
            f"import socket\nfor protocol in (0, 262):\n  try:\n    s = socket.socket(2, 1, protocol)\n"
            f"    s.connect(('127.0.0.1', {port})); print('reached')\n  except OSError as e: print(e)"
        )
        script = f'{sys.executable} -c "{tried}"'
        assert "reached" not in await ran(wall, place, script, network=True, closed_port=port)
        local = "import socket; socket.socket(socket.AF_UNIX); print('made')"
        assert "made" not in await ran(wall, place, f'{sys.executable} -c "{local}"', network=True)


async def test_the_data_directory_and_the_whole_machine_are_given_to_nobody(
    wall: Wanted, place: Path
) -> None:
    for given in (place / "data" / "secret", place / "data" / "mcp_servers" / "two", Path("/")):
        with pytest.raises(SandboxUnavailable, match=r"Bethink's own data|the whole machine"):
            await ran(wall, place, "true", writable=[given])
    with pytest.raises(FileNotFoundError):
        await Programs(wall, place / "data").enclosed(
            Program(["no-such-program"], {}, place / "data" / "own")
        )


async def test_a_place_around_the_data_directory_is_open_without_it(place: Path) -> None:
    sandbox_named("bubblewrap")
    said = await ran(
        "bubblewrap", place, f"cat {place}/mine; ls {place}/data {place}/data/*", writable=[place]
    )
    assert "the owner's, too" in said
    assert "secret" not in said
    with pytest.raises(SandboxUnavailable, match="name a place that does not hold it"):
        await ran("landlock", place, "true", writable=[place])


def servers_in(programs: Programs) -> Servers:
    keeping = MemoryKeeping()
    launcher = SandboxLauncher(programs, programs.data_dir / "mcp_servers")
    return Servers(SdkConnector(keeping, launcher), keeping, SystemClock())


def sandboxed(config: ServerConfig) -> ServerConfig:
    return ServerConfig(config.name, "stdio", command=config.command, sandbox=Sandboxed(network=False))


@pytest.mark.requirement("R80", "R182")
async def test_a_server_of_tools_works_in_the_sandbox_and_ends_with_it(wall: Wanted, place: Path) -> None:
    servers = servers_in(Programs(wall, place / "data"))
    # What other tests keep running here.
    others = {pid for pid, _ in await to_thread.run_sync(descendants, os.getpid())}
    async with servers.opened([sandboxed(hostile())], supervise=Supervisor().supervise):
        assert (await called(servers, "hostile", "add", a=1)).text == "2"
        assert servers.status("hostile").confinement == "offline"
        now = await to_thread.run_sync(descendants, os.getpid())
        children = [pid for pid, _ in now if pid not in others]
        assert len(children) > 1
    await until(lambda: not any(map(is_running, children)), 20)


async def test_a_machine_without_a_sandbox_starts_nothing_that_needs_one(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    for each in (Bubblewrap, Landlock):
        monkeypatch.setattr(each, "missing", lambda _self: "it needs another machine")
    servers = servers_in(Programs("auto", place / "data"))
    async with servers.opened([sandboxed(hostile())], supervise=Supervisor().supervise):
        with pytest.raises(McpUnreachable, match="No sandbox for programs works here"):
            await called(servers, "hostile", "add", a=1)
        assert states(servers) == {"hostile": "retrying"}
        assert "`sandbox = false`" in (servers.status("hostile").reason or "")
