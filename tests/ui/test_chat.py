"""Talking, in a real browser against the real server."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.ui.acts import answered, composer, done, faults, kept, say
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, ROOT, Served

pytestmark = pytest.mark.timeout(90)

LISBON = "Where should I stay in Lisbon?"
LAST_WORDS = "Shall I draft a first plan for October?"
KNOWN = (
    ("Prefers trains to planes, also for long journeys", "preferences", 0.8),
    ("Sleeps badly in noisy streets; wants a quiet room", "preferences", 0.7),
    ("Lives in Paris, near the Canal Saint-Martin", "personal_info", 0.9),
)
EARLIER = ("Learning the viola again", "Gift ideas for Mara", "Sourdough that does not fail", "Tax letter")


@pytest.fixture
def lived_in(served: Served) -> Served:
    """A Bethink that knows something and has been talked to."""
    for content, category, importance in KNOWN:
        served.post("/memories", {"content": content, "category": category, "importance": importance})
    for title in EARLIER:
        served.post("/conversations", {"title": title})
    return served


def _picture(page: Page, name: str) -> Path:
    path = PICTURES / name
    page.mouse.move(0, 0)
    page.screenshot(path=path)
    return path


@pytest.mark.requirement("R6", "R111", "R153", "R151")
def test_a_conversation_shows_what_was_done_used_and_changed(lived_in: Served, page: Page) -> None:
    page.goto(lived_in.url)
    say(page, LISBON)
    expect(done(page).get_by_text("Remember: Plans to visit Lisbon")).to_be_visible()
    expect(page.get_by_text(LAST_WORDS)).to_be_visible()
    expect(page).to_have_url(re.compile("/c/"))
    used = page.get_by_role("button", name=re.compile(r"Used \d memor"))
    used.click()
    expect(page.get_by_role("dialog", name="Memories this answer used")).to_contain_text("Prefers trains")
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name="This answer")).to_contain_text("Plans to visit Lisbon")
    composer(page).focus()
    picture = _picture(page, "chat.png")
    # The README's picture is made anew only when somebody asks for it.
    if os.environ.get("BETHINK_PICTURES"):
        shutil.copy(picture, ROOT / "docs" / "images" / "chat.png")


def test_the_conversation_in_the_dark_and_on_a_phone(lived_in: Served, new_page: NewPage) -> None:
    dark = new_page(color_scheme="dark")
    phone = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    for page, name in ((dark, "chat-dark.png"), (phone, "chat-phone.png")):
        page.goto(lived_in.url)
        say(page, LISBON)
        expect(page.get_by_text(LAST_WORDS)).to_be_visible()
        expect(answered(page)).to_be_visible()
        _picture(page, name)
        assert faults(page) == []


@pytest.mark.requirement("R6")
def test_a_reload_in_the_middle_of_an_answer_continues_it(lived_in: Served, page: Page) -> None:
    page.goto(lived_in.url)
    say(page, LISBON)
    # Not `expect`, which looks once a second: much of the answer would have come meanwhile.
    page.get_by_text("Residential").wait_for()
    page.reload()
    expect(page.get_by_text(LAST_WORDS)).to_be_visible()
    expect(done(page).get_by_text("Remember: Plans to visit Lisbon")).to_have_count(1)
    expect(answered(page)).to_be_visible()
    expect(page.get_by_role("cell", name="Graça")).to_be_visible()
    words = page.locator("[data-markdown]").inner_text()
    page.reload()
    expect(page.get_by_role("cell", name="Graça")).to_be_visible()
    assert page.locator("[data-markdown]").inner_text() == words
    expect(page.locator("[data-tool]")).to_have_count(2)


def test_a_change_of_memory_is_undone_from_the_answer(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Remember that I collect fountain pens")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("button", name="Changes to memory undone")).to_be_visible()
    page.goto(f"{served.url}/memory")
    expect(page.get_by_text("No memories yet")).to_be_visible()


@pytest.mark.requirement("R20", "R38")
def test_a_tool_line_opens_to_what_went_in_and_came_out(lived_in: Served, page: Page) -> None:
    page.goto(lived_in.url)
    say(page, LISBON)
    expect(answered(page)).to_be_visible()
    line = page.locator("[data-tool]").filter(has_text="Search memory")
    result = line.locator("[data-result]")
    expect(result).to_be_hidden()
    line.get_by_text("Search memory").click()
    expect(result).to_contain_text("Sleeps badly in noisy streets")
    raw = line.get_by_text('"query"')
    expect(raw).to_be_hidden()
    line.get_by_text("Raw").click()
    expect(raw).to_be_visible()


@pytest.mark.requirement("R151")
def test_stop_keeps_what_was_said(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Count without end")
    expect(page.get_by_text("One, two")).to_be_visible()
    page.keyboard.press("Control+.")
    expect(page.get_by_text("You stopped this answer")).to_be_visible()
    expect(page.get_by_text("thirty.")).to_have_count(0)
    page.reload()
    expect(page.get_by_text("You stopped this answer")).to_be_visible()
    expect(page.get_by_text("One, two")).to_be_visible()


def test_what_is_written_during_an_answer_is_sent_after_it(served: Served, page: Page) -> None:
    held: list[Route] = []
    page.route("**/chat", lambda route: route.fallback() if held else held.append(route))
    page.goto(served.url)
    say(page, "Hello there")
    say(page, "What do you know?")
    expect(page.get_by_role("list", name="Sent when this answer ends")).to_contain_text("What do you know?")
    kept(page, held).continue_()
    expect(page.get_by_role("article", name="You")).to_have_count(2)
    expect(page.get_by_role("list", name="Sent when this answer ends")).to_have_count(0)


@pytest.mark.requirement("R152")
def test_a_call_that_waits_survives_a_reload_and_ends_as_a_receipt(served: Served, page: Page) -> None:
    served.post("/memories", {"content": "Has a red bicycle"})
    page.goto(served.url)
    say(page, "Forget everything I told you")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    assert faults(page) == []
    _picture(page, "approval.png")
    page.reload()
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("everything stays as it is")).to_be_visible()
    expect(page.get_by_text("rejected", exact=True)).to_be_visible()
    page.goto(f"{served.url}/memory")
    expect(page.get_by_role("link", name="Has a red bicycle", exact=True)).to_be_visible()


@pytest.mark.requirement("R151", "R213")
def test_a_failure_says_what_happened_and_offers_to_ask_again(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Break down please")
    expect(page.get_by_role("alert")).to_contain_text("The answer could not be finished")
    expect(page.get_by_role("button", name="Ask again")).to_be_visible()
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("The answer could not be finished")


@pytest.mark.requirement("P2c")
def test_markup_of_a_model_stays_text_and_loads_nothing(served: Served, page: Page) -> None:
    page.goto(served.url)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    say(page, "Show me markup")
    answer = page.get_by_role("article", name="Bethink")
    expect(answer).to_contain_text("<b>bold?</b>")
    expect(answer.get_by_text("a link")).not_to_have_attribute("href", re.compile("javascript"))
    expect(answer.locator("img, b")).to_have_count(0)
    assert [url for url in asked if not url.startswith(served.url)] == []


def test_a_lost_connection_is_said_and_mended(served: Served, page: Page) -> None:
    page.goto(served.url)
    expect(composer(page)).to_be_visible()
    page.context.set_offline(True)
    expect(page.get_by_text("This device is offline since")).to_be_visible()
    say(page, "Are you there?")
    messages = page.get_by_role("region", name="Messages")
    expect(messages.get_by_role("alert")).to_contain_text("Your message was not sent")
    page.context.set_offline(False)
    expect(page.get_by_text("Connected again.")).to_be_visible()
    expect(page.get_by_text("This device is offline since")).to_be_hidden()
    page.get_by_role("button", name="Send again").click()
    expect(answered(page)).to_be_visible()
