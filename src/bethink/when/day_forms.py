"""Forms of days and ranges of days in English and German, and what each means from a day on."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from typing import Final

from bethink.errors import NotUnderstood
from bethink.when.parts import (
    DAY_OF_MONTH,
    QUALIFIER,
    YEAR,
    DatePart,
    Form,
    InstantPart,
    Part,
    RangePart,
    Read,
    ShiftPart,
    UnclearPart,
    always,
    days_from,
    form,
    one_day,
    place_of,
    real_date,
    shifted,
)
from bethink.when.vocabulary import (
    MONTH,
    MONTH_NAMES,
    NUMBER,
    ORDINAL,
    UNIT,
    WEEKDAY,
    WEEKDAY_NAME,
    month,
    number,
    ordinal,
    unit,
    weekday,
)


def _iso(match: re.Match[str], _today: date) -> Part:
    day = real_date(int(match["y"]), int(match["m"]), int(match["d"]))
    if match["t"] is None:
        return DatePart((day,), day=day.day, month=day.month, is_exact=True)
    try:
        return InstantPart(datetime.fromisoformat(f"{day}T{match['t'].upper()}"))
    except ValueError:
        raise NotUnderstood(f"{match['t']} is no time of day.") from None


def _year(text: str) -> int:
    return int(text) + 2000 if len(text) == len("26") else int(text)


def _on(day: int, month_number: int, *, year: str | None, today: date) -> DatePart:
    """A day of a month: without a year the next one, today included."""
    if year:
        return DatePart(
            (real_date(_year(year), month_number, day),), day=day, month=month_number, is_exact=True
        )
    if (month_number, day) != (2, 29):
        real_date(today.year, month_number, day)
    for ahead in range(9):
        if day <= calendar.monthrange(today.year + ahead, month_number)[1]:
            found = date(today.year + ahead, month_number, day)
            if found >= today:
                return DatePart((found,), day=day, month=month_number, is_exact=True)
    raise NotUnderstood(f"There is no day {day} in {MONTH_NAMES[month_number - 1]}.")


def _dotted(match: re.Match[str], today: date) -> Part:
    return _on(int(match["d"]), int(match["m"]), year=match["y"], today=today)


_MONTHS_OF_YEAR: Final = 12


def _slashed(match: re.Match[str], today: date) -> Part:
    first, second, year = int(match["a"]), int(match["b"]), match["y"]
    orders = [(first, second)] if first > _MONTHS_OF_YEAR else [(first, second), (second, first)]
    if second > _MONTHS_OF_YEAR:
        orders = [(second, first)]
    found = [_on(day, number_, year=year, today=today) for day, number_ in orders]
    if len(found) == 1:
        return found[0]
    return DatePart(tuple(dict.fromkeys(one.days[0] for one in found)), may_be_past=True)


def _named_month(match: re.Match[str], today: date) -> Part:
    day = int(match["d"]) if match["d"].isdecimal() else ordinal(match["d"])
    return _on(day, month(match["m"]), year=match["y"], today=today)


def _of_month(match: re.Match[str], today: date) -> Part:
    """The 3rd: of this month or a named one, else the next that there is."""
    day, which = ordinal(match["d"]), place_of(match["q"])
    if not 1 <= day <= 31:  # noqa: PLR2004 - days of a month
        raise NotUnderstood(f"No month has a day {day}.")
    if which is not None:
        first = shifted(today.replace(day=1), which)
        return DatePart((real_date(first.year, first.month, day),), day=day)
    for ahead in range(12):
        first = shifted(today.replace(day=1), ahead)
        if day <= calendar.monthrange(first.year, first.month)[1] and first.replace(day=day) >= today:
            return DatePart((first.replace(day=day),), day=day)
    raise NotUnderstood(f"No month has a day {day}.")


_NAMED_DAYS: Final = {
    "today": 0, "heute": 0, "tomorrow": 1, "morgen": 1, "übermorgen": 2, "uebermorgen": 2, "yesterday": -1,
    "gestern": -1, "vorgestern": -2, "day after tomorrow": 2, "day before yesterday": -2, "tmrw": 1, "tmr": 1,
}  # fmt: skip


def _named_day(match: re.Match[str], today: date) -> Part:
    return one_day(days_from(today, _NAMED_DAYS[" ".join(match["x"].lower().split())]))


_FEASTS: Final = {
    "christmas eve": (24, 12), "heiligabend": (24, 12), "christmas day": (25, 12), "christmas": (25, 12),
    "new year's eve": (31, 12), "silvester": (31, 12), "new year's day": (1, 1), "neujahr": (1, 1),
}  # fmt: skip


def _feast(match: re.Match[str], today: date) -> Part:
    day, number_ = _FEASTS[" ".join(match["x"].lower().replace("’", "'").split())]
    return _on(day, number_, year=None, today=today)


def _coming(number_: int, today: date) -> date:
    return days_from(today, (number_ - today.weekday() - 1) % 7 + 1)


def _of_week(number_: int, ahead: int, today: date) -> date:
    return days_from(today, number_ - today.weekday() + 7 * ahead)


def _weekday(days: Callable[[int, date], list[date]]) -> Read:
    """Reads a weekday as the days that it may be, from its number and today."""

    def read(match: re.Match[str], today: date) -> Part:
        number_ = weekday(match["w"])
        return DatePart(tuple(dict.fromkeys(days(number_, today))), weekday=number_)

    return read


def _soonest(number_: int, today: date) -> list[date]:
    """The coming one; on this very weekday it may be today."""
    coming = _coming(number_, today)
    return [today, coming] if today.weekday() == number_ else [coming]


def _this(number_: int, today: date) -> list[date]:
    this = _of_week(number_, 0, today)
    return [this] if this >= today else [this, _coming(number_, today)]


def _next(number_: int, today: date) -> list[date]:
    """The coming one to some, that of next week to others."""
    return [_coming(number_, today), _of_week(number_, 1, today)]


def _last(number_: int, today: date) -> list[date]:
    return [days_from(today, -((today.weekday() - number_ - 1) % 7 + 1)), _of_week(number_, -1, today)]


def _over_next(number_: int, today: date) -> list[date]:
    """The one after "nächsten": read as differently as that."""
    return [days_from(_coming(number_, today), 7), _of_week(number_, 2, today)]


coming_weekday: Final = _weekday(_soonest)


def _weekday_of_week(match: re.Match[str], today: date) -> Part | None:
    """Friday of next week."""
    over = re.match(r"über|ueber|.*after", match["q"], re.IGNORECASE)
    ahead = 2 if over else place_of(match["q"].split()[0]) or 0
    return _weekday(lambda number_, today: [_of_week(number_, ahead, today)])(match, today)


def _weekday_in_weeks(match: re.Match[str], today: date) -> Part | None:
    """Friday week, a week on Friday, Freitag in zwei Wochen."""
    return _weeks_behind(number(match["n"]) if match["n"] else 1)(match, today)


def _weekday_in_days(match: re.Match[str], today: date) -> Part | None:
    """Freitag in acht Tagen: in a week, as in vierzehn Tagen is in two."""
    weeks = {8: 1, 14: 2, 15: 2}.get(number(match["n"]))
    return UnclearPart(()) if weeks is None else _weeks_behind(weeks)(match, today)


def _weeks_behind(weeks: int) -> Read:
    return _weekday(lambda number_, today: [days_from(day, 7 * weeks) for day in _soonest(number_, today)])


def _day_in_weeks(match: re.Match[str], today: date) -> Part:
    """A week from tomorrow, heute in zwei Wochen."""
    weeks = number(match["n"]) if match["n"] else 1
    return one_day(days_from(today, _NAMED_DAYS[match["x"].lower()] + 7 * weeks))


def _in_units(match: re.Match[str], today: date) -> Part:
    """In three days; minutes and hours are counted on the clock."""
    count, half = match["n"], match["half"]
    freq = unit(match["u"])
    if freq in {"HOURLY", "MINUTELY"}:
        each = timedelta(hours=1) if freq == "HOURLY" else timedelta(minutes=1)
        whole = float(count.replace(",", ".")) if re.fullmatch(r"\d+[.,]\d+", count) else number(count)
        return ShiftPart(each * whole + (each / 2 if half else timedelta()))
    if half or not (count.isdecimal() or count.isalpha()):
        return UnclearPart(())
    return one_day(_units_from(today, number(count), freq))


def _units_from(today: date, count: int, freq: str) -> date:
    match freq:
        case "DAILY":
            return days_from(today, count)
        case "WEEKLY":
            return days_from(today, 7 * count)
        case "MONTHLY":
            return shifted(today, count)
        case _:
            return shifted(today, 12 * count)


# Ranges of days, and their ends.


def _range_of(match: re.Match[str], today: date) -> Part:
    what = match["w"].lower()
    which = 2 if match["q"].lower().startswith(("über", "ueber")) else place_of(match["q"]) or 0
    if what in {"weekend", "wochenende"}:
        # On a Sunday this weekend is the one that is.
        saturday = _of_week(5, which, today)
        return RangePart(saturday, days_from(saturday, 2))
    return _range(unit(what), which, today)


def _range(freq: str, which: int, today: date) -> RangePart:
    if freq == "WEEKLY":
        monday = _of_week(0, which, today)
        return RangePart(monday, days_from(monday, 7))
    if freq == "MONTHLY":
        first = shifted(today.replace(day=1), which)
        return RangePart(first, shifted(first, 1))
    first = shifted(date(today.year, 1, 1), 12 * which)
    return RangePart(first, shifted(first, 12))


def _next_days(match: re.Match[str], today: date) -> Part | None:
    freq = unit(match["u"])
    if freq in {"HOURLY", "MINUTELY"}:
        return None
    return RangePart(today, _units_from(today, number(match["n"]), freq))


def _weekend(_match: re.Match[str], today: date) -> Part:
    saturday = _of_week(5, 0, today)
    return RangePart(saturday, days_from(saturday, 2))


def _days_of_month(match: re.Match[str], today: date) -> Part:
    """From the 3rd to the 5th of December."""
    last = _on(int(match["d2"]), month(match["m"]), year=match["y"], today=today).days[0]
    first = real_date(last.year, last.month, int(match["d"]))
    if first > last:
        raise NotUnderstood(f"{match.group().strip()} would end before it begins.")
    return RangePart(first, days_from(last, 1))


def _first_of_month(match: re.Match[str], today: date) -> date:
    number_ = month(match["m"])
    year = int(match["y"]) if match["y"] else today.year + (number_ < today.month)
    return real_date(year, number_, 1)


def _whole_month(match: re.Match[str], today: date) -> Part:
    first = _first_of_month(match, today)
    return RangePart(first, shifted(first, 1))


def _iso_month(match: re.Match[str], _today: date) -> Part:
    first = real_date(int(match["y"]), int(match["m"]), 1)
    return RangePart(first, shifted(first, 1))


def _edge_of(match: re.Match[str], today: date) -> Part:
    """The end, or the beginning, of a month or year: its last or first day."""
    freq = unit(match["u"])
    whole = _range(freq, place_of(match["q"]) or 0, today)
    if re.match(r"end", match["e"], re.IGNORECASE) is None:
        return one_day(whole.start)
    if freq == "WEEKLY":
        friday = days_from(whole.start, 4)
        return DatePart((friday, days_from(whole.end, -1)))
    return one_day(days_from(whole.end, -1))


def _edge_of_month(match: re.Match[str], today: date) -> Part:
    first = _first_of_month(match, today)
    is_end = re.match(r"end", match["e"], re.IGNORECASE)
    return one_day(days_from(shifted(first, 1), -1) if is_end else first)


def _end_of_unit(match: re.Match[str], today: date) -> Part:
    """Monatsende, Jahresende."""
    freq = "MONTHLY" if match["x"].lower().startswith("monat") else "YEARLY"
    return one_day(days_from(_range(freq, 0, today).end, -1))


def _spaced(names: Iterable[str]) -> str:
    return "|".join(name.replace(" ", r"\s+").replace("'", "['’]") for name in names)


_WEEK_AHEAD: Final = (
    r"(?:week\s+after\s+next|(?:of\s+)?(?:the\s+)?next\s+week|(?:of\s+)?this\s+week"
    r"|(?:der\s+|in\s+der\s+)?(?:nächste|naechste|kommende|übernächste|uebernächste|diese)[nr]?\s+woche)"
)

DAY_FORMS: Final[tuple[Form, ...]] = (
    # Days as figures.
    form(
        r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)"
        r"(?:[T ](?P<t>\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?\s?(?:Z|[+-]\d\d:?\d\d)?))?",
        _iso,
    ),
    form(r"(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.(?:\s?(?P<y>\d{4}|\d\d(?![:.\d])))?", _dotted),
    form(r"(?P<a>\d{1,2})/(?P<b>\d{1,2})(?:/(?P<y>\d{4}|\d\d))?", _slashed, loose=False),
    form(r"(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<y>\d{4}|\d\d)", _slashed),
    form(rf"(?:the\s+)?(?P<d>{DAY_OF_MONTH}|{ORDINAL})\s*(?:of\s+)?(?P<m>{MONTH}){YEAR}", _named_month),
    form(
        rf"(?P<m>{MONTH})\s+(?:the\s+)?(?P<d>\d{{1,2}}(?:st|nd|rd|th)?(?![:\d.])|{ORDINAL}){YEAR}",
        _named_month,
    ),
    form(
        rf"(?:the|on the|am|zum|den)\s+(?P<d>\d{{1,2}}(?:st|nd|rd|th|\.))(?!\s*{MONTH})"
        rf"(?:\s+(?:of\s+)?(?:(?:the|des)|(?P<q>{QUALIFIER}))\s+(?:month|monats))?",
        _of_month,
    ),
    form(r"(?P<d>\d{1,2}(?:st|nd|rd|th|\.))(?P<q>)", _of_month, loose=False),
    # Days by name.
    form(rf"(?:the\s+)?(?P<x>{_spaced(_NAMED_DAYS)})", _named_day),
    form(rf"(?P<x>{_spaced(_FEASTS)})", _feast),
    form(rf"(?P<w>{WEEKDAY_NAME})", coming_weekday),
    form(r"(?P<w>(?:mon|tues?|wed|thu|thurs?|fri)\.?)", coming_weekday),
    form(rf"(?P<w>{WEEKDAY})", coming_weekday, loose=False),
    form(rf"(?:on|am)\s+(?P<w>{WEEKDAY})", coming_weekday),
    form(
        rf"(?:the\s+)?(?:coming|kommende[nrm]?)\s+(?P<w>{WEEKDAY})",
        _weekday(lambda day, today: [_coming(day, today)]),
    ),
    form(rf"(?:this|diese[nrm]?)\s+(?P<w>{WEEKDAY})", _weekday(_this)),
    form(rf"(?:next|nächste[nrm]?|naechste[nrm]?)\s+(?P<w>{WEEKDAY})", _weekday(_next)),
    form(rf"(?:last|letzte[nrm]?|vorige[nrm]?|vergangene[nrm]?)\s+(?P<w>{WEEKDAY})", _weekday(_last)),
    form(
        rf"(?:übernächste[nrm]?|uebernächste[nrm]?|uebernaechste[nrm]?)\s+(?P<w>{WEEKDAY})",
        _weekday(_over_next),
    ),
    form(rf"(?P<w>{WEEKDAY})\s+(?:in\s+der\s+)?(?P<q>{_WEEK_AHEAD})", _weekday_of_week),
    form(rf"(?P<q>{_WEEK_AHEAD})\s+(?:on\s+|am\s+)?(?P<w>{WEEKDAY})", _weekday_of_week),
    form(rf"(?P<w>{WEEKDAY})\s+week(?P<n>)", _weekday_in_weeks),
    form(
        rf"(?:(?P<n>{NUMBER})\s+weeks?|week)\s+(?:on|from)\s+(?:the\s+)?(?P<w>{WEEKDAY})", _weekday_in_weeks
    ),
    form(rf"(?P<w>{WEEKDAY})\s+in\s+(?P<n>{NUMBER})\s+(?:weeks?|wochen?)", _weekday_in_weeks),
    form(rf"(?P<w>{WEEKDAY})\s+in\s+(?P<n>{NUMBER})\s+tagen", _weekday_in_days),
    form(r"(?P<x>today|tomorrow)\s+week(?P<n>)", _day_in_weeks),
    form(rf"(?P<n>{NUMBER})\s+weeks?\s+from\s+(?P<x>today|tomorrow)", _day_in_weeks),
    form(rf"(?P<x>heute|morgen|übermorgen)\s+in\s+(?P<n>{NUMBER})\s+wochen?", _day_in_weeks),
    form(
        rf"in\s+(?P<n>\d+[.,]\d+|{NUMBER})\s*(?P<u>{UNIT})(?P<half>\s+and\s+a\s+half)?(?:\s+time)?", _in_units
    ),
    form(rf"(?P<n>{NUMBER})\s*(?P<u>{UNIT})\s+from\s+(?:now|today)(?P<half>)", _in_units),
    form(
        r"in\s+an\s+hour\s+and\s+a\s+half|in\s+(?:anderthalb|eineinhalb)\s+stunden",
        always(ShiftPart(timedelta(minutes=90))),
    ),
    form(
        r"in\s+half\s+an\s+hour|in\s+a\s+half\s+hour|in\s+einer\s+halben\s+stunde",
        always(ShiftPart(timedelta(minutes=30))),
    ),
    form(
        r"in\s+(?:a\s+quarter\s+of\s+an\s+hour|(?:einer\s+)?viertelstunde)",
        always(ShiftPart(timedelta(minutes=15))),
    ),
    form(
        r"in\s+(?:three\s+quarters\s+of\s+an\s+hour|(?:einer\s+)?dreiviertelstunde)",
        always(ShiftPart(timedelta(minutes=45))),
    ),
    form(r"(?:right\s+)?now|jetzt|sofort", always(ShiftPart(timedelta(minutes=0))), loose=False),
    form(
        r"in\s+(?P<h>\d{1,3})\s?h\s?(?P<m>\d{1,2})(?:\s?m(?:in)?)?",
        lambda match, _: ShiftPart(timedelta(hours=int(match["h"]), minutes=int(match["m"]))),
    ),
    form(r"in\s+a\s+fortnight", lambda _, today: one_day(days_from(today, 14))),
    # Ranges of days, and their ends.
    form(
        rf"(?:in\s+|am\s+)?(?:the\s+)?(?P<q>{QUALIFIER}|übernächste[ns]?)\s+(?P<w>week|weekend|month|year|woche|wochenende|monat|jahr)",
        _range_of,
    ),
    form(
        rf"(?:in\s+)?(?:the|den)\s+(?:next|nächsten|kommenden)\s+(?P<n>{NUMBER})\s+(?P<u>{UNIT})",
        _next_days,
        loose=False,
    ),
    form(
        rf"(?:next|nächste|nächsten|kommende|kommenden)\s+(?P<n>{NUMBER})\s+(?P<u>{UNIT})",
        _next_days,
        loose=False,
    ),
    form(
        rf"(?:(?:from|between)\s+(?:the\s+)?|vom\s+|zwischen\s+(?:dem\s+)?)?(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?\s*"
        rf"(?:-|–|to|until|and|bis|und)\s*(?:the\s+|zum\s+|dem\s+)?(?P<d2>\d{{1,2}})(?:st|nd|rd|th|\.)?\s*(?:of\s+)?(?P<m>{MONTH}){YEAR}",
        _days_of_month,
    ),
    form(
        rf"(?:(?:from|between)\s+)?(?P<m>{MONTH})\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s*(?:-|–|to|until|and)\s*"
        rf"(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?{YEAR}(?![:.\d])",
        _days_of_month,
    ),
    form(r"(?:at|on|over)\s+the\s+weekend|am\s+wochenende", _weekend),
    form(rf"(?:in\s+|im\s+)?(?P<m>{MONTH})(?:\s+(?P<y>(?:19|2[0-3])\d\d))?", _whole_month, loose=False),
    form(r"(?P<y>\d{4})-(?P<m>\d\d)", _iso_month, loose=False),
    form(
        rf"(?:at\s+|by\s+)?(?:the\s+)?(?P<e>end|start|beginning)\s+of\s+(?:the\s+|(?P<q>{QUALIFIER})\s+)?(?P<u>week|month|year)",
        _edge_of,
    ),
    form(
        rf"(?:zum\s+|am\s+)?(?P<e>ende|anfang)\s+(?:der\s+|des\s+|(?P<q>{QUALIFIER})\s+)?(?P<u>woche|monats|jahres)",
        _edge_of,
    ),
    form(
        rf"(?:at\s+|by\s+)?(?:the\s+)?(?P<e>end|beginning|start)\s+of\s+(?P<m>{MONTH}){YEAR}", _edge_of_month
    ),
    form(rf"(?P<e>ende|anfang)\s+(?P<m>{MONTH}){YEAR}", _edge_of_month),
    form(r"(?:zum\s+|am\s+)?(?P<x>monatsende|jahresende)", _end_of_unit),
    form(r"(?:by\s+)?(?:the\s+)?end\s+of\s+(?:the\s+)?day|eod", lambda _, today: one_day(today)),
)
"""Every form of a day."""
