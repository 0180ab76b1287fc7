"""The record of a task, what each field must be, and how a task is deleted so that it can come back.

When a task is due is kept as it was meant: a day, or a local time with its zone. `due_at` is the moment
that this is, and moves with the rules of the zone, never by itself.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime
from typing import Final, Literal, get_args
from zoneinfo import ZoneInfo

import msgspec

from bethink.clock import to_us
from bethink.field_checks import RecordLink
from bethink.index import IndexItem
from bethink.store import Collection, Record

Status = Literal["backlog", "todo", "in_progress", "blocked", "done", "archived"]
Priority = Literal["low", "medium", "high", "urgent"]

STATUSES: Final = get_args(Status)
OPEN: Final = ("backlog", "todo", "in_progress", "blocked")
"""What is still to be done."""
CLOSED: Final = ("done", "archived")
PRIORITIES: Final = get_args(Priority)
LINK_KINDS: Final = ("conversation", "message", "fact", "page", "document", "event")

KIND: Final = "task"
MAX_TITLE: Final = 160
MAX_TAGS: Final = 30
MAX_TAG: Final = 32
"""Limits of titles and tags (U11)."""
MAX_DESCRIPTION: Final = 20_000
MAX_PROJECT: Final = 200
MAX_NEEDED: Final = 50
MAX_HOURS: Final = 10_000.0
MAX_EXTRA: Final = 100_000


class Task(Record, frozen=True, kw_only=True):
    """Something to do.

    `due` is a day (YYYY-MM-DD) or a local time (YYYY-MM-DDTHH:MM:SS) of the IANA `zone`; with "" it is one of
    the owner's zone, whichever that is. `parent` is the task that it is a part of, `depends_on` those that
    come first. `recurrence` is an RRULE: once done, the next one is made, from the day it was due or done.
    `reminders` are minutes before it is due; `position` orders a column of the board. `conversation` is where
    it was made. `extra` are lines of another program's calendar that are kept for it. Times are microseconds
    UTC. What is `untrusted` was written, in part at least, when words from outside stood in the run.
    """

    uid: str
    title: str
    created_at: int
    updated_at: int
    description: str = ""
    status: Status = "todo"
    priority: Priority = "medium"
    due: str | None = None
    zone: str = ""
    tags: tuple[str, ...] = ()
    estimated_hours: float | None = None
    project: str | None = None
    parent: str | None = None
    depends_on: tuple[str, ...] = ()
    links: tuple[RecordLink, ...] = ()
    recurrence: str | None = None
    recurs_from: Literal["due", "done"] = "due"
    reminders: tuple[int, ...] = ()
    position: int = 0
    done_at: int | None = None
    conversation: str | None = None
    untrusted: bool = False
    extra: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it is still to be done."""
        return self.status in OPEN

    @property
    def due_date(self) -> str | None:
        """The day on which it is due, if it has no time."""
        return self.due if self.due is not None and "T" not in self.due else None

    @property
    def due_key(self) -> int | None:
        """What it is ordered by: its local time as if it were UTC; a day comes at its end."""
        if self.due is None:
            return None
        if "T" not in self.due:
            return to_us(datetime.combine(date.fromisoformat(self.due), _LAST, UTC))
        return to_us(datetime.fromisoformat(self.due).replace(tzinfo=UTC))

    @property
    def reminds_from(self) -> int | None:
        """About when an open task reminds first: as `due_key`, less its longest reminder."""
        if not self.reminders or not self.is_open or self.due_key is None:
            return None
        return self.due_key - max(self.reminders) * 60_000_000

    def due_at(self, time_zone: str) -> int | None:
        """The moment at which it is due, microseconds UTC; None for a day. `time_zone` is the owner's."""
        if self.due is None or "T" not in self.due:
            return None
        return to_us(datetime.fromisoformat(self.due).replace(tzinfo=ZoneInfo(self.zone or time_zone)))


_LAST = datetime.max.time().replace(microsecond=0)


class TaskUndo(Record, frozen=True, kw_only=True):
    """A change that can be taken back: the tasks as they were, and the digest of what it left of each.

    `made` are the ids of tasks that the change made, and `made_left` what it left of those: taking it back
    removes them. The digest of what was deleted is "".
    """

    at: int
    before: tuple[Task, ...] = ()
    left: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    made_left: tuple[str, ...] = ()


TASKS: Final = Collection(
    "tasks",
    Task,
    ("status", "position", "due_key", "parent", "uid", "created_at", "reminds_from"),
    scans=(
        ("status", "position"),
        ("status", "due_key"),
        ("parent", "created_at"),
        ("uid",),
        ("created_at",),
        ("reminds_from",),
    ),
)
UNDO: Final = Collection("task_undo", TaskUndo, ("at",), scans=(("at",),), searchable=False)


def digest_of(task: Task | None) -> str:
    """Tells one state of a task from all others; "" for none."""
    if task is None:
        return ""
    return hashlib.blake2b(msgspec.json.encode(task), digest_size=12).hexdigest()


def index_item(task: Task) -> IndexItem:
    """What a task is found by."""
    tags = " ".join(task.tags)
    text = "\n".join(part for part in (task.title, task.description, task.project, tags) if part)
    return IndexItem(KIND, text, task.created_at, conversation=task.conversation, project=task.project)
