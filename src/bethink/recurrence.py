"""When something happens again: rules of RFC 5545 as the local times that they give, and in words.

Calendar, tasks and schedules call it. A rule gives local times without a zone; `moment_of` puts one into a
zone, so that 09:00 stays 09:00 when the clocks change. What is worked out never costs more than the range
that is asked for: no rule, however it is written, is followed to the end of the calendar.
"""

from __future__ import annotations

import calendar
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from heapq import merge
from itertools import groupby, islice
from typing import Final, Literal, cast, get_args

from bethink.clock import to_us
from bethink.errors import BadInput

Frequency = Literal["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"]

MAX_COUNT: Final = 10_000
"""Instances of a rule that counts them: a daily meeting of 27 years."""
_MAX_INTERVAL: Final = 1_000
_MAX_RULE_CHARS: Final = 500
_SEARCH: Final = timedelta(days=100 * 366)
"""How far a next instance is looked for: Monday 29 February, the rarest in use, comes within 40 years."""
_DAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_LAST: Final = datetime(9998, 1, 1)  # noqa: DTZ001 - local times have no zone here
_DAY_MINUTES: Final = 24 * 60
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - as above


@dataclass(frozen=True, slots=True)
class Weekday:
    """A day of the week, 0 is Monday; the `nth` of its month or year, -1 the last, 0 any."""

    day: int
    nth: int = 0


@dataclass(frozen=True, slots=True)
class RecurrenceRule:
    """A recurrence rule (RFC 5545, 3.3.10), its parts by their names there.

    `until` is a local time, included; all-day series have midnight of their last day.
    """

    frequency: Frequency
    interval: int = 1
    count: int | None = None
    until: datetime | None = None
    months: frozenset[int] = frozenset()
    weeks: frozenset[int] = frozenset()
    year_days: frozenset[int] = frozenset()
    month_days: frozenset[int] = frozenset()
    days: tuple[Weekday, ...] = ()
    hours: frozenset[int] = frozenset()
    minutes: frozenset[int] = frozenset()
    positions: tuple[int, ...] = ()
    week_start: int = 0

    @property
    def by_day(self) -> bool:
        """Whether it says on which days it falls."""
        return bool(self.weeks or self.year_days or self.month_days or self.days)


# --- rules as text -----------------------------------------------------------

_NUMBERS: Final[dict[str, tuple[str, int, bool]]] = {
    # The part's name: the field, its greatest number, and whether it may count from the end.
    "BYMONTH": ("months", 12, False),
    "BYWEEKNO": ("weeks", 53, True),
    "BYYEARDAY": ("year_days", 366, True),
    "BYMONTHDAY": ("month_days", 31, True),
    "BYHOUR": ("hours", 23, False),
    "BYMINUTE": ("minutes", 59, False),
    "BYSETPOS": ("positions", 366, True),
}
_FROM_ZERO: Final = frozenset({"BYHOUR", "BYMINUTE"})
_WEEKDAY: Final = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_UNTIL: Final = re.compile(r"(\d{8})(?:T(\d{6})(Z)?)?")


@lru_cache(maxsize=4096)
def rule_of(text: str) -> RecurrenceRule:
    """The rule of a text such as `FREQ=WEEKLY;BYDAY=MO`; an `until` in UTC is taken as it stands.

    Raises:
        BadInput: it is none, or none that is kept; the sentence says what is wrong.
    """
    written = text.strip().upper().removeprefix("RRULE:").rstrip(";")
    if len(written) > _MAX_RULE_CHARS:
        raise BadInput(f"A recurrence rule has at most {_MAX_RULE_CHARS} characters.")
    parts: dict[str, str] = {}
    for part in written.split(";"):
        name, equals, value = part.partition("=")
        if not equals or not value or name in parts:
            raise BadInput(f"{text[:60]!r} is not a recurrence rule: write it like FREQ=WEEKLY;BYDAY=MO,WE.")
        parts[name] = value
    rule = RecurrenceRule(_frequency(parts.pop("FREQ", "")))
    for name, value in parts.items():
        rule = _with_part(rule, name, value)
    _check(rule)
    return rule


def _frequency(value: str) -> Frequency:
    if value not in get_args(Frequency):
        raise BadInput(f"FREQ is {value[:20]!r}: give one of {', '.join(get_args(Frequency))}.")
    return cast("Frequency", value)


