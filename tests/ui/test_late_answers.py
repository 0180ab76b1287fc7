"""Answers that come late, or in another order than they were asked for: what is newer stays."""

from __future__ import annotations

import contextlib
import re

import pytest
from playwright.sync_api import Error, Page, Route, expect

from tests.ui.acts import answered, chosen, drawn, kept, say
from tests.ui.conftest import NewPage
from tests.ui.running import Served, imported
from tests.ui.vaulted import Vaulted

pytestmark = pytest.mark.timeout(90)

SINCE = "2026-11-22T09:00:00Z"


def _server(name: str, state: str) -> dict[str, object]:
    return {
        "attempts": 0,
        "digest": None,
        "last_error": None,
        "name": name,
        "protocol": None,
        "reason": None,
        "server": None,
        "sign_in": None,
        "since": SINCE,
        "start": "lazy",
        "state": state,
        "tools": [],
        "transport": "stdio",
        "unreviewed": [],
        "suggested": {},
        "waiting": [],
    }


def _call(tool: str, number: int) -> dict[str, object]:
    return {
        "arguments": "{}",
        "at": SINCE,
        "by": "policy",
        "call": f"call-{number}",
        "conversation": "c",
        "duration_ms": 1,
        "error": None,
        "id": f"{tool}-{number}",
        "redacted": {},
        "run": "r",
        "tool": tool,
    }


def test_two_servers_that_are_asked_at_once_both_show_what_they_answered(served: Served, page: Page) -> None:
    held: dict[str, list[Route]] = {"one": [], "two": []}

    def hold(route: Route) -> None:
        held[route.request.url.split("/")[-2]].append(route)

    idle = {"servers": [_server("one", "idle"), _server("two", "idle")]}
    page.route("**/mcp-servers", lambda route: route.fulfill(json=idle))
    page.route("**/mcp-servers/*/reconnect", hold)
    page.goto(f"{served.url}/settings/servers")
    cards = {name: page.get_by_role("article", name=name, exact=True) for name in ("one", "two")}
    for name, card in cards.items():
        card.get_by_role("button", name=f"Connect {name}").click()
        expect(card).to_have_attribute("aria-busy", "true")
    for name, card in cards.items():
        kept(page, held[name]).fulfill(json=_server(name, "ready"))
        expect(card).to_have_attribute("aria-busy", "false")
    for card in cards.values():
        expect(card).to_contain_text("Connected")


def test_earlier_calls_are_not_waited_for_when_those_of_another_tool_are_wanted(
    served: Served, page: Page
) -> None:
    earlier: list[Route] = []
    two: list[Route] = []

    def answer(route: Route) -> None:
        url = route.request.url
        if "cursor=next" in url:
            earlier.append(route)
        elif "tool=two" in url:
            two.append(route)
        else:
            route.fulfill(json={"items": [_call("one", 1), _call("two", 1)], "cursor": "next"})

    page.route("**/tools/calls?*", answer)
    page.goto(f"{served.url}/settings/calls")
    rows = page.get_by_role("list", name="Calls").get_by_role("listitem")
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Show earlier calls").click()
    expect(page.get_by_role("button", name="Loading…")).to_be_visible()
    chosen(page, "Calls of", "two")
    newer = kept(page, two)
    # Nobody waits for it any more.
    with contextlib.suppress(Error):
        kept(page, earlier).fulfill(json={"items": [_call("one", 2)], "cursor": None})
    drawn(page)
    newer.fulfill(json={"items": [_call("two", 1)], "cursor": None})
    expect(rows).to_have_count(1)


