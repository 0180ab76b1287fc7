"""Whether passages answer a question, or nothing does."""

from __future__ import annotations

import pytest

from bethink.recall.service import AnswerCheck, names_in

LEASE = "leases.pdf\nThe lease of the warehouse in Ystad to Willow Aviation ends on 28 November 2020."


@pytest.mark.parametrize(
    ("question", "names"),
    [
        (
            "When does the lease of the warehouse in Ystad to Willow Aviation end?",
            ["Ystad", "Willow", "Aviation"],
        ),
        ("How long does the server XF-1153 keep its backups?", ["XF-1153"]),
        ("Who met Hugo Lang's sister in the May of 2019?", ["Hugo", "Lang", "May"]),
        ("What do I owe, and to whom?", []),
        ("Wie lange dauert die Kündigungsfrist im Vertrag mit Siemens?", []),
        ("Wann fliegt LH2037 nach Hamburg?", ["LH2037"]),
        ("", []),
    ],
)
def test_names_are_read_in_english_and_codes_everywhere(question: str, names: list[str]) -> None:
    assert names_in(question) == names


@pytest.mark.parametrize(
    ("question", "text", "score", "answers", "said"),
    [
        ("When does the lease in Ystad to Willow Aviation end?", LEASE, 0.6, True, ""),
        ("What is the capital of a country?", LEASE, 0.05, False, ""),
        (
            "When does the lease in Kaunas to Amber Foods end?",
            LEASE,
            0.6,
            False,
            "names Kaunas, Amber or Foods.",
        ),
        (
            "When does the lease in Ystad to Willow Metals end?",
            LEASE,
            0.6,
            True,
            "None of these passages names Metals",
        ),
        (
            "How long does the server XF-1153 keep its backups?",
            "The server AB-1 keeps them.",
            0.7,
            False,
            "XF-1153",
        ),
        ("How long does the server XF-1153 keep them?", "Server xf-1153 keeps them 3 days.", 0.2, True, ""),
    ],
)
def test_what_is_far_or_names_nothing_of_the_question_answers_nothing(
    question: str,
    text: str,
    score: float,
    answers: bool,  # noqa: FBT001 - a parameter
    said: str,
) -> None:
    verdict = AnswerCheck().verdict(question, [(text, score), ("something else", 0.0)])
    assert verdict.answers is answers
    assert said in verdict.note
    assert bool(verdict.note) is bool(said)


def test_where_nothing_was_found_nothing_answers() -> None:
    assert not AnswerCheck().verdict("Who signed it?", []).answers
