"""How the stand-in says no: DIAL Core answers with plain text except to chat completions."""

from __future__ import annotations


class RefusalError(Exception):
    """The request is refused with `status`; `text` may be empty, as it is for a file that is not there."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text
