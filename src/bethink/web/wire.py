"""HTTP as uvicorn reads it, with a bound on what comes before it can be judged. `server` uses it.

Nothing above sees a request before its head is whole, whoever sends it: without
a bound one header could fill the memory.
"""

from __future__ import annotations

from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES: Final = 128 * 1024
"""Room for long addresses and for the headers that proxies add; a request may have one piece more."""
_TOLD: Final = "The head of this request is too long."


class BoundedHttp(HttpToolsProtocol):
    """Ends a connection whose request's head, or what follows its body, does not end."""

    _unfinished: int = 0
    _is_further: bool = False

    def data_received(self, data: bytes) -> None:
        """Read what came, unless it is too much of what tells nothing yet."""
        self._is_further = False
        super().data_received(data)
        self._unfinished = 0 if self._is_further else self._unfinished + len(data)
        if self._unfinished > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(_TOLD)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._is_further = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Some of the body came."""
        self._is_further = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._is_further = True
        super().on_message_complete()
