"""OpenAI's own library, in the major version that Bethink stands on and the one before, at a server."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.llm.scripted import Rule, ScriptedCall
from tests.server_process import ROOT, running

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

OLDER = ROOT / ".clients" / "bin" / "python"
CALL = ScriptedCall("get_weather", {"city": "Paris"})
RULES = (
    Rule(when="weather", after_tool=True, text="It is sunny."),
    Rule(when="weather", tool_calls=(CALL,)),
    Rule(when="hello", text="Hello from the model, word by word.", chunk_characters=6),
)


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedProcess]:
    with scripted_process() as process:
        yield process


@pytest.mark.parametrize(
    ("python", "version"),
    [
        (Path(sys.executable), "3."),
        pytest.param(
            *(OLDER, "2."),
            marks=[
                pytest.mark.foreign(make="clients"),
                pytest.mark.skipif(
                    not OLDER.exists() and "CI" not in os.environ,
                    reason="`make clients` makes its environment",
                ),
            ],
        ),
    ],
)
async def test_a_client_chooses_tools_lists_inputs_and_streams_again(
    model: ScriptedProcess, tmp_path: Path, python: Path, version: str
) -> None:
    await model.plays(*RULES)
    async with running(tmp_path, model) as bethink:
        script = Path(__file__).parent / "openai_client.txt"
        base_url = f"{str(bethink.http.base_url).rstrip('/')}/v1"
        process = await asyncio.create_subprocess_exec(
            *(python, str(script), base_url), stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
    told = json.loads(output)
    assert told.pop("version").startswith(version)
    assert told.pop("chat_none")
    assert told == {
        "chat_required": "tool_calls",
        "chat_named": ["get_weather", {"city": "Paris"}],
        "chat_auto": "Hello from the model, word by word.",
        "named": "get_weather",
        "asked": "What is the weather?",
        "answered": "It is sunny.",
        "returned": "sunny",
        "numbers": True,
        "ends": "response.completed",
        "again": "Hello from the model, word by word.",
    }
