"""Alarms of events and tasks (RFC 5545, 3.6.6): how many minutes before, if they can be said so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bethink.errors import BadInput
from bethink.ical.lines import Component, Line
from bethink.ical.values import duration, escaped, when, written_duration

if TYPE_CHECKING:
    from datetime import datetime

_MINUTE_S: Final = 60
_MOST_MINUTES: Final = 366 * 24 * 60


def alarm(minutes: int, title: str, *, related: str = "START") -> Component:
    """An alarm so many minutes before the START or the END (of a task: before it is due)."""
    parameters = ";RELATED=END" if related == "END" else ""
    lines = [
        Line("ACTION", "DISPLAY"),
        Line("DESCRIPTION", escaped(title)),
        Line("TRIGGER", written_duration(-minutes), parameters),
    ]
    return Component("VALARM", lines)


def minutes_before(part: Component, start: datetime | None, end: datetime | None) -> int | None:
    """How many minutes before the start it rings; None if it cannot be said so, or not within a year."""
    trigger = part.line("TRIGGER")
    if trigger is None or start is None:
        return None
    try:
        if trigger.value.strip()[:8].isdecimal():
            span = start - when(trigger.value, trigger.parameter("TZID") or "UTC").moment()
        else:
            is_end = (trigger.parameter("RELATED") or "").upper() == "END" and end is not None
            span = -duration(trigger.value) - ((end - start) if is_end and end is not None else start - start)
    except (BadInput, OverflowError):
        return None
    minutes, rest = divmod(int(span.total_seconds()), _MINUTE_S)
    return minutes if not rest and 0 <= minutes <= _MOST_MINUTES else None