def _with_part(rule: RecurrenceRule, name: str, value: str) -> RecurrenceRule:
    match name:
        case "INTERVAL":
            return replace(rule, interval=_number(name, value, _MAX_INTERVAL))
        case "COUNT":
            return replace(rule, count=_number(name, value, MAX_COUNT))
        case "UNTIL":
            return replace(rule, until=_until(value))
        case "WKST" if value in _DAYS:
            return replace(rule, week_start=_DAYS.index(value))
        case "BYDAY":
            return replace(rule, days=tuple(dict.fromkeys(_weekday(one) for one in value.split(","))))
        case "BYSECOND" if value in {"0", "00"}:
            return rule
        case _ if name in _NUMBERS:
            field, most, from_end = _NUMBERS[name]
            low = 0 if name in _FROM_ZERO else 1
            numbers = [_number(name, one, most, low=low, from_end=from_end) for one in value.split(",")]
            kept = tuple(sorted(set(numbers))) if field == "positions" else frozenset(numbers)
            return replace(rule, **{field: kept})
        case _:
            raise BadInput(f"{name[:20]}={value[:20]} is no part of a recurrence rule that is kept.")


def _number(name: str, value: str, most: int, *, low: int = 1, from_end: bool = False) -> int:
    try:
        number = int(value)
    except ValueError:
        number = most + 1
    if low <= number <= most or (from_end and -most <= number <= -low):
        return number
    raise BadInput(f"{name} is {value[:20]!r}: give a number from {low} to {most:,}.")


def _weekday(value: str) -> Weekday:
    found = _WEEKDAY.fullmatch(value)
    if found is None or (found[1] is not None and not 1 <= abs(int(found[1])) <= 53):  # noqa: PLR2004 - weeks of a year
        raise BadInput(f"BYDAY has {value[:20]!r}: give days such as MO, 2FR or -1SU.")
    return Weekday(_DAYS.index(found[2]), int(found[1] or 0))


def _until(value: str) -> datetime:
    found = _UNTIL.fullmatch(value)
    try:
        if found is not None:
            zone = UTC if found[3] else None
            clock = found[2] or "000000"
            return datetime.strptime(found[1] + clock, "%Y%m%d%H%M%S").replace(tzinfo=zone)
    except ValueError:
        pass
    raise BadInput(f"UNTIL is {value[:20]!r}: give a day such as 20261231.")


def _check(rule: RecurrenceRule) -> None:
    if rule.count is not None and rule.until is not None:
        raise BadInput("A recurrence rule has COUNT or UNTIL, not both.")
    if any(day.nth for day in rule.days) and rule.frequency not in {"MONTHLY", "YEARLY"}:
        raise BadInput("BYDAY with a number, such as 2FR, needs FREQ=MONTHLY or FREQ=YEARLY.")
    if any(day.nth for day in rule.days) and rule.weeks:
        raise BadInput("BYDAY with a number, such as 2FR, cannot stand beside BYWEEKNO.")
    if rule.weeks and rule.frequency != "YEARLY":
        raise BadInput("BYWEEKNO needs FREQ=YEARLY.")
    if rule.year_days and rule.frequency in {"MONTHLY", "WEEKLY", "DAILY"}:
        raise BadInput("BYYEARDAY needs FREQ=YEARLY.")
    if rule.month_days and rule.frequency == "WEEKLY":
        raise BadInput("BYMONTHDAY cannot stand beside FREQ=WEEKLY.")
    if rule.positions and (rule.frequency in {"HOURLY", "MINUTELY"} or not (rule.by_day or rule.hours)):
        raise BadInput("BYSETPOS needs another BY part, and FREQ=DAILY or a longer one.")


def text_of(rule: RecurrenceRule, zone: tzinfo | None = None, *, all_day: bool = False) -> str:
    """The rule as text, in one order; given a `zone`, a local `until` is written in UTC, as in files."""
    parts = [f"FREQ={rule.frequency}"]
    if rule.interval != 1:
        parts.append(f"INTERVAL={rule.interval}")
    if rule.count is not None:
        parts.append(f"COUNT={rule.count}")
    if rule.until is not None:
        parts.append(f"UNTIL={_until_text(rule.until, zone, all_day=all_day)}")
    for name, (field, _, _) in _NUMBERS.items():
        if numbers := getattr(rule, field):
            parts.append(f"{name}={','.join(map(str, sorted(numbers)))}")
    if rule.days:
        parts.append("BYDAY=" + ",".join(f"{day.nth or ''}{_DAYS[day.day]}" for day in rule.days))
    if rule.week_start:
        parts.append(f"WKST={_DAYS[rule.week_start]}")
    return ";".join(parts)


