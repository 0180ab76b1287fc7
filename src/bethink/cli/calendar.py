"""`bethink calendar`: events, what overlaps, free time; files, feeds and accounts of other programs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bethink.cli.commands import YES, Argument, Commands, arg, at_most
from bethink.cli.exits import Exit
from bethink.cli.terminal import Screen, counted, one_line, piped_line, rfc3339
from bethink.errors import BadInput, TooLarge
from bethink.ical.lines import MAX_BYTES

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.calendar.records import Instance
    from bethink.calendar.service import Calendar, EventChange, EventTarget
    from bethink.calendar_sync.feature import Calendars
    from bethink.calendar_sync.records import CalendarAccount
    from bethink.cli.session import Session

_EPILOG: Final = """\
examples:
  bethink calendar add "Lunch with Bruna tomorrow from 12 to 13:30 @Enzo"
  bethink calendar add Choir --start "every Friday at 19" --minutes 90 --remind 30
  bethink calendar list --from "next week"
  bethink calendar edit 0193…@2026-12-04T19:00:00 --start "5 December at 20:00" --scope this
  bethink calendar free --minutes 45 --from tomorrow --to Friday

Times are words or ISO 8601, in your zone. An EVENT is its id; of a series the instance's, with @ in it."""
COMMANDS = Commands(_EPILOG)
_SHOWN: Final = 200
_ONE: Final = "each event"
_EVENT: Final = arg("event EVENT", "its id; of a series the instance's")
_SCOPE: Final = arg(
    "--scope this|following|all", "what of a series: by itself the instance that is named, else all"
)
_FROM: Final = arg("--from WHEN", "from when on, in words or ISO 8601 (today)", dest="since")
_TO: Final = arg("--to WHEN", "until when; a day is included (a week)", dest="until")


def _fields() -> list[Argument]:
    return [
        arg("--start WHEN", "when it begins, in words or ISO 8601; a day alone is a whole day"),
        arg("--end WHEN", "when it ends"),
        arg("--minutes N", "how long it takes, in place of --end (60)", type=int),
        arg("--zone NAME", "the zone that times are meant in, such as Europe/Paris (yours)"),
        arg("--location PLACE", "where it is"),
        arg("--type TYPE", "meeting, appointment, birthday, or another word", dest="event_type"),
        arg("--with LIST", "who comes: names or e-mail addresses, with commas", dest="attendees"),
        arg("--remind LIST", "minutes before it: 30,10", dest="reminders"),
        arg("--every RULE", "how often, in words or as an RRULE: every 2nd Friday", dest="recurrence"),
        arg("--description TEXT", "what it is about"),
        arg("--allow-conflict", "keep it though it overlaps others"),
    ]


def _calendar(session: Session) -> Calendar:
    from bethink.calendar.service import Calendar

    return session.app.features.of(Calendar)


@COMMANDS.add(
    "add", arg("words WORDS", "a title, or a whole line with its time in words"), *_fields(), json=_ONE
)
def _add(session: Session, options: Namespace) -> None:
    """Put an event into the calendar; what is taken is refused, and free times are named."""
    calendar, given = _calendar(session), _given(options)
    if options.start is None:
        given = session.mine(calendar.read_line, options.words).fields | given
    change = session.mine(
        calendar.create, {"title": options.words, **given}, allow_conflict=options.allow_conflict
    )
    _tell(session, change, "kept")


@COMMANDS.add(
    "list",
    _FROM,
    _TO,
    arg("--type TYPE", "only of this type", dest="event_type"),
    arg("--search TEXT", "only what holds or answers this"),
    at_most(_SHOWN, "events", 2_000),
    json=_ONE,
)
def _list(session: Session, options: Namespace) -> None:
    """Show what is planned; by itself in the next seven days."""
    start, end = _range(session, options)
    found = session.mine(
        _calendar(session).range,
        start=start,
        end=end,
        event_type=options.event_type,
        query=options.search,
        limit=options.limit,
    )
    for one in found.items:
        session.screen.result(_as_data(session, one), _line(session, one))
    if not found.items:
        session.screen.note("Nothing is planned then.")
    elif found.more:
        session.screen.note(f"There are more than these {counted(len(found.items), 'event')}: --limit.")


