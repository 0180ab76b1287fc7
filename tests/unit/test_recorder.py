"""What a live run writes, and that nothing is written behind its end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest

from bethink.agent.recorder import FLUSH_S, SLOWEST_FLUSH_S, Recorder, pause_after
from bethink.agent.records import RUNS, Journal, Run
from bethink.conversations.records import Conversation
from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.events import RunDone, TextDelta
from bethink.forgetting.announcements import ForgetBarrier
from bethink.messages import AssistantMessage, UserMessage
from bethink.store import Change, Scan
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio


class _GatedStore(MemoryStore):
    """A store whose commits wait while there is a gate."""

    gate: anyio.Event | None = None
    reached: anyio.Event

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        if self.gate is not None:
            self.reached.set()
            await self.gate.wait()
        await super().commit(owner, changes)


def test_what_is_cheap_to_write_is_written_often_and_what_is_dear_once_a_second() -> None:
    assert pause_after(0.0005) == FLUSH_S, "one answer on SQLite"
    assert pause_after(0.013) == pytest.approx(0.26), "ten on PostgreSQL"
    assert pause_after(60.0) == SLOWEST_FLUSH_S, "a store that was away"


async def _recorder(house: House) -> Recorder:
    conversations = house.app.conversations
    held = await conversations.get(house.me, await house.new())
    run = Run(
        id="run",
        conversation=held.record.id,
        message="question",
        process="here",
        started_at=house.clock.now_us(),
    )
    barrier = await ForgetBarrier.listening(house.me.owner, house.app.forgetting.announcements)
    recorder = Recorder(house.me, run, held, conversations, Journal(first=1), barrier)
    await recorder.begin([UserMessage("Where to?")])
    return recorder


async def _conversation(house: House, recorder: Recorder) -> Conversation:
    return (await house.app.conversations.get(house.me, recorder.conversation.record.id)).record


async def test_text_that_waits_to_be_written_does_not_take_the_conversation_again() -> None:
    async with open_house() as house:
        recorder = await _recorder(house)
        recorder.take(TextDelta(text="To Lisbon."))
        await asyncio.gather(recorder.end(RunDone(reason="answered")), recorder.flush())
        assert (await _conversation(house, recorder)).active_run is None
        (page,) = await house.app.ports.store.scan(house.me.owner, Scan(RUNS, {"state": "ended"}))
        assert [item.record.id for item in page.items] == ["run"]
        assert [stored.stop_reason for stored in await house.messages(recorder.run.conversation)] == [
            None,
            "answered",
        ]


async def test_what_was_being_written_when_it_was_cut_short_is_kept_once_and_in_its_place() -> None:
    ports = ports_of()
    assert isinstance(ports.index, MemoryIndex)
    store = _GatedStore(ports.index)
    async with open_house(ports=replace(ports, store=store)) as house:
        recorder = await _recorder(house)
        await recorder.save([AssistantMessage("To Lisbon.")])
        store.gate, store.reached = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(recorder.flush)
            await store.reached.wait()
            tasks.cancel_scope.cancel()
            store.gate.set()
        store.gate = None
        await recorder.end(RunDone(reason="answered"))
        kept = await house.messages(recorder.run.conversation)
        assert [(one.position, one.message.content) for one in kept] == [(0, "Where to?"), (1, "To Lisbon.")]
        assert (await _conversation(house, recorder)).count == 2


async def test_an_answer_that_is_being_written_when_its_run_ends_keeps_its_place() -> None:
    ports = ports_of()
    assert isinstance(ports.index, MemoryIndex)
    store = _GatedStore(ports.index)
    async with open_house(ports=replace(ports, store=store)) as house:
        recorder = await _recorder(house)
        await recorder.save([AssistantMessage("To Lisbon.")])
        store.gate, store.reached = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(recorder.flush)
            await store.reached.wait()
            tasks.start_soon(recorder.end, RunDone(reason="answered"))
            await anyio.lowlevel.checkpoint()
            store.gate.set()
        said = await house.messages(recorder.run.conversation)
        assert [(one.message.content, one.position) for one in said] == [("Where to?", 0), ("To Lisbon.", 1)]
        assert said[-1].stop_reason == "answered"
