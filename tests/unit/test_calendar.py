"""The calendar: what is kept, when it is, what overlaps, and what of a series changes."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any

import pytest

from bethink.calendar.free_time import Hours
from bethink.calendar.service import Calendar, EventChange, EventConflict, EventTarget, Scope
from bethink.clock import FakeClock, to_datetime, to_us
from bethink.errors import Ambiguous, BadInput, UnknownId
from bethink.llm import Llm
from bethink.principal import Principal
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 12, 1, 8, tzinfo=UTC)
"""A Tuesday."""


def at_berlin(llm: Llm | None = None) -> AbstractAsyncContextManager[House]:
    ports = ports_of(llm, clock=FakeClock(to_us(NOW)))
    return open_house(ports=ports, time_zone="Europe/Berlin")


def us(text: str) -> int:
    return to_us(datetime.fromisoformat(text))


async def made(house: House, title: str, start: str, **more: object) -> EventChange:
    return await house.app.features.of(Calendar).create(house.me, {"title": title, "start": start, **more})


async def listed(house: House, start: str, end: str, **more: Any) -> list[str]:  # noqa: ANN401 - of `range`
    calendar = house.app.features.of(Calendar)
    found = await calendar.range(house.me, start=us(start), end=us(end), **more)
    return [f"{one.title} {to_datetime(one.starts_at):%Y-%m-%d %H:%M}" for one in found.items]


DECEMBER = ("2026-12-01T00:00+01:00", "2027-01-01T00:00+01:00")


@pytest.mark.requirement("R150", "C21", "U11")
async def test_an_event_keeps_its_fields_and_an_hour_by_itself() -> None:
    async with at_berlin() as house:
        given = {
            "location": "Room 3",
            "event_type": "meeting",
            "attendees": ["ada@example.org", {"name": "Bo", "status": "accepted"}],
            "reminders": [30, 10, 10],
        }
        change = await made(house, "  Review \x00 ", "2026-12-04T09:00", **given)
        one = await house.app.features.of(Calendar).get(house.me, change.instance.id)
    assert (one.title, one.start, one.end, one.event.zone) == (
        "Review",
        "2026-12-04T09:00:00",
        "2026-12-04T10:00:00",
        "Europe/Berlin",
    )
    assert to_datetime(one.starts_at) == datetime(2026, 12, 4, 8, tzinfo=UTC)
    assert (one.location, one.event_type, one.reminders) == ("Room 3", "meeting", (10, 30))
    assert [(who.name, who.email, who.status) for who in one.attendees] == [
        ("", "ada@example.org", "needs-action"),
        ("Bo", "", "accepted"),
    ]


@pytest.mark.requirement("U11")
@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"start": None}, "start: is required"),
        ({"start": "2026-02-30"}, "start: '2026-02-30' is no time"),
        ({"start": "2026-12-04T25:00"}, "is no time"),
        ({"start": "soon"}, "is no time"),
        ({"start": 5}, "give a time"),
        ({"start": "0001-01-01T00:00+14:00"}, "end of the calendar|must lie between"),
        ({"start": "9999-12-31T23:59-12:00"}, "end of the calendar|must lie between"),
        ({"end": "2026-12-04T08:00"}, "is not after the start"),
        ({"end": "2026-12-04T09:00"}, "is not after the start"),
        ({"end": "2099-12-04T09:00"}, "at most 3,660 days"),
        ({"duration_minutes": 0}, "more than 0"),
        ({"duration_minutes": -5}, "more than 0"),
        ({"duration_minutes": True}, "more than 0"),
        ({"duration_minutes": 5, "end": "2026-12-04T10:00"}, "one of end and duration_minutes"),
        ({"zone": "Europe/Atlantis"}, "zone: 'Europe/Atlantis' is none"),
        ({"zone": "../../etc/passwd"}, "zone: .* is none"),
        ({"title": " "}, "title: is empty"),
        ({"title": "x" * 301}, "at most 300"),
        ({"recurrence": "FREQ=DAILY;COUNT=1000000"}, "recurrence: COUNT"),
        ({"recurrence": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}, "recurrence: .*never happens"),
        ({"recurrence": "FREQ=SECONDLY"}, "recurrence: FREQ"),
        ({"reminders": [-1]}, "reminders"),
        ({"attendees": [{}]}, "attendees: an attendee has a name"),
        ({"status": "maybe"}, "status: must be one of"),
        ({"colour": "red"}, "colour: there is no such field"),
    ],
)
async def test_what_is_unfit_is_refused_with_its_name_and_why(fields: dict[str, Any], sentence: str) -> None:
    async with at_berlin() as house:
        given = {"title": "Review", "start": "2026-12-04T09:00"} | fields
        with pytest.raises(BadInput, match=sentence):
            await house.app.features.of(Calendar).create(house.me, given)
        assert await listed(house, *DECEMBER) == []


@pytest.mark.requirement("U11", "U9")
async def test_an_overlap_is_refused_and_named_with_free_times_near_by() -> None:
    async with at_berlin() as house:
        await made(house, "Dentist", "2026-12-04T09:00", duration_minutes=60)
        with pytest.raises(
            EventConflict, match=r"“Dentist” \(Friday, 4 December 2026, 09:00 to 10:00\)"
        ) as told:
            await made(house, "Review", "2026-12-04T09:59")
        free = [f"{to_datetime(one.start):%d %H:%M}" for one in told.value.free]
        assert [one.title for one in told.value.conflicts] == ["Dentist"]
        assert "04 09:00" in free  # 10:00 in Berlin
        # One that ends when the other begins does not overlap it.
        await made(house, "Before", "2026-12-04T08:00")
        await made(house, "After", "2026-12-04T10:00")
        calendar = house.app.features.of(Calendar)
        given = {"title": "Review", "start": "2026-12-04T09:30", "duration_minutes": 90}
        kept = await calendar.create(house.me, given, allow_conflict=True)
    assert [one.title for one in kept.conflicts] == ["Dentist", "After"]


@pytest.mark.requirement("U11")
async def test_what_takes_no_time_is_in_nobodys_way() -> None:
    async with at_berlin() as house:
        await made(house, "Holiday", "2026-12-04")
        await made(house, "Offered", "2026-12-04T09:00", busy=False)
        await made(house, "Called off", "2026-12-04T09:00", status="cancelled")
        assert (await made(house, "Review", "2026-12-04T09:00")).conflicts == ()


@pytest.mark.requirement("R150")
async def test_a_series_that_meets_another_in_one_instance_is_in_conflict() -> None:
    async with at_berlin() as house:
        await made(house, "Stand-up", "2026-12-01T09:00", duration_minutes=15, recurrence="FREQ=DAILY")
        with pytest.raises(EventConflict) as told:
            await made(house, "Review", "2026-12-03T08:30", recurrence="FREQ=WEEKLY;COUNT=2")
    assert [f"{one.title} {one.start[:10]}" for one in told.value.conflicts] == [
        "Stand-up 2026-12-03",
        "Stand-up 2026-12-10",
    ]


@pytest.mark.requirement("R150")
async def test_nine_in_the_morning_stays_so_when_the_clocks_change() -> None:
    async with at_berlin() as house:
        await made(house, "Run", "2027-03-27T09:00", recurrence="FREQ=DAILY;COUNT=3")
        assert await listed(house, "2027-03-01T00:00+00:00", "2027-04-01T00:00+00:00") == [
            "Run 2027-03-27 08:00",
            "Run 2027-03-28 07:00",
            "Run 2027-03-29 07:00",
        ]


async def test_an_event_in_the_skipped_hour_still_has_its_length() -> None:
    async with at_berlin() as house:
        one = (await made(house, "Night", "2027-03-28T02:30", end="2027-03-28T03:00")).instance
        assert one.ends_at - one.starts_at == 30 * 60 * 1_000_000


async def test_an_event_across_midnight_stands_on_both_days() -> None:
    async with at_berlin() as house:
        await made(house, "Party", "2026-12-04T22:00", end="2026-12-05T02:00")
        assert await listed(house, "2026-12-05T00:00+01:00", "2026-12-06T00:00+01:00")
        assert not await listed(house, "2026-12-05T02:00+01:00", "2026-12-06T00:00+01:00")


async def test_whole_days_are_those_of_whoever_looks() -> None:
    async with at_berlin() as house:
        one = (await made(house, "Fair", "2026-12-04", end="2026-12-06")).instance
        assert (one.all_day, one.start, one.end, one.event.zone) == (True, "2026-12-04", "2026-12-06", "")
        calendar, tokyo = house.app.features.of(Calendar), Principal("local", time_zone="Asia/Tokyo")
        there = await calendar.get(tokyo, one.id)
        assert f"{to_datetime(there.starts_at):%Y-%m-%d %H:%M}" == "2026-12-03 15:00"
        found = await calendar.range(tokyo, start=there.starts_at, end=there.starts_at + 1)
        assert [found.items[0].id] == [one.id]


async def test_what_floats_moves_with_its_owner_and_what_has_a_zone_does_not() -> None:
    async with at_berlin() as house:
        floating = (await made(house, "Pills", "2026-12-04T07:00", zone="")).instance
        fixed = (await made(house, "Call", "2026-12-04T17:00")).instance
        calendar, york = house.app.features.of(Calendar), Principal("local", time_zone="America/New_York")
        assert (await calendar.get(york, floating.id)).starts_at - floating.starts_at == 6 * 3600 * 1_000_000
        assert (await calendar.get(york, fixed.id)).starts_at == fixed.starts_at


async def test_a_birthday_on_a_leap_day_comes_every_fourth_year() -> None:
    async with at_berlin() as house:
        await made(house, "Birthday", "1996-02-29", event_type="birthday", recurrence="FREQ=YEARLY")
        assert await listed(house, "2027-01-01T00:00+01:00", "2031-12-31T00:00+01:00") == [
            "Birthday 2028-02-28 23:00"
        ]


async def test_a_new_series_begins_with_the_first_day_of_its_rule() -> None:
    async with at_berlin() as house:
        one = (await made(house, "Choir", "2026-12-02T19:00", recurrence="FREQ=WEEKLY;BYDAY=FR")).instance
        assert (one.start, one.id.partition("@")[2]) == ("2026-12-04T19:00:00", "2026-12-04T19:00:00")


WEEKLY = {"recurrence": "FREQ=WEEKLY;BYDAY=TU;COUNT=4", "duration_minutes": 30}


async def series(house: House) -> str:
    return (await made(house, "Choir", "2026-12-01T19:00", **WEEKLY)).instance.event.id


def choir(*days: str) -> list[str]:
    return [f"Choir 2026-12-{day}" for day in days]


@pytest.mark.requirement("R150", "C21")
async def test_one_instance_changes_alone() -> None:
    async with at_berlin() as house:
        calendar, id = house.app.features.of(Calendar), await series(house)
        target = EventTarget(f"{id}@2026-12-08T19:00:00", "this")
        change = await calendar.update(house.me, target, {"start": "2026-12-09T20:00", "title": "Concert"})
        assert change.instance.is_changed
        assert change.instance.end == "2026-12-09T20:30:00"
        expected = ["Choir 2026-12-01 18:00", "Concert 2026-12-09 19:00", "Choir 2026-12-15 18:00"]
        assert (await listed(house, *DECEMBER))[:3] == expected
        # Found where it was moved to, however far that is from its place in the series.
        moved = EventTarget(f"{id}@2026-12-15T19:00:00")
        await calendar.update(house.me, moved, {"start": "2027-06-01T19:00"})
        assert await listed(house, "2027-06-01T00:00+02:00", "2027-06-02T00:00+02:00") == [
            "Choir 2027-06-01 17:00"
        ]
        with pytest.raises(BadInput, match="recurrence belongs to the whole series"):
            await calendar.update(house.me, moved, {"recurrence": "FREQ=DAILY"})


async def test_an_instance_and_all_that_follow_change_together() -> None:
    async with at_berlin() as house:
        calendar, id = house.app.features.of(Calendar), await series(house)
        target = EventTarget(f"{id}@2026-12-15T19:00:00", "following")
        change = await calendar.update(house.me, target, {"start": "2026-12-16T20:00"})
        assert change.instance.event.id != id
        assert change.instance.event.recurrence == "FREQ=WEEKLY;COUNT=2;BYDAY=WE"
        assert await listed(house, *DECEMBER) == choir("01 18:00", "08 18:00", "16 19:00", "23 19:00")
        await calendar.undo(house.me, change.undo)
        assert await listed(house, *DECEMBER) == choir("01 18:00", "08 18:00", "15 18:00", "22 18:00")


async def test_a_whole_series_moves_with_what_was_changed_in_it() -> None:
    async with at_berlin() as house:
        calendar, id = house.app.features.of(Calendar), await series(house)
        await calendar.update(house.me, EventTarget(f"{id}@2026-12-15T19:00:00"), {"title": "Concert"})
        await calendar.delete(house.me, EventTarget(f"{id}@2026-12-22T19:00:00"))
        target = EventTarget(f"{id}@2026-12-08T19:00:00", "all")
        await calendar.update(house.me, target, {"start": "2026-12-10T18:00"})
        assert await listed(house, *DECEMBER) == [
            *choir("03 17:00", "10 17:00"),
            "Concert 2026-12-17 17:00",
        ]


async def test_a_rule_that_cannot_follow_to_another_day_says_so() -> None:
    async with at_berlin() as house:
        rule = {"recurrence": "FREQ=MONTHLY;BYDAY=1FR"}
        id = (await made(house, "Club", "2026-12-04T19:00", **rule)).instance.id
        calendar = house.app.features.of(Calendar)
        with pytest.raises(BadInput, match="give `recurrence`, too"):
            await calendar.update(house.me, EventTarget(id, "all"), {"start": "2026-12-05T19:00"})
        given = {"start": "2026-12-05T19:00", "recurrence": "FREQ=MONTHLY;BYDAY=1SA"}
        await calendar.update(house.me, EventTarget(id, "all"), given)
        assert await listed(house, "2027-01-01T00:00+01:00", "2027-02-01T00:00+01:00") == [
            "Club 2027-01-02 18:00"
        ]


@pytest.mark.parametrize(
    ("scope", "left"),
    [
        ("this", choir("01 18:00", "15 18:00", "22 18:00")),
        ("following", choir("01 18:00")),
        ("all", []),
    ],
)
async def test_what_a_scope_names_is_deleted_and_comes_back(scope: Scope, left: list[str]) -> None:
    async with at_berlin() as house:
        calendar, id = house.app.features.of(Calendar), await series(house)
        before = await listed(house, *DECEMBER)
        gone = await calendar.delete(house.me, EventTarget(f"{id}@2026-12-08T19:00:00", scope))
        assert await listed(house, *DECEMBER) == left
        await calendar.undo(house.me, gone.undo)
        assert await listed(house, *DECEMBER) == before
        with pytest.raises(BadInput, match="nothing to undo"):
            await calendar.undo(house.me, gone.undo)


async def test_the_last_instance_takes_its_series_along() -> None:
    async with at_berlin() as house:
        calendar = house.app.features.of(Calendar)
        one = (await made(house, "Twice", "2026-12-01T09:00", recurrence="FREQ=DAILY;COUNT=2")).instance
        for day in ("01", "02"):
            await calendar.delete(house.me, EventTarget(f"{one.event.id}@2026-12-{day}T09:00:00"))
        with pytest.raises(UnknownId):
            await calendar.get(house.me, one.event.id)


async def test_a_change_that_was_changed_again_cannot_be_undone() -> None:
    async with at_berlin() as house:
        calendar = house.app.features.of(Calendar)
        first = await made(house, "Review", "2026-12-04T09:00")
        target = EventTarget(first.instance.id)
        await calendar.update(house.me, target, {"title": "Look back"})
        with pytest.raises(BadInput, match="changed again since"):
            await calendar.undo(house.me, first.undo)


async def test_changes_that_are_undone_in_turn_lead_back() -> None:
    async with at_berlin() as house:
        calendar = house.app.features.of(Calendar)
        first = await made(house, "Review", "2026-12-04T09:00")
        target = EventTarget(first.instance.id)
        moved = await calendar.update(house.me, target, {"start": "2026-12-05T09:00"})
        longer = await calendar.update(house.me, target, {"duration_minutes": 120})
        gone = await calendar.delete(house.me, target)
        for token in (gone.undo, longer.undo, moved.undo, first.undo):
            await calendar.undo(house.me, token)
        assert await listed(house, *DECEMBER) == []


async def test_an_instance_that_a_series_does_not_have_is_unknown() -> None:
    async with at_berlin() as house:
        calendar, id = house.app.features.of(Calendar), await series(house)
        for at in ("2026-12-09T19:00:00", "2026-12-08", "never", "2026-12-08T19:00:00+01:00", "9" * 500):
            with pytest.raises(UnknownId, match="does not happen"):
                await calendar.get(house.me, f"{id}@{at}")
        with pytest.raises(BadInput, match="needs the id of one instance"):
            await calendar.update(house.me, EventTarget(id, "this"), {"title": "x"})


@pytest.mark.requirement("R150")
async def test_time_is_free_between_what_is_planned() -> None:
    async with at_berlin() as house:
        await made(house, "Stand-up", "2026-12-04T09:00", recurrence="FREQ=DAILY")
        await made(house, "Dentist", "2026-12-04T11:30", duration_minutes=90)
        found = await house.app.features.of(Calendar).free(
            house.me,
            start=us("2026-12-04T00:00+01:00"),
            end=us("2026-12-07T00:00+01:00"),
            minutes=90,
            hours=Hours(workdays=True),
        )
    times = [f"{to_datetime(one.start):%d %H:%M}-{to_datetime(one.end):%H:%M}" for one in found]
    assert times == ["04 09:00-10:30", "04 12:00-17:00"]


async def test_a_range_is_bounded_and_searched() -> None:
    async with at_berlin() as house:
        await made(
            house, "Stand-up", "2026-12-01T09:00", duration_minutes=5, recurrence="FREQ=MINUTELY;INTERVAL=30"
        )
        await made(house, "Dentist", "2026-12-04T11:40", duration_minutes=10, event_type="appointment")
        calendar = house.app.features.of(Calendar)
        start, end = map(us, DECEMBER)
        some = await calendar.range(house.me, start=start, end=end, limit=10)
        assert (len(some.items), some.more) == (10, True)
        assert await listed(house, *DECEMBER, query="dentist") == ["Dentist 2026-12-04 10:40"]
        assert await listed(house, *DECEMBER, event_type="Appointment") == ["Dentist 2026-12-04 10:40"]
        with pytest.raises(BadInput, match="after its start"):
            await calendar.range(house.me, start=end, end=start)


@pytest.mark.requirement("R150")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"start": "tomorrow at 9"}, "Wednesday, 2 December 2026, 09:00 to 10:00 (Europe/Berlin)"),
        ({"start": "Friday week"}, "Friday, 11 December 2026"),
        ({"start": "tomorrow from 9 to 11"}, "Wednesday, 2 December 2026, 09:00 to 11:00 (Europe/Berlin)"),
        (
            {"start": "2026-12-04T09:00", "end": "11:30"},
            "Friday, 4 December 2026, 09:00 to 11:30 (Europe/Berlin)",
        ),
        (
            {"start": "every Friday at 9", "duration_minutes": 30},
            "Friday, 4 December 2026, 09:00 to 09:30 (Europe/Berlin), every week on Friday",
        ),
        (
            {"start": "übermorgen um halb drei nachmittags", "recurrence": "every weekday"},
            "Thursday, 3 December 2026, 14:30 to 15:30 (Europe/Berlin), every weekday",
        ),
        (
            {"start": "tomorrow at 9", "zone": "Asia/Tokyo"},
            "Wednesday, 2 December 2026, 01:00 to 02:00 (Europe/Berlin)",
        ),
    ],
)
async def test_times_in_words_are_understood_and_said(given: dict[str, Any], said: str) -> None:
    async with at_berlin() as house:
        calendar = house.app.features.of(Calendar)
        change = await calendar.create(house.me, {"title": "Review", **given})
        assert calendar.said(house.me, change.instance) == said


async def test_words_with_several_meanings_are_asked() -> None:
    async with at_berlin() as house:
        with pytest.raises(Ambiguous) as asked:
            await made(house, "Review", "12/4")
        assert len(asked.value.choices) == 2
        with pytest.raises(BadInput, match="is no rule"):
            await made(house, "Review", "tomorrow at 9", recurrence="tomorrow")
        with pytest.raises(BadInput, match="never done"):
            await made(house, "Review", "tomorrow at 9", recurrence="every 2 days after done")


@pytest.mark.requirement("R150")
async def test_reminders_fall_due_before_their_instances_and_move_with_them() -> None:
    async with at_berlin() as house:
        calendar, features, owner = house.app.features.of(Calendar), house.app.features, house.me.owner
        rule = {"recurrence": "FREQ=DAILY;COUNT=3", "reminders": [60, 10]}
        one = (await made(house, "Pills", "2026-12-02T09:00", **rule)).instance
        await made(house, "Quiet", "2026-12-02T11:00")
        assert await features.next_due(owner, us("2026-12-01T09:00+01:00")) == us("2026-12-02T08:00+01:00")
        assert await features.next_due(owner, us("2026-12-02T08:00:01+01:00")) == us("2026-12-02T08:50+01:00")
        found = await features.due(owner, us("2026-12-02T08:00+01:00"), us("2026-12-03T08:01+01:00"))
        assert [due.at for due in found] == [
            us(f"2026-12-{at}+01:00") for at in ("02T08:00", "02T08:50", "03T08:00")
        ]
        assert found[0].link == f"/calendar/events/{one.id}"
        assert found[0].text == "Pills: Wednesday, 2 December 2026, 09:00 to 10:00"
        moved = EventTarget(one.id, "this")
        await calendar.update(house.me, moved, {"start": "2026-12-02T12:00"})
        again = await features.due(owner, us("2026-12-02T08:00+01:00"), us("2026-12-02T12:00+01:00"))
        assert [due.at for due in again] == [us("2026-12-02T11:00+01:00"), us("2026-12-02T11:50+01:00")]
        assert again[0].id not in {due.id for due in found}
        await calendar.update(house.me, moved, {"status": "cancelled"})
        assert await features.next_due(owner, us("2026-12-01T09:00+01:00")) == us("2026-12-03T08:00+01:00")
        assert await features.next_due(owner, us("2027-01-01T09:00+01:00")) is None
