"""Forms of what recurs in English and German, and of the words that lead to a time."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

from bethink.errors import NotUnderstood
from bethink.when.clock_forms import DAYTIMES
from bethink.when.day_forms import coming_weekday
from bethink.when.parts import (
    DAY_OF_MONTH,
    QUALIFIER,
    CountPart,
    DaytimePart,
    Form,
    LeadPart,
    Part,
    RulePart,
    always,
    form,
    one_day,
    place_of,
    shifted,
)
from bethink.when.vocabulary import (
    MONTH,
    NUMBER,
    ORDINAL,
    UNIT,
    WEEKDAY,
    WEEKDAY_NAME,
    WEEKDAY_NAMES,
    month,
    number,
    ordinal,
    ordinal_word,
    unit,
    weekday,
)

_EVERY: Final = r"(?:every|each|jede[nrsm]?|alle)"
_ADVERBS: Final[dict[str, RulePart]] = {
    "hourly": RulePart("HOURLY"), "stündlich": RulePart("HOURLY"),
    "daily": RulePart("DAILY"), "täglich": RulePart("DAILY"), "taeglich": RulePart("DAILY"),
    "weekly": RulePart("WEEKLY"), "wöchentlich": RulePart("WEEKLY"), "woechentlich": RulePart("WEEKLY"),
    "fortnightly": RulePart("WEEKLY", 2), "zweiwöchentlich": RulePart("WEEKLY", 2),
    "vierzehntägig": RulePart("WEEKLY", 2), "monthly": RulePart("MONTHLY"), "monatlich": RulePart("MONTHLY"),
    "quarterly": RulePart("MONTHLY", 3), "vierteljährlich": RulePart("MONTHLY", 3),
    "quartalsweise": RulePart("MONTHLY", 3), "halbjährlich": RulePart("MONTHLY", 6),
    "yearly": RulePart("YEARLY"), "annually": RulePart("YEARLY"), "jährlich": RulePart("YEARLY"),
    "jaehrlich": RulePart("YEARLY"),
    "biweekly": RulePart("WEEKLY", choices=("every 2 weeks",)),
    "bimonthly": RulePart("MONTHLY", choices=("every 2 months",)),
}  # fmt: skip
_WORKDAYS: Final = RulePart("WEEKLY", byday=tuple((0, number_) for number_ in range(5)))
_WORKING_DAYS: Final = RulePart(
    "WEEKLY", choices=("every weekday", "every Monday, Tuesday, Wednesday, Thursday, Friday and Saturday")
)
"""In law a Saturday is one, too; in an office it is not."""
_WEEKENDS: Final = RulePart("WEEKLY", choices=("every Saturday", "every Sunday", "every Saturday and Sunday"))


def _every(match: re.Match[str], _today: date) -> Part:
    """Every day, every other week, alle drei Monate."""
    word = match["u"].lower()
    freq = "MONTHLY" if word.startswith(("quarter", "quartal")) else unit(word)
    interval = _interval(match["n"])
    if not 1 <= interval <= 1000:  # noqa: PLR2004 - a thousand years are enough
        raise NotUnderstood(f"{match.group().strip()}: give a number from 1 to 1,000.")
    return RulePart(freq, interval * (3 if word.startswith("quart") else 1))


def _interval(word: str | None) -> int:
    if not word:
        return 1
    if word.lower() in {"other", "second"}:
        return 2
    return number(word) if re.fullmatch(NUMBER, word, re.IGNORECASE) else ordinal(word)


def _every_weekday(match: re.Match[str], _today: date) -> Part:
    """Every Monday and Thursday, every 2nd Friday, jeden letzten Donnerstag im Monat."""
    names = [weekday(name) for name in re.findall(WEEKDAY, match["w"], re.IGNORECASE)]
    place, of_month = match["n"], bool(match["of"])
    if not place:
        return RulePart(
            "MONTHLY" if of_month else "WEEKLY", byday=tuple((0, name) for name in dict.fromkeys(names))
        )
    return _placed_weekdays(place, names, of_month=of_month)


def _placed_weekdays(place: str, names: list[int], *, of_month: bool) -> RulePart:
    if re.match(r"last|letzt", place, re.IGNORECASE):
        return RulePart("MONTHLY", byday=tuple((-1, name) for name in names))
    count = _interval(place)
    named = " and ".join(WEEKDAY_NAMES[name] for name in names)
    if of_month or count == 1:
        if count > 5:  # noqa: PLR2004 - no month has a sixth
            raise NotUnderstood(f"No month has {count} of a weekday.")
        return RulePart("MONTHLY", byday=tuple((count, name) for name in names))
    if count == 2:  # noqa: PLR2004 - every second one is every other one
        return RulePart("WEEKLY", 2, byday=tuple((0, name) for name in names))
    choices = (f"every {count} weeks on {named}",)
    if count <= 5:  # noqa: PLR2004
        choices = (*choices, f"every {ordinal_word(count)} {named} of the month")
    return RulePart("WEEKLY", choices=choices)


def _every_daytime(match: re.Match[str], _today: date) -> Part:
    """Every morning."""
    return RulePart("DAILY", daytime=DaytimePart(*DAYTIMES[match["p"].lower()]))


def _every_daytime_of(match: re.Match[str], _today: date) -> Part:
    """Every Friday evening, jeden Freitagabend."""
    daytime = DaytimePart(*DAYTIMES[match["p"].lower()])
    return RulePart("WEEKLY", byday=((0, weekday(match["w"])),), daytime=daytime)


def _placed_weekday(match: re.Match[str], today: date) -> Part | None:
    """The last Friday of the month, or of a named one."""
    place = -1 if re.match(r"last|letzt", match["n"], re.IGNORECASE) else _interval(match["n"])
    if match["m"]:
        number_ = month(match["m"])
        firsts = [date(today.year + (number_ < today.month), number_, 1)]
    elif (which := place_of(match["q"])) is not None:
        firsts = [shifted(today.replace(day=1), which)]
    else:
        firsts = [shifted(today.replace(day=1), ahead) for ahead in range(2)]
    found = [_nth(first, place, weekday(match["w"])) for first in firsts]
    day = next((one for one in found if one is not None and one >= today), found[-1])
    if day is None:
        raise NotUnderstood(f"{match.group().strip()}: that month has no such day.")
    return one_day(day)


def _nth(first: date, place: int, number_: int) -> date | None:
    """The n-th of a weekday in the month of `first`; -1 is the last."""
    if place == -1:
        last = shifted(first, 1) - timedelta(days=1)
        return last - timedelta(days=(last.weekday() - number_) % 7)
    day = first + timedelta(days=(number_ - first.weekday()) % 7 + 7 * (place - 1))
    return day if day.month == first.month else None


def _weekday_of_months(match: re.Match[str], _today: date) -> Part:
    """The last Thursday of every month."""
    return _placed_weekdays(match["n"], [weekday(match["w"])], of_month=True)


def _plural_weekdays(match: re.Match[str], _today: date) -> Part:
    names = [weekday(name) for name in re.findall(WEEKDAY_NAME, match["w"], re.IGNORECASE)]
    return RulePart("WEEKLY", byday=tuple((0, name) for name in dict.fromkeys(names)))


def _every_month_day(match: re.Match[str], _today: date) -> Part:
    """Every 3rd of the month, am 15. jedes Monats."""
    if match["last"]:
        return RulePart("MONTHLY", bymonthday=(-1,))
    return RulePart("MONTHLY", bymonthday=(ordinal(match["d"]),))


def _every_date(match: re.Match[str], _today: date) -> Part:
    """Every 4 December."""
    return RulePart(
        "YEARLY",
        bymonthday=(ordinal(match["d"]) if not match["d"].isdecimal() else int(match["d"]),),
        bymonth=month(match["m"]),
    )


def _after_done(match: re.Match[str], today: date) -> Part:
    """Three days after it is done."""
    every = _every(match, today)
    return RulePart(every.freq, every.interval, after_done=True) if isinstance(every, RulePart) else every


def _times(match: re.Match[str], _today: date) -> Part:
    count = number(match["n"])
    if not 1 <= count <= 1000:  # noqa: PLR2004 - as above
        raise NotUnderstood(f"{match.group().strip()}: give a number from 1 to 1,000.")
    return CountPart(count)


_OF_MONTH: Final = (
    r"(?:\s+(?:of|in)\s+(?:the|each|every|a)\s+month|\s+im\s+monat|\s+(?:des|jedes|eines\s+jeden)\s+monats"
    r"|\s+in\s+jedem\s+monat)"
)
_PLACE: Final = rf"(?:{ORDINAL}|last|other|letzte[nrsm]?|zweit\w*|dritt\w*)"
_AND: Final = r"\s*(?:,\s*(?:and\s+|und\s+)?|\band\s+|\bund\s+|&\s*|/\s*)\s*"

RULE_FORMS: Final[tuple[Form, ...]] = (
    # What recurs.
    form(rf"(?P<x>{'|'.join(_ADVERBS)})", lambda match, _: _ADVERBS[match["x"].lower()]),
    form(
        rf"(?:{_EVERY}\s+(?:weekday|workday|working\s+day|wochentag)s?|on\s+weekdays|weekdays|wochentags)",
        always(_WORKDAYS),
    ),
    form(r"(?:jede[nrs]?\s+(?:werktag|arbeitstag)|werktags)", always(_WORKING_DAYS)),
    form(rf"(?:{_EVERY}\s+(?:weekend|wochenende)|on\s+weekends)", always(_WEEKENDS)),
    form(
        rf"{_EVERY}\s+(?:(?P<n>other|{NUMBER}|{ORDINAL}|second|zweite[nrs]?|dritte[nrs]?)\s+)?(?P<u>{UNIT}|quarters?|quartale?)",
        _every,
    ),
    form(
        rf"{_EVERY}\s+(?:(?P<n>{_PLACE})\s+)?(?P<w>{WEEKDAY}(?:{_AND}{WEEKDAY})*)(?P<of>{_OF_MONTH})?",
        _every_weekday,
    ),
    form(
        rf"(?:on\s+|am\s+)?(?:the\s+)?(?P<n>{_PLACE})\s+(?P<w>{WEEKDAY})\s+(?:of|in)\s+(?:each|every)\s+month",
        _weekday_of_months,
    ),
    form(
        rf"(?:am\s+)?(?P<n>{_PLACE})\s+(?P<w>{WEEKDAY})\s+(?:jedes\s+monats|in\s+jedem\s+monat|eines\s+jeden\s+monats)",
        _weekday_of_months,
    ),
    form(
        rf"(?:on\s+|am\s+)?(?:the\s+)?(?P<n>{_PLACE})\s+(?P<w>{WEEKDAY})\s+(?:of|in|im|des)"
        rf"(?:\s+(?:the|(?P<q>{QUALIFIER})))?\s+(?:month|monats?|(?P<m>{MONTH}))",
        _placed_weekday,
    ),
    form(
        rf"{_EVERY}\s+(?P<p>morning|afternoon|evening|night|morgen|vormittag|nachmittag|abend|nacht)",
        _every_daytime,
    ),
    form(
        rf"{_EVERY}\s+(?P<w>{WEEKDAY_NAME})\s*(?P<p>morning|afternoon|evening|night|morgen|vormittag|nachmittag|abend|nacht)",
        _every_daytime_of,
    ),
    form(
        rf"(?:am\s+)?(?P<w>{WEEKDAY_NAME})(?=morgen|vormittag|nachmittag|abend|nacht|früh)",
        coming_weekday,
        end="",
    ),
    form(rf"(?:on\s+)?(?P<w>{WEEKDAY_NAME}s(?:{_AND}{WEEKDAY_NAME}s)*)", _plural_weekdays),
    form(
        rf"(?:on\s+)?(?:{_EVERY}\s+|the\s+)(?:(?P<last>last\s+day)|(?P<d>{ORDINAL}))\s+(?:of|in)\s+(?:each|every|the)\s+month",
        _every_month_day,
    ),
    form(
        rf"(?:am\s+|jeden\s+)(?:(?P<last>(?:monats)?letzten(?:\s+tag)?)|(?P<d>{ORDINAL}))\s+(?:jedes|eines\s+jeden)\s+monats",
        _every_month_day,
    ),
    form(
        rf"{_EVERY}\s+(?:(?P<last>monatsletzten)|(?P<d>{ORDINAL}))(?:\s+(?:des|im)\s+monats?)?(?!\s*(?:{WEEKDAY}|{UNIT}|{MONTH}))",
        _every_month_day,
    ),
    form(rf"{_EVERY}\s+(?P<d>{DAY_OF_MONTH}|{ORDINAL})\s+(?:of\s+)?(?P<m>{MONTH})", _every_date),
    form(
        rf"(?:every\s+)?(?P<n>{NUMBER})\s+(?P<u>{UNIT})\s+after\s+(?:it\s+is\s+)?(?:done|completion|completed|finished)",
        _after_done,
    ),
    form(
        rf"(?:alle\s+)?(?P<n>{NUMBER})\s+(?P<u>{UNIT})\s+nach\s+(?:der\s+)?(?:erledigung|abschluss)",
        _after_done,
    ),
    form(
        r"after\s+(?:it\s+is\s+)?(?:done|completion|completed)|nach\s+(?:der\s+)?erledigung",
        always(RulePart("", after_done=True)),
    ),
    form(rf"(?:for\s+)?(?P<n>{NUMBER})\s?(?:times|x|mal)", _times, loose=False),
    # What leads to them.
    form(
        r"(?:starting|beginning)(?:\s+(?:from|on|at))?|from|ab|beginnend(?:\s+(?:am|ab))?|von|between|zwischen",
        always(LeadPart("from")),
    ),
    form(r"until|till|to|through|bis(?:\s+(?:zum|am))?|[-–]", always(LeadPart("until"))),
    form(r"(?:due\s+)?(?:by|before)|due(?:\s+on)?|fällig(?:\s+am)?|spätestens", always(LeadPart("by"))),
    form(r"at|on|um|am|den|der|the|in|zu|of|@|dann|then|uhr", always(LeadPart("at"))),
    form(r"and|und|&|,", always(LeadPart("and"))),
)
"""Every form of a rule."""
