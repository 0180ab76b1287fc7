"""Calendars of other programs: files, feeds, and CalDAV both ways, over the components of all features.

`upkeep` reads and writes `.ics`, `feeds` are calendars to subscribe to, `sync` keeps accounts of calendar
servers and Bethink the same, and `door` is the calendar server that Bethink itself is. None of them names a
feature: they walk over `OpenFeature.components`.
"""
