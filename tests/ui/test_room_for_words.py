"""Words have room: nothing is cut off, laid over or broken in the middle where there is little of it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.ui.acts import faults
from tests.ui.conftest import NewPage
from tests.ui.running import Served, imported

pytestmark = pytest.mark.timeout(90)

_TABLE = """\
| Where | Why it suits you | From the station | Price | Notes that are long |
| --- | --- | --- | --- | --- |
| Graça | Residential, views, no night buses | 14 min on foot | 80 | nothing |

- [ ] book a room
- [x] ask Ann
"""


def _box(place: Locator) -> tuple[float, float, float, float]:
    """Its left, top, right and bottom."""
    box = place.bounding_box()
    assert box is not None
    return box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]


def test_tables_and_lists_of_tasks_are_read_on_a_phone(served: Served, new_page: NewPage) -> None:
    talk = imported(served, "Lisbon", ["Where?", _TABLE])
    page = new_page(width=390, height=844)
    page.goto(f"{served.url}/c/{talk}")
    price = page.get_by_role("columnheader", name="Price")
    lines = "cell => { const all = document.createRange(); all.selectNodeContents(cell);"
    assert price.evaluate(f"{lines} return all.getClientRects().length; }}") == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.get_by_role("checkbox", name="Done")).to_be_checked()
    expect(page.get_by_role("checkbox", name="To do")).not_to_be_checked()
    assert faults(page) == []


def test_every_part_has_a_name_in_words(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings")
    names = page.locator(".parts dt")
    expect(names.first).to_be_visible()
    assert [name for name in names.all_inner_texts() if re.match("[a-z_]+$", name)] == []


def test_what_is_asked_about_files_counts_them(served: Served, page: Page) -> None:
    page.goto(served.url)
    notes = [FilePayload(name=name, mimeType="text/plain", buffer=b"x") for name in ("a.txt", "b.txt")]
    page.get_by_label("Files to attach").set_input_files(notes[:1])
    expect(page.get_by_text("Say what to do with it", exact=True)).to_be_visible()
    page.get_by_label("Files to attach").set_input_files(notes[1:])
    expect(page.get_by_text("Say what to do with them", exact=True)).to_be_visible()
