"""Runs: their events, what is stored of them, who reads them, how they end."""

from __future__ import annotations

import dataclasses

import anyio
import pytest

from bethink.agent.records import JOURNAL, RUNS, TOOL_USES, JournalEntry, NumberedEvent, Run, ToolUse
from bethink.agent.stored_runs import ApprovalChoice
from bethink.agent.toolbox import REFUSALS
from bethink.conversations.service import ConversationEdit, Conversations
from bethink.engines.memory import MemoryBus
from bethink.errors import Busy, UnknownId
from bethink.events import (
    ApprovalNeeded,
    Event,
    Place,
    ReasoningDelta,
    RunDone,
    TextDelta,
    TextSoFar,
    ToolFinished,
)
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.messages import AssistantMessage, ToolMessage
from bethink.principal import Principal
from bethink.store import Put
from tests.house import open_house, ports_of

pytestmark = pytest.mark.anyio

PARIS = ScriptedCall("store_memory", {"content": "Lives in Paris", "importance": 0.9})
ALICE = ScriptedCall("store_memory", {"content": "User's name is Alice", "importance": 0.9})
DELETE = ScriptedCall("delete_all_memories", {})


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def reason_of(events: list[Event]) -> str:
    (done,) = [event for event in events if isinstance(event, RunDone)]
    assert events[-1] is done
    return done.reason


async def test_cancelling_keeps_what_was_said() -> None:
    async with open_house(ScriptedLlm([["Once upon a time", anyio.Event()]])) as house:
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, "Tell me a story")
        seen: list[Event] = []
        async for batch in house.app.runs.follow(house.me, run):
            seen += [numbered.event for numbered in batch]
            if text_of(seen) == "Once upon a time":
                await house.app.runs.cancel(house.me, run)
        last = (await house.messages(conversation))[-1]
    assert reason_of(seen) == "cancelled"
    assert (last.message, last.stop_reason) == (AssistantMessage("Once upon a time"), "cancelled")


async def test_a_reader_that_leaves_does_not_end_the_run() -> None:
    gate = anyio.Event()
    async with open_house(ScriptedLlm([["Before ", gate, "after"]])) as house:
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, "Go")
        reader = house.app.runs.follow(house.me, run)
        await anext(reader)
        await reader.aclose()
        gate.set()
        events = await house.events(run)
        last = (await house.messages(conversation))[-1]
    assert text_of(events) == "Before after"
    assert last.message == AssistantMessage("Before after")


async def test_any_place_can_be_continued_from_exactly() -> None:
    llm = ScriptedLlm([[ReasoningDelta(text="Hm, hm."), ALICE], "Nice to meet you, dear Alice."])
    async with open_house(llm) as house:
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, "I am Alice")
        whole = await house.numbered(run)
        text = text_of([numbered.event for numbered in whole])
        (part,) = [numbered.place.sequence for numbered in whole if isinstance(numbered.event, TextDelta)]
        for characters in range(len(text) + 1):
            rest = await house.events(run, Place(part, characters))
            assert text_of(rest) == text[characters:]
            assert reason_of(rest) == "answered"


async def test_a_place_that_was_lost_gets_the_text_so_far() -> None:
    gate = anyio.Event()
    async with open_house(ScriptedLlm([["Hello ", gate, "world"]])) as house:
        run = await house.app.runs.start(house.me, await house.new(), "Go")
        reader = house.app.runs.follow(house.me, run, Place(2, 999))
        first = await anext(reader)
        gate.set()
        rest = [numbered.event async for batch in reader for numbered in batch]
    (snapshot,) = [numbered.event for numbered in first]
    assert isinstance(snapshot, TextSoFar)
    assert snapshot.text + text_of(rest) == "Hello world"


async def test_a_conversation_that_is_answered_now_is_busy() -> None:
    gate = anyio.Event()
    async with open_house(ScriptedLlm([[gate, "one"], "two"])) as house:
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, "First")
        with pytest.raises(Busy):
            await house.app.runs.start(house.me, conversation, "Second")
        gate.set()
        await house.events(run)
        assert text_of(await house.say("Second", conversation)) == "two"


async def test_a_renaming_during_the_answer_keeps_both() -> None:
    gate = anyio.Event()
    async with open_house(ScriptedLlm([[gate, "answer"]])) as house:
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, "Question")
        await house.app.conversations.edit(house.me, conversation, ConversationEdit(title="My title"))
        gate.set()
        await house.events(run)
        kept = (await house.app.conversations.get(house.me, conversation)).record
    assert (kept.title, kept.count, kept.active_run) == ("My title", 2, None)


