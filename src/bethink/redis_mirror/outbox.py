"""A store that notes, in each commit, what Redis must hear of, and the records of what was written there.

What is noted lies in the same batch as what was changed, so that neither a crash nor an
unreachable Redis can lose it: `redis_mirror` works the notes off and removes them.
Everything else is the inner store's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bethink.redis_mirror.client import ConversationRedis, Fingerprint
from bethink.store import Change, Collection, Delete, DeleteAll, Put, Record, Store

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


EVERYTHING = "*"
"""As a root: what was changed cannot be told, so all the owner's roots are to be looked at."""


class OutboxNote(Record, frozen=True, kw_only=True):
    """That one commit changed `root` or its parts.

    `added` are parts that were new, `changed` parts that may have been there;
    `whole` says that more than these changed.
    """

    root: str
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    whole: bool = False


OUTGOING = Collection("outgoing", OutboxNote, ("root",), scans=(("root",),), searchable=False)


@dataclass(slots=True)
class _RootNotes:
    """What a batch changed of one root."""

    added: list[str] = field(default_factory=list[str])
    changed: list[str] = field(default_factory=list[str])
    whole: bool = False


def _noted(changes: Sequence[Change], followed: Mapping[str, str]) -> dict[str, _RootNotes]:
    """What a batch changed, by root."""
    notes: defaultdict[str, _RootNotes] = defaultdict(_RootNotes)
    for change in changes:
        if not isinstance(change, Put | Delete | DeleteAll) or change.collection.name not in followed:
            continue
        key = followed[change.collection.name]
        match change:
            case Put(record=record):
                note = notes[getattr(record, key)]
                if key != "id":
                    (note.added if change.if_version == 0 else note.changed).append(record.id)
            case Delete(id=id):
                notes[id if key == "id" else EVERYTHING].whole = True
            case DeleteAll(where=where):
                whose = where.get(key)
                notes[whose if isinstance(whose, str) else EVERYTHING].whole = True
    return notes


class OutboxStore:
    """The inner store, with a note beside each change of the `followed` collections.

    `followed` gives for a collection's name the key that names the root: its own
    `id`, or the attribute that points to it. `redis` is where the notes go; None while it is switched off.
    `on_noted` is called after each commit that made notes and returns at once; `scrub_redis` leaves no trace
    in Redis of what was deleted, and tells what remains there. Both are None while nobody works them off.
    """

    def __init__(
        self,
        inner: Store,
        followed: Mapping[str, str],
        new_id: Callable[[], str],
        *,
        redis: ConversationRedis | None = None,
    ) -> None:
        self.redis = redis
        self._inner = inner
        # Reading is the inner store's.
        self.get, self.scan, self.count, self.owners = inner.get, inner.scan, inner.count, inner.owners
        self._followed = followed
        self._new_id = new_id
        self.on_noted: Callable[[], None] | None = None
        self.scrub_redis: Callable[[], Awaitable[tuple[str, ...]]] | None = None

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        """Apply all changes, or none; durable when it returns."""
        noted = _noted(changes, self._followed)
        notes = [
            OutboxNote(
                id=self._new_id(),
                root=root,
                added=tuple(one.added),
                changed=tuple(one.changed),
                whole=one.whole,
            )
            for root, one in noted.items()
        ]
        await self._inner.commit(owner, [*changes, *(Put(OUTGOING, note, if_version=0) for note in notes)])
        if notes and self.on_noted is not None:
            self.on_noted()

    async def scrub(self, owner: str | None = None) -> tuple[str, ...]:
        """Leave no trace of deleted records in any file of the store, nor in the other place; what remains.

        Raises:
            StorageError: the other place cannot be reached; what is to be deleted there stays noted.
        """
        remains = await self._inner.scrub(owner)
        return remains if self.scrub_redis is None else (*remains, *await self.scrub_redis())
