"""What servers of tools lend and ask in the page: forms, resources, prompts, and leave to trust them."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.acts import done, faults, say
from tests.ui.running import ROOT, Served, bethink

pytestmark = pytest.mark.timeout(90)

_HOSTILE = ROOT / "tests" / "servers" / "hostile.py"


def _turn(when: str, tool: str, arguments: dict[str, object]) -> list[dict[str, object]]:
    calls = [{"name": tool, "arguments": arguments}]
    return [
        {"when": when, "after_tool": False, "tool_calls": calls},
        {"when": when, "after_tool": True, "text": "It is done."},
    ]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A Bethink with a server that lends and asks."""
    home = tmp_path_factory.mktemp("lent")
    arguments = ["-I", "-S", str(_HOSTILE), "library", "asking", "closed"]
    server = {"command": sys.executable, "args": arguments, "start": "eager", "effect": "read"}
    script = [
        *_turn("book it", "inn__ask", {"kind": "form"}),
        *_turn("pay it", "inn__ask", {"kind": "page"}),
        *_turn("show the parts", "inn__parts", {}),
        {"when": "greet ann", "text": "Hello, Ann."},
        {"when": "look at this", "text": "I see it."},
    ]
    (home / "script.json").write_text(json.dumps(script))
    servers = json.dumps({"inn": server})
    with (
        scripted_process(["--script", str(home / "script.json")]) as model,
        bethink(home / "data", model.base_url, BETHINK_MCP_SERVERS=servers) as running,
    ):
        running.post("/mcp-servers/inn/reconnect", {})
        yield running


def test_a_form_is_filled_in_where_the_answer_stands(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Book it")
    card = page.get_by_role("form", name="inn asks you something")
    expect(card).to_contain_text("Which hotel?")
    card.get_by_label("city").fill("Lisbon")
    card.get_by_label("room").select_option("Quiet")
    expect(card.get_by_label("guests")).to_have_value("2")
    assert faults(page) == []
    card.get_by_role("button", name="Send").click()
    expect(card).to_have_count(0)
    done(page).locator("[data-tool] summary").first.click()
    expect(page.locator("[data-result]").first).to_contain_text('"city": "Lisbon"')


def test_a_page_is_named_with_its_host_and_may_be_declined(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Pay it")
    card = page.get_by_role("form", name="inn wants you to visit a page")
    link = card.get_by_role("link", name="Open the page at pay.example")
    expect(link).to_have_attribute("href", "https://pay.example/x")
    page.reload()
    expect(link).to_be_visible()
    card.get_by_role("button", name="Decline").click()
    expect(card).to_have_count(0)
    done(page)


def test_a_prompt_of_a_server_is_filled_in_and_a_resource_attached(served: Served, page: Page) -> None:
    page.goto(served.url)
    field = page.get_by_role("textbox", name="Message")
    field.fill("/gre")
    page.get_by_role("option", name="greet").click()
    page.get_by_label("who").fill("Ann")
    page.get_by_role("button", name="Insert").click()
    expect(field).to_have_value("Greet Ann at https://evil.example")
    field.press("Enter")
    expect(page.get_by_text("Hello, Ann.")).to_be_visible()
    asked = served.get("/conversations")["items"][0]["id"]
    assert served.get(f"/conversations/{asked}")["messages"][0]["untrusted"]
    field.fill("@plan")
    page.get_by_role("option", name="The plan").click()
    expect(page.get_by_text("plan.txt").first).to_be_visible()
    say(page, "Look at this")
    expect(page.get_by_text("I see it.")).to_be_visible()


def test_a_resource_that_a_result_names_opens_by_a_click(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Show the parts")
    done(page).locator("[data-tool] summary").first.click()
    page.get_by_role("button", name="Open a.txt").click()
    expect(page.get_by_text("no such method")).to_be_visible()
    assert faults(page) == []


def test_a_server_is_trusted_by_a_button_once_its_tools_are_accepted(served: Served, page: Page) -> None:
    config = {"command": sys.executable, "args": ["-I", "-S", str(_HOSTILE), "closed"], "start": "eager"}
    line = shlex.join([sys.executable, *config["args"]])
    served.ask("PUT", "/mcp-servers/clock", {**config, "confirm": line})
    served.post("/mcp-servers/clock/reconnect", {})
    served.post("/mcp-servers/clock/accept", {})
    page.goto(f"{served.url}/settings/servers")
    card = page.get_by_role("article", name="clock", exact=True)
    expect(card).to_contain_text("claim to reach nothing outside")
    card.get_by_role("button", name="Trust its results").click()
    expect(card.get_by_role("button", name="Trust its results")).to_have_count(0)
    (clock,) = [one for one in served.get("/mcp-servers")["servers"] if one["name"] == "clock"]
    assert clock["config"]["trust"] == "owner"
