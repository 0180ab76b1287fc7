"""iCalendar (RFC 5545): its lines and components, values and time zones. Features map their records onto it.

`lines` reads and writes files of any origin, `values` what stands in a line, and `zones` knows which time
zone is meant. What a component means is said beside the records: `tasks/vtodo` and `calendar/vevent`.
"""

from __future__ import annotations

from bethink.ical.lines import Component, Line, ParsedCalendar, read, written

__all__ = ["Component", "Line", "ParsedCalendar", "read", "written"]
