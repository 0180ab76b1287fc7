"""A proxy before several servers: each connection goes to the next of them that takes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from urllib.parse import urlsplit


class _Balancer:
    def __init__(self, urls: Sequence[str]) -> None:
        parts = [urlsplit(url) for url in urls]
        self._places = [(part.hostname or "", part.port or 0) for part in parts]
        self._turn = count()
        self._writers = set[asyncio.StreamWriter]()

    async def close(self) -> None:
        """End all connections."""
        for writer in self._writers:
            writer.close()
        for writer in list(self._writers):
            with suppress(OSError):
                await writer.wait_closed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        for _ in self._places:
            host, port = self._places[next(self._turn) % len(self._places)]
            try:
                inner, out = await asyncio.open_connection(host, port)
            except OSError:
                continue
            self._writers |= {writer, out}
            try:
                await asyncio.gather(_carry(reader, out), _carry(inner, writer))
            finally:
                self._writers -= {writer, out}
            return
        writer.close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def balanced(urls: Sequence[str]) -> AsyncGenerator[str]:
    """The address of a proxy before these servers, while the block lasts."""
    balancer = _Balancer(urls)
    listening = await asyncio.start_server(balancer.serve, "127.0.0.1")
    host, port = listening.sockets[0].getsockname()[:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        listening.close()
        await balancer.close()
