"""The page of imports: drop an export, see what it holds, choose, watch, read the report, take it back."""

from __future__ import annotations

import contextlib
import re

import pytest
from playwright.sync_api import Error, Page, Route, expect

from tests.exports import asked_and_answered, packed
from tests.ui.acts import chat_head, drawn, faults, kept
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, Served

pytestmark = pytest.mark.timeout(90)


def export() -> bytes:
    talks: list[object] = [
        *(
            asked_and_answered(f"Lisbon {n}", f"Which Lisbon tram, {n}?", "The Lisbon tram 28.")
            for n in range(3)
        ),
        *(
            asked_and_answered(f"Bread {n}", f"Does sourdough bread rise, {n}?", "Sourdough rests.")
            for n in range(3)
        ),
        {"title": "Broken talk", "mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}},
    ]
    return packed({"conversations.json": talks, "user.json": {"email": "ann@example.org"}})


def upload(page: Page, served: Served, name: str, content: bytes) -> None:
    page.goto(f"{served.url}/settings/import")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose an export").click()
    chooser.value.set_files({"name": name, "mimeType": "application/zip", "buffer": content})


def test_an_export_is_looked_at_taken_in_found_and_taken_back(served: Served, page: Page) -> None:
    upload(page, served, "chats.zip", export())
    card = page.get_by_role("article", name="chats.zip")
    expect(card.get_by_role("status")).to_have_text("Ready to import")
    expect(card).to_contain_text("ChatGPT")
    expect(card.get_by_role("listitem").filter(has_text="6 conversations new")).to_be_visible()
    card.get_by_text("1 problem").click()
    expect(card).to_contain_text("Broken talk")
    assert served.get("/conversations")["items"] == []

    card.get_by_text("Both", exact=True).click()
    expect(card.get_by_text("By words")).to_be_visible()
    page.screenshot(path=PICTURES / "import.png")
    assert faults(page) == []
    card.get_by_role("button", name=re.compile("^Import")).click()
    expect(card.get_by_role("status")).to_have_text("Imported")
    expect(card).to_contain_text(re.compile(r"\d+ pages new"))
    assert len(served.get("/conversations")["items"]) == 6
    assert faults(page) == []

    page.goto(f"{served.url}/")
    page.get_by_role("link", name="Lisbon 1", exact=True).click()
    expect(page.get_by_text("The Lisbon tram 28.")).to_be_visible()
    expect(chat_head(page)).to_contain_text("From ChatGPT")

    page.goto(f"{served.url}/settings/import")
    card.get_by_role("button", name=re.compile("Undo import")).click()
    expect(card.get_by_role("status")).to_have_text("Undone")
    expect(card).to_contain_text("6 conversations removed")
    assert served.get("/conversations")["items"] == []


def test_what_is_no_export_is_refused_in_words_and_can_be_removed(served: Served, page: Page) -> None:
    upload(page, served, "photos.zip", packed({"cat.jpg": b"\xff\xd8"}))
    card = page.get_by_role("article", name="photos.zip")
    expect(card).to_contain_text("is not a known export")
    card.get_by_role("button", name=re.compile("Delete the upload")).click()
    expect(card).to_have_count(0)


def test_an_upload_that_is_over_before_the_list_was_read_stays_on_the_page(
    served: Served, page: Page
) -> None:
    late: list[Route] = []

    def keep_the_first(route: Route) -> None:
        if route.request.method == "GET" and not late:
            late.append(route)
        else:
            route.continue_()

    page.route(f"{served.url}/import", keep_the_first)
    upload(page, served, "early.md", b"# Early\n\nA page.\n")
    card = page.get_by_role("article", name="early.md")
    expect(card.get_by_role("status")).to_have_text("Ready to import")
    with contextlib.suppress(Error):  # Nobody waits for it any more.
        kept(page, late).fulfill(json={"items": []})
    drawn(page)
    expect(card).to_be_visible()


def test_two_uploads_of_one_name_are_chosen_for_apart(served: Served, page: Page) -> None:
    upload(page, served, "twin.zip", export())
    cards = page.get_by_role("article", name="twin.zip")
    expect(cards.get_by_role("status")).to_have_text(["Ready to import"])
    upload(page, served, "twin.zip", export())
    expect(cards.get_by_role("status")).to_have_text(["Ready to import"] * 2)
    for card in cards.all():
        card.get_by_text("Both", exact=True).click()
    for card in cards.all():
        expect(card.get_by_role("radio", name="Both")).to_be_checked()


def test_a_file_that_is_given_during_an_upload_waits_for_it(served: Served, page: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "POST":
            held.append(route)
        else:
            route.continue_()

    page.route(f"{served.url}/import", hold)
    page.goto(f"{served.url}/settings/import")
    field = page.get_by_label("An export", exact=True)
    field.set_input_files({"name": "one.md", "mimeType": "text/markdown", "buffer": b"# One\n"})
    expect(page.get_by_text("Uploading one.md")).to_be_visible()
    field.set_input_files({"name": "two.md", "mimeType": "text/markdown", "buffer": b"# Two\n"})
    drawn(page)
    expect(page.get_by_text("Uploading one.md")).to_be_visible()
    for number, name in enumerate(("one.md", "two.md")):
        kept(page, held, number).continue_()
        expect(page.get_by_role("article", name=name)).to_be_visible()


def test_the_page_works_by_keyboard_on_a_phone_and_in_the_dark(served: Served, new_page: NewPage) -> None:
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True, color_scheme="dark")
    upload(page, served, "phone.zip", export())
    card = page.get_by_role("article", name="phone.zip")
    expect(card.get_by_role("status")).to_have_text("Ready to import")
    card.get_by_role("radio", name="Pages").focus()
    page.keyboard.press("ArrowRight")
    expect(card.get_by_role("radio", name="Both")).to_be_checked()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(path=PICTURES / "import-phone-dark.png", full_page=True)
    assert faults(page) == []
    card.get_by_role("button", name=re.compile("^Import")).focus()
    page.keyboard.press("Enter")
    expect(card.get_by_role("status")).to_have_text("Imported")
    expect(card).to_be_focused()
    card.get_by_role("button", name=re.compile("Undo import")).press("Enter")
    expect(card.get_by_role("status")).to_have_text("Undone")
    expect(card).to_be_focused()
