"""Marks in an answer: taken out while it streams, kept with their places, unknown to later turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.agent.completion import Citations, unlabelled
from bethink.agent.request import Labels
from bethink.events import Event, Mark, MemoryRecalled, MemoryUsed, TextDelta
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.messages import AssistantMessage, ToolMessage, UserMessage
from tests.house import open_house

pytestmark = pytest.mark.anyio


def labels_of(*ids: str) -> Labels:
    labels = Labels()
    for id in ids:
        labels.of(id)
    return labels


def read(pieces: list[str], labels: Labels) -> tuple[list[str], list[tuple[str, int]]]:
    """What a reader is shown of each piece, and the marks."""
    said: list[str] = []
    citations = Citations(labels, said)
    for piece in pieces:
        said += [citations.take(piece)]
    said.append(citations.end())
    return said, [(mark.id, mark.after) for mark in citations.marks]


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize(
    ("written", "shown", "marks"),
    [
        ("You live in Paris [m1].", "You live in Paris.", [("a", 17)]),
        ("You live in Paris.[m1]", "You live in Paris.", [("a", 18)]),
        ("Paris [m1][m2]", "Paris", [("a", 5), ("b", 5)]),
        ("Paris [m1, m2] and [M2]", "Paris and", [("a", 5), ("b", 5), ("b", 9)]),
        ("Paris【m1】.", "Paris.", [("a", 5)]),
        ("Paris ［m1］、[[m2]].", "Paris、.", [("a", 5), ("b", 6)]),
        (
            "Paris [m1 m2], [m1 and m2], [m1-m2]",
            "Paris,,",
            [*[("a", 5), ("b", 5)], ("a", 6), ("b", 6), ("a", 7), ("b", 7)],
        ),
        ("A [[page]], [[m]] and [mad] stay", "A [[page]], [[m]] and [mad] stay", []),
        ("cut off [[m1]", "cut off", []),
        ("cut off 【m", "cut off", []),
        ("Paris [m9].", "Paris.", []),
        ("x[m9] = 2", "x[m9] = 2", []),
        ("`row[m1]` and\n```\na[m1] [m2]\n```", "`row[m1]` and\n```\na[m1] [m2]\n```", []),
        ("A [link](m1) and [1] stay", "A [link](m1) and [1] stay", []),
        ("cut off [m", "cut off", []),
        ("cut off [m1", "cut off", []),
        ("an open [", "an open [", []),
        ("two  spaces ", "two  spaces ", []),
    ],
)
def test_marks_are_taken_out_however_the_answer_is_cut(
    written: str, shown: str, marks: list[tuple[str, int]]
) -> None:
    for size in (1, 2, 3, 7, len(written)):
        pieces = [written[start : start + size] for start in range(0, len(written), size)]
        said, found = read(pieces, labels_of("a", "b"))
        assert "".join(said).rstrip() == shown.rstrip()
        assert found == marks
        assert not any("[m1" in piece for piece in said if "`" not in written)


@given(st.lists(st.text("ab [m1],`\n", max_size=6), max_size=12))
def test_a_text_reads_the_same_in_one_piece_and_in_many(pieces: list[str]) -> None:
    labels = labels_of("a")
    many, many_marks = read(pieces, labels)
    one, one_marks = read(["".join(pieces)], labels)
    assert "".join(many) == "".join(one)
    assert many_marks == one_marks


async def test_without_memories_a_text_passes_untouched() -> None:
    async with open_house(ScriptedLlm(["See [m1] there"])) as house:
        events = await house.say("What is written there?")
    assert text_of(events) == "See [m1] there"
    assert not any(isinstance(event, MemoryUsed) for event in events)


async def test_an_answer_tells_which_memories_it_rests_on() -> None:
    async with open_house(ScriptedLlm(["You live in Paris [m1], I think."])) as house:
        conversation = await house.new()
        await house.say("/remember Lives in Paris")
        events = await house.say("Where do I live?", conversation)
        stored = await house.messages(conversation)
    (recalled,) = [event for event in events if isinstance(event, MemoryRecalled)]
    (used,) = [event for event in events if isinstance(event, MemoryUsed)]
    fact = recalled.items[0].id
    assert used == MemoryUsed(ids=(fact,), marks=(Mark(id=fact, after=17),))
    assert text_of(events) == stored[-1].message.content == "You live in Paris, I think."
    assert stored[-1].used == used.marks


async def test_what_a_search_found_can_be_cited_and_later_turns_do_not_read_its_labels() -> None:
    search = ScriptedCall("search_memory", {"query": "home"})
    llm = ScriptedLlm([[search], "In Paris [m1].", "Hello."])
    async with open_house(llm, recall_limit=0, recall_profile_limit=0) as house:
        conversation = await house.new()
        await house.say("/remember My home is in Paris")
        events = await house.say("Where is my home?", conversation)
        await house.say("Hi", conversation)
    (used,) = [event for event in events if isinstance(event, MemoryUsed)]
    assert len(used.ids) == 1
    within, later = llm.requests[1].messages[-1], llm.requests[2].messages[-3]
    assert within.content.endswith("My home is in Paris [m1]")
    assert later.content.endswith("My home is in Paris")


async def test_the_model_is_asked_for_marks_and_given_short_ids() -> None:
    llm = ScriptedLlm(["ok"])
    async with open_house(llm) as house:
        await house.say("/remember Lives in Paris")
        await house.say("Where do I live?")
    (request,) = llm.requests
    assert "such as [m1]" in request.system
    assert '{"id":"m1","kind":"fact"' in request.messages[-1].content


def test_only_labels_of_results_are_dropped() -> None:
    found = ToolMessage("c", "search_memory", "1. x\n   Content: In Paris [m1]\n   Topics: [m2] a")
    assert unlabelled(found).content == "1. x\n   Content: In Paris\n   Topics: [m2] a"
    assert unlabelled(UserMessage("what is [m1]")).content == "what is [m1]"
    assert unlabelled(AssistantMessage("see [m1]")).content == "see [m1]"
