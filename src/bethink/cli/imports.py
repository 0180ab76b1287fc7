"""`bethink import`: import data from another program, with preview and undo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg, one_of
from bethink.cli.exits import Exit
from bethink.cli.terminal import Screen, counted
from bethink.clock import to_datetime

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session
    from bethink.importing.records import Import, ImportReport

_EPILOG = """\
examples:
  bethink import chatgpt-export.zip --preview
  bethink import chatgpt-export.zip --into both
  bethink import ~/Notes --as obsidian
  bethink import --list
  bethink import --undo ID

Importing the same export again changes nothing; a newer export adds what is new."""
_BAR = 24
_SHOWN = 20
_PERCENT = 100
_OUTCOMES = {
    "new": "new",
    "grown": "extended",
    "known": "here already",
    "kept": "changed here since, and left so",
    "duplicates": "duplicate",
    "left": "not taken",
}
_UNDONE = {"new": "gone", "grown": "restored", "kept": "changed here since, and left so"}
_SOURCES = {"chatgpt": "ChatGPT", "claude": "Claude", "notion": "Notion", "obsidian": "Obsidian"}
COMMANDS = Commands(_EPILOG)


@COMMANDS.add(
    "",
    one_of(
        arg("path PATH?", "the export: a zip, a JSON file or a folder"),
        arg("--list", "list the imports"),
        arg("--undo ID", "undo a whole import; later changes are kept"),
        required=True,
    ),
    arg(f"--as {'|'.join(_SOURCES)}|markdown", "detected from the content by default", dest="source"),
    arg(
        "--into conversations|vault|both",
        "target; by default conversations stay conversations and notes become pages",
    ),
    arg("--preview", "show the result and write nothing"),
    arg(
        "--topics keywords|meaning|none", "find topics by words or by meaning (keywords)", default="keywords"
    ),
    json="the report",
)
def _run(session: Session, options: Namespace) -> Exit | None:
    """Do what the options name."""
    if options.list:
        _list(session)
    elif options.undo:
        _undo(session, options.undo)
    else:
        return _import(session, options)
    return None


def _import(session: Session, options: Namespace) -> Exit | None:
    from bethink.importing.records import ImportOptions

    importing, screen = session.app.importing, session.screen
    done = session.mine(
        importing.preview if options.preview else importing.run,
        Path(options.path),
        ImportOptions(options.source, options.into, options.topics),
        tell=_progress(screen),
    )
    screen.status("")
    report = done.preview if options.preview else done.report
    if report is None:
        return Exit.FAILED
    screen.result(done, *_summary(done, report, is_preview=options.preview))
    if report.note:
        screen.remark(report.note, "yellow")
    _problems(screen, report)
    if not options.preview:
        screen.remark(f"undo: bethink import --undo {done.id}")
    return None


def _undo(session: Session, id: str) -> None:
    screen = session.screen
    done = session.mine(session.app.importing.undo, id, _progress(screen))
    screen.status("")
    if done.report is None:
        if screen.is_data:
            screen.result(done)
        return
    screen.result(done, f"{done.name}: undone", *_counts(done.report, _UNDONE))
    _problems(screen, done.report)


def _list(session: Session) -> None:
    for one in session.mine(session.app.importing.list):
        taken = "nothing"
        if report := one.report:
            conversations = counted(report.conversations.new, "conversation")
            taken = f"{conversations}, {counted(report.pages.new, 'page')}"
        line = f"{one.id}  {to_datetime(one.at):%Y-%m-%d}  {one.state:<8}  {one.name}: {taken}"
        session.screen.result(one, line)


def _summary(done: Import, report: ImportReport, *, is_preview: bool) -> list[str]:
    name = _SOURCES.get(done.source, "Markdown")
    taken = "would be imported" if is_preview else "taken"
    span = ""
    if report.first and report.last:
        span = f", {to_datetime(report.first):%Y-%m-%d} to {to_datetime(report.last):%Y-%m-%d}"
    lines = [f"{name}, {report.size / 1_000_000:,.1f} MB{span}; {taken} into {done.into}:"]
    lines += _counts(report, _OUTCOMES)
    if report.messages or report.files:
        lines.append(f"  {report.messages:>9,}  messages, {report.files:,} files")
    return lines + [f"  {topic.count:>9,}  about {topic.name}" for topic in report.topics[:_SHOWN]]


def _counts(report: ImportReport, words: dict[str, str]) -> list[str]:
    return [
        f"  {count:>9,}  {what} {meaning}"
        for what, tally in (("conversations", report.conversations), ("pages", report.pages))
        for field, meaning in words.items()
        if (count := getattr(tally, field))
    ]


def _problems(screen: Screen, report: ImportReport) -> None:
    for problem in report.problems[:_SHOWN]:
        times = f" (×{problem.count:,})" if problem.count > 1 else ""
        screen.remark(f"{problem.name}: {problem.why}{times}", "red" if problem.fault else "dim")
    if (more := len(report.problems) - _SHOWN) > 0:
        screen.remark(f"and {more:,} more; --json lists them")


def _progress(screen: Screen) -> Callable[[ImportReport], None]:

    def show(report: ImportReport) -> None:
        share = report.read / report.size if report.size else 0.0
        bar = "█" * round(_BAR * share) + "░" * (_BAR - round(_BAR * share))
        taken = report.conversations.new + report.conversations.grown + report.pages.new + report.pages.grown
        screen.status(f"{bar} {round(_PERCENT * share):>3} %  {report.note or f'{taken:,} taken'}")

    return show
