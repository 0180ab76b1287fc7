"""The room of the vault: tree, editor, preview, links, history, conflicts, and what cannot be read."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.ui.acts import drawn, faults, kept, stand_still
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES
from tests.ui.vaulted import Vaulted, editor, holds, look_away, reading, row, saved, write_at_end

pytestmark = pytest.mark.timeout(90)


def test_the_first_visit_explains_the_vault_and_offers_its_first_page(vault: Vaulted, page: Page) -> None:
    vault.open(page)
    expect(page.get_by_role("heading", name="Your vault")).to_be_visible()
    expect(page.get_by_text("Any editor can open them")).to_be_visible()
    page.get_by_role("link", name="Open user.md").click()
    expect(page.get_by_role("heading", level=1, name="user")).to_be_visible()
    holds(page, "# About me\n")
    expect(row(page, "user")).to_have_attribute("aria-selected", "true")


def test_the_tree_is_walked_and_folded_with_the_keyboard(vault: Vaulted, page: Page) -> None:
    vault.file("entities/jane_doe.md", "# Jane\n")
    vault.file("entities/tom.md", "# Tom\n")
    vault.open(page)
    expect(row(page, "entities")).to_have_attribute("aria-expanded", "false")
    row(page, "entities").focus()
    page.keyboard.press("ArrowRight")
    expect(row(page, "entities")).to_have_attribute("aria-expanded", "true")
    for name in ("jane_doe", "tom"):
        page.keyboard.press("ArrowDown")
        expect(row(page, name)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/vault/pages/entities/tom.md$"))
    row(page, "tom").focus()
    page.keyboard.press("ArrowLeft")
    expect(row(page, "entities")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(row(page, "tom")).to_have_count(0)
    page.keyboard.press("u")
    expect(row(page, "user")).to_be_focused()
    page.go_back()
    expect(page.get_by_role("heading", level=1, name="Vault")).to_be_visible()


def test_pages_are_found_as_one_types(vault: Vaulted, page: Page) -> None:
    vault.file("entities/jane_doe.md", "# Jane\n")
    vault.open(page)
    expect(row(page, "entities")).to_be_visible()
    find = page.get_by_role("combobox", name="Search pages")
    find.fill("jane d")
    expect(page.get_by_role("option", name="jane_doe entities")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="jane_doe")).to_be_visible()
    expect(find).to_have_value("")
    expect(row(page, "jane_doe")).to_be_visible()


def test_what_is_typed_is_marked_and_saved_by_key_and_by_itself(vault: Vaulted, new_page: NewPage) -> None:
    page = new_page(own=True)
    page.clock.install()
    vault.open(page, "user.md")
    expect(saved(page)).to_be_visible()
    stand_still(page)
    write_at_end(page, "- city: Paris\n")
    expect(page.get_by_text("Unsaved")).to_be_visible()
    page.keyboard.press("Control+s")
    expect(saved(page)).to_be_visible()
    assert vault.text("user.md") == "# About me\n- city: Paris\n"
    write_at_end(page, "- likes: trains\n")
    expect(page.get_by_text("Unsaved")).to_be_visible()
    page.clock.resume()
    expect(saved(page)).to_be_visible()
    assert vault.text("user.md").endswith("- likes: trains\n")
    write_at_end(page, "- last: words\n")
    page.get_by_role("link", name="Memory").click()
    expect(page.get_by_role("heading", name="Memory")).to_be_visible()
    page.go_back()
    holds(page, re.compile("last: words"))


def _follows(request: Request) -> bool:
    """Whether the page has the server tell what changes, instead of asking again and again."""
    return "/vault/changes" in request.url and "event-stream" in request.headers["accept"]


def test_an_edit_in_another_program_appears_in_the_open_page_and_in_the_tree(
    vault: Vaulted, page: Page
) -> None:
    with page.expect_request(_follows):
        vault.open(page, "user.md")
    expect(saved(page)).to_be_visible()
    vault.file("user.md", "# By vim\n")
    holds(page, "# By vim\n")
    expect(reading(page).get_by_role("heading", name="By vim")).to_be_visible()
    vault.file("made_outside.md", "x\n")
    expect(row(page, "made_outside")).to_be_visible()
    page.get_by_text("History", exact=True).click()
    expect(page.get_by_role("button", name=re.compile("Changed in another program")).first).to_be_visible()


@pytest.mark.parametrize("choice", ["Keep mine", "Use theirs"])
def test_where_two_wrote_both_texts_are_offered(vault: Vaulted, page: Page, choice: str) -> None:
    look_away(page)
    vault.open(page, "user.md")
    expect(saved(page)).to_be_visible()
    vault.file("user.md", "# About me\ntheirs\n")
    write_at_end(page, "mine\n")
    page.keyboard.press("Control+s")
    notice = page.get_by_text("This page was changed elsewhere while you edited it")
    expect(notice).to_be_visible()
    expect(page.get_by_label(re.compile("The other text, marked as removed"))).to_contain_text("theirs")
    holds(page, "# About me\nmine\n")
    assert vault.text("user.md") == "# About me\ntheirs\n"
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-conflict.png")
    page.get_by_role("button", name=choice).click()
    expect(notice).to_have_count(0)
    expect(saved(page)).to_be_visible()
    kept = "mine" if choice == "Keep mine" else "theirs"
    assert vault.text("user.md") == f"# About me\n{kept}\n"


def test_a_page_deleted_underneath_keeps_what_was_typed(vault: Vaulted, new_page: NewPage) -> None:
    page = new_page(own=True)
    vault.file("a.md", "one\n")
    page.clock.install()
    vault.open(page, "a.md")
    expect(saved(page)).to_be_visible()
    stand_still(page)
    write_at_end(page, "two\n")
    (vault.folder / "a.md").unlink()
    page.clock.resume()
    expect(page.get_by_text("This page was deleted or moved by another program")).to_be_visible()
    page.get_by_role("button", name="Save it again").click()
    expect(saved(page)).to_be_visible()
    assert vault.text("a.md") == "one\ntwo\n"


def test_links_are_completed_by_keyboard_lead_on_and_offer_what_is_not_made(
    vault: Vaulted, page: Page
) -> None:
    vault.file("entities/jane_doe.md", "# Jane\n")
    vault.open(page, "user.md")
    expect(row(page, "entities")).to_be_visible()
    write_at_end(page, "Knows [[ja")
    expect(page.get_by_role("listbox", name="Suggestions")).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("Enter")
    holds(page, "# About me\nKnows [[jane_doe]]")
    page.keyboard.type(" and [[entities/tom|Tom]]")
    expect(reading(page).get_by_role("link", name="jane_doe")).to_be_visible()
    reading(page).get_by_role("link", name="Tom (does not exist yet)").click()
    expect(page.get_by_role("heading", name="This page does not exist yet")).to_be_visible()
    page.get_by_role("button", name="Create this page").click()
    holds(page, "# tom\n\n")
    assert vault.text("entities/tom.md") == "# tom\n\n"
    page.go_back()
    reading(page).get_by_role("link", name="jane_doe").click()
    expect(page.get_by_role("heading", level=1, name="jane_doe")).to_be_visible()


def test_who_goes_back_while_a_page_is_being_made_stays_there(vault: Vaulted, page: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route) if route.request.method == "PUT" else route.continue_()

    vault.file("user.md", "# About me\n[[entities/tom|Tom]]\n")
    vault.open(page, "user.md")
    reading(page).get_by_role("link", name="Tom (does not exist yet)").click()
    page.route("**/vault/pages/entities/tom.md", hold)
    page.get_by_role("button", name="Create this page").click()
    made = kept(page, held)
    page.go_back()
    expect(reading(page).get_by_role("link", name="Tom (does not exist yet)")).to_be_visible()
    made.continue_()
    expect(reading(page).get_by_role("link", name="Tom", exact=True)).to_be_visible()
    for _ in range(5):
        drawn(page)
    expect(page).to_have_url(re.compile("/user.md$"))


def test_the_history_shows_what_changed_and_restores_it(vault: Vaulted, page: Page) -> None:
    vault.served.ask("PUT", "/vault/pages/told.md", {"text": "one\n"})
    vault.served.ask("PUT", "/vault/pages/told.md", {"text": "two\n"})
    vault.open(page, "told.md")
    page.get_by_text("History", exact=True).click()
    page.get_by_role("button", name=re.compile("Changed by you")).click()
    shown = page.get_by_label(re.compile("^What changed"))
    expect(shown).to_contain_text("removed: one")
    expect(shown).to_contain_text("added: two")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-history.png")
    page.get_by_role("button", name=re.compile("Created by you")).click()
    page.get_by_role("button", name="Restore this version").click()
    holds(page, "one\n")
    expect(page.get_by_role("button", name=re.compile("^Changed by you"))).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    holds(page, "two\n")


def test_a_page_is_made_moved_deleted_and_brought_back(vault: Vaulted, page: Page) -> None:
    vault.open(page)
    page.get_by_role("button", name="New page").first.click()
    page.get_by_label("Name, or path with folders").fill("../out")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("A part of the path is empty")
    page.get_by_label("Name, or path with folders").fill("plans/lisbon")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="lisbon")).to_be_visible()
    expect(row(page, "lisbon")).to_be_visible()

    page.get_by_role("button", name="More for lisbon").click()
    page.get_by_role("menuitem", name="Rename or move").click()
    page.get_by_label("Path in the vault").fill("trips/porto")
    page.get_by_role("button", name="Move", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="porto")).to_be_visible()
    expect(page).to_have_url(re.compile("trips/porto.md$"))
    assert vault.text("trips/porto.md") == "# lisbon\n\n"

    page.get_by_role("button", name="More for porto").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_role("heading", level=1, name="Vault")).to_be_visible()
    assert not (vault.folder / "trips/porto.md").exists()
    page.keyboard.press("u")
    expect(page.get_by_role("heading", level=1, name="porto")).to_be_visible()
    assert vault.text("trips/porto.md") == "# lisbon\n\n"


def test_what_cannot_be_read_is_named_at_the_file(vault: Vaulted, page: Page) -> None:
    vault.file("latin.md", b"caf\xe9\n")
    vault.file("large.md", "x" * 1_000_001)
    vault.file("front.md", "---\na: [\n---\nText\n")
    vault.open(page)
    expect(page.get_by_role("treeitem", name=re.compile("latin skipped: it is not UTF-8"))).to_be_visible()
    large = page.get_by_role("treeitem", name=re.compile("large skipped: it is larger than a page"))
    large.click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert faults(page) == []
    vault.open(page, "front.md")
    expect(page.get_by_text(re.compile("^Front matter: "))).to_be_visible()
    assert faults(page) == []


def test_ten_thousand_pages_never_stand_in_the_tree_at_once(vault: Vaulted, page: Page) -> None:
    entry = {"size": 1, "changed_at": None, "problem": None}
    pages = [{"path": f"f{n % 10}/page_{n}.md", "is_folder": False, **entry} for n in range(10_000)]
    notes = {"daily_folder": "daily", "daily_name": "YYYY-MM-DD", "templates": "templates"}
    size = {"change": 0, "pages": 10_000, "bytes": 10_000}
    tree = {"items": pages, **size, "watching": True, "notes": notes}

    def answer(route: Route) -> None:
        route.fulfill(content_type="application/json", body=json.dumps(tree))

    def silent(route: Route) -> None:
        if "event-stream" in route.request.headers["accept"]:
            return route.abort()
        news = {"items": [], "gone": [], "change": 0}
        return route.fulfill(content_type="application/json", body=json.dumps(news))

    vault.open(page)
    page.route(
        "**/vault",
        lambda route: answer(route) if "json" in (route.request.headers["accept"]) else route.continue_(),
    )
    page.route("**/vault/changes?*", silent)
    page.reload()
    expect(page.get_by_text("10,000 pages")).to_be_visible()
    row(page, "f0").focus()
    page.keyboard.press("ArrowRight")
    expect(row(page, "page_0")).to_be_visible()
    page.keyboard.press("End")
    expect(row(page, "f9")).to_be_visible()
    expect(row(page, "page_9990")).to_be_visible()
    assert page.get_by_role("treeitem").count() < 80
    page.get_by_role("combobox", name="Search pages").fill("page 9999")
    expect(page.get_by_role("option", name="page_9999 f9")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_room_is_accessible(vault: Vaulted, new_page: NewPage, scheme: str) -> None:
    vault.file(
        "entities/jane_doe.md", "---\naliases: [J]\n---\n# Jane\n\n| a | b |\n|---|---|\n| 1 | [[x]] |\n"
    )
    page = new_page(color_scheme=scheme)
    for path in ("", "user.md", "entities/jane_doe.md", "nobody.md"):
        vault.open(page, path)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        expect(row(page, "user")).to_be_visible()
        assert (path, faults(page)) == (path, [])
    vault.open(page, "entities/jane_doe.md")
    expect(reading(page).get_by_role("heading", name="Jane")).to_be_visible()
    page.screenshot(path=PICTURES / f"vault-{scheme}.png")


def test_on_a_phone_there_is_one_column_with_large_targets(vault: Vaulted, new_page: NewPage) -> None:
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    vault.open(page)
    expect(page.get_by_role("heading", level=1, name="Vault")).to_be_visible()
    row(page, "user").click()
    expect(page.get_by_role("heading", level=1, name="user")).to_be_visible()
    expect(page.get_by_role("tree")).to_have_count(0)
    expect(reading(page)).to_be_visible()
    page.get_by_text("Write", exact=True).click()
    expect(editor(page)).to_be_visible()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-phone.png")
    page.get_by_role("button", name="Links and history").click()
    expect(page.get_by_role("dialog", name="Links and history")).to_be_visible()
    assert faults(page) == []
    page.get_by_role("button", name="Close", exact=True).click()
    small = page.evaluate(
        """() => [...document.querySelectorAll("button, a, [role=treeitem]")]
            .filter((one) => one.checkVisibility())
            .map((one) => [one.ariaLabel ?? one.textContent, one.getBoundingClientRect()])
            .filter(([, box]) => box.width && (box.width < 44 || box.height < 44))
            .map(([name]) => name)"""
    )
    assert small == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Vault", exact=True).click()
    expect(page.get_by_role("tree")).to_be_visible()


def test_an_address_that_is_not_encoded_well_is_a_link_all_the_same(vault: Vaulted, page: Page) -> None:
    vault.file("menus.md", "# Menus\n\n[Of spring](caf%e9.md), ![a picture](https://example.org/x.png)\n")
    vault.open(page, "menus.md")
    expect(reading(page).get_by_role("link", name="Of spring (does not exist yet)")).to_be_visible()
    picture = reading(page).get_by_role("link", name="a picture")
    expect(picture).to_have_attribute("href", "https://example.org/x.png")
