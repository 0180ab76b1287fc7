"""Servers of tools in the pages: how they are, what they changed, and what their tools bring."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.acts import done, faults, say
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, ROOT, Served, bethink

pytestmark = pytest.mark.timeout(90)

_HOSTILE = ROOT / "tests" / "servers" / "hostile.py"
_SIGN_IN = "http://127.0.0.1:9/authorize?client=bethink"


def _server(*traits: str) -> dict[str, object]:
    return {"command": sys.executable, "args": ["-I", "-S", str(_HOSTILE), *traits], "start": "eager"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A Bethink with a server that changes its tools, and one that ends before it has said a word."""
    servers = json.dumps({"odd": _server(), "gone": _server("dying")})
    data = tmp_path_factory.mktemp("data")
    script = Path(__file__).with_name("tools_script.json")
    with (
        scripted_process(["--script", str(script)]) as model,
        bethink(
            data, model.base_url, BETHINK_MCP_SERVERS=servers, BETHINK_MAX_OFFERED_TOOLS="500"
        ) as running,
    ):
        running.post("/mcp-servers/odd/reconnect", {})
        yield running


def _card(page: Page, name: str) -> Locator:
    return page.get_by_role("article", name=name, exact=True)


def _picture(page: Page, name: str) -> None:
    page.mouse.move(0, 0)
    page.screenshot(path=PICTURES / name)


def test_servers_say_how_they_are_and_what_they_changed(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/servers")
    expect(_card(page, "odd")).to_contain_text("Connected")
    expect(_card(page, "gone")).to_contain_text("Cannot be reached")
    expect(_card(page, "gone").get_by_role("paragraph").first).not_to_be_empty()
    page.get_by_role("button", name="Reconnect gone").click()
    expect(page.get_by_role("button", name="Reconnect gone")).to_be_enabled()
    page.goto(served.url)
    say(page, "Poison the server")
    line = done(page).locator("[data-tool]")
    expect(line.get_by_text("odd", exact=True)).to_be_visible()
    expect(line.get_by_text("poison", exact=True)).to_be_visible()
    expect(line.get_by_text("from outside")).to_be_visible()
    page.goto(f"{served.url}/settings/servers")
    changed = _card(page, "odd").get_by_role("list")
    expect(changed).to_contain_text("~/.ssh/id_rsa")
    assert faults(page) == []
    _picture(page, "servers.png")
    page.get_by_role("button", name="Accept changes").click()
    expect(changed).to_have_count(0)
    expect(_card(page, "odd")).to_contain_text("Connected")


def test_pictures_and_files_of_a_server_are_shown(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Show me the parts")
    files = page.get_by_role("list", name="Files from: odd: parts")
    expect(files.get_by_role("img")).to_be_visible()
    expect(files.get_by_role("link", name=re.compile("Download"))).to_have_count(2)
    assert faults(page) == []
    page.reload()
    expect(files.get_by_role("img")).to_be_visible()


def test_a_server_is_signed_in_to_beside_this_page(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/settings/servers")
    expect(_card(page, "gone")).to_be_visible()
    (_, gone) = served.get("/mcp-servers")["servers"]
    asking = {**gone, "state": "sign_in", "reason": "It wants to know who you are.", "sign_in": None}
    page.route("**/mcp-servers", lambda route: route.fulfill(json={"servers": [asking]}))
    page.route("**/login", lambda route: route.fulfill(json={**asking, "sign_in": _SIGN_IN}))
    page.context.route(_SIGN_IN, lambda route: route.fulfill(body="Who are you?"))
    page.reload()
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Sign in").click()
    expect(opened.value.get_by_text("Who are you?")).to_be_visible()
    assert opened.value.url == _SIGN_IN


@pytest.mark.parametrize("way", ["dark", "phone"])
def test_servers_in_the_dark_and_on_a_phone(served: Served, new_page: NewPage, way: str) -> None:
    page = (
        new_page(color_scheme="dark")
        if way == "dark"
        else new_page(width=390, height=844, has_touch=True, is_mobile=True)
    )
    page.goto(served.url)
    say(page, "Show me the parts")
    expect(page.get_by_role("article").get_by_text("These are its parts.")).to_be_visible()
    for name, shown in (("servers", "gone"), ("tools", "store_memory"), ("calls", "allowed by rule")):
        page.goto(f"{served.url}/settings/{name}")
        expect(page.get_by_text(shown).first).to_be_visible()
        _picture(page, f"{name}-{way}.png")
        assert faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
