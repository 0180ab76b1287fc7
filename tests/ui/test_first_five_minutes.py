"""The first five minutes: a model, a history, three things told, a first answer, and why a fact is believed.

Each walk begins with a Bethink that nobody has told anything, and needs no terminal.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from tests.exports import asked_and_answered, packed
from tests.ui.acts import answered, composer, faults, say
from tests.ui.conftest import NewPage
from tests.ui.hands import Finger, Hand, Keyboard, Pointer
from tests.ui.running import PICTURES, bethink

pytestmark = [pytest.mark.timeout(180), pytest.mark.usefixtures("home_engine")]

_SCRIPT = Path(__file__).with_name("journey_script.json")
_KEY = "sk-the-right-one"
_QUESTION = "How hard is it to row a rowing boat twice as fast?"
_FACT = "User rows on the lake of Annecy on Sundays"
_WAYS = ("desk", "phone", "keyboard")


@pytest.fixture(scope="module")
def model(browser: object) -> Generator[ScriptedProcess]:
    """A server of models that wants a key."""
    del browser
    with scripted_process(["--script", str(_SCRIPT), "--key", _KEY]) as process:
        yield process


def _export() -> FilePayload:
    talks = [
        asked_and_answered(f"Rowing {n}", f"Which oars, {n}?", "Sculls of carbon.", id=f"r{n}")
        for n in range(3)
    ]
    return {
        "name": "chatgpt.zip",
        "mimeType": "application/zip",
        "buffer": packed({"conversations.json": talks}),
    }


@pytest.mark.requirement("R6")
@pytest.mark.parametrize("way", _WAYS)
def test_a_person_goes_all_the_way_from_nothing_to_why_a_fact_is_believed(
    way: str, model: ScriptedProcess, new_page: NewPage, tmp_path: Path
) -> None:
    phone = way == "phone"
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True) if phone else new_page()
    hand: Hand = Finger() if phone else Keyboard(page) if way == "keyboard" else Pointer()
    with bethink(tmp_path, None) as served:
        page.goto(served.url)
        _choose_model(page, hand, model)
        _bring_history(page, hand)
        _tell_of_oneself(page, hand)
        _ask(page, hand, way)
        _run_what_was_made(page, hand)
        _find_why(page, hand, way)
        assert served.get("/settings")["model"] == "custom:scripted-demo"
        assert len(served.get("/conversations")["items"]) == 4
        assert "Ann" in str(served.get("/memories"))


def _choose_model(page: Page, hand: Hand, model: ScriptedProcess) -> None:
    """The address without its end, and a key that was copied badly, are mended where they are typed."""
    expect(page.get_by_role("heading", name="Choose a model")).to_be_focused()
    hand.press(page.get_by_role("button", name=re.compile("Another server")))
    expect(page.get_by_role("heading", name="Another server")).to_be_focused()
    address = page.get_by_label("Address (base URL)")
    hand.write(address, model.origin)
    expect(page.get_by_text("This server asks for a key")).to_be_visible()
    key = page.get_by_label("Key, if it asks for one")
    hand.write(key, "sk-half-of")
    expect(page.get_by_text("does not accept this key")).to_be_visible()
    page.keyboard.press("Shift+Tab")
    hand.write(key, _KEY)
    expect(page.get_by_role("radio", name="scripted-demo")).to_be_checked()
    expect(address).to_have_value(model.base_url)
    hand.press(page.get_by_role("button", name="Test", exact=True))
    expect(page.get_by_text("It works")).to_be_visible()
    hand.press(page.get_by_role("button", name="Use this model"))


def _bring_history(page: Page, hand: Hand) -> None:
    expect(page.get_by_role("heading", name="Bring your history")).to_be_focused()
    hand.press(page.get_by_role("button", name="ChatGPT", exact=True))
    expect(page.get_by_text("Export data")).to_be_visible()
    _upload(page, hand, {"name": "cat.zip", "mimeType": "application/zip", "buffer": packed({"cat": b"m"})})
    expect(page.get_by_role("article", name="cat.zip")).to_contain_text("is not a known export")
    expect(page.get_by_role("button", name="Continue")).to_have_count(0)
    _upload(page, hand, _export())
    card = page.get_by_role("article", name="chatgpt.zip")
    expect(card.get_by_role("status")).to_have_text("Ready to import")
    expect(card).to_contain_text("3 conversations new")
    hand.press(card.get_by_role("button", name=re.compile("^Import")))
    expect(card.get_by_role("status")).to_have_text("Imported")
    expect(card).to_be_focused()
    hand.press(page.get_by_role("button", name="Continue"))


def _upload(page: Page, hand: Hand, file: FilePayload) -> None:
    with page.expect_file_chooser() as chooser:
        hand.press(page.get_by_role("button", name="Choose an export"))
    chooser.value.set_files(file)


def _tell_of_oneself(page: Page, hand: Hand) -> None:
    expect(page.get_by_role("heading", name="Three things about you")).to_be_focused()
    hand.write(page.get_by_label("What may I call you?"), "Ann")
    hand.write(page.get_by_label("Where do you live?"), "Annecy")
    hand.press(page.get_by_role("button", name="Short", exact=True))
    hand.press(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_role("list", name="What is remembered").get_by_role("listitem")).to_have_count(2)
    onward = page.get_by_role("button", name="Continue")
    expect(onward).to_be_focused()
    assert faults(page) == []
    hand.press(onward)


def _ask(page: Page, hand: Hand, way: str) -> None:
    expect(page.get_by_role("heading", name="You are ready")).to_be_focused()
    hand.press(page.get_by_role("button", name="Start chatting"))
    if way == "phone":
        composer(page).tap()
    expect(composer(page)).to_be_focused()
    page.keyboard.type(_QUESTION)
    if way == "phone":
        hand.press(page.get_by_role("button", name="Send", exact=True))
    else:
        page.keyboard.press("Enter")
    expect(answered(page)).to_be_visible()
    answer = page.get_by_role("article", name="Bethink")
    expect(answer.locator(".katex-display annotation")).to_contain_text(r"\rho\,C_w")
    code = answer.locator("figure", has_text="def power").locator("pre")
    note = code.get_by_text("# watts")
    expect(note).not_to_have_css("color", code.evaluate("(pre) => getComputedStyle(pre).color"))
    assert faults(page) == []
    page.screenshot(path=PICTURES / f"first-answer-{way}.png")


def _run_what_was_made(page: Page, hand: Hand) -> None:
    """It runs in a frame that belongs to nobody, and what has the focus returns to where it was."""
    opener = page.get_by_role("button", name="Open in pane")
    hand.press(opener, back=True)
    name = "Stroke by stroke"
    pane = page.get_by_role("dialog", name=name).or_(page.get_by_role("complementary", name=name))
    expect(pane).to_be_visible()
    inside = pane.frame_locator("iframe")
    hand.press(inside.get_by_role("button", name="Pull"))
    expect(inside.get_by_text("8 m")).to_be_visible()
    assert inside.locator("html").evaluate("() => self.origin") == "null"
    assert faults(page) == []
    hand.press(pane.get_by_role("button", name=re.compile("^Close")), back=True)
    expect(pane).to_have_count(0)


def _find_why(page: Page, hand: Hand, way: str) -> None:
    if way == "keyboard":
        page.keyboard.press("g")
        page.keyboard.press("m")
    else:
        hand.press(page.get_by_role("link", name="Memory", exact=True))
    row = page.get_by_role("article", name=_FACT)
    expect(row).to_be_visible()
    hand.press(row if way == "keyboard" else row.get_by_role("link"))
    source = page.get_by_role("region", name="Where it comes from")
    expect(source).to_contain_text(_QUESTION)
    expect(page.get_by_role("region", name="Story")).to_contain_text("Learnt")
    assert faults(page) == []
    hand.press(source.get_by_role("link"))
    expect(page).to_have_url(re.compile("/c/"))
    expect(page.get_by_role("article", name="You").filter(has_text=_QUESTION)).to_be_focused()


def _begun(page: Page) -> Locator:
    """What there is of the answer, with its formula drawn while it is written."""
    answer = page.get_by_role("article", name="Bethink")
    expect(answer.locator(".katex-display annotation")).to_contain_text(r"c\,t")
    expect(answer).to_contain_text("until the wind came down")
    return answer


def test_what_was_written_before_the_power_went_is_kept_and_said_to_be_unfinished(
    model: ScriptedProcess, page: Page, tmp_path: Path
) -> None:
    own = {
        "BETHINK_MODEL": "custom:scripted-demo",
        "BETHINK_MODEL_BASE_URL": model.base_url,
        "BETHINK_MODEL_API_KEY": _KEY,
    }
    with bethink(tmp_path, None, **own) as served:
        page.goto(served.url)
        say(page, "Tell me a long story")
        # What is looked for later is by now older than the second of text that a power cut may cost.
        expect(_begun(page)).to_contain_text("ten strokes")
        expect(page.get_by_role("button", name="Stop the answer")).to_be_visible()
        served.kill()
        expect(page.get_by_text("Bethink is not responding. The answer so far is kept")).to_be_visible()
    port = served.url.rpartition(":")[2]
    with bethink(tmp_path, None, BETHINK_PORT=port, **own) as served:
        _is_unfinished(page)
        page.reload()
        _is_unfinished(page)
        page.screenshot(path=PICTURES / "after-the-power-cut.png")


def _is_unfinished(page: Page) -> None:
    """It says so, and can go on."""
    answer = _begun(page)
    expect(page.get_by_text("Bethink was stopped during this answer")).to_be_visible()
    expect(page.get_by_role("button", name="Stop the answer")).to_have_count(0)
    expect(answer.get_by_role("button", name="Continue", exact=True)).to_be_visible()
