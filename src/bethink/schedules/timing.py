"""When a schedule is due, and when its owner wants quiet: all in the owner's zone, or the schedule's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from bethink.clock import shown_in, to_datetime, to_us
from bethink.errors import BadInput
from bethink.recurrence import kept_rule, moment_of, next_start, rule_of, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bethink.schedules.records import Schedule


MAX_MISSED: Final = 1_000
"""Due times that are counted of those that were missed."""
_OVERLAP: Final = timedelta(hours=2)
_RULE: Final = re.compile(r"(?i)(?:RRULE:)?(FREQ=\S+)")


@dataclass(frozen=True, slots=True)
class Timing:
    """When something is due: once, `at` (microseconds UTC); or by a `recurrence` from a local `start` on."""

    at: int | None = None
    start: str = ""
    recurrence: str = ""


def understood(when: str, now_us: int, zone: str) -> Timing:
    """The timing that `when` asks for, for an owner in `zone`.

    Raises:
        BadInput: it is not understood, or in the past; the sentence says what to write.
    """
    now = to_datetime(now_us).astimezone(ZoneInfo(zone))
    if rule := _RULE.fullmatch(when.strip()):
        return _recurring(rule[1], now.replace(second=0, microsecond=0, tzinfo=None), now)
    try:
        moment = datetime.fromisoformat(when.strip())
    except ValueError:
        raise BadInput(
            f"{when[:60]!r} is not a time: write it like 2026-12-04T09:00 or 2026-12-04T09:00:00Z."
        ) from None
    at = to_us(moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone)))
    if at <= now_us:
        raise BadInput(f"{words_for(at, zone)} is in the past: give a time to come.")
    return Timing(at=at)


def _recurring(rule: str, start: datetime, now: datetime) -> Timing:
    zone = now.tzinfo or UTC
    kept = kept_rule(rule, start, zone)
    first = next_start(rule_of(kept), start, now.replace(tzinfo=None))
    if first is None:
        raise BadInput(f"This recurrence is over: {words(kept)}.")
    return Timing(start=start.isoformat(timespec="minutes"), recurrence=kept)


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
