"""Futures of an event loop that are answered from threads: by those of `store`, and by that of `bus`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of a future."""

    future: asyncio.Future[Any]
    value: Any = None
    error: BaseException | None = None


class Answers:
    """Futures of the loop that made this."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def future(self) -> asyncio.Future[Any]:
        """A new one."""
        return self._loop.create_future()

    def send(self, *answers: Answer) -> None:
        """Have these futures answered, by one wake-up of the loop."""
        self.call(_settle, answers)

    def call(self, callback: Callable[..., None], *arguments: object) -> None:
        """Have the loop call back soon."""
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            # The loop was closed without closing what this belongs to: nobody waits any more.
            return


def _settle(answers: tuple[Answer, ...]) -> None:
    for answer in answers:
        if answer.future.done():
            # Its caller was cancelled.
            continue
        if answer.error is None:
            answer.future.set_result(answer.value)
        else:
            answer.future.set_exception(answer.error)
