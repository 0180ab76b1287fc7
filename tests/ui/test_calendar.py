"""The calendar: read, carried, stretched, made and settled, by mouse and by keys alone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.ui.acts import chosen, faults, kept
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, Served

pytestmark = [pytest.mark.timeout(90), pytest.mark.requirement("R154")]

_WEEK = "2027-03-10"
"""A Wednesday; on the Sunday of the week after the next the clocks of Paris go forward."""


@pytest.fixture
def calendar(served: Served) -> Served:
    """The server without an event."""
    while kept := served.get("/calendar/events?start=2026-01-01&end=2028-12-31")["items"]:
        for series in {event["event"] for event in kept}:
            served.delete(f"/calendar/events/{series}?scope=all")
    return served


def _event(served: Served, title: str, start: str, end: str, **fields: object) -> dict[str, Any]:
    given = {"title": title, "start": start, "end": end, "allow_conflict": True, **fields}
    return served.post("/calendar/events", {"zone": "Europe/Paris", **given})


def _shown(page: Page, title: str) -> Locator:
    return page.locator("[data-event]:not([aria-hidden])").filter(has_text=title)


def _times(served: Served, event: dict[str, Any]) -> tuple[str, str]:
    kept = served.get(f"/calendar/events/{event['id']}")
    return kept["start"][:16], kept["end"][:16]


def _carry(page: Page, what: Locator, *, right: float = 0, down: float = 0, foot: bool = False) -> None:
    """Take it by its middle, or by its foot, and carry it so far."""
    # Away from the edges, at which carrying scrolls.
    what.evaluate("event => event.scrollIntoView({ block: 'center' })")
    box = what.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + (box["height"] - 3 if foot else box["height"] / 2)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right / 2, y + down / 2, steps=3)
    page.mouse.move(x + right, y + down, steps=3)
    page.mouse.up()


def _column(page: Page) -> float:
    box = page.locator("[data-hours]").first.bounding_box()
    assert box is not None
    return box["width"]


def test_month_week_day_and_agenda_show_what_comes(calendar: Served, new_page: NewPage) -> None:
    _event(calendar, "Review", f"{_WEEK}T09:00", f"{_WEEK}T10:00", event_type="meeting")
    _event(calendar, "Dentist", f"{_WEEK}T09:30", f"{_WEEK}T10:30", location="Rue de Rivoli")
    _event(calendar, "Conference", "2027-03-11", "2027-03-14", all_day=True)
    _event(calendar, "Night shift", "2027-03-12T22:30", "2027-03-13T07:10")
    _event(calendar, "Call New York", "2027-03-12T10:00", "2027-03-12T11:00", zone="America/New_York")
    page = new_page()
    page.goto(f"{calendar.url}/calendar/month/{_WEEK}")
    expect(page.get_by_role("heading", name="Calendar, March 2027")).to_be_visible()
    expect(page.get_by_role("columnheader").first).to_have_text("Mon")
    expect(_shown(page, "Conference")).to_have_count(1)
    assert faults(page) == []
    page.screenshot(path=PICTURES / "calendar-month.png")
    page.keyboard.press("w")
    expect(page).to_have_url(re.compile(f"/calendar/week/{_WEEK}$"))
    review, dentist = (_shown(page, title).bounding_box() for title in ("Review", "Dentist"))
    assert review is not None
    assert dentist is not None
    # They overlap: they stand side by side.
    assert review["x"] + review["width"] <= dentist["x"] + 1
    expect(page.locator("[data-event]").filter(has_text="Night shift")).to_have_count(2)
    expect(_shown(page, "Call New York")).to_contain_text("10:00 in America/New York")
    expect(_shown(page, "Dentist")).to_contain_text("overlaps another event")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "calendar-week.png")
    page.keyboard.press("d")
    expect(page.get_by_role("heading", name="Wednesday, 10 March 2027")).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("a")
    expect(page.get_by_role("region", name="Saturday 13 March")).to_contain_text("until 07:10")
    assert faults(page) == []
    page.keyboard.press("m")
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="April 2027")).to_be_visible()

    dark = new_page(own=True, color_scheme="dark", forced_colors="active")
    dark.goto(f"{calendar.url}/calendar/week/{_WEEK}")
    expect(_shown(dark, "Review")).to_be_visible()
    assert faults(dark) == []


def test_events_are_carried_and_stretched_by_the_mouse(calendar: Served, page: Page) -> None:
    event = _event(calendar, "Rehearsal", f"{_WEEK}T10:00", f"{_WEEK}T11:00")
    page.goto(f"{calendar.url}/calendar/week/{_WEEK}")
    hour = 52
    _carry(page, _shown(page, "Rehearsal"), right=_column(page), down=2 * hour)
    expect(page.get_by_text("“Rehearsal” is on Thursday 11 March, 12:00 to 13:00")).to_be_visible()
    assert _times(calendar, event) == ("2027-03-11T12:00", "2027-03-11T13:00")
    _carry(page, _shown(page, "Rehearsal"), down=hour / 2, foot=True)
    expect(page.get_by_text("“Rehearsal” is on Thursday 11 March, 12:00 to 13:30")).to_be_visible()
    assert _times(calendar, event) == ("2027-03-11T12:00", "2027-03-11T13:30")
    page.keyboard.press("u")
    page.keyboard.press("u")
    expect(_shown(page, "Rehearsal")).to_contain_text("Wednesday 10 March, 10:00 to 11:00")

    page.goto(f"{calendar.url}/calendar/month/{_WEEK}")
    day = page.locator(f"[data-day='{_WEEK}']").bounding_box()
    assert day is not None
    _carry(page, _shown(page, "Rehearsal"), right=-day["width"], down=day["height"])
    expect(page.get_by_text("“Rehearsal” is on Tuesday 16 March")).to_be_visible()
    assert _times(calendar, event) == ("2027-03-16T10:00", "2027-03-16T11:00")


def test_events_are_moved_stretched_and_deleted_by_keys_alone(calendar: Served, page: Page) -> None:
    event = _event(calendar, "Rehearsal", f"{_WEEK}T10:00", f"{_WEEK}T11:00")
    page.goto(f"{calendar.url}/calendar/week/{_WEEK}")
    _shown(page, "Rehearsal").focus()
    for key in ("Alt+ArrowRight", "Alt+ArrowDown", "Alt+ArrowDown", "Alt+Shift+ArrowDown"):
        page.keyboard.press(key)
        expect(_shown(page, "Rehearsal")).to_be_focused()
    expect(page.get_by_text("“Rehearsal” is on Thursday 11 March, 10:30 to 11:45")).to_be_visible()
    assert _times(calendar, event) == ("2027-03-11T10:30", "2027-03-11T11:45")
    page.keyboard.press("Delete")
    expect(_shown(page, "Rehearsal")).to_have_count(0)
    page.keyboard.press("u")
    expect(_shown(page, "Rehearsal")).to_be_visible()

    page.keyboard.press("m")
    cell = page.locator("[data-day='2027-03-10']")
    cell.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-day='2027-03-11']")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="New event")
    expect(dialog.get_by_label("From", exact=True)).to_have_value("2027-03-18")
    page.keyboard.type("Spring clean")
    page.keyboard.press("Enter")
    expect(page.get_by_text("“Spring clean” is on Thursday 18 March, 09:00 to 10:00")).to_be_visible()
    expect(_shown(page, "Spring clean")).to_be_visible()


def test_an_event_is_drawn_into_empty_hours(calendar: Served, page: Page) -> None:
    page.goto(f"{calendar.url}/calendar/week/{_WEEK}")
    box = page.locator(f"[data-hours][data-day='{_WEEK}']").bounding_box()
    assert box is not None
    x, nine = box["x"] + 20, box["y"] + 9 * 52
    page.mouse.move(x, nine)
    page.mouse.down()
    page.mouse.move(x, nine + 78, steps=4)
    page.mouse.up()
    dialog = page.get_by_role("dialog", name="New event")
    expect(dialog.get_by_label("Beginning, time")).to_have_value("09:00")
    expect(dialog.get_by_label("End, time")).to_have_value("10:30")
    dialog.get_by_label("Title").fill("Choir")
    chosen(dialog, "Repeats", "Every Wednesday")
    dialog.get_by_label("With").fill("Ana <ana@example.org>, Bo")
    dialog.get_by_label("1 hour before").check()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "calendar-event.png")
    dialog.get_by_role("button", name="Add").click()
    expect(_shown(page, "Choir")).to_be_visible()
    (made,) = calendar.get("/calendar/events?start=2027-03-10&end=2027-03-11")["items"]
    assert made["is_series"]
    assert made["reminders"] == [60]
    assert [one["email"] for one in made["attendees"]] == ["ana@example.org", ""]


def test_of_a_series_one_the_following_or_all_are_changed(calendar: Served, page: Page) -> None:
    series = _event(
        calendar, "Choir", "2027-03-08T19:00", "2027-03-08T20:00", recurrence="FREQ=DAILY;COUNT=5"
    )
    page.goto(f"{calendar.url}/calendar/week/{_WEEK}")
    expect(_shown(page, "Choir")).to_have_count(5)
    _carry(page, _shown(page, "Choir").nth(2), down=52)
    asked = page.get_by_role("dialog", name="Change the series “Choir”")
    expect(asked.get_by_label("This event", exact=True)).to_be_checked()
    assert faults(page) == []
    asked.get_by_role("button", name="Change").click()
    expect(_shown(page, "Wednesday 10 March, 20:00 to 21:00")).to_have_count(1)
    expect(_shown(page, "19:00 to 20:00")).to_have_count(4)

    _shown(page, "Thursday 11 March").focus()
    page.keyboard.press("Delete")
    asked = page.get_by_role("dialog", name="Delete the series “Choir”")
    asked.get_by_label("This and following events").check()
    page.keyboard.press("Enter")
    expect(_shown(page, "Choir")).to_have_count(3)
    page.keyboard.press("u")
    expect(_shown(page, "Choir")).to_have_count(5)

    _shown(page, "Monday 8 March").click()
    dialog = page.get_by_role("dialog", name="Event", exact=True)
    dialog.get_by_label("Title").fill("Choir practice")
    dialog.get_by_role("button", name="Save").click()
    page.get_by_label("All events").check()
    page.get_by_role("button", name="Change").click()
    expect(_shown(page, "Choir practice")).to_have_count(5)
    assert calendar.get(f"/calendar/events/{series['event']}")["title"] == "Choir practice"


def test_a_conflict_is_shown_and_settled_by_a_free_time(calendar: Served, page: Page) -> None:
    _event(calendar, "Review", f"{_WEEK}T10:00", f"{_WEEK}T11:00")
    page.goto(f"{calendar.url}/calendar/day/{_WEEK}")
    expect(_shown(page, "Review")).to_be_visible()
    page.get_by_role("button", name="New event", exact=True).click()
    dialog = page.get_by_role("dialog", name="New event")
    dialog.get_by_label("Title").fill("Dentist")
    dialog.get_by_label("Beginning, time").fill("10:30")
    dialog.get_by_role("button", name="Add").click()
    taken = page.get_by_role("dialog", name="This time is taken")
    expect(taken).to_contain_text("Review")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "calendar-conflict.png")
    free = taken.get_by_role("button", name=re.compile("Wednesday 10 March"))
    words = free.first.inner_text()
    free.first.click()
    expect(page.get_by_text(f"“Dentist” is on {words}")).to_be_visible()
    expect(_shown(page, "overlaps another event")).to_have_count(0)


def test_an_event_is_written_in_words_and_what_is_understood_shows(calendar: Served, page: Page) -> None:
    page.goto(f"{calendar.url}/calendar/month")
    expect(page.get_by_role("grid")).to_be_visible()
    page.keyboard.press("n")
    page.keyboard.type("Choir every Tuesday at 19:00")
    understood = page.get_by_role("list", name="Understood")
    for words in ("Choir", "19:00", "every week on Tuesday"):
        expect(understood).to_contain_text(words)
    assert faults(page) == []
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile(r"“Choir” is on Tuesday .*, 19:00 to 20:00"))).to_be_visible()
    expect(_shown(page, "Choir").first).to_be_visible()


def test_calendar_files_come_in_and_go_out_and_feeds_are_revoked(calendar: Served, page: Page) -> None:
    _event(calendar, "Rehearsal", f"{_WEEK}T10:00", f"{_WEEK}T11:00")
    page.goto(f"{calendar.url}/calendar/settings")
    expect(page.get_by_role("heading", name="Other calendars")).to_be_visible()
    assert faults(page) == []
    with page.expect_download() as saved:
        page.get_by_role("link", name="Export all").click()
    text = saved.value.path().read_text(encoding="utf-8")
    assert "SUMMARY:Rehearsal" in text
    other = text.replace("SUMMARY:Rehearsal", "SUMMARY:Concert").replace("UID:", "UID:other-")
    page.get_by_label("Calendar file").set_input_files(
        {"name": "band.ics", "mimeType": "text/calendar", "buffer": other.encode()}
    )
    report = page.get_by_role("dialog", name="Imported band.ics")
    expect(report).to_contain_text("1 new entry")
    assert faults(page) == []
    page.keyboard.press("Escape")

    page.get_by_role("button", name="New feed").click()
    address = page.get_by_role("code").inner_text()
    assert "SUMMARY:Concert" in page.request.get(address).text()
    page.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("list", name="Feeds").get_by_role("listitem")).to_have_count(0)
    assert page.request.get(address).status == 404

    page.get_by_role("button", name="Add an account").click()
    dialog = page.get_by_role("dialog", name="Add an account")
    dialog.get_by_label("Address of the server").fill("http://127.0.0.1:9/")
    dialog.get_by_label("User").fill("ana")
    dialog.get_by_label("Password").fill("secret")
    dialog.get_by_role("button", name="Add").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "calendar-settings.png")


def test_the_day_on_which_clocks_change_keeps_its_hours(calendar: Served, page: Page) -> None:
    event = _event(calendar, "Brunch", "2027-03-27T10:00", "2027-03-27T12:00")
    page.goto(f"{calendar.url}/calendar/week/2027-03-27")
    _shown(page, "Brunch").focus()
    page.keyboard.press("Alt+ArrowRight")
    expect(page.get_by_text("“Brunch” is on Sunday 28 March, 10:00 to 12:00")).to_be_visible()
    assert calendar.get(f"/calendar/events/{event['id']}")["start"] == "2027-03-28T10:00:00+02:00"


def test_that_there_is_nothing_is_said_once_these_days_are_read(calendar: Served, page: Page) -> None:
    _event(calendar, "Choir", f"{_WEEK}T19:00:00", f"{_WEEK}T20:00:00")
    page.goto(f"{calendar.url}/calendar/agenda/{_WEEK}")
    expect(_shown(page, "Choir")).to_be_visible()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/calendar/events?*", hold)
    page.get_by_role("button", name="Show the next 30 days").click()
    reading = kept(page, held)
    expect(_shown(page, "Choir")).to_have_count(0)
    nothing = page.get_by_text("Nothing in the next 30 days")
    expect(nothing).to_have_count(0)
    reading.continue_()
    expect(nothing).to_be_visible()


def test_on_a_phone_the_agenda_comes_first(calendar: Served, new_page: NewPage) -> None:
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    page.goto(f"{calendar.url}/calendar")
    expect(page.get_by_role("heading", name="Nothing in the next 30 days")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults(page) == []
    _event(calendar, "Review", f"{_WEEK}T10:00", f"{_WEEK}T11:00")
    page.goto(f"{calendar.url}/calendar/week/{_WEEK}")
    expect(_shown(page, "Review")).to_be_visible()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "calendar-phone.png")


def test_a_phone_scrolls_a_week_sideways_below_its_days(calendar: Served, new_page: NewPage) -> None:
    _event(calendar, "Conference", "2027-03-11", "2027-03-14", all_day=True)
    _event(calendar, "Review", f"{_WEEK}T09:00", f"{_WEEK}T10:00")
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    page.goto(f"{calendar.url}/calendar/week/{_WEEK}")
    expect(_shown(page, "Review")).to_be_in_viewport()
    assert _column(page) > 70
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert faults(page) == []
    page.goto(f"{calendar.url}/calendar/month/{_WEEK}")
    # Its name has the room of its three days.
    name = _shown(page, "Conference").get_by_text("Conference", exact=True).bounding_box()
    day = page.locator(f"[data-day='{_WEEK}']").bounding_box()
    assert name is not None
    assert day is not None
    assert name["width"] > day["width"]
    assert faults(page) == []
