"""What is remembered of what was written to Redis, and the names of what lies beside a conversation there."""

from __future__ import annotations

from typing import Final

from bethink.store import Collection, Record
from bethink.store.redis import Fingerprint

CONVERSATION: Final = "conversation"
SCHEMA: Final = "schema"
MESSAGE: Final = "m:"
"""Before a message's id. Fields of `conversation:{uuid}:x`: our records as JSON, of `THIS_SCHEMA`."""
THIS_SCHEMA: Final = b"1"


class Shared(Record, frozen=True, kw_only=True):
    """What was written of the conversation with this id: no text of it. `last` is its last message."""

    length: int
    head: int
    head_sha1: str
    tail: int
    tail_sha1: str
    score: float
    last: str | None = None

    @property
    def fingerprint(self) -> Fingerprint:
        """By which its value is known again."""
        return Fingerprint(self.length, self.head, self.head_sha1, self.tail, self.tail_sha1)


class Home(Record, frozen=True, kw_only=True):
    """This data directory's name in Redis."""

    name: str


SHARED = Collection("shared", Shared, searchable=False)
HOMES = Collection("shared", Home, searchable=False)
NOBODY: Final = "*"
"""The owner of what belongs to the data directory itself."""
