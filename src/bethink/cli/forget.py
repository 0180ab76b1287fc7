"""`bethink memory forget`: what would go is shown, the person agrees, and it is gone for good."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bethink.cli.exits import Exit
from bethink.cli.moments import moment
from bethink.errors import BadInput, UnknownId
from bethink.forgetting.selection import MAX_FOUND, ForgetRequest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from bethink.cli.fact_lines import FactLines
    from bethink.cli.session import Session
    from bethink.forgetting.receipt import Preview

_WORD = "forget"


def forget(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    """Forget what was asked for, after it was agreed to.

    Raises:
        BadInput: nothing or two things were asked for, or nobody is there to agree.
        UnknownId: no memory has one of the ids.
        Conflict: what would go changed while it was looked at.
    """
    wanted = _wanted(options, ZoneInfo(session.principal.time_zone))
    _check_known(session, wanted.ids)
    preview = session.call(session.app.forgetting.preview, session.principal, wanted)
    if preview.is_empty:
        lines.screen.note(_nothing(options))
        return Exit.OK
    if preview.has_more:
        lines.screen.note(f"More than these answer that: -k N finds up to N, at most {MAX_FOUND}.")
    if options.preview:
        lines.preview(preview)
        return Exit.OK
    lines.doomed(preview)
    if not options.yes and not _agreed(lines, preview, everything=options.all):
        lines.screen.note("Nothing was forgotten.")
        return Exit.OK
    lines.forgotten(session.call(session.app.forgetting.confirm, session.principal, wanted, preview.token))
    return Exit.OK


def _wanted(options: argparse.Namespace, zone: ZoneInfo) -> ForgetRequest:
    wanted = ForgetRequest(
        ids=options.ids,
        query=options.query,
        since=moment(options.since, zone),
        until=moment(options.until, zone),
        everything=options.all,
        k=options.k,
        kinds=options.kinds,
        conversations=options.conversations,
    )
    wanted.check()
    return wanted


def _check_known(session: Session, ids: Sequence[str]) -> None:
    found = session.call(session.app.memory.get, session.principal, ids)
    missing = [id for id, fact in zip(ids, found, strict=True) if fact is None]
    if missing:
        message = f"No memory has the id {missing[0]}; nothing was forgotten."
        raise UnknownId(message)


def _nothing(options: argparse.Namespace) -> str:
    if options.query is not None:
        return f"No memories found matching: {options.query}"
    return "There were no memories to forget."


def _agreed(lines: FactLines, preview: Preview, *, everything: bool) -> bool:
    if not lines.screen.can_ask:
        message = "Forgetting cannot be undone, and nobody is here to agree to it: add --yes."
        raise BadInput(message)
    if everything:
        question = f"All of it goes for good. Type {_WORD!r} to do it: "
        return (lines.screen.ask(lines.screen.styled(question, "red")) or "").strip().lower() == _WORD
    count = len(preview.facts) + len(preview.versions)
    match count:
        case 0:
            what = "what was said of it"
        case 1:
            what = "this memory"
        case _:
            what = f"these {count:,} memories"
    return (lines.screen.ask(f"Forget {what} for good? [y/N] ") or "").strip().lower() in ("y", "yes")
