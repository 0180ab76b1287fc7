"""The page on which a person lets another program use Bethink, and where they end it."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.ui.acts import faults
from tests.ui.running import PICTURES, bethink
from tests.ui.test_login import command

pytestmark = pytest.mark.timeout(120)
CALLBACK = "https://connector.example/callback"
PASSWORD = "correct horse battery"


def address(url: str, **more: str) -> str:
    """Where a connector that has just registered sends its user's browser."""
    told = json.dumps({"client_name": "Helpful <b>Connector</b>", "redirect_uris": [CALLBACK]}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/register", told)) as answer:  # noqa: S310 - ours
        client = json.load(answer)["client_id"]
    asked = {
        "response_type": "code",
        "client_id": client,
        "redirect_uri": CALLBACK,
        "state": "st",
        "code_challenge": "c" * 43,
        "code_challenge_method": "S256",
        "resource": f"{url}/mcp",
    }
    return f"{url}/authorize?{urlencode(asked | more)}"


@pytest.mark.parametrize("allow", [True, False])
def test_a_person_is_asked_once_signed_in_and_ends_it_again(
    page: Page, tmp_path: Path, *, allow: bool
) -> None:
    arrived: list[str] = []

    def arrive(route: Route) -> None:
        arrived.append(route.request.url)
        route.fulfill(body="You may close this.")

    with bethink(tmp_path, None) as served:
        command(tmp_path, "users", "add", "ann")
        command(tmp_path, "users", "password", "ann", typed=f"{PASSWORD}\n")
        page.route(f"{CALLBACK}*", arrive)
        page.goto(address(served.url))
        page.get_by_role("button", name="Use a name and a password").click()
        page.get_by_label("Name").fill("ann")
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        heading = page.get_by_role("heading", name="Let “Helpful <b>Connector</b>” use your Bethink?")
        expect(heading).to_be_visible()
        expect(page.get_by_role("main")).to_contain_text("The answer goes to connector.example.")
        assert faults(page) == []
        page.set_viewport_size({"width": 390, "height": 844})
        page.screenshot(path=PICTURES / "consent.png")
        page.get_by_label("Change them with its tools").uncheck()
        page.get_by_role("button", name="Let it in" if allow else "Refuse").click()
        expect(page.get_by_text("You may close this.")).to_be_visible()
        told = parse_qs(urlsplit(arrived[0]).query)
        assert (told["state"], told["iss"]) == (["st"], [served.url])
        assert ("code" in told, told.get("error")) == (allow, None if allow else ["access_denied"])
        page.goto(address(served.url, redirect_uri="https://evil.example/"))
        expect(page.get_by_text("an address that the program did not register")).to_be_visible()
        assert urlsplit(page.url).path == "/authorize"
