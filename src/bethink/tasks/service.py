"""The tasks of all owners, as tools and doors read and change them; every call acts for one principal."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio.to_thread
import msgspec

from bethink.clock import Clock, to_datetime, to_us, zone_of
from bethink.errors import BadInput, Conflict, UnknownId
from bethink.feature import DUE_CHANGED, ItemSearch
from bethink.store import Change, Delete, Expect, Put, Scan, Store, Versioned, items_of, retry_conflicts
from bethink.tasks.due import days_of, due_day, in_exact_terms, is_overdue, next_due, with_rule
from bethink.tasks.fields import checked
from bethink.tasks.records import (
    CLOSED,
    KIND,
    OPEN,
    PRIORITIES,
    STATUSES,
    TASKS,
    UNDO,
    Task,
    TaskUndo,
    digest_of,
    index_item,
)

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.principal import Principal

_PAGE: Final = 2_000
_GAP: Final = 1 << 32
"""Between two tasks of a column: about 32 moves between the same two, before the column is numbered anew."""
_DEEPEST: Final = 20
_MOST_NEEDED: Final = 2_000
"""Tasks that come before another, over all steps: more are no plan that anybody follows."""
_FOUND: Final = 200
NO_TASK: Final = "There is no task with this id: list or search the tasks to see which there are."


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskQuery:
    """Which tasks: all that is given must fit. Without `status` and `done`, all that are not archived.

    `due` is `overdue`, `today`, `week` (the seven days from today), `none`, or a day or some days in words.
    """

    status: str | None = None
    priority: str | None = None
    tag: str | None = None
    project: str | None = None
    due: str | None = None
    parent: str | None = None
    done: bool | None = None

    @property
    def statuses(self) -> Sequence[str]:
        """Those that may fit."""
        if self.status is not None:
            return (self.status,) if self.done is None or (self.status in CLOSED) == self.done else ()
        match self.done:
            case None:
                return (*OPEN, "done")
            case True:
                return CLOSED
            case False:
                return OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task with what others say of it: how many parts it has, and what it waits for."""

    task: Task
    version: int
    children: int = 0
    children_done: int = 0
    needs: tuple[Task, ...] = ()

    @property
    def blocked_by(self) -> int:
        """How many tasks that come first are still open."""
        return sum(one.is_open for one in self.needs)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """Some tasks; `cursor` continues behind the last one. `counts` are all of the owner's, by status."""

    items: tuple[TaskView, ...]
    cursor: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChange:
    """What became of a task. `undo` is the token that takes the change back, empty where nothing changed.

    `next` was made of a recurring one that is done. `count` is how many tasks changed: a deleted one takes
    its sub-tasks along. `understood` is what words of time were taken for.
    """

    task: Task
    version: int
    undo: str
    next: Task | None = None
    count: int = 1
    understood: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """The tasks of all owners."""

    store: Store
    bus: Bus
    clock: Clock
    new_id: Callable[[], str]
    search_index: ItemSearch

    def now(self, principal: Principal) -> datetime:
        """The time in the owner's zone."""
        return to_datetime(self.clock.now_us()).astimezone(zone_of(principal.time_zone))

    @retry_conflicts
    async def create(
        self,
        principal: Principal,
        given: Mapping[str, Any],
        *,
        conversation: str | None = None,
        untrusted: bool = False,
        id: str | None = None,
    ) -> TaskChange:
        """Keep a new task, at the end of its column. If a task has the `id`, it is that one, as it is now.

        Raises:
            BadInput: a field is unfit or missing; the sentence names each.
        """
        if id is not None and (known := (await self.store.get(TASKS, principal.owner, [id]))[0]) is not None:
            return TaskChange(task=known.record, version=known.version, undo="")
        now = self.now(principal)
        exact, words = await anyio.to_thread.run_sync(in_exact_terms, given, now)
        values = checked({"title": None, **exact}, now)
        if "reminders" not in exact and "T" in (values.get("due") or ""):
            # Who names an hour wants to be told then.
            values["reminders"] = (0,)
        id, at = id or self.new_id(), self.clock.now_us()
        blank = Task(id=id, uid=id, title="", created_at=at, updated_at=at, conversation=conversation)
        task = with_rule(msgspec.structs.replace(blank, **values, untrusted=untrusted), now)
        task = msgspec.structs.replace(
            task,
            position=await self._end_of(principal.owner, task.status),
            done_at=None if task.is_open else at,
        )
        seen = await self._check_relations(principal.owner, task)
        undo = TaskUndo(id=self.new_id(), at=at, made=(id,), made_left=(digest_of(task),))
        await self.commit(principal.owner, [*seen, _put(task, 0), Put(UNDO, undo, 0)])
        return TaskChange(task=task, version=1, undo=undo.id, understood=words)

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        """Keep the changes, and have reminders looked at again."""
        await self.store.commit(owner, changes)
        await self.bus.publish(DUE_CHANGED, owner)

    async def get(self, principal: Principal, id: str) -> TaskView:
        """The task with this id.

        Raises:
            UnknownId: this owner has no such task.
        """
        (view,) = await self.views(principal, [await self._get(principal.owner, id)])
        return view

    async def list(
        self,
        principal: Principal,
        query: TaskQuery,
        *,
        order: Order = "due",
        limit: int = 50,
        cursor: str | None = None,
    ) -> TaskPage:
        """At most `limit` of those that fit, in order.

        Raises:
            BadInput: the cursor is of another list.
        """
        key = _ORDERS[order]
        fitting = await self._fitting(principal, query)
        ordered = sorted(((*key(item.record), item.record.id), item) for item in fitting)
        behind = _place(order, cursor)
        rest = [(place, item) for place, item in ordered if behind is None or list(place) > behind]
        page = rest[:limit]
        return TaskPage(
            items=tuple(await self.views(principal, [item for _, item in page])),
            cursor=_cursor(order, page[-1][0]) if len(rest) > limit else None,
            counts=await self.counts(principal),
        )

    async def _fitting(self, principal: Principal, query: TaskQuery) -> list[Versioned[Task]]:
        fits = await anyio.to_thread.run_sync(_test_of, query, self.now(principal))
        return [
            item
            for status in query.statuses
            async for item in items_of(self.store, principal.owner, column(status))
            if fits(item.record)
        ]

    async def search(
        self, principal: Principal, text: str, query: TaskQuery, *, limit: int = 50
    ) -> tuple[TaskView, ...]:
        """At most `limit` of those that fit and answer a text: best first, then those that hold it."""
        found = [id for id, _ in await self.search_index.find(principal, text, _FOUND, kind=KIND)]
        fitting = {item.record.id: item for item in await self._fitting(principal, query)}
        best = [fitting[id] for id in found if id in fitting]
        literal = [
            item
            for id, item in fitting.items()
            if id not in found and _holds(item.record, text.strip().casefold())
        ]
        return tuple(await self.views(principal, (best + literal)[:limit]))

    async def counts(self, principal: Principal) -> dict[str, int]:
        """How many tasks there are, by status."""
        return {one: await self.store.count(principal.owner, TASKS, {"status": one}) for one in STATUSES}

    async def views(self, principal: Principal, items: Sequence[Versioned[Task]]) -> list[TaskView]:
        """Tasks with what others say of them."""
        if not items:
            return []
        owner = principal.owner
        parts = await self.store.scan(
            owner, *(Scan(TASKS, {"parent": item.record.id}, "created_at", limit=_PAGE) for item in items)
        )
        needed = list(dict.fromkeys(id for item in items for id in item.record.depends_on))
        known = {one.record.id: one.record for one in await self.store.get(TASKS, owner, needed) if one}
        return [
            TaskView(
                task=item.record,
                version=item.version,
                children=len(page.items),
                children_done=sum(not part.record.is_open for part in page.items),
                needs=tuple(known[id] for id in item.record.depends_on if id in known),
            )
            for item, page in zip(items, parts, strict=True)
        ]

    @retry_conflicts
    async def update(
        self,
        principal: Principal,
        id: str,
        given: Mapping[str, Any],
        *,
        untrusted: bool = False,
        if_version: int | None = None,
    ) -> TaskChange:
        """Change the given fields of a task; None empties one. What is left out stays.

        `position` is where in its column: `{"before": id}` or `{"after": id}`. A recurring task that is done
        makes its next one. Nobody's later change makes what was `untrusted` the owner's own.

        Raises:
            UnknownId: this owner has no such task.
            BadInput: a field is unfit; the sentence names each.
            TaskChanged: it is of another version than `if_version`.
            Conflict: others kept changing this task meanwhile.
        """
        held = await self._get(principal.owner, id)
        if if_version is not None and held.version != if_version:
            raise TaskChanged
        owner, now, at = principal.owner, self.now(principal), self.clock.now_us()
        fields = {name: value for name, value in given.items() if name != "position"}
        exact, words = await anyio.to_thread.run_sync(in_exact_terms, fields, now, held.record)
        before = held.record
        after = _changed_task(before, exact, now)
        after = msgspec.structs.replace(after, untrusted=before.untrusted or untrusted)
        changes: list[Change] = []
        if given.get("position") is not None:
            place, changes = await self._placed(owner, after, given["position"])
            after = msgspec.structs.replace(after, position=place)
        elif after.status != before.status:
            after = msgspec.structs.replace(after, position=await self._end_of(owner, after.status))
        changes += await self._check_relations(owner, after, before)
        made = await self._next_of(owner, after, now) if before.is_open and after.status == "done" else []
        if made:
            after = msgspec.structs.replace(after, recurrence=None)
        undo = TaskUndo(
            id=self.new_id(),
            at=at,
            before=(before,),
            left=(digest_of(after),),
            made=tuple(task.id for task in made),
            made_left=tuple(map(digest_of, made)),
        )
        changes += [_put(after, held.version), *(_put(task, 0) for task in made), Put(UNDO, undo, 0)]
        await self.commit(owner, changes)
        return TaskChange(
            task=after,
            version=held.version + 1,
            undo=undo.id,
            next=made[0] if made else None,
            understood=words,
        )

    async def _next_of(self, owner: str, task: Task, now: datetime) -> list[Task]:
        """The next one of a recurring task that is done, with its sub-tasks; nothing of the last one."""
        found = next_due(task, now)
        if found is None or task.due is None:
            return []
        due, rule = found
        moved = date.fromisoformat(due[:10]) - date.fromisoformat(task.due[:10])
        parts = [item.record for item in await self.parts_of(owner, task.id)]
        ids = {one.id: self.new_id() for one in (task, *parts)}
        end = await self._end_of(owner, "todo")
        at = self.clock.now_us()
        return [
            msgspec.structs.replace(
                one,
                id=ids[one.id],
                uid=ids[one.id],
                created_at=at + place,
                updated_at=at,
                status="todo",
                done_at=None,
                due=due if one is task else _moved(one.due, moved),
                recurrence=rule if one is task else None,
                parent=one.parent if one is task else ids.get(one.parent or "", one.parent),
                depends_on=tuple(ids.get(id, id) for id in one.depends_on),
                position=end + place * _GAP,
                extra="",
            )
            for place, one in enumerate((task, *parts))
        ]

    @retry_conflicts
    async def delete(self, principal: Principal, id: str, *, if_version: int | None = None) -> TaskChange:
        """Remove a task with its sub-tasks; for a month the token brings them back.

        Raises:
            UnknownId: this owner has no such task.
            TaskChanged: it is of another version than `if_version`.
        """
        held = await self._get(principal.owner, id)
        if if_version is not None and held.version != if_version:
            raise TaskChanged
        gone = [held, *await self.parts_of(principal.owner, id)]
        undo = TaskUndo(
            id=self.new_id(),
            at=self.clock.now_us(),
            before=tuple(item.record for item in gone),
            left=("",) * len(gone),
        )
        deletions = [Delete(TASKS, item.record.id, item.version) for item in gone]
        await self.commit(principal.owner, [*deletions, Put(UNDO, undo, 0)])
        return TaskChange(task=held.record, version=0, undo=undo.id, count=len(gone))

    async def parts_of(self, owner: str, id: str) -> list[Versioned[Task]]:
        """The sub-tasks of a task and theirs, each behind the one that it is a part of."""
        found: dict[str, Versioned[Task]] = {}
        wanted = [id]
        while wanted:
            scans = [Scan(TASKS, {"parent": one}, "created_at", limit=_PAGE) for one in wanted]
            new = [
                item
                for scan in scans
                async for item in items_of(self.store, owner, scan)
                if item.record.id not in found and item.record.id != id
            ]
            found |= {item.record.id: item for item in new}
            wanted = [item.record.id for item in new]
        return list(found.values())

    @retry_conflicts
    async def undo(self, principal: Principal, token: str) -> tuple[Task, ...]:
        """Take back a change; the tasks as they are again, none if it had made them.

        Raises:
            BadInput: there is no such change, or what it left was changed since.
        """
        owner = principal.owner
        (held,) = await self.store.get(UNDO, owner, [token])
        if held is None:
            raise BadInput("There is nothing to undo: it was undone already, or is too long ago.")
        step = held.record
        now = await self.store.get(TASKS, owner, [task.id for task in step.before])
        made = await self.store.get(TASKS, owner, step.made)
        if (
            tuple(digest_of(item and item.record) for item in now) != step.left
            or tuple(digest_of(item and item.record) for item in made) != step.made_left
        ):
            raise BadInput("This change can no longer be undone: the task was changed again since.")
        changes: list[Change] = [Delete(UNDO, token, held.version)]
        changes += [Delete(TASKS, item.record.id, item.version) for item in made if item]
        changes += [
            _put(task, item.version if item else 0) for task, item in zip(step.before, now, strict=True)
        ]
        await self.commit(owner, changes)
        return step.before

    async def restore(self, principal: Principal, id: str) -> TaskView:
        """Bring back a task that was deleted, with the sub-tasks that went with it.

        Raises:
            UnknownId: no such task was deleted within a month.
        """
        scan = Scan(UNDO, order="at", reverse=True, limit=_PAGE)
        async for item in items_of(self.store, principal.owner, scan):
            if item.record.before and item.record.before[0].id == id and not any(item.record.left):
                await self.undo(principal, item.record.id)
                return await self.get(principal, id)
        raise UnknownId("No task with this id was deleted within the last month.")

    async def _check_relations(self, owner: str, task: Task, before: Task | None = None) -> list[Change]:
        """What must stay as it is for this task's relations to be without a circle."""
        seen: list[Change] = []
        if task.parent is not None and (before is None or task.parent != before.parent):
            seen += await self._check_parent(owner, task)
        if task.depends_on and (before is None or task.depends_on != before.depends_on):
            seen += await self._check_needs(owner, task)
        return list({change.id: change for change in seen if isinstance(change, Expect)}.values())

    async def _check_parent(self, owner: str, task: Task) -> list[Change]:
        seen: list[Change] = []
        above = task.parent
        while above is not None:
            if above == task.id:
                raise BadInput("parent: a task cannot be a part of itself, or of one of its parts.")
            (held,) = await self.store.get(TASKS, owner, [above])
            if held is None:
                if above == task.parent:
                    raise BadInput(f"parent: there is no task {above}.")
                break
            seen.append(Expect(TASKS, above, held.version))
            if len(seen) > _DEEPEST:
                raise BadInput(f"parent: tasks are at most {_DEEPEST} steps deep.")
            above = held.record.parent
        return seen

    async def _check_needs(self, owner: str, task: Task) -> list[Change]:
        seen: dict[str, Change] = {}
        wanted = list(task.depends_on)
        while wanted:
            if task.id in wanted:
                raise BadInput("depends_on: a task cannot wait for itself, or for one that waits for it.")
            held = await self.store.get(TASKS, owner, wanted)
            for id, item in zip(wanted, held, strict=True):
                if item is None and id in task.depends_on:
                    raise BadInput(f"depends_on: there is no task {id}.")
                seen[id] = Expect(TASKS, id, item.version if item else 0)
            if len(seen) > _MOST_NEEDED:
                raise BadInput(f"depends_on: at most {_MOST_NEEDED:,} tasks can come before another.")
            further = dict.fromkeys(id for item in held if item for id in item.record.depends_on)
            wanted = [id for id in further if id not in seen]
        return list(seen.values())

    async def _end_of(self, owner: str, status: str) -> int:
        scan = Scan(TASKS, {"status": status}, "position", reverse=True, limit=1)
        (page,) = await self.store.scan(owner, scan)
        return (page.items[0].record.position if page.items else 0) + _GAP

    async def _placed(self, owner: str, task: Task, wanted: Mapping[str, str]) -> tuple[int, list[Change]]:
        """The position beside a task of the column; if there is no room, the column is numbered anew."""
        items = items_of(self.store, owner, column(task.status))
        others = [item async for item in items if item.record.id != task.id]
        ids = [item.record.id for item in others]
        beside = wanted.get("before") or wanted.get("after")
        if beside not in ids:
            raise BadInput(f"position: the column {task.status} has no task {beside}.")
        place = ids.index(beside) + ("after" in wanted and not wanted.get("before"))
        low = others[place - 1].record.position if place else 0
        high = others[place].record.position if place < len(others) else low + 2 * _GAP
        if high - low > 1:
            return (low + high) // 2, []
        apart = [
            _put(
                msgspec.structs.replace(item.record, position=(number + (number >= place) + 1) * _GAP),
                item.version,
            )
            for number, item in enumerate(others)
        ]
        return (place + 1) * _GAP, [*apart]

    async def _get(self, owner: str, id: str) -> Versioned[Task]:
        (found,) = await self.store.get(TASKS, owner, [id])
        if found is None:
            raise UnknownId(NO_TASK)
        return found


