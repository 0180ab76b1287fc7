"""What every index finds, and under which conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from bethink.embeddings import EmbeddingModel
from bethink.errors import BadInput
from bethink.index import Candidate, Candidates, Index, IndexItem, IndexQuery
from bethink.store import Collection, Delete, DeleteAll, Put, SetVector
from tests.contract.conftest import Database
from tests.contract.records import NOTES, Note, Setting

pytestmark = pytest.mark.anyio

MODEL = EmbeddingModel("small", "1", 4)
OTHER = EmbeddingModel("small", "2", 4)


def axis(number: int) -> NDArray[np.float32]:
    """One of four vectors at right angles to one another."""
    return np.eye(4, dtype=np.float32)[number]


def item(text: str, number: int | None = None, **rest: object) -> IndexItem:
    vector = None if number is None else axis(number)
    made = IndexItem("fact", text, 0, vector, None if number is None else MODEL)
    return replace(made, **rest)


async def keep(database: Database, **items: IndexItem) -> None:
    await keep_for(database, "ann", items)


async def keep_for(database: Database, owner: str, items: Mapping[str, IndexItem]) -> None:
    changes = [Put(NOTES, Note(id=id, text=item.text), index=item) for id, item in items.items()]
    await database.store.commit(owner, changes)


async def found(index: Index, query: IndexQuery) -> dict[str, Candidate]:
    return {candidate.id: candidate for candidate in (await index.search(query)).items}


async def words(index: Index, text: str) -> set[str]:
    return set(await found(index, IndexQuery("ann", text)))


async def test_a_committed_item_is_found_by_both_legs_with_their_own_scores(database: Database) -> None:
    await keep(database, a=item("Alice lives in Paris", 0, at=7, speaker="Alice"), b=item("Bob skis", 1))
    candidates = await found(database.index, IndexQuery("ann", "Paris", axis(0), MODEL))
    assert candidates["a"].dense == 1.0
    assert candidates["a"].lexical is not None
    assert candidates["a"].lexical > 0
    assert (candidates["a"].kind, candidates["a"].at, candidates["a"].speaker) == ("fact", 7, "Alice")
    assert candidates["b"] == Candidate("b", "fact", 0, None, None, 0.0)


async def test_what_was_put_is_given_back_whole(database: Database) -> None:
    parts = np.stack([axis(2), axis(3)])
    whole = IndexItem("fact", "said \U0001f980", 7, axis(0), MODEL, "c", "p", "Alice", 3, 9, "whole")
    await keep(database, a=whole, b=IndexItem("turn", "no vector", 1), c=replace(whole, vector=parts))
    given = await database.index.items("ann", ["a", "b", "c", "nothing"])
    assert set(given) == {"a", "b", "c"}
    for id, item in (("a", whole), ("c", whole)):
        assert replace(given[id], vector=None) == replace(item, vector=None)
    assert given["b"] == IndexItem("turn", "no vector", 1)
    for id, vectors in (("a", axis(0)[np.newaxis]), ("c", parts)):
        assert np.array_equal(np.asarray(given[id].vector), vectors)
    assert await database.index.items("bob", ["a"]) == {}


async def test_many_queries_at_once_find_what_each_finds_alone(database: Database) -> None:
    two_parts = np.stack([axis(2), axis(3)])
    await keep(
        database,
        a=item("Alice lives in Paris", 0, project="home"),
        b=item("Bob skis", 1),
        c=item("Carol lives in Oslo", 2),
        d=replace(item("Dora writes a long page"), vector=two_parts, model=MODEL),
        e=item("Eve has no vector yet"),
    )
    await database.store.commit("ann", [Delete(NOTES, "c")])
    query = IndexQuery("ann", "who lives in Paris?", (axis(0) + axis(3)) / np.float32(2**0.5), MODEL)
    queries = [
        query,
        replace(query, text="skis", vector=axis(1)),
        replace(query, project="home"),
        replace(query, limit=1),
    ]
    for asked in (queries, [*queries, replace(query, vector=None), replace(query, vector=None, model=None)]):
        alone = [await database.index.search(one) for one in asked]
        assert await database.index.search_all(asked) == alone
        assert {one.id for one in alone[0].items} == {"a", "b", "d"}
    assert await database.index.search_all([]) == []
    assert await database.index.search_all([IndexQuery("nobody", "Paris")] * 2) == [Candidates()] * 2


async def test_what_is_not_searchable_leaves_the_item_of_its_id(database: Database) -> None:
    aside = Collection("meta", Setting, searchable=False)
    await keep(database, a=item("Alice lives in Paris"))
    for change in (Put(aside, Setting(id="a")), Put(aside, Setting(id="a"), 1), Delete(aside, "a")):
        await database.store.commit("ann", [change])
        assert await words(database.index, "Paris") == {"a"}


async def test_a_leg_without_input_stays_empty(database: Database) -> None:
    await keep(database, a=item("Alice lives in Paris", 0))
    by_words = await found(database.index, IndexQuery("ann", "Paris", None, MODEL))
    by_meaning = await found(database.index, IndexQuery("ann", "", axis(0), MODEL))
    assert by_words["a"].dense is None
    assert by_meaning["a"].lexical is None
    assert (await database.index.search(IndexQuery("ann", ""))).items == ()
    assert (await database.index.search(IndexQuery("nobody", "Paris", axis(0), MODEL))).items == ()


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("She was cooking in the cafés", "who cooks at the café?"),
        ("meeting at the cafe", "CAFÉ"),
        ("Flight LH2037 on 2023-05-08 at 12:30", "lh2037"),
        ("Flight LH2037 on 2023-05-08 at 12:30", "8 things on 08"),
        ("Will O'Brien was born in May 1980", "May"),
        ("Will O'Brien was born in May 1980", "o'brien"),
        ("snake_case names", "snake"),
        ("我住在巴黎,喜欢吃辣的", "巴黎"),
        ("我有一只黑猫", "猫"),
        ("ฉันอาศัยอยู่ในกรุงเทพ", "กรุงเทพ"),
        ("저는 서울에서 살아요", "서울"),
        ("カタカナとひらがな", "ひらがな"),
        ("मैं दिल्ली में रहता हूँ", "दिल्ली"),
        ("Я живу в Москве", "МОСКВЕ"),
        ("أَهْلًا وسهلا", "اهلا"),
        ("Straße", "STRASSE"),
    ],
)
async def test_words_are_found_in_every_writing(database: Database, text: str, question: str) -> None:
    await keep(database, a=item(text), b=item("something else entirely"))
    assert await words(database.index, question) == {"a"}


async def test_function_words_alone_find_nothing(database: Database) -> None:
    await keep(database, a=item("where are you and who is that"))
    assert await words(database.index, "Who are you, and where is that?") == set()


async def test_the_rarer_word_counts_more_and_the_ideal_is_what_all_words_are_worth(
    database: Database,
) -> None:
    await keep(
        database,
        a=item("red car"),
        b=item("red boat"),
        c=item("red house"),
        d=item("blue boat"),
    )
    candidates = await database.index.search(IndexQuery("ann", "red boat zeppelin"))
    scores = {candidate.id: candidate.lexical or 0.0 for candidate in candidates.items}
    assert max(scores, key=scores.__getitem__) == "b"
    assert scores["d"] > scores["a"]
    # Every item has the average length, so "b" met all but the zeppelin: ln(1 + 4.5 / 0.5).
    assert candidates.lexical_ideal - scores["b"] == pytest.approx(np.log(10), rel=1e-5)


async def test_filters_hold_before_the_limit(database: Database) -> None:
    many = {f"x{n:03}": item("cat", 0, kind="turn", conversation="c", at=n) for n in range(60)}
    await keep(database, **many, a=item("cat and many other words beside it", 1, project="p", at=100))
    query = IndexQuery("ann", "cat", axis(0), MODEL, limit=1)
    conditions = (
        replace(query, kinds=frozenset({"fact", "page"})),
        replace(query, project="p"),
        replace(query, since=100),
        replace(query, since=60, until=101),
    )
    for condition in conditions:
        candidates = await database.index.search(condition)
        assert [candidate.id for candidate in candidates.items] == ["a"]
        assert candidates.searched == 1
    early = await database.index.search(replace(query, until=3, limit=50))
    assert {candidate.id for candidate in early.items} == {"x000", "x001", "x002"}
    turns = await database.index.search(replace(query, conversation="c", limit=100))
    assert (len(turns.items), turns.searched) == (60, 60)
    for nothing in (
        replace(query, kinds=frozenset()),
        replace(query, project="q"),
        replace(query, since=101),
    ):
        assert (await database.index.search(nothing)).searched == 0


async def test_what_held_at_a_moment_is_found_whenever_it_was_said(database: Database) -> None:
    await keep(
        database,
        said=item("home", at=100),
        told_later=item("home", at=200, held_from=10, held_until=50),
        replaced=item("home", at=20, held_until=100),
        begun=item("home", at=30, held_from=60),
    )
    for moment, held in (
        (9, set[str]()),
        (10, {"told_later"}),
        (20, {"told_later", "replaced"}),
        (50, {"replaced"}),
        (99, {"replaced", "begun"}),
        (100, {"said", "begun"}),
    ):
        found = await database.index.search(IndexQuery("ann", "home", as_of=moment))
        assert {candidate.id for candidate in found.items} == held
        assert found.searched == len(held)


async def test_items_are_found_as_parts_of_the_wholes_that_are_asked_for(database: Database) -> None:
    many = {f"x{n:03}": item("cat", 0, part_of="long", conversation="c") for n in range(60)}
    short = {id: item("cat and many other words beside it", 1, part_of="short") for id in "ab"}
    await keep(database, **many, **short, c=item("cat", 0), d=item("cat", 2, part_of="", project="p"))
    query = IndexQuery("ann", "cat", axis(0), MODEL, limit=1)
    for wholes, ids in (
        ({"short"}, {"a", "b"}),
        ({"short", "", "gone"}, {"a", "b", "d"}),
        ({"long"}, set(many)),
        ({"gone"}, set[str]()),
        (set[str](), set[str]()),
    ):
        asked = replace(query, part_of=frozenset(wholes))
        candidates = await database.index.search(replace(asked, limit=100))
        assert {candidate.id for candidate in candidates.items} == ids
        assert candidates.searched == len(ids)
        nearest = await database.index.search(asked)
        assert {candidate.id for candidate in nearest.items} <= ids
        assert bool(nearest.items) is bool(ids)
    of_both = replace(query, part_of=frozenset({"long", ""}), conversation="c", limit=100)
    assert (await database.index.search(of_both)).searched == 60


async def test_an_items_whole_changes_with_its_put_and_goes_with_its_items(database: Database) -> None:
    old = {f"x{n:03}": item("cat", 0, part_of=f"old {n % 2}") for n in range(600)}
    await keep(database, **old, a=item("cat", 1, part_of="old 0"), b=item("cat", 1))
    both = IndexQuery("ann", "cat", axis(1), MODEL, part_of=frozenset({"old 0", "new"}), limit=999)
    assert (await database.index.search(both)).searched == 301
    await keep(database, a=item("cat", 1, part_of="new"))
    await database.store.commit("ann", [Delete(NOTES, id) for id in old])
    assert set(await found(database.index, both)) == {"a"}
    await keep(database, b=item("cat", 1, part_of="new"), c=item("cat", part_of="old 0"))
    assert set(await found(database.index, both)) == {"a", "b", "c"}
    assert (await database.index.search(replace(both, part_of=frozenset({"old 1"})))).searched == 0


async def test_no_owner_finds_another_ones_items(database: Database) -> None:
    await keep(database, a=item("secret", 0))
    await keep_for(database, "bob", {"a": item("public", 1), "b": item("secret too", 1)})
    candidates = await database.index.search(IndexQuery("ann", "secret public", axis(1), MODEL))
    assert [candidate.id for candidate in candidates.items] == ["a"]
    await database.store.commit("bob", [DeleteAll(NOTES)])
    assert await words(database.index, "secret") == {"a"}


async def test_a_put_replaces_the_item_and_a_put_without_one_removes_it(database: Database) -> None:
    await keep(database, a=item("apple", 0))
    assert await words(database.index, "apple") == {"a"}
    await keep(database, a=item("banana", 1))
    assert await words(database.index, "apple") == set()
    assert (await found(database.index, IndexQuery("ann", "", axis(1), MODEL)))["a"].dense == 1.0
    await database.store.commit("ann", [Put(NOTES, Note(id="a"))])
    assert await found(database.index, IndexQuery("ann", "banana", axis(1), MODEL)) == {}


async def test_deleting_removes_from_both_legs(database: Database) -> None:
    await keep(database, **dict.fromkeys("abcd", item("apple", 0)))
    assert len(await words(database.index, "apple")) == 4
    await database.store.commit("ann", [Delete(NOTES, "a")])
    query = IndexQuery("ann", "apple", axis(0), MODEL)
    assert set(await found(database.index, query)) == {"b", "c", "d"}
    await database.store.commit("ann", [DeleteAll(NOTES, {"state": "active"})])
    assert (await database.index.search(query)).searched == 0


async def test_what_was_removed_no_longer_counts_in_the_scores(database: Database) -> None:
    await keep(database, a=item("apple pie"), b=item("plum"))
    before = await found(database.index, IndexQuery("ann", "apple"))
    await keep(database, c=item("apple juice with far too much sugar in it"), d=item("apple"))
    assert await found(database.index, IndexQuery("ann", "apple")) != before
    await database.store.commit("ann", [Delete(NOTES, "c"), Delete(NOTES, "d")])
    assert await found(database.index, IndexQuery("ann", "apple")) == before


async def test_a_refused_batch_leaves_the_index_as_it_was(database: Database) -> None:
    await keep(database, a=item("apple", 0))
    with pytest.raises(BadInput):
        await database.store.commit(
            "ann",
            [Delete(NOTES, "a"), Put(NOTES, Note(id="b"), index=item("pear \ud800", 0))],
        )
    assert await words(database.index, "apple pear") == {"a"}


async def test_vectors_of_another_model_are_not_compared_but_counted(database: Database) -> None:
    await keep(database, a=item("apple", 0), b=item("pear", 0, model=OTHER), c=item("plum"))
    candidates = await database.index.search(IndexQuery("ann", "pear plum", axis(0), MODEL))
    scores = {candidate.id: candidate.dense for candidate in candidates.items}
    assert scores == {"a": 1.0, "b": None, "c": None}
    assert (candidates.searched, candidates.without_vector) == (3, 2)


async def test_vectors_come_back_as_they_were_kept(database: Database) -> None:
    await keep(database, a=item("apple", 0), b=item("pear", 0, model=OTHER), c=item("plum"), d=item("fig", 2))
    vectors = await database.index.vectors("ann", MODEL, ["d", "c", "b", "a", "nobody"])
    assert {id: vector.tolist() for id, vector in vectors.items()} == {
        "a": [axis(0).tolist()],
        "d": [axis(2).tolist()],
    }
    assert await database.index.vectors("bob", MODEL, ["a"]) == {}


async def test_an_item_with_several_vectors_is_found_once_by_the_nearest(database: Database) -> None:
    await keep(
        database,
        a=item("apple", 0),
        b=item("pear", 0, vector=np.stack([axis(2), axis(1), axis(2)])),
        c=item("plum"),
        d=item("fig", 0, vector=np.stack([axis(1), axis(2)])),
    )
    query = IndexQuery("ann", "", axis(1), MODEL, limit=2)
    candidates = await database.index.search(query)
    assert {one.id: one.dense for one in candidates.items} == {"b": 1.0, "d": 1.0}
    assert (candidates.searched, candidates.without_vector) == (4, 1)
    every = await found(database.index, replace(query, text="plum", limit=9))
    assert {id: one.dense for id, one in every.items()} == {"a": 0.0, "b": 1.0, "c": None, "d": 1.0}
    vectors = await database.index.vectors("ann", MODEL, ["b", "d"])
    assert vectors["b"].tolist() == np.stack([axis(2), axis(1), axis(2)]).tolist()
    await database.store.commit("ann", [SetVector("c", "plum", np.stack([axis(0), axis(1)]), MODEL)])
    await database.store.commit("ann", [SetVector("b", "pear", axis(3), MODEL)])
    await database.store.commit("ann", [Delete(NOTES, "a")])
    every = await found(database.index, replace(query, limit=9))
    assert {id: one.dense for id, one in every.items()} == {"b": 0.0, "c": 1.0, "d": 1.0}
    assert (await database.index.search(query)).without_vector == 0


async def test_missing_vectors_are_named_with_their_texts_and_filled_in(database: Database) -> None:
    await keep(
        database,
        a=item("apple", 0),
        b=item("pear", 0, model=OTHER, at=5),
        c=item("plum", at=9),
        d=item("fig", at=3),
    )
    missing = await database.index.missing_vectors("ann", MODEL, 10)
    assert missing == (("d", "fig", "fact"), ("c", "plum", "fact"), ("b", "pear", "fact"))
    assert await database.index.missing_vectors("ann", MODEL, 1) == missing[:1]
    assert await database.index.missing_vectors("bob", MODEL, 10) == ()
    await database.store.commit(
        "ann", [SetVector(id, text, axis(place), MODEL) for place, (id, text, _) in enumerate(missing)]
    )
    assert await database.index.missing_vectors("ann", MODEL, 10) == ()
    candidates = await database.index.search(IndexQuery("ann", "fig", axis(0), MODEL))
    scores = {candidate.id: (candidate.dense, candidate.lexical is None) for candidate in candidates.items}
    assert scores == {"a": (1.0, True), "d": (1.0, False), "c": (0.0, True), "b": (0.0, True)}
    assert candidates.without_vector == 0


async def test_a_late_vector_of_an_older_text_is_dropped(database: Database) -> None:
    await keep(database, a=item("apple"))
    await keep(database, a=item("pear"))
    await database.store.commit(
        "ann", [SetVector("a", "apple", axis(0), MODEL), SetVector("gone", "apple", axis(0), MODEL)]
    )
    assert await database.index.missing_vectors("ann", MODEL, 10) == (("a", "pear", "fact"),)


@pytest.mark.parametrize(
    "wrong",
    [
        item("x", 0, model=None),
        item("x", 0, vector=np.zeros(3, np.float32)),
        item("x", 0, vector=np.zeros(4, np.float64)),
        item("x", 0, vector=np.zeros((0, 4), np.float32)),
        item("x", 0, vector=np.zeros((2, 3), np.float32)),
        item("x", 0, vector=np.zeros((1, 2, 4), np.float32)),
    ],
)
async def test_a_vector_that_is_not_of_its_model_is_a_mistake_of_the_program(
    database: Database, wrong: IndexItem
) -> None:
    with pytest.raises(ValueError, match="is not one of"):
        await keep(database, a=wrong)
    assert (await database.store.get(NOTES, "ann", ["a"])) == (None,)


async def test_a_page_pasted_as_a_question_is_answered(database: Database) -> None:
    await keep(database, a=item("apple"), b=item("pear"))
    page = " ".join(f"word{n}" for n in range(5_000)) + " apple"
    assert await words(database.index, page) == {"a"}


async def test_hostile_text_is_kept_and_searched_without_harm(database: Database) -> None:
    text = 'NEAR("a" OR *) \0 \x1b[2J %_\' ; DROP TABLE facts; -- ' + "x" * 100_000
    await keep(database, a=item(text))
    assert await words(database.index, text) == {"a"}
