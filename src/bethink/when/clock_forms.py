"""Forms of times of day and of how long something takes, in English and German."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

from bethink.errors import NotUnderstood
from bethink.when.parts import (
    ClockPart,
    ClockSpanPart,
    DaytimePart,
    DurationPart,
    Form,
    Part,
    UnclearPart,
    ZonePart,
    always,
    form,
)
from bethink.when.vocabulary import MONTH, NUMBER, UNIT, number, unit

_MIDDAY: Final = 12


def _spoken(hour: int, minute: int = 0) -> ClockPart:
    """An hour of 1 to 12 without a word about its half of the day: nobody is asked whether 3 is at night.

    From 8 to 12 it is in the morning, from 1 to 5 in the afternoon; 6 and 7 may be both.
    """
    hour %= _MIDDAY
    early, late = hour, hour + _MIDDAY
    if hour in {6, 7}:
        return ClockPart((early, late), minute)
    if hour >= 8:  # noqa: PLR2004 - as it says above
        return ClockPart((early,), minute, (late,))
    return ClockPart((late,), minute, (early,))


def _clock(match: re.Match[str], _today: date) -> Part:
    """5pm, 17:00, 17.30 Uhr, 8 o'clock."""
    hour, minute = number(match["h"]), int(match["m"] or 0)
    if minute > 59 or hour > 24 or (hour == 24 and minute):  # noqa: PLR2004 - hours and minutes
        raise NotUnderstood(f"{match.group().strip()} is no time of day.")
    half = re.sub(r"\W", "", match["half"] or "").lower()
    if half:
        if not 1 <= hour <= _MIDDAY:
            raise NotUnderstood(
                f"{match.group().strip()} is no time of day: with am and pm, hours are 1 to 12."
            )
        return ClockPart((hour % _MIDDAY + _MIDDAY * (half[0] == "p"),), minute)
    if hour > _MIDDAY or hour == 0 or match["h"].startswith("0"):
        return ClockPart((hour,), minute)
    if match["uhr"]:
        # Hours are counted to 24 here; small ones are said of the afternoon, too.
        return ClockPart((hour,), minute, (hour + 12,)) if hour > 6 else ClockPart((hour, hour + 12), minute)  # noqa: PLR2004
    if match["m"] and hour != _MIDDAY and hour < 8:  # noqa: PLR2004 - as `_spoken` says, but figures are exact
        return ClockPart((hour, hour + _MIDDAY), minute)
    return _spoken(hour, minute)


def _clock_span(match: re.Match[str], _today: date) -> Part | None:
    """From 3 to 5 pm, 10-11:30, von 9 bis 17 Uhr."""
    halves, uhr = (match["half"], match["half2"]), match["uhr"]
    if not (match["lead"] or any(halves) or uhr or (match["m"] and match["m2"])):
        return None
    start = _hour_of(match["h"], match["m"], halves[0], is_exact=bool(uhr) or bool(match["m"]))
    end = _hour_of(match["h2"], match["m2"], halves[1], is_exact=bool(uhr) or bool(match["m2"]))
    if halves[1] and not halves[0]:
        early = start.hours + start.others
        half = [hour for hour in early if (hour >= _MIDDAY) == (end.hours[0] >= _MIDDAY)]
        fitting = [hour for hour in half or early if hour < end.hours[0]]
        start = ClockPart(tuple(fitting[:1]) or early, start.minute)
    return ClockSpanPart(start, end)


def _hour_of(hour_text: str, minute: str | None, half: str | None, *, is_exact: bool) -> ClockPart:
    hour = number(hour_text)
    if hour > 24 or int(minute or 0) > 59:  # noqa: PLR2004 - hours and minutes
        raise NotUnderstood(f"{hour_text}{':' + minute if minute else ''} is no time of day.")
    if half:
        late = re.sub(r"\W", "", half).lower()[0] == "p"
        return ClockPart((hour % _MIDDAY + _MIDDAY * late,), int(minute or 0))
    if is_exact or hour > _MIDDAY or hour == 0 or hour_text.startswith("0"):
        return ClockPart((hour,), int(minute or 0))
    return _spoken(hour, int(minute or 0))


