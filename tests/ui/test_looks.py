"""What all rooms have in common: large targets, a ring where the keyboard is, motion that is soon done."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from scripts.pictures import fill
from tests.ui.conftest import NewPage
from tests.ui.running import Served, bethink

pytestmark = pytest.mark.timeout(240)

_ROOMS = (
    "/",
    "/c/imported-lisbon-trip",
    "/today",
    "/memory",
    "/memory/graph",
    "/memory/review",
    "/memory/health",
    "/vault",
    "/vault/pages/travel/lisbon.md",
    "/vault/graph",
    "/vault/tags",
    "/vault/ask",
    "/vault/check",
    "/vault/filters",
    "/documents",
    "/documents?query=notice",
    "/documents/folders",
    "/tasks/list",
    "/tasks/board",
    "/calendar/month",
    "/calendar/week",
    "/calendar/agenda",
    "/calendar/settings",
    "/schedules",
    "/prompts",
    "/settings",
    "/settings/model",
    "/settings/you",
    "/settings/memory",
    "/settings/tools",
    "/settings/keys",
    "/settings/about",
    "/setup/model",
    "/setup/about",
    "/nowhere",
)
_TOUCHED: dict[str, dict[str, Any]] = {
    "tablet": {"width": 820, "height": 1180, "has_touch": True, "is_mobile": True},
    "phone": {"width": 390, "height": 844, "has_touch": True, "is_mobile": True},
}

_SMALL = """least => {
  const all = document.querySelectorAll(
    "a[href], button, summary, select, input, textarea, [role=option], [role=menuitem]",
  );
  // Places in a drawing, hours of a day and boxes in a line of text are as large as what they stand for.
  const inPlace = "[data-id], [data-event], [data-cursor], .cm-content input";
  const shown = `${inPlace}, [aria-hidden=true] *, .skip, .visually-hidden`;
  const isProse = one =>
    one.tagName === "A" && getComputedStyle(one).display === "inline" && one.closest("p, [data-markdown]");
  const reach = (one, x, y, dx, dy) => {
    let steps = 0;
    for (; steps < least; steps++) {
      const hit = document.elementFromPoint(x + dx * steps, y + dy * steps);
      if (!hit || !(one.contains(hit) || hit.closest("label")?.contains(one))) break;
    }
    return steps;
  };
  const found = [];
  for (const one of all) {
    if (!one.checkVisibility() || one.disabled || one.matches(shown) || isProse(one)) continue;
    let box = one.getBoundingClientRect();
    if (box.width < 2 || (box.width >= least && box.height >= least)) continue;
    one.scrollIntoView({ block: "center", inline: "center" });
    box = (one.closest("label") ?? one).getBoundingClientRect();
    const x = box.x + box.width / 2, y = box.y + box.height / 2;
    const wide = reach(one, x, y, -1, 0) + reach(one, x, y, 1, 0);
    const high = reach(one, x, y, 0, -1) + reach(one, x, y, 0, 1);
    // Their middles count once.
    if (wide < least - 1 || high < least - 1) {
      found.push(`${one.tagName} ${one.ariaLabel || one.textContent || one.type} ${wide}x${high}`);
    }
  }
  return found;
}"""

_WATCH_RING = """() => {
  const unringed = () => {
    const one = document.activeElement;
    if (!one || one === document.body) return null;
    const rings = node => {
      const { outlineStyle, outlineWidth } = getComputedStyle(node);
      return outlineStyle !== "none" && parseFloat(outlineWidth) >= 1;
    };
    const lines = [one, one.closest("label"), one.closest("form"), one.closest("[data-row]")].filter(Boolean);
    const line = getComputedStyle(one, "::after");
    const isLine = one.getAttribute("role") === "separator" && line.opacity === "1";
    const name = one.ariaLabel || one.textContent || one.className;
    return lines.some(rings) || isLine ? null : `${one.tagName} ${name}`;
  };
  window.visited = 0;
  window.unseen = new Set();
  // What is drawn anew for the focus is so behind the event.
  document.addEventListener("focusin", () => queueMicrotask(() => {
    window.visited++;
    const found = unringed();
    if (found) window.unseen.add(found);
  }));
}"""
_TO_THE_TOP = """() => {
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute("tabindex");
}"""
_TABS = 30

_LONGEST_MS = 150
_MOVING = """longest => [...document.querySelectorAll("*")]
  .filter(one => one.checkVisibility())
  .flatMap(one => {
    const style = getComputedStyle(one);
    const isFree = style.animationName === "none" || style.animationIterationCount === "infinite";
    const times = [
      ...style.transitionDuration.split(","), ...(isFree ? [] : style.animationDuration.split(",")),
    ];
    return times.some(time => parseFloat(time) * (time.includes("ms") ? 1 : 1000) > longest)
      ? [`${one.tagName} ${one.className}: ${times}`] : [];
  })"""


_CUT = """() => [...document.querySelectorAll("h1, h2, label, legend, .button")]
  .filter(one => one.checkVisibility() && !one.closest(".visually-hidden"))
  .filter(one => one.scrollWidth > one.clientWidth + 1)
  .filter(one => getComputedStyle(one).overflowX === "visible")
  .map(one => one.textContent.trim())
  .filter(Boolean)"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, browser: object) -> Generator[Served]:
    """A Bethink with a little in every room."""
    del browser
    with bethink(tmp_path_factory.mktemp("looks"), None, BETHINK_MODEL="scripted:demo") as served:
        fill(served)
        yield served


