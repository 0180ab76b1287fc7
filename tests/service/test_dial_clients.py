"""The clients that people of DIAL have, against processes: stand-in, Bethink, a scripted model."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from openai import AsyncAzureOpenAI

from benchmarks.stand_ins.dial_core import Application, Model, StandIn
from bethink.llm.scripted import Rule, ScriptedCall
from tests import warm
from tests.dial import KEY, open_model
from tests.server_process import ROOT, running

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

CLIENTS = ROOT / ".clients" / "bin" / "python"
ALICE = {"content": "User's name is Alice"}
RULES = (
    Rule(when="My name is", after_tool=False, tool_calls=(ScriptedCall("store_memory", ALICE, "call_1"),)),
    Rule(when="who am I", text="You are Alice."),
    Rule(after_tool=True, text="Noted."),
)


@asynccontextmanager
async def dial(data: Path) -> AsyncGenerator[tuple[str, StandIn]]:
    stand_in = StandIn({KEY: "alice"})
    async with open_model(*RULES) as model, stand_in.served() as url:
        stand_in.models["gpt-4o"] = Model(model, "scripted-demo")
        door = {"enabled": True, "url": url, "model": "gpt-4o"}
        async with running(data, BETHINK_DIAL=json.dumps(door)) as server:
            bethink = str(server.http.base_url).rstrip("/")
            endpoint = f"{bethink}/openai/deployments/bethink/chat/completions"
            stand_in.applications["bethink"] = Application(endpoint)
            yield url, stand_in


@pytest.mark.foreign(make="clients")
@pytest.mark.skipif(
    not CLIENTS.exists() and "CI" not in os.environ, reason="`make clients` makes their environment"
)
async def test_the_clients_of_dial_and_of_openai_2_are_answered(tmp_path: Path) -> None:
    async with dial(tmp_path) as (url, _):
        script = Path(__file__).parent / "dial_client.txt"
        process = await asyncio.create_subprocess_exec(
            *(CLIENTS, str(script), url, KEY), stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        told = json.loads(output)
        assert told["dial"] == told["azure"] == told["azure_streamed"] == "Noted."
        assert told["dial_streamed"] == "You are Alice."
        assert any(name.startswith("store_memory (") for name in told["dial_stages"])


@pytest.mark.requirement("R28", "R27")
async def test_openai_3_is_answered_and_nothing_of_it_is_on_bethinks_disk(tmp_path: Path) -> None:
    async with dial(tmp_path) as (url, stand_in):
        async with AsyncAzureOpenAI(
            azure_endpoint=url, api_key=KEY, api_version="2025-01-01-preview"
        ) as client:
            answer = await client.chat.completions.create(
                model="bethink", messages=[{"role": "user", "content": "My name is Alice"}]
            )
            assert answer.choices[0].message.content == "Noted."
            stream = await client.chat.completions.create(
                model="bethink", messages=[{"role": "user", "content": "who am I"}], stream=True
            )
            parts = [choice.delta.content or "" async for chunk in stream for choice in chunk.choices]
            assert "".join(parts) == "You are Alice."
        assert any(place.endswith("__long-memories/data.json") for place in stand_in.files.contents)
        assert _files_with(tmp_path, b"Alice") == []


def _files_with(folder: Path, said: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and said in path.read_bytes()]


async def test_the_stand_in_runs_as_a_command_and_sends_models_their_requests() -> None:
    async with open_model() as model:
        arguments = ("dial", "stand-in", "--model-url", model, "--port", "0", "--key", KEY)
        process = await asyncio.create_subprocess_exec(
            *(*warm.program(warm.BETHINK), *arguments), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        said = (await process.stdout.readline()).decode()
        assert said.startswith("A stand-in for DIAL Core is at http://127.0.0.1:")
        url = said.split()[7]
        async with aiohttp.ClientSession(headers={"Api-Key": KEY}) as http:
            asked = {"messages": [{"role": "user", "content": "Hello"}]}
            path = f"{url}/openai/deployments/gpt-4o/chat/completions"
            async with http.post(path, json=asked) as response:
                assert response.status == 200
                assert (await response.json())["choices"][0]["message"]["content"]
            async with http.post(path.replace("gpt-4o", "none"), json=asked) as response:
                assert response.status == 404
        process.terminate()
        assert await process.wait() == 0
