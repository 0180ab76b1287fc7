"""Asking is not telling: however often something was asked, what answers it is found as well as before."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from random import Random

import pytest

from bethink.embeddings import Embeddings
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.errors import EmbeddingsUnavailable
from bethink.llm.scripted import ScriptedLlm
from bethink.maintenance.background import Vectors
from bethink.memory import NewFact
from bethink.recall.service import Hit
from tests.fakes import NoEmbeddings
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio

FACTS = (
    "User works at Initech as an accountant",
    "User's employer before that was Globex",
    "User lives in Paris",
    "User's sister Clara works in a bakery in Porto",
    "User is allergic to peanuts",
    "User's dog is a beagle called Biscuit",
)
TALK = (
    "My bike is parked behind the Kelvin garage, I left it there this morning",
    "We painted the kitchen green last weekend and it looks lovely",
)
ASKED = {
    FACTS[0]: (
        "Where do I work?",
        "Which company do I work for?",
        "Do you know where I work?",
        "Hi! Can you tell me where I work as an accountant?",
        "tell me which company I work for",
    ),
    TALK[0]: (
        "Where is my bike?",
        "Where did I park my bike this morning?",
        "Do you remember where my bike is parked?",
        "where did I leave the bike",
    ),
}
KNOWN = {
    FACTS[0]: ("You work at Initech.", "You work at Initech as an accountant, as you told me."),
    TALK[0]: ("Your bike is parked behind the Kelvin garage.", "It's behind the Kelvin garage."),
}
UNKNOWN = (
    "I don't know.",
    "I don't have any information about that yet. If you tell me, I'll remember it!",
    "Sorry, I could not find anything about your bike or your work in my memory.",
    "Das weiß ich leider nicht. Du hast mir deinen Arbeitgeber noch nicht genannt.",
    "No lo sé.",
    "知りません。",
)
OTHER_LANGUAGES = (
    ("Wo arbeite ich?", "Das weiß ich leider nicht."),
    ("wo arbeite ich", "Du arbeitest bei Initech."),
    ("¿Dónde trabajo?", "No lo sé, no me lo has dicho."),
    ("Où est-ce que je travaille ?", "Je ne sais pas."),
    ("我在哪里工作?", "我不知道。"),
    ("私はどこで働いていますか", "わかりません。"),
    ("أين أعمل؟", "لا أعرف."),
    ("Где я работаю?", "Я не знаю."),
    ("Nerede çalışıyorum?", "Bilmiyorum, Initech olabilir."),
)


async def tell(house: House) -> None:
    await house.app.memory.add_many(house.me, [NewFact(text) for text in FACTS])
    place = await house.new()
    for text in TALK:
        await house.say(text, place)


async def found(house: House, question: str, k: int = 5) -> list[Hit]:
    """What is found once all that was said has its vector: the background makes them when it comes to it."""
    memory = house.app.memory
    with suppress(EmbeddingsUnavailable):
        await Vectors(memory.store, memory.index, memory.embeddings).fill(house.me.owner)
    return await house.app.recall.search(house.me, question, k)


def place_of(hits: Sequence[Hit], text: str) -> tuple[int, float]:
    """The place of what answers, and its score, as one that is better when larger."""
    for place, hit in enumerate(hits):
        if hit.text == text:
            return -place, hit.score
    return -len(hits) - 1, 0.0


def scripted(answers: list[str]) -> ScriptedLlm:
    """Says nothing in particular of what it is told, and the answers in their order to what it is asked."""
    return ScriptedLlm(lambda _request: answers.pop(0) if answers else "Nice, thank you for telling me.")


@pytest.mark.parametrize("embeddings", [HashingEmbeddings(), NoEmbeddings()], ids=["hashing", "none"])
@pytest.mark.parametrize("same_place", [False, True], ids=["anew", "on"])
@pytest.mark.parametrize("answering", ["known", "unknown"])
@pytest.mark.parametrize("what", [FACTS[0], TALK[0]], ids=["fact", "talk"])
async def test_asking_ten_times_lowers_neither_the_place_nor_the_score_of_what_answers(
    embeddings: Embeddings, what: str, answering: str, *, same_place: bool
) -> None:
    answers: list[str] = []
    async with open_house(ports=ports_of(scripted(answers), embeddings=embeddings)) as house:
        await tell(house)
        before = {question: place_of(await found(house, question), what) for question in ASKED[what]}
        assert max(before.values()) > (-5, 0.0)
        place = await house.new() if same_place else None
        replies = KNOWN[what] if answering == "known" else UNKNOWN
        for times in range(10):
            answers.append(replies[times % len(replies)])
            await house.say(ASKED[what][times % len(ASKED[what])], place)
            for question, was in before.items():
                assert place_of(await found(house, question), what) >= was, (times, question)


@pytest.mark.parametrize("times", [3, 10])
async def test_the_same_question_over_and_over_changes_nothing_of_what_is_found(times: int) -> None:
    answers: list[str] = []
    async with open_house(ports=ports_of(scripted(answers))) as house:
        await tell(house)
        before = [(hit.text, hit.score) for hit in await found(house, "Where do I work?")]
        for _ in range(times):
            answers.append("I don't know.")
            await house.say("Where do I work?")
        assert [(hit.text, hit.score) for hit in await found(house, "Where do I work?")] == before


async def test_a_question_in_another_language_is_no_knowledge_either() -> None:
    answers: list[str] = []
    async with open_house(ports=ports_of(scripted(answers))) as house:
        await tell(house)
        before = [(hit.text, hit.score) for hit in await found(house, "Where do I work?")]
        for asked, answer in OTHER_LANGUAGES:
            answers.append(answer)
            await house.say(asked)
            assert [(hit.text, hit.score) for hit in await found(house, "Where do I work?")] == before, asked


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("what", sorted(ASKED))
async def test_any_mixture_of_questions_and_answers_leaves_it_where_it_is(what: str, seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - no secret
    answers: list[str] = []
    async with open_house(ports=ports_of(scripted(answers))) as house:
        await tell(house)
        before = {question: place_of(await found(house, question), what) for question in ASKED[what]}
        place = await house.new()
        for _ in range(chance.randint(1, 10)):
            answers.append(chance.choice((*KNOWN[what], *UNKNOWN)))
            await house.say(chance.choice(ASKED[what]), chance.choice((None, place)))
        for question, was in before.items():
            assert place_of(await found(house, question), what) >= was


async def test_what_was_asked_is_still_found_when_it_is_asked_for() -> None:
    answers: list[str] = []
    async with open_house(ports=ports_of(scripted(answers))) as house:
        await tell(house)
        answers.append("I don't know.")
        await house.say("Which tyres does my unicycle need?")
        hits = await found(house, "What did I ask you about my unicycle?")
        assert hits[0].text == "Which tyres does my unicycle need?"
        page = await house.app.message_search.search(house.me, "unicycle")
        assert [item.stored.message.content for item in page.items] == ["Which tyres does my unicycle need?"]


async def test_a_question_that_tells_something_or_is_answered_with_news_is_knowledge() -> None:
    answers: list[str] = []
    async with open_house(ports=ports_of(scripted(answers))) as house:
        await tell(house)
        told = "I bought a Sony A7R camera. Which lens should I take?"
        suggested = "Can you suggest a bag for my unicycle?"
        answers += ["I'd take the 35 mm Zeiss.", "The Ortlieb 7 has straps that fit a saddle post."]
        await house.say(told)
        await house.say(suggested)
        assert (await found(house, "Which camera do I own?"))[0].text == told
        texts = [hit.text for hit in await found(house, "bag for the unicycle")]
        assert suggested in texts[:2]
        assert "The Ortlieb 7 has straps that fit a saddle post." in texts
