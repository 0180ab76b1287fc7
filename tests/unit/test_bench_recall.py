"""`bethink bench recall`: what it reads, and what its figures mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from bethink.bench.recall import BenchQuestion, Scored, measure_recall, read_dialogues, rows
from bethink.cli import main
from bethink.clock import to_datetime
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.errors import BadInput

PEOPLE: dict[str, Any] = {
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a grey cat."},
        {"speaker": "Ben", "dia_id": "D1:2", "text": "Look at my boat!", "blip_caption": "a red boat"},
    ],
    "session_2_date_time": "10:00 am on 3 June, 2023",
    "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "We sailed to the island."}],
}
QUESTIONS = [
    {"question": "Which animal did Ann adopt?", "evidence": ["D1:1"], "category": 4},
    {"question": "What of Ben's boat and island?", "evidence": ["D1:2; D2:1", "D9:9"], "category": 1},
    {"question": "Who knows?", "evidence": [], "category": 5},
]


def write(path: Path, data: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def locomo(path: Path) -> Path:
    sample = {"sample_id": "conv-1", "conversation": PEOPLE, "qa": QUESTIONS}
    return write(path / "locomo10.json", [sample])


def test_locomo_is_read_with_its_dates_speakers_pictures_and_evidence(tmp_path: Path) -> None:
    (dialogue,) = read_dialogues(locomo(tmp_path), "locomo")
    assert dialogue.name == "conv-1"
    assert [(turn.id, turn.session, turn.speaker) for turn in dialogue.turns] == [
        ("D1:1", "session_1", "Ann"),
        ("D1:2", "session_1", "Ben"),
        ("D2:1", "session_2", "Ann"),
    ]
    assert f"{to_datetime(dialogue.turns[0].at):%Y-%m-%d %H:%M}" == "2023-05-08 13:56"
    assert dialogue.turns[1].text == "Look at my boat! [image: a red boat]"
    assert [(question.category, question.evidence) for question in dialogue.questions] == [
        ("single-hop", ("D1:1",)),
        ("multi-hop", ("D1:2", "D2:1")),
        ("adversarial", ()),
    ]


def test_a_locomo_conversation_may_lie_in_a_file_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "26.json", PEOPLE | {"qa": QUESTIONS})
    (dialogue,) = read_dialogues(tmp_path, "locomo")
    assert (dialogue.name, len(dialogue.turns)) == ("26", 3)


def test_realtalk_is_read_with_the_time_of_each_message(tmp_path: Path) -> None:
    said = {
        "clean_text": "Off to Rome",
        "speaker": "Emi",
        "date_time": "29.12.2023, 22:42:04",
        "dia_id": "D1:1",
    }
    asked = [{"question": "Where to?", "evidence": ["D1:1"], "category": "1"}]
    sample = {"session_1_date_time": "29.12.2023, 22:40:00", "session_1": [said], "qa": asked}
    write(tmp_path / "Chat_1_A_B.json", sample)
    (dialogue,) = read_dialogues(tmp_path, "realtalk")
    assert (dialogue.name, dialogue.turns[0].text) == ("Chat_1_A_B", "Off to Rome")
    assert f"{to_datetime(dialogue.turns[0].at):%Y-%m-%d %H:%M:%S}" == "2023-12-29 22:42:04"


def test_beam_is_read_without_its_marks_and_with_nested_evidence(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "Plan it ->-> 1,1"},
        {"role": "assistant", "id": 1, "content": "Done."},
    ]
    write(tmp_path / "7" / "chat.json", [{"batch_number": 1, "turns": [turns]}])
    asked = {
        "knowledge_update": [{"question": "What?", "source_chat_ids": {"first": [0], "then": [[1], 99]}}]
    }
    write(tmp_path / "7" / "probing_questions" / "probing_questions.json", asked)
    (dialogue,) = read_dialogues(tmp_path, "beam")
    assert [(turn.text, turn.role) for turn in dialogue.turns] == [
        ("Plan it", "user"),
        ("Done.", "assistant"),
    ]
    assert f"{to_datetime(dialogue.turns[0].at):%Y-%m-%d}" == "2024-03-15"
    assert dialogue.questions[0].evidence == ("0", "1")


def test_longmemeval_has_a_history_a_question(tmp_path: Path) -> None:
    one = {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "What did I buy?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s2", "s1"],
        "haystack_dates": ["2023/05/21 (Sun) 02:21", "2023/05/20 (Sat) 02:21"],
        "haystack_sessions": [
            [{"role": "user", "content": "I bought a lamp", "has_answer": True}],
            [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}],
        ],
    }
    absent = one | {"question_id": "q2_abs"}
    first, second = read_dialogues(write(tmp_path / "longmemeval_s.json", [one, absent]), "longmemeval")
    assert [turn.text for turn in first.turns] == ["Hello", "Hi", "I bought a lamp"]
    assert first.questions[0].evidence == ("0:s2#0",)
    assert f"{to_datetime(first.now):%Y-%m-%d}" == "2023-05-30"
    assert second.questions[0].category == "abstention"


@pytest.mark.parametrize("text", ["not JSON", "[]", '[{"qa": []}]', '{"qa": [1]}'])
def test_what_is_not_of_the_format_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput):
        read_dialogues(tmp_path / "a.json", "locomo")


def test_what_is_not_there_and_an_unknown_format_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"is not of the format beam|holds no beam conversation"):
        read_dialogues(tmp_path / "nowhere", "beam")
    with pytest.raises(BadInput, match="Unknown format 'msc': there are locomo, beam, realtalk, longmemeval"):
        read_dialogues(tmp_path, "msc")


def test_the_figures_are_shares_of_evidence_hits_and_reciprocal_ranks() -> None:
    ranked = {"bethink": ["x", "a", "y", "z", "w", "b"], "BM25 only": ["a"], "vectors only": []}
    found = [
        Scored("d", BenchQuestion("?", "one", ("a", "b")), ranked, ["x", "a"], 1, 0),
        Scored("d", BenchQuestion("?", "adversarial", ("c",)), ranked, [], 1, 0),
    ]
    by_name = {(row["ranking"], row["category"]): row for row in rows(found)}
    of_one = by_name["bethink", "one"]
    assert (of_one["R@1"], of_one["R@5"], of_one["R@10"], of_one["hit@10"], of_one["MRR"]) == (
        0,
        0.5,
        1,
        1,
        0.5,
    )
    assert by_name["bethink", "all"]["R@10"] == 0.5
    assert (of_one["in context"], of_one["items in context"]) == (0.5, 2)
    assert by_name["bethink", "without adversarial"]["questions"] == 1
    assert by_name["BM25 only", "one"]["R@1"] == 0.5
    assert by_name["vectors only", "all"]["MRR"] == 0


def test_a_set_is_measured_through_the_product_s_own_recall(tmp_path: Path) -> None:
    dialogues = read_dialogues(locomo(tmp_path / "set"), "locomo")
    figures, lines = anyio.run(measure_recall, dialogues, HashingEmbeddings(), tmp_path / "data")
    overall = next(row for row in figures if row.get("ranking") == "bethink" and row["category"] == "all")
    assert (overall["questions"], overall["R@5"], overall["R@1"]) == (2, 1, 0.75)
    assert figures[-1]["items"] == 3
    first, second = map(json.loads, lines.splitlines())
    assert first["evidence"] == ["D1:1"]
    assert (first["conversation"], first["category"], first["ranked"][0]) == ("conv-1", "single-hop", "D1:1")
    assert sorted(second["ranked"]) == ["D1:1", "D1:2", "D2:1"]


def test_the_command_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "recall"]) == 2
    assert "bethink bench recall PATH --format locomo" in capsys.readouterr().err


def test_installed_from_a_wheel_the_command_says_what_it_measures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("bethink.bench._CHECKOUT", tmp_path)
    assert main(["bench", "storage"]) == 2
    assert "can measure only recall" in capsys.readouterr().err
    assert main(["dial", "stand-in", "--model-url", "http://127.0.0.1:1/v1"]) == 2
    assert "clone the repository" in capsys.readouterr().err
