"""A busy person's calendar and tasks, made up: 10,000 events of which a tenth recur, and 10,000 tasks.

The same on every machine: a seed makes them. `ics` writes the events without a line of Bethink's own writer,
so that what another program reads of it says something about both.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.calendar.records import Event, Override, local, written
from bethink.calendar.series import upcoming, zone_of
from bethink.recurrence import next_start, rule_of, text_of
from bethink.tasks.records import CLOSED, Status, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

EVENTS: Final = 10_000
RECURRING: Final = 1_000
TASKS: Final = 10_000
FIRST: Final = datetime(2024, 1, 1)  # noqa: DTZ001 - local times
DAYS: Final = 5 * 365
CREATED_US: Final = 1_767_225_600_000_000
_SEED: Final = 16
_ZONES: Final = ("Europe/Berlin", "Europe/Berlin", "America/New_York", "Asia/Tokyo")
_WORDS: Final = tuple(
    """review planning dentist budget choir lesson call lunch interview training release report visit
    delivery walk workshop dinner meeting train flight concert class birthday cleaning""".split()  # noqa: SIM905 - read as a line
)
_PEOPLE: Final = ("Ada", "Bo", "Bruna", "Carlos", "Dana", "Emil", "Fatima", "Greta", "Hugo", "Ines")
_STATUSES: Final[tuple[Status, ...]] = (
    "done", "done", "archived", "todo", "todo", "in_progress", "backlog",
)  # fmt: skip
_RULES: Final = (
    "FREQ=DAILY;INTERVAL=3",
    "FREQ=WEEKLY;BYDAY=MO,WE,FR",
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU",
    "FREQ=WEEKLY",
    "FREQ=MONTHLY;BYDAY=2FR",
    "FREQ=MONTHLY;BYMONTHDAY=-1",
    "FREQ=MONTHLY",
    "FREQ=YEARLY",
    "FREQ=WEEKLY;COUNT=40",
    "FREQ=DAILY;INTERVAL=2;UNTIL=20300630T235959",
)


def events() -> Iterator[Event]:
    """The events; each tenth of them is a series, some of these with instances that are gone or moved."""
    rng = random.Random(_SEED)  # noqa: S311 - no secret
    for number in range(EVENTS):
        start = FIRST + timedelta(days=rng.randrange(DAYS), minutes=15 * rng.randrange(28, 80))
        length = timedelta(minutes=rng.choice([15, 30, 45, 60, 90]))
        whole = rng.random() < 0.05  # noqa: PLR2004 - a share of holidays and fairs
        if whole:
            start, length = datetime.combine(start.date(), datetime.min.time()), timedelta(days=1)
        event = Event(
            id=f"event-{number:05}",
            uid=f"event-{number:05}@bench",
            title=f"{rng.choice(_WORDS).capitalize()} with {rng.choice(_PEOPLE)} {number}",
            description=" ".join(rng.choices(_WORDS, k=12)),
            location=f"Room {rng.randrange(40)}",
            event_type=rng.choice(["meeting", "appointment", "personal"]),
            start=written(start, all_day=whole),
            end=written(start + length, all_day=whole),
            zone="" if whole else rng.choice(_ZONES),
            busy=not whole,
            reminders=(10,) if number % 7 == 0 else (),
            created_at=CREATED_US + number,
            updated_at=CREATED_US + number,
        )
        yield event if number % (EVENTS // RECURRING) else _series(event, rng)


def _series(event: Event, rng: random.Random) -> Event:
    rule = rule_of(rng.choice(_RULES))
    start = local(event.start)
    # What a rule says of its days must hold of its start, where programs differ.
    if rule.days or rule.month_days:
        start = next_start(rule, start, start) or start
    length = event.length
    values = {
        "start": written(start, all_day=event.all_day),
        "end": written(start + length, all_day=event.all_day),
        "recurrence": text_of(rule, all_day=event.all_day),
    }
    made = _with(event, values)
    if rng.random() < 0.2 and not event.all_day:  # noqa: PLR2004 - a fifth was changed
        return _with(made, _changes(made))
    return made


def _with(event: Event, values: Mapping[str, object]) -> Event:
    return msgspec.structs.replace(event, **values)


def _changes(event: Event) -> dict[str, object]:
    """One instance called off, and one moved by three hours."""
    second, third = islice(upcoming(event, local(event.start) + timedelta(minutes=1)), 2)
    moved = third + timedelta(hours=3)
    change = Override(
        at=written(third, all_day=False),
        start=written(moved, all_day=False),
        end=written(moved + event.length, all_day=False),
        title=f"{event.title} (moved)",
    )
    return {"exdates": (written(second, all_day=False),), "overrides": (change,)}


def tasks() -> Iterator[Task]:
    """The tasks: half are done, most have a day."""
    rng = random.Random(_SEED)  # noqa: S311 - no secret
    for number in range(TASKS):
        day = FIRST + timedelta(days=rng.randrange(DAYS))
        status: Status = rng.choice(_STATUSES)
        yield Task(
            id=f"task-{number:05}",
            uid=f"task-{number:05}@bench",
            title=f"{rng.choice(_WORDS).capitalize()} for {rng.choice(_PEOPLE)} {number}",
            description=" ".join(rng.choices(_WORDS, k=10)),
            status=status,
            due=f"{day:%Y-%m-%d}" if rng.random() < 0.8 else None,  # noqa: PLR2004 - some have none
            tags=tuple(rng.sample(_WORDS, 2)),
            position=number << 32,
            created_at=CREATED_US + number,
            updated_at=CREATED_US + number,
            done_at=CREATED_US + number * 1_000_000 if status in CLOSED else None,
        )


def ics(made: Sequence[Event]) -> str:
    """The events as iCalendar, as plainly as can be; zones by their IANA names."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//bench//bench//EN"]
    for event in made:
        lines += _component(event)
    return "\r\n".join([*lines, "END:VCALENDAR", ""])


def _component(event: Event) -> Iterator[str]:
    yield from ("BEGIN:VEVENT", f"UID:{event.uid}", "DTSTAMP:20260101T000000Z", f"SUMMARY:{event.title}")
    yield f"DESCRIPTION:{event.description}"
    yield _time("DTSTART", event.start, event.zone)
    yield _time("DTEND", event.end, event.zone)
    if event.recurrence:
        zone = zone_of(event.zone) if event.zone else None
        yield f"RRULE:{text_of(rule_of(event.recurrence), zone, all_day=event.all_day)}"
    for one in event.exdates:
        yield _time("EXDATE", one, event.zone)
    yield "END:VEVENT"
    for one in event.overrides:
        yield from ("BEGIN:VEVENT", f"UID:{event.uid}", "DTSTAMP:20260101T000000Z", f"SUMMARY:{one.title}")
        yield _time("RECURRENCE-ID", one.at, event.zone)
        yield _time("DTSTART", one.start or "", event.zone)
        yield _time("DTEND", one.end or "", event.zone)
        yield "END:VEVENT"


def _time(name: str, text: str, zone: str) -> str:
    plain = text.replace("-", "").replace(":", "")
    if "T" not in plain:
        return f"{name};VALUE=DATE:{plain}"
    return f"{name};TZID={zone}:{plain}" if zone else f"{name}:{plain}"
