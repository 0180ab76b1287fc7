"""What may be typed: the parser of all commands. Each family's file registers its own.

The options that every command takes may stand before or after its name.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from bethink import __version__
from bethink.cli import (
    bench,
    chat,
    conversations,
    dial,
    doctor,
    importing,
    mcp,
    mcp_servers,
    memory,
    serve,
    tools,
    users,
    vault,
)
from bethink.cli.commands import CommandParser, Commands
from bethink.features import FEATURES

_DESCRIPTION = "An agent that remembers, and whose memory you can read, correct, undo and take away."
_EPILOG = """\
exit codes: 0 done, 1 failed, 2 bad input, 3 no model, 4 busy, 5 storage, 130 interrupted
settings:   flags, then BETHINK_* in the environment, then bethink.toml; `bethink doctor` shows them"""


def parse(words: list[str]) -> argparse.Namespace:
    """The options; `run` among them is the command.

    Raises:
        SystemExit: help was asked for (0), or the words make no command (2).
    """
    return make_parser().parse_args(words, argparse.Namespace(**_COMMON_DEFAULTS))


_COMMON_DEFAULTS: dict[str, Any] = {
    "data": None,
    "model": None,
    "log_level": None,
    "user": None,
    "debug": False,
}


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands; the reference page is written from it, too."""
    common = _common()
    parser = CommandParser(
        prog="bethink",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        parents=[common],
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"bethink {__version__}")
    commands = Commands(None, common).under(parser)
    for family in (
        serve,
        chat,
        conversations,
        memory,
        vault,
        importing,
        *(import_module(feature.commands) for feature in FEATURES if feature.commands),
        users,
        mcp,
        mcp_servers,
        tools,
        dial,
        doctor,
        bench,
    ):
        family.register(commands)
    return parser


def _common() -> argparse.ArgumentParser:
    """Options that every command takes.

    Those that are not given leave no value behind: a value given before the
    command's name would otherwise be lost to a default after it.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    group = parser.add_argument_group("common options")
    group.add_argument("--data", metavar="DIR", help="data directory (BETHINK_DATA_DIR)")
    group.add_argument(
        "--model", metavar="PROVIDER:NAME", help="language model (BETHINK_MODEL); empty is none"
    )
    group.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), help="write the log to standard error"
    )
    group.add_argument("--user", metavar="NAME", help="whose data, where there are users (BETHINK_USER)")
    group.add_argument("--debug", action="store_true", help="show where an error came from")
    return parser
