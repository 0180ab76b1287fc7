"""`/v1/responses`: OpenAI's own client makes, streams, goes on from, fetches, cancels and deletes them."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from bethink.agent.history_match import HistoryMatch
from bethink.agent.records import JOURNAL, RUNS, THREADS
from bethink.errors import Busy, RateLimited
from bethink.events import ReasoningDelta
from bethink.llm import Finish
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import UserMessage
from bethink.redaction import FORGOTTEN
from bethink.store import DeleteAll
from tests.openai_client import Client, client_of

pytestmark = pytest.mark.anyio

WEATHER: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": True,
}
CALL = ScriptedCall("get_weather", {"city": "Paris"}, id="call_w")
PIXEL = "data:image/png;base64,iVBORw0KGgo="


async def ask(client: Client, said: Any = "Hi", **more: Any) -> Any:  # noqa: ANN401 - as clients give it
    return await client.openai.responses.create(model="bethink", input=said, **more)


async def told(client: Client) -> list[str]:
    """What stands in the only conversation."""
    house = client.door.house
    (held,) = (await house.app.conversations.list(house.me)).items
    return [item.message.content for item in await house.messages(held.record.id)]


async def test_a_response_is_made_and_fetched_and_is_the_same() -> None:
    llm = ScriptedLlm([[ReasoningDelta(text="Hm."), "Hello, Alice."]])
    async with client_of(llm) as client:
        made = await ask(client, instructions="Be brief.", metadata={"a": "b"}, temperature=0.5)
        fetched = await client.openai.responses.retrieve(made.id)
        messages = await told(client)
    assert (made.output_text, made.status, made.object) == ("Hello, Alice.", "completed", "response")
    assert [item.type for item in made.output] == ["reasoning", "message"]
    assert made.output[0].summary[0].text == "Hm."
    assert (made.instructions, made.metadata, made.temperature) == ("Be brief.", {"a": "b"}, 0.5)
    assert made.usage.total_tokens == made.usage.input_tokens + made.usage.output_tokens > 0
    assert (fetched.output, fetched.usage, fetched.created_at) == (made.output, made.usage, made.created_at)
    assert (fetched.model, fetched.instructions) == ("bethink", None)
    assert "Be brief." in llm.requests[0].system
    assert messages == ["Hi", "Hello, Alice."]


async def test_the_events_of_a_stream_come_in_openais_order() -> None:
    llm = ScriptedLlm([[ReasoningDelta(text="Hm."), "Let me ", "look.", CALL]])
    async with client_of(llm) as client:
        events = [event async for event in await ask(client, stream=True, tools=[WEATHER])]
        fetched = await client.openai.responses.retrieve(events[-1].response.id)
    kinds = [event.type.removeprefix("response.") for event in events]
    once = [kind for place, kind in enumerate(kinds) if place == 0 or kinds[place - 1] != kind]
    assert once == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    assert [event.sequence_number for event in events] == sorted({event.sequence_number for event in events})
    last = events[-1].response
    assert (last.output_text, last.status) == ("Let me look.", "completed")
    assert [item.type for item in last.output] == ["reasoning", "message", "function_call"]
    assert fetched.output == last.output
    assert [tool.name for tool in last.tools] == ["get_weather"]


async def test_the_clients_helper_for_streams_adds_them_up() -> None:
    async with client_of(ScriptedLlm([[ReasoningDelta(text="Hm."), "Look: ", CALL]])) as client:
        tools: Any = [WEATHER]
        async with client.openai.responses.stream(model="bethink", input="Hi", tools=tools) as stream:
            snapshots = [
                event.snapshot async for event in stream if event.type == "response.output_text.delta"
            ]
            final: Any = await stream.get_final_response()
    assert snapshots[-1] == "Look: "
    assert json.loads(final.output[-1].arguments) == {"city": "Paris"}


@pytest.mark.parametrize("by", ["previous", "history"])
async def test_a_clients_function_goes_there_and_back(by: str) -> None:
    llm = ScriptedLlm([[CALL], "It is sunny."])
    async with client_of(llm) as client:
        first = await ask(client, "Weather?", tools=[WEATHER])
        (call,) = first.output
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
        if by == "previous":
            second = await ask(client, [result], previous_response_id=first.id, tools=[WEATHER])
        else:
            items = [{"role": "user", "content": "Weather?"}, call.model_dump(exclude_none=True), result]
            second = await ask(client, items, tools=[WEATHER])
        messages = await told(client)
    assert (call.type, call.call_id, first.output_text) == ("function_call", "call_w", "")
    assert second.output_text == "It is sunny."
    assert messages == ["Weather?", "", "sunny", "It is sunny."]


async def test_a_conversation_goes_on_behind_a_response_and_branches_where_something_was_said_after_it() -> (
    None
):
    async with client_of(ScriptedLlm(["One.", "Two.", "Three."])) as client:
        first = await ask(client, "Count")
        second = await ask(client, "On", previous_response_id=first.id)
        before = await told(client)
        third = await ask(client, "Otherwise", previous_response_id=first.id)
        after = await told(client)
        fetched = await client.openai.responses.retrieve(second.id)
    assert before == ["Count", "One.", "On", "Two."]
    assert after == ["Count", "One.", "Otherwise", "Three."]
    assert (second.previous_response_id, third.conversation.id) == (first.id, first.conversation.id)
    assert (fetched.output_text, fetched.previous_response_id) == ("Two.", first.id)


async def test_the_result_of_a_function_can_be_given_again_on_a_branch() -> None:
    async with client_of(ScriptedLlm([[CALL], "Sunny.", "Rainy."])) as client:
        first = await ask(client, "Weather?", tools=[WEATHER])
        for weather in ("sun", "rain"):
            result = {"type": "function_call_output", "call_id": "call_w", "output": weather}
            last = await ask(client, [result], previous_response_id=first.id)
        messages = await told(client)
    assert last.output_text == "Rainy."
    assert messages == ["Weather?", "", "rain", "Rainy."]


async def test_a_response_is_deleted_and_what_was_said_stays() -> None:
    async with client_of(ScriptedLlm(["One."])) as client:
        made = await ask(client)
        await client.openai.responses.delete(made.id)
        with pytest.raises(openai.NotFoundError):
            await client.openai.responses.retrieve(made.id)
        with pytest.raises(openai.NotFoundError):
            await ask(client, previous_response_id=made.id)
        with pytest.raises(openai.NotFoundError):
            await client.openai.responses.delete(made.id)
        assert await told(client) == ["Hi", "One."]


async def test_what_is_not_stored_cannot_be_fetched_and_stands_in_its_conversation() -> None:
    async with client_of(ScriptedLlm(["One."])) as client:
        made = await ask(client, store=False)
        with pytest.raises(openai.NotFoundError):
            await client.openai.responses.retrieve(made.id)
        assert await told(client) == ["Hi", "One."]
        assert made.store is False


async def test_a_deleted_conversation_takes_its_responses_along() -> None:
    async with client_of(ScriptedLlm(["One."])) as client:
        made = await ask(client)
        await client.door.http.delete(f"/conversations/{made.conversation.id}")
        with pytest.raises(openai.NotFoundError):
            await client.openai.responses.retrieve(made.id)
        house = client.door.house
        run = made.id.removeprefix("resp_")
        (kept,) = await house.app.ports.store.get(THREADS, house.me.owner, [f"response:{run}"])
        assert kept is None


async def test_once_its_events_are_dropped_a_response_is_told_by_its_messages() -> None:
    kept = ScriptedCall("store_memory", {"content": "User lives in Paris"})
    async with client_of(ScriptedLlm([["First.", kept], ["Then.", CALL]])) as client:
        made = await ask(client, tools=[WEATHER])
        house = client.door.house
        run = made.id.removeprefix("resp_")
        await house.app.ports.store.commit(house.me.owner, [DeleteAll(JOURNAL, {"run": run})])
        fetched = await client.openai.responses.retrieve(made.id)
        assert await house.app.ports.store.get(RUNS, house.me.owner, [run])
    assert fetched.output == made.output
    assert fetched.output_text == "First.\n\nThen."
    assert fetched.usage == made.usage


async def test_what_is_forgotten_is_not_fetched() -> None:
    async with client_of(ScriptedLlm(["My zebra is called Ada: noted."])) as client:
        house = client.door.house
        added = await house.app.memory.add(house.me, NewFact("My zebra is called Ada"))
        made = await ask(client, "My zebra is called Ada")
        gone = await client.door.http.delete(f"/memories/{added.fact.id}", params={"forget": "true"})
        fetched = await client.openai.responses.retrieve(made.id)
    assert gone.status_code == 200
    assert "Ada" in made.output_text
    assert "Ada" not in fetched.model_dump_json()
    assert FORGOTTEN in fetched.output_text


async def test_a_response_in_the_background_is_there_at_once_and_can_be_cancelled() -> None:
    async with client_of(ScriptedLlm(["One."])) as client:
        made = await ask(client, background=True)
        await client.openai.responses.cancel(made.id)
        fetched = await client.openai.responses.retrieve(made.id)
    assert made.status in {"in_progress", "completed"}
    assert fetched.status in {"cancelled", "completed"}


async def test_a_call_that_waits_is_named_and_the_conversation_goes_on() -> None:
    async with client_of(ScriptedLlm([[ScriptedCall("delete_all_memories")], "Fine."])) as client:
        await client.door.house.app.memory.add(client.door.house.me, NewFact("User likes tea"))
        made = await ask(client, "Forget all")
        fetched = await client.openai.responses.retrieve(made.id)
        again = await ask(client, "No, wait", previous_response_id=made.id)
        assert (await client.door.house.app.memory.list(client.door.house.me)).items
    assert "waits for your approval, at http://127.0.0.1:8484/conversations/" in made.output_text
    assert (fetched.output, fetched.status) == (made.output, "completed")
    assert again.output_text == "Fine."


async def test_a_model_that_fails_is_told_and_a_stream_ends_as_failed() -> None:
    failure = RateLimited("Slow down.", retry_after_s=600)
    async with client_of(ScriptedLlm([failure, failure])) as client:
        with pytest.raises(openai.RateLimitError, match="Slow down"):
            await ask(client)
        events = [event async for event in await ask(client, stream=True)]
        fetched = await client.openai.responses.retrieve(events[-1].response.id)
    assert events[-1].type == "response.failed"
    assert "Slow down" in events[-1].response.error.message
    assert (fetched.status, fetched.error) == ("failed", events[-1].response.error)


async def test_a_long_answer_is_incomplete() -> None:
    llm = ScriptedLlm([["Long", Finish(reason="length", model="m")]])
    schema = {"type": "object", "properties": {}}
    async with client_of(llm) as client:
        made = await ask(
            client,
            max_output_tokens=5,
            text={"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True}},
        )
    assert (made.status, made.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert made.output[0].status == "incomplete"
    assert llm.requests[0].max_output_tokens == 5
    assert llm.requests[0].response_format == {
        "type": "json_schema",
        "json_schema": {"name": "n", "schema": schema, "strict": True},
    }


async def test_items_of_all_kinds_are_read() -> None:
    llm = ScriptedLlm(["A pixel."])
    parts = [
        {"type": "input_text", "text": "What is it?"},
        {"type": "input_image", "image_url": PIXEL},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
    ]
    items = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
        {"role": "user", "content": parts},
    ]
    async with client_of(llm) as client:
        made = await ask(client, items, tools=[{"type": "web_search"}], metadata={"memory": "false"})
        messages = await client.door.house.messages(made.conversation.id)
    said = messages[2].message
    assert isinstance(said, UserMessage)
    assert [file.name for file in said.attachments] == ["image-1.png", "a.pdf"]
    assert [item.message.content for item in messages] == ["Hello", "Hi.", "What is it?", "A pixel."]
    assert "Be brief." in llm.requests[0].system
    assert made.tools == []


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": ""}, None),
        ({"input": "Hi", "temperature": 9}, "temperature"),
        ({"input": [{"type": "smell"}]}, None),
        ({"input": [{"role": "assistant", "content": "Hi"}]}, None),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, None),
        ({"input": "Hi", "store": False, "background": True}, None),
        ({"input": "Hi", "conversation": "c", "previous_response_id": "resp_x"}, None),
        ({"input": "Hi", "text": {"format": {"type": "poem"}}}, "text.format.type"),
    ],
)
async def test_what_is_wrong_is_told_in_openais_shape(body: dict[str, Any], param: str | None) -> None:
    async with client_of(ScriptedLlm(["ok"])) as client:
        answer = await client.door.http.post("/v1/responses", json=body)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["message"]
    assert param is None or error["param"].startswith(param)


async def test_a_response_that_is_none_is_not_found() -> None:
    async with client_of(ScriptedLlm([])) as client:
        for answer in (
            await client.door.http.get("/v1/responses/resp_none"),
            await client.door.http.get("/v1/responses/none"),
            await client.door.http.post("/v1/responses/resp_none/cancel"),
            await client.door.http.post(
                "/v1/responses", json={"input": "Hi", "previous_response_id": "resp_none"}
            ),
        ):
            assert answer.status_code == 404
            assert answer.json()["error"]["type"] == "not_found_error"


async def test_a_key_of_a_request_that_died_is_free_after_a_while_and_let_go_after_a_day() -> None:
    async with client_of(ScriptedLlm(["One."])) as client:
        house = client.door.house
        threads = HistoryMatch(house.app.conversations, house.app.secret_box)
        assert await threads.reserve(house.me, "abc", "digest") is None
        with pytest.raises(Busy):
            await threads.reserve(house.me, "abc", "digest")
        house.clock.advance(601)
        assert await threads.reserve(house.me, "abc", "digest") is None
        with pytest.raises(Busy):
            await threads.reserve(house.me, "abc", "digest")
        await threads.fulfil(house.me, "abc", conversation="c", run="r")
        found = await threads.reserve(house.me, "abc", "digest")
        assert found is not None
        assert found.run == "r"
        house.clock.advance(86_401)
        await threads.purge(house.me)
        assert await threads.reserve(house.me, "abc", "another") is None
