"""Words of time, read exactly: "Friday week", "übermorgen um halb drei", "every last Thursday until May".

Everything that takes a time takes words as well, and says what it understood. What can be read in several
ways is asked, with the readings; what does not exist is refused with the reason. A model never does this
arithmetic. ISO 8601 and RFC 3339 pass through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bethink.errors import Ambiguous, NotUnderstood
from bethink.when.clock_forms import CLOCK_FORMS
from bethink.when.day_forms import DAY_FORMS
from bethink.when.meanings import (
    Day,
    Moment,
    Range,
    Recurrence,
    Understood,
    day_words,
    is_twice,
    local_time,
    midnight,
    moments_of,
)
from bethink.when.parts import (
    ClockPart,
    ClockSpanPart,
    CountPart,
    DatePart,
    DaytimePart,
    DurationPart,
    InstantPart,
    LeadPart,
    Part,
    RangePart,
    RulePart,
    ShiftPart,
    UnclearPart,
    ZonePart,
)
from bethink.when.phrase import Phrase, agreeing, spans_of
from bethink.when.recurrences import recurrence_of
from bethink.when.rule_forms import RULE_FORMS
from bethink.when.vocabulary import MONTH_NAMES

MAX_CHARS: Final = 300
"""A time takes fewer words by far."""
_MAX_SENTENCE: Final = 1_000
"""How much of a sentence is searched for a time."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """A sentence without the words of time in it, and what they were understood as; None if it has none."""

    rest: str
    understood: Understood | None
    phrase: str = ""


@dataclass(frozen=True, slots=True)
class SaidLine:
    """What a line such as "Call Bruna tomorrow" says: the fields of a record, and its time in words."""

    fields: dict[str, Any]
    words: str = ""


def understood(text: str, now: datetime) -> Understood:
    """What a time in words is; `now` is aware, in the zone of whoever says it.

    Raises:
        Ambiguous: it can be read in several ways; `choices` are words for each, `texts` such a text.
        NotUnderstood: it is no time, or there is no such one; the sentence says why.
    """
    written = " ".join(text.split())
    if not written:
        raise NotUnderstood("No time was given: write it like Friday at 17:00, or 2026-12-04.")
    if len(written) > MAX_CHARS:
        raise NotUnderstood(f"This is too long to be a time: give at most {MAX_CHARS} characters.")
    if re.match(r"(?:RRULE:)?FREQ=", written, re.IGNORECASE):
        return Recurrence(re.sub("^RRULE:", "", written, flags=re.IGNORECASE).upper(), None)
    return _read(_parts(written, now), written, now)


def extracted(sentence: str, now: datetime) -> Extracted:
    """A sentence and the time in it: "Call Bruna tomorrow at 5" is a call, and tomorrow, 17:00.

    A date and a time of day may stand apart. Of several dates the one that is led to by "by", "due" or "bis"
    counts. What stands in quotation marks is left as it is.

    Raises:
        Ambiguous, NotUnderstood: see `understood`; `texts` are whole sentences.
    """
    found = _runs(sentence[:_MAX_SENTENCE], now)
    if not found:
        return Extracted(" ".join(sentence.split()), None)
    chosen = _chosen(found)
    parts = [part for run in chosen for part in run]
    meant = _read(parts, sentence, now)
    rest = sentence
    for run in reversed(chosen):
        rest = f"{rest[: run[0].start]} {rest[run[-1].end :]}"
    phrase = " ".join(sentence[run[0].start : run[-1].end] for run in chosen)
    return Extracted(
        re.sub(r"\s+([,.;!?])(?!\S)", r"\1", " ".join(rest.split())).strip(" ,;-–"), meant, phrase
    )


@dataclass(frozen=True, slots=True)
class _Placed:
    """A part and where it stands."""

    start: int
    end: int
    part: Part


_GAP: Final = re.compile(r"[\s,.;]*")


def _at(text: str, place: int, today: date, *, loose: bool) -> _Placed | None:
    """The longest expression that begins here."""
    best: _Placed | None = None
    failure: NotUnderstood | None = None
    reach = place
    for form in _FORMS:
        if loose and not form.loose:
            continue
        match = form.pattern.match(text, place)
        if match is None or match.end() <= reach:
            continue
        try:
            part = form.read(match, today)
        except NotUnderstood as error:
            failure, best, reach = error, None, match.end()
            continue
        if part is not None:
            best, reach, failure = _Placed(place, match.end(), part), match.end(), None
    if failure is not None:
        raise failure
    return best


def _parts(text: str, now: datetime) -> list[_Placed]:
    """All parts of a text that is nothing but a time."""
    found: list[_Placed] = []
    place = _gap_after(text, 0)
    while place < len(text):
        part = _at(text, place, now.date(), loose=False)
        if part is None:
            raise NotUnderstood(
                f"“{text[place : place + 40]}” is no time that can be understood. Write it like tomorrow at"
                " 17:00, Friday week, every 2nd Friday, or 2026-12-04."
            )
        found.append(part)
        place = _gap_after(text, part.end)
    return found


def _gap_after(text: str, place: int) -> int:
    match = _GAP.match(text, place)
    return match.end() if match else place


_WORD: Final = re.compile(r"(?<![\w/+#!@.])(?=[\w@–-])")
_QUOTED: Final = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“]*“|«[^»]*»")


def _runs(text: str, now: datetime) -> list[list[_Placed]]:
    """Stretches of a sentence that are times, without words that only lead nowhere."""
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    runs: list[list[_Placed]] = []
    run: list[_Placed] = []
    place = 0
    while place < len(text):
        inside = next((end for start, end in quoted if start <= place < end), None)
        if inside is not None:
            place, run = inside, _ended(runs, run)
            continue
        part = _at(text, place, now.date(), loose=True) if _WORD.match(text, place) else None
        if part is not None:
            run.append(part)
            place = part.end
        elif text[place].isspace() or text[place] in ",;":
            place += 1
        else:
            run = _ended(runs, run)
            place += 1
    _ended(runs, run)
    return runs


def _ended(runs: list[list[_Placed]], run: list[_Placed]) -> list[_Placed]:
    """Keep a run without the leads at its end, and those at its start that only join; a new one."""
    while run and isinstance(run[-1].part, LeadPart):
        run.pop()
    while run and isinstance(lead := run[0].part, LeadPart) and lead.kind in {"and", "until", "from"}:
        if lead.kind == "until" and len(run) > 1:
            break
        run.pop(0)
    if run:
        runs.append(run)
    return []


def _chosen(runs: list[list[_Placed]]) -> list[list[_Placed]]:
    """Those that make up one time: all if no two say the day, else what is due, or the last."""
    dated = [run for run in runs if any(isinstance(one.part, _DATED) for one in run)]
    if len(dated) <= 1:
        return runs
    due = [run for run in dated if _is_led(run)]
    return [due[-1] if due else dated[-1]]


def _is_led(run: Sequence[_Placed]) -> bool:
    return isinstance(run[0].part, LeadPart) and run[0].part.kind in {"by", "until"}


def _read(parts: Sequence[_Placed], text: str, now: datetime) -> Understood:
    """What the parts mean together: the one reading of all that is possible.

    Raises:
        Ambiguous: there are several.
        NotUnderstood: there is none.
    """
    _check_clear(parts, text)
    stages = [_readings(stage, now) for stage in _stages(_with_daytime(parts), now)]
    told_past = any(isinstance(one.part, DatePart) and one.part.may_be_past for one in parts)
    ahead = [[one for one in stage if told_past or not _is_past(one[0], now)] for stage in stages]
    # If it is over by any reading, the usual ones are left.
    for readings in (*ahead, stages[0]):
        distinct = {one[0].words: one for one in reversed(readings)}
        if len(distinct) == 1:
            return readings[0][0]
        if distinct:
            found = list(distinct.values())[::-1]
            texts = [_rewritten(text, parts, chosen, meant=meant) for meant, chosen in found]
            raise Ambiguous(text.strip(), [meant.words for meant, _ in found], texts)
    raise NotUnderstood("These words of time do not fit together: name one day and one time.")


def _readings(stage: Sequence[list[_Placed]], now: datetime) -> list[tuple[Understood, list[_Placed]]]:
    """What each way to read them means; those that contradict themselves are left out if others do not."""
    found: list[tuple[Understood, list[_Placed]]] = []
    failure: NotUnderstood | None = None
    for chosen in stage:
        try:
            found += [(meant, chosen) for meant in _meant([one.part for one in chosen], now)]
        except NotUnderstood as error:
            failure = failure or error
    if failure is not None and not found:
        raise failure
    return found


def _check_clear(parts: Sequence[_Placed], text: str) -> None:
    for one in parts:
        match one.part:
            case RulePart(choices=choices) if choices:
                texts = [f"{text[: one.start]}{choice}{text[one.end :]}" for choice in choices]
                raise Ambiguous(text.strip(), texts, texts)
            case RulePart(daytime=DaytimePart() as daytime) if not _has_clock(parts):
                raise _without_hour(daytime, text, one.end)
            case DaytimePart() if not _has_clock(parts) and any(
                isinstance(at.part, RulePart) for at in parts
            ):
                raise _without_hour(one.part, text, one.end)
            case UnclearPart():
                raise NotUnderstood(f"“{text[one.start : one.end]}” is not clear: name the day and the time.")
            case _:
                pass


def _has_clock(parts: Sequence[_Placed]) -> bool:
    return any(isinstance(one.part, ClockPart | ClockSpanPart) for one in parts)


_HOURS: Final = {"morning": (7, 8, 9), "afternoon": (14, 16), "evening": (18, 19, 20), "night": (21, 22)}


def _without_hour(daytime: DaytimePart, text: str, place: int) -> Ambiguous:
    """A part of the day is not a time at which something recurs."""
    texts = [f"{text[:place]} at {hour:02}:00{text[place:]}" for hour in _HOURS[daytime.name]]
    return Ambiguous(text.strip(), texts, texts)


def _with_daytime(parts: Sequence[_Placed]) -> list[_Placed]:
    """The parts with hours of that part of the day alone, if one is named beside an hour."""
    named = [one.part for one in parts if isinstance(one.part, DaytimePart)]
    named += [one.part.daytime for one in parts if isinstance(one.part, RulePart) and one.part.daytime]
    if not named or not any(isinstance(one.part, ClockPart) for one in parts):
        return list(parts)
    is_dated = any(isinstance(one.part, DatePart) for one in parts)
    return [
        replace(one, part=_within(one.part, named[0], is_dated=is_dated))
        if isinstance(one.part, ClockPart)
        else one
        for one in parts
        if not isinstance(one.part, DaytimePart)
    ]


_NIGHT_ENDS: Final = 5


def _within(clock: ClockPart, daytime: DaytimePart, *, is_dated: bool) -> ClockPart:
    hours = [hour for hour in (*clock.hours, *clock.others) if daytime.begin <= hour < daytime.end]
    if daytime.name == "night" and not hours:
        hours = [hour % 12 for hour in (*clock.hours, *clock.others) if hour % 12 < _NIGHT_ENDS]
        if hours and is_dated:
            raise NotUnderstood(
                f"{hours[0]:02}:{clock.minute:02} at night may be of this day or the next: name the day"
                " on which that hour is, without the night."
            )
    if not hours:
        told = " or ".join(f"{hour:02}:{clock.minute:02}" for hour in clock.hours)
        raise NotUnderstood(f"{told} is not in the {daytime.name}.")
    return ClockPart((hours[0],), clock.minute)


_DATED: Final = (DatePart, ShiftPart, InstantPart, RangePart, RulePart, UnclearPart)
_MOST_READINGS: Final = 24


def _stages(parts: Sequence[_Placed], now: datetime) -> list[list[list[_Placed]]]:
    """The ways to read them: the usual hours first, then those that are meant only if those are over.

    A time of day without a day is the next one.
    """
    usual, rare = (list(_combinations(parts, rare=rare)) for rare in (False, True))
    if any(isinstance(one.part, _DATED) for one in parts):
        return [usual, rare]
    today, tomorrow = (
        _Placed(-1, -1, DatePart((now.date() + timedelta(days=ahead),), is_exact=True)) for ahead in (0, 1)
    )
    return [
        [[today, *chosen] for chosen in usual],
        [*([today, *chosen] for chosen in rare), *([tomorrow, *chosen] for chosen in usual)],
    ]


def _combinations(parts: Sequence[_Placed], *, rare: bool) -> Iterator[list[_Placed]]:
    """Each way to read them, with one day and one hour for each part."""
    if rare and not any(isinstance(one.part, ClockPart) and one.part.others for one in parts):
        return
    for count, chosen in enumerate(product(*(_single(one, rare=rare) for one in parts))):
        if count == _MOST_READINGS:
            return
        yield list(chosen)


def _single(one: _Placed, *, rare: bool) -> list[_Placed]:
    match one.part:
        case DatePart(days=days):
            return [replace(one, part=replace(one.part, days=(day,))) for day in days]
        case ClockPart(hours=hours, others=others):
            return [
                replace(one, part=ClockPart((hour,), one.part.minute))
                for hour in (others or hours if rare else hours)
            ]
        case _:
            return [one]


def _is_past(meant: Understood, now: datetime) -> bool:
    match meant:
        case Moment(at=at):
            return at < now
        case Day(date=day):
            return day < now.date()
        case Range(end=end):
            return end <= now
        case Recurrence():
            return False


def _rewritten(text: str, parts: Sequence[_Placed], chosen: Sequence[_Placed], *, meant: Understood) -> str:
    """The text with this reading written out, so that it has no other."""
    if isinstance(meant, Moment) and is_twice(meant.at):
        first, last = min(one.start for one in parts), max(one.end for one in parts)
        return f"{text[:first]}{meant.at.isoformat()}{text[last:]}"
    placed = {one.start: one.part for one in chosen}
    added = placed.get(-1)
    for one in sorted(parts, key=lambda one: -one.start):
        match one.part, placed.get(one.start):
            case DatePart(days=days), DatePart(days=(day,)) if len(days) > 1:
                clear = f"{day.day} {MONTH_NAMES[day.month - 1]} {day.year}"
            case ClockPart(), ClockPart(hours=(hour,), minute=minute):
                clear = f"at {hour:02}:{minute:02}"
                if isinstance(added, DatePart):
                    day = added.days[0]
                    clear = f"{day.day} {MONTH_NAMES[day.month - 1]} {day.year} {clear}"
            case _:
                continue
        text = f"{text[: one.start]}{clear}{text[one.end :]}"
    return text.strip()


def _meant(parts: Sequence[Part], now: datetime) -> list[Understood]:
    """What the parts mean, each a single day or hour: mostly one thing, two for an hour that comes twice."""
    phrase, lead = Phrase(), ""
    for part in parts:
        if isinstance(part, LeadPart):
            lead = part.kind if part.kind != "and" or lead not in {"from", "until"} else lead
        else:
            phrase.take(part, lead)
            # "From Friday, 4 December": all of it is the beginning.
            lead = lead if isinstance(part, DatePart) else ""
    zone = phrase.one.get(ZonePart)
    if zone is not None:
        now = _in_zone(now, zone.name)
    if phrase.rules:
        return [recurrence_of(phrase, now)]
    found = _single_time(phrase, now)
    if zone is not None and zone.offset is not None:
        found = [one for one in found if not isinstance(one, Moment) or one.at.utcoffset() == zone.offset]
    return found


def _in_zone(now: datetime, name: str) -> datetime:
    try:
        return now.astimezone(UTC if name == "UTC" else ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise NotUnderstood(f"{name} is no time zone: give an IANA name such as Europe/Paris.") from None


def _single_time(phrase: Phrase, now: datetime) -> list[Understood]:
    shift, instant, days = (phrase.one.get(kind) for kind in (ShiftPart, InstantPart, RangePart))
    span, daytime = phrase.one.get(ClockSpanPart), phrase.one.get(DaytimePart)
    takes = phrase.one[DurationPart].takes if DurationPart in phrase.one else None
    if CountPart in phrase.one:
        raise NotUnderstood("Say how often it is: every day, or every 2nd Friday.")
    whole = [one for one in (shift, instant, days) if one is not None]
    if whole and (len(whole) > 1 or phrase.clocks or phrase.dates or span or daytime):
        if isinstance(days, RangePart) and (phrase.clocks or span or daytime) and len(whole) == 1:
            raise NotUnderstood("Name the day: this is more than one.")
        raise NotUnderstood("Two times are named here: give one.")
    if shift is not None:
        return _lasting(
            [Moment((now.astimezone(UTC) + shift.by).astimezone(now.tzinfo).replace(microsecond=0))], takes
        )
    if instant is not None:
        return _lasting(_instants(instant.at, now), takes)
    if days is not None:
        return [Range(midnight(days.start, now), midnight(days.end, now))]
    return _on_a_day(phrase, now, takes)


def _on_a_day(phrase: Phrase, now: datetime, takes: timedelta | None) -> list[Understood]:
    first, last = _first_and_last(phrase)
    if first is None:
        raise NotUnderstood("No day and no time was given: write it like Friday at 17:00.")
    days = (first, last or first)
    span, daytime = phrase.one.get(ClockSpanPart), phrase.one.get(DaytimePart)
    match phrase.clocks:
        case [clock] if last is None:
            return _lasting(moments_of(first, clock, now), takes)
        case [start, end]:
            return [_range(days, (start, end), now)]
        case [_, *_]:
            raise NotUnderstood("Two times are named here: give one.")
        case _:
            pass
    if span:
        return [_range(days, clocks, now) for clocks in spans_of(span)]
    if daytime:
        return [_range(days, (ClockPart((daytime.begin,)), ClockPart((daytime.end,))), now)]
    if takes is not None:
        raise NotUnderstood("Say at what time it begins.")
    return [Day(first)] if last is None else [_all_days(first, last, now)]


def _all_days(first: date, last: date, now: datetime) -> Range:
    if last < first:
        raise NotUnderstood(f"It would end on {day_words(last)}, before it begins on {day_words(first)}.")
    return Range(midnight(first, now), midnight(last + timedelta(days=1), now))


def _first_and_last(phrase: Phrase) -> tuple[date | None, date | None]:
    """The day, or the first and the last of several."""
    plain = [part for lead, part in phrase.dates if lead != "until"]
    ends = [part for lead, part in phrase.dates if lead == "until"]
    if not plain:
        plain, ends = ends, []
    if not plain:
        return None, None
    first, last = agreeing(plain), agreeing(ends) if ends else None
    if last is not None and last < first and all(one.weekday is not None for one in ends):
        # From Thursday to Monday.
        last += timedelta(days=7)
    return first, last


def _range(days: tuple[date, date], clocks: tuple[ClockPart, ClockPart], now: datetime) -> Range:
    (first, last), (start, end) = days, clocks
    begin, stop = local_time(first, start, now), local_time(last, end, now)
    if stop <= begin:
        raise NotUnderstood("It would end before it begins: give the day and time of its end.")
    return Range(begin, stop)


def _lasting(moments: Sequence[Moment], takes: timedelta | None) -> list[Understood]:
    if takes is None:
        return [*moments]
    return [Range(one.at, (one.at.astimezone(UTC) + takes).astimezone(one.at.tzinfo)) for one in moments]


def _instants(at: datetime, now: datetime) -> list[Moment]:
    at = at.replace(microsecond=0)
    if at.tzinfo is not None:
        try:
            return [Moment(at.astimezone(now.tzinfo))]
        except OverflowError:
            raise NotUnderstood("That is too far away.") from None
    return moments_of(at.date(), ClockPart((at.hour,), at.minute, seconds=at.second), now)


_FORMS: Final = (*DAY_FORMS, *CLOCK_FORMS, *RULE_FORMS)
