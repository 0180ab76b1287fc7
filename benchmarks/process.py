"""A `bethink serve` of its own, and what its process has used: for measurements of the whole program."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import aiohttp

_NS_PER_MS = 1_000_000
_KB_PER_MB = 1024
_START_S = 180


@dataclass(frozen=True, slots=True)
class Serving:
    """A running server, and a session to ask it with."""

    origin: str
    pid: int
    session: aiohttp.ClientSession

    def cpu_ms(self) -> float:
        """CPU milliseconds that the server has used since its start, in threads that have ended, too.

        Raises:
            OSError: it has ended.
        """
        # What clock_getcpuclockid(3) makes of a process id: Python has it for threads alone.
        return time.clock_gettime_ns(~self.pid << 3 | 2) / _NS_PER_MS

    def resident_mb(self) -> float:
        """Megabytes of memory that the server holds."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(line.split()[1]) / _KB_PER_MB

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The JSON answer to a JSON request."""
        async with self.session.post(self.origin + path, json=body) as response:
            return msgspec.json.decode(await response.read())

    async def get(self, path: str) -> dict[str, Any]:
        """The JSON answer."""
        async with self.session.get(self.origin + path) as response:
            return msgspec.json.decode(await response.read())


def can_measure() -> bool:
    """Whether this machine tells what a process has used (Linux does)."""
    return sys.platform == "linux"


async def _origin(process: asyncio.subprocess.Process) -> str:
    """The address in the line that a server prints once it answers."""
    line = await asyncio.wait_for(process.stdout.readline(), _START_S) if process.stdout else b""
    words = [word for word in line.decode().split() if word.startswith("http://")]
    if not words:
        message = "bethink serve did not start; run it by hand to see why"
        raise RuntimeError(message)
    return words[0]


@asynccontextmanager
async def serving(models: Path, *arguments: str, **environment: str) -> AsyncGenerator[Serving]:
    """A server over an empty data directory, on a free port of this machine; ended with the block."""
    import aiohttp

    with tempfile.TemporaryDirectory() as directory:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("BETHINK_")}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bethink",
            "serve",
            "--port",
            "0",
            *arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables | {"BETHINK_DATA_DIR": directory, "BETHINK_MODELS_DIR": str(models)} | environment,
        )
        try:
            origin = await _origin(process)
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=2)  # shorter than the server's
            async with aiohttp.ClientSession(connector=connector) as session:
                yield Serving(origin, process.pid, session)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()
