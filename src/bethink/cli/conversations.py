"""`bethink conversations`: list them, search in what was said, and take one along as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import add_json

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands

_EPILOG = """\
examples:
  bethink conversations list
  bethink conversations search flight Lisbon
  bethink conversations export ID --output lisbon.md"""


def register(commands: Commands) -> None:
    """Add the commands."""
    parser = commands.add("conversations", None, "what was said: list, search, export", epilog=_EPILOG)
    under = commands.under(parser)
    listed = under.add("list", _list, "list conversations, the last changed first")
    listed.add_argument("--archived", action="store_true", help="those that are archived")
    listed.add_argument("--project", metavar="NAME", help="those of this project")
    listed.add_argument("--limit", type=int, default=50, metavar="N", help="at most this many (50)")
    search = under.add("search", _search, "find messages that hold words")
    search.add_argument("query", nargs="+", metavar="WORD", help="words that the message holds, all of them")
    search.add_argument("--conversation", metavar="ID", help="only in this one")
    search.add_argument("--project", metavar="NAME", help="only in this project's")
    search.add_argument("--limit", type=int, default=20, metavar="N", help="at most this many (20)")
    export = under.add("export", _export, "write one conversation as Markdown or JSON")
    export.add_argument("conversation", metavar="ID", help="its id, as `list` prints it")
    export.add_argument("--format", choices=("md", "json"), default="md", help="Markdown (md), or JSON")
    export.add_argument("--output", metavar="FILE", help="a new file; standard output by default")
    for one in (listed, search):
        add_json(one)


def _list(options: argparse.Namespace) -> int:
    from bethink.cli.conversation_lines import list_conversations
    from bethink.cli.session import opened

    with opened(options) as session:
        return list_conversations(session, options)


def _search(options: argparse.Namespace) -> int:
    from bethink.cli.conversation_lines import search_messages
    from bethink.cli.session import opened

    with opened(options) as session:
        return search_messages(session, options)


def _export(options: argparse.Namespace) -> int:
    from bethink.cli.conversation_lines import export_conversation
    from bethink.cli.session import opened

    with opened(options) as session:
        return export_conversation(session, options)
