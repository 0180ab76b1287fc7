"""What every language model behind the port does; the wire over real HTTP, its server in another process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from bethink.events import ReasoningDelta, TextDelta
from bethink.llm import Delta, Finish, Llm, LlmRequest, ToolCallDelta
from bethink.llm.endpoint import Endpoint
from bethink.llm.models import FallbackLlm
from bethink.llm.openai_wire import OpenAiWire
from bethink.llm.scripted import Reply, ScriptedCall, ScriptedLlm
from bethink.messages import UserMessage

pytestmark = pytest.mark.anyio

HELLO = LlmRequest("You are Bethink.", (UserMessage("hello"),))

Play = Callable[..., Awaitable[Llm]]


@pytest.fixture(params=["wire", "azure", "scripted", "chain"])
async def play(request: pytest.FixtureRequest, scripted: ScriptedProcess) -> AsyncIterator[Play]:
    """Gives a model of each kind that plays these replies."""
    endpoint = Endpoint(scripted.base_url, "scripted-demo", api_key="right-key")
    at_azure = replace(endpoint, base_url=scripted.origin, azure=True)
    made: list[Llm] = []

    async def playing(*replies: Reply) -> Llm:
        await scripted.plays(*replies)
        match request.param:
            case "scripted":
                llm: Llm = ScriptedLlm(list(replies))
            case "azure":
                llm = OpenAiWire("azure:model", at_azure, context_tokens=4_096)
            case "chain":
                llm = FallbackLlm([OpenAiWire("test:model", endpoint, context_tokens=4_096)])
            case _:
                llm = OpenAiWire("test:model", endpoint, context_tokens=4_096)
        made.append(llm)
        return llm

    yield playing
    for llm in made:
        await llm.close()


async def collect(llm: Llm) -> list[Delta]:
    async with aclosing(llm.stream(HELLO)) as stream:
        return [delta async for delta in stream]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


async def test_text_comes_in_pieces_and_ends_in_one_finish(play: Play) -> None:
    deltas = await collect(await play(Reply(text="Bonjour, ça va? 🙂 Très bien.")))
    assert text_of(deltas) == "Bonjour, ça va? 🙂 Très bien."
    assert len(deltas) > 2
    assert [isinstance(delta, Finish) for delta in deltas].count(True) == 1
    finish = deltas[-1]
    assert isinstance(finish, Finish)
    assert finish.reason == "stop"
    assert finish.input_tokens is not None


async def test_reasoning_is_told_apart_from_the_answer(play: Play) -> None:
    deltas = await collect(await play(Reply(reasoning="Let me think.", text="Yes.")))
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == "Let me think."
    assert text_of(deltas) == "Yes."


@pytest.mark.requirement("R17")
async def test_parallel_calls_are_pieced_together_by_index(play: Play) -> None:
    calls = (
        ScriptedCall("store_memory", {"content": "User's name is Alice."}, id="a"),
        ScriptedCall("search_memory", '{"query": "half', id="b"),
    )
    deltas = await collect(await play(Reply(text="Wait.", tool_calls=calls)))
    joined: dict[int, list[str]] = {}
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            known = joined.setdefault(delta.index, ["", "", ""])
            joined[delta.index] = [known[0] + delta.id, known[1] + delta.name, known[2] + delta.arguments]
    assert joined[0][:2] == ["a", "store_memory"]
    assert json.loads(joined[0][2]) == {"content": "User's name is Alice."}
    assert joined[1] == ["b", "search_memory", '{"query": "half']
    assert isinstance(deltas[-1], Finish)
    assert deltas[-1].reason == "tool_calls"


async def test_an_answer_cut_by_its_limit_says_so(play: Play) -> None:
    deltas = await collect(await play(Reply(text="Once upon a", finish="length")))
    assert isinstance(deltas[-1], Finish)
    assert deltas[-1].reason == "length"


async def test_a_closed_answer_leaves_the_model_usable(play: Play) -> None:
    llm = await play(Reply(text="first answer " * 5), Reply(text="first answer " * 5))
    async with aclosing(llm.stream(HELLO)) as stream:
        assert isinstance(await anext(stream), TextDelta)
    assert text_of(await collect(llm)).startswith("first answer")


async def test_a_model_names_itself_and_its_window(play: Play) -> None:
    llm = await play()
    assert ":" in llm.name
    assert llm.context_tokens > 0
    assert await llm.probe() is None
    await llm.close()
    await llm.close()