@pytest.mark.requirement("R58", "C7", "R185", "R188")
@pytest.mark.parametrize("approve", [True, False])
async def test_deleting_everything_waits_for_the_owner(approve: bool) -> None:  # noqa: FBT001 - a parameter
    llm = ScriptedLlm([[PARIS], "Noted.", [DELETE], "As you decided."])
    async with open_house(llm) as house:
        await house.say("I live in Paris")
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, "Delete everything you know about me")
        asked = await house.numbered(run)
        (needed,) = [n.event for n in asked if isinstance(n.event, ApprovalNeeded)]
        assert reason_of([n.event for n in asked]) == "awaiting_approval"
        assert len((await house.app.memory.list(house.me)).items) == 1
        decision = "approve" if approve else "reject"
        assert await house.app.runs.approvals.decide(
            house.me, run, call=needed.call, choice=ApprovalChoice(decision)
        )
        rest = await house.events(run, asked[-1].place)
        left = (await house.app.memory.list(house.me)).items
        with pytest.raises(UnknownId):
            await house.app.runs.approvals.decide(
                house.me, run, call=needed.call, choice=ApprovalChoice("approve")
            )
    (finished,) = [event for event in rest if isinstance(event, ToolFinished)]
    if approve:
        assert finished.text == "Successfully deleted all memories. The memory file has been removed."
        assert not left
    else:
        assert finished.text == REFUSALS["rejected"]
        assert len(left) == 1
    assert reason_of(rest) == "answered"
    assert text_of(rest) == "As you decided."


async def test_a_new_message_rejects_what_still_waits() -> None:
    llm = ScriptedLlm([[DELETE], "Fine, then."])
    async with open_house(llm) as house:
        conversation = await house.new()
        await house.say("Delete everything", conversation)
        assert text_of(await house.say("No, leave it", conversation)) == "Fine, then."
        stored = await house.messages(conversation)
    (result,) = [item.message for item in stored if isinstance(item.message, ToolMessage)]
    assert result.error == "rejected"


async def test_a_run_of_a_dead_process_tells_its_end_when_it_is_opened() -> None:
    ports = ports_of(ScriptedLlm([["Half an answer", anyio.Event()]]))
    survivor = dataclasses.replace(ports, bus=MemoryBus(), llm=ScriptedLlm(["Here I am again."]))
    async with open_house(ports=ports) as dying, open_house(ports=survivor) as house:
        conversation = await dying.new()
        run = await dying.app.runs.start(dying.me, conversation, "Go")
        with anyio.fail_after(120):
            while not text_of([n.event for n in await house.app.runs.stored.events(house.me, run, Place(0))]):  # noqa: ASYNC110 - the journal is another process's here
                await anyio.sleep(0.01)
        await house.app.runs.stored.settle(house.me, conversation)
        last = (await house.messages(conversation))[-1]
        replayed = await house.events(run)
        again = await house.say("Still there?", conversation)
    assert (last.message, last.stop_reason) == (AssistantMessage("Half an answer"), "interrupted")
    assert text_of(replayed) == "Half an answer"
    assert reason_of(replayed) == "interrupted"
    assert text_of(again) == "Here I am again."


async def test_a_run_that_has_just_begun_is_not_taken_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_house(ScriptedLlm(["Good morning."])) as house:
        conversation = await house.new()
        announce = Conversations.announce

        async def read_at_once(self: Conversations, owner: str, id: str) -> None:
            await announce(self, owner, id)
            await house.app.runs.stored.settle(house.me, id)

        monkeypatch.setattr(Conversations, "announce", read_at_once)
        events = await house.events(await house.app.runs.start(house.me, conversation, "Hello"))
    assert (text_of(events), reason_of(events)) == ("Good morning.", "answered")


async def test_nothing_of_one_owner_is_another_s() -> None:
    gate = anyio.Event()
    stranger = Principal("stranger")
    async with open_house(ScriptedLlm([["secret ", gate, "answer"]])) as house:
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, "Go")
        for reach in (
            lambda: house.app.runs.start(stranger, conversation, "Hi"),
            lambda: house.app.runs.cancel(stranger, run),
            lambda: anext(house.app.runs.follow(stranger, run)),
            lambda: house.app.runs.approvals.decide(
                stranger, run, call="x", choice=ApprovalChoice("approve")
            ),
            lambda: house.app.conversations.get(stranger, conversation),
            lambda: house.app.conversations.messages(stranger, conversation),
        ):
            with pytest.raises(UnknownId):
                await reach()
        gate.set()
        assert text_of(await house.events(run)) == "secret answer"


