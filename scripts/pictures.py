"""Take the pictures of the README: a home with a little in every room, by Chromium, into docs/images.

`PYTHONPATH=. .venv/bin/python scripts/pictures.py` with the page built; `--check DIRECTORY` takes every room
in light, dark, on a tablet and on a phone instead, to be looked at.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.running import FLAGS, ROOT, SCRIPT, Served, bethink, chromium, imported, today

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

IMAGES = ROOT / "docs" / "images"
_PATIENCE_MS = 30_000
_SETTLES_MS = 1200
_LARGEST_BYTES = 150_000
ROOMS = (
    "/c/imported-lisbon-trip",
    "/today",
    "/memory",
    "/vault",
    "/documents",
    "/tasks",
    "/calendar",
    "/schedules",
)
MORE = ("/", "/tasks/board", "/calendar/agenda", "/settings", "/settings/you", "/nowhere")
SHOWN = {
    "/memory": "memory",
    "/vault/pages/travel/lisbon.md": "vault",
    "/documents": "documents",
    "/tasks/board": "tasks",
    "/calendar": "calendar",
    "/schedules": "schedules",
    "/today": "today",
    "/c/imported-stroke-counter": "artifact",
    "/settings": "settings",
}
SIZES: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1360, "height": 860}},
    "dark": {"viewport": {"width": 1360, "height": 860}, "color_scheme": "dark"},
    "tablet": {"viewport": {"width": 820, "height": 1180}, "has_touch": True},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
    "forced": {"viewport": {"width": 1360, "height": 860}, "forced_colors": "active"},
    "rtl": {"viewport": {"width": 1360, "height": 860}},
    "large": {"viewport": {"width": 1360, "height": 860}},
}

_FACTS = (
    "Lives in Paris, near the Canal Saint-Martin",
    "Prefers trains to planes",
    "Allergic to peanuts",
    "Ana is my sister; she lives in Porto",
    "Learns Portuguese on Tuesday evenings",
    "Takes coffee without sugar",
    "Plans a trip to Lisbon in October",
    "Rows on Sundays when it does not rain",
)
_SAID = (
    "Where should I stay in Lisbon in October? Quiet, please.",
    """\
Since you **prefer trains** and quiet evenings, look in **Alfama** or **Graça**, near Santa Apolónia.

| Quarter | Quiet | To the station | A night |
|---|---|---|---|
| Graça | ●●● | 18 min | 95 € |
| Alfama | ●● | 7 min | 110 € |

Graça is the quieter of the two. Ana could come down from Porto by train in 3 h.""",
    "And what should I not eat there?",
    "Bolo de amendoim and some *broas* hold **peanuts**, to which you are allergic. Ask for *sem amendoim*.",
)
_MADE = (
    "Something to count strokes, please.",
    """\
Here it is; open it beside the chat:

```html
<!doctype html>
<title>Stroke by stroke</title>
<h1>Stroke by stroke</h1>
<p><button>Pull</button> <output>0 m</output></p>
```""",
)
_PAGES = {
    "travel/lisbon.md": """\
# Lisbon

In October, by train, with [[ana]].

## To do

- [x] Ask Ana for dates
- [ ] Book the night train

