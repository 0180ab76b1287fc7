"""`/tasks`: what the owner has to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from bethink.errors import Ambiguous, BadInput, UnknownId
from bethink.tasks.due import due_words, is_overdue, recurrence_words
from bethink.tasks.quick_add import MAX_CHARS as MAX_LINE
from bethink.tasks.quick_add import read_line, signs_of
from bethink.tasks.service import TaskChange, TaskQuery, Tasks, TaskView
from bethink.web.deps import (
    Body,
    Caller,
    Cursor,
    IdempotencyKey,
    Items,
    Limit,
    Page,
    ResponseModel,
    Served,
    Timestamp,
    VersionMatch,
    id_made_by,
    version_of,
)
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.field_checks import RecordLink
    from bethink.principal import Principal

router = APIRouter(prefix="/tasks", tags=["tasks"])

Status = Literal["backlog", "todo", "in_progress", "blocked", "done", "archived"]
Priority = Literal["low", "medium", "high", "urgent"]
LinkKind = Literal["conversation", "message", "fact", "page", "document", "event"]
_Word = Annotated[str | None, Query(max_length=200)]


class TaskLink(BaseModel):
    """Something that a task is about: `page` is named by its path, the others by their ids."""

    kind: LinkKind
    id: str
    title: str | None = None


class NeededTask(BaseModel):
    """A task that comes first."""

    id: str
    title: str
    done: bool


class TaskShown(ResponseModel):
    """A task. It is due on `due_date`, or at `due_at`, which was meant in `zone`."""

    id: str
    title: str
    description: str
    status: Status
    priority: Priority
    due_date: str | None
    due_at: Timestamp | None
    zone: str = Field(description="IANA name; empty: the owner's, whichever it is.")
    due_words: str | None
    overdue: bool
    tags: list[str]
    estimated_hours: float | None
    project: str | None
    parent: str | None
    children: int
    children_done: int
    depends_on: list[NeededTask]
    blocked_by: int = Field(description="How many tasks that come first are still open.")
    links: list[TaskLink]
    recurrence: str | None
    recurrence_words: str | None
    recurs_from: Literal["due", "done"]
    reminders: list[int] = Field(description="Minutes before it is due.")
    position: int
    conversation: str | None = Field(description="In which it was made.")
    created_at: Timestamp
    updated_at: Timestamp
    done_at: Timestamp | None
    untrusted: bool
    version: int
    understood: str | None = Field(default=None, description="What words about time were understood as.")
    undo: str | None = Field(default=None, description="Takes the change back that gave this.")
    next: str | None = Field(
        default=None, description="The id of the next one of a recurring task that is done."
    )


class TaskList(Page[TaskShown]):
    """Some tasks; `counts` are all of the owner's by status."""

    counts: dict[str, int]


class _LinkGiven(Body):
    kind: LinkKind
    id: str


class _Fields(Body):
    description: str | None = None
    status: Status | None = None
    priority: Priority | None = None
    due_date: str | None = Field(default=None, description="YYYY-MM-DD, or a day in words.")
    due_at: str | None = Field(default=None, description="RFC 3339, a local time, or a time in words.")
    zone: str | None = Field(default=None, description="IANA name of the zone that `due_at` is meant in.")
    tags: list[str] | None = None
    estimated_hours: float | None = None
    project: str | None = None
    parent: str | None = None
    depends_on: list[str] | None = None
    links: list[_LinkGiven] | None = None
    recurrence: str | None = Field(default=None, description="An RRULE, or words such as “every 2nd Friday”.")
    recurs_from: Literal["due", "done"] | None = Field(
        default=None, description="From when the next one counts, once this one is done."
    )
    reminders: list[int] | None = None


class TaskDraft(_Fields):
    """A task to keep: by its fields, or in a line as a person writes it, with fields for the rest."""

    title: str | None = None
    words: str | None = Field(
        default=None,
        description="Such as “Call Bruna tomorrow at 5 #family !high +garden”: also tags, priority, project.",
    )


class TaskPlace(Body):
    """Where in its column: right before or right after another task."""

    before: str | None = None
    after: str | None = None


class TaskPatch(_Fields):
    """What to change; what is left out stays, null empties a field that may be empty."""

    title: str | None = None
    position: TaskPlace | None = None


