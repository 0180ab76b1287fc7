"""The memory file in a user's bucket: its form, its merging, and what a user's memory does with it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from benchmarks.stand_ins.dial_core import Fault
from bethink.dial.bucket_memory import (
    FOLDER,
    NAME,
    BucketFact,
    BucketMemory,
    MemoryFile,
    merged,
    parse,
    written,
)
from bethink.dial.core import Core, url_in
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.errors import BadInput, DialError, NewerSchema
from bethink.memory import Fact, NewFact
from tests.dial import Dial, open_dial
from tests.house import House, open_house

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]

MODEL = HashingEmbeddings().model
NOW = 1_770_000_000_000_000


def entry(number: int, content: str, **more: object) -> dict[str, Any]:
    data = {"id": number, "content": content, "importance": 0.5, "category": "general", "topics": []}
    return {"data": data | more, "embedding": [0.5] * 384}


def file_of(*entries: dict[str, Any], **more: object) -> bytes:
    document = {"memories": [*entries], "updated_at": "2026-01-01T00:00:00", "last_deduplicated_at": None}
    return json.dumps(document | more).encode()


@dataclass(slots=True)
class Desk:
    """A user's memory and the file that it is kept in."""

    house: House
    dial: Dial
    keeping: BucketMemory

    @property
    def core(self) -> Core:
        return self.dial.core

    async def again(self) -> BucketMemory:
        """The memory as another process has it that loads it now."""
        principal = self.house.app.accounts.on_behalf_of("another", audience="dial")
        other = BucketMemory(self.house.app.memory, principal, self.keeping.home)
        await other.load(self.core)
        return other

    async def contents(self, keeping: BucketMemory | None = None) -> set[str]:
        one = keeping or self.keeping
        return {
            fact.content
            async for page in one.memory.pages(one.principal, {"state": "active"})
            for fact in page
        }

    async def add(self, content: str, keeping: BucketMemory | None = None) -> str:
        one = keeping or self.keeping
        return (await one.memory.add(one.principal, NewFact(content))).fact.id

    async def write(self, content: bytes) -> None:
        await self.core.put(self.keeping.url, content, "application/json")

    async def read(self) -> dict[str, Any]:
        held = await self.core.get(self.keeping.url)
        assert held is not None
        return json.loads(held.content)


@pytest.fixture
async def desk() -> AsyncGenerator[Desk]:
    async with open_dial() as dial, open_house() as house:
        home = (await dial.core.bucket()).home
        principal = house.app.accounts.on_behalf_of("one", audience="dial")
        keeping = BucketMemory(house.app.memory, principal, home)
        await keeping.load(dial.core)
        yield Desk(house, dial, keeping)


@pytest.mark.requirement("R42")
async def test_the_documented_form_is_read_and_written(desk: Desk) -> None:
    await desk.write(file_of(entry(1700000000, "Likes tea", category="preferences", topics=["drinks"])))
    await desk.keeping.load(desk.core)
    await desk.add("Lives in Paris, France")
    assert await desk.keeping.save(desk.core)
    kept = await desk.read()
    assert kept.keys() == {"memories", "updated_at", "last_deduplicated_at", "bethink"}
    tea, paris = kept["memories"]
    assert tea["data"]["id"] == 1700000000
    assert paris["data"].keys() == {"id", "content", "importance", "category", "topics"}
    assert isinstance(paris["data"]["id"], int)
    assert len(paris["embedding"]) == 384


@pytest.mark.requirement("R168")
async def test_what_was_not_changed_is_not_written(desk: Desk) -> None:
    await desk.write(file_of(entry(1, "Likes tea")))
    await desk.keeping.load(desk.core)
    before = len([method for method, _ in desk.dial.own.seen if method == "PUT"])
    assert not await desk.keeping.save(desk.core)
    assert len([method for method, _ in desk.dial.own.seen if method == "PUT"]) == before


