"""Owners by the thousand, each of whom comes once: nothing in a process grows with how many there were."""

from __future__ import annotations

import asyncio
import gc

import anyio
import pytest

from bethink.agent.toolbox import CallLimits
from bethink.principal import PerKey, Recent
from bethink.tool import Rate, tool
from tests import warm

pytestmark = pytest.mark.anyio

_PROGRAM = "import runpy\nrunpy.run_module('tests.many_owners', run_name='__main__')"


@tool(effect="read", label="Look", rate=Rate(5, 60), concurrency=2)
async def look(context: object) -> str:
    """Look."""
    return "There is nothing."


@pytest.mark.timeout(60)
async def test_what_a_process_holds_does_not_grow_with_the_owners_who_were_there() -> None:
    assert await warm.run(_PROGRAM) == (0, "[]")


def in_use(limits: CallLimits) -> list[int]:
    """For how many owners, and owners and tools, it holds something."""
    places = ("_owners", "_tools", "_recent")
    return [len(getattr(limits, place)) for place in places]


async def test_calls_of_thousands_of_owners_are_counted_without_keeping_them_all() -> None:
    limits = CallLimits(2, now=lambda: 0.0)
    for number in range(12_000):
        async with limits.room(f"owner-{number}", look):
            assert in_use(limits)[:2] == [1, 1]
    gc.collect()
    assert in_use(limits) == [0, 0, 10_000]


async def test_who_waits_for_a_lock_waits_for_the_one_that_is_held() -> None:
    locks, order = PerKey[str, asyncio.Lock](asyncio.Lock), list[str]()
    held = anyio.Event()

    async def first() -> None:
        async with locks["ann"]:
            held.set()
            await anyio.wait_all_tasks_blocked()
            gc.collect()
            order.append("first")

    async def second() -> None:
        await held.wait()
        async with locks["ann"]:
            order.append("second")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        tasks.start_soon(second)
    gc.collect()
    assert (order, len(locks)) == (["first", "second"], 0)


def test_what_was_used_last_is_kept() -> None:
    recent = Recent[str, int](2)
    recent["a"], recent["b"] = 1, 2
    assert recent.get("a") == 1
    recent["c"] = 3
    assert (recent.get("b"), recent.get("a"), recent.pop("c"), len(recent)) == (None, 1, 3, 1)
