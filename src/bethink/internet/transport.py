"""Requests of httpx2 through the gate: for servers that an owner names, such as one of calendars."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import anyio.to_thread
import httpcore2
import httpx2

from bethink.internet.connections import GatedBackend
from bethink.internet.http_get import user_agent

if TYPE_CHECKING:
    from bethink.internet.addresses import AddressGate

_CONNECTIONS = 4


@dataclass(frozen=True, slots=True)
class _Body(httpx2.AsyncByteStream):
    stream: AsyncIterable[bytes]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self.stream:
            yield part

    async def aclose(self) -> None:
        if (close := getattr(self.stream, "aclose", None)) is not None:
            await close()


@dataclass(frozen=True, slots=True)
class _GatedTransport(httpx2.AsyncBaseTransport):
    pool: httpcore2.AsyncConnectionPool

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        asked = httpcore2.Request(
            request.method,
            target,
            headers=request.headers.raw,
            content=cast("AsyncIterable[bytes]", request.stream),
            extensions=request.extensions,
        )
        answer = await self.pool.handle_async_request(asked)
        body = _Body(cast("AsyncIterable[bytes]", answer.stream))
        return httpx2.Response(answer.status, headers=answer.headers, stream=body)


@asynccontextmanager
async def gated_client(gate: AddressGate, timeout_s: float) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client whose connections lead only where the gate allows; it follows no redirect and no proxy."""
    trust = await anyio.to_thread.run_sync(gate.trust)
    async with (
        httpcore2.AsyncConnectionPool(
            ssl_context=trust, network_backend=GatedBackend(gate), max_connections=_CONNECTIONS
        ) as pool,
        httpx2.AsyncClient(
            transport=_GatedTransport(pool),
            timeout=timeout_s,
            trust_env=False,
            follow_redirects=False,
            headers={"User-Agent": user_agent(), "Accept-Encoding": "identity"},
        ) as client,
    ):
        yield client
