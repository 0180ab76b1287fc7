"""What `bethink conversations` prints."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import anyio.to_thread
import msgspec

from bethink.cli.exits import Exit
from bethink.cli.portability import new_file
from bethink.cli.terminal import Screen
from bethink.clock import shown_in, to_datetime
from bethink.conversations.export import exported
from bethink.errors import BadInput
from bethink.recall.message_search import marked

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from bethink.cli.session import Session

_MOST: Final = 1_000


def list_conversations(session: Session, options: argparse.Namespace) -> int:
    """Print a line each: its id, when it changed last, how many messages, its title."""
    screen, zone = Screen.of_process(is_data=options.json), ZoneInfo(session.principal.time_zone)
    where = {"archived": options.archived, "project": options.project}
    page = session.call(
        session.app.conversations.list, session.principal, limit=_limit(options.limit), **where
    )
    for item in session.call(session.app.runs.stored.settled, session.principal, page.items):
        one = item.record
        if options.json:
            told = {
                "id": one.id,
                "title": one.title,
                "messages": one.count,
                "updated_at": f"{to_datetime(one.updated_at):%Y-%m-%dT%H:%M:%SZ}",
                "project": one.project,
            }
            screen.line(msgspec.json.encode(told).decode())
        else:
            day = f"{shown_in(zone, to_datetime(one.updated_at)):%Y-%m-%d %H:%M}"
            screen.line(f"{one.id}  {day}  {one.count:>5,}  {one.title}")
    total = session.call(session.app.conversations.count, session.principal, **where)
    if total > len(page.items):
        screen.note(f"{total - len(page.items):,} more; --limit shows more of them.")
    return Exit.OK


def search_messages(session: Session, options: argparse.Namespace) -> int:
    """Print the messages that hold the words, the best first."""
    screen, zone = Screen.of_process(is_data=options.json), ZoneInfo(session.principal.time_zone)
    page = session.call(
        session.app.finding.search,
        session.principal,
        " ".join(options.query),
        conversation=options.conversation,
        project=options.project,
        limit=_limit(options.limit),
    )
    for found in page.items:
        if options.json:
            told = {
                "message": found.stored.id,
                "conversation": found.conversation.id,
                "title": found.conversation.title,
                "at": f"{to_datetime(found.stored.at):%Y-%m-%dT%H:%M:%SZ}",
                "snippet": found.snippet,
                "marks": found.marks,
                "active": found.is_active,
            }
            screen.line(msgspec.json.encode(told).decode())
        else:
            day = f"{shown_in(zone, to_datetime(found.stored.at)):%Y-%m-%d}"
            text = " ".join(marked(found).split())
            screen.line(f"{day}  {text}  ({found.conversation.title}, {found.conversation.id})")
    if not page.items:
        screen.note("No message holds these words.")
    elif page.cursor is not None:
        screen.note("There are more; --limit shows more of them.")
    return Exit.OK


def export_conversation(session: Session, options: argparse.Namespace) -> int:
    """Write the whole of one.

    Raises:
        UnknownId: there is none with that id.
        BadInput: the file is there already, or cannot be written.
    """
    principal = session.principal
    held = session.call(session.app.conversations.get, principal, options.conversation).record

    async def write_to(write: Callable[[bytes], object]) -> None:
        store = session.app.ports.store
        async for part in exported(store, principal, held, format=options.format):
            await anyio.to_thread.run_sync(write, part.encode())

    if options.output in {None, "-"}:
        session.call(write_to, sys.stdout.buffer.write)
        return Exit.OK
    with new_file(Path(options.output)) as file:
        session.call(write_to, file.write)
    Screen.of_process(is_data=False).note(f"{options.output}: written.")
    return Exit.OK


def _limit(number: int) -> int:
    if not 1 <= number <= _MOST:
        message = f"--limit is {number}: give a number from 1 to {_MOST:,}."
        raise BadInput(message)
    return number
