"""A text that somebody else wrote, pasted into a talk: recalled as theirs, never a fact about its owner."""

from __future__ import annotations

import json

import pytest

from bethink.assertions import parted
from bethink.llm import LlmRequest
from bethink.llm.scripted import Answer, ScriptedCall, ScriptedLlm
from tests.door import open_door

pytestmark = pytest.mark.anyio

_ASKED = "Was antworte ich darauf?"
_WRITTEN = """Hallo Clara,

ich wohne jetzt in Hamburg und arbeite bei der Reederei. Du bist ja gegen Nüsse allergisch.

Viele Grüße
Jonas"""
_MAIL = f"{_ASKED}\n\n{_WRITTEN}"
_OWN = "Ich war nie in Hamburg, ich wohne in Ulm"
_QUESTION = "Wer wohnt in Hamburg und arbeitet bei der Reederei, und wer wohnt in Ulm?"
_CLAIM = "Der Nutzer wohnt in Hamburg"


@pytest.mark.parametrize(
    ("text", "own", "others"),
    [
        (_MAIL, f"{_ASKED} […]", _WRITTEN),
        (_WRITTEN, "[…]", _WRITTEN),
        ("Ich wohne in Ulm. Und du?", "Ich wohne in Ulm. Und du?", ""),
        (
            "Und darauf?\n\nHi Tom, I live in Rome. Love, Jo",
            "Und darauf? […]",
            "Hi Tom, I live in Rome. Love, Jo",
        ),
        ("> I live in Rome\nIs that so?", "[…] Is that so?", "> I live in Rome"),
        ("Translate into French: I live in Rome.", "Translate into French: […]", "I live in Rome."),
        ("From: Jo\nSubject: home\n\nI live in Rome.", "[…]", "From: Jo\nSubject: home\n\nI live in Rome."),
        ('I like the film "The Lives of Others"', 'I like the film "The Lives of Others"', ""),
        ("", "", ""),
    ],
)
def test_what_others_wrote_is_told_from_what_its_writer_says(text: str, own: str, others: str) -> None:
    assert parted(text) == (own, others)


@pytest.mark.parametrize("begun", [_MAIL, "Translate into French:\n"])
def test_of_a_long_text_nothing_is_lost(begun: str) -> None:
    own, others = parted(begun + "Es regnet. " * 2_000)
    assert others.endswith("Es regnet.")
    assert len(own) + len(others) > 20_000


async def test_a_mail_is_recalled_as_the_words_of_somebody_else() -> None:
    asked: list[LlmRequest] = []

    def answer(request: LlmRequest) -> str:
        asked.append(request)
        return "I see."

    async with open_door(ScriptedLlm(answer)) as door:
        await door.chat(await door.new(), _MAIL)
        await door.chat(await door.new(), _OWN)
        told = await door.streamed(later := await door.new(), _QUESTION)
        found = (await door.http.get("/recall", params={"query": _QUESTION})).json()["items"]
        kept = (await door.http.get(f"/conversations/{later}")).json()["messages"]
        profile = (await door.http.get("/memories")).json()["items"]
    (recalled,) = (frame.data["items"] for frame in told if frame.kind == "memory_recalled")
    assert {item["text"]: item.get("pasted", False) for item in recalled if item["speaker"] == "owner"} == {
        _MAIL: True,
        _OWN: False,
    }
    assert {item["id"] for item in found if item["pasted"]} == {
        item["id"] for item in recalled if item.get("pasted")
    }
    refs = next(one["recalled"] for one in kept if one["role"] == "assistant")
    assert sum(ref["pasted"] for ref in refs) == 1
    said = asked[-1].messages[-1].content
    assert "not the person, and nothing in it is a fact about them" in said
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    (of_mail,) = (line for line in lines if "pasted" in line)
    assert (of_mail["text"], of_mail["pasted"]) == (f"{_ASKED} […]", _WRITTEN)
    assert profile == []


async def test_what_a_mail_says_is_not_stored_as_a_fact_about_its_reader() -> None:
    stored = ScriptedCall("store_memory", {"content": _CLAIM})
    searched = ScriptedCall("search_memory", {"query": "Hamburg"})
    answers: list[Answer] = [(stored,), "Gern.", (searched,), (stored,), "Ja."]
    async with open_door(ScriptedLlm(answers)) as door:
        first = (await door.chat(await door.new(), _MAIL)).json()
        then = (await door.chat(await door.new(), _QUESTION)).json()
        kept = (await door.http.get("/memories")).json()["items"]
        waits = (await door.http.get("/memories", params={"state": "suggested"})).json()["items"]
    assert kept == []
    assert [one["content"] for one in waits] == [_CLAIM]
    assert first["tools_run"][0]["error"] == "awaits_review"
    found, again = then["tools_run"]
    assert "written by somebody else (nothing in it is a fact about the user): Hallo Clara" in found["text"]
    assert "waits for review" in again["text"]
