"""What is said in a chat stands in the rooms: a task, an event, a conflict settled, a reminder that fires."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.acts import answered, composer, done, faults, say
from tests.ui.running import PICTURES, Served, bethink

pytestmark = [pytest.mark.timeout(90), pytest.mark.requirement("R193", "R154")]

_PARIS = ZoneInfo("Europe/Paris")


@dataclass(frozen=True, slots=True)
class _House:
    """A Bethink, and the model that it asks."""

    served: Served
    model: str

    def plays(self, *rules: dict[str, Any]) -> None:
        """Have the model answer by these rules from now on."""
        request = urllib.request.Request(  # noqa: S310 - the address is our own server's
            f"{self.model}/script", data=json.dumps(rules).encode(), method="PUT"
        )
        urllib.request.urlopen(request, timeout=30).close()  # noqa: S310


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, browser: object) -> Generator[_House]:
    """One for all journeys; `browser` comes first, since blocking calls are allowed from there on."""
    del browser
    with (
        scripted_process([]) as model,
        bethink(tmp_path_factory.mktemp("planned"), model.base_url) as served,
    ):
        yield _House(served, model.origin)


def _calls(words: str, tool: str, arguments: dict[str, object], answer: str) -> tuple[dict[str, Any], ...]:
    """Asked this, the model calls a tool, and then says what it did."""
    call = {"when": words, "after_tool": False, "tool_calls": [{"name": tool, "arguments": arguments}]}
    return call, {"when": words, "after_tool": True, "text": answer}


def _tomorrow() -> str:
    return (datetime.now(_PARIS) + timedelta(days=1)).date().isoformat()


def test_a_task_made_by_chat_is_seen_in_its_room(house: _House, page: Page) -> None:
    house.plays(
        *_calls(
            "tax letter",
            "create_task",
            {"title": "Write the tax letter", "due_date": "tomorrow", "priority": "high", "tags": ["taxes"]},
            "It is on your list for tomorrow.",
        )
    )
    page.goto(house.served.url)
    say(page, "Put the tax letter on my list of tasks for tomorrow, it is important")
    expect(page.get_by_text("It is on your list for tomorrow.")).to_be_visible()
    page.get_by_role("link", name="Tasks", exact=True).click()
    row = page.locator("[data-row]").filter(has_text="Write the tax letter")
    expect(row).to_contain_text("Tomorrow")
    expect(row).to_contain_text("High")
    row.get_by_role("link", name="Write the tax letter").click()
    page.get_by_role("link", name="The chat in which it was made").click()
    expect(page.get_by_text("It is on your list for tomorrow.")).to_be_visible()


def test_an_event_made_by_chat_is_seen_in_the_calendar(house: _House, page: Page) -> None:
    house.plays(
        *_calls(
            "choir",
            "create_calendar_event",
            {
                "title": "Choir",
                "date": "tomorrow",
                "start_time": "19:00",
                "duration_minutes": 90,
                "recurrence": "every week",
            },
            "Choir is in your calendar, every week.",
        )
    )
    page.goto(house.served.url)
    say(page, "Put choir into my calendar tomorrow at 19:00, every week, one and a half hours")
    expect(page.get_by_text("Choir is in your calendar, every week.")).to_be_visible()
    page.goto(f"{house.served.url}/calendar/agenda")
    choir = page.locator("[data-event]").filter(has_text="Choir")
    expect(choir.first).to_contain_text("19:00 – 20:30")
    expect(choir.first).to_contain_text("every")
    assert choir.count() >= 4
    assert faults(page) == []


def test_a_conflict_is_pointed_out_and_settled(house: _House, page: Page) -> None:
    day = _tomorrow()
    house.served.post("/calendar/events", {"title": "Review", "start": f"{day}T10:00", "end": f"{day}T11:00"})
    dentist = {"title": "Dentist", "date": "tomorrow", "duration_minutes": 60}
    house.plays(
        *_calls(
            "dentist",
            "create_calendar_event",
            {**dentist, "start_time": "10:30"},
            "That overlaps the review, which ends at 11:00. Shall I take 11:00?",
        ),
        *_calls(
            "eleven", "create_calendar_event", {**dentist, "start_time": "11:00"}, "The dentist is at 11:00."
        ),
    )
    page.goto(house.served.url)
    say(page, "Put the dentist into my calendar, tomorrow at half past ten")
    expect(page.get_by_text("Shall I take 11:00?")).to_be_visible()
    (refused,) = [e for e in _events(house, day) if e["title"] in {"Review", "Dentist"}]
    assert refused["title"] == "Review"
    expect(done(page)).to_contain_text("Review")
    say(page, "Yes, take eleven in the calendar")
    expect(page.get_by_text("The dentist is at 11:00.")).to_be_visible()
    page.goto(f"{house.served.url}/calendar/day/{day}")
    expect(page.locator("[data-event]").filter(has_text="Dentist")).to_contain_text("11:00 to 12:00")
    expect(page.locator("[data-event]").filter(has_text="overlaps")).to_have_count(0)


def _events(house: _House, day: str) -> list[dict[str, Any]]:
    until = (datetime.fromisoformat(day) + timedelta(days=1)).date().isoformat()
    return house.served.get(f"/calendar/events?start={day}&end={until}")["items"]


def test_a_reminder_fires_and_shows(house: _House, page: Page) -> None:
    page.goto(house.served.url)
    expect(composer(page)).to_be_editable()
    # Soon, but not before a slow machine has asked for it: what is over is not scheduled.
    at = datetime.now(UTC) + timedelta(seconds=8)
    house.plays(
        *_calls(
            "remind",
            "create_schedule",
            {"text": "Call Bruna back", "when": at.isoformat(timespec="seconds")},
            "I will remind you.",
        )
    )
    say(page, "Remind me in a moment to call Bruna back")
    expect(page.get_by_text("I will remind you.", exact=True)).to_be_visible()
    expect(answered(page)).to_be_visible()
    toast = page.get_by_role("region", name="Notifications")
    expect(toast).to_contain_text("Call Bruna back")
    today = page.get_by_role("link", name=re.compile("^Today"))
    expect(today).to_contain_text("1")
    page.screenshot(path=PICTURES / "reminder.png")
    today.click()
    new = page.get_by_role("list", name="New")
    expect(new).to_contain_text("Call Bruna back")
    assert faults(page) == []
    new.get_by_role("button", name="Seen").click()
    expect(new).to_have_count(0)
    page.get_by_role("link", name="Schedules", exact=True).click()
    expect(page.get_by_role("article", name="Call Bruna back")).to_contain_text("Over")
    assert faults(page) == []
