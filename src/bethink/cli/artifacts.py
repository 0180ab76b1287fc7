"""`bethink artifacts`: what was made beside conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg
from bethink.cli.terminal import one_line

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.artifacts.service import Artifacts
    from bethink.cli.session import Session

_EPILOG = """\
examples:
  bethink artifacts list
  bethink artifacts show ID > page.html"""
COMMANDS = Commands(_EPILOG)


def _artifacts(session: Session) -> Artifacts:
    from bethink.artifacts.service import Artifacts

    return session.app.features.of(Artifacts)


@COMMANDS.add("list")
def _list(session: Session, _: Namespace) -> None:
    """Show the artifacts that changed last."""
    page = session.mine(_artifacts(session).list)
    for item in page.items:
        one = item.record
        known = {"id": one.id, "title": one.title, "format": one.format, "version": one.version}
        session.screen.result(known, f"{one.id}  {one_line(one.title)}  {one.format}, version {one.version}")
    if not page.items:
        session.screen.note("No artifacts.")


@COMMANDS.add(
    "show", arg("id ID", "as `list` shows it"), arg("--version N", "its newest unless told", type=int)
)
def _show(session: Session, options: Namespace) -> None:
    """Print the text of an artifact."""
    version = session.mine(_artifacts(session).version, options.id, options.version)
    session.screen.result(
        {"id": options.id, "version": version.number, "by": version.by, "content": version.content},
        version.content,
    )


@COMMANDS.add("delete", arg("id ID", "as `list` shows it"))
def _delete(session: Session, options: Namespace) -> None:
    """Remove an artifact with its versions."""
    session.mine(_artifacts(session).delete, options.id)
    session.screen.result({"deleted": options.id}, "Deleted.")
