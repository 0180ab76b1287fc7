"""What time expressions mean, said on Sunday 22 November 2026, at noon in Paris."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.when.ranges import find

PARIS = ZoneInfo("Europe/Paris")
NOW = datetime(2026, 11, 22, 12, tzinfo=PARIS)


def _said(text: str, *, past_first: bool = True) -> tuple[date | None, date | None]:
    (mention,) = find(text, NOW, past_first=past_first)
    low = None if mention.low is None else mention.low.date()
    return low, None if mention.high is None else mention.high.date()


def _d(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("We met on 8 May 2023.", "2023-05-08", "2023-05-09"),
        ("on May 8th, 2023", "2023-05-08", "2023-05-09"),
        ("the 8th of May", "2026-05-08", "2026-05-09"),
        ("born 1999-12-31", "1999-12-31", "2000-01-01"),
        ("in 2024-05", "2024-05-01", "2024-06-01"),
        ("am 3.10.2025", "2025-10-03", "2025-10-04"),
        ("25/12/2024", "2024-12-25", "2024-12-26"),
        ("12/25/2024", "2024-12-25", "2024-12-26"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("Sept. 2021 was dry", "2021-09-01", "2021-10-01"),
        ("What did I do in May?", "2026-05-01", "2026-06-01"),
        ("last May", "2026-05-01", "2026-06-01"),
        ("last November", "2025-11-01", "2025-12-01"),
        ("this November", "2026-11-01", "2026-12-01"),
        ("next May", "2027-05-01", "2027-06-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("last summer", "2026-06-01", "2026-09-01"),
        ("winter 2019", "2019-12-01", "2020-03-01"),
        ("in 2019", "2019-01-01", "2020-01-01"),
        ("since 2019", "2019-01-01", None),
        ("until 2019", None, "2020-01-01"),
        ("before 2019", None, "2019-01-01"),
        ("after May 2023", "2023-06-01", None),
        ("from 2015 to 2018", "2015-01-01", "2019-01-01"),
        ("between March 2020 and May 2021", "2020-03-01", "2021-06-01"),
        ("from Monday until Wednesday", "2026-11-16", "2026-11-19"),
        ("in the 1990s", "1990-01-01", "2000-01-01"),
        ("yesterday", "2026-11-21", "2026-11-22"),
        ("the day before yesterday", "2026-11-20", "2026-11-21"),
        ("tomorrow morning", "2026-11-23", "2026-11-24"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("this week", "2026-11-16", "2026-11-23"),
        ("next week", "2026-11-23", "2026-11-30"),
        ("last weekend", "2026-11-14", "2026-11-16"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("next quarter", "2027-01-01", "2027-04-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("on Friday", "2026-11-20", "2026-11-21"),
        ("on Sunday", "2026-11-15", "2026-11-16"),
        ("next Friday", "2026-11-27", "2026-11-28"),
        ("three days ago", "2026-11-19", "2026-11-20"),
        ("2 weeks ago", "2026-11-05", "2026-11-12"),
        ("two years ago", "2024-01-01", "2025-01-01"),
        ("a couple of months ago", "2026-09-07", "2026-10-08"),
        ("in 3 days", "2026-11-25", "2026-11-26"),
        ("over the last 10 days", "2026-11-12", "2026-11-23"),
        ("the past month", "2026-10-22", "2026-11-23"),
        ("29 February", "2024-02-29", "2024-03-01"),
    ],
)
def test_an_expression_is_a_range(text: str, low: str | None, high: str | None) -> None:
    assert _said(text) == (_d(low), _d(high))


@pytest.mark.parametrize(
    ("text", "low"),
    [
        ("on Friday", "2026-11-27"),
        ("in May", "2027-05-01"),
        ("in November", "2026-11-01"),
        ("8 May", "2027-05-08"),
    ],
)
def test_what_names_no_side_is_ahead_where_it_is_asked_so(text: str, low: str) -> None:
    assert _said(text, past_first=False)[0] == _d(low)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "31 February 2024",
        "2024-13-01",
        "5/8/2023",
        "You may march to the sea.",
        "version 1.12.2024.7",
        "I have 2019 reasons",
        "every Monday",
        "on Mondays",
        "on Tuesday evenings",
        "call 0612-34-56",
        "99 monkeys",
    ],
)
def test_what_names_no_time_is_no_mention(text: str) -> None:
    assert find(text, NOW) == []


def test_a_mention_tells_its_words_and_whether_they_shift_with_the_day() -> None:
    first, second = find("Since 2019 in Rome, but last week in Oslo", NOW)
    assert (first.text, first.relation, first.relative) == ("2019", "since", False)
    assert (second.text, second.relation, second.relative) == ("last week", "in", True)
    assert first.low == datetime(2019, 1, 1, tzinfo=PARIS)


@given(st.text(alphabet="adefghilmnorstuwy 0123456789-/.,", max_size=80), st.booleans())
def test_no_text_breaks_it(text: str, past_first: bool) -> None:  # noqa: FBT001 - a drawn value
    for mention in find(text, NOW, past_first=past_first):
        assert text[mention.start : mention.end] == mention.text
        assert mention.low is None or mention.high is None or mention.low < mention.high


def test_the_ends_of_the_calendar_are_no_fault() -> None:
    last = datetime(9999, 12, 31, tzinfo=PARIS)
    for text in (
        "next year",
        "in 900 years",
        "tomorrow",
        "last week",
        "12/31/9999",
        "0001-01-01",
        "999 years ago",
    ):
        find(text, last)
        find(text, last.replace(year=1))
