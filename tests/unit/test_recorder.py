"""What a live run writes, and that nothing is written behind its end."""

from __future__ import annotations

import asyncio

import pytest

from bethink.agent.hush import Hush
from bethink.agent.journal import Journal
from bethink.agent.recorder import Recorder
from bethink.agent.records import RUNS, Run
from bethink.conversations import Conversation
from bethink.events import RunDone, TextDelta
from bethink.messages import UserMessage
from bethink.store import Scan
from tests.house import House, open_house

pytestmark = pytest.mark.anyio


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
    hush = await Hush.listening(house.me.owner, house.app.forgetting.forgettings)
    recorder = Recorder(house.me, run, held, conversations, Journal(first=1), hush)
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
        page = await house.app.ports.store.scan(house.me.owner, Scan(RUNS, {"state": "ended"}))
        assert [item.record.id for item in page.items] == ["run"]
        assert [stored.stop_reason for stored in await house.messages(recorder.run.conversation)] == [
            None,
            "answered",
        ]
