"""Three servers that hear of one another through Redis or PostgreSQL: answer, tell, stop, die."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import httpx2
import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.llm.scripted import Rule, ScriptedCall
from tests.door import DONE, text_of
from tests.postgres_server import postgres_server
from tests.redis_server import RedisServer, redis_server
from tests.server_process import SERVE, Running, running
from tests.wire import Wire, wire

# Processes start and are killed here, on machines that have other things to do.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

WORDS = " ".join(f"w{number:03}" for number in range(400))
LONG = Rule(when="story", text=WORDS, delay_ms=40, chunk_characters=8)
BEGUN = "w010"
LATER = "w100"
"""Some seconds later: what was said before the last one is kept."""
NOTING = ScriptedCall("store_memory", {"content": "User lives in Rome."})
NOTE = "Note where I live"

SERVE_LATER = f"""
import time
now, ns = time.time, time.time_ns
time.time = lambda: now() + 30
time.time_ns = lambda: ns() + 30_000_000_000
{SERVE}"""
"""A server on a machine whose clock is half a minute ahead."""


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedProcess]:
    with scripted_process() as process:
        yield process


@dataclass(frozen=True, slots=True)
class Three:
    """The servers, the clock of the last of which is ahead."""

    a: Running
    b: Running
    c: Running


@asynccontextmanager
async def three_over(data: Path, model: ScriptedProcess, **told: str) -> AsyncGenerator[Three]:
    await model.plays(
        LONG,
        Rule(when="Note", after_tool=False, tool_calls=(NOTING,)),
        Rule(when="Note", after_tool=True, text="Noted."),
    )
    told["BETHINK_TOOL_POLICY"] = '{"store_memory": "ask"}'
    async with AsyncExitStack() as stack:
        begin = stack.enter_async_context
        a, b = [await begin(running(data, model, **told)) for _ in range(2)]
        c = await begin(running(data, model, serve=SERVE_LATER, **told))
        yield Three(a, b, c)


def by_redis(socket: Path) -> dict[str, str]:
    """The settings of servers that hear of one another through the Redis at a socket."""
    return {"BETHINK_REDIS_URL": f"unix://{socket}", "BETHINK_REDIS_USE": "bus"}


@pytest.fixture(params=["redis", "postgres"])
async def three(
    request: pytest.FixtureRequest, tmp_path: Path, model: ScriptedProcess
) -> AsyncIterator[Three]:
    with ExitStack() as stack:
        if request.param == "redis":
            told = by_redis(stack.enter_context(redis_server()).socket)
        else:
            told = {"BETHINK_DATABASE_URL": stack.enter_context(postgres_server()).new_database()}
        async with three_over(tmp_path, model, **told) as three:
            yield three


async def begun(server: Running, until: str = BEGUN) -> tuple[str, str, str]:
    """A conversation, the run that answers in it, and where a reader was when it left."""
    conversation = await server.new()
    seen = await server.told(conversation, "Tell me a story", until=until)
    return conversation, seen[0].data["run"], seen[-1].id or ""


async def test_what_one_answers_is_read_at_another_and_continued_where_the_reader_was(three: Three) -> None:
    _, run, place = await begun(three.a)
    whole, rest, ahead = await asyncio.gather(
        three.b.followed(run), three.b.followed(run, place), three.c.followed(run)
    )
    assert text_of(whole) == text_of(ahead) == WORDS
    assert WORDS.endswith(text_of(rest))
    assert BEGUN not in text_of(rest)
    assert {frames[-2].data["reason"] for frames in (whole, rest, ahead)} == {"answered"}


async def test_a_third_stops_an_answer(three: Three) -> None:
    conversation, run, place = await begun(three.a)
    reading = asyncio.create_task(three.b.followed(run, place))
    answer = await three.c.http.post(f"/runs/{run}/cancel")
    told = await reading
    assert answer.status_code == 202
    assert told[-2].data["reason"] == "cancelled"
    for server in (three.a, three.b, three.c):
        shown = await server.get(f"/conversations/{conversation}")
        assert (shown["active_run"], shown["messages"][-1]["stop_reason"]) == (None, "cancelled")


async def test_a_call_is_approved_at_another(three: Three) -> None:
    conversation = await three.a.new()
    answer = await three.a.answer(conversation, NOTE)
    assert answer["reason"] == "awaiting_approval"
    (waiting,) = (await three.b.get(f"/conversations/{conversation}"))["waiting"]
    url = f"/runs/{answer['run_id']}/approvals/{waiting['call']}"
    assert (await three.b.http.post(url, json={"decision": "approve"})).json()["goes_on"]
    told = await three.a.followed(answer["run_id"])
    assert (text_of(told), told[-2].data["reason"]) == ("Noted.", "answered")
    assert (await three.c.get("/memories"))["total"] == 1


async def test_when_the_one_that_answers_is_killed_another_ends_it_and_its_readers_are_told(
    three: Three,
) -> None:
    conversation, run, place = await begun(three.a, LATER)
    readers = [asyncio.create_task(one.followed(run, place)) for one in (three.b, three.c)]
    await asyncio.sleep(0)
    await three.a.kill()
    begun_at = anyio.current_time()
    told = await asyncio.gather(*readers)
    assert anyio.current_time() - begun_at < 60
    last = (await three.b.get(f"/conversations/{conversation}"))["messages"][-1]
    assert last["stop_reason"] == "interrupted"
    assert WORDS.startswith(last["content"])
    assert "w000" in last["content"]
    assert {frames[-2].data["reason"] for frames in told} == {"interrupted"}
    again = await three.c.answer(conversation, NOTE)
    assert again["reason"] == "awaiting_approval"


@pytest.mark.parametrize("how", ["killed", "emptied", "started anew", "out of reach"])
async def test_an_answer_outlives_the_redis_by_which_it_is_told(
    tmp_path: Path, model: ScriptedProcess, how: str
) -> None:
    with redis_server() as redis:
        async with (
            wire(redis.socket) as line,
            three_over(tmp_path, model, **by_redis(line.socket)) as three,
        ):
            await outlived(three, redis, line, how=how)


async def outlived(three: Three, redis: RedisServer, line: Wire, *, how: str) -> None:
    conversation, run, place = await begun(three.a)
    readers = [asyncio.create_task(one.followed(run, place)) for one in (three.b, three.c)]
    if how == "emptied":
        redis.client().flushall()
    elif how == "out of reach":
        line.hold()
    else:
        redis.kill()
    if how == "started anew":
        redis.start()
    elif how == "killed":
        health = await three.b.get("/health")
        assert health["parts"]["bus"]["status"] in {"ok", "degraded"}
    elif how == "out of reach":
        assert text_of(await three.b.followed(run)) == WORDS
        line.mend()
    for frames in await asyncio.gather(*readers):
        assert WORDS.endswith(text_of(frames))
        assert frames[-2].data["reason"] == "answered"
    for server in (three.a, three.b, three.c):
        shown = await server.get(f"/conversations/{conversation}")
        assert (shown["active_run"], shown["messages"][-1]["content"]) == (None, WORDS)
    if how == "killed":
        health = (await three.b.get("/health"))["parts"]["bus"]
        assert (health["status"], "cannot be reached" in health["message"]) == ("degraded", True)


@pytest.mark.parametrize("drain_s", [60, 0.2])
@pytest.mark.requirement("R171")
async def test_one_that_is_stopped_ends_its_answers_or_leaves_them_to_the_others(
    tmp_path: Path, model: ScriptedProcess, drain_s: float
) -> None:
    with postgres_server() as postgres:
        told = {"BETHINK_DATABASE_URL": postgres.new_database(), "BETHINK_DRAIN_S": str(drain_s)}
        async with three_over(tmp_path, model, **told) as three:
            conversation, run, place = await begun(three.a)
            elsewhere = asyncio.create_task(three.b.followed(run))
            assert await three.a.stop() == 0
            whole, rest = await elsewhere, await three.c.followed(run, place)
            assert whole[-1].data == rest[-1].data == DONE
            (reason,) = (frame.data["reason"] for frame in rest if frame.kind == "run_done")
            kept = (await three.b.get(f"/conversations/{conversation}"))["messages"][-1]["content"]
            assert BEGUN in kept
            assert WORDS.startswith(kept)
            assert (kept == WORDS, reason) == ((drain_s > 1), "answered" if drain_s > 1 else "interrupted")
            assert text_of(whole).strip() == kept
            # Whoever was left with half an answer asks again, elsewhere.
            assert (await three.c.answer(conversation, "Note where I live"))["message"]


async def test_what_is_said_at_one_shows_in_the_list_of_another(three: Three) -> None:
    async with three.b.http.stream(
        "GET", "/conversations/events", headers={"Accept": "text/event-stream"}
    ) as changes:
        lines = changes.aiter_lines()
        assert await anext(lines) == ": open"
        conversation = await three.a.new()
        async for line in lines:
            if conversation in line:
                break


async def test_clocks_half_a_minute_apart_confuse_neither_memory_nor_talk_nor_schedules(three: Three) -> None:
    """The clock of `c` is ahead: what it writes is of a time that has not come at `a`."""
    behind, ahead = three.a.http, three.c.http
    await facts_have_their_order(behind, ahead)
    conversation = await three.c.new()
    for number, server in enumerate((three.c, three.a, three.b, three.c)):
        assert (await server.answer(conversation, f"Word {number}"))["reason"] == "answered"
    for server in (three.a, three.c):
        messages = (await server.get(f"/conversations/{conversation}"))["messages"]
        said = [message["content"] for message in messages if message["role"] == "user"]
        assert said == [f"Word {number}" for number in range(4)]
        assert [message["role"] for message in messages] == ["user", "assistant"] * 4
    await is_done_once(three)


async def facts_have_their_order(behind: httpx2.AsyncClient, ahead: httpx2.AsyncClient) -> None:
    """A change of what was kept at a later time follows it, and what was changed can be taken back."""
    kept = (await ahead.post("/memories", json={"content": "User lives in Paris."})).json()["memory"]
    changed = await behind.patch(f"/memories/{kept['id']}", json={"content": "User lives in Rome."})
    assert changed.status_code == 200, changed.text
    now, (before,) = changed.json()["memory"], changed.json()["others"]
    assert before["created_at"] < now["created_at"] == before["valid_until"]
    for http in (behind, ahead):
        items = (await http.get("/memories")).json()["items"]
        assert [item["content"] for item in items] == ["User lives in Rome."]
        log = (await http.get("/memories/log")).json()["items"]
        assert [entry["change"] for entry in log] == ["superseded", "added"]
    undone = await behind.post("/memories/undo", json={"token": changed.json()["undo"]})
    assert undone.status_code == 200, undone.text
    items = (await ahead.get("/memories")).json()["items"]
    assert [item["content"] for item in items] == ["User lives in Paris."]


async def is_done_once(three: Three) -> None:
    """What is due is done once, whoever made it, and by whichever clock it is due first."""
    titles = [f"Reminder {number}" for number in range(4)]
    made: list[str] = []
    for number, title in enumerate(titles):
        server, shift = (three.a, 10) if number % 2 else (three.c, 40)
        when = (datetime.now(UTC) + timedelta(seconds=shift)).isoformat()
        answer = await server.http.post("/schedules", json={"text": title, "when": when})
        assert answer.status_code == 201, answer.text
        made.append(answer.json()["id"])
    for id in made:
        while not (runs := (await three.b.get(f"/schedules/{id}/history"))["items"]):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        assert [run["outcome"] for run in runs] == ["done"]
    notices = (await three.c.get("/schedules/notices"))["items"]
    assert sorted(notice["title"] for notice in notices) == titles
