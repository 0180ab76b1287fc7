"""What `bethink import` does and prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bethink.cli.exits import Exit
from bethink.cli.session import opened
from bethink.cli.terminal import Screen, counted
from bethink.clock import to_datetime
from bethink.importing import ImportOptions

if TYPE_CHECKING:
    import argparse

    from bethink.cli.session import Session
    from bethink.importing import Import, ImportReport

_BAR = 24
_SHOWN = 20
_PERCENT = 100
_OUTCOMES = {
    "new": "new",
    "grown": "grown since the last import",
    "known": "here already",
    "kept": "changed here since, and left so",
    "duplicates": "the same as another one",
    "left": "not taken",
}
_UNDONE = {"new": "gone", "grown": "as before that import", "kept": "changed here since, and left so"}
_SOURCES = {"chatgpt": "ChatGPT", "claude": "Claude", "notion": "Notion", "obsidian": "Obsidian"}


def run(options: argparse.Namespace) -> int:
    """Do what the options name."""
    with opened(options) as session:
        screen = Screen.of_process(is_data=options.json)
        if options.list:
            return _list(session, screen, is_json=options.json)
        if options.undo:
            return _undo(session, screen, options)
        return _import(session, screen, options)


def _import(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    choice = ImportOptions(options.source, options.into, options.topics)
    work = session.app.importing.preview if options.preview else session.app.importing.run
    done = session.call(work, session.principal, Path(options.path), choice, tell=_watched(screen))
    screen.status("")
    report = done.preview if options.preview else done.report
    if report is None:
        return Exit.FAILED
    if options.json:
        screen.line(msgspec.json.encode(done).decode())
    else:
        _show(screen, done, report, is_preview=options.preview)
    return Exit.OK


def _undo(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    done = session.call(session.app.importing.undo, session.principal, options.undo, _watched(screen))
    screen.status("")
    if options.json:
        screen.line(msgspec.json.encode(done).decode())
    elif done.report is not None:
        screen.line(f"{done.name}: taken back")
        _counts(screen, done.report, _UNDONE)
        _problems(screen, done.report)
    return Exit.OK


def _list(session: Session, screen: Screen, *, is_json: bool) -> int:
    for one in session.call(session.app.importing.list, session.principal):
        if is_json:
            screen.line(msgspec.json.encode(one).decode())
            continue
        report = one.report
        taken = "nothing"
        if report:
            conversations = counted(report.conversations.new, "conversation")
            taken = f"{conversations}, {counted(report.pages.new, 'page')}"
        screen.line(f"{one.id}  {to_datetime(one.at):%Y-%m-%d}  {one.state:<8}  {one.name}: {taken}")
    return Exit.OK


def _show(screen: Screen, done: Import, report: ImportReport, *, is_preview: bool) -> None:
    name = _SOURCES.get(done.source, "Markdown")
    taken = "would be taken" if is_preview else "taken"
    span = ""
    if report.first and report.last:
        span = f", {to_datetime(report.first):%Y-%m-%d} to {to_datetime(report.last):%Y-%m-%d}"
    screen.line(f"{name}, {report.size / 1_000_000:,.1f} MB{span}; {taken} into {done.into}:")
    _counts(screen, report, _OUTCOMES)
    if report.messages or report.files:
        screen.line(f"  {report.messages:>9,}  messages, {report.files:,} files")
    for topic in report.topics[:_SHOWN]:
        screen.line(f"  {topic.count:>9,}  about {topic.name}")
    if report.note:
        screen.note(report.note, "yellow")
    _problems(screen, report)
    if not is_preview:
        screen.note(f"undo: bethink import --undo {done.id}")


def _counts(screen: Screen, report: ImportReport, words: dict[str, str]) -> None:
    for what, tally in (("conversations", report.conversations), ("pages", report.pages)):
        for field, meaning in words.items():
            if count := getattr(tally, field):
                screen.line(f"  {count:>9,}  {what} {meaning}")


def _problems(screen: Screen, report: ImportReport) -> None:
    for problem in report.problems[:_SHOWN]:
        times = f" (×{problem.count:,})" if problem.count > 1 else ""
        screen.note(f"{problem.name}: {problem.why}{times}", "red" if problem.fault else "dim")
    if (more := len(report.problems) - _SHOWN) > 0:
        screen.note(f"and {more:,} more; --json tells them", "dim")


class _watched:  # noqa: N801 - used as a function with a memory
    """Shows how far an import is."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def __call__(self, report: ImportReport) -> None:
        share = report.read / report.size if report.size else 0.0
        bar = "█" * round(_BAR * share) + "░" * (_BAR - round(_BAR * share))
        taken = report.conversations.new + report.conversations.grown + report.pages.new + report.pages.grown
        note = report.note or f"{taken:,} taken"
        self._screen.status(f"{bar} {round(_PERCENT * share):>3} %  {note}")
