"""A Redis that is away, full, drops keys or refuses: nothing acknowledged is lost, and it is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from bethink.cli import checks
from bethink.errors import StorageError
from bethink.events import Warned
from bethink.settings import Settings
from tests.door import called
from tests.house import House
from tests.redis_server import RedisServer, redis_server
from tests.shared_house import shared_house, sharing_of
from tests.warm import run

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]

_DIES = "import runpy\nrunpy.run_module('tests.service.share_and_die', run_name='__main__')"
TALK = [("user", "Hello"), ("assistant", "Hello to you.")]


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


async def brought(house: House) -> None:
    await sharing_of(house).bring_over()


async def health(house: House) -> dict[str, Any]:
    async with called(house) as http:
        answer = await http.get("/health")
    assert answer.status_code == 200
    return answer.json()["parts"]["redis"]


async def refused(house: House) -> str:
    """What Redis, asked to take what is noted, is said to answer."""
    with pytest.raises(StorageError) as caught:
        await brought(house)
    return caught.value.message


async def talk(house: House, conversation: str | None = None) -> str:
    conversation = conversation or await house.new()
    await house.say("Hello", conversation)
    return conversation


def said(redis: RedisServer, conversation: str) -> list[tuple[str, str]]:
    text = redis.client().get(f"conversation:{conversation}")
    return [(message["role"], message["content"]) for message in json.loads(text)["messages"]]


async def test_bethink_starts_without_its_redis_and_brings_all_over_once_it_is_there(tmp_path: Path) -> None:
    with redis_server(started=False) as redis:
        async with shared_house(tmp_path, redis.url) as house:
            conversation = await talk(house)
            assert len(await house.messages(conversation)) == 2
            assert "cannot be reached" in await refused(house)
            part = await health(house)
            assert (part["status"], part["persists"]) == ("degraded", None)
            assert part["behind"] > 0
            redis.start()
            await brought(house)
            part = await health(house)
            assert part["behind"] == 0
        assert said(redis, conversation) == TALK


async def test_what_is_said_while_redis_is_away_is_answered_and_gets_there(
    redis: RedisServer, tmp_path: Path
) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation, deleted = await talk(house), await talk(house)
        await brought(house)
        redis.kill()
        await talk(house, conversation)
        await refused(house)
        told = [event for event in await house.say("Anything wrong?") if isinstance(event, Warned)]
        assert [event.part for event in told] == ["redis"]
        assert "cannot be reached" in told[0].message
        await house.app.runs.delete_conversation(house.me, deleted)
        assert "cannot be reached" in await refused(house)
        # It kept nothing: everything is written again, and the deleted does not come back.
        redis.start()
        await brought(house)
        assert said(redis, conversation) == TALK + TALK
        listed = redis.client().zrevrange("conversations:list", 0, -1)
        assert (len(listed), deleted in listed) == (2, False)


async def test_a_redis_that_comes_back_with_what_it_had_is_brought_up_to_date(tmp_path: Path) -> None:
    with redis_server("--appendonly", "yes", "--appendfsync", "always", "--save", "") as redis:
        async with shared_house(tmp_path, redis.url) as house:
            conversation, deleted = await talk(house), await talk(house)
            await brought(house)
            redis.kill()
            await house.app.runs.delete_conversation(house.me, deleted)
            await talk(house, conversation)
            await refused(house)
            redis.start()
            assert redis.client().exists(f"conversation:{deleted}")
            await brought(house)
        assert said(redis, conversation) == TALK + TALK
        assert redis.client().zrevrange("conversations:list", 0, -1) == [conversation]


async def test_an_emptied_redis_is_filled_again(redis: RedisServer, tmp_path: Path) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await talk(house)
        await brought(house)
    redis.client().flushall()
    async with shared_house(tmp_path, redis.url) as house:
        await brought(house)
    assert said(redis, conversation) == TALK


async def test_a_full_redis_is_told_and_takes_the_rest_once_it_has_room(
    redis: RedisServer, tmp_path: Path
) -> None:
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await talk(house)
        await brought(house)
        redis.client().config_set("maxmemory", 1)
        await talk(house, conversation)
        assert "is full" in await refused(house)
        part = await health(house)
        assert (part["status"], part["behind"] > 0) == ("degraded", True)
        redis.client().config_set("maxmemory", 0)
        await brought(house)
    assert said(redis, conversation) == TALK + TALK


async def test_one_that_drops_keys_is_warned_of_and_what_it_dropped_is_written_again(tmp_path: Path) -> None:
    options = ("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", "--save", "")
    with redis_server(*options) as redis:
        async with shared_house(tmp_path, redis.url) as house:
            conversation = await talk(house)
            await brought(house)
            part = await health(house)
            assert (part["status"], part["evicts"], part["persists"]) == ("degraded", "allkeys-lru", False)
            assert "noeviction" in part["message"]
            redis.client().delete(f"conversation:{conversation}", "bethink:home")
            await talk(house)
        async with shared_house(tmp_path, redis.url) as house:
            await brought(house)
        assert said(redis, conversation) == TALK
        check = await to_thread.run_sync(checks.redis, redis.url, 5)
        assert (check.state, "allkeys-lru" in check.message) == ("off", True)


@pytest.mark.requirement("R112")
@pytest.mark.parametrize(
    ("options", "persists", "fsync"),
    [
        (("--appendonly", "yes", "--appendfsync", "everysec"), True, "everysec"),
        (("--save", "3600 1"), True, "everysec"),
        (("--save", ""), False, "everysec"),
    ],
)
async def test_health_says_whether_that_redis_persists(
    tmp_path: Path, options: tuple[str, ...], *, persists: bool, fsync: str
) -> None:
    with redis_server(*options) as redis:
        async with shared_house(tmp_path, redis.url) as house:
            await brought(house)
            part = await health(house)
    assert (part["status"], part["persists"], part["appendfsync"]) == ("ok", persists, fsync)
    assert part["last_save_ok"] is True
    assert ("does not persist" in part["message"]) is not persists


async def test_a_replica_is_named_as_one(redis: RedisServer, tmp_path: Path) -> None:
    redis.client().replicaof("127.0.0.1", 1)
    async with shared_house(tmp_path, redis.url) as house:
        conversation = await talk(house)
        assert "replica" in await refused(house)
        assert "replica" in (await health(house))["message"]
        redis.client().replicaof("NO", "ONE")
        await brought(house)
    assert said(redis, conversation) == TALK


async def test_a_wrong_password_is_told_without_showing_it(tmp_path: Path) -> None:
    with redis_server(started=False) as redis:
        redis.password = "right"
        redis.options += ["--requirepass", redis.password]
        redis.start()
        async with shared_house(tmp_path, f"{redis.url}?password=wrong-one") as house:
            await talk(house)
            told = await refused(house)
        assert "password" in told
        assert "wrong-one" not in told
        check = await to_thread.run_sync(checks.redis, f"{redis.url}?password=wrong-one", 5)
        assert (check.state, "wrong-one" in check.message) == ("broken", False)
        async with shared_house(tmp_path, f"{redis.url}?password=right") as house:
            await brought(house)


def test_an_address_that_is_none_is_refused_with_its_setting() -> None:
    assert "BETHINK_REDIS_URL" in checks.redis("http://localhost", 5).message


async def test_without_scripts_conversations_are_written_whole(redis: RedisServer, tmp_path: Path) -> None:
    redis.client().acl_setuser(
        "app", enabled=True, passwords=["+right"], keys=["*"], commands=["+@all", "-@scripting"]
    )
    async with shared_house(tmp_path, f"{redis.url}?username=app&password=right") as house:
        conversation = await talk(house)
        await brought(house)
        await talk(house, conversation)
        await brought(house)
    assert said(redis, conversation) == TALK + TALK


async def test_keys_of_another_kind_are_left_alone_and_named(redis: RedisServer, tmp_path: Path) -> None:
    redis.client().rpush("conversations:list", "mine")
    async with shared_house(tmp_path, redis.url) as house:
        await talk(house)
        assert "Another program" in await refused(house)
    assert redis.client().lrange("conversations:list", 0, -1) == ["mine"]


async def test_another_data_directory_on_the_same_redis_is_refused(
    redis: RedisServer, tmp_path: Path
) -> None:
    async with shared_house(tmp_path / "one", redis.url) as first:
        conversation = await talk(first)
        await brought(first)
        async with shared_house(tmp_path / "two", redis.url) as second:
            other = await talk(second)
            assert "another data directory" in await refused(second)
    client = redis.client()
    assert client.zrevrange("conversations:list", 0, -1) == [conversation]
    assert client.get(f"conversation:{other}") is None


@pytest.mark.parametrize("step", range(0, 12, 2))
async def test_a_process_killed_at_any_step_leaves_nothing_behind_that_is_not_mended(
    redis: RedisServer, tmp_path: Path, step: int
) -> None:
    """Each step is a write to the store or to Redis: killed right before it, and right behind it."""
    for after in ("before", "after"):
        ended, told = await run(_DIES, str(tmp_path), redis.url, str(step), after)
        assert ended in {-9, 0}
        acknowledged = [tuple(line.split(" ", 1)) for line in told.splitlines()]
        redis.client().delete("bethink:home")
        async with shared_house(tmp_path, redis.url) as house:
            page = await house.app.conversations.list(house.me, limit=100)
            # As whoever lists them does: the ends of runs that died are told, if nobody has yet.
            await house.app.runs.stored.settled(house.me, page.items)
            await brought(house)
            kept = {item.record.id: await house.messages(item.record.id) for item in page.items}
        for conversation, text in acknowledged:
            assert text in [message.message.content for message in kept[conversation]]
        assert set(redis.client().zrevrange("conversations:list", 0, -1)) == set(kept)
        for conversation, messages in kept.items():
            contents = [one.message.content for one in messages]
            assert [text for _, text in said(redis, conversation)] == contents


async def test_a_redis_killed_between_writes_is_mended(tmp_path: Path) -> None:
    with redis_server("--appendonly", "yes", "--appendfsync", "no", "--save", "") as redis:
        async with shared_house(tmp_path, redis.url) as house:
            conversation = await house.new()
            for turn in range(6):
                await talk(house, conversation)
                if turn % 2:
                    redis.kill()
                    redis.start()
                try:
                    await brought(house)
                except StorageError:
                    await brought(house)
        assert said(redis, conversation) == TALK * 6


def test_the_address_is_kept_as_a_secret() -> None:
    settings = Settings.model_validate({"redis_url": "redis://:hidden@localhost"})
    assert "hidden" not in repr(settings)
