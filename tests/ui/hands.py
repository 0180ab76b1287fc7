"""The ways in which a person works the page: with a pointer, with a finger, with the keyboard alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from playwright.sync_api import Locator, Page, expect

_MOST_TABS = 150
_HAS_FOCUS = "it => it.ownerDocument.activeElement === it && it.ownerDocument.hasFocus()"


class Hand(Protocol):
    """Presses what is on the page, and writes into it."""

    def press(self, what: Locator, *, back: bool = False) -> None:
        """Press it; who walks there goes `back` if it lies before what has the focus."""

    def write(self, what: Locator, text: str) -> None:
        """Have this text in it, and leave it."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """A mouse, and a keyboard for words."""

    def press(self, what: Locator, *, back: bool = False) -> None:
        """Click it."""
        del back
        what.click()

    def write(self, what: Locator, text: str) -> None:
        """Fill it in."""
        what.fill(text)
        what.blur()


@dataclass(frozen=True, slots=True)
class Finger(Pointer):
    """A finger on a screen that can be touched."""

    def press(self, what: Locator, *, back: bool = False) -> None:
        """Tap it."""
        del back
        what.tap()


@dataclass(frozen=True, slots=True)
class Keyboard:
    """Tab, Enter, Space and letters; nothing is pointed at and nothing is focused by the test."""

    page: Page

    def press(self, what: Locator, *, back: bool = False) -> None:
        """Walk there and press Enter, or Space where it is chosen."""
        self._walk(what, back=back)
        chosen = what.evaluate("it => ['radio', 'checkbox'].includes(it.type)")
        self.page.keyboard.press("Space" if chosen else "Enter")

    def write(self, what: Locator, text: str) -> None:
        """Walk there, write in place of what is there, and leave it."""
        self._walk(what, back=False)
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(text)
        self.page.keyboard.press("Tab")

    def _walk(self, what: Locator, *, back: bool) -> None:
        expect(what).to_be_visible()
        key = "Shift+Tab" if back else "Tab"
        for _ in range(_MOST_TABS):
            if what.evaluate(_HAS_FOCUS):
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"{key} does not lead to {what}")
