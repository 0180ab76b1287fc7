"""DIAL's requests with functions and images of the client's own, beside users with keys of Bethink's."""

from __future__ import annotations

import base64
import json
from contextlib import aclosing
from typing import Any

import httpx2
import msgspec
import pytest

from bethink.agent.records import RUNS, WaitingCall
from bethink.agent.request import RunResources
from bethink.agent.stored_runs import ApprovalChoice
from bethink.dial.core import CoreClient
from bethink.errors import Conflict
from bethink.llm import LlmRequest
from bethink.llm.endpoint import Endpoint
from bethink.llm.openai_wire import OpenAiWire, Shared
from bethink.llm.scripted import Rule, ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import UserMessage
from bethink.store import Put
from tests.dial import KEY, Way, open_dial_house, open_model
from tests.house import open_house
from tests.painter import PNG

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CALL = Rule(
    when="weather",
    after_tool=False,
    tool_calls=(ScriptedCall("get_weather", {"city": "Paris"}, "call_w"),),
)
SUNNY = Rule(when="weather", after_tool=True, text="It is sunny.")
HELLO = Rule(when="hello", text="Hello from the model.")
STORE = Rule(
    when="My name is",
    after_tool=False,
    tool_calls=(ScriptedCall("store_memory", {"content": "User's name is Alice"}, "call_1"),),
)
STORED = Rule(when="My name is", after_tool=True, text="Noted.")


def user(text: Any, **more: object) -> dict[str, Any]:  # noqa: ANN401 - text, or parts
    return {"role": "user", "content": text, **more}


async def choice(way: Way, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as clients give it
    response = await way.ask(*messages, **more)
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]


def result(content: str, call: str = "call_w") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": content}


async def test_a_clients_function_is_left_to_it_and_its_result_goes_on() -> None:
    async with open_dial_house(CALL, SUNNY, HELLO) as way:
        first = await choice(way, user("weather?"), tools=[WEATHER])
        assert first["finish_reason"] == "tool_calls"
        (call,) = first["message"]["tool_calls"]
        assert (call["id"], call["function"]["name"]) == ("call_w", "get_weather")
        assert json.loads(call["function"]["arguments"]) == {"city": "Paris"}
        assert "stages" not in first["message"].get("custom_content", {})
        said = [user("weather?"), first["message"], result("sunny")]
        second = await choice(way, *said, tools=[WEATHER])
        assert (second["message"]["content"], second["finish_reason"]) == ("It is sunny.", "stop")
        told = (await way.requests())[-1]["messages"]
        assert [message["role"] for message in told[1:]] == ["user", "assistant", "tool"]
        assert told[-1]["content"] == "sunny"
        # The history is the client's: another conversation, and a turn later.
        other = await choice(way, *said, tools=[WEATHER], conversation="another")
        assert other["message"]["content"] == "It is sunny."
        third = await choice(way, *said, second["message"], user("hello"), tools=[WEATHER])
        assert third["message"]["content"] == "Hello from the model."


async def test_a_clients_function_streams() -> None:
    async with open_dial_house(CALL, SUNNY) as way:
        body = {"messages": [user("weather?")], "stream": True, "tools": [WEATHER]}
        response = await way.http.post(way.path, json=body, headers={"Api-Key": KEY})
        lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line]
        deltas = [chunk["choices"][0] for chunk in map(json.loads, lines[:-1]) if chunk["choices"]]
        (called,) = [one["delta"]["tool_calls"][0] for one in deltas if one["delta"].get("tool_calls")]
        assert called["function"]["name"] == "get_weather"
        assert deltas[-1]["finish_reason"] == "tool_calls"


async def test_bethinks_own_call_beside_a_clients_is_a_stage_and_stays_in_the_state() -> None:
    both = (ScriptedCall("search_memory", {"query": "city"}, "call_s"), *CALL.tool_calls)
    rules = (Rule(when="weather", after_tool=False, tool_calls=both), SUNNY)
    async with open_dial_house(*rules) as way:
        first = await choice(way, user("weather?"), tools=[WEATHER])
        content = first["message"]["custom_content"]
        assert [stage["name"].split()[0] for stage in content["stages"]] == ["search_memory"]
        assert len(content["state"]["tool_call_history"]) == 2
        second = await choice(way, user("weather?"), first["message"], result("sunny"), tools=[WEATHER])
        assert second["message"]["content"] == "It is sunny."
        roles = [message["role"] for message in (await way.requests())[-1]["messages"][1:]]
        assert roles == ["user", "assistant", "tool", "assistant", "tool"]


async def test_a_choice_among_tools_is_obeyed_and_what_is_none_refused() -> None:
    async with open_dial_house(HELLO) as way:
        named = {"type": "function", "function": {"name": "get_weather"}}
        await way.ask(user("hello"), tools=[WEATHER], tool_choice=named)
        asked = (await way.requests())[-1]
        assert [one["function"]["name"] for one in asked["tools"]] == ["get_weather"]
        assert asked["tool_choice"] == named
        await way.ask(user("hello"), tools=[WEATHER], tool_choice="none")
        assert "tools" not in (await way.requests())[-1]
        odd: list[dict[str, Any]] = [
            {"tools": [WEATHER], "tool_choice": "perhaps"},
            {"tools": [WEATHER, WEATHER]},
            {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "launch"}}},
        ]
        for more in odd:
            refused = await way.ask(user("hello"), **more)
            assert refused.status_code in {400, 422}, refused.text
            assert refused.json()["error"]["message"]


