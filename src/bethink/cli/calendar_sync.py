"""The commands of `bethink calendar` for files, feeds, and accounts of calendar servers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bethink.cli.commands import YES, Commands, arg
from bethink.cli.exits import Exit
from bethink.cli.terminal import counted
from bethink.errors import BadInput, TooLarge
from bethink.ical.lines import MAX_BYTES

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncGenerator

    from bethink.calendar_sync.records import CalendarAccount
    from bethink.calendar_sync.upkeep import Calendars
    from bethink.cli.session import Session
    from bethink.cli.terminal import Screen

COMMANDS = Commands()
_SHOWN: Final = 20
_ACCOUNT: Final = arg("account ACCOUNT", "its id, as `accounts list` shows it")


def _calendars(session: Session) -> Calendars:
    from bethink.calendar_sync.upkeep import Calendars

    return session.app.features.of(Calendars)


@COMMANDS.add(
    "import",
    arg("path FILE", "a calendar file (.ics)"),
    arg("--overwrite", "replace what is here already and differs; otherwise it stays"),
    json="the report",
)
def _import(session: Session, options: Namespace) -> Exit | None:
    """Take events and tasks from a calendar file."""
    content = session.call(_read, Path(options.path))
    done = session.mine(_calendars(session).files.take, content, overwrite=options.overwrite)
    told = {"new": done.new, "changed": done.changed, "here already": done.known, "left as here": done.kept}
    told["refused"] = done.refused_count
    line = ", ".join(f"{count:,} {what}" for what, count in told.items() if count)
    session.screen.result(done, line or "The file holds no events and no tasks.")
    for one in done.refused[:_SHOWN]:
        session.screen.remark(f"{one.title}: {one.why}", "red")
    for problem in done.problems[:_SHOWN]:
        session.screen.remark(problem)
    return Exit.FAILED if done.refused_count and not (done.new or done.changed or done.known) else None


async def _read(path: Path) -> bytes:
    import anyio

    try:
        async with await anyio.open_file(path, "rb") as file:
            content = await file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    if len(content) > MAX_BYTES:
        raise TooLarge(f"{path} has more than {MAX_BYTES // 1_000_000} MB: export it in parts.")
    return content


@COMMANDS.add("export", arg("-o --output FILE", "write to a new file (standard output)"), json=None)
def _export(session: Session, options: Namespace) -> None:
    """Write all events and tasks as a calendar file."""

    async def parts() -> AsyncGenerator[str]:
        yield await _calendars(session).files.text(session.principal, title="Bethink")

    if session.write_out(parts(), options.output):
        session.screen.remark(f"Written to {options.output}.")


COMMANDS.group("feeds", "calendars to subscribe to, by a secret address")


@COMMANDS.add("feeds list")
def _list_feeds(session: Session, _: Namespace) -> None:
    """List feeds, never their addresses."""
    feeds = session.mine(_calendars(session).feeds.list)
    for feed in feeds:
        session.screen.result({"id": feed.id, "name": feed.name}, f"{feed.id}  {feed.name}")
    if not feeds:
        session.screen.note("There are no feeds.")


@COMMANDS.add("feeds add", arg("name NAME?", "what it is called (Bethink)"))
def _add_feed(session: Session, options: Namespace) -> None:
    """Make a calendar to subscribe to; its address is shown this once."""
    feed, token = session.mine(_calendars(session).feeds.add, options.name or "Bethink")
    path = f"/calendar/feed/{token}.ics"
    session.screen.remark("Whoever knows this address sees the calendar. It is shown this once.")
    session.screen.result({"id": feed.id, "name": feed.name, "path": path}, path)


@COMMANDS.add("feeds revoke", arg("feed FEED", "its id"))
def _revoke_feed(session: Session, options: Namespace) -> None:
    """End a feed: its address shows nothing any more."""
    session.mine(_calendars(session).feeds.revoke, options.feed)
    session.screen.result({"id": options.feed, "revoked": True}, f"{options.feed}: revoked")


COMMANDS.group("accounts", "accounts of calendar servers (CalDAV)")


@COMMANDS.add("accounts list")
def _list_accounts(session: Session, _: Namespace) -> None:
    """List accounts, and what does not work."""
    accounts = session.mine(_calendars(session).sync.accounts)
    for account in accounts:
        _show(session, account)
    if not accounts:
        session.screen.note("There are no calendar accounts.")


@COMMANDS.add(
    "accounts add",
    arg("url URL", "the address of the server, or of one calendar"),
    arg("login NAME", "the user name there"),
    arg("--name WORDS", "what it is called here"),
    arg(
        "--sends all|changes|nothing",
        "what goes there: all, or changes of what came from there",
        default="all",
    ),
)
def _add_account(session: Session, options: Namespace) -> None:
    """Add an account; the password is typed, or piped in."""
    from bethink.calendar_sync.service import AccountDraft

    draft = AccountDraft(
        url=options.url,
        user=options.login,
        password=_typed(session.screen),
        name=options.name or "",
        sends=options.sends,
    )
    _show(session, session.mine(_calendars(session).sync.add, draft))


def _typed(screen: Screen) -> str:
    import getpass

    if screen.can_ask:
        return getpass.getpass("Password there: ")
    if piped := sys.stdin.readline().rstrip("\r\n"):
        return piped
    raise BadInput("There is no terminal to type a password: pipe it in as one line.")


@COMMANDS.add("accounts remove", _ACCOUNT, arg("--with-entries", "remove here what came from it"), YES)
def _remove_account(session: Session, options: Namespace) -> Exit | None:
    """Remove an account; its server keeps everything."""
    sync, screen = _calendars(session).sync, session.screen
    account = session.mine(sync.account, options.account)
    if not options.yes:
        if not screen.can_ask:
            raise BadInput("Removing asks first, and nobody can be asked here: add --yes.")
        if not screen.agrees(f"Remove the account {account.name}?"):
            return Exit.FAILED
    removed = session.mine(sync.remove, account.id, with_entries=options.with_entries)
    screen.result({"id": account.id, "removed": removed}, f"{account.name}: removed")
    return None


@COMMANDS.add(
    "sync",
    arg("account ACCOUNT?", "its id; all without"),
    arg("--accept-deletions", "delete also where very many entries are gone"),
)
def _sync(session: Session, options: Namespace) -> Exit | None:
    """Synchronise accounts now."""
    sync = _calendars(session).sync
    accounts = session.mine(sync.accounts)
    wanted = [one for one in accounts if options.account in {None, one.id}]
    if not wanted:
        raise BadInput("There is no such calendar account: `bethink calendar accounts list` shows them.")
    failed = False
    for one in wanted:
        account, done = session.mine(sync.sync, one.id, accepts_deletions=options.accept_deletions)
        line = (
            f"{account.name}: {done.received:,} received, {done.sent:,} sent,"
            f" {done.deleted_here:,} deleted here, {done.deleted_there:,} deleted there,"
            f" {counted(done.conflicts, 'conflict')}"
        )
        session.screen.result({"id": account.id, "error": account.error, "received": done.received}, line)
        if account.error:
            failed = True
            session.screen.remark(account.error, "red")
    return Exit.FAILED if failed else None


@COMMANDS.add("conflicts")
def _list_conflicts(session: Session, _: Namespace) -> None:
    """List what was changed here and on a server, with both versions."""
    for one in session.mine(_calendars(session).sync.conflicts):
        found = one.conflict
        document = {"id": found.id, "title": found.title, "here": one.here, "there": found.there}
        session.screen.result(document, f"{found.id}  {found.title}  ({one.account})")


@COMMANDS.add(
    "settle", arg("conflict CONFLICT", "its id"), arg("keep here|there|both", "which version stays")
)
def _settle(session: Session, options: Namespace) -> None:
    """Settle a conflict: keep the version here, there, or both."""
    session.mine(_calendars(session).sync.settle, options.conflict, options.keep)
    session.screen.result({"id": options.conflict, "kept": options.keep}, f"kept: {options.keep}")


def _show(session: Session, account: CalendarAccount) -> None:
    calendars = ", ".join(one.name for one in account.calendars if one.on)
    document = {"id": account.id, "name": account.name, "url": account.url, "error": account.error}
    session.screen.result(document, f"{account.id}  {account.name}: {calendars}")
    if account.error:
        session.screen.remark(account.error, "red")
