"""`bethink bench page`: what the web app costs a browser, on a quick and on a slow machine.

A Chromium without windows opens a Bethink with 600 conversations, one of 2,000 messages, and 5,000 facts.
Slow is a quarter of this machine's CPU, as the browser's developer tools make it; a phone is slow, small,
touched, and far: 1.6 Mbit/s and 150 ms, what Lighthouse calls slow 4G. Wishes stand beside the figures. CPU
is the time of the browser's main thread alone, which other work of the machine does not lengthen.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import msgspec

from benchmarks.process import serving
from benchmarks.stand_ins.scripted_process import scripted_process
from bethink.app import open_app
from bethink.llm.scripted import Rule
from bethink.memory import NewFact
from bethink.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from playwright.async_api import Browser, Page

    from benchmarks.process import Serving

Rows = list[dict[str, Any]]
_Session = Any
"""The browser's developer tools; their annotations are partial."""

CONVERSATIONS: Final = 600
MESSAGES: Final = 2_000
FACTS: Final = 5_000
_LONG: Final = "long-talk"
_ROUNDS: Final = 5
_SLOW: Final = 4
_PHONE_ROUNDS: Final = 3
_LATE_S: Final = 20
_SCROLLS: Final = 120
_CODE_LINES: Final = 1_000
_PATIENCE_MS: Final = 60_000
_SLOW_4G: Final = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 204_800,
    "uploadThroughput": 96_000,
}
_SHIFT_WISH: Final = 0.02
_CODE: Final = "".join(
    f"    total_{n} = sum(range({n})) + len('row {n}')  # {n}\n" for n in range(_CODE_LINES)
)
_PROSE: Final = "\n\n".join(
    f"### Part {n}\n\nA paragraph with **bold** words, `code` and a [link](https://example.org/{n}), which "
    f"goes on for a while.\n\n- one\n- two\n- three"
    for n in range(250)
)
_TABLES: Final = "\n\n".join(
    f"What differs, part {n}:\n\n| place | price | how to get there |\n|---|---|---|\n"
    + "".join(
        f"| House {row} | {row * 7} € | By train, then {row} minutes on foot along the river |\n"
        for row in range(10)
    )
    for n in range(8)
)
_FORMULAS: Final = "\n\n".join(
    f"So $x_{{{n}}}^2 + y$ is a term, and\n\n"
    f"$$\n\\int_0^{{{n}}} \\frac{{x^2}}{{{n + 1}}} dx = \\sum_{{k=0}}^n k\n$$\n\nfollows from it."
    for n in range(50)
)
_OBSERVE: Final = """
globalThis.__seen = {blocked: 0, longest: 0, shift: 0, composer: 0, worker: 0};
if (navigator.serviceWorker) {
  const register = navigator.serviceWorker.register.bind(navigator.serviceWorker);
  navigator.serviceWorker.register = (...how) => {
    __seen.worker = performance.now();
    return register(...how);
  };
}
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) {
    __seen.blocked += task.duration - 50;
    __seen.longest = Math.max(__seen.longest, task.duration);
  }
}).observe({type: "longtask", buffered: true});
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) __seen.shift += one.value;
}).observe({type: "layout-shift", buffered: true});
const look = () => {
  if (/^\\/(memory|c\\/)/.test(location.pathname)) return;
  const field = document.querySelector('[aria-label="Message"]');
  if (field && !field.disabled) __seen.composer = performance.now();
  else requestAnimationFrame(look);
};
look();
"""
_FRAMES: Final = """
async ([selector, steps]) => {
  const inside = document.querySelector(selector);
  let box = inside;
  while (box && box.scrollHeight <= box.clientHeight + 1) box = box.parentElement;
  const deltas = [];
  let top = 0;
  let before = await new Promise(requestAnimationFrame);
  for (let step = 0; step < steps; step += 1) {
    box.scrollTop = top += 400;
    const now = await new Promise(requestAnimationFrame);
    deltas.push(now - before);
    before = now;
  }
  deltas.sort((a, b) => a - b);
  return deltas[Math.floor(deltas.length * 0.95)];
}
"""

