"""Where requests of DIAL are answered: a room a conversation."""

from __future__ import annotations

import asyncio

import pytest

from bethink.llm.scripted import Rule, ScriptedCall
from bethink.tool import ToolContext, tool
from tests.dial import KEY, open_dial_house

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


async def test_conversations_without_a_name_that_begin_alike_do_not_wait_for_one_another() -> None:
    both = asyncio.Barrier(2)

    @tool(effect="read", label="Meet the other")
    async def meet(context: ToolContext) -> str:
        """Wait until the other conversation is here, too."""
        del context
        await both.wait()
        return "They met."

    meeting = Rule(when="hello", after_tool=False, tool_calls=(ScriptedCall("meet", {}, "call_5"),))
    async with open_dial_house(meeting, Rule(after_tool=True, text="We met."), tools=[meet]) as way:

        async def ask() -> str:
            body = {"messages": [{"role": "user", "content": "hello"}]}
            response = await way.http.post(way.path, json=body, headers={"Api-Key": KEY})
            return response.json()["choices"][0]["message"]["content"]

        assert await asyncio.gather(ask(), ask()) == ["We met.", "We met."]
