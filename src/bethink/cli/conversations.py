"""`bethink conversations`: list, search and export conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg, at_most
from bethink.clock import to_datetime

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session

_EPILOG = """\
examples:
  bethink conversations list
  bethink conversations search flight Lisbon
  bethink conversations export ID --output lisbon.md"""
_MOST = 1_000
COMMANDS = Commands(_EPILOG)


@COMMANDS.add(
    "list",
    arg("--archived", "archived conversations"),
    arg("--project NAME", "only this project"),
    at_most(50, most=_MOST),
)
def _list(session: Session, options: Namespace) -> None:
    """List conversations, the last changed first."""
    from bethink.conversations import ConversationFilter

    conversations = session.app.conversations
    wanted = ConversationFilter(place="archive" if options.archived else "list", project=options.project)
    page = session.mine(conversations.list, wanted, limit=options.limit)
    for item in session.mine(session.app.runs.stored.settled, page.items):
        one = item.record
        document = {
            "id": one.id,
            "title": one.title,
            "messages": one.count,
            "updated_at": _utc(one.updated_at),
            "project": one.project,
        }
        line = f"{one.id}  {session.local(one.updated_at)}  {one.count:>5,}  {one.title}"
        session.screen.result(document, line)
    if (more := session.mine(conversations.count, wanted) - len(page.items)) > 0:
        session.screen.note(f"{more:,} more; --limit shows more of them.")


@COMMANDS.add(
    "search",
    arg("query WORD+", "words that must all be in the message"),
    arg("--conversation ID", "only in this conversation"),
    arg("--project NAME", "only in this project"),
    at_most(20, most=_MOST),
)
def _search(session: Session, options: Namespace) -> None:
    """Find messages that hold words."""
    from bethink.recall.message_search import marked

    page = session.mine(
        session.app.message_search.search,
        " ".join(options.query),
        conversation=options.conversation,
        project=options.project,
        limit=options.limit,
    )
    for found in page.items:
        document = {
            "message": found.stored.id,
            "conversation": found.conversation.id,
            "title": found.conversation.title,
            "at": _utc(found.stored.at),
            "snippet": found.snippet,
            "marks": found.marks,
            "active": found.is_active,
        }
        day, text = session.local(found.stored.at, "%Y-%m-%d"), " ".join(marked(found).split())
        session.screen.result(
            document, f"{day}  {text}  ({found.conversation.title}, {found.conversation.id})"
        )
    if not page.items:
        session.screen.note("No message contains these words.")
    elif page.cursor is not None:
        session.screen.note("There are more; --limit shows more of them.")


@COMMANDS.add(
    "export",
    arg("conversation ID", "its id, as `list` prints it"),
    arg("--format md|json", "Markdown (md), or JSON", default="md"),
    arg("--output FILE", "a new file; standard output by default"),
    json=None,
)
def _export(session: Session, options: Namespace) -> None:
    """Write one conversation as Markdown or JSON."""
    from bethink.conversations.export import exported

    held = session.mine(session.app.conversations.get, options.conversation).record
    parts = exported(session.app.ports.store, session.principal, held, format=options.format)
    if session.write_out(parts, options.output):
        session.screen.note(f"{options.output}: written.")


def _utc(at: int) -> str:
    return f"{to_datetime(at):%Y-%m-%dT%H:%M:%SZ}"