_LOADED: Final = """
() => {
  const page = performance.getEntriesByType("resource").filter(({name}) => /\\.(js|css|svg)$/.test(name));
  const documents = performance.getEntriesByType("navigation");
  const sum = (all, of) => all.reduce((total, one) => total + one[of], 0);
  const before = page.filter(({startTime}) => startTime < __seen.composer);
  return {
    before: sum([...documents, ...before], "transferSize"),
    all: sum([...documents, ...page], "transferSize"),
    script: sum(before.filter(({name}) => /\\.js$/.test(name)), "decodedBodySize"),
  };
}
"""
_TO_FIRST: Final = """
async () => {
  const box = document.querySelector("[data-stream]");
  const begun = performance.now();
  const first = () => box.querySelector("[data-said=question]")?.textContent ?? "";
  while (!first().includes("Said as number 0.")) {
    box.scrollTop = 0;
    await new Promise(requestAnimationFrame);
  }
  return performance.now() - begun;
}
"""


async def measure_page(models: Path) -> Rows:
    """A row for each thing that a person waits for, with what is wished."""
    browser_path = _chromium()
    if browser_path is None:
        return [{"page": "skipped", "why": "there is no Chromium on the PATH"}]
    from playwright.async_api import async_playwright

    rules = (
        Rule(when="a long piece of code", text=f"```python\n{_CODE}```\n", chunk_characters=40, delay_ms=10),
        Rule(when="a long text", text=_PROSE, chunk_characters=20, delay_ms=8),
        Rule(when="many tables", text=_TABLES, chunk_characters=20, delay_ms=8),
        Rule(when="many formulas", text=_FORMULAS, chunk_characters=20, delay_ms=8),
    )
    with TemporaryDirectory(prefix="bethink-bench-") as directory, scripted_process() as llm:
        await llm.plays(*rules)
        data = Path(directory) / "data"
        await _fill(data, models)
        environment = {
            "BETHINK_DATA_DIR": str(data),
            "BETHINK_MODEL": "openai:scripted",
            "OPENAI_BASE_URL": llm.base_url,
            "OPENAI_API_KEY": "x",
            "BETHINK_EXTRACTION": "off",
        }
        async with serving(models, **environment) as server, async_playwright() as playwright:
            await _import(server)
            flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
            browser = await playwright.chromium.launch(executable_path=browser_path, args=flags)
            rows = await _measured(browser, server.origin)
            await browser.close()
            return rows


async def _measured(browser: Browser, origin: str) -> Rows:
    rows = await _first_load(browser, origin)
    for rate in (1, _SLOW):
        rows += await _long_conversation(browser, origin, rate)
    rows += await _list(browser, origin)
    for rate in (1, _SLOW):
        rows += await _memories(browser, origin, rate)
    rows += await _stream(browser, origin, "a long piece of code", characters=len(_CODE), wish_ms=1_000)
    rows += await _stream(browser, origin, "a long text", characters=len(_PROSE))
    rows += await _stream(browser, origin, "many tables", characters=len(_TABLES))
    rows += await _stream(browser, origin, "many formulas", characters=len(_FORMULAS))
    return rows + await _stream(browser, origin, "many tables", characters=len(_TABLES), phone=True)


def _row(what: str, figure: float, wish: float | None = None, *, unit: str) -> dict[str, Any]:
    return {"page": what, "figure": round(figure, 3), "wish": "" if wish is None else wish, "unit": unit}


@dataclass(frozen=True, slots=True)
class _Load:
    """One first visit: times in ms from its beginning, sizes in bytes on the wire."""

    composer: float
    worker: float
    shift: float
    cpu_ms: float
    before: float
    all: float
    script: float
    fonts: float


