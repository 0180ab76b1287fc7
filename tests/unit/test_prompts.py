"""Prompts: texts with places to fill in, through every door, kept, exported, forgotten."""

from __future__ import annotations

import json

import pytest

from bethink.errors import BadInput
from bethink.prompts import Variable, filled, variables_of
from tests.command_line import CommandLine
from tests.door import called
from tests.house import House, open_house

LETTER = "Write a {{tone|friendly}} letter about {{topic}}. Sign it {{ tone }}."


def test_variables_are_found_once_in_their_order_with_their_defaults() -> None:
    assert variables_of(LETTER) == (Variable("tone", "friendly"), Variable("topic"))
    assert variables_of("{{a|}} {{}} {{ }} {{1st}} {{x y-z}} {not} {{{b}}}") == (
        Variable("a", ""),
        Variable("x y-z"),
        Variable("b"),
    )
    # What looks like LaTeX or a template of something else is text.
    assert variables_of(r"\frac{{1}}{{2}} {{#if x}} {{ user.name }}") == ()


def test_values_stand_for_variables_and_are_not_read_themselves() -> None:
    assert filled(LETTER, {"topic": "{{tone}}"}) == (
        "Write a friendly letter about {{tone}}. Sign it friendly."
    )
    with pytest.raises(BadInput, match="topic"):
        filled(LETTER, {})
    with pytest.raises(BadInput, match="colour"):
        filled(LETTER, {"topic": "rent", "colour": "red"})


@pytest.mark.anyio
async def test_prompts_are_added_changed_and_removed_over_http() -> None:
    async with open_house() as house, called(house) as http:
        added = await http.post("/prompts", json={"name": " /Letter ", "text": LETTER})
        assert added.status_code == 201
        letter = added.json()
        assert letter["name"] == "Letter"
        assert letter["variables"] == [
            {"name": "tone", "default": "friendly"},
            {"name": "topic", "default": None},
        ]
        assert (await http.post("/prompts", json={"name": "letter", "text": "x"})).status_code == 422
        assert (await http.post("/prompts", json={"name": "  ", "text": "x"})).status_code == 422
        assert (await http.post("/prompts", json={"name": "x", "text": "a" * 20_001})).status_code == 422
        await http.post("/prompts", json={"name": "Answer", "text": "Answer in {{language|French}}."})
        changed = await http.patch(f"/prompts/{letter['id']}", json={"name": "Brief"})
        assert (changed.json()["name"], changed.json()["text"]) == ("Brief", LETTER)
        listed = (await http.get("/prompts")).json()["items"]
        assert [one["name"] for one in listed] == ["Answer", "Brief"]
        assert (await http.delete(f"/prompts/{letter['id']}")).status_code == 204
        assert (await http.get(f"/prompts/{letter['id']}")).status_code == 404
        assert (await http.delete(f"/prompts/{letter['id']}")).status_code == 404


async def _exported(house: House) -> str:
    async with called(house) as http:
        return (await http.get("/memories/export", params={"format": "jsonl"})).text


@pytest.mark.anyio
async def test_prompts_are_exported_and_imported() -> None:
    async with open_house() as house, called(house) as http:
        await http.post("/prompts", json={"name": "Letter", "text": LETTER})
        lines = await _exported(house)
        assert '"Letter"' in lines
    async with open_house() as other, called(other) as http:
        report = await http.post("/memories/import", content=lines.encode())
        assert report.status_code == 200, report.text
        (letter,) = (await http.get("/prompts")).json()["items"]
        assert (letter["name"], letter["text"]) == ("Letter", LETTER)
        again = await http.post("/memories/import", content=lines.encode())
        assert again.status_code == 200
        assert len((await http.get("/prompts")).json()["items"]) == 1


@pytest.mark.anyio
async def test_what_is_forgotten_is_cut_out_of_prompts() -> None:
    async with open_house() as house, called(house) as http:
        await http.post(
            "/prompts",
            json={"name": "Letter", "text": "Write a letter. Mention the surgery at Lakeside clinic."},
        )
        kept = await http.post("/memories", json={"content": "The surgery is at Lakeside clinic."})
        wanted = {"ids": [kept.json()["memory"]["id"]]}
        preview = await http.post("/memories/forget", json=wanted)
        done = await http.post("/memories/forget", json={**wanted, "confirm": preview.json()["token"]})
        assert done.status_code == 200, done.text
        (letter,) = (await http.get("/prompts")).json()["items"]
        assert "Lakeside" not in json.dumps(letter)
        assert "Write a letter." in letter["text"]


def test_the_command_line_keeps_and_fills_prompts(plain: CommandLine) -> None:
    assert plain("prompts", "add", "letter", LETTER).code == 0
    used = plain("prompts", "use", "LETTER", "topic=the rent")
    assert used.out.strip() == "Write a friendly letter about the rent. Sign it friendly."
    missing = plain("prompts", "use", "letter")
    assert missing.code == 2
    assert "topic" in missing.err
    assert plain("prompts", "edit", "letter", "--text", "Short.").code == 0
    (shown,) = plain("prompts", "list", "--json").documents
    assert (shown["name"], shown["text"]) == ("letter", "Short.")
    assert plain("prompts", "delete", "letter").code == 0
    assert plain("prompts", "list", "--json").documents == []
