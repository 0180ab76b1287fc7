"""Recall: what is found, in which order, how sure it is, and when; and how it degrades."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TypedDict, Unpack

import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bethink.clock import FakeClock, to_datetime
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.errors import BadInput, CorruptDatabase
from bethink.events import MemoryRecalled, RunDone, Warned
from bethink.feature import Recallable, RecallKind
from bethink.index import Candidate, Candidates, IndexItem, IndexQuery, WithoutVector
from bethink.llm.scripted import ScriptedLlm
from bethink.memory import NewFact, Source
from bethink.ports import Ports
from bethink.principal import Principal
from bethink.recall.service import MAX_K, Recall, RecallQuestion
from tests.fakes import NoEmbeddings
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio

ME = Principal("alice")


class When(TypedDict, total=False):
    since: datetime
    until: datetime
    as_of: datetime


LIKELY = st.none() | st.floats(0, 1)


class Found:
    """An index that answers with what it was given, and keeps the question."""

    def __init__(self, *candidates: Candidate, ideal: float = 1.0, without_vector: int = 0) -> None:
        self._answer = Candidates(candidates, ideal, len(candidates), without_vector)
        self.asked: list[IndexQuery] = []

    async def search(self, query: IndexQuery) -> Candidates:
        self.asked.append(query)
        return self._answer

    async def search_all(self, queries: Sequence[IndexQuery]) -> list[Candidates]:
        return [await self.search(query) for query in queries]

    async def items(self, owner: str, ids: Sequence[str]) -> dict[str, IndexItem]:
        raise NotImplementedError

    async def missing_vectors(self, owner: str, model: object, limit: int) -> tuple[WithoutVector, ...]:
        return ()

    async def vectors(self, owner: str, model: object, ids: object) -> dict[str, NDArray[np.float32]]:
        return {}


def candidate(id: str, lexical: float | None, dense: float | None, kind: str = "fact") -> Candidate:
    """One that holds as much of the question as its BM25 is of an ideal of 1."""
    return Candidate(id, kind, 0, None, lexical, dense, min(1.0, lexical or 0.0))


def recall_over(
    index: Found, importance: dict[str, float] | None = None, gone: set[str] | None = None
) -> Recall:
    async def resolve(principal: Principal, ids: Sequence[str]) -> Sequence[Recallable | None]:
        return [
            None
            if id in (gone or set())
            else Recallable(f"text of {id}", int(id, 36), (importance or {}).get(id, 0.5), None)
            for id in ids
        ]

    kinds = {name: RecallKind(name=name, resolve=resolve) for name in ("fact", "turn")}
    return Recall(index, HashingEmbeddings(), FakeClock(), kinds)


async def ids_of(index: Found, importance: dict[str, float] | None = None) -> list[str]:
    return [hit.id for hit in await recall_over(index, importance).search(ME, "question")]


async def test_a_hit_strong_in_both_legs_comes_before_one_strong_in_one() -> None:
    index = Found(
        candidate("a", 0.9, 0.1),
        candidate("b", 0.9, 0.7),
        candidate("c", None, 0.7),
        candidate("d", None, 0.1),
        candidate("e", None, 0.05),
    )
    assert await ids_of(index) == ["b", "a", "c", "d", "e"]


async def test_words_weigh_more_than_meaning() -> None:
    assert await ids_of(Found(candidate("a", 1.0, 0.0), candidate("b", 0.0, 1.0))) == ["a", "b"]


async def test_what_matters_more_and_then_what_is_newer_comes_first_among_equals() -> None:
    equal = [candidate(id, 0.5, 0.5) for id in ("1", "2", "3")]
    assert await ids_of(Found(*equal)) == ["3", "2", "1"]
    assert await ids_of(Found(*equal), importance={"1": 0.9}) == ["1", "3", "2"]


@given(
    st.lists(st.tuples(LIKELY, LIKELY), max_size=60),
    st.floats(0, 50),
    st.integers(1, 60),
)
async def test_scores_are_from_0_to_1_and_fall_with_the_rank(
    legs: list[tuple[float | None, float | None]], ideal: float, k: int
) -> None:
    index = Found(*(candidate(str(n), *pair) for n, pair in enumerate(legs)), ideal=ideal)
    hits = await recall_over(index).search(ME, "question", k)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len(hits) == min(k, len(legs))
    assert len({hit.id for hit in hits}) == len(hits)


@pytest.mark.parametrize(
    ("lexical", "dense", "least", "most"),
    [
        (1.0, 0.7, 0.95, 1.0),
        (1.0, 0.1, 0.8, 0.9),
        (None, 0.7, 0.8, 1.0),
        (None, 0.4, 0.3, 0.7),
        (0.5, 0.1, 0.0, 0.4),
        (None, 0.1, 0.0, 0.05),
    ],
)
async def test_a_score_tells_how_sure_it_is_whatever_else_was_found(
    lexical: float | None, dense: float, least: float, most: float
) -> None:
    for others in (0, 40):
        index = Found(
            candidate("best", lexical, dense),
            *(candidate(str(n), None, 0.0) for n in range(others)),
            ideal=1.0,
        )
        hits = await recall_over(index).search(ME, "question", MAX_K)
        (score,) = [hit.score for hit in hits if hit.id == "best"]
        assert least <= score <= most


async def test_where_only_words_are_searched_half_of_them_count_half() -> None:
    half = candidate("a", 0.5, None)
    (alone,) = await recall_over(Found(half)).search(ME, "question")
    (beside, _) = await recall_over(Found(half, candidate("b", None, 0.1))).search(ME, "question")
    assert alone.score == pytest.approx(0.425)
    assert beside.score < 0.35


async def test_an_item_without_a_vector_stands_where_its_words_put_it() -> None:
    """While vectors are made anew, those that are still missing are neither last nor first."""
    index = Found(
        candidate("both", 1.0, 0.6),
        candidate("words", 1.0, None),
        candidate("half", 0.5, 0.4),
        candidate("meaning", None, 0.3),
    )
    assert await ids_of(index) == ["both", "words", "half", "meaning"]


async def test_what_is_gone_from_its_feature_is_left_out() -> None:
    index = Found(candidate("a", 1.0, 1.0), candidate("b", 0.5, 0.5))
    assert [hit.id for hit in await recall_over(index, gone={"a"}).search(ME, "question")] == ["b"]


async def test_filters_reach_the_index_and_the_owner_is_the_principal_s() -> None:
    index = Found()
    since, until = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    await recall_over(index).search(ME, "question", 40, kinds={"turn"}, since=since, until=until)
    (asked,) = index.asked
    assert (asked.owner, asked.text, asked.kinds, asked.limit) == ("alice", "question", {"turn"}, 100)
    assert (asked.since, asked.until) == (1_767_225_600_000_000, 1_769_904_000_000_000)
    assert asked.model == HashingEmbeddings().model


async def test_what_held_then_is_asked_of_the_index_too() -> None:
    index = Found()
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    await recall_over(index).search(ME, "question", as_of=moment)
    (asked,) = index.asked
    assert (asked.as_of, asked.until) == (1_767_225_600_000_000, None)


async def test_the_wholes_of_which_parts_are_sought_reach_the_index() -> None:
    index = Found(candidate("a", 1.0, 1.0))
    ids = await recall_over(index).find(ME, "question", 5, kind="fact", part_of=frozenset({"content"}))
    assert [id for id, _ in ids] == ["a"]
    await recall_over(index).find(ME, "question", 5, kind="fact")
    assert [asked.part_of for asked in index.asked] == [{"content"}, None]
    assert not RecallQuestion("who am I", part_of=frozenset()).is_unbounded


@pytest.mark.parametrize("query", ["", "  \n"])
@pytest.mark.requirement("R49")
async def test_an_empty_question_finds_nothing(query: str) -> None:
    assert await recall_over(Found(candidate("a", 1.0, 1.0))).search(ME, query) == []


@pytest.mark.parametrize("k", [0, -1, MAX_K + 1])
async def test_how_many_is_bounded(k: int) -> None:
    with pytest.raises(BadInput, match=f"k is {k}: give a number from 1 to 200"):
        await recall_over(Found()).search(ME, "question", k)


async def test_an_unknown_kind_is_told_with_those_that_are_there() -> None:
    with pytest.raises(BadInput, match="Unknown kind 'page': there are fact, turn"):
        await recall_over(Found()).search(ME, "question", kinds={"page"})


@pytest.mark.parametrize("name", ["since", "until", "as_of"])
async def test_a_time_without_a_zone_is_told(name: str) -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001 - that it has none is the point
    with pytest.raises(BadInput, match="has no time zone"):
        await recall_over(Found()).search(ME, "question", **{name: naive})  # pyright: ignore[reportArgumentType] - one of the three


# --- over the whole app -----------------------------------------------------


async def texts(house: House, query: str, **when: Unpack[When]) -> list[str]:
    return [hit.text for hit in await house.app.recall.search(house.me, query, **when)]


@pytest.mark.requirement("R48")
async def test_a_hit_names_its_source_its_time_and_its_score() -> None:
    async with open_house() as house:
        source = Source(kind="conversation", id="talk")
        kept = await house.app.memory.add(house.me, NewFact("Lives in Paris", source=source))
        (hit,) = await house.app.recall.search(house.me, "Where do I live?")
        assert (hit.id, hit.kind, hit.text) == (kept.fact.id, "fact", "Lives in Paris")
        assert (hit.at, hit.source) == (to_datetime(house.clock.now_us()), "conversation:talk")
        assert hit.score > 0.8


@pytest.mark.requirement("R49")
async def test_an_empty_memory_finds_nothing() -> None:
    async with open_house() as house:
        assert await texts(house, "Where do I live?") == []


async def test_time_bounds_are_since_inclusive_and_until_exclusive() -> None:
    async with open_house() as house:
        moments: list[datetime] = []
        for number in range(3):
            house.clock.advance(60)
            moments.append(to_datetime(house.clock.now_us()))
            await house.app.memory.add(house.me, NewFact(f"Note number {number}"))
        assert await texts(house, "note", since=moments[1]) == ["Note number 2", "Note number 1"]
        assert await texts(house, "note", until=moments[1]) == ["Note number 0"]
        assert await texts(house, "note", since=moments[1], until=moments[2]) == ["Note number 1"]


async def test_what_was_held_to_be_true_at_a_time_is_found() -> None:
    async with open_house() as house:
        before = to_datetime(house.clock.now_us() - 1)
        paris = await house.app.memory.add(house.me, NewFact("Lives in Paris"))
        in_paris = to_datetime(house.clock.now_us())
        house.clock.advance(3_600)
        await house.app.memory.edit(house.me, paris.fact.id, NewFact("Lives in Rome"))
        moved = to_datetime(house.clock.now_us())
        house.clock.advance(3_600)
        assert await texts(house, "Where do I live?") == ["Lives in Rome"]
        assert await texts(house, "Where do I live?", as_of=before) == []
        assert await texts(house, "Where do I live?", as_of=in_paris) == ["Lives in Paris"]
        assert await texts(house, "Where do I live?", as_of=moved - timedelta(microseconds=1)) == [
            "Lives in Paris"
        ]
        assert await texts(house, "Where do I live?", as_of=moved) == ["Lives in Rome"]
        hits = await house.app.recall.search(house.me, "Where do I live?", as_of=in_paris)
        assert [hit.kind for hit in hits] == ["fact"]


async def test_a_retracted_fact_is_not_found_by_time_either() -> None:
    async with open_house() as house:
        paris = await house.app.memory.add(house.me, NewFact("Lives in Paris"))
        then = to_datetime(house.clock.now_us())
        await house.app.memory.retract(house.me, paris.fact.id)
        assert await texts(house, "Where do I live?", as_of=then) == []


ABOUT_ALICE = [
    NewFact("User's name is Alice", importance=0.9),
    NewFact("Is a cellist", importance=0.8),
    NewFact("Likes plums", importance=0.4),
]


@pytest.mark.parametrize("meaning", [True, False])
async def test_a_question_that_names_nothing_finds_what_matters_most(meaning: bool) -> None:  # noqa: FBT001 - a parameter
    embeddings = HashingEmbeddings() if meaning else NoEmbeddings()
    async with open_house(ports=ports_of(embeddings=embeddings)) as house:
        await house.app.memory.add_many(house.me, ABOUT_ALICE)
        hits = await house.app.recall.search(house.me, "Who am I?", 2)
        assert [hit.text for hit in hits] == ["User's name is Alice", "Is a cellist"]
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert (
            await house.app.recall.search(house.me, "Who am I?", since=datetime(2100, 1, 1, tzinfo=UTC)) == []
        )


@pytest.mark.parametrize(
    ("query", "sought"),
    [
        ("where does the user live?", "where does   live?"),
        ("USER’s favourite dish", " favourite dish"),
        ("user manual of the users' group", " manual of the users' group"),
        ("the user", "the user"),
        ("User's", "User's"),
    ],
)
async def test_the_owner_is_not_sought_by_the_word_user(query: str, sought: str) -> None:
    index = Found()
    await recall_over(index).search(ME, query)
    (asked,) = index.asked
    assert asked.text.split() == sought.split()


async def test_signs_alone_ask_for_nothing() -> None:
    async with open_house(ports=ports_of(embeddings=NoEmbeddings())) as house:
        await house.app.memory.add_many(house.me, ABOUT_ALICE)
        assert await texts(house, "???") == []


@pytest.mark.requirement("R9", "R159", "R189")
async def test_without_the_embedding_model_words_are_searched_and_the_run_says_so() -> None:
    async with open_house(ports=ports_of(ScriptedLlm(["In Paris."]), embeddings=NoEmbeddings())) as house:
        await house.app.memory.add(house.me, NewFact("Lives in Paris"))
        events = await house.say("Where do I live?")
        assert house.app.recall.warning == "Recall goes by words only: The embedding model is not there."
    (warned,) = [event for event in events if isinstance(event, Warned)]
    assert (warned.part, warned.message) == ("recall", house.app.recall.warning)
    (recalled,) = [event for event in events if isinstance(event, MemoryRecalled)]
    assert [item.text for item in recalled.items] == ["Lives in Paris"]


@pytest.mark.requirement("C28")
async def test_facts_kept_without_vectors_get_them_when_the_model_is_there() -> None:
    embeddings = NoEmbeddings()
    ports = ports_of(embeddings=embeddings)
    async with open_house(ports=ports) as house:
        await house.app.memory.add_many(house.me, [NewFact("Enjoys photography"), NewFact("Drinks tea")])
        embeddings.arrive()
        await house.app.memory.add(house.me, NewFact("Plays chess"))
        embeddings.leave()
        await house.app.memory.add(house.me, NewFact("Collects stamps"))
        assert await texts(house, "photographs") == []
        embeddings.arrive()
        await texts(house, "photographs")
        await until_no_vector_is_missing(house, ports)
        assert (await texts(house, "photographs"))[0] == "Enjoys photography"
        embedded = embeddings.embedded
        await texts(house, "photographs")
        await anyio.wait_all_tasks_blocked()
        assert embeddings.embedded == embedded + 1
    assert house.app.recall.warning is None


class Broken(Found):
    """An index that fails, or never answers."""

    def __init__(self, *, hangs: bool) -> None:
        super().__init__()
        self._hangs = hangs

    async def search(self, query: IndexQuery) -> Candidates:
        if self._hangs:
            await anyio.sleep_forever()
        raise CorruptDatabase


@pytest.mark.requirement("R9", "R159", "R189")
@pytest.mark.parametrize(
    ("hangs", "reason"), [(True, "the search took too long"), (False, str(CorruptDatabase()))]
)
async def test_the_chat_goes_on_without_memory_and_says_so(hangs: bool, reason: str) -> None:  # noqa: FBT001 - a parameter
    ports = dataclasses.replace(ports_of(ScriptedLlm(["Hello."])), index=Broken(hangs=hangs))
    # Only what hangs is waited out: what fails must not be overtaken by the clock of a busy machine.
    async with open_house(ports=ports, recall_timeout_s=0.01 if hangs else 5) as house:
        events = await house.say("Where do I live?")
    assert Warned(part="memory", message=f"This answer does not use your memories: {reason}") in events
    assert [event.reason for event in events if isinstance(event, RunDone)] == ["answered"]


async def until_no_vector_is_missing(house: House, ports: Ports) -> None:
    while await ports.index.missing_vectors(house.me.owner, ports.embeddings.model, 1):
        await anyio.lowlevel.checkpoint()


@pytest.mark.requirement("C28")
async def test_vectors_of_another_model_are_not_compared_and_are_made_anew() -> None:
    ports = ports_of(embeddings=HashingEmbeddings(64))
    async with open_house(ports=ports) as house:
        await house.app.memory.add(house.me, NewFact("Enjoys photography"))
    changed = dataclasses.replace(ports, embeddings=HashingEmbeddings(32), clock=FakeClock())
    async with open_house(ports=changed) as house:
        assert await texts(house, "photographs") == []
        await until_no_vector_is_missing(house, changed)
        assert await texts(house, "photographs") == ["Enjoys photography"]