@pytest.mark.requirement("R168")
async def test_the_same_version_is_not_fetched_twice(desk: Desk) -> None:
    await desk.write(file_of(entry(1, "Likes tea")))
    await desk.keeping.load(desk.core)
    desk.dial.own.seen.clear()
    await desk.keeping.load(desk.core)
    assert all("metadata" in path for _, path in desk.dial.own.seen)


async def test_fields_of_other_programs_stay(desk: Desk) -> None:
    theirs = entry(1, "Likes tea", colour="green") | {"extra": {"a": 1}}
    await desk.write(file_of(theirs, {"strange": True}, root_extra=[1]))
    await desk.keeping.load(desk.core)
    await desk.add("Lives in Paris, France")
    await desk.keeping.save(desk.core)
    kept = await desk.read()
    (same,) = [one for one in kept["memories"] if "extra" in one]
    assert {name: same[name] for name in theirs} == theirs
    again = parse(json.dumps(kept).encode(), MODEL)
    assert all(one.vector is not None for one in again.entries.values())
    assert {"strange": True} in kept["memories"]
    assert kept["root_extra"] == [1]


async def test_sources_dates_and_what_was_superseded_come_back(desk: Desk) -> None:
    first = await desk.add("User lives in Paris")
    changed = await desk.keeping.memory.edit(desk.keeping.principal, first, NewFact("User lives in Rome"))
    await desk.keeping.save(desk.core)
    other = await desk.again()
    old, new = await other.memory.get(other.principal, [first, changed.fact.id])
    assert old is not None
    assert new is not None
    assert (old.state, new.state) == ("superseded", "active")
    assert new.supersedes == (first,)
    assert [one["data"]["content"] for one in (await desk.read())["memories"]] == ["User lives in Rome"]


async def test_a_fact_that_another_program_corrected_is_as_that_says(desk: Desk) -> None:
    await desk.add("User lives in Paris")
    await desk.keeping.save(desk.core)
    kept = await desk.read()
    kept["memories"][0]["data"]["content"] = "User lives in Rome"
    await desk.write(json.dumps(kept).encode())
    await desk.keeping.load(desk.core)
    assert await desk.contents() == {"User lives in Rome"}


async def test_two_writers_keep_what_both_said_and_what_one_removed_is_gone(desk: Desk) -> None:
    for content in ("Likes tea", "Lives in Paris, France"):
        await desk.add(content)
    await desk.keeping.save(desk.core)
    other = await desk.again()
    (tea,) = await other.memory.search(other.principal, "tea", k=1)
    await other.memory.retract(other.principal, tea[0].id)
    await desk.add("Works as a nurse", other)
    await desk.add("Plays the violin")
    await desk.keeping.save(desk.core)
    await other.save(desk.core)
    assert {one["data"]["content"] for one in (await desk.read())["memories"]} == {
        *("Lives in Paris, France", "Works as a nurse", "Plays the violin")
    }
    await desk.keeping.load(desk.core)
    assert await desk.contents() == {"Lives in Paris, France", "Works as a nurse", "Plays the violin"}


async def test_an_empty_memory_leaves_no_file(desk: Desk) -> None:
    await desk.add("Likes tea")
    await desk.keeping.save(desk.core)
    await desk.house.app.forgetting.forget_all(desk.keeping.principal)
    await desk.keeping.save(desk.core)
    assert await desk.core.get(desk.keeping.url) is None


async def test_a_number_beyond_all_vectors_and_a_time_beyond_all_calendars_break_nothing(desk: Desk) -> None:
    await desk.add("Lives in Paris")
    assert await desk.keeping.save(desk.core)
    kept = await desk.read()
    kept["memories"][0]["embedding"] = [1e308] * 384
    await desk.write(json.dumps(kept).encode())
    assert await desk.contents(await desk.again()) == {"Lives in Paris"}
    kept["last_deduplicated_at"] = "9999-12-31T23:59:59-14:00"
    await desk.write(json.dumps(kept).encode())
    assert isinstance((await desk.again()).fault, BadInput)


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
async def test_an_error_is_no_empty_memory(desk: Desk, status: int) -> None:
    await desk.write(file_of(entry(1, "Likes tea")))
    desk.dial.own.faults.set([Fault(kind="status", status=status, times=9)])
    await desk.keeping.load(desk.core)
    desk.dial.own.faults.set([])
    assert isinstance(desk.keeping.fault, DialError)
    await desk.add("Lives in Paris, France")
    assert not await desk.keeping.save(desk.core)
    assert [one["data"]["content"] for one in (await desk.read())["memories"]] == ["Likes tea"]


