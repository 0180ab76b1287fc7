"""What each field of an event must be, whoever gives it: tools, doors, imports."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, Final, cast, get_args
from zoneinfo import ZoneInfoNotFoundError

import msgspec

from bethink.calendar.records import Attendee, Event, Override, Status, is_words, local, written
from bethink.calendar.series import SINGLE
from bethink.clock import zone_of
from bethink.errors import BadInput
from bethink.field_checks import (
    NEEDED,
    Checks,
    InvalidField,
    checked_field,
    checked_fields,
    id_of,
    line_of,
    links_to,
    list_of,
    reminders_before,
    text_of,
)
from bethink.recurrence import kept_rule

TYPES: Final = ("meeting", "appointment", "reminder", "deadline", "birthday", "holiday", "personal", "other")
"""Kinds of events that are known by name; any other short text is kept, too."""
MAX_TITLE: Final = 300
MAX_LINE: Final = 500
MAX_DESCRIPTION: Final = 20_000
MAX_TYPE: Final = 32
MAX_EXTRA: Final = 100_000
MAX_ATTENDEES: Final = 200
MAX_CATEGORIES: Final = 30
MAX_DATES: Final = 5_000
LINK_KINDS: Final = ("conversation", "message", "fact", "page", "document", "task")
ATTENDANCE: Final = ("needs-action", "accepted", "declined", "tentative")
_YEARS: Final = range(1800, 9001)
_LONGEST: Final = timedelta(days=3660)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_COLOR: Final = re.compile(r"#[0-9a-fA-F]{6}|[a-zA-Z]{3,20}")
_TIMES: Final = frozenset({"start", "end", "all_day", "zone", "duration_minutes"})


def checked(given: Mapping[str, Any], now: datetime, before: Event | None = None) -> dict[str, Any]:
    """The given fields as a record keeps them; None empties one. `now` is in the owner's zone.

    `before` is what they change, its times those of the instance that is meant; None for a new event.

    Raises:
        BadInput: a field is unknown or its value unfit; the sentence names all of them.
        Ambiguous, NotUnderstood: a time in words has several meanings, or there is no such one.
    """
    given = _in_times(given, now, before)
    values, reasons = checked_fields(_CHECKS, given, but={*_TIMES, "recurrence"})
    try:
        values |= _times(given, now, before)
    except InvalidField as error:
        reasons.append(str(error))
    if not reasons:
        try:
            values |= _rule(given, values, now, before=before)
        except BadInput as error:
            reasons.append(f"recurrence: {error.message.rstrip('.')}")
    if reasons:
        raise BadInput(f"The event is not valid. {'; '.join(reasons)}.")
    return values


def _in_times(given: Mapping[str, Any], now: datetime, before: Event | None) -> Mapping[str, Any]:
    """The fields with times in place of words, which are meant in the zone that is given, or the event's."""
    if not (is_words(given.get("start")) or is_words(given.get("end")) or is_words(given.get("recurrence"))):
        return given
    from bethink.calendar.words import resolved  # what reads words takes a while to load

    try:
        name = _zone(given, now, before)
    except InvalidField:
        return given
    zone = zone_of(name) if name else now.tzinfo
    start = local(before.start).replace(tzinfo=zone) if before is not None else None
    return resolved(given, now.astimezone(zone), start)


