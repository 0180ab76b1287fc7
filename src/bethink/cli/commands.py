"""Where the families of commands register themselves. `arguments` hands one to each."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


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
