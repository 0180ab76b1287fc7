"""Edits and branches over HTTP: power cuts between commits, two servers at once, summaries forgotten."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.llm.scripted import Reply, Rule, ScriptedCall
from tests.door import said
from tests.server_process import Running, running
from tests.service.edit_and_die import DYING
from tests.traces import left_of

# Processes start and are killed here, on machines that have other things to do.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

SERVE = "from tests.service.edit_and_die import serve\nserve()"
LOOK = ScriptedCall("search_memory", {"query": "boats"}, id="call_1")


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedProcess]:
    with scripted_process() as process:
        yield process


async def lines(bethink: Running, conversation: str) -> dict[int, list[str]]:
    """What is said on each branch that is reached, beginning with the active one."""
    shown = await bethink.get(f"/conversations/{conversation}")
    found: dict[int, list[str]] = {}
    for branch in range(shown["branch_count"]):
        changed = await bethink.http.patch(f"/conversations/{conversation}", json={"branch": branch})
        assert changed.status_code == 200, changed.text
        messages = (await bethink.get(f"/conversations/{conversation}"))["messages"]
        assert [message["position"] for message in messages] == list(range(len(messages)))
        found[branch] = [message["content"] for message in messages if message["role"] == "user"]
    await bethink.http.patch(f"/conversations/{conversation}", json={"branch": shown["branch"]})
    return found


@pytest.mark.sqlite
@pytest.mark.requirement("R4")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_power_cut_between_the_commits_of_an_edit_leaves_one_line_or_both(
    model: ScriptedProcess, tmp_path: Path, when: str
) -> None:
    await model.plays(
        Rule(when="boats", after_tool=False, tool_calls=(LOOK,)),
        Rule(when="boats", after_tool=True, text="Boats, then."),
        Reply(text="Yes."),
    )
    data, order = tmp_path / "data", tmp_path / DYING
    async with running(data, model) as bethink:
        conversation = await bethink.new()
        for text in ("Hello", "What do you know?"):
            await bethink.answer(conversation, text)
    url = f"/conversations/{conversation}/chat"
    edited = 0
    for step in range(5):
        async with running(data, model, serve=SERVE) as bethink:
            branches = (await bethink.get(f"/conversations/{conversation}"))["branch_count"]
            first = (await bethink.get(f"/conversations/{conversation}"))["messages"][0]
            order.write_text(f"{step} {when}")
            text = f"What of boats, {step}?"
            body: dict[str, Any] = {**said(text, stream=False), "edit": first["id"]}
            try:
                await bethink.http.post(url, json=body)
            except httpx2.HTTPError:
                await bethink.process.wait()
            order.unlink()
        async with running(data, model) as bethink:
            shown = await bethink.get(f"/conversations/{conversation}")
            assert shown["active_run"] is None
            begun = shown["branch_count"] > branches
            assert begun == (step > 0 or when == "after")
            edited += begun
            found = await lines(bethink, conversation)
            assert ["Hello", "What do you know?"] in found.values()
            assert (found[shown["branch"]] == [text]) == begun
            last = shown["messages"][-1]
            assert last["role"] == "assistant"
            assert last["stop_reason"] in {"answered", "interrupted"}
            calls = [call["id"] for one in shown["messages"] for call in one.get("tool_calls") or ()]
            results = [one["call"] for one in shown["messages"] if one["role"] == "tool"]
            assert sorted(calls) == sorted(results)
    async with running(data, model) as bethink:
        answer = await bethink.answer(conversation, "And now?")
        assert answer["reason"] == "answered"
        assert (await bethink.get(f"/conversations/{conversation}"))["branch_count"] == edited + 1


@pytest.mark.sqlite
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_power_cut_at_a_branch_leaves_it_made_or_not(
    model: ScriptedProcess, tmp_path: Path, when: str
) -> None:
    await model.plays(Reply(text="Yes."))
    data, order = tmp_path / "data", tmp_path / DYING
    async with running(data, model, serve=SERVE) as bethink:
        conversation = await bethink.new()
        for text in ("Hello", "What do you know?"):
            await bethink.answer(conversation, text)
        answer = (await bethink.get(f"/conversations/{conversation}"))["messages"][1]
        order.write_text(f"0 {when}")
        with pytest.raises(httpx2.HTTPError):
            await bethink.http.post(f"/conversations/{conversation}/branch", json={"message": answer["id"]})
        order.unlink()
    async with running(data, model) as bethink:
        shown = await bethink.get(f"/conversations/{conversation}")
        assert shown["message_count"] == (2 if when == "after" else 4)
        assert (await bethink.answer(conversation, "Go on"))["reason"] == "answered"
        found = sorted((await lines(bethink, conversation)).values())
    whole = ["Hello", "What do you know?"]
    assert found == ([["Hello", "Go on"], whole] if when == "after" else [[*whole, "Go on"]])


async def test_two_servers_that_edit_one_conversation_at_once_keep_what_each_was_told(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    await model.plays(Reply(text="Yes.", delay_ms=5))
    async with running(tmp_path, model) as one, running(tmp_path, model) as two:
        conversation = await one.new()
        await one.answer(conversation, "Hello")
        url = f"/conversations/{conversation}/chat"
        first = (await one.get(f"/conversations/{conversation}"))["messages"][0]["id"]

        async def edit(bethink: Running, text: str) -> tuple[str, int]:
            body = {**said(text, stream=False), "edit": first}
            return text, (await bethink.http.post(url, json=body)).status_code

        kept: list[str] = []
        statuses: Counter[int] = Counter()
        for turn in range(6):
            done = await asyncio.gather(edit(one, f"One, {turn}"), edit(two, f"Two, {turn}"))
            statuses.update(status for _, status in done)
            kept += [text for text, status in done if status == 200]
            assert any(status == 200 for _, status in done)
        found = await lines(two, conversation)
        shown = await one.get(f"/conversations/{conversation}")
    assert statuses.keys() <= {200, 409}
    assert sorted(found.values()) == sorted([["Hello"], *([text] for text in kept)])
    assert shown["branch_count"] == len(kept) + 1
    assert shown["active_run"] is None
    assert shown["messages"][-1]["content"] == "Yes."


async def test_a_summary_goes_with_what_it_tells_of_and_leaves_no_file_of_it(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    await model.plays(
        Rule(when='"summary"', text="The person was a clerk at Zembrovia."), Reply(text="I see.")
    )
    long = {"BETHINK_SUMMARY_AFTER_MESSAGES": "4", "BETHINK_SUMMARY_KEEP_MESSAGES": "2"}
    async with running(tmp_path, model, **long) as bethink:
        conversation = await bethink.new()
        for text in ("I was a clerk at Zembrovia", "How is the weather?", "And tomorrow?"):
            await bethink.answer(conversation, text)
        summary = await bethink.get(f"/conversations/{conversation}/summary")
        assert summary["text"] == "The person was a clerk at Zembrovia."
        fact = await bethink.http.post("/memories", json={"content": "User was a clerk at Zembrovia"})
        id = fact.json()["memory"]["id"]
        gone = await bethink.http.delete(f"/memories/{id}", params={"forget": "true"})
        assert gone.status_code == 200
        none = await bethink.http.get(f"/conversations/{conversation}/summary")
        assert none.status_code == 404
        assert left_of(["zembrovia"], tmp_path) == []
        await model.plays(Rule(when='"summary"', text="They spoke of the weather."), Reply(text="I see."))
        await bethink.answer(conversation, "And then?")
        summary = await bethink.get(f"/conversations/{conversation}/summary")
        assert summary["text"] == "They spoke of the weather."
        assert await bethink.stop() == 0
    assert left_of(["zembrovia"], tmp_path) == []
