"""What recurs: the rule that a phrase says, its first time, and its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from bethink.errors import NotUnderstood
from bethink.when.meanings import Recurrence, day_words, local_time
from bethink.when.parts import (
    ClockPart,
    ClockSpanPart,
    CountPart,
    DatePart,
    DurationPart,
    InstantPart,
    RangePart,
    RulePart,
    ShiftPart,
)
from bethink.when.phrase import Phrase, agreeing, spans_of
from bethink.when.vocabulary import MONTH_NAMES, WEEKDAY_NAMES, ordinal_word


def recurrence_of(phrase: Phrase, now: datetime) -> Recurrence:
    """What recurs.

    Raises:
        NotUnderstood: the parts do not fit together.
    """
    if any(kind in phrase.one for kind in (ShiftPart, InstantPart, RangePart)):
        raise NotUnderstood("Say either when it is once, or how often it is.")
    rule = _merged(phrase)
    bound = agreeing([part for lead, part in phrase.dates if lead == "from"] or [DatePart((now.date(),))])
    if bound < now.date():
        raise NotUnderstood(f"{day_words(bound)} is over: let it begin today or later.")
    clocks, takes = _clocks_of(phrase)
    start = _first(rule, bound, clocks[0] if clocks else None, now=now)
    until = [part for lead, part in phrase.dates if lead == "until"]
    count = phrase.one.get(CountPart)
    if until and count:
        raise NotUnderstood("Say either until when, or how many times.")
    last = agreeing(until) if until else None
    if last is not None and last < (start.date() if isinstance(start, datetime) else start):
        raise NotUnderstood(f"It would end on {day_words(last)}, before it begins.")
    clock = f" at {start:%H:%M}" if isinstance(start, datetime) and rule.freq in _OF_DAYS else ""
    ends = f", until {day_words(last)}" if last else f", {count.count} times" if count else ""
    done = " after it is done" if rule.after_done else ""
    return Recurrence(
        _rule_text(rule, start, last=last, count=count.count if count else None),
        start,
        takes,
        rule.after_done,
        f"{rule_words(rule)}{done}{clock}{ends}",
    )


_OF_DAYS: Final = frozenset({"DAILY", "WEEKLY", "MONTHLY", "YEARLY"})


def _clocks_of(phrase: Phrase) -> tuple[list[ClockPart], timedelta | None]:
    """The time of day, and how long it lasts."""
    takes = phrase.one[DurationPart].takes if DurationPart in phrase.one else None
    clocks = list(phrase.clocks)
    if span := phrase.one.get(ClockSpanPart):
        clocks += list(spans_of(span)[0])
    if len(clocks) == 2:  # noqa: PLR2004 - from, to
        start, end = (timedelta(hours=one.hours[0], minutes=one.minute) for one in clocks)
        if takes is not None or end <= start:
            raise NotUnderstood("It would end before it begins: give its beginning and its end.")
        return clocks[:1], end - start
    if len(clocks) > 1:
        raise NotUnderstood("Two times are named here: give one.")
    if takes is not None and not clocks:
        raise NotUnderstood("Say at what time it begins.")
    return clocks, takes


def _merged(phrase: Phrase) -> RulePart:
    """The rule with the days that are named beside it: every 2 weeks on Monday."""
    base = [one for one in phrase.rules if one.freq]
    if not base:
        raise NotUnderstood("Say how often it is: every day, or every 2nd Friday.")
    rule = base[0]
    for more in base[1:]:
        rule = _both(rule, more)
    if any(one.after_done for one in phrase.rules):
        rule = replace(rule, after_done=True)
    for lead, part in phrase.dates:
        if lead not in {"from", "until"}:
            rule = _on(rule, part)
    return rule


def _both(one: RulePart, more: RulePart) -> RulePart:
    """Every two weeks and on Mondays."""
    if one.freq == more.freq == "WEEKLY" and 1 in {one.interval, more.interval}:
        return replace(one, interval=max(one.interval, more.interval), byday=one.byday + more.byday)
    if one.freq in {"WEEKLY", "MONTHLY"} and more.freq == "MONTHLY" and not one.byday and more.interval == 1:
        return replace(more, interval=one.interval) if one.freq == "MONTHLY" else more
    raise NotUnderstood("Two ways to recur are named here: give one.")


def _on(rule: RulePart, part: DatePart) -> RulePart:
    match rule.freq:
        case "WEEKLY" if part.weekday is not None:
            return replace(rule, byday=(*rule.byday, (0, part.weekday)))
        case "MONTHLY" if part.day is not None and part.month is None:
            return replace(rule, bymonthday=(*rule.bymonthday, part.day))
        case "YEARLY" if part.day is not None and part.month is not None:
            return replace(rule, bymonth=part.month, bymonthday=(part.day,))
        case _:
            raise NotUnderstood(
                "The day does not fit to how often it is: write it like every week on Monday, every month"
                " on the 3rd, or every year on 4 December. A beginning is led to by from."
            )


_FAR_DAYS: Final = 366 * 9
"""A leap day comes once in eight years at the worst."""


def _first(rule: RulePart, bound: date, clock: ClockPart | None, *, now: datetime) -> datetime | date:
    """The first time from `bound` on that is not over."""
    if rule.freq not in _OF_DAYS:
        each = timedelta(hours=rule.interval) if rule.freq == "HOURLY" else timedelta(minutes=rule.interval)
        if clock is None and bound == now.date():
            return (now.astimezone(UTC) + each).astimezone(now.tzinfo).replace(second=0, microsecond=0)
        return local_time(bound, clock or ClockPart((0,)), now)
    for ahead in range(_FAR_DAYS):
        day = bound + timedelta(days=ahead)
        if _fits(rule, day):
            if clock is None:
                return day
            at = local_time(day, clock, now)
            if at > now:
                return at
    raise NotUnderstood("There is no such day.")


def _fits(rule: RulePart, day: date) -> bool:
    if rule.bymonth is not None and day.month != rule.bymonth:
        return False
    if rule.bymonthday and not any(
        day.day == one or (one == -1 and (day + timedelta(days=1)).day == 1) for one in rule.bymonthday
    ):
        return False
    return not rule.byday or any(_is_placed(day, place, number) for place, number in rule.byday)


def _is_placed(day: date, place: int, number: int) -> bool:
    if day.weekday() != number:
        return False
    if place == -1:
        return (day + timedelta(days=7)).month != day.month
    return place in {0, (day.day - 1) // 7 + 1}


_CODES: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def _rule_text(rule: RulePart, start: datetime | date, *, last: date | None, count: int | None) -> str:
    """The rule as RFC 5545 writes it (3.3.10)."""
    byday = dict.fromkeys(f"{place or ''}{_CODES[number]}" for place, number in rule.byday)
    parts = [f"FREQ={rule.freq}"]
    if rule.interval > 1:
        parts.append(f"INTERVAL={rule.interval}")
    if rule.bymonth is not None:
        parts.append(f"BYMONTH={rule.bymonth}")
    if rule.bymonthday:
        parts.append(f"BYMONTHDAY={','.join(map(str, rule.bymonthday))}")
    if byday:
        parts.append(f"BYDAY={','.join(byday)}")
    if count is not None:
        parts.append(f"COUNT={count}")
    if last is not None:
        parts.append(f"UNTIL={_until(start, last)}")
    return ";".join(parts)


def _until(start: datetime | date, last: date) -> str:
    if not isinstance(start, datetime):
        return f"{last:%Y%m%d}"
    return f"{datetime.combine(last, time(23, 59, 59), start.tzinfo).astimezone(UTC):%Y%m%dT%H%M%SZ}"


_UNIT_NAMES: Final = {
    "MINUTELY": "minute", "HOURLY": "hour", "DAILY": "day", "WEEKLY": "week", "MONTHLY": "month",
    "YEARLY": "year",
}  # fmt: skip
_PLACES: Final = {-1: "last", 1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 5: "5th"}


def rule_words(rule: RulePart) -> str:
    """The rule in words that mean it again."""
    unit = _UNIT_NAMES[rule.freq]
    often = f"every {rule.interval} {unit}s" if rule.interval > 1 else f"every {unit}"
    names = [WEEKDAY_NAMES[number] for _, number in rule.byday]
    if rule.freq == "WEEKLY" and rule.byday:
        if sorted(number for _, number in rule.byday) == [0, 1, 2, 3, 4] and rule.interval == 1:
            return "every weekday"
        if rule.interval == 1:
            return f"every {_listed(names)}"
        return f"{often} on {_listed(names)}"
    if rule.byday:
        place = _PLACES[rule.byday[0][0]]
        of = "the month" if rule.interval == 1 else f"every {rule.interval} months"
        return f"every {place} {_listed(names)} of {of}"
    if rule.bymonth is not None:
        leap = " (leap years only)" if (rule.bymonth, rule.bymonthday) == (2, (29,)) else ""
        return f"every year on {rule.bymonthday[0]} {MONTH_NAMES[rule.bymonth - 1]}{leap}"
    if rule.bymonthday == (-1,):
        return f"{often} on the last day"
    if rule.bymonthday:
        days = _listed([f"the {ordinal_word(day)}" for day in rule.bymonthday])
        short = " (months without it are left out)" if max(rule.bymonthday) > 28 else ""  # noqa: PLR2004 - February
        return f"{often} on {days}{short}"
    return often


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
