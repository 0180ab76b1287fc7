"""The server ends in the middle of an answer, and comes back: what the page says, and what it sends then."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.acts import composer, say
from tests.ui.running import SCRIPT, bethink

pytestmark = [pytest.mark.timeout(180), pytest.mark.usefixtures("home_engine")]

_SOON_MS = 15_000
"""Half of what passes between two looks of a page that has no reason to look."""


def test_a_server_that_dies_is_noticed_at_once_and_what_waits_keeps_its_order(
    page: Page, tmp_path: Path
) -> None:
    with scripted_process(["--script", str(SCRIPT)]) as model:
        with bethink(tmp_path, model.base_url) as served:
            page.goto(served.url)
            say(page, "Count without end")
            expect(page.get_by_text("One, two, three")).to_be_visible()
            say(page, "Hello there")
            expect(page.get_by_role("list", name="Sent when this answer ends")).to_contain_text("Hello there")
            served.kill()
            expect(page.get_by_text("Bethink is not responding since")).to_be_visible(timeout=_SOON_MS)
            expect(page.get_by_text("Bethink is not responding. The answer so far is kept")).to_be_visible()
            expect(page.get_by_text("The answer continues")).to_have_count(0)
        port = served.url.rpartition(":")[2]
        with bethink(tmp_path, model.base_url, BETHINK_PORT=port) as served:
            expect(page.get_by_text("Connected again.")).to_be_visible()
            expect(page.get_by_text("Bethink is not responding since")).to_have_count(0)
            waiting = page.get_by_role("list", name="Not sent, because the answer before it did not finish")
            expect(waiting).to_contain_text("Hello there")
            composer(page).fill("And goodbye")
            composer(page).press("Enter")
            said = page.get_by_role("article", name="You")
            expect(said).to_have_count(3)
            expect(said.nth(1)).to_contain_text("Hello there")
            expect(said.nth(2)).to_contain_text("And goodbye")
