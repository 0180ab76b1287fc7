"""Whom facts are about: two names become one person, and a question about one does not return another."""

from __future__ import annotations

import pytest

from bethink.memory import NewFact
from tests.door import open_door
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
