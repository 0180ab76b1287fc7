"""Which time zone a file means, and how ours is told to others (RFC 5545, 3.6.5; RFC 7808).

Programs name zones by IANA, by Windows, by a path of their own that ends in an IANA name, or by any word
beside which a VTIMEZONE says what is meant. Inside, a zone is an IANA name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, available_timezones

from bethink.errors import BadInput
from bethink.ical.values import when
from bethink.recurrence import rule_of, starts

if TYPE_CHECKING:
    from bethink.ical.lines import Component

_LAST_YEAR: Final = 2037
"""As far as `zoneinfo` lists changes; from then on the rule of the last years is told."""
_UTC: Final = frozenset({"UTC", "GMT", "Z", "ETC/UTC", "ETC/GMT", "ZULU"})
_HOUR: Final = timedelta(hours=1)
_COMPARED_DAYS: Final = 5
"""A zone is told from others by its clock on every fifth day of a year."""
_COMMON: Final = (
    "Europe/Berlin",
    "Europe/London",
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "Asia/Tokyo",
    "Asia/Shanghai",
    "Asia/Kolkata",
    "Australia/Sydney",
)
"""Tried first where a VTIMEZONE has the rules of many zones."""
_MOST_ONSETS: Final = 1_000
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


class UnknownZone(BadInput):
    """A file names a time zone that nobody knows, and does not say what it is."""


@lru_cache(maxsize=1)
def _known() -> dict[str, str]:
    """IANA names by their lower case."""
    return {name.lower(): name for name in available_timezones()}


@lru_cache(maxsize=1)
def _of_windows() -> dict[str, str]:
    from tzlocal.windows_tz import win_tz

    return {name.lower(): zone for name, zone in win_tz.items()}


def named_zone(tzid: str) -> str | None:
    """The IANA name of a zone by the name that a program gives it; None if the name alone does not tell."""
    tzid = tzid.strip().strip('"')
    if tzid.upper() in _UTC:
        return "UTC"
    known = _known()
    parts = tzid.strip("/").split("/")
    # Such as /freeassociation.sourceforge.net/Tzfile/Europe/Berlin: three parts at most are a name.
    for start in range(max(0, len(parts) - 3), len(parts)):
        if found := known.get("/".join(parts[start:]).lower()):
            return found
    return _of_windows().get(tzid.lower())


def zone_of(tzid: str, description: Component | None, year: int) -> str:
    """The IANA name of the zone that a file names; its VTIMEZONE says what is meant if the name does not.

    Raises:
        UnknownZone: neither tells.
    """
    found = named_zone(tzid)
    if found is None and description is not None:
        location = description.value("X-LIC-LOCATION")
        found = (location and named_zone(location)) or _by_rules(description, year)
    if found is None:
        raise UnknownZone(
            f"The time zone {tzid[:60]!r} is not known: in the program that made the file, choose a zone by "
            "its place, such as Europe/Berlin."
        )
    return found


def zones_of(calendar: Component) -> dict[str, Component]:
    """The descriptions of zones in a calendar, by their names there."""
    return {part.value("TZID"): part for part in calendar.parts if part.name == "VTIMEZONE"}


def _by_rules(description: Component, year: int) -> str | None:
    """A zone whose clock shows the same all through a year."""
    changes = _changes(description, year)
    if not changes:
        return None
    days = [datetime(year, 1, 1, 12, tzinfo=UTC) + timedelta(days=_COMPARED_DAYS * n) for n in range(73)]
    wanted = [_offset_at(changes, day) for day in days]
    if len(set(wanted)) == 1 and wanted[0] % _HOUR == timedelta(0):
        hours = wanted[0] // _HOUR
        return f"Etc/GMT{-hours:+d}" if hours else "UTC"
    for name in (*_COMMON, *sorted(_known().values())):
        zone = ZoneInfo(name)
        if all(zone.utcoffset(day) == offset for day, offset in zip(days, wanted, strict=True)):
            return name
    return None


def _offset_at(changes: list[tuple[datetime, timedelta]], moment: datetime) -> timedelta:
    before = [offset for at, offset in changes if at <= moment]
    return before[-1] if before else changes[0][1]


def _changes(description: Component, year: int) -> list[tuple[datetime, timedelta]]:
    """When the clock of a VTIMEZONE changes in the years around one, and to what, in order."""
    found: list[tuple[datetime, timedelta]] = []
    for part in description.parts:
        try:
            start = when(part.value("DTSTART")).moment().replace(tzinfo=None)
            before, after = _offset(part.value("TZOFFSETFROM")), _offset(part.value("TZOFFSETTO"))
            found += [((at - before).replace(tzinfo=UTC), after) for at in _onsets(part, start, year)]
        except (BadInput, ValueError, OverflowError):
            return []
    return sorted(found)


def _onsets(part: Component, start: datetime, year: int) -> Iterator[datetime]:
    """The local times at which a part of a VTIMEZONE begins, to the end of a year.

    Raises:
        ValueError: its rule is none, or begins more often than zones change.
    """
    yield start
    for line in part.all("RDATE"):
        yield from (when(value).moment().replace(tzinfo=None) for value in line.value.split(","))
    if (rule := part.value("RRULE").upper()) and "FREQ=YEARLY" in rule:
        span = {"low": datetime(year - 1, 1, 1), "high": datetime(year, 12, 31)}  # noqa: DTZ001 - local
        yield from islice(starts(rule_of(rule.replace("Z", "")), start, **span), _MOST_ONSETS)


def _offset(text: str) -> timedelta:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    return sign * timedelta(
        hours=int(digits[:2]), minutes=int(digits[2:4] or 0), seconds=int(digits[4:6] or 0)
    )


def described(zones: Iterable[str], year: int) -> list[str]:
    """The unfolded lines of a VTIMEZONE for each zone, right from `year` on."""
    return [line for zone in sorted(set(zones)) for line in _described(zone, year)]


@lru_cache(maxsize=64)
def _described(name: str, year: int) -> tuple[str, ...]:
    zone = ZoneInfo(name)
    begin = datetime(max(year, 1900), 1, 1, tzinfo=UTC)
    lines = ["BEGIN:VTIMEZONE", f"TZID:{name}"]
    groups: dict[tuple[timedelta, timedelta, str, bool], list[datetime]] = {}
    before = zone.utcoffset(begin) or timedelta(0)
    first = begin.astimezone(zone)
    groups[before, before, first.tzname() or "", bool(first.dst())] = [first.replace(tzinfo=None)]
    for at in _transitions(zone, begin):
        now = at.astimezone(zone)
        after = now.utcoffset() or timedelta(0)
        key = (before, after, now.tzname() or "", bool(now.dst()))
        groups.setdefault(key, []).append((at + before).replace(tzinfo=None))
        before = after
    for (old, new, short, is_summer), onsets in groups.items():
        kind = "DAYLIGHT" if is_summer else "STANDARD"
        lines += [f"BEGIN:{kind}", f"DTSTART:{onsets[0]:%Y%m%dT%H%M%S}"]
        if rule := _rule(onsets):
            lines.append(f"RRULE:{rule}")
        elif len(onsets) > 1:
            lines += [f"RDATE:{onset:%Y%m%dT%H%M%S}" for onset in onsets[1:]]
        lines += [f"TZOFFSETFROM:{_told(old)}", f"TZOFFSETTO:{_told(new)}", f"TZNAME:{short}", f"END:{kind}"]
    return (*lines, "END:VTIMEZONE")


def _transitions(zone: ZoneInfo, begin: datetime) -> Iterator[datetime]:
    """When the zone's clock changes, to the second, UTC."""
    step, at = timedelta(days=7), begin
    end = datetime(_LAST_YEAR, 12, 31, tzinfo=UTC)
    offset = zone.utcoffset(at)
    while at < end:
        later = at + step
        if zone.utcoffset(later.astimezone(zone)) != offset:
            low, high = at, later
            while high - low > timedelta(seconds=1):
                middle = low + (high - low) // 2
                middle = middle.replace(microsecond=0)
                if middle.astimezone(zone).utcoffset() == at.astimezone(zone).utcoffset():
                    low = middle
                else:
                    high = middle
            yield high
            offset = later.astimezone(zone).utcoffset()
        at = later


def _rule(onsets: list[datetime]) -> str | None:
    """The yearly rule of onsets that follow one, to the last year that is looked at."""
    first = onsets[0]
    years = [onset.year for onset in onsets]
    is_yearly = years == list(range(first.year, _LAST_YEAR + 1)) and len(onsets) > 1
    if not is_yearly or any(
        (one.month, one.weekday(), one.time()) != (first.month, first.weekday(), first.time())
        for one in onsets
    ):
        return None
    from_start = {(one.day - 1) // 7 + 1 for one in onsets}
    is_last = all((one + timedelta(days=7)).month != one.month for one in onsets)
    if not is_last and len(from_start) > 1:
        return None
    nth = -1 if is_last else from_start.pop()
    return f"FREQ=YEARLY;BYMONTH={first.month};BYDAY={nth}{_WEEKDAYS[first.weekday()]}"


def _told(offset: timedelta) -> str:
    seconds = int(offset.total_seconds())
    sign, seconds = ("-" if seconds < 0 else "+"), abs(seconds)
    hours, rest = divmod(seconds, 3600)
    return f"{sign}{hours:02}{rest // 60:02}{f'{rest % 60:02}' if rest % 60 else ''}"
