"""A Bethink with a vault, and what a person does in its room."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page, Route

from tests.ui.running import Served


@dataclass(frozen=True, slots=True)
class Vaulted:
    """A Bethink with a vault, and the folder of its files."""

    served: Served
    folder: Path

    def file(self, path: str, text: str | bytes) -> None:
        """Write a file as another program does, which is never seen half written."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_name(".aside")
        aside.write_bytes(text if isinstance(text, bytes) else text.encode())
        aside.replace(target)

    def text(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")

    def open(self, page: Page, path: str = "") -> None:
        page.goto(f"{self.served.url}/vault{f'/pages/{path}' if path else ''}")


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("treeitem", name=name, exact=True)


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name=re.compile("^Text of"))


def saved(page: Page) -> Locator:
    return page.get_by_role("status").get_by_text("Saved", exact=True)


def write_at_end(page: Page, text: str) -> None:
    editor(page).focus()
    page.keyboard.press("Control+End")
    page.keyboard.type(text)


def reading(page: Page) -> Locator:
    return page.locator(".vault-md")


def look_away(page: Page) -> None:
    """Have a page not follow its file, so that an edit elsewhere comes between reading and saving.

    Call it before the page is opened: what it asks for at once is answered as ever.
    """

    def answer(route: Route) -> None:
        if "if-none-match" in route.request.headers:
            route.fulfill(status=304)
        else:
            route.continue_()

    page.route("**/vault/pages/*", answer)
