"""What was cut short between the store and a Redis: nothing that is gone stays there, or comes back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from bethink.agent.stored_runs import ApprovalChoice
from bethink.conversations.service import ConversationEdit
from bethink.events import ApprovalNeeded, Warned
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.redis_mirror.client import ConversationRedis
from bethink.redis_mirror.outbox import OUTGOING, SHARED, OutboxNote
from bethink.store import Put
from tests.house import House
from tests.redis_server import RedisServer, redis_server
from tests.shared_house import shared_house, sharing_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

APPENDING = ("--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0")
SECRET = "walnuts"


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with redis_server(*APPENDING) as server:
        yield server


def written(redis: RedisServer) -> bytes:
    """All that this Redis has on the disk."""
    files = [path for path in redis.directory.rglob("*") if path.is_file() and path.name != "log"]
    return b"".join(path.read_bytes() for path in files)


async def told_of(house: House) -> str:
    """A conversation that tells what is to be forgotten; Redis has it."""
    conversation = await house.new()
    await house.say(f"I am allergic to {SECRET}", conversation)
    await house.app.memory.add(house.me, NewFact(f"Is allergic to {SECRET}"))
    await sharing_of(house).bring_over()
    return conversation


async def facts(house: House) -> list[str]:
    return [item.record.id for item in (await house.app.memory.list(house.me)).items]


async def everything_said(house: House) -> str:
    listed = (await house.app.conversations.list(house.me, limit=100)).items
    return "\n".join(
        [message.message.content for item in listed for message in await house.messages(item.record.id)]
    )


async def test_files_are_written_anew_after_the_process_that_overwrote_is_gone(
    redis: RedisServer, tmp_path: Path
) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        await house.app.conversations.edit(house.me, conversation, ConversationEdit(title=f"On {SECRET}"))
        await sharing_of(house).bring_over()
        await house.app.conversations.edit(house.me, conversation, ConversationEdit(title="Something else"))
        await sharing_of(house).bring_over()
        assert SECRET.encode() in written(redis)
    async with shared_house(tmp_path, redis.url) as house:
        await sharing_of(house).scrub()
        assert SECRET.encode() not in written(redis)


async def test_a_forgotten_title_is_in_redis_no_more_when_that_is_said(
    redis: RedisServer, tmp_path: Path
) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        await house.say("Hello", conversation)
        await house.app.conversations.edit(
            house.me, conversation, ConversationEdit(title=f"Is allergic to {SECRET}")
        )
        await house.app.memory.add(house.me, NewFact(f"Is allergic to {SECRET}"))
        await sharing_of(house).bring_over()
        assert SECRET in redis.client().get(f"conversation:{conversation}")
        receipt = await house.app.forgetting.forget(house.me, await facts(house))
        assert receipt.titles == (conversation,)
        assert SECRET not in redis.client().get(f"conversation:{conversation}")
        assert SECRET.encode() not in written(redis)


async def test_a_removal_behind_thousands_of_other_notes_is_waited_for(
    redis: RedisServer, tmp_path: Path
) -> None:
    redis.kill()
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        notes = [OutboxNote(id=f"{n:05}", root=conversation, added=("none",)) for n in range(5_001)]
        store = house.app.ports.store
        await store.commit(house.me.owner, [Put(OUTGOING, note) for note in notes])
        await store.commit(
            house.me.owner, [Put(OUTGOING, OutboxNote(id="99999", root=conversation, whole=True))]
        )
        redis.start()
        await sharing_of(house).scrub()
        assert await store.get(OUTGOING, house.me.owner, ["99999"]) == (None,)


async def test_what_was_written_and_not_remembered_is_not_taken_for_another_programs(
    redis: RedisServer, tmp_path: Path
) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await house.new()
        await house.say("Hello", conversation)
        await sharing_of(house).bring_over()
        store, owner = house.app.ports.store, house.me.owner
        (before,) = await store.get(SHARED, owner, [conversation])
        assert before
        await house.say(f"I am allergic to {SECRET}", conversation)
        await house.app.memory.add(house.me, NewFact(f"Is allergic to {SECRET}"))
        await sharing_of(house).bring_over()
        # As where the answer of Redis was lost.
        await store.commit(owner, [Put(SHARED, before.record)])
        await house.app.forgetting.forget(house.me, await facts(house))
        await sharing_of(house).bring_over()
        await sharing_of(house).look()
        assert len((await house.app.conversations.list(house.me)).items) == 1
        assert SECRET not in await everything_said(house)
        assert SECRET.encode() not in written(redis)


async def test_who_forgets_is_told_what_files_may_still_hold_and_they_are_asked_again(
    tmp_path: Path,
) -> None:
    with redis_server(*APPENDING, "--rename-command", "BGREWRITEAOF", "") as redis:
        async with shared_house(tmp_path, redis.url) as house:
            await told_of(house)
            receipt = await house.app.forgetting.forget(house.me, await facts(house))
            assert [line for line in receipt.outside if "Files of Redis" in line]
            assert [each for each in sharing_of(house).warnings() if "Files of Redis" in each.message]
            assert await sharing_of(house).files.are_stale()
        redis.kill()
        redis.options = list(APPENDING)
        redis.start()
        async with shared_house(tmp_path, redis.url) as house:
            await sharing_of(house).bring_over()
            assert sharing_of(house).files.left is None
            assert not await sharing_of(house).files.are_stale()
            assert SECRET.encode() not in written(redis)


async def test_the_answer_in_which_something_is_forgotten_tells_what_files_may_still_hold(
    tmp_path: Path,
) -> None:
    llm = ScriptedLlm([[ScriptedCall("delete_all_memories", {})], "Done."])
    with redis_server(*APPENDING, "--rename-command", "BGREWRITEAOF", "") as redis:
        async with shared_house(tmp_path, redis.url, llm) as house:
            await house.app.memory.add(house.me, NewFact(f"Is allergic to {SECRET}"))
            conversation = await house.new()
            asked = await house.say(f"Forget {SECRET}", conversation)
            (needed,) = [each for each in asked if isinstance(each, ApprovalNeeded)]
            run = (await house.messages(conversation))[-1].run
            await sharing_of(house).bring_over()
            assert await house.app.runs.approvals.decide(
                house.me, run, call=needed.call, choice=ApprovalChoice("approve")
            )
            told = [each.message for each in await house.events(run) if isinstance(each, Warned)]
            assert [each for each in told if "Files of Redis" in each]


async def test_two_data_directories_that_claim_a_redis_at_once_do_not_both_get_it(
    redis: RedisServer,
) -> None:
    client = partial(ConversationRedis, redis.url, plain_owner="local", timeout_s=5)
    first, second = [await anyio.to_thread.run_sync(client) for _ in range(2)]
    connection: Any = first._redis  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the gate
    ask = connection.get
    told: list[str | None] = []

    async def other_comes_between(key: str) -> bytes | None:
        found = await ask(key)
        told.append(await second.claim("two"))
        return found

    connection.get = other_comes_between
    told.append(await first.claim("one"))
    told.append(await second.claim("two"))
    await first.close()
    await second.close()
    assert told.count(None) == 1
