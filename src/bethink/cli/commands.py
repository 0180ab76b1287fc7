"""What may be typed: each family of commands is a module with a table `COMMANDS`, and these make the parser.

A family is imported when one of its commands is typed, so its module imports nothing heavy at its
top. The options that every command takes may stand before or after its name.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from bethink import __version__
from bethink.errors import BadInput

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.exits import Exit
    from bethink.cli.session import Session

_Run = TypeVar("_Run", bound="Callable[[Session, Namespace], Exit | None]")
_RunAlone = TypeVar("_RunAlone", bound="Callable[[Namespace], int]")

_DESCRIPTION = "An agent with a memory that you can read, correct, undo and export."
_EPILOG = """\
exit codes: 0 done, 1 failed, 2 bad input, 3 no model, 4 busy, 5 storage, 130 interrupted
settings:   flags, then BETHINK_* in the environment, then bethink.toml, then `bethink settings`"""
_NO_COMMAND = "the following arguments are required: COMMAND"
"""What argparse says then; it has no other way to tell this error from the rest."""

OWN_FAMILIES = {
    "serve": "serve the web page and the API on this machine",
    "chat": "chat with the agent",
    "import": "import data from ChatGPT, Claude, Notion, Obsidian or Markdown",
    "migrate": "move everything from one database to another one",
    "restore": "bring a backup back as a new data directory",
    "seal": "seal this home, so that nobody without its key reads it from the disk",
    "users": "manage users and their keys",
    "settings": "show and change the settings that are kept in the data directory",
    "mcp": "serve memory and tools to MCP clients, over stdio",
    "mcp-servers": "manage the MCP servers whose tools are used",
    "tools": "set rules for tools and list their calls",
    "dial": "help with running Bethink as an application of DIAL",
    "doctor": "check the installation and say how to fix it",
    "bench": "measure Bethink on this machine",
    "completion": "print the completion of commands for a shell",
}
"""Summaries of families that are no feature's; a family's module has its name, with `_` for `-`."""
_OPENING = re.compile(r'"""`bethink (?P<name>[\w-]+)`: (?P<summary>.+)\."""')


def families() -> dict[str, str]:
    """Each family's summary: the features' are the first lines of their modules.

    To read these takes a millisecond. To import all features, whose descriptors name these modules
    (`Feature.commands`), takes ten times as long as `bethink --version`; a test compares the two.
    """
    found = {name: OWN_FAMILIES[name] for name in ("serve", "chat")}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        with path.open(encoding="utf-8") as file:
            opening = _OPENING.match(file.readline())
        if opening is not None and opening["name"] not in OWN_FAMILIES:
            found[opening["name"]] = opening["summary"]
    return found | OWN_FAMILIES


@dataclass(frozen=True, slots=True)
class Argument:
    """Arguments as argparse takes them: one, or several of which at most one is given (see `one_of`)."""

    names: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    choices: Sequence[Argument] = ()
    required: bool = False

    def add_to(self, parser: Any) -> None:  # noqa: ANN401 - argparse has no public type of a parser or a group
        """Have a parser, or a group of one, take it."""
        if not self.choices:
            parser.add_argument(*self.names, **self.options)
            return
        group = parser.add_mutually_exclusive_group(required=self.required)
        for one in self.choices:
            one.add_to(group)


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `name` is below its family: "list", "key add", or "" for the family itself.

    `run` is None for one that only groups the commands below it.
    """

    name: str
    summary: str
    run: Callable[[Namespace], int] | None = None
    arguments: Sequence[Argument] = ()


