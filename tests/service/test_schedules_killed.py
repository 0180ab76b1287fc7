"""Schedules of real servers: killed while one is due and in the middle of a run; two on the same data."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.llm.scripted import Rule
from tests.server_process import Running, running

# Processes start and are killed here, on machines that have other things to do.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

_PAUSE_S = 0.05
LATER = "The day has three things."


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedProcess]:
    with scripted_process() as process:
        yield process


@pytest.fixture(autouse=True)
async def day(model: ScriptedProcess) -> None:
    slow = Rule(when="never ends", text="word " * 5_000, delay_ms=20, chunk_characters=5)
    await model.plays(slow, Rule(text=LATER))


def soon(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


async def made(bethink: Running, text: str, when: str, **more: str) -> str:
    answer = await bethink.http.post("/schedules", json={"text": text, "when": when, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def history(bethink: Running, id: str, *, until: set[str], count: int = 1) -> list[dict[str, Any]]:
    """What came of a schedule, once its last outcome is one of these, of so many."""
    while True:
        runs = (await bethink.get(f"/schedules/{id}/history"))["items"]
        if len(runs) >= count and runs[0]["outcome"] in until:
            return runs
        await asyncio.sleep(_PAUSE_S)


async def asked_for(words: str, model: ScriptedProcess) -> None:
    """Return once the model was asked something with these words."""
    while True:
        if any(words in repr(one) for one in await model.requests()):
            return
        await asyncio.sleep(_PAUSE_S)


async def test_what_was_due_while_the_server_was_dead_comes_once_and_a_broken_run_is_told(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    async with running(tmp_path, model) as bethink:
        broken = await made(bethink, "A day that never ends", "every day at 8", action="run")
        await bethink.http.post(f"/schedules/{broken}/run")
        due = await made(bethink, "Kettle", soon(1))
        await history(bethink, broken, until={"running"})
        await asked_for("never ends", model)
        await bethink.kill()
    asked = len(await model.requests())
    await asyncio.sleep(1)
    async with running(tmp_path, model) as bethink:
        (run,) = await history(bethink, broken, until={"unknown"})
        assert "it is not repeated" in run["error"]
        assert len(await history(bethink, due, until={"done"})) == 1
        notices = (await bethink.get("/schedules/notices"))["items"]
        assert sorted(notice["kind"] for notice in notices) == ["reminder", "result"]
        assert len(await model.requests()) == asked
        # What follows goes on as usual.
        await bethink.http.post(f"/schedules/{due}/run")
        assert len(await history(bethink, due, until={"done"}, count=2)) == 2


async def test_two_servers_on_the_same_data_do_what_is_due_once(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    async with running(tmp_path, model) as one, running(tmp_path, model) as other:
        titles = [*(f"Reminder {number}" for number in range(4)), "Day"]
        ids = [
            await made(one, title, "tomorrow at 9", action="run" if title == "Day" else "remind")
            for title in titles
        ]
        for number, id in enumerate(ids):
            # Both hear of it at the same time.
            await (one, other)[number % 2].http.post(f"/schedules/{id}/run")
        for id in ids:
            assert len(await history(other, id, until={"done", "failed"})) == 1
        notices = (await other.get("/schedules/notices"))["items"]
        assert sorted(notice["title"] for notice in notices) == sorted(titles)
        assert len([request for request in await model.requests() if "Day" in repr(request)]) == 1
