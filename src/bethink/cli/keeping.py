"""`bethink memory health`, `stats`, `log` and `consolidate`: the memory looked after. `facts` runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bethink.cli.exits import Exit
from bethink.errors import BadInput
from bethink.memory import LARGEST_SHARE, THRESHOLD

if TYPE_CHECKING:
    import argparse

    from bethink.cli.fact_lines import FactLines
    from bethink.cli.session import Session
    from bethink.cli.terminal import Screen
    from bethink.memory import ConsolidationReport

_MOST = 10
_MB = 1_000_000


def show_health(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    """A line for each kind of trouble, with what mends it."""
    screen = lines.screen
    found = session.call(session.app.health.check, session.principal)
    for finding in found:
        if options.json:
            screen.line(msgspec.json.encode(finding).decode())
            continue
        screen.line(f"{finding.count:>7,}  {finding.about}")
        screen.line(f"         {finding.mend}")
        if finding.trouble != "vectors":
            screen.line(f"         {' '.join(finding.examples)}")
    if not found and not options.json:
        screen.line("The memory is well.")
    return Exit.OK


def show_numbers(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    """The memory in numbers."""
    screen = lines.screen
    numbers = session.call(session.app.statistics.numbers, session.principal)
    if options.json:
        screen.line(msgspec.json.encode(numbers).decode())
        return Exit.OK
    screen.line(f"{numbers.facts:>9,}  memories, {numbers.pinned:,} pinned, {numbers.doubted:,} in doubt")
    for title, counts in (
        ("by state", numbers.states),
        ("in use, by category", numbers.categories),
        ("by source", numbers.sources),
        ("in use, by month learnt", numbers.months),
    ):
        _show_counts(screen, title, counts)
    screen.line(f"{numbers.bytes_on_disk / _MB:>9,.1f}  MB on the disk, with everything else")
    if numbers.warning:
        screen.note(f"warning: {numbers.warning}", "yellow")
    return Exit.OK


def _show_counts(screen: Screen, title: str, counts: dict[str, int]) -> None:
    if counts:
        screen.line(f"{title}:")
    for name, count in list(counts.items())[-_MOST:] if "month" in title else list(counts.items())[:_MOST]:
        screen.line(f"{count:>9,}  {name}")
    if (more := len(counts) - _MOST) > 0:
        screen.note(f"           and {more:,} more")


def show_log(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    """What was changed, the newest first."""
    if options.limit < 1:
        message = f"--limit is {options.limit}: give a number from 1."
        raise BadInput(message)
    page = session.call(session.app.memory.log, session.principal, limit=options.limit)
    steps = [item.record for item in page.items]
    asked = [step.facts[0].id for step in steps if step.facts]
    facts = session.call(session.app.memory.get, session.principal, asked)
    known = {fact.id: fact for fact in facts if fact is not None}
    for step in steps:
        lines.step(step, known.get(step.facts[0].id) if step.facts else None)
    if not steps:
        lines.screen.note("Nothing was changed yet.")
    return Exit.OK


def consolidate(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    """Merge what says the same, or show what would be merged."""
    done = session.call(
        session.app.memory.consolidate,
        session.principal,
        threshold=THRESHOLD if options.threshold is None else options.threshold,
        share=LARGEST_SHARE if options.share is None else options.share,
        preview=options.preview,
    )
    if options.json:
        lines.consolidated(done)
        return Exit.OK
    for merge in done.merges:
        lines.merge(merge)
    _tell(done, lines.screen, preview=options.preview)
    return Exit.OK


def _tell(done: ConsolidationReport, screen: Screen, *, preview: bool) -> None:
    word = "Would be merged" if preview else "Merged"
    screen.line(f"{word} into others: {done.gone:,} of {done.facts:,} memories")
    if done.waiting:
        screen.note(f"{done.waiting:,} more say the same: --share takes more at once")
    if done.undo is not None:
        screen.note(f"undo: bethink memory undo {done.undo}")
