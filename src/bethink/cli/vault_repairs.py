"""`bethink vault check --repair`: each thing that can be mended asked about, shown, and done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bethink.cli.exits import Exit
from bethink.cli.terminal import one_line
from bethink.errors import BadInput, BethinkError

if TYPE_CHECKING:
    from bethink.cli.session import Session
    from bethink.cli.terminal import Screen
    from bethink.vault.checks.check import Finding, Report
    from bethink.vault.checks.repair_plan import Choice

_YES = frozenset({"y", "yes"})


def repair(session: Session, screen: Screen, report: Report, *, is_sure: bool) -> int:
    """Mend what the person chooses, or with `is_sure` what leaves no choice; what cannot be is said.

    Raises:
        BadInput: nobody is there to choose.
    """
    if not is_sure and not screen.can_ask and report.choices:
        raise BadInput("Nobody is there to ask: --yes makes the repairs that leave no choice.")
    is_whole = True
    left = 0
    for finding in report.findings:
        if not finding.choices:
            continue
        choice = finding.choices[0] if is_sure else _chosen(screen, finding)
        if is_sure and not finding.choices[0].is_sure:
            left += 1
        elif choice is not None:
            is_whole &= _mend(session, screen, choice, is_sure=is_sure)
    if left:
        screen.note(f"{left:,} more leave a choice: --repair without --yes asks.")
    return Exit.OK if is_whole else Exit.FAILED


def _chosen(screen: Screen, finding: Finding) -> Choice | None:
    """What the person would have done, if anything."""
    screen.line(f"{one_line(finding.path)}  {one_line(finding.said)}")
    for number, choice in enumerate(finding.choices, 1):
        screen.line(f"  {number}  {one_line(choice.said)}")
    answer = (screen.ask(f"Which? [1-{len(finding.choices)}; Enter leaves it] ") or "").strip()
    if not answer.isdecimal() or not 0 < int(answer) <= len(finding.choices):
        return None
    return finding.choices[int(answer) - 1]


def _mend(session: Session, screen: Screen, choice: Choice, *, is_sure: bool) -> bool:
    """Show what a choice would do, and do it where the person agrees; whether nothing stood in the way."""
    mending, me = session.app.vault_tools.checking.mending, session.principal
    try:
        plan = session.call(mending.plan, me.owner, choice)
        if not screen.is_data:
            for step in plan.shown:
                screen.line(one_line(step.said))
                screen.text(step.diff)
                screen.end_line()
        if not is_sure and (screen.ask("Make this change? [y/N] ") or "").strip().lower() not in _YES:
            return True
        made = session.call(mending.make, me, choice, plan.id)
    except BethinkError as error:
        screen.note(f"{one_line(choice.path)}: {error.message}", "yellow")
        return False
    if screen.is_data:
        screen.line(
            msgspec.json.encode({"choice": choice, "changes": made.changes, "undo": made.undo}).decode()
        )
    else:
        screen.line(f"Mended: {one_line(choice.path)}")
        screen.note(f"undo: bethink vault undo {' '.join(made.undo)}")
    return True
