"""When a schedule is due, and when its owner wants quiet: all in the owner's zone, or the schedule's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bethink.clock import shown_in, to_datetime, to_us
from bethink.errors import BadInput

if TYPE_CHECKING:
    from bethink.schedules.records import Schedule


@dataclass(frozen=True, slots=True)
class Timing:
    """When something is due: once, `at` (microseconds UTC); or by a `recurrence` from a local `start` on."""

    at: int | None = None
    start: str = ""
    recurrence: str = ""
    zone: str = ""


def understood(when: str, now_us: int, zone: str) -> Timing:
    """The timing that `when` asks for, for an owner in `zone`.

    Raises:
        BadInput: it is not understood, or in the past; the sentence says what to write.
    """
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


def next_due(schedule: Schedule, after: int, owner_zone: str) -> int | None:
    """When the schedule is due next behind `after`, snoozing left aside; None if it is over."""
    del owner_zone
    return schedule.at if schedule.at is not None and schedule.at > after else None


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