@pytest.mark.parametrize(
    "messages",
    [
        [result("sunny")],
        [user("hello"), result("sunny")],
        [user("hello"), {"role": "assistant", "content": "Hi."}, result("sunny")],
        [
            user("weather?"),
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_x", "function": {"name": "f"}}],
            },
            result("sunny"),
        ],
    ],
)
async def test_results_that_answer_nothing_are_refused(messages: list[dict[str, Any]]) -> None:
    async with open_dial_house(HELLO) as way:
        response = await way.ask(*messages, tools=[WEATHER])
        assert response.status_code in {400, 422}
        assert response.json()["error"]["message"]


@pytest.mark.parametrize("sees", [True, False])
async def test_images_among_the_parts_reach_a_model_that_sees(sees: bool) -> None:  # noqa: FBT001 - of two
    address = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    async with open_dial_house(HELLO, models_that_see=["dial:*"] if sees else []) as way:
        bucket = way.dial.own.callers.of({"api-key": KEY}).bucket
        way.dial.own.put(f"{bucket}/held.png", PNG)
        parts = [
            {"type": "text", "text": "hello"},
            {"type": "image_url", "image_url": {"url": address}},
            {"type": "image_url", "image_url": {"url": f"files/{bucket}/held.png"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/far.png"}},
        ]
        attached = {"type": "image/png", "title": "attached.png", "url": f"files/{bucket}/held.png"}
        said = await choice(way, user(parts, custom_content={"attachments": [attached]}))
        assert said["message"]["content"] == "Hello from the model."
        content = (await way.requests())[-1]["messages"][-1]["content"]
        shown = [part for part in content if part["type"] == "image_url"] if sees else []
        text = content[0]["text"] if sees else content
        assert [part["image_url"]["url"] for part in shown] == [address] * (2 if sees else 0)
        assert "[image: https://example.com/far.png]" in text
        assert "image-1.png" in text
        assert sees == ("cannot see" not in text)
        broken = [{"type": "image_url", "image_url": {"url": "data:nonsense"}}]
        assert (await way.ask(user(broken))).status_code in {400, 422}


async def test_users_keys_and_dials_open_their_own_doors_alone() -> None:
    async with open_dial_house(STORE, STORED) as way:
        app = way.house.app
        alice = await app.accounts.register.add_user("alice")
        key = (await app.accounts.register.add_key(alice.id, "laptop")).text
        stored = await way.say("My name is Alice")
        assert stored["content"] == "Noted."
        endpoint = way.dial.own.applications["bethink"].endpoint
        origin = endpoint.partition("/openai/")[0]
        async with httpx2.AsyncClient(base_url=origin) as http:
            for shown, status in ((key, 200), (KEY, 401), ("", 401)):
                headers = {"api-key": shown} if shown else {}
                mine = await http.get("/memories", headers=headers)
                assert mine.status_code == status, shown
                if status == 200:
                    assert mine.json()["total"] == 0
            body = {"messages": [user("My name is Alice")]}
            refused = await http.post(endpoint, json=body, headers={"api-key": key})
            assert refused.status_code == 401
        assert (await way.memory() or {})["memories"]


async def test_requests_share_the_connections_to_core_and_leave_them_open() -> None:
    async with open_model(HELLO) as url:
        client = CoreClient(url.removesuffix("/v1"))
        session = await client.session()
        wire = OpenAiWire(
            *("openai:m", Endpoint(url, "m", api_key="k")),
            context_tokens=9_000,
            shared=Shared(client.session),
        )
        async with aclosing(wire.stream(LlmRequest("", (UserMessage("hello"),)))) as deltas:
            told = [delta async for delta in deltas]
        await wire.close()
        assert told
        assert not session.closed
        assert session is await client.session()
        await client.close()


async def test_what_was_approved_is_not_done_once_its_model_is_gone() -> None:
    llm = ScriptedLlm([[ScriptedCall("delete_all_memories", id="call_d")], "Never said."])
    async with open_house(ScriptedLlm(["The house's own."])) as house:
        runs, store = house.app.runs, house.app.ports.store
        await house.app.memory.add(house.me, NewFact("User likes tea"))
        conversation = await house.new()
        run = await runs.start(house.me, conversation, "Forget all", resources=RunResources(llm=llm))
        await house.events(run)
        with pytest.raises(Conflict, match="can only be decided where it was made"):
            await runs.approvals.decide(house.me, run, call="call_d", choice=ApprovalChoice("approve"))
        # A process that ended between the decision and what follows it.
        found = await runs.stored.versioned(house.me, run)
        record = found.record
        waiting = tuple(_approved(item) for item in record.waiting)
        gone = msgspec.structs.replace(record, waiting=waiting, process="one that ended")
        await store.commit(house.me.owner, [Put(RUNS, gone, found.version)])
        await runs.approvals.tend()
        record = await runs.stored.get(house.me, run)
        messages = await house.messages(conversation)
        assert (record.state, record.reason) == ("ended", "failed")
        assert "ended first" in messages[-2].message.content
        assert "ended first" in (messages[-1].note or "")
        assert (await house.app.memory.list(house.me)).items
        assert len(llm.requests) == 1


def _approved(item: WaitingCall) -> WaitingCall:
    return msgspec.structs.replace(item, decision="approve")
