"""`bethink chat`: one question and its answer, or a conversation in the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg, one_of

if TYPE_CHECKING:
    from argparse import Namespace


_EPILOG = """\
examples:
  bethink chat                              chat; Ctrl-C stops an answer, Ctrl-D exits
  bethink chat What do you know about me?   one question, one answer
  git diff | bethink chat Explain this: -   the rest of the question from a pipe"""
COMMANDS = Commands(_EPILOG)


@COMMANDS.add_alone(
    "",
    arg("message MESSAGE*", "your message; `-` stands for standard input"),
    one_of(
        arg("--conversation ID", "continue this conversation"),
        arg("--last", "continue the last conversation"),
        arg("--new", "start a new conversation (the default)"),
    ),
    arg("-v --verbose", "show tools' arguments and results, and reasoning"),
    json="each event",
)
def _chat(options: Namespace) -> int:
    """Say the message and show the answer, or go on until the person leaves."""
    from bethink.cli.render import renderer_of
    from bethink.cli.session import opened
    from bethink.cli.talk import TerminalTalk, find_conversation

    said = _said(options)
    with opened(options) as session:
        conversation = find_conversation(session, id=options.conversation, last=options.last)
        talk = TerminalTalk(session, conversation, renderer_of(session.screen, is_verbose=options.verbose))
        if said is None:
            code = talk.interactively()
        elif said.strip() or talk.conversation is None:
            talk.tell_where_it_stopped()
            code = talk.turn(said)
        else:
            code = talk.go_on()
        talk.wait_for_facts()
        if talk.conversation is not None:
            session.screen.note(f"conversation {talk.conversation}")
    return code


def _said(options: Namespace) -> str | None:
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
