"""The first steps in the page: from a Bethink without a model to its first answer, and no terminal."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, Route, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.acts import answered, composer, faults
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, SCRIPT, Served, bethink

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def fresh(tmp_path: Path, browser: object) -> Generator[Served]:
    """A Bethink that nobody has told anything."""
    del browser
    with bethink(tmp_path, None) as served:
        yield served


@pytest.fixture(scope="module")
def address(browser: object) -> Generator[str]:
    """Where a server of models is that plays tests/ui/script.json."""
    del browser
    with scripted_process(["--script", str(SCRIPT)]) as model:
        yield model.base_url


def _picture(page: Page, name: str) -> None:
    page.mouse.move(0, 0)
    page.screenshot(path=PICTURES / name)


@pytest.mark.requirement("R6")
def test_a_person_without_a_terminal_gets_to_a_first_answer(fresh: Served, address: str, page: Page) -> None:
    page.goto(fresh.url)
    _choose_model(page, address)
    _tell_of_oneself(page)
    expect(page.get_by_role("heading", name="You are ready")).to_be_focused()
    _picture(page, "setup-ready.png")
    page.get_by_role("button", name="What do you know about me?").click()
    expect(composer(page)).to_have_value("What do you know about me?")
    page.keyboard.press("Enter")
    expect(answered(page)).to_be_visible()
    memories = [one["content"] for one in fresh.get("/memories")["items"]]
    assert memories == ["User lives in Porto"]
    assert fresh.get("/preferences")["tone"] == "short and to the point"
    assert fresh.get("/settings")["model"] == "custom:scripted-demo"
    page.goto(fresh.url)
    expect(composer(page)).to_be_visible()
    expect(page).to_have_url(f"{fresh.url}/")


def _choose_model(page: Page, address: str) -> None:
    expect(page.get_by_role("heading", name="Choose a model")).to_be_focused()
    assert page.url.endswith("/setup/model")
    assert faults(page) == []
    page.get_by_role("button", name=re.compile("Another server")).click()
    expect(page.get_by_role("heading", name="Another server")).to_be_focused()
    page.get_by_label("Address (base URL)").fill(address)
    page.keyboard.press("Tab")
    page.get_by_role("radio", name="scripted-demo").check()
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_text("It works")).to_be_visible()
    assert faults(page) == []
    _picture(page, "setup-model.png")
    page.get_by_role("button", name="Use this model").click()


def _tell_of_oneself(page: Page) -> None:
    expect(page.get_by_role("heading", name="Bring your history")).to_be_focused()
    page.get_by_role("button", name="ChatGPT", exact=True).click()
    expect(page.get_by_text("Export data")).to_be_visible()
    assert faults(page) == []
    _picture(page, "setup-history.png")
    page.get_by_role("button", name="Skip this step").click()

    page.get_by_label("What may I call you?").fill("Ann")
    page.get_by_label("Where do you live?").fill("Porto")
    page.get_by_role("button", name="Short", exact=True).click()
    assert faults(page) == []
    _picture(page, "setup-about.png")
    page.get_by_role("button", name="Save", exact=True).click()
    kept = page.get_by_role("list", name="What is remembered")
    expect(kept.get_by_role("listitem")).to_have_count(2)
    kept.get_by_role("button", name=re.compile("Undo.*name is Ann")).click()
    expect(kept.get_by_role("listitem")).to_have_count(1)
    page.get_by_role("button", name="Continue").click()


def test_the_first_steps_fit_a_phone(fresh: Served, address: str, new_page: NewPage) -> None:
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    page.goto(fresh.url)
    page.get_by_role("button", name=re.compile("Another server")).tap()
    page.get_by_label("Address (base URL)").fill(address)
    page.get_by_role("button", name="Show its models").tap()
    page.get_by_role("radio", name="scripted-demo").tap()
    _picture(page, "setup-phone.png")
    page.get_by_role("button", name="Use this model").tap()
    expect(page.get_by_role("heading", name="Bring your history")).to_be_visible()
    for step in ("history", "about", "ready", "model"):
        page.goto(f"{fresh.url}/setup/{step}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_is_wrong_with_a_model_is_said_before_it_is_saved(fresh: Served, page: Page) -> None:
    page.goto(f"{fresh.url}/setup/model")
    page.get_by_role("button", name=re.compile("Another server")).click()
    address = page.get_by_label("Address (base URL)")
    for wrong, told in (
        ("nonsense", "is no address"),
        (fresh.url, "This is the address of a Bethink"),
        ("http://127.0.0.1:9/v1", "nothing answers there (connection refused)"),
    ):
        address.fill(wrong)
        page.keyboard.press("Tab")
        expect(page.get_by_text(told)).to_be_visible()
    page.get_by_label("Name of the model").fill("some-model")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("nothing answers there")
    assert faults(page) == []
    page.get_by_label("Name of the model").fill("other-model")
    page.get_by_role("button", name="Use this model").click()
    expect(page.get_by_role("alert")).to_contain_text("custom:other-model cannot be reached")
    assert fresh.get("/settings")["model"] is None
    page.get_by_role("button", name="Use it anyway").click()
    expect(page.get_by_role("heading", name="Bring your history")).to_be_visible()
    assert fresh.get("/settings")["model"] == "custom:other-model"


def test_the_first_steps_can_be_put_off_and_are_found_again(fresh: Served, page: Page) -> None:
    page.goto(fresh.url)
    page.get_by_role("button", name="Do this later").click()
    expect(page.get_by_role("heading", name="No language model is set up")).to_be_visible()
    page.goto(fresh.url)
    expect(composer(page)).to_be_visible()
    expect(page).to_have_url(f"{fresh.url}/")
    page.get_by_role("link", name="Choose a model").click()
    expect(page).to_have_url(f"{fresh.url}/setup/model")
    page.goto(f"{fresh.url}/settings")
    page.get_by_role("link", name="Set up", exact=True).click()
    expect(page).to_have_url(f"{fresh.url}/setup/model")


@contextmanager
def _model_file(content: bytes) -> Generator[str]:
    """The address of a file, on this machine."""

    class Shelf(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Shelf) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/tiny.gguf"
        finally:
            server.shutdown()
            thread.join()


def test_a_model_file_is_downloaded_used_and_removed(fresh: Served, page: Page) -> None:
    def installed(route: Route) -> None:
        # Whether llama.cpp is there is this machine's own: the page does not ask more of it than this.
        body = fresh.get("/models/providers")
        for provider in body["providers"]:
            provider["missing"] = ""
        route.fulfill(json=body)

    page.route("**/models/providers", installed)
    page.goto(f"{fresh.url}/settings/model")
    page.get_by_role("button", name="Choose a model").click()
    page.get_by_role("button", name=re.compile("^llama.cpp")).click()
    field = page.get_by_label("Web address or path of a GGUF file")
    field.fill("http://models.example/tiny.gguf")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("use an address with https")
    with _model_file(b"GGUF" + (3).to_bytes(4, "little") + bytes(1_000)) as address:
        field.fill(address)
        expect(page.get_by_role("button", name="Download", exact=True)).to_be_enabled()
        field.press("Enter")
        row = page.get_by_role("list", name="Model files").get_by_role("listitem")
        expect(row.get_by_role("button", name="Use tiny")).to_be_enabled()
    expect(field).to_have_value("")
    assert faults(page) == []
    row.get_by_role("button", name="Use tiny").click()
    expect(page.get_by_label("The model", exact=True)).to_contain_text("gguf:")
    (file,) = fresh.get("/models/downloads")["downloads"]
    assert fresh.get("/settings")["model"] == file["model"]
    fresh.patch("/settings", {"model": None})
    page.reload()
    page.get_by_role("button", name="Choose a model").click()
    page.get_by_role("button", name=re.compile("^llama.cpp")).click()
    row.get_by_role("button", name="Remove tiny").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)
    assert fresh.get("/models/downloads") == {"downloads": []}
