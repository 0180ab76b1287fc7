"""Keys and users in Settings: made, shown once, revoked; added, disabled, let in again."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.acts import chosen, faults
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, Served, bethink
from tests.ui.test_login import command

pytestmark = pytest.mark.timeout(120)

_PASSWORD = "a long enough secret"


def _sign_in(page: Page, served: Served, name: str, password: str) -> None:
    page.goto(f"{served.url}/settings/keys")
    page.get_by_role("button", name="Use a name and a password").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")


def _with_key(page: Page, served: Served, key: str) -> None:
    page.goto(f"{served.url}/settings/keys")
    page.get_by_label("Key", exact=True).fill(key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your keys")).to_be_visible()


def _status(served: Served, key: str) -> int:
    """What a program with this key is answered."""
    request = urllib.request.Request(f"{served.url}/memories", headers={"api-key": key})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=120) as response:  # noqa: S310
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def _row(page: Page, heading: str, name: str) -> Locator:
    return page.get_by_role("list", name=heading).get_by_role("listitem").filter(has_text=name)


def _owner(data: Path) -> str:
    """The key of the first user, who is added here."""
    command(data, "users", "add", "ann")
    return command(data, "users", "key", "add", "ann", "--scopes", "read,write,chat,admin").strip()


def test_without_users_the_page_says_what_the_first_one_does(page: Page, tmp_path: Path) -> None:
    with bethink(tmp_path, None) as served:
        page.goto(f"{served.url}/settings/keys")
        expect(page.get_by_role("heading", name="No keys are needed yet")).to_be_visible()
        expect(page.get_by_role("button", name="Add the first user")).to_be_visible()
        expect(page.get_by_role("link", name="Users and keys")).to_have_attribute("aria-current", "page")
        assert faults(page) == []


@pytest.mark.requirement("U7")
def test_a_key_is_made_shown_once_and_revoked(page: Page, tmp_path: Path) -> None:
    with bethink(tmp_path, None) as served:
        _with_key(page, served, _owner(tmp_path))
        page.get_by_role("button", name="Create a key").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_label("What it is for")).to_be_focused()
        assert faults(page) == []
        page.keyboard.type("Phone")
        page.get_by_role("checkbox", name="write").uncheck()
        expect(page.get_by_role("checkbox", name="admin")).not_to_be_checked()
        chosen(page, "It expires", "In 30 days")
        page.screenshot(path=PICTURES / "key-form.png")
        page.get_by_role("button", name="Create", exact=True).click()
        made = page.get_by_role("region", name="The key “Phone”")
        expect(made).to_be_focused()
        expect(made).to_contain_text("shown only once")
        key = made.locator("code").inner_text()
        assert faults(page) == []
        assert _status(served, key) == 200
        page.screenshot(path=PICTURES / "keys.png")
        made.get_by_role("button", name="Done").click()
        expect(page.get_by_text(key)).to_have_count(0)
        row = _row(page, "Your keys", "Phone")
        expect(row).to_contain_text("read, chat")
        expect(row).to_contain_text("expires on")
        page.reload()
        row.get_by_role("button", name="Revoke Phone").click()
        page.get_by_role("button", name="Keep").click()
        assert _status(served, key) == 200
        row.get_by_role("button", name="Revoke Phone").click()
        page.get_by_role("button", name="Revoke", exact=True).click()
        expect(row).to_contain_text("Revoked")
        expect(row.get_by_role("button")).to_have_count(0)
        assert _status(served, key) == 401


def test_an_administrator_adds_a_person_who_sees_no_other_people(new_page: NewPage, tmp_path: Path) -> None:
    with bethink(tmp_path, None) as served:
        page, other = new_page(color_scheme="dark"), new_page(width=390, height=844, is_mobile=True)
        _with_key(page, served, _owner(tmp_path))
        expect(_row(page, "Users", "ann").get_by_role("button", name="Disable")).to_have_count(0)
        page.get_by_role("button", name="Add a user").click()
        page.get_by_label("Name", exact=True).fill("bob")
        page.get_by_label("Password").fill(_PASSWORD)
        assert faults(page) == []
        page.get_by_role("button", name="Add", exact=True).click()
        expect(_row(page, "Users", "bob")).to_contain_text("has a password")
        page.screenshot(path=PICTURES / "keys-dark.png", full_page=True)
        assert faults(page) == []
        _sign_in(other, served, "bob", _PASSWORD)
        expect(other.get_by_text("You have no keys.")).to_be_visible()
        expect(other.get_by_role("heading", name="Users", exact=True)).to_have_count(0)
        assert faults(other) == []
        other.get_by_role("button", name="Create a key").click()
        expect(other.get_by_role("checkbox")).to_have_count(3)
        other.screenshot(path=PICTURES / "key-form-phone.png")
        assert other.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_role("button", name="Disable bob").click()
        page.get_by_role("button", name="Disable", exact=True).click()
        expect(_row(page, "Users", "bob")).to_contain_text("Disabled")
        other.reload()
        expect(other.get_by_role("heading", name="Sign in to Bethink")).to_be_visible()
        page.get_by_role("button", name="Enable bob").click()
        expect(_row(page, "Users", "bob")).to_contain_text("Enabled")
        page.get_by_role("button", name="Set password bob").click()
        page.get_by_label("New password").fill(f"{_PASSWORD}, a new one")
        page.keyboard.press("Enter")
        expect(page.get_by_text("bob has a new password")).to_be_visible()
        _sign_in(other, served, "bob", f"{_PASSWORD}, a new one")
        expect(other.get_by_text("You have no keys.")).to_be_visible()
