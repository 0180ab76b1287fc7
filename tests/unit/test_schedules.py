"""Schedules: each due time is taken up once, whatever dies, and its owner is told what came of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from bethink.llm import Llm
from bethink.llm.scripted import ScriptedLlm
from bethink.schedules import Notice, Schedule, ScheduleDraft, ScheduleRun, Schedules
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@dataclass(frozen=True, slots=True)
class Planned:
    """A house, and its clock of schedules, which looks when a test says so."""

    house: House

    @property
    def schedules(self) -> Schedules:
        return self.house.app.features.of(Schedules)

    async def look(self, after_s: float = 0) -> None:
        """Let time pass, look what is due, and wait until it is done."""
        self.house.clock.advance(after_s)
        async with anyio.create_task_group() as tasks:
            await self.schedules.firing.look(tasks)

    async def new(self, text: str, after_s: float = HOUR, **more: object) -> str:
        """A schedule that is due once, after so many seconds."""
        at = self.house.clock.now_us() + round(after_s * 1_000_000)
        return (await self.made(text, _iso(at), **more)).id

    async def made(self, text: str, when: str, **more: object) -> Schedule:
        draft = ScheduleDraft(text=text, when=when, **more)  # pyright: ignore[reportArgumentType] - by name
        made = (await self.schedules.create(self.house.me, draft)).record
        # The bus tells the clock of it; without a running one, a test does.
        self.schedules.firing.wake(self.house.me.owner)
        return made

    async def get(self, id: str) -> Schedule:
        return (await self.schedules.get(self.house.me, id)).record

    async def notices(self) -> list[Notice]:
        page = await self.schedules.notices(self.house.me)
        return [item.record for item in page.items]

    async def history(self, id: str) -> list[ScheduleRun]:
        return [item.record for item in (await self.schedules.history(self.house.me, id)).items]

    async def said(self, conversation: str) -> list[str]:
        return [one.message.content for one in await self.house.messages(conversation)]


def _iso(us: int) -> str:
    from bethink.clock import rfc3339

    return rfc3339(us)


@asynccontextmanager
async def planned(llm: Llm | None = None, **settings: Any) -> AsyncGenerator[Planned]:  # noqa: ANN401 - by name
    async with open_house(llm, **settings) as house:
        yield Planned(house)


async def test_a_reminder_is_a_message_in_its_conversation_and_a_notice_once() -> None:
    async with planned() as plan:
        place = await plan.house.new()
        id = await plan.new("Call Bruna", 20 * MINUTE, conversation=place)
        await plan.look(19 * MINUTE)
        assert await plan.notices() == []
        await plan.look(MINUTE)
        await plan.look(MINUTE)
        (notice,) = await plan.notices()
        assert (notice.title, notice.text, notice.kind) == ("Call Bruna", "Call Bruna", "reminder")
        assert notice.link == f"/schedules/{id}"
        assert await plan.said(place) == ["Reminder: Call Bruna"]
        (run,) = await plan.history(id)
        assert run.outcome == "done"
        assert (await plan.get(id)).next_at is None


async def test_a_run_answers_in_a_conversation_of_its_own() -> None:
    async with planned(ScriptedLlm(lambda _: "Three things today.")) as plan:
        id = await plan.new("Give me my day", action="run")
        await plan.look(HOUR)
        (run,) = await plan.history(id)
        assert (run.outcome, run.message) == ("done", "Three things today.")
        schedule = await plan.get(id)
        assert schedule.results == run.conversation
        assert await plan.said(run.conversation) == ["Give me my day", "Three things today."]
        (notice,) = await plan.notices()
        assert notice.link == f"/c/{run.conversation}"