@dataclass(slots=True)
class Commands:
    """A family's table: its module fills it with `add`, in the order of the help."""

    epilog: str | None = None
    is_operators: bool = False
    """Whether it is the operator who acts, whatever user the environment names."""
    before: Callable[[Session], object] | None = None
    """What each command of the family does first."""
    table: list[Command] = field(default_factory=list[Command])

    def group(self, name: str, summary: str) -> None:
        """A command that has commands of its own."""
        self.table.append(Command(name, summary))

    def add(
        self, name: str, *arguments: Argument, json: str | None = "each result"
    ) -> Callable[[_Run], _Run]:
        """A command that uses the app: a decorator of what it does.

        That gets the open session and the options, and returns the exit code, or None if it is done. Its
        docstring's first line is the command's help. `json` says what a line of `--json` is about; None
        is a command without it.
        """

        def added(run: _Run) -> _Run:
            self.table.append(
                Command(name, _summary(run), partial(self._in_session, run), (*arguments, *_json(json)))
            )
            return run

        return added

    def add_alone(
        self, name: str, *arguments: Argument, json: str | None = None
    ) -> Callable[[_RunAlone], _RunAlone]:
        """The same for a command that gets the options only, and opens what it needs by itself."""

        def added(run: _RunAlone) -> _RunAlone:
            self.table.append(Command(name, _summary(run), run, (*arguments, *_json(json))))
            return run

        return added

    def _in_session(self, run: Callable[[Session, Namespace], Exit | None], options: Namespace) -> int:
        from bethink.cli.session import opened

        if self.is_operators:
            options.user = ""
        with opened(options) as session:
            if self.before is not None:
                self.before(session)
            return run(session, options) or 0


def arg(spec: str, help: str, **options: Any) -> Argument:  # noqa: A002, ANN401 - argparse's own
    """An argument by what is typed.

    "--all" is a flag, "-k --k N" an option with a value that the help calls N, "--as a|b" one of these,
    "id ID" a word that is kept as `id`. `ID+`, `ID*` and `ID?` are several, any number and at most one.
    `options` are argparse's own.
    """
    words = spec.split()
    names = [word for word in words if word.startswith("-")] or words[:1]
    if len(words) == len(names):
        options = {"action": "store_true", **options}
    elif "|" in words[-1]:
        options["choices"] = words[-1].split("|")
    else:
        options["metavar"] = words[-1].rstrip("*+?")
        if (count := words[-1][-1]) in "*+?":
            options["nargs"] = count
    return Argument(names, {"help": help, **options})


def repeated(spec: str, help: str, **options: Any) -> Argument:  # noqa: A002, ANN401 - argparse's own
    """An option that may be given again; a list, empty if it is not given."""
    return arg(spec, help, action="append", **{"default": [], **options})


def one_of(*choices: Argument, required: bool = False) -> Argument:
    """Arguments of which at most one is given, or exactly one if it is `required`."""
    return Argument(choices=choices, required=required)


def at_most(limit: int, things: str = "", most: int | None = None) -> Argument:
    """`--limit`: how many things are printed, `limit` by default, `most` at most."""

    def number(text: str) -> int:
        if (count := int(text)) < 1 or (most is not None and count > most):
            raise BadInput(f"--limit is {count}: give a number from 1{f' to {most:,}' if most else ''}.")
        return count

    number.__name__ = "int"  # argparse's own sentence names it if the text is no number
    return arg(
        "--limit N", f"at most this many{things and ' '}{things} ({limit})", type=number, default=limit
    )


def _summary(run: Callable[..., object]) -> str:
    """The first line of the docstring as part of a sentence."""
    first = (run.__doc__ or "").partition("\n")[0].removesuffix(".")
    return first[:1].lower() + first[1:]


def _json(each: str | None) -> Sequence[Argument]:
    return () if each is None else (arg("--json", f"print {each} as a line of JSON"),)


YES = arg("-y --yes", "do not ask")


def parse(words: list[str]) -> Namespace:
    """The options; `run` among them is the command: called with them, it gives the exit code.

    Raises:
        SystemExit: help was asked for (0), or the words make no command (2).
        BadInput: a number is outside of what its option takes.
    """
    defaults = {"data": None, "model": None, "log_level": None, "user": None, "debug": False}
    return _parser().parse_args(words, argparse.Namespace(**defaults))


def make_parser() -> _Parser:
    """The parser with the commands of all families; the reference page is written from it, too."""
    parser = _parser()
    for family in parser.families.values():
        family.fill()
    return parser


