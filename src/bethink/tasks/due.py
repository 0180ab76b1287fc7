"""When a task is due: from words, in words, when it reminds, and when the next one of a recurring task is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.clock import shown_in, to_datetime, to_us, zone_of
from bethink.errors import BadInput, NotUnderstood
from bethink.recurrence import kept_rule, next_start, rule_of, starts, text_of
from bethink.recurrence import words as words_of_rule
from bethink.when.meanings import Day, Moment, Range, Recurrence, Understood, day_words
from bethink.when.moments import understood

if TYPE_CHECKING:
    from bethink.tasks.records import Task

_REMINDS_AT: Final = time(9)
"""What is due on a day, and at no time, reminds in the morning."""
_MOST_PASSED: Final = 100_000
_INSTANT: Final = timedelta(microseconds=1)


def in_exact_terms(
    given: Mapping[str, Any], now: datetime, before: Task | None = None
) -> tuple[dict[str, Any], str]:
    """The fields with words of time made dates, times and rules; and what was understood, in words.

    `before` is the task that they change: a rule that names no time leaves it due as it is.

    Raises:
        Ambiguous, NotUnderstood: the words have several meanings, or none.
    """
    exact = dict(given)
    told: list[str] = []
    for name in ("due_date", "due_at"):
        value = exact.get(name)
        if isinstance(value, str) and value.strip():
            del exact[name]
            meant = understood(value, _in_zone(exact.pop("zone", None), now))
            exact |= due_fields(meant, exact)
            told.append(meant.words if isinstance(meant, Recurrence) else f"due {meant.words}")
    rule = exact.get("recurrence")
    if isinstance(rule, str) and rule.strip() and "FREQ=" not in rule.upper():
        meant = understood(rule, now)
        if not isinstance(meant, Recurrence):
            raise NotUnderstood(f"recurrence: “{rule}” says no rule: write it like every 2nd Friday.")
        found = due_fields(meant, {})
        is_due = before is not None and before.due is not None and not isinstance(meant.start, datetime)
        if is_due or {"due_date", "due_at"} & exact.keys():
            found = {name: value for name, value in found.items() if name.startswith("recur")}
        exact |= found
        told.append(meant.rule_words if is_due else meant.words)
    return exact, "; ".join(told)


def days_of(words: str, now: datetime) -> tuple[date, date]:
    """The days that words name, from the first to before the second.

    Raises:
        BadInput: they name none.
    """
    meant = understood(words, now)
    match meant:
        case Day():
            return meant.date, meant.date + timedelta(days=1)
        case Moment():
            return meant.at.date(), meant.at.date() + timedelta(days=1)
        case Range():
            last = (meant.end - _INSTANT).date()
            return meant.start.date(), last + timedelta(days=1)
        case Recurrence():
            raise NotUnderstood(
                "due: give overdue, today, week, none, a day, or some days such as next week."
            )


def _in_zone(zone: object, now: datetime) -> datetime:
    if not isinstance(zone, str) or not zone:
        return now
    try:
        return now.astimezone(zone_of(zone))
    except (ValueError, OSError, KeyError):
        raise BadInput(f"zone: {zone[:40]!r} is none: give a name such as Europe/Paris.") from None


def due_fields(meant: Understood, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a time is.

    Raises:
        NotUnderstood: it is more than one day.
    """
    match meant:
        case Day():
            return {"due_date": meant.date.isoformat()}
        case Moment():
            return {"due_at": meant.at, "zone": str(meant.at.tzinfo)}
        case Range():
            raise NotUnderstood(
                f"{meant.words} is no one time: say the day, or the time, by which it is due."
            )
        case Recurrence():
            fields: dict[str, Any] = {} if given.get("recurrence") else {"recurrence": meant.rule}
            if meant.after_done:
                fields["recurs_from"] = "done"
            match meant.start:
                case datetime():
                    return fields | {"due_at": meant.start, "zone": str(meant.start.tzinfo)}
                case date():
                    return fields | {"due_date": meant.start.isoformat()}
                case None:
                    return fields


def with_rule(task: Task, now: datetime) -> Task:
    """The task with its rule as it is kept; one that recurs is due for the first time when the rule says.

    Raises:
        BadInput: the rule is none, or never happens.
    """
    if task.recurrence is None:
        return task
    if task.due is None:
        start = datetime.combine(now.date(), time())
        first = next_start(rule_of(task.recurrence), start, start)
        if first is None:
            raise BadInput("recurrence: this never happens, no day fits all of its parts.")
        task = msgspec.structs.replace(task, due=first.date().isoformat())
    due, is_day = _local(task)
    zone = zone_of(task.zone) if task.zone else now.tzinfo or UTC
    rule = kept_rule(task.recurrence or "", due, zone, all_day=is_day)
    return msgspec.structs.replace(task, recurrence=rule)


