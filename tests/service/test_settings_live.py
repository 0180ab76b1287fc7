"""Settings that are changed while the real server runs: the next answer, other processes, after a crash."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from tests.server_process import environment, running

pytestmark = pytest.mark.anyio


@pytest.mark.timeout(120)
async def test_a_model_that_was_set_in_the_page_answers_everywhere_and_outlives_a_crash(
    tmp_path: Path, scripted: ScriptedProcess
) -> None:
    model, own = scripted, environment(tmp_path, None)
    async with running(tmp_path, None) as server:
        conversation = await server.new()
        unset = await server.answer(conversation, "Hello")
        assert "No model is set" in str(unset)
        listed = await server.http.post(
            "/models/list", json={"provider": "custom", "base_url": model.base_url}
        )
        assert [one["id"] for one in listed.json()["models"]] == ["scripted-demo"]
        tried = await server.http.post(
            "/models/test", json={"model": "custom:scripted-demo", "base_url": model.base_url}
        )
        assert tried.json()["ok"], tried.text
        changed = await server.http.patch(
            "/settings", json={"custom_base_url": model.base_url, "model": "custom:scripted-demo"}
        )
        assert changed.status_code == 200, changed.text
        answered = await server.answer(conversation, "Hello")
        assert "No model is set" not in str(answered)
        # Another process on the directory, while the server runs.
        told = await _command(own, "chat", "Hello again")
        assert "No model is set" not in told
        assert told.strip()
        # What a terminal changes, the server has at once.
        await _command(own, "settings", "set", "max_steps", "3")
        for _ in range(200):
            if (await server.get("/settings"))["bounds"]["max_steps"] == 3:
                break
            await asyncio.sleep(0.05)
        assert (await server.get("/settings"))["bounds"]["max_steps"] == 3
        await server.http.patch("/settings", json={"recall_limit": 2})
        await server.kill()
    async with running(tmp_path, None) as server:
        settings = await server.get("/settings")
        assert (settings["model"], settings["recall_limit"]) == ("custom:scripted-demo", 2)
        assert settings["bounds"]["max_steps"] == 3
        assert "No model is set" not in str(await server.answer(await server.new(), "Hello"))


async def _command(environment: dict[str, str], *words: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bethink",
        *words,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()
