"""Memories and recall over HTTP: read, correct, undo, take away, ask."""

from __future__ import annotations

from typing import Any

import pytest
from inline_snapshot import snapshot

from bethink.conversations.service import ConversationStart, PastMessage
from bethink.memory import NewFact
from tests.door import Door, open_door

pytestmark = pytest.mark.anyio


async def kept(door: Door, content: str, **more: object) -> dict[str, Any]:
    answer = await door.http.post("/memories", json={"content": content, **more})
    assert answer.status_code == 201
    door.house.clock.advance(1)
    return answer.json()


async def contents(door: Door, **query: object) -> list[str]:
    answer = await door.http.get("/memories", params=query)  # pyright: ignore[reportArgumentType]
    return [item["content"] for item in answer.json()["items"]]


async def test_a_memory_is_kept_with_its_source_and_time() -> None:
    async with open_door() as door:
        made = await kept(
            door, " Lives in  Paris ", category="personal_info", importance=0.9, topics=["home"]
        )
        found = await door.http.get(f"/memories/{made['memory']['id']}")
    assert made["change"] == "added"
    assert made["undo"] == f"added:{made['memory']['id']}"
    assert found.json() == made["memory"]
    assert {name: value for name, value in found.json().items() if name != "id"} == snapshot(
        {
            "content": "Lives in Paris",
            "category": "personal_info",
            "importance": 0.9,
            "topics": ["home"],
            "created_at": "2026-02-02T02:40:00Z",
            "valid_from": None,
            "valid_until": None,
            "state": "active",
            "pinned": False,
            "sources": [{"kind": "person", "id": None, "message": None, "at": "2026-02-02T02:40:00Z"}],
            "supersedes": [],
            "corrects": [],
            "superseded_by": None,
            "depends_on": [],
            "about": "owner",
            "doubts": [],
        }
    )


async def test_the_very_same_words_are_kept_once() -> None:
    async with open_door() as door:
        await kept(door, "Lives in Paris")
        again = await kept(door, "lives in paris.")
        assert again["change"] == "merged"
        assert len(await contents(door)) == 1


async def test_memories_are_listed_newest_first_by_page_category_and_state() -> None:
    async with open_door() as door:
        for content in ("One", "Two", "Three"):
            await kept(door, content)
        plan = await kept(door, "Goes to Lisbon", category="plans")
        await door.http.delete(f"/memories/{(await kept(door, 'Wrong'))['memory']['id']}")
        first = (await door.http.get("/memories", params={"limit": 3})).json()
        second = (await door.http.get("/memories", params={"limit": 3, "cursor": first["cursor"]})).json()
        assert [item["content"] for item in first["items"]] == ["Goes to Lisbon", "Three", "Two"]
        assert [item["content"] for item in second["items"]] == ["One"]
        assert (first["total"], second["cursor"]) == (4, None)
        assert await contents(door, category="plans") == [plan["memory"]["content"]]
        assert await contents(door, state="retracted") == ["Wrong"]
        assert len(await contents(door, state="all")) == 5


async def test_a_search_has_scores_and_knows_its_category() -> None:
    async with open_door() as door:
        await kept(door, "Lives in Paris", category="personal_info")
        await kept(door, "Goes to Paris by train", category="plans")
        await kept(door, "Likes green tea")
        found = (await door.http.get("/memories", params={"query": "Paris", "limit": 2})).json()
        assert {item["content"] for item in found["items"]} == {"Lives in Paris", "Goes to Paris by train"}
        assert all(0 < item["score"] <= 1 for item in found["items"])
        assert await contents(door, query="Paris", category="plans") == ["Goes to Paris by train"]
        refused = await door.http.get("/memories", params={"query": "Paris", "state": "retracted"})
        assert refused.status_code == 422


async def test_a_correction_supersedes_and_the_chain_is_told_oldest_first() -> None:
    async with open_door() as door:
        first = (await kept(door, "Lives in Paris"))["memory"]["id"]
        changed = (await door.http.patch(f"/memories/{first}", json={"content": "Lives in Rome"})).json()
        door.house.clock.advance(1)
        second = changed["memory"]["id"]
        third = (await door.http.patch(f"/memories/{second}", json={"content": "Lives in Oslo"})).json()
        assert (changed["change"], changed["undo"]) == ("superseded", f"superseded:{second}")
        for asked in (first, second, third["memory"]["id"]):
            chain = (await door.http.get(f"/memories/{asked}/history")).json()["items"]
            assert [(item["content"], item["state"]) for item in chain] == [
                ("Lives in Paris", "superseded"),
                ("Lives in Rome", "superseded"),
                ("Lives in Oslo", "active"),
            ]
        assert [item["superseded_by"] for item in chain] == [second, third["memory"]["id"], None]