def _until_text(until: datetime, zone: tzinfo | None, *, all_day: bool) -> str:
    if all_day:
        return f"{until:%Y%m%d}"
    if zone is not None and until.tzinfo is None:
        until = until.replace(tzinfo=zone).astimezone(UTC)
    return f"{until:%Y%m%dT%H%M%S}{'Z' if until.tzinfo is not None else ''}"


def kept_rule(text: str, start: datetime, zone: tzinfo, *, all_day: bool = False) -> str:
    """The text of a rule as records keep it for a series that starts at the local time `start`.

    Its `until` is a local time then. A day alone is meant to its end.

    Raises:
        BadInput: it is no rule, it ends before it starts, or it never happens.
    """
    rule = rule_of(text)
    if (until := rule.until) is not None:
        if until.tzinfo is not None:
            until = until.astimezone(zone).replace(tzinfo=None)
        elif "T" not in text.upper().partition("UNTIL=")[2].partition(";")[0]:
            until = datetime.combine(until.date(), time(23, 59, 59))
        if all_day:
            until = datetime.combine(until.date(), time())
        rule = replace(rule, until=until)
        if until < start:
            raise BadInput(f"The recurrence ends on {until:%Y-%m-%d}, before its start.")
    if next_start(rule, start, start) is None:
        raise BadInput("This recurrence never happens: no day fits all of its parts.")
    return text_of(rule, all_day=all_day)


# --- the times that a rule gives ---------------------------------------------


def starts(rule: RecurrenceRule, start: datetime, *, low: datetime, high: datetime) -> Iterator[datetime]:
    """The local times of a rule that `low` <= time < `high`, in order; the rule counts from `start`.

    Times have no zone, nor has the rule's `until`. Costs as much as the range is long.
    """
    low, high = max(low, start), min(high, _LAST)
    if rule.until is not None:
        high = min(high, rule.until + timedelta(microseconds=1))
    if rule.count is not None:
        last = _last_counted(rule, start)
        high = min(high, start if last is None else last + timedelta(microseconds=1))
    if low < high:
        yield from _between(rule, start, low=low, high=high)


def next_start(rule: RecurrenceRule, start: datetime, low: datetime) -> datetime | None:
    """The first time of a rule at or behind `low`, or None if there is none in the next hundred years."""
    low = max(low, start)
    return next(starts(rule, start, low=low, high=min(low + _SEARCH, _LAST)), None)


def last_start(rule: RecurrenceRule, start: datetime) -> datetime | None:
    """The last time of a rule, or None of one without an end."""
    if rule.count is not None:
        return _last_counted(rule, start)
    return rule.until


@lru_cache(maxsize=4096)
def _last_counted(rule: RecurrenceRule, start: datetime) -> datetime | None:
    endless, high = replace(rule, count=None), min(start + 10 * _SEARCH, _LAST)
    counted = deque(islice(_between(endless, start, low=start, high=high), rule.count), maxlen=1)
    return counted[0] if counted else None


def _between(rule: RecurrenceRule, start: datetime, *, low: datetime, high: datetime) -> Iterator[datetime]:
    plan = _plan(rule, start)
    for days in _periods(plan, start.toordinal(), low=low.toordinal(), high=high.toordinal()):
        dates = map(date.fromordinal, days)
        fitting = [day for day in dates if all(fits(day) for fits in plan.fits)] if plan.fits else dates
        found = [datetime.combine(day, clock) for day in fitting for clock in plan.clocks(day.toordinal())]
        if rule.positions:
            count = len(found)
            places = {place - 1 if place > 0 else count + place for place in rule.positions}
            found = [found[place] for place in sorted(places) if 0 <= place < count]
        for moment in found:
            if moment >= high:
                return
            if moment >= low:
                yield moment


@dataclass(frozen=True, slots=True)
class _Plan:
    """A rule with what its start adds, ready to be followed.

    `months`, `month_days` and `days` are those from which the days of a period are made; `fits` are what
    each of them must meet beside that, and `clocks` are the times of a day.
    """

    rule: RecurrenceRule
    months: tuple[int, ...]
    month_days: frozenset[int]
    days: tuple[Weekday, ...]
    fits: tuple[Callable[[date], bool], ...]
    clocks: Callable[[int], Iterable[time]]


