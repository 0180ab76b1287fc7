"""What a person sees of where an answer comes from, what became of a memory, and how to take it away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.ui.acts import answered, faults, say
from tests.ui.running import PICTURES, Served

pytestmark = pytest.mark.timeout(90)


def test_an_answer_leads_to_the_memories_it_rests_on(served: Served, page: Page) -> None:
    served.post("/memories", {"content": "Prefers trains to planes, also for long journeys"})
    page.goto(served.url)
    say(page, "Which train should I take?")
    mark = page.get_by_role("article", name="Bethink").get_by_role("link", name="1")
    expect(mark).to_be_visible()
    expect(page.locator("[data-markdown]")).to_have_text(
        "Take the night train1. You sleep best in a quiet room."
    )
    assert faults(page) == []
    page.reload()
    mark.click()
    expect(page.get_by_role("article", name="Prefers trains to planes")).to_be_visible()


def test_what_is_claimed_and_was_not_done_is_said_and_stays_said(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Please note that down")
    expect(page.get_by_text("Nothing was saved")).to_be_visible()
    expect(answered(page)).to_be_visible()
    assert faults(page) == []
    page.reload()
    expect(page.get_by_text("Nothing was saved")).to_be_visible()


def test_a_memory_tells_what_it_was_before(served: Served, page: Page) -> None:
    old = served.post("/memories", {"content": "Works at Acme as an engineer"})["memory"]
    changed = served.patch(f"/memories/{old['id']}", {"content": "Works at Globex as an engineer"})
    page.goto(f"{served.url}/memory/{changed['memory']['id']}")
    story = page.get_by_role("region", name="Story")
    past = story.get_by_role("listitem").filter(has_text="No longer true")
    expect(past).to_contain_text("Works at Acme as an engineer")
    # What was taken out and what came in.
    expect(story.get_by_role("deletion")).to_have_text("Acme")
    expect(story.get_by_role("insertion")).to_have_text("Globex")
    page.screenshot(path=PICTURES / "timeline.png")
    assert faults(page) == []
    past.get_by_role("link", name="Works at Acme").click()
    this = page.get_by_role("region", name="This memory")
    expect(this.get_by_text(re.compile("^until"))).to_be_visible()
    this.get_by_role("button", name="Undo").first.click()
    expect(page.get_by_role("article", name="Works at Acme as an engineer")).to_be_visible()


def test_everything_about_something_is_forgotten_by_words(served: Served, page: Page) -> None:
    served.post("/memories", {"content": "Worked at Initech until 2019"})
    served.post("/memories", {"content": "Has a red bicycle"})
    page.goto(f"{served.url}/memory")
    page.get_by_role("button", name="Data: export, import, forget").click()
    page.get_by_role("menuitem", name="Forget by search").click()
    page.get_by_label("Everything about").fill("Initech")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Forget for good")
    expect(dialog).to_contain_text("Worked at Initech until 2019")
    assert faults(page) == []
    dialog.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_role("dialog", name="Forgotten").get_by_role("button", name="Close").last.click()
    expect(page.get_by_role("article", name="Has a red bicycle")).to_be_visible()
    expect(page.get_by_text("Initech")).to_have_count(0)


def test_memory_is_taken_away_as_a_file_and_brought_back(served: Served, page: Page, tmp_path: Path) -> None:
    served.post("/memories", {"content": "Plays the viola"})
    page.goto(f"{served.url}/memory")
    page.get_by_role("button", name="Data: export, import, forget").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export as JSON Lines").click()
    kept = tmp_path / download.value.suggested_filename
    download.value.save_as(kept)
    assert "Plays the viola" in kept.read_text("utf-8")
    # Forgotten in another window meanwhile.
    served.delete("/memories?confirm=true")
    page.reload()
    expect(page.get_by_text("No memories yet")).to_be_visible()
    page.get_by_label("Memory file").set_input_files(kept)
    dialog = page.get_by_role("dialog", name="Import")
    expect(dialog).to_contain_text("1")
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("article", name="Plays the viola")).to_be_visible()


def test_what_was_suggested_is_answered_with_a_key(served: Served, page: Page) -> None:
    for content in ("Wants to learn Finnish", "Owns a yacht", "Is afraid of geese"):
        served.post("/memories", {"content": content, "suggested": True})
    page.goto(f"{served.url}/memory")
    page.get_by_role("link", name="Review 3").click()
    waiting = page.get_by_role("list", name="Suggested memories")
    first = waiting.get_by_role("article", name="Is afraid of geese")
    first.focus()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "review.png")
    page.keyboard.press("a")
    expect(first).to_have_count(0)
    expect(page.get_by_role("article", name="Owns a yacht")).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_text("yacht")).to_have_count(0)
    finnish = waiting.get_by_role("article", name="Wants to learn Finnish")
    finnish.get_by_role("button", name="Accept").click()
    expect(page.get_by_text("Nothing to review")).to_be_visible()
    page.goto(f"{served.url}/memory")
    expect(page.get_by_role("article", name="Wants to learn Finnish")).to_be_visible()
    expect(page.get_by_role("article", name="Is afraid of geese")).to_be_visible()
    expect(page.get_by_text("yacht")).to_have_count(0)


def test_the_health_page_shows_what_speaks_against_what(served: Served, page: Page) -> None:
    served.post("/memories", {"content": "User likes spicy food"})
    served.post("/memories", {"content": "User does not like spicy food"})
    page.goto(f"{served.url}/memory/health")
    expect(page.get_by_role("heading", name="Contradictions (2)")).to_be_visible()
    numbers = page.get_by_role("region", name="In numbers")
    expect(numbers.locator("div").filter(has_text="In doubt")).to_contain_text("2")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "health.png")
    found = page.get_by_role("region", name="Contradictions (2)")
    found.get_by_role("link", name="User does not like spicy food").click()
    against = page.get_by_role("region", name="What speaks against it")
    expect(against.get_by_role("link", name="Contradicted by another memory")).to_be_visible()
    expect(against).to_contain_text("User likes spicy food")
    assert faults(page) == []
    against.get_by_role("button", name="Keep this one").click()
    expect(against).to_have_count(0)
    expect(page.get_by_role("article", name="User likes spicy food")).to_have_count(0)
    page.keyboard.press("u")
    expect(page.get_by_role("article", name="User likes spicy food")).to_be_visible()
