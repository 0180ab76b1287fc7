"""What a person does on the pages, and what an accessibility checker sees there."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

from tests.ui.running import AXE

_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def composer(page: Page) -> Locator:
    """Where messages are written."""
    return page.get_by_role("textbox", name="Message")


def say(page: Page, text: str) -> None:
    """Write a message and send it."""
    composer(page).fill(text)
    page.keyboard.press("Enter")


def answered(page: Page) -> Locator:
    """The end of the last answer, once it is there."""
    return page.get_by_role("button", name="Copy the answer").last


def done(page: Page) -> Locator:
    """The lines that tell what was done for an answer; what is spoken aloud repeats one of them."""
    return page.get_by_role("list", name="What was done")


def faults(page: Page) -> list[str]:
    """What axe-core finds wrong with the page as it is shown now."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        "rules => axe.run(document, { runOnly: rules })",
        _RULES,
    )
    return [f"{fault['id']}: {fault['nodes'][0]['html']}" for fault in found["violations"]]
