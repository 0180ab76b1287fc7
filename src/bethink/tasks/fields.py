"""What each field of a task must be: tools, the web door, the command line and imports give the same ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bethink.errors import BadInput
from bethink.field_checks import (
    NEEDED,
    Checks,
    InvalidField,
    checked_fields,
    id_of,
    line_of,
    links_to,
    list_of,
    reminders_before,
    text_of,
)
from bethink.recurrence import rule_of
from bethink.tasks.records import (
    LINK_KINDS,
    MAX_DESCRIPTION,
    MAX_EXTRA,
    MAX_HOURS,
    MAX_NEEDED,
    MAX_PROJECT,
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    PRIORITIES,
    STATUSES,
)

_MAX_UID: Final = 500
_MAX_RULE: Final = 1_000
_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 9000
"""Beyond these no zone has rules, and calendars of other programs end."""


def checked(given: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The given fields as a record keeps them; None empties one. `now` is in the owner's zone.

    Raises:
        BadInput: a field is unknown or its value unfit; the sentence names all of them.
    """
    values, reasons = checked_fields(_CHECKS, given, but=_DUE)
    try:
        values |= _due(given, now)
    except InvalidField as error:
        reasons.append(str(error))
    if reasons:
        raise BadInput(f"The task is not valid. {'; '.join(reasons)}.")
    return values


def _one_of(choices: Sequence[str]) -> Callable[[object], str]:
    def check(value: object) -> str:
        text = value.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(value, str) else value
        if text not in choices:
            raise InvalidField(f"must be one of {', '.join(choices)}")
        return str(text)

    return check


def _tags(value: object) -> tuple[str, ...]:
    line = line_of(MAX_TAG, " of a tag")
    tags = [line(tag).removeprefix("#").strip() for tag in list_of(value, MAX_TAGS)]
    if not all(tags):
        raise InvalidField("a tag is empty")
    return tuple({tag.casefold(): tag for tag in tags}.values())


def _hours(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidField("give a number of hours")
    if not 0 <= value <= MAX_HOURS:
        raise InvalidField(f"must be 0 to {MAX_HOURS:,.0f} hours")
    return float(value)


def _ids(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id_of(one) for one in list_of(value, MAX_NEEDED)))


def _rule(value: object) -> str:
    text = line_of(_MAX_RULE)(value)
    try:
        rule_of(text)
    except BadInput as error:
        raise InvalidField(error.message.rstrip(".")) from error
    return text.upper().removeprefix("RRULE:")


_CHECKS: Checks = {
    "title": (line_of(MAX_TITLE, ": put the rest into the description"), NEEDED),
    "description": (text_of(MAX_DESCRIPTION), ""),
    "status": (_one_of(STATUSES), "todo"),
    "priority": (_one_of(PRIORITIES), "medium"),
    "tags": (_tags, ()),
    "estimated_hours": (_hours, None),
    "project": (line_of(MAX_PROJECT), None),
    "parent": (id_of, None),
    "depends_on": (_ids, ()),
    "links": (links_to(LINK_KINDS), ()),
    "recurrence": (_rule, None),
    "recurs_from": (_one_of(("due", "done")), "due"),
    "reminders": (reminders_before("it is due"), ()),
    "uid": (line_of(_MAX_UID), NEEDED),
    "extra": (text_of(MAX_EXTRA), ""),
}
"""What checks a field, and what stands for none."""

_DUE: Final = frozenset({"due_date", "due_at", "zone"})


def _due(given: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """`due` and `zone` of `due_date` or `due_at`; nothing if none is given."""
    day, moment = given.get("due_date"), given.get("due_at")
    if day is not None and moment is not None:
        raise InvalidField("due_at: a task is due on a day or at a time, give one of due_date and due_at")
    if day is not None:
        return {"due": _day(day).isoformat(), "zone": ""}
    if moment is not None:
        return _moment(moment, given.get("zone"), now)
    if "due_date" in given or "due_at" in given:
        return {"due": None, "zone": ""}
    if "zone" in given:
        raise InvalidField("zone: belongs to due_at, give both")
    return {}


def _day(value: object) -> date:
    try:
        day = value if isinstance(value, date) else date.fromisoformat(str(value).strip())
    except ValueError:
        raise InvalidField(f"due_date: {str(value)[:40]!r} is no date: write YYYY-MM-DD") from None
    return _in_range(day, "due_date")


def _moment(value: object, zone: object, now: datetime) -> dict[str, Any]:
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    except ValueError:
        raise InvalidField(
            f"due_at: {str(value)[:40]!r} is no time: write it like 2026-11-02T09:30:00Z"
        ) from None
    if zone is None:
        zone = str(now.tzinfo)
    elif not isinstance(zone, str) or (zone and not _is_zone(zone)):
        raise InvalidField(f"zone: {str(zone)[:40]!r} is none: give a name such as Europe/Paris")
    if moment.tzinfo is not None:
        moment = moment.astimezone(ZoneInfo(zone) if zone else now.tzinfo)
    _in_range(moment.date(), "due_at")
    return {"due": moment.replace(tzinfo=None, microsecond=0, fold=0).isoformat(), "zone": zone}


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _in_range(day: date, field: str) -> date:
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise InvalidField(f"{field}: must lie between {_FIRST_YEAR} and {_LAST_YEAR}")
    return day
