"""The record of an event: what was meant (local times and a zone), and the keys by which ranges are read.

An event of a series stands in one record with its series: the rule, dates more and fewer, and what is
different about single instances (`Override`). An `Instance` is one time at which an event happens.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple

import msgspec

from bethink.clock import to_us
from bethink.field_checks import RecordLink
from bethink.index import IndexItem
from bethink.recurrence import last_start, rule_of
from bethink.store import Collection, Record

KIND: Final = "event"
Status = Literal["confirmed", "tentative", "cancelled"]
_DATE_CHARS: Final = 10
LONG: Final = timedelta(days=7)
"""An event that takes longer is looked for by its end, as series are."""
_FOR_EVER: Final = 2**62


class Attendee(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who is asked to come; `status` is needs-action, accepted, declined or tentative."""

    name: str = ""
    email: str = ""
    status: str = "needs-action"


class Override(msgspec.Struct, frozen=True, kw_only=True):
    """What is different about the instance of a series that the rule puts at the local time `at`.

    What is None is as in the series. `extra` are lines of iCalendar that nothing else keeps.
    """

    at: str
    start: str | None = None
    end: str | None = None
    title: str | None = None
    description: str | None = None
    location: str | None = None
    event_type: str | None = None
    status: Status | None = None
    busy: bool | None = None
    attendees: tuple[Attendee, ...] | None = None
    reminders: tuple[int, ...] | None = None
    extra: str = ""


class Event(Record, frozen=True, kw_only=True):
    """One event, or a series with all that belongs to it.

    `start` and `end` (exclusive) are local: `2026-12-04T09:00:00`, or `2026-12-04` for an event of whole
    days. They are meant in `zone`, an IANA name; with "" in the owner's zone, whatever that is. `reminders`
    are minutes before the start. `recurrence` is a rule (RFC 5545) whose UNTIL is local, `rdates` and
    `exdates` are local times. A `busy` event takes up its time. `extra` are lines of iCalendar that nothing
    else keeps, `conversation` is where it was made. Times of changes are microseconds UTC. What is
    `untrusted` was written, in part at least, when words from outside stood in the run.
    """

    uid: str
    title: str
    start: str
    end: str
    zone: str = ""
    description: str = ""
    location: str = ""
    event_type: str = "other"
    status: Status = "confirmed"
    busy: bool = True
    attendees: tuple[Attendee, ...] = ()
    reminders: tuple[int, ...] = ()
    recurrence: str = ""
    rdates: tuple[str, ...] = ()
    exdates: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    categories: tuple[str, ...] = ()
    links: tuple[RecordLink, ...] = ()
    color: str = ""
    conversation: str | None = None
    created_at: int
    updated_at: int
    sequence: int = 0
    untrusted: bool = False
    extra: str = ""

    @property
    def all_day(self) -> bool:
        """Whether it takes whole days."""
        return len(self.start) == _DATE_CHARS

    @property
    def is_series(self) -> bool:
        """Whether it happens more than once."""
        return bool(self.recurrence or self.rdates)

    @property
    def length(self) -> timedelta:
        """How long it takes by the clock on the wall."""
        return local(self.end) - local(self.start)

    # Keys. They are local times read as UTC: a range is scanned with a day more at both ends, and exact
    # times are worked out then. So nothing moves in the store when a zone, or the owner's zone, changes.

    @property
    def lasting(self) -> int:
        """1 for what is found by its end: a series, or an event of more than a week."""
        return int(self.is_series or self.length > LONG)

    @property
    def reminding(self) -> int:
        """1 for what has reminders, in any instance."""
        return int(bool(self.reminders or any(one.reminders for one in self.overrides)))

    @property
    def begins(self) -> int:
        """The local start of the earliest instance, as if it were UTC, in microseconds."""
        moved = [one.start for one in self.overrides if one.start]
        return min(key_of(one) for one in (self.start, *self.rdates, *moved))

    @property
    def ends(self) -> int:
        """The same of the end of the last instance; far in the future without one."""
        last = local(self.start)
        if self.recurrence:
            found = last_start(rule_of(self.recurrence), last)
            if found is None:
                return _FOR_EVER
            last = max(last, found)
        last = max([last, *map(local, self.rdates)])
        moved = [key_of(one.end) for one in self.overrides if one.end]
        return max([to_us((last + self.length).replace(tzinfo=UTC)), *moved])


EVENTS: Final = Collection(
    "events",
    Event,
    ("lasting", "reminding", "begins", "ends", "uid", "created_at"),
    scans=(("lasting", "begins"), ("lasting", "ends"), ("reminding", "ends"), ("uid",), ("created_at",)),
)


class EventUndo(Record, frozen=True, kw_only=True):
    """A change that can be taken back: the events as they were, and digests of what it left of each.

    `made` are the ids of events that the change made, with digests as well: taking it back removes them. A
    digest of "" says that nothing was left. `at` is microseconds UTC.
    """

    at: int
    before: tuple[Event, ...] = ()
    left: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    made_left: tuple[str, ...] = ()


def digest_of(event: Event | None) -> str:
    """What tells an event from any other state of it: two changes that are undone in turn lead back."""
    if event is None:
        return ""
    return hashlib.blake2b(msgspec.json.encode(event), digest_size=16).hexdigest()


UNDO: Final = Collection("event_undo", EventUndo, ("at",), scans=(("at",),), searchable=False)


def index_item(event: Event) -> IndexItem:
    """What an event is found by: what it says, with all that is different about single instances."""
    said = [event.title, event.description, event.location, event.event_type, *event.categories]
    said += [part for one in event.attendees for part in (one.name, one.email)]
    said += [text for one in event.overrides for text in (one.title, one.description, one.location) if text]
    return IndexItem(
        KIND, "\n".join(part for part in said if part), event.created_at, conversation=event.conversation
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One time at which an event happens, as it is then: times local, and in microseconds UTC.

    `id` is the event's, with `@` and the local time that the rule gives behind it in a series.
    """

    id: str
    event: Event
    version: int
    at: str
    title: str
    description: str
    location: str
    event_type: str
    status: Status
    busy: bool
    attendees: tuple[Attendee, ...]
    reminders: tuple[int, ...]
    start: str
    end: str
    starts_at: int
    ends_at: int
    is_changed: bool = False

    @property
    def all_day(self) -> bool:
        """Whether it takes whole days."""
        return len(self.start) == _DATE_CHARS

    @property
    def blocks(self) -> bool:
        """Whether it takes up its time."""
        return self.busy and self.status != "cancelled"


class InstanceSpan(NamedTuple):
    """The time that an instance takes up, in microseconds UTC; `start` is what its rule gives, local."""

    starts_at: int
    ends_at: int
    event: Event
    start: datetime
    version: int

    @property
    def at(self) -> str:
        """The same as text."""
        return written(self.start, all_day=self.event.all_day)


def local(text: str) -> datetime:
    """The local time of a record, without a zone; midnight of a date."""
    return datetime.fromisoformat(text)


def key_of(text: str) -> int:
    """The same as if it were UTC, in microseconds."""
    return to_us(local(text).replace(tzinfo=UTC))


def written(moment: datetime, *, all_day: bool) -> str:
    """A local time as records have it."""
    return moment.date().isoformat() if all_day else moment.replace(microsecond=0).isoformat()


_FORMAL: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T.*)?$|(?:RRULE:)?FREQ=", re.IGNORECASE)


def is_words(value: object) -> bool:
    """Whether a time or a rule is said in words: no ISO 8601, and no RRULE."""
    return isinstance(value, str) and bool(value.strip()) and not _FORMAL.match(value.strip())
