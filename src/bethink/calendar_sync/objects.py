"""Calendar objects: all components of a file that have one uid, with zones by IANA names; and back.

A file, a server and a client of ours give the same thing: a calendar with components in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from bethink import __version__
from bethink.calendar_sync.records import digest
from bethink.errors import BadInput
from bethink.feature import ComponentText, IncomingComponent
from bethink.ical.lines import Component, Line, read, written
from bethink.ical.values import escaped, unescaped, when_of, written_when
from bethink.ical.zones import described, named_zone, zone_of, zones_of

PRODID: Final = f"-//Bethink//Bethink {__version__}//EN"
_TIMES: Final = frozenset({"DTSTART", "DTEND", "DUE", "RDATE", "EXDATE", "RECURRENCE-ID"})
_APART: Final = frozenset({"VTIMEZONE", "VFREEBUSY", "VJOURNAL"})
_MAX_UID: Final = 500
MOST_INSTANCES: Final = 2_000
"""Changed instances of one series."""


@dataclass(slots=True)
class CalendarObject:
    """The components of one uid; `why` is the sentence if it cannot be taken."""

    form: str
    uid: str
    parts: list[Component] = field(default_factory=list[Component])
    why: str = ""

    @property
    def title(self) -> str:
        """What a person calls it."""
        return unescaped(self.parts[0].value("SUMMARY"))[:200] if self.parts else ""

    def incoming(self, if_etag: str | None, *, untrusted: bool = True) -> IncomingComponent:
        """It, to be kept."""
        return IncomingComponent(uid=self.uid, parts=self.parts, if_etag=if_etag, untrusted=untrusted)


@dataclass(frozen=True, slots=True)
class Objects:
    """What a file holds, and a sentence for each thing that was not as it should be."""

    found: Sequence[CalendarObject]
    problems: Sequence[str]


def read_objects(content: bytes, *, forms: Iterable[str]) -> Objects:
    """The objects of these forms in a file; others are told of. Takes long for long files.

    Raises:
        BadInput: it is no calendar file, or too large.
    """
    reading = read(content)
    found: dict[tuple[str, str], CalendarObject] = {}
    others: dict[str, int] = {}
    taken = set(forms)
    for calendar in reading.calendars:
        zones = _Zones(calendar)
        for part in calendar.parts:
            if part.name not in taken:
                others[part.name] = others.get(part.name, 0) + (part.name != "VTIMEZONE")
                continue
            uid = unescaped(part.value("UID")).strip() or digest(*part.unfolded())
            one = found.setdefault((part.name, uid), CalendarObject(part.name, uid))
            try:
                one.parts.append(zones.resolved(part))
            except BadInput as error:
                one.parts.append(part)
                one.why = error.message
            if len(uid) > _MAX_UID or len(one.parts) > MOST_INSTANCES:
                one.why = "Its uid is too long, or it has too many changed instances."
                del one.parts[MOST_INSTANCES:]
    told = [f"{count:,} × {name} left out: it is not kept." for name, count in others.items() if count]
    return Objects(list(found.values()), [*reading.problems, *told])


@dataclass(slots=True)
class _Zones:
    """The zones of one calendar by the names that it gives them."""

    calendar: Component
    _known: dict[str, str] = field(default_factory=dict[str, str])

    def resolved(self, part: Component) -> Component:
        """The component with IANA names in place of its calendar's own.

        Raises:
            BadInput: it names a zone that nobody knows.
        """
        lines = [self._line(line, part) for line in part.lines]
        usual = named_zone(self.calendar.value("X-WR-TIMEZONE") or "")
        if usual and usual != "UTC" and part.line("RRULE"):
            # Google writes series in UTC and says here where they are meant.
            lines = [_moved(line, usual) for line in lines]
        return Component(part.name, lines, part.parts)

    def _line(self, line: Line, part: Component) -> Line:
        name = line.parameter("TZID")
        if name is None:
            return line
        if name not in self._known:
            start = part.value("DTSTART")[:4]
            year = int(start) if start.isdecimal() and int(start) > 1 else datetime.now(UTC).year
            self._known[name] = zone_of(name, zones_of(self.calendar).get(name), year)
        zone = self._known[name]
        if zone == name:
            return line
        if zone != "UTC":
            return line.but(TZID=zone)
        times = [f"{time}Z" if "T" in time else time for time in line.value.split(",")]
        return line.but(",".join(times), TZID=None)


def _moved(line: Line, zone: str) -> Line:
    if line.name not in _TIMES or line.parameter("TZID") or not line.value.endswith("Z"):
        return line
    times = [when_of(Line(line.name, value)).there(zone) for value in line.value.split(",")]
    return line.but(",".join(map(written_when, times)), TZID=zone)


def calendar_text(texts: Sequence[ComponentText], *, name: str = "", method: str = "") -> str:
    """A calendar file of components, with the zones that they name."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", f"PRODID:{PRODID}", "CALSCALE:GREGORIAN"]
    lines += [f"METHOD:{method}"] if method else []
    lines += [f"NAME:{escaped(name)}", f"X-WR-CALNAME:{escaped(name)}"] if name else []
    zones = {zone for text in texts for zone in text.zones}
    lines += described(zones, _first_year(texts)) if zones else []
    for text in texts:
        lines += text.lines
    return written([*lines, "END:VCALENDAR"])


def _first_year(texts: Sequence[ComponentText]) -> int:
    years = {
        int(line.rpartition(":")[2][:4])
        for text in texts
        for line in text.lines
        if line.startswith(("DTSTART", "DUE")) and line.rpartition(":")[2][:4].isdecimal()
    }
    return min(max(1970, min(years, default=1970)), datetime.now(UTC).year)


def fingerprint(parts: Iterable[Component]) -> str:
    """A digest of what components say: the same whoever wrote them, in whichever order, whenever."""
    stamps = {"DTSTAMP", "LAST-MODIFIED", "CREATED", "SEQUENCE"}
    told = sorted(
        "\n".join(sorted(line for line in part.unfolded() if line.partition(":")[0] not in stamps))
        for part in parts
        if part.name not in _APART
    )
    return digest(*told)
