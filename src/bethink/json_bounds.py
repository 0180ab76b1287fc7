"""Counts the values and the nesting of JSON text while it arrives, before a parser builds anything of it.

Parsers hold the interpreter for as long as they work, also in a thread, and what
they build costs a hundred times its bytes. `web.bounds` counts the bodies of
requests with it, `mcp_client` the messages of foreign servers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final

from bethink.errors import BadInput, TooLarge

MAX_DEPTH: Final = 200
"""Of any JSON: Python's own parsers give up near a thousand levels."""
_PIECE: Final = 64 * 1024
"""Bytes that are counted in one go: under 20 ms if every one of them is a value."""
_MARK: Final = re.compile(rb'["\[\]{},]')
_IN_STRING: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_QUOTE, _BACKSLASH = b'"\\'


@dataclass(slots=True)
class JsonBounds:
    """At most `values` objects, lists and items of them, nested at most `depth` levels deep.

    Text that is not JSON is counted by the same marks: refusing it is the parser's part.
    """

    values: int
    depth: int = MAX_DEPTH
    _values: int = 1
    _depth: int = 0
    _is_string: bool = False
    _is_escaped: bool = False

    def feed(self, received: bytes) -> None:
        """Count the next piece of the text.

        Raises:
            TooLarge: it has more values.
            BadInput: it is nested deeper.
        """
        at = 0
        while at < len(received):
            at = self._string_end(received, at) if self._is_string else self._next_mark(received, at)

    def _string_end(self, received: bytes, at: int) -> int:
        if self._is_escaped:
            self._is_escaped = False
            at += 1
        found = _IN_STRING.match(received, at)
        end = at if found is None else found.end()
        if end == len(received):
            return end
        # A quote ends the string; a backslash that ends the piece escapes what begins the next one.
        self._is_string = received[end] != _QUOTE
        self._is_escaped = received[end] == _BACKSLASH
        return end + 1

    def _next_mark(self, received: bytes, at: int) -> int:
        found = _MARK.search(received, at)
        if found is None:
            return len(received)
        match found[0]:
            case b'"':
                self._is_string = True
            case b"{" | b"[":
                self._depth += 1
                self._count()
            case b"}" | b"]":
                self._depth -= 1
            case _:
                self._count()
        return found.end()

    def _count(self) -> None:
        self._values += 1
        if self._values > self.values:
            raise TooLarge(f"The JSON holds more than {self.values:,} values. Send less, or in parts.")
        if self._depth > self.depth:
            raise BadInput(f"The JSON is nested deeper than {self.depth} levels.")


def check_json(text: bytes, *, values: int) -> None:
    """As `JsonBounds.feed`, of a whole text, in pieces that leave other threads their turn."""
    bounds = JsonBounds(values)
    for start in range(0, len(text), _PIECE):
        bounds.feed(text[start : start + _PIECE])


PER_S = 1_000
"""Messages a second that no honest server sends for long; reading them takes a tenth of a core."""
FOR_S = 5
"""A long list of progress may come in one burst."""


class MessageRate:
    """A bucket of `PER_S * FOR_S` messages that fills at `PER_S` a second."""

    def __init__(self, now_s: Callable[[], float] = monotonic) -> None:
        self._now_s = now_s
        self._at = now_s()
        self._room = float(PER_S * FOR_S)

    def is_flood(self) -> bool:
        """Count a message; whether there were too many."""
        now = self._now_s()
        self._room = min(PER_S * FOR_S, self._room + (now - self._at) * PER_S) - 1
        self._at = now
        return self._room < 0
