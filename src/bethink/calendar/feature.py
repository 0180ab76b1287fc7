"""The feature of the calendar: how events are recalled, forgotten, exported, imported and reminded of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import msgspec

from bethink.calendar.fields import checked_event
from bethink.calendar.records import EVENTS, KIND, UNDO, Event, Instance, index_item, written
from bethink.calendar.series import first_instance, instance_at, instances, upcoming
from bethink.calendar.service import Calendar, know_zones, put, said_time
from bethink.calendar.vevent import EventComponents
from bethink.clock import checked_id, rfc3339, time_of, to_datetime, with_times, zone_of
from bethink.feature import DueReminder, Feature, OpenFeature, Recallable, RecallKind, Surroundings
from bethink.forgettable import FORGOTTEN
from bethink.record_texts import RecordLines, RecordTexts
from bethink.recurrence import words
from bethink.store import Scan, Store, items_of

if TYPE_CHECKING:
    from bethink.principal import OnBehalfOf, Principal

_PAGE: Final = 500
_IMPORTANCE: Final = 0.5
_WEEK_US: Final = timedelta(days=7) // timedelta(microseconds=1)


def recallable(event: Event) -> Recallable:
    """What recall shows of an event: what and when it is, where, with whom."""
    zone = zone_of(event.zone or "UTC")
    when = said_time(first_instance(event, zone=zone), zone)
    told = [f"Event ({event.event_type}): {event.title}", f"{when}{f' ({event.zone})' if event.zone else ''}"]
    if event.recurrence:
        told[-1] += f", {words(event.recurrence)}"
    if event.status != "confirmed":
        told.append(f"It is {event.status}.")
    if event.location:
        told.append(f"At {event.location}.")
    if event.attendees:
        told.append(f"With {', '.join(one.name or one.email for one in event.attendees)}.")
    if event.description:
        told.append(event.description)
    told += [
        f"On {one.at.replace('T', ' ')}: {said}"
        for one in event.overrides
        if (said := ", ".join(text for text in (one.title, one.location, one.description) if text))
    ]
    return Recallable(
        "\n".join(told),
        event.created_at,
        _IMPORTANCE,
        source=f"event:{event.id}",
        title=event.title,
        conversation=event.conversation,
        untrusted=event.untrusted,
    )


_SENTENCES: Final = frozenset(("title", "description"))
_LISTS: Final = frozenset(("attendees", "categories"))
_CHANGED: Final = ("title", "description", "location", "attendees", "extra")


def _texts(store: Store) -> RecordTexts[Event]:
    return RecordTexts(
        store=store,
        collection=EVENTS,
        kind="events",
        one="event",
        name=lambda event: event.title,
        fields=_fields,
        sentences=_SENTENCES,
        rewrite=_rewritten,
        index=index_item,
        subject=lambda event: event.title,
        undo=UNDO,
    )


def _fields(event: Event) -> dict[str, str]:
    """What an event says, as texts; those of changed instances by the time of each."""
    said = {
        "title": event.title,
        "description": event.description,
        "location": event.location,
        "event_type": event.event_type,
        "attendees": _named(event.attendees),
        "categories": " ".join(event.categories),
        "extra": event.extra,
    }
    for one in event.overrides:
        found = {
            "title": one.title,
            "description": one.description,
            "location": one.location,
            "attendees": _named(one.attendees or ()),
            "extra": one.extra,
        }
        said |= {f"{one.at} {name}": text for name, text in found.items() if text}
    return said


def _named(attendees: Sequence[Any]) -> str:
    return ", ".join(f"{one.name} {one.email}".strip() for one in attendees)


def _rewritten(event: Event, left: Mapping[str, str]) -> Event:
    """The event with what is left of its fields; of lists, and of what is no sentence, nothing is."""
    own = {name: text for name, text in left.items() if " " not in name}
    overrides = tuple(
        msgspec.structs.replace(
            one, **{name: _empty(name, "") for name in _CHANGED if f"{one.at} {name}" in left}
        )
        for one in event.overrides
    )
    return msgspec.structs.replace(
        event, overrides=overrides, **{name: _empty(name, text) for name, text in own.items()}
    )


def _empty(name: str, text: str) -> object:
    if name in _LISTS:
        return ()
    return text or {"title": FORGOTTEN, "event_type": "other"}.get(name, "")


@dataclass(frozen=True, slots=True)
class CalendarUpkeep:
    """What the feature's hooks do with events."""

    calendar: Calendar
    acting: OnBehalfOf

    async def recallables(self, principal: Principal, ids: Sequence[str]) -> list[Recallable | None]:
        """What recall shows of these events; None for what is gone."""
        found = await self.calendar.store.get(EVENTS, principal.owner, ids)

        def told() -> list[Recallable | None]:
            return [item and recallable(item.record) for item in found]

        return await anyio.to_thread.run_sync(told)

    async def statistics(self, principal: Principal) -> dict[str, Any]:
        """How many events there are, how many recur, and how many happen within seven days."""
        now, store = self.calendar.clock.now_us(), self.calendar.store
        week = await self.calendar.range(principal, start=now, end=now + _WEEK_US)
        series = sum(
            [
                item.record.is_series
                async for item in items_of(
                    store, principal.owner, Scan(EVENTS, {"lasting": 1}, "ends", limit=_PAGE)
                )
            ]
        )
        return {
            "events": await store.count(principal.owner, EVENTS, {}),
            "recurring": series,
            "next_seven_days": len(week.items),
        }

    async def due(self, owner: str, begin: int, end: int) -> list[DueReminder]:
        """What falls due from `begin` on and before `end`, in order."""
        events, zone = await self._reminding(owner, begin)

        def found() -> list[DueReminder]:
            due = (one for event in events for one in _due(event, begin, end, zone=zone))
            return sorted(due, key=lambda one: (one.at, one.id))

        return await anyio.to_thread.run_sync(found)

    async def next_due(self, owner: str, after: int) -> int | None:
        """When the next one at or after a time falls due."""
        events, zone = await self._reminding(owner, after)

        def found() -> int | None:
            return min((at for event in events for at in _next(event, after, zone)), default=None)

        return await anyio.to_thread.run_sync(found)

    async def _reminding(self, owner: str, since: int) -> tuple[list[Event], tzinfo]:
        """The events with reminders that are not over, and the owner's zone."""
        name = self.acting(owner, audience="health").time_zone
        scan = Scan(EVENTS, {"reminding": 1}, "ends", low=since - _SLACK, limit=_REMINDING_PAGE)
        events = [item.record async for item in items_of(self.calendar.store, owner, scan)]
        await know_zones(name, *(event.zone for event in events))
        return events, zone_of(name)


