"""A GGUF file as a model, in a process of its own: started, killed, ended.

`make real-model` fetches it. Without it these tests are skipped, and fail in CI.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from bethink.errors import Refused
from bethink.events import TextDelta
from bethink.llm import Delta, LlmRequest, ToolCallDelta, ToolSchema
from bethink.llm.llamacpp import LlamaCppLlm
from bethink.llm.providers import ModelConnection, connect
from bethink.messages import UserMessage
from tests.house import open_house
from tests.sample_vaults import healthcare, lay_out

# Loading a model on a busy machine takes a while; nothing here measures it.
pytestmark = [pytest.mark.foreign(make="real-model"), pytest.mark.anyio, pytest.mark.timeout(180)]

ROOT = Path(__file__).parent.parent.parent
MODELS = Path(os.environ.get("BETHINK_MODELS_DIR", ROOT / ".models"))
WEIGHTS = MODELS / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
READ = ToolSchema(
    "read_file",
    "Read a page of the vault.",
    {
        "type": "object",
        "properties": {"file_path": {"type": "string", "description": "Its path, such as user.md."}},
        "required": ["file_path"],
        "additionalProperties": False,
    },
)


@pytest.fixture
async def llm() -> AsyncIterator[LlamaCppLlm]:
    if not WEIGHTS.exists() or importlib.util.find_spec("xllamacpp") is None:
        missing = "no real model here: make real-model fetches it"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    llm = connect(f"gguf:{WEIGHTS}", ModelConnection(context_tokens=2048))
    assert isinstance(llm, LlamaCppLlm)
    yield llm
    await llm.close()


def asking(text: str, *tools: ToolSchema) -> LlmRequest:
    return LlmRequest("Answer shortly.", (UserMessage(text),), tools, temperature=0, max_output_tokens=16)


async def ask(llm: LlamaCppLlm, request: LlmRequest) -> list[Delta]:
    async with aclosing(llm.stream(request)) as deltas:
        return [delta async for delta in deltas]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def is_dead(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


async def is_gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if is_dead(pid):
            return True
        await anyio.sleep(0.05)
    return False


async def test_a_file_answers_says_what_it_takes_and_is_ended(llm: LlamaCppLlm) -> None:
    assert await llm.probe() is None
    assert text_of(await ask(llm, asking("What is the capital of France?"))).strip()
    running = await llm.running()
    assert running.memory_bytes > 50_000_000
    assert running.start_s > 0
    assert await llm.probe() is None
    await llm.close()
    assert await is_gone(running.pid)


async def test_a_process_that_died_is_started_again(llm: LlamaCppLlm) -> None:
    first = await llm.running()
    os.kill(first.pid, signal.SIGKILL)
    assert await is_gone(first.pid)
    assert text_of(await ask(llm, asking("Say hello.")))
    assert (await llm.running()).pid != first.pid


async def test_tools_are_offered_by_a_schema_where_the_template_has_none(llm: LlamaCppLlm) -> None:
    header = await llm.header()
    assert (header.architecture, header.context_tokens, header.calls_tools) == ("llama", 8192, False)
    deltas = await ask(llm, asking("Read the page user.md, please.", READ))
    calls = [delta for delta in deltas if isinstance(delta, ToolCallDelta)]
    # It is far too small to choose well: what it writes is a choice all the same.
    assert calls or text_of(deltas)
    for call in calls:
        assert call.name == "read_file"
        assert isinstance(json.loads(call.arguments)["file_path"], str)


async def test_nothing_is_left_over_when_its_parent_is_killed(llm: LlamaCppLlm) -> None:
    program = (
        "import asyncio, sys\n"
        "from bethink.llm.providers import ModelConnection, connect\n"
        "async def main():\n"
        f"    llm = connect('gguf:{WEIGHTS}', ModelConnection(context_tokens=512))\n"
        "    print((await llm.running()).pid, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", program]
    async with await anyio.open_process(command, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        pid = int(await parent.stdout.receive())
        parent.kill()
    assert await is_gone(pid)


async def test_what_is_no_model_says_why(tmp_path: Path) -> None:
    odd = tmp_path / "odd.gguf"
    odd.write_bytes(b"GGUF" + b"\xff" * 40)
    for path in (tmp_path / "absent.gguf", odd):
        model = connect(f"gguf:{path}")
        reason = await model.probe()
        assert reason is not None
        with pytest.raises(Refused):
            async with aclosing(model.stream(asking("Hello"))) as deltas:
                await anext(deltas)
        await model.close()


@pytest.mark.parametrize("name", ["read_file", "list_directory"])
async def test_a_small_model_that_must_call_writes_what_the_tool_takes(
    llm: LlamaCppLlm, tmp_path: Path, name: str
) -> None:
    async with open_house(data_dir=tmp_path) as house:
        (tool,) = [tool for tool in house.app.vault_tools.tools if tool.name == name]
    schema = ToolSchema(tool.name, tool.description, tool.parameters)
    request = replace(asking("Use the page user.md or the folder entities.", schema), must_call=True)
    (call,) = [delta for delta in await ask(llm, request) if isinstance(delta, ToolCallDelta)]
    assert call.name == name
    assert isinstance(tool.parse(call.arguments), dict)


async def test_a_small_model_makes_calls_that_fit_over_a_vault(llm: LlamaCppLlm, tmp_path: Path) -> None:
    lay_out(healthcare(), tmp_path / "vault")
    large = connect(f"gguf:{WEIGHTS}", ModelConnection(context_tokens=8192))
    async with open_house(
        large, data_dir=tmp_path, vault={"agent_turns": 3}, model_max_output_tokens=60, max_run_s=150
    ) as house:
        done = await house.app.asking.ask(house.me, "List the folder of the vault, please.")
    await large.close()
    # It is far too small to be right. What it asks for fits the tools' schemas all the same.
    assert done.code == ""
    assert done.calls or done.reply
    assert {call.error for call in done.calls} <= {None, "no_such_page", "bad_input"}
