"""`kill -9` between a turn and what is learnt from it: the next start learns it, once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from bethink.llm.scripted import Rule
from tests.server_process import Running, running

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

SAID = "I play the cello in an orchestra."
PROPOSED = json.dumps(
    {
        "changes": [
            {"do": "add", "turn": 1, "quote": SAID, "fact": "The user plays the cello in an orchestra"},
        ]
    }
)
ON = {"BETHINK_EXTRACTION": "auto"}
LEARNING = '"turns"'
_LOOKS, _PAUSE_S = 2_000, 0.02


async def _asked(model: ScriptedProcess) -> int:
    bodies = [json.dumps(request.body) for request in await model.requests()]
    return sum("You read messages" in body for body in bodies)


async def _until_asked(model: ScriptedProcess) -> None:
    for _ in range(_LOOKS):
        if await _asked(model):
            return
        await asyncio.sleep(_PAUSE_S)
    raise AssertionError("the model was never asked")


async def _changed(server: Running) -> list[str]:
    """What the answer says to have been changed, once it does: it says so just behind the change."""
    (conversation,) = await server.finds("/conversations")
    for _ in range(_LOOKS):
        shown = await server.get(f"/conversations/{conversation['id']}")
        if changed := shown["messages"][-1]["changed"]:
            return [change["change"] for change in changed]
        await asyncio.sleep(_PAUSE_S)
    raise AssertionError("the answer never said what was changed")


async def _contents(server: Running) -> list[str]:
    return [memory["content"] for memory in await server.finds("/memories")]


async def test_what_was_not_learnt_when_the_server_was_killed_is_learnt_after_its_start(
    tmp_path: Path, scripted: ScriptedProcess
) -> None:
    await scripted.plays(Rule(when=LEARNING, fault="hang"), Rule(when="cello", text="How nice."))
    async with running(tmp_path, scripted, **ON) as server:
        await server.answer(await server.new(), SAID)
        await _until_asked(scripted)
        await server.kill()
    await scripted.plays(Rule(when=LEARNING, text=PROPOSED))
    async with running(tmp_path, scripted, **ON) as server:
        assert await _contents(server) == ["The user plays the cello in an orchestra"]
        assert await _changed(server) == ["added"]
        await server.kill()
    async with running(tmp_path, scripted, **ON) as server:
        assert await _contents(server) == ["The user plays the cello in an orchestra"]
        assert await _changed(server) == ["added"]
    assert await _asked(scripted) == 1
