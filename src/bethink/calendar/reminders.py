"""The reminders of events: which fall due in a time, and when the next one does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from bethink.calendar.records import EVENTS, Event, Instance, written
from bethink.calendar.series import instance_at, instances, upcoming, zone_of
from bethink.calendar.service import know_zones, said_time
from bethink.clock import to_datetime
from bethink.feature import DueReminder
from bethink.store import Scan, items_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from bethink.principal import OnBehalfOf
    from bethink.store import Store

_MINUTE_US: Final = 60_000_000
_PAGE: Final = 5_000
_SLACK: Final = timedelta(days=2) // timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)
_LOOKED_AT: Final = 3
"""Instances of a series that may be the next to be reminded of: one may be called off, or moved."""


@dataclass(frozen=True, slots=True)
class EventReminders:
    """The reminders of all owners' events."""

    store: Store
    acting: OnBehalfOf

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
        scan = Scan(EVENTS, {"reminding": 1}, "ends", low=since - _SLACK, limit=_PAGE)
        events = [item.record async for item in items_of(self.store, owner, scan)]
        await know_zones(name, *(event.zone for event in events))
        return events, zone_of(name)


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
