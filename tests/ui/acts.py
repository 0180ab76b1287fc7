"""What a person does on the pages, and what an accessibility checker sees there."""

from __future__ import annotations

from collections.abc import Sequence

from playwright.sync_api import Locator, Page, Route, expect

from tests.ui.running import AXE

_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def composer(page: Page) -> Locator:
    """Where messages are written."""
    return page.get_by_role("textbox", name="Message")


def chat_head(page: Page) -> Locator:
    """What stands above the messages: the title, and what can be done with the conversation."""
    return page.locator("#main .page > header")


def say(page: Page, text: str) -> None:
    """Write a message and send it."""
    composer(page).fill(text)
    page.keyboard.press("Enter")


def go(page: Page, path: str) -> None:
    """Go to another address as a link does: what is loaded stays, and the heading is another one."""
    heading = page.get_by_role("heading", level=1)
    before = heading.inner_text()
    page.evaluate(
        "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')) }", path
    )
    expect(heading).not_to_have_text(before)


def kept(page: Page, held: Sequence[Route], number: int = 0) -> Route:
    """One of the requests that a test holds back, by its place among them, once it was made.

    That a request was made is told before its route is: who waits for the one may not have the other yet.
    """
    while len(held) <= number:
        drawn(page)
    return held[number]


def drawn(page: Page) -> None:
    """The page has taken in what arrived, and drawn it."""
    page.evaluate("new Promise(draw => requestAnimationFrame(() => requestAnimationFrame(draw)))")


def stand_still(page: Page) -> None:
    """Let no time pass in the page, opened behind `page.clock.install()`, until `page.clock.resume()`.

    What it does by itself after a while, it does not do while a test looks, however slow the machine is.
    """
    page.clock.pause_at(page.evaluate("Date.now() / 1000") + 10)


def chosen(part: Page | Locator, name: str, option: str) -> None:
    """Choose one of the list that a field of this name opens."""
    part.get_by_role("combobox", name=name).click()
    page = part if isinstance(part, Page) else part.page
    page.get_by_role("option", name=option, exact=True).click()


def answered(page: Page) -> Locator:
    """The end of the last answer, once it is there."""
    return page.get_by_role("button", name="Copy answer").last


def done(page: Page) -> Locator:
    """The lines that tell what was done for an answer; what is spoken aloud repeats one of them."""
    return page.get_by_role("list", name="Tool calls")


_COME_UP = """() => Promise.allSettled(
    document.getAnimations().filter((each) => each instanceof CSSTransition).map((each) => each.finished)
)"""


def faults(page: Page) -> list[str]:
    """What axe-core finds wrong with the page as it is shown now."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    # What comes up softly is judged as it is then.
    page.evaluate(_COME_UP)
    # All that it finds right is a hundred times as much, and would be sent too.
    options = {"runOnly": _RULES, "resultTypes": ["violations"]}
    found = page.evaluate("options => axe.run(document, options).then(all => all.violations)", options)
    return [f"{fault['id']}: {fault['nodes'][0]['html']}" for fault in found]
