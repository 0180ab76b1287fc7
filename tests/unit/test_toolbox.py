"""Calls of tools: at once, bounded, cancelled for real, and never an exception."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest

from bethink.agent.toolbox import CallResult, Postponed, Prepared, Toolbox
from bethink.errors import DiskFull
from bethink.events import Event, ToolFinished, ToolProgress
from bethink.messages import Attachment, ToolCall, ToolMessage
from bethink.principal import Principal
from bethink.tool import Tool, ToolContext, ToolOutput, tool

pytestmark = pytest.mark.anyio

CONTEXT = ToolContext(Principal("alice"), "conversation", "run", "message")


def tool_of(act: Callable[[ToolContext], Awaitable[object]], *, timeout_s: float | None = None) -> Tool:
    @tool(effect="read", label="Act", timeout_s=timeout_s, name="act")
    async def made(context: ToolContext) -> str:
        """Act."""
        return await act(context)  # pyright: ignore[reportReturnType] - some tests break the contract

    return made


def box_of(
    *tools: Tool, timeout_s: float = 60, concurrency: int = 100, max_result_chars: int = 20_000
) -> Toolbox:
    return Toolbox(tools, timeout_s, concurrency, max_result_chars)


def calls_of(box: Toolbox, count: int = 1, name: str = "act") -> list[Prepared]:
    prepared = [box.prepare(ToolCall(f"call-{number}", name, "{}")) for number in range(count)]
    return [one for one in prepared if isinstance(one, Prepared)]


async def collected(
    items: AsyncGenerator[Event | CallResult | Postponed, None],
) -> list[Event | CallResult | Postponed]:
    async with aclosing(items):
        return [item async for item in items]


async def result_of(box: Toolbox) -> ToolMessage:
    finished, result = await collected(box.run(calls_of(box), CONTEXT))
    assert isinstance(finished, ToolFinished)
    assert isinstance(result, CallResult)
    assert (finished.text, finished.error) == (result.message.content, result.message.error)
    return result.message


@pytest.mark.requirement("R174", "C24", "P5d")
async def test_a_hundred_calls_run_at_once() -> None:
    inside = 0
    all_inside = anyio.Event()

    async def meet(context: ToolContext) -> str:
        nonlocal inside
        inside += 1
        if inside == 100:
            all_inside.set()
        await all_inside.wait()
        return context.call

    box = box_of(tool_of(meet))
    items = await collected(box.run(calls_of(box, 100), CONTEXT))
    results = [item.message for item in items if isinstance(item, CallResult)]
    assert {result.call: result.content for result in results} == {
        f"call-{number}": f"call-{number}" for number in range(100)
    }


async def test_one_owner_s_limit_holds_across_runs_and_not_for_another_owner() -> None:
    inside: dict[str, int] = {"alice": 0, "bob": 0}
    most: dict[str, int] = {"alice": 0, "bob": 0}
    full = {"alice": anyio.Event(), "bob": anyio.Event()}

    async def meet(context: ToolContext) -> str:
        owner = context.principal.owner
        inside[owner] += 1
        most[owner] = max(most[owner], inside[owner])
        if inside[owner] == 3:
            full[owner].set()
        await full["alice"].wait()
        await full["bob"].wait()
        await anyio.lowlevel.checkpoint()
        inside[owner] -= 1
        return ""

    box = box_of(tool_of(meet), concurrency=3)
    async with anyio.create_task_group() as tasks:
        for owner in ("alice", "alice", "bob"):
            context = ToolContext(Principal(owner), "conversation", "run", "message")
            tasks.start_soon(collected, box.run(calls_of(box, 5), context))
    assert most == {"alice": 3, "bob": 3}


@pytest.mark.requirement("R160", "R179")
@pytest.mark.parametrize("own", [True, False])
async def test_a_time_out_cancels_the_call_and_is_told(own: bool) -> None:  # noqa: FBT001 - a parameter
    cancelled = anyio.Event()

    async def hang(context: ToolContext) -> str:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return ""

    tiny = 0.001
    box = box_of(tool_of(hang, timeout_s=tiny if own else None), timeout_s=60 if own else tiny)
    result = await result_of(box)
    assert cancelled.is_set()
    assert (result.content, result.error) == ("act was stopped after 0.001 s.", "timeout")


@pytest.mark.parametrize("ending", ["timed out", "stopped"])
async def test_what_a_tool_must_not_be_cut_in_is_done_to_its_end(ending: str) -> None:
    within, is_over = anyio.Event(), anyio.Event()
    done: list[str] = []

    async def write(context: ToolContext) -> str:
        with anyio.CancelScope(shield=True):
            within.set()
            end = anyio.current_time() + 3 * tiny
            while ending == "timed out" and anyio.current_time() < end:
                await anyio.lowlevel.checkpoint()
            if ending == "stopped":
                await is_over.wait()
            await anyio.lowlevel.checkpoint()
            done.append("the file and its record")
        await anyio.sleep_forever()
        return ""

    tiny = 0.001
    box = box_of(tool_of(write), timeout_s=tiny if ending == "timed out" else 60)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(collected, box.run(calls_of(box), CONTEXT))
        await within.wait()
        if ending == "stopped":
            tasks.cancel_scope.cancel()
            is_over.set()
    assert done == ["the file and its record"]


async def test_waiting_for_a_place_does_not_count_as_the_call_s_time() -> None:
    begun = 0

    async def hang(context: ToolContext) -> str:
        nonlocal begun
        begun += 1
        await anyio.sleep_forever()
        return ""

    box = box_of(tool_of(hang, timeout_s=0.001), concurrency=1)
    await collected(box.run(calls_of(box, 20), CONTEXT))
    assert begun == 20


async def test_a_tool_s_own_time_out_is_not_taken_for_ours() -> None:
    async def refuse(context: ToolContext) -> str:
        raise TimeoutError("the door did not open")

    result = await result_of(box_of(tool_of(refuse)))
    assert (result.content, result.error) == (
        "act failed: TimeoutError: the door did not open",
        "tool_failed",
    )


async def test_closing_the_generator_cancels_what_still_runs() -> None:
    running, cancelled = anyio.Event(), anyio.Event()

    async def hang(context: ToolContext) -> str:
        context.emit(ToolProgress(call=context.call, text="at work"))
        running.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return ""

    box = box_of(tool_of(hang))
    async with aclosing(box.run(calls_of(box), CONTEXT)) as items:
        assert await anext(items) == ToolProgress(call="call-0", text="at work")
        assert running.is_set()
        assert not cancelled.is_set()
    assert cancelled.is_set()


@pytest.mark.requirement("R152", "R6", "U9")
async def test_what_a_call_emits_comes_before_its_result_and_while_it_runs() -> None:
    go = anyio.Event()

    async def report(context: ToolContext) -> str:
        context.emit(ToolProgress(call=context.call, text="half", fraction=0.5))
        await go.wait()
        return "whole"

    box = box_of(tool_of(report))
    async with aclosing(box.run(calls_of(box), CONTEXT)) as items:
        assert await anext(items) == ToolProgress(call="call-0", text="half", fraction=0.5)
        go.set()
        rest = [item async for item in items]
    assert [type(item) for item in rest] == [ToolFinished, CallResult]


@pytest.mark.requirement("R34", "R142", "R163", "R152", "R190")
async def test_a_failure_becomes_a_result_and_is_recorded(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(context: ToolContext) -> str:
        raise RuntimeError("no paper")

    with caplog.at_level(logging.ERROR, "bethink.toolbox"):
        result = await result_of(box_of(tool_of(fail)))
    assert (result.content, result.error) == ("act failed: RuntimeError: no paper", "tool_failed")
    assert "Traceback" in caplog.text


async def test_an_error_of_ours_keeps_its_sentence_and_code() -> None:
    async def fail(context: ToolContext) -> str:
        raise DiskFull

    result = await result_of(box_of(tool_of(fail)))
    assert (result.content, result.error) == (str(DiskFull()), "disk_full")


@pytest.mark.parametrize("way", ["cancels itself", "returns nothing"])
async def test_a_call_that_breaks_the_contract_still_ends_in_a_result(way: str) -> None:
    async def broken(context: ToolContext) -> None:
        if way == "cancels itself":
            raise asyncio.CancelledError

    result = await result_of(box_of(tool_of(broken)))
    assert (result.content, result.error) == ("act ended without a result.", "tool_failed")


async def test_a_tool_may_answer_with_attachments_and_an_error() -> None:
    plot = Attachment(name="plot.png", media_type="image/png", url="/files/1")

    async def draw(context: ToolContext) -> ToolOutput:
        return ToolOutput("half a plot", (plot,), error="out_of_paint")

    result = await result_of(box_of(tool_of(draw)))
    assert (result.content, result.attachments, result.error) == ("half a plot", (plot,), "out_of_paint")


async def test_a_long_result_is_cut_with_a_note() -> None:
    async def talk(context: ToolContext) -> str:
        return "x" * 1_234

    result = await result_of(box_of(tool_of(talk), max_result_chars=1_000))
    assert result.content == "x" * 1_000 + "\n[cut: 1,234 characters in all]"
    exact = await result_of(box_of(tool_of(talk), max_result_chars=1_234))
    assert exact.content == "x" * 1_234


async def test_half_a_character_from_outside_does_not_break_the_run() -> None:
    async def talk(context: ToolContext) -> str:
        return "caf\udce9"

    assert (await result_of(box_of(tool_of(talk)))).content == "caf?"


@pytest.mark.requirement("R142", "R162", "R190", "R116")
async def test_an_unknown_tool_is_told_with_the_nearest_name() -> None:
    async def act(context: ToolContext) -> str:
        return ""

    box = box_of(tool_of(act), replace(tool_of(act), name="search_memory", aliases=("search_memories",)))
    result = box.prepare(ToolCall("1", "serch_memory", "{}"))
    assert result == ToolMessage(
        "1",
        "serch_memory",
        "There is no tool 'serch_memory'. Did you mean search_memory? "
        "Available: act, search_memories, search_memory.",
        error="unknown_tool",
    )
    long = box.prepare(ToolCall("1", "x" * 1_000_000, "{}"))
    assert isinstance(long, ToolMessage)
    assert len(long.content) < 300


async def test_the_alias_of_the_other_document_is_the_same_tool() -> None:
    async def act(context: ToolContext) -> str:
        return "found"

    box = box_of(replace(tool_of(act), name="search_memory", aliases=("search_memories",)))
    assert [schema.name for schema in box.offer.schemas] == ["search_memory"]
    _, result = await collected(box.run(calls_of(box, name="search_memories"), CONTEXT))
    assert isinstance(result, CallResult)
    assert result.message.content == "found"
