"""The other rooms, the keyboard, and what holds on every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.ui.acts import answered, chat_head, composer, faults, kept, say
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, Served, bethink

pytestmark = pytest.mark.timeout(90)


def test_a_memory_is_added_found_corrected_retracted_and_forgotten(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/memory")
    page.get_by_role("button", name="Add a memory").click()
    page.get_by_label("What should be remembered").fill("Plays the viola")
    page.get_by_role("button", name="Remember", exact=True).click()
    row = page.get_by_role("article", name="Plays the viola")
    expect(row).to_be_visible()

    page.get_by_role("searchbox", name="Search memory").fill("viola")
    expect(page.get_by_text("1 memory answers, best first")).to_be_visible()
    page.get_by_role("searchbox", name="Search memory").fill("")

    row.focus()
    page.keyboard.press("e")
    page.get_by_label("Corrected text").fill("Plays the viola and the oud")
    page.get_by_role("button", name="Save").click()
    corrected = page.get_by_role("article", name="Plays the viola and the oud")
    expect(corrected).to_be_visible()
    expect(page.locator("[data-row]")).to_have_count(1)

    corrected.focus()
    page.keyboard.press("x")
    expect(page.get_by_text("No memories yet")).to_be_visible()
    page.keyboard.press("u")
    expect(corrected).to_be_visible()
    page.screenshot(path=PICTURES / "memory.png")

    corrected.get_by_role("button", name=re.compile("More for")).click()
    page.get_by_role("menuitem", name="Forget for good").click()
    preview = page.get_by_role("dialog", name="Forget for good")
    expect(preview).to_contain_text("Plays the viola and the oud")
    expect(preview).to_contain_text("1 earlier or later version")
    preview.get_by_role("button", name="Forget", exact=True).click()
    expect(page.get_by_role("dialog", name="Forgotten")).to_contain_text("2 memories are forgotten for good")
    page.get_by_role("dialog", name="Forgotten").get_by_role("button", name="Close").last.click()
    expect(page.get_by_text("No memories yet")).to_be_visible()


def test_ten_thousand_rows_never_stand_in_the_page_at_once(served: Served, page: Page) -> None:
    for number in range(150):
        served.post("/memories", {"content": f"Note number {number}"})
    page.goto(f"{served.url}/memory")
    expect(page.get_by_text("150 memories")).to_be_visible()
    expect(page.get_by_text("Note number 149", exact=True)).to_be_visible()
    for _ in range(75):
        page.keyboard.press("j")
    # What comes next is asked for on the way.
    expect(page.locator("[aria-setsize='150']").first).to_be_visible()
    for _ in range(74):
        page.keyboard.press("j")
    expect(page.get_by_text("Note number 0", exact=True)).to_be_visible()
    assert page.locator("[data-row]").count() < 60


def test_conversations_are_renamed_archived_and_deleted(served: Served, page: Page) -> None:
    made = served.post("/conversations", {"title": "Boat names"})
    page.goto(f"{served.url}/c/{made['id']}")
    chat_head(page).get_by_role("button", name="More for Boat names").click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_label("Title of the conversation").fill("Names for the boat")
    page.keyboard.press("Enter")
    link = page.get_by_role("link", name="Names for the boat", exact=True)
    expect(link).to_be_visible()
    expect(page.get_by_role("heading", name="Names for the boat")).to_be_visible()

    page.keyboard.press("Escape")
    link.focus()
    page.keyboard.press("x")
    expect(link).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(link).to_be_visible()

    page.goto(f"{served.url}/c/{made['id']}")
    chat_head(page).get_by_role("button", name="More for Names for the boat").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(link).to_have_count(0)
    page.get_by_role("button", name="Undo").last.click()
    expect(link).to_be_visible()
    page.get_by_role("button", name="More for Names for the boat").first.click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(link).to_have_count(0)
    page.get_by_role("button", name="Trash").click()
    link.click(button="right")
    page.get_by_role("menuitem", name="Delete for good").click()
    page.get_by_role("button", name="Delete for good", exact=True).click()
    expect(page.get_by_text("The trash is empty.")).to_be_visible()
    page.goto(f"{served.url}/c/{made['id']}")
    expect(page.get_by_role("alert")).to_be_visible()


def test_everything_is_done_with_the_keyboard_alone(served: Served, page: Page) -> None:
    press, write = page.keyboard.press, page.keyboard.type
    page.goto(served.url)
    expect(composer(page)).to_be_focused()
    write("/re")
    expect(page.get_by_role("listbox", name="Commands")).to_be_visible()
    press("Tab")
    write("I row on Sundays")
    press("Enter")
    expect(page.get_by_role("button", name="Memory updated")).to_be_visible()
    press("ArrowUp")
    edited = page.get_by_role("textbox", name="Your message, edited")
    expect(edited).to_be_focused()
    expect(edited).to_have_value("/remember I row on Sundays")
    press("Escape")
    expect(composer(page)).to_be_focused()
    press("Escape")
    press("g")
    press("m")
    expect(page.get_by_role("heading", name="Memory")).to_be_visible()
    expect(page.get_by_role("article", name="I row on Sundays")).to_be_visible()
    press("j")
    expect(page.get_by_role("article", name="I row on Sundays")).to_be_focused()
    press("Control+k")
    write("rowing")
    expect(page.get_by_role("option", name=re.compile("I row on Sundays"))).to_be_visible()
    press("Enter")
    expect(page).to_have_url(re.compile("/memory/"))
    page.go_back()
    expect(page).to_have_url(re.compile("/memory$"))
    press("Control+Shift+O")
    expect(page).to_have_url(f"{served.url}/")
    press("Control+/")
    expect(page.get_by_role("dialog", name="Shortcuts")).to_be_visible()
    press("Escape")
    press("Shift+Escape")
    expect(composer(page)).to_be_focused()


def test_a_whole_command_is_sent_though_the_prompts_are_not_known_yet(served: Served, page: Page) -> None:
    held: list[Route] = []
    page.route("**/prompts*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks what it is given
    page.goto(served.url)
    composer(page).fill("/remember I row on Sundays")
    kept(page, held)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Memory updated")).to_be_visible()


def test_the_shortcuts_can_be_turned_off(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/you")
    page.get_by_role("switch", name="Use the shortcuts").click()
    page.reload()
    expect(page.get_by_role("switch", name="Use the shortcuts")).not_to_be_checked()
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_chosen_theme_stays(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/you")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_text("Dark", exact=True).click()
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_the_memory_that_was_replaced_is_told_apart_from_the_one_that_holds(
    served: Served, page: Page
) -> None:
    page.goto(served.url)
    lines = page.get_by_role("dialog").get_by_role("listitem")
    for city in ("Turin", "Genoa"):
        say(page, f"I live in {city}")
        expect(page.get_by_text(f"Memory stored: User lives in {city}.")).to_be_visible()
        expect(page.get_by_role("button", name="Memory updated").last).to_be_visible()
    page.get_by_role("button", name="Memory updated").last.click()
    new, old = lines.filter(has_text="Genoa"), lines.filter(has_text="Turin")
    expect(new).to_contain_text("Changed")
    expect(new.get_by_role("button", name="Undo: User lives in Genoa.")).to_be_visible()
    expect(old).to_contain_text("Replaced")
    expect(old.get_by_role("button")).to_have_count(0)


def test_every_page_is_accessible(served: Served, new_page: NewPage) -> None:
    served.post("/memories", {"content": "Has a red bicycle"})
    # With all that moves, as most people have it.
    page = new_page(reduced_motion="no-preference")
    for path in ("/", "/memory", "/vault", "/settings", "/nowhere"):
        page.goto(served.url + path)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        assert (path, faults(page)) == (path, [])
    page.goto(served.url)
    say(page, "Remember that I collect fountain pens")
    expect(answered(page)).to_be_visible()
    page.get_by_role("button", name="Memory updated").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert faults(page) == []
    for key in ("Control+k", "Control+/"):
        page.keyboard.press("Escape")
        page.keyboard.press(key)
        expect(page.get_by_role("dialog").last).to_be_visible()
        assert (key, faults(page)) == (key, [])


def test_on_a_phone_everything_is_large_enough_to_touch(served: Served, new_page: NewPage) -> None:
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    page.goto(served.url)
    say(page, "Remember that I collect fountain pens")
    expect(answered(page)).to_be_visible()
    small = page.evaluate(
        """() => [...document.querySelectorAll("button, a, summary")]
            .filter((one) => one.checkVisibility())
            .map((one) => [one.ariaLabel ?? one.textContent, one.getBoundingClientRect()])
            .filter(([, box]) => box.width && (box.width < 44 || box.height < 44))
            .map(([name]) => name)"""
    )
    assert small == []
    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("link", name="Tasks", exact=True).click()
    expect(page.get_by_role("heading", name="Tasks", level=1)).to_be_visible()


def test_without_a_model_the_page_says_how_to_set_one_and_still_remembers(tmp_path: Path, page: Page) -> None:
    with bethink(tmp_path, None) as served:
        page.goto(served.url)
        page.get_by_role("button", name="Do this later").click()
        expect(page.get_by_role("heading", name="No language model is set up")).to_be_visible()
        expect(page.get_by_role("link", name="Choose a model")).to_be_visible()
        page.get_by_text("In a terminal").click()
        expect(page.get_by_text("BETHINK_MODEL=openai")).to_be_visible()
        assert faults(page) == []
        page.screenshot(path=PICTURES / "no-model.png")
        say(page, "Hello")
        expect(page.get_by_role("heading", name="No language model is set up")).to_be_visible()
        say(page, "/remember I live in Paris")
        expect(page.get_by_role("button", name="Memory updated")).to_be_visible()
        page.goto(f"{served.url}/memory")
        expect(page.get_by_role("article", name="I live in Paris")).to_be_visible()
