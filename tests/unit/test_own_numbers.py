"""How well an owner is known, and what they asked that nobody could tell: noted, answered once, forgotten."""

from __future__ import annotations

import pytest

from bethink.llm.scripted import ScriptedLlm
from bethink.memory import NewFact
from bethink.reflection.questions import QUESTIONS, OpenQuestion, OpenQuestions
from bethink.store import Scan, records_of
from tests.command_line import CommandLine
from tests.door import open_door
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

UNKNOWN = "I don't know that, you have not told me."


async def asked(house: House, *said: str) -> list[str]:
    """What is open once these were asked."""
    for one in said:
        await house.say(one)
        await house.app.post_turn.finished()
    return [one.text for one in await house.app.features.of(OpenQuestions).open(house.me)]


async def kept(house: House) -> list[OpenQuestion]:
    store = house.app.ports.store
    return [one async for one in records_of(store, house.me.owner, Scan(QUESTIONS, order="at"))]


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("What is my dentist called?", UNKNOWN),
        ("Wie heißt mein Zahnarzt?", "Das weiß ich nicht."),
        ("Où habite ma sœur ?", "Je ne sais pas, tu ne me l'as pas dit."),
        ("¿Dónde trabajo?", "No lo sé."),
        ("我住在哪里？", "我不知道。"),
    ],
)
async def test_a_question_about_oneself_that_finds_nothing_is_noted_once(said: str, answer: str) -> None:
    async with open_house(ScriptedLlm(lambda _request: answer)) as house:
        assert await asked(house, said, said.upper() if said.isascii() else said) == [said]


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("What is the capital of Peru?", "I don't know."),
        ("What is my dentist called?", "Your dentist is called Dr. Ito."),
        ("My dentist is kind. What is she called?", UNKNOWN),
        ("Do I eat meat?", "You do not eat meat."),
        ("Forget it", UNKNOWN),
    ],
)
async def test_other_questions_are_not(said: str, answer: str) -> None:
    async with open_house(ScriptedLlm(lambda _request: answer)) as house:
        await house.app.memory.add(house.me, NewFact("The user does not eat meat"))
        assert await asked(house, said) == []


async def test_it_is_answered_once_or_dismissed_over_http_and_stays_so() -> None:
    async with open_door(ScriptedLlm(lambda _request: UNKNOWN)) as door:
        await asked(door.house, "What is my dentist called?", "Where do I work?")
        page = (await door.http.get("/memories/statistics")).json()
        work, dentist = page["questions"]
        assert (work["text"], dentist["text"]) == ("Where do I work?", "What is my dentist called?")
        answer = {"content": "My dentist is Dr. Ito"}
        done = await door.http.post(f"/memories/questions/{dentist['id']}/answer", json=answer)
        assert done.json()["memory"]["sources"][0]["kind"] == "person"
        assert (await door.http.post(f"/memories/questions/{work['id']}/dismiss")).status_code == 200
        assert (await door.http.post(f"/memories/questions/{work['id']}/dismiss")).status_code == 404
        assert await asked(door.house, "Where do I work?") == []
        assert [one.state for one in await kept(door.house)] == ["answered", "dismissed"]


async def test_a_question_goes_with_its_message_and_with_what_is_forgotten() -> None:
    async with open_house(ScriptedLlm(lambda _request: UNKNOWN)) as house:
        await asked(house, "What is my dentist Zacharias called?", "Where do I work?")
        fact = await house.app.memory.add(house.me, NewFact("My dentist is Zacharias"))
        await house.app.forgetting.forget(house.me, [fact.fact.id])
        assert "Zacharias" not in str(await kept(house))
        (left,) = await house.app.features.of(OpenQuestions).open(house.me)
        await house.app.runs.delete_conversation(house.me, left.conversation)
        assert await house.app.features.of(OpenQuestions).open(house.me) == []
        await house.app.features.of(OpenQuestions).clean(house.me.owner)
        assert "work" not in str(await kept(house))


async def test_questions_are_bounded_exported_and_come_back() -> None:
    async with open_house(ScriptedLlm(lambda _request: UNKNOWN)) as house:
        await asked(house, "Where do I work?")
        form = house.app.features.documents["question"]
        (lines,) = [page async for page in form.export(house.me.owner)]
        questions = house.app.features.of(OpenQuestions)
        (first,) = await kept(house)
        for place in range(205):
            more = OpenQuestion(
                id=f"q{place}", text="x", digest=f"d{place}", at=first.at + 1 + place, conversation="c"
            )
            await questions.note(house.me, more)
        assert len(await kept(house)) == 200
    async with open_house(None) as house:
        form = house.app.features.documents["question"]
        parsed = form.parse({name: value for name, value in lines[0].items() if name != "kind"})
        assert parsed == first
        assert await form.restore(house.me.owner, [parsed], False) == ["said"]
        assert await form.restore(house.me.owner, [parsed], False) == ["known"]


@pytest.mark.requirement("U3")
async def test_each_month_tells_what_was_known_used_corrected_and_forgotten() -> None:
    async with open_door(ScriptedLlm(lambda _request: "You live in Oslo [m1].")) as door:
        house = door.house
        memory = house.app.memory
        old = await memory.add(house.me, NewFact("The user lives in Oslo"))
        await memory.add(house.me, NewFact("The user plays chess"))
        await asked(house, "Where do I live?")
        house.clock.advance(31 * 86_400)
        await memory.edit(house.me, old.fact.id, NewFact("The user lives in Bergen"))
        gone = await memory.add(house.me, NewFact("The user collects stamps"))
        await house.app.forgetting.forget(house.me, [gone.fact.id])
        months = (await door.http.get("/memories/statistics")).json()["months"]
    assert [(one["known"], one["learnt"]) for one in months] == [(1, 1), (2, 1)]
    assert [(one["corrected"], one["forgotten"]) for one in months] == [(0, 0), (1, 1)]
    assert [(one["recalled"], one["used"]) for one in months] == [(1, 1), (0, 0)]


def test_both_are_shown_in_the_terminal(plain: CommandLine) -> None:
    plain("memory", "add", "The user likes the colour blue")
    (shown,) = plain("memory", "known", "--json").documents
    assert shown["months"][0]["learnt"] == 1
    assert "learnt" in plain("memory", "known").out
    assert plain("memory", "questions").out == ""