@COMMANDS.add("show", _EVENT, json=_ONE)
def _show(session: Session, options: Namespace) -> None:
    """Show all that is known of an event."""
    one = session.mine(_calendar(session).get, options.event)
    data = _as_data(session, one)
    session.screen.result(
        data, "\n".join(f"{name:<12} {_plain(value)}" for name, value in data.items() if value)
    )


@COMMANDS.add("edit", _EVENT, arg("--title TITLE", "what it is called"), *_fields(), _SCOPE, json=_ONE)
def _edit(session: Session, options: Namespace) -> None:
    """Change an event, or of a series one instance, all that follow, or all."""
    given = _given(options)
    if options.title is not None:
        given["title"] = options.title
    change = session.mine(
        _calendar(session).update, _target(options), given, allow_conflict=options.allow_conflict
    )
    _tell(session, change, "changed")


@COMMANDS.add("delete", _EVENT, _SCOPE, YES, json=_ONE)
def _delete(session: Session, options: Namespace) -> Exit | None:
    """Delete an event, or of a series one instance, all that follow, or all."""
    calendar, target = _calendar(session), _target(options)
    one = session.mine(calendar.get, options.event)
    scope = target.scope_of(one.event)
    of_series = {"this": "this one alone", "following": "it and all that follow", "all": "all of the series"}
    which = f" ({of_series[scope]})" if one.event.is_series else ""
    question = f"Delete {one_line(one.title)}, {calendar.said(session.principal, one)}{which}?"
    refusal = "Deleting asks first, and nobody can be asked here: add --yes."
    if not session.screen.confirmed(question, yes=options.yes, refusal=refusal):
        return Exit.FAILED
    _tell(session, session.mine(calendar.delete, target), "deleted")
    return None


@COMMANDS.add("undo", arg("token TOKEN", "what a change gave"), json=_ONE)
def _undo(session: Session, options: Namespace) -> None:
    """Take back a change or a deletion, for a month."""
    for one in session.mine(_calendar(session).undo, options.token):
        session.screen.result(_as_data(session, one), _line(session, one))
    session.screen.note("It is as it was before.")


@COMMANDS.add(
    "free",
    _FROM,
    _TO,
    arg("--minutes N", "at least so long (60)", type=int, default=60),
    arg("--day-start HH:MM", "from when on of each day (09:00)", default="09:00"),
    arg("--day-end HH:MM", "until when of each day (18:00)", default="18:00"),
    arg("--workdays", "Monday to Friday alone"),
    json="each time",
)
def _free(session: Session, options: Namespace) -> None:
    """Find times in which nothing is planned; by itself in the next seven days."""
    from bethink.calendar.free_time import Hours, clock_of

    start, end = _range(session, options)
    hours = Hours(
        clock_of("--day-start", options.day_start), clock_of("--day-end", options.day_end), options.workdays
    )
    found = session.mine(_calendar(session).free, start=start, end=end, minutes=options.minutes, hours=hours)
    for one in found:
        said = f"{session.local(one.start, '%a %d %b %Y %H:%M')} to {session.local(one.end, '%H:%M')}"
        session.screen.result({"start": rfc3339(one.start), "end": rfc3339(one.end)}, said)
    if not found:
        session.screen.note("No such time is free.")


def _range(session: Session, options: Namespace) -> tuple[int, int]:
    from bethink.calendar.words import range_of
    from bethink.clock import to_us

    first, last = range_of(options.since, options.until, _calendar(session).now(session.principal))
    return to_us(first), to_us(last)


