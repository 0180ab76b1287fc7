"""What the room Memory asks over HTTP: filters, another time, what answers, many at once, who used what."""

from __future__ import annotations

from typing import Any

import pytest

from bethink.clock import to_datetime
from bethink.llm.scripted import ScriptedLlm
from tests.door import Door, open_door

pytestmark = pytest.mark.anyio


async def kept(door: Door, content: str, **more: object) -> str:
    answer = await door.http.post("/memories", json={"content": content, **more})
    assert answer.status_code == 201, answer.text
    door.house.clock.advance(60)
    return answer.json()["memory"]["id"]


async def listed(door: Door, **query: object) -> dict[str, Any]:
    answer = await door.http.get("/memories", params=query)  # pyright: ignore[reportArgumentType]
    assert answer.status_code == 200, answer.text
    return answer.json()


async def contents(door: Door, **query: object) -> list[str]:
    return [item["content"] for item in (await listed(door, **query))["items"]]


def now(door: Door) -> str:
    return to_datetime(door.house.clock.now_us()).isoformat()


async def test_filters_narrow_by_pin_trust_source_and_time_with_pages_and_a_total() -> None:
    async with open_door() as door:
        await kept(door, "Keeps bees")
        middle = now(door)
        door.house.clock.advance(60)
        await kept(door, "Lives in Lyon", pinned=True)
        for number in range(5):
            await kept(door, f"Owns painting number {number} of the {number}th floor")
        assert await contents(door, pinned=True) == ["Lives in Lyon"]
        assert "Lives in Lyon" not in await contents(door, pinned=False)
        assert await contents(door, until=middle) == ["Keeps bees"]
        assert len(await contents(door, since=middle)) == 6
        assert await contents(door, trust="untrusted") == []
        assert len(await contents(door, source="person")) == 7
        first = await listed(door, since=middle, limit=4)
        second = await listed(door, since=middle, limit=4, cursor=first["cursor"])
        assert (first["total"], len(first["items"]), len(second["items"])) == (6, 4, 2)
        assert second["cursor"] is None
        seen = {item["id"] for item in (*first["items"], *second["items"])}
        assert len(seen) == 6
        assert "Keeps bees" not in await contents(door, query="bees", pinned=True)


async def test_another_moment_shows_what_was_known_then() -> None:
    async with open_door() as door:
        before = now(door)
        door.house.clock.advance(60)
        home = await kept(door, "User lives in Paris")
        wrong = await kept(door, "User owns a tortoise")
        march = now(door)
        door.house.clock.advance(60)
        await door.http.patch(f"/memories/{home}", json={"content": "User lives in Lyon"})
        door.house.clock.advance(60)
        retracted = (await door.http.delete(f"/memories/{wrong}")).json()
        door.house.clock.advance(60)
        await kept(door, "User keeps bees")
        assert await contents(door, as_of=before) == []
        assert set(await contents(door, as_of=march)) == {"User lives in Paris", "User owns a tortoise"}
        assert set(await contents(door)) == {"User lives in Lyon", "User keeps bees"}
        # What was taken back and restored was known at both times.
        await door.http.post("/memories/undo", json={"token": retracted["undo"]})
        assert "User owns a tortoise" in await contents(door, as_of=march)
        then = await contents(door, as_of=march, query="Where does the user live?")
        assert then[0] == "User lives in Paris"
        bad = await door.http.get("/memories", params={"as_of": "March"})
        assert bad.status_code == 422


async def test_a_search_says_which_of_what_it_found_answers() -> None:
    async with open_door() as door:
        assert (await listed(door, query="tortoise"))["answering"] == 0
        for content in ("User owns a tortoise called Shelly", "User keeps bees", "User lives in Lyon"):
            await kept(door, content)
        found = await listed(door, query="tortoise Shelly")
        assert found["items"][0]["content"].startswith("User owns a tortoise")
        assert 1 <= found["answering"] < 3
        assert (await listed(door, query="quantum chromodynamics"))["answering"] == 0
        assert (await listed(door))["answering"] is None


async def test_several_are_retracted_pinned_and_filed_with_one_undo_each() -> None:
    async with open_door() as door:
        ids = [await kept(door, content) for content in ("Keeps bees", "Lives in Lyon", "Plays the cello")]

        async def changed(**edit: object) -> dict[str, Any]:
            return (await door.http.post("/memories/batch", json={"ids": ids, **edit})).json()

        async def undo(change: dict[str, Any]) -> None:
            answer = await door.http.post("/memories/undo", json={"token": change["undo"]})
            assert (answer.status_code, answer.json()["count"]) == (200, 3)

        filed = await changed(category="About Me")
        assert (filed["count"], len(await contents(door, category="about_me"))) == (3, 3)
        await undo(filed)
        assert len(await contents(door, category="general")) == 3
        pinned = await changed(pinned=True)
        assert len(await contents(door, pinned=True)) == 3
        await undo(pinned)
        assert await contents(door, pinned=True) == []
        gone = await changed(retract=True)
        assert (gone["change"], await contents(door)) == ("retracted", [])
        await undo(gone)
        assert len(await contents(door)) == 3
        again = await door.http.post("/memories/undo", json={"token": gone["undo"]})
        assert again.status_code == 404
        for body in ({"ids": ids}, {"ids": []}, {"ids": ["x"] * 501, "pinned": True}):
            assert (await door.http.post("/memories/batch", json=body)).status_code == 422
        unknown = await door.http.post("/memories/batch", json={"ids": ["nobody"], "pinned": True})
        assert unknown.status_code == 404


