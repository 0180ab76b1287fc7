"""Messages that wait for files, that go on from an earlier answer, and what a long conversation came to."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, FilePayload, Page, Request, Route, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.acts import answered, composer, faults, kept, say
from tests.ui.running import PICTURES, Served, bethink

pytestmark = pytest.mark.timeout(90)

NOTES: FilePayload = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"Glaciers melt."}
SUMMARY = "They greeted, and spoke of **glaciers**."


def goes_up(request: Request) -> bool:
    return request.method == "POST" and request.url.endswith("/files")


def test_a_message_waits_for_its_file_and_can_be_taken_back(served: Served, page: Page) -> None:
    held: list[Route] = []
    page.route("**/files", lambda route: held.append(route) if goes_up(route.request) else route.fallback())
    page.goto(served.url)
    page.get_by_label("Files to attach").set_input_files([NOTES])
    say(page, "What is in it?")
    waiting = page.get_by_role("list", name="Sent when the files are uploaded")
    expect(waiting).to_contain_text("What is in it?")
    expect(waiting).to_contain_text("notes.txt")
    expect(page.get_by_role("list", name="Files to send")).to_have_count(0)
    expect(composer(page)).to_have_value("")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "waiting-for-a-file.png")
    page.get_by_role("button", name="Remove from the queue: What is in it?").click()
    expect(waiting).to_have_count(0)
    expect(page.get_by_role("list", name="Files to send")).to_contain_text("notes.txt")
    say(page, "What is in it, then?")
    say(page, "And after that?")
    expect(waiting.get_by_role("listitem")).to_have_count(2)
    assert page.get_by_role("article", name="You").count() == 0
    kept(page, held).continue_()
    expect(page.get_by_role("article", name="You")).to_have_count(2)
    first = page.get_by_role("article", name="You").first
    expect(first).to_contain_text("What is in it, then?")
    expect(first.get_by_role("list", name="Your files")).to_contain_text("notes.txt")
    expect(page.get_by_role("button", name="Copy answer")).to_have_count(2)
    (talk,) = served.get("/conversations")["items"]
    messages = served.get(f"/conversations/{talk['id']}")["messages"]
    said = [message for message in messages if message["role"] == "user"]
    assert [len(message["attachments"]) for message in said] == [1, 0]


def test_what_was_not_sent_yet_asks_before_a_reload(served: Served, page: Page) -> None:
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", answer)
    page.goto(served.url)
    say(page, "Count without end")
    expect(page.get_by_text("One, two, three")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Stop the answer")).to_be_visible()
    composer(page).fill("What I would ask")
    page.wait_for_function("() => Object.values(sessionStorage).includes('What I would ask')")
    page.reload()
    expect(composer(page)).to_have_value("What I would ask")
    assert asked == []
    say(page, "And then?")
    expect(page.get_by_role("button", name="Remove from the queue: And then?")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Stop the answer")).to_be_visible()
    assert asked == ["beforeunload"]
    expect(composer(page)).to_have_value("")
    page.get_by_role("button", name="Stop the answer").click()
    expect(page.get_by_text("You stopped this answer")).to_be_visible()


def test_a_file_that_does_not_arrive_holds_its_message_until_it_is_tried_again(
    served: Served, page: Page
) -> None:
    refused = {"type": "urn:bethink:error:disk_full", "title": "The disk is full", "detail": "Make room."}
    page.route(
        "**/files",
        lambda route: (
            route.fulfill(status=507, body=json.dumps(refused), content_type="application/problem+json")
            if goes_up(route.request)
            else route.fallback()
        ),
    )
    held: list[Route] = []
    page.route("**/conversations", lambda route: held.append(route) if _makes(route) else route.fallback())
    page.goto(served.url)
    page.get_by_label("Files to attach").set_input_files([NOTES])
    say(page, "What is in it?")
    kept(page, held).continue_()
    waiting = page.get_by_role("list", name="Sent when the files are uploaded")
    expect(waiting.get_by_role("alert")).to_contain_text("notes.txt: Make room.")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "file-refused.png")
    page.unroute("**/files")
    waiting.get_by_role("button", name="Try again: notes.txt").click()
    expect(answered(page)).to_be_visible()
    expect(page.get_by_role("article", name="You")).to_contain_text("What is in it?")


def _makes(route: Route) -> bool:
    return route.request.method == "POST"


def test_what_is_said_next_goes_on_from_an_earlier_answer(served: Served, page: Page) -> None:
    page.goto(served.url)
    for number, text in enumerate(("Hello there", "What do you know?"), 1):
        say(page, text)
        expect(page.get_by_role("button", name="Copy answer")).to_have_count(number)
    first = page.get_by_role("article", name="Bethink").first
    go_on = first.get_by_role("button", name="Continue from here")
    expect(go_on).to_have_count(1)
    acts = go_on.locator("..")
    page.get_by_role("article", name="You").first.hover()
    expect(acts).to_have_css("opacity", "0")
    first.hover()
    expect(acts).to_have_css("opacity", "1")
    go_on.click()
    expect(composer(page)).to_be_focused()
    note = page.get_by_text("Your next message continues from")
    expect(note).to_be_visible()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "going-on.png")
    page.get_by_role("button", name="Continue at the end instead").click()
    expect(note).to_have_count(0)
    go_on.click()
    say(page, "Something else, then")
    expect(page.get_by_role("article", name="You")).to_have_count(2)
    expect(page.get_by_role("article", name="You").last).to_contain_text("Something else, then")
    versions = page.get_by_role("group", name="Versions of this message")
    expect(versions).to_contain_text("2/2")
    expect(note).to_have_count(0)
    versions.get_by_role("button", name="Earlier version of this message").click()
    expect(page.get_by_role("article", name="You").last).to_contain_text("What do you know?")
    page.reload()
    expect(page.get_by_role("article", name="You").last).to_contain_text("What do you know?")


def test_a_failed_answer_is_asked_for_again_in_its_own_place(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Break down please")
    page.get_by_role("button", name="Ask again").click()
    versions = page.get_by_role("group", name="Versions of this answer")
    expect(versions).to_contain_text("2/2")
    expect(page.get_by_role("article", name="You")).to_have_count(1)
    expect(page.get_by_role("alert").filter(has_text="could not be finished")).to_have_count(1)
    (talk,) = served.get("/conversations")["items"]
    assert (talk["message_count"], talk["branch_count"]) == (2, 2)


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A Bethink whose model is told all but the last two of more than four messages in short."""
    folder: Path = tmp_path_factory.mktemp("long")
    script = folder / "script.json"
    rules = [{"when": '"summary"', "text": SUMMARY}, {"when": ".", "text": "Yes, they melt."}]
    script.write_text(json.dumps(rules))
    settings = {"BETHINK_SUMMARY_AFTER_MESSAGES": "4", "BETHINK_SUMMARY_KEEP_MESSAGES": "2"}
    with (
        scripted_process(["--script", str(script)]) as model,
        bethink(folder / "data", model.base_url, **settings) as served,
    ):
        yield served


def test_the_summary_of_a_long_conversation_is_read(forgetful: Served, page: Page) -> None:
    page.goto(forgetful.url)
    for number in range(1, 4):
        say(page, f"Do glaciers melt, for the {number}. time?")
        expect(page.get_by_role("button", name="Copy answer")).to_have_count(number)
    page.get_by_role("button", name=re.compile("Context window .* percent full")).click()
    page.get_by_role("button", name="Read the summary").click()
    dialog = page.get_by_role("dialog", name="Summary of earlier messages")
    expect(dialog).to_contain_text("They greeted, and spoke of glaciers.")
    expect(dialog).to_contain_text("instead of the first")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "summary.png")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
