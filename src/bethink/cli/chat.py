"""`bethink chat`: one question and its answer, or a conversation in the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bethink.cli.commands import add_json

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands

_EPILOG = """\
examples:
  bethink chat                              talk; Ctrl-C stops an answer, Ctrl-D leaves
  bethink chat What do you know about me?   one question, one answer
  git diff | bethink chat Explain this: -   the rest of the question from a pipe"""


def register(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add("chat", run, "talk with the agent", epilog=_EPILOG)
    parser.add_argument(
        "message", nargs="*", metavar="MESSAGE", help="what to say; `-` stands for what is piped in"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--conversation", metavar="ID", help="go on in this conversation")
    which.add_argument("--last", action="store_true", help="go on in the last conversation")
    which.add_argument("--new", action="store_true", help="begin a new conversation (the default)")
    add_json(parser, "event")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show tools' arguments and results, and reasoning"
    )


def run(options: argparse.Namespace) -> int:
    """Answer the message, or go on until the person leaves."""
    from bethink.cli.render import JsonLines, Words
    from bethink.cli.session import opened
    from bethink.cli.talk import Talk, find_conversation
    from bethink.cli.terminal import Screen

    said = _said(options)
    screen = Screen.of_process(is_data=options.json)
    with opened(options) as session:
        conversation = find_conversation(session, id=options.conversation, last=options.last)
        renderer = JsonLines(screen) if options.json else Words(screen, is_verbose=options.verbose)
        talk = Talk(session, screen, conversation, renderer)
        if said is None:
            code = talk.interactively()
        elif said.strip() or talk.conversation is None:
            talk.tell_where_it_stopped()
            code = talk.turn(said)
        else:
            code = talk.go_on()
        talk.wait_for_facts()
        if talk.conversation is not None:
            screen.note(f"conversation {talk.conversation}")
    return code


def _said(options: argparse.Namespace) -> str | None:
    """The message of the command line and the pipe; None when a person is to type."""
    from bethink.cli.terminal import read_stdin

    words: list[str] = options.message
    if not words:
        return None if sys.stdin.isatty() else read_stdin()
    if "-" not in words:
        return " ".join(words)
    piped = read_stdin().rstrip("\n")
    typed = " ".join(word for word in words if word != "-")
    return f"{typed}\n\n{piped}" if typed else piped
