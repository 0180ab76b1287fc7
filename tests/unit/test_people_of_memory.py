"""Whom facts are about: two names become one person, and a question about one does not return another."""

from __future__ import annotations

from typing import Any

import pytest

from bethink.memory import NewFact
from tests.door import Door, open_door
from tests.house import open_house

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("own", "others", "about_me", "about_them"),
    [
        (
            "User lives in Linz",
            "User's sister lives in Oslo",
            "Where do I live?",
            "Where does my sister live?",
        ),
        ("Ich wohne in Linz", "Meine Schwester wohnt in Oslo", "Wo wohne ich?", "Wo wohnt meine Schwester?"),
        ("J'habite à Linz", "Ma sœur habite à Oslo", "Où est-ce que j'habite ?", "Où habite ma sœur ?"),
        ("Yo vivo en Linz", "Mi hermana vive en Oslo", "¿Dónde vivo yo?", "¿Dónde vive mi hermana?"),
        ("Abito a Linz", "La mia sorella abita a Oslo", "Dove abito io?", "Dove abita la mia sorella?"),
        (
            "Mieszkam w Linz",
            "Moja siostra mieszka w Oslo",
            "Gdzie ja mieszkam?",
            "Gdzie mieszka moja siostra?",
        ),
        ("我住在北京", "我妹妹住在上海", "我住在哪里？", "我妹妹住在哪里？"),
    ],
)
async def test_a_question_about_one_is_answered_by_what_is_known_of_them(
    own: str, others: str, about_me: str, about_them: str
) -> None:
    async with open_house() as house:
        for content in (others, own, "User likes tea", "User's dog Rex lives in a kennel"):
            await house.app.memory.add(house.me, NewFact(content))
        for question, answer in ((about_me, own), (about_them, others)):
            found = await house.app.recall.search(house.me, question, kinds={"fact"})
            assert found[0].text == answer, question


async def test_two_names_of_one_person_become_one_and_undo_parts_them() -> None:
    async with open_door() as door:
        added = [
            (await door.http.post("/memories", json={"content": content})).json()["memory"]
            for content in ("Anna lives in Oslo", "User's sister plays chess", "User likes tea")
        ]
        assert [one["about"] for one in added] == ["Anna", "sister", "owner"]
        numbers = (await door.http.get("/memories/stats")).json()
        assert numbers["abouts"] == {"Anna": 1, "sister": 1, "owner": 1}
        body = {"ids": [added[1]["id"]], "about": "Anna"}
        done = (await door.http.post("/memories/batch", json=body)).json()
        listed = (await door.http.get("/memories", params={"about": "Anna"})).json()
        assert {one["content"] for one in listed["items"]} == {
            "Anna lives in Oslo",
            "User's sister plays chess",
        }
        await door.http.post("/memories/undo", json={"token": done["undo"]})
        assert (await door.http.get("/memories/stats")).json()["abouts"] == numbers["abouts"]


async def _same(door: Door, name: str, about: str) -> str:
    """File what is known by one name under another, as the page does; the undo token."""
    known = (await door.http.get("/memories", params={"about": name})).json()["items"]
    body = {"ids": [one["id"] for one in known], "about": about, "also": name}
    return (await door.http.post("/memories/batch", json=body)).json()["undo"]


async def _add(door: Door, content: str) -> dict[str, Any]:
    return (await door.http.post("/memories", json={"content": content})).json()["memory"]


async def _first(door: Door, question: str) -> str:
    found = (await door.http.get("/recall", params={"query": question, "kinds": "fact"})).json()["items"]
    return found[0]["text"]


async def test_who_has_two_names_is_found_by_both_and_what_is_told_by_the_other_is_theirs() -> None:
    async with open_door() as door:
        for content in (
            "Roberto lives in Oslo",
            "Bert plays chess",
            "Carla lives in Turin",
            "Carla plays chess",
        ):
            await _add(door, content)
        undo = await _same(door, "Bert", "Roberto")
        assert (await _add(door, "Bert collects stamps"))["about"] == "Roberto"
        assert (await _add(door, "Carla likes coins"))["about"] == "Carla"
        assert await _first(door, "Where does Bert live?") == "Roberto lives in Oslo"
        assert await _first(door, "What does Roberto play?") == "Bert plays chess"
        assert await _first(door, "Where does Carla live?") == "Carla lives in Turin"
        (alias,) = (await door.http.get("/memories/aliases")).json()["items"]
        assert (alias["name"], alias["about"]) == ("Bert", "Roberto")
        await door.http.post("/memories/undo", json={"token": undo})
        assert (await door.http.get("/memories/aliases")).json()["items"] == []
        assert (await _add(door, "Bert drives a van"))["about"] == "Bert"


async def test_a_relative_is_found_by_name_and_by_what_they_are_to_the_owner() -> None:
    async with open_door() as door:
        for content in ("User lives in Linz", "Anna lives in Oslo", "User's sister plays chess"):
            await _add(door, content)
        await _same(door, "sister", "Anna")
        assert await _first(door, "Where does my sister live?") == "Anna lives in Oslo"
        assert await _first(door, "What does Anna play?") == "User's sister plays chess"
        assert (await _add(door, "User's sister has a boat"))["about"] == "Anna"


async def test_a_name_is_removed_and_what_was_filed_stays() -> None:
    async with open_door() as door:
        for content in ("Roberto lives in Oslo", "Bert plays chess"):
            await _add(door, content)
        await _same(door, "Bert", "Roberto")
        (alias,) = (await door.http.get("/memories/aliases")).json()["items"]
        assert (await door.http.delete(f"/memories/aliases/{alias['id']}")).status_code == 204
        assert (await door.http.delete(f"/memories/aliases/{alias['id']}")).status_code == 404
        assert (await _add(door, "Bert drives a van"))["about"] == "Bert"
        assert len((await door.http.get("/memories", params={"about": "Roberto"})).json()["items"]) == 2


async def test_a_chain_of_names_leads_to_one_and_nobody_is_the_owner() -> None:
    async with open_door() as door:
        for content in ("Roberto lives in Oslo", "Bert plays chess", "Robby drives a van"):
            await _add(door, content)
        await _same(door, "Bert", "Roberto")
        await _same(door, "Roberto", "Robby")
        found = (await door.http.get("/memories/aliases")).json()["items"]
        assert {one["name"]: one["about"] for one in found} == {"Bert": "Robby", "Roberto": "Robby"}
        (one,) = (await door.http.get("/memories", params={"about": "Robby"})).json()["items"][:1]
        for also in ("owner", "Anna"):
            body = {"ids": [one["id"]], "about": "owner" if also == "Anna" else "Anna", "also": also}
            assert (await door.http.post("/memories/batch", json=body)).status_code == 422


async def test_other_names_are_exported_and_forgotten_with_everything() -> None:
    async with open_door() as door:
        for content in ("Roberto lives in Oslo", "Bert plays chess"):
            await _add(door, content)
        await _same(door, "Bert", "Roberto")
        lines = (await door.http.get("/memories/export")).text
        assert '"kind":"alias"' in lines.replace(" ", "")
