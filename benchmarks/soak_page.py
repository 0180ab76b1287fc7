"""A person at the page, in a real browser, while servers are killed: writes, and watches the answers come.

`benchmarks.soak --browser` has one among its clients. What the page shows as kept must be there at the end,
once, and what it shows as a whole answer must be kept as whole.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from playwright.async_api import Error, Page, async_playwright

from tests.ui.running import FLAGS, chromium

if TYPE_CHECKING:
    from benchmarks.soak import Kept

_TALK = 5
"""So many messages are said in a conversation before the next one."""
_LOOK_S = 0.25
_STUCK_S = 180.0
"""How long a page may show nothing new: a server was killed, and others have much to do."""
_TOLD_CHARS = 200
_SEEN = """content => {
    const turns = [...document.querySelectorAll('[data-turn]')].filter((each) =>
        each.innerText.includes(content));
    const turn = turns.at(-1);
    const answer = turn?.querySelector('[data-said=answer]');
    const buttons = [...(turn?.querySelectorAll('button') ?? [])];
    const again = buttons.find((each) => each.innerText === 'Send again');
    again?.click();
    return {
        turns: turns.length,
        text: answer?.innerText ?? '',
        isBusy: answer?.ariaBusy === 'true',
        isSentAgain: again !== undefined,
    };
}"""
"""What the page shows of a message; one that was not sent is sent again, as its notice offers."""


@dataclass(slots=True)
class Person:
    """One at the page of `url`, whose answers are all the same `story`."""

    url: str
    story: str
    kept: Kept
    _count: int = 0
    _last: str = field(init=False)

    def __post_init__(self) -> None:
        self._last = self.story.split()[-1]

    async def live(self, until: float) -> None:
        """Talk until the time is over."""
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
            page = await browser.new_page()
            page.on("pageerror", lambda error: self._tell(f"the page: {error}"))
            while time.monotonic() < until:
                try:
                    if self._count % _TALK == 0:
                        await page.goto(self.url)
                    await self._say(page)
                except Error as error:
                    # No server took the connection: a person would reload.
                    self.kept.broken += 1
                    self._tell(f"by the browser: {error.message.splitlines()[0]}")
                    self._count += -self._count % _TALK
                    await asyncio.sleep(1)
            await browser.close()

    async def _say(self, page: Page) -> None:
        content = f"The browser asks for story {self._count}."
        self._count += 1
        self.kept.tried["browser"] += 1
        await page.get_by_role("textbox", name="Message").fill(content)
        await page.keyboard.press("Enter")
        begun = seen_at = time.monotonic()
        text = ""
        while time.monotonic() < seen_at + _STUCK_S:
            seen = await page.evaluate(_SEEN, content)
            if seen["text"] != text:
                text, seen_at = seen["text"], time.monotonic()
            if self.story[:4] in text:
                self.kept.browser.setdefault(content, False)
            if text and not seen["isBusy"]:
                self._end(content, text, begun)
                return
            if seen["isSentAgain"]:
                self._tell("by the browser: a message was not sent, and sent again")
            await asyncio.sleep(_LOOK_S)
        self._tell(f"by the browser: nothing new for {_STUCK_S:.0f} s, of {content} {text[-_TOLD_CHARS:]}")
        self.kept.stuck.append(content)
        self._count += -self._count % _TALK

    def _end(self, content: str, text: str, begun: float) -> None:
        if self._last in text:
            self.kept.browser[content] = True
            self.kept.took("in the browser", begun)
        else:
            self._tell(
                f"by the browser: an answer ended {' '.join(text.split())[-_TOLD_CHARS:]}"[:_TOLD_CHARS]
            )

    def _tell(self, what: str) -> None:
        self.kept.refused[what] += 1