def _given(options: Namespace) -> dict[str, Any]:
    plain = ("start", "end", "zone", "location", "event_type", "recurrence", "description")
    given = {name: value for name in plain if (value := getattr(options, name)) is not None}
    if options.minutes is not None:
        given["duration_minutes"] = options.minutes
    if options.attendees is not None:
        given["attendees"] = [one.strip() for one in options.attendees.split(",") if one.strip()]
    if options.reminders is not None:
        given["reminders"] = _minutes(options.reminders)
    return given


def _minutes(text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",") if one.strip()]
    except ValueError as error:
        raise BadInput(f"--remind is {text!r}: give minutes with commas, such as 30,10.") from error


def _target(options: Namespace) -> EventTarget:
    from bethink.calendar.service import EventTarget

    return EventTarget(options.event, options.scope)


def _tell(session: Session, change: EventChange, verb: str) -> None:
    one, screen = change.instance, session.screen
    data = {
        **_as_data(session, one),
        "undo": change.undo,
        "conflicts": [other.id for other in change.conflicts],
    }
    screen.result(data, f"{verb}: {_line(session, one)}")
    for other in change.conflicts:
        screen.note(f"It overlaps {one_line(other.title)}.")
    screen.note(f"To take it back: bethink calendar undo {change.undo}")


def _line(session: Session, one: Instance) -> str:
    place = f"  @ {one_line(one.location)}" if one.location else ""
    status = "" if one.status == "confirmed" else f"  ({one.status})"
    said = _calendar(session).said(session.principal, one)
    return f"{said}  {one_line(one.title)}{place}{status}  {one.id}"


def _as_data(session: Session, one: Instance) -> dict[str, Any]:
    event = one.event
    return {
        "id": one.id,
        "title": one.title,
        "when": _calendar(session).said(session.principal, one),
        "start": one.start if one.all_day else rfc3339(one.starts_at),
        "end": one.end if one.all_day else rfc3339(one.ends_at),
        "all_day": one.all_day,
        "zone": event.zone,
        "location": one.location,
        "event_type": one.event_type,
        "status": one.status,
        "attendees": [who.name or who.email for who in one.attendees],
        "reminders": list(one.reminders),
        "recurrence": event.recurrence or None,
        "description": one.description,
    }


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownArgumentType] - of any type


# --- files, feeds, and accounts of calendar servers

_FAULTS_SHOWN: Final = 20
_ACCOUNT: Final = arg("account ACCOUNT", "its id, as `accounts list` shows it")


def _calendars(session: Session) -> Calendars:
    from bethink.calendar_sync.feature import Calendars

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
    for one in done.refused[:_FAULTS_SHOWN]:
        session.screen.remark(f"{one.title}: {one.why}", "red")
    for problem in done.problems[:_FAULTS_SHOWN]:
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
        _show_account(session, account)
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
    _show_account(session, session.mine(_calendars(session).sync.add, draft))


def _typed(screen: Screen) -> str:
    import getpass

    return getpass.getpass("Password there: ") if screen.can_ask else piped_line("a password")


@COMMANDS.add("accounts remove", _ACCOUNT, arg("--with-entries", "remove here what came from it"), YES)
def _remove_account(session: Session, options: Namespace) -> Exit | None:
    """Remove an account; its server keeps everything."""
    sync, screen = _calendars(session).sync, session.screen
    account = session.mine(sync.account, options.account)
    refusal = "Removing asks first, and nobody can be asked here: add --yes."
    if not screen.confirmed(f"Remove the account {account.name}?", yes=options.yes, refusal=refusal):
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


def _show_account(session: Session, account: CalendarAccount) -> None:
    calendars = ", ".join(one.name for one in account.calendars if one.on)
    document = {"id": account.id, "name": account.name, "url": account.url, "error": account.error}
    session.screen.result(document, f"{account.id}  {account.name}: {calendars}")
    if account.error:
        session.screen.remark(account.error, "red")
