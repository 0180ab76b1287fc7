"""Serving over standard input and output: one JSON message a line, until the input ends or SIGTERM.

Nothing but the protocol may go to standard output: the two descriptors are taken
away before anything is opened, so that a stray `print` lands on standard error.
The input is read by a thread of its own, which ends with the process: a read
that waits must not keep it alive.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server

from bethink.app import open_app
from bethink.mcp_server.server import McpDoor
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from bethink.settings import Settings

_CHUNK = 65_536
_MAX_LINE = 16_000_000
"""A longer message is cut; what is left of it is no JSON, which the client is told."""

_log = log("mcp")


def serve_stdio(settings: Settings, only: Sequence[str] = ()) -> None:
    """Serve until the input ends, SIGINT or SIGTERM; everything is stored and closed then.

    Raises:
        StorageError: the data directory cannot be used.
    """
    anyio.run(_serve, settings, tuple(only))


async def _serve(settings: Settings, only: Sequence[str]) -> None:
    reads, writes = _taken()
    loop = asyncio.get_running_loop()
    async with open_app(settings) as app, anyio.create_task_group() as tasks:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, tasks.cancel_scope.cancel)
        server = McpDoor(app, "stdio", only).server()
        supervise = app.ports.supervisor.supervise
        tasks.start_soon(supervise, "the embedding model", app.background.ready_embedder)
        tasks.start_soon(supervise, "watching of vaults", app.watching.watch)
        for task in app.features.tasks(served=True):
            tasks.start_soon(supervise, task.name, task.run)
        source, sink = _Lines(reads, loop), _Output(writes)
        async with stdio_server(source, sink) as (read, write):  # pyright: ignore[reportArgumentType] - iterates and writes only
            await server.run(read, write, server.create_initialization_options())
            tasks.cancel_scope.cancel()


def _taken() -> tuple[int, int]:
    """Standard input and output under other numbers; the usual ones lead nowhere and to the errors."""
    reads, writes = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    return reads, writes


class _Lines:
    """The lines that come in; a client that writes faster than it is served has to wait."""

    def __init__(self, reads: int, loop: asyncio.AbstractEventLoop) -> None:
        self._queue: asyncio.Queue[str | None] = asyncio.Queue(1)
        self._loop = loop
        threading.Thread(target=self._read, args=(reads,), name="mcp-stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._queue.get()) is not None:
            if line.strip():
                yield line

    def _read(self, reads: int) -> None:
        # The last two: the loop is closed, nobody listens any more.
        ends = OSError, RuntimeError, CancelledError
        with recorded(_log, "the input cannot be read any further and counts as ended"), suppress(*ends):
            self._read_all(reads)
        with suppress(*ends):
            self._put(None)

    def _read_all(self, reads: int) -> None:
        rest = b""
        while chunk := os.read(reads, _CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._put(line.decode(errors="replace"))
            if len(rest) > _MAX_LINE:
                self._put(rest[:_CHUNK].decode(errors="replace"))
                rest = b""
        if rest:
            self._put(rest.decode(errors="replace"))

    def _put(self, line: str | None) -> None:
        asyncio.run_coroutine_threadsafe(self._queue.put(line), self._loop).result()


@dataclass(frozen=True, slots=True)
class _Output:
    """Where messages go; a client that does not read them holds up nobody's end."""

    writes: int

    async def write(self, text: str) -> None:
        """Write all of it."""
        await anyio.to_thread.run_sync(self._write, text.encode(), abandon_on_cancel=True)

    async def flush(self) -> None:
        """Nothing is held back."""

    def _write(self, content: bytes) -> None:
        while content:
            content = content[os.write(self.writes, content) :]
