"""Conversations over HTTP: what they are, what of them is shown, what goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

import anyio
import pytest
from inline_snapshot import snapshot

from bethink.agent.records import JOURNAL, RUNS
from bethink.conversations.records import MESSAGES
from bethink.engines.memory import MemoryBus, MemoryIndex, MemoryStore
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.store import Change
from tests.door import Door, open_door
from tests.house import open_house, ports_of

pytestmark = pytest.mark.anyio

PARIS = ScriptedCall("store_memory", {"content": "Lives in Paris", "importance": 0.9}, id="c1")


async def ids(door: Door, **query: object) -> list[str]:
    answer = await door.http.get("/conversations", params=query)  # pyright: ignore[reportArgumentType]
    return [item["id"] for item in answer.json()["items"]]


@pytest.mark.requirement("R94", "U6")
async def test_a_new_conversation_gets_an_id_a_time_and_a_title() -> None:
    async with open_door() as door:
        answer = await door.http.post("/conversations", json={"title": "Lisbon"})
        stored = (await door.http.get(f"/conversations/{answer.json()['id']}")).json()
    assert answer.status_code == 201
    shown = answer.json()
    assert {name: shown[name] for name in ("title", "message_count", "archived", "active_run")} == snapshot(
        {"title": "Lisbon", "message_count": 0, "archived": False, "active_run": None}
    )
    assert shown["created_at"] == "2026-02-02T02:40:00Z"
    assert {name: stored[name] for name in shown} == shown


@pytest.mark.requirement("R95", "U6")
async def test_conversations_are_listed_by_their_last_change_without_their_messages() -> None:
    async with open_door(ScriptedLlm(["Hello"])) as door:
        first, second = await door.new(), await door.new()
        door.house.clock.advance(1)
        await door.chat(first, "Hi")
        answer = (await door.http.get("/conversations")).json()
        assert [(item["id"], item["message_count"]) for item in answer["items"]] == [(first, 2), (second, 0)]
        assert not any("messages" in item for item in answer["items"])
        assert answer["cursor"] is None


async def test_pages_of_conversations_join_up() -> None:
    async with open_door() as door:
        made: list[str] = []
        for _ in range(5):
            made.append(await door.new())
            door.house.clock.advance(1)
        one = (await door.http.get("/conversations", params={"limit": 3})).json()
        two = (await door.http.get("/conversations", params={"limit": 3, "cursor": one["cursor"]})).json()
    assert [item["id"] for item in one["items"] + two["items"]] == made[::-1]
    assert two["cursor"] is None


async def test_messages_come_oldest_first_and_older_ones_before_a_cursor() -> None:
    async with open_door(ScriptedLlm(["One", "Two"])) as door:
        conversation = await door.new()
        await door.chat(conversation, "First")
        await door.chat(conversation, "Second")
        url = f"/conversations/{conversation}"
        newest = (await door.http.get(url, params={"limit": 3})).json()
        older = (await door.http.get(url, params={"limit": 3, "before": newest["cursor"]})).json()
    assert [message["content"] for message in newest["messages"]] == ["One", "Second", "Two"]
    assert [message["content"] for message in older["messages"]] == ["First"]
    assert older["cursor"] is None


async def test_a_message_has_the_fields_of_its_role() -> None:
    async with open_door(ScriptedLlm([[PARIS], "Noted."])) as door:
        conversation = await door.new()
        await door.chat(conversation, "I live in Paris")
        shown = (await door.http.get(f"/conversations/{conversation}")).json()
    varying = {"id", "at", "run", "duration_ms", "ids", "undo", "usage"}
    said, asked, result, answered = (
        {name: value for name, value in message.items() if name not in varying}
        for message in shown["messages"]
    )
    assert said == snapshot(
        {
            "content": "I live in Paris",
            "position": 0,
            "branch": 0,
            "siblings": None,
            "role": "user",
            "untrusted": False,
            "attachments": [],
        }
    )
    assert asked["tool_calls"] == snapshot(
        [
            {
                "id": "c1",
                "name": "store_memory",
                "arguments": '{"content":"Lives in Paris","importance":0.9}',
                "label": "Remember: Lives in Paris",
            }
        ]
    )
    assert result == snapshot(
        {
            "content": "Memory stored: Lives in Paris",
            "position": 2,
            "branch": 0,
            "siblings": None,
            "role": "tool",
            "call": "c1",
            "name": "store_memory",
            "error": None,
            "untrusted": False,
            "attachments": [],
        }
    )
    (changed,) = answered.pop("changed")
    assert changed["change"] == "added"
    assert changed["undo"] == f"added:{changed['ids'][0]}"
    assert answered == snapshot(
        {
            "content": "Noted.",
            "position": 3,
            "branch": 0,
            "siblings": None,
            "role": "assistant",
            "tool_calls": [],
            "reasoning": "",
            "stop_reason": "answered",
            "note": None,
            "recalled": [],
            "used": [],
            "unbacked": [],
        }
    )
    assert (shown["interrupted"], shown["waiting"], shown["message_count"]) == (None, [], 4)


async def test_the_usage_of_a_message_is_that_of_its_whole_run() -> None:
    async with open_door(ScriptedLlm([[PARIS], "Noted."])) as door:
        conversation = await door.new()
        answer = (await door.chat(conversation, "I live in Paris")).json()
        shown = (await door.http.get(f"/conversations/{conversation}")).json()
        _, asked, _, answered = (message.get("usage") for message in shown["messages"])
        requests = await door.house.messages(conversation)
    assert asked is None
    assert answered == answer["usage"]
    assert answered["input_tokens"] == sum(usage.input_tokens for usage in requests[-1].usage)
    assert len(requests[-1].usage) == 2


async def test_a_conversation_is_renamed_and_archived() -> None:
    async with open_door() as door:
        conversation, other = await door.new(), await door.new()
        url = f"/conversations/{conversation}"
        renamed = await door.http.patch(url, json={"title": "  Tax   letter "})
        archived = await door.http.patch(url, json={"archived": True})
        assert (renamed.json()["title"], renamed.json()["archived"]) == ("Tax letter", False)
        assert (archived.json()["title"], archived.json()["archived"]) == ("Tax letter", True)
        assert await ids(door) == [other]
        assert await ids(door, archived=True) == [conversation]


@pytest.mark.requirement("R96", "U6")
async def test_a_deleted_conversation_leaves_nothing_behind() -> None:
    async with open_door(ScriptedLlm(["Hello", "Other"])) as door:
        conversation, other = await door.new(), await door.new()
        await door.chat(conversation, "Hi")
        await door.chat(other, "Hi")
        deleted = await door.http.delete(f"/conversations/{conversation}")
        assert (deleted.status_code, deleted.content) == (204, b"")
        gone = await door.http.get(f"/conversations/{conversation}")
        assert (gone.status_code, gone.json()["detail"]) == (
            404,
            "Conversation not found: it may have been deleted.",
        )
        assert await ids(door) == [other]
        store, owner = door.house.app.ports.store, door.house.me.owner
        kept = await store.count(owner, RUNS, {})
        assert (kept, await store.count(owner, MESSAGES, {})) == (1, 2)
        assert await store.count(owner, JOURNAL, {}) == len((await door.house.messages(other))[:1])


async def test_deleting_a_conversation_stops_the_run_in_it() -> None:
    async with open_door(ScriptedLlm([["Once", anyio.Event()]])) as door:
        conversation = await door.new()
        run = await door.house.app.runs.start(door.house.me, conversation, "Tell me a story")
        assert (await door.http.delete(f"/conversations/{conversation}")).status_code == 204
        assert (await door.http.get(f"/runs/{run}/events")).status_code == 404
        assert await ids(door) == []


@pytest.mark.parametrize(
    ("method", "path", "body", "parameter"),
    [
        ("POST", "/conversations", {"titel": "x"}, "titel"),
        ("POST", "/conversations", {"title": 5}, "title"),
        ("POST", "/conversations", [], "body"),
        ("POST", "/conversations/x/chat", {}, "body"),
        ("POST", "/conversations/x/chat", {"message": {"role": "user", "content": ""}}, "message.content"),
        ("POST", "/conversations/x/chat", {"message": {"role": "system", "content": "x"}}, "message.role"),
        ("POST", "/conversations/x/chat", {"message": {"content": "x"}, "model": "x"}, "model"),
        ("GET", "/conversations?limit=0", None, "limit"),
        ("GET", "/conversations?limit=201", None, "limit"),
        ("GET", "/conversations/x?limit=many", None, "limit"),
    ],
)
async def test_a_request_that_is_not_valid_names_the_parameter(
    method: str, path: str, body: object, parameter: str
) -> None:
    async with open_door() as door:
        answer = await door.http.request(method, path, json=body)
    assert answer.status_code == 422
    assert [fault["parameter"] for fault in answer.json()["errors"]] == [parameter]
    assert parameter in answer.json()["detail"]


async def test_a_cursor_of_another_list_is_refused() -> None:
    async with open_door() as door:
        for _ in range(2):
            await door.new()
        cursor = (await door.http.get("/conversations?limit=1")).json()["cursor"]
        answer = await door.http.get("/memories", params={"cursor": cursor})
        unread = await door.http.get("/conversations", params={"cursor": "💥"})
    assert (answer.status_code, unread.status_code) == (422, 422)
    assert answer.json()["detail"] == "The cursor belongs to another list; begin again with the first page."


async def test_what_else_a_clients_message_holds_is_passed_over() -> None:
    async with open_door(ScriptedLlm(["Hello"])) as door:
        body = {
            "message": {"role": "user", "content": "Hi", "id": "m1", "custom_content": {}},
            "stream": False,
        }
        answer = await door.http.post(f"/conversations/{await door.new()}/chat", json=body)
    assert answer.json()["message"]["content"] == "Hello"


async def test_a_run_whose_process_died_is_active_in_no_list() -> None:
    ports = ports_of(ScriptedLlm([["Half an answer", anyio.Event()]]))
    survivor = replace(ports, bus=MemoryBus(), llm=ScriptedLlm(["Here I am again."]))
    async with open_house(ports=ports) as dying, open_door(ports=survivor) as door:
        conversation = await dying.new()
        await dying.app.runs.start(dying.me, conversation, "Go")
        (listed,) = (await door.http.get("/conversations")).json()["items"]
        shown = (await door.http.get(f"/conversations/{conversation}")).json()
    assert listed["active_run"] is None
    assert listed["message_count"] == 2
    assert shown["messages"][-1]["stop_reason"] == "interrupted"


async def test_another_branch_can_be_gone_to_after_the_process_of_a_run_died() -> None:
    ports = ports_of(ScriptedLlm(["Hello.", ["Half an answer", anyio.Event()]]))
    survivor = replace(ports, bus=MemoryBus())
    async with open_house(ports=ports) as dying, open_door(ports=survivor) as door:
        conversation = await dying.new()
        await dying.say("Hi", conversation)
        answer = (await dying.messages(conversation))[-1].id
        await dying.app.runs.start(dying.me, conversation, "Go")
        parted = await door.http.post(f"/conversations/{conversation}/branch", json={"message": answer})
    assert (parted.status_code, parted.json()["active_run"]) == (200, None)


async def test_runs_of_processes_that_died_are_ended_without_anybody_looking() -> None:
    ports = ports_of(ScriptedLlm([["Half an answer", anyio.Event()]]))
    survivor = replace(ports, bus=MemoryBus())
    async with open_house(ports=ports) as dying:
        run = await dying.app.runs.start(dying.me, await dying.new(), "Go")
        async with (
            open_door(ports=survivor) as door,
            aclosing(door.house.app.runs.stored.unfinished()) as left,
        ):
            await door.house.app.runs.approvals.tend()
            assert [one.id async for _, one in left] == []
            assert (await door.house.app.runs.stored.get(door.house.me, run)).reason == "interrupted"


class YieldingStore(MemoryStore):
    """A store that takes its time for each change, so that others ask meanwhile, as one on a disk does."""

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        for _ in range(500):
            await anyio.lowlevel.checkpoint()
        await super().commit(owner, changes)


async def test_who_writes_while_the_run_of_a_dead_process_is_being_ended_is_answered() -> None:
    index = MemoryIndex()
    ports = replace(
        ports_of(ScriptedLlm([["Half an answer", anyio.Event()]]), store=YieldingStore(index)), index=index
    )
    survivor = replace(ports, bus=MemoryBus(), llm=ScriptedLlm(["Here I am again."]))
    async with open_house(ports=ports) as dying, open_door(ports=survivor) as door:
        conversation = await dying.new()
        await dying.app.runs.start(dying.me, conversation, "Go")
        answers: list[int] = []

        async def write() -> None:
            answers.append((await door.chat(conversation, "Are you there?")).status_code)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(door.house.app.runs.approvals.tend)
            tasks.start_soon(door.http.get, f"/conversations/{conversation}")
            tasks.start_soon(write)
        shown = (await door.http.get(f"/conversations/{conversation}")).json()["messages"]
    assert answers == [200]
    assert [message["role"] for message in shown] == ["user", "assistant", "user", "assistant"]
    assert shown[-1]["content"] == "Here I am again."
