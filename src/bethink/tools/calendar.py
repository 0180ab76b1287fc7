"""The tools over the calendar (spec 004). Times are words or figures: code works out what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio.to_thread
from pydantic import BaseModel, Field

from bethink.calendar.free_time import FreeTime, Hours
from bethink.calendar.service import Calendar, EventChange, EventConflict, EventTarget, Scope
from bethink.clock import to_datetime, to_us, zone_of
from bethink.errors import UnknownId
from bethink.field_checks import given_fields
from bethink.recurrence import words
from bethink.tool import Foretold, Tool, ToolContext, ToolOutput, tool, tools_in

if TYPE_CHECKING:
    from bethink.calendar.records import Instance
    from bethink.feature import Surroundings
    from bethink.principal import Principal

_calendar_tool = partial(tool, family="calendar", rare=True)
_EVENT = ("calendar", "meeting", "appointment", "event", "kalender", "termin", "treffen", "besprechung")
_WHEN = (
    "today", "tomorrow", "tonight", "week", "agenda", "free", "busy",
    "heute", "morgen", "übermorgen", "woche", "anstehen", "steht an",
)  # fmt: skip
_NEW = (*_EVENT, "schedule", "book", "meet", "invite", "birthday", "vereinbar", "verabred", "geburtstag")
_MOVED = (*_EVENT, "move", "reschedule", "postpone", "cancel", "verschieb", "verleg", "absag")
_FREE = ("free time", "free slot", "when free", "available", "slot", "frei wann", "freie zeit", "find time")
"""What people say who want a tool."""
_MOST = 50
"""Instances of one answer: more are no list that a model reads."""

_Day = Annotated[str, Field(max_length=100, description="Day, in words or YYYY-MM-DD")]
_DayOrNone = Annotated[str | None, Field(max_length=100, description="Day, in words or YYYY-MM-DD")]
_Clock = Annotated[str | None, Field(max_length=60, description="HH:MM; none: the whole day")]
_Minutes = Annotated[int | None, Field(gt=0, le=5_270_400, description="How long it takes; 60 by itself")]
_Title = Annotated[str, Field(max_length=300, description="What it is called")]
_NewTitle = Annotated[str | None, Field(max_length=300, description="What it is called")]
_Place = Annotated[str | None, Field(max_length=500, description="Where it is")]
_Query = Annotated[str | None, Field(max_length=500, description="Only what holds or answers this")]
_Text = Annotated[str | None, Field(max_length=20_000, description="What it is about")]
_Type = Annotated[
    str | None, Field(max_length=32, description="meeting, appointment, reminder, deadline, birthday, …")
]
_People = Annotated[list[str] | None, Field(max_length=200, description="Names or e-mail addresses")]
_Reminders = Annotated[list[int] | None, Field(max_length=10, description="Minutes before")]
_Status = Annotated[
    Literal["confirmed", "tentative", "cancelled"] | None, Field(description="Whether it takes place")
]
_Rule = Annotated[
    str | None, Field(max_length=500, description="Words such as every 2nd Friday, or an RRULE")
]
_EventId = Annotated[str, Field(max_length=200, description="As get_calendar_events gives it")]
_ScopeOf = Annotated[
    Scope | None, Field(description="What of a series: by itself the instance that is named")
]
_Overlap = Annotated[bool, Field(description="Only once the user agreed to the overlap")]


class EventAnswer(BaseModel):
    """An event, or an instance of a series."""

    id: str
    title: str
    start: str
    end: str
    all_day: bool
    words: str
    event_type: str
    location: str
    attendees: list[str]
    recurrence: str | None
    status: str
    untrusted: bool


class FreeAnswer(BaseModel):
    """Time in which nothing is planned."""

    start: str
    end: str


class EventsAnswer(BaseModel):
    """Events in order of their start."""

    events: list[EventAnswer]
    more: bool


class ChangeAnswer(BaseModel):
    """What became of an event; what overlaps `conflicts` is not kept, and fits at times that are `free`."""

    event: EventAnswer | None = None
    undo: str | None = None
    conflicts: list[EventAnswer] = []
    free: list[FreeAnswer] = []


class FreeTimesAnswer(BaseModel):
    """Times in which nothing is planned, in order."""

    free: list[FreeAnswer]


def tools_of(at: Surroundings) -> list[Tool]:
    """`get_calendar_events`, `create_calendar_event`, `update_…`, `delete_…` and `find_free_time`."""
    return tools_in(CalendarTools(at.features.of(Calendar)))


@dataclass(frozen=True, slots=True)
class CalendarTools:
    """The tools over an owner's calendar."""

    calendar: Calendar

    @_calendar_tool(
        effect="read", label="Look into the calendar", output=EventsAnswer, cues=(*_EVENT, *_WHEN)
    )
    async def get_calendar_events(
        self,
        context: ToolContext,
        start_date: _DayOrNone = None,
        end_date: _DayOrNone = None,
        event_type: _Type = None,
        query: _Query = None,
    ) -> ToolOutput:
        """List calendar events; by itself of the next seven days."""
        start, end = await self._range(context.principal, start_date, end_date)
        found = await self.calendar.range(
            context.principal, start=start, end=end, event_type=event_type, query=query, limit=_MOST
        )
        said = f"{_when(start, context.principal)} to {_when(end, context.principal)}"
        if not found.items:
            text = f"No events from {said}."
        else:
            lines = "\n".join(self._line(context.principal, one) for one in found.items)
            more = "\nThere are more: ask for fewer days." if found.more else ""
            text = f"{_counted(len(found.items))} from {said}:\n{lines}{more}"
        return ToolOutput(
            text,
            structured={
                "events": [self._answer(context.principal, one) for one in found.items],
                "more": found.more,
            },
            untrusted=any(one.event.untrusted for one in found.items),
        )

    @_calendar_tool(
        effect="write", label="Put {title} into the calendar, {date}", output=ChangeAnswer, cues=_NEW
    )
    async def create_calendar_event(
        self,
        context: ToolContext,
        title: _Title,
        date: _Day,
        start_time: _Clock = None,
        duration_minutes: _Minutes = None,
        event_type: _Type = None,
        location: _Place = None,
        attendees: _People = None,
        reminders: _Reminders = None,
        recurrence: _Rule = None,
        description: _Text = None,
        *,
        allow_conflict: _Overlap = False,
    ) -> ToolOutput:
        """Put an event into the calendar. Pass times as the user said them; what is taken is refused."""
        given = given_fields(
            title=title, duration_minutes=duration_minutes, event_type=event_type, location=location,
            attendees=attendees, reminders=reminders, recurrence=recurrence, description=description,
        )  # fmt: skip
        given = {**await self._start(context.principal, date, start_time), **given}
        try:
            change = await self.calendar.create(
                context.principal,
                given,
                allow_conflict=allow_conflict,
                conversation=context.conversation or None,
                untrusted=context.is_untrusted,
            )
        except EventConflict as error:
            return self._refused(context.principal, error)
        return self._changed(context.principal, change, "Kept")

    @_calendar_tool(effect="write", label="Change event {event_id}", output=ChangeAnswer, cues=_MOVED)
    async def update_calendar_event(
        self,
        context: ToolContext,
        event_id: _EventId,
        title: _NewTitle = None,
        date: _DayOrNone = None,
        start_time: _Clock = None,
        duration_minutes: _Minutes = None,
        event_type: _Type = None,
        location: _Place = None,
        attendees: _People = None,
        reminders: _Reminders = None,
        recurrence: _Rule = None,
        description: _Text = None,
        status: _Status = None,
        scope: _ScopeOf = None,
        *,
        allow_conflict: _Overlap = False,
    ) -> ToolOutput:
        """Change the given fields of a calendar event; others stay. Find its id first."""
        given = given_fields(
            title=title, duration_minutes=duration_minutes, event_type=event_type, location=location,
            attendees=attendees, reminders=reminders, recurrence=recurrence, description=description,
            status=status,
        )  # fmt: skip
        principal = context.principal
        before = await self.calendar.get(principal, event_id) if date or start_time else None
        given = {**await self._start(principal, date, start_time, before), **given}
        try:
            change = await self.calendar.update(
                principal,
                EventTarget(event_id, scope),
                given,
                allow_conflict=allow_conflict,
                untrusted=context.is_untrusted,
            )
        except EventConflict as error:
            return self._refused(principal, error)
        return self._changed(principal, change, "Changed")

    async def _foretell(self, principal: Principal, arguments: dict[str, Any]) -> Foretold:
        try:
            one = await self.calendar.get(principal, arguments["event_id"])
        except UnknownId:
            return Foretold(arguments, "")
        scope = EventTarget(arguments["event_id"], arguments["scope"]).scope_of(one.event)
        what = {"this": "this one only", "following": "this one and all that follow", "all": "all of it"}
        series = f" ({words(one.event.recurrence) if one.event.recurrence else 'a series'}: {what[scope]})"
        said = self.calendar.said(principal, one)
        return Foretold(arguments, f"- {one.title}: {said}{series if one.event.is_series else ''}")

    @_calendar_tool(
        effect="destructive",
        label="Delete event {event_id}",
        foretell=_foretell,
        output=ChangeAnswer,
        cues=("delete event", "delete meeting", "cancel", "absag", "lösch termin"),
    )
    async def delete_calendar_event(
        self, context: ToolContext, event_id: _EventId, scope: _ScopeOf = None
    ) -> ToolOutput:
        """Delete a calendar event, or what is named of a series. Find its id first."""
        change = await self.calendar.delete(context.principal, EventTarget(event_id, scope))
        return self._changed(context.principal, change, "Deleted")

    @_calendar_tool(effect="read", label="Look for free time", output=FreeTimesAnswer, cues=_FREE)
    async def find_free_time(
        self,
        context: ToolContext,
        duration_minutes: Annotated[int, Field(gt=0, le=44_640, description="At least so long")] = 60,
        start_date: _DayOrNone = None,
        end_date: _DayOrNone = None,
        day_start: Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$", description="HH:MM")] = "09:00",
        day_end: Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$", description="HH:MM")] = "18:00",
    ) -> ToolOutput:
        """Find times without events; by itself in the next seven days, 9:00 to 18:00."""
        from datetime import time

        principal = context.principal
        start, end = await self._range(principal, start_date, end_date)
        hours = Hours(time.fromisoformat(day_start), time.fromisoformat(day_end))
        found = await self.calendar.free(
            principal, start=start, end=end, minutes=duration_minutes, hours=hours, limit=_MOST
        )
        lines = "\n".join(f"- {_when(one.start, principal)} to {_when(one.end, principal)}" for one in found)
        text = f"Free for {duration_minutes} minutes or more:\n{lines}" if found else "No such time is free."
        return ToolOutput(text, structured={"free": [_free(one, principal) for one in found]})

    # --- what is said

    async def _range(self, principal: Principal, start: str | None, end: str | None) -> tuple[int, int]:
        from bethink.calendar.words import range_of  # what reads words takes a while to load

        first, last = await anyio.to_thread.run_sync(range_of, start, end, self.calendar.now(principal))
        return to_us(first), to_us(last)

    async def _start(
        self,
        principal: Principal,
        day: str | None,
        clock: str | None,
        before: Instance | None = None,
    ) -> dict[str, Any]:
        """The fields that say when an event is."""
        from bethink.calendar.words import start_of

        now = self.calendar.now(principal)
        if before is not None and before.event.zone:
            now = now.astimezone(zone_of(before.event.zone))
        began = (
            to_datetime(before.starts_at).astimezone(now.tzinfo) if before and not before.all_day else None
        )
        if before is not None and before.all_day and clock and not day:
            day = before.start
        return await anyio.to_thread.run_sync(partial(start_of, day, clock, now, before=began))

    def _changed(self, principal: Principal, change: EventChange, verb: str) -> ToolOutput:
        one = change.instance
        told = f"{verb}: {one.title}, {self.calendar.said(principal, one)}, id {one.id}."
        if change.conflicts:
            named = ", ".join(other.title for other in change.conflicts[:5])
            told += f" It overlaps {named}."
        return ToolOutput(
            told,
            structured={
                "event": self._answer(principal, one),
                "undo": change.undo,
                "conflicts": [self._answer(principal, other) for other in change.conflicts],
                "free": [],
            },
            untrusted=_is_untrusted([one, *change.conflicts]),
        )

    def _refused(self, principal: Principal, error: EventConflict) -> ToolOutput:
        answer: Mapping[str, Any] = {
            "event": None,
            "undo": None,
            "conflicts": [self._answer(principal, other) for other in error.conflicts],
            "free": [_free(one, principal) for one in error.free],
        }
        return ToolOutput(
            error.message, error=error.code, structured=answer, untrusted=_is_untrusted(error.conflicts)
        )

    def _answer(self, principal: Principal, one: Instance) -> dict[str, Any]:
        return {
            "id": one.id,
            "title": one.title,
            "start": one.start if one.all_day else _iso(one.starts_at, principal),
            "end": one.end if one.all_day else _iso(one.ends_at, principal),
            "all_day": one.all_day,
            "words": self.calendar.said(principal, one),
            "event_type": one.event_type,
            "location": one.location,
            "attendees": [who.name or who.email for who in one.attendees],
            "recurrence": one.event.recurrence or None,
            "status": one.status,
            "untrusted": one.event.untrusted,
        }

    def _line(self, principal: Principal, one: Instance) -> str:
        more = [f"at {one.location}"] if one.location else []
        if one.attendees:
            more.append(f"with {', '.join(who.name or who.email for who in one.attendees[:10])}")
        if one.status != "confirmed":
            more.append(one.status)
        extra = f", {', '.join(more)}" if more else ""
        kind = "" if one.event_type == "other" else f" ({one.event_type})"
        return f"- {self.calendar.said(principal, one)}: {one.title}{kind}{extra}, id {one.id}"


def _is_untrusted(instances: Sequence[Instance]) -> bool:
    return any(one.event.untrusted for one in instances)


def _free(one: FreeTime, principal: Principal) -> dict[str, str]:
    return {"start": _iso(one.start, principal), "end": _iso(one.end, principal)}


def _iso(at: int, principal: Principal) -> str:
    return to_datetime(at).astimezone(zone_of(principal.time_zone)).isoformat()


def _when(at: int, principal: Principal) -> str:
    local = to_datetime(at).astimezone(zone_of(principal.time_zone))
    return f"{local:%A} {local.day} {local:%B %Y %H:%M}"


def _counted(count: int) -> str:
    return "1 event" if count == 1 else f"{count} events"
