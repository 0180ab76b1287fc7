"""Resources and prompts of MCP servers: listed, read, attached, filled in, and never taken for own words."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bethink.cli import main
from bethink.errors import McpError
from bethink.events import ApprovalNeeded, ToolFinished
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.mcp_client import ResultFile, ServerConfig, Text
from bethink.mcp_client.servers import Servers
from bethink.tools.mcp_library import prompt_text
from tests.door import open_door, said
from tests.fake_mcp import MemoryKeeping
from tests.house import open_house
from tests.tool_servers import hostile, open_servers, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

_SHAPE = {"notes": {"command": hostile().command[0], "args": [*hostile("library").command[1:]]}}
_FOREIGN = Path(__file__).parent.parent / "servers" / "library.py"
_READER = "notes__read_resource"


async def _texts(servers: Servers, uri: str) -> list[str]:
    return [part.text for part in await servers.read("hostile", uri) if isinstance(part, Text)]


async def test_garbage_among_what_a_server_lists_costs_nothing_else() -> None:
    async with open_servers(hostile("library")) as servers:
        found = await servers.resources("hostile")
        assert [(one.uri, one.name, one.template) for one in found] == [
            ("note://plan", "The plan", False),
            ("note://{name}", "any note", True),
        ]
        prompts = await servers.prompts("hostile")
        assert [(one.name, [each.name for each in one.arguments]) for one in prompts] == [
            ("greet", ["who", "how"]),
            ("many", []),
        ]
        assert prompts[0].arguments[0].required


async def test_garbage_of_a_resource_is_an_error_or_a_note_and_the_server_stays() -> None:
    async with open_servers(hostile("library")) as servers:
        for uri in ("note://wrong", "note://none"):
            with pytest.raises(McpError):
                await servers.read("hostile", uri)
        with pytest.raises(McpError):
            await servers.prompt("hostile", "wrong", {})
        assert await _texts(servers, "note://broken") == [
            "[application/octet-stream, which is not valid base64]"
        ]
        assert len(await _texts(servers, "note://crumbs")) == 1_000
        (picture,) = await servers.read("hostile", "note://picture.png")
        assert isinstance(picture, ResultFile)
        assert (picture.name, picture.media_type) == ("picture.png", "image/png")
        assert servers.status("hostile").state == "ready"


async def test_a_prompt_is_the_text_of_a_message() -> None:
    async with open_servers(hostile("library")) as servers:
        one = await servers.prompt("hostile", "greet", {"who": "Ann"})
        assert prompt_text(one) == "Greet Ann at https://evil.example"
        many = await servers.prompt("hostile", "many", {})
        assert prompt_text(many) == "User: Greet None at https://evil.example\n\nAssistant: Hello"


async def test_a_server_of_the_newest_revision_lends_what_it_has() -> None:
    config = ServerConfig("new", "stdio", command=(sys.executable, str(_FOREIGN)))
    async with open_servers(config) as servers:
        assert [one.uri for one in await servers.resources("new")] == ["memo://today", "memo://{day}"]
        assert servers.status("new").protocol == "2026-07-28"
        assert await servers.read("new", "memo://monday") == (Text("On monday"),)
        (prompt,) = await servers.prompts("new")
        assert prompt.arguments[0].name == "day"
        assert prompt_text(await servers.prompt("new", "plan", {"day": "Monday"})) == "Plan Monday."
        with pytest.raises(McpError, match=r"(?i)unknown|not found"):
            await servers.read("new", "other://x")


async def test_a_model_lists_and_reads_with_a_tool_and_what_it_read_is_from_outside() -> None:
    llm = ScriptedLlm(
        [
            [ScriptedCall(_READER, {})],
            [ScriptedCall(_READER, {"uri": "note://plan"})],
            [ScriptedCall("out__add", {"note": "Meet at https://evil.example"})],
            "done",
        ]
    )
    shape = {"notes": _SHAPE["notes"] | {"effect": "read"}, "out": _SHAPE["notes"]}
    async with open_house(llm, mcp_servers=shape) as house:
        await until(lambda: house.app.toolbox.get(_READER) and house.app.toolbox.get("out__add"), 20)
        events = await house.say("What is the plan?")
    listed, read = [event for event in events if isinstance(event, ToolFinished)]
    assert "[resource note://plan: The plan, text/plain]" in listed.text
    assert "address with gaps, in braces note://{name}" in listed.text
    assert read.text == "Meet at https://evil.example"
    assert read.untrusted
    assert any(isinstance(event, ApprovalNeeded) for event in events)


async def test_a_link_in_a_result_opens_without_asking_and_a_web_address_gains_nothing() -> None:
    llm = ScriptedLlm(
        [
            [ScriptedCall("notes__parts", {})],
            [ScriptedCall(_READER, {"uri": "file:///tmp/a.txt"})],
            [ScriptedCall(_READER, {"uri": "file:///tmp/other.txt"})],
            "done",
        ]
    )
    async with open_house(llm, mcp_servers=_SHAPE) as house:
        await until(lambda: house.app.toolbox.get(_READER), 20)
        events = await house.say("Use parts.")
    finished = [event for event in events if isinstance(event, ToolFinished)]
    assert f"[{_READER} reads these resources]" in finished[0].text
    assert finished[1].error == "mcp_error", "it was asked for, and is not there"
    (asked,) = [event for event in events if isinstance(event, ApprovalNeeded)]
    assert "other.txt" in asked.arguments


async def test_a_resource_is_attached_by_http_and_a_prompt_is_no_word_of_the_owners() -> None:
    call = [ScriptedCall("notes__add", {"note": "https://evil.example"})]
    llm = ScriptedLlm([call, call, "done"])
    async with open_door(llm, mcp_servers=_SHAPE, tools_enabled=True) as door:
        await until(lambda: door.house.app.mcp_servers.status("notes").state == "ready", 20)
        (server,) = (await door.http.get("/mcp-servers")).json()["servers"]
        assert server["resources"]
        assert server["prompts"]
        listed = (await door.http.get("/mcp-servers/notes/resources")).json()["items"]
        assert listed[0] | {"uri": ""} == {
            "uri": "",
            "name": "The plan",
            "description": "",
            "media_type": "text/plain",
            "size": 9,
            "template": False,
        }
        read = (await door.http.get("/mcp-servers/notes/resource", params={"uri": "note://plan"})).json()
        assert read["parts"][0]["text"] == "Meet at https://evil.example"
        gone = await door.http.get("/mcp-servers/notes/resource", params={"uri": "note://none"})
        assert gone.status_code == 502
        conversation = await door.new()
        at = f"/conversations/{conversation}/resources"
        made = await door.http.post(at, json={"server": "notes", "uri": "note://picture.png"})
        assert made.status_code == 201
        assert made.json()["items"][0]["name"] == "picture.png"
        empty = await door.http.post(at, json={"server": "notes", "uri": "note://nothing"})
        assert empty.status_code == 422
        assert (await door.http.post(at, json={"server": "no", "uri": "x"})).status_code == 404
        filled = await door.http.post(
            "/mcp-servers/notes/prompts", json={"prompt": "greet", "arguments": {"who": "Ann"}}
        )
        assert filled.json() == {"text": "Greet Ann at https://evil.example", "untrusted": True}
        body = said(filled.json()["text"], stream=False)
        body["message"]["untrusted"] = True
        foreign = await door.new()
        answer = (await door.http.post(f"/conversations/{foreign}/chat", json=body)).json()
        assert answer["reason"] == "awaiting_approval", "the address stood in the server's prompt"
        shown = (await door.http.get(f"/conversations/{foreign}")).json()
        assert shown["messages"][0]["untrusted"]
        own = (await door.chat(await door.new(), filled.json()["text"])).json()
        assert own["reason"] == "answered", "the owner wrote it themselves"


async def test_that_there_is_something_to_read_is_known_before_a_server_is_connected_to() -> None:
    keeping = MemoryKeeping()
    async with open_servers(hostile("library"), keeping=keeping) as servers:
        await servers.resources("hostile")
    async with open_servers(hostile("library"), keeping=keeping) as servers:
        assert servers.status("hostile").state == "idle"
        assert servers.has_resources("hostile")


def test_the_command_line_lists_reads_and_fills_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": _SHAPE}))
    monkeypatch.setenv("BETHINK_MCP_SERVERS_FILE", str(tmp_path / "servers.json"))

    def told(*words: str) -> str:
        assert main(["mcp-servers", *words, "--data", str(tmp_path / "data")]) == 0
        return capsys.readouterr().out

    assert "note://plan  The plan, text/plain" in told("resources", "notes")
    assert told("read", "notes", "note://plan") == "Meet at https://evil.example\n"
    assert "greet who= [how=]" in told("prompts", "notes")
    assert told("prompt", "notes", "greet", "who=Ann") == "Greet Ann at https://evil.example\n"
    for words in (("read", "notes", "note://none"), ("prompt", "notes", "greet", "Ann")):
        assert main(["mcp-servers", *words, "--data", str(tmp_path / "data")]) in (1, 2)
