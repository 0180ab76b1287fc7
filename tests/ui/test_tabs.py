"""Eight tabs of one browser, which has six connections to a server: all of them work."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from playwright.sync_api import Page, expect

from tests.ui.acts import say
from tests.ui.running import Served
from tests.ui.vaulted import Vaulted, holds, row

pytestmark = pytest.mark.timeout(180)

TABS = 8


def tabs_of(page: Page) -> Sequence[Page]:
    """Eight tabs of the page's browser."""
    return [page, *(page.context.new_page() for _ in range(TABS - 1))]


@pytest.mark.requirement("P2b", "R177")
def test_eight_tabs_of_the_vault_share_one_stream_and_outlive_the_one_that_reads_it(
    vault: Vaulted, page: Page
) -> None:
    tabs = tabs_of(page)
    for tab in tabs:
        vault.open(tab, "user.md")
        holds(tab, "# About me\n")
    vault.file("first.md", "# First\n")
    for tab in tabs:
        expect(row(tab, "first")).to_be_visible()
    # One reads the vault's stream, one that of notices and one that of conversations; the others wait.
    locks = page.evaluate("navigator.locks.query()")
    names = {lock["name"] for lock in locks["held"]}
    assert len(locks["held"]) == len(names) == 3
    assert len(locks["pending"]) == 3 * (TABS - 1)
    first, *others = tabs
    first.close()
    vault.file("second.md", "# Second\n")
    for tab in others:
        expect(row(tab, "second")).to_be_visible()
        row(tab, "second").click()
        holds(tab, "# Second\n")


@pytest.mark.requirement("P2b", "R177")
def test_eight_answers_stream_at_once_and_each_can_be_stopped(served: Served, page: Page) -> None:
    tabs = tabs_of(page)
    for tab in tabs:
        tab.goto(f"{served.url}/")
        say(tab, "Count without end")
        expect(tab.get_by_text("One, two")).to_be_visible()
    for tab in tabs:
        tab.keyboard.press("Control+.")
        expect(tab.get_by_text("You stopped this answer")).to_be_visible()
    assert len(served.get("/conversations")["items"]) == TABS
