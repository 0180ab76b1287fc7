"""Tasks as VTODO components of iCalendar, and back (RFC 5545, 3.6.2; RFC 9253 for what comes first).

What no field of a task holds stays in `Task.extra` and is written again. Statuses that VTODO has not are
told in a line of our own, which other programs hand back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import anyio.to_thread
import msgspec

from bethink.clock import to_us
from bethink.components import (
    PAGE,
    check_etag,
    component_text,
    cut,
    held_in,
    master_of,
    outcome_of,
    put_in_pages,
    states_in,
    why_refused,
)
from bethink.errors import BadInput
from bethink.feature import ComponentForm, ComponentOutcome, ComponentText, IncomingComponent
from bethink.field_checks import MAX_REMINDERS
from bethink.ical.alarms import alarm, minutes_before
from bethink.ical.lines import Component, Line
from bethink.ical.remainder import kept_alarms, remainder, same_remainder, with_remainder
from bethink.ical.values import (
    When,
    created_at,
    duration,
    escaped,
    kept_when,
    texts,
    time_line,
    unescaped,
    utc,
    when,
    when_of,
)
from bethink.principal import Principal
from bethink.recurrence import kept_rule, rule_of, text_of
from bethink.store import Change, Delete, Put, Scan, Versioned, items_of
from bethink.tasks.fields import checked
from bethink.tasks.records import (
    MAX_DESCRIPTION,
    MAX_PROJECT,
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    OPEN,
    TASKS,
    UNDO,
    Status,
    Task,
    TaskUndo,
    index_item,
)

if TYPE_CHECKING:
    from bethink.tasks.service import Tasks

_UNTITLED: Final = "Untitled task"
_GAP: Final = 1 << 32
"""Between two tasks of a column, as the service has it."""
_STATUS: Final[Mapping[Status, str]] = {
    "backlog": "NEEDS-ACTION",
    "todo": "NEEDS-ACTION",
    "blocked": "NEEDS-ACTION",
    "in_progress": "IN-PROCESS",
    "done": "COMPLETED",
    "archived": "CANCELLED",
}
_READ_STATUS: Final[Mapping[str, Status]] = {
    "NEEDS-ACTION": "todo",
    "IN-PROCESS": "in_progress",
    "COMPLETED": "done",
    "CANCELLED": "archived",
}
_PRIORITY: Final = {"urgent": "1", "high": "3", "low": "9"}
"""Medium is what stands where there is no line."""
_OWN: Final = "X-BETHINK-"
_OWNED: Final = {
    "UID": "uid",
    "SUMMARY": "title",
    "DESCRIPTION": "description",
    "STATUS": "status",
    "COMPLETED": "status",
    "PERCENT-COMPLETE": "status",
    f"{_OWN}STATUS": "status",
    "PRIORITY": "priority",
    "DTSTART": "start",
    "DUE": "due",
    "DURATION": "due",
    "CATEGORIES": "tags",
    "RRULE": "recurrence",
    f"{_OWN}RECURS-FROM": "recurrence",
    "RELATED-TO": "relations",
    f"{_OWN}PROJECT": "project",
    f"{_OWN}ESTIMATED-HOURS": "hours",
}
_PRECEDES: Final = "DEPENDS-ON"


@dataclass(frozen=True, slots=True)
class TaskReading:
    """Reads components for an owner of this time zone."""

    zone: str

    def fields(self, component: Component) -> dict[str, Any]:
        """What a component says of a task, by the names of its fields; relations by uids.

        Raises:
            BadInput: a value cannot be read.
        """
        title = cut(" ".join(unescaped(component.value("SUMMARY")).split()), MAX_TITLE)
        status, done_at = _status(component)
        due = self._due(component)
        start = component.line("DTSTART")
        begins = when_of(start) if start else None
        tags = [tag[:MAX_TAG] for line in component.all("CATEGORIES") for tag in texts(line.value)]
        hours = component.value(f"{_OWN}ESTIMATED-HOURS")
        return {
            "title": title or _UNTITLED,
            "description": cut(unescaped(component.value("DESCRIPTION")).strip(), MAX_DESCRIPTION),
            "status": status,
            "done_at": done_at,
            "is_whole": component.value("PERCENT-COMPLETE") == "100" or status == "done",
            "priority": _priority(component.value("PRIORITY")),
            "due": due,
            "starts_before": begins is None or due is None or begins.moment() <= due.moment(),
            "tags": list({tag.casefold(): tag for tag in tags}.values())[:MAX_TAGS],
            "recurrence": self._rule(component.value("RRULE"), due),
            "recurs_from": "done" if component.value(f"{_OWN}RECURS-FROM").upper() == "DONE" else "due",
            "project": cut(unescaped(component.value(f"{_OWN}PROJECT")), MAX_PROJECT) or None,
            "estimated_hours": float(hours) if hours.replace(".", "", 1).isdecimal() else None,
            "parent": next(iter(_related(component, "PARENT")), None),
            "needs": _related(component, _PRECEDES),
            "reminders": self.reminders(component, due),
        }

    def reminders(self, component: Component, due: When | None) -> list[int]:
        """Minutes before it is due, of the alarms that can be said so."""
        ends = due and due.moment(self.zone)
        found = {minutes_before(part, ends, ends) for part in component.parts if part.name == "VALARM"}
        return sorted(minutes for minutes in found if minutes is not None)[:MAX_REMINDERS]

    def _rule(self, rule: str, due: When | None) -> str | None:
        """A rule as records keep it; None of one that is over."""
        if not rule or due is None:
            return rule or None
        rule_of(rule)
        start = datetime.fromisoformat(due.iso)
        try:
            return kept_rule(rule, start, ZoneInfo(due.zone or self.zone), all_day=due.is_day)
        except BadInput:
            return None

    def _due(self, component: Component) -> When | None:
        if (line := component.line("DUE")) is not None:
            due = when_of(line)
        elif (start := component.line("DTSTART")) is not None and (
            component.value("DURATION") or component.value("RRULE")
        ):
            begins, span = when_of(start), duration(component.value("DURATION") or "P0D")
            due = When(begins.local + span, begins.zone)
        else:
            return None
        # Not with a rule: its moments would move with summer time.
        return due.there(self.zone) if due.zone == "UTC" and not component.value("RRULE") else due


def _status(component: Component) -> tuple[Status, int | None]:
    done = component.value("COMPLETED")
    told = component.value("STATUS").upper() or ("COMPLETED" if done else "NEEDS-ACTION")
    status = _READ_STATUS.get(told, "todo")
    own = component.value(f"{_OWN}STATUS").lower()
    if own in _STATUS and _STATUS[own] == told:
        status = own
    at = to_us(when(done, name="COMPLETED").moment()) if done and status not in OPEN else None
    return status, at


def _priority(text: str) -> str:
    """RFC 5545, 3.8.1.9: 1 is the highest, 5 the middle, 9 the lowest, 0 none."""
    number = int(text) if text.isdecimal() and len(text) == 1 else 0
    return {0: "medium", 1: "urgent", 2: "urgent", 3: "high", 4: "high", 5: "medium"}.get(number, "low")


def _related(component: Component, kind: str) -> list[str]:
    lines = component.all("RELATED-TO")
    uids = [
        unescaped(line.value) for line in lines if (line.parameter("RELTYPE") or "PARENT").upper() == kind
    ]
    return list(dict.fromkeys(uids))


def lines_of(task: Task, parent: str | None, needs: Sequence[str]) -> Component:
    """The component of a task without what other programs added; relations are uids."""
    hours = task.estimated_hours
    values = {
        "UID": escaped(task.uid),
        "DTSTAMP": utc(task.updated_at),
        "CREATED": utc(task.created_at),
        "LAST-MODIFIED": utc(task.updated_at),
        "SUMMARY": escaped(task.title),
        "DESCRIPTION": escaped(task.description),
        "STATUS": _STATUS[task.status],
        f"{_OWN}STATUS": task.status.upper() if task.status in {"backlog", "blocked"} else "",
        "COMPLETED": "" if task.done_at is None else utc(task.done_at),
        "PRIORITY": _PRIORITY.get(task.priority, ""),
        "CATEGORIES": ",".join(map(escaped, task.tags)),
        "RRULE": _written_rule(task),
        f"{_OWN}RECURS-FROM": "DONE" if task.recurrence and task.recurs_from == "done" else "",
        "RELATED-TO": escaped(parent or ""),
        f"{_OWN}PROJECT": escaped(task.project or ""),
        f"{_OWN}ESTIMATED-HOURS": "" if hours is None else f"{hours:g}",
    }
    lines = [Line(name, value) for name, value in values.items() if value]
    lines += [Line("RELATED-TO", escaped(uid), f";RELTYPE={_PRECEDES}") for uid in needs]
    if (due := due_of(task)) is not None:
        # A rule needs what it counts from (3.8.5.3).
        lines += [time_line(name, due) for name in (("DTSTART", "DUE") if task.recurrence else ("DUE",))]
    return Component("VTODO", lines)


def _written_rule(task: Task) -> str:
    if not task.recurrence:
        return ""
    place = ZoneInfo(task.zone) if task.zone else None
    return text_of(rule_of(task.recurrence), place, all_day=task.due is not None and "T" not in task.due)


def due_of(task: Task) -> When | None:
    """When a task is due, as a calendar has it."""
    if task.due is None:
        return None
    return kept_when(task.due, task.zone)


@dataclass(frozen=True, slots=True)
class TaskComponents:
    """The tasks of all owners as components."""

    tasks: Tasks

    @property
    def form(self) -> ComponentForm:
        """What calendars walk over."""
        return ComponentForm(
            name="VTODO",
            states=partial(states_in, self.tasks.store, TASKS),
            texts=self.texts,
            put=self.put,
            delete=self.delete,
            within=self.within,
        )

    async def texts(self, principal: Principal, uids: Sequence[str]) -> list[ComponentText | None]:
        """What they say, None for what is gone."""
        held = await self._held(principal.owner, uids)
        related = {id for item in held.values() for id in _relations(item.record)}
        named = await self.tasks.store.get(TASKS, principal.owner, list(related))
        uid_of = {item.record.id: item.record.uid for item in named if item}
        reading = TaskReading(principal.time_zone)

        def told() -> list[ComponentText | None]:
            return [_text(held[uid], uid_of, reading) if uid in held else None for uid in uids]

        return await anyio.to_thread.run_sync(told)

    async def put(
        self, principal: Principal, incoming: Sequence[IncomingComponent]
    ) -> list[ComponentOutcome]:
        """Keep them, a page in one commit; what is refused leaves the others as they are."""
        return await put_in_pages(incoming, partial(self._put, principal))

    async def delete(self, principal: Principal, uid: str, if_etag: str | None) -> bool:
        """Remove a task; it can be undone, and its parts stay as tasks of their own."""
        held = (await self._held(principal.owner, [uid])).get(uid)
        if held is None:
            return False
        check_etag(held, if_etag)
        scan = Scan(TASKS, {"parent": held.record.id}, "created_at", limit=PAGE)
        parts = [item async for item in items_of(self.tasks.store, principal.owner, scan)]
        undo = TaskUndo(
            id=self.tasks.new_id(), at=self.tasks.clock.now_us(), before=(held.record,), left=("",)
        )
        freed = [_put(msgspec.structs.replace(part.record, parent=None), part.version) for part in parts]
        changes: list[Change] = [Delete(TASKS, held.record.id, held.version), *freed, Put(UNDO, undo, 0)]
        await self.tasks.commit(principal.owner, changes)
        return True

    async def within(self, principal: Principal, begin: int, end: int) -> frozenset[str]:
        """Those that are due in a span, and those without a date, as the standard has it (RFC 4791, 9.9)."""
        scan = Scan(TASKS, order="created_at", limit=PAGE)
        tasks = [item.record async for item in items_of(self.tasks.store, principal.owner, scan)]

        def fits(task: Task) -> bool:
            due = due_of(task)
            at = to_us(due.moment(principal.time_zone)) if due else None
            return at is None or begin <= at < end or task.recurrence is not None

        return await anyio.to_thread.run_sync(lambda: frozenset(one.uid for one in tasks if fits(one)))

    async def _held(self, owner: str, uids: Sequence[str]) -> dict[str, Versioned[Task]]:
        """The tasks of these uids."""
        return await held_in(self.tasks.store, TASKS, owner=owner, uids=uids)

    async def _put(
        self, principal: Principal, incoming: Sequence[IncomingComponent]
    ) -> list[ComponentOutcome]:
        reading = TaskReading(principal.time_zone)
        held = await self._held(principal.owner, [one.uid for one in incoming])
        ids = {
            one.uid: held[one.uid].record.id if one.uid in held else self.tasks.new_id() for one in incoming
        }
        read = await anyio.to_thread.run_sync(
            lambda: [self._read(one, held.get(one.uid), reading) for one in incoming]
        )
        related = {uid for found in read if not isinstance(found, str) for uid in found[1] if uid not in ids}
        ids |= {uid: item.record.id for uid, item in (await self._held(principal.owner, [*related])).items()}
        changes: list[Change] = []
        outcomes: list[ComponentOutcome] = []
        ends: dict[str, int] = {}
        for one, found in zip(incoming, read, strict=True):
            before = held.get(one.uid)
            if isinstance(found, str):
                outcomes.append(ComponentOutcome("refused", why=found))
                continue
            task = await self._made(principal, one, before, found=found, ids=ids, ends=ends)
            is_same = before is not None and _same(task, before.record)
            outcomes.append(outcome_of(one, before, task.id, is_same=is_same))
            if outcomes[-1].is_kept:
                changes.append(_put(task, before.version if before else 0))
        if changes:
            await self.tasks.commit(principal.owner, changes)
        return outcomes

    def _read(
        self, one: IncomingComponent, before: Versioned[Task] | None, reading: TaskReading
    ) -> tuple[dict[str, Any], list[str]] | str:
        """The fields and related uids of what comes; or why it is refused."""
        try:
            fields = reading.fields(master_of(one.parts))
            values = _checked(fields, self.tasks, reading.zone)
        except (BadInput, OverflowError, ValueError) as error:
            return why_refused(error)
        if before is not None and _STATUS[before.record.status] == _STATUS[values["status"]]:
            # Programs that know no other statuses do not change one by writing what they know.
            own = master_of(one.parts).value(f"{_OWN}STATUS")
            values["status"] = values["status"] if own else before.record.status
        parent = fields["parent"]
        return values | {"needs": fields["needs"], "parent": parent}, [
            *([parent] if parent else []),
            *fields["needs"],
        ]

    async def _made(
        self,
        principal: Principal,
        one: IncomingComponent,
        before: Versioned[Task] | None,
        *,
        found: tuple[dict[str, Any], list[str]],
        ids: Mapping[str, str],
        ends: dict[str, int],
    ) -> Task:
        """The task that a component says, with what no field holds."""
        values, _ = found
        at = self.tasks.clock.now_us()
        parent, needs = values.pop("parent"), values.pop("needs")
        relations = {
            "parent": ids.get(parent) if parent and parent != one.uid else None,
            "depends_on": tuple(ids[uid] for uid in needs if uid in ids and uid != one.uid),
        }
        master = master_of(one.parts)
        blank = Task(id=ids[one.uid], uid=one.uid, title="", created_at=created_at(master, at), updated_at=at)
        task = msgspec.structs.replace(
            before.record if before else blank,
            **values,
            **relations,
            updated_at=at,
            untrusted=one.untrusted or (before is not None and before.record.untrusted),
        )
        if before is None or before.record.status != task.status:
            task = msgspec.structs.replace(
                task, position=await self._place(principal.owner, task.status, ends)
            )
        theirs = Component(
            "VTODO", master.lines, [*master.parts, *[part for part in one.parts if part is not master]]
        )
        uid_of = {id: uid for uid, id in ids.items()}
        return msgspec.structs.replace(task, extra=remainder(theirs, _ours(task, uid_of), _OWNED))

    async def _place(self, owner: str, status: str, ends: dict[str, int]) -> int:
        """Behind the last task of a column."""
        if status not in ends:
            scan = Scan(TASKS, {"status": status}, "position", reverse=True, limit=1)
            (page,) = await self.tasks.store.scan(owner, scan)
            ends[status] = page.items[0].record.position if page.items else 0
        ends[status] += _GAP
        return ends[status]


def _checked(fields: Mapping[str, Any], tasks: Tasks, zone: str) -> dict[str, Any]:
    due: When | None = fields["due"]
    given = {
        name: fields[name]
        for name in ("title", "description", "status", "priority", "tags", "recurrence", "recurs_from")
    }
    given |= {name: fields[name] for name in ("project", "estimated_hours", "reminders")}
    if due is not None:
        given |= {"due_date": due.iso} if due.is_day else {"due_at": due.iso, "zone": due.zone}
    else:
        given |= {"due_date": None}
    now = tasks.now(Principal("", time_zone=zone))
    values = checked(given, now)
    is_open = values["status"] in OPEN
    values["done_at"] = None if is_open else fields["done_at"] or to_us(now)
    return values


def _relations(task: Task) -> list[str]:
    return [*([task.parent] if task.parent else []), *task.depends_on]


def _ours(task: Task, uid_of: Mapping[str, str]) -> Component:
    ours = lines_of(
        task,
        uid_of.get(task.parent) if task.parent else None,
        [uid_of[id] for id in task.depends_on if id in uid_of],
    )
    ours.parts = [alarm(minutes, task.title, related="END") for minutes in task.reminders]
    return ours


def _text(item: Versioned[Task], uid_of: Mapping[str, str], reading: TaskReading) -> ComponentText:
    task = item.record
    ours = _ours(task, uid_of)
    if task.extra:
        ours.parts = _alarms(task, reading)
        ours = with_remainder(ours, task.extra, meaning=reading.fields, owned=_OWNED)
    instances = [part for part in ours.parts if part.name == "VTODO"]
    ours.parts = [part for part in ours.parts if part.name != "VTODO"]
    return component_text(item, [ours, *instances])


def _alarms(task: Task, reading: TaskReading) -> list[Component]:
    """The alarms of a task: those of another program if they still ring when the task says, else our own."""
    due = due_of(task)
    ends = due and due.moment(reading.zone)
    theirs = {minutes_before(part, ends, ends): part for part in kept_alarms(task.extra)}
    alarms = [theirs.get(minutes) or alarm(minutes, task.title, related="END") for minutes in task.reminders]
    return alarms + [part for minutes, part in theirs.items() if minutes is None]


def _same(task: Task, before: Task) -> bool:
    """Whether nothing that is said changed, in whichever order it stands."""
    one, other = (
        msgspec.structs.replace(each, updated_at=0, untrusted=False, extra="") for each in (task, before)
    )
    return one == other and same_remainder(task.extra, before.extra)


def _put(task: Task, version: int) -> Put[Task]:
    return Put(TASKS, task, version, index_item(task))
