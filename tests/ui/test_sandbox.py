"""What an answer made runs in a frame from which nothing leaves, and into which nothing comes."""

# ruff: noqa: E501 - lines of HTML are as long as they are
from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Frame, Page, expect

from tests.ui.running import Served, imported

pytestmark = pytest.mark.timeout(90)

_SETTLED_MS = 800
"""How long after it ran a document is waited for: what it asks for goes out at once."""
_ESCAPES = """<!doctype html>
<title>Escapes</title>
<link rel="stylesheet" href="http://THERE/style.css">
<link rel="preload" as="script" href="http://THERE/preload.js">
<link rel="prefetch" href="http://THERE/prefetch">
<link rel="modulepreload" href="http://THERE/module.js">
<link rel="icon" href="http://THERE/icon">
<link rel="manifest" href="http://THERE/manifest">
<base href="http://THERE/">
<style>
  @import "http://THERE/import.css";
  @font-face { font-family: out; src: url(http://THERE/font); }
  body { font-family: out; background: url(http://THERE/background); }
</style>
<body>
<img src="http://THERE/img"><img srcset="http://THERE/srcset 2x">
<iframe src="http://THERE/iframe"></iframe>
<iframe srcdoc="<img src='http://THERE/srcdoc'>"></iframe>
<object data="http://THERE/object"></object><embed src="http://THERE/embed">
<video src="http://THERE/video" poster="http://THERE/poster"></video><audio src="http://THERE/audio"></audio>
<svg><image href="http://THERE/svg" /><use href="http://THERE/use#a" /></svg>
<form id="get" action="http://THERE/form"><input name="a" value="1"></form>
<form id="post" action="http://THERE/form" method="post" target="_blank"><input name="a" value="1"></form>
<form id="top" action="HOME/livez" target="_top"></form>
<a id="blank" href="http://THERE/blank" target="_blank" ping="http://THERE/ping">b</a>
<a id="top2" href="http://THERE/top" target="_top">c</a>
<script>
  const results = {};
  const tried = async (name, attempt) => {
    const late = new Promise((_, no) => setTimeout(() => no(new DOMException("late", "TimeoutError")), 500));
    try { const value = await Promise.race([attempt(), late]); results[name] = `got ${value}`; }
    catch (error) { results[name] = `refused ${error.name}`; }
  };
  const away = "http://THERE/";
  const made = (tag, fields) => document.body.append(Object.assign(document.createElement(tag), fields));
  const run = async () => {
    await tried("fetch", () => fetch(away + "fetch", { mode: "no-cors" }));
    await tried("home", async () => (await fetch("HOME/conversations")).status);
    await tried("keepalive", () => fetch(away + "keepalive", { mode: "no-cors", keepalive: true, method: "POST", body: "x" }));
    await tried("xhr", () => new Promise((ok, no) => {
      const ask = new XMLHttpRequest(); ask.open("GET", away + "xhr"); ask.onload = ok;
      ask.onerror = () => no(new TypeError()); ask.send();
    }));
    await tried("socket", () => new Promise((ok, no) => {
      const socket = new WebSocket("ws://THERE/socket"); socket.onopen = ok; socket.onerror = () => no(new TypeError());
    }));
    await tried("events", () => new Promise((ok, no) => {
      const events = new EventSource(away + "events"); events.onopen = ok; events.onerror = () => no(new TypeError());
    }));
    await tried("import", () => import(away + "import.js"));
    await tried("worker", () => new Promise((ok, no) => {
      const code = new Blob([`importScripts("${away}worker.js")`]);
      const worker = new Worker(URL.createObjectURL(code)); worker.onmessage = ok; worker.onerror = () => no(new TypeError());
    }));
    await tried("storage", () => localStorage.length);
    await tried("session", () => sessionStorage.length);
    await tried("cookie", () => document.cookie);
    await tried("database", () => indexedDB.open("x"));
    await tried("caches", () => caches.keys());
    await tried("parent", () => parent.document.title);
    await tried("parentPlace", () => parent.location.href);
    await tried("top", () => { top.location.href = away + "top"; return "set"; });
    await tried("opened", () => { const made = window.open(away + "open"); if (!made) throw new TypeError(); return "a window"; });
    await tried("openHome", () => { const made = window.open("HOME/"); if (!made) throw new TypeError(); return "a window"; });
    await tried("nested", () => document.querySelectorAll("iframe")[1].contentWindow.document.title);
    navigator.sendBeacon?.(away + "beacon", "x");
    made("script", { src: away + "script.js" });
    made("link", { rel: "stylesheet", href: away + "late.css" });
    new Image().src = away + "image?late";
    for (const form of document.forms) { try { form.submit(); } catch {} }
    for (const link of document.links) link.click();
    document.body.append(new DOMParser().parseFromString(`<p style="background:url(${away}parsed)">x</p>`, "text/html").body);
    await new Promise((ok) => setTimeout(ok, 1500));
    made("pre", { id: "told", textContent: JSON.stringify(results) });
  };
  run();
</script>
"""


