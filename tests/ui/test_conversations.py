"""Conversations as a person keeps them, in a real browser against the real server."""

from __future__ import annotations

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from bethink.llm.scripted_process import scripted_process
from tests.ui.acts import answered, composer, faults, say
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, SCRIPT, Served, bethink

pytestmark = pytest.mark.timeout(90)

OTHER = "openai:other"


def test_a_temporary_chat_is_marked_and_listed_nowhere(served: Served, new_page: NewPage) -> None:
    page = new_page()
    page.goto(served.url)
    expect(composer(page)).to_be_focused()
    page.keyboard.press("Control+Shift+Quote")
    expect(page).to_have_url(re.compile("/temporary$"))
    expect(page.get_by_role("heading", name="Temporary chat")).to_be_visible()
    expect(page.get_by_role("button", name="Temporary chat")).to_have_attribute("aria-pressed", "true")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "temporary.png")
    say(page, "What do you know?")
    expect(answered(page)).to_be_visible()
    expect(page).to_have_url(re.compile("/c/"))
    expect(page.get_by_text("Temporary", exact=True)).to_be_visible()
    expect(page.get_by_text("It goes a day after its last message.")).to_be_visible()
    assert served.get("/conversations")["total"] == 0
    page.reload()
    expect(page.get_by_text("Temporary", exact=True)).to_be_visible()
    expect(page.get_by_text("What you talk about will be listed here.")).to_be_visible()
    page.locator(".chat-head").get_by_role("button", name=re.compile("More for")).click()
    expect(page.get_by_role("menuitem", name="Archive")).to_have_count(0)
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page).to_have_url(f"{served.url}/")


@pytest.fixture(scope="module")
def with_models(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A Bethink that offers two models, both of which play tests/ui/script.json."""
    with (
        scripted_process(["--script", str(SCRIPT)]) as model,
        bethink(tmp_path_factory.mktemp("data"), model.base_url, BETHINK_MODELS_OFFERED=OTHER) as served,
    ):
        yield served


def test_a_model_and_instructions_are_chosen_for_one_conversation(with_models: Served, page: Page) -> None:
    page.goto(with_models.url)
    page.get_by_role("button", name="Model and instructions").click()
    dialog = page.get_by_role("dialog", name="Model and instructions")
    dialog.get_by_role("combobox", name="Model").select_option(OTHER)
    dialog.get_by_label("Instructions for this conversation").fill("Answer in French.")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "model.png")
    dialog.get_by_role("button", name="Save").click()
    chosen = page.get_by_role("button", name=f"Model and instructions: {OTHER} · own instructions")
    expect(chosen).to_be_visible()
    say(page, "What do you know?")
    expect(answered(page)).to_be_visible()
    (kept,) = with_models.get("/conversations")["items"]
    assert (kept["model"], kept["system"]) == (OTHER, "Answer in French.")
    page.reload()
    chosen.click()
    dialog.get_by_role("combobox", name="Model").select_option("")
    dialog.get_by_label("Instructions for this conversation").fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(chosen).to_have_count(0)
    (kept,) = with_models.get("/conversations")["items"]
    assert (kept["model"], kept["system"]) == (None, "")
