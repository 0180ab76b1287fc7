"""Runs of before a filter was made, or begun by others, followed by who is restrained by it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from bethink.agent.history_match import Responses
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.vault.filters.rules import FilterRule
from tests.door import Door, open_door, said

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

SECRET = "jane@secret.example"
KEY = {"Authorization": "Bearer program"}


async def hide(door: Door) -> None:
    me = replace(door.house.me, audience="web")
    await door.house.app.visibility.filters.add(me, FilterRule(pattern="email", action="mask"))


async def test_a_response_streamed_again_says_no_more_than_its_filters_leave(tmp_path: Path) -> None:
    call = ScriptedCall("store_memory", {"content": f"Jane is {SECRET}"})
    replies: list[Any] = [[call], f"She is {SECRET}, and likes tea."]
    async with open_door(ScriptedLlm(replies), data_dir=tmp_path) as door:
        made = await door.http.post("/v1/responses", json={"input": f"Jane is {SECRET}."}, headers=KEY)
        url = f"/v1/responses/{made.json()['id']}"
        assert SECRET in (await door.http.get(url, headers=KEY)).text
        await hide(door)
        for address in (
            url,
            f"{url}?stream=true",
            f"{url}?stream=true&starting_after=4",
            f"{url}/input_items",
        ):
            told = await door.http.get(address, headers=KEY)
            assert told.status_code == 200
            assert "secret" not in told.text, address
        assert "likes tea" in (await door.http.get(f"{url}?stream=true", headers=KEY)).text


async def test_the_events_of_a_run_that_is_over_say_no_more_wherever_a_reader_begins(tmp_path: Path) -> None:
    call = ScriptedCall("store_memory", {"content": f"Jane is {SECRET}"})
    replies: list[Any] = [[call], f"She is {SECRET}, and likes tea."]
    async with open_door(ScriptedLlm(replies), data_dir=tmp_path) as door:
        body = {"message": {"role": "user", "content": f"Jane is {SECRET}."}, "stream": False}
        conversation = await door.new()
        await door.http.post(f"/conversations/{conversation}/chat", json=body, headers=KEY)
        held = await door.house.messages(conversation)
        url = f"/runs/{held[-1].run}/events"
        whole = (await door.http.get(url)).text
        assert SECRET in whole
        await hide(door)
        places = [line.removeprefix("id: ") for line in whole.splitlines() if line.startswith("id: ")]
        for sequence in {place.partition(".")[0] for place in places}:
            for characters in range(0, 24, 3):
                told = await door.http.get(f"{url}?after={sequence}.{characters}", headers=KEY)
                assert told.status_code == 200
                assert "secret" not in told.text
                assert "jane@" not in told.text
        assert "likes tea" in (await door.http.get(url, headers=KEY)).text
        assert (await door.http.get(url)).text == whole


async def test_a_run_that_still_reads_for_somebody_else_is_not_followed(tmp_path: Path) -> None:
    goes_on = anyio.Event()
    async with open_door(ScriptedLlm([["So", goes_on, " far."]]), data_dir=tmp_path) as door:
        me, app = replace(door.house.me, audience="web"), door.house.app
        conversation = await door.new()
        run = await app.runs.start(me, conversation, "Hi")
        await Responses(app.runs.stored).keep(me, run, conversation=conversation, model="m", previous="")
        await hide(door)
        for url in (f"/runs/{run}/events", f"/v1/responses/resp_{run}?stream=true"):
            assert (await door.http.get(url, headers=KEY)).status_code == 403
        goes_on.set()
        await door.house.events(run)
        for url in (f"/runs/{run}/events", f"/v1/responses/resp_{run}?stream=true"):
            assert "So far." in (await door.http.get(url, headers=KEY)).text


async def test_what_would_be_forgotten_is_shown_to_who_sees_all_of_it(tmp_path: Path) -> None:
    async with open_door(ScriptedLlm([]), data_dir=tmp_path) as door:
        me = replace(door.house.me, audience="web")
        await door.house.app.memory.add(me, NewFact(f"Jane writes from {SECRET} and likes tea"))
        await hide(door)
        url, body = f"/conversations/{await door.new()}/chat", said("/forget tea")
        told = (await door.http.post(url, json=body, headers=KEY)).text
        assert "only the owner can do it" in told
        assert "run_failed" not in told
        assert "likes tea" not in told
        assert SECRET in (await door.http.post(url, json=body)).text
