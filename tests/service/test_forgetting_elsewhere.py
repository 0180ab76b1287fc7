"""The server answers while the command line forgets: two processes, one data directory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.llm.scripted import Rule
from tests import warm
from tests.server_process import Running, environment, running
from tests.traces import left_of

# Processes start and are killed here, on machines that have other things to do.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

WORDS = ("zembrovia", "quillfeather")
FACT = "User was a clerk at Zembrovia under Ms Quillfeather"
LONG = "It rained a lot that day. " * 20
SLOWLY = Rule(
    when="Where",
    text=f"At Zembrovia. {LONG} With Ms Quillfeather. Sleep well.",
    delay_ms=60,
    chunk_characters=8,
)


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedProcess]:
    with scripted_process() as process:
        yield process


async def forgets(data: Path, fact: str) -> int:
    """The exit code of the command line's forgetting."""
    command = (*warm.program(warm.BETHINK), "memory", "forget", fact, "--yes")
    process = await asyncio.create_subprocess_exec(
        *command, env=environment(data, None), stdout=asyncio.subprocess.DEVNULL
    )
    return await process.wait()


async def asked(bethink: Running, model: ScriptedProcess) -> tuple[str, str]:
    """A fact and a conversation whose answer has begun to tell it."""
    await model.plays(SLOWLY)
    fact = (await bethink.http.post("/memories", json={"content": FACT})).json()["memory"]["id"]
    conversation = await bethink.new()
    await bethink.told(conversation, "Where was I a clerk? Zembrovia?", until="rained a lot that day. It")
    return fact, conversation


async def answer(bethink: Running, conversation: str) -> str:
    """The last answer's text, once it has ended."""
    while True:
        messages = (await bethink.get(f"/conversations/{conversation}"))["messages"]
        if messages[-1]["role"] == "assistant" and messages[-1]["stop_reason"]:
            return messages[-1]["content"]
        await asyncio.sleep(0.1)


async def test_what_the_command_line_forgets_the_server_does_not_write_back(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    async with running(tmp_path, model) as bethink:
        fact, conversation = await asked(bethink, model)
        assert await forgets(tmp_path, fact) == 0
        assert left_of(WORDS, tmp_path) == []
        said = await answer(bethink, conversation)
        assert said == f"[forgotten] {LONG} [forgotten] Sleep well."
        assert left_of(WORDS, tmp_path) == []
        assert await bethink.stop() == 0
    assert left_of(WORDS, tmp_path) == []


async def test_a_server_that_is_killed_after_it_leaves_nothing_of_it(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    async with running(tmp_path, model) as bethink:
        fact, conversation = await asked(bethink, model)
        assert await forgets(tmp_path, fact) == 0
        await bethink.kill()
    assert left_of(WORDS, tmp_path) == []
    async with running(tmp_path, model) as bethink:
        await answer(bethink, conversation)
        assert await bethink.stop() == 0
    assert left_of(WORDS, tmp_path) == []
