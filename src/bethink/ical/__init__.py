"""iCalendar (RFC 5545): its lines and components, values and time zones. Features map their records onto it.

`lines` reads and writes files of any origin, `values` what stands in a line, and `zones` knows which time
zone is meant. What a component means is said beside the records: `tasks/vtodo` and `calendar/vevent`.
"""
