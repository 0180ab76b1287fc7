"""One field for everything: what is found late does not take the place of what was found."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.ui.acts import composer, kept
from tests.ui.running import Served, imported

pytestmark = pytest.mark.timeout(90)

#: Presses for what the other rooms may add while the arrow is pressed.
SPARE = 30


def _chosen(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Results").locator("[aria-selected=true]")


def _led_to(page: Page, option: Locator) -> None:
    """Press the arrow until it is chosen: things of other rooms that are found too may stand beside it."""
    for _ in range(page.get_by_role("option").count() + SPARE):
        page.keyboard.press("ArrowDown")
        if option.get_attribute("aria-selected") == "true":
            return
    expect(option).to_have_attribute("aria-selected", "true")


def test_a_room_stays_the_first_whatever_is_found_later(served: Served, page: Page) -> None:
    served.post("/memories", {"content": "Takes shortcuts through the park"})
    held: list[Route] = []
    page.route("**/memories?*query=*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks what it is given
    page.goto(served.url)
    expect(composer(page)).to_be_focused()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("shortcuts")
    expect(_chosen(page)).to_have_text("ShortcutsCtrl/")
    kept(page, held).continue_()
    expect(page.get_by_role("option", name="Takes shortcuts through the park")).to_be_visible()
    expect(_chosen(page)).to_have_text("ShortcutsCtrl/")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Shortcuts")).to_be_visible()


def test_what_the_arrows_led_to_stays_chosen(served: Served, page: Page) -> None:
    served.post("/memories", {"content": "Collects pebbles"})
    imported(served, "Stones", ["Where are pebbles?", "At the sea."])
    held: list[Route] = []
    page.route("**/conversations/search?*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks what it is given
    page.goto(served.url)
    expect(composer(page)).to_be_focused()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("pebbles")
    memory = page.get_by_role("option", name="Collects pebbles")
    expect(memory).to_be_visible()
    _led_to(page, memory)
    kept(page, held).continue_()
    expect(page.get_by_role("option", name="Where are pebbles?")).to_be_visible()
    expect(memory).to_have_attribute("aria-selected", "true")
