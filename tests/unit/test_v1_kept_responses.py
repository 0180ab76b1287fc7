"""`/v1/responses/{id}`: what it answers, and its events again, from where a client left."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import openai
import pytest

from bethink.agent.history_match import Responses
from bethink.agent.request import BranchPoint
from bethink.events import ReasoningDelta, TextDelta
from bethink.llm import Delta, Finish, LlmRequest
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from tests.openai_client import Client, client_of

pytestmark = pytest.mark.anyio

WEATHER: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
CALL = ScriptedCall("get_weather", {"city": "Paris"}, id="call_w")
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def openai_of(client: Client) -> Any:  # noqa: ANN401 - unions of fifty kinds of events and items
    """The part of the library that asks for responses."""
    return client.openai.responses


async def ask(client: Client, said: Any = "Hi", **more: Any) -> Any:  # noqa: ANN401 - as clients give it
    return await openai_of(client).create(model="bethink", input=said, **more)


async def test_what_a_response_answers_is_listed() -> None:
    async with client_of(ScriptedLlm([[CALL], "Sunny.", "Sunny, still."])) as client:
        parts: Any = [
            {"type": "input_text", "text": "Weather?"},
            {"type": "input_image", "image_url": PIXEL},
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
        ]
        first = await ask(client, [{"role": "user", "content": parts}], tools=[WEATHER])
        result = {"type": "function_call_output", "call_id": "call_w", "output": "sunny"}
        second = await ask(client, [result], previous_response_id=first.id, tools=[WEATHER])
        house = client.door.house
        messages = await house.messages(first.conversation.id)
        again = await house.app.runs.start(
            house.me, BranchPoint(first.conversation.id, messages[0].id, "again"), None
        )
        await house.events(again)
        await Responses(house.app.runs.stored).keep(
            house.me, again, conversation=first.conversation.id, model="bethink", previous=""
        )
        (asked,) = (await openai_of(client).input_items.list(first.id)).data
        (returned,) = (await openai_of(client).input_items.list(second.id)).data
        (anew,) = (await openai_of(client).input_items.list(f"resp_{again}")).data
    told: Any = asked
    assert (told.role, told.content[0].text) == ("user", "Weather?")
    assert [part.type for part in told.content] == ["input_text", "input_image", "input_file"]
    assert told.content[1].image_url.startswith("http://127.0.0.1:8484/files/")
    assert returned.model_dump()["output"] == "sunny"
    assert returned.model_dump()["call_id"] == "call_w"
    assert anew.id == told.id


async def test_input_items_come_page_by_page() -> None:
    calls = [
        ScriptedCall("get_weather", {"city": city}, id=f"call_{city}") for city in ("Rome", "Oslo", "Bern")
    ]
    async with client_of(ScriptedLlm([calls, "Sunny."])) as client:
        first = await ask(client, "Weather?", tools=[WEATHER])
        results = [
            {"type": "function_call_output", "call_id": call.call_id, "output": call.call_id}
            for call in first.output
        ]
        second = await ask(client, results, previous_response_id=first.id)
        listed = openai_of(client).input_items.list
        oldest = await listed(second.id, order="asc", limit=2)
        rest = await listed(second.id, order="asc", after=oldest.data[-1].id)
        newest = [item.model_dump()["output"] async for item in listed(second.id, limit=1)]
        with pytest.raises(openai.BadRequestError):
            await listed(second.id, after="msg_none")
        with pytest.raises(openai.NotFoundError):
            await listed("resp_none")
    assert oldest.has_more
    assert [item.model_dump()["output"] for item in (*oldest.data, *rest.data)] == [
        *("call_Rome", "call_Oslo", "call_Bern")
    ]
    assert newest == ["call_Bern", "call_Oslo", "call_Rome"]


async def test_a_response_streams_again_and_from_where_a_client_left() -> None:
    llm = ScriptedLlm([[ReasoningDelta(text="Hm."), "One, two, ", "three.", CALL]])
    async with client_of(llm) as client:
        first = [event async for event in await ask(client, stream=True, tools=[WEATHER])]
        made = first[-1].response
        again = [event async for event in await openai_of(client).retrieve(made.id, stream=True)]
        for seen in (0, 4, len(first) // 2, len(first) - 1):
            number = first[seen].sequence_number
            stream = await openai_of(client).retrieve(made.id, stream=True, starting_after=number)
            rest = [event async for event in stream]
            assert rest[-1].type == "response.completed"
            if seen < len(first) - 1:
                assert text_in(rest) == text_in(first[seen + 1 :])
                assert {event.sequence_number for event in rest} <= {*numbers(first), *numbers(again)}
                assert min(numbers(rest)) > number
        refused = await client.door.http.get(f"/v1/responses/{made.id}", params={"starting_after": 3})
    assert numbers(first) == sorted(set(numbers(first)))
    assert text_in(again) == "One, two, three."
    assert again[-1].response.output == made.output
    assert again[-1].sequence_number == first[-1].sequence_number
    assert refused.status_code == 400


def numbers(events: list[Any]) -> list[int]:
    return [event.sequence_number for event in events]


def text_in(events: list[Any]) -> str:
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


async def test_a_text_that_a_client_had_by_half_goes_on_in_its_middle() -> None:
    async with client_of(ScriptedLlm(["0123456789"])) as client:
        events = [event async for event in await ask(client, stream=True)]
        (delta,) = [event for event in events if event.type == "response.output_text.delta"]
        stream = await openai_of(client).retrieve(
            events[-1].response.id, stream=True, starting_after=delta.sequence_number - 4
        )
        rest: list[Any] = [event async for event in stream]
    assert text_in(rest) == "6789"
    assert rest[0].sequence_number == delta.sequence_number


async def test_a_response_that_still_runs_streams_to_who_comes_later() -> None:
    going = anyio.Event()

    class Waiting(ScriptedLlm):
        async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
            yield TextDelta(text="One, ")
            await going.wait()
            yield TextDelta(text="two.")
            yield Finish(reason="stop", model="m")

    async with client_of(Waiting([])) as client:
        made = await ask(client, background=True)
        async with openai_of(client).with_streaming_response.retrieve(made.id) as response:
            now = json.loads(await response.read())
        events: list[Any] = []

        async def read() -> None:
            stream = await openai_of(client).retrieve(made.id, stream=True)
            events.extend([event async for event in stream])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            going.set()
    assert now["status"] == "in_progress"
    assert text_in(events) == "One, two."
