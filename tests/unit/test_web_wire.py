"""Connections that are silent, slow, or too many: they are let go, and others are answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from bethink.web.server import ConnectionLimits
from tests.door import served
from tests.house import open_house
from tests.tool_servers import until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

HEAD = b"Host: 127.0.0.1\r\n"
BEGUN = (
    b"POST /memories HTTP/1.1\r\n"
    + HEAD
    + b"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
)
NONE: frozenset[str] = frozenset()
Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def connection(
    port: int, *sent: bytes, host: str = "127.0.0.1", limit: int = 65_536
) -> AsyncGenerator[Pair]:
    """A connection over which this was sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(host, 0), limit=limit)
    try:
        for piece in sent:
            writer.write(piece)
            await writer.drain()
        yield reader, writer
    finally:
        writer.close()


async def ending(reader: asyncio.StreamReader) -> bytes:
    """What comes until the server closes the connection."""
    try:
        return await reader.read()
    except ConnectionError:
        return b""


@asynccontextmanager
async def serving(**limits: Any) -> AsyncGenerator[tuple[Any, int, Any]]:  # noqa: ANN401 - of `Limits`
    """A client, the port and the state of a server with these limits."""
    async with open_house() as house, served(house, ConnectionLimits(**limits)) as (http, server):
        yield http, http.base_url.port or 0, server.server_state


async def test_silent_connections_do_not_keep_others_out() -> None:
    async with serving(connections=20) as (http, port, state), AsyncExitStack() as stack:
        for _ in range(60):
            await stack.enter_async_context(connection(port))
        for _ in range(60):
            await stack.enter_async_context(connection(port, b"GET /health HTTP/1.1\r\nHost: 127."))
        assert (await http.get("/health")).status_code == 200
        assert len(state.connections) <= 20


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nX-Slow: ", b"\r\n"])
async def test_who_never_ends_a_head_is_let_go(sent: bytes) -> None:
    async with serving(head_s=0.2) as (_, port, state), connection(port, sent) as (reader, _writer):
        assert await ending(reader) == b""
        assert not state.connections


async def test_who_drips_a_second_head_behind_an_answer_is_let_go() -> None:
    whole = b"GET /health HTTP/1.1\r\n" + HEAD + b"\r\n"
    async with serving(head_s=0.2) as (_, port, state), connection(port, whole) as (reader, writer):
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200")
        writer.write(b"GET /")
        await ending(reader)
        assert not state.connections


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async with serving(progress_s=0.2) as (http, port, state):
        async with connection(port, BEGUN, b"{") as (reader, _):
            assert b" 200 " not in await ending(reader)
        assert (await http.get("/health")).status_code == 200
        assert len(state.connections) <= 1


async def test_a_body_that_comes_is_waited_for() -> None:
    async with serving(progress_s=0.4) as (_, port, _state), connection(port, BEGUN) as (reader, writer):
        for _ in range(50):
            writer.write(b" " * 1_999)
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b" " * 50)
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 422")


async def test_who_takes_nothing_of_what_was_asked_for_is_let_go() -> None:
    asked = b"GET /openapi.json HTTP/1.1\r\n" + HEAD + b"\r\n"
    async with (
        serving(progress_s=0.3) as (_, port, state),
        connection(port, asked * 200, limit=1_024) as (_reader, _writer),
    ):
        await until(lambda: state.connections, 20)
        await until(lambda: not state.connections, 20)


async def test_one_address_cannot_have_all_connections_for_itself() -> None:
    async with serving(of_address=4, trusted=NONE) as (_, port, _state), AsyncExitStack() as stack:
        for _ in range(4):
            await stack.enter_async_context(connection(port, BEGUN, b"{", host="127.0.0.2"))
        whole = b"GET /health HTTP/1.1\r\nConnection: close\r\n" + HEAD + b"\r\n"
        while True:
            # Their requests are read by now, or else they would be silent and make room.
            async with connection(port, whole, host="127.0.0.2") as (reader, _):
                if not await ending(reader):
                    break
        async with connection(port, whole, host="127.0.0.3") as (reader, _):
            assert b" 200 " in await ending(reader)
