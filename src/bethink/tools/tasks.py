"""The task tools of spec 004 ("Task Management Tools"): same names, with the fields of its create_task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field

from bethink.errors import UnknownId
from bethink.field_checks import given_fields
from bethink.tasks.due import due_words, is_overdue, recurrence_words, shown
from bethink.tasks.records import Priority, Status, Task
from bethink.tasks.service import TaskChange, TaskQuery, Tasks, TaskView
from bethink.tool import Foretold, Tool, ToolContext, ToolOutput, tool, tools_in

if TYPE_CHECKING:
    from datetime import datetime

    from bethink.feature import Surroundings
    from bethink.principal import Principal

_task_tool = partial(tool, family="tasks", rare=True)
_LISTED = 30
_ABOUT = ("task", "todo", "aufgabe")
_WHEN = (
    "today", "tomorrow", "tonight", "week", "deadline", "due", "overdue", "agenda", "plan",
    "heute", "morgen", "übermorgen", "woche", "fällig", "frist", "anstehen", "steht an",
)  # fmt: skip
_NEW = (
    *_ABOUT, "remind", "forget", "plan", "deadline", "due", "tomorrow",
    "erinner", "merk", "vergiss", "vergess", "plane", "frist", "fällig", "morgen", "übermorgen",
)  # fmt: skip
_CHANGED = (
    *_ABOUT, "done", "finished", "completed", "postpone", "reschedule", "put off",
    "erledigt", "fertig", "abgehakt", "verschieb",
)  # fmt: skip
"""What people say who want a tool."""

_StatusGiven = Annotated[Status | None, Field(description="How it stands")]
_PriorityGiven = Annotated[Priority | None, Field(description="How much it matters")]
_Title = Annotated[str, Field(max_length=160, description="What is to be done")]
_Text = Annotated[str | None, Field(max_length=20_000, description="More about it")]
_DueDate = Annotated[
    str | None, Field(max_length=300, description="Day: YYYY-MM-DD, or the user's own words (Friday week)")
]
_DueAt = Annotated[
    str | None, Field(max_length=300, description="Time: RFC 3339, or words (tomorrow at 5), not both")
]
_Tags = Annotated[list[str] | None, Field(max_length=30, description="Tags to categorize it")]
_Hours = Annotated[float | None, Field(ge=0, description="Hours it takes")]
_Project = Annotated[str | None, Field(max_length=200, description="Project it belongs to")]
_Tag = Annotated[str | None, Field(max_length=200, description="Only those with this tag")]
_Parent = Annotated[str | None, Field(max_length=100, description="Id of the task it is a part of")]
_Rule = Annotated[
    str | None, Field(max_length=1000, description="Words (every 2nd Friday, 3 days after done) or RRULE")
]
_Needs = Annotated[list[str] | None, Field(max_length=50, description="Ids of tasks to be done first")]
_Minutes = Annotated[list[int] | None, Field(max_length=10, description="Minutes before it is due")]
_Id = Annotated[str, Field(max_length=100, description="Id, as list_tasks gives it")]
_Due = Annotated[
    str | None, Field(max_length=300, description="overdue, today, week, none, or a day in words")
]


class TaskData(BaseModel):
    """A task."""

    id: str
    title: str
    description: str
    status: Status
    priority: Priority
    due_date: str | None
    due_at: str | None
    due_words: str | None
    overdue: bool
    tags: list[str]
    estimated_hours: float | None
    project: str | None
    parent: str | None
    depends_on: list[str]
    recurrence: str | None


class ChangedTask(TaskData):
    """A task after a change; `undo` takes it back, `understood` is what words of time were taken for."""

    understood: str | None
    undo: str
    next: TaskData | None = None


class TaskListData(BaseModel):
    """Some tasks; `more` says that others fit as well."""

    tasks: list[TaskData]
    more: bool


class DeletedTask(BaseModel):
    """What is gone; `undo` brings it back."""

    deleted: str
    count: int
    undo: str


def tools_of(at: Surroundings) -> list[Tool]:
    """`create_task`, `list_tasks`, `update_task`, `search_tasks` and `delete_task`."""
    return tools_in(TaskTools(at.features.of(Tasks)))


@dataclass(frozen=True, slots=True)
class TaskTools:
    """The tools over an owner's tasks."""

    tasks: Tasks

    @_task_tool(
        effect="write", label="New task: {title}", output=ChangedTask, echoes_arguments=True, cues=_NEW
    )
    async def create_task(
        self,
        context: ToolContext,
        title: _Title,
        description: _Text = None,
        priority: _PriorityGiven = None,
        due_date: _DueDate = None,
        tags: _Tags = None,
        due_at: _DueAt = None,
        status: _StatusGiven = None,
        estimated_hours: _Hours = None,
        project: _Project = None,
        parent: _Parent = None,
        recurrence: _Rule = None,
        reminders: _Minutes = None,
    ) -> ToolOutput:
        """Create a task. Pass times as the user said them; tell the user what was understood.

        One that is due at a time of day reminds the user then.
        """
        fields = given_fields(
            title=title, description=description, priority=priority, due_date=due_date, tags=tags,
            due_at=due_at, status=status, estimated_hours=estimated_hours, project=project, parent=parent,
            recurrence=recurrence, reminders=reminders,
        )  # fmt: skip
        change = await self.tasks.create(
            context.principal,
            fields,
            conversation=context.conversation or None,
            untrusted=context.is_untrusted,
        )
        return _changed("Task created", change, self.tasks.now(context.principal))

    @_task_tool(effect="read", label="List tasks", output=TaskListData, cues=(*_ABOUT, *_WHEN))
    async def list_tasks(
        self,
        context: ToolContext,
        status: _StatusGiven = None,
        priority: _PriorityGiven = None,
        tag: _Tag = None,
        project: _Project = None,
        due: _Due = None,
    ) -> ToolOutput:
        """List the user's tasks, those due first. Without a status, the open ones."""
        query = TaskQuery(
            status=status, priority=priority, tag=tag, project=project, due=due,
            done=False if status is None else None,
        )  # fmt: skip
        page = await self.tasks.list(context.principal, query, limit=_LISTED)
        return _listing(page.items, self.tasks.now(context.principal), more=page.cursor is not None)

    @_task_tool(
        effect="write",
        label="Change task {task_id}",
        output=ChangedTask,
        cues=_CHANGED,
        echoes_arguments=True,
    )
    async def update_task(
        self,
        context: ToolContext,
        task_id: _Id,
        title: Annotated[str | None, Field(max_length=160, description="What is to be done")] = None,
        description: _Text = None,
        status: _StatusGiven = None,
        priority: _PriorityGiven = None,
        due_date: _DueDate = None,
        due_at: _DueAt = None,
        tags: _Tags = None,
        estimated_hours: _Hours = None,
        project: _Project = None,
        parent: _Parent = None,
        depends_on: _Needs = None,
        recurrence: _Rule = None,
        reminders: _Minutes = None,
    ) -> ToolOutput:
        """Change a task: mark it done, plan it. Only what is given changes; "none" empties a field."""
        fields = given_fields(
            title=title, description=description, priority=priority, due_date=due_date, tags=tags,
            due_at=due_at, status=status, estimated_hours=estimated_hours, project=project, parent=parent,
            depends_on=depends_on, recurrence=recurrence, reminders=reminders,
        )  # fmt: skip
        emptied = {
            name: None if isinstance(value, str) and value.strip().lower() == "none" else value
            for name, value in fields.items()
        }
        change = await self.tasks.update(context.principal, task_id, emptied, untrusted=context.is_untrusted)
        output = _changed("Task changed", change, self.tasks.now(context.principal))
        waits = await self.tasks.get(context.principal, task_id)
        if change.task.status == "done" and waits.blocked_by:
            names = ", ".join(f"“{one.title}”" for one in waits.needs if one.is_open)
            return replace(output, text=f"{output.text}\nIt was to come after what is still open: {names}.")
        return output

    @_task_tool(effect="read", label="Search tasks: {query}", output=TaskListData, cues=_ABOUT)
    async def search_tasks(
        self,
        context: ToolContext,
        query: Annotated[str, Field(min_length=1, max_length=500, description="What it is about")],
        status: _StatusGiven = None,
        priority: _PriorityGiven = None,
    ) -> ToolOutput:
        """Find tasks by words or meaning, done ones too."""
        found = await self.tasks.search(
            context.principal, query, TaskQuery(status=status, priority=priority), limit=_LISTED + 1
        )
        return _listing(found[:_LISTED], self.tasks.now(context.principal), more=len(found) > _LISTED)

    async def _foretell(self, principal: Principal, arguments: dict[str, Any]) -> Foretold:
        try:
            view = await self.tasks.get(principal, arguments["task_id"])
        except UnknownId:
            return Foretold(arguments, "")
        parts = await self.tasks.parts_of(principal.owner, view.task.id)
        more = f" and its {len(parts)} sub-tasks" if parts else ""
        return Foretold(arguments, f"- {view.task.title}{more}")

    @_task_tool(
        effect="destructive",
        label="Delete task {task_id}",
        foretell=_foretell,
        output=DeletedTask,
        cues=("delete task", "remove task", "lösch aufgabe"),
    )
    async def delete_task(self, context: ToolContext, task_id: _Id) -> ToolOutput:
        """Delete a task and its sub-tasks. What is done is better marked done."""
        change = await self.tasks.delete(context.principal, task_id)
        more = f" and {change.count - 1} sub-tasks" if change.count > 1 else ""
        return ToolOutput(
            f"Task deleted: {change.task.title}{more}. It can be brought back for 30 days.",
            structured={"deleted": task_id, "count": change.count, "undo": change.undo},
            untrusted=change.task.untrusted,
        )


