"""The phases of a deployment: each block of the page that names them does what it says there."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import Any

import pytest

from bethink.events import ApprovalNeeded, Event, MemoryRecalled, ToolFinished
from bethink.internet.connect import connect_internet
from bethink.llm import LlmRequest
from bethink.llm.scripted import Answer, ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.settings import Settings
from tests.documents import examples
from tests.house import open_house, ports_of

PHASES = {
    example.info[2]: tomllib.loads(example.text)
    for example in examples("docs/how-to/introduce-in-phases.md")
    if example.kind == "toml phase"
}
KNOWN = "The cello teacher is called Ada"
SAID = "I play the cello"
LEARNT = {
    "do": "add",
    "turn": 1,
    "fact": "The user plays the cello",
    "quote": SAID,
    "about": "user",
    "of": [],
    "sure": True,
    "category": "preferences",
    "importance": 0.7,
    "topics": [],
}


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model was offered in a turn, what tools there are, the facts behind it, and its events."""

    offered: set[str]
    tools: set[str]
    facts: set[str]
    events: list[Event]


async def _turn(phase: str, calls: Answer = "I see.") -> Turn:
    settings: dict[str, Any] = {"extraction": "auto"} | PHASES[phase]
    offered: set[str] = set()
    left = [calls, "Done."]

    def answer(request: LlmRequest) -> Answer:
        if request.system.startswith("You read messages"):
            return json.dumps({"changes": [LEARNT]})
        offered.update(tool.name for tool in request.tools)
        return left.pop(0)

    asked = Settings(**settings)
    internet = connect_internet(asked) if asked.web_enabled else None
    ports = ports_of(ScriptedLlm(answer), internet=internet)
    async with open_house(ports=ports, **settings) as house:
        await house.app.memory.add(house.me, NewFact(KNOWN))
        events = await house.say(SAID)
        await house.app.post_turn.finished()
        facts = {item.record.content for item in (await house.app.memory.list(house.me)).items}
        tools = {tool.name for tool in house.app.toolbox.all}
    return Turn(offered, tools, facts, events)


@pytest.mark.anyio
@pytest.mark.requirement("R198", "P5a")
async def test_each_phase_of_a_deployment_switches_on_what_it_says() -> None:
    assert list(PHASES) == ["1", "2", "3", "4"]
    reads = await _turn("1")
    assert (reads.offered, reads.facts) == (set(), {KNOWN})
    recalled = [
        item.text for event in reads.events if isinstance(event, MemoryRecalled) for item in event.items
    ]
    assert recalled == [KNOWN]

    learns = await _turn("2")
    assert (learns.offered, learns.facts) == (set(), {KNOWN, "The user plays the cello"})

    delete = [ScriptedCall("delete_all_memories")]
    basic = await _turn("3", delete)
    assert {"store_memory", "search_memory"} <= basic.offered
    assert {"create_task", "get_calendar_events"} <= basic.tools
    assert not basic.tools & {"web_search", "fetch_url"}
    assert [event.error for event in basic.events if isinstance(event, ToolFinished)] == ["denied"]
    assert KNOWN in basic.facts

    everything = await _turn("4", delete)
    assert {"web_search", "fetch_url"} <= everything.tools
    assert any(isinstance(event, ApprovalNeeded) for event in everything.events)
