"""Rules of recurrence: the times that they give, what is refused, and how they read."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import assume, given
from hypothesis import strategies as st

from bethink.clock import to_datetime
from bethink.errors import BadInput
from bethink.recurrence import (
    kept_rule,
    last_start,
    moment_of,
    next_start,
    rule_of,
    series_starts,
    starts,
    text_of,
    words,
)

START = datetime(2026, 1, 5, 9)  # noqa: DTZ001 - a Monday, as the clock on the wall has it
FAR = datetime(2126, 1, 1)  # noqa: DTZ001
BERLIN = ZoneInfo("Europe/Berlin")


def first(rule: str, count: int, start: datetime = START) -> list[str]:
    return [
        f"{one:%Y-%m-%d %H:%M}" for one in islice(starts(rule_of(rule), start, low=start, high=FAR), count)
    ]


_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@st.composite
def rules(draw: st.DrawFn) -> str:
    """Rules that mean one thing alone: what programs read in different ways is tested by examples."""
    frequency = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY"]))
    parts = [f"FREQ={frequency}", f"INTERVAL={draw(st.integers(1, 5))}"]

    def part(name: str, values: st.SearchStrategy[object]) -> None:
        if draw(st.booleans()):
            chosen = draw(st.lists(values, min_size=1, max_size=3, unique=True))
            parts.append(f"{name}={','.join(map(str, chosen))}")

    part("BYMONTH", st.integers(1, 12))
    numbered = frequency in {"YEARLY", "MONTHLY"} and draw(st.booleans())
    days = st.sampled_from(_DAYS)
    part(
        "BYDAY",
        st.tuples(st.sampled_from([1, 2, 4, -1, -2]), days).map(lambda one: f"{one[0]}{one[1]}")
        if numbered
        else days,
    )
    if frequency != "WEEKLY":
        part("BYMONTHDAY", st.sampled_from([*range(1, 32), -1, -2]))
    if frequency != "HOURLY":
        part("BYHOUR", st.integers(0, 23))
    part("BYMINUTE", st.integers(0, 59))
    if frequency in {"YEARLY", "MONTHLY"} and re.search("BYDAY|BYMONTHDAY", parts[-1]):
        part("BYSETPOS", st.sampled_from([1, 2, -1]))
    end = draw(st.sampled_from(["", ";COUNT=20", ";UNTIL=20270301T120000"]))
    return ";".join(parts) + end


@pytest.mark.requirement("R150")
@given(rule=rules(), offset=st.integers(0, 700))
def test_rules_give_the_times_that_dateutil_gives(rule: str, offset: int) -> None:
    start = START + timedelta(days=offset, hours=offset % 24)
    low, high = start + timedelta(days=40), start + timedelta(days=700)
    try:
        found = rule_of(rule)
    except BadInput:
        assume(False)
        raise
    ours = list(starts(found, start, low=low, high=high))
    if next_start(found, start, start) is None:
        assert not ours  # dateutil looks for one until the year 9999, which takes seconds
        return
    theirs = takewhile(lambda one: one < high, rrulestr(rule, dtstart=start))
    assert ours == [one for one in theirs if one >= low]


@pytest.mark.parametrize(
    ("rule", "times"),
    [
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", ["2026-01-09 09:00", "2026-01-23 09:00"]),
        ("FREQ=MONTHLY;BYDAY=-1TH", ["2026-01-29 09:00", "2026-02-26 09:00"]),
        ("FREQ=MONTHLY;BYMONTHDAY=31", ["2026-01-31 09:00", "2026-03-31 09:00"]),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", ["2026-01-30 09:00", "2026-02-27 09:00"]),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", ["2028-02-29 09:00", "2032-02-29 09:00"]),
        ("FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO", ["2026-12-28 09:00", "2032-12-27 09:00"]),
        ("FREQ=YEARLY;BYYEARDAY=-1", ["2026-12-31 09:00", "2027-12-31 09:00"]),
        ("FREQ=DAILY;BYHOUR=8,20;BYMINUTE=30", ["2026-01-05 20:30", "2026-01-06 08:30"]),
        ("FREQ=MINUTELY;INTERVAL=45;BYDAY=MO", ["2026-01-05 09:00", "2026-01-05 09:45"]),
        ("FREQ=HOURLY;INTERVAL=36", ["2026-01-05 09:00", "2026-01-06 21:00"]),
    ],
)
def test_a_rule_gives_these_times(rule: str, times: list[str]) -> None:
    assert first(rule, len(times)) == times


def test_the_end_of_a_rule_is_its_last_time() -> None:
    assert first("FREQ=DAILY;COUNT=2", 9) == ["2026-01-05 09:00", "2026-01-06 09:00"]
    assert first("FREQ=DAILY;UNTIL=20260106T090000", 9) == ["2026-01-05 09:00", "2026-01-06 09:00"]
    assert last_start(rule_of("FREQ=WEEKLY;COUNT=3"), START) == START + timedelta(weeks=2)
    assert last_start(rule_of("FREQ=WEEKLY"), START) is None


def test_a_range_far_from_the_start_costs_no_more_than_a_near_one() -> None:
    far = START.replace(year=9000)
    rule = rule_of("FREQ=MINUTELY")
    assert next(starts(rule, START, low=far, high=far + timedelta(days=1))) == far


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "every day",
        "FREQ=SECONDLY",
        "FREQ=DAILY;COUNT=1000000",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;INTERVAL=-1",
        "FREQ=DAILY;COUNT=2;UNTIL=20270101",
        "FREQ=DAILY;UNTIL=20260231",
        "FREQ=DAILY;FREQ=WEEKLY",
        "FREQ=WEEKLY;BYDAY=2MO",
        "FREQ=MONTHLY;BYMONTHDAY=32",
        "FREQ=HOURLY;BYSETPOS=2",
        "FREQ=DAILY;BYSECOND=1,2,3",
        "FREQ=DAILY;X-ELSE=1",
        "FREQ=DAILY" + ";BYMONTH=1" * 200,
    ],
)
def test_what_is_no_rule_is_refused_with_a_sentence(rule: str) -> None:
    with pytest.raises(BadInput, match=r"\w+ \w+.*[.:]"):
        rule_of(rule)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "never happens"),
        ("FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30", "never happens"),
        ("FREQ=DAILY;INTERVAL=7;BYDAY=TU", "never happens"),
        ("FREQ=DAILY;UNTIL=20250101", "before its start"),
    ],
)
def test_a_rule_without_any_time_is_not_kept(rule: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        kept_rule(rule, START, BERLIN)


def test_the_end_of_a_kept_rule_is_local_and_goes_out_in_utc() -> None:
    kept = kept_rule("RRULE:FREQ=DAILY;UNTIL=20260701T070000Z", START, BERLIN)
    assert kept == "FREQ=DAILY;UNTIL=20260701T090000"
    assert text_of(rule_of(kept), BERLIN) == "FREQ=DAILY;UNTIL=20260701T070000Z"
    assert kept_rule("FREQ=DAILY;UNTIL=20260701", START, BERLIN) == "FREQ=DAILY;UNTIL=20260701T235959"
    assert kept_rule("FREQ=DAILY;UNTIL=20260701", START, BERLIN, all_day=True) == "FREQ=DAILY;UNTIL=20260701"


def test_a_series_has_its_start_and_dates_more_and_fewer() -> None:
    day = timedelta(days=1)
    found = series_starts(
        START,
        rule_of("FREQ=WEEKLY;BYDAY=TU"),
        low=START,
        high=START + 9 * day,
        rdates=[START + 3 * day, START + 8 * day],
        exdates=[START + day],
    )
    assert list(found) == [START, START + 3 * day, START + 8 * day]


@pytest.mark.parametrize(
    ("local", "utc"),
    [
        ("2026-03-28T09:00", "2026-03-28 08:00"),
        ("2026-03-30T09:00", "2026-03-30 07:00"),
        ("2026-03-29T02:30", "2026-03-29 01:30"),  # the clocks skip it: read with the offset before
        ("2026-10-25T02:30", "2026-10-25 00:30"),  # they show it twice: the first
    ],
)
def test_a_local_time_keeps_its_place_when_the_clocks_change(local: str, utc: str) -> None:
    assert f"{to_datetime(moment_of(datetime.fromisoformat(local), BERLIN)):%Y-%m-%d %H:%M}" == utc


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("FREQ=DAILY", "every day"),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "every weekday"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR", "every 2 weeks on Monday and Friday"),
        ("FREQ=MONTHLY;BYDAY=2FR", "every month on the 2nd Friday"),
        ("FREQ=MONTHLY;BYDAY=-1TH", "every month on the last Thursday"),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", "every month on the last day"),
        ("FREQ=MONTHLY;BYMONTHDAY=1,15", "every month on the 1st day and 15th day"),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "every month on the last weekday"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "every year on 29 February"),
        ("FREQ=DAILY;BYHOUR=8,20;BYMINUTE=30", "every day at 08:30 and 20:30"),
        ("FREQ=WEEKLY;COUNT=10", "every week, 10 times"),
        ("FREQ=WEEKLY;UNTIL=20261231T235959", "every week, until 31 December 2026"),
    ],
)
def test_a_rule_reads_as_a_person_says_it(rule: str, said: str) -> None:
    assert words(rule) == said
