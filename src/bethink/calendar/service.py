"""The calendars of all owners, as tools and doors read and change them; every call acts for one principal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio.to_thread
import msgspec

from bethink.calendar import free_time
from bethink.calendar.fields import checked
from bethink.calendar.free_time import FreeTime, Hours
from bethink.calendar.records import (
    EVENTS,
    KIND,
    LONG,
    UNDO,
    Event,
    EventUndo,
    Instance,
    InstanceSpan,
    digest_of,
    index_item,
    local,
    written,
)
from bethink.calendar.series import (
    alone,
    change_all,
    change_one,
    drop_one,
    first_instance,
    instance_at,
    instances,
    spans,
    split,
    synchronised,
    upcoming,
)
from bethink.clock import Clock, to_datetime, zone_of
from bethink.errors import BadInput, Conflict, UnknownId
from bethink.feature import DUE_CHANGED, ItemSearch
from bethink.recurrence import words
from bethink.store import Change, Delete, Put, Scan, Store, Versioned, items_of, retry_conflicts

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.principal import Principal
    from bethink.when.moments import SaidLine

Scope = Literal["this", "following", "all"]

MOST: Final = 2_000
"""Instances of one answer."""
MAX_RANGE: Final = timedelta(days=366 * 5)
_PAGE: Final = 5_000
_FOUND: Final = 200
_SLACK: Final = timedelta(days=2)
"""Zones lie up to 14 hours from UTC, and keys are local times: so much more is scanned at both ends."""
_LOOKED_AT: Final = timedelta(days=183)
_MOST_CHECKED: Final = 200
"""How far, and for how many instances, a series is looked through for conflicts."""
_FREE_RANGE: Final = timedelta(days=366)
_NAMED: Final = 10
_TAKEN: Final = "another event"
_OFFERED: Final = 3
NO_EVENT: Final = "There is no event with this id: list the calendar to see which there are."


class EventConflict(Conflict):
    """This time is taken.

    `conflicts` are the instances that stand there, `free` are times near by that are free.
    """

    code = "event_conflict"

    def __init__(
        self, message: str, conflicts: Sequence[Instance] = (), free: Sequence[FreeTime] = ()
    ) -> None:
        super().__init__(message)
        self.conflicts = tuple(conflicts)
        self.free = tuple(free)


class EventChanged(Conflict):
    """The event was changed in the meantime: load it again, and repeat."""

    code = "event_changed"
    status = 412


@dataclass(frozen=True, slots=True)
class EventTarget:
    """What is to be changed: an event, or an instance, by its id.

    Of a series `scope` says whether `this` instance, it with all that are `following`, or `all` change; by
    itself it is the instance if one is named, else all. `if_version` refuses what was changed since.
    """

    id: str
    scope: Scope | None = None
    if_version: int | None = None

    def scope_of(self, event: Event) -> Scope:
        """What is meant of this event.

        Raises:
            BadInput: the scope needs an instance, and none is named.
        """
        if not event.is_series:
            return "all"
        named = "@" in self.id
        if self.scope is None:
            return "this" if named else "all"
        if self.scope != "all" and not named:
            raise BadInput(
                f"scope={self.scope} needs the id of one instance, such as {event.id}@{event.start}."
            )
        return self.scope


@dataclass(frozen=True, slots=True, kw_only=True)
class EventChange:
    """What became of an event. `undo` is the token that takes the change back, `conflicts` what it overlaps.

    `instance` is the one that was meant, the first one of a new series, or as it was before it was deleted.
    """

    instance: Instance
    undo: str
    conflicts: tuple[Instance, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRange:
    """Instances in order of their start; `more` if there are others than these."""

    items: tuple[Instance, ...]
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The calendars of all owners."""

    store: Store
    clock: Clock
    bus: Bus
    new_id: Callable[[], str]
    search_index: ItemSearch

    def said(self, principal: Principal, instance: Instance) -> str:
        """When it is, as its owner understands it: with the zone, and how often."""
        zone = zone_of(principal.time_zone)
        rule = f", {words(instance.event.recurrence)}" if instance.event.recurrence else ""
        where = "" if instance.all_day else f" ({zone})"
        return f"{said_time(instance, zone)}{where}{rule}"

    def now(self, principal: Principal) -> datetime:
        """The time in the owner's zone, which `know_zones` has read."""
        return to_datetime(self.clock.now_us()).astimezone(zone_of(principal.time_zone))

    # --- reading -------------------------------------------------------------

    async def get(self, principal: Principal, id: str) -> Instance:
        """The instance of this id; of a series named alone, its first.

        Raises:
            UnknownId: this owner has no such event, or it does not happen then.
        """
        return (await self._meant(principal, EventTarget(id)))[1]

    async def range(
        self,
        principal: Principal,
        *,
        start: int,
        end: int,
        event_type: str | None = None,
        query: str | None = None,
        limit: int = MOST,
    ) -> EventRange:
        """At most `limit` instances that overlap a range of microseconds UTC, in order of their start.

        `query` keeps those that hold it, or that a search finds.

        Raises:
            BadInput: the range is empty or longer than five years.
        """
        if not 0 < end - start <= MAX_RANGE // timedelta(microseconds=1):
            raise BadInput("The end of the range must be after its start, and at most five years later.")
        await know_zones(principal.time_zone)
        ids = None
        if query is not None and query.strip():
            ids = {id for id, _ in await self.search_index.find(principal, query, _FOUND, kind=KIND)}
        wanted = event_type and event_type.strip().casefold()
        found = [
            one
            for one in await self._between(principal, start, end)
            if (not wanted or one.event_type.casefold() == wanted)
            and (ids is None or one.event.id in ids or _holds(one, query or ""))
        ]
        return EventRange(items=tuple(found[:limit]), more=len(found) > limit)

    async def search(self, principal: Principal, query: str, *, limit: int = 50) -> list[Instance]:
        """Events that answer a text, best first: of a series the next instance, or the last one."""
        found = await self.search_index.find(principal, query, limit, kind=KIND)
        held = await self.store.get(EVENTS, principal.owner, [id for id, _ in found])
        await know_zones(principal.time_zone, *(item.record.zone for item in held if item))
        now = self.now(principal)
        return [self._next(item, now) for item in held if item is not None]

    def _next(self, item: Versioned[Event], now: datetime) -> Instance:
        event, zone = item.record, now.tzinfo
        assert zone is not None  # noqa: S101 - `now` is aware
        at = next(upcoming(event, now.replace(tzinfo=None)), None)
        found = at and instance_at(event, written(at, all_day=event.all_day), zone=zone, version=item.version)
        return found or first_instance(event, zone=zone, version=item.version)

    async def _between(self, principal: Principal, start: int, end: int) -> list[Instance]:
        """All instances that overlap a range, in order."""
        items = await self._near(principal, start, end)
        zone = zone_of(principal.time_zone)

        def spread() -> list[Instance]:
            found = (
                one
                for item in items
                for one in instances(item.record, low=start, high=end, zone=zone, version=item.version)
            )
            return sorted(found, key=lambda one: (one.starts_at, one.ends_at, one.id))

        return await anyio.to_thread.run_sync(spread)

    async def _taken(
        self, principal: Principal, start: int, end: int, *, but: str = ""
    ) -> list[InstanceSpan]:
        """The times that are taken up in a range, in order, but by one event."""
        items = await self._near(principal, start, end)
        zone = zone_of(principal.time_zone)

        def spread() -> list[InstanceSpan]:
            found = (
                one
                for item in items
                if item.record.id != but
                for one in spans(item.record, low=start, high=end, zone=zone, version=item.version)
            )
            return sorted(found, key=lambda one: (one.starts_at, one.ends_at, one.event.id))

        return await anyio.to_thread.run_sync(spread)

    async def _near(self, principal: Principal, start: int, end: int) -> list[Versioned[Event]]:
        """The events that may have instances in a range."""
        slack, long = (one // timedelta(microseconds=1) for one in (_SLACK, LONG))
        scans = (
            Scan(EVENTS, {"lasting": 0}, "begins", start - long - slack, end + slack, limit=_PAGE),
            Scan(EVENTS, {"lasting": 1}, "ends", start - slack, limit=_PAGE),
        )
        await know_zones(principal.time_zone)
        return [item for scan in scans async for item in items_of(self.store, principal.owner, scan)]

    # --- conflicts and free times --------------------------------------------

    async def conflicts(self, principal: Principal, event: Event, only: str | None = None) -> list[Instance]:
        """What stands where an event is to be: a series in the next half year, or one instance `only`."""
        new = [one for one in self._planned(principal, event, only) if one.blocks]
        if not new:
            return []
        low, high = min(one.starts_at for one in new), max(one.ends_at for one in new)
        if high <= low:
            return []
        found = free_time.overlapping(new, await self._taken(principal, low, high, but=event.id))
        zone = zone_of(principal.time_zone)
        shown = (instance_at(one.event, one.at, zone=zone, version=one.version) for one in found)
        told = [one for one in shown if one is not None]
        return told if "read" in principal.rights else list(map(_unnamed, told))

    def _planned(self, principal: Principal, event: Event, only: str | None) -> list[Instance]:
        zone = zone_of(principal.time_zone)
        if only is not None or not event.is_series:
            found = instance_at(event, only or event.start, zone=zone)
            return [found] if found else []
        first = max(local(event.start), self.now(principal).replace(tzinfo=None) - event.length)
        planned: list[Instance] = []
        for at in upcoming(event, first):
            if at > first + _LOOKED_AT or len(planned) == _MOST_CHECKED:
                break
            if (one := instance_at(event, written(at, all_day=event.all_day), zone=zone)) is not None:
                planned.append(one)
        return planned

    async def free(
        self,
        principal: Principal,
        *,
        start: int,
        end: int,
        minutes: int,
        hours: Hours | None = None,
        limit: int = 50,
    ) -> list[FreeTime]:
        """Times of at least so many minutes between `start` and `end` in which nothing is planned.

        Raises:
            BadInput: the range is empty or longer than a year, or the minutes are not above 0.
        """
        if not 0 < end - start <= _FREE_RANGE // timedelta(microseconds=1):
            raise BadInput("The end of the range must be after its start, and at most a year later.")
        if minutes <= 0:
            raise BadInput("duration_minutes: give whole minutes, more than 0.")
        await know_zones(principal.time_zone)
        zone = zone_of(principal.time_zone)
        taken = await self._taken(principal, start, end)
        first, last = (to_datetime(at).astimezone(zone).date() for at in (start, end))
        days = free_time.days_around(first, 1, (last - first).days)
        found = free_time.free_times(
            taken, days, hours=hours or Hours(), zone=zone, not_before=max(start, self.clock.now_us())
        )
        length = minutes * 60_000_000
        cut = (replace(one, end=min(one.end, end)) for one in found)
        return [one for one in cut if one.end - one.start >= length][:limit]

    async def _refuse(self, principal: Principal, event: Event, found: Sequence[Instance]) -> EventConflict:
        """The refusal of an event, with what stands there and when there is time instead."""
        zone = zone_of(principal.time_zone)
        meant = next(
            (
                one
                for one in self._planned(principal, event, None)
                if any(other.starts_at < one.ends_at and other.ends_at > one.starts_at for other in found)
            ),
            first_instance(event, zone=zone),
        )
        length = meant.ends_at - meant.starts_at
        day = to_datetime(meant.starts_at).astimezone(zone).date()
        days = list(free_time.days_around(day, 1, 7))
        hours = Hours()
        low, high = free_time.hours_of(days[0], hours, zone)[0], free_time.hours_of(days[-1], hours, zone)[1]
        taken = await self._taken(principal, low, high)
        gaps = free_time.free_times(taken, days, hours=hours, zone=zone, not_before=self.clock.now_us())
        free = free_time.nearest(gaps, meant.starts_at, length=length, most=_OFFERED)
        return EventConflict(refusal(found, free, zone), found[:_NAMED], free)

    # --- changing ------------------------------------------------------------

    async def read_line(self, principal: Principal, line: str) -> SaidLine:
        """The event that a line says, such as "Lunch with Bruna tomorrow at 12 @Enzo"; nothing is kept.

        Raises:
            BadInput: it says no title.
            Ambiguous, NotUnderstood: its time has several meanings, or there is no such one.
        """
        from bethink.calendar.words import read_line  # what reads words takes a while to load

        await know_zones(principal.time_zone)
        return await anyio.to_thread.run_sync(read_line, line, self.now(principal))

    @retry_conflicts
    @retry_conflicts
    async def create(
        self,
        principal: Principal,
        given: Mapping[str, Any],
        *,
        allow_conflict: bool = False,
        conversation: str | None = None,
        untrusted: bool = False,
        id: str | None = None,
    ) -> EventChange:
        """Keep a new event; one that recurs begins with the first time that its rule gives.

        With an `id` that an event has, it is that one, as it is now.

        Raises:
            BadInput: a field is unfit or missing; the sentence names each.
            EventConflict: something else stands there, and that is not allowed.
        """
        zone = zone_of(principal.time_zone)
        if id is not None and (known := (await self.store.get(EVENTS, principal.owner, [id]))[0]) is not None:
            return EventChange(
                instance=first_instance(known.record, zone=zone, version=known.version), undo=""
            )
        event = await self._new(principal, given, conversation=conversation, untrusted=untrusted)
        event = msgspec.structs.replace(event, id=id or event.id)
        id, at = event.id, event.created_at
        found = await self.conflicts(principal, event)
        if found and not allow_conflict:
            raise await self._refuse(principal, event, found)
        undo = EventUndo(id=self.new_id(), at=at, made=(id,), made_left=(digest_of(event),))
        await self.commit(principal.owner, [put(event, 0), Put(UNDO, undo, 0)])
        instance = first_instance(event, zone=zone, version=1)
        return EventChange(instance=instance, undo=undo.id, conflicts=tuple(found))

    async def drafted(self, principal: Principal, given: Mapping[str, Any]) -> Instance | None:
        """The first instance of the event that fields would make, None if they say no time; nothing is kept.

        Raises:
            BadInput: a field is unfit or missing; the sentence names each.
        """
        if given.get("start") is None:
            return None
        return first_instance(await self._new(principal, given), zone=zone_of(principal.time_zone))

    async def _new(
        self,
        principal: Principal,
        given: Mapping[str, Any],
        *,
        conversation: str | None = None,
        untrusted: bool = False,
    ) -> Event:
        values = await self._checked({"title": None, **given}, principal)
        # Whole days are in nobody's way, unless that is said.
        values.setdefault("busy", "T" in values["start"])
        id, at = self.new_id(), self.clock.now_us()
        blank = Event(id=id, uid=id, title="", start="", end="", created_at=at, updated_at=at)
        return synchronised(
            msgspec.structs.replace(blank, **{"conversation": conversation, **values}, untrusted=untrusted)
        )

    @retry_conflicts
    async def update(
        self,
        principal: Principal,
        target: EventTarget,
        given: Mapping[str, Any],
        *,
        allow_conflict: bool = False,
        untrusted: bool = False,
    ) -> EventChange:
        """Change the given fields of an event; None empties one. What is left out stays.

        Nobody's later change makes what was `untrusted` the owner's own.

        Raises:
            UnknownId: this owner has no such event.
            BadInput: a field is unfit; the sentence names each.
            EventConflict: something else stands there, and that is not allowed.
            EventChanged: it is of another version than `if_version`.
            Conflict: others kept changing this event meanwhile.
        """
        held, instance = await self._meant(principal, target)
        meant = target.scope_of(held.record)
        before = msgspec.structs.replace(held.record, start=instance.start, end=instance.end)
        fields = await self._checked(given, principal, before)
        if meant == "this" and "zone" in fields:
            fields = _in_zone_of(held.record, fields, self.now(principal).tzinfo)
        changed, rest, at = self._changed(held.record, instance, fields, scope=meant)
        events = [self._touched(one, untrusted) for one in ((changed,) if rest is None else (changed, rest))]
        now = events[-1]
        only = at if meant == "this" and now.is_series else None
        found = await self._newly_taken(principal, held.record, now, only=only)
        if found and not allow_conflict:
            only_one = next((one for one in now.overrides if one.at == only), None)
            raise await self._refuse(principal, alone(now, only_one) if only_one else now, found)
        undo = EventUndo(
            id=self.new_id(),
            at=self.clock.now_us(),
            before=(held.record,),
            left=(digest_of(events[0]),),
            made=tuple(one.id for one in events[1:]),
            made_left=tuple(map(digest_of, events[1:])),
        )
        changes = [put(events[0], held.version), *(put(one, 0) for one in events[1:]), Put(UNDO, undo, 0)]
        await self.commit(principal.owner, changes)
        version = held.version + 1 if rest is None else 1
        zone = zone_of(principal.time_zone)
        shown = instance_at(now, at, zone=zone, version=version)
        return EventChange(
            instance=shown or first_instance(now, zone=zone, version=version),
            undo=undo.id,
            conflicts=tuple(found),
        )

    def _changed(
        self, event: Event, instance: Instance, fields: Mapping[str, Any], *, scope: Scope
    ) -> tuple[Event, Event | None, str]:
        """The event as it is to be, what follows as a series of its own, and where the meant instance is."""
        at = instance.at
        moved = fields.get("start")
        if not event.is_series:
            after = synchronised(msgspec.structs.replace(event, **fields))
            return after, None, after.start
        if scope == "this":
            return change_one(event, at, fields), None, at
        if scope == "following" and local(at) > local(event.start):
            first, rest = split(event, at, self.new_id())
            rest = msgspec.structs.replace(rest, created_at=self.clock.now_us())
            return first, change_all(rest, at, fields), moved or at
        return change_all(event, at, fields), None, moved or at

    def _touched(self, event: Event, untrusted: bool) -> Event:  # noqa: FBT001 - as the record has it
        return msgspec.structs.replace(
            event,
            updated_at=self.clock.now_us(),
            sequence=event.sequence + 1,
            untrusted=event.untrusted or untrusted,
        )

    async def _newly_taken(
        self, principal: Principal, was: Event, now: Event, *, only: str | None
    ) -> list[Instance]:
        """What the event overlaps since its times changed, and did not overlap before."""
        same = ("start", "end", "zone", "recurrence", "rdates", "busy", "status")
        if only is None and all(getattr(was, name) == getattr(now, name) for name in same):
            return []
        found = await self.conflicts(principal, now, only)
        if not found:
            return []
        known = {one.id for one in await self.conflicts(principal, was, only)}
        return [one for one in found if one.id not in known and one.event.id != was.id]

    @retry_conflicts
    async def delete(self, principal: Principal, target: EventTarget) -> EventChange:
        """Remove an event, or what is meant of a series; for a month the token brings it back.

        Raises:
            UnknownId: this owner has no such event.
            BadInput: the scope needs an instance, and none is named.
            EventChanged: it is of another version than `if_version`.
        """
        held, instance = await self._meant(principal, target)
        event = held.record
        left: Event | None = None
        match target.scope_of(event):
            case "this" if event.is_series:
                left = drop_one(event, instance.at)
            case "following" if event.is_series and local(instance.at) > local(event.start):
                left, _ = split(event, instance.at, event.id)
            case _:
                pass
        left = left and self._touched(left, untrusted=False)
        undo = EventUndo(id=self.new_id(), at=self.clock.now_us(), before=(event,), left=(digest_of(left),))
        change = Delete(EVENTS, event.id, held.version) if left is None else put(left, held.version)
        await self.commit(principal.owner, [change, Put(UNDO, undo, 0)])
        return EventChange(instance=instance, undo=undo.id)

    @retry_conflicts
    async def undo(self, principal: Principal, token: str) -> list[Instance]:
        """Take back a change; the first instances of the events as they are again, none if it had made them.

        Raises:
            BadInput: there is no such change, or what it left was changed since.
        """
        owner = principal.owner
        (held,) = await self.store.get(UNDO, owner, [token])
        if held is None:
            raise BadInput("There is nothing to undo: it was undone already, or is too long ago.")
        step = held.record
        now = await self.store.get(EVENTS, owner, [event.id for event in step.before])
        made = await self.store.get(EVENTS, owner, step.made)
        versions = [item.version if item else 0 for item in now]
        left = [digest_of(item and item.record) for item in (*now, *made)]
        if left != [*step.left, *step.made_left]:
            raise BadInput("This change can no longer be undone: the event was changed again since.")
        changes: list[Change] = [Delete(UNDO, token, held.version)]
        changes += [Delete(EVENTS, item.record.id, item.version) for item in made if item]
        changes += [put(event, version) for event, version in zip(step.before, versions, strict=True)]
        await self.commit(owner, changes)
        await know_zones(principal.time_zone, *(event.zone for event in step.before))
        zone = zone_of(principal.time_zone)
        return [
            first_instance(event, zone=zone, version=version + 1)
            for event, version in zip(step.before, versions, strict=True)
        ]

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        """Apply changes of events, and tell who waits for reminders."""
        await self.store.commit(owner, changes)
        await self.bus.publish(DUE_CHANGED, owner)

    async def _checked(
        self, given: Mapping[str, Any], principal: Principal, before: Event | None = None
    ) -> dict[str, Any]:
        await know_zones(principal.time_zone)
        # In a thread, too: it may name another zone.
        return await anyio.to_thread.run_sync(checked, given, self.now(principal), before)

    async def _meant(self, principal: Principal, target: EventTarget) -> tuple[Versioned[Event], Instance]:
        """The event of a target, and the instance that is meant."""
        id, _, at = target.id.partition("@")
        (held,) = await self.store.get(EVENTS, principal.owner, [id])
        if held is None:
            raise UnknownId(NO_EVENT)
        if target.if_version is not None and held.version != target.if_version:
            raise EventChanged
        await know_zones(principal.time_zone, held.record.zone)
        event, zone = held.record, zone_of(principal.time_zone)
        if not at:
            return held, first_instance(event, zone=zone, version=held.version)
        found = instance_at(event, at, zone=zone, version=held.version)
        if found is None:
            raise UnknownId(f"“{event.title}” does not happen at {at[:40]}: list the calendar to see when.")
        return held, found


async def know_zones(*names: str) -> None:
    """Have `zone_of` know these zones: the first time, each is read from a file, in a thread."""
    await anyio.to_thread.run_sync(lambda: [zone_of(name) for name in set(names) if name])


def put(event: Event, version: int) -> Put[Event]:
    """The change that keeps an event."""
    return Put(EVENTS, event, version, index_item(event))


def _in_zone_of(event: Event, fields: Mapping[str, Any], own: tzinfo | None) -> dict[str, Any]:
    """The times of one instance in the zone of its series."""
    left = {name: value for name, value in fields.items() if name != "zone"}
    if event.all_day or "T" not in fields["start"] or fields["zone"] == event.zone:
        return left
    given = zone_of(fields["zone"]) if fields["zone"] else own
    wanted = zone_of(event.zone) if event.zone else own
    for name in ("start", "end"):
        moment = local(fields[name]).replace(tzinfo=given).astimezone(wanted)
        left[name] = written(moment.replace(tzinfo=None), all_day=False)
    return left


def _holds(instance: Instance, text: str) -> bool:
    sought = text.strip().casefold()
    return any(
        sought in part.casefold() for part in (instance.title, instance.description, instance.location)
    )


def _unnamed(one: Instance) -> Instance:
    """The time that an event takes, for who may not read what it is."""
    event = msgspec.structs.replace(one.event, categories=(), links=(), conversation=None)
    return replace(one, event=event, title=_TAKEN, description="", location="", attendees=())


def refusal(conflicts: Sequence[Instance], free: Sequence[FreeTime], zone: tzinfo) -> str:
    """Which events stand there, and when there is time, as a sentence."""
    named = "; ".join(f"“{one.title}” ({said_time(one, zone)})" for one in conflicts[:_OFFERED])
    more = f" and {len(conflicts) - _OFFERED} more" if len(conflicts) > _OFFERED else ""
    times = ", ".join(f"{_local_time(one.start, zone):%A %d %B %H:%M}" for one in free)
    offered = f" Free times near by: {times}." if times else ""
    return f"This overlaps {named}{more}.{offered} Choose another time, or allow the conflict."


def said_time(instance: Instance, zone: tzinfo) -> str:
    """When it is, in the owner's zone: "Friday, 4 December 2026, 09:00 to 10:00"."""
    if instance.all_day:
        first, last = local(instance.start), local(instance.end) - timedelta(days=1)
        return _said_day(first) if first >= last else f"{_said_day(first)} to {_said_day(last)}"
    start, end = _local_time(instance.starts_at, zone), _local_time(instance.ends_at, zone)
    until = f"{end:%H:%M}" if end.date() == start.date() else f"{_said_day(end)}, {end:%H:%M}"
    return f"{_said_day(start)}, {start:%H:%M} to {until}"


def _said_day(day: datetime) -> str:
    return f"{day:%A}, {day.day} {day:%B %Y}"


def _local_time(at: int, zone: tzinfo) -> datetime:
    return to_datetime(at).astimezone(zone)