async def _load(browser: Browser, origin: str, *, rate: int = 1, phone: bool = False) -> _Load:
    async with _page(browser, rate, phone=phone) as (page, session):
        sizes, kinds = _transfers(session)
        await page.goto(origin)
        await page.wait_for_function("__seen.composer > 0")
        cpu_s = await _task_s(session)
        await page.wait_for_load_state("networkidle")
        await page.wait_for_function("__seen.worker > 0")
        seen, loaded = await page.evaluate("__seen"), await page.evaluate(_LOADED)
        fonts = sum(size for id, size in sizes.items() if kinds.get(id) == "Font")
        return _Load(
            composer=seen["composer"],
            worker=seen["worker"],
            shift=seen["shift"],
            cpu_ms=cpu_s * 1000,
            before=loaded["before"],
            all=loaded["all"],
            script=loaded["script"],
            fonts=fonts,
        )


async def _phone_loads(browser: Browser, origin: str) -> tuple[list[_Load], int]:
    """What came, and how many did not: one that hangs is a figure, and the others are measured still."""
    loads: list[_Load] = []
    for _ in range(_PHONE_ROUNDS):
        with suppress(TimeoutError):
            async with asyncio.timeout(_LATE_S):
                loads.append(await _load(browser, origin, rate=_SLOW, phone=True))
    return loads, _PHONE_ROUNDS - len(loads)


async def _first_load(browser: Browser, origin: str) -> Rows:
    """What is transferred before the page can be used, and when its composer can."""
    quick = [await _load(browser, origin) for _ in range(_ROUNDS)]
    slow = [await _load(browser, origin, rate=_SLOW) for _ in range(_ROUNDS)]
    phone, late = await _phone_loads(browser, origin)

    def middle(loads: list[_Load], of: str) -> float:
        return median(getattr(load, of) for load in loads) if loads else float("nan")

    return [
        _row("first load without fonts", middle(quick, "before") / 1000, 200, unit="kB transferred"),
        _row("and what comes while idle", middle(quick, "all") / 1000, unit="kB transferred"),
        _row("fonts", middle(quick, "fonts") / 1000, 120, unit="kB transferred"),
        _row("script of the first load", middle(quick, "script") / 1000, unit="kB evaluated"),
        _row("first load, CPU until the composer is usable", middle(quick, "cpu_ms"), unit="ms"),
        _row("composer usable", middle(quick, "composer"), 500, unit="ms"),
        _row("composer usable, slow", middle(slow, "composer"), 1_200, unit="ms"),
        _row("composer usable, a phone", middle(phone, "composer"), unit="ms"),
        _row(f"first loads of a phone, not there after {_LATE_S} s", late, 0, unit=f"of {_PHONE_ROUNDS}"),
        _row("first load: layout shift", max(load.shift for load in quick + slow), _SHIFT_WISH, unit="CLS"),
        _row(
            "first load, a phone: layout shift",
            max((load.shift for load in phone), default=float("nan")),
            _SHIFT_WISH,
            unit="CLS",
        ),
        _row(
            "first load: the worker begins to keep files behind the composer",
            min(load.worker - load.composer for load in quick + slow + phone),
            unit="ms at least",
        ),
    ]


def _transfers(session: _Session) -> tuple[dict[str, float], dict[str, str]]:
    """Bytes on the wire and kind of each request, filled as they come."""
    sizes: dict[str, float] = {}
    kinds: dict[str, str] = {}

    def received(seen: dict[str, Any]) -> None:
        kinds[seen["requestId"]] = seen["type"]

    def finished(seen: dict[str, Any]) -> None:
        sizes[seen["requestId"]] = seen["encodedDataLength"]

    session.on("Network.responseReceived", received)
    session.on("Network.loadingFinished", finished)
    return sizes, kinds


