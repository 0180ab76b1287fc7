"""`bethink import`: an export of another program, taken in, looked at first, or taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands

_EPILOG = """\
examples:
  bethink import chatgpt-export.zip --preview
  bethink import chatgpt-export.zip --into both
  bethink import ~/Notes --as obsidian
  bethink import --list
  bethink import --undo ID

Importing the same again changes nothing; a newer export brings what came since."""
_SOURCES = ("chatgpt", "claude", "notion", "obsidian", "markdown")


def register(commands: Commands) -> None:
    """Add `import` to the command line."""
    parser = commands.add(
        "import", _run, "bring in an export of ChatGPT, Claude, Notion, Obsidian or Markdown", epilog=_EPILOG
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("path", nargs="?", metavar="PATH", help="the export: a zip, a JSON file or a folder")
    what.add_argument("--list", action="store_true", help="list the imports")
    what.add_argument("--undo", metavar="ID", help="take a whole import back; what was changed since stays")
    parser.add_argument("--as", dest="source", choices=_SOURCES, help="known by what it holds, unless named")
    parser.add_argument(
        "--into",
        choices=("conversations", "vault", "both"),
        help="where to: talks become conversations and notes pages, unless named",
    )
    parser.add_argument("--preview", action="store_true", help="say what would be, and write nothing")
    parser.add_argument(
        "--topics",
        choices=("keywords", "meaning", "none"),
        default="keywords",
        help="find topics by words or by meaning (keywords)",
    )
    parser.add_argument("--json", action="store_true", help="print the report as a line of JSON")


def _run(options: argparse.Namespace) -> int:
    from bethink.cli.import_lines import run

    return run(options)