@lru_cache(maxsize=8192)
def _plan(rule: RecurrenceRule, start: datetime) -> _Plan:
    months, month_days, days = rule.months, rule.month_days, rule.days
    if not rule.by_day:
        # What a rule leaves open, its start says (RFC 5545, 3.3.10).
        match rule.frequency:
            case "YEARLY":
                months, month_days = months or frozenset({start.month}), frozenset({start.day})
            case "MONTHLY":
                month_days = frozenset({start.day})
            case "WEEKLY":
                days = (Weekday(start.weekday()),)
            case _:
                pass
    of_year = rule.frequency == "YEARLY" and not months
    makes_month_days = rule.frequency in {"YEARLY", "MONTHLY"} and bool(month_days)
    makes_days = not makes_month_days and not (of_year and any(day.nth for day in days))
    makes_days = makes_days and rule.frequency in {"YEARLY", "MONTHLY", "WEEKLY"}
    fits: list[Callable[[date], bool]] = []
    if months and rule.frequency != "YEARLY":
        fits.append(lambda day: day.month in months)
    if month_days and not makes_month_days:
        fits.append(lambda day: day.day in month_days or day.day - _length(day) - 1 in month_days)
    if days and not makes_days:
        fits.append(_on_days(days, of_year=of_year))
    if rule.year_days:
        fits.append(lambda day: _in_year(day, rule.year_days))
    if rule.weeks:
        fits.append(lambda day: _in_week(day, rule.weeks, rule.week_start))
    return _Plan(
        rule,
        tuple(sorted(months)) or tuple(range(1, 13)),
        month_days if makes_month_days else frozenset(),
        days if makes_days else (),
        tuple(fits),
        _clocks(rule, start),
    )


def _on_days(days: tuple[Weekday, ...], *, of_year: bool) -> Callable[[date], bool]:
    any_nth = frozenset(day.day for day in days if not day.nth)
    numbered = frozenset((day.day, day.nth) for day in days if day.nth)

    def fits(day: date) -> bool:
        weekday = day.weekday()
        if weekday in any_nth:
            return True
        if not numbered:
            return False
        place = day.timetuple().tm_yday if of_year else day.day
        length = _year_length(day.year) if of_year else _length(day)
        nth, from_end = (place - 1) // 7 + 1, -((length - place) // 7 + 1)
        return (weekday, nth) in numbered or (weekday, from_end) in numbered

    return fits


def _length(day: date) -> int:
    return _month(day.year, day.month)[1]


def _year_length(year: int) -> int:
    return 365 + calendar.isleap(year)


def _in_year(day: date, wanted: frozenset[int]) -> bool:
    place = day.timetuple().tm_yday
    return place in wanted or place - _year_length(day.year) - 1 in wanted


def _in_week(day: date, wanted: frozenset[int], week_start: int) -> bool:
    """Whether a day stands in one of these weeks: the first of a year has at least four of its days."""
    middle = date.fromordinal(day.toordinal() - (day.weekday() - week_start) % 7 + 3)
    number = (middle.timetuple().tm_yday - 1) // 7 + 1
    weeks = (_year_length(middle.year) - middle.timetuple().tm_yday) // 7 + number
    return number in wanted or number - weeks - 1 in wanted


def _clocks(rule: RecurrenceRule, start: datetime) -> Callable[[int], Iterable[time]]:
    """The times of a day, by its ordinal."""
    if rule.frequency not in {"HOURLY", "MINUTELY"}:
        hours, minutes = sorted(rule.hours) or [start.hour], sorted(rule.minutes) or [start.minute]
        fixed = tuple(time(hour, minute, start.second) for hour in hours for minute in minutes)
        return lambda _day: fixed
    hourly = rule.frequency == "HOURLY"
    step, first = rule.interval * (60 if hourly else 1), start.hour * 60 + (0 if hourly else start.minute)
    first_day = start.toordinal()
    minutes = sorted(rule.minutes) or [start.minute]

    def of_day(day: int) -> Iterator[time]:
        begin = (first - (day - first_day) * _DAY_MINUTES) % step
        for at in range(begin, _DAY_MINUTES, step):
            hour, minute = divmod(at, 60)
            if rule.hours and hour not in rule.hours:
                continue
            if hourly:
                yield from (time(hour, one, start.second) for one in minutes)
            elif not rule.minutes or minute in rule.minutes:
                yield time(hour, minute, start.second)

    return of_day