def _local(task: Task) -> tuple[datetime, bool]:
    """When it is due, as a local time, and whether that is a day."""
    due = datetime.fromisoformat(task.due or "")
    return due, "T" not in (task.due or "")


def next_due(task: Task, now: datetime) -> tuple[str, str] | None:
    """When the next one of a recurring task is due, and its rule; None if it was the last.

    Counted from the day it was due, missed ones are left out: the next one is not over.
    """
    if task.recurrence is None or task.due is None:
        return None
    rule = rule_of(task.recurrence)
    start, is_day = _local(task)
    local_now = now.astimezone(zone_of(task.zone)) if task.zone else now
    today = datetime.combine(local_now.date(), time())
    if task.recurs_from == "done":
        start = datetime.combine(today.date(), start.time())
        found = next_start(rule, start, start + _INSTANT)
    else:
        found = next_start(
            rule, start, max(start + _INSTANT, today if is_day else local_now.replace(tzinfo=None))
        )
    if found is None:
        return None
    if rule.count is not None:
        passed = sum(1 for _ in islice(starts(rule, start, low=start, high=found), _MOST_PASSED))
        left = rule.count - max(1, passed)
        if left < 1:
            return None
        rule = replace(rule, count=left)
    return found.date().isoformat() if is_day else found.isoformat(), text_of(rule, all_day=is_day)


def due_day(task: Task, now: datetime) -> date | None:
    """The day on which a task is due, as its owner's calendar has it; `now` is in their zone."""
    if task.due is None:
        return None
    if "T" not in task.due or not task.zone or task.zone == str(now.tzinfo):
        return date.fromisoformat(task.due[:10])
    moment = datetime.fromisoformat(task.due).replace(tzinfo=zone_of(task.zone))
    return moment.astimezone(now.tzinfo).date()


def is_overdue(task: Task, now: datetime) -> bool:
    """Whether it should have been done: a day is over when it ends."""
    if task.due is None or not task.is_open:
        return False
    at = task.due_at(str(now.tzinfo))
    if at is None:
        return date.fromisoformat(task.due) < now.date()
    return to_datetime(at) < now


def due_words(task: Task, now: datetime) -> str | None:
    """When it is due, in words and in the owner's zone; the time in another zone, if it was meant there."""
    at = task.due_at(str(now.tzinfo))
    if task.due is None or at is None:
        return None if task.due is None else day_words(date.fromisoformat(task.due))
    local = shown_in(now.tzinfo or UTC, to_datetime(at))
    words = f"{day_words(local.date())}, {local:%H:%M}"
    if task.zone and task.zone != str(now.tzinfo):
        words += f" ({datetime.fromisoformat(task.due):%H:%M} in {task.zone})"
    return words


def shown(task: Task, now: datetime, due_at: str | None) -> dict[str, Any]:
    """What programs are told of a task, beside `due_at` as they read times."""
    return {
        "id": task.id,
        "title": task.title,
        "description": task.description,
        "status": task.status,
        "priority": task.priority,
        "due_date": task.due_date,
        "due_at": due_at,
        "due_words": due_words(task, now),
        "overdue": is_overdue(task, now),
        "tags": list(task.tags),
        "estimated_hours": task.estimated_hours,
        "project": task.project,
        "parent": task.parent,
        "depends_on": list(task.depends_on),
        "recurrence": task.recurrence,
    }


def recurrence_words(task: Task) -> str | None:
    """How often it comes again, in words."""
    if task.recurrence is None:
        return None
    try:
        words = words_of_rule(task.recurrence)
    except BadInput:
        words = task.recurrence
    return f"{words}, after it is done" if task.recurs_from == "done" else words


def reminder_moments(task: Task, time_zone: str) -> list[tuple[int, int]]:
    """When an open task reminds, microseconds UTC, and how many minutes before it is due that is."""
    if task.due is None or not task.is_open:
        return []
    at = task.due_at(time_zone)
    if at is None:
        day = datetime.combine(date.fromisoformat(task.due), _REMINDS_AT, zone_of(time_zone))
        at = to_us(day)
    return [(at - minutes * 60_000_000, minutes) for minutes in task.reminders]
