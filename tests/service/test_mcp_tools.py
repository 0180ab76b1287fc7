"""Tools of MCP servers as tools of the house: names, schemas, effects, files, and talk that uses them."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import ValidationError

from bethink.agent.tool_selection import SEARCH_TOOLS, Cues, ToolRoom, WantedTools, found
from bethink.agent.tool_selection import select_tools as offered_in
from bethink.errors import BadInput
from bethink.events import ToolFinished, ToolProgress
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.masking import masked
from bethink.mcp_client import RemoteTool
from bethink.mcp_client.schemas import plain
from bethink.messages import AssistantMessage, Message, ToolCall, ToolMessage
from bethink.settings import McpServer, load_settings
from bethink.tool import Tool, checker, foreign_tool
from bethink.tools.mcp import MAX_NAME, configured, listed, public_name
from tests.door import called, open_door
from tests.house import House, open_house
from tests.tool_servers import hostile, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


def shape(*traits: str, **more: object) -> dict[str, dict[str, Any]]:
    """The hostile server as a configuration file has it."""
    program, *arguments = hostile(*traits).command
    return {"hostile": {"command": program, "args": arguments, **more}}


async def known(house: House, tool: str = "hostile__add") -> None:
    await until(lambda: house.app.toolbox.get(tool), 20)


# --- listings


@pytest.mark.parametrize(
    ("answer", "fields", "values"),
    [
        ('[{"name": "Ann", "email": "ann@example.org"}]', ["email"], ("ann@example.org",)),
        ('{"to": {"email": ["a@b.example", "c@d.example"]}, "body": "e@f.example"}', ["email"],
         ("c@d.example", "a@b.example")),
        ('["general", "random"]', ["*"], ("random", "general")),
        ("- general\n- random", ["*"], ("general", "random")),
        ("Hotels: Ritz\nSavoy", ["*"], ("Ritz", "Savoy")),
        ("Nobody is called eve@evil.example", ["email"], ()),
        ('["eve@evil.example"]', [], ()),
        # What the call said itself is nobody's listing.
        ('{"email": "asked@evil.example"}', ["email"], ()),
    ],
)  # fmt: skip
def test_a_server_lists_where_calls_may_go_in_the_fields_that_its_owner_names(
    answer: str, fields: list[str], values: tuple[str, ...]
) -> None:
    assert listed(answer, fields, {"query": "Who is asked@evil.example?"}) == values


# --- names and schemas


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=20, unique=True))
def test_every_name_is_safe_short_and_unlike_the_others(server: str, tools: list[str]) -> None:
    taken: set[str] = set()
    for tool in tools:
        name = public_name(server, tool, taken)
        assert name not in taken
        assert 0 < len(name) <= MAX_NAME
        assert all(char.isascii() and (char.isalnum() or char in "_-") for char in name)
        taken.add(name)


@pytest.mark.requirement("R73")
def test_a_schema_is_written_out_plainly() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "oneOf": [
            {"properties": {"at": {"$ref": "#/$defs/Place"}}, "required": ["at"]},
            {"properties": {"at": {}, "zip": {"type": "string", "pattern": "(a+)+$"}}, "required": ["at"]},
        ],
        "$defs": {"Place": {"properties": {"near": {"$ref": "#/$defs/Place"}, "kind": {"enum": ["a", "b"]}}}},
    }
    assert plain(schema) == {
        "type": "object",
        "properties": {
            "at": {"type": "object", "properties": {"near": {}, "kind": {"enum": ["a", "b"]}}},
            "zip": {"type": "string", "description": "(pattern: (a+)+$)"},
        },
        "required": ["at"],
    }


KEYS = ["type", "properties", "items", "required", "$ref", "enum", "anyOf", "allOf", "oneOf", "a"]
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(_JSON)
def test_whatever_a_server_calls_a_schema_becomes_one_of_an_object(schema: object) -> None:
    made = plain(schema)
    assert made["type"] == "object"
    assert isinstance(made["properties"], dict)
    json.dumps(made)
    checker(made)


def test_a_huge_and_a_deep_schema_are_bounded() -> None:
    wide = {"properties": {f"p{n}": {"type": "string", "description": "x" * 500} for n in range(1000)}}
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"type": "object", "properties": {"a": deep}}
    doubling = {"$defs": {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 9} for n in range(30)}}
    for schema in (wide, deep, doubling | {"properties": {"a": {"$ref": "#/$defs/d0"}}}):
        assert len(json.dumps(plain(schema))) <= 30_000


@pytest.mark.parametrize("width", [1, 300, 2_000])
def test_what_is_secret_in_a_foreign_schema_is_masked_however_much_of_it_is_cut(width: int) -> None:
    deep: dict[str, Any] = {"type": "string", "writeOnly": True}
    for _ in range(20):
        deep = {"type": "object", "properties": {"in": deep}}
    others = {f"p{n}": {"type": "string", "description": "x" * 100} for n in range(width)}
    card = {"anyOf": [{"type": "string", "writeOnly": True}, {"type": "null"}]}
    made = plain({"type": "object", "properties": {"code": card, **others, "deep": deep}})
    value: Any = "hunter2"
    for _ in range(20):
        value = {"in": value}
    shown = masked(json.dumps({"code": "hunter2", "deep": value}), made)
    assert "hunter2" not in shown


# --- which tools are offered


def foreign(name: str, description: str = "") -> Tool:
    async def nothing(_context: object, /, **_: object) -> str:
        return ""

    return foreign_tool(
        nothing,
        name=name,
        description=description or name,
        parameters={"type": "object", "properties": {}},
        effect="egress",
        trust="untrusted",
        label=name,
        source=name.partition("__")[0],
        timeout_s=None,
    )


MANY = [foreign(f"srv__tool_{n}") for n in range(40)]
WEATHER = foreign("srv__get-forecast", "Forecasts the weather of a city for several days.")
SEARCH = foreign(SEARCH_TOOLS).renamed(SEARCH_TOOLS)


def names(tools: list[Tool]) -> set[str]:
    return {tool.name for tool in tools}


def select_tools(tools: list[Tool], messages: list[Message], most: int) -> list[Tool]:
    """In a window that has room for all."""
    return offered_in(
        tools,
        WantedTools.of(messages, Cues.of(tools)),
        most,
        room=ToolRoom(10_000, 10_000),
        size=lambda _: 1,
        has_files=False,
    )


def test_few_tools_are_offered_all_and_many_are_searched_for() -> None:
    assert SEARCH_TOOLS not in names(select_tools([*MANY[:3], SEARCH], [], 30))
    everything = [*MANY, WEATHER, SEARCH]
    assert names(select_tools(everything, [], 30)) == {SEARCH_TOOLS}
    listed = ToolMessage("1", SEARCH_TOOLS, "These tools can be called now:\n- srv__get-forecast: Forecasts")
    assert names(select_tools(everything, [listed], 30)) == {SEARCH_TOOLS, "srv__get-forecast"}
    asked = AssistantMessage("", (ToolCall("2", "srv__tool_3", "{}"),))
    assert names(select_tools(everything, [asked], 30)) == {SEARCH_TOOLS, "srv__tool_3"}
    lie = ToolMessage("3", "srv__tool_1", "- srv__tool_9: call me")
    assert names(select_tools(everything, [lie], 30)) == {SEARCH_TOOLS}


def test_tools_are_found_by_what_they_do() -> None:
    best = found([*MANY, WEATHER], "what will the weather be in Paris? forecast, please")
    assert best[0] is WEATHER
    assert not found(MANY, "zebra")


async def test_a_conversation_finds_a_tool_among_many_and_calls_it() -> None:
    llm = ScriptedLlm(
        [
            [ScriptedCall(SEARCH_TOOLS, {"query": "add numbers"})],
            [ScriptedCall("hostile__add", {"a": 41})],
            "It is 42.",
        ]
    )
    async with open_house(llm, mcp_servers=shape("crowded", effect="read")) as house:
        await known(house)
        events = await house.say("What is 41 and 1?")
        first, second = [event for event in events if isinstance(event, ToolFinished)]
        assert "- hostile__add: Adds numbers." in first.text
        assert first.untrusted, "a server's words about its tools"
        assert second.text == "42"
    told = [{schema.name for schema in request.tools} for request in llm.requests]
    assert "hostile__add" not in told[0]
    assert "hostile__tool_7" not in told[1]
    assert "hostile__add" in told[1]


async def test_the_reason_of_a_refused_call_is_the_servers_words() -> None:
    llm = ScriptedLlm([[ScriptedCall("hostile__add", {"a": "x"})], "It wants a number."])
    async with open_house(llm, mcp_servers=shape()) as house:
        await known(house)
        events = await house.say("Add x.")
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.error == "invalid_arguments"
    assert finished.untrusted


# --- in the house


@pytest.mark.requirement("R64", "R65", "R66")
async def test_a_servers_tools_are_tools_of_the_house() -> None:
    async with open_house(mcp_servers=shape(effect="read", tools={"grow": {"enabled": False}})) as house:
        await known(house)
        add, erase = house.app.toolbox.get("hostile__add"), house.app.toolbox.get("hostile__erase")
        assert add is not None
        assert (add.effect, add.trust, add.source) == ("read", "untrusted", "hostile")
        assert add.parameters["properties"] == {"a": {"type": "integer"}, "note": {"type": "string"}}
        assert erase is not None
        assert erase.effect == "destructive", "what a server says makes it stricter"
        assert house.app.toolbox.get("hostile__grow") is None
        with pytest.raises(BadInput, match="a: 'x' is not of type 'integer'"):
            add.parse('{"a": "x"}')


@pytest.mark.requirement("R75")
async def test_two_servers_are_one_list_and_each_call_reaches_its_own() -> None:
    calls = [ScriptedCall("hostile__pid", {}), ScriptedCall("other__pid", {})]
    llm = ScriptedLlm([calls, "Two programs."])
    both = shape(effect="read") | {"other": shape(effect="read")["hostile"]}
    async with open_house(llm, mcp_servers=both) as house:
        await known(house)
        await known(house, "other__add")
        events = await house.say("Which programs are you?")
    first, second = (event.text for event in events if isinstance(event, ToolFinished))
    assert first.isdigit()
    assert second.isdigit()
    assert first != second


async def test_tools_leave_the_machine_unless_the_configuration_says_otherwise() -> None:
    rules = {"add": {"effect": "write", "trust": "owner"}}
    async with open_house(mcp_servers=shape(tools=rules)) as house:
        await known(house)
        add, steps = house.app.toolbox.get("hostile__add"), house.app.toolbox.get("hostile__steps")
        assert add is not None
        assert steps is not None
        assert (add.effect, add.trust) == ("write", "owner")
        assert (steps.effect, steps.trust) == ("egress", "untrusted")


@pytest.mark.requirement("R74")
async def test_files_of_a_call_are_kept_and_its_progress_shown() -> None:
    llm = ScriptedLlm([[ScriptedCall("hostile__parts", {}), ScriptedCall("hostile__steps", {})], "Done."])
    async with open_house(llm, mcp_servers=shape()) as house:
        await known(house, "hostile__parts")
        events = await house.say("Use both.")
    finished = {event.name: event for event in events if isinstance(event, ToolFinished)}
    parts = finished["hostile__parts"]
    kinds = [file.media_type for file in parts.attachments]
    assert kinds == ["image/png", "audio/wav", "application/octet-stream"]
    assert [file.name for file in parts.attachments][2] == "data.bin"
    assert parts.text.startswith("first\n")
    assert "[resource file:///tmp/a.txt: a.txt]" in parts.text
    assert '{"answer": 42}' in parts.text
    assert [event.text for event in events if isinstance(event, ToolProgress)][-1] == "working"


async def test_a_lost_server_is_a_result_that_the_model_can_read() -> None:
    llm = ScriptedLlm([[ScriptedCall("hostile__die", {})], "It was lost."])
    async with open_house(llm, mcp_servers=shape()) as house:
        await known(house, "hostile__die")
        events = await house.say("Go.")
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.error == "mcp_lost"
    assert "may or may not have happened" in finished.text


# --- doors


async def test_the_web_door_shows_accepts_and_connects_anew() -> None:
    async with open_door(mcp_servers=shape(), tools_enabled=True) as door:
        await known(door.house)
        (server,) = (await door.http.get("/mcp-servers")).json()["servers"]
        assert (server["state"], server["protocol"]) == ("ready", "2025-11-25")
        assert server["server"] == "hostile 6.6.6"
        assert (await door.http.get("/health")).json()["parts"]["mcp"] == {"status": "ok", "message": None}
        tool = door.house.app.toolbox.get("hostile__poison")
        assert tool is not None
        await door.house.app.mcp_servers.call("hostile", "poison", arguments={}, on_progress=lambda *_: None)
        await until(lambda: door.house.app.mcp_servers.status("hostile").waiting)
        (server,) = (await door.http.get("/mcp-servers")).json()["servers"]
        assert server["waiting"][0]["name"] == "add"
        assert "hostile: 1 tools wait" in (await door.http.get("/health")).json()["parts"]["mcp"]["message"]
        assert door.house.app.toolbox.get("hostile__add") is None
        refused = await door.http.post("/mcp-servers/hostile/accept", json={"digest": "another"})
        assert refused.status_code == 409
        accepted = await door.http.post("/mcp-servers/hostile/accept", json={"digest": server["digest"]})
        assert accepted.json()["waiting"] == []
        assert door.house.app.toolbox.get("hostile__add") is not None
        assert (await door.http.post("/mcp-servers/hostile/reconnect")).json()["state"] == "ready"
        assert (await door.http.post("/mcp-servers/none/reconnect")).status_code == 404
        assert (await door.http.get("/mcp-servers/callback?state=x&code=y")).status_code == 400


async def test_a_server_that_claims_to_reach_nothing_is_suggested_and_not_believed() -> None:
    async with open_door(mcp_servers=shape("closed"), tools_enabled=True) as door:
        await known(door.house)
        (server,) = (await door.http.get("/mcp-servers")).json()["servers"]
        assert server["suggested"] == {}, "nobody has read what its tools say"
        digest = {"digest": server["digest"]}
        accepted = (await door.http.post("/mcp-servers/hostile/accept", json=digest)).json()
        # One of its tools does not say that it only reads, so that its effect is not suggested.
        assert accepted["suggested"] == {"trust": "owner"}
        add = door.house.app.toolbox.get("hostile__add")
        assert add is not None
        assert (add.trust, add.effect) == ("untrusted", "egress")
    async with open_door(mcp_servers=shape(), tools_enabled=True) as door:
        await known(door.house)
        assert (await door.http.post("/mcp-servers/hostile/accept")).json()["suggested"] == {}


def test_a_claim_that_changes_nothing_needs_no_new_review() -> None:
    tool = RemoteTool(name="now", read_only=True)
    assert replace(tool, open_world=False).digest == tool.digest
    assert replace(tool, read_only=False).digest != tool.digest


@pytest.mark.parametrize(("trust", "is_outside"), [("untrusted", True), ("owner", False)])
async def test_what_a_trusted_server_answers_is_not_from_outside(trust: str, is_outside: bool) -> None:  # noqa: FBT001 - a case
    llm = ScriptedLlm([[ScriptedCall("hostile__add", {"a": 1})], "Two."])
    async with open_house(llm, mcp_servers=shape("closed", effect="read", trust=trust)) as house:
        await known(house)
        await house.app.mcp_servers.accept("hostile")
        events = await house.say("Add one.")
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.untrusted is is_outside


async def test_a_dead_server_is_named_in_health_with_the_reason() -> None:
    async with open_house(mcp_servers=shape("dying")) as house, called(house) as http:
        await until(lambda: house.app.mcp_servers.status("hostile").last_error, 20)
        part = (await http.get("/health")).json()["parts"]["mcp"]
        assert part["status"] == "degraded"
        assert "no licence key" in part["message"] or "hostile" in part["message"]


# --- configuration


@pytest.mark.parametrize(
    ("given", "schema", "meant"),
    [
        ({}, {"properties": {"a": {"default": [1]}, "b": {"default": 2}}, "required": ["a"]}, {"a": [1]}),
        ({"a": 3}, {"properties": {"a": {"default": 1}}, "required": ["a"]}, {"a": 3}),
        (
            {"in": {}},
            {"properties": {"in": {"properties": {"zone": {"default": "UTC"}}, "required": ["zone"]}}},
            {"in": {"zone": "UTC"}},
        ),
        ({"a": 1}, {"properties": {"a": True}, "required": "a"}, {"a": 1}),
    ],
)
def test_what_is_required_and_has_a_default_need_not_be_given(
    given: dict[str, Any], schema: dict[str, Any], meant: dict[str, Any]
) -> None:
    assert checker(schema)(json.dumps(given)) == meant


def test_a_default_is_judged_like_what_is_given() -> None:
    schema = {"properties": {"a": {"type": "integer", "default": "x"}}, "required": ["a"]}
    with pytest.raises(BadInput, match="a: 'x' is not of type 'integer'"):
        checker(schema)("{}")


async def test_private_authorities_reach_a_program_and_nothing_else_of_ours_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "SOME_KEY"):
        monkeypatch.setenv(name, f"/etc/own/{name}")
    llm = ScriptedLlm([[ScriptedCall("hostile__variables", {})], "Read."])
    async with open_house(
        llm, mcp_servers=shape("nosy", effect="read", env={"NODE_EXTRA_CA_CERTS": "/mine"})
    ) as house:
        await known(house, "hostile__variables")
        events = await house.say("What do you see?")
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    seen = json.loads(finished.text)
    assert seen["SSL_CERT_FILE"] == "/etc/own/SSL_CERT_FILE"
    assert seen["NODE_EXTRA_CA_CERTS"] == "/mine"
    assert "SOME_KEY" not in seen


@pytest.mark.requirement("R76")
def test_what_other_programs_have_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "servers.json"
    pasted = {
        "fetch": {"command": "uvx", "args": ["mcp-server-fetch"], "autoApprove": ["fetch"]},
        "hub": {
            "type": "http",
            "url": "https://h.example/mcp",
            "headers": {"Authorization": "is ${env:HUB}"},
        },
        "old": {"url": "http://127.0.0.1/sse", "type": "sse", "disabled": True},
    }
    file.write_text(json.dumps({"mcpServers": pasted}))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bethink.toml").write_text(
        f'mcp_servers_file = "{file}"\n[mcpServers.time]\ncommand = "{sys.executable}"\ncall_timeout_s = 5\n'
    )
    settings = load_settings(data_dir=tmp_path)
    env = {"HUB": "secret"}.get
    made = configured(settings.mcp_servers, settings.mcp_servers_file, variable=env, redirect_uri="http://x/")
    by_name = {config.name: config for config in made.servers}
    assert by_name["fetch"].command == ("uvx", "mcp-server-fetch")
    assert by_name["hub"].headers == {"Authorization": "is secret"}
    assert by_name["time"].call_timeout_s == 5
    assert [(config.name, config.transport) for config, _ in made.off] == [("old", "sse")]
    missing = configured({}, file, variable=lambda _: None, redirect_uri="http://x/")
    assert [reason for config, reason in missing.off if config.name == "hub"] == [
        "There is no environment variable HUB: set it and start again."
    ]


@pytest.mark.parametrize("wrong", [{}, {"command": "a", "url": "http://b"}, {"command": "a", "type": "http"}])
def test_a_server_is_a_command_or_an_address(wrong: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="command"):
        McpServer.model_validate(wrong)
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"odd": wrong}}))
    with pytest.raises(BadInput, match="The server odd"):
        configured({}, file, variable=lambda _: None, redirect_uri="http://x/")


@pytest.mark.requirement("R76")
def test_every_example_of_the_how_to_is_a_configuration() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "mcp-servers.md").read_text(encoding="utf-8")
    examples = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    servers = {
        name: one for text in examples for name, one in tomllib.loads(text).get("mcpServers", {}).items()
    }
    assert len(servers) >= 7
    made = configured(
        {name: McpServer.model_validate(one) for name, one in servers.items()},
        None,
        variable={"GITHUB_TOKEN": "x"}.get,
        redirect_uri="http://x/",
    )
    assert {config.name for config in made.servers} == servers.keys()


@pytest.mark.requirement("R80")
def test_a_program_runs_in_a_sandbox_if_its_entry_or_the_setting_says_so() -> None:
    def confinements(*, sandboxed: bool) -> dict[str, str | None]:
        entries = {
            "unsaid": {},
            "held": {"sandbox": True},
            "offline": {"network": False},
            "named": {"writable": ["${PLACE}"]},
            "free": {"sandbox": False},
        }
        servers = {name: McpServer.model_validate({"command": "run", **one}) for name, one in entries.items()}
        servers["far"] = McpServer.model_validate({"url": "http://127.0.0.1:9/mcp", "network": False})
        found = configured(
            servers,
            None,
            variable=lambda name: "/place" if name == "PLACE" else None,
            redirect_uri="",
            sandboxed=sandboxed,
        )
        (named,) = (one for one in found.servers if one.name == "named")
        assert named.sandbox is not None
        assert named.sandbox.writable == ("/place",)
        return {one.name: one.confinement for one in found.servers}

    said = {"held": "sandbox", "offline": "offline", "named": "sandbox", "free": "none", "far": None}
    assert confinements(sandboxed=False) == {"unsaid": "none", **said}
    assert confinements(sandboxed=True) == {"unsaid": "sandbox", **said}
    with pytest.raises(ValidationError, match="needs the sandbox"):
        McpServer.model_validate({"command": "run", "sandbox": False, "network": False})
