"""The parts of one time, put in order, and the one day or span that several of them say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final

from bethink.errors import NotUnderstood
from bethink.when.meanings import day_words
from bethink.when.parts import ClockPart, ClockSpanPart, DatePart, Part, RulePart, shifted
from bethink.when.vocabulary import WEEKDAY_NAMES


@dataclass(slots=True)
class Phrase:
    """The parts of one time, by what they say; dates and clocks with the word that led to them."""

    dates: list[tuple[str, DatePart]] = field(default_factory=list[tuple[str, DatePart]])
    clocks: list[ClockPart] = field(default_factory=list[ClockPart])
    clock_lead: str = ""
    rules: list[RulePart] = field(default_factory=list[RulePart])
    one: dict[type[Any], Any] = field(default_factory=dict[type[Any], Any])

    def take(self, part: Part, lead: str) -> None:
        """Take in a part.

        Raises:
            NotUnderstood: something is said twice.
        """
        match part:
            case DatePart():
                self.dates.append((lead, part))
            case ClockPart():
                if self.clocks and lead != "until" and self.clock_lead != "from":
                    raise NotUnderstood("Two times are named here: give one.")
                self.clock_lead = self.clock_lead or lead
                self.clocks.append(part)
            case RulePart():
                self.rules.append(part)
            case _:
                if type(part) in self.one:
                    raise NotUnderstood("Two times are named here: give one.")
                self.one[type(part)] = part


def agreeing(dates: Sequence[DatePart]) -> date:
    """The day that all of them say: "Friday, 4 December".

    Raises:
        NotUnderstood: they say different ones.
    """
    exact = [one for one in dates if one.weekday is None] or list(dates[:1])
    day = _on_weekday(exact[0], next((one.weekday for one in dates if one.weekday is not None), None))
    for one in dates:
        if one.weekday is not None and one.weekday != day.weekday():
            raise NotUnderstood(
                f"{day_words(day)} is no {WEEKDAY_NAMES[one.weekday]}: which of the two is meant?"
            )
        if one.weekday is None and one is not exact[0] and one.days[0] != day:
            raise NotUnderstood(
                f"Two days are named, {day_words(day)} and {day_words(one.days[0])}: give one."
            )
    return day


def _on_weekday(part: DatePart, number: int | None) -> date:
    """The day; of one that names no month the next on this weekday: Friday the 13th."""
    day = part.days[0]
    if part.is_exact or part.day is None or part.month is not None or number is None:
        return day
    months = (shifted(day.replace(day=1), ahead) for ahead in range(_MONTHS_AHEAD))
    days = (first + timedelta(days=part.day - 1) for first in months)
    return next((one for one in days if one.day == part.day and one.weekday() == number), day)


_MONTHS_AHEAD: Final = 12 * 7
"""Every day of a month falls on every weekday within that time, a 31st too."""


def spans_of(span: ClockSpanPart) -> list[tuple[ClockPart, ClockPart]]:
    """From when to when: the usual hours if they fit, else those in which it ends behind its beginning."""

    def fitting(starts: Sequence[int], ends: Sequence[int]) -> list[tuple[ClockPart, ClockPart]]:
        return [
            (ClockPart((start,), span.start.minute), ClockPart((end,), span.end.minute))
            for start in starts
            for end in ends
            if (start, span.start.minute) < (end, span.end.minute)
        ]

    start, end = span.start, span.end
    found = (
        fitting(start.hours, end.hours)
        or fitting(start.hours, end.others)
        or fitting(start.others, end.hours)
    )
    if not found:
        raise NotUnderstood("It would end before it begins: give the day and time of its end.")
    return found
