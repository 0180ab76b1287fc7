"""What stands in a content line: texts, dates, durations, lists (RFC 5545, 3.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bethink.clock import to_us
from bethink.errors import BadInput
from bethink.ical.lines import Line

if TYPE_CHECKING:
    from bethink.ical.lines import Component

_ESCAPED = {"\\\\": "\\", "\\;": ";", "\\,": ",", "\\n": "\n", "\\N": "\n"}
_ESCAPE = re.compile(r"\\[\\;,nN]")
_SPECIAL = re.compile(r"[\\;,\n]")
_COMMA = re.compile(r"(?<!\\)(?:\\\\)*,")
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(Z?)")
_DURATION = re.compile(
    r"([+-]?)P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,7})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?"
)
_LAST_SECOND = 59


def unescaped(value: str) -> str:
    """The text that a value of the type TEXT says (3.3.11)."""
    return _ESCAPE.sub(lambda found: _ESCAPED[found[0]], value) if "\\" in value else value


def escaped(text: str) -> str:
    """A text as a value of the type TEXT."""
    if not _SPECIAL.search(text) and "\r" not in text:
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SPECIAL.sub(lambda found: "\\n" if found[0] == "\n" else f"\\{found[0]}", text)


def texts(value: str) -> list[str]:
    """The texts of a list (such as CATEGORIES)."""
    found: list[str] = []
    start = 0
    for comma in _COMMA.finditer(value):
        found.append(unescaped(value[start : comma.end() - 1]))
        start = comma.end()
    found.append(unescaped(value[start:]))
    return [text.strip() for text in found if text.strip()]


@dataclass(frozen=True, slots=True)
class When:
    """A date, or a local time of a zone: `zone` is an IANA name, "UTC", or "" for wherever its reader is."""

    local: date | datetime
    zone: str = ""

    @property
    def is_day(self) -> bool:
        """Whether it is a date."""
        return not isinstance(self.local, datetime)

    @property
    def iso(self) -> str:
        """As records keep it: YYYY-MM-DD, or that with T and HH:MM:SS."""
        return self.local.isoformat()

    def moment(self, floating: str = "UTC") -> datetime:
        """The aware datetime; a time without a zone, and a day's beginning, are those of `floating`."""
        local = self.local
        if not isinstance(local, datetime):
            local = datetime.combine(local, datetime.min.time())
        zone = self.zone or floating
        return local.replace(tzinfo=UTC if zone == "UTC" else ZoneInfo(zone))

    def there(self, zone: str) -> When:
        """The same moment as the local time of another zone."""
        return When(self.moment().astimezone(ZoneInfo(zone)).replace(tzinfo=None), zone)


def when_of(line: Line) -> When:
    """The date or time of a line whose zone, if it names one, is an IANA name.

    Raises:
        BadInput: it is neither, or no such day is in the calendar.
    """
    return when(line.value, line.parameter("TZID") or "", line.name)


def when(value: str, zone: str = "", name: str = "The time") -> When:
    """The date or time of a value in this zone.

    Raises:
        BadInput: it is neither, or no such day is in the calendar.
    """
    value = value.strip()
    try:
        if found := _DATE.fullmatch(value):
            return When(date(*map(int, found.groups())))
        if found := _TIME.fullmatch(value):
            year, month, day, hour, minute, second = map(int, found.groups()[:6])
            # A leap second is the last of its minute (3.3.12).
            local = datetime(year, month, day, hour, minute, min(second, _LAST_SECOND))  # noqa: DTZ001 - local
            return When(local, "UTC" if found[7] else zone)
    except ValueError as error:
        raise BadInput(f"{name} is {value!r}: there is no such day or time.") from error
    raise BadInput(f"{name} is {value[:40]!r}: a date is written 20261204, a time 20261204T090000.")


def written_when(at: When) -> str:
    """The value of a date or time."""
    if not isinstance(at.local, datetime):
        return f"{at.local:%Y%m%d}" if at.local.year > 999 else at.local.isoformat().replace("-", "")  # noqa: PLR2004 - four digits
    text = at.local.isoformat(timespec="seconds").replace("-", "").replace(":", "")
    return f"{text}Z" if at.zone == "UTC" else text


def kept_when(text: str, zone: str) -> When:
    """The date or time that a record keeps, as `When.iso` gives it."""
    return when(text.replace("-", "").replace(":", ""), zone)


def time_line(name: str, at: When) -> Line:
    """A line of a date, or of a time in its zone."""
    if at.is_day:
        return Line(name, written_when(at), ";VALUE=DATE")
    return Line(name, written_when(at), f";TZID={at.zone}" if at.zone and at.zone != "UTC" else "")


def utc(us: int) -> str:
    """Microseconds as a value in UTC."""
    moment = datetime.fromtimestamp(us // 1_000_000, UTC)
    return f"{moment.year:04}{moment:%m%dT%H%M%S}Z"


def created_at(component: Component, now: int) -> int:
    """When a component was made, microseconds UTC; `now` if it does not say, or says a time to come."""
    try:
        return min(now, to_us(when(component.value("CREATED")).moment()))
    except BadInput:
        return now


def duration(value: str) -> timedelta:
    """The time that a value of the type DURATION says (3.3.6).

    Raises:
        BadInput: it is none.
    """
    found = _DURATION.fullmatch(value.strip().upper())
    if not found or not any(found.groups()[1:]):
        raise BadInput(f"{value[:40]!r} is no duration: fifteen minutes are written PT15M.")
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    span = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return -span if found[1] == "-" else span


def written_duration(minutes: int) -> str:
    """Minutes as a value of the type DURATION; in whole days, if they are."""
    sign, minutes = ("-" if minutes < 0 else ""), abs(minutes)
    days, rest = divmod(minutes, 24 * 60)
    hours, left = divmod(rest, 60)
    time = "".join((f"{hours}H" if hours else "", f"{left}M" if left else ""))
    if not days and not time:
        return "PT0M"
    return f"{sign}P{f'{days}D' if days else ''}{f'T{time}' if time else ''}"
