"""How often and how many at once a tool may be called, and tools that others wrote."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from bethink.agent.toolbox import CallLimits
from bethink.errors import RateLimited
from bethink.tool import Rate, Tool, ToolContext, tool
from bethink.tools.plugins import load_plugins
from tests.house import open_house

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("R170", "R185")
async def test_calls_beyond_a_tool_s_rate_are_told_when_to_come_back() -> None:
    now = 0.0
    act = tool(effect="read", label="Act", rate=Rate(2, 60))(_act)
    limits = CallLimits(10, lambda: now)
    for _ in range(2):
        async with limits.room("alice", act):
            pass
    with pytest.raises(RateLimited, match="wait 60 s"):
        async with limits.room("alice", act):
            pass
    async with limits.room("bob", act):
        pass
    now = 61.0
    async with limits.room("alice", act):
        pass


async def test_calls_of_one_tool_wait_and_hold_up_no_other_tool() -> None:
    slow = tool(effect="read", label="Act", concurrency=1)(_act)
    limits, order = CallLimits(2), list[str]()
    inside, leave = anyio.Event(), anyio.Event()

    async def hold(name: str) -> None:
        async with limits.room("alice", slow):
            order.append(name)
            inside.set()
            await leave.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold, "first")
        await inside.wait()
        tasks.start_soon(hold, "second")
        await anyio.lowlevel.checkpoint()
        other = tool(effect="read", label="Act", name="other")(_act)
        async with limits.room("alice", other):
            order.append("other")
        leave.set()
    assert order == ["first", "other", "second"]


async def _act(context: ToolContext) -> str:
    """Act."""
    return ""


PLUGIN = '''
"""Tells the time."""

from __future__ import annotations

from bethink.tool import ToolContext, tool


@tool(effect="read", label="Tell the time")
async def tell_time(context: ToolContext) -> str:
    """Tell the time."""
    return "noon"
'''


@pytest.mark.requirement("R209", "P5g", "R116")
def test_tools_of_the_data_directory_are_loaded_and_what_cannot_be_says_why(tmp_path: Path) -> None:
    (tmp_path / "clock.py").write_text(PLUGIN)
    (tmp_path / "broken.py").write_text("raise ValueError('no')")
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "leaving.py").write_text("raise SystemExit")
    (tmp_path / "notes.txt").write_text("no Python")
    (tmp_path / "sundial.py").write_text(PLUGIN)
    plugged = load_plugins(["none-such"], tmp_path)
    assert [(one.name, one.source) for one in plugged.tools] == [("tell_time", "tools/clock.py")]
    assert [fault.partition(":")[0] for fault in plugged.faults] == [
        "plug-in none-such",
        "tools/broken.py cannot be loaded",
        "tools/empty.py has no tools",
        "tools/leaving.py cannot be loaded",
        "tools/sundial.py",
    ]
    assert load_plugins([], None).tools == ()


async def test_tools_of_the_data_directory_stay_out_unless_they_are_wanted(tmp_path: Path) -> None:
    await anyio.Path(tmp_path / "tools").mkdir()
    await anyio.Path(tmp_path / "tools" / "clock.py").write_text(PLUGIN)
    for wanted in (False, True):
        async with open_house(None, data_dir=tmp_path, user_tools=wanted) as house:
            assert isinstance(house.app.toolbox.get("tell_time"), Tool) is wanted
