"""Receipts: what an answer claims and no call did, on published sentences and in a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bethink.agent.claims import CompletedCall, unbacked
from bethink.events import ClaimUnbacked, Event
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.tool import ToolContext, tool
from tests.house import open_house

pytestmark = pytest.mark.anyio

SENTENCES = Path(__file__).parents[1] / "evals" / "claims"
LEAST_PRECISION = 0.98
LEAST_RECALL = 0.85

STORE = ScriptedCall("store_memory", {"content": "Lives in Paris"})


def labelled(name: str) -> list[tuple[set[str], str]]:
    """The kinds that each published text claims, and the text."""
    lines = (SENTENCES / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [({label} - {"-"}, text.replace("\\n", "\n")) for label, text in rows]


def claims_of(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.claim, event.text) for event in events if isinstance(event, ClaimUnbacked)]


@pytest.mark.parametrize("name", ["seen", "held_out"])
def test_the_published_sentences_are_judged_precisely(name: str) -> None:
    right = found = wanted = 0
    for kinds, text in labelled(name):
        claimed = {claim.kind for claim in unbacked(text, [])}
        right, found, wanted = right + len(claimed & kinds), found + len(claimed), wanted + len(kinds)
    assert right / found >= LEAST_PRECISION
    assert right / wanted >= LEAST_RECALL


def test_half_of_the_published_sentences_claim_nothing() -> None:
    rows = labelled("seen") + labelled("held_out")
    assert len(rows) >= 400
    assert sum(not kinds for kinds, _ in rows) * 2 >= len(rows)
    assert len({text for _, text in rows}) == len(rows)


def test_a_claim_is_the_place_of_its_sentence() -> None:
    answer = "Paris is large. I've saved that for you. Anything else?"
    (claim,) = unbacked(answer, [])
    assert answer[claim.start : claim.end] == "I've saved that for you."


@pytest.mark.parametrize(
    ("call", "answer", "kinds"),
    [
        (CompletedCall("store_memory", "write"), "I've saved that.", []),
        (CompletedCall("store_memory", "write"), "I've updated your address.", []),
        (CompletedCall("store_memory", "write"), "I've set a reminder for 5 pm.", ["scheduled"]),
        (CompletedCall("store_memory", "write"), "I've deleted that memory.", ["deleted"]),
        (CompletedCall("search_memory", "read"), "I've saved that.", ["saved"]),
        (CompletedCall("delete_all_memories", "destructive"), "All memories have been deleted.", []),
        (CompletedCall("create_calendar_event", "write"), "I've added it to your calendar.", []),
        (CompletedCall("send_email", "egress"), "I've sent it.", []),
        (CompletedCall("execute_python", "write"), "I've saved that, and I've sent the email.", []),
    ],
)
def test_a_call_backs_what_its_tool_can_have_done(call: CompletedCall, answer: str, kinds: list[str]) -> None:
    assert [claim.kind for claim in unbacked(answer, [call])] == kinds


async def test_a_run_says_what_its_answer_claims_and_nothing_did() -> None:
    llm = ScriptedLlm(["Nice to meet you! I've saved your name.", [STORE], "I've saved that."])
    async with open_house(llm) as house:
        conversation = await house.new()
        phantom = await house.say("I am Alice", conversation)
        backed = await house.say("I live in Paris", conversation)
        stored = await house.messages(conversation)
    assert claims_of(phantom) == [("saved", "I've saved your name.")]
    assert claims_of(backed) == []
    (claim,) = stored[1].unbacked
    assert stored[1].message.content[claim.start : claim.end] == "I've saved your name."
    assert all(message.unbacked == () for message in stored[2:])


async def test_a_call_that_failed_backs_nothing() -> None:
    @tool(effect="write", label="Remember")
    async def store_memory(context: ToolContext, content: str) -> str:
        """Fail."""
        raise ValueError(content)

    async with open_house(ScriptedLlm([[STORE], "Saved!"]), tools=[store_memory]) as house:
        events = await house.say("I live in Paris")
    assert claims_of(events) == [("saved", "Saved!")]


async def test_a_call_of_an_earlier_turn_backs_nothing() -> None:
    async with open_house(ScriptedLlm([[STORE], "Saved.", "Saved!"])) as house:
        conversation = await house.new()
        await house.say("I live in Paris", conversation)
        events = await house.say("And I have a dog", conversation)
    assert claims_of(events) == [("saved", "Saved!")]


async def test_forgetting_a_sentence_drops_what_pointed_into_it() -> None:
    llm = ScriptedLlm([[STORE], "You live in Paris [m1]. I've scheduled the meeting."])
    async with open_house(llm) as house:
        conversation = await house.new()
        await house.say("/remember Lives in Paris", conversation)
        await house.say("I live in Paris, remember?", conversation)
        before = (await house.messages(conversation))[-1]
        await house.app.forgetting.forget_all(house.me)
        after = (await house.messages(conversation))[-1]
    assert before.used
    assert before.unbacked
    assert "Paris" not in after.message.content
    assert after.used == after.unbacked == ()
