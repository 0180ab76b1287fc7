"""The graph in the room of documents: by mouse, by keyboard, as a list, small, and in every light."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.ui.acts import faults
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, Served

pytestmark = pytest.mark.timeout(90)

_TEXTS = {
    "lease.md": "# Lease\n\nThe lease of the office in Harbour Street 7 was signed by Ines Prata.\n",
    "people.md": "# People\n\nOur lawyer Ines Prata is on leave in August.\n",
    "boat.md": "# Boat\n\nThe boat Santa Luzia needs a coat of varnish.\n",
    "boat-list.md": "# List\n\nVarnish and two brushes for the boat Santa Luzia.\n",
    "soup.md": "# Soup\n\nOnions are cut into thin rings.\n",
}


@pytest.fixture
def library(served: Served) -> Served:
    """Documents and a memory that hang together."""
    while kept := served.get("/documents?limit=100")["items"]:
        for document in kept:
            served.delete(f"/documents/{document['id']}")
    for name, text in _TEXTS.items():
        made = served.post("/documents/text", {"name": name, "text": text})
        while made["stage"] not in {"ready", "failed"}:
            made = served.get(f"/documents/{made['id']}")
    served.post("/memories", {"content": "Ines Prata was recommended by Ann."})
    return served


def _spot(page: Page, name: str) -> Locator:
    """A node of the drawing."""
    return page.get_by_role("group", name=re.compile("^What hangs together")).get_by_role(
        "link", name=re.compile(f"^{re.escape(name)}")
    )


def _open(library: Served, page: Page) -> None:
    page.goto(f"{library.url}/documents/graph")
    expect(page.get_by_role("group", name="What hangs together with Everything")).to_be_visible()


def test_a_node_is_found_and_opened_where_it_stands(library: Served, page: Page) -> None:
    page.goto(f"{library.url}/documents")
    page.get_by_role("link", name="Graph", exact=True).click()
    topics = page.get_by_role("list", name="Topics")
    expect(topics.get_by_role("link", name=re.compile("boat|varnish"))).to_be_visible()
    expect(_spot(page, "Ines Prata was recommended")).to_be_attached()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "graph.png")

    find = page.get_by_role("combobox", name="Find a node")
    find.fill("who signed the lease of the office")
    expect(page.get_by_role("option").first).to_contain_text("Lease")
    assert faults(page) == []
    find.press("Enter")
    side = page.get_by_role("complementary", name="What is in the middle")
    expect(side.get_by_role("heading", name="Lease")).to_be_visible()
    expect(side.get_by_role("region", name="What it says")).to_contain_text("Harbour Street 7")
    name = side.get_by_role("region", name="1 step away").get_by_role("link", name=re.compile("^Ines Prata"))
    expect(name).to_contain_text("named here")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "graph-node.png")
    name.click()
    side.get_by_role("link", name=re.compile("^Ines Prata was recommended")).click()
    side.get_by_role("link", name="Open in memory").click()
    expect(page).to_have_url(re.compile("/memory/"))
    page.go_back()
    page.go_back()
    page.go_back()
    side.get_by_role("link", name="Open at this passage").click()
    expect(page.locator("mark").get_by_text("Harbour Street")).to_be_visible()
    page.get_by_role("button", name="More for lease.md").click()
    page.get_by_role("menuitem", name="In the graph").click()
    expect(side.get_by_role("heading", name="lease.md")).to_be_visible()
    expect(side.get_by_role("link", name="Open the document")).to_be_visible()


def test_the_way_between_two_is_shown_step_by_step(library: Served, page: Page) -> None:
    _open(library, page)
    find = page.get_by_role("combobox", name="Find a node")
    find.fill("people.md")
    page.get_by_role("option", name="people.md Document").click()
    page.get_by_role("link", name="A way from here").click()
    expect(page.get_by_text("where it leads")).to_be_visible()
    find.fill("lease.md")
    page.get_by_role("option", name="lease.md Document").click()
    steps = page.get_by_role("region", name="The way").get_by_role("listitem")
    expect(steps).to_have_count(5)
    expect(steps.nth(2)).to_contain_text("Ines Prata")
    assert faults(page) == []
    page.get_by_role("link", name="Leave it").click()
    expect(steps).to_have_count(0)


def test_the_graph_is_walked_with_the_keyboard(library: Served, page: Page) -> None:
    _open(library, page)
    _spot(page, "Everything").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") != "Everything"
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/documents/graph\?node="))
    page.get_by_role("link", name="Show all").click()
    expect(page).to_have_url(f"{library.url}/documents/graph")


def test_a_graph_that_is_off_says_which_setting_switches_it_on(library: Served, page: Page) -> None:
    said = "The graph is switched off: BETHINK_GRAPH_ENABLED=true switches it on."

    def refuse(route: Route) -> None:
        problem: dict[str, Any] = {
            "type": "urn:bethink:error:not_allowed",
            "title": "Not allowed",
            "status": 403,
            "detail": said,
        }
        if route.request.resource_type == "document":
            route.continue_()
        else:
            route.fulfill(status=403, content_type="application/problem+json", body=json.dumps(problem))

    page.route("**/documents/graph", refuse)
    page.goto(f"{library.url}/documents/graph")
    expect(page.get_by_text("It shows how documents")).to_be_visible()
    assert faults(page) == []
    switch = page.get_by_role("link", name="Switch it on in Settings")
    expect(switch).to_have_attribute("href", "/settings/memory?setting=graph_enabled")


@pytest.mark.parametrize("look", ["light", "dark", "forced"])
def test_the_graph_is_accessible_on_a_phone_in_every_light(
    library: Served, new_page: NewPage, look: str
) -> None:
    options = {"forced_colors": "active"} if look == "forced" else {"color_scheme": look}
    page = new_page(width=360, height=740, has_touch=True, is_mobile=True, reduced_motion="reduce", **options)
    _open(library, page)
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(path=PICTURES / f"graph-phone-{look}.png", full_page=True)
    page.get_by_role("complementary").get_by_role("link", name=re.compile("^Lease")).click()
    expect(page.get_by_role("link", name="Open at this passage")).to_be_visible()
    assert faults(page) == []
