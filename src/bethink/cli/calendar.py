"""`bethink calendar`: plan events, see what overlaps, and find time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bethink.cli.calendar_sync import COMMANDS as OF_CALENDARS
from bethink.cli.commands import YES, Commands, arg, at_most
from bethink.cli.exits import Exit
from bethink.cli.terminal import counted, one_line, rfc3339
from bethink.errors import BadInput

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.calendar import Calendar, EventChange, EventTarget, Instance
    from bethink.cli.commands import Argument
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
    from bethink.calendar import Calendar

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
    screen = session.screen
    if not options.yes:
        if not screen.can_ask:
            raise BadInput("Deleting asks first, and nobody can be asked here: add --yes.")
        if not screen.agrees(
            f"Delete {one_line(one.title)}, {calendar.said(session.principal, one)}{which}?"
        ):
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
    from bethink.calendar import Hours
    from bethink.calendar.free_time import clock_of

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
    from bethink.calendar import EventTarget

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


COMMANDS.table += OF_CALENDARS.table
