"""A program: owners come by the dozen, each of them once, and it prints what has grown with them.

`tests/contract/test_many_owners.py` runs it, in a process that holds nothing of other tests.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections import OrderedDict, deque
from typing import Any

import anyio

from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.llm import LlmRequest
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import ToolMessage
from bethink.principal import Principal, Recent
from bethink.tool import Rate, tool
from tests.house import House, open_house

CONTAINERS = (dict, set, list, deque, OrderedDict)
_FIRST, _MORE, _LOOKS = 20, 120, 50


@tool(effect="read", label="Look", rate=Rate(5, 60), concurrency=2)
async def look(context: object) -> str:
    """Look."""
    return "There is nothing."


def kept_on_purpose(house: House) -> set[int]:
    """What holds the records themselves, and what is bounded at more owners than come here."""
    store, index = house.app.ports.store, house.app.ports.index
    assert isinstance(store, MemoryStore)
    assert isinstance(index, MemoryIndex)
    held: list[Any] = [*vars(store).values(), *vars(index).values()]
    held += [values for one in gc.get_objects() if isinstance(one, Recent) for values in vars(one).values()]
    return {id(one) for one in held}


def sizes() -> dict[int, tuple[Any, int]]:
    """Every container that there is, with its size; held, so that no other takes its place."""
    gc.collect()
    return {id(one): (one, len(one)) for one in gc.get_objects() if isinstance(one, CONTAINERS)}


async def talk(house: House, number: int) -> None:
    me = Principal(f"owner-{number}")
    app = house.app
    conversation = await app.conversations.create(me)
    await app.memory.add(me, NewFact("Lives in Lisbon"))
    run = await app.runs.start(me, conversation.id, "Look around, will you?")
    async for _ in app.runs.follow(me, run):
        pass
    await app.recall.search(me, "Lisbon", 3)
    await app.mirror.settle(me.owner)
    await app.runs.delete_conversation(me, conversation.id)


async def grown_by(house: House, llm: ScriptedLlm, numbers: range) -> list[str]:
    """What is larger after so many more owners."""
    llm.requests.clear()
    before = sizes()
    for number in numbers:
        await talk(house, number)
    llm.requests.clear()
    grown: list[str] = []
    for _ in range(_LOOKS):
        # What was asked for beside is worked off meanwhile.
        gc.collect()
        purposely = kept_on_purpose(house)
        grown = [
            f"{type(one).__name__} from {size} to {len(one)}: {str(one)[:200]}"
            for id, (one, size) in before.items()
            if id not in purposely
            and one is not before
            and len(one) >= size + _MORE // 2
            # The loop's own: time-outs that were cancelled go when their time comes.
            and not (isinstance(one, list) and one and isinstance(one[0], asyncio.TimerHandle))
        ]
        if not grown:
            break
        await anyio.sleep(0.1)
    return grown


async def main() -> None:
    """Print the containers that are larger after many more owners, as a JSON list."""

    def script(request: LlmRequest) -> str | list[ScriptedCall]:
        return "Nothing." if isinstance(request.messages[-1], ToolMessage) else [ScriptedCall("look")]

    async with open_house(llm := ScriptedLlm(script), tools=[look]) as house:
        for number in range(_FIRST):
            await talk(house, number)
        modules, grown, next_one = -1, list[str](), _FIRST
        while modules != len(sys.modules):
            # A thread may import what is wanted later: that grows once, and not by owners.
            modules = len(sys.modules)
            grown = await grown_by(house, llm, range(next_one, next_one + _MORE))
            next_one += _MORE
    sys.stdout.write(json.dumps(grown))


if __name__ == "__main__":
    # A warm process has put out of sight what it began with.
    gc.unfreeze()
    anyio.run(main)
