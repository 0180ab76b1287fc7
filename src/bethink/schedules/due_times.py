"""When a schedule is due, and when its owner wants quiet: all in the owner's zone, or the schedule's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bethink.clock import shown_in, to_datetime, to_us
from bethink.errors import BadInput
from bethink.recurrence import kept_rule, moment_of, next_start, rule_of, words
from bethink.when.meanings import Day, Moment, Range, Recurrence
from bethink.when.moments import understood as read

if TYPE_CHECKING:
    from bethink.schedules.records import Schedule


MAX_MISSED: Final = 1_000
"""Due times that are counted of those that were missed."""
_OVERLAP: Final = timedelta(hours=2)
DAY_TIME: Final = time(9)
"""When something is due of which only the day was said."""


@dataclass(frozen=True, slots=True)
class Timing:
    """When something is due: once, `at` (microseconds UTC); or by a `recurrence` from a local `start` on.

    `zone` is an IANA name if one was named, "" for the owner's own.
    """

    at: int | None = None
    start: str = ""
    recurrence: str = ""
    zone: str = ""


def understood(when: str, now_us: int, zone: str) -> Timing:
    """The timing that words, ISO 8601 or an RRULE ask for; what names a day alone is due at `DAY_TIME`.

    Raises:
        Ambiguous: it can be read in several ways.
        NotUnderstood: it is no time.
        BadInput: it is over, or no time at which something can be due.
    """
    now = to_datetime(now_us).astimezone(ZoneInfo(zone))
    match read(when, now):
        case Moment(at=at):
            return _once(at, now)
        case Day(date=day):
            return _once(datetime.combine(day, DAY_TIME, now.tzinfo), now)
        case Range() as span:
            raise BadInput(f"{span.words} is a stretch of time: say at what moment in it.")
        case Recurrence(after_done=True):
            raise BadInput("A schedule cannot count from when something was done: make it a recurring task.")
        case Recurrence(rule=rule, start=start):
            return _recurring(rule, start, now)


def _once(moment: datetime, now: datetime) -> Timing:
    at = to_us(moment)
    if at <= to_us(now):
        raise BadInput(f"{words_for(at, str(now.tzinfo))} is over: give a time to come.")
    return Timing(at=at)


def _recurring(rule: str, first: datetime | date | None, now: datetime) -> Timing:
    match first:
        case datetime():
            start = first
        case date():
            start = datetime.combine(first, DAY_TIME, now.tzinfo)
        case None:
            start = now.replace(second=0, microsecond=0)
    zone = start.tzinfo or UTC
    local = start.replace(tzinfo=None)
    kept = kept_rule(rule, local, zone)
    if next_start(rule_of(kept), local, now.astimezone(zone).replace(tzinfo=None)) is None:
        raise BadInput(f"This is over: {words(kept)}.")
    named = "" if str(zone) == str(now.tzinfo) else str(zone)
    return Timing(start=local.isoformat(timespec="minutes"), recurrence=kept, zone=named)


def check_timing(schedule: Schedule) -> None:
    """Refuse a schedule from elsewhere whose times cannot be worked out.

    Raises:
        BadInput: its zone, its start or its rule is none, or it has neither a time nor a rule.
    """
    try:
        zone = ZoneInfo(schedule.zone or "UTC")
        if schedule.recurrence:
            start = datetime.fromisoformat(schedule.start)
            kept_rule(schedule.recurrence, start.replace(tzinfo=None), zone)
    except (ValueError, ZoneInfoNotFoundError) as error:
        raise BadInput("start is a local time such as 2026-12-04T09:00, zone an IANA name.") from error
    if bool(schedule.recurrence) is (schedule.at is not None):
        raise BadInput("A schedule has either `at`, or a `recurrence` with its `start`.")


def next_due(schedule: Schedule, after: int, owner_zone: str) -> int | None:
    """When the schedule is due next behind `after`, snoozing left aside; None if it is over."""
    if not schedule.recurrence:
        return schedule.at if schedule.at is not None and schedule.at > after else None
    return next(_following(schedule, after, owner_zone), None)


def missed_between(schedule: Schedule, first: int, now: int, *, owner_zone: str) -> int:
    """How often the schedule was due from `first` (due itself) until now, at most `MAX_MISSED`."""
    if not schedule.recurrence:
        return 1
    later = takewhile(lambda at: at <= now, _following(schedule, first, owner_zone))
    return 1 + sum(1 for _ in islice(later, MAX_MISSED - 1))


def _following(schedule: Schedule, after: int, owner_zone: str) -> Iterator[int]:
    """The due times of a recurring schedule behind a moment, in order."""
    zone = ZoneInfo(schedule.zone or owner_zone)
    rule, start = rule_of(schedule.recurrence), datetime.fromisoformat(schedule.start)
    # A local time that the clocks show twice is due once, the first time: looked for from before it.
    low = (to_datetime(after).astimezone(zone) - _OVERLAP).replace(tzinfo=None)
    while (local := next_start(rule, start, low)) is not None:
        if (at := moment_of(local, zone)) > after:
            after = at
            yield at
        low = local + timedelta(microseconds=1)


def timing_words(schedule: Schedule, owner_zone: str) -> str:
    """When a schedule is due, in words: "every weekday at 08:00, next on Monday, …"."""
    zone = schedule.zone or owner_zone
    if schedule.paused:
        following = "paused"
    elif schedule.next_at is None:
        following = "over"
    else:
        following = words_for(schedule.next_at, zone)
    if not schedule.recurrence:
        return following
    return f"{recurrence_words(schedule)}, {'next on ' * (schedule.next_at is not None)}{following}"


def recurrence_words(schedule: Schedule) -> str:
    """How a schedule recurs, in words: "every weekday at 08:00"; "" if it does not."""
    if not schedule.recurrence:
        return ""
    rule = rule_of(schedule.recurrence)
    is_by_clock = rule.hours or rule.frequency in ("HOURLY", "MINUTELY")
    at = "" if is_by_clock else f" at {datetime.fromisoformat(schedule.start):%H:%M}"
    said, comma, end = words(schedule.recurrence).partition(", ")
    return f"{said}{at}{comma}{end}"


def words_for(at: int, zone: str) -> str:
    """A moment in words: "Friday, 4 December 2026, 09:00 (Europe/Berlin)"."""
    local = shown_in(ZoneInfo(zone), to_datetime(at))
    return f"{local:%A, %-d %B %Y, %H:%M} ({zone})"


@dataclass(frozen=True, slots=True)
class QuietHours:
    """A time of each day in which nobody is told anything; over midnight if it ends before it begins."""

    begin: time
    end: time

    @classmethod
    def parse(cls, text: str) -> QuietHours | None:
        """Quiet hours as `22:00-07:00`; None for an empty text.

        Raises:
            BadInput: it is neither.
        """
        if not text.strip():
            return None
        try:
            begin, end = (time.fromisoformat(part.strip().zfill(5)) for part in re.split("[-–]", text))
        except ValueError:
            begin = end = time()
        if begin == end:
            raise BadInput(f"Quiet hours are written like 22:00-07:00, not {text[:40]!r}; empty for none.")
        return cls(begin, end)

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"{self.begin:%H:%M}-{self.end:%H:%M}"

    def over(self, at: int, zone: str) -> int:
        """The moment itself, or the end of the quiet hours in which it falls."""
        local = to_datetime(at).astimezone(ZoneInfo(zone))
        now = local.time().replace(fold=0)
        is_late = self.begin > self.end and now >= self.begin
        if not (is_late or (self.begin <= now < self.end) or (self.begin > self.end and now < self.end)):
            return at
        day = local.date() + timedelta(days=1) if is_late else local.date()
        return to_us(datetime.combine(day, self.end, ZoneInfo(zone)))
