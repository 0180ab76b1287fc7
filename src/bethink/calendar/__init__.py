"""The owner's calendar: events, alone or in series, in the zones in which they were meant.

Tools, the web door, the command line and calendars of other programs call `Calendar`.
"""

from __future__ import annotations

from bethink.calendar.feature import FEATURE

__all__ = ["FEATURE"]
