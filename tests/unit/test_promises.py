"""What the whole keeps and no room alone: one memory, talk without tools, every port a setting, layers."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from pydantic import SecretStr

from bethink.agent.toolbox import CallResult, Prepared
from bethink.cli.commands import parse
from bethink.events import RunDone
from bethink.llm.scripted import ScriptedLlm
from bethink.messages import ToolCall
from bethink.settings import Settings
from bethink.tool import ToolContext
from checks.rooms import features
from tests.door import open_door
from tests.house import House, open_house

ROOT = Path(__file__).parents[2]


async def _told(house: House, name: str, **arguments: object) -> str:
    prepared = house.app.toolbox.prepare(ToolCall("call", name, json.dumps(arguments)))
    assert isinstance(prepared, Prepared)
    items = house.app.toolbox.run([prepared], ToolContext(house.me, "talk", "run", "message"))
    (result,) = [item.message async for item in items if isinstance(item, CallResult)]
    return result.content


@pytest.mark.anyio
@pytest.mark.requirement("R5")
async def test_what_one_memory_tool_stores_all_others_and_all_doors_have() -> None:
    async with open_door() as door:
        await _told(
            door.house, "store_memory", content="Keeps bees in Lyon", category="goals", importance=0.5
        )
        assert "Keeps bees in Lyon" in await _told(door.house, "search_memory", query="bees in Lyon")
        (listed,) = (await door.http.get("/memories")).json()["items"]
        assert listed["content"] == "Keeps bees in Lyon"
        (hit,) = (await door.http.get("/recall", params={"query": "bees in Lyon"})).json()["items"]
        assert hit["id"] == listed["id"]
        await _told(door.house, "delete_all_memories")
        assert (await door.http.get("/memories")).json()["items"] == []
        assert "No memories found" in await _told(door.house, "search_memory", query="bees in Lyon")


@pytest.mark.anyio
@pytest.mark.requirement("R9")
async def test_talk_goes_on_where_tools_are_switched_off() -> None:
    llm = ScriptedLlm(["Good morning.", "And to you."])
    async with open_house(llm, tools_enabled=False) as house:
        conversation = await house.new()
        for words in ("Good morning!", "A fine day to you."):
            ended = (await house.say(words, conversation))[-1]
            assert isinstance(ended, RunDone)
            assert ended.reason == "answered"
    assert [request.tools for request in llm.requests] == [(), ()]


@pytest.mark.requirement("R10")
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["serve", "--port", "9000"], "port"),
        (["people", "serve", "--port", "9000"], "port"),
        (["mcp", "--http", "9000"], "http"),
        (["dial", "stand-in", "--model-url", "http://127.0.0.1:1/v1", "--port", "9000"], "port"),
    ],
)
def test_every_program_that_listens_takes_its_port(words: list[str], name: str) -> None:
    assert getattr(parse(words), name) == 9_000


@pytest.mark.requirement("R10")
def test_every_service_that_is_asked_has_its_address_as_a_setting() -> None:
    settings = Settings(
        dial_base_url="http://127.0.0.1:9001",
        redis_url=SecretStr("redis://127.0.0.1:9002/0"),
        model_base_url="http://127.0.0.1:9003/v1",
        mcp_servers={"ddg": {"url": "http://127.0.0.1:9004/mcp"}},  # pyright: ignore[reportArgumentType] - read as a file's
    )
    assert settings.mcp_servers["ddg"].url == "http://127.0.0.1:9004/mcp"


@pytest.mark.requirement("R8")
def test_doors_application_agent_features_and_outside_systems_are_layers_and_none_is_exempt() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert linter["exclude_type_checking_imports"] is False
    (contract,) = [one for one in linter["contracts"] if one["type"] == "rooms"]
    assert contract["exhaustive"]
    order = [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]
    places = [
        next(place for place, rooms in enumerate(order) if name in rooms)
        for name in (
            "web",
            "app",
            "agent",
            "tools",
            "recall",
            "FEATURES",
            "engines",
            "store",
            "llm",
            "messages",
        )
    ]
    assert places == sorted(set(places))
    rooms = {path.stem for path in (ROOT / "src/bethink").iterdir() if path.name[0] not in "_."}
    listed = features((ROOT / "src" / "bethink" / "features.py").read_text())
    assert rooms - {"static", "py"} <= set().union(*order, listed)
