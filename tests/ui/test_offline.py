"""The page without its server: it opens, what is written waits and is sent; its worker keeps no data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.ui.acts import faults
from tests.ui.conftest import NewPage
from tests.ui.running import Served, bethink

pytestmark = pytest.mark.timeout(120)

_SHARE = """() => {
    const form = document.createElement("form");
    Object.assign(form, { method: "post", action: "/share", enctype: "multipart/form-data" });
    for (const [name, value] of [["title", "An article"], ["url", "https://example.org/x"]]) {
        form.append(Object.assign(document.createElement("input"), { name, value }));
    }
    document.body.append(form);
    form.submit();
}"""
_KEPT = """async () => {
    const found = [];
    for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        for (const request of await cache.keys()) found.push(new URL(request.url).pathname);
    }
    return found;
}"""


def _installed(new_page: NewPage, served: Served, path: str = "/") -> Page:
    """A page whose worker holds its files."""
    page = new_page(own=True, service_workers="allow")
    page.goto(served.url + path)
    page.evaluate("navigator.serviceWorker.ready")
    return page


def test_the_worker_keeps_the_page_and_nothing_of_its_owner(served: Served, new_page: NewPage) -> None:
    served.post("/memories", {"content": "Plays the viola"})
    page = _installed(new_page, served, "/memory")
    page.reload()
    expect(page.get_by_text("Plays the viola").first).to_be_visible()
    kept = page.evaluate(_KEPT)
    assert "/" in kept
    others = [
        path
        for path in kept
        if not re.fullmatch(r"/|/assets/.+|/(theme\.js|icon\.svg|manifest\.webmanifest)", path)
    ]
    assert others == []


def test_what_another_program_shares_goes_where_its_owner_says(served: Served, new_page: NewPage) -> None:
    page = _installed(new_page, served)
    page.reload()
    page.evaluate(_SHARE)
    dialog = page.get_by_role("dialog", name="Where should it go?")
    expect(dialog).to_contain_text("An article")
    assert faults(page) == []
    dialog.get_by_role("button", name="New chat").click()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("An article\nhttps://example.org/x")
    expect(page).to_have_url(f"{served.url}/")
    page.evaluate(_SHARE)
    page.get_by_role("dialog").get_by_role("button", name="Memory").click()
    expect(page.get_by_text("Remembered")).to_be_visible()
    assert [fact["content"] for fact in served.get("/memories")["items"]] == [
        "An article https://example.org/x"
    ]


@pytest.fixture
def away(browser: Browser) -> BrowserContext:
    """A browser whose log of requests without a server is nobody's fault."""
    context = browser.new_context(
        locale="en-GB", timezone_id="Europe/Paris", viewport={"width": 1280, "height": 800}
    )
    context.set_default_timeout(60_000)
    return context


def test_the_page_opens_without_the_server_and_what_is_written_is_sent_in_order(
    away: BrowserContext, tmp_path: Path
) -> None:
    with bethink(tmp_path, None) as served:
        page = away.new_page()
        page.goto(served.url)
        page.evaluate("navigator.serviceWorker.ready")
        served.kill()
    page.goto(f"{served.url}/tasks")
    field = page.get_by_label("New task in words")
    for words in ("Water the plants #home", "Buy seeds"):
        field.fill(words)
        field.press("Enter")
        expect(field).to_have_value("")
    page.reload()
    waiting = page.get_by_role("button", name="2 things wait to be sent")
    waiting.click()
    listed = page.get_by_role("dialog", name="Waiting to be sent")
    expect(listed.get_by_role("listitem")).to_have_text(
        [re.compile("Water the plants"), re.compile("Buy seeds")]
    )
    assert faults(page) == []
    page.keyboard.press("Escape")
    with bethink(tmp_path, None, BETHINK_PORT=served.url.rpartition(":")[2]) as back:
        expect(waiting).to_have_count(0)
        expect(page.get_by_role("link", name="Buy seeds")).to_be_visible()
        made = sorted(back.get("/tasks")["items"], key=lambda task: task["created_at"])
        assert [task["title"] for task in made] == ["Water the plants", "Buy seeds"]
        assert made[0]["tags"] == ["home"]
    away.close()


