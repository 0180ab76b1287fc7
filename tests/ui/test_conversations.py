"""Conversations as a person keeps them, in a real browser against the real server."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.acts import answered, chat_head, composer, faults, say
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, SCRIPT, Served, bethink, imported

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
    expect(page.get_by_text("It is deleted one day after its last message.")).to_be_visible()
    assert served.get("/conversations")["total"] == 0
    page.reload()
    expect(page.get_by_text("Temporary", exact=True)).to_be_visible()
    expect(page.get_by_text("Your conversations are listed here.")).to_be_visible()
    chat_head(page).get_by_role("button", name=re.compile("More for")).click()
    expect(page.get_by_role("menuitem", name="Archive")).to_have_count(0)
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("button", name="Delete for good", exact=True).click()
    expect(page).to_have_url(f"{served.url}/")


def test_a_conversation_without_words_is_a_new_chat_and_one_that_is_not_there_is_none(
    served: Served, page: Page
) -> None:
    page.goto(served.url)
    note: FilePayload = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"Trams"}
    page.get_by_label("Files to attach").set_input_files(note)
    expect(page).to_have_url(re.compile("/c/"))
    expect(page.get_by_role("heading", level=1)).to_have_text("New chat")
    page.goto(f"{served.url}/c/not-there")
    expect(page.get_by_role("alert")).to_contain_text("Not found")
    expect(page.get_by_role("heading", level=1)).to_have_text("Conversation")


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
    picker = page.get_by_role("button", name=re.compile("^Model: "))
    picker.click()
    page.get_by_role("combobox", name="Find a model or an assistant").fill(OTHER)
    # Enter takes what is marked, which follows the words when it is drawn.
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(picker).to_have_accessible_name(f"Model: {OTHER.removeprefix('openai:')}")
    page.get_by_role("button", name="Instructions for this conversation").click()
    dialog = page.get_by_role("dialog", name="Instructions for this conversation")
    dialog.get_by_label("Instructions for this conversation").fill("Answer in French.")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "instructions.png")
    dialog.get_by_role("button", name="Save").click()
    written = page.get_by_role("button", name="Instructions for this conversation: Answer in French.")
    expect(written).to_be_visible()
    say(page, "What do you know?")
    expect(answered(page)).to_be_visible()
    (kept,) = with_models.get("/conversations")["items"]
    assert (kept["model"], kept["system"]) == (OTHER, "Answer in French.")
    page.reload()
    written.click()
    dialog.get_by_label("Instructions for this conversation").fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(written).to_have_count(0)
    page.get_by_role("main").get_by_role("button", name=re.compile("^More for")).last.click()
    page.get_by_role("menuitem", name="Instructions").click()
    expect(dialog.get_by_label("Instructions for this conversation")).to_have_value("")
    (kept,) = with_models.get("/conversations")["items"]
    assert (kept["model"], kept["system"]) == (OTHER, "")


def question(page: Page, text: str) -> Locator:
    """What the owner said, as the page shows it."""
    return page.get_by_role("article", name="You").filter(has_text=text)


def test_a_message_is_edited_and_both_versions_stay(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Hello there")
    expect(answered(page)).to_be_visible()
    say(page, "What do you know?")
    expect(page.get_by_role("button", name="Copy answer")).to_have_count(2)
    page.keyboard.press("ArrowUp")
    edited = page.get_by_role("textbox", name="Your message, edited")
    expect(edited).to_be_focused()
    expect(edited).to_have_value("What do you know?")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "edit.png")
    edited.fill("What do you know about boats?")
    page.keyboard.press("Enter")
    expect(composer(page)).to_be_focused()
    expect(page.get_by_role("button", name="Copy answer")).to_have_count(2)
    versions = page.get_by_role("group", name="Versions of this message")
    expect(versions).to_contain_text("2/2")
    # Plain words stand where the parser of Markdown is on its way.
    expect(page.locator("[data-markdown=plain]")).to_have_count(0)
    place = question(page, "Hello there").bounding_box()
    versions.get_by_role("button", name="Earlier version of this message").click()
    expect(question(page, "What do you know?")).to_be_visible()
    expect(question(page, "about boats")).to_have_count(0)
    expect(versions).to_contain_text("1/2")
    later = versions.get_by_role("button", name="Later version of this message")
    expect(later).to_be_focused()
    assert question(page, "Hello there").bounding_box() == place
    assert faults(page) == []
    page.screenshot(path=PICTURES / "branches.png")
    page.keyboard.press("Enter")
    expect(question(page, "about boats")).to_be_visible()
    page.reload()
    expect(question(page, "about boats")).to_be_visible()
    expect(versions).to_contain_text("2/2")
    # The very first message, too, and by the pencil.
    question(page, "Hello there").hover()
    question(page, "Hello there").get_by_role("button", name="Edit message").click()
    edited.fill("Good evening")
    page.get_by_role("button", name="Send", exact=True).first.click()
    expect(page.get_by_role("button", name="Copy answer")).to_have_count(1)
    expect(question(page, "about boats")).to_have_count(0)
    expect(versions).to_contain_text("2/2")


def test_an_answer_is_made_anew_and_the_first_one_stays(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "What do you know?")
    expect(answered(page)).to_be_visible()
    page.get_by_role("button", name="Regenerate answer").click()
    versions = page.get_by_role("group", name="Versions of this answer")
    expect(versions).to_contain_text("2/2")
    expect(page.get_by_role("article", name="You")).to_have_count(1)
    expect(page.get_by_role("article", name="Bethink")).to_have_count(1)
    versions.get_by_role("button", name="Earlier version of this answer").click()
    expect(versions).to_contain_text("1/2")
    page.reload()
    expect(versions).to_contain_text("1/2")
    assert faults(page) == []


@pytest.mark.requirement("R206")
def test_words_are_found_in_messages_and_open_at_their_place(served: Served, page: Page) -> None:
    said = [f"Note number {number} about the garden" for number in range(400)]
    said[37] = "The quince tree wants pruning in February, and the medlar too."
    imported(served, "Garden diary", said)
    page.goto(served.url)
    page.get_by_role("button", name="Search").click()
    page.keyboard.type("quince pruned")
    found = page.get_by_role("option", name=re.compile("The quince tree wants pruning"))
    expect(found).to_be_visible()
    expect(found.locator("mark").first).to_have_text("quince")
    expect(found).to_contain_text("in Garden diary")
    page.screenshot(path=PICTURES / "search.png")
    assert faults(page) == []
    found.click()
    expect(page).to_have_url(re.compile("/c/[^/]+/37$"))
    place = page.get_by_role("article").filter(has_text="The quince tree wants pruning")
    expect(place).to_be_in_viewport()
    expect(place).to_be_focused()
    expect(page.get_by_text("Note number 36 about the garden")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Go to the end")).to_be_visible()
    page.screenshot(path=PICTURES / "found.png")
    page.reload()
    expect(place).to_be_in_viewport()
    page.get_by_role("button", name="Go to the end").click()
    expect(page.get_by_text("Note number 399 about the garden")).to_be_in_viewport()


def _to_edge(page: Page, *, up: bool) -> None:
    """Scroll to an edge of what is held, and wait until more has come in there."""
    page.evaluate(
        """async (up) => {
            const page = document.querySelector("[data-stream]");
            const edge = () => [...page.querySelectorAll("[data-turn]")].at(up ? 0 : -1).dataset.turn;
            const before = edge();
            // A hand that goes on: what was asked for at the edge may have been let go of meanwhile.
            for (let frame = 0; edge() === before; frame += 1) {
                const beside = frame % 2;
                page.scrollTop = up ? beside : page.scrollHeight - page.clientHeight - beside;
                await new Promise(requestAnimationFrame);
            }
        }""",
        up,
    )


@pytest.mark.requirement("R174")
def test_ten_thousand_messages_are_held_a_stretch_at_a_time(served: Served, page: Page) -> None:
    conversation = imported(
        served, "A long story", [f"Line {number} of the story" for number in range(10_000)]
    )
    page.goto(f"{served.url}/c/{conversation}")
    expect(page.get_by_text("Line 9999 of the story")).to_be_in_viewport()
    turns = page.locator("[data-turn]")
    for _ in range(10):
        top = turns.first.inner_text().split("\n")[0]
        _to_edge(page, up=True)
        # What was read at the edge is still in view, with more above it.
        expect(page.get_by_text(top, exact=True)).to_be_in_viewport()
    assert int(re.findall(r"Line (\d+)", turns.first.inner_text())[0]) < 9_700
    assert turns.count() <= 200
    page.goto(f"{served.url}/c/{conversation}/20")
    expect(page.get_by_text("Line 20 of the story", exact=True)).to_be_in_viewport()
    for _ in range(10):
        _to_edge(page, up=False)
    assert int(re.findall(r"Line (\d+)", turns.last.inner_text())[-1]) > 400
    assert turns.count() <= 200
    page.get_by_role("button", name="Go to the end").click()
    expect(page.get_by_text("Line 9999 of the story")).to_be_in_viewport()


@pytest.mark.requirement("R153", "R151")
def test_a_conversation_is_taken_along_as_a_file(served: Served, page: Page) -> None:
    conversation = imported(served, "Boat names", ["Which name?", "Perhaps Halcyon."])
    page.goto(f"{served.url}/c/{conversation}")
    for kind, ending, words in (
        ("Markdown", "md", "# Boat names"),
        ("JSON", "json", '"kind":"conversation"'),
    ):
        chat_head(page).get_by_role("button", name="More for Boat names").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=f"Export as {kind}").click()
        assert download.value.suggested_filename == f"Boat names.{ending}"
        assert words in download.value.path().read_text(encoding="utf-8")


def test_the_archive_is_a_list_of_its_own(served: Served, page: Page) -> None:
    for title in ("Boat names", "Tax letter"):
        served.post("/conversations", {"title": title})
    page.goto(served.url)
    page.get_by_role("link", name="Tax letter").focus()
    page.keyboard.press("x")
    expect(page.get_by_role("link", name="Tax letter")).to_have_count(0)
    expect(page.get_by_role("link", name="Boat names")).to_be_focused()
    page.get_by_role("button", name="Archived").click()
    expect(page.get_by_role("link", name="Tax letter")).to_be_visible()
    expect(page.get_by_role("link", name="Boat names")).to_have_count(0)
    assert faults(page) == []
    page.screenshot(path=PICTURES / "archive.png")
    page.get_by_role("link", name="Tax letter").focus()
    page.keyboard.press("x")
    expect(page.get_by_text("No archived conversations.")).to_be_visible()
    page.get_by_role("button", name="All conversations").click()
    expect(page.get_by_role("link", name="Tax letter")).to_be_visible()


@pytest.mark.requirement("R153")
def test_the_ring_says_what_fills_the_window_and_what_was_spent(served: Served, new_page: NewPage) -> None:
    dark = new_page(color_scheme="dark")
    phone = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    for page, name in ((dark, "ring-dark.png"), (phone, "ring-phone.png")):
        page.goto(served.url)
        say(page, "What do you know?")
        expect(answered(page)).to_be_visible()
        ring = page.get_by_role("button", name=re.compile("Context window .* percent full"))
        ring.click()
        note = page.get_by_role("dialog", name="Context window")
        for words in ("Instructions", "Tools", "Messages", "Free", "Answers", "Total"):
            expect(note.get_by_text(words, exact=True)).to_be_visible()
        assert faults(page) == []
        page.screenshot(path=PICTURES / name)
        page.reload()
        expect(ring).to_be_visible()


def test_the_name_that_the_model_gives_a_conversation_is_shown_by_itself(page: Page, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    name = {"when": '^{"message"', "text": "A boat of one's own", "delay_ms": 400, "chunk_characters": 9}
    script.write_text(json.dumps([name, {"text": "Sail away."}]))
    with (
        scripted_process(["--script", str(script)]) as model,
        bethink(tmp_path / "data", model.base_url, BETHINK_TITLES="model") as served,
    ):
        page.goto(served.url)
        say(page, "How do I buy a boat?")
        expect(answered(page)).to_be_visible()
        expect(page.get_by_role("link", name="A boat of one's own")).to_be_visible()
        expect(page.get_by_role("heading", name="A boat of one's own")).to_be_visible()
