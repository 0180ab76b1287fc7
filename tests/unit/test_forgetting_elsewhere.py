"""Forgetting in one process while another one answers: nothing of it comes back."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import pytest

from bethink.agent.records import RUNS
from bethink.agent.stored_runs import ApprovalChoice
from bethink.clock import FakeClock
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.memory import MemoryBus, MemoryHub, MemoryIndex, MemoryStore
from bethink.errors import Conflict
from bethink.events import Event, RunDone, TextDelta, ToolFinished
from bethink.forgetting.announcements import INTENTS, ForgetIntent, expecting
from bethink.forgetting.selection import ForgetRequest
from bethink.llm import Llm
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.ports import Ports
from bethink.store import Put, Scan
from tests.house import House, open_house
from tests.unit.test_forgetting import SECRET, everything, texts

pytestmark = pytest.mark.anyio

FACT = NewFact(f"User dreams of {SECRET}", importance=0.9)


class DeafBus(MemoryBus):
    """A process that lives but hears nothing of the others: it hangs, say."""

    async def publish(self, topic: str, payload: str = "") -> None:
        """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Two:
    """Two processes over one store: one answers, the other forgets."""

    answering: House
    forgetting: House

    async def until_text(self, run: str) -> None:
        """Return when the run has said something."""
        async for batch in self.answering.app.runs.follow(self.answering.me, run):
            if any(isinstance(numbered.event, TextDelta) for numbered in batch):
                return

    async def kept(self) -> str:
        """All that the store and the index keep."""
        found = await self.forgetting.app.recall.search(self.forgetting.me, SECRET)
        return await everything(self.forgetting) + "".join(hit.text for hit in found)


@asynccontextmanager
async def two_processes(llm: Llm, *, bus: type[MemoryBus] = MemoryBus) -> AsyncGenerator[Two]:
    index, hub, clock = MemoryIndex(), MemoryHub(), FakeClock()
    store = MemoryStore(index)

    def ports(bus: MemoryBus, llm: Llm | None) -> Ports:
        return Ports(store, index, bus, HashingEmbeddings(), llm, clock)

    async with (
        open_house(ports=ports(MemoryBus(hub), llm)) as answering,
        open_house(ports=ports(bus(hub), None)) as forgetting,
    ):
        yield Two(answering, forgetting)


async def told(two: Two) -> tuple[str, str]:
    """A fact and a conversation in which it will be recalled."""
    fact = (await two.answering.app.memory.add(two.answering.me, FACT)).fact
    return fact.id, await two.answering.new()


async def test_an_answer_of_another_process_is_kept_without_it() -> None:
    gate = anyio.Event()
    llm = ScriptedLlm([[f"You dream of {SECRET}. ", gate, f"Yes, {SECRET}! Good night."], "You do."])
    async with two_processes(llm) as two:
        house, other = two.answering, two.forgetting
        fact, conversation = await told(two)
        run = await house.app.runs.start(house.me, conversation, f"Is it {SECRET}? I dream.")
        await two.until_text(run)
        await other.app.forgetting.forget(other.me, [fact])
        gate.set()
        assert isinstance((await house.events(run))[-1], RunDone)
        assert await texts(other, conversation) == ["[forgotten] I dream.", "[forgotten] Good night."]
        assert SECRET not in await two.kept()
        found = await other.app.recall.search(other.me, "Good night", kinds={"turn"})
        assert "[forgotten] Good night." in {hit.text for hit in found}
        await house.say("Do I sleep well?", conversation)
        assert SECRET not in str(llm.requests[-1].messages)


async def test_a_cancelled_answer_of_another_process_keeps_nothing_of_it() -> None:
    llm = ScriptedLlm([[f"You dream of {SECRET}. And now", anyio.Event()]])
    async with two_processes(llm) as two:
        house, other = two.answering, two.forgetting
        fact, conversation = await told(two)
        run = await house.app.runs.start(house.me, conversation, f"What of {SECRET}?")
        await two.until_text(run)
        await other.app.forgetting.forget(other.me, [fact])
        await other.app.runs.cancel(other.me, run)
        await house.events(run)
        assert await texts(other, conversation) == ["[forgotten]", "[forgotten] And now"]
        assert SECRET not in await two.kept()


async def test_what_a_model_writes_down_too_late_is_not_stored() -> None:
    gate = anyio.Event()
    call = ScriptedCall("store_memory", {"content": FACT.content})
    llm = ScriptedLlm([["Let me see. ", gate, call], "As you like."])
    async with two_processes(llm) as two:
        house, other = two.answering, two.forgetting
        fact, conversation = await told(two)
        run = await house.app.runs.start(house.me, conversation, f"I dream of {SECRET}")
        await two.until_text(run)
        await other.app.forgetting.forget(other.me, [fact])
        gate.set()
        (finished,) = [event for event in await house.events(run) if isinstance(event, ToolFinished)]
        assert finished.error == "forgotten"
        assert await other.app.memory.count(other.me) == 0
        assert SECRET not in await two.kept()
        assert SECRET not in str(llm.requests[-1].messages)


