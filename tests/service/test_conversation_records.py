"""What a conversation is beside its messages: its model, its prompt, its project, and how long it stays."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from bethink.app import open_app
from bethink.conversations.records import CONVERSATIONS, MESSAGES
from bethink.conversations.service import TEMPORARY_US, ConversationStart
from bethink.llm.scripted import ScriptedLlm
from bethink.settings import Settings
from bethink.store import Scan
from tests.door import open_door
from tests.traces import left_of

pytestmark = pytest.mark.anyio


async def test_a_model_a_prompt_and_a_project_are_kept_changed_and_taken_away() -> None:
    async with open_door(models_offered=["openai:gpt-4o"], openai_api_key="sk-x") as door:
        given = {"model": "openai:gpt-4o", "system": "Answer in French. ", "project": "lisbon"}
        made = (await door.http.post("/conversations", json=given)).json()
        url = f"/conversations/{made['id']}"
        assert {name: made[name] for name in given} == given | {"system": "Answer in French."}
        changed = (await door.http.patch(url, json={"system": "Be brief.", "model": None})).json()
        assert (changed["model"], changed["system"], changed["project"]) == (None, "Be brief.", "lisbon")
        changed = (await door.http.patch(url, json={"project": None, "system": ""})).json()
        assert (changed["system"], changed["project"], changed["title"]) == ("", None, made["title"])


async def test_a_model_that_is_not_offered_is_refused_by_the_names_of_those_that_are() -> None:
    async with open_door(ScriptedLlm([])) as door:
        refused = await door.http.post("/conversations", json={"model": "openai:nothing"})
        assert refused.status_code == 422
        assert refused.json()["detail"] == "There is no model 'openai:nothing'. Offered are: scripted:demo."
        url = f"/conversations/{await door.new()}"
        assert (await door.http.patch(url, json={"model": "openai:nothing"})).status_code == 422
        assert (await door.http.patch(url, json={"model": "scripted:demo"})).json()[
            "model"
        ] == "scripted:demo"


async def test_a_list_is_of_one_project_with_its_count() -> None:
    async with open_door() as door:
        for number in range(3):
            await door.http.post("/conversations", json={"project": "lisbon", "title": f"L{number}"})
            door.house.clock.advance(1)
        await door.new()
        one = (await door.http.get("/conversations", params={"project": "lisbon", "limit": 2})).json()
        everything = (await door.http.get("/conversations")).json()
        put_by = (await door.http.get("/conversations", params={"archived": True})).json()
    assert ([item["title"] for item in one["items"]], one["total"]) == (["L2", "L1"], 3)
    assert (everything["total"], put_by["total"]) == (4, 0)


async def test_a_temporary_conversation_is_neither_listed_nor_recalled_nor_exported() -> None:
    async with open_door(ScriptedLlm(["A fine name.", "Who?"])) as door:
        made = (await door.http.post("/conversations", json={"temporary": True})).json()
        await door.chat(made["id"], "My cat is called Philomena")
        found = (await door.http.get("/recall", params={"query": "cat Philomena"})).json()
        listed = (await door.http.get("/conversations")).json()
        shown = (await door.http.get(f"/conversations/{made['id']}")).json()
        exported = (await door.http.get("/memories/export")).text
    assert (made["temporary"], listed["items"], listed["total"]) == (True, [], 0)
    assert [message["content"] for message in shown["messages"]] == [
        "My cat is called Philomena",
        "A fine name.",
    ]
    assert found["items"] == []
    assert "Philomena" not in exported


async def test_a_temporary_conversation_is_gone_a_day_after_its_last_change() -> None:
    async with open_door(ScriptedLlm(["Hello."])) as door:
        app, me = door.house.app, door.house.me
        made = (await door.http.post("/conversations", json={"temporary": True})).json()
        kept = await door.new()
        await door.chat(made["id"], "Hi")
        await app.housekeeping.tidy(me)
        assert await app.conversations.has(me, made["id"])
        door.house.clock.advance(TEMPORARY_US / 1_000_000 + 1)
        with anyio.fail_after(120):
            await app.housekeeping.tidy_all()
        (left,) = await app.ports.store.scan(me.owner, Scan(CONVERSATIONS))
        assert [item.record.id for item in left.items] == [kept]
        assert not (await app.ports.store.scan(me.owner, Scan(MESSAGES)))[0].items


async def test_a_prompt_that_is_too_long_is_refused() -> None:
    async with open_door() as door:
        answer = await door.http.post("/conversations", json={"system": "x" * 20_001})
    assert answer.status_code == 422


async def test_what_was_said_in_a_deleted_conversation_is_soon_in_no_file(tmp_path: Path) -> None:
    secret, data = "Zanzibarix", tmp_path / "data"
    settings = Settings(data_dir=data)
    async with open_app(settings) as app:
        me = await app.accounts.authenticate(audience="test")
        held = await app.conversations.create(me, ConversationStart(temporary=True))
        run = await app.runs.start(me, held.id, f"My name is {secret}")
        async for _ in app.runs.follow(me, run):
            pass
        assert left_of([secret], data)
        await app.runs.delete_conversation(me, held.id)
        with anyio.fail_after(120):
            while left_of([secret], data):
                await anyio.lowlevel.checkpoint()