class TaskChanged(Conflict):
    """The task was changed in the meantime: load it again, and repeat."""

    code = "task_changed"
    status = 412


def _changed_task(before: Task, exact: Mapping[str, Any], now: datetime) -> Task:
    """The task with the given fields, and what follows from them."""
    if exact.get("due_date", "") is None or exact.get("due_at", "") is None:
        # What is due at no time does not come again.
        exact = {"recurrence": None, **exact}
    at = to_us(now)
    after = msgspec.structs.replace(before, **checked(exact, now), updated_at=at)
    if after.is_open != before.is_open:
        after = msgspec.structs.replace(after, done_at=None if after.is_open else at)
    if (after.recurrence, after.due, after.zone) != (before.recurrence, before.due, before.zone):
        after = with_rule(after, now)
    return after


def _moved(due: str | None, by: timedelta) -> str | None:
    if due is None:
        return None
    moved = datetime.fromisoformat(due) + by
    return moved.isoformat() if "T" in due else moved.date().isoformat()


def column(status: str) -> Scan[Task]:
    """A column of the board, in order."""
    return Scan(TASKS, {"status": status}, "position", limit=_PAGE)


def _put(task: Task, version: int) -> Put[Task]:
    return Put(TASKS, task, version, index_item(task))


Order = Literal["due", "position", "created", "updated"]
_FAR: Final = 1 << 62
_ORDERS: dict[Order, Callable[[Task], tuple[int, ...]]] = {
    "due": lambda task: (
        _FAR if task.due_key is None else task.due_key,
        -PRIORITIES.index(task.priority),
        task.position,
    ),
    "position": lambda task: (STATUSES.index(task.status), task.position),
    "created": lambda task: (-task.created_at,),
    "updated": lambda task: (-task.updated_at,),
}