def _lasting(match: re.Match[str], _today: date) -> Part | None:
    """For two hours."""
    freq, count = unit(match["u"]), match["n"]
    if freq not in {"HOURLY", "MINUTELY"}:
        return None
    whole = float(count.replace(",", ".")) if re.fullmatch(r"\d+[.,]\d+", count) else number(count)
    takes = (timedelta(hours=1) if freq == "HOURLY" else timedelta(minutes=1)) * whole
    if match["half"]:
        takes += timedelta(minutes=30)
    return DurationPart(takes) if timedelta() < takes <= timedelta(days=31) else UnclearPart(())


_QUARTERS: Final = {"quarter": 15, "viertel": 15, "half": 30, "halb": 30}


def _past(match: re.Match[str], _today: date) -> Part:
    """Half past five, ten to six, Viertel nach drei, fünf vor acht."""
    word = match["n"].lower()
    minutes = _QUARTERS[word] if word in _QUARTERS else number(match["n"])
    hour = number(match["h"])
    if hour > _MIDDAY or minutes > 30:  # noqa: PLR2004 - nobody says more
        return UnclearPart(())
    if re.fullmatch(r"to|vor|til|before", match["way"], re.IGNORECASE):
        return _spoken(hour - 1, 60 - minutes)
    return _spoken(hour, minutes)


def _half(match: re.Match[str], _today: date) -> Part:
    """Halb drei is half past two; "half three" is half past three."""
    hour = number(match["h"])
    if hour > _MIDDAY:
        return UnclearPart(())
    match match["n"].lower():
        case "halb":
            return _spoken(hour - 1, 30)
        case "viertel":
            return _spoken(hour - 1, 15)
        case "dreiviertel":
            return _spoken(hour - 1, 45)
        case _:
            return _spoken(hour, 30)


DAYTIMES: Final = {
    "morning": ("morning", 5, 12), "morgen": ("morning", 5, 12), "morgens": ("morning", 5, 12),
    "früh": ("morning", 5, 12), "frueh": ("morning", 5, 12), "vormittag": ("morning", 8, 12),
    "vormittags": ("morning", 8, 12), "afternoon": ("afternoon", 12, 18), "nachmittag": ("afternoon", 12, 18),
    "nachmittags": ("afternoon", 12, 18), "evening": ("evening", 17, 24), "abend": ("evening", 17, 24),
    "abends": ("evening", 17, 24), "night": ("night", 20, 24), "tonight": ("evening", 17, 24),
    "nacht": ("night", 20, 24), "nachts": ("night", 20, 24),
}  # fmt: skip


def _daytime(match: re.Match[str], _today: date) -> Part:
    return DaytimePart(*DAYTIMES[match["p"].lower()])


def _zone(match: re.Match[str], _today: date) -> Part:
    name, offset = match["z"], match["o"]
    zone = "UTC" if name.upper() in {"UTC", "GMT"} else name
    if not offset:
        return ZonePart(zone)
    by = timedelta(hours=int(offset[1:3]), minutes=int(offset[4:6]))
    return ZonePart(zone, -by if offset[0] == "-" else by)


_HALF: Final = r"(?P<half>a\.?m\.?|p\.?m\.?)"
_DAYTIME: Final = rf"(?P<p>{'|'.join(sorted(DAYTIMES, key=len, reverse=True))})"

