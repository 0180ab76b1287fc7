"""The feature of tasks: how they are recalled, forgotten, exported and imported, and what goes by itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import msgspec

from bethink.clock import checked_id, rfc3339, to_datetime, with_times
from bethink.feature import DueReminder, Feature, OpenFeature, Recallable, RecallKind, RetentionRule
from bethink.field_checks import MAX_REMINDER_MINUTES
from bethink.forgettable import FORGOTTEN
from bethink.record_texts import RecordLines, RecordTexts, of_document
from bethink.settings.live import follows
from bethink.store import OWES_SCRUB, Delete, Scan, items_of, records_of, scrub
from bethink.tasks.due import due_day, due_words, is_overdue, reminder_moments
from bethink.tasks.fields import checked
from bethink.tasks.records import KIND, PRIORITIES, STATUSES, TASKS, UNDO, Task, index_item
from bethink.tasks.service import Tasks, column
from bethink.tasks.vtodo import TaskComponents

if TYPE_CHECKING:
    from bethink.feature import Surroundings
    from bethink.principal import OnBehalfOf, Principal
from bethink.store import Store

_PAGE: Final = 500
_IMPORTANCE: Final = {"low": 0.3, "medium": 0.5, "high": 0.7, "urgent": 0.9}
_DONE_IMPORTANCE: Final = 0.3


def recallable(task: Task) -> Recallable:
    """What recall shows of a task: what it says, its state, and when it is due."""
    told = [f"Task ({task.status.replace('_', ' ')}): {task.title}"]
    if task.due is not None:
        told.append(f"Due {task.due.replace('T', ' ')}{f' ({task.zone})' if task.zone else ''}.")
    if task.project:
        told.append(f"Project: {task.project}.")
    if task.tags:
        told.append(f"Tags: {', '.join(task.tags)}.")
    if task.description:
        told.append(task.description)
    return Recallable(
        "\n".join(told),
        task.created_at,
        _IMPORTANCE[task.priority] if task.is_open else _DONE_IMPORTANCE,
        source=f"task:{task.id}",
        title=task.title,
        conversation=task.conversation,
        untrusted=task.untrusted,
    )


_SENTENCES: Final = frozenset(("title", "description"))


def _texts(store: Store) -> RecordTexts[Task]:
    return RecordTexts(
        store=store,
        collection=TASKS,
        kind="tasks",
        one="task",
        name=lambda task: task.title,
        fields=_fields,
        sentences=_SENTENCES,
        rewrite=_rewritten,
        index=index_item,
        undo=UNDO,
    )


def _fields(task: Task) -> dict[str, str]:
    """What a task says, as texts."""
    return {
        "title": task.title,
        "description": task.description,
        "project": task.project or "",
        "tags": " ".join(task.tags),
        "extra": task.extra,
    }


def _rewritten(task: Task, left: Mapping[str, str]) -> Task:
    """The task with what is left of its fields; of tags and what is no sentence nothing is."""
    empty = {"title": FORGOTTEN, "project": None, "tags": (), "description": "", "extra": ""}
    return msgspec.structs.replace(task, **{name: text or empty[name] for name, text in left.items()})


@dataclass(slots=True)
class TaskUpkeep:
    """What the feature's hooks do with tasks."""

    tasks: Tasks
    archived_days: int | None
    acting: OnBehalfOf

    def zone_of(self, owner: str) -> str:
        """The owner's time zone."""
        return self.acting(owner, audience="tidying").time_zone

    async def recallables(self, principal: Principal, ids: Sequence[str]) -> list[Recallable | None]:
        """What recall shows of these tasks; None for what is gone."""
        found = await self.tasks.store.get(TASKS, principal.owner, ids)
        return [item and recallable(item.record) for item in found]

    async def statistics(self, principal: Principal) -> dict[str, Any]:
        """How many tasks there are, and how they stand."""
        counts = await self.tasks.counts(principal)
        now, owner, store = self.tasks.now(principal), principal.owner, self.tasks.store
        of_priority = dict.fromkeys(PRIORITIES, 0)
        overdue = today = 0
        for status in STATUSES[:4]:
            async for item in items_of(store, owner, column(status)):
                of_priority[item.record.priority] += 1
                overdue += is_overdue(item.record, now)
                today += due_day(item.record, now) == now.date()
        return {
            "tasks": sum(counts.values()),
            "by_status": counts,
            "open_by_priority": of_priority,
            "overdue": overdue,
            "due_today": today,
        }

    async def due(self, owner: str, begin: int, end: int) -> list[DueReminder]:
        """The reminders of open tasks that fall due in a span of time."""
        zone = self.zone_of(owner)
        found = [
            DueReminder(
                id=f"task:{task.id}:{at}:{minutes}",
                at=at,
                title=task.title,
                text=_reminder_text(task, self.tasks.clock.now_us(), zone),
                link=f"/tasks/{task.id}",
                conversation=task.conversation or "",
                untrusted=task.untrusted,
            )
            async for task in self._reminding(owner, begin, end)
            for at, minutes in reminder_moments(task, zone)
            if begin <= at < end
        ]
        return sorted(found, key=lambda one: (one.at, one.id))

    async def next_due(self, owner: str, after: int) -> int | None:
        """When the next reminder of an open task falls due, at or after a time."""
        zone = self.zone_of(owner)
        best: int | None = None
        async for task in self._reminding(owner, after, None):
            if best is not None and (task.reminds_from or 0) > best + _ZONES:
                break
            times = [at for at, _ in reminder_moments(task, zone) if at >= after]
            best = min(times if best is None else [*times, best], default=None)
        return best

    def _reminding(self, owner: str, begin: int, end: int | None) -> AsyncGenerator[Task]:
        """Open tasks that may remind in a span, by the first time they do."""
        low = begin - MAX_REMINDER_MINUTES * 60_000_000 - _ZONES
        high = None if end is None else end + _ZONES
        return records_of(
            self.tasks.store, owner, Scan(TASKS, order="reminds_from", low=low, high=high, limit=_PAGE)
        )

    async def drop_archived(self, principal: Principal) -> int:
        """Archived tasks that nobody has changed for as long as the settings say."""
        if self.archived_days is None:
            return 0
        before = self.tasks.clock.now_us() - timedelta(days=self.archived_days) // timedelta(microseconds=1)
        store, owner = self.tasks.store, principal.owner
        old = [
            Delete(TASKS, item.record.id, item.version)
            async for item in items_of(store, owner, column("archived"))
            if item.record.updated_at < before
        ]
        if old:
            await store.commit(owner, [*old, OWES_SCRUB])
            await scrub(store, owner)
        return len(old)