Quarters: Graça is quiet, Alfama is near the station. #travel
""",
    "people/ana.md": "# Ana\n\nMy sister; lives in Porto. Comes to [[lisbon]] in October.\n",
    "garden.md": "# Garden\n\nTomatoes on the balcony since May. #home\n",
}


def fill(served: Served) -> None:
    """Put a little into every room."""
    for fact in _FACTS:
        served.post("/memories", {"content": fact})
    imported(served, "Bread without a scale", ["How much flour?", "Three cups for one loaf."])
    imported(served, "Tax letter", ["What does it ask for?", "For last year's rent receipts."])
    imported(served, "Stroke counter", _MADE)
    imported(served, "Lisbon trip", _SAID)
    for words in (
        "Book the night train tomorrow at 9 +lisbon !high",
        "Call Ana on Friday #family",
        "Send the rent receipts today !high",
        "Water the tomatoes",
    ):
        served.post("/tasks", {"words": words})
    tasks = served.get("/tasks")["items"]
    served.patch(f"/tasks/{tasks[-1]['id']}", {"status": "in_progress"})
    for days, hour, title in (
        (0, 18, "Portuguese"),
        (1, 12, "Lunch with Ana"),
        (3, 9, "Rowing"),
        (6, 15, "Dentist"),
    ):
        at = f"{today() + timedelta(days=days)}T{hour:02}"
        served.post("/calendar/events", {"title": title, "start": f"{at}:00", "end": f"{at}:45"})
    for text, when, action in (
        ("Stretch your legs", "every day at 15:00", "remind"),
        ("Tell me what is due today", "every weekday at 8", "run"),
        ("Sum up what I wrote in the vault", "every Sunday at 18:00", "run"),
    ):
        served.post("/schedules", {"text": text, "when": when, "action": action})
    served.post(
        "/documents/text",
        {"name": "Rental contract.md", "text": "# Rental contract\n\nNotice: three months."},
    )
    served.post(
        "/documents/text",
        {"name": "Lisbon by train.md", "text": "# Lisbon by train\n\nParis, Hendaye, Lisbon."},
    )
    for path, text in _PAGES.items():
        served.ask("PUT", f"/vault/pages/{path}", {"text": text})


def taken(page: Page, url: str, path: Path, *, rtl: bool = False, large: bool = False) -> None:
    """The picture of what is at an address, once nothing moves."""
    page.goto(url)
    if path.stem == "artifact":
        page.get_by_role("button", name="Open in pane").click()
    page.locator("h1").first.wait_for(state="attached")
    page.wait_for_load_state("load")
    page.evaluate("document.fonts.ready.then(() => undefined)")
    if rtl:
        page.evaluate("document.documentElement.dir = 'rtl'")
    if large:
        page.evaluate("document.documentElement.dataset.size = 'larger'")
    page.wait_for_timeout(_SETTLES_MS)
    page.screenshot(path=path, animations="disabled")


def look(browser: Browser, served: Served, folder: Path, *, kinds: list[str]) -> None:
    """Every room in every kind, to be looked at."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind in kinds:
        context = browser.new_context(
            locale="en-GB", timezone_id="Europe/Paris", service_workers="block", **SIZES[kind]
        )
        context.set_default_timeout(_PATIENCE_MS)
        page = context.new_page()
        for room in (*ROOMS, *MORE):
            name = room.strip("/").replace("/", "-") or "home"
            taken(
                page,
                served.url + room,
                folder / f"{kind}-{name}.png",
                rtl=kind == "rtl",
                large=kind == "large",
            )
        context.close()


def publish(browser: Browser, served: Served) -> None:
    """The pictures of the README."""
    context = browser.new_context(
        locale="en-GB",
        timezone_id="Europe/Paris",
        service_workers="block",
        viewport={"width": 1200, "height": 750},
    )
    context.set_default_timeout(_PATIENCE_MS)
    page = context.new_page()
    page.goto(served.url)
    page.get_by_role("textbox", name="Message").fill("Where should I stay in Lisbon in October?")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Memory updated").wait_for()
    page.wait_for_timeout(_SETTLES_MS)
    page.screenshot(path=IMAGES / "chat.png", animations="disabled")
    for room, name in SHOWN.items():
        path = IMAGES / f"{name}.png"
        taken(page, served.url + room, path)
        size = path.stat().st_size
        print(f"{path.name}: {size / 1000:.0f} kB of {_LARGEST_BYTES / 1000:.0f} kB")
    context.close()


def main() -> None:
    """Start a filled home and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", type=Path, help="a directory for all rooms in all kinds")
    parser.add_argument("--kinds", default=",".join(SIZES), help="which kinds, separated by commas")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        with (
            scripted_process(["--script", str(SCRIPT)]) as model,
            bethink(Path(data), model.base_url) as served,
        ):
            fill(served)
            if chosen.check:
                look(browser, served, chosen.check, kinds=chosen.kinds.split(","))
            else:
                publish(browser, served)
        browser.close()


if __name__ == "__main__":
    main()
