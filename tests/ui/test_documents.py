"""The room of documents: dropped, read, searched, opened at the passage."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.papers import pdf
from tests.ui.acts import chosen, composer, faults, say
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, Served, bethink
from tests.ui.test_login import command

pytestmark = pytest.mark.timeout(90)

_LEASE = pdf(
    ["Lease of the workshop", "The rent is due on the third day of each month."],
    ["Repairs", "The landlord keeps the roof and the outer walls", "in repair, and pays for the lift."],
    ["End", "Either side gives notice of three months."],
)
_NOTES = b"""# Bicycle

The **brakes** were renewed in March.

## Tyres

| Wheel | Bar |
|---|---|
| rear | 6 |
"""
_SMALL = """least => [...document.querySelectorAll("button, a, summary, input, label:has(> input)")]
    .filter((one) => one.checkVisibility() && !one.closest("label:has(> input) > *, fieldset[aria-label] *"))
    .map((one) => [one.ariaLabel ?? one.textContent, one.getBoundingClientRect()])
    .filter(([, box]) => box.width && (box.width < least || box.height < least))
    .map(([name]) => name)"""


@pytest.fixture
def library(served: Served) -> Served:
    """The server with no document and no collection."""
    while kept := served.get("/documents?limit=100")["items"]:
        for document in kept:
            served.delete(f"/documents/{document['id']}")
    for collection in served.get("/documents/collections")["items"]:
        served.delete(f"/documents/collections/{collection['id']}")
    return served


def _drop(page: Page, *files: tuple[str, str, bytes], on: str = ".page") -> None:
    """Files dragged over the room and dropped there."""
    given = [(name, kind, base64.b64encode(content).decode()) for name, kind, content in files]
    dropped = page.evaluate_handle(
        """files => {
            const dropped = new DataTransfer();
            for (const [name, type, content] of files) {
                const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
                dropped.items.add(new File([bytes], name, { type }));
            }
            return dropped;
        }""",
        given,
    )
    page.locator(on).dispatch_event("dragenter", {"dataTransfer": dropped})
    expect(page.get_by_text(re.compile("^Drop (files|a file)")).last).to_be_visible()
    page.locator(on).dispatch_event("drop", {"dataTransfer": dropped})


def _row(page: Page, name: str) -> Locator:
    return page.get_by_role("listitem").filter(has=page.get_by_role("link", name=name, exact=True))


def _ready(page: Page, name: str, facts: str) -> None:
    """It was read: what is known of it stands below its name."""
    expect(_row(page, name).get_by_text(re.compile(facts))).to_be_visible()


def _text(served: Served, name: str, text: str) -> dict[str, Any]:
    """A document of this text, read."""
    made = served.post("/documents/text", {"name": name, "text": text})
    while made["stage"] not in {"ready", "failed"}:
        made = served.get(f"/documents/{made['id']}")
    return made


def test_a_dropped_pdf_is_read_found_and_opened_at_its_passage(library: Served, page: Page) -> None:
    page.goto(f"{library.url}/documents")
    expect(page.get_by_role("heading", name="Drop files here")).to_be_visible()
    assert faults(page) == []
    _drop(page, ("Lease.pdf", "application/pdf", _LEASE), ("Bicycle.md", "text/markdown", _NOTES))
    expect(page.get_by_text("2 files uploaded")).to_be_visible()
    _ready(page, "Lease.pdf", "PDF · 3 pages")
    _ready(page, "Bicycle.md", r"· \d+ B")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "documents.png")

    page.get_by_role("searchbox", name="Search documents").fill("who repairs the roof")
    hit = page.get_by_role("region", name="Lease.pdf").get_by_role("link").first
    expect(hit.locator("mark").get_by_text("roof")).to_be_visible()
    expect(hit).to_contain_text("Page 2")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "documents-search.png")
    hit.click()
    expect(page).to_have_url(re.compile(r"/documents/[\w-]+\?content=\w+&page=2&at=\d+-\d+$"))
    sheet = page.get_by_role("region", name="Page 2", exact=True)
    expect(sheet.locator("mark").get_by_text("The landlord keeps the roof")).to_be_in_viewport()
    expect(page.get_by_role("textbox", name="Page, of 3")).to_have_value("2")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "documents-pdf.png")
    page.get_by_text("Text", exact=True).click()
    expect(
        page.get_by_role("region", name="Text", exact=True)
        .locator("mark")
        .get_by_text("The landlord keeps the roof")
    ).to_be_in_viewport()
    page.go_back()
    expect(page.get_by_role("searchbox", name="Search documents")).to_have_value("who repairs the roof")
    page.get_by_role("searchbox", name="Search documents").fill("zeppelin captains")
    expect(page.get_by_text(re.compile("No passage answers this|best first"))).to_be_visible()


def test_documents_are_opened_found_in_renamed_and_removed_with_the_keyboard(
    library: Served, page: Page
) -> None:
    _text(library, "Bicycle.md", _NOTES.decode())
    press, write = page.keyboard.press, page.keyboard.type
    page.goto(library.url)
    expect(composer(page)).to_be_focused()
    press("Escape")
    press("g")
    press("d")
    expect(page.get_by_role("link", name="Bicycle.md")).to_be_visible()
    press("j")
    expect(page.get_by_role("link", name="Bicycle.md")).to_be_focused(timeout=8_000)
    press("e")
    expect(page.get_by_role("textbox", name="Name")).to_be_focused(timeout=8_000)
    press("Control+a")
    write("Bike.md")
    press("Enter")
    expect(page.get_by_role("link", name="Bike.md")).to_be_visible()
    press("u")
    link = page.get_by_role("link", name="Bicycle.md")
    expect(link).to_be_visible()
    expect(link).to_be_focused()
    press("s")
    expect(page.get_by_text("1 selected")).to_be_visible()
    press("Enter")
    expect(page.get_by_role("heading", name="Tyres")).to_be_visible()
    press("Control+f")
    write("BRAKES were")
    press("Enter")
    expect(page.locator("mark").first).to_have_text("brakes")
    expect(page.get_by_text("On page 1")).to_be_visible()
    press("Escape")
    assert faults(page) == []
    page.go_back()
    expect(link).to_be_visible()
    press("j")
    press("x")
    expect(page.get_by_role("dialog", name="Remove “Bicycle.md”?")).to_contain_text("cannot be undone")
    press("Tab")
    press("Enter")
    expect(page.get_by_role("heading", name="Drop files here")).to_be_visible()


def test_an_upload_that_a_reload_cuts_short_goes_on_by_itself(library: Served, page: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "PATCH":
            held.append(route)
        else:
            route.continue_()

    page.route("**/documents/uploads/*", hold)
    page.goto(f"{library.url}/documents")
    _drop(page, ("Bicycle.md", "text/markdown", _NOTES))
    expect(page.get_by_text("0 of 1 file uploaded")).to_be_visible()
    expect(page.get_by_role("progressbar", name="Uploading Bicycle.md")).to_be_visible()
    page.unroute("**/documents/uploads/*")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    expect(page.get_by_role("link", name="Bicycle.md")).to_be_visible()


def test_documents_are_moved_tagged_and_asked_about(library: Served, page: Page) -> None:
    _text(library, "Bicycle.md", _NOTES.decode())
    _text(library, "Boat.md", "The boat is blue.")
    page.goto(f"{library.url}/documents")
    page.get_by_role("button", name="New collection").click()
    page.get_by_role("textbox", name="Name").fill("Vehicles")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Vehicles", level=2)).to_be_visible()
    page.get_by_role("link", name="All documents").click()
    page.get_by_role("checkbox", name="Select all").check()
    page.get_by_role("button", name="Move", exact=True).click()
    chosen(page.get_by_role("dialog"), "Collection", "Vehicles")
    page.get_by_role("dialog").get_by_role("button", name="Move").click()
    expect(page.get_by_text("Moved 2 documents to Vehicles")).to_be_visible()
    page.get_by_role("button", name="Tags", exact=True).click()
    page.get_by_role("textbox", name="Tags").fill("garage, blue")
    page.get_by_role("button", name="Save").click()
    expect(_row(page, "Boat.md").get_by_text("garage")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("Vehicles.*2"))).to_be_visible()
    page.screenshot(path=PICTURES / "documents-selected.png")
    page.get_by_role("button", name="Ask these").click()
    expect(page.get_by_role("list", name="About these").get_by_text("Boat.md")).to_be_visible()
    say(page, "What colour is it?")
    asked = page.get_by_role("article", name="You")
    expect(asked.get_by_role("link", name="Boat.md")).to_have_attribute("href", re.compile("^/documents/"))
    expect(page.get_by_role("list", name="About these")).to_have_count(0)


def test_an_answer_leads_to_the_passage_that_it_cites(library: Served, page: Page) -> None:
    page.goto(f"{library.url}/documents")
    _drop(page, ("Lease.pdf", "application/pdf", _LEASE))
    _ready(page, "Lease.pdf", "PDF · 3 pages")
    page.goto(library.url)
    say(page, "Who repairs the roof?")
    cited = page.get_by_role("link", name="Document 1, the source of this")
    expect(cited).to_be_visible()
    used = page.get_by_role("complementary", name="This answer")
    expect(used.get_by_text("Lease.pdf, page 2")).to_be_visible()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "documents-cited.png")
    page.reload()
    expect(used.get_by_text("Lease.pdf, page 2")).to_be_visible()
    expect(used).to_contain_text("The landlord keeps the roof")
    cited.click()
    sheet = page.get_by_role("region", name="Page 2", exact=True)
    expect(sheet.locator("mark").get_by_text("The landlord keeps the roof")).to_be_in_viewport()


def test_an_older_version_says_so_and_a_failed_one_why(library: Served, page: Page) -> None:
    page.goto(f"{library.url}/documents")
    _drop(page, ("Broken.pdf", "application/pdf", b"%PDF-1.4\nnothing"), ("Plan.md", "text/markdown", b"Old"))
    broken = _row(page, "Broken.pdf")
    expect(broken.get_by_role("button", name="Retry reading Broken.pdf")).to_be_visible()
    expect(broken).to_contain_text("damaged")
    assert faults(page) == []
    page.get_by_role("link", name="Plan.md").click()
    expect(page.get_by_text("Old", exact=True)).to_be_visible()
    _drop(page, ("Plan.md", "text/markdown", b"New words"))
    expect(page.get_by_text("New words")).to_be_visible()
    page.get_by_role("button", name="Details").click()
    versions = page.get_by_role("complementary", name="Details").get_by_role("list").get_by_role("link")
    expect(versions).to_have_count(2)
    versions.last.click()
    expect(page.get_by_text("not the current one")).to_be_visible()
    expect(page.get_by_text("Old", exact=True)).to_be_visible()
    assert faults(page) == []
    page.get_by_role("link", name="Open the current version").click()
    expect(page.get_by_text("New words")).to_be_visible()


def test_a_dropped_version_that_a_reload_cuts_short_goes_on_by_itself(library: Served, page: Page) -> None:
    made = _text(library, "Plan.md", "Old words")
    held: list[Route] = []
    page.route(
        "**/documents/uploads/*",
        lambda route: held.append(route) if route.request.method == "PATCH" else route.continue_(),
    )
    page.goto(f"{library.url}/documents/{made['id']}")
    expect(page.get_by_text("Old words")).to_be_visible()
    _drop(page, ("Plan.md", "text/markdown", b"New words"))
    expect(page.get_by_role("progressbar", name="Uploading Plan.md")).to_be_visible()
    assert faults(page) == []
    page.unroute("**/documents/uploads/*")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    expect(page.get_by_text("New words")).to_be_visible()
    assert len(library.get(f"/documents/{made['id']}")["versions"]) == 2


def test_a_folder_is_watched_and_looked_through_at_once(library: Served, page: Page, tmp_path: Path) -> None:
    (tmp_path / "boat.md").write_text("The boat is blue.")
    page.goto(f"{library.url}/documents/folders")
    page.get_by_role("button", name="Watch a folder").click()
    page.get_by_role("textbox", name="Path on the machine").fill(str(tmp_path))
    page.get_by_role("dialog").get_by_role("button", name="Watch", exact=True).click()
    row = page.get_by_role("list", name="Watched folders").get_by_role("listitem")
    expect(row).to_contain_text("1 file")
    page.get_by_role("button", name=f"Pause: {tmp_path}").click()
    expect(row).to_contain_text("Paused")
    (tmp_path / "sail.md").write_text("The sail is red.")
    page.get_by_role("button", name=f"Look through {tmp_path} now").click()
    expect(row).to_contain_text("2 files")
    assert faults(page) == []
    page.get_by_role("button", name=f"Stop watching {tmp_path}").click()
    page.get_by_role("dialog").get_by_role("checkbox").check()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(page.get_by_role("heading", name="No folder is watched")).to_be_visible()


def test_a_collection_is_shared_changed_and_taken_back(page: Page, tmp_path: Path) -> None:
    with bethink(tmp_path, None) as served:
        made = served.post("/documents/collections", {"name": "Papers"})
        keys = []
        for name in ("ann", "bob"):
            command(tmp_path, "users", "add", name)
            keys.append(command(tmp_path, "users", "key", "add", name).strip())
        page.goto(f"{served.url}/documents")
        page.get_by_label("Key", exact=True).fill(keys[0])
        page.keyboard.press("Enter")
        page.get_by_role("button", name="More for Papers").click()
        page.get_by_role("menuitem", name="Share").click()
        dialog = page.get_by_role("dialog", name="Share “Papers”")
        dialog.get_by_role("textbox", name="Name of the user").fill("nobody")
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text("nobody")
        dialog.get_by_role("textbox", name="Name of the user").fill("bob")
        page.keyboard.press("Enter")
        may = dialog.get_by_role("checkbox", name="bob may add documents")
        expect(may).not_to_be_checked()
        assert faults(page) == []
        may.click()
        expect(may).to_be_checked()
        seen = _seen_by(served, keys[1])
        assert [(one["id"], one["owner"], one["writes"]) for one in seen] == [(made["id"], "ann", True)]
        dialog.get_by_role("button", name="Stop sharing with bob").click()
        expect(dialog.get_by_role("list", name="Shared with")).to_have_count(0)
        assert _seen_by(served, keys[1]) == []


def _seen_by(served: Served, key: str) -> list[dict[str, Any]]:
    """The collections that a user sees."""
    headers = {"Authorization": f"Bearer {key}"}
    return httpx2.get(f"{served.url}/documents/collections", headers=headers).json()["items"]


def test_on_a_phone_the_library_fits_and_is_large_enough_to_touch(library: Served, new_page: NewPage) -> None:
    made = _text(library, "Bicycle.md", _NOTES.decode())
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    for path in ("/documents", f"/documents/{made['id']}"):
        page.goto(library.url + path)
        expect(page.get_by_text("Bicycle.md").first).to_be_visible()
        small: Sequence[str] = page.evaluate(_SMALL, 44)
        assert (path, list(small)) == (path, [])
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert faults(page) == []
    page.screenshot(path=PICTURES / "documents-phone.png")
