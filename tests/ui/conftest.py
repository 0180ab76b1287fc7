"""One server and one browser for a worker's tests; a fresh page, and nothing remembered, for each."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from blockbuster import BlockBuster
from playwright.sync_api import Browser, BrowserContext, Frame, Page, expect, sync_playwright

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.running import FLAGS, SCRIPT, ZONE, Served, bethink, chromium
from tests.ui.vaulted import Vaulted

NewPage = Callable[..., Page]
_OWNER: dict[str, Any] = {
    "locale": "en-GB",
    "timezone_id": ZONE,
    "service_workers": "block",
    "reduced_motion": "reduce",
}
"""What a worker asks for cannot be held or answered by a test: those that are about it allow it.

What moves is drawn sixty times a second, by the processor; tests that are about it have it move.
"""
_LOOKS = {"color_scheme", "forced_colors", "reduced_motion", "contrast"}
"""What a page alone can have; all else is its context's."""
_PATIENCE_MS = 60_000
"""How long a page may take to show what a test waits for, on a machine that does much else."""


@pytest.fixture(scope="session")
def browser(no_blocking_calls: BlockBuster) -> Generator[Browser]:
    """A headless Chromium. Browser tests are the last ones.

    Playwright leaves its own event loop running in this thread: from here on every
    call, a process being started too, would count as one on the loop.
    """
    no_blocking_calls.deactivate()
    path = chromium()
    if path is None:
        pytest.skip("no Chromium on the PATH")
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A Bethink whose model plays tests/ui/script.json."""
    with (
        scripted_process(["--script", str(SCRIPT)]) as model,
        bethink(tmp_path_factory.mktemp("data"), model.base_url, BETHINK_GRAPH_ENABLED="true") as served,
    ):
        yield served


@pytest.fixture
def served(running: Served) -> Served:
    """The same, with nothing in its memory: no fact and no conversation."""
    emptied(running)
    return running


def emptied(served: Served) -> None:
    """Take out what earlier tests put in."""
    served.delete("/memories?confirm=true")
    while tasks := served.get("/tasks?limit=200")["items"]:
        for task in tasks:
            # What it is a part of takes it along.
            if task["parent"] is None:
                served.delete(f"/tasks/{task['id']}")
    for place in ("archived=false", "archived=true", "trashed=true"):
        while kept := served.get(f"/conversations?limit=100&{place}")["items"]:
            for conversation in kept:
                served.delete(f"/conversations/{conversation['id']}")


class Shared:
    """Contexts for the pages of many tests, one for each way that a browser can be.

    Pages find compiled what earlier ones ran. A context's first page stays, and with it the process that
    draws them.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: dict[frozenset[tuple[str, str | bool]], BrowserContext] = {}

    def context(self, **options: str | bool) -> BrowserContext:
        """The one with these options."""
        key = frozenset(options.items())
        if key not in self._contexts:
            context = self._browser.new_context(**{**_OWNER, **cast("dict[str, Any]", options)})
            context.set_default_timeout(_PATIENCE_MS)
            first = context.new_page()
            first.route("**", lambda route: route.fulfill(body="This one stays."))
            first.goto("http://127.0.0.1:1/")
            self._contexts[key] = context
        return self._contexts[key]


@pytest.fixture(scope="session")
def shared(browser: Browser) -> Shared:
    """They end with the browser."""
    return Shared(browser)


def _forget(context: BrowserContext, servers: set[str]) -> None:
    """Close its pages but the first, and have nothing left of what they kept of these servers."""
    first, *pages = context.pages
    for page in pages:
        assert page.evaluate("!('__pwClock' in globalThis)"), "a clock is its context's: new_page(own=True)"
        page.close()
    asking = context.new_cdp_session(first)
    for server in servers:
        asking.send("Storage.clearDataForOrigin", {"origin": server, "storageTypes": "all"})
    asking.detach()
    context.set_offline(False)
    context.clear_cookies()
    context.clear_permissions()
    context.unroute_all()


@pytest.fixture
def new_page(browser: Browser, shared: Shared) -> Generator[NewPage]:
    """Makes pages; what a page logs as an error, and what its policy refuses, fails the test.

    Each is one of a shared context unless it is to be its `own`; a second one with the same options is as if
    in another browser.
    """
    faults: list[str] = []
    owned: list[BrowserContext] = []
    lent: list[BrowserContext] = []
    servers: set[str] = set()

    def visited(frame: Frame) -> None:
        address = urlsplit(frame.url)
        if address.scheme == "http":
            servers.add(f"http://{address.netloc}")

    def make(*, width: int = 1360, height: int = 860, own: bool = False, **options: str | bool) -> Page:
        looks = {name: options.pop(name) for name in _LOOKS & options.keys()}
        context = None if own else shared.context(**options)
        if context is None or context in lent:
            context = browser.new_context(**{**_OWNER, **cast("dict[str, Any]", options)})
            context.set_default_timeout(_PATIENCE_MS)
            owned.append(context)
        else:
            lent.append(context)
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        if looks:
            page.emulate_media(**cast("dict[str, Any]", looks))
        page.on("framenavigated", visited)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        return page

    yield make
    for context in owned:
        context.close()
    for context in lent:
        _forget(context, servers)
    # A refused request is a test's own matter: the browser logs each.
    assert [fault for fault in faults if not fault.startswith("Failed to load resource")] == []


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """A page of a desk's size."""
    return new_page()


@pytest.fixture(scope="module")
def vaulted(tmp_path_factory: pytest.TempPathFactory, browser: object) -> Generator[Vaulted]:
    """One server for all; `browser` comes first, since blocking calls are allowed from there on."""
    del browser
    data = tmp_path_factory.mktemp("vaulted")
    with bethink(data, None) as served:
        yield Vaulted(served, data / "vault")


@pytest.fixture
def vault(vaulted: Vaulted) -> Vaulted:
    """The same with nothing in it but the first page."""
    for item in vaulted.served.get("/vault")["items"]:
        if not item["is_folder"]:
            (vaulted.folder / item["path"]).unlink(missing_ok=True)
    for folder in vaulted.folder.iterdir():
        if folder.is_dir() and not folder.name.startswith("."):
            shutil.rmtree(folder)
    vaulted.file("user.md", "# About me\n")
    return vaulted
