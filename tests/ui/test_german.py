"""German is whole: no room shows English, nor what the server says of settings, states, calls or faults."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.conftest import NewPage
from tests.ui.english import english
from tests.ui.running import Served, bethink, imported

pytestmark = pytest.mark.timeout(180)

_SCRIPT = Path(__file__).with_name("german_script.json")
_ROOMS = (
    *("/", "/today", "/memory", "/memory/profile", "/memory/health", "/memory/graph", "/memory/review"),
    *("/vault", "/vault/check", "/vault/filters", "/vault/graph", "/vault/pages/Notizen/Reise.md"),
    *("/documents", "/documents/folders", "/tasks", "/tasks?view=board", "/schedules", "/prompts"),
    *("/calendar?view=month", "/calendar?view=week", "/calendar?view=agenda", "/nirgends"),
    *("/setup/model", "/setup/history", "/setup/about"),
)
_SETTINGS = (
    *("model", "assistants", "memory", "you", "import", "tools", "calls", "servers", "web", "media", "code"),
    *("documents", "planner", "vault", "privacy", "keys", "redis", "network", "advanced", "about"),
)
_OPENED = 12
"""So many parts of a room that are folded are opened; more of one kind say the same."""


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Generator[Served]:
    """A Bethink with something in each room, all of it in German."""
    del browser
    data = tmp_path_factory.mktemp("german")
    with (
        scripted_process(["--script", str(_SCRIPT)]) as model,
        bethink(data, model.base_url, BETHINK_GRAPH_ENABLED="true") as served,
    ):
        imported(served, "Reise", ["Wohin?", "Nach Lissabon."])
        for fact in ("Isst kein Fleisch", "Wohnt in Paris", "Wohnt in Rom"):
            served.post("/memories", {"content": fact})
        for rule in ("FREQ=MONTHLY;BYMONTHDAY=1", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;INTERVAL=2"):
            served.post("/tasks", {"title": "Putzen", "recurrence": rule, "due_date": "2026-12-01"})
        chorus = {"title": "Chor", "start": "2026-11-25T19:00:00+01:00", "end": "2026-11-25T21:00:00+01:00"}
        served.post("/calendar/events", chorus | {"recurrence": "FREQ=WEEKLY;BYDAY=WE"})
        served.post("/schedules", {"action": "remind", "text": "Trinken", "when": "every day at 9:00"})
        notes = data / "vault" / "Notizen"
        notes.mkdir(parents=True, exist_ok=True)
        (notes / "Reise.md").write_text("# Reise\n\nNach [[Lissabon]].\n- [ ] buchen\n", "utf-8")
        (notes / "Wer weiß?.md").write_text("# Frage\n", "utf-8")
        yield served


def _open_what_is_folded(page: Page) -> None:
    for _ in range(_OPENED):
        folded = page.locator(
            "main button[aria-expanded=false]:not([aria-haspopup]), main details:not([open])"
        )
        if not folded.count():
            return
        first = folded.first
        try:
            (first.locator("summary") if first.evaluate("e => e.tagName") == "DETAILS" else first).click(
                timeout=2000
            )
        except Error:  # what lies behind something else is not for a person now
            return


def _settled(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def test_no_room_shows_english(german: Served, new_page: NewPage) -> None:
    page = new_page(locale="de-DE")
    found: dict[str, list[str]] = {}
    for path in (*_ROOMS, *(f"/settings/{place}" for place in _SETTINGS)):
        page.goto(german.url + path)
        _settled(page)
        _open_what_is_folded(page)
        if left := english(page):
            found[path] = left
    assert found == {}


def test_a_conversation_its_questions_and_failures_are_in_german(german: Served, new_page: NewPage) -> None:
    page = new_page(locale="de-DE")
    page.goto(german.url)
    words = page.get_by_role("textbox", name="Nachricht")
    for said, answer in (
        ("Wo liegt Lissabon?", page.get_by_text("In Portugal, am Tejo.")),
        ("Vergiss alles", page.get_by_text("Das lässt sich nicht rückgängig machen.")),
    ):
        words.fill(said)
        page.keyboard.press("Enter")
        expect(answer.first).to_be_visible()
    expect(page.get_by_text("Im Gedächtnis suchen: Lissabon").first).to_be_visible()
    assert english(page) == []
    page.get_by_role("button", name=re.compile("Ablehnen")).click()
    expect(page.get_by_text("Alles bleibt.").first).to_be_visible()
    words.fill("zerbrich")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("lehnte die Anfrage ab")).first).to_be_visible()
    assert english(page) == []


def test_repetitions_are_said_in_german(german: Served, new_page: NewPage) -> None:
    page = new_page(locale="de-DE")
    page.goto(f"{german.url}/tasks")
    expect(page.get_by_text("jeden Monat am 1. Tag")).to_be_visible()
    expect(page.get_by_text("alle 2 Wochen an Werktagen")).to_be_visible()
    page.goto(f"{german.url}/schedules")
    expect(page.get_by_text("jeden Tag", exact=True).first).to_be_visible()


def test_what_is_refused_is_said_in_german(german: Served, new_page: NewPage) -> None:
    page = new_page(locale="de-DE")
    page.goto(f"{german.url}/tasks")
    quick = page.get_by_role("textbox", name=re.compile("Neue Aufgabe"))
    quick.fill("Putzen 25:00")
    expect(page.get_by_text(re.compile("keine Uhrzeit"))).to_be_visible()
    assert english(page) == []
    page.goto(f"{german.url}/c/gibt-es-nicht")
    _settled(page)
    assert english(page) == []
    expect(page.get_by_text("Gespräch nicht gefunden").first).to_be_visible()
