"""What time expressions are made of: the parts that forms give, and what a form is."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, Literal, NamedTuple

from bethink.errors import NotUnderstood
from bethink.when.vocabulary import MONTH_NAMES

_FIRST_YEAR, _LAST_YEAR = 1900, 2400
"""A year with a digit too few or too many is caught."""


@dataclass(frozen=True, slots=True)
class DatePart:
    """A day, or the days that it may be. What a rule may take of it: the weekday, or the day of a month."""

    days: tuple[date, ...]
    weekday: int | None = None
    day: int | None = None
    month: int | None = None
    is_exact: bool = False
    may_be_past: bool = False


@dataclass(frozen=True, slots=True)
class ClockPart:
    """A time of day. `hours` are those that it may be by itself, `others` by a part of the day only."""

    hours: tuple[int, ...]
    minute: int = 0
    others: tuple[int, ...] = ()
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class ClockSpanPart:
    """From one time of a day to another."""

    start: ClockPart
    end: ClockPart


@dataclass(frozen=True, slots=True)
class DaytimePart:
    """A part of the day, from an hour to another."""

    name: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class ShiftPart:
    """Some time from now, counted on the clock."""

    by: timedelta


@dataclass(frozen=True, slots=True)
class DurationPart:
    """How long something takes."""

    takes: timedelta


@dataclass(frozen=True, slots=True)
class InstantPart:
    """A moment as a program writes it; without an offset it is in the owner's zone."""

    at: datetime


@dataclass(frozen=True, slots=True)
class RangePart:
    """Days from `start` to before `end`."""

    start: date
    end: date


@dataclass(frozen=True, slots=True)
class RulePart:
    """What recurs. `byday` are pairs of a place in the month (0: each week) and a weekday.

    `choices` are clearer words for each way to read it, if there are several.
    """

    freq: str
    interval: int = 1
    byday: tuple[tuple[int, int], ...] = ()
    bymonthday: tuple[int, ...] = ()
    bymonth: int | None = None
    after_done: bool = False
    daytime: DaytimePart | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CountPart:
    """How often something recurs."""

    count: int


@dataclass(frozen=True, slots=True)
class ZonePart:
    """The zone in which the time is meant; its `offset` tells which of two equal hours."""

    name: str
    offset: timedelta | None = None


@dataclass(frozen=True, slots=True)
class LeadPart:
    """A word that leads to what follows: from it, until it, due by it, or just at it."""

    kind: Literal["from", "until", "by", "at", "and"]


@dataclass(frozen=True, slots=True)
class UnclearPart:
    """What is a time, but has no one meaning: clearer words for each way to read it."""

    choices: tuple[str, ...]


Part = (
    DatePart
    | ClockPart
    | ClockSpanPart
    | DaytimePart
    | ShiftPart
    | DurationPart
    | InstantPart
    | RangePart
    | RulePart
    | CountPart
    | ZonePart
    | LeadPart
    | UnclearPart
)
Read = Callable[["re.Match[str]", date], "Part | None"]


class Form(NamedTuple):
    """What an expression looks like and what reads it; `loose` ones are found in the middle of a sentence."""

    pattern: re.Pattern[str]
    read: Read
    loose: bool


def form(pattern: str, read: Read, *, loose: bool = True, end: str = r"(?!\w)") -> Form:
    """A form; `end` is what must follow it."""
    return Form(re.compile(rf"(?:{pattern}){end}", re.IGNORECASE), read, loose)


def always(part: Part) -> Read:
    """Reads every match as this part."""
    return lambda _match, _today: part


def real_date(year: int, month_number: int, day: int) -> date:
    """The day.

    Raises:
        NotUnderstood: no calendar has it; the sentence says why.
    """
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise NotUnderstood(f"The year {year} is out of reach: give one from {_FIRST_YEAR} to {_LAST_YEAR}.")
    if not 1 <= month_number <= 12:  # noqa: PLR2004 - months of a year
        raise NotUnderstood(f"There is no month {month_number}.")
    length = calendar.monthrange(year, month_number)[1]
    if not 1 <= day <= length:
        of = f"{MONTH_NAMES[month_number - 1]} {year}"
        leap = ": it is no leap year" if (month_number, day) == (2, 29) else ""
        raise NotUnderstood(f"There is no day {day} in {of}, which has {length} days{leap}.")
    return date(year, month_number, day)


def shifted(day: date, months: int) -> date:
    """The same day some months away, or that month's last."""
    place = day.year * 12 + day.month - 1 + months
    year, number_ = place // 12, place % 12 + 1
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise NotUnderstood("That is too far away.")
    return date(year, number_, min(day.day, calendar.monthrange(year, number_)[1]))


def days_from(day: date, days: int) -> date:
    """The day some days away."""
    try:
        found = day + timedelta(days=days)
    except OverflowError:
        found = date.max
    if not _FIRST_YEAR <= found.year <= _LAST_YEAR:
        raise NotUnderstood("That is too far away.")
    return found


def one_day(day: date) -> DatePart:
    """A day that has no other reading."""
    return DatePart((day,), is_exact=True)


_THIS: Final = re.compile(r"this|current|dies\w*|aktuell\w*|laufend\w*", re.IGNORECASE)
_NEXT: Final = re.compile(r"next|coming|nächst\w*|naechst\w*|kommend\w*", re.IGNORECASE)


def place_of(word: str | None) -> int | None:
    """This (0), the next (1), or the last (-1); None if it was not said."""
    if not word:
        return None
    return 0 if _THIS.fullmatch(word) else 1 if _NEXT.fullmatch(word) else -1


YEAR: Final = r"(?:,?\s+(?P<y>(?:19|2[0-3])\d\d))?"
DAY_OF_MONTH: Final = r"(?:\d{1,2}(?:st|nd|rd|th|\.)?)"
QUALIFIER: Final = (
    r"(?:this|next|coming|last|current|diese[nrsm]?|nächste[nrsm]?|naechste[nrsm]?|kommende[nrsm]?"
    r"|letzte[nrsm]?)"
)
