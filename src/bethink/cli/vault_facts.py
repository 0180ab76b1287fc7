"""`bethink vault facts`: lines of pages that show memories, what waits for an answer, and the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.exits import Exit

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands
    from bethink.cli.session import Session
    from bethink.cli.terminal import Screen
    from bethink.mirror import MirrorReport

_PAUSED = (
    "No line is written until you answer: `bethink vault facts --restore` writes the vanished ones again,"
    " `--retract` takes their memories back, too (which can be undone)."
)


def register(family: Commands) -> None:
    """Add the command."""
    facts = family.add("facts", _run, "compare memories with their lines in pages, and tell what needs you")
    answer = facts.add_mutually_exclusive_group()
    answer.add_argument(
        "--restore", action="store_const", const="restore", dest="answer", help="write vanished lines again"
    )
    answer.add_argument(
        "--retract", action="store_const", const="retract", dest="answer", help="they were meant to go"
    )
    facts.add_argument("--whole", action="store_true", help="read everything, not only what changed")
    facts.add_argument("--json", action="store_true", help="print the report as a line of JSON")


def tell(screen: Screen, report: MirrorReport) -> None:
    """Say what of a report needs its owner."""
    from bethink.cli.terminal import one_line

    for problem in report.problems:
        screen.line(f"{one_line(problem.path)}  {problem.line or 'no memory'}  {one_line(problem.why)}")
    if report.is_paused:
        screen.note(_PAUSED)
    if report.trouble:
        screen.note(f"Some memories have no line: {one_line(report.trouble)}")


def _run(options: argparse.Namespace) -> int:
    from bethink.cli.session import opened
    from bethink.cli.terminal import Screen

    with opened(options) as session:
        screen = Screen.of_process(is_data=options.json)
        return _compare(session, screen, options)


def _compare(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    mirror, owner = session.app.mirror, session.principal.owner
    session.call(session.app.vault.sync, owner)
    session.call(mirror.settle, owner, whole=options.whole)
    if options.answer is not None:
        count = session.call(mirror.decide, owner, options.answer)
        screen.note(
            f"{count:,} vanished lines: {'written again' if options.answer == 'restore' else 'let go'}"
        )
    report = session.call(mirror.report, owner)
    from bethink.cli.terminal import counted

    if options.json:
        import msgspec

        screen.line(msgspec.json.encode(report).decode())
        return Exit.OK
    where = "is a line of a page" if report.lines == 1 else "are lines of pages"
    screen.line(f"{counted(report.lines, 'memory')} {where}")
    tell(screen, report)
    return Exit.OK