async def test_a_file_that_is_changed_all_the_time_is_told(desk: Desk) -> None:
    race = Fault(kind="race", method="PUT", text=file_of(entry(1, "Likes tea")).decode(), times=99)
    await desk.write(file_of(entry(2, "Likes coffee")))
    await desk.keeping.load(desk.core)
    await desk.add("Lives in Paris, France")
    desk.dial.own.faults.set([race])
    # The same content each time has the same ETag: one race is lost, the next write wins.
    assert await desk.keeping.save(desk.core)
    assert len((await desk.read())["memories"]) == 2


@pytest.mark.requirement("U4")
async def test_duplicates_are_merged_once_a_day_within_a_request(desk: Desk) -> None:
    facts = [entry(1700000000 + number, f"Knows person number {number} well") for number in range(12)]
    await desk.write(file_of(*facts, entry(1700000100, "Knows person number 3 well.")))
    await desk.keeping.load(desk.core)
    assert await desk.keeping.save(desk.core)
    kept = await desk.read()
    assert kept["last_deduplicated_at"] is not None
    assert not await desk.keeping.save(desk.core)
    desk.house.clock.advance(86_401)
    assert await desk.keeping.save(desk.core)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"not JSON",
        b'{"memories": 5}',
        b'{"memories": [], "last_deduplicated_at": "yesterday"}',
        b"\xff",
        b'{"memories":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"memories":[{"id":1,"data":{"content":"x"},"more":' + b"[" * 5_000 + b"]" * 5_000 + b"}]}",
    ],
)
def test_what_is_no_memory_file_is_refused(content: bytes) -> None:
    with pytest.raises(BadInput):
        parse(content, MODEL)


def test_a_newer_bethinks_file_is_refused() -> None:
    with pytest.raises(NewerSchema):
        parse(file_of(bethink={"schema": 99}), MODEL)


def test_vectors_are_taken_only_from_our_own_model() -> None:
    document = parse(file_of(entry(1, "Likes tea")), MODEL)
    (one,) = document.entries.values()
    assert one.vector is None
    vector = np.full(384, 384**-0.5, dtype=np.float32)
    ours = MemoryFile({one.fact.id: BucketFact(one.fact, one.raw, vector, changed=True)})
    again = parse(written(ours, MODEL, now=NOW), MODEL)
    (kept,) = again.entries.values()
    assert kept.vector is not None
    assert abs(float(kept.vector @ vector) - 1) < 1e-6


def _fact(id: str, content: str) -> Fact:
    return Fact(id=id, content=content, digest="", weight=0, created_at=0)


def test_a_removal_on_either_side_holds_and_the_same_words_are_kept_once() -> None:
    base = {id: _fact(id, id) for id in ("a", "b", "c")}
    ours = {
        "a": BucketFact(base["a"]),
        "c": BucketFact(_fact("c", "changed")),
        "n": BucketFact(_fact("n", "new")),
    }
    theirs = MemoryFile(
        {"b": BucketFact(base["b"]), "c": BucketFact(base["c"]), "m": BucketFact(_fact("m", "New"))}
    )
    result = merged(base, ours, theirs)
    assert {id: one.fact.content for id, one in result.entries.items()} == {"c": "changed", "m": "New"}


async def test_the_file_lies_where_the_documents_say(desk: Desk) -> None:
    assert desk.keeping.url == url_in(desk.keeping.home, FOLDER, NAME)
    assert desk.keeping.url.endswith("/__long-memories/data.json")
