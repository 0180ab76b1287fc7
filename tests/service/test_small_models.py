"""Models with small windows on the servers that people run: told, stored, and remembered next time."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bethink.errors import Unreachable
from bethink.llm.models import FallbackLlm, Retries
from bethink.llm.providers import ModelConnection, connect
from bethink.llm.scripted import ScriptedLlm
from tests.door import open_door
from tests.quirk_servers import Kind, QuirkServer, serving
from tests.server_process import environment, running
from tests.warm import BETHINK, start

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


def settings(server: QuirkServer, **more: str) -> dict[str, str]:
    """How its owner names it, as the README has it; and no other program's window."""
    provider = server.kind.removeprefix("silent ")
    path = "" if provider == "llamacpp" else "/v1"
    return {
        "BETHINK_MODEL": f"{provider}:llama3.2",
        "BETHINK_MODEL_BASE_URL": f"{server.origin}{path or '/v1'}",
    } | more


async def told_and_asked(
    server: QuirkServer, data: Path, **more: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    async with running(data, None, **settings(server, **more)) as bethink:
        told = await bethink.answer(await bethink.new(), "My name is Alice and I live in Paris")
        asked = await bethink.answer(await bethink.new(), "Where do I live?")
    return told, asked


@pytest.mark.parametrize("window", [2_048, 4_096])
@pytest.mark.parametrize("kind", ["ollama", "llamacpp", "vllm", "silent vllm"])
async def test_what_is_told_to_a_small_model_is_remembered(kind: Kind, window: int, tmp_path: Path) -> None:
    async with serving(QuirkServer(kind, window)) as server:
        told, asked = await told_and_asked(server, tmp_path)
    assert told["message"]["content"] == "Nice to meet you, Alice."
    assert asked["message"]["content"].startswith("You live in Paris")
    assert server.truncated == 0
    # Only a server that does not tell its window has to refuse, and once.
    assert server.refused <= (kind == "silent vllm")


async def test_ollama_is_asked_its_own_way_for_a_window_that_has_room(tmp_path: Path) -> None:
    async with serving(QuirkServer("ollama")) as server:
        await told_and_asked(server, tmp_path)
    assert "/v1/chat/completions" not in server.paths
    assert {body["options"]["num_ctx"] for body in server.requests} == {8_192}
    assert server.paths.count("/api/generate") == 1, "the model is loaded once to learn of its window"


@pytest.mark.parametrize(
    ("has", "num_ctx"),
    [
        ({"parameters": 'stop "<|eot|>"\nnum_ctx                        2048'}, 2_048),
        ({"window": 32_768}, 32_768),
        ({"most": 2_048, "window": 2_048}, 2_048),
        ({"running": 16_384}, 16_384),
    ],
)
async def test_the_window_that_ollamas_owner_chose_stays(
    has: dict[str, Any], num_ctx: int, tmp_path: Path
) -> None:
    async with serving(QuirkServer("ollama", **has)) as server:
        told, asked = await told_and_asked(server, tmp_path)
    assert {body["options"]["num_ctx"] for body in server.requests} == {num_ctx}
    assert (told["message"]["content"], asked["message"]["content"][:17]) == (
        "Nice to meet you, Alice.",
        "You live in Paris",
    )


async def test_the_window_that_is_set_is_what_ollama_is_asked_for(tmp_path: Path) -> None:
    async with serving(QuirkServer("ollama")) as server:
        await told_and_asked(server, tmp_path, BETHINK_MODEL_CONTEXT_TOKENS="6000")
    assert {body["options"]["num_ctx"] for body in server.requests} == {6_000}


@pytest.mark.parametrize("kind", ["ollama", "llamacpp", "vllm"])
async def test_a_long_conversation_with_a_small_model_is_never_cut_through(
    kind: Kind, tmp_path: Path
) -> None:
    async with (
        serving(QuirkServer(kind, 2_048, most=2_048)) as server,
        running(tmp_path, None, **settings(server)) as bethink,
    ):
        conversation = await bethink.new()
        for number in range(8):
            words = "I walked along the river and thought of many things. " * (2 * number + 1)
            answer = await bethink.answer(conversation, words)
            assert answer["message"]["content"].strip() == "I see.", answer
        too_long = await bethink.answer(conversation, "word " * 2_000)
    assert (server.truncated, server.refused) == (0, 0)
    assert max(server.prompts) <= 2_048
    assert "The message is too long for the model" in json.dumps(too_long)


@asynccontextmanager
async def fallback_to(server: QuirkServer) -> AsyncGenerator[FallbackLlm]:
    """The server's model as the fallback of one that has a large window and does not answer."""
    down = ScriptedLlm(lambda _: Unreachable("It is down."), name="scripted:large", context_tokens=128_000)
    second = connect("ollama:llama3.2", ModelConnection(base_url=f"{server.origin}/v1"))
    llm = FallbackLlm([down, second], retries=Retries(attempts=1))
    try:
        yield llm
    finally:
        await llm.close()


async def test_ollama_is_asked_its_own_way_as_a_fallback_too() -> None:
    async with (
        serving(QuirkServer("ollama")) as server,
        fallback_to(server) as llm,
        open_door(llm) as door,
    ):
        assert "/api/show" not in server.paths, "a model that is not needed is not loaded"
        told = (await door.chat(await door.new(), "My name is Alice and I live in Paris")).json()
        asked = (await door.chat(await door.new(), "Where do I live?")).json()
    assert told["message"]["content"] == "Nice to meet you, Alice."
    assert asked["message"]["content"].startswith("You live in Paris")
    assert "/v1/chat/completions" not in server.paths
    assert {body["options"]["num_ctx"] for body in server.requests} == {8_192}
    assert (server.truncated, server.refused) == (0, 0)


async def test_a_conversation_is_fitted_into_the_window_of_the_fallback_that_answers() -> None:
    async with (
        serving(QuirkServer("ollama", 2_048, most=2_048)) as server,
        fallback_to(server) as llm,
        open_door(llm) as door,
    ):
        conversation = await door.new()
        for number in range(4):
            words = "I walked along the river and thought of many things. " * (2 * number + 1)
            answer = (await door.chat(conversation, words)).json()
            assert answer["message"]["content"].strip() == "I see.", answer
    assert server.truncated == 0


async def diagnosed(server: QuirkServer, data: Path, **more: str) -> dict[str, str]:
    """What `bethink doctor` says of the model."""
    told = environment(data, None, **settings(server, **more))
    process = start(BETHINK, "doctor", "--json", environment=told)
    try:
        lines: list[dict[str, str]] = []
        while line := await process.line():
            lines.append(json.loads(line))
        await process.wait()
    finally:
        process.kill()
        process.close()
    return next(line for line in lines if line["part"] == "model")


@pytest.mark.parametrize(("kind", "window"), [("ollama", 8_192), ("llamacpp", 4_096), ("vllm", 4_096)])
async def test_the_doctor_sends_a_first_message_with_tools(kind: Kind, window: int, tmp_path: Path) -> None:
    async with serving(QuirkServer(kind)) as server:
        told = await diagnosed(server, tmp_path / "data")
    assert told["state"] == "ok"
    assert f"answers a first message with tools, in a window of {window:,} tokens" in told["message"]
    assert server.requests[-1]["tools"]
    assert not (tmp_path / "data").exists(), "looking changes nothing"


@pytest.mark.parametrize(
    ("window", "state", "said"),
    [
        (600, "off", "in a window of 600 tokens. The conversation is too long for the model"),
        (256, "broken", "maximum context length is 256"),
    ],
)
async def test_the_doctor_says_what_failed_of_a_first_message(
    window: int, state: str, said: str, tmp_path: Path
) -> None:
    async with serving(QuirkServer("silent vllm", window)) as server:
        told = await diagnosed(server, tmp_path / "data")
    assert told["state"] == state
    assert said in told["message"]
    assert "with tools" not in told["message"]