def _status(value: object) -> str:
    if value not in get_args(Status):
        raise InvalidField(f"must be one of {', '.join(get_args(Status))}")
    return str(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidField("give true or false")
    return value


def _color(value: object) -> str:
    if not isinstance(value, str) or (value and not _COLOR.fullmatch(value)):
        raise InvalidField("give a color such as #2f6fde")
    return value


def _attendees(value: object) -> tuple[Attendee, ...]:
    return tuple(dict.fromkeys(_attendee(one) for one in list_of(value, MAX_ATTENDEES)))


def _attendee(value: object) -> Attendee:
    if isinstance(value, Attendee):
        return value
    if isinstance(value, str):
        value = {"email" if "@" in value else "name": value}
    if not isinstance(value, Mapping):
        raise InvalidField("give names, e-mail addresses, or objects of these")
    given = cast("Mapping[str, object]", value)
    line = line_of(MAX_LINE, needed=False)
    found = Attendee(
        name=line(given.get("name") or ""),
        email=line(given.get("email") or ""),
        status=str(given.get("status") or ATTENDANCE[0]),
    )
    if not (found.name or found.email):
        raise InvalidField("an attendee has a name or an e-mail address")
    if found.status not in ATTENDANCE:
        raise InvalidField(f"an attendee's status is one of {', '.join(ATTENDANCE)}")
    return found


def _categories(value: object) -> tuple[str, ...]:
    line = line_of(MAX_LINE)
    return tuple(dict.fromkeys(line(one) for one in list_of(value, MAX_CATEGORIES)))


_CHECKS: Checks = {
    "title": (line_of(MAX_TITLE), NEEDED),
    "description": (text_of(MAX_DESCRIPTION), ""),
    "location": (line_of(MAX_LINE, needed=False), ""),
    "event_type": (line_of(MAX_TYPE), "other"),
    "status": (_status, "confirmed"),
    "busy": (_flag, True),
    "attendees": (_attendees, ()),
    "reminders": (reminders_before("the start"), ()),
    "categories": (_categories, ()),
    "links": (links_to(LINK_KINDS), ()),
    "color": (_color, ""),
    "uid": (line_of(MAX_LINE), NEEDED),
    "conversation": (id_of, None),
    "extra": (text_of(MAX_EXTRA), ""),
}
"""What checks a field, and what stands for none."""


def checked_event(event: Event, now: datetime) -> Event:
    """A whole event from elsewhere, checked as strictly as a new one. Its rule may say more than its start.

    Raises:
        BadInput: something is unfit; the sentence names it.
    """
    if said := [text for text in (event.start, event.end, event.recurrence) if is_words(text)]:
        raise BadInput(f"The event is not valid. {said[0][:40]!r} is no time in figures, or no rule.")
    given = {name: getattr(event, name) for name in _CHECKS}
    values = checked(given | {"start": event.start, "end": event.end, "zone": event.zone}, now)
    if event.recurrence:
        start, zone = local(values["start"]), values["zone"]
        place = zone_of(zone) if zone else now.tzinfo or zone_of("UTC")
        values["recurrence"] = kept_rule(event.recurrence, start, place, all_day="T" not in values["start"])
    try:
        for name in ("rdates", "exdates"):
            values[name] = _dates(getattr(event, name))
        values["overrides"] = tuple(_override(one) for one in list_of(event.overrides, MAX_DATES))
    except InvalidField as error:
        raise BadInput(f"The event is not valid. {error}.") from error
    return msgspec.structs.replace(event, **values)


def _dates(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted({_as_kept("a date of the series", one) for one in list_of(given, MAX_DATES)}))


def _as_kept(field: str, text: str) -> str:
    moment = _local(field, text, None)
    if moment is None:
        raise InvalidField(f"{field}: is required")
    return written(_whole(moment, field, all_day=not isinstance(moment, datetime)), all_day="T" not in text)


def _override(one: Override) -> Override:
    """What is different about an instance, with each field checked."""
    said = {name: getattr(one, name) for name in SINGLE}
    values = {name: checked_field(_CHECKS, name, value) for name, value in said.items() if value is not None}
    for name in ("start", "end"):
        if (text := getattr(one, name)) is not None:
            values[name] = _as_kept(name, text)
    if values.get("start") and values.get("end") and local(values["end"]) < local(values["start"]):
        raise InvalidField(f"end: the instance of {one.at} ends before it starts")
    return msgspec.structs.replace(
        one, at=_as_kept("at", one.at), extra=checked_field(_CHECKS, "extra", one.extra), **values
    )


# --- times -------------------------------------------------------------------


def _times(given: Mapping[str, Any], now: datetime, before: Event | None) -> dict[str, Any]:
    """`start`, `end` and `zone`; nothing if none of the fields of time is given."""
    if before is not None and not _TIMES & given.keys():
        return {}
    if given.get("start") is None and before is None:
        raise InvalidField("start: is required: say when it is, such as tomorrow at 9, or 2026-12-04T09:00")
    zone = _zone(given, now, before)
    place = zone_of(zone) if zone else now.tzinfo
    start = _local("start", given.get("start"), place)
    all_day = given.get("all_day")
    if start is None:
        start = before and (date.fromisoformat(before.start) if before.all_day else local(before.start))
    if all_day is None:
        all_day = not isinstance(start, datetime)
    begin = _whole(start, "start", all_day=all_day)
    end = _end(given, before, begin, all_day=all_day, zone=place)
    if end - begin > _LONGEST:
        raise InvalidField(f"end: an event takes at most {_LONGEST.days:,} days")
    return {
        "start": written(begin, all_day=all_day),
        "end": written(end, all_day=all_day),
        "zone": "" if all_day else zone,
    }


def _end(
    given: Mapping[str, Any], before: Event | None, begin: datetime, *, all_day: bool, zone: tzinfo | None
) -> datetime:
    minutes, end = given.get("duration_minutes"), _local("end", given.get("end"), zone)
    if minutes is not None and end is not None:
        raise InvalidField("end: give one of end and duration_minutes")
    if minutes is not None:
        if isinstance(minutes, bool) or not isinstance(minutes, int) or minutes <= 0:
            raise InvalidField("duration_minutes: give whole minutes, more than 0")
        if minutes > _LONGEST // timedelta(minutes=1):
            raise InvalidField(f"duration_minutes: an event takes at most {_LONGEST.days:,} days")
        length = timedelta(minutes=minutes)
        return begin + (max(_DAY, -(-length // _DAY) * _DAY) if all_day else length)
    if end is None:
        if before is not None and before.all_day == all_day:
            return begin + before.length
        return begin + (_DAY if all_day else _HOUR)
    finish = _whole(end, "end", all_day=all_day)
    if all_day and finish == begin:
        return begin + _DAY
    if finish <= begin:
        said = written(begin, all_day=all_day)
        raise InvalidField(f"end: {written(finish, all_day=all_day)} is not after the start {said}")
    return finish


def _zone(given: Mapping[str, Any], now: datetime, before: Event | None) -> str:
    if (name := given.get("zone")) is None:
        return before.zone if before is not None and not before.all_day else str(now.tzinfo)
    if not isinstance(name, str):
        raise InvalidField("zone: give an IANA name such as Europe/Paris")
    try:
        if name:
            zone_of(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidField(f"zone: {name[:40]!r} is none: give an IANA name such as Europe/Paris") from None
    return name


def _local(field: str, value: object, zone: tzinfo | None) -> datetime | date | None:
    """A local time of the zone, or a day."""
    match value:
        case None:
            return None
        case datetime():
            moment: datetime | date = value
        case date():
            moment = value
        case str():
            moment = _read(field, value.strip())
        case _:
            raise InvalidField(f"{field}: give a time such as 2026-12-04T09:00, or a day")
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        try:
            moment = moment.astimezone(zone).replace(tzinfo=None)
        except OverflowError:
            raise InvalidField(f"{field}: lies at the end of the calendar") from None
    if moment.year not in _YEARS:
        raise InvalidField(f"{field}: must lie between {_YEARS.start} and {_YEARS.stop - 1}")
    return moment


def _read(field: str, text: str) -> datetime | date:
    try:
        if "T" in text or ":" in text:
            return datetime.fromisoformat(text)
        return date.fromisoformat(text)
    except ValueError:
        like = "2026-12-04T09:00, or 2026-12-04 for a whole day"
        raise InvalidField(f"{field}: {text[:40]!r} is no time: write it like {like}") from None


def _whole(moment: datetime | date | None, field: str, *, all_day: bool) -> datetime:
    if moment is None:
        raise InvalidField(f"{field}: is required")
    if all_day:
        return datetime.combine(moment, time())
    if not isinstance(moment, datetime):
        raise InvalidField(f"{field}: give a time of the day as well, or all_day")
    return moment.replace(microsecond=0, fold=0)


def _rule(
    given: Mapping[str, Any], values: Mapping[str, Any], now: datetime, *, before: Event | None
) -> dict[str, Any]:
    if "recurrence" not in given:
        return {}
    if not given["recurrence"]:
        return {"recurrence": ""}
    if not isinstance(given["recurrence"], str):
        raise BadInput("Give a rule such as FREQ=WEEKLY;BYDAY=MO.")
    start = values.get("start") or (before.start if before else "")
    zone = values.get("zone", before.zone if before else "")
    place = zone_of(zone) if zone else now.tzinfo or zone_of("UTC")
    return {"recurrence": kept_rule(given["recurrence"], local(start), place, all_day="T" not in start)}
