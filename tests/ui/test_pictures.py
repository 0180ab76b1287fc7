"""A picture of every room of the README, on desk and phone, in light and dark: all fit, none is empty.

They are in test-results/ui/rooms, to be looked at.
"""

from __future__ import annotations

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from scripts.pictures import fill
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, ROOT, Served, bethink

pytestmark = pytest.mark.timeout(180)

_ROOMS = {
    "Chat": ("/c/imported-lisbon-trip", "Graça is the quieter"),
    "Memory": ("/memory", "Prefers trains to planes"),
    "Settings": ("/settings/you", "Appearance"),
    "Vault": ("/vault/pages/travel/lisbon.md", "Ask Ana for dates"),
    "Documents": ("/documents", "Rental contract"),
    "Tasks": ("/tasks/board", "Water the tomatoes"),
    "Calendar": ("/calendar/agenda", "Portuguese"),
    "Schedules": ("/schedules", "Stretch your legs"),
    "Artifacts": ("/c/imported-stroke-counter", "Stroke by stroke"),
    "Tools": ("/settings/tools", "search_memory"),
    "Models": ("/settings/model", "Temperature"),
    "Users": ("/settings/keys", "No keys are needed yet"),
}
"""Where each is, and what can be read there."""
_WITHOUT_A_PAGE = {"Interfaces", "Storage"}
_SIZES: dict[str, dict[str, int | bool]] = {
    "desk": {},
    "phone": {"width": 390, "height": 844, "has_touch": True, "is_mobile": True},
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, browser: object) -> Generator[Served]:
    """A Bethink with a little in every room."""
    del browser
    with bethink(tmp_path_factory.mktemp("filled"), None, BETHINK_MODEL="scripted:demo") as served:
        fill(served)
        yield served


def test_each_room_of_the_readme_has_a_picture() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("| room |")[2]
    named = set(re.findall(r"^\| (\w+) \|", table, re.MULTILINE))
    assert named == {*_ROOMS, *_WITHOUT_A_PAGE}


@pytest.mark.parametrize("size", _SIZES)
def test_every_room_is_shown_in_light_and_in_dark(filled: Served, new_page: NewPage, size: str) -> None:
    page = new_page(own=True, **_SIZES[size])
    for name, (address, words) in _ROOMS.items():
        page.goto(filled.url + address)
        if name == "Chat":
            # The first of all loads what draws an answer.
            expect(page.get_by_role("table")).to_be_visible()
        if name == "Artifacts":
            page.get_by_role("button", name="Open in pane").click()
            expect(page.frame_locator("iframe").get_by_role("button", name="Pull")).to_be_visible()
        _settle(page, words)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            path = PICTURES / "rooms" / f"{name.lower()}-{size}-{scheme}.png"
            page.screenshot(path=path, animations="disabled")


def _settle(page: Page, words: str) -> None:
    """What is there can be read in the fonts of the page, and nothing is still being read from the server."""
    expect(page.get_by_text(words).locator("visible=true").first).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    expect(page.locator(".notice.fault")).to_have_count(0)
    page.evaluate("document.fonts.ready.then(() => undefined)")
