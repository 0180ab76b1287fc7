"""`bethink memory forget`: what would go is shown, the person agrees, and it is gone for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.exits import Exit
from bethink.errors import BadInput, UnknownId

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from bethink.cli.fact_lines import FactLines
    from bethink.cli.session import Session
    from bethink.memory import Fact

_WORD = "forget"


def forget(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    """Forget what was asked for, after it was agreed to.

    Raises:
        BadInput: nothing or two things were asked for, or nobody is there to agree.
        UnknownId: no memory has one of the ids.
    """
    if sum((bool(options.ids), options.query is not None, options.all)) != 1:
        message = "Say what to forget: ids, or --query TEXT, or --all."
        raise BadInput(message)
    ids = _all(session, lines) if options.all else _chosen(session, lines, options)
    if not ids:
        return Exit.OK
    if not options.yes and not _agreed(lines, ids, everything=options.all):
        lines.screen.note("Nothing was forgotten.")
        return Exit.OK
    lines.forgotten(session.call(session.app.forgetting.forget, session.principal, ids), ids)
    return Exit.OK


def _all(session: Session, lines: FactLines) -> Sequence[str]:
    ids = session.call(session.app.memory.all_ids, session.principal)
    if not ids:
        lines.screen.note("There were no memories to forget.")
    return ids


def _chosen(session: Session, lines: FactLines, options: argparse.Namespace) -> Sequence[str]:
    """The ids that were given, or found; each memory is shown as what would go."""
    if options.query is not None:
        found = session.call(session.app.memory.search, session.principal, options.query, k=options.k)
        facts: Sequence[Fact] = [fact for fact, _ in found]
        if not facts:
            lines.screen.note(f"No memories found matching: {options.query}")
    else:
        facts = _facts(session, options.ids)
    for fact in facts:
        lines.doomed(fact)
    return [fact.id for fact in facts]


def _facts(session: Session, ids: Sequence[str]) -> list[Fact]:
    found = session.call(session.app.memory.get, session.principal, ids)
    missing = [id for id, fact in zip(ids, found, strict=True) if fact is None]
    if missing:
        message = f"No memory has the id {missing[0]}; nothing was forgotten."
        raise UnknownId(message)
    return [fact for fact in found if fact is not None]


def _agreed(lines: FactLines, ids: Sequence[str], *, everything: bool) -> bool:
    if not lines.screen.can_ask:
        message = "Forgetting cannot be undone, and nobody is here to agree to it: add --yes."
        raise BadInput(message)
    if everything:
        question = f"All {len(ids):,} memories go for good. Type {_WORD!r} to do it: "
        return (lines.screen.ask(question) or "").strip().lower() == _WORD
    noun = "this memory" if len(ids) == 1 else f"these {len(ids):,} memories"
    return (lines.screen.ask(f"Forget {noun} for good? [y/N] ") or "").strip().lower() in ("y", "yes")