class _Listener:
    """A server elsewhere: it notes who connects, and what they ask for first."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            connection.settimeout(2)
            try:
                self.heard.append(connection.recv(200).decode(errors="replace").split("\r\n")[0])
            except OSError:
                self.heard.append("a connection")
            connection.close()


@contextmanager
def _listening() -> Generator[_Listener]:
    listener = _Listener()
    thread = threading.Thread(target=listener.run, daemon=True)
    thread.start()
    yield listener
    listener.socket.close()


@pytest.fixture
def watched(browser: Browser) -> Generator[Page]:
    """A page of its own. What its policy refuses, the browser logs: that is wanted here."""
    context = browser.new_context(service_workers="block", viewport={"width": 1360, "height": 860})
    yield context.new_page()
    context.close()


def _each_running(page: Page, served: Served, documents: Sequence[str]) -> Iterator[Frame]:
    """The frames of these documents, one running after the other beside the answers that they are in."""
    answers = [("Make a page", f"```html\n{html}```") for html in documents]
    talk = imported(served, "Escapes", [said for answer in answers for said in answer])
    page.goto(f"{served.url}/c/{talk}")
    openers = page.get_by_role("button", name="Open in pane")
    expect(openers).to_have_count(len(documents))
    inside = page.locator("iframe[title$='running by itself']")
    for n in range(len(documents)):
        openers.nth(n).click()
        expect(inside).to_be_visible()
        assert len(page.frames) == 2
        yield page.frames[1]
        page.get_by_role("button", name=re.compile("^Close")).click()
        expect(inside).to_have_count(0)


def test_nothing_leaves_the_frame_of_an_artifact_by_any_way(served: Served, watched: Page) -> None:
    with _listening() as there:
        html = _ESCAPES.replace("THERE", there.address).replace("HOME", served.url)
        frame = next(_each_running(watched, served, [html]))
        popups: list[Page] = []
        watched.context.on("page", lambda made: popups.append(made))  # noqa: PLW0108 - Playwright takes no built-in
        address = watched.url
        results: dict[str, str] = json.loads(frame.locator("#told").text_content() or "")
        assert watched.url == address
    assert {name: told for name, told in results.items() if told.startswith("got")} == {}
    assert (there.heard, popups) == ([], [])


_LEADING = [
    '<meta http-equiv="refresh" content="0; url=http://THERE/refresh">',
    "<script>location.href = 'http://THERE/location'</script>",
    "<script>location.replace('http://THERE/replace')</script>",
    '<a href="http://THERE/a">a</a><script>document.links[0].click()</script>',
    '<form action="http://THERE/f"></form><script>document.forms[0].submit()</script>',
    '<a href="http://THERE/d" download>d</a><script>document.links[0].click()</script>',
    '<link rel="preconnect" href="http://THERE">',
    '<link rel="dns-prefetch" href="http://THERE"><link rel="prerender" href="http://THERE/p">',
    '<script type="speculationrules">{"prefetch": [{"source": "list", "urls": ["http://THERE/s"]}]}</script>',
]
"""Ways to another document, or to one that is fetched before it is wanted."""


def test_a_frame_leads_nowhere(served: Served, watched: Page) -> None:
    with _listening() as there:
        documents = [f"<h1>Here</h1>{way.replace('THERE', there.address)}" for way in _LEADING]
        for way, _ in zip(_LEADING, _each_running(watched, served, documents), strict=True):
            watched.wait_for_timeout(_SETTLED_MS)
            assert (way, there.heard) == (way, [])


_STUN = """<script>
  const link = new RTCPeerConnection({ iceServers: [{ urls: "stun:THERE" }] });
  link.createDataChannel("x"); link.createOffer().then((offer) => link.setLocalDescription(offer));
</script>"""


_NESTED = [
    "HTML",
    '<iframe srcdoc="QUOTED"></iframe>',
    '<script>const f = document.createElement("iframe"); f.srcdoc = `ESCAPED`; document.body.append(f)</script>',
    "<iframe src='javascript:new RTCPeerConnection({iceServers:[{urls:`stun:THERE`}]}).createDataChannel(1)'></iframe>",
    '<div><template shadowrootmode="closed"><iframe srcdoc="QUOTED"></iframe></template></div>',
    """<div id="h"></div><script>
      Element.prototype.remove = () => {}; Array.prototype[Symbol.iterator] = null;
      const root = h.attachShadow({ mode: "closed", clonable: true });
      const f = document.createElement("iframe"); f.srcdoc = `ESCAPED`; root.append(f);
    </script>""",
    """<div id="h"></div><script>
      const root = h.attachShadow({ mode: "open", clonable: true });
      root.innerHTML = "<p>x</p>"; const copy = h.cloneNode(true); document.body.append(copy);
      const f = document.createElement("iframe"); f.srcdoc = `ESCAPED`; (copy.shadowRoot ?? document.body).append(f);
    </script>""",
    """<script>
      document.body.setHTMLUnsafe?.('<div><template shadowroot' + 'mode="closed"><iframe srcdoc="QUOTED"></iframe></template></div>');
      document.write('<div><template shadowroot' + 'mode="closed"><iframe srcdoc="QUOTED"></iframe></template></div>');
    </script>""",
    '<object data="data:text/html,QUOTED"></object><embed src="data:text/html,QUOTED">',
]
"""Ways to a connection between browsers, in the document itself and in others inside of it."""


def _connecting(way: str, there: str) -> str:
    """A document that asks this server of connections in this way."""
    stun = _STUN.replace("THERE", there)
    quoted = stun.replace('"', "&quot;").replace("\n", " ")
    escaped = stun.replace("</", "<\\/")
    html = stun if way == "HTML" else way
    html = html.replace("QUOTED", quoted).replace("ESCAPED", escaped).replace("THERE", there)
    return f"<body><h1>Here</h1>{html}"


def test_no_connection_between_browsers_is_made(served: Served, watched: Page) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        documents = [_connecting(way, f"127.0.0.1:{udp.getsockname()[1]}") for way in _NESTED]
        for way, frame in zip(_NESTED, _each_running(watched, served, documents), strict=True):
            expect(frame.get_by_role("heading", name="Here")).to_be_visible()
            watched.wait_for_timeout(_SETTLED_MS)
            assert watched.frames[1:] == [frame], f"a document inside of it: {way}"
            with pytest.raises(BlockingIOError):
                udp.recv(100)
