"""What is so no longer answers where that is asked for, and nowhere else. By the real embedding model."""

from __future__ import annotations

import csv
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bethink.clock import to_datetime, to_us
from bethink.conversations.service import PastMessage
from bethink.embeddings.e5 import E5
from bethink.embeddings.local import LocalEmbeddings
from bethink.memory import NewFact
from bethink.recall.service import Hit
from tests.contract.embeddings_suite import models_directory
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio

with (Path(__file__).parent / "past.tsv").open(encoding="utf-8") as lines:
    PAIRS = [tuple(row) for row in csv.reader(lines, delimiter="\t")][1:]
BESIDE = (
    "User's name is Nora Adams",
    "User has a dog called Rex",
    "User likes jazz",
    "User is allergic to peanuts",
    "User plays tennis on Mondays",
    "User's sister lives in Oslo",
    "User's brother works at IBM",
    "User's gym is FitFirst",
)
MONTH_S = 30 * 24 * 3600


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def embedder() -> LocalEmbeddings:
    embeddings = LocalEmbeddings(E5, models_directory())
    await embeddings.load()
    return embeddings


@asynccontextmanager
async def knowing(embedder: LocalEmbeddings, *said: str) -> AsyncGenerator[House]:
    """A house that was told these a month apart, each in the place of the one before it."""
    async with open_house(ports=ports_of(embeddings=embedder)) as house:
        await house.app.memory.add_many(house.me, [NewFact(one) for one in BESIDE])
        known: str | None = None
        for one in said:
            house.clock.advance(MONTH_S)
            if known is None:
                changed = await house.app.memory.add(house.me, NewFact(one))
            else:
                changed = await house.app.memory.edit(house.me, known, NewFact(one))
            known = changed.fact.id
        house.clock.advance(MONTH_S)
        yield house


async def asked(house: House, question: str, **when: datetime) -> Sequence[Hit]:
    return await house.app.recall.search(house.me, question, 5, **when)  # pyright: ignore[reportArgumentType] - times by name


@pytest.mark.parametrize(("was", "now", "of_the_past", "of_now"), PAIRS)
async def test_the_past_answers_what_asks_for_it_and_nothing_else(
    was: str, now: str, of_the_past: str, of_now: str, embedder: LocalEmbeddings
) -> None:
    async with knowing(embedder, was, now) as house:
        first = (await asked(house, of_the_past))[0]
        assert first.text == was
        assert first.kind == "fact"
        assert first.valid_until == to_datetime(house.clock.now_us()) - timedelta(seconds=MONTH_S)
        found = await asked(house, of_now)
        assert found[0].text == now
        assert was not in [hit.text for hit in found]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where did I live before?", "User lives in Lima"),
        ("Where did I live before Rome?", "User lives in Lima"),
        ("Where did I live before Lima?", "User lives in Oslo"),
        ("Where did I live after Oslo?", "User lives in Lima"),
        ("Where did I move to after Lima?", "User lives in Rome"),
        ("Where do I live?", "User lives in Rome"),
    ],
)
async def test_the_one_before_and_the_one_after_are_told_apart(
    question: str, answer: str, embedder: LocalEmbeddings
) -> None:
    async with knowing(embedder, "User lives in Oslo", "User lives in Lima", "User lives in Rome") as house:
        assert (await asked(house, question))[0].text == answer


LIVED = [
    NewFact("User lived in Oslo from 2015 until 2020"),
    NewFact("User lives in Paris since 2020"),
    NewFact("User's sister lives in Bergen"),
    NewFact(
        "Works at the harbour office",
        valid_from=to_us(datetime(2016, 3, 1, tzinfo=UTC)),
        valid_until=to_us(datetime(2018, 3, 1, tzinfo=UTC)),
    ),
]


@pytest.mark.parametrize(
    ("question", "as_of", "answer"),
    [
        ("Where do I live?", 2017, "User lived in Oslo from 2015 until 2020"),
        ("Where do I live?", 2023, "User lives in Paris since 2020"),
        ("Where do I work?", 2017, "Works at the harbour office"),
    ],
)
async def test_what_is_told_today_of_another_year_is_found_as_of_that_year(
    question: str, as_of: int, answer: str, embedder: LocalEmbeddings
) -> None:
    async with open_house(ports=ports_of(embeddings=embedder)) as house:
        await house.app.memory.add_many(house.me, LIVED)
        hits = await asked(house, question, as_of=datetime(as_of, 6, 1, tzinfo=UTC))
        assert hits[0].text == answer
        held = datetime(as_of, 6, 1, tzinfo=UTC)
        assert all(hit.valid_from is None or hit.valid_from <= held for hit in hits)
        assert all(hit.valid_until is None or held < hit.valid_until for hit in hits)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where did I live in 2017?", "User lived in Oslo from 2015 until 2020"),
        ("Where did I live in 2023?", "User lives in Paris since 2020"),
        ("Where do I live?", "User lives in Paris since 2020"),
        ("Where did I live before Paris?", "User lived in Oslo from 2015 until 2020"),
    ],
)
async def test_a_year_in_the_question_is_a_time_to_look_at(
    question: str, answer: str, embedder: LocalEmbeddings
) -> None:
    async with open_house(ports=ports_of(embeddings=embedder)) as house:
        await house.app.memory.add_many(house.me, LIVED)
        assert (await asked(house, question))[0].text == answer


async def test_what_was_said_before_something_comes_first(embedder: LocalEmbeddings) -> None:
    said = ("I cooked risotto for Ben", "I ran the Berlin marathon", "I cooked curry for Ben")
    async with open_house(ports=ports_of(embeddings=embedder)) as house:
        begun = house.clock.now_us()
        talk = await house.new()
        turns = [PastMessage(text, begun + place * MONTH_S * 1_000_000) for place, text in enumerate(said)]
        await house.app.conversations.take_over(house.me, talk, turns)
        house.clock.advance(4 * MONTH_S)
        for question, answer in (
            ("What did I cook before the Berlin marathon?", said[0]),
            ("What did I cook after the Berlin marathon?", said[2]),
        ):
            hits = await house.app.recall.search(house.me, question, 3, kinds={"turn"})
            cooked = [hit.text for hit in hits if "cooked" in hit.text]
            assert cooked[0] == answer
