"""`execute_code` in an interpreter that an MCP server offers: state, files both ways, approval."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread
import pytest

from bethink.errors import NotAllowed
from bethink.events import Event, ToolFinished, ToolRequested
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.tool import NewFile
from bethink.tools.outside_code import OutsideInterpreter
from tests.door import called
from tests.house import House, open_house
from tests.tool_servers import until

if TYPE_CHECKING:
    from bethink.tool import ToolContext

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]

_SERVER = str(Path(__file__).parents[1] / "servers" / "interpreter.py")


@asynccontextmanager
async def house_with(
    *script: ScriptedCall | str, code_server: str, traits: tuple[str, ...] = (), timeout_s: float = 30
) -> AsyncGenerator[House]:
    server = {"command": sys.executable, "args": [_SERVER, *traits], "effect": "write"}
    llm = ScriptedLlm(list(script))
    at: dict[str, Any] = {"code_server": code_server, "code_timeout_s": timeout_s}
    async with open_house(llm, mcp_servers={"far": server}, **at) as house:
        await until(lambda: house.app.mcp_servers.status("far").tools, 60)
        yield house


def call(code: str) -> ScriptedCall:
    return ScriptedCall("execute_code", {"code": code})


def finished(events: Sequence[Event]) -> ToolFinished:
    (found,) = [event for event in events if isinstance(event, ToolFinished)]
    return found


@pytest.mark.requirement("R84")
async def test_code_runs_at_the_server_and_files_go_both_ways() -> None:
    code = (
        "x = open('numbers.txt').read()\nopen('sum.txt', 'w').write(str(sum(map(int, x.split()))))\nprint(x)"
    )
    script = (call(code), ".", call("print(x, open('sum.txt').read())"), ".")
    async with house_with(*script, code_server="far") as house:
        names = [tool.name for tool in house.app.toolbox.all]
        assert names.count("execute_code") == 1
        assert "far__execute_code" not in names
        conversation = await house.new()
        await house.app.files.add(house.me, conversation, NewFile("numbers.txt", "text/plain", b"1 4 9"))
        events = await house.say("Add them", conversation)
        ran = finished(events)
        assert ran.error is None
        assert "1 4 9" in ran.text
        assert [file.name for file in ran.attachments] == ["sum.txt"]
        _, path = await house.app.files.get(house.me, ran.attachments[0].url.rpartition("/")[2])
        assert await anyio.to_thread.run_sync(path.read_bytes) == b"14"
        assert any("Run Python at far" in event.label for event in events if isinstance(event, ToolRequested))
        again = finished(await house.say("And again", conversation))
        assert "1 4 9 14" in again.text
        assert again.attachments == (), "what did not change is not handed on again"
        async with called(house) as http:
            part = (await http.get("/health")).json()["parts"]["sandbox"]
            assert "at the MCP server far" in part["message"]


@pytest.mark.requirement("R84")
async def test_sessions_of_the_server_keep_conversations_apart() -> None:
    script = (call("x = 1"), ".", call("x = 2"), ".", call("print('x is', x)"), ".")
    async with house_with(*script, code_server="far/run", traits=("sessions",)) as house:
        first, second = await house.new(), await house.new()
        await house.say("one", first)
        await house.say("two", second)
        assert "x is 1" in finished(await house.say("which", first)).text


async def test_one_state_for_all_serves_one_user() -> None:
    async with house_with(code_server="far") as house:
        runner = OutsideInterpreter(house.app.shared.mcp, "far", "execute_code", 5, _owner="somebody")
        asked = SimpleNamespace(principal=house.me, conversation="one")
        with pytest.raises(NotAllowed, match="serves somebody else"):
            await runner.run(cast("ToolContext", asked), "1")


@pytest.mark.requirement("R84")
async def test_what_takes_too_long_and_what_fails_is_told() -> None:
    script = (call("1 / 0"), ".", call("time.sleep(20)"), ".")
    async with house_with(*script, code_server="far", timeout_s=2) as house:
        conversation = await house.new()
        assert "ZeroDivisionError" in finished(await house.say("one", conversation)).text
        late = finished(await house.say("two", conversation))
        assert late.error == "timeout"
        assert "longer than 2 s" in late.text


@pytest.mark.requirement("R84")
async def test_it_is_approved_as_the_server_is_and_a_missing_server_offers_no_code() -> None:
    async with house_with(call("1"), ".", code_server="far") as house:
        (tool,) = [tool for tool in house.app.toolbox.all if tool.name == "execute_code"]
        assert (tool.effect, tool.trust) == ("write", "untrusted")
    async with house_with(code_server="nobody") as house:
        assert "execute_code" not in [tool.name for tool in house.app.toolbox.all]
        async with called(house) as http:
            part = (await http.get("/health")).json()["parts"]["sandbox"]
            assert (part["status"], "BETHINK_CODE_SERVER" in part["message"]) == ("degraded", True)
