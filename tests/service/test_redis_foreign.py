"""What another program writes under spec 001's keys, and what is left of a lost data directory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bethink.conversations.service import ConversationEdit, ConversationFilter
from bethink.errors import StorageError
from bethink.llm.scripted import ScriptedLlm
from tests.door import called
from tests.house import House
from tests.redis_server import RedisServer, redis_server
from tests.shared_house import shared_house, sharing_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

THEIRS = "3f0e6a1c-9d1b-4a9e-8a53-0c8f5f1f2b10"
SYSTEM = {"role": "system", "content": "You manage users."}
PARTS = [
    {"type": "text", "text": "Find"},
    {"type": "image_url", "image_url": {}},
    {"type": "text", "text": "Ada"},
]
CALL = {"id": "c1", "type": "function", "function": {"name": "search_users", "arguments": '{"name":"Ada"}'}}
FOUND = [
    SYSTEM,
    {"role": "user", "content": PARTS},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "Ada Lovelace", "tool_call_id": "c1", "name": "search_users"},
    {"role": "assistant", "content": "There is Ada Lovelace."},
]


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


def put(redis: RedisServer, id: str, messages: list[dict[str, Any]], *, at: str, **more: object) -> None:
    """Write a conversation as the documented program does."""
    kept = {"id": id, "title": "Search", "messages": messages, "created_at": at, "updated_at": at, **more}
    redis.client().set(f"conversation:{id}", json.dumps(kept))
    redis.client().zadd("conversations:list", {id: datetime.fromisoformat(at).timestamp()})


def value(redis: RedisServer, id: str) -> dict[str, Any]:
    return json.loads(redis.client().get(f"conversation:{id}"))


async def looked(house: House) -> None:
    """Redis was looked through, and has what there is."""
    sharing = sharing_of(house)
    await sharing.bring_over()
    await sharing.look()
    await sharing.bring_over()


async def texts(house: House, conversation: str) -> list[str]:
    return [message.message.content for message in await house.messages(conversation)]


async def test_another_programs_conversation_is_listed_read_found_and_continued(
    redis: RedisServer, tmp_path: Path
) -> None:
    put(redis, THEIRS, FOUND, at="2025-12-30T10:00:00.500000+00:00", colour="blue")
    llm = ScriptedLlm(["She wrote the first program."])
    async with shared_house(tmp_path, redis.url, llm) as house:
        await looked(house)
        (listed,) = (await house.app.conversations.list(house.me)).items
        held = listed.record
        assert (held.id, held.title, held.outside) == (THEIRS, "Search", True)
        assert (held.created_at, held.count) == (1767088800500000, 4)
        assert await texts(house, THEIRS) == ["Find\nAda", "", "Ada Lovelace", "There is Ada Lovelace."]
        hits = await house.app.recall.search(house.me, "Ada Lovelace")
        assert "There is Ada Lovelace." in " ".join(hit.text for hit in hits)
        await house.say("And what did she do?", THEIRS)
        await sharing_of(house).bring_over()
        asked = llm.requests[-1].messages
    assert "You manage users." not in str(asked)
    kept = value(redis, THEIRS)
    assert kept["messages"][0] == SYSTEM
    assert [message["role"] for message in kept["messages"]] == [
        *("system", "user", "assistant", "tool", "assistant", "user", "assistant")
    ]
    assert kept["messages"][2]["tool_calls"] == [CALL]
    assert kept["messages"][-1]["content"] == "She wrote the first program."


async def test_what_another_program_adds_behind_ours_is_added_here(
    redis: RedisServer, tmp_path: Path
) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        await house.say("Hello", conversation)
        await looked(house)
        ours = value(redis, conversation)["messages"]
        more = [{"role": "user", "content": "Elsewhere"}, {"role": "assistant", "content": "Indeed."}]
        put(redis, conversation, [*ours, *more], at="2030-01-01T00:00:00+00:00")
        await looked(house)
        assert await texts(house, conversation) == ["Hello", "Hello to you.", "Elsewhere", "Indeed."]
        await house.say("Back here", conversation)
        await sharing_of(house).bring_over()
        assert (await house.app.conversations.list(house.me)).items[0].record.count == 6
    assert len(value(redis, conversation)["messages"]) == 6


async def test_where_both_went_on_both_are_kept(redis: RedisServer, tmp_path: Path) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        await house.say("Hello", conversation)
        await looked(house)
        put(redis, conversation, [{"role": "user", "content": "Rewritten"}], at="2030-01-01T00:00:00+00:00")
        await house.say("And more", conversation)
        await looked(house)
        listed = (await house.app.conversations.list(house.me)).items
        assert {item.record.title for item in listed} == {"Hello", "Search (as another program left it)"}
        (theirs,) = [item.record.id for item in listed if item.record.id != conversation]
        assert await texts(house, theirs) == ["Rewritten"]
        assert len(await texts(house, conversation)) == 4
    assert len(value(redis, conversation)["messages"]) == 4
    assert value(redis, theirs)["messages"] == [{"role": "user", "content": "Rewritten"}]


async def test_what_is_no_conversation_is_left_as_it_is(redis: RedisServer, tmp_path: Path) -> None:
    strange = {"a": "not JSON", "b": "[1, 2]", "c": '{"messages": {}}', "../d": '{"messages": []}'}
    for id, text in strange.items():
        redis.client().set(f"conversation:{id}", text)
        redis.client().zadd("conversations:list", {id: 1})
    redis.client().zadd("conversations:list", {"nothing": 2})
    async with shared_house(tmp_path, redis.url) as house:
        await looked(house)
        assert (await house.app.conversations.list(house.me)).items == ()
    assert {id: redis.client().get(f"conversation:{id}") for id in strange} == strange


async def test_a_deleted_foreign_conversation_is_gone_in_redis_too(
    redis: RedisServer, tmp_path: Path
) -> None:
    put(redis, THEIRS, FOUND, at="2025-12-30T10:00:00+00:00")
    async with shared_house(tmp_path, redis.url) as house:
        await looked(house)
        await house.app.runs.delete_conversation(house.me, THEIRS)
        await looked(house)
        assert (await house.app.conversations.list(house.me)).items == ()
    assert redis.client().keys("*conversation*") == []


async def test_a_lost_data_directory_comes_back_from_redis(redis: RedisServer, tmp_path: Path) -> None:
    async with shared_house(tmp_path / "lost", redis.url) as house:
        conversation = await house.new()
        await house.say("The first", conversation)
        (first, _) = await house.messages(conversation)
        await house.app.conversations.edit(house.me, conversation, ConversationEdit(archived=True))
        await looked(house)
        before = (await house.app.conversations.get(house.me, conversation)).record
        messages = await house.messages(conversation)
    redis.client().delete("bethink:home")
    async with shared_house(tmp_path / "new", redis.url) as house:
        await looked(house)
        assert (await house.app.conversations.get(house.me, conversation)).record == before
        assert await house.messages(conversation) == messages
        assert first.message.content == "The first"


async def test_temporary_conversations_stay_out(redis: RedisServer, tmp_path: Path) -> None:
    from bethink.conversations.service import ConversationStart

    async with shared_house(tmp_path, redis.url) as house:
        held = await house.app.conversations.create(house.me, ConversationStart(temporary=True))
        await house.say("Between us", held.id)
        await looked(house)
    assert redis.client().keys("*conversation*") == []


@pytest.mark.parametrize("at", ["2025-01-01T00:00:00+00:00", "2030-01-01T00:00:00+00:00"])
async def test_what_another_program_adds_just_before_a_turn_here_is_not_lost(
    redis: RedisServer, tmp_path: Path, at: str
) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        await house.say("Hello", conversation)
        await looked(house)
        ours = value(redis, conversation)["messages"]
        put(redis, conversation, [*ours, {"role": "user", "content": "Elsewhere"}], at=at)
        await house.say("And more", conversation)
        await looked(house)
        listed = (await house.app.conversations.list(house.me)).items
        kept = [text for item in listed for text in await texts(house, item.record.id)]
    assert "Elsewhere" in kept
    assert "And more" in kept


STRANGE = {
    "nested-too-deep": '{"messages": [' + "[" * 50_000 + "]" * 50_000 + "]}",
    "half-a-character": '{"messages": [{"role": "user", "content": "\\ud800"}]}',
    "no-text": b"\xff\xfe",
}


async def test_what_is_no_conversation_keeps_no_other_from_being_taken_over(
    redis: RedisServer, tmp_path: Path
) -> None:
    client = redis.client()
    for id, written in STRANGE.items():
        client.set(f"conversation:{id}", written)
    client.hset("conversation:a-hash", "role", "user")
    # Looked at before the other, which changed earlier.
    client.zadd("conversations:list", dict.fromkeys([*STRANGE, "a-hash"], 4e9))
    put(redis, THEIRS, FOUND, at="2025-12-30T10:00:00+00:00")
    async with shared_house(tmp_path, redis.url) as house:
        await looked(house)
        listed = (await house.app.conversations.list(house.me)).items
        assert [item.record.id for item in listed] == [THEIRS]
        assert sharing_of(house).fault is None
    assert client.exists(*(f"conversation:{id}" for id in (*STRANGE, "a-hash"))) == 4


async def test_a_time_that_is_none_is_taken_for_now(redis: RedisServer, tmp_path: Path) -> None:
    scores = (1.7e12, 1.7e18, 1e300, -1e12, float("inf"), float("-inf"))
    for number, score in enumerate(scores):
        at = None if number % 2 else "9999-12-31T23:59:59-14:00"
        kept = {"title": "When?", "messages": FOUND, "created_at": at, "updated_at": at}
        redis.client().set(f"conversation:{number}", json.dumps(kept))
        redis.client().zadd("conversations:list", {str(number): score})
    async with shared_house(tmp_path, redis.url) as house:
        await looked(house)
        async with called(house) as http:
            listed = (await http.get("/conversations")).json()["items"]
        assert len(listed) == len(scores)
        assert all(one["created_at"] == one["updated_at"] for one in listed)
    assert all(
        0 < score < 5e9 for _, score in redis.client().zrange("conversations:list", 0, -1, withscores=True)
    )


async def test_a_refusal_inside_of_a_script_does_not_switch_scripts_off(
    redis: RedisServer, tmp_path: Path
) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        await house.say("Hello", conversation)
        await looked(house)
        client = redis.client()
        kept = client.get(f"conversation:{conversation}")
        client.delete(f"conversation:{conversation}")
        client.hset(f"conversation:{conversation}", "role", "user")
        await house.say("And more", conversation)
        with pytest.raises(StorageError, match="Another program"):
            await sharing_of(house).bring_over()
        client.delete(f"conversation:{conversation}")
        client.set(f"conversation:{conversation}", kept)
        with client.monitor() as monitor:
            await sharing_of(house).bring_over()
            client.ping()
            seen: list[str] = []
            while (command := monitor.next_command()["command"]) != "PING":
                seen.append(command.partition(" ")[0])
        assert "EVAL" in seen
    assert len(value(redis, conversation)["messages"]) == 4


async def test_what_another_program_deletes_is_archived_here_and_goes_back_once_it_goes_on(
    redis: RedisServer, tmp_path: Path
) -> None:
    client = redis.client()
    async with shared_house(tmp_path, redis.url) as house:
        deleted, dropped = await house.new(), await house.new()
        for conversation in (deleted, dropped):
            await house.say("Hello", conversation)
        await looked(house)
        client.delete(f"conversation:{deleted}", f"conversation:{dropped}")
        client.zrem("conversations:list", deleted)
    for _ in range(2):
        async with shared_house(tmp_path, redis.url) as house:
            await looked(house)
            listed = (await house.app.conversations.list(house.me)).items
            archived = (
                await house.app.conversations.list(house.me, ConversationFilter(place="archive"))
            ).items
            assert [[one.record.id for one in kind] for kind in (listed, archived)] == [[dropped], [deleted]]
        assert client.keys(f"*{deleted}*") == []
        assert client.zrevrange("conversations:list", 0, -1) == [dropped]
        assert client.exists(f"conversation:{dropped}")
    async with shared_house(tmp_path, redis.url) as house:
        await house.say("And on", deleted)
        await looked(house)
    assert len(value(redis, deleted)["messages"]) == 4
