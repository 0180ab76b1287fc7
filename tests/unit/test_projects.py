"""Projects, the trash and what is pinned: what conversations belong to, over HTTP."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bethink.conversations.service import TRASH_DAYS
from bethink.errors import UnknownId
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.principal import Principal
from bethink.projects import ProjectEdit, Projects
from tests.command_line import CommandLine
from tests.door import Door, open_door
from tests.house import open_house

pytestmark = pytest.mark.anyio

KEEPS = ScriptedCall(
    "store_memory", {"content": "The user paints the hall green", "importance": 0.9}, id="c1"
)


async def patched(door: Door, conversation: str, **changes: object) -> dict[str, object]:
    answer = await door.http.patch(f"/conversations/{conversation}", json=changes)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def listed(door: Door, **query: object) -> list[str]:
    answer = await door.http.get("/conversations", params=query)  # pyright: ignore[reportArgumentType]
    return [item["id"] for item in answer.json()["items"]]


async def test_a_projects_instructions_reach_the_model_before_the_conversations_own() -> None:
    llm = ScriptedLlm(["Ja."])
    async with open_door(llm) as door:
        made = await door.http.post("/projects", json={"name": "Haus", "instructions": "Answer in German."})
        assert made.status_code == 201
        conversation = await door.new()
        await patched(door, conversation, project="Haus", system="Be brief.")
        await door.chat(conversation, "Is the sky blue?")
    system = llm.requests[0].system
    assert 0 < system.index("Answer in German.") < system.index("Be brief.")


async def test_a_project_with_its_own_memory_reads_and_writes_only_there() -> None:
    llm = ScriptedLlm([[KEEPS], "Noted.", "Green.", "I do not know."])
    async with open_door(llm) as door:
        await door.http.post(
            "/memories", json={"content": "The user's garden fence is brown", "importance": 0.9}
        )
        await door.http.post("/projects", json={"name": "Hall", "memory": "own"})
        inside = await door.new()
        await patched(door, inside, project="Hall")
        await door.chat(inside, "I paint the hall green")
        facts = (await door.http.get("/memories", params={"project": "Hall"})).json()["items"]
        await door.chat(inside, "Which colour has the garden fence, and which the hall?")
        outside = await door.new()
        await door.chat(outside, "Which colour has the garden fence?")
    assert [fact["content"] for fact in facts] == ["The user paints the hall green"]
    inside_request, outside_request = (str(request.messages) for request in llm.requests[-2:])
    assert "paints the hall green" in inside_request
    assert "fence is brown" not in inside_request
    assert "fence is brown" in outside_request


async def test_a_conversation_that_is_moved_is_found_in_its_project() -> None:
    async with open_door(ScriptedLlm(["A boat is best."])) as door:
        conversation = await door.new()
        await door.chat(conversation, "How do I get to the island of Burano?")
        await door.http.post("/projects", json={"name": "Venice"})
        await patched(door, conversation, project="Venice")
        query = {"query": "Burano", "project": "Venice"}
        found = (await door.http.get("/conversations/search", params=query)).json()["items"]
    assert [one["conversation"] for one in found] == [conversation]


async def test_a_project_is_renamed_without_its_conversations_and_leaves_them_when_it_goes() -> None:
    async with open_door() as door:
        await door.http.post("/projects", json={"name": "Old/name"})
        conversation = await door.new()
        await patched(door, conversation, project="Old/name")
        renamed = (await door.http.patch("/projects/Old%2Fname", json={"name": "New"})).json()
        assert (renamed["id"], renamed["name"]) == ("Old/name", "New")
        assert (await door.http.post("/projects", json={"name": "new"})).status_code == 409
        assert (await door.http.delete("/projects/Old%2Fname")).status_code == 204
        assert (await door.http.get("/projects")).json()["items"] == []
        shown = (await door.http.get(f"/conversations/{conversation}")).json()
    assert shown["project"] is None


async def test_projects_of_another_owner_are_not_there() -> None:
    async with open_house() as house:
        other = Principal("other")
        projects = house.app.features.of(Projects)
        await projects.create(house.me, "Mine", ProjectEdit())
        assert await projects.list(other) == []
        with pytest.raises(UnknownId):
            await projects.change(other, "Mine", ProjectEdit(name="Theirs"))


async def test_what_is_forgotten_goes_from_the_instructions_of_projects() -> None:
    async with open_door() as door:
        await door.http.post("/memories", json={"content": "The user's boat is called Albatross"})
        instructions = "The user's boat is called Albatross. Answer briefly."
        await door.http.post("/projects", json={"name": "Sea", "instructions": instructions})
        fact = (await door.http.get("/memories")).json()["items"][0]["id"]
        preview = (await door.http.post("/memories/forget", json={"ids": [fact]})).json()
        confirmed = {"ids": [fact], "confirm": preview["token"]}
        assert (await door.http.post("/memories/forget", json=confirmed)).status_code == 200
        (project,) = (await door.http.get("/projects")).json()["items"]
    assert "Albatross" not in project["instructions"]
    assert "Answer briefly." in project["instructions"]


async def test_what_is_trashed_is_neither_listed_nor_found_and_comes_back_whole() -> None:
    async with open_door(ScriptedLlm(["Use a kayak."])) as door:
        conversation = await door.new()
        await door.chat(conversation, "How do I cross the fjord?")
        await patched(door, conversation, pinned=True)
        gone = await patched(door, conversation, trashed=True)
        assert gone["trashed_at"]
        assert not gone["pinned"]
        assert await listed(door) == []
        assert await listed(door, trashed=True) == [conversation]
        search = (await door.http.get("/conversations/search", params={"query": "fjord"})).json()
        recall = (await door.http.get("/recall", params={"query": "crossing the fjord"})).json()
        assert search["items"] == []
        assert "fjord" not in str(recall["items"])
        back = await patched(door, conversation, trashed=False)
        assert back["trashed_at"] is None
        assert await listed(door) == [conversation]
        found = (await door.http.get("/conversations/search", params={"query": "fjord"})).json()["items"]
    assert found


async def test_the_trash_is_emptied_after_its_days_and_not_before() -> None:
    async with open_door() as door:
        kept, trashed = await door.new(), await door.new()
        await patched(door, trashed, trashed=True)
        door.house.clock.advance(timedelta(days=TRASH_DAYS - 1).total_seconds())
        assert await door.house.app.conversations.passed(door.house.me) == []
        door.house.clock.advance(timedelta(days=2).total_seconds())
        assert await door.house.app.conversations.passed(door.house.me) == [trashed]
        assert await listed(door) == [kept]


async def test_saying_something_brings_a_conversation_back_from_the_trash() -> None:
    async with open_door(ScriptedLlm(["Still here."])) as door:
        conversation = await door.new()
        await patched(door, conversation, trashed=True)
        await door.chat(conversation, "Hello?")
        assert await listed(door) == [conversation]


async def test_an_answer_nobody_has_looked_at_is_unread_until_somebody_does() -> None:
    async with open_door(ScriptedLlm(["Hi."])) as door:
        conversation = await door.new()
        await door.chat(conversation, "Hello")
        (item,) = (await door.http.get("/conversations")).json()["items"]
        assert item["unread"]
        read = await patched(door, conversation, unread=False)
    assert not read["unread"]


async def test_pinned_conversations_are_listed_by_themselves() -> None:
    async with open_door() as door:
        first, second = await door.new(), await door.new()
        await patched(door, first, pinned=True)
        assert await listed(door, pinned=True) == [first]
        assert await listed(door, pinned=False) == [second]


async def test_a_conversation_that_waits_for_a_decision_needs_its_owner() -> None:
    asks = ScriptedCall("delete_all_memories", {}, id="c1")
    async with open_door(ScriptedLlm([[asks], "Done."])) as door:
        other, conversation = await door.new(), await door.new()
        await door.chat(conversation, "Forget everything")
        items = {item["id"]: item for item in (await door.http.get("/conversations")).json()["items"]}
        needing = await listed(door, needs_you=True)
    assert needing == [conversation]
    assert items[conversation]["needs_you"]
    assert not items[other]["needs_you"]


def test_the_command_line_makes_changes_and_removes_projects(bethink: CommandLine) -> None:
    (made,) = bethink("projects", "add", "The boat", "--memory", "own", "--json").documents
    assert (made["id"], made["memory"], made["instructions"]) == ("The boat", "own", "")
    assert bethink("projects", "add", "the BOAT").code != 0
    edited = bethink(
        "projects", "edit", "The boat", "--name", "Yacht", "--instructions", "Be brief.", "--json"
    )
    assert [(one["id"], one["name"], one["memory"]) for one in edited.documents] == [
        ("The boat", "Yacht", "own")
    ]
    assert "Yacht  memory: own  Be brief." in bethink("projects", "list").out
    assert bethink("projects", "remove", "Yacht").code == 2
    assert bethink("projects", "remove", "The boat").code == 0
    assert bethink("projects", "list", "--json").documents == []
