"""How `bench life` counts what another memory reports, and how its script answers theirs."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from benchmarks.life import Held, Lived, lived_by_peer
from benchmarks.life_others import Script, Told, read
from benchmarks.lives import Life, Question, Said

_HOME = Said("add", "home", "I live in Bergen.", "I live in Bergen", "The user lives in Bergen", "Bergen")
_DREAM = Said("none", "dream", "I dreamt I live in Lyon.", "I live in Lyon", "The user lives in Lyon", "Lyon")
_MOVE = Said(
    "replace", "home", "I live in Porto now.", "I live in Porto", "The user lives in Porto", "Porto", "Bergen"
)
_FORGET = Said("forget", "home", "Forget Porto.", "Forget Porto", "The user lives in Porto", "Porto", "Porto")
_LIFE = Life(0, "en", False, [_HOME, _DREAM, _MOVE], [Question("Where do I live?", "Porto", "Bergen")])


def _told(*steps: dict[str, str], found: list[str]) -> Told:
    line = json.dumps(
        {"name": "other 1", "steps": steps, "found": [found], "failed": 1, "fault": "Full", "took_s": 2}
    )
    (told,) = read(f'{line}\n{{"name": "cut')
    return told


def test_a_memory_that_only_adds_has_kept_and_invented_and_superseded_nothing() -> None:
    home, dream, move = {"1": _HOME.fact}, {"2": _DREAM.fact}, {"3": _MOVE.fact}
    lived = lived_by_peer(
        _LIFE, _told(home, home | dream, home | dream | move, found=[_DREAM.fact, _MOVE.fact])
    )
    counted = {name: count for name, count in lived.counts.items() if count}
    assert counted == {
        "told": 1,
        "kept": 1,
        "traps": 1,
        "invented": 1,
        "changes": 1,
        "questions": 1,
        "recalled": 1,
        "failed": 1,
        "seconds": 2,
    }
    assert lived.counts["superseded"] == 0
    assert any("Full" in miss for miss in lived.misses)


def test_a_memory_that_changes_a_fact_in_its_place_has_superseded_it() -> None:
    lived = lived_by_peer(
        _LIFE, _told({"1": _HOME.fact}, {"1": _HOME.fact}, {"1": _MOVE.fact}, found=[_HOME.fact])
    )
    assert lived.counts["superseded"] == lived.counts["kept"] == 1
    assert lived.counts["invented"] == lived.counts["recalled"] == 0


def test_what_waits_for_review_is_neither_kept_nor_invented() -> None:
    lived = Lived(Counter())
    lived.tell(_HOME, [], [Held("1", _HOME.fact, "suggested"), Held("2", "The user is tall", "suggested")])
    assert lived.counts["kept"] == lived.counts["invented"] == 0
    assert lived.counts["in review"] == lived.counts["offered"] == 1


def _asked(said: Said, held: str = "", *, has_tools: bool) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": held},
        {"role": "user", "content": f"user: {_HOME.text}\n## New Messages\nuser: {said.text}\n"},
    ]
    return {"messages": messages} | ({"tools": [{}]} if has_tools else {})


def test_the_script_answers_in_the_words_of_each_memory() -> None:
    script = Script.of([Life(0, "en", False, [_HOME, _DREAM, _MOVE, _FORGET], [])])
    added = json.loads(script.answer(_asked(_MOVE, has_tools=False))["content"])
    assert added == {"memory": [{"id": "0", "text": _MOVE.fact}]}
    held = f'<instance id=a1 schema_type="Memory">\n{{"content": "{_HOME.fact}"}}\n</instance>'
    (patch,) = script.answer(_asked(_MOVE, held, has_tools=True))["tool_calls"]
    assert patch["function"]["name"] == "PatchDoc"
    assert json.loads(patch["function"]["arguments"])["json_doc_id"] == "a1"
    gone = f'<instance id=a2 schema_type="Memory">\n{{"content": "{_MOVE.fact}"}}\n</instance>'
    (removal,) = script.answer(_asked(_FORGET, gone, has_tools=True))["tool_calls"]
    assert removal["function"]["name"] == "RemoveDoc"
    assert json.loads(script.answer(_asked(_FORGET, has_tools=False))["content"]) == {"memory": []}


def test_the_script_believes_a_trap_unless_it_is_careful() -> None:
    told = [Life(0, "en", False, [_HOME, _DREAM], [])]
    believing, careful = (
        json.loads(Script.of(told, is_careful=is_careful).answer(_asked(_DREAM, has_tools=False))["content"])
        for is_careful in (False, True)
    )
    assert [one["text"] for one in believing["memory"]] == [_DREAM.fact]
    assert careful == {"memory": []}
