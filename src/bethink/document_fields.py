"""Ids and times in the documents of an export file. Features and the formats call it."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from bethink.clock import to_datetime, to_us
from bethink.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMES = frozenset({"created_at", "updated_at", "valid_from", "valid_until", "at"})
_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SECONDS_BELOW, _MILLISECONDS_BELOW = 1e11, 1e14
"""Numbers below these are taken for seconds and milliseconds since 1970: both lie beyond the year 5000."""


def time_of(value: object) -> int:
    """Microseconds UTC of a time as files write it: RFC 3339, a date, or a number since 1970.

    A time without a zone counts as UTC.

    Raises:
        BadInput: it is no time, or not one of the years 1 to 9999.
    """
    try:
        match value:
            case str():
                moment = datetime.fromisoformat(value.strip())
                return to_us(moment.replace(tzinfo=moment.tzinfo or UTC))
            case int() | float() if not isinstance(value, bool) and math.isfinite(value):
                unit = 1e6 if abs(value) < _SECONDS_BELOW else 1e3 if abs(value) < _MILLISECONDS_BELOW else 1
                us = round(value * unit)
                to_datetime(us)
                return us
            case _:
                pass
    except (ValueError, OverflowError):
        pass
    message = f"{str(value)[:40]!r} is no time: write it like 2026-11-02T09:30:00Z."
    raise BadInput(message)


def checked_id(id: object) -> None:
    """Refuse what is no id.

    Raises:
        BadInput: it is none.
    """
    if not isinstance(id, str) or not _ID.fullmatch(id):
        message = f"{str(id)[:40]!r} is no id."
        raise BadInput(message)


def with_times(value: Any, change: Any, name: str = "") -> Any:  # noqa: ANN401 - JSON of any shape
    """The same JSON with `change` done to what stands under the names of times."""
    if isinstance(value, dict):
        return {key: with_times(inner, change, key) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [with_times(inner, change) for inner in cast("Sequence[Any]", value)]
    return change(value) if name in _TIMES and value is not None else value


def rfc3339(us: int) -> str:
    """The time as text, in UTC."""
    return to_datetime(us).isoformat().replace("+00:00", "Z")
