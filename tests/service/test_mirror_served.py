"""Facts and their lines beside a server that runs: hand edits and other processes' facts are followed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from tests import warm
from tests.server_process import Running, environment, running

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

_LOOKS, _PAUSE_S = 6_000, 0.02


async def until(look: Callable[[], bool]) -> None:
    for _ in range(_LOOKS):
        if await anyio.to_thread.run_sync(look):
            return
        await anyio.sleep(_PAUSE_S)
    raise AssertionError


async def until_known(bethink: Running, *wanted: str) -> None:
    """Until these are the facts in use."""
    contents: list[str] = []
    for _ in range(_LOOKS):
        answer = (await bethink.http.get("/memories", params={"limit": 50, "state": "active"})).json()
        contents = sorted(memory["content"] for memory in answer["items"])
        if contents == sorted(wanted):
            return
        await anyio.sleep(_PAUSE_S)
    raise AssertionError(contents)


async def test_edits_of_lines_and_facts_of_other_processes_are_followed(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    page = folder / "memories" / "general.md"

    def tells(said: str) -> Callable[[], bool]:
        return lambda: page.exists() and f"- {said} ^fact-" in page.read_text()

    async with running(tmp_path) as bethink:
        await bethink.http.post("/memories", json={"content": "Plays the violin"})
        await until(tells("Plays the violin"))
        saved = page.with_name(".general.md.swp")
        saved.write_text(page.read_text().replace("violin", "cello") + "- Likes tea\n")
        saved.rename(page)
        await until_known(bethink, "Plays the cello", "Likes tea")
        await until(tells("Likes tea"))
        process = await asyncio.create_subprocess_exec(
            *(*warm.program(warm.BETHINK), "memory", "add", "Has a dog"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment(tmp_path, None),
        )
        await process.wait()
        await until(tells("Has a dog"))
        page.write_text(
            "".join(line for line in page.read_text().splitlines(keepends=True) if "tea" not in line)
        )
        await until_known(bethink, "Plays the cello", "Has a dog")
        # Killed between a fact and its line: the next process writes it.
        await bethink.http.post("/memories", json={"content": "Sails on Sundays"})
        await bethink.kill()
    async with running(tmp_path) as bethink:
        await until(tells("Sails on Sundays"))
        page.unlink()
        await until(lambda: not page.exists())
        await bethink.http.post("/memories", json={"content": "Owns a kayak"})
        await until_known(bethink, "Plays the cello", "Has a dog", "Sails on Sundays", "Owns a kayak")
        assert await bethink.stop() == 0