def _stand(page: Page, address: str) -> None:
    """The room is there, with what it reads from the server."""
    page.goto(address)
    expect(page.locator("h1").first).to_be_attached()
    page.wait_for_load_state("networkidle" if "/memory" in address else "load")
    expect(page.locator(".skeleton")).to_have_count(0)


def _unringed(page: Page) -> list[str]:
    """What the keyboard comes to from the top without a ring around it, in plain and in forced colours."""
    page.evaluate(_WATCH_RING)
    for colours in ("none", "active"):
        page.emulate_media(forced_colors=colours)
        page.evaluate(_TO_THE_TOP)
        for _ in range(_TABS):
            page.keyboard.press("Tab")
    page.emulate_media(forced_colors="none")
    assert page.evaluate("window.visited") > _TABS
    return page.evaluate("[...window.unseen]")


def _too_long_moving(page: Page) -> list[str]:
    """What moves for long, and what moves at all for whom that disturbs."""
    page.emulate_media(reduced_motion="no-preference")
    found = page.evaluate(_MOVING, _LONGEST_MS)
    page.emulate_media(reduced_motion="reduce")
    return [*found, *page.evaluate(_MOVING, 0)]


def _found(seen: dict[str, list[str]]) -> dict[str, list[str]]:
    return {room: found for room, found in seen.items() if found}


def test_on_a_desk_targets_are_large_the_keyboard_is_seen_and_motion_is_soon_done(
    filled: Served, new_page: NewPage
) -> None:
    page = new_page(own=True)
    small, unseen, moving = dict[str, list[str]](), dict[str, list[str]](), dict[str, list[str]]()
    # Each room is opened once: that takes longer than all that is looked at in it.
    for room in _ROOMS:
        _stand(page, filled.url + room)
        moving[room] = _too_long_moving(page)
        unseen[room] = _unringed(page)
        small[room] = page.evaluate(_SMALL, 24)
    assert _found(small) == {}
    assert _found(unseen) == {}
    assert _found(moving) == {}


@pytest.mark.parametrize("way", _TOUCHED)
def test_where_it_is_touched_targets_are_large_and_no_name_is_cut(
    filled: Served, new_page: NewPage, way: str
) -> None:
    page = new_page(own=True, **_TOUCHED[way])
    small, cut = dict[str, list[str]](), dict[str, list[str]]()
    for room in _ROOMS:
        _stand(page, filled.url + room)
        cut[room] = page.evaluate(_CUT)
        small[room] = page.evaluate(_SMALL, 44)
    assert _found(small) == {}
    assert _found(cut) == {}