async def test_journals_are_dropped_a_day_after_the_end_and_messages_stay() -> None:
    async with open_house(ScriptedLlm(["one", "two"])) as house:
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, "First")
        await house.events(run)
        await house.say("Second", conversation)
        house.clock.advance(86_401)
        await house.app.housekeeping.tidy(house.me)
        with pytest.raises(UnknownId):
            await house.events(run)
        assert len(await house.messages(conversation)) == 4


async def test_titles_come_from_the_first_words() -> None:
    async with open_house(ScriptedLlm(["ok", "ok"])) as house:
        conversation = await house.new()
        await house.say(
            "Where should I stay\nin Lisbon, if I prefer quiet places and trains to planes?", conversation
        )
        await house.say("And Porto?", conversation)
        kept = (await house.app.conversations.get(house.me, conversation)).record
    assert kept.title == "Where should I stay in Lisbon, if I prefer quiet places and…"


@pytest.mark.requirement("R109")
async def test_two_apps_in_one_process_share_nothing() -> None:
    async with open_house(ScriptedLlm(["one"])) as first, open_house(ScriptedLlm(["two"])) as second:
        conversation = await first.new()
        assert text_of(await first.say("Hi", conversation)) == "one"
        with pytest.raises(UnknownId):
            await second.say("Hi", conversation)
        assert text_of(await second.say("Hi")) == "two"


@pytest.mark.requirement("R107")
async def test_a_long_conversation_loads_whole_page_by_page() -> None:
    async with open_house(ScriptedLlm(lambda _request: "ok")) as house:
        conversation = await house.new()
        for number in range(30):
            await house.say(f"Message {number}", conversation)
        seen: list[int] = []
        cursor: str | None = None
        while True:
            page = await house.app.conversations.messages(house.me, conversation, limit=7, before=cursor)
            seen += [item.record.position for item in page.items]
            if (cursor := page.cursor) is None:
                break
    assert seen == list(range(59, -1, -1))


async def test_no_more_and_more_journals_are_kept_however_many_runs_there_were() -> None:
    async with open_house(ScriptedLlm(lambda _: "Yes.")) as house:
        store, owner = house.app.ports.store, house.me.owner
        await store.commit(owner, [Put(RUNS, ended_run(n, house.clock.now_us())) for n in range(100)])
        house.clock.advance(86_401)
        conversation = await house.new()
        for _ in range(6):
            await house.say("Is it so?", conversation)
        assert await store.count(owner, RUNS, {"state": "dropped"}) == 100


async def test_what_is_kept_for_a_time_only_goes_in_one_tidying_of_owners_who_say_nothing_too() -> None:
    async with open_house() as house:
        owner, store = house.me.owner, house.app.ports.store
        await house.new()
        runs = [ended_run(n, house.clock.now_us()) for n in range(300)]
        event = (NumberedEvent(Place(1), TextDelta(text="said")),)
        await store.commit(owner, [Put(RUNS, run) for run in runs])
        await store.commit(owner, [Put(JOURNAL, JournalEntry.of(run.id, event)) for run in runs])
        await store.commit("guest", [Put(TOOL_USES, use(f"{n}", house.clock.now_us())) for n in range(1_200)])
        house.clock.advance(86_400 * 300)
        await store.commit("guest", [Put(TOOL_USES, use("new", house.clock.now_us()))])
        await house.app.housekeeping.tidy_all()
        assert await store.count(owner, JOURNAL, {}) == 0
        assert await store.count("guest", TOOL_USES, {}) == 1_201
        house.clock.advance(86_400 * 66)
        await house.app.housekeeping.tidy_all()
        assert await store.count("guest", TOOL_USES, {}) == 1


async def test_uses_of_tools_are_kept_for_as_long_as_the_setting_says() -> None:
    async with open_house(ScriptedLlm(lambda _: "Yes."), tool_uses_days=2) as house:
        owner, store = house.me.owner, house.app.ports.store
        await store.commit(owner, [Put(TOOL_USES, use("old", house.clock.now_us()))])
        house.clock.advance(86_400)
        await house.say("Is it so?")
        assert await store.count(owner, TOOL_USES, {}) == 1
        house.clock.advance(86_401)
        await house.app.housekeeping.tidy(house.me)
        assert await store.count(owner, TOOL_USES, {}) == 0


def ended_run(number: int, at: int) -> Run:
    return Run(
        id=f"{number}",
        conversation="c",
        message="m",
        process="p",
        started_at=at,
        state="ended",
        ended_at=at,
    )


def use(id: str, at: int) -> ToolUse:
    return ToolUse(
        id=id,
        at=at,
        tool="t",
        call="c",
        conversation="c",
        run="r",
        message=None,
        by="policy",
        error=None,
        duration_ms=1,
    )
