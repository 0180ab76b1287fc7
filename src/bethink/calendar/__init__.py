"""The owner's calendar: events, alone or in series, in the zones in which they were meant.

Tools, the web door, the command line and calendars of other programs call `Calendar`.
"""

from __future__ import annotations

from bethink.calendar.free_time import FreeTime, Hours
from bethink.calendar.records import EVENTS, Attendee, Event, Instance, Override
from bethink.calendar.service import Calendar, EventChange, EventConflict, EventRange, EventTarget, said_time
from bethink.calendar.upkeep import FEATURE

__all__ = [
    "EVENTS",
    "FEATURE",
    "Attendee",
    "Calendar",
    "Event",
    "EventChange",
    "EventConflict",
    "EventRange",
    "EventTarget",
    "FreeTime",
    "Hours",
    "Instance",
    "Override",
    "said_time",
]
