"""The drawing of what is near a page: by mouse, by keyboard, as a list, small, large, and in every light."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.acts import drawn, faults
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES
from tests.ui.vaulted import Vaulted, editor

pytestmark = pytest.mark.timeout(90)
_LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"


def _small(vault: Vaulted) -> None:
    vault.file("user.md", "# About me\n\nKnows [[jane_doe]], lives in [[lisbon]], wants [[a_boat]].\n")
    vault.file("entities/jane_doe.md", "# Jane Doe\n\nWorks at [[clinic]] in [[lisbon]].\n")
    vault.file("entities/clinic.md", "# Clinic\n")
    vault.file("lisbon.md", "# Lisbon\n")
    vault.file(f"{_LONG}.md", f"# {_LONG}\n\nOf [[user]].\n")


def _open(vault: Vaulted, page: Page, path: str = "user.md") -> Locator:
    """The drawing around a page."""
    page.goto(f"{vault.served.url}/vault/graph/{path}")
    return page.get_by_role("group", name=re.compile("^Pages near"))


def _spot(page: Page, name: str) -> Locator:
    return page.get_by_role("link", name=re.compile(f"^{name}, "))


def test_what_is_near_a_page_is_drawn_and_opened(vault: Vaulted, page: Page) -> None:
    _small(vault)
    vault.open(page, "user.md")
    page.get_by_role("link", name="Graph", exact=True).click()
    expect(page.get_by_role("group", name="Pages near About me")).to_be_visible()
    expect(_spot(page, "Jane Doe")).to_be_visible()
    expect(_spot(page, "Clinic")).to_have_count(0)
    lost = _spot(page, "a_boat, does not exist yet")
    expect(lost).to_have_attribute("href", "/vault/pages/a_boat.md")
    page.get_by_text("2", exact=True).click()
    expect(_spot(page, "Clinic")).to_have_accessible_name(re.compile("2 links away"))
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-graph.png")
    page.get_by_text("As a list", exact=True).click()
    listed = page.get_by_role("listitem").filter(has_text="links to Clinic, Lisbon")
    expect(listed).to_contain_text("1 link away")
    _spot(page, "Jane Doe").click()
    expect(page.get_by_role("heading", level=1, name="jane_doe")).to_be_visible()
    expect(editor(page)).to_be_visible()


def _places(page: Page) -> list[str]:
    """Where the nodes stand, whichever part of them is in view."""
    return page.get_by_role("group", name=re.compile("^Pages near")).evaluate(
        "group => [...group.querySelectorAll('a')].map(one => one.style.transform)"
    )


def test_the_drawing_is_walked_with_the_keyboard_and_does_not_move(vault: Vaulted, page: Page) -> None:
    _small(vault)
    group = _open(vault, page)
    expect(group.get_by_role("link")).to_have_count(5)
    _spot(page, "About me").focus()
    before = _places(page)
    walked = set[str]()
    for key in ("ArrowRight", "Home", "ArrowLeft", "Home", "ArrowUp", "Home", "ArrowDown"):
        page.keyboard.press(key)
        walked.add(page.evaluate("document.activeElement.textContent"))
    assert len(walked) >= 4
    assert _places(page) == before
    # One stop for the key Tab, however many pages there are.
    assert group.locator("a[tabindex='0']").count() == 1
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="user")).to_be_visible()
    expect(editor(page)).to_be_visible()


def test_the_drawing_is_zoomed_and_moved_and_comes_back(vault: Vaulted, page: Page) -> None:
    _small(vault)
    group = _open(vault, page)
    node = _spot(page, "Jane Doe")
    expect(node).to_be_visible()
    # A page that is taken in behind the first reading moves the others.
    expect(group.get_by_role("link")).to_have_count(5)
    for name in ("Lisbon", _LONG):
        expect(_spot(page, name)).to_be_attached()
    # A name is as wide as its font, which comes behind it.
    page.evaluate("document.fonts.ready.then(() => true)")
    drawn(page)
    whole = node.bounding_box()
    page.get_by_role("button", name="Zoom in").click()
    drawn(page)
    assert node.bounding_box() != whole
    page.get_by_role("button", name="Fit to view").click()
    drawn(page)
    assert node.bounding_box() == whole
    drawing = page.get_by_role("region", name="Drawing").bounding_box()
    assert whole is not None
    assert drawing is not None
    x, y = drawing["x"] + 20, drawing["y"] + 20
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 50, y + 30, steps=4)
    page.mouse.up()
    moved = node.bounding_box()
    assert moved is not None
    assert abs(moved["x"] - whole["x"] - 50) <= 2
    assert abs(moved["y"] - whole["y"] - 30) <= 2
    # What was dragged was not clicked, and what is far away is found by the keyboard.
    expect(group).to_be_visible()
    page.mouse.wheel(0, -3000)
    node.focus()
    page.keyboard.press("0")
    drawn(page)
    assert node.bounding_box() == whole


def test_a_link_that_is_written_elsewhere_appears_in_the_drawing(vault: Vaulted, page: Page) -> None:
    _small(vault)
    _open(vault, page)
    expect(_spot(page, "Jane Doe")).to_be_visible()
    vault.file("new.md", "# New one\n\nSee [[user]].\n")
    expect(_spot(page, "New one")).to_be_visible()


def test_hundreds_of_pages_are_in_view_and_listed(vault: Vaulted, page: Page) -> None:
    vault.file("user.md", "# About me\n" + "".join(f"- [[entities/page_{n}.md]]\n" for n in range(320)))
    for n in range(320):
        vault.file(f"entities/page_{n}.md", f"# Page {n}\n")
    group = _open(vault, page)
    # The important ones are links of the page, any other is reached with the keyboard.
    expect(group.get_by_role("link")).to_have_count(80)
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-graph-large.png")
    _spot(page, "About me").focus()
    names = set[str]()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
        names.add(page.evaluate("document.activeElement.textContent"))
    assert len(names) > 5
    page.get_by_text("As a list", exact=True).click()
    page.get_by_role("searchbox", name="Search in the list").fill("page 319")
    expect(page.get_by_role("listitem").filter(has_text="Page 319")).to_contain_text("linked from About me")
    assert faults(page) == []


def test_a_page_that_is_not_there_has_no_drawing(vault: Vaulted, page: Page) -> None:
    _open(vault, page, "nobody.md")
    expect(page.get_by_role("alert")).to_be_visible()
    assert faults(page) == []


@pytest.mark.parametrize("look", ["light", "dark", "forced"])
def test_the_drawing_is_accessible_in_every_light(vault: Vaulted, new_page: NewPage, look: str) -> None:
    _small(vault)
    options = {"forced_colors": "active"} if look == "forced" else {"color_scheme": look}
    page = new_page(width=360, height=740, has_touch=True, is_mobile=True, reduced_motion="reduce", **options)
    _open(vault, page)
    expect(_spot(page, "Jane Doe")).to_be_attached()
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(path=PICTURES / f"vault-graph-phone-{look}.png")


def test_what_a_drawing_offers_stays_together_on_a_phone(vault: Vaulted, new_page: NewPage) -> None:
    _small(vault)
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    expect(_open(vault, page)).to_be_visible()
    leave = page.get_by_role("link", name="Open the page")
    depth = page.get_by_role("group", name="Links away")
    middles: list[float] = []
    for part in (depth, leave):
        box = part.bounding_box()
        assert box is not None
        middles.append(box["y"] + box["height"] / 2)
    assert max(middles) - min(middles) < 2
    for name in ("Zoom in", "Zoom out", "Fit to view"):
        box = page.get_by_role("button", name=name).bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44