async def _long_conversation(browser: Browser, origin: str, rate: int) -> Rows:
    """From its address to the last message, and from there to the first: at once, and by scrolling."""
    name = f"{MESSAGES:,} messages" if rate == 1 else f"{MESSAGES:,} messages, slow"
    at_once_ms, scrolled_ms = (1_000, 3_000) if rate == 1 else (None, None)
    async with _page(browser, rate) as (page, session):
        await page.goto(f"{origin}/c/{_LONG}")
        await page.get_by_text(f"Said as number {MESSAGES - 1}.").wait_for()
        rows = [_row(f"{name}: the last shown", await _now(page), unit="ms")]
        await page.wait_for_timeout(1_000)
        stream = page.locator("[data-stream]")
        await stream.evaluate("box => box.scrollBy(0, -400)")
        button = page.get_by_role("button", name="Go to the start")
        await button.wait_for()
        begun = await _now(page)
        await button.click()
        await page.get_by_text("Said as number 0.").wait_for()
        rows.append(_row(f"{name}: “Go to the start”", await _now(page) - begun, at_once_ms, unit="ms"))
        await page.get_by_role("button", name="Go to the end").click()
        await page.get_by_text(f"Said as number {MESSAGES - 1}.").wait_for()
        cpu_s = await _task_s(session)
        rows.append(
            _row(f"{name}: scrolled to the first", await page.evaluate(_TO_FIRST), scrolled_ms, unit="ms")
        )
        cpu_ms = (await _task_s(session) - cpu_s) * 1000
        nodes = await page.evaluate("document.querySelectorAll('*').length")
        if rate == 1:
            rows.append(_row(f"{name}: scrolled to the first, CPU", cpu_ms, unit="ms"))
            rows.append(_row(f"{name}: nodes then", nodes, unit="nodes"))
        return rows


async def _now(page: Page) -> float:
    return await page.evaluate("performance.now()")


async def _list(browser: Browser, origin: str) -> Rows:
    """Nodes of the page once somebody has looked through all conversations."""
    async with _page(browser) as (page, _):
        await page.goto(origin, wait_until="networkidle")
        await page.wait_for_function("__seen.composer > 0")
        for _ in range(40):
            await page.evaluate(
                """() => { for (const box of document.querySelectorAll('nav[aria-label="Conversations"],'
                   + ' nav[aria-label="Conversations"] *')) box.scrollTop = box.scrollHeight; }"""
            )
            await page.wait_for_timeout(100)
        nodes = await page.evaluate("document.querySelectorAll('*').length")
        return [_row(f"{CONVERSATIONS} conversations scrolled", nodes, 1_500, unit="nodes")]


async def _memories(browser: Browser, origin: str, rate: int) -> Rows:
    """How long a frame takes while the memories are scrolled."""
    slow = "" if rate == 1 else ", slow"
    async with _page(browser, rate) as (page, session):
        await page.goto(f"{origin}/memory")
        selector = "[data-rows]"
        await page.wait_for_selector(f"{selector} li")
        await page.wait_for_timeout(1_000)
        cpu_s = await _task_s(session)
        frame_ms = await page.evaluate(_FRAMES, [selector, _SCROLLS])
        cpu_ms = (await _task_s(session) - cpu_s) * 1000 / _SCROLLS
        rows = [_row(f"{FACTS:,} memories, a frame while scrolled, p95{slow}", frame_ms, 50, unit="ms")]
        if rate == 1:
            rows.append(_row(f"{FACTS:,} memories, a frame while scrolled, CPU", cpu_ms, unit="ms"))
        return rows