def _cursor(order: Order, place: Iterable[int | str]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode([order, *place])).rstrip(b"=").decode()


def _place(order: Order, cursor: str | None) -> list[Any] | None:
    if cursor is None:
        return None
    try:
        raw = base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4))
        named, *numbers, id = msgspec.json.decode(raw, type=list[int | str])
    except (binascii.Error, UnicodeError, ValueError, msgspec.DecodeError) as error:
        raise BadInput("This cursor is not valid: leave it out to start again.") from error
    if named != order or not isinstance(id, str) or not all(isinstance(one, int) for one in numbers):
        raise BadInput("This cursor belongs to another list: leave it out to start again.")
    return [*numbers, id]


def _holds(task: Task, text: str) -> bool:
    return bool(text) and any(
        text in part.casefold() for part in (task.title, task.description, task.project or "", *task.tags)
    )


def _test_of(query: TaskQuery, now: datetime) -> Callable[[Task], bool]:
    is_due = _due_test(query.due, now)
    tag = query.tag and query.tag.removeprefix("#").casefold()
    project = query.project and query.project.casefold()

    def fits(task: Task) -> bool:
        return (
            (query.priority is None or task.priority == query.priority)
            and (not tag or any(one.casefold() == tag for one in task.tags))
            and (not project or (task.project or "").casefold() == project)
            and (query.parent is None or task.parent == query.parent)
            and is_due(task)
        )

    return fits


_WEEK: Final = timedelta(days=7)


def _due_test(due: str | None, now: datetime) -> Callable[[Task], bool]:
    today = now.date()
    match due:
        case None:
            return lambda _task: True
        case "none":
            return lambda task: task.due is None
        case "overdue":
            return lambda task: is_overdue(task, now)
        case "today":
            return lambda task: due_day(task, now) == today
        case "week":
            return lambda task: (day := due_day(task, now)) is not None and today <= day < today + _WEEK
        case _:
            first, behind = days_of(due, now)
            return lambda task: (day := due_day(task, now)) is not None and first <= day < behind
