"""What is typed in the vault is never lost: over a reload, a page that is left, and an edit elsewhere."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from tests.ui.acts import faults
from tests.ui.running import PICTURES
from tests.ui.vaulted import Vaulted, editor, holds, look_away, row, saved, write_at_end

pytestmark = pytest.mark.timeout(90)


def _refuse_to_save(page: Page) -> None:
    def answer(route: Route) -> None:
        if route.request.method == "PUT":
            route.fulfill(
                status=503, content_type="application/problem+json", body='{"title": "The disk is full"}'
            )
        else:
            route.continue_()

    page.route("**/vault/pages/user.md", answer)


def test_what_is_not_saved_asks_before_a_reload_and_is_there_after_it(vault: Vaulted, page: Page) -> None:
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", answer)
    vault.open(page, "user.md")
    expect(saved(page)).to_be_visible()
    _refuse_to_save(page)
    write_at_end(page, "- typed: before\n")
    page.keyboard.press("Control+s")
    expect(page.get_by_role("alert").get_by_text("The disk is full")).to_be_visible()
    page.reload()
    holds(page, "# About me\n- typed: before\n")
    assert asked == ["beforeunload"]
    assert vault.text("user.md") == "# About me\n"
    page.unroute("**/vault/pages/user.md")
    editor(page).focus()
    page.keyboard.press("Control+s")
    expect(saved(page)).to_be_visible()
    assert vault.text("user.md") == "# About me\n- typed: before\n"


def test_what_could_not_be_saved_on_leaving_is_said_and_stands_there_on_return(
    vault: Vaulted, page: Page
) -> None:
    vault.file("other.md", "# Other\n")
    vault.open(page, "user.md")
    expect(saved(page)).to_be_visible()
    _refuse_to_save(page)
    write_at_end(page, "mine\n")
    row(page, "other").click()
    expect(page.get_by_role("heading", level=1, name="other")).to_be_visible()
    expect(page.get_by_text("user is not saved; what you typed is kept")).to_be_visible()
    page.unroute("**/vault/pages/user.md")
    vault.file("user.md", "# About me\ntheirs\n")
    page.get_by_role("button", name="Open it").click()
    holds(page, "# About me\nmine\n")
    expect(page.get_by_text("This page was changed elsewhere while you edited it")).to_be_visible()
    assert vault.text("user.md") == "# About me\ntheirs\n"


def test_what_was_typed_without_the_server_is_saved_when_it_is_back(vault: Vaulted, page: Page) -> None:
    vault.open(page, "user.md")
    expect(saved(page)).to_be_visible()
    page.context.set_offline(True)
    write_at_end(page, "- typed: on the train\n")
    refused = page.get_by_role("alert").get_by_text("Bethink is not responding")
    expect(refused).to_be_visible()
    page.context.set_offline(False)
    expect(saved(page)).to_be_visible()
    expect(refused).to_have_count(0)
    assert vault.text("user.md") == "# About me\n- typed: on the train\n"


def test_edits_in_different_places_are_both_kept(vault: Vaulted, page: Page) -> None:
    vault.file("user.md", "# About me\n\n- city: Paris\n")
    look_away(page)
    vault.open(page, "user.md")
    holds(page, "# About me\n\n- city: Paris\n")
    vault.file("user.md", "# About me, by vim\n\n- city: Paris\n")
    write_at_end(page, "- likes: trains\n")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("so both can be kept")).to_be_visible()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-conflict-both.png")
    page.get_by_role("button", name="Keep both").click()
    expect(saved(page)).to_be_visible()
    kept = "# About me, by vim\n\n- city: Paris\n- likes: trains\n"
    holds(page, kept)
    assert vault.text("user.md") == kept


def test_a_page_is_deleted_with_what_was_typed_last_in_its_history(vault: Vaulted, page: Page) -> None:
    vault.file("a.md", "one\n")
    vault.open(page, "a.md")
    expect(saved(page)).to_be_visible()
    write_at_end(page, "two\n")
    page.get_by_role("button", name="More for a").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page).to_have_url(re.compile("/vault$"))
    page.get_by_role("button", name="Undo").click()
    holds(page, "one\ntwo\n")
