"""What is kept of imports: a record for each, for each thing that was taken, and for each that changed.

By these a second import of the same changes nothing, one that was cut short
goes on, and a whole import can be taken back. They hold ids, digests and
places, and of texts only what the report tells: names of what was left.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import msgspec

from bethink.conversations import Branch
from bethink.store import Collection, Record

State = Literal["reading", "ready", "applying", "done", "stopped", "failed", "undoing", "undone"]
Into = Literal["conversations", "vault", "both"]
TopicMethod = Literal["keywords", "meaning", "none"]
SourceName = Literal["chatgpt", "claude", "notion", "obsidian", "markdown"]
SOURCES: tuple[SourceName, ...] = ("chatgpt", "claude", "notion", "obsidian", "markdown")

WORKING: frozenset[State] = frozenset({"reading", "applying", "undoing"})
"""States that pass by themselves."""
MAX_PROBLEMS = 200
"""Of a report; more are counted."""


class ImportProblem(msgspec.Struct, frozen=True, kw_only=True):
    """What was not taken, and why; `count` of its kind. A `fault` is worth a look, the rest is told only."""

    name: str
    why: str
    fault: bool = True
    count: int = 1


class ImportTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic of an import: its name, made of its keywords, and how many things belong to it."""

    name: str
    keywords: tuple[str, ...]
    count: int = 0


class ImportTally(msgspec.Struct, frozen=True, kw_only=True):
    """How many are `new`, `grown` since an earlier import, `known` already, and `kept` as changed here.

    `duplicates` say the same as another one; `left` could not be taken.
    """

    new: int = 0
    grown: int = 0
    known: int = 0
    kept: int = 0
    duplicates: int = 0
    left: int = 0


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an export holds, or what became of it.

    `size` is the bytes of its members, `read` how many were gone through so far.
    `problems` are the first `MAX_PROBLEMS` of `problem_count`.
    """

    conversations: ImportTally = ImportTally()
    pages: ImportTally = ImportTally()
    messages: int = 0
    files: int = 0
    characters: int = 0
    size: int = 0
    read: int = 0
    first: int | None = None
    last: int | None = None
    topics: tuple[ImportTopic, ...] = ()
    problems: tuple[ImportProblem, ...] = ()
    problem_count: int = 0
    note: str = ""


class Import(Record, frozen=True, kw_only=True):
    """One import. `source` is what it came from, `name` the file's; times are microseconds UTC.

    `staged` says that the file lies with us still, `chosen` what its owner said
    that it came from, `process` who works on it. `error` is why it stopped, for a person.
    """

    at: int
    state: State
    source: str
    name: str
    into: Into = "conversations"
    topics: TopicMethod = "keywords"
    preview: ImportReport | None = None
    report: ImportReport | None = None
    staged: bool = False
    error: str | None = None
    chosen: SourceName | None = None
    process: str = ""


class ImportedItem(Record, frozen=True, kw_only=True):
    """A thing of an export that is here: the conversation or page at `place`, taken in by the import `batch`.

    `digest` is of what the export said, `same` equal for things that say the
    same, `written` of the page's version as it was written, or how many messages
    the conversation had.
    """

    batch: str
    kind: Literal["talk", "page"]
    place: str
    digest: str
    same: str
    written: str


class ImportedUpdate(Record, frozen=True, kw_only=True):
    """That an import changed what an earlier one had taken: what it was, and what takes it back.

    Of a conversation `messages` came, `branches`, `branch` and `count` were its
    record's; of a page `undo` is the vault's token.
    """

    batch: str
    before: ImportedItem
    messages: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()
    branch: int = 0
    count: int = 0
    undo: str = ""


IMPORTS = Collection("imports", Import, ("at",), scans=(("at",),), searchable=False)
TAKEN = Collection(
    "imports_taken", ImportedItem, ("batch", "same"), scans=(("batch",), ("same",)), searchable=False
)
GROWN = Collection("imports_grown", ImportedUpdate, ("batch",), scans=(("batch",),), searchable=False)


@dataclass(frozen=True, slots=True)
class KeyedDigest:
    """Digests by which things are known again. Made with a key, so that nobody can test a guess by them."""

    secret: bytes

    def of(self, value: object) -> str:
        """Equal for equal plain data."""
        said = msgspec.msgpack.encode(value)
        return hashlib.blake2b(said, digest_size=16, key=self.secret).hexdigest()

    def id(self, source: str, kind: str, key: str) -> str:
        """Under which a thing of an export is known: the same for the same thing of any later export."""
        return self.of((source, kind, key))


def stable_id(at: int, *parts: str) -> str:
    """A UUIDv7 whose random bits are a hash (RFC 9562, 5.7 and 6.9): the same for the same thing."""
    hashed = int.from_bytes(hashlib.blake2b("\0".join(parts).encode(), digest_size=10).digest())
    value = (min(max(at // 1000, 0), (1 << 48) - 1) << 80) | hashed
    value = value & ~(0xF << 76) | (7 << 76)
    value = value & ~(0x3 << 62) | (2 << 62)
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
