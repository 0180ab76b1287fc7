"""Wakes who follows pages, so that nobody has to ask all the time. `context` tells it of changes."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Generator


class News:
    """Who waits for changes in this process. Look now and then, too: other processes are not heard."""

    def __init__(self) -> None:
        self._waiting: defaultdict[str, set[anyio.Event]] = defaultdict(set)
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether the process is about to stop."""
        return self._is_over

    @contextmanager
    def listening(self, owner: str) -> Generator[anyio.Event]:
        """An event that is set by the next change: listen first and look then, and nothing falls between."""
        event = anyio.Event()
        self._waiting[owner].add(event)
        try:
            if self._is_over:
                event.set()
            yield event
        finally:
            self._waiting[owner].discard(event)
            if not self._waiting[owner]:
                del self._waiting[owner]

    def tell(self, owner: str) -> None:
        """Wake those who listen for an owner."""
        for event in self._waiting.get(owner, ()):
            event.set()

    def end(self) -> None:
        """Wake all, and have them end: the process is about to stop."""
        self._is_over = True
        for owner in self._waiting:
            self.tell(owner)
