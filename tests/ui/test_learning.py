"""What is learnt after an answer: shown beside it by itself, taken back there, or decided in the review."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.acts import answered, faults, say
from tests.ui.running import PICTURES, Served, bethink

pytestmark = pytest.mark.timeout(120)

SAID = "Ich spiele Cello. Vielleicht lerne ich noch Bratsche."
CELLO, VIOLA = "Der Nutzer spielt Cello", "Der Nutzer lernt Bratsche"


def _change(quote: str, fact: str) -> dict[str, object]:
    return {"do": "add", "turn": 1, "quote": quote, "fact": fact, "about": "user", "of": []}


@pytest.fixture
def learning(tmp_path: Path, browser: object) -> Generator[Served]:
    """A Bethink whose model finds two facts in what is said, one of them uncertain."""
    del browser
    found = [_change("Ich spiele Cello", CELLO), _change("Vielleicht lerne ich noch Bratsche", VIOLA)]
    rules = [
        {"when": '^\\{"known"', "text": json.dumps({"changes": found}), "delay_ms": 200},
        {"text": "Wie schön."},
    ]
    script = tmp_path / "script.json"
    script.write_text(json.dumps(rules))
    with (
        scripted_process(["--script", str(script)]) as model,
        bethink(tmp_path / "data", model.base_url, BETHINK_EXTRACTION="auto") as served,
    ):
        yield served


@pytest.mark.requirement("R208")
def test_what_is_learnt_shows_beside_the_answer_and_can_be_taken_back(learning: Served, page: Page) -> None:
    page.goto(learning.url)
    say(page, SAID)
    expect(answered(page)).to_be_visible()
    expect(page.get_by_role("button", name="Memory updated")).to_be_visible()
    lines = page.get_by_role("complementary", name="This answer").get_by_role("listitem")
    expect(lines).to_have_count(2)
    expect(lines.first).to_contain_text(CELLO)
    expect(lines.last).to_contain_text("waiting for your review")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "learning.png")
    assert [one["content"] for one in learning.get("/memories")["items"]] == [CELLO]
    lines.first.get_by_role("button", name=f"Undo: {CELLO}").click()
    expect(lines.first).to_contain_text("Undone")
    assert learning.get("/memories")["items"] == []


def test_what_is_not_sure_is_accepted_in_the_review(learning: Served, page: Page) -> None:
    page.goto(learning.url)
    say(page, SAID)
    expect(page.get_by_role("button", name="Memory updated")).to_be_visible()
    page.goto(f"{learning.url}/memory/review")
    expect(page.get_by_text(VIOLA).first).to_be_visible()
    page.screenshot(path=PICTURES / "learning-review.png")
    page.get_by_role("button", name="Accept").first.click()
    expect(page.locator("[data-suggested]")).to_have_count(0)
    contents = {one["content"] for one in learning.get("/memories")["items"]}
    assert contents == {CELLO, VIOLA}
