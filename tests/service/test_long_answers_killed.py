"""A long answer, written in hundreds of pieces, whose server is killed in the middle."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.llm.scripted import Rule
from tests.door import frames, text_of
from tests.server_process import SERVE, Running, running

# Processes start and are killed here, on machines that have other things to do.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

# No two places of it are alike, so that what stands in the wrong one is seen.
WORDS = [f"word{number} " for number in range(6_000)]
STORY = "".join(WORDS)
TOLD = "".join(WORDS[:1_500])
# A journal that is written every two milliseconds grows in seconds as one does in an answer of minutes.
SERVE_HASTILY = (
    f"from bethink.agent import recorder\nrecorder.FLUSH_S = recorder.SLOWEST_FLUSH_S = 0.002\n{SERVE}"
)


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedProcess]:
    with scripted_process() as process:
        yield process


@pytest.fixture(autouse=True)
async def story(model: ScriptedProcess) -> None:
    await model.plays(Rule(when="story", text=STORY, delay_ms=1, chunk_characters=9))


_LAST_CHARS = 500
"""What is said between two hasty writes is less."""
_SLOWEST_CHARS = 3 * 9_000
"""What is said in three seconds: a second between two writes, and a machine that is busy."""


def pieces_in(data: Path) -> int:
    """In how many pieces what was said is written."""
    with closing(sqlite3.connect(data / FILE_NAME)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM journal").fetchone()
    return count


async def last_of(bethink: Running, conversation: str) -> dict[str, str]:
    return (await bethink.get(f"/conversations/{conversation}"))["messages"][-1]


@pytest.mark.sqlite
async def test_what_is_kept_of_a_long_answer_is_its_beginning_in_the_order_it_was_told(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    async with running(tmp_path, model, serve=SERVE_HASTILY) as bethink:
        conversation = await bethink.new()
        seen = await bethink.told(conversation, "Tell me a story", until=WORDS[2_000])
        await bethink.kill()
    assert pieces_in(tmp_path) > 200
    async with running(tmp_path, model) as bethink:
        last = await last_of(bethink, conversation)
        told = await bethink.followed(seen[0].data["run"])
    assert last["stop_reason"] == "interrupted"
    assert STORY.startswith(last["content"])
    assert last["content"].startswith(TOLD)
    assert text_of(told) == last["content"]


async def test_a_kill_costs_no_more_than_what_was_said_since_the_last_write(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    async with running(tmp_path, model) as bethink:
        conversation = await bethink.new()
        told = await bethink.told(conversation, "Tell me a story", until=WORDS[-100])
        await bethink.kill()
    async with running(tmp_path, model) as bethink:
        await bethink.followed(told[0].data["run"])
        kept = (await last_of(bethink, conversation))["content"]
    assert STORY.startswith(kept)
    assert len(text_of(told)) - len(kept) < _SLOWEST_CHARS


async def test_a_reader_in_another_process_is_told_a_long_answer_in_order(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    told = ""
    async with running(tmp_path, model, serve=SERVE_HASTILY) as bethink, running(tmp_path, model) as other:
        conversation = await bethink.new()
        seen = await bethink.told(conversation, "Tell me a story", until=WORDS[700])
        async with other.http.stream("GET", f"/runs/{seen[0].data['run']}/events") as response:
            async for frame in frames(response):
                told += frame.data["text"] if frame.kind == "text_delta" else ""
                if len(told) > len(TOLD):
                    await bethink.kill()
        last = await last_of(other, conversation)
    assert STORY.startswith(told)
    assert told.startswith(TOLD)
    # It hears what is said before it is written: what a killed process said last is not kept.
    assert told.startswith(last["content"])
    assert len(told) - len(last["content"]) < _LAST_CHARS