def _document(event: Event) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(event)
    # An override's `at` is a local time, and no moment: it goes as it stands.
    overrides = [_given(one) for one in document.pop("overrides")]
    return {**with_times(_given(document), rfc3339), "overrides": overrides}


def _given(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value not in (None, "", []) or name == "busy"}


def _parsed(document: Mapping[str, Any]) -> Event:
    given = dict(document)
    overrides = given.pop("overrides", [])
    found = msgspec.convert({**with_times(given, time_of), "overrides": overrides}, Event)
    checked_id(found.id)
    return checked_event(found, to_datetime(found.created_at))


_MINUTE_US: Final = 60_000_000
_REMINDING_PAGE: Final = 5_000
_SLACK: Final = timedelta(days=2) // timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)
_LOOKED_AT: Final = 3
"""Instances of a series that may be the next to be reminded of: one may be called off, or moved."""


def _due(event: Event, begin: int, end: int, *, zone: tzinfo) -> Iterator[DueReminder]:
    most = max(minutes for minutes in _minutes(event)) * _MINUTE_US
    for one in instances(event, low=begin, high=end + most + 1, zone=zone):
        if one.status == "cancelled":
            continue
        for minutes in one.reminders:
            at = one.starts_at - minutes * _MINUTE_US
            if begin <= at < end:
                yield _reminder(one, minutes, at=at, zone=zone)


def _reminder(one: Instance, minutes: int, *, at: int, zone: tzinfo) -> DueReminder:
    when = said_time(one, zone)
    place = f", {one.location}" if one.location else ""
    return DueReminder(
        id=f"{one.id}:{one.starts_at}:{minutes}",
        at=at,
        title=one.title,
        text=f"{one.title}: {when}{place}",
        link=f"/calendar/events/{one.id}",
        conversation=one.event.conversation or "",
        untrusted=one.event.untrusted,
    )


def _minutes(event: Event) -> set[int]:
    """All reminders of an event and its instances."""
    return {*event.reminders, *(one for change in event.overrides for one in change.reminders or ()), 0}


def _next(event: Event, after: int, zone: tzinfo) -> Iterator[int]:
    """Times of reminders of an event at or after a time, the next one among them."""
    low = to_datetime(after).astimezone(zone_of(event.zone) if event.zone else zone).replace(tzinfo=None)
    times = {written(at, all_day=event.all_day) for at in islice(upcoming(event, low - _DAY), _LOOKED_AT)}
    for minutes in _minutes(event):
        later = low - _DAY + timedelta(minutes=minutes)
        times |= {written(at, all_day=event.all_day) for at in islice(upcoming(event, later), _LOOKED_AT)}
    for at in times | {change.at for change in event.overrides}:
        one = instance_at(event, at, zone=zone)
        if one is not None and one.status != "cancelled":
            found = (one.starts_at - minutes * _MINUTE_US for minutes in one.reminders)
            yield from (due for due in found if due >= after)


def _open(at: Surroundings) -> OpenFeature:
    calendar = Calendar(store=at.store, clock=at.clock, bus=at.bus, new_id=at.new_id, search_index=at.search)
    texts = _texts(at.store)
    upkeep = CalendarUpkeep(calendar, at.acting)
    return OpenFeature(
        service=calendar,
        recall=[RecallKind(name=KIND, resolve=upkeep.recallables)],
        forgettable=texts.forgettable,
        cut=texts.cut,
        documents=[
            RecordLines(
                store=at.store,
                collection=EVENTS,
                kind=KIND,
                parse=_parsed,
                document=_document,
                keep=lambda owner, events: calendar.commit(owner, [put(event, 0) for event in events]),
            ).form
        ],
        due=upkeep.due,
        next_due=upkeep.next_due,
        components=[EventComponents(calendar).form],
        statistics=upkeep.statistics,
        retention=[*texts.retention(at.clock)],
    )


FEATURE: Final = Feature(
    name="calendar",
    open=_open,
    collections=(EVENTS, UNDO),
    counted={"events": ("event", EVENTS)},
    tools="bethink.tools.calendar",
    routes=("bethink.web.calendar",),
    commands="bethink.cli.calendar",
    mcp_summary="The user's calendar: what is when, what overlaps, when there is time.",
)
