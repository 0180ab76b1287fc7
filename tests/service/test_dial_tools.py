"""Bethink as an application of DIAL with tools of an MCP server, which is a process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bethink.llm.scripted import Rule, ScriptedCall
from tests.dial import open_dial_house
from tests.tool_servers import until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]

_SERVER = str(Path(__file__).parents[1] / "servers" / "interpreter.py")
ADD = Rule(
    when="add", after_tool=False, tool_calls=(ScriptedCall("far__execute_code", {"code": "print(6 * 7)"}),)
)
KEEP = Rule(
    when="Alice", after_tool=False, tool_calls=(ScriptedCall("store_memory", {"content": "User is Alice"}),)
)
DONE = Rule(after_tool=True, text="Done.")


@pytest.mark.requirement("R11")
async def test_the_application_has_one_memory_and_the_tools_of_configured_servers() -> None:
    server = {"command": sys.executable, "args": [_SERVER], "effect": "read"}
    async with open_dial_house(ADD, KEEP, DONE, mcp_servers={"far": server}) as way:
        await until(lambda: way.house.app.mcp_servers.status("far").tools, 60)
        added = await way.say("add")
        (stage,) = added["custom_content"]["stages"]
        assert stage["name"].startswith("far__execute_code")
        assert "42" in stage["content"]
        await way.say("I am Alice")
        kept = await way.memory()
        assert kept is not None
        assert [one["data"]["content"] for one in kept["memories"]] == ["User is Alice"]