class TaskDeletion(BaseModel):
    """What went: a task, and its sub-tasks."""

    deleted: int
    undo: str = Field(description="Brings them back.")


class TaskReading(BaseModel):
    """One way to read a line: in words, and the line that means it."""

    words: str
    text: str


class UnderstoodTask(BaseModel):
    """What a line would be taken for; nothing is kept."""

    title: str
    due_date: str | None = None
    due_at: datetime | None = None
    priority: Priority | None = None
    tags: list[str] = []
    project: str | None = None
    recurrence: str | None = None
    recurs_from: Literal["due", "done"] | None = None
    words: str | None = Field(default=None, description="When it is due, and how often.")
    ambiguous: list[TaskReading] = Field(default=[], description="The ways to read its time, if several.")
    problem: str | None = Field(default=None, description="Why the line would not be taken.")


class UndoneTasks(Items[TaskShown]):
    """The tasks as they are again."""


class UndoToken(Body):
    """Which change to take back."""

    token: str


@router.get("")
async def list_tasks(
    app: Served,
    caller: Caller,
    *,
    status: Annotated[Status | None, Query()] = None,
    priority: Annotated[Priority | None, Query()] = None,
    tag: _Word = None,
    project: _Word = None,
    due: Annotated[
        str | None, Query(max_length=40, description="`overdue`, `today`, `week`, `none` or YYYY-MM-DD.")
    ] = None,
    query: Annotated[str | None, Query(max_length=2000, description="Search, best first.")] = None,
    parent: Annotated[str | None, Query(max_length=100, description="Only its sub-tasks.")] = None,
    done: Annotated[bool | None, Query(description="Only those that are done, or that are not.")] = None,
    order: Annotated[Literal["due", "position", "created", "updated"], Query()] = "due",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> TaskList:
    """The tasks that fit all that is asked; without `status` and `done`, all that are not archived."""
    tasks = app.features.of(Tasks)
    sought = TaskQuery(
        status=status, priority=priority, tag=tag, project=project, due=due, parent=parent, done=done
    )
    if query is not None and query.strip():
        if cursor is not None:
            raise BadInput("cursor: a search has one page only; narrow the question instead.")
        found = await tasks.search(caller, query, sought, limit=limit)
        shown = await _all_shown(app, caller, found)
        return TaskList(items=shown, cursor=None, counts=await tasks.counts(caller))
    page = await tasks.list(caller, sought, order=order, limit=limit, cursor=cursor)
    return TaskList(
        items=await _all_shown(app, caller, page.items), cursor=page.cursor, counts=dict(page.counts)
    )


@router.post("", status_code=201)
async def add_task(body: TaskDraft, app: Served, caller: Caller, key: IdempotencyKey = None) -> TaskShown:
    """Keep a task. Its time may be in words; what is ambiguous is asked, and kept only when it is clear."""
    tasks = app.features.of(Tasks)
    given = body.model_dump(exclude_unset=True)
    id = id_made_by(key, given)
    words, line = given.pop("words", None), None
    if words is not None:
        line = read_line(words, tasks.now(caller))
        given = {**line.fields, **given}
    change = await tasks.create(caller, given, id=id)
    return await _changed(app, caller, change, (line and line.words) or change.understood)


@router.get("/understand")
async def understand_task(
    app: Served, caller: Caller, *, text: Annotated[str, Query(max_length=MAX_LINE)]
) -> UnderstoodTask:
    """What a line would be taken for, as it is typed."""
    try:
        line = read_line(text, app.features.of(Tasks).now(caller))
    except Ambiguous as error:
        signs, title = signs_of(text)
        readings = [
            TaskReading(words=words, text=clear)
            for words, clear in zip(error.choices, error.texts, strict=True)
        ]
        return UnderstoodTask(title=title, ambiguous=readings, problem=error.message, **signs)
    except BadInput as error:
        signs, title = signs_of(text)
        return UnderstoodTask(title=title, problem=error.message, **signs)
    fields = {name: value for name, value in line.fields.items() if name != "zone"}
    return UnderstoodTask(**fields, words=line.words or None)


@router.post("/undo")
async def undo_task_change(body: UndoToken, app: Served, caller: Caller) -> UndoneTasks:
    """Take back a change: of a field, of a status, a deletion, or the making of a task."""
    tasks = app.features.of(Tasks)
    back = await tasks.undo(caller, body.token)
    views = [await tasks.get(caller, task.id) for task in back]
    return UndoneTasks(items=await _all_shown(app, caller, views))


@router.get("/{task}", responses=documented(404))
async def get_task(task: str, app: Served, caller: Caller) -> TaskShown:
    """One task."""
    return (await _all_shown(app, caller, [await app.features.of(Tasks).get(caller, task)]))[0]


@router.patch("/{task}", responses=documented(404, 409, 412))
async def edit_task(
    task: str, body: TaskPatch, app: Served, caller: Caller, if_match: VersionMatch = None
) -> TaskShown:
    """Change some of a task's fields, or its place."""
    given, version = body.model_dump(exclude_unset=True), version_of(if_match, _NO_VERSION)
    change = await app.features.of(Tasks).update(caller, task, given, if_version=version)
    return await _changed(app, caller, change)


@router.delete("/{task}", responses=documented(404, 409, 412))
async def delete_task(task: str, app: Served, caller: Caller, if_match: VersionMatch = None) -> TaskDeletion:
    """Delete a task with its sub-tasks; for a month, `undo` or `/tasks/{task}/restore` brings them back."""
    change = await app.features.of(Tasks).delete(caller, task, if_version=version_of(if_match, _NO_VERSION))
    return TaskDeletion(deleted=change.count, undo=change.undo)


@router.post("/{task}/restore", responses=documented(404))
async def restore_task(task: str, app: Served, caller: Caller) -> TaskShown:
    """Bring back a task that was deleted, with the sub-tasks that went with it."""
    return (await _all_shown(app, caller, [await app.features.of(Tasks).restore(caller, task)]))[0]


async def _changed(app: App, caller: Principal, change: TaskChange, words: str = "") -> TaskShown:
    (shown,) = await _all_shown(app, caller, [await app.features.of(Tasks).get(caller, change.task.id)])
    return shown.model_copy(
        update={
            "undo": change.undo or None,
            "next": change.next and change.next.id,
            "understood": words or change.understood or None,
        }
    )


async def _all_shown(app: App, caller: Principal, views: Sequence[TaskView]) -> list[TaskShown]:
    """Tasks as JSON, with the titles of what they link to."""
    titles = await _titles(app, caller, {link for view in views for link in view.task.links})
    return [_shown(app, caller, view, titles) for view in views]


async def _titles(app: App, caller: Principal, links: AbstractSet[RecordLink]) -> dict[RecordLink, str]:
    """What a person calls the things that tasks link to; those that are gone have no title."""
    titles: dict[RecordLink, str] = {}
    for kind, name in _RECALL_KINDS.items():
        of_kind = [link for link in links if link.kind == kind]
        if not of_kind or name not in app.recall.kinds:
            continue
        found = await app.recall.shown(caller, name, [link.id for link in of_kind])
        shown = {link: one.title or one.text for link, one in zip(of_kind, found, strict=True) if one}
        titles |= {link: " ".join(text.split())[:_TITLE_CHARS] for link, text in shown.items()}
    for link in links:
        if link.kind == "conversation":
            try:
                titles[link] = (await app.conversations.get(caller, link.id)).record.title
            except UnknownId:
                continue
    return titles


_NO_VERSION: Final = 'If-Match: give the `version` of the task, such as "3".'
_RECALL_KINDS: Final = {"fact": "fact", "message": "turn", "event": "event"}
"""How recall calls what tasks link to, as far as it resolves these by their ids."""
_TITLE_CHARS: Final = 120


def _shown(app: App, caller: Principal, view: TaskView, titles: Mapping[RecordLink, str]) -> TaskShown:
    task, now = view.task, app.features.of(Tasks).now(caller)
    return TaskShown.of(
        task,
        due_at=task.due_at(caller.time_zone),
        due_words=due_words(task, now),
        overdue=is_overdue(task, now),
        children=view.children,
        children_done=view.children_done,
        depends_on=[{"id": one.id, "title": one.title, "done": not one.is_open} for one in view.needs],
        blocked_by=view.blocked_by,
        links=[{"kind": link.kind, "id": link.id, "title": titles.get(link)} for link in task.links],
        recurrence_words=recurrence_words(task),
        version=view.version,
    )
