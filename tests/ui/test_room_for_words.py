"""Words have room: nothing is cut off, laid over or broken in the middle where there is little of it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.ui.acts import chat_head, composer, faults, say
from tests.ui.conftest import NewPage
from tests.ui.running import Served, imported
from tests.ui.vaulted import Vaulted, look_away, saved, write_at_end

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


def test_a_long_title_leaves_the_ring_its_number(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Which train should I take?")
    ring = page.get_by_role("button", name=re.compile("Context window"))
    expect(ring).to_be_visible()
    wide = _box(ring)
    (talk,) = served.get("/conversations")["items"]
    served.patch(f"/conversations/{talk['id']}", {"title": "Trains that run at night and " * 6})
    page.reload()
    expect(page.get_by_role("heading", level=1, name=re.compile("run at night"))).to_be_visible()
    narrow = _box(ring)
    assert narrow[2] - narrow[0] == pytest.approx(wide[2] - wide[0])


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_a_note_does_not_lie_over_the_composer(
    served: Served, new_page: NewPage, size: tuple[int, int]
) -> None:
    talk = imported(served, "Trams", ["Which tram?", "The 28."])
    page = new_page(width=size[0], height=size[1])
    page.goto(served.url)
    composer(page).fill("A line\n" * 12)
    page.wait_for_function("() => Object.values(sessionStorage).some(text => text.startsWith('A line'))")
    page.goto(f"{served.url}/c/{talk}")
    chat_head(page).get_by_role("button", name="More for Trams").click()
    page.get_by_role("menuitem", name="Archive").click()
    note = page.get_by_role("region", name="Notifications").get_by_text("Conversation archived")
    expect(note).to_be_visible()
    expect(page).to_have_url(f"{served.url}/")
    expect(composer(page)).to_have_value("A line\n" * 12)
    assert _box(note)[3] < _box(composer(page))[1]


def test_the_way_to_the_end_lies_over_nothing_on_a_phone(served: Served, new_page: NewPage) -> None:
    talk = imported(served, "Trams", ["Which tram?", "The 28.\n\n" * 60])
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    page.goto(f"{served.url}/c/{talk}")
    stream = page.get_by_role("region", name="Messages")
    expect(stream.get_by_text("The 28.").last).to_be_in_viewport()
    stream.evaluate("stream => stream.scrollTo(0, 0)")
    way = page.get_by_role("button", name="Go to the end")
    expect(way).to_be_visible()
    assert _box(way)[1] >= _box(stream)[3]
    assert _box(way)[3] <= _box(composer(page))[1]
    way.click()
    expect(way).to_have_count(0)
    expect(stream.get_by_text("The 28.").last).to_be_in_viewport()


def test_a_page_keeps_its_name_beside_what_is_wrong_with_it(vault: Vaulted, new_page: NewPage) -> None:
    page = new_page(width=1280, height=800)
    look_away(page)
    vault.open(page, "user.md")
    expect(saved(page)).to_be_visible()
    vault.file("user.md", "# About me\ntheirs\n")
    write_at_end(page, "mine\n")
    page.keyboard.press("Control+s")
    expect(page.get_by_role("status").get_by_text("Not saved: changed elsewhere")).to_be_visible()
    left, _, right, _ = _box(page.get_by_role("heading", level=1, name="user"))
    assert right - left > 60


def test_what_a_check_offers_is_read_on_a_phone(vault: Vaulted, new_page: NewPage) -> None:
    vault.file("a folder/Which of the pages has a name that is quite long?.md", "# Page\n")
    page = new_page(width=390, height=844)
    page.goto(f"{vault.served.url}/vault/check")
    offer = page.get_by_role("button", name=re.compile("Rename it to"))
    expect(offer).to_be_visible()
    assert _box(offer)[2] <= 390


def test_every_part_has_a_name_in_words(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/about")
    names = page.get_by_role("region", name="Status").get_by_role("term")
    expect(names.first).to_be_visible()
    assert [name for name in names.all_inner_texts() if re.match("[a-z_]+$", name)] == []


def test_what_is_asked_about_files_counts_them(served: Served, page: Page) -> None:
    page.goto(served.url)
    notes = [FilePayload(name=name, mimeType="text/plain", buffer=b"x") for name in ("a.txt", "b.txt")]
    page.get_by_label("Files to attach").set_input_files(notes[:1])
    expect(page.get_by_text("Describe what to do with it", exact=True)).to_be_visible()
    page.get_by_label("Files to attach").set_input_files(notes[1:])
    expect(page.get_by_text("Describe what to do with them", exact=True)).to_be_visible()
