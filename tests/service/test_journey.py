"""A person's way with Bethink: the real server process, real files, a model that plays a script."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.llm.scripted import Reply, Rule, ScriptedCall
from tests.door import DONE, Frame, said, text_of
from tests.server_process import SERVE, running
from tests.warm import cold

# Processes start and are killed here, on machines that have other things to do.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120), pytest.mark.usefixtures("home_engine")]

STORY = "Once upon a time there was a house that remembered everybody who had ever lived in it. "
SLOW = Rule(when="story", text=STORY * 20, delay_ms=40, chunk_characters=16)
ENDLESS = Rule(when="story", text=STORY * 20, delay_ms=20, chunk_characters=8, fault="hang_midstream")
"""An answer of which half is told and nothing more: whatever is done to it comes in time."""


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedProcess]:
    with scripted_process() as process:
        yield process


@pytest.fixture(autouse=True)
async def demonstration(model: ScriptedProcess) -> None:
    """Each test begins with the built-in script."""
    await model.plays()


def kinds(told: list[Frame]) -> list[str]:
    return list(dict.fromkeys(frame.kind for frame in told))


async def asked(model: ScriptedProcess) -> str:
    """The last message that the model was sent, as it saw it."""
    body = (await model.requests())[-1].body
    assert isinstance(body, dict)
    return str([message["content"] for message in body["messages"] if message["role"] == "user"][-1])


@pytest.mark.requirement("R92", "R93", "R97", "R99", "R101", "R7", "R192")
async def test_what_is_told_is_known_after_a_power_cut(model: ScriptedProcess, tmp_path: Path) -> None:
    async with running(tmp_path, model, serve=cold(SERVE)) as bethink:
        told = await bethink.told(await bethink.new(), "My name is Alice and I live in Paris")
        assert kinds(told)[-1] == DONE
        assert {"run_started", "tool_requested", "memory_changed", "tool_finished"} < set(kinds(told))
        # The script quotes the results that it was sent, in their order.
        results = ("Memory stored: User's name is Alice.", "Memory stored: User lives in Paris.")
        assert " / ".join(results) in text_of(told)
        memories = await bethink.get("/memories")
        await bethink.kill()
    assert sorted(item["content"] for item in memories["items"]) == [
        "User lives in Paris.",
        "User's name is Alice.",
    ]
    async with running(tmp_path, model) as bethink:
        answer = await bethink.answer(await bethink.new(), "Where do I live?")
        sent = await asked(model)
        assert (await bethink.get("/memories"))["items"] == memories["items"]
        assert await bethink.stop() == 0
    assert "Paris" in answer["message"]["content"]
    facts = {item["id"] for item in answer["recalled"] if item["kind"] == "fact"}
    assert facts <= {item["id"] for item in memories["items"]}
    block, _, said_last = sent.partition("</recalled_memories>")
    assert "User lives in Paris." in block
    assert said_last.strip() == "Where do I live?"


@pytest.mark.requirement("R7")
async def test_a_reader_that_comes_back_misses_nothing_and_reads_nothing_twice(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    await model.plays(SLOW)
    async with running(tmp_path, model) as bethink:
        conversation = await bethink.new()
        seen = await bethink.told(conversation, "Tell me a story", until=STORY)
        run, place = seen[0].data["run"], seen[-1].id
        assert place is not None
        shown = await bethink.get(f"/conversations/{conversation}")
        rest = await bethink.followed(run, place)
        again = await bethink.followed(run)
        after = await bethink.get(f"/conversations/{conversation}")
    assert shown["active_run"] == run
    assert text_of(seen + rest) == text_of(again) == STORY * 20
    assert rest[-2].data["reason"] == "answered"
    assert after["messages"][-1]["content"] == STORY * 20


async def test_a_power_cut_in_the_middle_of_an_answer_keeps_what_was_said(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    await model.plays(ENDLESS)
    async with running(tmp_path, model) as bethink:
        conversation = await bethink.new()
        # The first of it is by now older than the second of text that a power cut may cost.
        seen = await bethink.told(conversation, "Tell me a story", until=STORY * 9)
        await bethink.told(conversation, "Tell me a story", until=STORY)  # busy, and still it goes on
        await bethink.kill()
    async with running(tmp_path, model) as bethink:
        # Where processes are on several machines, one is given some time before it is taken for dead.
        told = await bethink.followed(seen[0].data["run"])
        shown = await bethink.get(f"/conversations/{conversation}")
        again = await bethink.answer(conversation, "Where do I live?")
    last = shown["messages"][-1]
    assert last["stop_reason"] == "interrupted"
    assert (STORY * 20).startswith(last["content"])
    assert last["content"].startswith(STORY)
    assert shown["interrupted"]["run"] == last["run"] == seen[0].data["run"]
    assert shown["active_run"] is None
    assert (text_of(told), told[-2].data["reason"]) == (last["content"], "interrupted")
    assert again["reason"] == "answered"


async def test_a_destructive_call_waits_for_its_owner_across_a_restart(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    await model.plays(
        Rule(when="Delete", after_tool=False, tool_calls=(ScriptedCall("delete_all_memories"),)),
        Rule(when="Delete", after_tool=True, text="All gone."),
    )
    async with running(tmp_path, model) as bethink:
        await bethink.http.post("/memories", json={"content": "User lives in Paris."})
        conversation = await bethink.new()
        answer = await bethink.answer(conversation, "Delete everything you know about me")
        assert answer["reason"] == "awaiting_approval"
        await bethink.kill()
    async with running(tmp_path, model) as bethink:
        assert (await bethink.get("/memories"))["total"] == 1
        (waiting,) = (await bethink.get(f"/conversations/{conversation}"))["waiting"]
        assert waiting["run"] == answer["run_id"]
        url = f"/runs/{waiting['run']}/approvals/{waiting['call']}"
        decided = await bethink.http.post(url, json={"decision": "approve"})
        told = await bethink.followed(waiting["run"])
        assert (decided.status_code, decided.json()["goes_on"]) == (202, True)
        assert (await bethink.get("/memories"))["total"] == 0
    assert text_of(told) == "All gone."
    assert told[-2].data["reason"] == "answered"


async def test_a_server_that_is_stopped_tells_its_readers_and_keeps_what_was_said(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    await model.plays(ENDLESS)
    async with running(tmp_path, model) as bethink:
        conversation = await bethink.new()
        seen = await bethink.told(conversation, "Tell me a story", until=STORY)
        follower = asyncio.create_task(bethink.followed(seen[0].data["run"], seen[-1].id or ""))
        await bethink.get("/health")
        code = await bethink.stop()
        told = await follower
    assert code == 0
    assert [told[-2].data["reason"], told[-1].kind] == ["interrupted", DONE]
    async with running(tmp_path, model) as bethink:
        last = (await bethink.get(f"/conversations/{conversation}"))["messages"][-1]
    assert (last["stop_reason"], last["content"]) == ("interrupted", text_of(seen + told))


async def test_a_server_that_is_stopped_lets_go_of_those_who_only_listen(tmp_path: Path) -> None:
    rooms = ("/conversations/events", "/schedules/notices/events", "/vault/changes")
    async with running(tmp_path) as bethink, AsyncExitStack() as stack:
        streams = [
            await stack.enter_async_context(
                bethink.http.stream("GET", room, headers={"Accept": "text/event-stream"})
            )
            for room in rooms
        ]
        assert await bethink.stop() == 0
        # One that was cut off would raise here.
        told = [await stream.aread() for stream in streams]
    assert not any(b"[DONE]" in part for part in told)


async def test_a_model_that_fails_leaves_a_sentence_and_a_server_that_goes_on(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    await model.plays(Rule(when="first", status=401, times=1), Reply(text="Here I am."))
    async with running(tmp_path, model, BETHINK_MODEL_ATTEMPTS="1") as bethink:
        conversation = await bethink.new()
        failed = await bethink.answer(conversation, "first")
        worked = await bethink.answer(conversation, "second")
    assert (failed["reason"], failed["error"]["code"]) == ("failed", "model_refused")
    assert worked["message"]["content"] == "Here I am."


async def test_whatever_is_thrown_at_it_is_answered_with_a_problem(tmp_path: Path) -> None:
    big = json.dumps(said("x" * 10_000_000)).encode()
    async with running(tmp_path) as bethink:
        url = f"/conversations/{await bethink.new()}/chat"
        post = {"Content-Type": "application/json"}
        answers = [
            await bethink.http.post(url, content=big, headers=post),
            await bethink.http.post(url, content=b"\x00\xff{", headers=post),
            await bethink.http.post(url, content=b"[" * 200_000, headers=post),
            await bethink.http.post(url, content=json.dumps(said("\u0000\u0001")), headers=post),
            await bethink.http.post("/conversations/%00/chat", json=said("x")),
            await bethink.http.get("/conversations/%F0%9F%92%A5"),
            await bethink.http.get(f"/conversations/{'x' * 5000}"),
            await bethink.http.get("/memories", params={"cursor": "x" * 999}),
            await bethink.http.put("/health"),
            await bethink.http.get("/health", headers={"Host": "evil.example"}),
            await bethink.http.get("/health", headers={"Origin": "http://evil.example"}),
            await bethink.http.get("/../../etc/passwd"),
        ]
        assert (await bethink.get("/health"))["parts"]["store"]["status"] == "ok"
    assert [answer.status_code for answer in answers] == [
        *(413, 400, 422, 422, 404, 404, 404, 422, 405, 403, 403, 404)
    ]
    assert {answer.headers["content-type"] for answer in answers} == {"application/problem+json"}
    assert all(answer.json()["detail"] for answer in answers)


async def test_two_servers_on_one_data_directory_share_runs_and_memories(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    await model.plays(ENDLESS)
    async with running(tmp_path, model) as one, running(tmp_path, model) as two:
        await one.http.post("/memories", json={"content": "User lives in Paris."})
        assert (await two.get("/memories"))["total"] == 1
        conversation = await one.new()
        seen = await one.told(conversation, "Tell me a story", until=STORY)
        run = seen[0].data["run"]
        busy = await two.http.post(f"/conversations/{conversation}/chat", json=said("And?"))
        stopped = await two.http.post(f"/runs/{run}/cancel")
        told = await two.followed(run)
        last = (await two.get(f"/conversations/{conversation}"))["messages"][-1]
        assert (await one.stop(signal.SIGINT), await two.stop(signal.SIGINT)) == (0, 0)
    assert (busy.status_code, stopped.status_code) == (409, 202)
    assert (told[-2].data["reason"], last["stop_reason"]) == ("cancelled", "cancelled")
    assert text_of(told) == last["content"]
