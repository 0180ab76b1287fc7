"""`bethink vault …`: what may be typed. `vault_pages` and its siblings do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli import vault_facts, vault_filters, vault_looking
from bethink.cli.commands import add_json

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands


def register(commands: Commands) -> None:
    """Add the commands."""
    family = commands.under(commands.add("vault", None, "look into the vault of pages and change it"))
    _register_reading(family)
    _register_asking(family)
    vault_looking.register(family)
    vault_filters.register(family)
    vault_facts.register(family)
    _register_changing(family)


def _register_asking(family: Commands) -> None:
    ask = family.add("ask", _ask, "ask the agent that keeps the vault, or have it note something")
    ask.add_argument("question", nargs="+", metavar="QUESTION", help="`-` stands for what is piped in")
    ask.add_argument(
        "--filter", action="append", default=[], metavar="TEXT", help="what it must not tell; may be repeated"
    )
    add_json(ask, "event")
    ask.add_argument("-v", "--verbose", action="store_true", help="show what it considers and reads")


def _register_reading(family: Commands) -> None:
    listing = _add(family, "list", "list the pages of a folder")
    listing.add_argument(
        "folder", nargs="?", default="", metavar="FOLDER", help="the vault itself unless told"
    )
    listing.add_argument("--deep", action="store_true", help="with all that is in its folders")
    show = _add(family, "show", "show a page, exactly")
    _add_path(show)
    show.add_argument("--version", metavar="ID", help="as one of its changes left it")
    history = _add(family, "history", "show what was changed in a page, when, by whom and why")
    _add_path(history)
    diff = _add(family, "diff", "show what a change did, as lines that went and came")
    _add_path(diff)
    diff.add_argument("version", nargs="?", metavar="ID", help="the last change unless told")
    diff.add_argument("--against", metavar="ID", help="what lies between it and this later one")


def _register_changing(family: Commands) -> None:
    _add(family, "init", "make the vault, with its first page")
    edit = _add(family, "edit", "change a page in your editor, or from a pipe")
    _add_path(edit)
    edit.add_argument("--stdin", action="store_true", help="what is piped in is the page")
    edit.add_argument("--note", default="", metavar="TEXT", help="why, for its history")
    move = _add(family, "move", "give a page another path; it keeps its history")
    _add_path(move)
    move.add_argument("to", metavar="TO", help="the path that it gets")
    move.add_argument("--links", action="store_true", help="have the links to it follow")
    delete = _add(family, "delete", "delete a page; this can be undone")
    _add_path(delete)
    restore = _add(family, "restore", "have a page say again what it said after a change")
    _add_path(restore)
    restore.add_argument("version", metavar="ID", help="the change, as `history` prints it")
    vouch = _add(family, "vouch", "say that a page is your own words, whoever wrote them")
    _add_path(vouch)
    undo = _add(family, "undo", "take back changes")
    undo.add_argument(
        "token", nargs="+", metavar="TOKEN", help="the tokens that were printed with a change, in their order"
    )
    sync = _add(family, "sync", "take in what changed in the files")
    sync.add_argument("--rebuild", action="store_true", help="make anew all that is searched")


def _add(family: Commands, name: str, summary: str) -> argparse.ArgumentParser:
    parser = family.add(name, _run, summary)
    parser.set_defaults(action=name)
    add_json(parser)
    return parser


def _add_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="of the page in the vault, such as entities/jane_doe.md")


def _ask(options: argparse.Namespace) -> int:
    from bethink.cli.vault_asking import run

    return run(options)


def _run(options: argparse.Namespace) -> int:
    from bethink.cli.vault_pages import run

    return run(options)
