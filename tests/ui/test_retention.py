"""How long conversations are kept, in the page: what would go is shown before anything is chosen."""

from __future__ import annotations

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.ui.acts import chosen, faults
from tests.ui.acts import kept as for_this
from tests.ui.conftest import NewPage
from tests.ui.running import Served, imported

pytestmark = pytest.mark.timeout(120)

_KEPT = "How long conversations are kept"


@pytest.fixture
def kept(served: Served) -> Generator[Served]:
    """A Bethink with two old conversations, and nobody's choice."""
    for title in ("The heron", "The mill"):
        imported(served, title, [f"I saw {title.lower()}."])
    yield served
    served.patch("/preferences", {"conversation_days": None})


def part(page: Page) -> Locator:
    return page.get_by_role("region", name=_KEPT)


@pytest.mark.requirement("R186")
def test_what_would_go_is_shown_before_it_is_chosen_and_is_asked_for_once_more(
    kept: Served, page: Page
) -> None:
    page.goto(f"{kept.url}/settings/privacy")
    told = part(page).get_by_role("status")
    expect(told).to_have_text("They are kept for ever.")
    chosen(part(page), _KEPT, "30 days")
    expect(told).to_contain_text("2 conversations would be deleted within the hour")
    # Looking chooses nothing, and can be left.
    assert kept.get("/preferences")["conversation_days"] is None
    part(page).get_by_role("button", name="Cancel").click()
    expect(told).to_have_text("They are kept for ever.")
    expect(part(page).get_by_role("button", name="Keep them so long")).to_have_count(0)
    chosen(part(page), _KEPT, "730 days")
    part(page).get_by_role("button", name="Keep them so long").click()
    expect(part(page).get_by_role("button", name="Cancel")).to_have_count(0)
    assert kept.get("/preferences")["conversation_days"] == 730
    page.goto(f"{kept.url}/settings/privacy")
    expect(part(page).get_by_role("combobox", name=_KEPT)).to_contain_text("730 days")
    chosen(part(page), _KEPT, "As the settings of this Bethink say")
    expect(told).to_have_text("They are kept for ever.")
    part(page).get_by_role("button", name="Keep them so long").click()
    expect(part(page).get_by_role("button", name="Cancel")).to_have_count(0)
    expect(told).to_have_text("They are kept for ever.")
    assert kept.get("/preferences")["conversation_days"] is None


def test_nothing_is_said_of_a_choice_before_it_is_known(kept: Served, page: Page) -> None:
    page.goto(f"{kept.url}/settings/privacy")
    told = part(page).get_by_role("status")
    expect(told).to_have_text("They are kept for ever.")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile("/retention"), hold)
    chosen(part(page), _KEPT, "30 days")
    expect(part(page).get_by_role("button", name="Keep them so long")).to_be_visible()
    expect(told).to_have_count(0)
    for_this(page, held).continue_()
    expect(told).to_contain_text("2 conversations would be deleted within the hour")


@pytest.mark.parametrize(
    ("width", "scheme"), [(1360, "light"), (1360, "dark"), (390, "light"), (390, "dark")]
)
def test_it_is_accessible_and_fits_on_a_phone_and_in_the_dark(
    kept: Served, new_page: NewPage, width: int, scheme: str
) -> None:
    page = new_page(width=width, height=844, color_scheme=scheme, has_touch=width < 500)
    page.goto(f"{kept.url}/settings/privacy")
    chosen(part(page), _KEPT, "7 days")
    expect(part(page).get_by_role("status")).to_contain_text("2 conversations would be deleted")
    part(page).scroll_into_view_if_needed()
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for button in part(page).get_by_role("button").all():
        box = button.bounding_box()
        assert box is not None
        assert width > 500 or box["height"] >= 44
