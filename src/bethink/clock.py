"""Time and ids, handed in as arguments so that tests and replays are exact; how files write them.

Time is integer microseconds UTC in storage and aware datetimes in code.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any, Protocol, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bethink.errors import BadInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RANDOM_BITS = 62
_COUNTER_BITS = 12


class Clock(Protocol):
    """Where the time comes from."""

    def now_us(self) -> int:
        """Microseconds since 1970-01-01 UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_us(self) -> int:
        """Microseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1000


class FakeClock:
    """A clock that moves only when told; starts at `now_us`."""

    def __init__(self, now_us: int = 1_770_000_000_000_000) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        """Microseconds since 1970-01-01 UTC."""
        return self._now_us

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self._now_us += round(seconds * 1_000_000)


def to_datetime(us: int) -> datetime:
    """The aware UTC datetime of stored microseconds."""
    return _EPOCH + timedelta(microseconds=us)


def shown_in(zone: tzinfo, moment: datetime) -> datetime:
    """The moment in a zone; in UTC on the first and last day that calendars have, where the zone has none."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment.astimezone(UTC)


def to_us(moment: datetime) -> int:
    """Stored microseconds of an aware datetime.

    Raises:
        ValueError: the datetime has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError("a datetime without a time zone has no place in time")
    return (moment - _EPOCH) // timedelta(microseconds=1)


_AT_ONCE = 128
"""Ids whose random bits are drawn together."""


class Ids:
    """UUIDv7 strings (RFC 9562, 5.7) that sort in the order they were made.

    Within one process they are strictly increasing, also inside one
    millisecond and when the clock steps back: the twelve bits after the
    milliseconds count, and a full count borrows the next millisecond.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0
        self._random: Iterator[int] = iter(())

    def __call__(self) -> str:
        """A new id."""
        tick = (self._clock.now_us() // 1000) << _COUNTER_BITS
        self._last = tick if tick > self._last else self._last + 1
        milliseconds, count = divmod(self._last, 1 << _COUNTER_BITS)
        if (random := next(self._random, None)) is None:
            # Many at once: each call of the system lets another thread have the interpreter.
            self._random = iter(memoryview(os.urandom(8 * _AT_ONCE)).cast("Q"))
            random = next(self._random)
        return _uuid7(milliseconds, (count << 64) | random >> (64 - _RANDOM_BITS))


def hashed_id(at: int, said: bytes) -> str:
    """A UUIDv7 of the time `at` (microseconds UTC) whose random bits are a hash (RFC 9562, 5.7 and 6.9).

    The same for the same thing.
    """
    hashed = int.from_bytes(hashlib.blake2b(said, digest_size=10).digest())
    return _uuid7(min(max(at // 1000, 0), (1 << 48) - 1), hashed)


def _uuid7(milliseconds: int, bits: int) -> str:
    """`bits` are the last 80, of which the version and the variant are written over."""
    value = (milliseconds << 80) | bits & ~(0xF << 76) & ~(0x3 << _RANDOM_BITS)
    digits = f"{value | (7 << 76) | (2 << _RANDOM_BITS):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


@lru_cache(maxsize=1024)
def zone_of(name: str) -> tzinfo:
    """The zone of an IANA name, kept: to load one reads a file."""
    return ZoneInfo(name)


def check_time_zone(name: str) -> None:
    """Nothing, if there is a zone of this name. Looks on the disk: call it in a thread.

    Raises:
        BadInput: there is none.
    """
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise BadInput(f"time_zone is {name!r}: give an IANA name such as Europe/Paris.") from error


_TIMES = frozenset({"created_at", "updated_at", "valid_from", "valid_until", "told_at", "at"})
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
    raise BadInput(f"{str(value)[:40]!r} is not a time: write it like 2026-11-02T09:30:00Z.")


def checked_id(id: object) -> None:
    """Refuse what is no id.

    Raises:
        BadInput: it is none.
    """
    if not isinstance(id, str) or not _ID.fullmatch(id):
        raise BadInput(f"{str(id)[:40]!r} is no id.")


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
