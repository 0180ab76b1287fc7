"""Times in words, on Tuesday, 24 November 2026, at 14:00: what they mean, and what is asked or refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.errors import Ambiguous, BadInput, NotUnderstood
from bethink.when.meanings import Day, Moment, Range, Recurrence
from bethink.when.moments import extracted, understood

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 24, 14, 0, tzinfo=BERLIN)


def day(text: str) -> str:
    meant = understood(text, NOW)
    assert isinstance(meant, Day), meant
    return meant.date.isoformat()


def moment(text: str, now: datetime = NOW) -> str:
    meant = understood(text, now)
    assert isinstance(meant, Moment), meant
    return f"{meant.at:%Y-%m-%d %H:%M}"


@pytest.mark.requirement("R148", "R9")
@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("today", "2026-11-24"),
        ("heute", "2026-11-24"),
        ("tomorrow", "2026-11-25"),
        ("übermorgen", "2026-11-26"),
        ("the day after tomorrow", "2026-11-26"),
        ("Friday", "2026-11-27"),
        ("am Freitag", "2026-11-27"),
        ("by Friday", "2026-11-27"),
        ("bis Freitag", "2026-11-27"),
        ("Friday week", "2026-12-04"),
        ("a week on Friday", "2026-12-04"),
        ("Freitag in acht Tagen", "2026-12-04"),
        ("Freitag in zwei Wochen", "2026-12-11"),
        ("Friday next week", "2026-12-04"),
        ("nächste Woche Freitag", "2026-12-04"),
        ("this Friday", "2026-11-27"),
        ("kommenden Montag", "2026-11-30"),
        ("nächsten Dienstag", "2026-12-01"),
        ("in 3 days", "2026-11-27"),
        ("in einer Woche", "2026-12-01"),
        ("in a fortnight", "2026-12-08"),
        ("in 3 months", "2027-02-24"),
        ("2026-12-04", "2026-12-04"),
        ("4.12.2026", "2026-12-04"),
        ("4. Dezember", "2026-12-04"),
        ("December 4th", "2026-12-04"),
        ("the 4th of December 2027", "2027-12-04"),
        ("1 November", "2027-11-01"),
        ("13/8/2027", "2027-08-13"),
        ("am 3. des Monats", "2026-12-03"),
        ("on the 31st", "2026-12-31"),
        ("Friday the 13th", "2027-08-13"),
        ("29 February", "2028-02-29"),
        ("the last Friday of the month", "2026-11-27"),
        ("am ersten Montag im Dezember", "2026-12-07"),
        ("end of the month", "2026-11-30"),
        ("Ende Februar", "2027-02-28"),
        ("Silvester", "2026-12-31"),
        ("Friday, 4 December 2026", "2026-12-04"),
    ],
)
def test_a_day_in_words(words: str, meant: str) -> None:
    assert day(words) == meant


@pytest.mark.requirement("R148", "R9")
@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("tomorrow at 5", "2026-11-25 17:00"),
        ("tomorrow at 5 am", "2026-11-25 05:00"),
        ("tomorrow at 17:30", "2026-11-25 17:30"),
        ("tomorrow at 8", "2026-11-25 08:00"),
        ("tomorrow evening at 8", "2026-11-25 20:00"),
        ("morgen früh um 7", "2026-11-25 07:00"),
        ("heute Abend um 7", "2026-11-24 19:00"),
        ("Freitagabend um 7", "2026-11-27 19:00"),
        ("übermorgen um halb drei", "2026-11-26 14:30"),
        ("morgen um Viertel nach drei", "2026-11-25 15:15"),
        ("morgen um dreiviertel drei", "2026-11-25 14:45"),
        ("morgen um 17 Uhr 30", "2026-11-25 17:30"),
        ("half past five", "2026-11-24 17:30"),
        ("quarter to six", "2026-11-24 17:45"),
        ("noon tomorrow", "2026-11-25 12:00"),
        ("in two hours", "2026-11-24 16:00"),
        ("in 20 minutes", "2026-11-24 14:20"),
        ("in einer halben Stunde", "2026-11-24 14:30"),
        ("in anderthalb Stunden", "2026-11-24 15:30"),
        ("in 1h30", "2026-11-24 15:30"),
        ("at 15:00", "2026-11-24 15:00"),
        ("um 13 Uhr", "2026-11-25 13:00"),
        ("tonight at 9", "2026-11-24 21:00"),
        ("today at 9", "2026-11-24 21:00"),
        ("midnight", "2026-11-25 00:00"),
        ("tomorrow 24:00", "2026-11-26 00:00"),
        ("2026-12-04T09:00", "2026-12-04 09:00"),
        ("2026-12-04 09:00", "2026-12-04 09:00"),
        ("2026-12-04T09:00:00Z", "2026-12-04 10:00"),
        ("tomorrow at 5 pm (America/New_York)", "2026-11-25 17:00"),
    ],
)
def test_a_time_in_words(words: str, meant: str) -> None:
    assert moment(words) == meant


@pytest.mark.requirement("R148")
@pytest.mark.parametrize(
    ("words", "rule", "first"),
    [
        ("every day", "FREQ=DAILY", "2026-11-24"),
        ("täglich um 9", "FREQ=DAILY", "2026-11-25 09:00"),
        ("every weekday at 8", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "2026-11-25 08:00"),
        ("every 2nd Friday", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "2026-11-27"),
        ("jeden zweiten Freitag", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "2026-11-27"),
        ("every other Monday", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", "2026-11-30"),
        ("every last Thursday", "FREQ=MONTHLY;BYDAY=-1TH", "2026-11-26"),
        ("jeden letzten Donnerstag im Monat", "FREQ=MONTHLY;BYDAY=-1TH", "2026-11-26"),
        ("jeden ersten Montag im Monat um 10 Uhr", "FREQ=MONTHLY;BYDAY=1MO", "2026-12-07 10:00"),
        ("every Monday and Thursday at 10:30", "FREQ=WEEKLY;BYDAY=MO,TH", "2026-11-26 10:30"),
        ("montags und donnerstags", "FREQ=WEEKLY;BYDAY=MO,TH", "2026-11-26"),
        ("alle zwei Wochen am Montag", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", "2026-11-30"),
        ("every month on the 3rd", "FREQ=MONTHLY;BYMONTHDAY=3", "2026-12-03"),
        ("am 15. jedes Monats", "FREQ=MONTHLY;BYMONTHDAY=15", "2026-12-15"),
        ("every year on 4 December", "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=4", "2026-12-04"),
        ("jeden Morgen um 7", "FREQ=DAILY", "2026-11-25 07:00"),
        ("weekly on Friday 10 times", "FREQ=WEEKLY;BYDAY=FR;COUNT=10", "2026-11-27"),
        ("every day until 31 December", "FREQ=DAILY;UNTIL=20261231", "2026-11-24"),
        ("every day at 9 from Monday", "FREQ=DAILY", "2026-11-30 09:00"),
        ("every 3 hours", "FREQ=HOURLY;INTERVAL=3", "2026-11-24 17:00"),
    ],
)
def test_what_recurs(words: str, rule: str, first: str) -> None:
    meant = understood(words, NOW)
    assert isinstance(meant, Recurrence)
    start = meant.start
    told = f"{start:%Y-%m-%d %H:%M}" if isinstance(start, datetime) else str(start)
    assert (meant.rule, told) == (rule, first)


def test_what_recurs_after_it_is_done() -> None:
    meant = understood("every 3 days after it is done", NOW)
    assert isinstance(meant, Recurrence)
    assert meant.after_done
    assert meant.rule == "FREQ=DAILY;INTERVAL=3"


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("next week", "2026-11-30 00:00", "2026-12-07 00:00"),
        ("dieses Wochenende", "2026-11-28 00:00", "2026-11-30 00:00"),
        ("Montag bis Mittwoch", "2026-11-30 00:00", "2026-12-03 00:00"),
        ("vom 3. bis 5. Dezember", "2026-12-03 00:00", "2026-12-06 00:00"),
        ("tomorrow from 3 to 5 pm", "2026-11-25 15:00", "2026-11-25 17:00"),
        ("tomorrow at 5 for 2 hours", "2026-11-25 17:00", "2026-11-25 19:00"),
        ("morgen von 9 bis 11 Uhr", "2026-11-25 09:00", "2026-11-25 11:00"),
        ("morgen Nachmittag", "2026-11-25 12:00", "2026-11-25 18:00"),
    ],
)
def test_a_range(words: str, start: str, end: str) -> None:
    meant = understood(words, NOW)
    assert isinstance(meant, Range)
    assert (f"{meant.start:%Y-%m-%d %H:%M}", f"{meant.end:%Y-%m-%d %H:%M}") == (start, end)


@pytest.mark.requirement("R148")
@pytest.mark.parametrize(
    ("words", "choices"),
    [
        ("next Friday", ["Friday, 27 November 2026", "Friday, 4 December 2026"]),
        ("nächsten Freitag", ["Friday, 27 November 2026", "Friday, 4 December 2026"]),
        ("on Tuesday", ["Tuesday, 24 November 2026", "Tuesday, 1 December 2026"]),
        ("5/8/2027", ["Thursday, 5 August 2027", "Saturday, 8 May 2027"]),
        ("5/8/2026", ["Wednesday, 5 August 2026", "Friday, 8 May 2026"]),
        (
            "tomorrow at 6",
            [
                "Wednesday, 25 November 2026, 06:00 (Europe/Berlin)",
                "Wednesday, 25 November 2026, 18:00 (Europe/Berlin)",
            ],
        ),
        (
            "at 8",
            [
                "Tuesday, 24 November 2026, 20:00 (Europe/Berlin)",
                "Wednesday, 25 November 2026, 08:00 (Europe/Berlin)",
            ],
        ),
        ("every 3rd Friday", ["every 3 weeks on Friday", "every 3rd Friday of the month"]),
        ("biweekly", ["every 2 weeks"]),
        ("every morning", ["every morning at 07:00", "every morning at 08:00", "every morning at 09:00"]),
        ("end of the week", ["Friday, 27 November 2026", "Sunday, 29 November 2026"]),
    ],
)
def test_what_is_ambiguous_is_asked_and_each_choice_is_clear(words: str, choices: list[str]) -> None:
    with pytest.raises(Ambiguous) as raised:
        understood(words, NOW)
    assert list(raised.value.choices) == choices
    assert all(choice in str(raised.value) for choice in choices)
    # Either can be given back.
    for choice, text in zip(raised.value.choices, raised.value.texts, strict=True):
        assert understood(text, NOW).words == understood(choice, NOW).words


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("31 November", "There is no day 31 in November 2026, which has 30 days."),
        ("29 February 2027", "it is no leap year"),
        ("2026-02-30", "There is no day 30 in February 2026"),
        ("2026-13-01", "There is no month 13."),
        ("Monday, 4 December 2026", "Friday, 4 December 2026 is no Monday"),
        ("25:00", "25:00 is no time of day."),
        ("13pm", "hours are 1 to 12"),
        ("2027-03-28 02:30", "There is no 02:30 on Sunday, 28 March 2027 in Europe/Berlin"),
        ("tomorrow from 15:00 to 14:00", "end before it begins"),
        ("in 99999 years", "too far away"),
        ("tomorrow on Friday", "Wednesday, 25 November 2026 is no Friday"),
        ("tomorrow at noon and 3 pm", "give one"),
        ("8 in the afternoon", "08:00 is not in the afternoon."),
        ("every day until yesterday", "It would end on Monday, 23 November 2026, before it begins."),
        ("every sixth Friday of the month", "No month has 6 of a weekday."),
        ("blue", "is no time that can be understood"),
        ("tomorrow blue", "“blue” is no time that can be understood"),
        ("", "No time was given"),
        ("tomorrow " * 60, "too long"),
        ("10 times", "Say how often it is"),
    ],
)
def test_what_is_no_time_is_refused_with_the_reason(words: str, why: str) -> None:
    with pytest.raises(NotUnderstood) as raised:
        understood(words, NOW)
    assert why in str(raised.value)


def test_an_hour_that_comes_twice_is_asked() -> None:
    with pytest.raises(Ambiguous) as raised:
        understood("2027-10-31 02:30", NOW)
    assert [understood(text, NOW) for text in raised.value.texts] == [
        Moment(datetime(2027, 10, 31, 2, 30, tzinfo=BERLIN, fold=fold)) for fold in (0, 1)
    ]
    assert [text[-6:] for text in raised.value.texts] == ["+02:00", "+01:00"]
    assert "UTC+02:00" in raised.value.choices[0]


def test_hours_from_now_are_counted_on_the_clock_over_a_change_of_it() -> None:
    night = datetime(2027, 3, 28, 1, 30, tzinfo=BERLIN)
    assert moment("in 1 hour", night) == "2027-03-28 03:30"
    assert moment("tomorrow at 02:30", night) == "2027-03-29 02:30"


def test_in_a_month_is_the_last_day_of_a_shorter_one() -> None:
    meant = understood("in a month", datetime(2027, 1, 31, 9, 0, tzinfo=BERLIN))
    assert meant == Day(datetime(2027, 2, 28, tzinfo=UTC).date())


@pytest.mark.parametrize(
    ("sentence", "rest", "words"),
    [
        ("Call Bruna tomorrow at 5", "Call Bruna", "Wednesday, 25 November 2026, 17:00 (Europe/Berlin)"),
        ("Tomorrow call Bruna at 5", "call Bruna", "Wednesday, 25 November 2026, 17:00 (Europe/Berlin)"),
        ("Zahnarzt übermorgen um halb drei", "Zahnarzt", "Thursday, 26 November 2026, 14:30 (Europe/Berlin)"),
        ("Miete überweisen am 3. des Monats", "Miete überweisen", "Thursday, 3 December 2026"),
        ("Prepare Monday meeting by Friday", "Prepare Monday meeting", "Friday, 27 November 2026"),
        ("Buy milk, tomorrow", "Buy milk", "Wednesday, 25 November 2026"),
        ('Read "Monday Night" by Ann', 'Read "Monday Night" by Ann', None),
        ("Buy 2 books", "Buy 2 books", None),
        ("Read chapter 5 to 7", "Read chapter 5 to 7", None),
        ("Do laundry", "Do laundry", None),
        ("So geht das nicht", "So geht das nicht", None),
        ("March report", "March report", None),
        ("Second draft for 3 people", "Second draft for 3 people", None),
        ("", "", None),
    ],
)
def test_a_sentence_gives_its_time_and_what_is_left(sentence: str, rest: str, words: str | None) -> None:
    found = extracted(sentence, NOW)
    assert (found.rest, found.understood and found.understood.words) == (rest, words)


def test_an_ambiguous_sentence_comes_back_with_each_reading_in_it() -> None:
    with pytest.raises(Ambiguous) as raised:
        extracted("Lunch next Friday at noon with Ann", NOW)
    assert raised.value.texts == (
        "Lunch 27 November 2026 at 12:00 with Ann",
        "Lunch 4 December 2026 at 12:00 with Ann",
    )


@given(st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2300, 1, 1)))  # noqa: DTZ001 - made aware below
@settings(max_examples=60)
def test_what_is_understood_is_understood_again_from_its_words(naive: datetime) -> None:
    at = naive.replace(second=0, microsecond=0, fold=0, tzinfo=UTC).astimezone(BERLIN)
    for meant in (Day(at.date()), Moment(at)):
        try:
            assert understood(meant.words, NOW).words == meant.words
        except Ambiguous as error:
            assert meant.words in error.choices  # noqa: PT017 - an hour that comes twice


@given(st.text(max_size=80))
@settings(max_examples=150, deadline=timedelta(seconds=5))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    for read in (understood, extracted):
        try:
            read(text, NOW)
        except BadInput as error:
            assert str(error)  # noqa: PT017 - whatever is wrong is said


WORDS = (
    "every", "next", "last", "friday", "tomorrow", "at", "5", "in", "2", "weeks", "until", "the", "3rd", "of",
    "month", "am", "jeden", "um", "halb", "drei", "and", "from",
)  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=8))
@settings(max_examples=200, deadline=timedelta(seconds=5))
def test_no_words_of_time_do_more_than_be_refused(words: list[str]) -> None:
    for read in (understood, extracted):
        try:
            meant = read(" ".join(words), NOW)
        except BadInput as error:
            assert str(error)  # noqa: PT017 - as above
        else:
            assert meant is not None