async def test_what_a_correction_leaves_out_stays() -> None:
    async with open_door() as door:
        made = await kept(door, "Lives in Paris", category="personal_info", topics=["home"], importance=0.7)
        url = f"/memories/{made['memory']['id']}"
        pinned = (await door.http.patch(url, json={"pinned": True})).json()["memory"]
    assert pinned == made["memory"] | {"pinned": True}


async def test_every_change_can_be_taken_back() -> None:
    async with open_door() as door:
        added = await kept(door, "Lives in Paris")
        url = f"/memories/{added['memory']['id']}"
        removed = (await door.http.delete(url)).json()
        assert (removed["change"], removed["memory"]["state"]) == ("retracted", "retracted")
        assert await contents(door) == []
        restored = (await door.http.post("/memories/undo", json={"token": removed["undo"]})).json()
        assert (restored["change"], restored["memory"]["state"]) == ("restored", "active")
        corrected = (await door.http.patch(url, json={"content": "Lives in Rome"})).json()
        await door.http.post("/memories/undo", json={"token": corrected["undo"]})
        assert await contents(door) == ["Lives in Paris"]
        await door.http.post("/memories/undo", json={"token": added["undo"]})
        assert await contents(door) == []
        again = await door.http.post("/memories/undo", json={"token": added["undo"]})
        nonsense = await door.http.post("/memories/undo", json={"token": "please"})
        assert (again.status_code, nonsense.status_code) == (404, 422)


async def test_forgetting_is_final() -> None:
    async with open_door() as door:
        made = await kept(door, "Lives in Paris")
        url = f"/memories/{made['memory']['id']}"
        assert (await door.http.delete(url, params={"forget": True})).json()["forgotten"] == 1
        assert (await door.http.get(url)).status_code == 404
        assert (await door.http.delete(url, params={"forget": True})).status_code == 404
        assert (await door.http.post("/memories/undo", json={"token": made["undo"]})).status_code == 404


async def test_forgetting_everything_asks_first() -> None:
    async with open_door() as door:
        for content in ("One", "Two"):
            await kept(door, content)
        asked = await door.http.delete("/memories")
        assert (asked.status_code, asked.json()["detail"]) == (
            422,
            "This would forget 2 memories for good. Add confirm=true to do it.",
        )
        assert len(await contents(door)) == 2
        assert (await door.http.delete("/memories?confirm=true")).json()["forgotten"] == 2
        assert await contents(door, state="all") == []


@pytest.mark.parametrize("path", ["/memories/x", "/memories/x/history"])
async def test_an_unknown_memory_is_not_found(path: str) -> None:
    async with open_door() as door:
        assert (await door.http.get(path)).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"content": ""}, 422),
        ({"content": "\u0000"}, 422),
        ({"content": "x" * 8001}, 413),
        ({"content": "x", "importance": 1.5}, 422),
        ({"content": "x", "importance": "high"}, 422),
        ({"content": "x", "topics": ["a"] * 33}, 422),
        ({"content": "x", "category": "a\u0000b"}, 422),
        ({"content": "x", "id": "mine"}, 422),
        ("text", 422),
    ],
)
async def test_a_memory_that_is_not_fit_is_refused(body: object, status: int) -> None:
    async with open_door() as door:
        answer = await door.http.post("/memories", json=body)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        assert await contents(door, state="all") == []


async def test_recall_answers_with_sources_and_bounds_in_time() -> None:
    async with open_door() as door:
        paris = (await kept(door, "Lives in Paris"))["memory"]
        moved = (await door.http.patch(f"/memories/{paris['id']}", json={"content": "Lives in Rome"})).json()
        ask = {"query": "Where do I live? Paris Rome"}
        now = (await door.http.get("/recall", params=ask)).json()
        then = (await door.http.get("/recall", params=ask | {"as_of": paris["created_at"]})).json()
        later = (await door.http.get("/recall", params=ask | {"since": "2030-01-01T00:00:00+02:00"})).json()
    assert [(item["id"], item["text"]) for item in now["items"]] == [(moved["memory"]["id"], "Lives in Rome")]
    assert [item["text"] for item in then["items"]] == ["Lives in Paris"]
    assert (later["items"], later["warnings"]) == ([], [])
    (item,) = then["items"]
    assert (item["kind"], item["source"], item["at"]) == ("fact", "person", paris["created_at"])