async def _stream(
    browser: Browser,
    origin: str,
    asked: str,
    *,
    characters: int,
    wish_ms: int | None = None,
    phone: bool = False,
) -> Rows:
    """What the main thread is kept from while an answer streams, and what moves."""
    async with _page(browser, phone=phone) as (page, session):
        await page.goto(f"{origin}/temporary", wait_until="networkidle")
        field = page.get_by_label("Message", exact=True)
        await field.fill(asked)
        await page.evaluate("__seen.blocked = 0, __seen.longest = 0, __seen.shift = 0")
        before = await _task_s(session)
        begun = await _now(page)
        await field.press("Enter")
        await page.get_by_role("button", name="Stop").wait_for()
        await page.get_by_role("button", name="Stop").wait_for(state="detached")
        seconds = (await _now(page) - begun) / 1000
        seen = await page.evaluate("__seen")
        busy = await _task_s(session) - before
        name = f"{asked}, {characters // 1000} kB in {seconds:.1f} s{', a phone' if phone else ''}"
        return [
            _row(f"{name}: main thread blocked (tasks beyond 50 ms)", seen["blocked"], wish_ms, unit="ms"),
            _row(f"{name}: longest task", seen["longest"], unit="ms"),
            _row(f"{name}: CPU", busy * 1000, unit="ms"),
            _row(f"{name}: layout shift", seen["shift"], _SHIFT_WISH, unit="CLS"),
        ]


async def _task_s(session: _Session) -> float:
    metrics = (await session.send("Performance.getMetrics"))["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


@asynccontextmanager
async def _page(
    browser: Browser, rate: int = 1, *, phone: bool = False
) -> AsyncGenerator[tuple[Page, _Session]]:
    """A page of a browser that has seen nothing yet, on a machine `rate` times as slow."""
    context = (
        await browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
        if phone
        else await browser.new_context(viewport={"width": 1360, "height": 860})
    )
    context.set_default_timeout(_PATIENCE_MS)
    await context.add_init_script(_OBSERVE)
    page = await context.new_page()
    session: _Session = await context.new_cdp_session(page)
    await session.send("Network.enable")
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    await session.send("Emulation.setCPUThrottlingRate", {"rate": rate})
    if phone and rate > 1:
        await session.send("Network.emulateNetworkConditions", _SLOW_4G)
    try:
        yield page, session
    finally:
        await context.close()


async def _fill(data: Path, models: Path) -> None:
    """The facts; their vectors are for another measurement."""
    async with open_app(Settings(data_dir=data, models_dir=models / "none")) as app:
        me = await app.accounts.authenticate(audience="cli")
        for begin in range(0, FACTS, 500):
            facts = [
                NewFact(f"Keeps object number {n} of the collection in drawer {n % 97}, beside the window")
                for n in range(begin, begin + 500)
            ]
            await app.memory.add_many(me, facts)


async def _import(server: Serving) -> None:
    lines = b"\n".join(msgspec.json.encode(line) for line in _lines())
    async with server.session.post(
        f"{server.origin}/memories/import", data=lines, headers={"content-type": "application/octet-stream"}
    ) as response:
        response.raise_for_status()


def _lines() -> Iterator[dict[str, Any]]:
    """The conversations, as an export has them."""
    yield {"kind": "bethink_memory", "schema": 1}
    yield from _conversation(_LONG, "A long talk", MESSAGES, day=1)
    for number in range(CONVERSATIONS - 1):
        yield from _conversation(f"talk-{number}", f"Talk number {number}", 2, day=2 + number % 26)


def _conversation(id: str, title: str, count: int, *, day: int) -> Iterator[dict[str, Any]]:
    at = f"2026-05-{day:02}T10:00:00Z"
    yield {"kind": "conversation", "id": id, "title": title, "created_at": at, "updated_at": at}
    for position in range(count):
        text = f"Said as number {position}. " + "It has some more words, so that it is a paragraph. " * 3
        yield {
            "kind": "message",
            "id": f"{id}-{position}",
            "conversation": id,
            "position": position,
            "at": at,
            "run": f"{id}-run-{position // 2}",
            "message": {"role": ("user", "assistant")[position % 2], "content": text},
        }


def _chromium() -> str | None:
    named = os.environ.get("CHROMIUM")
    found = (shutil.which(name) for name in ("chromium-headless-shell", "chromium", "google-chrome"))
    return named or next((path for path in found if path), None)