def _periods(plan: _Plan, start: int, *, low: int, high: int) -> Iterator[Iterable[int]]:
    """The days of each period that may have some from `low` to `high`, as ordinals."""
    rule = plan.rule
    match rule.frequency:
        case "YEARLY":
            first = date.fromordinal(start).year
            begin, end = date.fromordinal(low).year, date.fromordinal(high).year
            for year in range(_from(first, begin, rule.interval), end + 1, rule.interval):
                yield [day for month in plan.months for day in _days_of_month(plan, year, month)]
        case "MONTHLY":
            first, begin, end = (_month_index(day) for day in (start, low, high))
            for index in range(_from(first, begin, rule.interval), end + 1, rule.interval):
                yield _days_of_month(plan, index // 12, index % 12 + 1)
        case "WEEKLY":
            # Ordinal 1 was a Monday.
            first, begin, end = (day - (day - 1 - rule.week_start) % 7 for day in (start, low, high))
            offsets = sorted({(day.day - rule.week_start) % 7 for day in plan.days})
            for week in range(_from(first, begin, 7 * rule.interval), end + 1, 7 * rule.interval):
                yield [week + offset for offset in offsets]
        case "DAILY":
            for day in range(_from(start, low, rule.interval), high + 1, rule.interval):
                yield (day,)
        case _:
            for day in range(low, high + 1):
                yield (day,)


def _from(first: int, low: int, interval: int) -> int:
    """From `first` in steps of `interval`, the first that is not before `low`."""
    return first + max(0, -(-(low - first) // interval)) * interval


def _month_index(day: int) -> int:
    at = date.fromordinal(day)
    return at.year * 12 + at.month - 1


def _days_of_month(plan: _Plan, year: int, month: int) -> Iterable[int]:
    """The days of a month that the plan's days of months, or of weeks, give."""
    first, length = _month(year, month)
    if plan.month_days:
        places = (day - 1 if day > 0 else length + day for day in plan.month_days)
        return sorted({first + place for place in places if 0 <= place < length})
    if not plan.days:
        return range(first, first + length)
    found: set[int] = set()
    for weekday in plan.days:
        days = range(first + (weekday.day - first + 1) % 7, first + length, 7)
        nth = weekday.nth
        if not nth:
            found.update(days)
        elif -len(days) <= nth <= len(days):
            found.add(days[nth - 1 if nth > 0 else nth])
    return sorted(found)


@lru_cache(maxsize=4096)
def _month(year: int, month: int) -> tuple[int, int]:
    """The first day of a month as an ordinal, and how many days it has."""
    return date(year, month, 1).toordinal(), calendar.monthrange(year, month)[1]


# --- series: a rule, more dates, fewer dates ----------------------------------


def series_starts(
    start: datetime,
    rule: RecurrenceRule | None,
    *,
    low: datetime,
    high: datetime,
    rdates: Iterable[datetime] = (),
    exdates: Iterable[datetime] = (),
) -> Iterator[datetime]:
    """The local times of a series that `low` <= time < `high`, each once, in order.

    The start is its first instance even if the rule does not give it (RFC 5545, 3.8.5.3), `rdates` are
    more of them, `exdates` are none.
    """
    more = sorted(one for one in {start, *rdates} if low <= one < high)
    gone = frozenset(exdates)
    ruled = starts(rule, start, low=low, high=high) if rule is not None else ()
    for moment, _ in groupby(merge(ruled, more)):
        if moment not in gone:
            yield moment


def moment_of(local: datetime, zone: tzinfo) -> int:
    """Microseconds UTC of a local time in a zone.

    One that the clocks skip is read with the offset before, so that it lies behind the gap; of one that
    they show twice the first is meant (RFC 5545, 3.3.5).
    """
    offset = _offset(zone, local.toordinal())
    if offset is None:
        return to_us(local.replace(tzinfo=zone, fold=0))
    since = local - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds - offset


@lru_cache(maxsize=65_536)
def _offset(zone: tzinfo, day: int) -> int | None:
    """How far a zone is from UTC on a day, in microseconds; None if that changes on it, or close to it."""
    at = datetime.fromordinal(day)
    hours = (at + timedelta(hours=hour) for hour in (-1, 0, 12, 24, 25))
    first, *others = ((hour.replace(tzinfo=zone, fold=fold)).utcoffset() for hour in hours for fold in (0, 1))
    if first is None or any(other != first for other in others):
        return None
    return first // timedelta(microseconds=1)


# --- in words ----------------------------------------------------------------

_DAY_NAMES: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_UNITS: Final[dict[Frequency, str]] = {
    "YEARLY": "year",
    "MONTHLY": "month",
    "WEEKLY": "week",
    "DAILY": "day",
    "HOURLY": "hour",
    "MINUTELY": "minute",
}
_ORDINALS: Final = {1: "st", 2: "nd", 3: "rd"}
_WORKDAYS: Final = frozenset(Weekday(day) for day in range(5))
_TEENS: Final = range(11, 14)


def words(text: str) -> str:
    """A rule in English: "every 2 weeks on Monday and Friday, until 31 December 2026".

    Raises:
        BadInput: it is no rule.
    """
    rule = rule_of(text)
    unit = _UNITS[rule.frequency]
    said = [f"every {unit}" if rule.interval == 1 else f"every {rule.interval} {unit}s", *_said_days(rule)]
    if said in (["every day", "on weekdays"], ["every week", "on weekdays"]):
        said = ["every weekday"]
    if rule.months and not _is_birthday(rule):
        said.append(f"in {_listed(calendar.month_name[month] for month in sorted(rule.months))}")
    if rule.weeks:
        said.append(f"in week {_listed(map(str, sorted(rule.weeks)))}")
    if rule.hours:
        clocks = [
            f"{hour:02}:{minute:02}" for hour in sorted(rule.hours) for minute in sorted(rule.minutes or {0})
        ]
        said.append(f"at {_listed(clocks)}")
    elif rule.minutes:
        said.append(f"at minute {_listed(map(str, sorted(rule.minutes)))}")
    return " ".join(said) + _said_end(rule)


def _is_birthday(rule: RecurrenceRule) -> bool:
    """Whether it falls on one day of one month."""
    return (
        rule.frequency == "YEARLY"
        and len(rule.months) == 1 == len(rule.month_days)
        and min(rule.month_days) > 0
    )


def _said_days(rule: RecurrenceRule) -> list[str]:
    said: list[str] = []
    if rule.days:
        said.append(f"on {_said_weekdays(rule)}")
    if _is_birthday(rule):
        said.append(f"on {min(rule.month_days)} {calendar.month_name[min(rule.months)]}")
    elif rule.month_days:
        said.append(f"on the {_listed(_nth(day, 'day') for day in sorted(rule.month_days))}")
    if rule.year_days:
        said.append(f"on the {_listed(_nth(day, 'day') for day in sorted(rule.year_days))} of the year")
    if rule.positions and not rule.days:
        said.append(f"(only the {_listed(map(_nth, rule.positions))} of these)")
    return said


def _said_weekdays(rule: RecurrenceRule) -> str:
    is_workdays = frozenset(rule.days) == _WORKDAYS
    if rule.positions:
        names = "weekday" if is_workdays else _listed((_DAY_NAMES[day.day] for day in rule.days), "or")
        return f"the {_listed(map(_nth, rule.positions))} {names}"
    if is_workdays:
        return "weekdays"
    return _listed(
        f"the {_nth(day.nth)} {_DAY_NAMES[day.day]}" if day.nth else _DAY_NAMES[day.day] for day in rule.days
    )


def _said_end(rule: RecurrenceRule) -> str:
    if rule.count is not None:
        return ", once" if rule.count == 1 else f", {rule.count:,} times"
    return f", until {rule.until.day} {rule.until:%B %Y}" if rule.until is not None else ""


def _nth(number: int, noun: str = "") -> str:
    if number == -1:
        return f"last {noun}".rstrip()
    end = "th" if abs(number) % 100 in _TEENS else _ORDINALS.get(abs(number) % 10, "th")
    return f"{number}{end} {noun}".rstrip() if number > 0 else f"{-number}{end} last {noun}".rstrip()


def _listed(names: Iterable[str], last_word: str = "and") -> str:
    *most, last = names
    return f"{', '.join(most)} {last_word} {last}" if most else last
