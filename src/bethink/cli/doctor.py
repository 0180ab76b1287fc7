"""`bethink doctor`: is everything that Bethink stands on well? `checkup` looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import add_json

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands


def register(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add("doctor", run, "check what Bethink stands on, and say what to do")
    parser.add_argument(
        "--fix", action="store_true", help="fetch the embedding model, keep others out of the data"
    )
    add_json(parser, "check")


def run(options: argparse.Namespace) -> int:
    """Check everything; it failed where something is broken."""
    from bethink.cli.checkup import check_up

    return check_up(options)
