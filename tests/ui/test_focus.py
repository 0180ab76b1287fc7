"""Where the keyboard is after something was done: at what it was done to, never nowhere."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.ui.acts import answered, chat_head, composer, drawn, kept, say
from tests.ui.running import Served, imported
from tests.ui.vaulted import Vaulted, saved

pytestmark = pytest.mark.timeout(90)


def test_what_opened_a_dialog_has_the_focus_again(served: Served, page: Page) -> None:
    imported(served, "Trams", ["Which tram?", "The 28."])
    page.goto(served.url)
    page.get_by_role("link", name="Trams").click()
    page.get_by_role("textbox", name="Message").focus()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Find anything")).to_be_visible()
    page.keyboard.press("Escape")
    expect(composer(page)).to_be_focused()
    chat_head(page).get_by_role("button", name="More for Trams").click()
    page.get_by_role("menuitem", name="Delete").click()
    # It is in the trash; only what is deleted for good is asked about.
    page.get_by_role("button", name="Trash").click()
    more = page.get_by_role("list", name="Conversations").get_by_role("button", name="More for Trams")
    more.focus()
    page.keyboard.press("Enter")
    page.get_by_role("menuitem", name="Delete for good").press("Enter")
    expect(page.get_by_role("button", name="Keep")).to_be_focused()
    page.keyboard.press("Enter")
    expect(more).to_be_focused()


def test_a_conversation_that_was_renamed_has_the_focus(served: Served, page: Page) -> None:
    imported(served, "Trams", ["Which tram?", "The 28."])
    page.goto(served.url)
    page.get_by_role("link", name="Trams").focus()
    page.keyboard.press("e")
    page.get_by_role("textbox", name="Title of the conversation").fill("Trains")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Trains")).to_be_focused()
    page.keyboard.press("Enter")
    chat_head(page).get_by_role("button", name="More for Trains").click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_role("textbox", name="Title of the conversation").fill("Ferries")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Ferries")).to_be_focused()


def test_a_memory_that_was_written_leaves_the_focus_where_it_began(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/memory")
    served.post("/memories", {"content": "Rows on Sundays"})
    page.reload()
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_label("What should be remembered").fill("Has a red bicycle")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("article", name="Has a red bicycle")).to_be_visible()
    expect(page.get_by_role("button", name="Add", exact=True)).to_be_focused()
    page.get_by_role("article", name="Rows on Sundays").focus()
    page.keyboard.press("e")
    expect(page.get_by_label("Corrected text")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("article", name="Rows on Sundays")).to_be_focused()
    page.keyboard.press("e")
    page.get_by_label("Corrected text").fill("Rows on Mondays")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("article", name="Rows on Mondays")).to_be_focused()


def test_an_answer_that_is_made_anew_leaves_the_keyboard_at_the_composer(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Which train should I take?")
    answered(page).wait_for()
    page.get_by_role("button", name="Regenerate answer").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name="Versions of this answer")).to_be_visible()
    expect(composer(page)).to_be_focused()


def test_a_page_that_was_deleted_leaves_the_keyboard_in_the_room(vault: Vaulted, page: Page) -> None:
    vault.open(page, "user.md")
    expect(saved(page)).to_be_visible()
    page.get_by_role("button", name="More for user").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_text("user is deleted; its history stays")).to_be_visible()
    expect(page.get_by_role("main")).to_be_focused()


def test_what_is_forgotten_for_good_leaves_the_keyboard_at_the_others(served: Served, page: Page) -> None:
    for content in ("Rows on Sundays", "Has a red bicycle"):
        served.post("/memories", {"content": content})
    page.goto(f"{served.url}/memory")
    for content, place in (
        ("Rows on Sundays", page.get_by_role("list", name="Memories")),
        ("Has a red bicycle", page.get_by_role("heading", name="Memory", exact=True)),
    ):
        page.get_by_role("button", name=f"More for “{content}”").focus()
        page.keyboard.press("Enter")
        page.get_by_role("menuitem", name="Forget for good").press("Enter")
        page.get_by_role("button", name="Forget", exact=True).click()
        page.get_by_role("dialog", name="Forgotten").get_by_role("button", name="Close").last.press("Enter")
        expect(page.get_by_role("article", name=content)).to_have_count(0)
        expect(place).to_be_focused()


def test_a_filter_that_was_removed_leaves_the_keyboard_at_the_others(vault: Vaulted, page: Page) -> None:
    for path in ("one.md", "two.md"):
        vault.served.post("/vault/filters", {"action": "hide", "path": path})
    page.goto(f"{vault.served.url}/vault/filters")
    for left, place in (
        (1, page.get_by_role("list", name="Filters")),
        (0, page.get_by_role("heading", level=1, name="Filters")),
    ):
        page.get_by_role("button", name=re.compile("^Remove: ")).first.press("Enter")
        expect(page.get_by_role("button", name=re.compile("^Remove: "))).to_have_count(left)
        expect(place).to_be_focused()


def test_a_repair_leaves_the_keyboard_at_what_is_left_to_mend(vault: Vaulted, page: Page) -> None:
    vault.file("trip.md", "# Trip\n")
    vault.file("plan.md", "[[tripp]]\n")
    page.goto(f"{vault.served.url}/vault/check")
    page.get_by_role("button", name=re.compile("trip")).first.press("Enter")
    make = page.get_by_role("button", name="Apply")
    # It can be pressed once it is shown what would change.
    expect(make).to_be_enabled()
    make.press("Enter")
    expect(page.get_by_text("No problems found")).to_be_visible()
    expect(page.get_by_role("heading", level=1, name="Check")).to_be_focused()


def test_the_key_that_opened_a_dialog_does_not_close_it(vault: Vaulted, page: Page) -> None:
    held: list[Route] = []
    page.route("**/vault/check/plan", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks what it is given
    vault.file("trip.md", "# Trip\n")
    vault.file("plan.md", "[[tripp]]\n")
    page.goto(f"{vault.served.url}/vault/check")
    page.get_by_role("button", name=re.compile("trip")).first.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("heading", level=2)).to_be_focused()
    page.keyboard.press("Enter")
    kept(page, held).continue_()
    expect(page.get_by_role("button", name="Apply")).to_be_enabled()


def test_a_dialog_about_forgetting_has_the_keyboard_where_it_begins(served: Served, page: Page) -> None:
    served.post("/memories", {"content": "Rows on Sundays"})
    page.goto(f"{served.url}/memory")
    page.get_by_role("button", name="Data: export, import, forget").click()
    page.get_by_role("menuitem", name="Forget by search").click()
    expect(page.get_by_label("Everything about")).to_be_focused()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="More for “Rows on Sundays”").click()
    page.get_by_role("menuitem", name="Forget for good").click()
    expect(page.get_by_role("button", name="Keep")).to_be_focused()
    page.get_by_role("button", name="Forget", exact=True).click()
    receipt = page.get_by_role("dialog", name="Forgotten")
    expect(receipt.get_by_role("button", name="Close").last).to_be_focused()


def test_what_was_left_by_intent_stays_left(served: Served, page: Page) -> None:
    imported(served, "Trams", ["Which tram?", "The 28."])
    page.goto(served.url)
    composer(page).press("Escape")
    page.get_by_role("link", name="Trams").evaluate("link => link.remove()")
    drawn(page)
    drawn(page)
    assert page.evaluate("document.activeElement === document.body")
    page.get_by_role("button", name="Search").focus()
    page.get_by_role("button", name="Search").evaluate("search => search.parentElement.remove()")
    expect(page.get_by_role("navigation", name="Conversations")).to_be_focused()
