"""Where the families of commands register themselves. `arguments` hands one to each."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn


class CommandParser(argparse.ArgumentParser):
    """A parser that tells of itself what is wrong, and lists its commands where one is missing."""

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride] - one of argparse's two shapes
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As argparse does, but what a command does not know ends there, with that command's usage."""
        known, rest = super().parse_known_args(args, namespace or argparse.Namespace())
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return known, rest

    def error(self, message: str) -> NoReturn:
        """Print the usage and what is wrong; the whole help where only the command's name is missing."""
        if message == _NO_COMMAND:
            self.print_help(sys.stderr)
            self.exit(2, f"\n{self.prog}: say which of these commands.\n")
        super().error(message)


_NO_COMMAND = "the following arguments are required: COMMAND"
"""What argparse says then; it has no other way to tell this error from the rest."""


def add_json(parser: argparse.ArgumentParser, each: str = "result") -> None:
    """The option by which programs read a command; `each` is what a line of it is about."""
    parser.add_argument("--json", action="store_true", help=f"print each {each} as a line of JSON")


def add_yes(parser: argparse.ArgumentParser, text: str = "do not ask") -> None:
    """The option of commands that ask before they do it."""
    parser.add_argument("-y", "--yes", action="store_true", help=text)


class Commands:
    """Where a family of commands registers: `add` makes a parser that takes the `common` options.

    `choices` is argparse's object for the commands below one parser, which has no public type.
    """

    def __init__(self, choices: Any, common: argparse.ArgumentParser) -> None:  # noqa: ANN401
        self._choices = choices
        self._common = common

    def add(
        self,
        name: str,
        run: Callable[[argparse.Namespace], int] | None,
        summary: str,
        *,
        epilog: str | None = None,
    ) -> argparse.ArgumentParser:
        """A command's parser; `run` is None for one that has commands of its own."""
        parser: argparse.ArgumentParser = self._choices.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=epilog,
            parents=[self._common],
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if run is not None:
            parser.set_defaults(run=run)
        return parser

    def under(self, parser: argparse.ArgumentParser) -> Commands:
        """Where the commands of `parser` register."""
        choices = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
        return Commands(choices, self._common)
