"""Starting to serve: where it may listen, what it says, what it does not load."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from bethink.app import open_app
from bethink.errors import BadInput, NotAllowed
from bethink.settings import Settings
from bethink.web.server import MAX_HEAD_BYTES, listening, serve
from tests.door import served
from tests.house import open_house
from tests.server_process import environment

HEAVY = (
    *("aiohttp", "httpx", "httpx2", "mcp", "numpy", "onnxruntime", "openai"),
    *("orjson", "requests", "rich", "tokenizers", "typer", "websockets"),
)
"""What costs time or memory, and what the first answer does not need; uvicorn takes watchfiles in itself."""

WATCHED = f"""
import sys
from bethink.settings import load_settings
from bethink.web.server import serve

class Watched:
    def write(self, line):
        loaded = [name for name in {HEAVY!r} if name in sys.modules]
        sys.__stdout__.write(f"{{line}}loaded: {{loaded}}\\n")
        sys.__stdout__.flush()
        raise SystemExit

    def flush(self):
        pass

sys.stdout = Watched()
serve(load_settings())
"""


async def _user_without_a_way_in(directory: Path) -> None:
    async with open_app(Settings(data_dir=directory)) as app:
        await app.accounts.register.add_user("ann")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])  # noqa: S104 - it is refused
def test_an_address_that_others_reach_is_not_bound(host: str, tmp_path: Path) -> None:
    anyio.run(_user_without_a_way_in, tmp_path)
    with pytest.raises(NotAllowed, match="Refusing to listen on"):
        serve(Settings(host=host, data_dir=tmp_path))


def test_a_taken_port_is_named() -> None:
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with (
            pytest.raises(BadInput, match=f"Port {port} of 127.0.0.1 is taken"),
            listening("127.0.0.1", port),
        ):
            pass


@pytest.mark.timeout(60)
def test_nothing_heavy_is_loaded_before_the_first_answer(tmp_path: Path) -> None:
    told = environment(tmp_path, None, BETHINK_MODEL="scripted:demo")
    result = subprocess.run(
        [sys.executable, "-c", WATCHED], env=told, capture_output=True, text=True, check=False
    )
    greeting, loaded = result.stdout.splitlines()[:2]
    assert greeting.startswith("Bethink is at http://127.0.0.1:")
    assert greeting.endswith(f"(data in {tmp_path})")
    assert loaded == "loaded: []"


async def _told(port: int, *pieces: bytes) -> bytes:
    """What the server says to these bytes, until it closes the connection; nothing where it breaks it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.anyio
async def test_blanks_around_the_value_of_a_header_are_none_of_it() -> None:
    padded = b"GET /livez HTTP/1.1\r\nHost: \t 127.0.0.1 \t \r\nConnection: close\r\n\r\n"
    async with open_house() as house, served(house) as (http, _):
        assert http.base_url.port is not None
        assert (await _told(http.base_url.port, padded)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.anyio
async def test_a_head_that_does_not_end_is_cut_off_and_a_long_one_is_not() -> None:
    begun = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nX-Long: "
    # What follows a body in pieces is no body either.
    trailer = (
        b"POST /memories HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Type: application/json\r\n\r\n"
    )
    async with open_house() as house, served(house) as (http, _):
        port = http.base_url.port
        assert port is not None
        endless = begun + b"x" * (MAX_HEAD_BYTES + 1 - len(begun))
        assert (await _told(port, endless)).startswith(b"HTTP/1.1 400 ")
        whole = begun + b"x" * 100_000 + b"\r\n\r\n"
        assert (await _told(port, whole[:60_000], whole[60_000:])).startswith(b"HTTP/1.1 200 ")
        ending = b"2\r\n{}\r\n0\r\nX-Long: "
        assert b" 200 " not in await _told(port, trailer, ending + b"x" * (4 * MAX_HEAD_BYTES))
        answer = await http.post("/memories", json={"content": "Long. " * 500_000})
        assert answer.status_code == 413
