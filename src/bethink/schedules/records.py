"""What is kept of schedules: when something is to happen, what happened, and what its owner is told of it.

`Schedule` is the owner's wish; a `ScheduleRun` says that one due time was taken up, once over all processes;
a `Notice` is what the owner is told, and a `Delivery` its way out of the page: by push, e-mail or webhook.
"""

from __future__ import annotations

import hashlib
from typing import Final, Literal

import msgspec

from bethink.clock import hashed_id
from bethink.index import IndexItem
from bethink.store import Collection, Record

Action = Literal["remind", "run", "watch"]
Missed = Literal["once", "skip"]
Channel = Literal["page", "push", "email", "webhook"]
Way = Literal["page", "push", "email", "webhook", "conversation"]
Outcome = Literal["running", "done", "failed", "missed", "skipped", "waiting_for_approval", "unknown"]
NoticeKind = Literal["reminder", "result", "trouble"]
DeliveryState = Literal["waiting", "sent", "failed"]


class LastRun(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a schedule's last run; `at` is when it was due, in microseconds UTC."""

    outcome: Outcome
    at: int
    error: str = ""
    conversation: str = ""


class Schedule(Record, frozen=True, kw_only=True):
    """What is to happen, and when. Times are microseconds UTC.

    `action` says what: `remind` says `text`, `run` has an agent do what `text` asks, `watch` tells what
    changed in the page at `url`. It is due once, `at`; or by a `recurrence` (RRULE) that counts from the
    local time `start` in `zone`, an IANA name, "" for wherever its owner is. `next_at` is when it is due
    next, None while it is paused and once it is over. One that is snoozed is due at `snoozed_until`, and not
    before.

    `conversation` is where it was made, `results` its own one, made at its first result. `channels` are those
    by which its notices go beside the page; empty: by all that its owner has set up. `missed` says what
    becomes of a due time that Bethink slept through. What is `untrusted` was written while words from outside
    stood in the run.
    """

    title: str
    action: Action
    text: str
    created_at: int
    updated_at: int
    url: str = ""
    at: int | None = None
    start: str = ""
    recurrence: str = ""
    zone: str = ""
    next_at: int | None = None
    paused: bool = False
    snoozed_until: int | None = None
    conversation: str = ""
    results: str = ""
    channels: tuple[Channel, ...] = ()
    budget_tokens: int | None = None
    missed: Missed = "once"
    last: LastRun | None = None
    untrusted: bool = False


class ScheduleRun(Record, frozen=True, kw_only=True):
    """One due time, taken up. Its id is a digest of what was due and when: nobody takes it up twice.

    `schedule` is "" for a reminder of another feature's record, whose page is `link`. `is_open` is 1 until it
    ended; one that is open and whose `process` has ended broke off: what it did is not known. `late_us` is
    how long after its due time it began. `run` is the agent's run, `conversation` where its result stands,
    `notice` what its owner was told.
    """

    schedule: str
    due_at: int
    started_at: int
    ended_at: int | None = None
    is_open: int = 0
    outcome: Outcome = "running"
    process: str = ""
    run: str = ""
    conversation: str = ""
    notice: str = ""
    link: str = ""
    message: str = ""
    error: str = ""
    late_us: int = 0


class Notice(Record, frozen=True, kw_only=True):
    """What the owner is told: a reminder, what came of a schedule, or what did not reach them.

    `at` is when: at the end of quiet hours, if it came in them.
    `link` is an address of the page, `seen_at` None until they have seen it (`is_unseen` is 1 until then).
    """

    at: int
    title: str
    text: str
    kind: NoticeKind = "result"
    conversation: str = ""
    link: str = ""
    schedule: str = ""
    seen_at: int | None = None
    is_unseen: int = 1
    untrusted: bool = False


class Delivery(Record, frozen=True, kw_only=True):
    """A notice on its `way`: by a channel, or into its conversation while that is busy.

    Its id is what the receiver knows a repetition by. `to` is the browser's subscription that it is for.
    `next_at` is when it is tried next, None once it is over. `tries` counts those that began.
    """

    notice: str
    way: Way
    to: str = ""
    created_at: int
    next_at: int | None
    state: DeliveryState = "waiting"
    tries: int = 0
    ended_at: int | None = None
    error: str = ""


class WatchedPage(Record, frozen=True, kw_only=True):
    """What a watched page said last; its id is the schedule's. None of it is the owner's own word."""

    url: str
    title: str
    text: str
    at: int


class DeliverySettings(Record, frozen=True, kw_only=True):
    """Where an owner wants to be told; there is one, with the id `DELIVERY`.

    `quiet_hours` are as the setting of that name; None is that setting. `webhook_secret` and `vapid` (the key
    pair by which push services know this Bethink) are sealed.
    """

    email: str = ""
    webhook_url: str = ""
    webhook_secret: bytes = b""
    vapid: bytes = b""
    quiet_hours: str | None = None
    updated_at: int = 0


class PushSubscription(Record, frozen=True, kw_only=True):
    """Takes notices: `sealed` is its address and keys, as JSON, the id a digest of the address."""

    sealed: bytes
    host: str
    created_at: int


class ReminderMark(Record, frozen=True, kw_only=True):
    """Up to when the reminders of other features have been looked at; there is one, with the id `MARK`."""

    until: int


KIND: Final = "schedule"
"""Of schedules, in the index, in recall and in export files."""
DELIVERY: Final = "delivery"
MARK: Final = "reminders"

SCHEDULES: Final = Collection(
    "schedules", Schedule, ("next_at", "created_at"), scans=(("next_at",), ("created_at",))
)
SCHEDULE_RUNS: Final = Collection(
    "schedule_runs",
    ScheduleRun,
    ("schedule", "due_at", "is_open"),
    scans=(("schedule", "due_at"), ("is_open", "due_at"), ("due_at",)),
    searchable=False,
)
NOTICES: Final = Collection(
    "notices",
    Notice,
    ("at", "is_unseen", "schedule"),
    scans=(("at",), ("is_unseen", "at"), ("schedule",)),
    searchable=False,
)
DELIVERIES: Final = Collection(
    "deliveries",
    Delivery,
    ("notice", "next_at", "state", "created_at"),
    scans=(("next_at",), ("notice",), ("state", "created_at"), ("created_at",)),
    searchable=False,
)
WATCHED_PAGES: Final = Collection("watched_pages", WatchedPage, searchable=False)
DELIVERY_SETTINGS: Final = Collection("delivery_settings", DeliverySettings, searchable=False)
PUSH_SUBSCRIPTIONS: Final = Collection(
    "push_subscriptions", PushSubscription, ("created_at",), scans=(("created_at",),), searchable=False
)
REMINDER_MARKS: Final = Collection("reminder_marks", ReminderMark, searchable=False)


def item_of(schedule: Schedule) -> IndexItem:
    """What a schedule is found by."""
    said = "\n".join(part for part in (schedule.title, schedule.text, schedule.url) if part)
    return IndexItem(KIND, said, schedule.created_at)


def run_id(of: str, due_at: int) -> str:
    """The id of the run of a schedule or reminder at a due time: the same in every process."""
    return hashed_id(due_at, f"{of}\0{due_at}".encode())


def notice_id(of: str, due_at: int) -> str:
    """The id of what is told of a schedule or reminder at a due time."""
    return hashed_id(due_at, f"notice\0{of}\0{due_at}".encode())


def delivery_id(notice: Notice, way: Way, to: str = "") -> str:
    """The id of a notice's delivery: the same at each try."""
    return hashed_id(notice.at, f"{notice.id}\0{way}\0{to}".encode())


def push_id(endpoint: str) -> str:
    """The id of a browser's subscription."""
    return hashlib.blake2b(endpoint.encode(), digest_size=16).hexdigest()
