"""What holds in every room: shortcuts, the tab's title, the way back, sizes, languages, right to left."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.ui.acts import faults
from tests.ui.conftest import NewPage
from tests.ui.running import Served, bethink, imported

pytestmark = pytest.mark.timeout(120)

_WIDER = "document.documentElement.scrollWidth - innerWidth"


def test_a_shortcut_is_changed_and_what_was_in_the_way_is_named(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/memory")
    page.get_by_role("heading", name="Memory", level=1).wait_for()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Shortcuts")
    dialog.get_by_role("button", name=re.compile("Change the shortcut of “Go to Vault”")).click()
    page.keyboard.press("Control+t")
    expect(dialog.get_by_role("alert")).to_contain_text("The browser or the page needs this one")
    page.keyboard.press("Control+k")
    expect(dialog.get_by_role("alert")).to_contain_text("It does “Find anything” now")
    assert faults(page) == []
    dialog.get_by_role("button", name="Use it here").click()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page).to_have_url(f"{served.url}/vault")
    page.reload()
    page.get_by_role("link", name="Memory").first.wait_for()
    page.keyboard.press("?")
    dialog.get_by_role("button", name="All as they were").click()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Find anything")).to_be_visible()


def test_the_tab_says_what_is_shown(served: Served, page: Page) -> None:
    imported(served, "Trams", ["Which tram?", "The 28."])
    page.goto(f"{served.url}/memory")
    expect(page).to_have_title("Memory · Bethink")
    page.goto(f"{served.url}/c/imported-trams")
    expect(page).to_have_title("Trams · Bethink")
    page.goto(served.url)
    expect(page).to_have_title("Bethink")


def test_going_back_finds_the_page_where_it_was_left(served: Served, page: Page) -> None:
    for number in range(60):
        served.post("/tasks", {"title": f"Task number {number:02}"})
    page.set_viewport_size({"width": 1280, "height": 420})
    page.goto(f"{served.url}/tasks")
    last = page.get_by_role("link", name=re.compile("Task number")).nth(12)
    href = last.get_attribute("href")
    last.scroll_into_view_if_needed()
    before = page.evaluate("[...document.querySelectorAll('#main .scroll')].map(each => each.scrollTop)")
    assert max(before) > 0
    last.click()
    expect(page).to_have_url(re.compile("/tasks/.+"))
    page.go_back()
    expect(page).to_have_url(f"{served.url}/tasks")
    expect(page.locator(f"a[href='{href}']")).to_be_in_viewport()
    for task in served.get("/tasks?limit=100")["items"]:
        served.delete(f"/tasks/{task['id']}")


def test_larger_letters_and_a_compact_page_stay_after_a_reload(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/you")
    page.get_by_role("group", name="Text size").get_by_text("Larger").click()
    page.get_by_role("group", name="Density").get_by_text("Compact").click()
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "20px"
    page.reload()
    expect(page.get_by_role("group", name="Density").get_by_role("radio", name="Compact")).to_be_checked()
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "20px"
    assert faults(page) == []


def test_from_right_to_left_nothing_stands_outside(served: Served, new_page: NewPage) -> None:
    for width in (1280, 390):
        page = new_page(width=width, height=800, own=True)
        for room in ("/", "/memory", "/vault", "/documents", "/tasks", "/calendar", "/settings"):
            page.goto(served.url + room)
            page.locator("h1").first.wait_for(state="attached")
            page.evaluate("document.documentElement.dir = 'rtl'")
            assert (room, width, page.evaluate(_WIDER)) == (room, width, 0)
            rail = page.get_by_role("navigation", name="Rooms").bounding_box()
            assert rail is not None
            assert rail["x"] + rail["width"] == width


def test_the_shell_speaks_german(served: Served, new_page: NewPage) -> None:
    page = new_page(locale="de-DE")
    page.goto(served.url)
    rooms = page.get_by_role("navigation", name="Räume")
    expect(rooms.get_by_role("link", name="Gedächtnis")).to_be_visible()
    expect(page.locator("main :is(textarea, [contenteditable=true])").first).to_be_focused()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Alles finden")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "de")


def test_a_room_that_the_server_has_switched_off_is_shown_nowhere(page: Page, tmp_path: Path) -> None:
    with bethink(tmp_path, None, BETHINK_VAULT='{"enabled": false}') as served:
        page.goto(f"{served.url}/tasks")
        rail = page.get_by_role("navigation", name="Rooms")
        expect(rail.get_by_role("link", name="Vault")).to_have_count(0)
        expect(rail.get_by_role("link", name="Memory")).to_be_visible()
        # What the server said last counts until it answers again.
        page.route("**/health", lambda route: None)
        page.reload()
        expect(rail.get_by_role("link", name="Memory")).to_be_visible()
        expect(rail.get_by_role("link", name="Vault")).to_have_count(0)
        page.keyboard.press("g")
        page.keyboard.press("v")
        expect(page).to_have_url(f"{served.url}/tasks")
        page.keyboard.press("Control+k")
        page.get_by_role("combobox").fill("vault")
        options = page.get_by_role("listbox").get_by_role("option")
        expect(options.filter(has_text="Settings: Vault")).to_be_visible()
        expect(options.filter(has_text=re.compile("^Vault"))).to_have_count(0)
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name="Shortcuts")
        expect(dialog.get_by_text("Go to Memory", exact=True)).to_be_visible()
        expect(dialog.get_by_text("Go to Vault", exact=True)).to_have_count(0)
