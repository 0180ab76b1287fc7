"""The vault's room in every look: light, dark, a narrow phone, zoomed, and a person's own colours."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.ui.acts import faults
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES
from tests.ui.vaulted import Vaulted, editor, reading

pytestmark = pytest.mark.timeout(90)
_LONG = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz"
_FOLDER = "Angelegenheiten der Grundstücksverkehrsgenehmigungszuständigkeit"
_LOOKS: dict[str, dict[str, int | str | bool]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"width": 360, "height": 740, "has_touch": True, "is_mobile": True},
    # What a screen of 1360 x 860 has left at 200 %.
    "zoomed": {"width": 680, "height": 430},
    "forced": {"forced_colors": "active"},
}


@pytest.fixture(params=_LOOKS)
def look(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _is_right(page: Page, picture: str) -> None:
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(path=PICTURES / f"vault-{picture}.png")


def test_long_names_have_room_in_every_look(vault: Vaulted, new_page: NewPage, look: str) -> None:
    path = f"{_FOLDER}/{_LONG}.md"
    vault.file(path, f"# {_LONG}\n\n## {_LONG} {_LONG}\n\n[[{_FOLDER}/{_LONG}2]] {_LONG * 4}\n")
    page = new_page(**_LOOKS[look])
    vault.open(page, path)
    expect(page.get_by_role("heading", level=1, name=_LONG)).to_be_visible()
    expect(reading(page).get_by_role("heading", name=_LONG, exact=True)).to_be_visible()
    _is_right(page, f"long-{look}")
    vault.open(page)
    expect(page.get_by_role("treeitem", name=_FOLDER)).to_be_visible()
    _is_right(page, f"tree-{look}")


def test_check_and_filters_are_right_in_every_look(vault: Vaulted, new_page: NewPage, look: str) -> None:
    vault.file(f"{_FOLDER}/{_LONG}.md", "- salary: 91234\n\n[[nobody]]\n")
    vault.file("front.md", "---\na: [\n---\nText\n")
    page = new_page(**_LOOKS[look])
    page.goto(f"{vault.served.url}/vault/check")
    expect(page.get_by_role("heading", name="Broken links")).to_be_visible()
    _is_right(page, f"check-{look}")
    page.goto(f"{vault.served.url}/vault/filters")
    expect(page.get_by_role("form", name="What would this client see?")).to_be_visible()
    _is_right(page, f"filters-{look}")


def test_a_large_page_is_opened_and_written(vault: Vaulted, page: Page) -> None:
    line = "A line of a very long page, with [[user]] in it.\n"
    vault.file("large.md", "# Large\n" + line * (900_000 // len(line)))
    vault.open(page, "large.md")
    expect(editor(page)).to_be_visible()
    expect(page.get_by_role("heading", level=1, name="large")).to_be_visible()
    expect(page.get_by_text("This page is too long for the preview")).to_be_visible()
    page.screenshot(path=PICTURES / "vault-large.png")


def test_two_thousand_pages_are_listed(vault: Vaulted, new_page: NewPage) -> None:
    for n in range(2_000):
        Path(vault.folder / f"page_{n:04}.md").write_text(f"# Page {n}\n", "utf-8")
    page = new_page(**_LOOKS["phone"])
    vault.open(page)
    expect(page.get_by_text("2,001 pages")).to_be_visible()
    _is_right(page, "many-phone")