_WRONG_COMMAND = re.compile(r"argument COMMAND: invalid choice: '([^']{1,100})'")
_WRONG_OPTION = re.compile(r"unrecognized arguments: (--[\w-]{1,100})")
"""What argparse says of words that it does not know."""


def words_of(parser: _Parser, path: str = "") -> list[tuple[str, list[str]]]:
    """What may follow each command: commands and long options, by the words of the command."""
    below = parser.commands
    found = [(path, [*below, *parser.option_names])]
    for name, one in below.items():
        found += words_of(one, f"{path} {name}".strip())
    return found


class _Parser(argparse.ArgumentParser):
    """Learns a family's commands when it is used, and lists them if one is missing."""

    def __init__(self, *, common: argparse.ArgumentParser, **options: Any) -> None:  # noqa: ANN401
        super().__init__(
            parents=[common],
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **options,
        )
        self.fill: Callable[[], None] = lambda: None
        self.families: dict[str, _Parser] = {}
        self._common = common
        self._below: Any = None

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride] - one of argparse's two shapes
        self, args: Sequence[str] | None = None, namespace: Namespace | None = None
    ) -> tuple[Namespace, list[str]]:
        """As argparse does, but what a command does not know ends there, with that command's usage."""
        self.fill()
        known, rest = super().parse_known_args(args, namespace or argparse.Namespace())
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return known, rest

    def error(self, message: str) -> NoReturn:
        """Print the usage and what is wrong; the whole help if only the command's name is missing."""
        if message == _NO_COMMAND:
            self.print_help(sys.stderr)
            self.exit(2, f"\n{self.prog}: choose one of these commands.\n")
        if (wrong := _WRONG_COMMAND.match(message)) is not None:
            message = f"there is no command {wrong[1]!r}{self._meant(wrong[1], self.commands)}"
        elif (wrong := _WRONG_OPTION.match(message)) is not None:
            message += self._meant(wrong[1], self._option_string_actions)
        super().error(message)

    @property
    def commands(self) -> Mapping[str, _Parser]:
        """The commands directly below this one."""
        return {} if self._below is None else self._below.choices

    @property
    def option_names(self) -> list[str]:
        """The long options of this command."""
        return [name for name in self._option_string_actions if name.startswith("--")]

    def _meant(self, word: str, known: Iterable[str]) -> str:
        found = difflib.get_close_matches(word, list(known), n=3)
        is_option = word.startswith("-")
        names = " or ".join(f"`{one if is_option else f'{self.prog} {one}'}`" for one in found)
        return f". Did you mean {names}?" if found else ""

    def below(self, name: str, summary: str) -> _Parser:
        """The parser of a command below this one."""
        if self._below is None:
            self._below = self.add_subparsers(
                metavar="COMMAND", required=True, title="commands", parser_class=_Parser
            )
        description = f"{summary[0].upper()}{summary[1:]}."
        return self._below.add_parser(name, help=summary, description=description, common=self._common)

    def take(self, family: Commands) -> None:
        """Take a family's commands: this is its parser, or that of the command which is a family itself."""
        self.fill = lambda: None
        self.epilog = family.epilog
        parsers: dict[str, _Parser] = {"": self}
        for command in family.table:
            above, _, name = command.name.rpartition(" ")
            parser = parsers[above].below(name, command.summary) if name else self
            parsers[command.name] = parser
            for argument in command.arguments:
                argument.add_to(parser)
            if command.run is not None:
                parser.set_defaults(run=command.run)


def _parser() -> _Parser:
    parser = _Parser(common=_common(), prog="bethink", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"bethink {__version__}")
    for name, summary in families().items():
        parser.families[name] = family = parser.below(name, summary)
        family.fill = partial(_fill, family, name)
    return parser


def _fill(family: _Parser, name: str) -> None:
    module = importlib.import_module(f"bethink.cli.{_MODULES.get(name, name).replace('-', '_')}")
    family.take(module.COMMANDS)


_MODULES = {"import": "imports"}
"""Where the module cannot have the family's name."""


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
    group.add_argument("--user", metavar="NAME", help="the user whose data is used (BETHINK_USER)")
    group.add_argument("--debug", action="store_true", help="show where an error came from")
    return parser