async def test_of_a_process_that_did_not_hear_in_time_nothing_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bethink.agent.signals._ANSWER_S", 0.01)
    # A run that writes what it has said while the other forgets hears of it by that.
    monkeypatch.setattr("bethink.agent.recorder.FLUSH_S", 3600)
    gate = anyio.Event()
    llm = ScriptedLlm([[f"You dream of {SECRET}. ", gate, f"Yes, {SECRET}! Good night."]])
    async with two_processes(llm, bus=DeafBus) as two:
        house, other = two.answering, two.forgetting
        fact, conversation = await told(two)
        run = await house.app.runs.start(house.me, conversation, "What do I dream of?")
        await two.until_text(run)
        await other.app.forgetting.forget(other.me, [fact])
        gate.set()
        events: list[Event] = await house.events(run)
        assert isinstance(events[-1], RunDone)
        assert SECRET not in await two.kept()
        assert (await texts(other, conversation))[-1] == "[forgotten]"


async def test_what_has_nothing_to_do_with_it_is_kept_as_it_is() -> None:
    gate = anyio.Event()
    async with two_processes(ScriptedLlm([["It rains. ", gate, "It pours."]])) as two:
        house, other = two.answering, two.forgetting
        fact, conversation = await told(two)
        run = await house.app.runs.start(house.me, conversation, "How is the weather?")
        await two.until_text(run)
        await other.app.forgetting.forget(other.me, [fact])
        await other.app.memory.add(other.me, NewFact("Likes rain"))
        gate.set()
        await house.events(run)
        assert await texts(other, conversation) == ["How is the weather?", "It rains. It pours."]


async def test_decisions_about_two_calls_at_once_are_both_kept() -> None:
    calls = [ScriptedCall("forget_memory", {"query_or_id": name}, id=name) for name in ("cat", "dog")]
    async with two_processes(ScriptedLlm([calls, "Done."])) as two:
        house, other = two.answering, two.forgetting
        for name in ("cat", "dog"):
            await house.app.memory.add(house.me, NewFact(f"User has a {name}"))
        conversation = await house.new()
        await house.say("Forget my cat and my dog", conversation)
        run = (await house.messages(conversation))[-1].run

        async def reject(one: House, call: str) -> None:
            await one.app.runs.approvals.decide(one.me, run, call=call, choice=ApprovalChoice("reject"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reject, house, "cat")
            tasks.start_soon(reject, other, "dog")
        (page,) = await house.app.ports.store.scan(house.me.owner, Scan(RUNS))
        assert [item.record.state for item in page.items] != ["waiting"]


async def test_a_commit_that_expects_what_was_before_is_refused() -> None:
    async with two_processes(ScriptedLlm([])) as two:
        store, owner = two.answering.app.ports.store, two.answering.me.owner
        announcements = two.answering.app.forgetting.announcements
        before = await announcements.announced(owner)
        await announcements.announce(owner, "an intent")
        with pytest.raises(Conflict):
            await store.commit(owner, [expecting(before)])
        await store.commit(owner, [expecting(await announcements.announced(owner))])


async def test_what_a_search_of_the_model_quoted_from_another_conversation_is_forgotten_with_it() -> None:
    llm = ScriptedLlm(
        ["Noted.", [ScriptedCall("search_memory", {"query": "What do I often think of?"})], "Found."]
    )
    async with open_house(llm) as house:
        await house.say(f"I often think of {SECRET}.", await house.new())
        talk = await house.new()
        events = await house.say("What do I think of?", talk)
        (found,) = [event for event in events if isinstance(event, ToolFinished)]
        assert SECRET in found.text
        wanted = ForgetRequest(query=f"think of {SECRET}")
        preview = await house.app.forgetting.preview(house.me, wanted)
        await house.app.forgetting.confirm(house.me, wanted, preview.token)
        assert SECRET not in await everything(house)


async def test_a_run_keeps_nothing_of_what_a_process_began_to_forget_and_died() -> None:
    gate = anyio.Event()
    llm = ScriptedLlm([[f"You dream of {SECRET}. ", gate, "Good night."], "Yes."])
    async with two_processes(llm) as two:
        house, other = two.answering, two.forgetting
        fact, conversation = await told(two)
        run = await house.app.runs.start(house.me, conversation, "What do I dream of?")
        await two.until_text(run)
        announcements, owner = other.app.forgetting.announcements, other.me.owner
        intent = ForgetIntent(id="cut short", at=0, state="open", facts=(fact,))
        await announcements.announce(owner, intent.id, [Put(INTENTS, intent, if_version=0)])
        gate.set()
        await house.events(run)
        assert (await texts(other, conversation))[-1] == "[forgotten] Good night."
        await house.say("Do I sleep well?", conversation)
        assert SECRET not in str(llm.requests[-1].messages)
        await other.app.forgetting.finish_all()
        assert SECRET not in await two.kept()
        assert (await announcements.announced(owner)).record.under_way == ()
