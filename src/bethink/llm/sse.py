"""Server-sent events from bytes as they arrive; `openai_wire` is the caller.

Only what a model's stream uses is kept: the data of each event. Source: WHATWG
HTML, section 9.2.6, "Interpreting an event stream".
"""

from __future__ import annotations

from typing import Final

from bethink.errors import InvalidResponse

MAX_EVENT_BYTES: Final = 8 * 1024 * 1024
"""More than any answer's single event: a picture in base64 fits."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class SseParser:
    """The data of complete events, whatever pieces the bytes come in.

    An event that the stream ends within is dropped, as the standard has it.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._line: list[bytes] = []  # pieces of a line without its end
        self._data: list[bytes] = []  # lines of an event without its end
        self._held_bytes = 0
        self._ended_in_cr = False
        self._at_start = True

    def feed(self, received: bytes) -> list[bytes]:
        """The data of each event that `received` completes, in order; lines joined by a line feed.

        Raises:
            InvalidResponse: an event is larger than `max_event_bytes`.
        """
        if self._ended_in_cr or b"\r" in received:
            received = self._with_line_feeds(received)
        if b"\n" not in received:
            self._hold(self._line, received)
            return []
        lines = received.split(b"\n")
        if self._line:
            lines[0] = b"".join((*self._line, lines[0]))
        if self._at_start:
            self._at_start = False
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        rest = lines.pop()
        events = self._events(lines)
        self._line = []
        self._held_bytes = sum(map(len, self._data))
        self._hold(self._line, rest)
        return events

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if not line:
                if data:
                    events.append(data[0] if len(data) == 1 else b"\n".join(data))
                    data.clear()
            elif line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif line == b"data":
                data.append(b"")
        return events

    def _hold(self, pieces: list[bytes], piece: bytes) -> None:
        if piece:
            pieces.append(piece)
            self._held_bytes += len(piece)
        if self._held_bytes > self._max_event_bytes:
            raise InvalidResponse(
                f"The model's server sent an event of more than {self._max_event_bytes} bytes."
            )

    def _with_line_feeds(self, received: bytes) -> bytes:
        """Every line end as one line feed, a CRLF cut in two by the network included."""
        if not received:
            return received
        if self._ended_in_cr and received[:1] == b"\n":
            received = received[1:]
            self._ended_in_cr = False
            if not received:
                return received
        self._ended_in_cr = received[-1:] == b"\r"
        return received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
