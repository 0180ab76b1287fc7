"""A Bethink with a vault, and what a person does in its room."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Error, Locator, Page, Route

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

    def open(self, page: Page, path: str = "", mode: str = "both") -> None:
        """Open a page, or the room; it is looked at like this unless the test chose otherwise before."""
        page.add_init_script(f"localStorage['bethink.vault'] ??= JSON.stringify({{mode: '{mode}'}})")
        page.goto(f"{self.served.url}/vault{f'/pages/{path}' if path else ''}")


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("treeitem", name=name, exact=True)


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name=re.compile("^Text of"))


def saved(page: Page) -> Locator:
    return page.get_by_role("status").get_by_text("Saved", exact=True)


_TEXT = """() => document.querySelector(".cm-content")?.cmTile?.root?.view?.state.doc.toString()"""
"""What the editor holds: what it shows leaves out the marks of Markdown."""


def source(page: Page) -> str:
    return page.evaluate(_TEXT)


def holds(page: Page, text: str | re.Pattern[str]) -> None:
    """Wait until the editor holds a text, or one that matches."""
    wanted = text if isinstance(text, str) else text.pattern
    test = "now === wanted" if isinstance(text, str) else "new RegExp(wanted).test(now)"
    try:
        page.wait_for_function(f"wanted => {{ const now = ({_TEXT})(); return {test}; }}", arg=wanted)
    except Error as error:
        message = f"the editor holds {source(page)!r}, not {wanted!r}"
        raise AssertionError(message) from error


def write_at_end(page: Page, text: str) -> None:
    """Write what is given and nothing else: keys would go on with a list by themselves."""
    editor(page).focus()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text(text)


def reading(page: Page) -> Locator:
    return page.get_by_role("article", name="Reading view")


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
