"""Beside the pages of the vault: what links to them, search in what they say, the check, the filters."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.ui.acts import chosen, faults, kept
from tests.ui.running import PICTURES
from tests.ui.vaulted import Vaulted, holds

pytestmark = pytest.mark.timeout(90)


def test_what_links_here_is_listed_and_follows_a_page_that_moves(vault: Vaulted, page: Page) -> None:
    vault.served.ask("PUT", "/vault/pages/mara.md", {"text": "# Mara\nknows [[olaf]]\n"})
    vault.served.ask("PUT", "/vault/pages/olaf.md", {"text": "# Olaf\nknows [[mara|her]]\n"})
    vault.open(page, "mara.md")
    beside = page.get_by_role("complementary", name="Links and history")
    expect(beside.get_by_role("link", name="Olaf")).to_have_count(2)
    page.get_by_role("button", name="More for mara").click()
    page.get_by_role("menuitem", name="Rename or move").click()
    page.get_by_label("Path in the vault").fill("people/mara_l.md")
    page.keyboard.press("Enter")
    expect(page.get_by_text("links in 1 page were updated")).to_be_visible()
    assert vault.text("olaf.md") == "# Olaf\nknows [[mara_l|her]]\n"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", level=1, name="mara")).to_be_visible()
    expect(page).to_have_url(re.compile("/vault/pages/mara.md$"))
    holds(page, "# Mara\nknows [[olaf]]\n")
    assert vault.text("olaf.md") == "# Olaf\nknows [[mara|her]]\n"


def test_what_links_here_and_what_is_found_follow_other_pages(vault: Vaulted, page: Page) -> None:
    vault.file("mara.md", "# Mara\n")
    vault.open(page, "mara.md")
    beside = page.get_by_role("complementary", name="Links and history")
    expect(beside.get_by_text("No page links here.")).to_be_visible()
    page.get_by_role("combobox", name="Search pages").fill("ukulele")
    expect(page.get_by_text("No page contains this.")).to_be_visible()
    vault.file("olaf.md", "# Olaf\nplays the ukulele with [[mara]]\n")
    expect(beside.get_by_role("link", name="Olaf")).to_be_visible()
    expect(page.get_by_role("group", name="In the text").get_by_role("option")).to_contain_text("ukulele")


def test_pages_are_found_by_what_they_say(vault: Vaulted, page: Page) -> None:
    vault.served.ask("PUT", "/vault/pages/music.md", {"text": "# Music\nplays the viola da gamba\n"})
    vault.open(page)
    page.get_by_role("combobox", name="Search pages").fill("viola")
    hit = page.get_by_role("group", name="In the text").get_by_role("option")
    expect(hit).to_contain_text("plays the viola da gamba")
    expect(hit.locator("mark")).to_have_text("viola")
    assert faults(page) == []
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="music")).to_be_visible()
    page.get_by_role("combobox", name="Search pages").fill("xyzzyx")
    expect(page.get_by_text("No page contains this.")).to_be_visible()


def test_a_check_shows_what_is_wrong_and_mends_it_as_it_is_told(vault: Vaulted, page: Page) -> None:
    vault.served.ask("PUT", "/vault/pages/entities/acme_gmbh.md", {"text": "# Acme\n"})
    vault.served.ask("PUT", "/vault/pages/work.md", {"text": "at [[acme_gmb]]\n"})
    vault.open(page)
    page.get_by_role("link", name="Check").click()
    expect(page.get_by_role("heading", level=1, name="Check")).to_be_visible()
    expect(page.get_by_text("[[acme_gmb]] leads to no page.")).to_be_visible()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-check.png")
    page.get_by_role("button", name="Change [[acme_gmb]] to entities/acme_gmbh.md").click()
    shown = page.get_by_role("dialog", name="Change [[acme_gmb]] to entities/acme_gmbh.md")
    expect(shown.get_by_label("Changes: work.md changes")).to_contain_text("added: at [[acme_gmbh]]")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-repair.png")
    shown.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("work.md is fixed")).to_be_visible()
    expect(page.get_by_text("[[acme_gmb]] leads to no page.")).to_have_count(0)
    assert vault.text("work.md") == "at [[acme_gmbh]]\n"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("[[acme_gmb]] leads to no page.")).to_be_visible()
    assert vault.text("work.md") == "at [[acme_gmb]]\n"


def test_a_check_is_made_anew_when_pages_change(vault: Vaulted, page: Page) -> None:
    page.goto(f"{vault.served.url}/vault/check")
    expect(page.get_by_role("heading", name="No problems found")).to_be_visible()
    vault.file("work.md", "at [[nobody]]\n")
    expect(page.get_by_text("[[nobody]] leads to no page.")).to_be_visible()
    vault.file("nobody.md", "# Nobody\n")
    expect(page.get_by_role("heading", name="No problems found")).to_be_visible()


def test_two_pages_of_one_name_are_merged_with_their_links(vault: Vaulted, page: Page) -> None:
    for path, text in {
        "people/mara.md": "# Mara\n- age: 41\n",
        "mara.md": "# Mara\n- city: Oslo\n",
        "work.md": "[[people/mara]]\n",
    }.items():
        vault.served.ask("PUT", f"/vault/pages/{path}", {"text": text})
    page.goto(f"{vault.served.url}/vault/check")
    page.get_by_role("button", name="Merge people/mara.md into mara.md").click()
    shown = page.get_by_role("dialog")
    expect(
        shown.get_by_role("heading", name="people/mara.md is deleted; its history is kept")
    ).to_be_visible()
    shown.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("people/mara.md is fixed")).to_be_visible()
    assert vault.text("mara.md") == "# Mara\n- city: Oslo\n- age: 41\n"
    assert vault.text("work.md") == "[[mara]]\n"
    assert not (vault.folder / "people" / "mara.md").exists()


def test_filters_are_added_tried_and_removed(vault: Vaulted, page: Page) -> None:
    vault.served.ask("PUT", "/vault/pages/pay.md", {"text": "- salary: 91234\n- city: Oslo\n"})
    vault.open(page)
    page.get_by_role("link", name="Filters").click()
    expect(page.get_by_text("No filters. Nothing is hidden.")).to_be_visible()
    form = page.get_by_role("form", name="Add a filter")
    chosen(form, "Action", "Mask")
    form.get_by_label("In the field").fill("salary")
    page.keyboard.press("Enter")
    told = "Masks the field salary on every page from everybody but you"
    expect(page.get_by_text(told)).to_be_visible()
    tried = page.get_by_role("form", name="What would this client see?")
    tried.get_by_role("combobox", name="Page", exact=True).fill("pay.md")
    page.get_by_role("option", name="pay.md", exact=True).click()
    tried.get_by_role("button", name="Show", exact=True).click()
    seen = page.get_by_role("region", name="The page as they see it")
    expect(seen.locator("del")).to_have_text("91234")
    expect(seen.locator("ins")).to_have_text("[hidden]")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-filters.png")
    page.get_by_role("button", name=f"Remove: {told}").click()
    expect(page.get_by_text("They see all of this page.")).to_be_visible()
    expect(page.get_by_text("No filters. Nothing is hidden.")).to_be_visible()


def test_a_filter_that_is_sent_twice_is_added_once(vault: Vaulted, page: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "POST":
            held.append(route)
        else:
            route.continue_()

    page.route("**/vault/filters", hold)
    page.goto(f"{vault.served.url}/vault/filters")
    page.get_by_role("form", name="Add a filter").get_by_label("In the field").fill("salary")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    kept(page, held).continue_()
    hidden = page.get_by_role("list", name="Filters").get_by_role("listitem")
    expect(hidden).to_have_count(1)
    assert len(held) == 1
    hidden.get_by_role("button").click()
    expect(page.get_by_text("No filters. Nothing is hidden.")).to_be_visible()


def test_a_rule_in_words_is_told_to_the_model_and_said_to_be_no_protection(
    vault: Vaulted, page: Page
) -> None:
    vault.open(page)
    page.get_by_role("link", name="Filters").click()
    form = page.get_by_role("form", name="Ask the model")
    expect(form.get_by_text("it hides nothing")).to_be_visible()
    expect(form.get_by_role("button", name="Add instruction")).to_be_disabled()
    form.get_by_label("Instruction").fill("Do not speak of my health")
    form.get_by_role("button", name="Add instruction").click()
    told = "Tells the model: Do not speak of my health"
    expect(page.get_by_text(told)).to_be_visible()
    expect(form.get_by_label("Instruction")).to_have_value("")
    assert vault.served.ask("GET", "/vault/filters")["items"][0]["text"] == "Do not speak of my health"
    assert faults(page) == []
    page.get_by_role("button", name=f"Remove: {told}").click()
    expect(page.get_by_text("No filters. Nothing is hidden.")).to_be_visible()


def test_all_findings_of_a_kind_are_mended_at_once_and_a_kind_is_ignored(vault: Vaulted, page: Page) -> None:
    vault.file("a.md", "# A\n[[nobody]] and [[nothing]]\n")
    vault.file("My Trip.md", "# B\n[[nowhere]]\n")
    page.goto(f"{vault.served.url}/vault/check")
    links = page.get_by_role("region", name="Broken links")
    expect(links.get_by_role("listitem")).to_have_count(3)
    expect(page.get_by_text("snake_case")).to_have_count(0)
    assert faults(page) == []
    links.get_by_role("button", name="Fix all").click()
    page.get_by_role("menuitem", name="Remove 3 links, and keep their text").click()
    shown = page.get_by_role("dialog", name="Fix 3 problems")
    expect(shown.get_by_text("added: nowhere")).to_be_visible()
    shown.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("3 problems are fixed")).to_be_visible()
    expect(page.get_by_role("heading", name="No problems found")).to_be_visible()
    assert vault.text("a.md") == "# A\nnobody and nothing\n"
    page.get_by_role("button", name="Undo").click()
    expect(links.get_by_role("listitem")).to_have_count(3)
    assert vault.text("a.md") == "# A\n[[nobody]] and [[nothing]]\n"
    page.get_by_role("button", name="Ignore: Broken links").click()
    expect(page.get_by_role("heading", name="No problems found")).to_be_visible()
    page.reload()
    ignored = page.get_by_role("region", name="Ignored")
    expect(ignored.get_by_text("Broken links")).to_be_visible()
    assert faults(page) == []
    ignored.get_by_role("button", name="Check for this again").click()
    expect(links.get_by_role("listitem")).to_have_count(3)
