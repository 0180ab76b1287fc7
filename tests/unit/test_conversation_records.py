"""What a conversation is beside its messages: its model, its prompt, its project, and how long it stays."""

from __future__ import annotations

import anyio
import pytest

from bethink.conversations import CONVERSATIONS, MESSAGES
from bethink.conversations.service import TEMPORARY_US
from bethink.llm.scripted import ScriptedLlm
from bethink.store import Scan
from tests.door import open_door

pytestmark = pytest.mark.anyio


async def test_a_model_a_prompt_and_a_project_are_kept_changed_and_taken_away() -> None:
    async with open_door() as door:
        given = {"model": "openai:gpt-4o", "system": "Answer in French. ", "project": "lisbon"}
        made = (await door.http.post("/conversations", json=given)).json()
        url = f"/conversations/{made['id']}"
        assert {name: made[name] for name in given} == given | {"system": "Answer in French."}
        changed = (await door.http.patch(url, json={"system": "Be brief.", "model": None})).json()
        assert (changed["model"], changed["system"], changed["project"]) == (None, "Be brief.", "lisbon")
        changed = (await door.http.patch(url, json={"project": None, "system": ""})).json()
        assert (changed["system"], changed["project"], changed["title"]) == ("", None, made["title"])


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
        await app.tidying.tidy(me)
        assert await app.conversations.has(me, made["id"])
        door.house.clock.advance(TEMPORARY_US / 1_000_000 + 1)
        with anyio.fail_after(5):
            await app.tidying.tidy_all()
        left = await app.ports.store.scan(me.owner, Scan(CONVERSATIONS))
        assert [item.record.id for item in left.items] == [kept]
        assert not (await app.ports.store.scan(me.owner, Scan(MESSAGES))).items


async def test_a_prompt_that_is_too_long_is_refused() -> None:
    async with open_door() as door:
        answer = await door.http.post("/conversations", json={"system": "x" * 20_001})
    assert answer.status_code == 422
