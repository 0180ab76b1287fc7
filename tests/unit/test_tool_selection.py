"""Which tools a model is told of: the usual ones, and rare ones that fit what the user says."""

from __future__ import annotations

import pytest

from bethink.llm import LlmRequest
from bethink.llm.scripted import ScriptedLlm
from tests.house import open_house

pytestmark = pytest.mark.anyio


async def offered(*said: str, window: int = 128_000) -> list[list[str]]:
    """The names of the tools that each message of a conversation is answered with."""
    llm = ScriptedLlm(["Well."] * len(said), context_tokens=window)
    async with open_house(llm) as house:
        conversation = await house.new()
        for text in said:
            await house.say(text, conversation)
    return [[tool.name for tool in request.tools] for request in answers(llm)]


def answers(llm: ScriptedLlm) -> list[LlmRequest]:
    return [request for request in llm.requests if request.tools]


@pytest.mark.requirement("R193")
@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("Remind me to call Bruna tomorrow at 5", "create_task"),
        ("Erinnere mich morgen an die Miete", "create_task"),
        ("Plan my week", "list_tasks"),
        ("Plan my week", "get_calendar_events"),
        ("Schedule a meeting with Ann on Friday at 10", "create_calendar_event"),
        ("Leg den Zahnarzttermin auf morgen um 9", "create_calendar_event"),
        ("Move the meeting with Ann to Monday", "update_calendar_event"),
        ("When am I free next week?", "get_calendar_events"),
        ("Remind me in 20 minutes to call", "create_schedule"),
        ("Every weekday at 8 give me my day", "create_schedule"),
        ("Check this page weekly and tell me when it changes", "create_schedule"),
        ("Sag mir jeden Morgen um 8, was ansteht", "create_schedule"),
        ("Was steht morgen an?", "list_tasks"),
        ("Which tasks are overdue?", "list_tasks"),
        ("Die Aufgabe mit der Miete ist erledigt", "update_task"),
        ("Please delete the task about the rent", "delete_task"),
    ],
)
async def test_a_rare_tool_is_offered_when_the_user_says_what_it_is_for(said: str, wanted: str) -> None:
    (names,) = await offered(said)
    assert wanted in names


async def test_other_messages_are_not_given_it() -> None:
    (names,) = await offered("What is the capital of Peru?")
    assert not [name for name in names if "task" in name]


async def test_what_fits_stands_behind_the_usual_tools_and_stays() -> None:
    usual, with_tasks, still = await offered("Hello!", "Which tasks are open?", "Thank you.")
    assert with_tasks[: len(usual)] == usual
    assert "list_tasks" in with_tasks[len(usual) :]
    assert still == with_tasks


async def test_in_a_small_window_it_fits_beside_those_for_memory() -> None:
    (names,) = await offered("Remind me to call Bruna tomorrow at 5", window=4_096)
    assert {"create_task", "store_memory"} <= {*names}
