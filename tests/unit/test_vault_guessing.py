"""Guessing what is hidden: whatever stands there, hits, scores and orders are the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bethink.llm.scripted import ScriptedLlm
from bethink.memory import NewFact
from bethink.vault.filters.rules import FilterRule
from tests.door import Door, open_door

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

KEY = {"Authorization": "Bearer program"}
FACTS = (
    "The codename is {}, says Paris.",
    "Paris is where the user lives.",
    "The user's sister came to Paris in spring.",
    "The user likes tea.",
)
SAID = ("My codename is {} in Paris.", "Paris is lovely.", "I like tea.")
DOORS = (
    "/recall?k=50&query=",
    "/recall?k=50&kinds=fact&query=",
    "/memories?query=",
    "/conversations/search?query=",
)
WORDS = ("osprey", "Paris osprey", "osprey tea Paris", "the codename osprey", "kestrel codename is osprey")


@asynccontextmanager
async def masked(tmp_path: Path, hidden: str) -> AsyncGenerator[Door]:
    async with open_door(ScriptedLlm(["Noted."] * 9), data_dir=tmp_path / hidden) as door:
        me, app = replace(door.house.me, audience="web"), door.house.app
        for fact in FACTS:
            await app.memory.add(me, NewFact(fact.format(hidden)))
        for said in SAID:
            await door.house.events(await app.runs.start(me, await door.house.new(), said.format(hidden)))
        await app.visibility.filters.add(me, FilterRule(pattern=r"codename is \w+", action="mask"))
        await app.background.vectors.fill(me.owner)  # what is still without a vector stands elsewhere
        yield door


async def told(door: Door, address: str) -> list[Any]:
    """What is found, without what is each time another: ids and times."""
    answer = await door.http.get(address, headers=KEY)
    assert answer.status_code == 200
    given = answer.json()
    items = given if isinstance(given, list) else given["items"]
    return [(one.get("score"), one.get("text") or one.get("content") or one.get("snippet")) for one in items]


async def test_who_is_restrained_cannot_tell_by_searching_whether_a_guess_is_right(tmp_path: Path) -> None:
    asked = [f"{door}{words}" for door in DOORS for words in WORDS]
    answers: list[list[Any]] = []
    for hidden in ("Osprey", "Kestrel"):
        async with masked(tmp_path, hidden) as door:
            answers.append([await told(door, address) for address in asked])
    assert dict(zip(asked, answers[0], strict=True)) == dict(zip(asked, answers[1], strict=True))
    found = str(answers[0])
    assert "osprey" not in found.lower()
    assert "The [hidden], says Paris." in found
    assert "My [hidden] in Paris." in found


async def test_what_is_shown_in_part_is_found_by_its_words(tmp_path: Path) -> None:
    async with masked(tmp_path, "Osprey") as door:
        best, *_ = await told(door, "/recall?k=3&query=What+says+Paris")
        assert best[1] == "The [hidden], says Paris."
        assert best[0] > 0.3
        own = await door.http.get("/recall?k=3&query=osprey")
        assert "Osprey" in own.text
