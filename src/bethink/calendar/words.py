"""Times in words as fields of an event, and an event in one line: "Lunch with Bruna tomorrow at 12".

A zone of its own turns words into times of that zone; without one they are the owner's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from bethink.calendar.records import is_words
from bethink.errors import BadInput, NotUnderstood
from bethink.when.meanings import Day, Moment, Range, Recurrence, Understood, midnight
from bethink.when.moments import SaidLine, extracted, understood

MAX_LINE: Final = 1_000
_CLOCK: Final = re.compile(r"[\d:. ]+(?:[ap]\.?m\.?|uhr|o'clock)?", re.IGNORECASE)
_HH_MM: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_PLACE: Final = re.compile(r"(?<!\S)@(?:\"([^\"]{1,200})\"|([^\W\d_][\w/.-]{0,199}))(?!\S)")
_TAG: Final = re.compile(r"(?<!\S)#([^\W\d_][\w/-]{0,31})(?!\S)")


def resolved(given: Mapping[str, Any], now: datetime, start: datetime | None = None) -> dict[str, Any]:
    """The given fields with times in place of words; what is ISO 8601, or a rule, stays as it is.

    `now` is in the zone that words are meant in. `start` is that of the event that they change, aware.

    Raises:
        Ambiguous, NotUnderstood: a time has several meanings, or there is no such one.
    """
    fields = dict(given)
    if is_words(given.get("start")):
        said = times_of(understood(given["start"], now), "start")
        fields |= {name: value for name, value in said.items() if name == "start" or fields.get(name) is None}
    if is_words(given.get("recurrence")):
        rule = str(given["recurrence"])
        meant = understood(rule, now)
        if not isinstance(meant, Recurrence):
            raise NotUnderstood(f"recurrence: “{rule[:60]}” is no rule: say how often, such as every Friday.")
        said = times_of(meant, "recurrence")
        fields["recurrence"] = said.pop("recurrence")
        # What the event says itself counts: of "every Friday at 9" only the rule, if there is a start.
        if given.get("start") is None and start is None:
            fields |= {name: value for name, value in said.items() if fields.get(name) is None}
    if is_words(end := given.get("end")):
        since = _began(fields.get("start"), start, now) if _CLOCK.fullmatch(str(end).strip()) else now
        fields["end"] = _end_of(str(end), since)
    return fields


def _began(given: object, before: datetime | None, now: datetime) -> datetime:
    """When the event begins, aware; `now` if that is not said."""
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given.strip())
        except ValueError:
            return now
    if isinstance(given, datetime):
        return given.astimezone(now.tzinfo) if given.tzinfo is not None else given.replace(tzinfo=now.tzinfo)
    return before or now


def _end_of(text: str, start: datetime) -> datetime | date:
    # A time of day alone is the next one behind the start.
    match understood(text, start):
        case Moment(at):
            return at
        case Day(day):
            return day + timedelta(days=1)
        case _:
            raise NotUnderstood(f"end: “{text[:60]}” is no single time.")


def times_of(meant: Understood, name: str) -> dict[str, Any]:
    """The fields of an event that a time in words is.

    Raises:
        NotUnderstood: it counts from when something is done, which no event is.
    """
    match meant:
        case Moment(at):
            return {"start": at}
        case Day(day):
            return {"start": day}
        case Range() if meant.is_days:
            return {"start": meant.start.date(), "end": meant.end.date()}
        case Range():
            return {"start": meant.start, "end": meant.end}
        case Recurrence(rule=rule, start=start, takes=takes):
            if meant.after_done:
                raise NotUnderstood(f"{name}: an event is never done: say on which days it happens.")
            said: dict[str, Any] = {"recurrence": rule}
            if start is not None:
                said["start"] = start
            if takes is not None:
                said["duration_minutes"] = max(1, takes // timedelta(minutes=1))
            return said


def start_of(day: str | None, clock: str | None, now: datetime, *, before: datetime | None) -> dict[str, Any]:
    """The fields of an event that a day and a time of day are, each in words or figures.

    `before` is when the event that they change begins, in the zone of `now`: what is not said stays.

    Raises:
        Ambiguous, NotUnderstood: one of them has several meanings, or there is no such one.
    """
    if not (day or clock):
        return {}
    said: dict[str, Any] = {"start": (before or now).date()}
    if day:
        meant = understood(day, now)
        if clock and isinstance(meant, Recurrence):
            # "Every weekday" and "09:00": the first one of these is still to come.
            figures = _HH_MM.fullmatch(clock.strip())
            clock = f"{int(figures[1]):02}:{figures[2]}" if figures else clock
            return times_of(understood(f"{day} at {clock}", now), "date")
        said = times_of(meant, "date")
    if not clock:
        start = said.get("start")
        if before is not None and not isinstance(start, datetime) and start is not None:
            said["start"] = datetime.combine(start, before.time(), now.tzinfo)
        return said
    start = said.get("start")
    if start is None or (isinstance(start, date) and not isinstance(start, datetime) and "end" in said):
        raise NotUnderstood(f"date: “{(day or '')[:60]}” is no single day: say which day is meant.")
    of_day = start.date() if isinstance(start, datetime) else start
    if figures := _HH_MM.fullmatch(clock.strip()):
        # Figures of a field that is HH:MM are hours of 24; words may mean the evening.
        return {**said, "start": datetime.combine(of_day, time(int(figures[1]), int(figures[2])), now.tzinfo)}
    match understood(clock, datetime.combine(of_day, time(), now.tzinfo) - timedelta(minutes=1)):
        case Moment(at) if not day or at.date() == of_day:
            return {**said, "start": datetime.combine(of_day, at.time(), now.tzinfo)}
        case _:
            raise NotUnderstood(f"start_time: “{clock[:60]}” is no time of a day: write HH:MM.")


def range_of(start: str | None, end: str | None, now: datetime) -> tuple[datetime, datetime]:
    """A range of days or times, each in words or figures: by itself the seven days from today.

    An `end` that is a day is included.

    Raises:
        Ambiguous, NotUnderstood: one of them has several meanings, or there is no such one.
    """
    today = midnight(now.date(), now)
    first, last = (
        (today, today + timedelta(days=7)) if not start else _span(understood(start, now), start, now)
    )
    if end:
        last = _span(understood(end, now), end, now)[1]
    return first, last


def _span(meant: Understood, text: str, now: datetime) -> tuple[datetime, datetime]:
    match meant:
        case Moment(at):
            return at, at
        case Day(day):
            return midnight(day, now), midnight(day + timedelta(days=1), now)
        case Range(begin, end):
            return begin, end
        case Recurrence():
            raise NotUnderstood(f"“{text[:60]}” happens again and again: give a day or a range of days.")


def read_line(line: str, now: datetime) -> SaidLine:
    """The event that a line says: `@` leads to a place, `#` to a category; its time is in words.

    Raises:
        BadInput: nothing is left to be its title, or no time stands there.
        Ambiguous, NotUnderstood: its time has several meanings, or there is no such one.
    """
    if len(line) > MAX_LINE:
        raise BadInput(f"A line has at most {MAX_LINE:,} characters: put the rest into the description.")
    found = extracted(line, now)
    signs, title = signs_of(found.rest)
    if not title:
        raise BadInput("The line says when, and not what: write it like “Lunch with Bruna tomorrow at 12”.")
    fields: dict[str, Any] = {"title": title, **signs}
    if found.understood is None:
        return SaidLine(fields)
    return SaidLine(fields | times_of(found.understood, "recurrence"), found.understood.words)


def signs_of(line: str) -> tuple[dict[str, Any], str]:
    """The place and the categories of a line, and the line without them."""
    fields: dict[str, Any] = {}
    if places := _PLACE.findall(line):
        fields["location"] = (places[-1][0] or places[-1][1]).strip()
    if tags := _TAG.findall(line):
        fields["categories"] = list(dict.fromkeys(tags))
    return fields, " ".join(_TAG.sub(" ", _PLACE.sub(" ", line)).split())
