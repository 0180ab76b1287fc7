"""`bethink vault search`, `links`, `graph` and `check`: what may be typed. `vault_looks` does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import add_json, add_yes

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands


def register(family: Commands) -> None:
    """Add the commands."""
    search = _add(family, "search", "find pages by words, phrases or a pattern, the best first")
    search.add_argument("query", nargs="*", metavar="QUERY", help='words; "a phrase" in quotes')
    search.add_argument("--regex", action="store_true", help="the query is a regular expression of Python's")
    search.add_argument("--case", action="store_true", help="capitals matter")
    search.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="FILTER",
        help="entities/*, section:Health or tag:work; --filter=-tag:work for all others; may be repeated",
    )
    search.add_argument("--context", type=int, default=2, metavar="N", help="lines around each hit (2)")
    search.add_argument("--page", type=int, default=1, metavar="N", help="further results (1)")
    search.add_argument("--limit", type=int, default=20, metavar="N", help="at most this many pages (20)")
    links = _add(family, "links", "show what a page links to, what links to it, and links to nothing")
    links.add_argument("path", metavar="PATH", help="of the page in the vault, such as entities/jane_doe.md")
    graph = _add(family, "graph", "show how the pages hang together")
    graph.add_argument("path", nargs="?", metavar="PATH", help="only what is around this page")
    graph.add_argument("--depth", type=int, default=1, metavar="N", help="at most this many links away (1)")
    graph.add_argument("--to", metavar="PATH", help="the shortest way from PATH to this page")
    check = _add(
        family,
        "check",
        "find broken links, twins, odd names and files that cannot be read, and offer repairs",
    )
    check.add_argument(
        "--repair",
        action="store_true",
        help="offer what would mend each, show it, and make what you agree to",
    )
    add_yes(check, "with --repair: make those that leave no choice, and do not ask")


def _add(family: Commands, name: str, summary: str) -> argparse.ArgumentParser:
    parser = family.add(name, _run, summary)
    parser.set_defaults(action=name)
    add_json(parser)
    return parser


def _run(options: argparse.Namespace) -> int:
    from bethink.cli.vault_looks import run

    return run(options)
