"""Conversations in a real Redis, as another program finds them: spec 001's keys, values and commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from bethink.agent.removal import OwnerRemoval
from bethink.agent.request import BranchPoint
from bethink.conversations.records import MESSAGES
from bethink.conversations.service import ConversationEdit
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.redis_mirror.outbox import SHARED
from tests.house import House
from tests.redis_server import RedisServer, redis_server
from tests.server_process import running
from tests.shared_house import shared_house, sharing_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

PARIS = ScriptedCall("store_memory", {"content": "Lives in Paris"})
DOCUMENTED = {"get", "set", "zadd", "zrevrange", "del", "zrem"}


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


async def brought(house: House) -> None:
    await sharing_of(house).bring_over()


def value(redis: RedisServer, conversation: str) -> dict[str, Any]:
    return json.loads(redis.client().get(f"conversation:{conversation}"))


def said(redis: RedisServer, conversation: str) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in value(redis, conversation)["messages"]]


@pytest.mark.requirement("R104", "R105", "R107", "C27")
async def test_a_redis_client_reads_a_conversation_as_the_schema_says(
    redis: RedisServer, tmp_path: Path
) -> None:
    llm = ScriptedLlm([[PARIS], "Grüße nach Paris 猫."])
    async with shared_house(tmp_path, redis.url, llm) as house:
        conversation = await house.new()
        await house.say("I live in Paris", conversation)
        await brought(house)
        held = (await house.app.conversations.get(house.me, conversation)).record
        kept = value(redis, conversation)
        client = redis.client()
        assert client.type(f"conversation:{conversation}") == "string"
        assert list(kept) == ["id", "title", "messages", "created_at", "updated_at"]
        assert (kept["id"], kept["title"]) == (conversation, "I live in Paris")
        user, asking, result, answer = kept["messages"]
        assert user == {"role": "user", "content": "I live in Paris"}
        (call,) = asking["tool_calls"]
        assert (asking["role"], call["type"], call["function"]["name"]) == (
            "assistant",
            "function",
            "store_memory",
        )
        assert (result["role"], result["tool_call_id"], result["name"]) == (
            "tool",
            call["id"],
            "store_memory",
        )
        assert answer == {"role": "assistant", "content": "Grüße nach Paris 猫."}
        changed_at = datetime.fromisoformat(kept["updated_at"])
        assert datetime.fromisoformat(kept["created_at"]) <= changed_at
        assert client.zrevrange("conversations:list", 0, -1, withscores=True) == [
            (conversation, changed_at.timestamp())
        ]
        assert changed_at.timestamp() == pytest.approx(held.updated_at / 1e6)


@pytest.mark.requirement("R105")
async def test_the_last_changed_is_listed_first_and_the_deleted_not_at_all(
    redis: RedisServer, tmp_path: Path
) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        first, second, third = [await house.new() for _ in range(3)]
        await house.say("Hello", first)
        await house.app.runs.delete_conversation(house.me, second)
        await brought(house)
        client = redis.client()
        assert client.zrevrange("conversations:list", 0, -1) == [first, third]
        assert client.keys(f"*{second}*") == []


@pytest.mark.requirement("R106")
async def test_only_the_documented_commands_touch_the_documented_keys(
    redis: RedisServer, tmp_path: Path
) -> None:
    with redis.client().monitor() as monitor:
        async with shared_house(tmp_path, redis.url) as house:
            conversation = await house.new()
            await brought(house)
            for text in ("Hello", "Once more"):
                await house.say(text, conversation)
                await brought(house)
            await house.app.conversations.edit(house.me, conversation, ConversationEdit(title="Other"))
            await brought(house)
            await house.app.runs.delete_conversation(house.me, conversation)
            await brought(house)
        redis.client().ping()
        seen: set[str] = set()
        while (command := monitor.next_command()["command"]) != "PING":
            name, *arguments = command.split(" ", 3)
            documented = [
                key for key in arguments[:1] if key in {f"conversation:{conversation}", "conversations:list"}
            ]
            if documented:
                seen.add(name.lower())
    assert seen == DOCUMENTED


async def test_what_the_shape_cannot_hold_lies_beside_it(redis: RedisServer, tmp_path: Path) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        await house.say("Hello", conversation)
        await brought(house)
        messages = await house.messages(conversation)
        beside = redis.client().hgetall(f"conversation:{conversation}:x")
    assert beside["schema"] == "1"
    assert json.loads(beside["conversation"])["id"] == conversation
    assert [MESSAGES.decode(beside[f"m:{message.id}"].encode()) for message in messages] == list(messages)


@pytest.mark.requirement("R177")
async def test_a_turn_is_appended_and_not_written_anew(redis: RedisServer, tmp_path: Path) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        for number in range(20):
            await house.say(f"Message {number} " + "x" * 5000, conversation)
        await brought(house)
        before = redis.client().info("stats")["total_net_input_bytes"]
        await house.say("One more", conversation)
        await brought(house)
        sent = redis.client().info("stats")["total_net_input_bytes"] - before
    assert len(said(redis, conversation)) == 42
    assert said(redis, conversation)[-2:] == [("user", "One more"), ("assistant", "Hello to you.")]
    assert sent < 20_000


async def test_only_the_active_line_is_in_the_value_and_every_line_beside_it(
    redis: RedisServer, tmp_path: Path
) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        await house.say("Hello", conversation)
        await house.say("Once more", conversation)
        await brought(house)
        *_, again, _ = await house.messages(conversation)
        run = await house.app.runs.start(house.me, BranchPoint(conversation, again.id, "edit"), "Other words")
        await house.events(run)
        await brought(house)
        edited = [("user", "Hello"), ("assistant", "Hello to you."), ("user", "Other words")]
        assert said(redis, conversation) == [*edited, ("assistant", "Hello to you.")]
        beside = redis.client().hkeys(f"conversation:{conversation}:x")
        assert len([name for name in beside if name.startswith("m:")]) == 6
        await house.app.conversations.edit(house.me, conversation, ConversationEdit(branch=0))
        await brought(house)
        assert ("user", "Once more") in said(redis, conversation)


async def test_what_one_process_is_told_reaches_redis_through_another_and_after_its_death(
    redis: RedisServer, scripted: ScriptedProcess, tmp_path: Path
) -> None:
    client = redis.client()

    def has(conversation: str, text: str) -> bool:
        return text in (client.get(f"conversation:{conversation}") or "")

    environment = {"BETHINK_REDIS_URL": redis.url, "BETHINK_CODE_ENABLED": "false"}
    async with running(tmp_path, scripted, **environment) as first:
        conversation = await first.new()
        await first.answer(conversation, "To the first")
        async with running(tmp_path, scripted, **environment) as second:
            await second.answer(conversation, "To the second")
            while not (has(conversation, "To the first") and has(conversation, "To the second")):
                await anyio.lowlevel.checkpoint()
            await first.kill()
            await second.answer(conversation, "After its death")
            while not has(conversation, "After its death"):
                await anyio.lowlevel.checkpoint()
            part = (await second.get("/health"))["parts"]["redis"]
    assert (part["status"], part["persists"]) == ("ok", False)


async def test_another_owners_conversations_have_keys_of_their_own(
    redis: RedisServer, tmp_path: Path
) -> None:
    async with shared_house(tmp_path, redis.url, redis_owner="ann:1") as house:
        bob = house.app.accounts.on_behalf_of("bob:conversation", audience="test")
        ann = house.app.accounts.on_behalf_of("ann:1", audience="test")
        hers, his = [(await house.app.conversations.create(each)).id for each in (ann, bob)]
        await brought(house)
    client = redis.client()
    assert client.zrevrange("conversations:list", 0, -1) == [hers]
    assert client.get(f"conversation:{his}") is None
    assert client.zrevrange("bethink:bob%3Aconversation:conversations:list", 0, -1) == [his]
    assert json.loads(client.get(f"bethink:bob%3Aconversation:conversation:{his}"))["id"] == his


@pytest.mark.requirement("C26")
async def test_the_data_directory_stays_the_one_truth(redis: RedisServer, tmp_path: Path) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        await house.say("Hello", conversation)
        await brought(house)
    redis.client().flushall()
    async with shared_house(tmp_path, None) as house:
        assert [message.message.content for message in await house.messages(conversation)] == [
            "Hello",
            "Hello to you.",
        ]
        await house.app.conversations.edit(house.me, conversation, ConversationEdit(title="Meanwhile"))
    async with shared_house(tmp_path, redis.url) as house:
        await brought(house)
    assert value(redis, conversation)["title"] == "Meanwhile"


async def test_what_was_said_while_redis_was_switched_off_gets_there_too(
    redis: RedisServer, tmp_path: Path
) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        await brought(house)
    async with shared_house(tmp_path, None) as house:
        await house.say("Hello", conversation)
    async with shared_house(tmp_path, redis.url) as house:
        await brought(house)
    assert said(redis, conversation) == [("user", "Hello"), ("assistant", "Hello to you.")]


async def test_what_is_forgotten_leaves_redis_and_its_files(tmp_path: Path) -> None:
    llm = ScriptedLlm([[ScriptedCall("store_memory", {"content": "Is allergic to walnuts"})], "Noted."])
    with redis_server("--appendonly", "yes", "--appendfsync", "always") as redis:
        async with shared_house(tmp_path, redis.url, llm) as house:
            conversation = await house.new()
            await house.say("I am allergic to walnuts", conversation)
            await brought(house)
            assert "walnuts" in json.dumps(said(redis, conversation))
            facts = await house.app.memory.list(house.me)
            await house.app.forgetting.forget(house.me, [item.record.id for item in facts.items])
            assert "walnuts" not in json.dumps(said(redis, conversation))
            client = redis.client()
            assert "walnuts" not in json.dumps(client.hgetall(f"conversation:{conversation}:x"))
            files = written(redis)
            assert b"walnuts" not in files
            assert conversation.encode() in files


def written(redis: RedisServer) -> bytes:
    """All that this Redis has on the disk; it may be replacing its files just now."""
    found: list[bytes] = []
    for path in redis.directory.rglob("*"):
        with suppress(FileNotFoundError):
            found.append(path.read_bytes() if path.is_file() and path.name != "log" else b"")
    return b"".join(found)


_SLOW = ("--rdb-key-save-delay", "100000")
"""Writing all files anew takes Redis a tenth of a second a key."""


async def test_what_is_forgotten_in_one_process_leaves_the_files_that_another_writes(tmp_path: Path) -> None:
    with redis_server("--appendonly", "yes", "--appendfsync", "always", *_SLOW) as redis:
        async with shared_house(tmp_path, redis.url) as first:
            conversation = await first.new()
            await first.say("Hello", conversation)
            await brought(first)
            async with shared_house(tmp_path, redis.url) as second:
                # The second time the files were written anew a moment ago.
                for house, secret in ((first, "walnuts"), (second, "hazelnuts")):
                    await house.say(f"I am allergic to {secret}", conversation)
                    await house.app.memory.add(house.me, NewFact(f"Is allergic to {secret}"))
                    await brought(first)
                    assert secret.encode() in written(redis)
                    facts = (await house.app.memory.list(house.me)).items
                    await house.app.forgetting.forget(house.me, [item.record.id for item in facts])
                    assert secret.encode() not in written(redis)


async def test_files_that_were_being_written_when_it_was_forgotten_do_not_hold_it(tmp_path: Path) -> None:
    with redis_server("--appendonly", "yes", "--appendfsync", "always", *_SLOW) as redis:
        async with shared_house(tmp_path, redis.url) as house:
            conversation = await house.new()
            await house.say("I am allergic to walnuts", conversation)
            await house.app.memory.add(house.me, NewFact("Is allergic to walnuts"))
            await brought(house)
            assert redis.client().bgrewriteaof()
            facts = (await house.app.memory.list(house.me)).items
            await house.app.forgetting.forget(house.me, [item.record.id for item in facts])
            assert b"walnuts" not in written(redis)


async def test_what_an_owner_had_is_erased_in_redis_too(redis: RedisServer, tmp_path: Path) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        mine = await house.new()
        await house.say("I was a clerk at Zembrovia", mine)
        bob = house.app.accounts.on_behalf_of("bob", audience="test")
        theirs = (await house.app.conversations.create(bob)).id
        await brought(house)
        client = redis.client()
        assert client.keys(f"*{mine}*")
        app = house.app
        erasing = OwnerRemoval(
            *(app.runs, app.features, app.vault, app.passages, None, tmp_path), shares=True, settle_s=0
        )
        erased = await erasing.erase(house.me)
        assert erased.left == ()
        assert client.keys(f"*{mine}*") == []
        assert client.zrevrange("conversations:list", 0, -1) == []
        assert client.keys(f"*{theirs}*")
        assert await app.ports.store.count(house.me.owner, SHARED, {}) == 0
