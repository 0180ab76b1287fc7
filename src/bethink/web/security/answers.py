"""How many requests were answered, how, and how long that took; `guard` counts, `/metrics` tells."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers

from bethink.telemetry import Histogram

if TYPE_CHECKING:
    from collections.abc import Generator

    from starlette.types import Message, Send

ANSWERS: Final = "answers"
"""Their place in the state of every request."""
_METHODS: Final = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT"}
)
_STREAM: Final = "text/event-stream"


@dataclass(slots=True)
class AnswerCounts:
    """Answers by method and status, their times but for streams, and streams that are open now."""

    answered: Counter[tuple[str, str]] = field(default_factory=Counter["tuple[str, str]"])
    times: Histogram = field(default_factory=Histogram)
    streams: int = 0

    @contextmanager
    def counting(self, method: str, send: Send) -> Generator[Send]:
        """Count one; inside, the answer is sent by what is given."""
        started = time.perf_counter()
        # Strangers may invent methods without end: they count as one.
        known = method if method in _METHODS else "other"
        is_stream = False

        async def noting(message: Message) -> None:
            nonlocal is_stream
            if message["type"] == "http.response.start":
                self.answered[known, str(message["status"])] += 1
                kind = Headers(raw=message.get("headers", [])).get("content-type", "")
                if kind.startswith(_STREAM):
                    is_stream = True
                    self.streams += 1
            await send(message)

        try:
            yield noting
        finally:
            if is_stream:
                self.streams -= 1
            else:
                self.times.take(time.perf_counter() - started)