CLOCK_FORMS: Final[tuple[Form, ...]] = (
    # Times of day.
    form(rf"(?:at\s+|@\s?|um\s+|gegen\s+)?(?P<h>\d{{1,2}})(?::(?P<m>\d\d))?\s?{_HALF}(?P<uhr>)", _clock),
    form(
        r"(?:at\s+|@\s?|um\s+|gegen\s+)?(?P<h>\d{1,2}):(?P<m>\d\d)(?P<half>)(?:\s*(?P<uhr>uhr|h)\b)?", _clock
    ),
    form(r"(?:um\s+|gegen\s+)?(?P<h>\d{1,2})(?:[.:](?P<m>\d\d))?\s?(?P<uhr>uhr|h)(?P<half>)", _clock),
    form(r"(?:um\s+|gegen\s+)?(?P<h>\d{1,2})\s?(?P<uhr>uhr)\s+(?P<m>\d\d)(?P<half>)", _clock),
    form(
        rf"(?:at\s+|@\s?|um\s+|gegen\s+)(?P<h>{NUMBER})(?!\s*{UNIT})(?P<m>)(?P<half>)(?P<uhr>)(?:\s+o['’]?clock)?",
        _clock,
    ),
    form(
        rf"(?P<h>{NUMBER})(?P<m>)(?P<half>)(?P<uhr>)(?=\s+(?:in\s+the\s+(?:morning|afternoon|evening)|at\s+night"
        r"|morgens|vormittags|nachmittags|abends|nachts)\b)",
        _clock,
    ),
    form(rf"(?P<h>{NUMBER})\s+o['’]?clock(?P<m>)(?P<half>)(?P<uhr>)", _clock),
    form(rf"(?P<h>{NUMBER})\s+(?P<uhr>uhr)(?P<m>)(?P<half>)", _clock),
    form(r"(?:at\s+)?(?:noon|midday)|(?:um\s+|am\s+|zu\s+)?mittags?", always(ClockPart((12,)))),
    # Where a day begins, and where it ends.
    form(r"(?:at\s+)?midnight|(?:um\s+|zu\s+)?mitternacht", always(ClockPart((0, 24)))),
    form(
        rf"(?P<lead>from\s+|between\s+|von\s+|zwischen\s+)?(?P<h>\d{{1,2}})(?:[:.](?P<m>\d\d))?\s?(?:uhr\s*)?{_HALF}?"
        rf"\s*(?:-|–|to|until|till|and|bis|und)\s*(?P<h2>\d{{1,2}})(?:[:.](?P<m2>\d\d))?\s?(?P<half2>a\.?m\.?|p\.?m\.?)?"
        rf"(?:\s?(?P<uhr>uhr|h))?(?!\s*(?:{UNIT}|{MONTH}))(?![\d/.-])",
        _clock_span,
    ),
    form(
        rf"(?:for|für|fuer|lasting)\s+(?P<n>\d+[.,]\d+|{NUMBER})\s*(?P<u>{UNIT})(?P<half>\s+and\s+a\s+half)?",
        _lasting,
    ),
    form(r"for\s+half\s+an\s+hour|für\s+eine\s+halbe\s+stunde", always(DurationPart(timedelta(minutes=30)))),
    form(
        r"for\s+an\s+hour\s+and\s+a\s+half|für\s+(?:anderthalb|eineinhalb)\s+stunden",
        always(DurationPart(timedelta(minutes=90))),
    ),
    form(
        rf"(?:at\s+|um\s+|gegen\s+)?(?:a\s+)?(?P<n>half|quarter|viertel|five|ten|twenty|fünf|zehn|zwanzig)"
        rf"\s+(?P<way>past|to|til|nach|vor)\s+(?P<h>{NUMBER})",
        _past,
    ),
    form(
        rf"(?:at|um|gegen)\s+(?P<n>{NUMBER})\s+(?:min\w*\s+)?(?P<way>past|to|til|nach|vor)\s+(?P<h>{NUMBER})",
        _past,
    ),
    form(rf"(?:at\s+|um\s+|gegen\s+)?(?P<n>half|halb|dreiviertel)\s+(?P<h>{NUMBER})(?!\s*{UNIT})", _half),
    form(rf"(?:um\s+|gegen\s+)(?P<n>viertel)\s+(?P<h>{NUMBER})", _half),
    form(rf"(?:in\s+the\s+|this\s+|at\s+|am\s+|in\s+der\s+)?{_DAYTIME}", _daytime, loose=False),
    form(
        r"(?:in\s+the\s+|this\s+|at\s+|am\s+|in\s+der\s+)(?P<p>morning|afternoon|evening|night|morgen|vormittag|nachmittag|abend|nacht)",
        _daytime,
    ),
    form(r"(?P<p>tonight|morgens|vormittags|nachmittags|abends|nachts)", _daytime),
    form(
        r"\(?(?P<z>(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)"
        r"/[A-Za-z_]+(?:/[A-Za-z_]+)?|UTC|GMT)(?:,\s*UTC(?P<o>[+-]\d\d:\d\d))?\)?",
        _zone,
    ),
)
"""Every form of a time of day."""
