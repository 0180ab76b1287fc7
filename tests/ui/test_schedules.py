"""Schedules and Today: made, changed, run now, told; what is due on one page."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.acts import faults
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, Served

pytestmark = [pytest.mark.timeout(90), pytest.mark.requirement("R154")]


@pytest.fixture
def quiet(served: Served) -> Served:
    """The server on which nothing happens by itself, and nothing was told."""
    for schedule in served.get("/schedules?limit=200")["items"]:
        served.delete(f"/schedules/{schedule['id']}")
    for notice in served.get("/schedules/notices?unseen=true&limit=200")["items"]:
        served.post(f"/schedules/notices/{notice['id']}/seen", {})
    return served


def _row(page: Page, title: str) -> Locator:
    return page.get_by_role("article", name=title)


def _choose(page: Page, title: str, what: str) -> None:
    _row(page, title).get_by_role("button", name=f"More for {title}").click()
    page.get_by_role("menuitem", name=what).click()


def test_a_schedule_is_made_in_words_paused_changed_and_deleted(quiet: Served, page: Page) -> None:
    page.goto(f"{quiet.url}/schedules")
    expect(page.get_by_role("heading", name="Nothing happens by itself yet")).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New schedule")
    dialog.get_by_label("What to say").fill("Water the plants")
    dialog.get_by_label("When").fill("the day after never")
    dialog.get_by_role("button", name="Add").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    assert faults(page) == []
    dialog.get_by_label("When").fill("every weekday at 8")
    page.keyboard.press("Enter")
    expect(_row(page, "Water the plants")).to_contain_text("Next:")
    expect(_row(page, "Water the plants")).to_contain_text("08:00")
    page.screenshot(path=PICTURES / "schedules.png")
    assert faults(page) == []
    _choose(page, "Water the plants", "Pause")
    expect(_row(page, "Water the plants")).to_contain_text("Paused")
    page.get_by_role("button", name="Undo").click()
    expect(_row(page, "Water the plants")).to_contain_text("Next:")
    _choose(page, "Water the plants", "Edit")
    dialog = page.get_by_role("dialog", name="Change the schedule")
    dialog.get_by_label("When").fill("every day at 9")
    dialog.get_by_role("button", name="Save").click()
    expect(_row(page, "Water the plants")).to_contain_text("09:00")
    _choose(page, "Water the plants", "Delete")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(_row(page, "Water the plants")).to_have_count(0)


def test_what_is_run_now_is_told_and_stands_in_its_history(quiet: Served, page: Page) -> None:
    quiet.post("/schedules", {"text": "Stretch your legs", "when": "every day at 15:00"})
    page.goto(f"{quiet.url}/schedules")
    _choose(page, "Stretch your legs", "Run now")
    told = page.get_by_role("region", name="Notifications")
    expect(told.get_by_text("Stretch your legs", exact=True)).to_be_visible()
    expect(_row(page, "Stretch your legs")).to_contain_text("done")
    _choose(page, "Stretch your legs", "History")
    history = page.get_by_role("list", name="History")
    expect(history.get_by_role("listitem")).to_have_count(1)
    expect(history).to_contain_text("done")
    assert faults(page) == []
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(r"/schedules$"))


def test_the_owner_says_where_to_be_told(quiet: Served, page: Page) -> None:
    page.goto(f"{quiet.url}/schedules")
    page.get_by_role("button", name="Notifications").click()
    dialog = page.get_by_role("dialog", name="Notifications")
    dialog.get_by_label("Quiet hours").fill("half past")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    assert faults(page) == []
    dialog.get_by_label("Quiet hours").fill("22:00-07:00")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    assert quiet.get("/schedules/delivery")["quiet_hours"] == "22:00-07:00"
    quiet.ask("PUT", "/schedules/delivery", {"quiet_hours": None})
    worker = page.request.get(f"{quiet.url}/push.js")
    assert worker.headers["content-type"].startswith("text/javascript")


def test_today_is_one_page_with_what_is_due(quiet: Served, new_page: NewPage) -> None:
    now = datetime.now(ZoneInfo("Europe/Paris"))
    today, before = now.date().isoformat(), (now - timedelta(days=4)).date().isoformat()
    made = [
        quiet.post("/tasks", {"title": "Pay the rent", "due_date": before}),
        quiet.post("/tasks", {"title": "Call Bruna", "due_date": today}),
    ]
    event = quiet.post(
        "/calendar/events",
        {"title": "Rehearsal", "start": f"{today}T19:00", "end": f"{today}T20:00", "allow_conflict": True},
    )
    page = new_page()
    page.goto(f"{quiet.url}/today")
    expect(page.get_by_role("list", name="Overdue")).to_contain_text("Pay the rent")
    expect(page.get_by_role("list", name="Due today")).to_contain_text("Call Bruna")
    expect(page.get_by_role("list", name="Events")).to_contain_text("19:00 – 20:00")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "today.png")
    page.get_by_role("button", name="Done: Call Bruna").click()
    expect(page.get_by_role("list", name="Due today")).to_have_count(0)
    page.get_by_role("button", name=re.compile("Rehearsal")).click()
    expect(page.get_by_role("dialog", name="Event", exact=True)).to_be_visible()
    phone = new_page(width=390, height=844, has_touch=True, is_mobile=True, color_scheme="dark")
    phone.goto(f"{quiet.url}/today")
    expect(phone.get_by_role("list", name="Overdue")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults(phone) == []
    for task in made:
        quiet.delete(f"/tasks/{task['id']}")
    quiet.delete(f"/calendar/events/{event['event']}")
