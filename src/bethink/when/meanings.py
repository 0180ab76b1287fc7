"""What words of time mean: a moment, a day, a range, a recurrence; and local times made moments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias

from bethink.errors import NotUnderstood
from bethink.when.vocabulary import MONTH_NAMES, WEEKDAY_NAMES

if TYPE_CHECKING:
    from bethink.when.parts import ClockPart


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment; `at` is aware, in the zone that was meant."""

    at: datetime
    kind: Literal["moment"] = "moment"

    @property
    def words(self) -> str:
        """As a person reads it."""
        return f"{day_words(self.at.date())}, {self.at:%H:%M} ({zone_name(self.at)})"


@dataclass(frozen=True, slots=True)
class Day:
    """A day, in no zone."""

    date: date
    kind: Literal["day"] = "day"

    @property
    def words(self) -> str:
        """As a person reads it."""
        return day_words(self.date)


@dataclass(frozen=True, slots=True)
class Range:
    """From `start` to before `end`, both aware."""

    start: datetime
    end: datetime
    kind: Literal["range"] = "range"

    @property
    def is_days(self) -> bool:
        """Whether it begins and ends at midnight."""
        return self.start.time() == self.end.time() == time()

    @property
    def words(self) -> str:
        """As a person reads it."""
        if self.is_days:
            return f"{day_words(self.start.date())} to {day_words(self.end.date() - timedelta(days=1))}"
        end = f"{self.end:%H:%M}"
        if self.end.date() != self.start.date():
            end = f"{day_words(self.end.date())}, {end}"
        return f"{day_words(self.start.date())}, {self.start:%H:%M} to {end} ({zone_name(self.start)})"


@dataclass(frozen=True, slots=True)
class Recurrence:
    """What recurs by an RRULE, first at `start`: an aware moment, or a day.

    `start` is None for a rule that was given as one. `takes` is how long each lasts, if that was said;
    `after_done` counts from when the one before it was done.
    """

    rule: str
    start: datetime | date | None
    takes: timedelta | None = None
    after_done: bool = False
    rule_words: str = ""
    kind: Literal["recurrence"] = "recurrence"

    @property
    def words(self) -> str:
        """As a person reads it."""
        match self.start:
            case datetime():
                first = f", from {day_words(self.start.date())} ({zone_name(self.start)})"
            case date():
                first = f", from {day_words(self.start)}"
            case None:
                first = ""
        return f"{self.rule_words or self.rule}{first}"


Understood: TypeAlias = Moment | Day | Range | Recurrence


def naive_time(day: date, clock: ClockPart) -> datetime:
    """The local time; an hour of 24 or more is one of the next day."""
    hour = clock.hours[0]
    try:
        return datetime.combine(day, time(), None) + timedelta(
            hours=hour, minutes=clock.minute, seconds=clock.seconds
        )
    except OverflowError:
        raise NotUnderstood("That is too far away.") from None


def local_time(day: date, clock: ClockPart, now: datetime) -> datetime:
    """The time in the zone of `now`; one that the clocks leave out is as much later."""
    aware = naive_time(day, clock).replace(tzinfo=now.tzinfo)
    return aware.astimezone(UTC).astimezone(now.tzinfo)


def moments_of(day: date, clock: ClockPart, now: datetime) -> list[Moment]:
    """The moment at which clocks show this; there are two if they are put back over it.

    Raises:
        NotUnderstood: they are put forward over it.
    """
    naive = naive_time(day, clock)
    both = [naive.replace(tzinfo=now.tzinfo, fold=fold) for fold in (0, 1)]
    shown = [one.astimezone(UTC).astimezone(now.tzinfo) for one in both]
    if both[0].utcoffset() == both[1].utcoffset():
        return [Moment(both[0])]
    if all(one.replace(tzinfo=None) != naive for one in shown):
        raise NotUnderstood(
            f"There is no {naive:%H:%M} on {day_words(naive.date())} in {now.tzinfo}: the clocks are put"
            f" forward then. {shown[0]:%H:%M} comes in its place."
        )
    return [Moment(one) for one in shown]


def is_twice(at: datetime) -> bool:
    """Whether clocks show this time twice, since they are put back over it."""
    if at.utcoffset() == at.replace(fold=1 - at.fold).utcoffset():
        return False
    return at.astimezone(UTC).astimezone(at.tzinfo).replace(tzinfo=None) == at.replace(tzinfo=None)


def midnight(day: date, now: datetime) -> datetime:
    """Where a day begins."""
    return datetime.combine(day, time(), now.tzinfo)


def day_words(day: date) -> str:
    """A day as a person reads it."""
    return f"{WEEKDAY_NAMES[day.weekday()]}, {day.day} {MONTH_NAMES[day.month - 1]} {day.year}"


def zone_name(at: datetime) -> str:
    """The zone, with its offset if clocks show this time twice."""
    name = str(at.tzinfo)
    if not is_twice(at):
        return name
    offset = at.strftime("%z")
    return f"{name}, UTC{offset[:3]}:{offset[3:]}"
