"""`tool_choice` of `/v1`: none, auto, required, a named function; of the client's and of Bethink's tools."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from tests.openai_client import Client, client_of

pytestmark = pytest.mark.anyio

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER: dict[str, Any] = {"name": "get_weather", "description": "The weather.", "parameters": PARAMETERS}
CALL = ScriptedCall("get_weather", {"city": "Paris"}, id="call_w")
SEARCH = ScriptedCall("search_memory", {"query": "city"}, id="call_s")


async def chat(client: Client, choice: object, **more: Any) -> Any:  # noqa: ANN401 - as the client gives it
    create: Any = client.openai.chat.completions.create
    tools = [{"type": "function", "function": WEATHER}]
    said = [{"role": "user", "content": "Weather?"}]
    return await create(model="bethink", messages=said, tool_choice=choice, **{"tools": tools, **more})


async def respond(client: Client, choice: object, **more: Any) -> Any:  # noqa: ANN401 - the same
    create: Any = client.openai.responses.create
    tools = [{"type": "function", **WEATHER}]
    return await create(model="bethink", input="Weather?", tool_choice=choice, **{"tools": tools, **more})


def offered(llm: ScriptedLlm) -> list[tuple[set[str], bool]]:
    """What each request offered, and whether the answer had to be a call."""
    return [({tool.name for tool in one.tools}, one.must_call) for one in llm.requests]


@pytest.mark.parametrize("ask", [chat, respond])
async def test_none_offers_nothing_and_auto_everything(ask: Any) -> None:  # noqa: ANN401 - one of two
    llm = ScriptedLlm(["One.", "Two."])
    async with client_of(llm) as client:
        await ask(client, "none")
        await ask(client, "auto")
    none, auto = offered(llm)
    assert none == (set(), False)
    assert {"get_weather", "store_memory"} <= auto[0]
    assert not auto[1]


@pytest.mark.parametrize("ask", [chat, respond])
async def test_required_is_a_call_and_after_one_of_bethinks_one_of_the_clients(ask: Any) -> None:  # noqa: ANN401 - the same
    llm = ScriptedLlm([[SEARCH], [CALL], [SEARCH], "Nothing is known."])
    async with client_of(llm) as client:
        theirs = await ask(client, "required")
        own = await ask(client, "required", tools=[])
    first, second, alone, last = offered(llm)
    assert {"get_weather", "search_memory"} <= first[0]
    assert first[1]
    assert second == ({"get_weather"}, True)
    assert alone[1]
    assert "get_weather" not in alone[0]
    assert "search_memory" in last[0]
    assert not last[1]
    assert "get_weather" in theirs.model_dump_json()
    assert "Nothing is known." in own.model_dump_json()


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (chat, lambda name: {"type": "function", "function": {"name": name}}),
        (respond, lambda name: {"type": "function", "name": name}),
    ],
)
async def test_a_named_function_comes_first_whoever_has_it(ask: Any, named: Any) -> None:  # noqa: ANN401 - the same
    llm = ScriptedLlm([[CALL], [SEARCH], "Nothing is known."])
    async with client_of(llm) as client:
        theirs = await ask(client, named("get_weather"))
        own = await ask(client, named("search_memory"))
        with pytest.raises(openai.BadRequestError, match="is not offered here"):
            await ask(client, named("launch_rocket"))
    assert offered(llm)[:2] == [({"get_weather"}, True), ({"search_memory"}, True)]
    assert len(offered(llm)[2][0]) > 2
    assert not offered(llm)[2][1]
    assert "call_w" in theirs.model_dump_json()
    assert "Nothing is known." in own.model_dump_json()


async def test_a_named_call_that_waits_is_made_once() -> None:
    llm = ScriptedLlm([[ScriptedCall("delete_all_memories", id="call_d")], "All gone."])
    async with client_of(llm) as client:
        house = client.door.house
        await house.app.memory.add(house.me, NewFact("User likes tea"))
        choice = {"type": "function", "function": {"name": "delete_all_memories"}}
        answer = await chat(client, choice)
        run = answer.id.removeprefix("chatcmpl-")
        done = await client.door.http.post(f"/runs/{run}/approvals/call_d", json={"decision": "approve"})
        assert done.status_code == 202
        await house.events(run)
    first, second = offered(llm)
    assert first == ({"delete_all_memories"}, True)
    assert not second[1]
    assert len(second[0]) > 1


@pytest.mark.parametrize(
    "choice",
    ["perhaps", 5, {"type": "web_search"}, {"type": "function"}, {"type": "function", "name": "*"}, []],
)
async def test_a_choice_that_is_none_is_refused(choice: object) -> None:
    async with client_of(ScriptedLlm([])) as client:
        for ask in (chat, respond):
            with pytest.raises(openai.BadRequestError, match="tool_choice"):
                await ask(client, choice)


async def test_what_requires_a_call_needs_a_tool() -> None:
    async with client_of(ScriptedLlm([])) as client:
        with pytest.raises(openai.BadRequestError, match="not offered"):
            await chat(client, "required", tools=[], extra_headers={"X-Bethink-Tools": "off"})
