"""`bethink memory search`: one question over everything that is remembered."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec

from bethink.cli.exits import Exit
from bethink.cli.moments import moment
from bethink.clock import shown_in
from bethink.errors import BadInput
from bethink.recall.service import RecallQuestion

if TYPE_CHECKING:
    import argparse

    from bethink.cli.fact_lines import FactLines
    from bethink.cli.session import Session
    from bethink.recall.service import Hit

_SHOWN_CHARS = 300
"""Of a text on the screen; JSON has all of it."""


def search(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    """Print what answers the question, the best first; what has nothing to do with it only with `--all`."""
    zone = ZoneInfo(session.principal.time_zone)
    question = RecallQuestion(
        " ".join(options.query),
        session.app.settings.memory_search_limit if options.k is None else options.k,
        kinds=_kinds(options.kinds),
        since=moment(options.since, zone),
        until=moment(options.until, zone),
        as_of=moment(options.as_of, zone),
        conversation=options.conversation,
        project=options.project,
        budget=options.budget,
    )
    if not question.text.strip():
        raise BadInput("Say what to look for: a question or words.")
    answer = session.call(session.app.recall.ask, session.principal, question)
    shown = [hit for hit in answer.hits if hit.score > 0 or options.all]
    for hit in shown:
        lines.screen.line(_json(hit) if lines.is_json else _line(hit, zone))
    if not shown:
        lines.screen.note(f"No memories found matching: {question.text}")
    if left_out := answer.left_out:
        lines.screen.note(f"{left_out:,} more did not fit into {options.budget:,} tokens.")
    if warning := session.app.recall.warning:
        lines.screen.note(f"warning: {warning}", "yellow")
    return Exit.OK


def _kinds(named: str | None) -> set[str] | None:
    return None if named is None else {kind.strip() for kind in named.split(",") if kind.strip()}


def _line(hit: Hit, zone: ZoneInfo) -> str:
    """Score, kind, date and text; then who said it, when it held, its source and its id."""
    text = " ".join(hit.text.split())
    text = text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"
    told = [
        hit.speaker or "",
        "" if hit.valid_from is None else f"from {_day(hit.valid_from, zone)}",
        "" if hit.valid_until is None else f"until {_day(hit.valid_until, zone)}",
        hit.doubt or "",
        # A turn's source names the conversation, and the turn by the id that follows.
        (hit.source or "").partition("#")[0],
        hit.id,
    ]
    return f"{hit.score:.2f}  {hit.kind}  {_day(hit.at, zone)}  {text}  ({', '.join(filter(None, told))})"


def _day(at: datetime, zone: ZoneInfo) -> str:
    return f"{shown_in(zone, at):%Y-%m-%d}"


def _json(hit: Hit) -> str:
    document: dict[str, Any] = {name: _told(value) for name, value in asdict(hit).items()}
    return msgspec.json.encode(document).decode()


def _told(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return round(value, 4) if isinstance(value, float) else value
