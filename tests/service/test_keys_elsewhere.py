"""A key that is revoked at the command line opens nothing any more in a server that runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from tests import warm
from tests.door import said
from tests.server_process import environment, running

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]

_SOON_S = 60
"""It takes less than a second; a machine that does much else is given more."""
_SCRIPT = [{"delay_ms": 100, "chunk_characters": 4, "text": "Once upon a time there was a key. " * 400}]
"""An answer that takes six minutes."""


async def _command(data: Path, *words: str) -> str:
    """What `bethink` prints, in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(*warm.program(warm.BETHINK), *words),
        env=environment(data, None),
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await process.communicate()
    assert process.returncode == 0
    return told.decode().strip()


async def _ended(response: httpx2.Response) -> None:
    """Read a stream to its end, whichever it is."""
    try:
        async for _ in response.aiter_bytes():
            pass
    except httpx2.TransportError:
        return


async def _refused(http: httpx2.AsyncClient) -> None:
    """Ask until the key is refused."""
    while (await http.get("/memories")).status_code != 401:
        pass


@pytest.fixture
def model(tmp_path: Path) -> Generator[ScriptedProcess]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(_SCRIPT), encoding="utf-8")
    with scripted_process(["--script", str(script)]) as process:
        yield process


@pytest.mark.requirement("R181")
async def test_a_key_revoked_in_another_process_ends_requests_and_a_stream(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    await _command(data, "users", "add", "ann")
    text = await _command(data, "users", "key", "add", "ann")
    key = (await _command(data, "users", "key", "list", "ann")).split()[1]
    async with running(data, model) as server:
        server.http.headers["api-key"] = text
        url = f"/conversations/{await server.new()}/chat"
        async with server.http.stream("POST", url, json=said("Talk for long")) as response:
            assert response.status_code == 200
            reading = asyncio.create_task(_ended(response))
            await _command(data, "users", "key", "revoke", key)
            async with asyncio.timeout(_SOON_S):
                await reading
                await _refused(server.http)
