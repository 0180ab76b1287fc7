"""How two facts stand to each other, told by their words: a table of pairs, and any text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from bethink.memory.compare import relation

PAIRS = [
    tuple(part.strip() for part in line.split(" | "))
    for line in (Path(__file__).parent / "fact_pairs.txt").read_text("utf-8").splitlines()
    if " | " in line and not line.startswith("#")
]
NEAR = 0.9
VERDICTS = ("same", "refines", "contradicts", "different")


def test_the_table_of_pairs_is_told_right() -> None:
    wrong = [
        (old, new, f"{verdict} is {told.verdict}: {told.reason}")
        for old, new, verdict in PAIRS
        if (told := relation(old, new, NEAR)).verdict != verdict
    ]
    assert wrong == []


def test_the_confusion_of_the_table() -> None:
    """Rows are what people say, columns what the rules say."""
    counted = Counter((verdict, relation(old, new, NEAR).verdict) for old, new, verdict in PAIRS)
    rows = "\n".join(" ".join(f"{counted[row, column]:4}" for column in VERDICTS) for row in VERDICTS)
    assert rows == snapshot("""\
  62    0    0    0
   0   20    0    0
   0    0   84    0
   0    0    0  165\
""")


@pytest.mark.requirement("C9")
@pytest.mark.parametrize(
    ("one", "other", "cosine"),
    [
        ("User likes spicy food", "User does not like spicy food", 0.924),
        ("User has a meeting on Monday at 9am", "User has a meeting on Tuesday at 9am", 0.968),
        ("User's daughter is called Anna", "User's daughter is called Maria", 0.795),
        ("User's name is Alice", "User's dog's name is Alice", 0.807),
    ],
)
def test_what_is_near_in_meaning_and_says_something_else_stays_apart(
    one: str, other: str, cosine: float
) -> None:
    for old, new in ((one, other), (other, one)):
        assert relation(old, new, cosine).verdict in {"contradicts", "different"}


@pytest.mark.parametrize(("old", "new", "verdict"), PAIRS)
def test_asked_the_other_way_round_the_same_is_the_same_and_the_fuller_one_the_fuller(
    old: str, new: str, verdict: str
) -> None:
    there, back = relation(old, new, NEAR), relation(new, old, NEAR)
    assert back.verdict == verdict
    if verdict == "refines":
        assert {there.fuller, back.fuller} == {"old", "new"}
    else:
        assert there.fuller is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User lives in Paris", "User lives in Berlin"),
        ("User lives in Paris", "User no longer lives in Paris"),
        ("User smokes", "User has stopped smoking"),
        ("User works at Google", "User left Google"),
        ("Anna lives in Rome", "Anna lives in Oslo"),
        ("User's sister Anna lives in Rome", "User's sister Anna lives in Milan"),
    ],
)
def test_what_has_one_value_or_has_ended_is_replaced(old: str, new: str) -> None:
    told = relation(old, new)
    assert (told.verdict, told.replaces) == ("contradicts", True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # There may be two sisters.
        ("User's sister lives in Rome", "User's sister lives in Milan"),
        ("User lives in Paris and works at Google", "User lives in Berlin"),
        ("User likes olives", "User hates olives"),
        ("User is allergic to peanuts", "User is not allergic to peanuts"),
        ("User has 2 cats", "User has 3 cats"),
        ("User used to smoke", "User smokes"),
    ],
)
def test_what_may_both_be_so_is_told_and_not_replaced(old: str, new: str) -> None:
    told = relation(old, new)
    assert (told.verdict, told.replaces) == ("contradicts", False)


def test_what_is_far_in_meaning_is_not_the_same_whatever_its_words() -> None:
    assert relation("The bank is high", "The bank is high!", 0.1).verdict == "different"


WORDS = """
    User I my user's lives in Paris Berlin not no longer likes hates tea and , . 9am Monday 5 two Anna's moved
    to since 2019 name is wife works at Google was used the dog
"""
SAID = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join))


@given(SAID, SAID, st.none() | st.floats(-1, 1))
def test_no_text_breaks_it_and_same_is_the_same_both_ways(one: str, other: str, cosine: float | None) -> None:
    there, back = relation(one, other, cosine), relation(other, one, cosine)
    assert (there.verdict == "same") is (back.verdict == "same")
    assert there.reason


@given(SAID)
def test_a_text_is_the_same_as_itself(text: str) -> None:
    assert relation(text, text).verdict == "same"


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "is " * 50_000, "user's " * 20_000, "A" * 50_000, "( " * 50_000]
)
def test_a_long_text_is_read_no_further_than_facts_are_long(text: str) -> None:
    assert relation(text, "User lives in Paris").verdict == "different"
