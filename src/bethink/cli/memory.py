"""`bethink memory …`: what may be typed. `facts` does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import add_json, add_yes

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands

_FORMATS = ("jsonl", "md", "csv", "data.json")
_STATES = ("active", "suggested", "superseded", "merged", "retracted", "all")


def register(commands: Commands) -> None:
    """Add the commands."""
    family = commands.under(commands.add("memory", None, "look into the memory and change it"))
    _register_reading(family)
    _register_changing(family)
    _register_files(family)
    _register_keeping(family)


def _register_reading(family: Commands) -> None:
    _register_search(family)
    listing = _add(family, "list", "list memories, the newest first")
    listing.add_argument("--category", metavar="NAME", help="only this category")
    listing.add_argument("--project", metavar="NAME", help="only this project")
    listing.add_argument("--doubted", action="store_true", help="only those that may not hold")
    listing.add_argument("--state", choices=_STATES, default="active", help="active unless told otherwise")
    listing.add_argument("--limit", type=int, default=50, metavar="N", help="at most this many (50)")
    listing.add_argument("--all", action="store_true", help="every one, however many there are")
    show = _add(family, "show", "show one memory with its sources and its history")
    show.add_argument("id", metavar="ID", help="its id, as `list` and `search` print it")
    history = _add(family, "history", "show what a memory was, what it became and what was merged into it")
    history.add_argument("id", metavar="ID", help="its id")
    log = _add(family, "log", "show what was changed, the newest first, and how to take it back")
    log.add_argument("--limit", type=int, default=20, metavar="N", help="at most this many changes (20)")


def _register_search(family: Commands) -> None:
    search = _add(family, "search", "find what answers a question, remembered or said, the best first")
    search.add_argument("query", nargs="+", metavar="QUERY", help="a question or words")
    search.add_argument(
        "-k", "--k", type=int, metavar="N", help="at most this many (BETHINK_MEMORY_SEARCH_LIMIT, 10)"
    )
    search.add_argument("--kinds", metavar="KIND,KIND", help="such as fact,turn; all unless told otherwise")
    search.add_argument("--since", metavar="TIME", help="said from then on: 2026-05-01, or with T14:30")
    search.add_argument("--until", metavar="TIME", help="said before then")
    search.add_argument("--as-of", metavar="TIME", help="what held then, whenever it was said")
    search.add_argument("--conversation", metavar="ID", help="only what was said in this conversation")
    search.add_argument("--project", metavar="NAME", help="only what belongs to this project")
    search.add_argument("--budget", type=int, metavar="TOKENS", help="at most so much text in all")
    search.add_argument("--all", action="store_true", help="also what has nothing to do with it")


def _register_changing(family: Commands) -> None:
    add = _add(family, "add", "keep a memory")
    add.add_argument("content", nargs="+", metavar="TEXT", help="what to remember; `-` reads it from a pipe")
    add.add_argument("--lines", action="store_true", help="each line is a memory of its own")
    add.add_argument(
        "--depends-on",
        action="append",
        metavar="ID",
        help="a memory that it rests on: it is doubted when that changes; may be repeated",
    )
    _add_properties(add)
    edit = _add(family, "edit", "correct a memory; the old one is kept in its history")
    edit.add_argument("id", metavar="ID", help="its id, as `list` and `search` print it")
    edit.add_argument(
        "content", nargs="*", metavar="TEXT", help="the correction; without it, an editor opens"
    )
    _add_properties(edit)
    edit.add_argument("--no-pin", dest="pin", action="store_false", help="recall it only where it fits")
    retract = _add(family, "retract", "take memories out of use; this can be undone")
    retract.add_argument("ids", nargs="+", metavar="ID", help="their ids")
    forget = _add(family, "forget", "remove memories for good; this cannot be undone")
    forget.add_argument("ids", nargs="*", metavar="ID", help="their ids")
    forget.add_argument("--query", metavar="TEXT", help="what answers this, said or remembered")
    forget.add_argument("-k", "--k", type=int, default=20, metavar="N", help="at most this many answers (20)")
    forget.add_argument(
        "--since", metavar="TIME", help="what was learnt from then on: 2026-05-01, or with 14:30"
    )
    forget.add_argument("--until", metavar="TIME", help="what was learnt before then")
    forget.add_argument(
        "--all", action="store_true", help="every memory there is, and what was said in conversations"
    )
    forget.add_argument(
        "--kinds", nargs="+", default=[], metavar="KIND", help="with --all: these too (pages, files, people)"
    )
    forget.add_argument(
        "--conversations",
        choices=("keep", "remove"),
        help="with --all: keep what was said to be read, out of recall (the default), or remove it",
    )
    forget.add_argument("--preview", action="store_true", help="show what would go, and change nothing")
    add_yes(forget)
    review = _add(family, "review", "accept or reject memories that were suggested")
    review.add_argument("--accept", nargs="+", default=[], metavar="ID", help="keep these")
    review.add_argument("--reject", nargs="+", default=[], metavar="ID", help="never suggest these again")
    undo = _add(family, "undo", "take back a change")
    undo.add_argument("token", metavar="TOKEN", help="the token that was printed with the change")


def _register_files(family: Commands) -> None:
    export = _add(family, "export", "write all memories to a file, or to standard output")
    export.add_argument(
        "--format",
        choices=_FORMATS,
        help="jsonl keeps everything, md is to be read, csv is for spreadsheets; all three can be imported",
    )
    export.add_argument(
        "--conversations",
        action="store_true",
        help="with all that was said, as jsonl: everything that Bethink knows of you",
    )
    export.add_argument("--output", metavar="FILE", help="a new file; its ending chooses the format")
    importing = _add(family, "import", "take in a file; what is known already changes nothing")
    importing.add_argument("file", metavar="FILE", help="the file; `-` reads a pipe")
    importing.add_argument(
        "--format", choices=("auto", *_FORMATS), default="auto", help="known by the file's beginning"
    )
    importing.add_argument("--dry-run", action="store_true", help="say what would be, and write nothing")


def _register_keeping(family: Commands) -> None:
    _add(family, "health", "check the memory: duplicates, contradictions, secrets and more")
    _add(family, "stats", "show the memory in numbers")
    consolidate = _add(family, "consolidate", "merge memories that say the same; this can be undone")
    consolidate.add_argument("--preview", action="store_true", help="say what would be, and write nothing")
    consolidate.add_argument(
        "--threshold", type=float, metavar="0..1", help="least likeness in meaning of two compared (0.75)"
    )
    consolidate.add_argument(
        "--share", type=float, metavar="0..1", help="the most of all memories that may be merged away (0.2)"
    )


def _add(family: Commands, name: str, summary: str) -> argparse.ArgumentParser:
    parser = family.add(name, _run, summary)
    parser.set_defaults(action=name)
    add_json(parser)
    return parser


def _add_properties(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--category", metavar="NAME", help="such as preferences, personal_info, goals, plans")
    parser.add_argument("--importance", type=float, metavar="0..1", help="how much it matters (0.5)")
    parser.add_argument("--topic", action="append", metavar="WORD", help="a topic; may be repeated")
    parser.add_argument(
        "--pin", action="store_true", default=None, help="have it in every conversation's context"
    )


def _run(options: argparse.Namespace) -> int:
    from bethink.cli.facts import run

    return run(options)
