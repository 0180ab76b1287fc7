"""`bethink conversations`: list, search, show, rename, delete and export conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import YES, Commands, arg, at_most
from bethink.cli.exits import Exit
from bethink.clock import to_datetime
from bethink.errors import BadInput

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session
    from bethink.conversations.records import Conversation

_EPILOG = """\
examples:
  bethink conversations list
  bethink conversations search flight Lisbon
  bethink conversations show 019a3f
  bethink conversations export ID --output lisbon.md"""
_MOST = 1_000
_ID = "its id, as `list` prints it, or the beginning of it"
_AT_ONCE = 200
COMMANDS = Commands(_EPILOG)


def conversation_of(session: Session, id: str) -> Conversation:
    """The conversation with an id, or the only one whose id begins so.

    Raises:
        UnknownId: there is none.
        BadInput: there are several.
    """
    conversations = session.app.conversations
    if not id or session.mine(conversations.has, id):
        return session.mine(conversations.get, id).record
    listed = session.each(conversations.list, limit=_AT_ONCE)
    found = [item.record for item in listed if item.record.id.startswith(id)]
    if len(found) > 1:
        shown = ", ".join(f"{one.id} ({one.title})" for one in found[:3])
        raise BadInput(f"{len(found):,} conversations begin with {id!r}: {shown}. Give more of the id.")
    return found[0] if found else session.mine(conversations.get, id).record


@COMMANDS.add(
    "list",
    arg("--archived", "archived conversations"),
    arg("--project NAME", "only this project"),
    at_most(50, most=_MOST),
)
def _list(session: Session, options: Namespace) -> None:
    """List conversations, the last changed first."""
    from bethink.conversations.service import ConversationFilter

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
    "show",
    arg("conversation ID", _ID),
    at_most(50, "messages, the newest", most=_MOST),
    json="each message",
)
def _show(session: Session, options: Namespace) -> None:
    """Show what was said in a conversation."""
    from bethink.messages import ToolMessage, UserMessage

    held = conversation_of(session, options.conversation)
    page = session.mine(session.app.conversations.messages, held, limit=options.limit)
    session.screen.remark(f"{held.title}, {held.id}", "bold")
    if page.cursor is not None:
        session.screen.note("There are older messages; --limit shows more of them.")
    for stored in (item.record for item in reversed(page.items)):
        message = stored.message
        role = "user" if isinstance(message, UserMessage) else "assistant"
        role = "tool" if isinstance(message, ToolMessage) else role
        document = {"id": stored.id, "role": role, "at": _utc(stored.at), "content": message.content}
        if role == "tool":
            session.screen.result(document)
        elif message.content or session.screen.is_data:
            who = "You" if role == "user" else "Bethink"
            session.screen.result(document, f"{who}, {session.local(stored.at)}", message.content, "")


@COMMANDS.add("rename", arg("conversation ID", _ID), arg("title WORD+", "its new title"), json=None)
def _rename(session: Session, options: Namespace) -> None:
    """Give a conversation another title."""
    from bethink.conversations.service import ConversationEdit

    held = conversation_of(session, options.conversation)
    edit = ConversationEdit(title=" ".join(options.title))
    now = session.mine(session.app.conversations.edit, held.id, edit)
    session.screen.note(f"{now.id}: {now.title}")


@COMMANDS.add("delete", arg("conversation ID", _ID), YES, json=None)
def _delete(session: Session, options: Namespace) -> Exit | None:
    """Delete a conversation for good, with all that was said in it."""
    held = conversation_of(session, options.conversation)
    question = f"Delete {held.title!r} with {held.count:,} messages for good? [y/N] "
    refusal = "Nobody is there to ask: give --yes to delete it."
    if not session.screen.confirmed(question, yes=options.yes, refusal=refusal):
        session.screen.note("It was not deleted.")
        return Exit.FAILED
    session.mine(session.app.runs.delete_conversation, held.id)
    session.screen.note(f"Deleted: {held.title}")
    return None


@COMMANDS.add(
    "expire",
    arg("--days N", "nothing was said for so many days; by default as the settings or you say", type=int),
    arg("--dry-run", "only say how many would go"),
    YES,
    json="the report",
)
def _expire(session: Session, options: Namespace) -> Exit | None:
    """Delete old conversations for good, but for pinned ones."""
    from bethink.agent.removal import ConversationRetention
    from bethink.preferences import PreferenceBook

    app, screen = session.app, session.screen
    kept = ConversationRetention(app.runs, app.settings, app.features.of(PreferenceBook))
    days = session.mine(kept.days_of) if options.days is None else options.days
    if days is None:
        raise BadInput("Conversations are kept for ever: give --days, or set conversations_retention_days.")
    if days < 1:
        raise BadInput("--days is 1 or more.")
    count = len(session.mine(app.conversations.outdated, days=days))
    said = f"{count:,} conversations in which nothing was said for {days:,} days"
    if options.dry_run:
        screen.result({"days": days, "count": count, "deleted": 0}, f"{said} would be deleted.")
        return None
    refusal = "Nobody is there to ask: give --yes to delete them, or --dry-run."
    if count and not screen.confirmed(f"Delete {said} for good? [y/N] ", yes=options.yes, refusal=refusal):
        screen.note("None was deleted.")
        return Exit.FAILED
    deleted = session.mine(kept.delete, days)
    screen.result(
        {"days": days, "count": count, "deleted": deleted}, f"{deleted:,} conversations are deleted."
    )
    return None


@COMMANDS.add(
    "export",
    arg("conversation ID", _ID),
    arg("--format md|json", "Markdown (md), or JSON", default="md"),
    arg("--output FILE", "a new file; standard output by default"),
    json=None,
)
def _export(session: Session, options: Namespace) -> None:
    """Write one conversation as Markdown or JSON."""
    from bethink.conversations.export import exported

    held = conversation_of(session, options.conversation)
    parts = exported(session.app.ports.store, session.principal, held, format=options.format)
    if session.write_out(parts, options.output):
        session.screen.note(f"{options.output}: written.")


def _utc(at: int) -> str:
    return f"{to_datetime(at):%Y-%m-%dT%H:%M:%SZ}"
