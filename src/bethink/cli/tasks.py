"""`bethink tasks`: add, list, change and delete tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bethink.cli.commands import Commands, arg, at_most
from bethink.cli.terminal import rfc3339

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session
    from bethink.tasks.service import TaskChange, Tasks, TaskView

_EPILOG = """\
examples:
  bethink tasks add Call Bruna tomorrow at 5 '#family' '!high' +garden
  bethink tasks add Water the plants every 2nd Friday
  bethink tasks list --due week
  bethink tasks edit ID --due 'Friday week' --priority urgent
  bethink tasks done ID"""
_MOST = 200
COMMANDS = Commands(_EPILOG)
_STATUSES = "backlog|todo|in_progress|blocked|done|archived"
_PRIORITIES = "low|medium|high|urgent"
_FIELDS = (
    arg("--description TEXT", "more about it"),
    arg(f"--status {_STATUSES}", "how it stands"),
    arg(f"--priority {_PRIORITIES}", "how much it matters"),
    arg("--due TIME", "a day or a time, in words (Friday at 17:00) or as 2026-12-04; 'none' for no time"),
    arg("--tags TAGS", "separated by commas"),
    arg("--hours NUMBER", "how long it takes"),
    arg("--project NAME", "what it belongs to"),
    arg("--parent ID", "the task that it is a part of"),
    arg("--after IDS", "the tasks that come first, separated by commas"),
    arg("--repeat RULE", "in words (every 2nd Friday, 3 days after done) or as an RRULE"),
    arg("--remind MINUTES", "before it is due, separated by commas"),
)


def _service(session: Session) -> Tasks:
    from bethink.tasks.service import Tasks

    return session.app.features.of(Tasks)


@COMMANDS.add("add", arg("words WORD+", "what, when, #tag, !priority, +project"), *_FIELDS)
def _add(session: Session, options: Namespace) -> None:
    """Add a task, in words."""
    from bethink.tasks.quick_add import read_line

    tasks = _service(session)
    line = read_line(" ".join(options.words), tasks.now(session.principal))
    change = session.mine(tasks.create, line.fields | _fields(options))
    _tell(session, change, "Added", words=line.words)


@COMMANDS.add(
    "list",
    arg(f"--status {_STATUSES}", "only these; without it, all that are open"),
    arg(f"--priority {_PRIORITIES}", "only these"),
    arg("--tag TAG", "only those with this tag"),
    arg("--project NAME", "only those of this project"),
    arg("--due WHEN", "overdue, today, week, none, or a day"),
    arg("--done", "those that are done"),
    at_most(50, most=_MOST),
)
def _list(session: Session, options: Namespace) -> None:
    """List tasks, those that are due first."""
    from bethink.tasks.service import TaskQuery

    tasks = _service(session)
    query = TaskQuery(
        status=options.status,
        priority=options.priority,
        tag=options.tag,
        project=options.project,
        due=options.due,
        done=True if options.done else False if options.status is None else None,
    )
    page = session.mine(tasks.list, query, limit=options.limit)
    for view in page.items:
        _print(session, view)
    if not page.items:
        session.screen.note("No tasks.")
    elif page.cursor is not None:
        session.screen.note("There are more; --limit shows more of them.")


@COMMANDS.add("search", arg("query WORD+", "what they are about"), at_most(20, most=_MOST))
def _search(session: Session, options: Namespace) -> None:
    """Find tasks by words or meaning."""
    from bethink.tasks.service import TaskQuery

    found = session.mine(_service(session).search, " ".join(options.query), TaskQuery(), limit=options.limit)
    for view in found:
        _print(session, view)
    if not found:
        session.screen.note("No task fits.")


@COMMANDS.add("show", arg("task ID", "its id, as `list` prints it"))
def _show(session: Session, options: Namespace) -> None:
    """Show one task with its parts."""
    tasks = _service(session)
    view = session.mine(tasks.get, options.task)
    now = tasks.now(session.principal)
    lines = [_line(view, now)]
    lines += [f"  {view.task.description}"] if view.task.description else []
    lines += [f"  after: {one.title} ({one.status})" for one in view.needs]
    lines += [f"  {link.kind}: {link.id}" for link in view.task.links]
    session.screen.result(_document(view, now), "\n".join(lines))
    if not session.screen.is_data:
        for part in session.call(tasks.parts_of, session.principal.owner, options.task):
            session.screen.note(f"  part: {part.record.title} ({part.record.status}; {part.record.id})")


@COMMANDS.add("edit", arg("task ID", "its id"), arg("--title TEXT", "what is to be done"), *_FIELDS)
def _edit(session: Session, options: Namespace) -> None:
    """Change fields of a task; what is not named stays."""
    fields = _fields(options) | ({"title": options.title} if options.title is not None else {})
    if not fields:
        from bethink.errors import BadInput

        raise BadInput("Name what to change, such as --due Friday or --status done.")
    _tell(session, session.mine(_service(session).update, options.task, fields), "Changed")


@COMMANDS.add("done", arg("task ID", "its id"))
def _done(session: Session, options: Namespace) -> None:
    """Mark a task as done; of a recurring one the next comes."""
    _tell(session, session.mine(_service(session).update, options.task, {"status": "done"}), "Done")


@COMMANDS.add("delete", arg("task ID", "its id"))
def _delete(session: Session, options: Namespace) -> None:
    """Delete a task and its sub-tasks; for 30 days `undo` brings them back."""
    change = session.mine(_service(session).delete, options.task)
    more = f" and {change.count - 1} sub-tasks" if change.count > 1 else ""
    document = {"deleted": change.task.id, "count": change.count, "undo": change.undo}
    session.screen.result(
        document, f"Deleted: {change.task.title}{more}. `bethink tasks undo {change.undo}` brings it back."
    )


@COMMANDS.add("undo", arg("token TOKEN", "as the change printed it"))
def _undo(session: Session, options: Namespace) -> None:
    """Take back a change."""
    for task in session.mine(_service(session).undo, options.token):
        session.screen.result({"id": task.id, "title": task.title}, f"As it was: {task.title} ({task.id})")


def _fields(options: Namespace) -> dict[str, Any]:
    """The fields that options give; `none` empties one."""
    named = {
        "description": options.description,
        "status": options.status,
        "priority": options.priority,
        "due_at": options.due,
        "tags": _listed(options.tags),
        "estimated_hours": _number(options.hours),
        "project": options.project,
        "parent": options.parent,
        "depends_on": _listed(options.after),
        "recurrence": options.repeat,
        "reminders": None
        if options.remind is None
        else [_whole(one) for one in _listed(options.remind) or []],
    }
    return {name: None if value == "none" else value for name, value in named.items() if value is not None}


def _listed(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [] if text == "none" else [part.strip() for part in text.split(",") if part.strip()]


def _number(text: str | None) -> Any:  # noqa: ANN401 - a number, or a text that the service refuses
    try:
        return text if text in {None, "none"} else float(text or "")
    except ValueError:
        return text


def _whole(text: str) -> Any:  # noqa: ANN401 - as above
    return int(text) if text.isdecimal() else text


def _tell(session: Session, change: TaskChange, head: str, *, words: str = "") -> None:
    tasks = _service(session)
    view = session.mine(tasks.get, change.task.id)
    now = tasks.now(session.principal)
    understood = words or change.understood
    document = _document(view, now) | {"undo": change.undo, "understood": understood or None}
    if change.next is not None:
        document["next"] = change.next.id
    session.screen.result(document, f"{head}: {_line(view, now)}")
    if understood:
        session.screen.note(f"Understood: {understood}.")
    if change.next is not None:
        session.screen.note(f"The next one is {change.next.id}, due {change.next.due}.")


def _print(session: Session, view: TaskView) -> None:
    now = _service(session).now(session.principal)
    session.screen.result(_document(view, now), _line(view, now))


def _line(view: TaskView, now: Any) -> str:  # noqa: ANN401 - a datetime
    from bethink.tasks.due import due_words, is_overdue, recurrence_words

    task = view.task
    told = [task.status.replace("_", " "), *([task.priority] if task.priority != "medium" else [])]
    if (words := due_words(task, now)) is not None:
        told.append(f"{'overdue since' if is_overdue(task, now) else 'due'} {words}")
    if (often := recurrence_words(task)) is not None:
        told.append(often)
    told += [f"+{task.project}"] if task.project else []
    told += [f"#{tag}" for tag in task.tags]
    if view.children:
        told.append(f"{view.children_done} of {view.children} parts done")
    if view.blocked_by:
        told.append(f"waits for {view.blocked_by}")
    return f"{task.id}  {task.title}  ({'; '.join(told)})"


def _document(view: TaskView, now: Any) -> dict[str, Any]:  # noqa: ANN401 - a datetime
    from bethink.tasks.due import shown

    task, at = view.task, view.task.due_at(str(now.tzinfo))
    return shown(task, now, None if at is None else rfc3339(at)) | {
        "reminders": list(task.reminders),
        "children": view.children,
        "children_done": view.children_done,
        "blocked_by": view.blocked_by,
        "created_at": rfc3339(task.created_at),
        "done_at": rfc3339(task.done_at),
        "version": view.version,
    }
