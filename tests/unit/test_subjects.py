"""Whom a fact is about, whom a question asks about, and that one does not answer for the other."""

from __future__ import annotations

import pytest

from bethink.assertions import about_of
from bethink.memory import NewFact
from tests.facts import found
from tests.house import open_house


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ("User lives in Bonn", "owner"),
        ("Likes tea", "owner"),
        ("User's name is Anna", "owner"),
        ("User's mother tongue is German", "owner"),
        ("User's sister lives in Oslo", "sister"),
        ("User\u2019s sister Anna lives in Oslo", "Anna"),
        ("Anna lives in Oslo", "Anna"),
        ("User's sister's dog Rex barks", "Rex"),
        ("User's dog's name is Rex", "Rex"),
        ("My project Atlas is due in May", "Atlas"),
        ("Meine Schwester wohnt in Oslo", "sister"),
        ("Meine Großmutter wohnt in Bern", "grandmother"),
        ("Meine Grossmutter wohnt in Bern", "grandmother"),
        ("Die Schwester des Nutzers wohnt in Oslo", "sister"),
        ("Moja siostra Anna mieszka w Oslo", "Anna"),
        ("Mon frère habite à Lyon", "brother"),
        ("我妹妹住在上海", "sister"),
        ("用户的妹妹叫小红", "小红"),
        ("用户住在北京", "owner"),
    ],
)
def test_whom_a_fact_is_about_is_read_from_its_beginning(content: str, about: str) -> None:
    assert about_of(content) == about


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("own", "other", "asks_own", "asks_other"),
    [
        (
            "User lives in a flat in Bonn, high above the river bank",
            "User's sister lives in Oslo",
            "Where do I live?",
            "Where does my sister live?",
        ),
        ("Nutzer wohnt in Bonn", "Die Schwester wohnt in Oslo", "Wo wohne ich?", "Wo wohnt Anna?"),
        ("用户住在北京", "用户的妹妹住在上海", "我住在哪里?", "我妹妹住在哪里?"),
    ],
)
async def test_a_question_about_the_owner_is_answered_with_the_owner(
    own: str, other: str, asks_own: str, asks_other: str
) -> None:
    async with open_house() as house:
        await house.app.memory.add(house.me, NewFact(own))
        about = "Anna" if "Anna" in asks_other else None
        await house.app.memory.add(house.me, NewFact(other, about=about))
        assert (await found(house, asks_own))[:1] != [other]
        assert (await found(house, asks_other))[:1] == [other]
        by_score = {fact.content: score for fact, score in await house.app.memory.search(house.me, asks_own)}
        assert by_score.get(other, 0.0) <= by_score.get(own, 1.0)
