"""`/today`: one page with what is due, what was promised, and what happened by itself since last evening."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import anyio.to_thread
from fastapi import APIRouter
from pydantic import BaseModel, Field

from bethink.clock import to_datetime, to_us
from bethink.schedules.service import Schedules
from bethink.web.calendar import EventShown, list_events
from bethink.web.deps import Caller, CallerFilter, Served
from bethink.web.memories import Memory, visible
from bethink.web.schedules import NoticeShown, ScheduleRunShown, run_shown
from bethink.web.tasks import TaskShown, list_tasks
from bethink.when.ranges import Mention, find

if TYPE_CHECKING:
    from bethink.memory.facts import Fact

router = APIRouter(prefix="/today", tags=["today"])

_EVENING: Final = time(18)
"""What runs brought since then is of the night."""
_WEEK: Final = timedelta(days=7)
_LOOKED_AT: Final = 500
"""The newest facts: what was promised longer ago is a task, or an event."""
_SHOWN: Final = 100
_PROMISES: Final = 20


class TodayRun(ScheduleRunShown):
    """What a schedule brought."""

    schedule: str
    title: str


class Today(BaseModel):
    """One day of the owner's, in their zone."""

    date: date
    overdue: list[TaskShown]
    tasks: list[TaskShown] = Field(description="Due today, and not done.")
    events: list[EventShown]
    promised: list[Memory] = Field(description="Memories that name a day of the seven from today on.")
    runs: list[TodayRun] = Field(description="What schedules brought since yesterday, 18:00.")
    notices: list[NoticeShown] = Field(description="Those that were not seen yet; the newest first.")


@router.get("")
async def get_today(app: Served, caller: Caller, reader_filter: CallerFilter) -> Today:
    """What is due today, what was promised, and what happened by itself."""
    schedules = app.features.of(Schedules)
    zone = ZoneInfo(caller.time_zone)
    now = to_datetime(schedules.clock.now_us()).astimezone(zone)
    today = now.date()
    start, end = (datetime.combine(day, time(), zone) for day in (today, today + timedelta(days=1)))
    evening = datetime.combine(today - timedelta(days=1), _EVENING, zone)
    facts = await app.memory.list(caller, limit=_LOOKED_AT, where={"state": "active"})
    recent = visible([item.record for item in facts.items], reader_filter)
    promised = await anyio.to_thread.run_sync(_promised, recent, start)
    overdue = await list_tasks(app, caller, due="overdue", done=False, limit=_SHOWN)
    tasks = await list_tasks(app, caller, due="today", done=False, limit=_SHOWN)
    events = await list_events(app, caller, start=start.isoformat(), end=end.isoformat())
    unseen = await schedules.notices(caller, unseen=True, limit=_SHOWN)
    known = {task.id for task in overdue.items}
    return Today(
        date=today,
        overdue=overdue.items,
        tasks=[task for task in tasks.items if task.id not in known],
        events=events.items,
        promised=[Memory.of(fact) for fact in promised],
        runs=[
            TodayRun(**run_shown(run).model_dump(), schedule=run.schedule, title=title)
            for run, title in await schedules.brought(caller, to_us(evening), limit=_SHOWN)
        ],
        notices=[NoticeShown.of(item.record) for item in unseen.items],
    )


def _promised(facts: Sequence[Fact], today: datetime) -> list[Fact]:
    """Facts that name a day, or a last day, of this week."""
    end = today + _WEEK
    found: list[Fact] = []
    for fact in facts:
        said = to_datetime(fact.created_at).astimezone(today.tzinfo)
        mentions = find(fact.content, said, past_first=False)
        if any(_is_in(one, today, end) for one in mentions):
            found.append(fact)
    return found[:_PROMISES]


def _is_in(mention: Mention, low: datetime, high: datetime) -> bool:
    """Whether a time of a week at most, or the end or beginning of an open one, falls into a range."""
    first, last = mention.low or mention.high, mention.high or mention.low
    if first is None or last is None or last - first > _WEEK:
        return False
    return first < high and last > low
