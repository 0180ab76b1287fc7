"""Time expressions of English text as ranges of time: "last May", "three weeks ago", "since 2019".

The gate of memory writes down what a relative date meant when it was said;
recall turns those of a question into a soft range. Ranges are half-open and
begin and end at midnight in the zone of `now`. What names no real date (31
February), or can be read in two ways (5/8/2023), is not a mention. Seasons are
those of the northern hemisphere, weeks begin on Monday (ISO 8601).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import zip_longest
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class ReferenceDay:
    """The day from which is counted, and whether "in May" means the last May or the next."""

    today: date
    past_first: bool


Span = tuple[date, date]
Read = Callable[["re.Match[str]", ReferenceDay], "Span | None"]
_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_SMALL = "one two three four five six seven eight nine ten eleven twelve"
_COUNTS = {word: count for count, word in enumerate(re.findall(r"\w+", _SMALL), 1)} | {
    "a": 1,
    "an": 1,
    "couple": 2,
    "few": 3,
}
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
_WEEKDAY = rf"(?:{'|'.join(_DAYS)})"
_SEASON = rf"(?:{'|'.join(_SEASONS)})"
_YEAR = r"(?:19|20)\d\d"
_COUNT = rf"(?:\d{{1,3}}|(?:a )?(?:{'|'.join(sorted(_COUNTS, key=len, reverse=True))})(?: of)?)"
_UNIT = r"(?:day|week|month|year)"
_LEADS = (
    "in|during|since|until|till|by|before|after|of|early|late|mid|from|to|between|and|through|around|about"
)


def _days(start: date, count: int = 1) -> Span:
    return start, start + timedelta(days=count)


def _months(year: int, month: int, count: int = 1) -> Span:
    ahead = year * 12 + month - 1 + count
    return date(year, month, 1), date(ahead // 12, ahead % 12 + 1, 1)


def _years(year: int, count: int = 1) -> Span:
    return date(year, 1, 1), date(year + count, 1, 1)


def _week(day: date, ahead: int = 0) -> Span:
    return _days(day - timedelta(days=day.weekday() - 7 * ahead), 7)


def _shifted(day: date, months: int) -> date:
    """The same day some months away, or that month's last."""
    place = day.year * 12 + day.month - 1 + months
    first, following = _months(place // 12, place % 12 + 1)
    return min(first + timedelta(days=day.day - 1), following - timedelta(days=1))


def _month_number(word: str) -> int:
    return _MONTHS.index(word.lower()[:3]) // 3 + 1


def _nearest(spans: list[Span], day: ReferenceDay) -> Span:
    """Of spans a year apart, in order, the last that has begun or the next that is not over."""
    if day.past_first:
        return next((span for span in reversed(spans) if span[0] <= day.today), spans[0])
    return next((span for span in spans if span[1] > day.today), spans[-1])


def _around(year: int, make: Callable[[int], Span]) -> list[Span]:
    return [make(near) for near in (year - 1, year, year + 1)]


def _iso(match: re.Match[str], _day: ReferenceDay) -> Span:
    year, month = int(match["y"]), int(match["m"])
    return _days(date(year, month, int(match["d"]))) if match["d"] else _months(year, month)


def _day_of_month(match: re.Match[str], day: ReferenceDay) -> Span:
    month, number = _month_number(match["m"]), int(match["d"])
    if match["y"]:
        return _days(date(int(match["y"]), month, number))
    # A leap day exists only in some of the years around.
    spans: list[Span] = []
    for year in range(day.today.year - 4, day.today.year + 5):
        try:
            spans.append(_days(date(year, month, number)))
        except ValueError:
            continue
    if not spans:
        raise ValueError(match.group())
    return _nearest(spans, day)


def _slashed(match: re.Match[str], _day: ReferenceDay) -> Span | None:
    first, second = int(match["a"]), int(match["b"])
    if first == second or first > 12 or second > 12:  # noqa: PLR2004 - months of a year
        month, number = (second, first) if first > 12 else (first, second)  # noqa: PLR2004
        return _days(date(int(match["y"]), month, number))
    return None


def _month_of_year(match: re.Match[str], day: ReferenceDay) -> Span | None:
    month = _month_number(match["m"])
    if match["y"]:
        return _months(int(match["y"]), month)
    if match["m"] in {"may", "march", "mar"}:
        # "to march", "or may": verbs.
        return None
    return _nearest(_around(day.today.year, lambda year: _months(year, month)), day)


def _season(match: re.Match[str], day: ReferenceDay) -> Span:
    month = _SEASONS[match["s"].lower()]
    if match["y"]:
        return _months(int(match["y"]), month, 3)
    return _nearest(_around(day.today.year, lambda year: _months(year, month, 3)), day)


def _year(match: re.Match[str], _day: ReferenceDay) -> Span:
    return _years(int(match["y"]))


def _decade(match: re.Match[str], _day: ReferenceDay) -> Span:
    return _years(int(match["y"] or f"19{match['e']}"), 10)


def _named_day(match: re.Match[str], day: ReferenceDay) -> Span:
    word = " ".join(match["x"].lower().split())
    offsets = {"day before yesterday": -2, "day after tomorrow": 2, "yesterday": -1, "tomorrow": 1}
    offset = next((offset for name, offset in offsets.items() if name in word), 0)
    return _days(day.today + timedelta(days=-1 if word == "last night" else offset))


def _counted(match: re.Match[str], day: ReferenceDay) -> Span:
    """Three weeks ago: a day where days are counted, else about as long as the unit, around it."""
    count = _count(match["n"])
    ahead = -count if match["ago"] else count
    match match["u"].lower():
        case "day":
            return _days(day.today + timedelta(days=ahead))
        case "week":
            return _days(day.today + timedelta(days=7 * ahead - 3), 7)
        case "month":
            near = _shifted(day.today, ahead)
            return _days(near - timedelta(days=15), 31)
        case _:
            return _years(day.today.year + ahead)


def _stretch(match: re.Match[str], day: ReferenceDay) -> Span:
    """The last three weeks, the next ten days: today is in it."""
    count = _count(match["n"] or "1")
    months = {"month": 1, "year": 12}.get(match["u"].lower())
    days = count * (7 if match["u"].lower() == "week" else 1)
    if match["q"].lower() in {"next", "coming"}:
        end = _shifted(day.today, months * count) if months else day.today + timedelta(days=days)
        return day.today, end + timedelta(days=1)
    start = _shifted(day.today, -months * count) if months else day.today - timedelta(days=days)
    return start, day.today + timedelta(days=1)


def _count(words: str) -> int:
    last = words.lower().removesuffix(" of").split()[-1]
    return int(last) if last.isdecimal() else _COUNTS[last]


def _qualified(match: re.Match[str], day: ReferenceDay) -> Span:
    """Last week, this summer, next Friday."""
    today = day.today
    which = {"last": -1, "previous": -1, "this": 0}.get(match["q"].lower(), 1)
    what = match["w"].lower()
    if what in _DAYS:
        return _weekday(_DAYS.index(what), which, today)
    if what in _SEASONS or re.fullmatch(_MONTH, what):
        month, count = (_SEASONS[what], 3) if what in _SEASONS else (_month_number(what), 1)
        spans = [_months(year, month, count) for year in range(today.year - 2, today.year + 3)]
        if which < 0:
            return next(span for span in reversed(spans) if span[1] <= today)
        if which > 0:
            return next(span for span in spans if span[0] > today)
        return next((span for span in spans if span[1] > today and span[0].year == today.year), spans[2])
    match what:
        case "week":
            return _week(today, which)
        case "weekend":
            return _days(_week(today, which)[0] + timedelta(days=5), 2)
        case "month":
            return _months(*_year_month(today, which))
        case "quarter":
            year, month = _year_month(date(today.year, today.month - (today.month - 1) % 3, 1), 3 * which)
            return _months(year, month, 3)
        case _:
            return _years(today.year + which)


def _year_month(day: date, months: int) -> tuple[int, int]:
    place = day.year * 12 + day.month - 1 + months
    return place // 12, place % 12 + 1


def _weekday(number: int, which: int, today: date) -> Span:
    if which == 0:
        return _days(_week(today)[0] + timedelta(days=number))
    if which < 0:
        return _days(today - timedelta(days=(today.weekday() - number - 1) % 7 + 1))
    return _days(_week(today, 1)[0] + timedelta(days=number))


def _bare_weekday(match: re.Match[str], day: ReferenceDay) -> Span:
    number = _DAYS.index(match["w"].lower())
    if day.past_first:
        return _weekday(number, -1, day.today)
    return _days(day.today + timedelta(days=(number - day.today.weekday() - 1) % 7 + 1))


class RangeForm(NamedTuple):
    """A form: its pattern, in which `x` is the expression, what reads it, and whether that depends on `now`.

    Nothing of it is found in a text that has none of its `cues`.
    """

    pattern: re.Pattern[str]
    read: Read
    relative: bool
    cues: frozenset[str]


def _form(pattern: str, read: Read, *cues: str, relative: bool = False) -> RangeForm:
    return RangeForm(re.compile(pattern, re.IGNORECASE), read, relative, frozenset(cues))


FORMS = (
    _form(r"(?<![\d-])(?P<x>(?P<y>\d{4})-(?P<m>\d\d)(?:-(?P<d>\d\d))?)(?![\d-])", _iso, "year"),
    _form(
        rf"\b(?P<x>(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH})(?:,? (?P<y>\d{{4}}))?)\b",
        _day_of_month,
        "month",
    ),
    _form(
        rf"\b(?P<x>(?P<m>{_MONTH}) (?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:%])"
        r"(?:,? (?P<y>\d{4}))?)\b",
        _day_of_month,
        "month",
    ),
    _form(r"(?<![\d.])(?P<x>(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4}))(?![\d.])", _iso, "figures"),
    _form(r"(?<![\d/])(?P<x>(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<y>\d{4}))(?![\d/])", _slashed, "figures"),
    _form(rf"\b(?P<x>(?P<m>{_MONTH}),? (?:of )?(?P<y>{_YEAR}))\b", _month_of_year, "month"),
    # A month alone needs a word before it: "may" and "march" are verbs too.
    _form(
        rf"\b(?:{_LEADS})[ -](?P<x>(?P<m>{_MONTH}))\b(?!['’])(?P<y>)", _month_of_year, "month", relative=True
    ),
    _form(rf"\b(?P<x>(?P<s>{_SEASON})(?: of)? (?P<y>{_YEAR}))\b", _season, "season"),
    _form(rf"\b(?:{_LEADS}) (?:the )?(?P<x>(?P<s>{_SEASON}))\b(?P<y>)", _season, "season", relative=True),
    _form(rf"\b(?:{_LEADS}) (?:the year )?(?P<x>(?P<y>{_YEAR}))\b(?![-.,:]?\d)", _year, "year"),
    _form(
        r"\b(?P<x>(?:the )?(?:(?P<y>(?:19|20)\d0)['’]?s|['’]?(?P<e>[2-9]0)['’]?s))\b",
        _decade,
        "year",
        "decade",
    ),
    _form(
        r"\b(?P<x>(?:the )?day before yesterday|(?:the )?day after tomorrow|yesterday|tomorrow"
        r"|today|tonight|last night|this (?:morning|afternoon|evening))\b",
        _named_day,
        "day",
        relative=True,
    ),
    _form(
        rf"\b(?P<x>(?P<n>{_COUNT}) (?P<u>{_UNIT})s? (?P<ago>ago|earlier))\b", _counted, "unit", relative=True
    ),
    _form(rf"\b(?P<x>in (?P<n>{_COUNT}) (?P<u>{_UNIT})s?)\b(?P<ago>)", _counted, "unit", relative=True),
    _form(rf"\b(?P<x>(?P<n>{_COUNT}) (?P<u>{_UNIT})s? from now)\b(?P<ago>)", _counted, "unit", relative=True),
    _form(
        rf"\b(?P<x>(?:the )?(?P<q>last|past|previous|next|coming) (?P<n>{_COUNT}) (?P<u>{_UNIT})s?)\b",
        _stretch,
        "unit",
        relative=True,
    ),
    _form(rf"\b(?P<x>(?:the )?(?P<q>past) (?P<u>{_UNIT}))\b(?P<n>)", _stretch, "unit", relative=True),
    _form(
        rf"\b(?P<x>(?P<q>last|previous|this|next|coming) "
        rf"(?P<w>weekend|week|month|quarter|year|{_SEASON}|{_WEEKDAY}|{_MONTH}))\b",
        _qualified,
        "unit",
        "season",
        "weekday",
        "month",
        relative=True,
    ),
    _form(
        # Of "Tuesday evenings" there are many.
        rf"(?<!every )(?<!each )\b(?P<x>(?P<w>{_WEEKDAY}))\b(?! (?:morning|afternoon|evening|night)s\b)",
        _bare_weekday,
        "weekday",
        relative=True,
    ),
)
"""Every form that is found."""

_CUE = re.compile(
    rf"(?P<year>\d{{4}})|(?P<decade>\d0['’]?s)|(?P<figures>\d(?=[./]\d))"
    rf"|\b(?:(?P<month>{_MONTH})|(?P<season>{_SEASON})|(?P<weekday>{_WEEKDAY})"
    rf"|(?P<unit>{_UNIT}s?|weekend|quarter)"
    r"|(?P<day>yesterday|today|tonight|tomorrow|last night|this (?:morning|afternoon|evening)))\b",
    re.IGNORECASE,
)


def cues(text: str) -> set[str | None]:
    """Which kinds of words of time a text has: most have none, and need no closer look."""
    return {match.lastgroup for match in _CUE.finditer(text)}


Relation = Literal["in", "since", "until", "before", "after"]


@dataclass(frozen=True, slots=True)
class Mention:
    """One time expression: `text` is `source[start:end]`, without the "since" or "before" that led to it.

    `low` (inclusive) and `high` (exclusive) are None where it is open: "since
    2019" has no `high`, "before May" no `low`. `relative` tells that the words
    mean another time on another day.
    """

    start: int
    end: int
    text: str
    low: datetime | None
    high: datetime | None
    relation: Relation
    relative: bool


def find(text: str, now: datetime, *, past_first: bool = True) -> list[Mention]:
    """The time expressions of `text`, in reading order, none overlapping another.

    `now` is aware. Where an expression names no year or side ("on Monday", "in
    May"), `past_first` takes the last one before `now`, else the next.
    """
    if not (words := cues(text)):
        return []
    day = ReferenceDay(now.date(), past_first)
    found = [
        _Found(*match.span("x"), _span(form.read, match, day), form.relative)
        for form in FORMS
        if not form.cues.isdisjoint(words)
        for match in form.pattern.finditer(text)
    ]
    return list(_joined(text, _apart(found), now))


class _Found(NamedTuple):
    """What a form found at a place; no span where it cannot be a time."""

    start: int
    end: int
    span: Span | None
    relative: bool


def _span(read: Read, match: re.Match[str], day: ReferenceDay) -> Span | None:
    try:
        return read(match, day)
    except (ValueError, OverflowError):
        # A day that no calendar has.
        return None


def _apart(found: list[_Found]) -> list[_Found]:
    """Of overlapping ones the leftmost, and of those the longest."""
    kept: list[_Found] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


_LEAD = re.compile(
    r"\b(since|until|till|up to|before|prior to|after|from|by|between)\s+"
    r"(?:about |around |early |late |mid[- ]|the (?:beginning|start|end) of |the )?$",
    re.IGNORECASE,
)
_LEAD_CHARS = 40
"""Longer than any lead."""
_TO = re.compile(r"\s*(?:to|until|till|and|through|-|–)\s*(?:the )?", re.IGNORECASE)
_RELATIONS: dict[str, Relation] = {
    "since": "since",
    "from": "since",
    "between": "in",
    "until": "until",
    "till": "until",
    "up to": "until",
    "by": "until",
    "before": "before",
    "prior to": "before",
    "after": "after",
}


def _joined(text: str, found: list[_Found], now: datetime) -> Iterator[Mention]:
    """Mentions with the word that leads to them; "from … to …" and "between … and …" become one."""
    rest = zip_longest(found, found[1:])
    for one, following in rest:
        if one.span is None:
            continue
        lead = _LEAD.search(text, max(0, one.start - _LEAD_CHARS), one.start)
        word = lead.group(1).lower() if lead else ""
        relation, whole = _RELATIONS.get(word, "in"), one
        if word in {"from", "between"} and following is not None and following.span is not None:
            high = following.span[1]
            if _TO.fullmatch(text, one.end, following.start) and high > one.span[0]:
                relative = one.relative or following.relative
                relation, whole = "in", _Found(one.start, following.end, (one.span[0], high), relative)
                next(rest)
        yield _mention(text, whole, relation, now=now)


def _mention(text: str, found: _Found, relation: Relation, *, now: datetime) -> Mention:
    low, high = (datetime.combine(day, time(), now.tzinfo) for day in found.span or ())
    bounds: dict[Relation, tuple[datetime | None, datetime | None]] = {
        "in": (low, high),
        "since": (low, None),
        "until": (None, high),
        "before": (None, low),
        "after": (high, None),
    }
    return Mention(
        found.start,
        found.end,
        text[found.start : found.end],
        *bounds[relation],
        relation,
        relative=found.relative,
    )
