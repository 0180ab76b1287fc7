"""A question to the vault in its room: the answer as it comes, stopped, refused, and what it leads to."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.acts import faults
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, bethink
from tests.ui.vaulted import Vaulted

pytestmark = pytest.mark.timeout(90)
_SCRIPT = Path(__file__).parent / "vault_script.json"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, browser: object) -> Generator[Vaulted]:
    """A vault with an agent that plays a script."""
    del browser
    data = tmp_path_factory.mktemp("asked")
    with scripted_process(["--script", str(_SCRIPT)]) as model, bethink(data, model.base_url) as served:
        made = Vaulted(served, data / "vault")
        served.get("/vault")
        made.file("entities/jane_doe.md", "# Jane Doe\n\n- work: doctor\n")
        yield made


def _ask(page: Page, question: str) -> None:
    page.get_by_role("textbox", name="Question").fill(question)
    page.keyboard.press("Enter")


def test_an_answer_shows_its_steps_and_leads_to_the_pages_that_it_used(asked: Vaulted, page: Page) -> None:
    asked.open(page)
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Ask the vault")).to_be_visible()
    assert faults(page) == []
    _ask(page, "Who is Jane?")
    answer = page.get_by_role("article", name="Answer")
    expect(answer).to_contain_text("She is your doctor, see jane_doe and nobody.")
    expect(answer.get_by_role("list", name="Tool calls").get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_role("heading", name="Who is Jane?")).to_be_visible()
    expect(page.get_by_role("status").get_by_text("Answered")).to_be_attached()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-ask.png")
    read = page.get_by_role("navigation", name="Pages it read").get_by_role("link", name="jane_doe")
    expect(read).to_be_visible()
    answer.get_by_role("link", name="jane_doe").click()
    expect(page.get_by_role("heading", level=1, name="jane_doe")).to_be_visible()
    page.go_back()
    # It is there still: only who leaves the room leaves it behind.
    expect(answer).to_contain_text("She is your doctor")
    read.click()
    expect(page.get_by_role("heading", level=1, name="jane_doe")).to_be_visible()


def test_what_was_noted_is_told_and_taken_back(asked: Vaulted, page: Page) -> None:
    asked.file("user.md", "# About me\n")
    asked.open(page, "user.md")
    asked.open(page, "")
    page.get_by_role("link", name="Ask", exact=True).click()
    _ask(page, "Note that I moved.")
    expect(page.get_by_role("article", name="Answer")).to_contain_text("Noted.")
    expect(page.get_by_role("heading", name="Changes")).to_be_visible()
    assert asked.text("user.md") == "# About me\n- city: Lisbon\n"
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-ask-noted.png")
    page.get_by_role("button", name=re.compile("^Undo: ")).click()
    expect(page.get_by_text("Undone")).to_be_visible()
    assert asked.text("user.md") == "# About me\n"


def test_an_answer_is_stopped_and_what_was_said_stays(asked: Vaulted, page: Page) -> None:
    page.goto(f"{asked.served.url}/vault/ask")
    _ask(page, "Tell me everything.")
    answer = page.get_by_role("article", name="Answer")
    expect(answer).to_contain_text("It")
    page.get_by_role("button", name="Stop").click()
    expect(answer).to_contain_text("You stopped this answer")
    expect(answer).to_have_attribute("aria-busy", "false")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(answer).not_to_contain_text("enough of it")
    _ask(page, "Who is Jane?")
    expect(answer).to_contain_text("She is your doctor")


def test_a_model_that_refuses_is_told_in_words(asked: Vaulted, page: Page) -> None:
    page.goto(f"{asked.served.url}/vault/ask")
    _ask(page, "Fail now.")
    expect(page.get_by_role("alert")).to_contain_text("The key is wrong")
    expect(page.get_by_role("button", name="Ask again")).to_be_visible()
    assert faults(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_a_model_the_room_says_what_to_set(vault: Vaulted, new_page: NewPage, scheme: str) -> None:
    page = new_page(width=360, height=740, color_scheme=scheme)
    page.goto(f"{vault.served.url}/vault/ask")
    _ask(page, "Who is Jane?")
    expect(page.get_by_role("heading", name="No language model is set up")).to_be_visible()
    expect(page.get_by_role("link", name="Choose a model")).to_have_attribute("href", "/setup/model")
    page.get_by_text("In a terminal").click()
    expect(page.get_by_text(re.compile("BETHINK_MODEL")).first).to_be_visible()
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(path=PICTURES / f"vault-ask-no-model-{scheme}.png")
