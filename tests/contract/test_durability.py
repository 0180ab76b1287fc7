"""Promises that a small change of one number or word would break, and that nothing else would tell of."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import anyio
import anyio.to_thread
import numpy as np
import pytest

from bethink.engines.sqlite.schema import FILE_NAME, open_writer
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.messages import AssistantMessage
from bethink.search.legs import SCAN_ROWS, Dense
from bethink.tool import ToolContext, tool
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

_SYNCHRONOUS_FULL = 2
"""https://sqlite.org/pragma.html#pragma_synchronous"""


def _synchronous(path: Path) -> int:
    with closing(open_writer(path)) as connection:
        return connection.execute("PRAGMA synchronous").fetchone()[0]


async def test_what_is_acknowledged_has_been_given_to_the_disk(tmp_path: Path) -> None:
    found = await anyio.to_thread.run_sync(_synchronous, tmp_path / FILE_NAME)
    assert found == _SYNCHRONOUS_FULL


async def test_a_call_that_may_change_something_is_on_record_before_it_is_made() -> None:
    houses: list[House] = []
    stored: list[str] = []

    @tool(effect="write", label="Ring")
    async def ring(context: ToolContext) -> str:
        """Ring the bell."""
        page = await houses[0].app.conversations.messages(houses[0].me, context.conversation)
        calls = [
            call.name
            for item in page.items
            if isinstance(item.record.message, AssistantMessage)
            for call in item.record.message.tool_calls
        ]
        stored.extend(calls)
        return "It rang."

    async with open_house(ScriptedLlm([[ScriptedCall("ring")], "Done."]), tools=[ring]) as house:
        houses.append(house)
        await house.say("Ring the bell")
    assert stored == ["ring"]


async def test_a_run_ends_after_its_longest_time_whatever_holds_it() -> None:
    @tool(effect="read", label="Wait", timeout_s=600)
    async def wait(context: ToolContext) -> str:
        """Wait."""
        del context
        await anyio.sleep_forever()
        return ""

    with anyio.fail_after(60):
        async with open_house(ScriptedLlm([[ScriptedCall("wait")]]), tools=[wait], max_run_s=0.1) as house:
            conversation = await house.new()
            await house.say("Wait", conversation)
            (last, *_) = reversed(await house.messages(conversation))
    assert last.stop_reason == "max_seconds"


def test_enough_rows_are_compared_exactly_to_find_the_nearest_by_their_bits() -> None:
    generator, rows, limit = np.random.default_rng(7), 3 * SCAN_ROWS, 10
    vectors = generator.standard_normal((rows, 256)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    dense = Dense(256)
    dense.add(np.arange(rows), np.rint(vectors * 32_767).astype(np.int16))
    queries = vectors[:20] + 0.06 * generator.standard_normal((20, 256)).astype(np.float32)
    found = wanted = 0
    for query in queries / np.linalg.norm(queries, axis=1, keepdims=True):
        nearest = set(np.argsort(vectors @ query)[-limit:].tolist())
        found += len(nearest & set(dense.best(query.astype(np.float32), None, limit).tolist()))
        wanted += limit
    assert found / wanted > 0.83
