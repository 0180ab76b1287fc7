"""What is remembered of what was written to Redis, and the names of what lies beside a conversation there."""

from __future__ import annotations

from typing import Final

from bethink.redis_mirror.client import Fingerprint
from bethink.store import Collection, Record

CONVERSATION: Final = "conversation"
SCHEMA: Final = "schema"
WRITTEN: Final = "written"
"""The fingerprint of the value that was written along with these fields."""
MESSAGE: Final = "m:"
"""Before a message's id. Fields of `conversation:{uuid}:x`: our records as JSON, of `THIS_SCHEMA`."""
THIS_SCHEMA: Final = b"1"


class WrittenConversation(Record, frozen=True, kw_only=True):
    """What was written of the conversation with this id: no text of it. `last` is its last message.

    One that is `withdrawn` was deleted there by another program, and is not there.
    """

    length: int
    head: int
    head_sha1: str
    tail: int
    tail_sha1: str
    score: float
    last: str | None = None
    withdrawn: bool = False

    @property
    def fingerprint(self) -> Fingerprint:
        """By which its value is known again."""
        return Fingerprint(self.length, self.head, self.head_sha1, self.tail, self.tail_sha1)


class Home(Record, frozen=True, kw_only=True):
    """This data directory's name in Redis."""

    name: str


class StaleFiles(Record, frozen=True, kw_only=True):
    """While it is there, files of Redis may hold what was overwritten; if it `is_title`, titles alone."""

    is_title: bool = False


SHARED = Collection("shared", WrittenConversation, searchable=False)
HOMES = Collection("shared", Home, searchable=False)
STALE = Collection("shared", StaleFiles, searchable=False)
NOBODY: Final = "*"
"""The owner of what belongs to the data directory itself."""
