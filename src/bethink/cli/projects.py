"""`bethink projects`: instructions of conversations that belong together, and what they read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bethink.cli.commands import Commands, arg, one_of
from bethink.cli.terminal import one_line

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session
    from bethink.projects import ProjectEdit, Projects, ProjectState

_EPILOG = """\
examples:
  bethink projects add 'The boat' --instructions 'Answer briefly.' --memory own
  bethink projects edit 'The boat' --collection Manuals --collection Rules
  bethink projects remove 'The boat'"""
COMMANDS = Commands(_EPILOG)
_SAID = (
    arg("--instructions TEXT", "given to the model in each of its conversations"),
    arg(
        "--memory SCOPE", "all: answers read everything; own: only what belongs to it", choices=("all", "own")
    ),
    one_of(
        arg(
            "--collection NAME",
            "look for documents in this collection, by name or id; may be repeated",
            action="append",
            dest="collections",
        ),
        arg(
            "--all-documents",
            "look for documents everywhere",
            action="store_const",
            const=[],
            dest="collections",
        ),
    ),
)


def _projects(session: Session) -> Projects:
    from bethink.projects import Projects

    return session.app.features.of(Projects)


@COMMANDS.add("list")
def _list(session: Session, _: Namespace) -> None:
    """Show all projects."""
    projects = session.mine(_projects(session).list)
    for project in projects:
        _tell(session, project)
    if not projects:
        session.screen.note("No projects.")


@COMMANDS.add("add", arg("name NAME", "its name, and its id"), *_SAID)
def _add(session: Session, options: Namespace) -> None:
    """Make a project."""
    _tell(session, session.mine(_projects(session).create, options.name, _edit_of(options)))


@COMMANDS.add("edit", arg("project ID", "as `list` shows it"), arg("--name NAME", "another name"), *_SAID)
def _edit(session: Session, options: Namespace) -> None:
    """Change a project; its id stays."""
    _tell(session, session.mine(_projects(session).change, options.project, _edit_of(options)))


@COMMANDS.add("remove", arg("project ID", "as `list` shows it"))
def _remove(session: Session, options: Namespace) -> None:
    """Remove a project; its conversations stay, in none."""
    session.mine(_projects(session).remove, options.project)
    session.screen.result({"removed": options.project}, "Removed.")


def _edit_of(options: Namespace) -> ProjectEdit:
    from bethink.projects import ProjectEdit

    given: dict[str, Any] = {
        name: tuple(value) if name == "collections" else value
        for name in ProjectEdit.__struct_fields__
        if (value := getattr(options, name, None)) is not None
    }
    # A name that makes a project is no change of it.
    return ProjectEdit(**given)


def _tell(session: Session, state: ProjectState) -> None:
    project = state.project
    told = [one_line(project.name), f"memory: {project.memory}"]
    if state.collections:
        told.append(f"documents: {', '.join(one_line(one.name) for one in state.collections)}")
    told.append(one_line(project.instructions)[:80])
    collections = msgspec.to_builtins(state.collections)
    session.screen.result(msgspec.to_builtins(project) | {"collections": collections}, "  ".join(told))
