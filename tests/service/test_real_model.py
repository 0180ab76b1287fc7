"""The wire against what it was made for: a real model, SmolLM2, served by llama.cpp in another process.

`make real-model` fetches it. Without it these tests are skipped, and fail in CI.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from bethink.errors import ContextTooLong
from bethink.events import TextDelta
from bethink.llm import Delta, Finish, Llm, LlmRequest
from bethink.llm.providers import ModelConnection, connect
from bethink.messages import UserMessage

# The first token of a busy machine may take a while; nothing here measures it.
pytestmark = [pytest.mark.foreign(make="real-model"), pytest.mark.anyio, pytest.mark.timeout(120)]

ROOT = Path(__file__).parent.parent.parent
MODELS = Path(os.environ.get("BETHINK_MODELS_DIR", ROOT / ".models"))
WEIGHTS = MODELS / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    if not WEIGHTS.exists() or importlib.util.find_spec("xllamacpp") is None:
        missing = "no real model here: make real-model fetches it"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    script = str(ROOT / "scripts" / "serve_smollm2.py")
    command = [sys.executable, script, "--weights", str(WEIGHTS), "--context-tokens", "1024"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            greeting = next((line for line in process.stdout if line.startswith("listening on ")), "")
            assert greeting, "the model's server did not start"
            yield greeting.split()[-1]
        finally:
            process.terminate()


@pytest.fixture
async def llm(base_url: str) -> AsyncIterator[Llm]:
    llm = connect("llamacpp:smollm2", ModelConnection(base_url=base_url))
    yield llm
    await llm.close()


async def ask(llm: Llm, request: LlmRequest) -> list[Delta]:
    async with aclosing(llm.stream(request)) as deltas:
        return [delta async for delta in deltas]


def asking(text: str, tokens: int) -> LlmRequest:
    return LlmRequest("Answer shortly.", (UserMessage(text),), temperature=0, max_output_tokens=tokens)


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


async def test_a_real_model_streams_its_answer_and_counts_it(llm: Llm) -> None:
    assert await llm.probe() is None
    deltas = await ask(llm, asking("What is the capital of France?", 16))
    assert text_of(deltas).strip()
    pieces = [delta for delta in deltas if isinstance(delta, TextDelta)]
    assert len(pieces) > 3
    finish = deltas[-1]
    assert isinstance(finish, Finish)
    assert finish.reason in {"stop", "length"}
    assert finish.input_tokens is not None
    assert finish.output_tokens is not None
    assert finish.input_tokens > 10
    assert 3 < finish.output_tokens <= 16


async def test_a_real_model_is_stopped_in_the_middle_and_answers_again(llm: Llm) -> None:
    async with aclosing(llm.stream(asking("Tell me a long story about a ship.", 500))) as deltas:
        assert isinstance(await anext(deltas), TextDelta)
    assert text_of(await ask(llm, asking("Say hello.", 4)))


async def test_a_limit_of_tokens_is_said_to_be_the_end(llm: Llm) -> None:
    deltas = await ask(llm, asking("Tell me a long story about a ship.", 3))
    assert isinstance(deltas[-1], Finish)
    assert deltas[-1].reason == "length"


async def test_a_real_model_keeps_to_a_schema(llm: Llm) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"enum": ["Paris", "Rome"]}},
        "required": ["city"],
        "additionalProperties": False,
    }
    request = LlmRequest(
        "",
        (UserMessage("The Eiffel Tower is in which city?"),),
        temperature=0,
        max_output_tokens=40,
        response_format={"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
    )
    assert json.loads(text_of(await ask(llm, request)))["city"] in {"Paris", "Rome"}


async def test_a_conversation_longer_than_the_window_is_told_apart(llm: Llm) -> None:
    with pytest.raises(ContextTooLong):
        await ask(llm, asking("word " * 3_000, 4))
