"""The network before a server on a socket: it can be cut, held without a word, or lead elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory


@dataclass(slots=True)
class Wire:
    """A socket that leads to a server's, which is `target` and may become another."""

    socket: Path
    target: Path
    _is_open: bool = True
    _flows: asyncio.Event = field(default_factory=asyncio.Event)
    _ends: set[asyncio.StreamWriter] = field(default_factory=set[asyncio.StreamWriter])

    def __post_init__(self) -> None:
        self._flows.set()

    def cut(self) -> None:
        """End all connections, and take no new ones."""
        self._is_open = False
        for end in self._ends:
            end.close()

    def mend(self) -> None:
        """Carry again; what was held gets there late, as on a network that was away for a while."""
        self._is_open = True
        self._flows.set()

    def hold(self) -> None:
        """Carry nothing, and say nothing of it."""
        self._flows.clear()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        try:
            if not self._is_open:
                raise ConnectionRefusedError
            inner, out = await asyncio.open_unix_connection(str(self.target))
        except OSError:
            writer.close()
            return
        self._ends |= {writer, out}
        try:
            with suppress(OSError):
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._pass(reader, out))
                    tasks.create_task(self._pass(inner, writer))
        finally:
            self._ends -= {writer, out}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while part := await reader.read(65_536):
                await self._flows.wait()
                writer.write(part)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def wire(target: Path) -> AsyncGenerator[Wire]:
    """One to a server's socket; its own has the same name, in a folder of its own."""
    # A socket's path may have 107 bytes: shorter than pytest's directories.
    with TemporaryDirectory(prefix="bethink-wire-") as directory:
        one = Wire(Path(directory) / target.name, target)
        listening = await asyncio.start_unix_server(one.carry, str(one.socket))
        try:
            yield one
        finally:
            one.cut()
            one.mend()
            listening.close()
