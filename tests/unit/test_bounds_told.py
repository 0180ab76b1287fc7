"""What the doors tell of an answer that a bound ended: an answer from what was there, and which bound."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bethink.llm import LlmRequest
from bethink.llm.scripted import Answer, Rule, ScriptedCall, ScriptedLlm
from tests.dial import open_dial_house
from tests.door import open_door, said

pytestmark = pytest.mark.anyio

FOUND = "This is what I found."
WHY = "Stopped at the limit of tool calls per answer"


def searches(asked: LlmRequest) -> Answer:
    """A model that searches as long as it may, ten times at once."""
    if asked.tools:
        return [ScriptedCall("search_memory", {"query": f"{number}"}) for number in range(10)]
    return FOUND


@pytest.mark.requirement("R19")
async def test_rest_tells_which_bound_ended_an_answer_beside_the_answer() -> None:
    async with open_door(ScriptedLlm(searches), max_repeated_calls=50) as door:
        conversation = (await door.http.post("/conversations")).json()["id"]
        url = f"/conversations/{conversation}/chat"
        told = (await door.http.post(url, json=said("Find everything", stream=False))).json()
        kept = (await door.http.get(f"/conversations/{conversation}")).json()["messages"][-1]
    assert told["message"]["content"] == kept["content"] == FOUND
    assert told["reason"] == kept["stop_reason"] == told["error"]["code"] == "max_tool_calls"
    assert told["error"]["message"].startswith(WHY)
    assert len(told["tools_run"]) == 100


@pytest.mark.parametrize("stream", [False, True])
async def test_v1_tells_which_bound_ended_an_answer_beside_the_answer(*, stream: bool) -> None:
    body = {
        "model": "bethink",
        "messages": [{"role": "user", "content": "Find everything"}],
        "stream": stream,
    }
    async with open_door(ScriptedLlm(searches), max_repeated_calls=50) as door:
        answer = await door.http.post("/v1/chat/completions", json=body)
    if stream:
        lines = [
            line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")
        ]
        choices: list[dict[str, Any]] = [json.loads(line)["choices"][0] for line in lines]
        text, last = "".join(one["delta"].get("content") or "" for one in choices), choices[-1]
    else:
        last = answer.json()["choices"][0]
        text = last["message"]["content"]
    assert text.endswith(FOUND)
    assert (last["finish_reason"], last["stop_reason"]) == ("length", "max_tool_calls")
    assert last["stop_message"].startswith(WHY)


async def test_dial_tells_which_bound_ended_an_answer_beside_the_answer() -> None:
    search = Rule(tool_calls=(ScriptedCall("search_memory", {"query": "all"}),), times=2)
    async with open_dial_house(search, Rule(text=FOUND), max_steps=2) as way:
        answer = await way.say("Find everything")
    assert answer["content"].startswith(FOUND)
    assert "Stopped at the limit of steps per answer." in answer["content"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_response_tells_which_bound_ended_it_beside_the_answer(*, stream: bool) -> None:
    body = {"model": "bethink", "input": "Find everything", "stream": stream}
    async with open_door(ScriptedLlm(searches), max_repeated_calls=50) as door:
        answer = await door.http.post("/v1/responses", json=body)
        if stream:
            lines = [line for line in answer.text.splitlines() if line.startswith("data: {")]
            made: dict[str, Any] = json.loads(lines[-1].removeprefix("data: "))["response"]
        else:
            made = answer.json()
        again = (await door.http.get(f"/v1/responses/{made['id']}")).json()
    assert made["output"][-1]["content"][0]["text"].endswith(FOUND)
    for told in (made, again):
        assert (told["status"], told["stop_reason"]) == ("incomplete", "max_tool_calls")
        assert told["stop_message"].startswith(WHY)
