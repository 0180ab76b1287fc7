"""The instances of an event in a range of time, and an event changed in one instance, from one on, or in all.

Nothing here reads or writes: `service` keeps what these functions give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace as replaced
from datetime import datetime, timedelta, tzinfo
from typing import Any, Final

import msgspec

from bethink.calendar.records import Event, Instance, InstanceSpan, Override, local, written
from bethink.clock import to_datetime, zone_of
from bethink.errors import BadInput
from bethink.recurrence import (
    RecurrenceRule,
    Weekday,
    moment_of,
    next_start,
    rule_of,
    series_starts,
    starts,
    text_of,
)

_DAY: Final = timedelta(days=1)
_TOO_MANY: Final = 5_000
"""Dates that one series may have more or fewer, and instances that may be changed."""
_US: Final = timedelta(microseconds=1)


def instances(event: Event, *, low: int, high: int, zone: tzinfo, version: int = 0) -> Iterator[Instance]:
    """The instances that overlap a range of microseconds UTC, in no order; `zone` is the owner's.

    One without length overlaps if it begins in the range.
    """
    own = zone_of(event.zone) if event.zone and not event.all_day else zone
    if not event.is_series:
        found = _instance(event, event.start, None, zone=own, version=version)
        if _overlaps(found, low, high):
            yield found
        return
    changed = {one.at: one for one in event.overrides}
    first = to_datetime(low).astimezone(own).replace(tzinfo=None) - event.length - _DAY
    last = to_datetime(high).astimezone(own).replace(tzinfo=None) + _DAY
    seen: set[str] = set()
    for start in _starts(event, low=first, high=last):
        at = written(start, all_day=event.all_day)
        seen.add(at)
        found = _instance(event, at, changed.get(at), zone=own, version=version)
        if _overlaps(found, low, high):
            yield found
    for at, one in changed.items():
        # Moved into the range from far away.
        if at not in seen and one.start and has_instance(event, at):
            found = _instance(event, at, one, zone=own, version=version)
            if _overlaps(found, low, high):
                yield found


def spans(event: Event, *, low: int, high: int, zone: tzinfo, version: int = 0) -> Iterator[InstanceSpan]:
    """The times that an event takes up in a range, in no order; quicker than `instances`."""
    if not event.is_series or event.overrides:
        for one in instances(event, low=low, high=high, zone=zone, version=version):
            if one.blocks:
                yield InstanceSpan(one.starts_at, one.ends_at, event, local(one.at), version)
        return
    if not event.busy or event.status == "cancelled":
        return
    own = zone_of(event.zone) if event.zone and not event.all_day else zone
    length = event.length
    first = to_datetime(low).astimezone(own).replace(tzinfo=None) - length - _DAY
    last = to_datetime(high).astimezone(own).replace(tzinfo=None) + _DAY
    for start in _starts(event, low=first, high=last):
        starts_at, ends_at = _moments(start, start + length, own)
        if starts_at < high and ends_at > low:
            yield InstanceSpan(starts_at, ends_at, event, start, version)


def _moments(start: datetime, end: datetime, zone: tzinfo) -> tuple[int, int]:
    """Start and end in microseconds UTC."""
    starts_at, ends_at = moment_of(start, zone), moment_of(end, zone)
    if ends_at < starts_at:
        # The end stands before a gap of the clocks that the start was moved behind.
        ends_at = starts_at + (end - start) // _US
    return starts_at, ends_at


def instance_at(event: Event, at: str, *, zone: tzinfo, version: int = 0) -> Instance | None:
    """The instance that the rule puts at the local time `at`, None if there is none."""
    own = zone_of(event.zone) if event.zone and not event.all_day else zone
    if not event.is_series:
        return _instance(event, event.start, None, zone=own, version=version) if at == event.start else None
    if not has_instance(event, at):
        return None
    change = next((one for one in event.overrides if one.at == at), None)
    return _instance(event, at, change, zone=own, version=version)


def first_instance(event: Event, *, zone: tzinfo, version: int = 0) -> Instance:
    """The first one that is left."""
    start = local(event.start)
    at = next((written(one, all_day=event.all_day) for one in upcoming(event, start)), event.start)
    own = zone_of(event.zone) if event.zone and not event.all_day else zone
    change = next((one for one in event.overrides if one.at == at), None)
    return _instance(event, at, change, zone=own, version=version)


def upcoming(event: Event, low: datetime) -> Iterator[datetime]:
    """The local times at which it begins from `low` on, as its rule has them; of an endless series, many."""
    if not event.is_series:
        yield from [local(event.start)] if local(event.start) >= low else []
        return
    # Ever longer stretches, so that the next of a frequent series costs little.
    stretch = timedelta(days=62)
    end = local(event.start) + timedelta(days=365 * 400)
    while low < end:
        yield from _starts(event, low=low, high=low + stretch)
        low, stretch = low + stretch, 2 * stretch
        if event.ends < _us_of(low - event.length):
            return


def _us_of(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1)) // _US  # noqa: DTZ001 - both are local


def has_instance(event: Event, at: str) -> bool:
    """Whether the series happens at this local time of its rule."""
    try:
        moment = local(at)
    except ValueError:
        return False
    if moment.tzinfo is not None or written(moment, all_day=event.all_day) != at:
        return False
    return next(_starts(event, low=moment, high=moment + _US), None) is not None


def _starts(event: Event, *, low: datetime, high: datetime) -> Iterator[datetime]:
    return series_starts(
        local(event.start),
        rule_of(event.recurrence) if event.recurrence else None,
        low=low,
        high=high,
        rdates=map(local, event.rdates),
        exdates=map(local, event.exdates),
    )


def _overlaps(found: Instance, low: int, high: int) -> bool:
    return found.starts_at < high and (found.ends_at > low or found.starts_at == found.ends_at >= low)


def _instance(event: Event, at: str, change: Override | None, *, zone: tzinfo, version: int) -> Instance:
    start, end = at, ""
    if change is not None and change.start is not None:
        start, end = change.start, change.end or ""
    if not end:
        end = (
            event.end if start == event.start else written(local(start) + event.length, all_day=event.all_day)
        )
    starts_at, ends_at = _moments(local(start), local(end), zone)
    said: dict[str, Any] = {name: getattr(event, name) for name in SINGLE}
    if change is not None:
        said |= {name: value for name in SINGLE if (value := getattr(change, name)) is not None}
    return Instance(
        id=f"{event.id}@{at}" if event.is_series else event.id,
        event=event,
        version=version,
        at=at,
        start=start,
        end=end,
        starts_at=starts_at,
        ends_at=ends_at,
        is_changed=change is not None,
        **said,
    )


def alone(event: Event, change: Override) -> Event:
    """A changed instance of a series as an event of its own."""
    said = {name: value for name in SINGLE if (value := getattr(change, name)) is not None}
    start = change.start or change.at
    end = change.end or written(local(start) + event.length, all_day=event.all_day)
    return msgspec.structs.replace(
        event, **said, start=start, end=end, recurrence="", rdates=(), exdates=(), overrides=(), extra=""
    )


SINGLE: Final = (
    "title",
    "description",
    "location",
    "event_type",
    "status",
    "busy",
    "attendees",
    "reminders",
)
"""What may be different about a single instance, beside its times."""


# --- changes -----------------------------------------------------------------


def change_one(event: Event, at: str, fields: Mapping[str, Any]) -> Event:
    """The series with one instance changed.

    Raises:
        BadInput: a field belongs to the whole series, or too many instances are changed.
    """
    if unfit := [name for name in fields if name not in {*SINGLE, "start", "end"}]:
        raise BadInput(
            f"{unfit[0]} belongs to the whole series: change it with scope=all or scope=following."
        )
    before = next((one for one in event.overrides if one.at == at), Override(at=at))
    after = msgspec.structs.replace(before, **fields)
    others = [one for one in event.overrides if one.at != at]
    return _bounded(msgspec.structs.replace(event, overrides=_in_order([*others, after])))


def drop_one(event: Event, at: str) -> Event | None:
    """The series without one instance; None if it was the last.

    Raises:
        BadInput: too many are gone.
    """
    left = msgspec.structs.replace(
        event,
        rdates=tuple(one for one in event.rdates if one != at),
        exdates=tuple(sorted({*event.exdates, at})),
        overrides=tuple(one for one in event.overrides if one.at != at),
    )
    return _bounded(left) if next(upcoming(left, local(left.start)), None) is not None else None


def change_all(event: Event, at: str, fields: Mapping[str, Any]) -> Event:
    """The event changed as a whole; `start` and `end` are those of the instance `at`.

    Raises:
        BadInput: the rule says on which day it falls, and does not follow to another.
    """
    values = dict(fields)
    if "start" in values:
        delta = local(values["start"]) - local(at)
        all_day = len(values["start"]) == len("2026-12-04")
        length = local(values["end"]) - local(values["start"])
        start = local(event.start) + delta

        def moved(text: str) -> str:
            return written(local(text) + delta, all_day=all_day)

        values |= {
            "start": written(start, all_day=all_day),
            "end": written(start + length, all_day=all_day),
            "rdates": tuple(map(moved, event.rdates)),
            "exdates": tuple(map(moved, event.exdates)),
            "overrides": tuple(msgspec.structs.replace(one, at=moved(one.at)) for one in event.overrides),
        }
        if event.recurrence and "recurrence" not in values:
            rule = _moved_rule(rule_of(event.recurrence), local(at), delta)
            values["recurrence"] = text_of(rule, all_day=all_day)
    after = msgspec.structs.replace(event, **values)
    if after.recurrence == event.recurrence and "start" not in values:
        return after
    return _without_strays(synchronised(after))


def _moved_rule(rule: RecurrenceRule, was: datetime, delta: timedelta) -> RecurrenceRule:
    """The rule of a series that begins later or earlier by so much."""
    now = was + delta
    if rule.until is not None:
        rule = replaced(rule, until=rule.until + delta)
    if (rule.hours or rule.minutes) and delta % _DAY:
        raise BadInput("The rule of this series says at which hours it happens: give `recurrence`, too.")
    days = (now.date() - was.date()).days
    if not days or not (rule.by_day or rule.months):
        return rule
    if rule.days and not (
        rule.weeks or rule.year_days or rule.month_days or any(one.nth for one in rule.days)
    ):
        if rule.frequency in {"WEEKLY", "DAILY"} and not rule.months:
            return replaced(rule, days=tuple(Weekday((one.day + days) % 7) for one in rule.days))
    elif (
        rule.month_days == frozenset({was.day})
        and rule.months in {frozenset(), frozenset({was.month})}
        and not rule.days
    ):
        months = rule.months and frozenset({now.month})
        return replaced(rule, month_days=frozenset({now.day}), months=months)
    raise BadInput("The rule of this series says on which days it falls: give `recurrence`, too, to move it.")


def split(event: Event, at: str, id: str) -> tuple[Event, Event]:
    """The series before the instance `at`, and from there on as a series of its own with this id."""
    moment = local(at)
    end = moment - (_DAY if event.all_day else timedelta(seconds=1))
    first, rest = event.recurrence, ""
    if event.recurrence:
        rule = rule_of(event.recurrence)
        first = text_of(replaced(rule, count=None, until=end), all_day=event.all_day)
        if rule.count is not None:
            done = sum(1 for _ in starts(rule, local(event.start), low=local(event.start), high=moment))
            # A series whose start stands beside its rule has one instance more than the rule counts.
            rule = replaced(rule, count=max(rule.count - done, 1))
        rest = text_of(rule, all_day=event.all_day)
    before = msgspec.structs.replace(
        event,
        recurrence=first,
        rdates=tuple(one for one in event.rdates if local(one) < moment),
        exdates=tuple(one for one in event.exdates if local(one) < moment),
        overrides=tuple(one for one in event.overrides if local(one.at) < moment),
    )
    after = msgspec.structs.replace(
        event,
        id=id,
        uid=id,
        start=at,
        end=written(moment + event.length, all_day=event.all_day),
        recurrence=rest,
        rdates=tuple(one for one in event.rdates if local(one) > moment),
        exdates=tuple(one for one in event.exdates if local(one) > moment),
        overrides=tuple(one for one in event.overrides if local(one.at) >= moment),
        sequence=0,
    )
    return before, after


def synchronised(event: Event) -> Event:
    """The same, beginning with the first time that its rule gives: "every Friday" begins on one."""
    if not event.recurrence:
        return event
    start = local(event.start)
    first = next_start(rule_of(event.recurrence), start, start)
    if first is None or first == start:
        return event
    return msgspec.structs.replace(
        event,
        start=written(first, all_day=event.all_day),
        end=written(first + event.length, all_day=event.all_day),
    )


def _without_strays(event: Event) -> Event:
    """The same without what is said about instances that it has no more."""
    if not event.is_series:
        return msgspec.structs.replace(event, rdates=(), exdates=(), overrides=())
    bare = msgspec.structs.replace(event, exdates=())
    return msgspec.structs.replace(
        event,
        exdates=tuple(one for one in event.exdates if has_instance(bare, one)),
        overrides=tuple(one for one in event.overrides if has_instance(event, one.at)),
    )


def _in_order(overrides: list[Override]) -> tuple[Override, ...]:
    return tuple(sorted(overrides, key=lambda one: one.at))


def _bounded(event: Event) -> Event:
    if max(len(event.exdates), len(event.overrides)) > _TOO_MANY:
        raise BadInput(
            f"At most {_TOO_MANY:,} instances of a series are changed one by one: split the series."
        )
    return event
