"""Settings in the page: found, changed while Bethink runs, taken back, refused, or set elsewhere."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Generator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.acts import faults, go, kept
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, ROOT, SCRIPT, Served, bethink

pytestmark = pytest.mark.timeout(120)

_PLACES = [
    "model",
    "assistants",
    "memory",
    "you",
    "import",
    "tools",
    "servers",
    "web",
    "images",
    "code",
    "documents",
    "planner",
    "vault",
    "privacy",
    "keys",
    "redis",
    "connections",
    "advanced",
    "calls",
    "about",
]
_HOSTILE = ROOT / "tests" / "servers" / "hostile.py"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, browser: object) -> Generator[Served]:
    """A Bethink of its own, whose limit of steps is set by its environment."""
    del browser
    with (
        scripted_process(["--script", str(SCRIPT)]) as model,
        bethink(
            tmp_path_factory.mktemp("data"), model.base_url, BETHINK_MAX_STEPS="7", BETHINK_EXTRACTION=""
        ) as served,
    ):
        yield served


@pytest.fixture
def served(running: Served) -> Generator[Served]:
    """The same; what a test has kept is put back."""
    yield running
    kept = [one["name"] for one in running.get("/settings")["settings"] if one["source"] == "kept"]
    running.patch("/settings", dict.fromkeys(kept))


def _row(page: Page, name: str) -> Locator:
    return page.locator(f"[data-setting='{name}']")


def _value(served: Served, name: str) -> Any:  # noqa: ANN401 - each setting has its own type
    return next(one["value"] for one in served.get("/settings")["settings"] if one["name"] == name)


def _until_kept(page: Page, served: Served, name: str, value: object) -> None:
    """What is listed is shown before it is kept."""
    while _value(served, name) != value:
        page.wait_for_timeout(50)


def test_a_setting_is_found_by_its_words_changed_taken_back_and_reset(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings")
    expect(page.get_by_role("heading", level=1, name="Model")).to_be_visible()
    page.get_by_label("Search settings").fill("memories recalled")
    page.get_by_role("link", name=re.compile("Memories per answer")).click()
    expect(page).to_have_url(re.compile(r"/settings/memory\?setting=recall_limit"))
    field = page.get_by_role("textbox", name="Memories per answer")
    expect(field).to_be_focused()
    field.fill("9")
    page.keyboard.press("Enter")
    row = _row(page, "recall_limit")
    expect(row.get_by_role("status")).to_have_text("Saved")
    assert _value(served, "recall_limit") == 9
    row.get_by_role("button", name=re.compile("Undo")).click()
    expect(field).to_have_value("12")
    assert _value(served, "recall_limit") == 12
    field.fill("3")
    page.keyboard.press("Tab")
    row.get_by_role("button", name=re.compile("Reset to 12")).click()
    expect(field).to_have_value("12")
    assert _value(served, "recall_limit") == 12


def test_what_is_refused_is_told_at_its_field_and_not_kept(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/memory?setting=recall_limit")
    field = page.get_by_role("textbox", name="Memories per answer")
    for wrong in ("999", "many"):
        field.fill(wrong)
        page.keyboard.press("Enter")
        expect(_row(page, "recall_limit").get_by_role("alert")).not_to_be_empty()
        expect(field).to_have_value(wrong)
        expect(field).to_have_attribute("aria-invalid", "true")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "settings-refused.png")
    assert _value(served, "recall_limit") == 12


def test_what_the_environment_sets_says_so_and_cannot_be_changed(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/tools?setting=max_steps")
    expect(page.get_by_role("textbox", name="Steps per answer")).to_be_disabled()
    expect(_row(page, "max_steps")).to_contain_text("BETHINK_MAX_STEPS")
    page.goto(f"{served.url}/settings/model")
    expect(page.get_by_role("region", name="The model")).to_contain_text("BETHINK_MODEL")
    expect(page.get_by_role("button", name="Choose another")).to_have_count(0)


def test_switches_choices_lists_and_secrets_are_kept_at_once(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/memory")
    page.get_by_role("combobox", name="Learn from conversations").click()
    page.get_by_role("option", name="Suggest").click()
    expect(_row(page, "extraction").get_by_role("status")).to_have_text("Saved")
    page.goto(f"{served.url}/settings/code")
    page.get_by_role("switch", name="Python").click()
    expect(_row(page, "code_enabled").get_by_role("status")).to_have_text("Saved")
    page.goto(f"{served.url}/settings/web?setting=web_allow_private")
    private = page.get_by_role("textbox", name=re.compile("Add to Private addresses"))
    private.fill("wiki.lan")
    private.press("Enter")
    page.get_by_role("button", name="Remove wiki.lan").wait_for()
    private.fill("10.0.0.0/8")
    private.press("Enter")
    expect(_row(page, "web_allow_private").get_by_role("listitem")).to_have_count(2)
    page.get_by_role("button", name="Remove wiki.lan").click()
    expect(_row(page, "web_allow_private").get_by_role("listitem")).to_have_count(1)
    _until_kept(page, served, "web_allow_private", ["10.0.0.0/8"])
    page.goto(f"{served.url}/settings/images?setting=images_api_key")
    page.get_by_role("button", name=re.compile("Set Key of the image model")).click()
    page.keyboard.type("sk-secret")
    page.keyboard.press("Enter")
    expect(_row(page, "images_api_key")).to_contain_text("••••")
    assert _value(served, "extraction") == "suggest"
    assert _value(served, "code_enabled") is False
    assert "sk-secret" not in str(served.get("/settings"))
    page.goto(f"{served.url}/settings/about")
    expect(page.get_by_role("region", name="Changes")).to_contain_text(
        "Learn from conversations: Automatic → Suggest"
    )
    assert "sk-secret" not in page.content()


def test_changes_that_come_faster_than_they_are_saved_are_all_kept(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/web?setting=web_allow_private")
    listed = _row(page, "web_allow_private").get_by_role("listitem")
    private = page.get_by_role("textbox", name=re.compile("Add to Private addresses"))
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "PATCH" and not held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/settings", hold)
    private.fill("wiki.lan")
    private.press("Enter")
    first = kept(page, held)
    expect(listed).to_have_count(1)
    private.fill("printer.lan")
    private.press("Enter")
    expect(listed).to_have_count(2)
    with page.expect_response(lambda response: "printer" in (response.request.post_data or "")):
        first.continue_()
    page.reload()
    expect(listed).to_have_count(2)
    assert _value(served, "web_allow_private") == ["wiki.lan", "printer.lan"]


def test_what_needs_a_new_start_says_so(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/connections?setting=host")
    row = _row(page, "host")
    expect(row).to_contain_text("Takes effect when Bethink is started again")
    page.get_by_role("textbox", name="Address", exact=True).fill("127.0.0.2")
    page.keyboard.press("Enter")
    expect(row).to_contain_text("Saved. It takes effect when Bethink is started again.")


def test_prices_are_entered_in_a_form(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/model?setting=prices")
    _row(page, "prices").get_by_role("button", name=re.compile("Add")).click()
    form = page.get_by_role("dialog", name="Prices")
    form.get_by_label("Name").fill("openai:scripted")
    form.get_by_role("textbox", name="input").fill("1.25")
    form.get_by_role("textbox", name="output").fill("10")
    page.keyboard.press("Enter")
    expect(_row(page, "prices").get_by_role("listitem")).to_contain_text("openai:scripted")
    _until_kept(page, served, "prices", {"openai:scripted": {"input": 1.25, "output": 10}})
    page.get_by_role("button", name="Edit openai:scripted").click()
    assert faults(page) == []


def test_an_assistant_is_added_edited_and_removed(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/assistants")
    page.get_by_role("button", name="Add an assistant").click()
    page.get_by_label("Name").fill("Translator")
    page.get_by_label("Instructions").fill("Translate into French.")
    page.get_by_role("switch", name="It may use tools").click()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "settings-assistant.png")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("list", name="Assistants")).to_contain_text("without tools")
    page.get_by_role("button", name="Edit Translator").click()
    page.get_by_label("Instructions").fill("Translate into German.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("list", name="Assistants")).to_contain_text("into German")
    kept = _value(served, "assistants")["Translator"]
    assert (kept["system"], kept["tools"], kept["memory"]) == ("Translate into German.", False, True)
    page.get_by_role("button", name="Remove Translator").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_role("heading", name="No assistants yet")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("list", name="Assistants")).to_contain_text("Translator")


def test_a_tool_server_runs_only_the_command_that_was_confirmed(served: Served, page: Page) -> None:
    line = shlex.join([sys.executable, "-I", "-S", str(_HOSTILE)])
    page.goto(f"{served.url}/settings/servers")
    page.get_by_role("button", name="Add a server").click()
    form = page.get_by_role("dialog", name="Add a server")
    form.get_by_label("Name").fill("odd")
    form.get_by_text("A program on this machine").click()
    form.get_by_label(re.compile("^Command")).fill(line)
    form.get_by_role("button", name="Test").click()
    asked = form.get_by_role("region", name="Run this program?")
    expect(asked).to_be_focused()
    expect(asked).to_contain_text(line)
    assert faults(page) == []
    page.screenshot(path=PICTURES / "settings-server.png")
    asked.get_by_role("button", name="Run it for a test").click()
    expect(form.get_by_role("region", name="What it offers")).to_contain_text("poison")
    form.get_by_role("button", name="Add", exact=True).click()
    card = page.get_by_role("article", name="odd", exact=True)
    expect(card).to_contain_text(line)
    assert faults(page) == []
    card.get_by_role("button", name="Edit odd").click()
    expect(page.get_by_label(re.compile("^Command"))).to_have_value(line)
    page.get_by_label(re.compile("^Command")).fill("no-such-program")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("region", name="Run this program?")).to_contain_text("no-such-program")
    page.get_by_role("button", name="Cancel").click()
    card.get_by_role("button", name="Remove odd").click()
    page.get_by_role("button", name="Remove", exact=True).last.click()
    expect(card).to_have_count(0)
    assert served.get("/mcp-servers")["servers"] == []


@pytest.mark.requirement("R211")
def test_what_a_person_prefers_is_kept(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/you")
    page.get_by_label("Your instructions").fill("I am a nurse.")
    page.get_by_role("button", name="Friendly").click()
    expect(page.get_by_role("textbox", name="Tone")).to_have_value("warm and friendly")
    page.get_by_label("Language of answers").fill("Deutsch")
    page.keyboard.press("Enter")
    # One after the other: the last one that is kept is the last one that was changed.
    with page.expect_response(lambda told: "Europe" in (told.request.post_data or "")):
        page.get_by_label("Time zone").fill("europe/paris")
        page.keyboard.press("Tab")
    page.reload()
    expect(page.get_by_label("Your instructions")).to_have_value("I am a nurse.")
    kept = served.get("/preferences")
    told = (kept["instructions"], kept["tone"], kept["language"], kept["time_zone"])
    assert told == ("I am a nurse.", "warm and friendly", "Deutsch", "Europe/Paris")
    served.patch("/preferences", dict.fromkeys(kept))


def test_each_place_is_accessible_on_a_desk_and_on_a_phone(served: Served, new_page: NewPage) -> None:
    page = new_page()
    phone = new_page(width=390, height=844, has_touch=True, is_mobile=True, color_scheme="dark")
    for view in (page, phone):
        view.goto(f"{served.url}/settings/about")
    for place in _PLACES:
        for view in (page, phone):
            go(view, f"/settings/{place}")
            expect(view.get_by_role("heading", level=1)).to_have_count(1)
            expect(view.locator(".skeleton")).to_have_count(0)
            assert (place, faults(view)) == (place, [])
            assert view.evaluate("document.documentElement.scrollWidth <= innerWidth"), place


def test_on_a_phone_the_list_leads_to_a_page_and_back(served: Served, new_page: NewPage) -> None:
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    page.goto(f"{served.url}/settings")
    expect(page.get_by_role("heading", level=1, name="Settings")).to_be_visible()
    page.screenshot(path=PICTURES / "settings-phone.png")
    page.get_by_role("link", name="Memory and recall").tap()
    expect(page.get_by_role("heading", level=1, name="Memory and recall")).to_be_visible()
    page.get_by_role("switch", name="Memory", exact=True).tap()
    expect(_row(page, "memory_enabled").get_by_role("status")).to_have_text("Saved")
    small = page.evaluate(
        """() => [...document.querySelectorAll("main :is(button, a, summary, select)")]
            .filter((one) => one.checkVisibility())
            .map((one) => [one.ariaLabel ?? one.textContent, one.getBoundingClientRect()])
            .filter(([, box]) => box.width && (box.width < 44 || box.height < 44))
            .map(([name]) => name)"""
    )
    assert small == []
    page.get_by_role("link", name="All settings").tap()
    expect(page.get_by_role("heading", level=1, name="Settings")).to_be_visible()


def test_settings_speak_german(served: Served, new_page: NewPage) -> None:
    page = new_page(own=True)
    page.add_init_script("localStorage.setItem('bethink.language', JSON.stringify({language: 'de'}))")
    # What tools say of themselves is the model's matter.
    page.goto(f"{served.url}/settings/about")
    for place in (place for place in _PLACES if place != "tools"):
        go(page, f"/settings/{place}")
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        expect(page.locator(".skeleton")).to_have_count(0)
        english = re.findall(
            r"\b(?:Whether|Longest|Seconds of|Saved|Loading|Remove|Add)\b[^\n]*", page.inner_text("main")
        )
        assert (place, english) == (place, [])
