"""`/calendar`: the owner's events, alone and in series, and when there is time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from bethink.calendar.free_time import Hours, clock_of
from bethink.calendar.service import Calendar, EventChange, EventConflict, EventTarget, know_zones
from bethink.calendar_sync.feature import Calendars
from bethink.clock import to_datetime, to_us, zone_of
from bethink.errors import Ambiguous, BadInput
from bethink.recurrence import words
from bethink.web.deps import (
    Body,
    Caller,
    IdempotencyKey,
    Items,
    ResponseModel,
    Served,
    Timestamp,
    VersionMatch,
    id_made_by,
    version_of,
)
from bethink.web.problems import MEDIA_TYPE, documented

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.calendar.records import Instance
    from bethink.principal import Principal

router = APIRouter(prefix="/calendar", tags=["calendar"])

Status = Literal["confirmed", "tentative", "cancelled"]
Scope = Literal["this", "following", "all"]
Attendance = Literal["needs-action", "accepted", "declined", "tentative"]
LinkKind = Literal["conversation", "message", "fact", "page", "document", "task"]
_Scope = Annotated[
    Scope | None,
    Query(description="Of a series; by itself the instance if its id is given, else all."),
]
_When = Annotated[str, Query(max_length=40, description="RFC 3339, or the owner's local time or day.")]


class Attendee(ResponseModel):
    """Somebody who is asked to come."""

    name: str
    email: str
    status: Attendance


class EventLink(ResponseModel):
    """What an event is about: `page` is named by its path, the others by their ids."""

    kind: LinkKind
    id: str
    title: str | None = None


class EventAccount(BaseModel):
    """The account of a calendar server that an event is synchronised with."""

    id: str
    name: str


class EventShown(ResponseModel):
    """An event, or one instance of a series; of whole days `start` and `end` (exclusive) are days."""

    id: str = Field(description="The instance's: of a series with `@` and the time that its rule gives.")
    event: str = Field(description="The id of the event, or of the whole series.")
    title: str
    description: str
    location: str
    event_type: str
    start: str = Field(description="RFC 3339 in the event's zone, or a day.")
    end: str
    all_day: bool
    zone: str = Field(description="IANA name; empty: the owner's, whichever it is.")
    starts_at: Timestamp
    ends_at: Timestamp
    attendees: list[Attendee]
    reminders: list[int] = Field(description="Minutes before the start.")
    recurrence: str | None = Field(description="A rule of RFC 5545; its UNTIL is local.")
    recurrence_words: str | None
    is_series: bool
    is_changed: bool = Field(description="It differs from its series.")
    status: Status
    busy: bool = Field(description="It takes up its time: others may be in conflict with it.")
    categories: list[str]
    color: str
    links: list[EventLink]
    conversation: str | None = Field(description="In which it was made.")
    conflicts: list[str] = Field(description="The ids of what it overlaps.")
    account: EventAccount | None = Field(default=None, description="With which it is synchronised.")
    created_at: Timestamp
    updated_at: Timestamp
    untrusted: bool
    version: int
    understood: str | None = Field(default=None, description="What words about time were understood as.")
    undo: str | None = Field(default=None, description="Takes the change back that gave this.")


class EventList(Items[EventShown]):
    """Instances in order of their start."""

    more: bool = Field(description="There are others: ask for a shorter range.")


class FreeTimeShown(BaseModel):
    """Time in which nothing is planned."""

    start: datetime
    end: datetime


class FreeTimes(Items[FreeTimeShown]):
    """Times in which nothing is planned, in order."""


class EventConflictProblem(BaseModel):
    """What stands where an event was to be (RFC 9457), and times near by that are free."""

    type: str = Field(examples=["urn:bethink:error:event_conflict"])
    title: str
    status: int
    detail: str
    conflicts: list[EventShown]
    free: list[FreeTimeShown]


class AttendeeGiven(Body):
    """Somebody to ask; a name or an e-mail address is enough."""

    name: str | None = None
    email: str | None = None
    status: Attendance | None = None


class _LinkGiven(Body):
    kind: LinkKind
    id: str


class _Fields(Body):
    start: str | None = Field(
        default=None, description="RFC 3339, a local time of `zone`, a day, or words such as “Friday at 9”."
    )
    end: str | None = Field(default=None, description="Exclusive; an hour after the start by itself.")
    duration_minutes: int | None = Field(default=None, description="In place of `end`.")
    all_day: bool | None = None
    zone: str | None = Field(default=None, description="IANA name; empty: the owner's, whichever it is.")
    description: str | None = None
    location: str | None = None
    event_type: str | None = None
    status: Status | None = None
    busy: bool | None = None
    attendees: list[AttendeeGiven] | None = None
    reminders: list[int] | None = None
    recurrence: str | None = Field(
        default=None, description="A rule of RFC 5545, or words such as “every 2nd Friday”."
    )
    categories: list[str] | None = None
    color: str | None = None
    links: list[_LinkGiven] | None = None
    allow_conflict: bool = Field(default=False, description="Keep it though it overlaps others.")


class EventDraft(_Fields):
    """An event to keep: by its fields, or in a line as a person writes it, with fields for the rest."""

    title: str | None = None
    words: str | None = Field(
        default=None, description="Such as “Lunch with Bruna tomorrow from 12 to 13:30 @Enzo #family”."
    )
    conversation: str | None = None


class EventPatch(_Fields):
    """What to change; what is left out stays, null empties a field that may be empty."""

    title: str | None = None


class EventDeletion(BaseModel):
    """An event is gone."""

    undo: str = Field(description="Brings it back.")


class EventUndo(Body):
    """Which change to take back."""

    token: str


class EventReading(BaseModel):
    """One way to read a line: in words, and the line that means it."""

    words: str
    text: str


class UnderstoodEvent(ResponseModel):
    """What a line would be taken for; nothing is kept."""

    title: str
    start: str | None = Field(default=None, description="RFC 3339, or a day.")
    end: str | None = None
    all_day: bool = False
    location: str = ""
    categories: list[str] = Field(default=[])
    recurrence: str | None = None
    recurrence_words: str | None = None
    words: str | None = Field(default=None, description="When it is, and how often.")
    ambiguous: list[EventReading] = Field(default=[], description="The ways to read its time, if several.")
    problem: str | None = Field(default=None, description="Why the line would not be taken.")


class UndoneEvents(Items[EventShown]):
    """The events as they are again."""


_NO_VERSION = 'If-Match: give the `version` of the event, such as "3".'
_NO_TIME = "Say when it is, such as tomorrow at 12."
_CONFLICT: dict[int | str, dict[str, Any]] = {
    **documented(404, 412),
    409: {"description": "Something else stands there.", "model": EventConflictProblem},
}


@router.get("/events")
async def list_events(
    app: Served,
    caller: Caller,
    *,
    start: _When,
    end: _When,
    event_type: Annotated[str | None, Query(max_length=32)] = None,
    query: Annotated[
        str | None, Query(max_length=2000, description="Only what holds or answers this.")
    ] = None,
) -> EventList:
    """The instances between two times, in order of their start; at most 2,000."""
    await know_zones(caller.time_zone)
    found = await app.features.of(Calendar).range(
        caller,
        start=_moment(caller, "start", start),
        end=_moment(caller, "end", end),
        event_type=event_type,
        query=query,
    )
    items = await _with_accounts(app, caller, found.items, _with_conflicts(found.items, caller))
    return EventList(items=items, more=found.more)


@router.post("/events", status_code=201, response_model=EventShown, responses=_CONFLICT)
async def add_event(
    body: EventDraft, app: Served, caller: Caller, key: IdempotencyKey = None
) -> EventShown | Response:
    """Keep an event; where another takes up its time, it is refused, unless `allow_conflict`."""
    calendar = app.features.of(Calendar)
    given = body.model_dump(exclude_unset=True, exclude={"allow_conflict"})
    id = id_made_by(key, given)
    if (line := given.pop("words", None)) is not None:
        given = (await calendar.read_line(caller, line)).fields | given
    try:
        change = await calendar.create(caller, given, allow_conflict=body.allow_conflict, id=id)
    except EventConflict as error:
        return _taken(error, caller)
    return _changed(calendar, change, caller)


@router.get("/understand")
async def understand_event(
    app: Served,
    caller: Caller,
    *,
    text: Annotated[str, Query(max_length=1000, description="A line as a person writes it.")],
) -> UnderstoodEvent:
    """What a line would be taken for, as it is typed; nothing is kept."""
    calendar = app.features.of(Calendar)
    title = " ".join(text.split())
    try:
        draft = await calendar.drafted(caller, (line := await calendar.read_line(caller, text)).fields)
    except Ambiguous as error:
        readings = zip(error.choices, error.texts, strict=False)
        both = [EventReading(words=words, text=text) for words, text in readings]
        return UnderstoodEvent(title=title, ambiguous=both)
    except BadInput as error:
        return UnderstoodEvent(title=title, problem=error.message)
    fields = line.fields
    if draft is None:
        return UnderstoodEvent(title=fields["title"], location=fields.get("location", ""), problem=_NO_TIME)
    return UnderstoodEvent.of(shown(draft, caller), words=calendar.said(caller, draft))


@router.post("/undo")
async def undo_event_change(body: EventUndo, app: Served, caller: Caller) -> UndoneEvents:
    """Take back a change: of a field, of a time, a deletion, or the making of an event."""
    back = await app.features.of(Calendar).undo(caller, body.token)
    return UndoneEvents(items=[shown(one, caller) for one in back])


@router.get("/free")
async def find_free_time(
    app: Served,
    caller: Caller,
    *,
    start: _When,
    end: _When,
    duration_minutes: Annotated[int, Query(ge=1, le=60 * 24 * 31)] = 60,
    day_start: Annotated[str, Query(max_length=5, description="HH:MM")] = "09:00",
    day_end: Annotated[str, Query(max_length=5, description="HH:MM; may lie on the next day.")] = "18:00",
    workdays: Annotated[bool, Query(description="Monday to Friday alone.")] = False,
) -> FreeTimes:
    """Times in which nothing is planned, within these hours of each day; at most 50."""
    await know_zones(caller.time_zone)
    hours = Hours(clock_of("day_start", day_start), clock_of("day_end", day_end), workdays)
    found = await app.features.of(Calendar).free(
        caller,
        start=_moment(caller, "start", start),
        end=_moment(caller, "end", end),
        minutes=duration_minutes,
        hours=hours,
    )
    return FreeTimes(items=[_free(one.start, one.end, caller) for one in found])


@router.get("/events/{event}", responses=documented(404))
async def get_event(event: str, app: Served, caller: Caller) -> EventShown:
    """One instance by its id; of a series named alone, its first."""
    found = await app.features.of(Calendar).get(caller, event)
    (one,) = await _with_accounts(app, caller, [found], [shown(found, caller)])
    return one


@router.patch("/events/{event}", response_model=EventShown, responses=_CONFLICT)
async def edit_event(
    event: str,
    body: EventPatch,
    app: Served,
    caller: Caller,
    *,
    scope: _Scope = None,
    if_match: VersionMatch = None,
) -> EventShown | Response:
    """Change an event, or of a series this instance, all that follow it, or all."""
    calendar, target = app.features.of(Calendar), EventTarget(event, scope, version_of(if_match, _NO_VERSION))
    try:
        given = body.model_dump(exclude_unset=True, exclude={"allow_conflict"})
        change = await calendar.update(caller, target, given, allow_conflict=body.allow_conflict)
    except EventConflict as error:
        return _taken(error, caller)
    return _changed(calendar, change, caller)


@router.delete("/events/{event}", responses=documented(404, 412))
async def delete_event(
    event: str, app: Served, caller: Caller, *, scope: _Scope = None, if_match: VersionMatch = None
) -> EventDeletion:
    """Delete an event, or of a series this instance, all that follow it, or all; `undo` brings it back."""
    target = EventTarget(event, scope, version_of(if_match, _NO_VERSION))
    return EventDeletion(undo=(await app.features.of(Calendar).delete(caller, target)).undo)


def shown(one: Instance, caller: Principal, conflicts: Sequence[str] = ()) -> EventShown:
    """An instance as JSON."""
    event = one.event
    zone = zone_of((not one.all_day and event.zone) or caller.time_zone)
    return EventShown.of(
        one,
        **{name: getattr(event, name) for name in _OF_EVENT},
        event=event.id,
        start=one.start if one.all_day else to_datetime(one.starts_at).astimezone(zone).isoformat(),
        end=one.end if one.all_day else to_datetime(one.ends_at).astimezone(zone).isoformat(),
        recurrence=event.recurrence or None,
        recurrence_words=words(event.recurrence) if event.recurrence else None,
        conflicts=list(conflicts),
    )


_OF_EVENT = (
    *("zone", "is_series", "categories", "color", "links", "conversation"),
    *("created_at", "updated_at", "untrusted"),
)


def _with_conflicts(found: Sequence[Instance], caller: Principal) -> list[EventShown]:
    """Instances in order of their start, each with those of them that it overlaps."""
    overlaps: dict[str, list[str]] = {one.id: [] for one in found}
    open_: list[Instance] = []
    for one in found:
        if not one.blocks:
            continue
        open_ = [other for other in open_ if other.ends_at > one.starts_at]
        for other in open_:
            if one.ends_at > other.starts_at:
                overlaps[one.id].append(other.id)
                overlaps[other.id].append(one.id)
        open_.append(one)
    return [shown(one, caller, overlaps[one.id]) for one in found]


async def _with_accounts(
    app: App, caller: Principal, found: Sequence[Instance], items: Sequence[EventShown]
) -> list[EventShown]:
    """The same, each with its account."""
    uids = list({one.event.uid for one in found})
    names = await app.features.of(Calendars).sync.account_names(caller, uids) if uids else {}
    if not names:
        return list(items)
    accounts = {uid: EventAccount(id=id, name=name) for uid, (id, name) in names.items()}
    return [
        item.model_copy(update={"account": accounts.get(one.event.uid)})
        for one, item in zip(found, items, strict=True)
    ]


def _changed(calendar: Calendar, change: EventChange, caller: Principal) -> EventShown:
    answer = shown(change.instance, caller, [one.id for one in change.conflicts])
    said = calendar.said(caller, change.instance)
    return answer.model_copy(update={"undo": change.undo or None, "understood": said})


def _taken(error: EventConflict, caller: Principal) -> Response:
    body = EventConflictProblem(
        type=f"urn:bethink:error:{error.code}",
        title="Event conflict",
        status=error.status,
        detail=error.message,
        conflicts=[shown(one, caller) for one in error.conflicts],
        free=[_free(one.start, one.end, caller) for one in error.free],
    )
    return Response(json.dumps(body.model_dump(mode="json")), error.status, media_type=MEDIA_TYPE)


def _free(start: int, end: int, caller: Principal) -> FreeTimeShown:
    zone = zone_of(caller.time_zone)
    return FreeTimeShown(start=to_datetime(start).astimezone(zone), end=to_datetime(end).astimezone(zone))


def _moment(caller: Principal, name: str, text: str) -> int:
    # A "+" of an address that nobody escaped is a space.
    written = text.strip().replace(" ", "+") if "T" in text else text.strip()
    try:
        if "T" in written:
            moment = datetime.fromisoformat(written)
        else:
            moment = datetime.combine(date.fromisoformat(written), time())
        return to_us(moment if moment.tzinfo else moment.replace(tzinfo=zone_of(caller.time_zone)))
    except (ValueError, OverflowError):
        raise BadInput(
            f"{name}: {text[:40]!r} is no time: write a day, or a time like 2026-12-04T09:00Z."
        ) from None
