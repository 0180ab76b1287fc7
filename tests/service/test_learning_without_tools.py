"""Models that cannot call tools learn and recall all the same, and what a model thinks is not learnt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.stand_ins.scripted_server import ScriptedServer, listening
from bethink.llm.scripted import Reply, Rules, ScriptInput
from tests.server_process import running

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

SAID = "I play the cello in an orchestra. I grow dahlias. Any ideas for a rainy day?"
CELLO, DAHLIAS = "The user plays the cello in an orchestra", "The user grows dahlias"


def _found(fact: str, quote: str) -> str:
    change = {"do": "add", "turn": 1, "quote": quote, "fact": fact, "about": "user", "of": [], "sure": True}
    return json.dumps({"changes": [change]})


KEPT = _found(CELLO, "I play the cello in an orchestra")
THOUGHT = f"They may play the harp. Perhaps {_found(DAHLIAS, 'I grow dahlias')}, but that passes."


class _WithoutTools(Rules):
    """Its server refuses tools. It thinks before whatever it says, in the text or beside it."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.refused = 0
        self.told: list[str] = []

    def __call__(self, asked: ScriptInput) -> Reply:
        if asked.tools:
            self.refused += 1
            error = {"message": "registry.ollama.ai/library/gemma3:4b does not support tools"}
            return Reply(status=400, body=json.dumps({"error": error}))
        if asked.user.startswith('{"known"'):
            return self._thinking(KEPT)
        self.told.append(asked.user)
        return self._thinking("The cello.")

    def _thinking(self, text: str) -> Reply:
        if self.how == "beside":
            return Reply(text=text, reasoning=THOUGHT)
        return Reply(text=text if self.how == "not" else f"<think>{THOUGHT}</think>\n{text}")


@pytest.mark.parametrize("how", ["not", "tagged", "beside"])
async def test_a_model_without_tools_learns_after_the_turn_and_is_told_before_the_next(
    how: str, tmp_path: Path
) -> None:
    model = _WithoutTools(how)
    async with listening(ScriptedServer(model)) as origin:
        on = {"BETHINK_MODEL": "openai:scripted-demo", "BETHINK_MODEL_BASE_URL": f"{origin}/v1"}
        on |= {"OPENAI_API_KEY": "any", "BETHINK_EXTRACTION": "auto"}
        async with running(tmp_path, None, **on) as server:
            told = await server.answer(await server.new(), SAID)
            kept = await server.finds("/memories")
            asked = await server.answer(await server.new(), "Which instrument do I play?")
            suggested = await server.get("/memories?state=suggested")
            found = await server.get("/recall?query=harp")
    assert [memory["content"] for memory in kept] == [CELLO]
    assert suggested["items"] == []
    assert told["message"]["content"] == asked["message"]["content"] == "The cello."
    assert model.refused == 1, "its server is not asked with tools again"
    block, _, question = model.told[-1].partition("</recalled_memories>")
    assert CELLO in block
    assert question.strip() == "Which instrument do I play?"
    assert [item["text"] for item in found["items"] if "harp" in item["text"]] == []
