"""Ids and times."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.clock import FakeClock, Ids, SystemClock, to_datetime, to_us

MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2400, 1, 1))  # noqa: DTZ001 - zones come from hypothesis
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


class Jumping:
    """A clock that tells the times it was given."""

    def __init__(self, times: list[int]) -> None:
        self._times = iter(times)

    def now_us(self) -> int:
        return next(self._times)


@given(st.lists(st.integers(0, 2**47 * 1000), min_size=2, max_size=50))
@pytest.mark.requirement("C2")
def test_ids_rise_strictly_whatever_the_clock_does(times: list[int]) -> None:
    new_id = Ids(Jumping(times))
    ids = [new_id() for _ in times]
    assert ids == sorted(set(ids))


@pytest.mark.requirement("C2")
def test_ten_thousand_ids_of_one_moment_differ_and_keep_their_order() -> None:
    new_id = Ids(FakeClock())
    ids = [new_id() for _ in range(10_000)]
    assert ids == sorted(set(ids))


def test_an_id_is_a_uuid_of_version_7_that_tells_its_millisecond() -> None:
    now_us = 1_770_000_000_123_456
    made = uuid.UUID(Ids(FakeClock(now_us))())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == now_us // 1000


def test_the_system_clock_tells_microseconds_of_this_century() -> None:
    assert (
        datetime(2020, 1, 1, tzinfo=UTC)
        < to_datetime(SystemClock().now_us())
        < datetime(2100, 1, 1, tzinfo=UTC)
    )


def test_a_fake_clock_moves_only_when_told() -> None:
    clock = FakeClock(10)
    clock.advance(1.5)
    assert clock.now_us() == 1_500_010


@given(MOMENTS, ZONES)
def test_a_moment_survives_storage_to_the_microsecond(moment: datetime, zone: timezone) -> None:
    aware = moment.replace(tzinfo=zone)
    stored = to_datetime(to_us(aware))
    assert stored == aware
    assert stored.tzinfo is UTC


def test_a_datetime_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        to_us(datetime(2026, 1, 1))  # noqa: DTZ001 - that it has none is the point