def test_the_rule_that_was_chosen_last_is_kept(served: Served, page: Page) -> None:
    held: list[Route] = []
    page.route("**/tools/search_memory/rule", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks what it is given
    page.goto(f"{served.url}/settings/tools")
    rule = page.get_by_role("combobox", name="Rule for search_memory")
    chosen(page, "Rule for search_memory", "Ask each time")
    chosen(page, "Rule for search_memory", "Never allow")
    first = kept(page, held)
    drawn(page)
    assert [route.request.post_data_json for route in held] == [{"rule": "ask"}]
    first.continue_()
    with page.expect_response("**/tools"):
        kept(page, held, 1).continue_()
    expect(rule).to_have_text("Never allow")
    page.reload()
    expect(rule).to_have_text("Never allow")
    served.ask("PUT", "/tools/search_memory/rule", {"rule": None})


def test_what_would_be_forgotten_is_what_was_asked_for_last(served: Served, page: Page) -> None:
    held: list[Route] = []
    found = {"memories": [], "versions": [], "messages": [], "conversations": [], "pages": [], "people": []}
    found |= {"kinds": []}
    page.route("**/memories/forget", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks what it is given
    page.goto(f"{served.url}/memory")
    page.get_by_role("button", name="Data: export, import, forget").click()
    page.get_by_role("menuitem", name="Forget by search").click()
    dialog = page.get_by_role("dialog", name="Forget for good")
    for words in ("the dog", "the cat"):
        dialog.get_by_label("Everything about").fill(words)
        dialog.get_by_role("button", name="Show what would be forgotten").click()
    earlier, later = kept(page, held), kept(page, held, 1)
    said = [{"message": "m", "sentences": ["Tom purrs."]}]
    later.fulfill(json={**found, "messages": said, "has_more": False, "token": "later"})
    expect(dialog.get_by_text("Tom purrs.")).to_be_visible()
    earlier.fulfill(json={**found, "has_more": False, "token": "earlier"})
    drawn(page)
    expect(dialog.get_by_text("Tom purrs.")).to_be_visible()


def test_an_answer_is_shown_although_the_part_of_the_page_that_formats_it_did_not_arrive(
    served: Served, page: Page
) -> None:
    page.route("**/assets/Markdown-*.js", lambda route: route.abort(), times=1)
    with page.expect_event("requestfailed"):
        page.goto(served.url)
    say(page, "Hello there")
    expect(answered(page)).to_be_visible()


def test_a_room_that_did_not_arrive_says_so_and_is_fetched_again(served: Served, page: Page) -> None:
    part = "**/assets/MemoryRoom-*.js"
    # It is asked for ahead, and once more where it is imported.
    page.route(part, lambda route: route.abort())
    page.goto(served.url)
    page.get_by_role("link", name="Memory", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("This part of the page cannot be shown")
    page.unroute(part)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Memory")).to_be_visible()


def test_more_is_read_below_behind_what_was_slow_to_come_above(served: Served, page: Page) -> None:
    lines = [f"Line {number} of the story" for number in range(600)]
    conversation = imported(served, "A long story", lines)
    held: list[Route] = []
    page.route("**/conversations/*?*before=*", lambda route: held.append(route))  # noqa: PLW0108 - see above
    page.goto(f"{served.url}/c/{conversation}/300")
    expect(page.get_by_text("Line 300 of the story")).to_be_in_viewport()
    stream = page.get_by_role("region", name="Messages")
    stream.evaluate("stream => stream.scrollTo(0, 0)")
    expect(page.get_by_text("Loading…")).to_be_visible()
    last = page.locator("[data-turn]").last.inner_text().split("\n")[0]
    stream.evaluate("stream => stream.scrollTo(0, stream.scrollHeight)")
    expect(page.get_by_text(last, exact=True)).to_be_in_viewport()
    kept(page, held).continue_()
    expect(page.locator("[data-turn]").last).not_to_contain_text(last)


def test_more_conversations_are_listed_behind_what_was_slow_to_come(served: Served, page: Page) -> None:
    talk = served.post("/conversations", {"title": "Talk"})
    newest = {
        "items": [{**talk, "id": f"talk-{number}"} for number in range(50)],
        "cursor": "next",
        "total": 51,
    }
    past = {**talk, "title": "Older", "updated_at": "2020-01-01T00:00:00Z"}
    older = {"items": [past], "cursor": None, "total": 51}
    held: list[Route] = []
    is_slow = False

    def answer(route: Route) -> None:
        if "pinned" in route.request.url or "needs_you" in route.request.url:
            route.fulfill(json={"items": [], "cursor": None, "total": 0})
        elif "cursor=next" in route.request.url:
            route.fulfill(json=older)
        elif is_slow:
            held.append(route)
        else:
            route.fulfill(json=newest)

    page.route("**/conversations?*", answer)
    page.goto(served.url)
    rows = page.get_by_role("navigation", name="Conversations").locator(".scroll")
    expect(rows.get_by_role("link", name="Talk").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    is_slow = True
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    again = kept(page, held)
    rows.evaluate("rows => rows.scrollTo(0, rows.scrollHeight)")
    drawn(page)
    again.fulfill(json=newest)
    expect(rows.get_by_role("link", name="Older")).to_have_count(1)


def test_an_answer_is_stopped_before_its_first_word(served: Served, page: Page) -> None:
    held: list[Route] = []
    page.route("**/chat", lambda route: held.append(route))  # noqa: PLW0108 - see above
    page.goto(served.url)
    say(page, "Count without end")
    page.get_by_role("button", name="Stop the answer").click()
    expect(page.get_by_role("button", name="Stopping")).to_be_visible()
    kept(page, held).continue_()
    expect(page.get_by_text("You stopped this answer")).to_be_visible()


def test_what_was_said_in_another_window_is_there_when_somebody_comes_back(
    served: Served, page: Page
) -> None:
    conversation = imported(served, "Boat names", ["Which name?", "Perhaps Halcyon."])
    page.goto(f"{served.url}/c/{conversation}")
    expect(page.get_by_text("Perhaps Halcyon.")).to_be_visible()
    served.post(
        f"/conversations/{conversation}/chat",
        {"message": {"role": "user", "content": "Hello there"}, "stream": False},
    )
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_role("article", name="You").last).to_contain_text("Hello there")
    expect(page.get_by_role("button", name="Copy answer")).to_have_count(2)


def test_a_memory_is_brought_back_into_the_list_that_is_shown_now(served: Served, page: Page) -> None:
    for content in ("Plays the viola", "Has a red bicycle"):
        served.post("/memories", {"content": content})
    page.goto(f"{served.url}/memory")
    bicycle = page.get_by_role("article", name="Has a red bicycle")
    viola = page.get_by_role("article", name="Plays the viola")
    page.get_by_role("searchbox", name="Search memory").fill("bicycle")
    expect(page.get_by_text("1 memory answers, best first")).to_be_visible()
    bicycle.focus()
    page.keyboard.press("x")
    expect(bicycle).to_have_count(0)
    page.get_by_role("searchbox", name="Search memory").fill("")
    expect(page.get_by_text("answers, best first")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(bicycle).to_be_visible()
    expect(viola).to_be_visible()
    bicycle.focus()
    page.keyboard.press("x")
    expect(bicycle).to_have_count(0)
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("link", name="Memory", exact=True).click()
    expect(viola).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(bicycle).to_be_visible()


def test_what_is_slow_to_be_told_is_waited_for_and_not_asked_for_again(
    served: Served, new_page: NewPage
) -> None:
    page = new_page(own=True)
    working = {
        "at": SINCE,
        "error": None,
        "id": "i",
        "into": "conversations",
        "name": "talks.zip",
        "preview": None,
        "report": None,
        "source": "",
        "staged": False,
        "state": "reading",
        "topics": "none",
    }
    held: list[Route] = []
    page.route(f"{served.url}/import", lambda route: held.append(route))  # noqa: PLW0108 - see above
    page.clock.install()
    page.goto(f"{served.url}/settings/import")
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    card = page.get_by_role("article", name="talks.zip")
    kept(page, held).fulfill(json={"items": [working]})
    expect(card).to_have_attribute("aria-busy", "true")
    page.clock.run_for(1500)
    slow = kept(page, held, 1)
    page.clock.run_for(10_000)
    assert held[2:] == []
    slow.fulfill(json={"items": [{**working, "state": "failed", "error": "It is no export."}]})
    expect(card).to_contain_text("It is no export.")


def test_what_somebody_sees_is_told_as_it_is_behind_a_filter_that_was_added_meanwhile(
    vault: Vaulted, page: Page
) -> None:
    held: list[Route] = []
    page.route("**/vault/filters/test", lambda route: held.append(route), times=1)  # noqa: PLW0108 - see above
    page.goto(f"{vault.served.url}/vault/filters")
    seen = page.get_by_role("form", name="What would this client see?")
    seen.get_by_label("Page", exact=True).fill("user.md")
    page.keyboard.press("Tab")
    seen.get_by_role("button", name="Show", exact=True).click()
    early = kept(page, held).fetch()
    adding = page.get_by_role("form", name="Add a filter")
    adding.get_by_label("On pages").fill("user.md")
    adding.get_by_role("button", name="Add").click()
    remove = page.get_by_role("button", name=re.compile("^Remove: "))
    expect(remove).to_have_count(1)
    told = seen.get_by_role("status")
    expect(told).to_have_text("They cannot see this page.")
    with page.expect_response("**/vault/filters/test"):
        held[0].fulfill(response=early)
    drawn(page)
    expect(told).to_have_text("They cannot see this page.")
    remove.click()
    expect(remove).to_have_count(0)
