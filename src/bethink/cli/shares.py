"""`bethink shares`: conversations that are shown to whoever has a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bethink.cli.commands import Commands, arg
from bethink.cli.terminal import one_line

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session
    from bethink.shares import Share, Shares

_EPILOG = """\
examples:
  bethink shares add CONVERSATION --days 7
  bethink shares revoke ID"""
COMMANDS = Commands(_EPILOG)


def _shares(session: Session) -> Shares:
    from bethink.shares import Shares

    return session.app.features.of(Shares)


@COMMANDS.add("list", arg("--conversation ID", "only of this one"))
def _list(session: Session, options: Namespace) -> None:
    """Show what others can read now."""
    shares = session.mine(_shares(session).list, options.conversation)
    for share in shares:
        _tell(session, share)
    if not shares:
        session.screen.note("Nothing is shared.")


@COMMANDS.add(
    "add",
    arg("conversation ID", "as `bethink conversations list` shows it"),
    arg("--days N", "after so many it ends; 0: only when it is revoked", type=int, default=30),
    arg("--memories", "show the memories, too, that answers used"),
    arg("--files", "show the files, too, that were attached"),
)
def _add(session: Session, options: Namespace) -> None:
    """Show a conversation, as it is now, to whoever has the link, which is shown once."""
    from bethink.shares import ShareDraft
    from bethink.transcript import Transcripts

    app, more = session.app, {"memories": options.memories, "files": options.files}
    held = session.mine(app.conversations.get, options.conversation).record
    messages = session.mine(Transcripts(app.ports.store, app.memory).of, held, **more)
    draft = ShareDraft(
        conversation=held.id, title=held.title, messages=messages, days=options.days or None, **more
    )
    share, token = session.mine(_shares(session).add, draft)
    _tell(session, share, path=f"/share/{token}")


@COMMANDS.add("revoke", arg("id ID", "as `list` shows it"))
def _revoke(session: Session, options: Namespace) -> None:
    """End a share: its link shows nothing any more."""
    session.mine(_shares(session).revoke, options.id)
    session.screen.result({"revoked": options.id}, "Revoked.")


def _tell(session: Session, share: Share, path: str | None = None) -> None:
    from bethink.clock import to_datetime

    times = {name: getattr(share, name) for name in ("created_at", "expires_at", "opened_at")}
    told = {name: to_datetime(at).isoformat() if at else None for name, at in times.items()}
    known: dict[str, Any] = {
        "id": share.id,
        "conversation": share.conversation,
        "title": share.title,
        "messages": share.messages,
        "opened": share.opened,
        **told,
    }
    if path is not None:
        known["path"] = path
    ends = f"until {told['expires_at'][:10]}" if told["expires_at"] else "until revoked"
    line = f"{share.id}  {one_line(share.title)}  {ends}, opened {share.opened} times"
    session.screen.result(known, line if path is None else f"{line}\n{path}")