@pytest.mark.parametrize(
    "path", ["/memory", "/tasks", "/today", "/calendar", "/documents", "/schedules", "/settings/you"]
)
def test_a_room_that_was_opened_without_the_server_is_filled_when_it_is_back(
    served: Served, page: Page, path: str
) -> None:
    def answer(route: Route) -> None:
        if route.request.resource_type in {"fetch", "eventsource"}:
            route.abort("connectionrefused")
        else:
            route.continue_()

    page.route("**/*", answer)
    page.goto(served.url + path)
    refused = page.get_by_role("main").get_by_text("Bethink is not responding", exact=True)
    expect(refused.first).to_be_visible()
    page.unroute("**/*")
    expect(refused).to_have_count(0)


@pytest.mark.parametrize(
    ("room", "field", "words", "made"),
    [
        ("tasks", "New task in words", "Water the plants", "/tasks"),
        ("calendar", "New event in words", "Lunch on Friday at 12:30", "/calendar/events"),
    ],
)
def test_what_was_made_though_its_answer_was_lost_is_not_made_twice(
    away: BrowserContext, tmp_path: Path, room: str, field: str, words: str, made: str
) -> None:
    with bethink(tmp_path, None) as served:
        page = away.new_page()
        page.goto(f"{served.url}/{room}")
        page.evaluate("navigator.serviceWorker.ready")
        sent: list[str] = []

        def lose(route: Route) -> None:
            if route.request.method != "POST":
                route.continue_()
                return
            sent.append(route.request.headers["idempotency-key"])
            assert route.fetch().status == 201
            route.abort("connectionreset")

        page.route(f"**{made}", lose)
        line = page.get_by_label(field)
        line.fill(words)
        line.press("Enter")
        waiting = page.get_by_role("button", name="1 thing waits to be sent")
        expect(waiting).to_be_visible()
        page.unroute(f"**{made}")
        with page.expect_request(lambda request: request.method == "POST" and made in request.url) as again:
            page.reload()
        expect(waiting).to_have_count(0)
        sent.append(again.value.headers["idempotency-key"])
        assert sent[0] == sent[1]
        today = page.evaluate("new Date().toLocaleDateString('sv')")
        end = page.evaluate("new Date(Date.now() + 10 * 86_400_000).toLocaleDateString('sv')")
        span = f"?start={today}&end={end}" if room == "calendar" else ""
        assert len(served.get(made + span)["items"]) == 1
    away.close()


def test_what_the_server_refuses_stays_with_its_reason_until_it_is_taken_back(
    away: BrowserContext, tmp_path: Path
) -> None:
    with bethink(tmp_path, None) as served:
        page = away.new_page()
        page.goto(f"{served.url}/tasks")
        page.evaluate("navigator.serviceWorker.ready")
        field = page.get_by_label("New task in words")
        page.route(
            "**/tasks", lambda route: route.abort() if route.request.method == "POST" else route.continue_()
        )
        field.fill("x" * 900)
        field.press("Enter")
        expect(page.get_by_role("button", name="1 thing waits to be sent")).to_be_visible()
        page.unroute("**/tasks")
        page.reload()
        page.get_by_role("button", name="1 thing waits to be sent").click()
        listed = page.get_by_role("dialog", name="Waiting to be sent")
        expect(listed.get_by_role("listitem")).not_to_contain_text("Sent when Bethink is back")
        listed.get_by_role("button", name=re.compile("Take back")).click()
        expect(page.get_by_role("button", name=re.compile("waits to be sent"))).to_have_count(0)
        assert served.get("/tasks")["items"] == []
    away.close()
