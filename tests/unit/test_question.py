"""What a question's words tell of the time that it asks for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bethink.recall.ranking import ParsedQuestion, read_question

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def read(text: str) -> ParsedQuestion:
    return read_question(text, NOW)


@pytest.mark.parametrize(
    "text",
    [
        "where did I live before?",
        "Where did I live before Paris?",
        "Where did I use to work?",
        "Where did my sister use to work?",
        "what used to be my favourite colour",
        "what was my old phone number?",
        "Who was my previous landlord?",
        "the user's former employer",
        "Where did I live in 2017?",
        "What was originally planned?",
        "Which sports do I not play any more?",
        "What was my last job?",
        "In which city did I live earlier?",
        "Who is my ex-boss?",
        "Have I lived elsewhere in the past?",
    ],
)
def test_what_asks_for_the_past_is_known(text: str) -> None:
    asked = read(text)
    assert (asked.past, asked.was, asked.is_now) == (True, True, False)


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?",
        "What is my phone number?",
        "How old is my dog?",
        "Who is my old friend from school?",
        "Which tool do I use to cut wood?",
        "What do I need before the trip to Rome?",
        "What do I do after work?",
        "What do I like best?",
    ],
)
def test_what_asks_for_the_present_is_not_taken_for_the_past(text: str) -> None:
    asked = read(text)
    assert (asked.past, asked.was, asked.is_now) == (False, False, True)
    assert not asked.before
    assert not asked.after


@pytest.mark.parametrize(
    "text",
    [
        "What did I tell you in our previous conversation?",
        "What did the doctor say in the previous session?",
        "What did I cook in the past two weeks?",
        "What happened after the concert?",
    ],
)
def test_what_was_done_is_no_question_for_what_was_so(text: str) -> None:
    assert not read(text).past


@pytest.mark.parametrize(
    "text", ["Have I ever lived in Oslo?", "Where did I live?", "Was I a nurse?", "Has Ben worked at Bosch?"]
)
def test_what_was_so_may_answer_without_being_asked_for(text: str) -> None:
    assert (read(text).past, read(text).was) == (False, True)


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("Where did I live before I moved to Paris?", {"pari"}, set[str]()),
        ("Who was my doctor before Dr. Patel?", {"pate"}, set[str]()),
        ("What did I do after the wedding?", set[str](), {"wedd"}),
        ("What did I study prior to medicine, and where?", {"medi"}, set[str]()),
        ("Where did I live before 2019?", set[str](), set[str]()),
        ("Where did I live before that?", set[str](), set[str]()),
    ],
)
def test_what_is_named_in_place_of_a_time_is_read(text: str, before: set[str], after: set[str]) -> None:
    asked = read(text)
    assert (asked.before, asked.after) == (before, after)