async def test_two_that_say_the_same_are_merged_and_parted_again() -> None:
    async with open_door() as door:
        one = await kept(door, "User takes coffee without sugar", topics=["coffee"])
        other = await kept(door, "User drinks their coffee with no sugar", topics=["sugar"], pinned=True)
        merged = (await door.http.post("/memories/merge", json={"keep": one, "gone": [other]})).json()
        assert merged["memory"]["topics"] == ["coffee", "sugar"]
        assert merged["memory"]["pinned"] is True
        assert len(await contents(door)) == 1
        assert (await door.http.get(f"/memories/{other}")).json()["superseded_by"] == one
        await door.http.post("/memories/undo", json={"token": merged["undo"]})
        assert len(await contents(door)) == 2
        assert (await door.http.get(f"/memories/{one}")).json()["topics"] == ["coffee"]
        itself = await door.http.post("/memories/merge", json={"keep": one, "gone": [one]})
        assert itself.status_code == 422


async def test_an_answer_tells_which_memories_it_used() -> None:
    async with open_door(ScriptedLlm(["You keep bees [m1]."])) as door:
        bees = await kept(door, "User keeps bees", importance=0.9)
        other = await kept(door, "User's tax number is in the blue folder")
        talk = await door.new()
        told = await door.chat(talk, "What do I keep? bees")
        assert told.status_code == 200
        uses = (await door.http.get(f"/memories/{bees}/uses")).json()["items"]
        assert [(one["conversation"], one["is_cited"]) for one in uses] == [(talk, True)]
        assert uses[0]["position"] > 0
        not_cited = (await door.http.get(f"/memories/{other}/uses")).json()["items"]
        assert not any(one["is_cited"] for one in not_cited)
        assert (await door.http.get("/memories/nobody/uses")).status_code == 404


async def test_a_question_after_the_slash_is_answered_in_words() -> None:
    async with open_door() as door:
        await kept(door, "User keeps bees in Lyon")
        talk = await door.new()

        async def said(question: str) -> str:
            answer = await door.chat(talk, f"/recall {question}")
            return answer.json()["message"]["content"]

        found = await said("bees in Lyon")
        assert found == "From your memory:\n\n- User keeps bees in Lyon"
        nothing = await said("zymurgy")
        assert nothing.startswith("Nothing in your memory answers that.")
        assert "Similarity" not in found + nothing


async def test_a_thing_from_a_year_is_not_said_to_be_so_since_then() -> None:
    async with open_door() as door:
        for content, since in (
            ("User has a bicycle from 1984", None),
            ("User's car from 1999 is red", None),
            ("User has worked at the clinic from 2015", "2015-01-01T00:00:00Z"),
            ("User lived in Paris from 2010 to 2014", "2010-01-01T00:00:00Z"),
        ):
            id = await kept(door, content)
            assert (await door.http.get(f"/memories/{id}")).json()["valid_from"] == since, content


async def test_the_story_of_a_memory_has_what_was_done_with_its_undo() -> None:
    async with open_door() as door:
        first = await kept(door, "User works at Acme as an engineer")
        edit = {"content": "User works at Globex as an engineer"}
        changed = (await door.http.patch(f"/memories/{first}", json=edit)).json()
        story = (await door.http.get(f"/memories/{changed['memory']['id']}/history")).json()
        assert [one["content"] for one in story["items"]] == [
            "User works at Acme as an engineer",
            "User works at Globex as an engineer",
        ]
        assert next((one["change"], one["undo"]) for one in story["events"]) == (
            "superseded",
            changed["undo"],
        )
        assert story["events"][-1]["change"] == "added"


async def test_the_room_has_a_graph_and_numbers_of_use_whatever_the_setting_is() -> None:
    async with open_door(ScriptedLlm(["You keep bees [m1]."])) as door:
        bees = await kept(door, "User keeps bees with Mirabelle Dupont", importance=0.9)
        await kept(door, "Mirabelle Dupont lives in Lyon")
        assert (await door.http.get("/documents/graph")).status_code == 403
        graph = (await door.http.get("/memories/graph")).json()
        assert f"fact:{bees}" in {node["id"] for node in graph["nodes"]}
        assert "name:mirabelle dupont" in {node["id"] for node in graph["nodes"]}
        before = (await door.http.get("/memories/usage")).json()
        assert before == {"recalled": 0, "answers": 0, "cited": 0}
        await door.chat(await door.new(), "Which bees do I keep?")
        after = (await door.http.get("/memories/usage")).json()
        assert after["recalled"] >= 1
        assert (after["answers"], after["cited"]) == (1, 1)


async def test_categories_come_the_largest_first_and_each_in_one_piece() -> None:
    async with open_door() as door:
        for number, category in enumerate(("plans", "goals", "plans", "goals", "plans")):
            await kept(door, f"Thing number {number} of {category}", category=category)
        first = await listed(door, order="category", limit=3)
        second = await listed(door, order="category", limit=3, cursor=first["cursor"])
        found = [item["category"] for item in (*first["items"], *second["items"])]
        assert found == ["plans"] * 3 + ["goals"] * 2