def _changed(head: str, change: TaskChange, now: datetime) -> ToolOutput:
    lines = [f"{head}: {_line(change.task, now)}"]
    if change.understood:
        lines.append(f"Understood: {change.understood}.")
    if change.next is not None:
        lines.append(f"The next one: {_line(change.next, now)}")
    structured = _data(change.task, now) | {
        "undo": change.undo,
        "understood": change.understood or None,
        "next": change.next and _data(change.next, now),
    }
    return ToolOutput("\n".join(lines), structured=structured, untrusted=change.task.untrusted)


def _listing(views: Sequence[TaskView], now: datetime, *, more: bool) -> ToolOutput:
    data = {"tasks": [_data(view.task, now) for view in views], "more": more}
    if not views:
        return ToolOutput("No tasks.", structured=data)
    lines = [f"- {_line(view.task, now)}{_state(view)}" for view in views]
    head = f"{len(views)} task{'s' if len(views) > 1 else ''}{', and more' if more else ''}:"
    return ToolOutput(
        "\n".join((head, *lines)), structured=data, untrusted=any(view.task.untrusted for view in views)
    )


def _state(view: TaskView) -> str:
    told: list[str] = []
    if view.children:
        told.append(f"{view.children_done} of {view.children} sub-tasks done")
    if view.blocked_by:
        told.append("waits for " + ", ".join(one.title for one in view.needs if one.is_open))
    return f"; {'; '.join(told)}" if told else ""


def _line(task: Task, now: datetime) -> str:
    told = [task.status.replace("_", " "), *([task.priority] if task.priority != "medium" else [])]
    if (words := due_words(task, now)) is not None:
        told.append(f"{'overdue since' if is_overdue(task, now) else 'due'} {words}")
    if (often := recurrence_words(task)) is not None:
        told.append(often)
    told += [f"project {task.project}"] if task.project else []
    told += [f"#{tag}" for tag in task.tags]
    return f"{task.title} ({'; '.join(told)}; id {task.id})"


def _data(task: Task, now: datetime) -> dict[str, Any]:
    return shown(task, now, None if task.due_date else task.due)
