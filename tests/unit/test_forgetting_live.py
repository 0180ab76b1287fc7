"""Forgetting while something is being said, asked or kept: nothing of it comes back."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from bethink.agent.stored_runs import ApprovalChoice
from bethink.agent.toolbox import REFUSALS
from bethink.errors import BethinkError, UnknownId
from bethink.events import ApprovalNeeded, Event, MemoryChanged, RunDone, TextDelta
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import ToolMessage
from tests.house import House, open_house
from tests.unit.test_forgetting import SECRET, everything, texts

pytestmark = pytest.mark.anyio

FACT = NewFact(f"User dreams of {SECRET}", importance=0.9)


async def until(house: House, run: str, is_there: Callable[[Event], bool]) -> None:
    """Read the run until an event."""
    async for batch in house.app.runs.follow(house.me, run):
        if any(is_there(numbered.event) for numbered in batch):
            return


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_a_live_run_does_not_write_it_back_at_its_end() -> None:
    gate = anyio.Event()
    llm = ScriptedLlm([[f"You dream of {SECRET}. ", gate, f"Yes, {SECRET}! Good night."], "You do."])
    async with open_house(llm) as house:
        fact = (await house.app.memory.add(house.me, FACT)).fact
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, "What do I dream of?")
        await until(house, run, lambda event: isinstance(event, TextDelta))
        await house.app.forgetting.forget(house.me, [fact.id])
        gate.set()
        events = await house.events(run)
        assert isinstance(events[-1], RunDone)
        assert await texts(house, conversation) == ["What do I dream of?", "[forgotten] Good night."]
        assert SECRET not in await everything(house)
        found = await house.app.recall.search(house.me, "Good night", kinds={"turn"})
        assert [hit.text for hit in found] == ["[forgotten] Good night."]
        await house.say("Do I sleep well?", conversation)


async def test_a_live_run_that_is_cancelled_keeps_nothing_of_it_either() -> None:
    llm = ScriptedLlm([[f"You dream of {SECRET}. And now", anyio.Event()]])
    async with open_house(llm) as house:
        fact = (await house.app.memory.add(house.me, FACT)).fact
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, f"What of {SECRET}?")
        await until(house, run, lambda event: isinstance(event, TextDelta))
        await house.app.forgetting.forget(house.me, [fact.id])
        await house.app.runs.cancel(house.me, run)
        await house.events(run)
        assert await texts(house, conversation) == ["[forgotten]", "[forgotten] And now"]
        assert SECRET not in await everything(house)


async def test_the_model_is_not_told_again_what_its_run_forgot() -> None:
    forget = ScriptedCall("forget_memory", {"query_or_id": f"dreams of {SECRET}"})
    llm = ScriptedLlm([[forget], "Done."])
    async with open_house(llm) as house:
        await house.app.memory.add(house.me, FACT)
        conversation = await house.new()
        asked = await house.say(f"Forget my dreams of {SECRET}. Thanks.", conversation)
        (needed,) = [event for event in asked if isinstance(event, ApprovalNeeded)]
        assert needed.reason.startswith(f"This cannot be undone.\n- {FACT.content}\n- said: ")
        run = (await house.messages(conversation))[-1].run
        assert await house.app.runs.approvals.decide(
            house.me, run, call=needed.call, choice=ApprovalChoice("approve")
        )
        events = await house.events(run)
        (changed,) = [event for event in events if isinstance(event, MemoryChanged)]
        assert (changed.change, len(changed.ids)) == ("forgotten", 1)
        assert SECRET not in str(llm.requests[-1].messages)
        assert await texts(house, conversation) == [
            "[forgotten] Thanks.",
            "",
            "Forgotten for good: 1 memory and what 2 messages said of it.",
            "Done.",
        ]
        assert SECRET not in await everything(house)


async def test_a_call_that_waits_does_not_tell_what_was_forgotten_meanwhile() -> None:
    forget = ScriptedCall("forget_memory", {"query_or_id": f"dreams of {SECRET}"})
    async with open_house(ScriptedLlm([[forget], "Fine."])) as house:
        fact = (await house.app.memory.add(house.me, FACT)).fact
        conversation = await house.new()
        asked = await house.say(f"Forget my dreams of {SECRET}", conversation)
        (needed,) = [event for event in asked if isinstance(event, ApprovalNeeded)]
        await house.app.forgetting.forget(house.me, [fact.id])
        assert SECRET not in await everything(house)
        run = (await house.messages(conversation))[-1].run
        with pytest.raises(UnknownId):
            await house.app.runs.approvals.decide(
                house.me, run, call=needed.call, choice=ApprovalChoice("approve")
            )
        await house.app.runs.approvals.tend()
        assert isinstance((await house.events(run))[-1], RunDone)
        results = [
            stored.message.content
            for stored in await house.messages(conversation)
            if isinstance(stored.message, ToolMessage)
        ]
        assert results == [REFUSALS["rejected"]]


@pytest.mark.requirement("R188")
async def test_forgetting_what_nobody_knows_needs_no_approval() -> None:
    forget = ScriptedCall("forget_memory", {"query_or_id": "my yacht"})
    async with open_house(ScriptedLlm([[forget], "I knew nothing of it."])) as house:
        events = await house.say("Forget my yacht")
        assert not [event for event in events if isinstance(event, ApprovalNeeded)]
        assert text_of(events) == "I knew nothing of it."


async def test_the_slash_command_forgets_what_it_showed_and_itself() -> None:
    async with open_house(None) as house:
        conversation = await house.new()
        await house.app.memory.add(house.me, FACT)
        shown = text_of(await house.say(f"/forget {SECRET}", conversation))
        assert "Nothing is forgotten yet." in shown
        assert FACT.content in shown
        assert await house.app.memory.count(house.me) == 1
        command = next(line for line in shown.splitlines() if line.startswith(f"`/forget {SECRET} ")).strip(
            "`"
        )
        wrong = text_of(await house.say(command.replace(SECRET, "the moon"), conversation))
        assert "has changed since" in wrong
        done = text_of(await house.say(command, conversation))
        assert done.startswith("Forgotten for good: 1 memory")
        assert await house.app.memory.count(house.me) == 0
        assert SECRET not in await everything(house)
        nothing = text_of(await house.say("/forget the moon", conversation))
        assert nothing == "No memories found matching: the moon"


async def test_forgetting_and_keeping_at_once_end_in_one_of_the_two() -> None:
    async with open_house() as house:
        memory, forgetting = house.app.memory, house.app.forgetting
        ids = [
            (await memory.add(house.me, NewFact(f"Fact {n} of {SECRET}", topics=("t",)))).fact.id
            for n in range(20)
        ]

        async def say_again(n: int) -> None:
            await memory.add(house.me, NewFact(f"Fact {n} of {SECRET}"))

        async def correct(id: str) -> None:
            try:
                await memory.edit(house.me, id, NewFact(f"Corrected {id} of {SECRET}"))
            except UnknownId:
                assert await memory.get(house.me, [id]) == (None,)

        async with anyio.create_task_group() as tasks:
            for n, id in enumerate(ids):
                tasks.start_soon(say_again, n)
                tasks.start_soon(forgetting.forget, house.me, [id])
                tasks.start_soon(correct, id)
        for fact in (item.record for item in (await memory.list(house.me, limit=100)).items):
            assert fact.id not in ids
        await forgetting.forget_all(house.me)
        assert SECRET not in await everything(house)


async def test_garbage_in_place_of_ids_forgets_nothing() -> None:
    async with open_house() as house:
        await house.app.memory.add(house.me, FACT)
        for id in ("", " ", "*", "%", "added:1", "../..", "\U0001f600", "' OR 1=1 --", "x" * 10_000):
            assert not await house.app.forgetting.forget(house.me, [id])
        for id in ("\0", "\ud800"):
            try:
                assert not await house.app.forgetting.forget(house.me, [id])
            except BethinkError:
                continue
        assert await house.app.memory.count(house.me) == 1


async def test_a_run_whose_events_were_forgotten_is_followed_to_its_end_and_deleted() -> None:
    llm = ScriptedLlm(["You do.", [f"You dream of {SECRET}", anyio.Event()]])
    async with open_house(llm) as house:
        fact = (await house.app.memory.add(house.me, FACT)).fact
        conversation = await house.new()
        await house.say("Do I dream?", conversation)
        ended = (await house.messages(conversation))[-1].run
        live = await house.app.runs.start(house.me, conversation, "Of what?")
        await until(house, live, lambda event: isinstance(event, TextDelta))
        await house.app.forgetting.forget(house.me, [fact.id])
        await house.app.runs.cancel(house.me, live)
        await house.events(live)
        for run, reason in ((ended, "answered"), (live, "cancelled")):
            last = (await house.events(run))[-1]
            assert isinstance(last, RunDone)
            assert last.reason == reason
        await house.app.runs.delete_conversation(house.me, conversation)
        assert not (await house.app.conversations.list(house.me)).items