@pytest.mark.requirement("R138")
async def test_recall_is_bounded_by_conversation_project_and_budget_and_says_what_it_left_out() -> None:
    async with open_door() as door:
        await kept(door, "Keeps bees", valid_from="2020-01-01T00:00:00Z")
        conversations = door.house.app.conversations
        hive = await conversations.create(door.house.me, ConversationStart(project="hive"))
        told = PastMessage("The bees swarmed", 1_700_000_000_000_000, speaker="Ben")
        await conversations.take_over(door.house.me, hive.id, [told])

        async def asked(**bounds: object) -> dict[str, Any]:
            answer = await door.http.get("/recall", params={"query": "bees"} | bounds)  # pyright: ignore[reportArgumentType]
            return answer.json()

        everything = await asked()
        fact, turn = sorted(everything["items"], key=lambda item: item["kind"])
        assert (fact["valid_from"], fact["speaker"]) == ("2020-01-01T00:00:00Z", None)
        assert (turn["conversation"], turn["speaker"], turn["valid_until"], turn["doubt"]) == (
            *(hive.id, "Ben", None, None),
        )
        assert (everything["tokens"], everything["left_out"]) == (22, 0)
        for bounds in ({"project": "hive"}, {"conversation": hive.id}):
            assert [item["kind"] for item in (await asked(**bounds))["items"]] == ["turn"]
        assert (await asked(conversation="another"))["items"] == []
        part = await asked(budget=15)
        assert (len(part["items"]), part["left_out"]) == (1, 1)
        assert part["tokens"] <= 15


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({}, "query"),
        ({"query": "x", "budget": "0"}, "budget"),
        ({"query": "x", "k": "0"}, "k"),
        ({"query": "x", "k": "201"}, "k"),
        ({"query": "x", "since": "2026-01-01T00:00:00"}, "since"),
        ({"query": "x", "as_of": "yesterday"}, "as_of"),
        ({"query": "x", "kinds": "fact,dream"}, "dream"),
    ],
)
async def test_a_question_that_is_not_valid_says_why(query: dict[str, str], named: str) -> None:
    async with open_door() as door:
        answer = await door.http.get("/recall", params=query)
    assert answer.status_code == 422
    assert named in answer.json()["detail"]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999Z"])
async def test_the_ends_of_time_can_be_asked_about(moment: str) -> None:
    async with open_door() as door:
        query = {"query": "x", "as_of": moment, "since": moment, "until": moment}
        assert (await door.http.get("/recall", params=query)).json()["items"] == []


async def test_suggestions_are_listed_accepted_and_rejected() -> None:
    async with open_door() as door:
        memory, me = door.house.app.memory, door.house.me
        for content in ("Plays the cello", "Keeps two snakes"):
            await memory.add(me, NewFact(content, suggested=True))
            door.house.clock.advance(1)
        assert await contents(door) == []
        listed = (await door.http.get("/memories", params={"state": "suggested"})).json()["items"]
        snakes, cello = (item["id"] for item in listed)
        accepted = (await door.http.post(f"/memories/{cello}/accept")).json()
        rejected = (await door.http.post(f"/memories/{snakes}/reject")).json()
        assert (accepted["memory"]["state"], rejected["memory"]["state"]) == ("active", "retracted")
        assert await contents(door) == ["Plays the cello"]
        for path in (f"/memories/{cello}/accept", f"/memories/{snakes}/reject", "/memories/nobody/accept"):
            assert (await door.http.post(path)).status_code == 404
        await door.http.post("/memories/undo", json={"token": rejected["undo"]})
        assert await contents(door, state="suggested") == ["Keeps two snakes"]


async def test_a_change_tells_what_else_it_touched() -> None:
    async with open_door() as door:
        paris = await kept(door, "User lives in Paris")
        cafe = await kept(door, "The cafe is near", depends_on=[paris["memory"]["id"]])
        assert paris["others"] == cafe["others"] == []
        berlin = await kept(door, "User lives in Berlin", valid_from="2026-01-05T00:00:00Z")
        (other,) = berlin["others"]
        assert (other["state"], other["valid_until"]) == ("superseded", "2026-01-05T00:00:00Z")
        found = (await door.http.get(f"/memories/{cafe['memory']['id']}")).json()
        assert found["depends_on"] == [paris["memory"]["id"]]
        assert [doubt["kind"] for doubt in found["doubts"]] == ["depends"]
        assert [doubt["memory"] for doubt in found["doubts"]] == [paris["memory"]["id"]]
        edited = await door.http.patch(f"/memories/{found['id']}", json={"content": "The cafe is far"})
        assert edited.json()["memory"]["depends_on"] == [paris["memory"]["id"]]
        assert edited.json()["memory"]["doubts"] == [], "it was looked at again"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"content": "The password is hunter22"}, 422, "secret"),
        ({"content": "a", "depends_on": ["nothing"]}, 422, "bad_input"),
        ({"content": "a", "valid_from": "2026-01-05"}, 422, "bad_input"),
        ({"content": "a", "valid_from": 0}, 422, "bad_input"),
        (
            {"content": "a", "valid_from": "9999-12-31T23:59:59Z", "valid_until": "0001-01-01T00:00:00Z"},
            422,
            "bad_input",
        ),
    ],
)
async def test_what_cannot_be_kept_is_told(body: dict[str, object], status: int, code: str) -> None:
    async with open_door() as door:
        answer = await door.http.post("/memories", json=body)
        assert (answer.status_code, answer.json()["type"]) == (status, f"urn:bethink:error:{code}")
        assert "hunter22" not in answer.text
        assert await contents(door) == []
