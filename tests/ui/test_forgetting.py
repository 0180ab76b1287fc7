"""Forgetting for good on the page: what goes is ticked and counted before, and told after."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.acts import faults
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, Served, bethink

pytestmark = pytest.mark.timeout(90)

_LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"width": 390, "height": 844, "is_mobile": True},
}


@pytest.fixture
def known(tmp_path: Path, browser: object) -> Generator[Served]:
    """A memory, two conversations, one about Mirabelle, and the first pages; no model."""
    del browser
    with bethink(tmp_path, None) as served:
        served.post("/memories", {"content": "Has a red bicycle"})
        served.post("/conversations", {"title": "Moving Mirabelle"})
        served.post("/conversations", {"title": "Groceries"})
        # The first look at the vault makes its first pages.
        served.get("/vault")
        yield served


def opened(page: Page, served: Served, item: str) -> Locator:
    """The dialog behind an item of the Memory room's menu."""
    page.goto(f"{served.url}/memory")
    page.get_by_role("button", name="Data: export, import, forget").click()
    page.get_by_role("menuitem", name=item).click()
    return page.get_by_role("dialog", name="Forget for good")


def titles(served: Served) -> set[str]:
    return {item["title"] for item in served.get("/conversations")["items"]}


@pytest.mark.parametrize("look", list(_LOOKS))
def test_everything_is_forgotten_with_the_kinds_that_are_ticked(
    known: Served, new_page: NewPage, look: str
) -> None:
    page = new_page(**_LOOKS[look])
    dialog = opened(page, known, "Forget everything")
    expect(dialog).to_contain_text("the messages of 2 conversations")
    expect(dialog).to_contain_text("Has a red bicycle")
    pages = dialog.get_by_role("checkbox", name=re.compile(r"Also pages \(\d\)"))
    expect(pages).not_to_be_checked()
    expect(dialog.get_by_role("checkbox", name="Also files (0)")).to_be_disabled()
    pages.click()
    expect(dialog).to_contain_text("user.md")
    expect(pages).to_be_checked()
    expect(pages).to_be_focused()
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(path=PICTURES / f"forget-everything-{look}.png")
    dialog.get_by_role("button", name="Forget everything").click()
    receipt = page.get_by_role("dialog", name="Forgotten")
    expect(receipt).to_contain_text("conversations (2)")
    expect(receipt).to_contain_text("pages (")
    assert faults(page) == []
    receipt.get_by_role("button", name="Close").last.click()
    expect(page.get_by_text("No memories yet")).to_be_visible()
    assert titles(known) == {"Moving Mirabelle", "Groceries"}
    left = {item["path"] for item in known.get("/vault")["items"] if not item["is_folder"]}
    # Looking at the vault makes its first page anew.
    assert left <= {"user.md"}
    assert known.get("/recall?query=bicycle")["items"] == []


def test_conversations_are_removed_only_if_that_is_ticked(known: Served, page: Page) -> None:
    dialog = opened(page, known, "Forget everything")
    removed = dialog.get_by_role("checkbox", name="Delete these conversations")
    expect(removed).not_to_be_checked()
    removed.click()
    expect(removed).to_be_checked()
    dialog.get_by_role("button", name="Forget everything").click()
    expect(page.get_by_role("dialog", name="Forgotten")).to_be_visible()
    assert titles(known) == set()


def test_nothing_goes_if_it_is_kept(known: Served, page: Page) -> None:
    dialog = opened(page, known, "Forget everything")
    expect(dialog).to_contain_text("Has a red bicycle")
    dialog.get_by_role("button", name="Keep").click()
    expect(page.get_by_role("article", name="Has a red bicycle")).to_be_visible()


def test_what_only_a_title_says_is_shown_by_kind_and_goes(known: Served, new_page: NewPage) -> None:
    page = new_page(color_scheme="dark")
    dialog = opened(page, known, "Forget by search")
    dialog.get_by_label("Everything about").fill("Mirabelle")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("heading", name="In conversations (1)")).to_be_visible()
    expect(dialog).to_contain_text("title of a conversation: Moving Mirabelle")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "forget-words.png")
    dialog.get_by_role("button", name="Forget", exact=True).click()
    expect(page.get_by_role("dialog", name="Forgotten")).to_contain_text("conversations (1)")
    assert titles(known) == {"[forgotten]", "Groceries"}
