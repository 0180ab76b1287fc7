"""The tree of the vault: dragged, renamed in place, several at once; notes of days, templates, tags."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from tests.ui.acts import faults
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES
from tests.ui.vaulted import Vaulted, holds, row, saved, write_at_end

pytestmark = pytest.mark.timeout(90)


def _some(vault: Vaulted) -> None:
    for path, text in {
        "people/jane.md": "# Jane\n",
        "people/work/acme.md": "# Acme\nof [[jane]]\n",
        "archive/old.md": "# Old\n",
        "trip.md": "# Trip\nwith [[people/jane]]\n",
    }.items():
        vault.served.ask("PUT", f"/vault/pages/{path}", {"text": text})


def test_a_page_is_dragged_into_a_folder_and_links_to_it_follow(vault: Vaulted, page: Page) -> None:
    _some(vault)
    vault.open(page, "people/jane.md")
    write_at_end(page, "just typed")
    row(page, "jane").drag_to(row(page, "archive"))
    expect(page.get_by_text("Moved 1 page to archive")).to_be_visible()
    expect(page).to_have_url(re.compile("/vault/pages/archive/jane.md$"))
    holds(page, "# Jane\njust typed")
    assert vault.text("archive/jane.md") == "# Jane\njust typed"
    assert vault.text("trip.md") == "# Trip\nwith [[archive/jane]]\n"
    page.get_by_role("button", name="Undo").click()
    expect(page).to_have_url(re.compile("/vault/pages/people/jane.md$"))
    assert vault.text("trip.md") == "# Trip\nwith [[people/jane]]\n"


def test_a_folder_is_dragged_with_all_that_is_in_it(vault: Vaulted, page: Page) -> None:
    _some(vault)
    vault.open(page)
    row(page, "people").drag_to(row(page, "archive"))
    expect(page.get_by_text("Moved 2 pages to archive")).to_be_visible()
    assert vault.text("archive/people/work/acme.md") == "# Acme\nof [[jane]]\n"
    assert vault.text("trip.md").startswith("# Trip\nwith [[")
    expect(row(page, "people")).to_have_count(0)
    row(page, "archive").click()
    expect(row(page, "people")).to_have_attribute("aria-level", "2")
    assert not (vault.folder / "people").exists()


def test_a_name_is_changed_in_place(vault: Vaulted, page: Page) -> None:
    _some(vault)
    vault.open(page)
    row(page, "trip").focus()
    page.keyboard.press("F2")
    field = page.get_by_role("textbox", name="Name", exact=True)
    expect(field).to_have_value("trip")
    assert faults(page) == []
    field.fill("journey")
    page.keyboard.press("Enter")
    expect(row(page, "journey")).to_be_visible()
    assert vault.text("journey.md").startswith("# Trip")
    row(page, "people").focus()
    page.keyboard.press("F2")
    page.keyboard.press("Control+a")
    page.keyboard.type("friends")
    page.keyboard.press("Enter")
    expect(row(page, "friends")).to_be_visible()
    expect(row(page, "people")).to_have_count(0)
    assert vault.text("journey.md") == "# Trip\nwith [[friends/jane]]\n"
    assert not (vault.folder / "people").exists()


def test_several_pages_are_chosen_moved_and_deleted_and_all_come_back(vault: Vaulted, page: Page) -> None:
    _some(vault)
    vault.open(page)
    row(page, "trip").click()
    expect(page.get_by_role("heading", level=1, name="trip")).to_be_visible()
    row(page, "user").click(modifiers=["Control"])
    bar = page.get_by_role("toolbar", name="Selected pages")
    expect(bar.get_by_text("2 selected")).to_be_visible()
    assert faults(page) == []
    bar.get_by_role("button", name="Move to…").click()
    page.get_by_label("Into the folder").fill("archive")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Moved 2 pages to archive")).to_be_visible()
    assert vault.text("archive/user.md") == "# About me\n"
    page.get_by_role("button", name="Undo").click()
    for name in ("user", "trip"):
        expect(row(page, name)).to_have_attribute("aria-level", "1")
    row(page, "trip").click()
    row(page, "user").click(modifiers=["Shift"])
    row(page, "user").focus()
    page.keyboard.press("Delete")
    expect(page.get_by_text("2 pages are deleted")).to_be_visible()
    assert not (vault.folder / "user.md").exists()
    page.get_by_role("button", name="Undo").last.click()
    expect(row(page, "user")).to_be_visible()
    assert vault.text("user.md") == "# About me\n"


def test_the_menu_of_a_row_makes_pages_and_folders_there(vault: Vaulted, page: Page) -> None:
    _some(vault)
    vault.open(page)
    row(page, "people").click(button="right")
    page.get_by_role("menuitem", name="New folder here").click()
    field = page.get_by_label("Path of the folder")
    expect(field).to_have_value("people/")
    field.fill("people/friends")
    page.keyboard.press("Enter")
    expect(row(page, "people")).to_be_visible()
    row(page, "people").click()
    expect(row(page, "friends")).to_be_visible()
    assert (vault.folder / "people/friends").is_dir()
    row(page, "friends").click(button="right")
    page.get_by_role("menuitem", name="New page here").click()
    page.get_by_label("Name, or path with folders").fill("people/friends/tom")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="tom")).to_be_visible()
    expect(row(page, "tom")).to_have_attribute("aria-level", "3")


def test_the_note_of_today_is_made_from_its_template_and_then_opened(vault: Vaulted, page: Page) -> None:
    vault.file("templates/daily.md", "# {{date}}\n\n- [ ] plan\n")
    vault.file("templates/meeting.md", "# {{title}}\nWith:\n")
    vault.open(page)
    today = datetime.now(ZoneInfo("Europe/Paris")).date().isoformat()
    expect(row(page, "templates")).to_be_visible()
    page.get_by_role("button", name="Today’s note").click()
    expect(page.get_by_role("heading", level=1, name=today)).to_be_visible()
    holds(page, f"# {today}\n\n- [ ] plan\n")
    assert vault.text(f"daily/{today}.md") == f"# {today}\n\n- [ ] plan\n"
    write_at_end(page, "more")
    page.keyboard.press("Control+s")
    expect(saved(page)).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").last.fill("today’s note")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/vault/pages/daily/{today}.md$"))
    holds(page, f"# {today}\n\n- [ ] plan\nmore")
    page.get_by_role("button", name="New page").click()
    page.get_by_label("Name, or path with folders").fill("Board meeting")
    page.get_by_role("combobox", name="Template").click()
    page.get_by_role("option", name="meeting").click()
    page.get_by_role("button", name="Create", exact=True).click()
    holds(page, "# Board meeting\nWith:\n")


def test_tags_are_listed_with_their_pages(vault: Vaulted, page: Page) -> None:
    vault.file("a.md", "# One\n#trip\n")
    vault.file("b.md", "---\ntags: [trip, work]\n---\n# Two\n")
    vault.open(page)
    expect(row(page, "b")).to_be_visible()
    page.get_by_role("link", name="Tags").click()
    expect(page.get_by_role("link", name="Tags")).to_have_attribute("aria-current", "page")
    page.get_by_role("searchbox", name="Find a tag").fill("#tri")
    expect(page.get_by_role("link", name="Two")).to_be_visible()
    assert faults(page) == []
    page.get_by_role("link", name="One").click()
    expect(page.get_by_role("heading", level=1, name="a")).to_be_visible()


def test_the_graph_of_all_pages_is_narrowed_to_a_folder_a_tag_and_what_nothing_links(
    vault: Vaulted, page: Page
) -> None:
    _some(vault)
    vault.open(page)
    expect(row(page, "trip")).to_be_visible()
    page.get_by_role("link", name="Graph of all pages").click()
    graph = page.get_by_role("group", name="All pages and their links")
    expect(graph.get_by_role("link")).to_have_count(5)
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-whole-graph.png")
    page.get_by_role("combobox", name="Show").click()
    page.get_by_role("option", name="Without links").click()
    expect(graph.get_by_role("link")).to_have_count(2)
    page.get_by_role("combobox", name="Show").click()
    page.get_by_role("option", name="people", exact=True).click()
    expect(graph.get_by_role("link")).to_have_count(2)
    graph.get_by_role("link", name=re.compile("^Jane,")).press("Enter")
    expect(page.get_by_role("heading", level=1, name="jane")).to_be_visible()


@pytest.mark.parametrize("width", [768, 820, 1024])
def test_all_tools_of_a_page_are_reached_on_a_tablet(vault: Vaulted, new_page: NewPage, width: int) -> None:
    _some(vault)
    page = new_page(width=width, height=900, has_touch=True)
    vault.open(page, "people/jane.md", mode="write")
    for tool in (
        page.get_by_role("button", name="Links and history"),
        page.get_by_role("button", name="More for jane"),
        page.get_by_text("Read", exact=True),
    ):
        box = tool.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert faults(page) == []
    page.screenshot(path=PICTURES / f"vault-tablet-{width}.png")
    page.get_by_role("button", name="More for jane").click()
    expect(page.get_by_role("menuitem", name="Rename or move")).to_be_visible()
