"""`bethink vault ask`: a question to the agent that keeps the vault, and what it does for it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bethink.cli.exits import Exit
from bethink.cli.render import JsonLines, Outcome, Words
from bethink.cli.session import opened
from bethink.cli.terminal import Screen, read_stdin

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Ask, and show the answer as it comes; Ctrl-C ends it."""
    screen = Screen.of_process(is_data=options.json)
    question = " ".join(read_stdin() if word == "-" else word for word in options.question)
    renderer = JsonLines(screen) if options.json else Words(screen, is_verbose=options.verbose)
    outcome = Outcome()
    with opened(options) as session:
        ask = partial(session.app.asking.follow, session.principal, question, options.filter)
        for batch in session.streamed(ask):
            for numbered in batch:
                outcome.take(numbered)
                renderer.show(numbered)
    return Exit.FAILED if outcome.reason == "awaiting_approval" else outcome.exit
