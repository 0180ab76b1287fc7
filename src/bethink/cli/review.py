"""`bethink memory review`: suggested memories, accepted or rejected one by one. `facts` runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.exits import Exit

if TYPE_CHECKING:
    import argparse

    from bethink.cli.fact_lines import FactLines
    from bethink.cli.session import Session
    from bethink.memory import Fact

_QUESTION = "Keep it? [y]es, [n]o, [l]ater, [q]uit: "
_PAGE = 500


def review(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    """Decide what the flags name; without them ask about each suggestion, or list them all."""
    if options.accept or options.reject:
        for id in options.accept:
            lines.changed(session.call(session.app.memory.accept, session.principal, id), "Accepted")
        for id in options.reject:
            lines.changed(session.call(session.app.memory.reject, session.principal, id), "Rejected")
        return Exit.OK
    suggested = _suggested(session)
    if not suggested:
        lines.screen.note("No memory waits for your review.")
    elif lines.is_json or not lines.screen.can_ask:
        for fact in suggested:
            lines.listed(fact)
    else:
        _ask(session, lines, suggested)
    return Exit.OK


def _suggested(session: Session) -> list[Fact]:
    """The suggestions, oldest first."""
    facts: list[Fact] = []
    cursor: str | None = None
    while True:
        page = session.call(
            session.app.memory.list,
            session.principal,
            limit=_PAGE,
            cursor=cursor,
            where={"state": "suggested"},
        )
        facts += [item.record for item in page.items]
        if (cursor := page.cursor) is None:
            return facts[::-1]


def _ask(session: Session, lines: FactLines, suggested: list[Fact]) -> None:
    memory, me = session.app.memory, session.principal
    for place, fact in enumerate(suggested, 1):
        lines.screen.note(f"{place} of {len(suggested)}")
        lines.listed(fact)
        while True:
            answer = lines.screen.ask(_QUESTION)
            match (answer or "q").strip().lower():
                case "y" | "yes":
                    lines.changed(session.call(memory.accept, me, fact.id), "Accepted")
                case "n" | "no":
                    lines.changed(session.call(memory.reject, me, fact.id), "Rejected")
                case "l" | "later":
                    pass
                case "q" | "quit":
                    return
                case _:
                    lines.screen.note("Answer y, n, l or q.")
                    continue
            break
