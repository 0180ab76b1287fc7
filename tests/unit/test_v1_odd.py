"""`/v1`, what goes on where, and requests that no client should send."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from bethink.agent.history_match import REPEATABLE_US, ClientMessage, HistoryMatch, said_by
from bethink.agent.records import THREADS
from bethink.errors import Busy, ContextTooLong
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.messages import ToolMessage
from tests.openai_client import Client, client_of

pytestmark = pytest.mark.anyio

OFF: dict[str, Any] = {"extra_headers": {"X-Bethink-Memory": "off"}}
MESSAGE = {"role": "user", "content": "Hi"}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def offering(parameters: dict[str, Any]) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {"name": "look", "parameters": parameters}}]}


async def ask(client: Client, *texts: str, **more: Any) -> str:  # noqa: ANN401 - as the client takes it
    """The conversation in which the last text was answered; owner and model by turns."""
    raw: Any = client.openai.chat.completions.with_raw_response.create
    roles = ("user", "assistant")
    messages = [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]
    return (await raw(model="bethink", messages=messages, **more)).headers["x-bethink-conversation"]


def test_reasoning_that_is_never_closed_is_read_at_once() -> None:
    # Quadratic, these would take minutes.
    for text in ("<think>", "<think ", '<details type="reasoning"', "<think></details>"):
        assert said_by([ClientMessage("user", text * 200_000)])


async def test_reasoning_that_a_client_wrote_into_an_answer_is_passed_over() -> None:
    async with client_of(ScriptedLlm(["One.", "Two.", "Three."])) as client:
        first = await ask(client, "Hi")
        thought = await ask(client, "Hi", "<think>Hm.</think>One.", "More")
        told = '<details type="reasoning" done="true">\n> Hm.\n</details>\nOne.'
        assert (first, first) == (thought, await ask(client, "Hi", told, "Else"))


async def test_memory_off_never_goes_on_where_it_is_on_nor_the_other_way() -> None:
    async with client_of(ScriptedLlm(["One."] * 6)) as client:
        kept = await ask(client, "Hi")
        unkept = await ask(client, "Hi", "One.", "More", **OFF)
        assert unkept != kept
        assert unkept == await ask(client, "Hi", "One.", "More", "One.", "And", **OFF)
        assert await ask(client, "Hi", "One.", "More", "One.", "And more") not in {kept, unkept}
        for conversation, headers in ((kept, {"X-Bethink-Memory": "off"}), (unkept, {})):
            named = {"X-Bethink-Conversation": conversation, **headers}
            with pytest.raises(openai.BadRequestError) as refused:
                await ask(client, "Hi", extra_headers=named)
            assert "This conversation is" in refused.value.message


@pytest.mark.parametrize(
    "more",
    [
        offering(deep(200)),
        offering({"type": "object", "default": "\ud800"}),
        offering({"type": "object", "\ud800": 1}),
        offering({"type": "object", "default": float("nan")}),
        offering({"type": "object", "maximum": 10**30}),
        {"max_tokens": 2**63},
        {"metadata": {"conversation_id": "\ud800"}},
        {"metadata": {"what": "\ud800"}},
        {"messages": [{"role": "system", "content": "\ud800"}, MESSAGE]},
        {"messages": [MESSAGE, {"role": "assistant", "content": "\ud800"}, MESSAGE]},
        {"messages": [{"role": "user", "content": "a\ud800b"}]},
    ],
)
async def test_what_cannot_be_kept_is_refused_in_openais_shape(more: dict[str, Any]) -> None:
    body = json.dumps({"model": "bethink", "messages": [MESSAGE], **more})
    async with client_of(ScriptedLlm(["ok"])) as client:
        answer = await client.door.http.post(
            "/v1/chat/completions", content=body, headers={"Content-Type": "application/json"}
        )
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_a_schema_that_is_as_deep_as_it_may_be_is_taken() -> None:
    async with client_of(ScriptedLlm(["ok"])) as client:
        assert await ask(client, "Hi", **offering(deep(28)))


async def test_a_history_whose_answers_were_changed_begins_another_conversation() -> None:
    llm = ScriptedLlm(["One, and the rest.", "Two.", *["ok"] * 6])
    async with client_of(llm) as client:
        first = await ask(client, "Hi")
        assert first == await ask(client, "Hi", "One, and the rest.", "More")
        cut = await ask(client, "Hi", "One, and", "More than that")
        changed = await ask(client, "Hi", "Uno.", "More", "Two.", "Else")
        tagged = await ask(client, "Hi <think>x</think>", "One, and the rest.", "More")
        assert len({first, cut, changed, tagged}) == 4
        assert [message.content for message in llm.requests[3].messages] == [
            "Hi",
            "Uno.",
            "More",
            "Two.",
            "Else",
        ]
        assert first == await ask(client, "Hi", "One, and the rest.", "More", "Two.", "On")


def called(*ids: str) -> dict[str, Any]:
    function = {"name": "look", "arguments": "{}"}
    calls = [{"id": id, "type": "function", "function": function} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(id: str, content: str = "seen") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


async def test_results_go_where_the_call_is_still_open() -> None:
    call = ScriptedCall("look", {}, id="call_0")
    async with client_of(ScriptedLlm([[call], [call], "Done.", "Done too."])) as client:
        offered = offering({"type": "object"})
        older = await ask(client, "Hi", **offered)
        newer = await ask(client, "Hi", **offered)
        raw: Any = client.openai.chat.completions.with_raw_response.create
        messages = [MESSAGE, called("call_0"), result("call_0")]
        places = [
            (await raw(model="bethink", messages=messages, **offered)).headers["x-bethink-conversation"]
            for _ in range(2)
        ]
        messages = [MESSAGE, called("call_1"), result("call_1")]
        with pytest.raises(openai.NotFoundError):
            await raw(model="bethink", messages=messages, **offered)
    assert older != newer
    assert sorted(places) == sorted([older, newer])


@pytest.mark.parametrize("named", [False, True])
async def test_results_that_a_client_sends_again_are_answered_again_where_they_were(*, named: bool) -> None:
    # Its connection broke, and it cannot know whether they came.
    mine = ScriptedCall("search_memory", {"query": "Paris"}, id="own")
    script = [[ScriptedCall("look", {}, id="a"), mine], [ScriptedCall("look", {}, id="b")], "One.", "Two."]
    async with client_of(ScriptedLlm([*script, "On."])) as client:
        offered = offering({"type": "object"})
        conversation = await ask(client, "Hi", **offered)
        headers = {"X-Bethink-Conversation": conversation} if named else {}
        messages = [MESSAGE, called("a"), result("a")]
        url, http = "/v1/chat/completions", client.door.http
        body: dict[str, Any] = {"model": "bethink", "messages": messages, **offered}
        assert (await http.post(url, json=body, headers=headers)).status_code == 200
        messages += [called("b"), result("b")]
        first, second = [await http.post(url, json=body, headers=headers) for _ in range(2)]
        assert {one.headers["x-bethink-conversation"] for one in (first, second)} == {conversation}
        texts = [one.json()["choices"][0]["message"]["content"] for one in (first, second)]
        assert texts == ["One.", "Two."]
        page = await client.door.house.messages(conversation)
        assert [one.message.content for one in page if isinstance(one.message, ToolMessage)][1:] == [
            "seen"
        ] * 2
        assert page[-1].message.content == "Two."
        messages += [{"role": "assistant", "content": "Two."}, {"role": "user", "content": "More"}]
        more = await http.post(url, json=body, headers=headers)
        assert more.headers["x-bethink-conversation"] == conversation


async def test_a_call_of_the_clients_is_found_behind_any_number_of_bethinks_own() -> None:
    mine = [ScriptedCall("search_memory", {"query": f"City {n}"}, id=f"own_{n}") for n in range(55)]
    llm = ScriptedLlm([[*mine, ScriptedCall("look", {}, id="a")], "Done."])
    async with client_of(llm, max_tool_calls=100) as client:
        offered = offering({"type": "object"})
        await ask(client, "Hi", **offered)
        messages = [MESSAGE, called("a"), result("a")]
        body = {"model": "bethink", "messages": messages, **offered}
        answer = await client.door.http.post("/v1/chat/completions", json=body)
    assert answer.json()["choices"][0]["message"]["content"] == "Done."


async def test_what_is_too_long_for_the_model_is_told_as_the_requests_own_fault() -> None:
    async with client_of(ScriptedLlm([ContextTooLong()] * 3)) as client:
        with pytest.raises(openai.BadRequestError) as refused:
            await ask(client, "Hi")
    assert (refused.value.type, refused.value.code) == ("invalid_request_error", "context_too_long")


async def test_a_format_of_a_schema_needs_the_schema() -> None:
    async with client_of(ScriptedLlm([])) as client:
        lacking: Any = {"type": "json_schema"}
        with pytest.raises(openai.BadRequestError, match="json_schema is missing"):
            await ask(client, "Hi", response_format=lacking)
        with pytest.raises(openai.BadRequestError, match="schema is missing"):
            await client.openai.responses.create(model="bethink", input="Hi", text={"format": lacking})


async def test_a_key_whose_request_never_began_is_free_after_ten_minutes_and_none_is_kept_for_long() -> None:
    async with client_of(ScriptedLlm(["One."])) as client:
        house = client.door.house
        threads = HistoryMatch(house.app.conversations, house.app.secret_box)
        assert await threads.reserve(house.me, "abc", "request") is None
        with pytest.raises(Busy, match="only just begun"):
            await threads.reserve(house.me, "abc", "request")
        house.clock.advance(601)
        assert await threads.reserve(house.me, "abc", "request") is None
        house.clock.advance(REPEATABLE_US / 1_000_000 + 1)
        await threads.purge(house.me)
        assert await house.app.ports.store.count(house.me.owner, THREADS, {}) == 0


async def test_a_key_stands_for_the_headers_too() -> None:
    async with client_of(ScriptedLlm(["One.", "Two."])) as client:
        key = {"Idempotency-Key": "abc"}
        await ask(client, "Hi", extra_headers=key)
        with pytest.raises(openai.ConflictError):
            await ask(client, "Hi", extra_headers={**key, "X-Bethink-Tools": "off"})