_ZONES: Final = 26 * 3_600_000_000
"""How far apart the clocks of two zones are at most, in microseconds."""


def _reminder_text(task: Task, now: int, zone: str) -> str:
    """What a reminder says: when it is due, and what it is about."""
    words = due_words(task, to_datetime(now).astimezone(ZoneInfo(zone)))
    return "\n".join(part for part in (f"Due {words}.", task.description[:_REMINDER_CHARS]) if part)


_REMINDER_CHARS: Final = 500
_NOT_GIVEN: Final = frozenset(
    {"id", "created_at", "updated_at", "done_at", "position", "conversation", "untrusted", "due", "zone"}
)


def _document(task: Task) -> dict[str, Any]:
    kept = {
        name: value for name, value in msgspec.to_builtins(task).items() if value not in (None, "", [], False)
    }
    return with_times(kept, rfc3339)


def _parsed(document: Mapping[str, Any]) -> Task:
    found = of_document(document, Task)
    checked_id(found.id)
    given = {name: value for name, value in msgspec.structs.asdict(found).items() if name not in _NOT_GIVEN}
    if found.due is not None:
        given |= {"due_at": found.due, "zone": found.zone} if "T" in found.due else {"due_date": found.due}
    return msgspec.structs.replace(found, **checked(given, to_datetime(found.created_at)))


def _open(at: Surroundings) -> OpenFeature:
    tasks = Tasks(store=at.store, bus=at.bus, clock=at.clock, new_id=at.new_id, search_index=at.search)
    texts = _texts(at.store)
    upkeep = TaskUpkeep(tasks, at.settings.tasks_archived_days, at.acting)
    return OpenFeature(
        service=tasks,
        recall=[RecallKind(name=KIND, resolve=upkeep.recallables)],
        forgettable=texts.forgettable,
        cut=texts.cut,
        documents=[
            RecordLines(
                store=at.store,
                collection=TASKS,
                kind=KIND,
                parse=_parsed,
                document=_document,
                index=index_item,
            ).form
        ],
        components=[TaskComponents(tasks).form],
        statistics=upkeep.statistics,
        parts=[follows(upkeep, archived_days=lambda settings: settings.tasks_archived_days)],
        due=upkeep.due,
        next_due=upkeep.next_due,
        retention=[
            RetentionRule(
                of=(TASKS,), log="tasks that were archived long ago are deleted", drop=upkeep.drop_archived
            ),
            *texts.retention(at.clock),
        ],
    )


FEATURE: Final = Feature(
    name="tasks",
    open=_open,
    collections=(TASKS, UNDO),
    counted={"tasks": ("task", TASKS)},
    tools="bethink.tools.tasks",
    commands="bethink.cli.tasks",
    routes=("bethink.web.tasks",),
    mcp_summary="The user's tasks: what is to be done, by when, in parts and in order.",
)
