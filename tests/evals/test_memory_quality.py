"""How well recall answers questions about one invented person, with the real embedding model.

The figures are printed; `RECORD_FIGURES=1` writes them to `results.json`, which is
committed. Floors are modest: they catch a broken leg, not a lost point.
"""

from __future__ import annotations

import json
import os
import statistics
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from bethink.embeddings import Embeddings
from bethink.embeddings.e5 import E5
from bethink.embeddings.local import LocalEmbeddings
from bethink.memory import NewFact
from bethink.settings import Settings
from tests.contract.embeddings_suite import models_directory
from tests.fakes import NoEmbeddings
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
PERSON = tomllib.loads((HERE / "person.toml").read_text("utf-8"))
IN_CONTEXT: float = Settings.model_fields["recall_min_score"].default
SURE = 0.5
"""From here on it is likelier that a hit answers than that it only sounds like it."""


@pytest.fixture(scope="module")
async def embedder() -> LocalEmbeddings:
    embeddings = LocalEmbeddings(E5, models_directory())
    await embeddings.load()
    return embeddings


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares of questions, and scores: of the answer, and of the best hit where nothing answers."""

    recall_at_1: float
    recall_at_5: float
    answers_in_context: float
    answer_score_median: float
    unanswerable_score_median: float
    unanswerable_score_highest: float
    separation: float

    def __str__(self) -> str:
        return json.dumps({name: getattr(self, name) for name in self.__slots__})


async def figures_of(embeddings: Embeddings, questions: str) -> Figures:
    async with open_house(ports=ports_of(embeddings=embeddings)) as house:
        ids = await stored(house)
        places: list[int | None] = []
        answers: list[float] = []
        for fact, id in zip(PERSON["facts"], ids, strict=True):
            for question in fact.get(questions, ()):
                hits = await house.app.recall.search(house.me, question, 5)
                place = next((place for place, hit in enumerate(hits, 1) if hit.id == id), None)
                places.append(place)
                answers.append(0.0 if place is None else hits[place - 1].score)
        others = [await best_score(house, question) for question in PERSON["unanswerable"]["asked"]]
    pairs = [(answer > other) + (answer == other) / 2 for answer in answers for other in others]
    return Figures(
        recall_at_1=round(places.count(1) / len(places), 3),
        recall_at_5=round(sum(place is not None for place in places) / len(places), 3),
        answers_in_context=round(sum(score >= IN_CONTEXT for score in answers) / len(answers), 3),
        answer_score_median=round(statistics.median(answers), 3),
        unanswerable_score_median=round(statistics.median(others), 3),
        unanswerable_score_highest=round(max(others), 3),
        separation=round(statistics.fmean(pairs), 3),
    )


async def stored(house: House) -> list[str]:
    changes = await house.app.memory.add_many(
        house.me,
        [
            NewFact(
                fact["text"], importance=fact.get("importance", 0.5), topics=tuple(fact.get("topics", ()))
            )
            for fact in PERSON["facts"]
        ],
    )
    return [change.fact.id for change in changes]


async def best_score(house: House, question: str) -> float:
    hits = await house.app.recall.search(house.me, question, 1)
    return hits[0].score if hits else 0.0


def record(name: str, figures: Figures) -> None:
    print(f"\n{name}: {figures}")  # noqa: T201 - the figures are what this is for
    if os.environ.get("RECORD_FIGURES"):
        path = HERE / "results.json"
        kept = json.loads(path.read_text("utf-8")) if path.exists() else {}
        kept[name] = json.loads(str(figures))
        path.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", "utf-8")


@pytest.mark.timeout(60)
@pytest.mark.requirement("R194", "R189")
async def test_meaning_and_words_together_answer_most_questions(embedder: LocalEmbeddings) -> None:
    figures = await figures_of(embedder, "asked")
    record("meaning and words", figures)
    assert figures.recall_at_5 >= 0.9
    assert figures.recall_at_1 >= 0.65
    assert figures.answers_in_context >= 0.85
    assert figures.separation >= 0.88
    assert figures.unanswerable_score_median < SURE < figures.answer_score_median


@pytest.mark.timeout(60)
async def test_a_model_that_searches_for_the_user_finds_the_owner_s_facts(embedder: LocalEmbeddings) -> None:
    figures = await figures_of(embedder, "searched")
    record("as models search", figures)
    assert figures.recall_at_5 >= 0.9
    assert figures.recall_at_1 >= 0.65


@pytest.mark.timeout(60)
async def test_words_alone_answer_half_of_them_and_are_seldom_wrong() -> None:
    figures = await figures_of(NoEmbeddings(), "asked")
    record("words only", figures)
    assert figures.recall_at_5 >= 0.5
    assert figures.unanswerable_score_median == 0


SMALL = [
    NewFact("User's name is Alice", importance=0.9),
    NewFact("Lives in Paris, France", importance=0.9),
    NewFact("Prefers Python over JavaScript"),
    NewFact("Allergic to peanuts"),
    NewFact("Works at Google as an engineer"),
]


@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where do I live?", "Lives in Paris, France"),
        ("Which city do I live in?", "Lives in Paris, France"),
        ("What is my name?", "User's name is Alice"),
        ("Who am I?", "User's name is Alice"),
    ],
)
async def test_a_question_finds_the_statement_among_few(
    question: str, answer: str, count: int, embedder: LocalEmbeddings
) -> None:
    async with open_house(ports=ports_of(embeddings=embedder)) as house:
        await house.app.memory.add_many(house.me, SMALL[:count])
        first, second = await house.app.recall.search(house.me, question, 2)
    assert first.text == answer
    assert first.score >= IN_CONTEXT
    assert first.score >= second.score


@pytest.mark.parametrize(
    "question", ["What is the capital of Mongolia?", "How do I sort a list in Rust?", "Thanks!"]
)
async def test_a_question_about_nothing_known_scores_low(question: str, embedder: LocalEmbeddings) -> None:
    async with open_house(ports=ports_of(embeddings=embedder)) as house:
        await house.app.memory.add_many(house.me, SMALL)
        assert await best_score(house, question) < IN_CONTEXT


@pytest.mark.timeout(60)
async def test_what_answers_scores_above_what_only_sounds_like_it(embedder: LocalEmbeddings) -> None:
    """Half of the questions ask for what nobody told, in the words of what was told."""
    lines = (HERE / "absence.tsv").read_text("utf-8").splitlines()
    told, _, *asked = zip(*(line.split("\t") for line in lines[1:]), strict=True)
    async with open_house(ports=ports_of(embeddings=embedder)) as house:
        await house.app.memory.add_many(house.me, [NewFact(text) for text in told])
        scores = [[await best_score(house, question) for question in questions] for questions in asked]
    answered, unknown = [*scores[0], *scores[1]], [*scores[2], *scores[3]]
    pairs = [(answer > other) + (answer == other) / 2 for answer in answered for other in unknown]
    assert statistics.fmean(pairs) >= 0.9
    assert sum(score >= IN_CONTEXT for score in answered) / len(answered) >= 0.95
    assert sum(score < SURE for score in unknown) / len(unknown) >= 0.55
    assert sum(score >= SURE for score in answered) / len(answered) >= 0.9


async def test_a_correction_near_in_meaning_is_kept_beside_what_it_denies(embedder: LocalEmbeddings) -> None:
    """Their cosine is 0.92: nearness alone must never merge facts."""
    async with open_house(ports=ports_of(embeddings=embedder)) as house:
        await house.app.memory.add_many(
            house.me, [NewFact("Likes spicy food"), NewFact("Does not like spicy food")]
        )
        assert await house.app.memory.count(house.me, {"state": "active"}) == 2
