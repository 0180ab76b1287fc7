"""`bethink prompts`: texts to send again, with places to fill in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg
from bethink.cli.terminal import one_line

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session
    from bethink.prompts import Prompt, PromptLibrary

_EPILOG = """\
examples:
  bethink prompts add letter 'Write a {{tone|friendly}} letter about {{topic}}.'
  bethink prompts use letter topic=rent | bethink chat"""
COMMANDS = Commands(_EPILOG)
_SHOWN_CHARS = 80


def _library(session: Session) -> PromptLibrary:
    from bethink.prompts import PromptLibrary

    return session.app.features.of(PromptLibrary)


@COMMANDS.add("list")
def _list(session: Session, _: Namespace) -> None:
    """Show all prompts."""
    prompts = session.mine(_library(session).list)
    for prompt in prompts:
        _tell(session, prompt)
    if not prompts:
        session.screen.note("No prompts.")


@COMMANDS.add(
    "add",
    arg("name NAME", "by which it is chosen"),
    arg("text TEXT+", "what is sent; {{topic}} is asked for"),
)
def _add(session: Session, options: Namespace) -> None:
    """Keep a prompt."""
    _tell(session, session.mine(_library(session).add, options.name, " ".join(options.text)))


@COMMANDS.add(
    "edit",
    arg("prompt NAME", "its name or id"),
    arg("--name NAME", "another name"),
    arg("--text TEXT", "another text"),
)
def _edit(session: Session, options: Namespace) -> None:
    """Change a prompt's name or text."""
    library = _library(session)
    prompt = session.mine(library.find, options.prompt)
    _tell(session, session.mine(library.update, prompt.id, name=options.name, text=options.text))


@COMMANDS.add(
    "use", arg("prompt NAME", "its name or id"), arg("values NAME=VALUE*", "what its variables stand for")
)
def _use(session: Session, options: Namespace) -> None:
    """Print a prompt with its variables filled in."""
    from bethink.errors import BadInput
    from bethink.prompts import filled

    values: dict[str, str] = {}
    for given in options.values:
        name, mark, value = given.partition("=")
        if not mark:
            raise BadInput(f"{given!r} is no value: write NAME=VALUE, such as topic=rent.")
        values[name.strip()] = value
    text = filled(session.mine(_library(session).find, options.prompt).text, values)
    session.screen.result({"text": text}, text)


@COMMANDS.add("delete", arg("prompt NAME", "its name or id"))
def _delete(session: Session, options: Namespace) -> None:
    """Remove a prompt."""
    library = _library(session)
    prompt = session.mine(library.find, options.prompt)
    session.mine(library.delete, prompt.id)
    session.screen.note(f"Deleted: {one_line(prompt.name)}")


def _tell(session: Session, prompt: Prompt) -> None:
    from bethink.prompts import variables_of

    variables = [{"name": one.name, "default": one.default} for one in variables_of(prompt.text)]
    session.screen.result(
        {"id": prompt.id, "name": prompt.name, "text": prompt.text, "variables": variables},
        f"{one_line(prompt.name)}  {one_line(prompt.text)[:_SHOWN_CHARS]}",
    )
