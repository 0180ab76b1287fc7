"""What fields of several features must be: each check gives a value as it is kept, or says why not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from bethink.clock import checked_id
from bethink.errors import BadInput

MAX_LINKS: Final = 50
MAX_REMINDERS: Final = 10
MAX_REMINDER_MINUTES: Final = 366 * 24 * 60
_MAX_LINK_ID: Final = 500
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")

NEEDED: Final = object()
"""What stands for no value where there must be one."""
Checks = Mapping[str, tuple[Callable[[object], Any], object]]
"""By the name of a field: what checks it, and what stands for none."""


class InvalidField(ValueError):
    """Why a field's value is not taken."""


class RecordLink(msgspec.Struct, frozen=True, kw_only=True):
    """What a record is about as well: what it is, such as a conversation, and its id (a page: its path)."""

    kind: str
    id: str


def given_fields(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - each field has its own type
    """Those of these fields that are given: None stands for what is left out."""
    return {name: value for name, value in fields.items() if value is not None}


def tidied(text: str) -> str:
    """The text without control characters and outer white space."""
    return unicodedata.normalize("NFC", _CONTROL.sub("", text)).strip()


def checked_field(checks: Checks, name: str, value: object) -> Any:  # noqa: ANN401 - a type each
    """A field's value as it is kept; None empties it."""
    if name not in checks:
        raise InvalidField("there is no such field")
    check, empty = checks[name]
    if value is None:
        if empty is NEEDED:
            raise InvalidField("is required")
        return empty
    return check(value)


def checked_fields(
    checks: Checks, given: Mapping[str, object], *, but: Collection[str]
) -> tuple[dict[str, Any], list[str]]:
    """The values of the fields as they are kept, `but` for some; and why others are not taken."""
    values: dict[str, Any] = {}
    reasons: list[str] = []
    for name, value in given.items():
        if name in but:
            continue
        try:
            values[name] = checked_field(checks, name, value)
        except InvalidField as error:
            reasons.append(f"{name}: {error}")
    return values, reasons


def text_of(most: int, advice: str = "") -> Callable[[object], str]:
    """Checks a text of at most so many characters; `advice` ends the sentence about a longer one."""

    def check(value: object) -> str:
        if not isinstance(value, str):
            raise InvalidField("give a text")
        text = tidied(value)
        if len(text) > most:
            raise InvalidField(f"is {len(text):,} characters long, at most {most:,} are kept{advice}")
        return text

    return check


def line_of(most: int, advice: str = "", *, needed: bool = True) -> Callable[[object], str]:
    """Checks a text of one line, which is not empty if it is `needed`."""
    check = text_of(most, advice)

    def line(value: object) -> str:
        text = " ".join(check(value).split())
        if needed and not text:
            raise InvalidField("is empty")
        return text

    return line


def list_of(value: object, most: int) -> list[Any]:
    """A list of at most so many items."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidField("give a list")
    found = list(cast("Sequence[Any]", value))
    if len(found) > most:
        raise InvalidField(f"has {len(found):,} items, at most {most} are kept")
    return found


def id_of(value: object) -> str:
    """An id of ours."""
    try:
        checked_id(value)
    except BadInput as error:
        raise InvalidField(error.message.rstrip(".")) from error
    return str(value)


def links_to(kinds: Sequence[str]) -> Callable[[object], tuple[RecordLink, ...]]:
    """Checks links to records of these kinds."""
    line = line_of(_MAX_LINK_ID)

    def link(value: object) -> RecordLink:
        if isinstance(value, RecordLink):
            return value
        given = cast("Mapping[str, object]", value if isinstance(value, Mapping) else {})
        if given.get("kind") not in kinds or not isinstance(given.get("id"), str):
            raise InvalidField(f"a link has a kind ({', '.join(kinds)}) and an id")
        return RecordLink(kind=str(given["kind"]), id=line(given["id"]))

    return lambda value: tuple(dict.fromkeys(link(one) for one in list_of(value, MAX_LINKS)))


def reminders_before(what: str) -> Callable[[object], tuple[int, ...]]:
    """Checks minutes before something, such as "the start"."""

    def check(value: object) -> tuple[int, ...]:
        minutes = list_of(value, MAX_REMINDERS)
        if not all(type(one) is int and 0 <= one <= MAX_REMINDER_MINUTES for one in minutes):
            raise InvalidField(f"give whole minutes before {what}, at most a year")
        return tuple(sorted({int(one) for one in minutes}))

    return check
