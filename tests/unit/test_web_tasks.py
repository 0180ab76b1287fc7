"""Tasks at the web door, on 24 November 2026, at 14:00: lines in words, changes, links, and garbage."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from bethink.clock import FakeClock, to_us
from bethink.memory import NewFact
from bethink.tasks.quick_add import read_line
from tests.door import Door, called
from tests.house import open_house, ports_of

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 24, 13, 0, tzinfo=UTC)


@asynccontextmanager
async def door_of() -> AsyncGenerator[Door]:
    ports = ports_of(clock=FakeClock(to_us(NOW)))
    async with open_house(ports=ports, time_zone="Europe/Berlin") as house, called(house) as http:
        yield Door(house, http)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            "Call Bruna tomorrow at 5 #family !high +garden",
            {"title": "Call Bruna", "tags": ["family"], "priority": "high", "project": "garden"},
        ),
        ('Paint +"summer house" #a #b', {"title": "Paint", "tags": ["a", "b"], "project": "summer house"}),
        ("Fix bug #12!", {"title": "Fix bug #12!"}),
        ("C# and 2+2 stay", {"title": "C# and 2+2 stay"}),
        ("Was nun!", {"title": "Was nun!"}),
    ],
)
def test_signs_of_a_line(line: str, fields: dict[str, Any]) -> None:
    found = read_line(line, NOW).fields
    assert {name: value for name, value in found.items() if not name.startswith(("due", "zone"))} == fields


@pytest.mark.requirement("R148")
async def test_the_page_adds_in_words_shows_changes_and_takes_back() -> None:
    async with door_of() as door:
        http = door.http
        understood = await http.get(
            "/tasks/understand", params={"text": "Call Bruna tomorrow at 5 #family !high"}
        )
        assert understood.json() | {"due_at": None} == {
            "title": "Call Bruna", "due_date": None, "due_at": None, "priority": "high", "tags": ["family"],
            "project": None, "recurrence": None, "recurs_from": None, "ambiguous": [], "problem": None,
            "words": "due Wednesday, 25 November 2026, 17:00 (Europe/Berlin)",
        }  # fmt: skip
        asked = (await http.get("/tasks/understand", params={"text": "Lunch next Friday #a"})).json()
        assert (asked["title"], asked["tags"]) == ("Lunch next Friday", ["a"])
        assert asked["ambiguous"] == [
            {"words": "Friday, 27 November 2026", "text": "Lunch 27 November 2026 #a"},
            {"words": "Friday, 4 December 2026", "text": "Lunch 4 December 2026 #a"},
        ]
        wrong = (await http.get("/tasks/understand", params={"text": "Rent 31 November"})).json()
        assert wrong["problem"] == "There is no day 31 in November 2026, which has 30 days."
        made = await http.post(
            "/tasks", json={"words": "Call Bruna tomorrow at 5 #family", "estimated_hours": 1}
        )
        assert made.status_code == 201
        task = made.json()
        assert task["understood"] == "due Wednesday, 25 November 2026, 17:00 (Europe/Berlin)"
        assert (task["due_at"], task["due_words"]) == (
            "2026-11-25T16:00:00Z",
            "Wednesday, 25 November 2026, 17:00",
        )
        refused = await http.post("/tasks", json={"words": "Lunch next Friday"})
        assert (refused.status_code, refused.json()["type"]) == (422, "urn:bethink:error:ambiguous_time")
        path = f"/tasks/{task['id']}"
        changed = await http.patch(path, json={"recurrence": "every 2nd Friday"}, headers={"If-Match": '"1"'})
        assert changed.json()["recurrence_words"] == "every 2 weeks on Friday"
        stale = await http.patch(path, json={"title": "X"}, headers={"If-Match": '"1"'})
        assert stale.status_code == 412
        done = (await http.patch(path, json={"status": "done"})).json()
        assert done["next"]
        listed = (await http.get("/tasks", params={"query": "Bruna", "done": "false"})).json()
        assert [item["id"] for item in listed["items"]] == [done["next"]]
        assert listed["counts"]["done"] == 1
        undone = await http.post("/tasks/undo", json={"token": done["undo"]})
        assert [item["status"] for item in undone.json()["items"]] == ["todo"]
        gone = (await http.delete(path)).json()
        assert gone["deleted"] == 1
        assert (await http.get(path)).status_code == 404
        assert (await http.post(f"{path}/restore")).json()["title"] == "Call Bruna"


async def test_links_are_shown_with_their_titles() -> None:
    async with door_of() as door:
        fact = (await door.house.app.memory.add(door.house.me, NewFact("User has a cat"))).fact.id
        talk = (await door.http.post("/conversations", json={"title": "The cat"})).json()["id"]
        links: Sequence[dict[str, str]] = [
            {"kind": "fact", "id": fact},
            {"kind": "conversation", "id": talk},
            {"kind": "page", "id": "cat.md"},
        ]
        shown = (await door.http.post("/tasks", json={"title": "Vet", "links": links})).json()["links"]
    assert [link["title"] for link in shown] == ["User has a cat", "The cat", None]


@pytest.mark.parametrize(
    "body",
    [
        {}, {"title": ""}, {"title": "T", "due_date": 5}, {"title": "T", "tags": "x"}, {"words": ""},
        {"words": "tomorrow"}, {"title": "T", "position": {"before": "x"}}, {"title": "\ud800"},
        {"title": "T", "estimated_hours": 1e999}, {"title": "T", "links": [{"kind": "fact"}]},
        {"words": "x" * 2_000}, {"title": "T", "reminders": [0.5]},
    ],
)  # fmt: skip
async def test_garbage_is_refused_with_a_sentence(body: dict[str, Any]) -> None:
    async with door_of() as door:
        answer = await door.http.post(
            "/tasks", content=json.dumps(body).encode(), headers={"content-type": "application/json"}
        )
        assert answer.status_code == 422, answer.text
        assert answer.json()["detail"]
        assert (await door.http.get("/tasks")).json()["items"] == []


@pytest.mark.requirement("R148")
async def test_a_request_that_is_sent_again_with_its_key_makes_one_task() -> None:
    async with door_of() as door:
        key = {"Idempotency-Key": "from-a-phone"}
        line = {"words": "Call Bruna tomorrow at 5"}
        made = await door.http.post("/tasks", json=line, headers=key)
        await door.http.patch(f"/tasks/{made.json()['id']}", json={"status": "done"})
        again = await door.http.post("/tasks", json=line, headers=key)
        assert (made.status_code, again.status_code) == (201, 201)
        assert again.json()["id"] == made.json()["id"]
        assert (again.json()["status"], again.json()["undo"]) == ("done", None)
        # Other words, another key or none are another task, and so is what another sends with the same key.
        await door.http.post("/tasks", json={"words": "Call Ana"}, headers=key)
        await door.http.post("/tasks", json=line, headers={"Idempotency-Key": "another"})
        await door.http.post("/tasks", json=line)
        listed = (await door.http.get("/tasks")).json()["items"]
        assert sorted(task["title"] for task in listed) == [
            "Call Ana",
            "Call Bruna",
            "Call Bruna",
            "Call Bruna",
        ]
        refused = await door.http.post("/tasks", json=line, headers={"Idempotency-Key": "x" * 256})
        assert refused.status_code == 422


@pytest.mark.requirement("R148")
async def test_a_request_that_is_sent_twice_at_once_with_its_key_makes_one_task() -> None:
    async with door_of() as door:
        made: list[str] = []

        async def send() -> None:
            answer = await door.http.post(
                "/tasks", json={"title": "Water the plants"}, headers={"Idempotency-Key": "k"}
            )
            made.append(answer.json()["id"])

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(send)
        assert len(set(made)) == 1
        assert len((await door.http.get("/tasks")).json()["items"]) == 1
